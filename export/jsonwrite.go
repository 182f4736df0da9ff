package export

import (
	"math"
	"strconv"
	"unicode/utf8"
)

// A jsonWriter writes JSON as Python's json.dumps(…) lays it out, without the
// spaces. Commas come by themselves: the byte before tells whether one is due.
type jsonWriter struct{ b []byte }

func (w *jsonWriter) comma() {
	if len(w.b) == 0 {
		return
	}
	switch w.b[len(w.b)-1] {
	case '{', '[', ':':
	default:
		w.b = append(w.b, ',')
	}
}

// object writes what f writes as the members of an object.
func (w *jsonWriter) object(f func()) {
	w.comma()
	w.b = append(w.b, '{')
	f()
	w.b = append(w.b, '}')
}

// list writes what f writes as the items of a list.
func (w *jsonWriter) list(f func()) {
	w.comma()
	w.b = append(w.b, '[')
	f()
	w.b = append(w.b, ']')
}

// key writes the name of the member that follows.
func (w *jsonWriter) key(name string) {
	w.str(name)
	w.b = append(w.b, ':')
}

// tagged writes a union: an object with one member.
func (w *jsonWriter) tagged(tag string, value func()) {
	w.object(func() {
		w.key(tag)
		value()
	})
}

func (w *jsonWriter) null() {
	w.comma()
	w.b = append(w.b, "null"...)
}

func (w *jsonWriter) bool(v bool) {
	w.comma()
	w.b = strconv.AppendBool(w.b, v)
}

func (w *jsonWriter) int(n int64) {
	w.comma()
	w.b = strconv.AppendInt(w.b, n, 10)
}

// float writes a number with a point or an exponent, as Python tells floats from
// ints by it. What JSON has no number for is a string, as torch.export has it.
func (w *jsonWriter) float(f float64) {
	switch {
	case math.IsInf(f, 1):
		w.str("Infinity")
		return
	case math.IsInf(f, -1):
		w.str("-Infinity")
		return
	case math.IsNaN(f):
		w.str("NaN")
		return
	}
	w.comma()
	start := len(w.b)
	w.b = strconv.AppendFloat(w.b, f, 'g', -1, 64)
	for _, c := range w.b[start:] {
		if c == '.' || c == 'e' {
			return
		}
	}
	w.b = append(w.b, ".0"...)
}

func (w *jsonWriter) strings(items []string) {
	w.list(func() {
		for _, s := range items {
			w.str(s)
		}
	})
}

// str writes a string; bytes that are no UTF-8 become U+FFFD.
func (w *jsonWriter) str(s string) {
	const hex = "0123456789abcdef"
	w.comma()
	w.b = append(w.b, '"')
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			w.b = utf8.AppendRune(w.b, r)
			i += n
			continue
		}
		i++
		switch {
		case c == '"' || c == '\\':
			w.b = append(w.b, '\\', c)
		case c == '\n':
			w.b = append(w.b, '\\', 'n')
		case c < ' ' || c == 0x7f:
			w.b = append(w.b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			w.b = append(w.b, c)
		}
	}
	w.b = append(w.b, '"')
}
