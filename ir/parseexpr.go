package ir

import "strings"

// An expression is what a line computes.
type expression struct {
	op     Op
	target Target
	args   []Arg
	kwargs []Keyword
	global string // what is called, where it may have a wrap line
}

func operation(name string, args ...Arg) expression {
	return expression{op: CallFunction, target: FuncOf("operator." + name), args: args}
}

// infixSymbols maps Python's operators to functions of the operator module.
var infixSymbols, unarySymbols = func() (infix, unary map[string]string) {
	infix, unary = map[string]string{}, map[string]string{}
	for name, form := range infixForms {
		symbol := strings.Trim(form, "{} ")
		switch {
		case name == "div" || name == "getitem":
		case strings.HasPrefix(form, "{}"):
			infix[symbol] = name
		default:
			unary[symbol] = name
		}
	}
	return infix, unary
}()

func (p *parser) atLineEnd() bool {
	return p.tok.kind == tokenNewline || p.tok.kind == tokenEnd || p.isSymbol(";")
}

// expression reads the right side of an assignment.
func (p *parser) expression() (expression, error) {
	if name := unarySymbols[p.tok.text]; name != "" && p.tok.kind == tokenSymbol {
		return p.unary(name)
	}
	if p.tok.kind == tokenName && p.fn.graph.Lookup(p.tok.text) == nil {
		switch next := p.peek(); {
		case p.isName("getattr") && next.text == "(", p.isName(p.fn.root) && next.text == ".":
			return p.pathExpression()
		case next.text == "(" || next.text == ".":
			return p.globalExpression()
		}
	}
	a, err := p.literal()
	if err != nil {
		return expression{}, err
	}
	return p.operate(a)
}

// unary reads "-x", where a minus before a number belongs to it, unless the
// number is all there is.
func (p *parser) unary(name string) (expression, error) {
	start, depth := p.lexer, p.depth
	if next := p.peek(); name == "neg" && p.isNumber(next) {
		a, err := p.literal()
		if err != nil {
			return expression{}, err
		}
		if !p.atLineEnd() {
			return p.operate(a)
		}
		p.lexer, p.depth = start, depth
	}
	p.next()
	a, err := p.literal()
	return operation(name, a), err
}

// isNumber reports whether t begins a number without a sign.
func (p *parser) isNumber(t token) bool {
	switch t.kind {
	case tokenInt, tokenFloat, tokenImaginary:
		return true
	case tokenName:
		_, named := namedNumbers[t.text]
		return named && p.fn.graph.Lookup(t.text) == nil
	}
	return false
}

// operate reads what follows a first operand.
func (p *parser) operate(a Arg) (expression, error) {
	if name := infixSymbols[p.tok.text]; name != "" && p.tok.kind == tokenSymbol {
		p.next()
		b, err := p.literal()
		return operation(name, a, b), err
	}
	switch {
	case p.isSymbol("["):
		p.next()
		i, err := p.literal()
		if err != nil {
			return expression{}, err
		}
		return operation("getitem", a, i), p.expect("]")
	case p.isSymbol("."):
		return p.method(path{base: a})
	}
	return expression{}, p.fail("an operator, a subscript, an attribute or a call")
}

// A path is an attribute of the root module or of a value.
type path struct {
	base   Arg // nil for the root module
	pieces []string
}

func (q path) String() string { return strings.Join(q.pieces, ".") }

// pieces reads ".a.b".
func (p *parser) pieces(q *path) error {
	for p.isSymbol(".") {
		p.next()
		if p.tok.kind != tokenName {
			return p.fail("the name of an attribute")
		}
		q.pieces = append(q.pieces, p.tok.text)
		p.next()
	}
	return nil
}

// method reads what follows a value: ".a" or ".a.b(…)".
func (p *parser) method(q path) (expression, error) {
	if err := p.pieces(&q); err != nil {
		return expression{}, err
	}
	if p.isSymbol("(") {
		args, kwargs, err := p.arguments()
		if q.base == nil {
			return expression{op: CallModule, target: Path(q.String()), args: args, kwargs: kwargs}, err
		}
		return expression{op: CallMethod, target: Path(q.String()), args: append([]Arg{q.base}, args...), kwargs: kwargs}, err
	}
	switch {
	case q.base == nil:
		return expression{op: GetAttr, target: Path(q.String())}, nil
	case len(q.pieces) != 1:
		return expression{}, p.fail(`"(" after a method`)
	}
	return expression{op: CallFunction, target: getattrFunc, args: []Arg{q.base, Str(q.pieces[0])}}, nil
}

var getattrFunc = FuncOf("getattr")

// pathExpression reads what begins with getattr( or with the root module.
func (p *parser) pathExpression() (expression, error) {
	q, call, err := p.path(true)
	if err != nil {
		return expression{}, err
	}
	if call != nil {
		return *call, nil
	}
	return p.method(q)
}

// path reads a path with its getattr forms. A getattr with a default, or with
// a name that no path has, is a call of the function; that may only be the whole
// expression.
func (p *parser) path(whole bool) (q path, call *expression, err error) {
	if err := p.enter(); err != nil {
		return q, nil, err
	}
	defer p.leave()
	if !p.isName("getattr") || p.peek().text != "(" {
		if p.isName(p.fn.root) && p.fn.graph.Lookup(p.fn.root) == nil {
			p.next()
		} else if q.base, err = p.literal(); err != nil {
			return q, nil, err
		}
		return q, nil, p.pieces(&q)
	}
	start, depth := p.lexer, p.depth
	p.next()
	p.next()
	q, _, err = p.path(false)
	if err == nil && p.isSymbol(",") {
		p.next()
		name := p.tok
		if name.kind == tokenString && p.peek().text == ")" {
			p.next()
			p.next()
			double := name.text[0] == '"'
			if q.base == nil || len(q.pieces) > 0 || !whole || double && (p.isSymbol("(") || p.isSymbol(".")) {
				q.pieces = append(q.pieces, name.value)
				return q, nil, p.pieces(&q)
			}
		}
	}
	if !whole {
		if err == nil {
			err = p.fail("the name of an attribute in quotes")
		}
		return q, nil, err
	}
	p.lexer, p.depth = start, depth
	p.next()
	args, kwargs, err := p.arguments()
	return q, &expression{op: CallFunction, target: getattrFunc, args: args, kwargs: kwargs, global: "getattr"}, err
}

// globalExpression reads a call of a global function, or an operation on a
// literal that begins with a name.
func (p *parser) globalExpression() (expression, error) {
	pos, start, depth := p.tok.pos, p.lexer, p.depth
	names := path{pieces: []string{p.tok.text}}
	p.next()
	if err := p.pieces(&names); err != nil {
		return expression{}, err
	}
	if !p.isSymbol("(") || beginsWithReceiver(names.pieces) || p.isTensorText(names.String()) {
		p.lexer, p.depth = start, depth
		a, err := p.literal()
		if err != nil {
			return expression{}, err
		}
		return p.operate(a)
	}
	args, kwargs, err := p.arguments()
	if err != nil {
		return expression{}, err
	}
	if p.tok.kind == tokenName {
		return expression{}, p.fail("the end of the line")
	}
	if !p.atLineEnd() {
		// complex(0.0, 1.0) + x: the call was a literal
		p.lexer, p.depth = start, depth
		a, err := p.literal()
		if err != nil {
			return expression{}, err
		}
		return p.operate(a)
	}
	name := names.String()
	if pythonKeywords[names.pieces[0]] {
		return expression{}, p.failAt(pos, "a function", quoted(names.pieces[0]))
	}
	return expression{
		op: CallFunction, target: FuncOf(p.functionName(name)), args: args, kwargs: kwargs, global: name,
	}, nil
}

// beginsWithReceiver reports whether a part of a dotted name is a value.
func beginsWithReceiver(pieces []string) bool {
	for i := 1; i < len(pieces) && i <= 5; i++ {
		if isReceiver(pieces[:i]) {
			return true
		}
	}
	return false
}

// isReceiver reports whether a dotted name is a value, so that what follows it is
// a method of the value and not a part of a function's name.
func isReceiver(pieces []string) bool {
	if len(pieces) == 0 {
		return false
	}
	name := strings.Join(pieces, ".")
	_, number := namedNumbers[name]
	_, constant := namedConstants[name]
	enum := pieces[0] != "torch" && len(pieces) == 2
	overload := strings.HasPrefix(name, "torch.ops.") && len(pieces) == 5
	return number || constant || enum || overload || torchLiteral(name) != nil
}

// arguments reads "(a, b, k = c)".
func (p *parser) arguments() (args []Arg, kwargs []Keyword, err error) {
	if err := p.enter(); err != nil {
		return nil, nil, err
	}
	defer p.leave()
	if err := p.expect("("); err != nil {
		return nil, nil, err
	}
	var seen map[string]bool
	for !p.isSymbol(")") {
		if p.tok.kind == tokenName && p.peek().text == "=" {
			pos := p.tok.pos
			name := p.tok.text
			if seen == nil {
				seen = map[string]bool{}
			}
			if seen[name] {
				return nil, nil, p.failAt(pos, "different keywords", quoted(name)+" twice")
			}
			seen[name] = true
			p.next()
			p.next()
			v, err := p.literal()
			if err != nil {
				return nil, nil, err
			}
			kwargs = append(kwargs, Keyword{name, v})
		} else {
			if kwargs != nil {
				return nil, nil, p.fail("a keyword argument after a keyword argument")
			}
			v, err := p.argument(len(args))
			if err != nil {
				return nil, nil, err
			}
			args = append(args, v)
		}
		if err := p.separator(")"); err != nil {
			return nil, nil, err
		}
	}
	p.next()
	return args, kwargs, nil
}

// argument reads positional argument i, which may be the local of a boxed one.
func (p *parser) argument(i int) (Arg, error) {
	for _, b := range p.fn.boxes {
		if b.name == p.tok.text && p.tok.kind == tokenName {
			b.arg = i
			p.next()
			return b.value, nil
		}
	}
	return p.literal()
}
