package ir

import (
	"math"
	"strconv"
	"strings"
	"sync"
)

// namedNumbers are the numbers that Python writes with letters.
var namedNumbers = map[string]Arg{
	"inf": Float(math.Inf(1)), "nan": Float(math.NaN()),
	"infj": Complex(complex(0, math.Inf(1))), "nanj": Complex(complex(0, math.NaN())),
}

// namedConstants are Python's other values with a name of their own.
var namedConstants = map[string]Arg{"None": None{}, "True": Bool(true), "False": Bool(false), "Ellipsis": Ellipsis{}}

// literal reads a value: a local, a number, a container.
func (p *parser) literal() (Arg, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	switch p.tok.kind {
	case tokenInt, tokenFloat, tokenImaginary:
		return p.number("")
	case tokenString:
		s := p.tok.value
		p.next()
		return Str(s), nil
	case tokenBytes:
		s := p.tok.value
		p.next()
		return Opaque{CodeBytes(s)}, nil
	case tokenName:
		return p.named()
	case tokenSymbol:
		switch p.tok.text {
		case "-":
			p.next()
			if !p.isNumber(p.tok) {
				return nil, p.fail("a number after a minus")
			}
			return p.number("-")
		case "(":
			return p.tuple()
		case "[":
			p.next()
			items, _, err := p.items("]")
			return List{seq{items}}, err
		case "{":
			return p.dict()
		}
	}
	return nil, p.fail("a value")
}

// CodeBytes is Python's bytes as an [Opaque] argument read from code.
type CodeBytes string

// Repr returns Python's repr.
func (b CodeBytes) Repr() string {
	quote := "'"
	if strings.Contains(string(b), "'") && !strings.Contains(string(b), `"`) {
		quote = `"`
	}
	var out strings.Builder
	out.WriteString("b" + quote)
	for i := range len(b) {
		switch c := b[i]; {
		case c == quote[0] || c == '\\':
			out.WriteString(`\` + string(c))
		case c == '\n':
			out.WriteString(`\n`)
		case c == '\r':
			out.WriteString(`\r`)
		case c == '\t':
			out.WriteString(`\t`)
		case c < ' ' || c >= 0x7f:
			out.WriteString(`\x` + strconv.FormatUint(uint64(c)+0x100, 16)[1:])
		default:
			out.WriteByte(c)
		}
	}
	return out.String() + quote
}

// number reads a number behind its sign.
func (p *parser) number(sign string) (Arg, error) {
	t := p.tok
	p.next()
	if t.kind == tokenName {
		switch a := namedNumbers[t.text].(type) {
		case Float:
			if sign != "" {
				a = -a
			}
			return a, nil
		case Complex:
			if sign != "" {
				a = Complex(complex(0, -imag(a)))
			}
			return a, nil
		}
	}
	if t.kind == tokenInt {
		if i, err := strconv.ParseInt(sign+t.text, 10, 64); err == nil {
			return Int(i), nil
		}
		return BigInt(sign + t.text), nil
	}
	// a number too large is infinite, as in Python
	f, _ := strconv.ParseFloat(sign+t.text, 64)
	if t.kind == tokenImaginary {
		return Complex(complex(0, f)), nil
	}
	return Float(f), nil
}

// tuple reads a tuple, or a complex number in brackets.
func (p *parser) tuple() (Arg, error) {
	pos := p.tok.pos
	p.next()
	start, depth := p.lexer, p.depth
	if c, ok := p.complex(); ok {
		return c, nil
	}
	p.lexer, p.depth = start, depth
	items, comma, err := p.items(")")
	if err == nil && len(items) == 1 && !comma {
		return nil, p.failAt(pos, "a tuple, with a comma behind a single value", "a value in brackets")
	}
	return Tuple{seq{items}}, err
}

// complex reads "1+2j)".
func (p *parser) complex() (Arg, bool) {
	part := func() (float64, token, bool) {
		sign := ""
		if p.isSymbol("-") || p.isSymbol("+") {
			sign = strings.TrimPrefix(p.tok.text, "+")
			p.next()
		}
		t := p.tok
		if !p.isNumber(t) {
			return 0, t, false
		}
		p.next()
		f, _ := strconv.ParseFloat(sign+strings.TrimSuffix(t.text, "j"), 64)
		return f, t, true
	}
	re, first, ok := part()
	if !ok || first.kind == tokenImaginary || !p.isSymbol("+") && !p.isSymbol("-") {
		return nil, false
	}
	im, second, ok := part()
	if !ok || second.kind != tokenImaginary && !strings.HasSuffix(second.text, "j") || !p.isSymbol(")") {
		return nil, false
	}
	p.next()
	return Complex(complex(re, im)), true
}

// items reads values up to the closing bracket and says whether a comma stands
// before it.
func (p *parser) items(end string) (items []Arg, comma bool, err error) {
	descs := p.descs
	p.descs = nil
	for !p.isSymbol(end) {
		v, err := p.literal()
		if err != nil {
			return nil, false, err
		}
		items = append(items, v)
		comma = p.isSymbol(",")
		if !comma && !p.isSymbol(end) {
			return nil, false, p.fail(quoted(",") + " or " + quoted(end))
		}
		if comma {
			p.next()
			if descs != nil && p.comment != "" {
				*descs = append(*descs, strings.TrimPrefix(p.comment, " "))
			}
		}
	}
	p.next()
	return items, comma, nil
}

// dict reads a dict. Of equal keys the last value counts and the first place.
func (p *parser) dict() (Arg, error) {
	p.descs = nil
	p.next()
	var pairs []Pair
	at := map[string]int{}
	for !p.isSymbol("}") {
		pos := p.tok.pos
		k, err := p.literal()
		if err != nil {
			return nil, err
		}
		if err := p.expect(":"); err != nil {
			return nil, err
		}
		Walk(k, func(a Arg) {
			if n, ok := a.(*Node); ok && err == nil {
				err = p.failAt(pos, "a key that is no value of the graph", quoted(n.Name()))
			}
		})
		if err != nil {
			return nil, err
		}
		v, err := p.literal()
		if err != nil {
			return nil, err
		}
		text := Repr(k)
		if i, again := at[text]; again {
			pairs[i].Value = v
		} else {
			at[text] = len(pairs)
			pairs = append(pairs, Pair{k, v})
		}
		if err := p.separator("}"); err != nil {
			return nil, err
		}
	}
	p.next()
	return Dict{pairs}, nil
}

// local returns the value of a local or parameter, nil for another name.
func (p *parser) local(name string) (Arg, error) {
	g := p.fn.graph
	if n := g.names.used[name]; n != nil && n.op != Output {
		return n, nil
	}
	if a := p.fn.byName[name]; a != nil {
		if a.local != name {
			// emitted code reads the local alone, so this is the global that
			// made the renaming necessary
			if _, global := p.object(name); global {
				return nil, nil
			}
		}
		if err := p.placeThrough(a); err != nil {
			return nil, err
		}
		if n := g.names.used[a.local]; n != nil {
			return n, nil
		}
	}
	if name == "self" && p.fn.root == name {
		// the root is used as a value: it is a placeholder of this name
		restore, err := g.InsertBefore(nil)
		if err != nil {
			return nil, err
		}
		defer restore()
		return p.node(p.tok.pos, name, Placeholder, Path(name), nil, nil)
	}
	return nil, nil
}

// named reads a value that begins with a name.
func (p *parser) named() (Arg, error) {
	t := p.tok
	a, err := p.local(t.text)
	if err != nil {
		return nil, err
	}
	if a != nil {
		p.next()
		return a, nil
	}
	if p.isNumber(t) {
		return p.number("")
	}
	p.next()
	if v, ok := namedConstants[t.text]; ok {
		return v, nil
	}
	if pythonKeywords[t.text] {
		return nil, p.failAt(t.pos, "a value", t.describe())
	}
	q := path{pieces: []string{t.text}}
	for p.isSymbol(".") && !isReceiver(q.pieces) {
		p.next()
		if p.tok.kind != tokenName {
			return nil, p.fail("the name of an attribute")
		}
		q.pieces = append(q.pieces, p.tok.text)
		p.next()
	}
	if p.isTensorText(q.String()) {
		return p.tensorText()
	}
	if p.isSymbol("(") {
		return p.constructor(t, q.String())
	}
	return p.constant(t, q.pieces)
}

// constant is what a global name that is not called stands for.
func (p *parser) constant(t token, pieces []string) (Arg, error) {
	name := strings.Join(pieces, ".")
	if v := torchLiteral(name); v != nil {
		return v, nil
	}
	switch {
	case t.text == "torch":
		if class, member := splitLast(name); enumClass(class) {
			return Enum{Class: FuncOf(class), Member: member, Value: None{}}, nil
		}
		return FuncOf(name), nil
	case len(pieces) == 2:
		return Enum{Class: FuncOf(p.className(pieces[0])), Member: pieces[1], Value: None{}}, nil
	case len(pieces) > 2:
		return nil, p.failAt(t.pos, "a value", quoted(name))
	}
	if object, ok := p.object(name); ok {
		return FuncOf(object), nil
	}
	return nil, p.failAt(t.pos, "a local, a literal or a global that an import explains", quoted(name))
}

// constructor reads a literal that is written as a call.
func (p *parser) constructor(t token, name string) (Arg, error) {
	args, kwargs, err := p.arguments()
	if err != nil {
		return nil, err
	}
	bad := func(what string) (Arg, error) { return nil, p.failAt(t.pos, what, quoted(name+"(...)")) }
	switch name {
	case "slice":
		if len(args) != 3 || kwargs != nil {
			return bad("slice(start, stop, step)")
		}
		return Slice{args[0], args[1], args[2]}, nil
	case "range":
		r, ok := rangeOf(args)
		if !ok || kwargs != nil {
			return bad("range(start, stop, step) of integers")
		}
		return r, nil
	case "complex":
		if len(args) == 2 && kwargs == nil {
			re, isRe := args[0].(Float)
			im, isIm := args[1].(Float)
			if isRe && isIm {
				return Complex(complex(float64(re), float64(im))), nil
			}
		}
		return bad("complex(re, im) of floats")
	case "device":
		d, ok := deviceOf(args, kwargs)
		if !ok {
			return bad("device(type='cpu') or device(type='cuda', index=0)")
		}
		return d, nil
	}
	object := p.called(t, name, kwargs != nil)
	if !p.isClass(object) {
		return nil, p.failAt(t.pos, "a local or a literal", "a call of "+quoted(name)+"; a call has a line of its own: y = "+name+"(…)")
	}
	return p.namedTuple(t, name, object, args, kwargs)
}

// called returns what the name of a call in a literal stands for. With fields it
// is a class as repr writes it, without its module; otherwise a global.
func (p *parser) called(t token, name string, fields bool) string {
	switch {
	case fields:
		return p.className(name)
	case t.text != "torch":
		return p.functionName(name)
	}
	return name
}

// isClass reports whether an object can be a namedtuple class: one whose fields
// are known, or with a capital letter, as Python writes classes. Anything else
// that is called is an operation, and would need a line.
func (p *parser) isClass(object string) bool {
	_, known := p.cfg.fields[FuncOf(object).Name()]
	return known || strings.HasPrefix(object, "torch.return_types.") || enumClass(object)
}

// namedTuple makes an instance of a namedtuple class, written with its fields
// where repr wrote it.
func (p *parser) namedTuple(t token, name, object string, args []Arg, kwargs []Keyword) (Arg, error) {
	if args != nil && kwargs != nil {
		return nil, p.failAt(t.pos, "a namedtuple with all of its fields or none", quoted(name+"(...)"))
	}
	v := NamedTuple{Type: FuncOf(object), seq: seq{args}}
	if kwargs == nil {
		v.Fields = p.cfg.fields[v.Type.Name()]
	}
	for _, k := range kwargs {
		v.Fields = append(v.Fields, k.Name)
		v.items = append(v.items, k.Value)
	}
	return v, nil
}

func rangeOf(args []Arg) (Range, bool) {
	v := [3]int64{0, 0, 1}
	for i, a := range args {
		n, ok := a.(Int)
		if !ok || i > 2 {
			return Range{}, false
		}
		v[i] = int64(n)
	}
	return Range{v[0], v[1], v[2]}, len(args) >= 2 && v[2] != 0
}

func deviceOf(args []Arg, kwargs []Keyword) (Device, bool) {
	if len(args) > 0 || len(kwargs) == 0 || len(kwargs) > 2 || kwargs[0].Name != "type" {
		return Device{}, false
	}
	kind, ok := kwargs[0].Value.(Str)
	text := string(kind)
	if len(kwargs) == 2 {
		index, isInt := kwargs[1].Value.(Int)
		if ok = ok && isInt && kwargs[1].Name == "index"; ok {
			text += ":" + strconv.FormatInt(int64(index), 10)
		}
	}
	d, err := ParseDevice(text)
	return d, ok && err == nil
}

// isTensorText reports whether "torch.Tensor" begins what code writes of a
// tensor, and not a call of the class.
func (p *parser) isTensorText(name string) bool {
	return name == "torch.Tensor" && p.isSymbol("(") && p.peek().text == "size"
}

// tensorText reads "(size=[2, 3], dtype=float32)".
func (p *parser) tensorText() (Arg, error) {
	if err := p.words("(", "size", "="); err != nil {
		return nil, err
	}
	pos := p.tok.pos
	v, err := p.literal()
	if err != nil {
		return nil, err
	}
	var m TensorMeta
	sizes, ok := v.(List)
	for _, s := range sizes.items {
		n, isInt := s.(Int)
		ok = ok && isInt && n >= 0
		m.Sizes = append(m.Sizes, SizeOf(int64(n)))
	}
	if !ok {
		return nil, p.failAt(pos, "a list of sizes", Repr(v))
	}
	if err := p.words(",", "dtype", "="); err != nil {
		return nil, err
	}
	if m.DType, err = ParseDType("torch." + p.tok.text); err != nil {
		return nil, p.fail("a dtype")
	}
	p.next()
	return Opaque{&CodeTensor{m}}, p.expect(")")
}

// torchLiterals maps "torch.float32" and the like to their values.
var torchLiterals = sync.OnceValue(func() map[string]Arg {
	values := map[string]Arg{}
	for _, d := range DTypes() {
		values[d.String()] = d
	}
	for alias, name := range dtypeAliases {
		values["torch."+alias] = values["torch."+name]
	}
	for l := range numLayouts {
		values[l.String()] = l
	}
	for m := range numMemoryFormats {
		values[m.String()] = m
	}
	return values
})

func torchLiteral(name string) Arg { return torchLiterals()[name] }
