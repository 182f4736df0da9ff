package ir

import (
	"strconv"
	"strings"
)

// Bounds on a schema's text. PyTorch's longest has 2,300 bytes.
const (
	maxSchemaText  = 1 << 16
	maxSchemaDepth = 16
	maxFixedList   = 1024
)

// freshAlias starts the name of an alias set that no annotation shares:
// "Tensor! x".
const freshAlias = "$"

// ParseSchema reads the text of an operator's signature, as the dispatcher
// prints it, as native_functions.yaml has it, or as torch.library.define takes
// it. Same grammar as torch/csrc/jit/frontend/function_schema_parser.cpp.
//
// A default becomes the value that the argument's type asks for: "1" is
// Float(1) for a float, two Int(1) for an int[2], a [DType], [Layout] or
// [MemoryFormat] where the type is one ("0", "contiguous_format"), [List] for
// every list. As in PyTorch, the "1" of an optional float stays Int(1).
//
// A text that is no schema is an error of class [ErrSyntax] that names the
// column, counted in bytes from 1.
func ParseSchema(text string) (*Schema, error) {
	p := schemaParser{cursor: cursor{what: "schema", text: text}}
	if len(text) > maxSchemaText {
		return nil, Errorf(ErrSyntax, "schema: expected at most %d bytes, got %d", maxSchemaText, len(text))
	}
	s := p.schema()
	if p.err != nil {
		return nil, p.err
	}
	return s, nil
}

// schemaParser is a recursive descent parser. The first error sticks, and
// every method returns at once after it.
type schemaParser struct {
	cursor
	fresh int // number of alias sets without a name
}

func (p *schemaParser) schema() *Schema {
	s := &Schema{Op: p.opName()}
	p.expect("(")
	keywordOnly := false
	for first := true; p.err == nil && !p.accept(")"); first = false {
		if !first {
			p.expect(",")
		}
		switch {
		case p.accept("..."):
			s.VarArgs = true
			p.expect(")")
			p.returns(s)
			return s
		case p.peek() == '*':
			if keywordOnly {
				p.fail("an argument")
			}
			p.expect("*")
			keywordOnly = true
		default:
			a := p.param(true)
			a.KeywordOnly = keywordOnly
			s.Args = append(s.Args, a)
		}
	}
	p.returns(s)
	return s
}

// opName reads "aten::add.out"; the namespace may be missing, as in the text
// that a library gives to m.def.
func (p *schemaParser) opName() string {
	p.space()
	start := p.pos
	p.ident("an operator name")
	for p.err == nil && strings.HasPrefix(p.text[p.pos:], "::") {
		p.pos += 2
		p.ident("an operator name")
	}
	if p.err == nil && p.pos < len(p.text) && p.text[p.pos] == '.' {
		p.pos++
		if at := p.pos; p.ident("an overload name") == "default" {
			p.pos = at
			p.fail("no overload name or one that is not reserved")
		}
	}
	return p.text[start:p.pos]
}

func (p *schemaParser) returns(s *Schema) {
	p.expect("->")
	switch {
	case p.err != nil:
		return
	case p.accept("..."):
		s.VarReturns = true
	case p.peek() == '(':
		p.expect("(")
		for first := true; p.err == nil && !p.accept(")"); first = false {
			if !first {
				p.expect(",")
			}
			if p.accept("...") {
				s.VarReturns = true
				p.expect(")")
				break
			}
			s.Returns = append(s.Returns, p.param(false))
		}
	default:
		s.Returns = append(s.Returns, p.param(false))
	}
	p.space()
	if p.err == nil && p.pos < len(p.text) {
		p.fail("the end")
	}
}

// param reads "Tensor(a!)[] out" or "Scalar alpha=1"; only an argument has to
// have a name and may have a default.
func (p *schemaParser) param(argument bool) Param {
	var a Param
	a.Type, a.Alias = p.typ(0)
	if argument {
		p.space()
		a.Name = p.ident("an argument name")
		if p.accept("=") {
			a.Default = p.defaultValue(a.Type)
		}
		return a
	}
	if c := p.peek(); isWordByte(c) {
		a.Name = p.ident("a name")
	}
	return a
}

func (p *schemaParser) typ(depth int) (Type, *Alias) {
	if depth > maxSchemaDepth {
		p.fail("types nested at most " + strconv.Itoa(maxSchemaDepth) + " deep")
	}
	t := p.baseType(depth)
	alias := p.alias()
	for p.err == nil {
		switch p.peek() {
		case '?':
			p.expect("?")
			if t.Kind != TypeOptional {
				elem := t
				t = Type{Kind: TypeOptional, Elem: &elem}
			}
		case '[':
			p.expect("[")
			elem := t
			t = Type{Kind: TypeList, Elem: &elem, Len: p.listLen()}
			p.expect("]")
			items := alias
			if alias = p.alias(); items != nil {
				if alias == nil {
					alias = &Alias{Write: items.Write}
				}
				alias.Elem = items
			}
		default:
			return t, alias
		}
		if depth++; depth > maxSchemaDepth {
			p.fail("types nested at most " + strconv.Itoa(maxSchemaDepth) + " deep")
		}
	}
	return t, alias
}

func (p *schemaParser) listLen() int {
	if c := p.peek(); c < '0' || c > '9' {
		return 0
	}
	start := p.pos
	for p.pos < len(p.text) && p.text[p.pos] >= '0' && p.text[p.pos] <= '9' {
		p.pos++
	}
	n, err := strconv.Atoi(p.text[start:p.pos])
	if err != nil || n < 1 || n > maxFixedList {
		p.pos = start
		p.fail("a length from 1 to " + strconv.Itoa(maxFixedList))
	}
	return n
}

func (p *schemaParser) baseType(depth int) Type {
	if p.peek() == '(' {
		return Type{Kind: TypeTuple, Elems: p.typeList(depth)}
	}
	start := p.pos
	name := p.ident("a type")
	if p.err != nil {
		return Type{}
	}
	if kind, ok := baseTypeKind(name); ok {
		return Type{Kind: kind}
	}
	switch {
	case name == "Dict":
		if elems := p.typeList(depth); len(elems) == 2 {
			return Type{Kind: TypeDict, Elems: elems}
		}
		p.pos = start
		p.fail("Dict(key, value)")
	case name == "Future":
		if elems := p.typeList(depth); len(elems) == 1 {
			return Type{Kind: TypeFuture, Elem: &elems[0]}
		}
		p.pos = start
		p.fail("Future(type)")
	case name == "__torch__":
		for p.err == nil && p.pos < len(p.text) && p.text[p.pos] == '.' {
			p.pos++
			p.ident("a class name")
		}
		return Type{Kind: TypeClass, Name: p.text[start:p.pos]}
	case name[0] >= 'a' && name[0] <= 'z':
		return Type{Kind: TypeVar, Name: name} // PyTorch's rule: lower case is a variable
	default:
		p.pos = start
		p.fail("a type")
	}
	return Type{}
}

func (p *schemaParser) typeList(depth int) []Type {
	types := []Type{}
	p.expect("(")
	for p.err == nil && !p.accept(")") {
		if len(types) > 0 {
			p.expect(",")
		}
		t, _ := p.typ(depth + 1)
		types = append(types, t)
	}
	return types
}

// alias reads "(a!)", "(a|b)", "(a -> *)", "!" or nothing.
func (p *schemaParser) alias() *Alias {
	if p.accept("!") {
		p.fresh++
		return &Alias{Before: []string{freshAlias + strconv.Itoa(p.fresh-1)}, Write: true}
	}
	if p.err != nil || !p.accept("(") {
		return nil
	}
	a := &Alias{Before: p.aliasSets()}
	a.Write = p.accept("!")
	if p.accept("->") {
		a.After = p.aliasSets()
	}
	p.expect(")")
	return a
}

func (p *schemaParser) aliasSets() []string {
	var sets []string
	for p.err == nil {
		if p.accept("*") {
			sets = append(sets, "*")
		} else {
			p.space()
			sets = append(sets, p.ident("an alias set"))
		}
		if !p.accept("|") {
			break
		}
	}
	return sets
}
