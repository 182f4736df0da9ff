package ir

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A TensorLike is an attribute or an [Opaque] argument that is a tensor: its
// value is of no concern here, its type is.
type TensorLike interface{ TensorMeta() TensorMeta }

// Repr returns Python's repr of a; nodes appear under their names.
func Repr(a Arg) string { return reprWith(a, (*Node).Name) }

// reprWith is Repr with nodes named by name.
func reprWith(a Arg, name func(*Node) string) string {
	var b strings.Builder
	writeRepr(&b, a, name)
	return b.String()
}

func writeRepr(b *strings.Builder, a Arg, name func(*Node) string) {
	switch a := a.(type) {
	case nil, None:
		b.WriteString("None")
	case *Node:
		b.WriteString(name(a))
	case Bool:
		b.WriteString(boolText(bool(a)))
	case Int:
		b.WriteString(strconv.FormatInt(int64(a), 10))
	case BigInt:
		b.WriteString(string(a))
	case Float:
		b.WriteString(floatRepr(float64(a), true))
	case Complex:
		b.WriteString(complexRepr(complex128(a)))
	case Str:
		writeQuoted(b, string(a))
	case Ellipsis:
		b.WriteString("Ellipsis")
	case Range:
		b.WriteString(a.String())
	case Enum:
		b.WriteString("<" + a.Class.Base() + "." + a.Member + ": ")
		writeRepr(b, a.Value, name)
		b.WriteByte('>')
	case Device:
		b.WriteString("device(type='" + a.Kind().String() + "'")
		if a.Index() >= 0 {
			b.WriteString(", index=" + strconv.Itoa(a.Index()))
		}
		b.WriteByte(')')
	case DType:
		b.WriteString(a.String())
	case Layout:
		b.WriteString(a.String())
	case MemoryFormat:
		b.WriteString(a.String())
	case *Func:
		b.WriteString(a.objectText(true))
	case List:
		writeItems(b, "[", a.items, "]", name)
	case Tuple:
		writeTuple(b, a.items, name)
	case NamedTuple:
		b.WriteString(a.Type.Base() + "(")
		for i, item := range a.items {
			if i > 0 {
				b.WriteString(", ")
			}
			if i < len(a.Fields) {
				b.WriteString(a.Fields[i] + "=")
			}
			writeRepr(b, item, name)
		}
		b.WriteByte(')')
	case Dict:
		b.WriteByte('{')
		for i, p := range a.pairs {
			if i > 0 {
				b.WriteString(", ")
			}
			writeRepr(b, p.Key, name)
			b.WriteString(": ")
			writeRepr(b, p.Value, name)
		}
		b.WriteByte('}')
	case Slice:
		writeItems(b, "slice(", []Arg{a.Start, a.Stop, a.Step}, ")", name)
	case Opaque:
		b.WriteString(opaqueText(a.Value))
	default:
		fmt.Fprint(b, a)
	}
}

func writeItems(b *strings.Builder, open string, items []Arg, end string, name func(*Node) string) {
	b.WriteString(open)
	for i, item := range items {
		if i > 0 {
			b.WriteString(", ")
		}
		writeRepr(b, item, name)
	}
	b.WriteString(end)
}

func writeTuple(b *strings.Builder, items []Arg, name func(*Node) string) {
	if len(items) == 1 {
		writeItems(b, "(", items, ",)", name)
		return
	}
	writeItems(b, "(", items, ")", name)
}

// opaqueText is what an opaque value says of itself: Repr() if it has one.
func opaqueText(v any) string {
	switch v := v.(type) {
	case interface{ Repr() string }:
		return v.Repr()
	case TensorLike:
		return tensorText(v)
	}
	return fmt.Sprint(v)
}

// tensorText stands for a tensor in generated code; it names no value.
func tensorText(t TensorLike) string {
	m := t.TensorMeta()
	return "torch.Tensor(size=" + sizesText(m.Sizes) + ", dtype=" + m.DType.Name() + ")"
}

// sizesText prints sizes or strides as Python prints a list of them.
func sizesText(sizes []Size) string {
	var b strings.Builder
	b.WriteByte('[')
	for i, s := range sizes {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(sizeText(s))
	}
	b.WriteByte(']')
	return b.String()
}

// sizeText is Python's str of a size: "3" or "2*s27".
func sizeText(s Size) string {
	if n, ok := s.Known(); ok {
		return strconv.FormatInt(n, 10)
	}
	return fmt.Sprint(s.Expr())
}

// strOf returns Python's str of a: a string without quotes, other values mostly
// as [Repr].
func strOf(a Arg) string {
	switch a := a.(type) {
	case Str:
		return string(a)
	case Device:
		return a.String()
	case Enum:
		if a.IsInt {
			return Repr(a.Value)
		}
		return a.Class.Base() + "." + a.Member
	case *Func:
		return a.objectText(false)
	}
	return Repr(a)
}

func boolText(v bool) string {
	if v {
		return "True"
	}
	return "False"
}

// floatRepr is Python's repr of a float: the shortest text that reads back, an
// exponent below 1e-4 and from 1e16, and ".0" where point asks for it.
func floatRepr(f float64, point bool) string {
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	}
	if abs := math.Abs(f); abs != 0 && (abs < 1e-4 || abs >= 1e16) {
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if point && !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}

// complexRepr is Python's repr of a complex number.
func complexRepr(c complex128) string {
	re, im := real(c), imag(c)
	if re == 0 && !math.Signbit(re) {
		return floatRepr(im, false) + "j"
	}
	s := floatRepr(im, false)
	if s[0] != '-' {
		s = "+" + s
	}
	return "(" + floatRepr(re, false) + s + "j)"
}

// writeQuoted writes Python's repr of a string. Bytes that are no UTF-8 appear
// as Python's surrogate escapes.
func writeQuoted(b *strings.Builder, s string) {
	quote := byte('\'')
	if strings.ContainsRune(s, '\'') && !strings.ContainsRune(s, '"') {
		quote = '"'
	}
	b.WriteByte(quote)
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(b, `\udc%02x`, s[i])
		case r == rune(quote) || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r < 0x100:
			fmt.Fprintf(b, `\x%02x`, r)
		case r < 0x10000:
			fmt.Fprintf(b, `\u%04x`, r)
		default:
			fmt.Fprintf(b, `\U%08x`, r)
		}
		i += n
	}
	b.WriteByte(quote)
}
