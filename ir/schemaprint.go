package ir

import (
	"math"
	"strconv"
	"strings"
)

// String returns the text that PyTorch prints for the schema: the same spaces,
// quotes and spelling of numbers as its operator<<(ostream, FunctionSchema), so
// that parsing and printing what PyTorch lists changes nothing.
func (s *Schema) String() string {
	var b strings.Builder
	b.WriteString(s.Op)
	b.WriteByte('(')
	star := false
	for i := range s.Args {
		if i > 0 {
			b.WriteString(", ")
		}
		if s.Args[i].KeywordOnly && !star {
			b.WriteString("*, ")
			star = true
		}
		s.Args[i].print(&b)
	}
	printDots(&b, s.VarArgs, len(s.Args))
	b.WriteString(") -> ")

	var r strings.Builder
	for i := range s.Returns {
		if i > 0 {
			r.WriteString(", ")
		}
		s.Returns[i].print(&r)
	}
	printDots(&r, s.VarReturns, len(s.Returns))
	// One return stands alone, unless it would read as a tuple of several.
	alone := len(s.Returns) == 1 && !s.VarReturns && !strings.HasPrefix(r.String(), "(")
	if alone || len(s.Returns) == 0 && s.VarReturns {
		b.WriteString(r.String())
	} else {
		b.WriteString("(" + r.String() + ")")
	}
	return b.String()
}

func printDots(b *strings.Builder, dots bool, before int) {
	if dots && before > 0 {
		b.WriteString(", ")
	}
	if dots {
		b.WriteString("...")
	}
}

// String returns the parameter as a schema writes it: "Scalar alpha=1".
func (p Param) String() string {
	var b strings.Builder
	p.print(&b)
	return b.String()
}

func (p *Param) print(b *strings.Builder) {
	p.Type.print(b, p.Alias)
	if p.Name != "" {
		b.WriteByte(' ')
		b.WriteString(p.Name)
	}
	if p.Default != nil {
		b.WriteByte('=')
		printDefault(b, p.Type, p.Default)
	}
}

// String returns the type as a schema writes it: "int[2]?".
func (t Type) String() string {
	var b strings.Builder
	t.print(&b, nil)
	return b.String()
}

func (t *Type) print(b *strings.Builder, a *Alias) {
	switch t.Kind {
	case TypeOptional:
		t.Elem.print(b, a)
		b.WriteByte('?')
		return
	case TypeList:
		var elem *Alias
		if a != nil {
			elem = a.Elem
		}
		t.Elem.print(b, elem)
		b.WriteByte('[')
		if t.Len > 0 {
			b.WriteString(strconv.Itoa(t.Len))
		}
		b.WriteByte(']')
	case TypeTuple:
		printTypes(b, t.Elems)
	case TypeDict:
		b.WriteString("Dict")
		printTypes(b, t.Elems)
	case TypeFuture:
		b.WriteString("Future")
		printTypes(b, []Type{*t.Elem})
	case TypeClass, TypeVar:
		b.WriteString(t.Name)
	default:
		b.WriteString(baseTypeName(t.Kind))
	}
	a.print(b)
}

func printTypes(b *strings.Builder, types []Type) {
	b.WriteByte('(')
	for i := range types {
		if i > 0 {
			b.WriteString(", ")
		}
		types[i].print(b, nil)
	}
	b.WriteByte(')')
}

// print writes the annotation, without the part about the items of a list.
func (a *Alias) print(b *strings.Builder) {
	if a == nil || len(a.Before) == 0 && a.After == nil {
		return
	}
	if len(a.Before) == 1 && strings.HasPrefix(a.Before[0], freshAlias) && a.Write {
		b.WriteByte('!')
		return
	}
	b.WriteByte('(')
	b.WriteString(strings.Join(a.Before, "|"))
	if a.Write {
		b.WriteByte('!')
	}
	if a.After != nil {
		b.WriteString(" -> ")
		b.WriteString(strings.Join(a.After, "|"))
	}
	b.WriteByte(')')
}

// baseTypes are the types that are one word.
var baseTypes = []struct {
	name string
	kind TypeKind
}{
	{"Tensor", TypeTensor}, {"int", TypeInt}, {"SymInt", TypeSymInt}, {"float", TypeFloat}, {"SymFloat", TypeSymFloat},
	{"bool", TypeBool}, {"SymBool", TypeSymBool}, {"complex", TypeComplex}, {"Scalar", TypeScalar}, {"str", TypeStr},
	{"ScalarType", TypeDType}, {"Layout", TypeLayout}, {"MemoryFormat", TypeMemoryFormat}, {"Device", TypeDevice},
	{"Generator", TypeGenerator}, {"Storage", TypeStorage}, {"Stream", TypeStream}, {"QScheme", TypeQScheme},
	{"Dimname", TypeDimname}, {"Any", TypeAny}, {"NoneType", TypeNone}, {"None", TypeNone}, {"DeviceIndex", TypeInt},
}

func baseTypeName(kind TypeKind) string {
	for _, t := range baseTypes {
		if t.kind == kind {
			return t.name
		}
	}
	return "type " + strconv.Itoa(int(kind))
}

func baseTypeKind(name string) (TypeKind, bool) {
	for _, t := range baseTypes {
		if t.name == name {
			return t.kind, true
		}
	}
	return 0, false
}

func printDefault(b *strings.Builder, t Type, d Arg) {
	list, ok := d.(List)
	if !ok {
		printConstant(b, d)
		return
	}
	// PyTorch shortens equal integers, as native_functions.yaml has them, but
	// only in a plain int list: int[2] dilation=1. It does so without regard to
	// the length, and then cannot read its own text; this always can.
	if t.Kind == TypeList && t.Elem.Kind == TypeInt && list.Len() == t.Len && t.Len > 1 && allEqual(list) {
		printConstant(b, list.At(0))
		return
	}
	b.WriteByte('[')
	for i, item := range list.All() {
		if i > 0 {
			b.WriteString(", ")
		}
		printConstant(b, item)
	}
	b.WriteByte(']')
}

func allEqual(l List) bool {
	for _, item := range l.All() {
		if !EqualArgs(item, l.At(0)) {
			return false
		}
	}
	return true
}

func printConstant(b *strings.Builder, a Arg) {
	switch a := a.(type) {
	case None:
		b.WriteString("None")
	case Bool:
		b.WriteString(map[Bool]string{true: "True", false: "False"}[a])
	case Int:
		b.WriteString(strconv.FormatInt(int64(a), 10))
	case Float:
		b.WriteString(cFloat(float64(a)))
	case Complex:
		b.WriteString(cFloat(imag(complex128(a))) + "j") // the grammar has no other
	case Str:
		b.WriteString(cQuote(string(a)))
	case Device:
		b.WriteString(cQuote(a.String()))
	case DType:
		b.WriteString(strconv.Itoa(a.C10()))
	case Layout:
		b.WriteString(strconv.Itoa(a.C10()))
	case MemoryFormat:
		b.WriteString(strconv.Itoa(a.C10()))
	default:
		b.WriteByte('?') // no schema that was parsed holds another kind
	}
}

// cFloat spells a float as c10::IValue does: integers below 1e10 as "2.", all
// others with C's %.17g.
func cFloat(f float64) string {
	if math.Abs(f) < 1e10 && f == math.Trunc(f) {
		return strconv.FormatFloat(f, 'f', 0, 64) + "."
	}
	return strconv.FormatFloat(f, 'g', 17, 64)
}

// cQuote quotes a string as c10's printQuotedString does: C escapes, three octal
// digits for what is not printable.
func cQuote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(s) {
		c := s[i]
		if k := strings.IndexByte(cEscaped, c); k >= 0 {
			b.WriteByte('\\')
			b.WriteByte(cEscapes[k])
		} else if c >= ' ' && c <= '~' {
			b.WriteByte(c)
		} else {
			b.WriteByte('\\')
			b.WriteByte('0' + c>>6)
			b.WriteByte('0' + c>>3&7)
			b.WriteByte('0' + c&7)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// cEscaped[i] is written as a backslash and cEscapes[i].
const (
	cEscaped = "\\'\"\a\b\f\n\r\t\v"
	cEscapes = "\\'\"abfnrtv"
)
