package ir

import (
	"regexp"
	"strconv"
	"strings"
)

// A boxedLocal is the local of an argument that a call takes boxed.
type boxedLocal struct {
	name  string
	pos   int
	value Arg
	arg   int // its place in the call, -1 until that was read
}

// line reads one line of the body, up to its end.
func (p *parser) line() error {
	if p.comment != "" {
		p.fn.comment = p.comment
	}
	switch {
	case p.isName("pass"):
		p.next()
		return nil
	case p.isName("return"):
		return p.returned()
	case p.isName("_rf") || strings.HasPrefix(p.tok.text, "_rf_"):
		if n := recordLength(p.src[p.tok.pos:], p.tok.text); n > 0 {
			p.pos = p.tok.pos + n
			p.next()
			return nil
		}
	}
	if next := p.peek(); p.tok.kind == tokenName && (next.text == "=" || next.text == ":") {
		return p.assignment()
	}
	return p.augmented()
}

// isRecord reports whether a line calls the profiler.
func isRecord(line string) bool {
	end := strings.IndexAny(line, " .")
	return strings.HasPrefix(line, "_rf") && end > 0 && recordLength(line, line[:end]) == len(line)
}

// recordLength is the length of a line that calls the profiler, 0 for other
// lines.
func recordLength(s, local string) int {
	line := s[:lineLength(s)]
	if line == local+".__exit__(None, None, None)" {
		return len(line)
	}
	rest, ok := strings.CutPrefix(line, local+" = torch._C._profiler._RecordFunctionFast('## ")
	if ok {
		if _, rest, ok = strings.Cut(rest, " ##'); "); ok && rest == local+".__enter__()" {
			return len(line)
		}
	}
	return 0
}

// returned reads a return statement.
func (p *parser) returned() error {
	pos := p.tok.pos
	p.next()
	rebuilt := p.isName("pytree") && p.fn.graph.Lookup("pytree") == nil
	if rebuilt {
		if err := p.words("pytree", ".", "tree_unflatten", "("); err != nil {
			return err
		}
	}
	var descs []string
	p.descs = &descs
	v, err := p.literal()
	p.descs = nil
	if err != nil {
		return err
	}
	if rebuilt {
		if err := p.words(",", "self", ".", "_out_spec", ")"); err != nil {
			return err
		}
		c, ok := p.fn.graph.codegen.(PyTreeCodeGen)
		if !ok && p.fn.graph.codegen != nil {
			return p.failAt(pos, "a result that is returned as it is", "one that is built up by a spec")
		}
		c.Out = p.outSpec()
		p.fn.graph.SetCodeGen(c)
	}
	n := p.fn.graph.Output(v)
	if len(descs) > 0 {
		n.meta.Set(MetaDesc, descs)
	}
	return p.releases()
}

// releases reads ";  a = b = None" up to the end of the line.
func (p *parser) releases() error {
	for p.isSymbol(";") {
		p.next()
		if p.isName("None") {
			return p.fail("a name to release")
		}
		for !p.isName("None") {
			if !p.known(p.tok.text) {
				return p.fail("a name to release that is there")
			}
			p.next()
			if err := p.expect("="); err != nil {
				return err
			}
		}
		p.next()
	}
	return nil
}

// known reports whether name is a local.
func (p *parser) known(name string) bool {
	if n := p.fn.graph.Lookup(name); n != nil {
		return true
	}
	if p.fn.byName[name] != nil {
		return true
	}
	for _, b := range p.fn.boxes {
		if b.name == name {
			return true
		}
	}
	return p.fn.opened[name]
}

// assignment reads "local = expression" with what follows it.
func (p *parser) assignment() error {
	pos := p.tok.pos
	local, typ, value, err := p.target()
	if err != nil {
		return err
	}
	if a := p.fn.byName[p.tok.text]; a != nil && a.local == local && local != a.bare() && p.tok.kind == tokenName {
		if err := p.placeThrough(a); err != nil {
			return err
		}
		p.next()
		return nil
	}
	if isBoxedName(local) {
		if done, err := p.box(pos, local); done || err != nil {
			return err
		}
	}
	e, err := p.expression()
	if err != nil {
		return err
	}
	n, err := p.node(pos, local, e.op, e.target, e.args, e.kwargs)
	if err != nil {
		return err
	}
	n.typ = typ
	p.note(n, value)
	if line, wrapped := p.wrapped[e.global]; wrapped {
		p.fn.wraps = append(p.fn.wraps, wrappedCall{n, line})
	}
	if len(p.fn.boxes) > 0 {
		if err := p.unboxed(n); err != nil {
			return err
		}
	}
	return p.releases()
}

// target reads "local : type =".
func (p *parser) target() (local, typ string, value any, err error) {
	if local, err = p.name("a local to assign to"); err != nil {
		return "", "", nil, err
	}
	if p.isSymbol(":") {
		p.next()
		if typ, value, err = p.annotation(); err != nil {
			return "", "", nil, err
		}
	}
	return local, typ, value, p.expect("=")
}

// box reads "f_boxed_arg_0 = value". It reports false, having read nothing,
// where the line is something else.
func (p *parser) box(pos int, local string) (bool, error) {
	start, depth := p.lexer, p.depth
	v, err := p.literal()
	if err != nil || p.tok.kind != tokenNewline && p.tok.kind != tokenEnd && !p.isSymbol(";") {
		p.lexer, p.depth = start, depth
		return false, nil
	}
	if p.known(local) {
		return true, p.failAt(pos, "a local that is not there yet", quoted(local)+" again")
	}
	p.fn.boxes = append(p.fn.boxes, &boxedLocal{local, pos, v, -1})
	return true, p.releases()
}

// unboxed notes on n, a call, which arguments it took boxed.
func (p *parser) unboxed(n *Node) error {
	indices := make([]int, len(p.fn.boxes))
	p.fn.opened = map[string]bool{}
	for i, b := range p.fn.boxes {
		if b.arg < 0 || n.op != CallFunction {
			return p.failAt(b.pos, "a local that the next call takes", quoted(b.name))
		}
		indices[i] = b.arg
		p.fn.opened[b.name] = true
	}
	n.meta.Set(MetaBoxedArgs, indices)
	p.fn.boxes = nil
	return nil
}

// inplaceSymbols maps the assigning operators to functions of the operator
// module.
var inplaceSymbols = func() map[string]string {
	symbols := map[string]string{}
	for name, form := range inplaceForms {
		symbols[strings.Trim(form, "{}[] ")] = name
	}
	delete(symbols, "=") // setitem, which looks like any assignment
	return symbols
}()

// augmented reads "a += b;  local = a" and "a[i] = b;  local = a".
func (p *parser) augmented() error {
	pos := p.tok.pos
	a, err := p.literal()
	if err != nil {
		return err
	}
	args := []Arg{a}
	if p.isSymbol("[") {
		p.next()
		i, err := p.literal()
		if err != nil {
			return err
		}
		args = append(args, i)
		if err := p.expect("]"); err != nil {
			return err
		}
	}
	name := inplaceSymbols[p.tok.text]
	switch {
	case p.tok.kind != tokenSymbol, len(args) == 1 && name == "", len(args) == 2 && !p.isSymbol("="):
		return p.fail("an assignment, a return or pass")
	case len(args) == 2:
		name = "setitem"
	}
	p.next()
	v, err := p.literal()
	if err != nil {
		return err
	}
	args = append(args, v)
	if err := p.expect(";"); err != nil {
		return err
	}
	target := p.tok.pos
	local, typ, value, err := p.target()
	if err != nil {
		return err
	}
	again := p.tok.pos
	same, err := p.literal()
	if err != nil {
		return err
	}
	if !EqualArgs(a, same) {
		return p.failAt(again, "the value that was changed, "+Repr(a), Repr(same))
	}
	n, err := p.node(target, local, CallFunction, FuncOf("operator."+name), args, nil)
	if err != nil {
		return err
	}
	if len(p.fn.boxes) > 0 {
		return p.failAt(pos, "a call that takes "+p.fn.boxes[0].name, "another line")
	}
	n.typ = typ
	p.note(n, value)
	return p.releases()
}

// node appends a node under its local name.
func (p *parser) node(pos int, local string, op Op, target Target, args []Arg, kwargs []Keyword) (*Node, error) {
	g := p.fn.graph
	if n, taken := g.names.used[local]; taken {
		if n == nil || n.op != Output {
			return nil, p.failAt(pos, "a local that is not there yet", quoted(local)+" again")
		}
		// outputs have no local, so theirs gives way
		n.name = g.names.create(n.name)
		g.names.used[n.name] = n
		delete(g.names.used, local)
	}
	g.names.reserve(local)
	n := g.create(op, target, args, nodeConfig{name: local, exact: true, kwargs: kwargs})
	return n, nil
}

// note sets what verbose code says of a node.
func (p *parser) note(n *Node, value any) {
	if value != nil {
		n.meta.Set(MetaVal, value)
	}
	if n.op == Placeholder || p.fn.comment == "" {
		return
	}
	m := framePatternInComment.FindStringSubmatch(uncolored(p.fn.comment))
	if m == nil {
		return
	}
	if _, err := strconv.Atoi(m[3]); err != nil {
		return
	}
	n.meta.Set(MetaStackTrace, `File "`+m[2]+`", line `+m[3]+", in "+m[4]+"\n    "+m[5])
	if m[1] != "" {
		n.meta.Set(MetaAutogradBackward, true)
	}
}

// framePatternInComment is how verbose code tells the last frame of a stack.
var framePatternInComment = regexp.MustCompile(`(Backward of forward node: )?File: (.+?):(\d+) in (.+?), code: (.*)$`)
