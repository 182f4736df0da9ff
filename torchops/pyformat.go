package torchops

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
)

// A directive is one %[(key)][flags][width][.precision]type of a format.
type directive struct {
	key                             string
	keyed                           bool
	minus, plus, space, zero, sharp bool
	width, precision                int // precision -1 where there is none
	starWidth, starPrecision        bool
	kind                            byte
}

// maxFormatted bounds the width and the precision that a format may ask for.
const maxFormatted = 1 << 16

// formatPercent is format % args of Python's str (unicode_format in
// Objects/unicodeobject.c).
func formatPercent(m *libtorch.Mode, format string, args any) (any, error) {
	list, isTuple := args.(ir.PyTuple)
	// what has items by key, as Python sees it, need not be used up
	mapping := !isTuple && !isText(args) && (iterable(args) || isTensor(args))
	if !isTuple {
		list = ir.PyTuple{args}
	}
	next := 0
	take := func() (any, error) {
		if next >= len(list) {
			return nil, typeErrorf("not enough arguments for format string")
		}
		next++
		return list[next-1], nil
	}
	var b strings.Builder
	for i := 0; i < len(format); {
		if format[i] != '%' {
			b.WriteByte(format[i])
			i++
			continue
		}
		d, length, err := readDirective(format[i+1:])
		if err != nil {
			return nil, err
		}
		i += 1 + length
		if d.kind == '%' && length == 1 {
			b.WriteByte('%')
			continue
		}
		var v any
		if d.keyed {
			if !mapping {
				return nil, typeErrorf("format requires a mapping")
			}
			if v, err = Invoke(m, fnGetItem, []any{args, d.key}, nil); err != nil {
				return nil, err
			}
			next = len(list)
		}
		for _, star := range []struct {
			given bool
			to    *int
		}{{d.starWidth, &d.width}, {d.starPrecision, &d.precision}} {
			if !star.given {
				continue
			}
			n, err := take()
			if err != nil {
				return nil, err
			}
			if k := kindOf(n); k != intKind && k != boolKind {
				return nil, typeErrorf("* wants int")
			}
			if *star.to = int(asInt(n)); star.to == &d.precision && int(int32(*star.to)) != *star.to {
				return nil, ir.Errorf(ir.ErrValue, "Python int too large to convert to C int")
			}
		}
		if d.width < 0 {
			d.width, d.minus = -d.width, true
		}
		if d.starPrecision {
			d.precision = max(d.precision, 0)
		}
		if !d.keyed {
			if v, err = take(); err != nil {
				return nil, err
			}
		}
		switch {
		case strings.IndexByte("srdiouxXeEfFgGca", d.kind) < 0 || d.kind == '%':
			c, _ := utf8.DecodeRuneInString(format[i-1:])
			return nil, ir.Errorf(ir.ErrValue, "unsupported format character '%c' (0x%x) at index %d", c, c, utf8.RuneCountInString(format[:i-1]))
		case max(d.width, d.precision) > maxFormatted || d.width < 0:
			return nil, ir.Errorf(ir.ErrUnsupported, "format: expected a width and a precision of at most %d", maxFormatted)
		}
		text, err := d.format(m, v)
		if err != nil {
			return nil, err
		}
		b.WriteString(text)
	}
	if next < len(list) && !mapping {
		return nil, typeErrorf("not all arguments converted during string formatting")
	}
	return b.String(), nil
}

// readDirective reads what follows a %, and returns how long it is.
func readDirective(s string) (d directive, length int, err error) {
	d.precision = -1
	rest := s
	if strings.HasPrefix(rest, "(") {
		depth, end := 0, -1
		for i, c := range rest {
			if c == '(' {
				depth++
			} else if c == ')' {
				if depth--; depth == 0 {
					end = i
					break
				}
			}
		}
		if end < 0 {
			return d, 0, ir.Errorf(ir.ErrValue, "incomplete format key")
		}
		d.key, d.keyed, rest = rest[1:end], true, rest[end+1:]
	}
flags:
	for rest != "" {
		switch rest[0] {
		case '-':
			d.minus = true
		case '+':
			d.plus = true
		case ' ':
			d.space = true
		case '0':
			d.zero = true
		case '#':
			d.sharp = true
		default:
			break flags
		}
		rest = rest[1:]
	}
	number := func() (n int, star bool) {
		if strings.HasPrefix(rest, "*") {
			rest = rest[1:]
			return 0, true
		}
		for rest != "" && rest[0] >= '0' && rest[0] <= '9' {
			n = min(n*10+int(rest[0]-'0'), maxFormatted+1)
			rest = rest[1:]
		}
		return n, false
	}
	d.width, d.starWidth = number()
	if strings.HasPrefix(rest, ".") {
		rest = rest[1:]
		d.precision, d.starPrecision = number()
	}
	for rest != "" && strings.IndexByte("hlL", rest[0]) >= 0 {
		rest = rest[1:]
	}
	if rest == "" {
		return d, 0, ir.Errorf(ir.ErrValue, "incomplete format")
	}
	d.kind = rest[0]
	return d, len(s) - len(rest) + 1, nil
}

func (d *directive) format(m *libtorch.Mode, v any) (string, error) {
	switch d.kind {
	case 's':
		if s, isString := v.(string); isString {
			return d.pad(d.cut(s), "")
		}
		return d.pad(d.cut(reprOf(v)), "")
	case 'r', 'a':
		text := reprOf(v)
		if d.kind == 'a' {
			text = asciiOf(text)
		}
		return d.pad(d.cut(text), "")
	case 'c':
		return d.character(m, v)
	case 'd', 'i', 'u', 'o', 'x', 'X':
		return d.integer(m, v)
	}
	x, err := realNumber(m, v)
	if err != nil {
		return "", err
	}
	return d.float(asFloat(x))
}

// cut leaves as many characters as the precision says.
func (d *directive) cut(s string) string {
	if r := []rune(s); d.precision >= 0 && d.precision < len(r) {
		return string(r[:d.precision])
	}
	return s
}

func asciiOf(s string) string {
	quoted := strconv.QuoteToASCII(s)
	return strings.ReplaceAll(strings.ReplaceAll(quoted[1:len(quoted)-1], `\"`, `"`), `\\`, `\`)
}

func (d *directive) character(m *libtorch.Mode, v any) (string, error) {
	if s, isString := v.(string); isString {
		if len([]rune(s)) != 1 {
			return "", typeErrorf("%%c requires int or char")
		}
		return d.pad(s, "")
	}
	n, err := indexNumber(m, v)
	if err != nil {
		return "", typeErrorf("%%c requires int or char")
	}
	if n < 0 || n > 0x10ffff {
		return "", ir.Errorf(ir.ErrValue, "%%c arg not in range(0x110000)")
	}
	return d.pad(string(rune(n)), "")
}

func (d *directive) integer(m *libtorch.Mode, v any) (string, error) {
	var n int64
	switch k := kindOf(v); {
	case k == intKind || k == boolKind:
		n = asInt(v)
	case k == floatKind && strings.IndexByte("diu", d.kind) >= 0:
		whole, err := floatToInt(math.Trunc(asFloat(v)))
		if err != nil {
			return "", err
		}
		n, _ = whole.(int64)
	default:
		t, isTensor := v.(*Tensor)
		if isTensor && strings.IndexByte("diu", d.kind) >= 0 {
			whole, err := Invoke(m, ir.FuncOf("builtins.int"), []any{t}, nil)
			if err != nil {
				return "", err
			}
			n, _ = whole.(int64)
			break
		}
		index, err := indexNumber(m, v)
		if err != nil {
			want := "a real number"
			if strings.IndexByte("diu", d.kind) < 0 {
				want = "an integer"
			}
			return "", typeErrorf("%%%c format: %s is required, not %s", d.kind, want, typeName(v))
		}
		n = index
	}
	base, prefix := 10, ""
	switch d.kind {
	case 'o':
		base, prefix = 8, "0o"
	case 'x', 'X':
		base, prefix = 16, "0x"
	}
	magnitude := uint64(n)
	if n < 0 {
		magnitude = -magnitude
	}
	digits := strconv.FormatUint(magnitude, base)
	if len(digits) < d.precision {
		digits = strings.Repeat("0", d.precision-len(digits)) + digits
	}
	if !d.sharp || base == 10 {
		prefix = ""
	}
	if d.kind == 'X' {
		digits, prefix = strings.ToUpper(digits), strings.ToUpper(prefix)
	}
	return d.pad(digits, d.sign(n < 0)+prefix)
}

func (d *directive) sign(negative bool) string {
	switch {
	case negative:
		return "-"
	case d.plus:
		return "+"
	case d.space:
		return " "
	}
	return ""
}

func (d *directive) float(x float64) (string, error) {
	sign := d.sign(math.Signbit(x) && !math.IsNaN(x))
	upper := d.kind >= 'A' && d.kind <= 'Z'
	kind := d.kind | 0x20
	x = math.Abs(x)
	var text string
	switch {
	case math.IsInf(x, 0):
		text = "inf"
	case math.IsNaN(x):
		text = "nan"
	default:
		precision := d.precision
		if precision < 0 {
			precision = 6
		}
		text = formatFloat(x, kind, precision, d.sharp)
	}
	if upper {
		text = strings.ToUpper(text)
	}
	return d.pad(text, sign)
}

// formatFloat writes a positive number as C's printf does.
func formatFloat(x float64, kind byte, precision int, sharp bool) string {
	if kind == 'g' {
		precision = max(precision, 1)
		scientific := strconv.FormatFloat(x, 'e', precision-1, 64)
		mantissa, exponent, _ := strings.Cut(scientific, "e")
		e, _ := strconv.Atoi(exponent)
		text := mantissa
		if e >= -4 && e < precision {
			text = strconv.FormatFloat(x, 'f', precision-1-e, 64)
			exponent = ""
		}
		switch point := strings.Contains(text, "."); {
		case !sharp && point:
			text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
		case sharp && !point:
			text += "."
		}
		if exponent != "" {
			text += "e" + exponent
		}
		return text
	}
	text := strconv.FormatFloat(x, kind, precision, 64)
	if sharp && precision == 0 {
		if mantissa, exponent, scientific := strings.Cut(text, "e"); scientific {
			return mantissa + ".e" + exponent
		}
		return text + "."
	}
	return text
}

// pad fills to the width: zeros between the sign and the digits of numbers, spaces on
// the right where that is asked for, else on the left.
func (d *directive) pad(text, sign string) (string, error) {
	missing := d.width - len([]rune(text)) - len(sign)
	if missing <= 0 {
		return sign + text, nil
	}
	switch {
	case d.minus:
		return sign + text + strings.Repeat(" ", missing), nil
	case d.zero && strings.IndexByte("srac", d.kind) < 0:
		return sign + strings.Repeat("0", missing) + text, nil
	}
	return strings.Repeat(" ", missing) + sign + text, nil
}
