package ir

import "strings"

// name reads a name that is no keyword.
func (p *parser) name(what string) (string, error) {
	s := p.tok.text
	if p.tok.kind != tokenName || pythonKeywords[s] {
		return "", p.fail(what)
	}
	p.next()
	return s, nil
}

// expect reads a symbol or a word.
func (p *parser) expect(text string) error {
	if p.tok.text != text || p.tok.kind != tokenSymbol && p.tok.kind != tokenName {
		return p.fail(quoted(text))
	}
	p.next()
	return nil
}

// separator reads the comma between items of a list that end closes; there is none
// behind the last.
func (p *parser) separator(end string) error {
	switch {
	case p.isSymbol(","):
		p.next()
	case !p.isSymbol(end):
		return p.fail(quoted(",") + " or " + quoted(end))
	}
	return nil
}

func quoted(s string) string { return `"` + s + `"` }

// A function is the def being read.
type function struct {
	graph   *Graph
	name    string            // "" for forward
	root    string            // the module that attribute paths start from
	params  []*param          // in order, without the root
	byName  map[string]*param // the same by their names without stars
	placed  int               // how many of them are nodes already
	args    []string          // of a pytree signature, nil for others
	boxes   []*boxedLocal     // locals that the next call takes
	opened  map[string]bool   // names of those that the last call took
	wraps   []wrappedCall     // calls of globals with a wrap line
	comment string            // of verbose code: where the next nodes come from
}

// A param is a parameter that is or becomes a placeholder.
type param struct {
	name  string // with stars
	pos   int
	typ   string
	value any    // what an annotation of verbose code says
	desc  string // comment of expanded code
	def   Arg    // the default, nil for none
	local string // what the body renames it to, else its own name
	done  bool   // it is a node
	late  bool   // the renaming stands after other lines, so the node does too
}

func (a *param) bare() string { return strings.TrimLeft(a.name, "*") }

// function reads a def with its body into a new graph.
func (p *parser) function() (*Graph, error) {
	p.fn = &function{graph: NewGraph()}
	def := p.indent()
	p.next()
	name, err := p.name("the name of a function")
	if err != nil {
		return nil, err
	}
	if name != "forward" {
		p.fn.name = name
		p.fn.graph.SetCodeGen(PlainCodeGen{name})
	}
	if err := p.signature(); err != nil {
		return nil, err
	}
	returns := ""
	if p.isSymbol("->") {
		p.next()
		if returns, err = p.typeText(); err != nil {
			return nil, err
		}
	}
	if err := p.expect(":"); err != nil {
		return nil, err
	}
	if p.tok.kind != tokenNewline && p.tok.kind != tokenEnd {
		return nil, p.fail("the end of the line after a def")
	}
	p.newlines()
	if err := p.body(def); err != nil {
		return nil, err
	}
	p.markWrapped()
	if returns != "" {
		for n := range p.fn.graph.Nodes() {
			if n.op == Output {
				n.typ = returns
			}
		}
	}
	return p.fn.graph, nil
}

// signature reads the parameters. A first one called self is the root module,
// unless it is annotated or has a default.
func (p *parser) signature() error {
	if err := p.expect("("); err != nil {
		return err
	}
	var params []*param
	for first := true; !p.isSymbol(")"); first = false {
		a, err := p.param()
		if err != nil {
			return err
		}
		if first && a.name == "self" && a.typ == "" && a.def == nil && a.value == nil {
			continue
		}
		params = append(params, a)
	}
	p.next()
	if p.fn.root = p.cfg.root; p.fn.root == "" {
		p.fn.root = "self"
	}
	return p.setParams(params)
}

func (p *parser) setParams(params []*param) error {
	p.fn.params, p.fn.byName = params, make(map[string]*param, len(params))
	for _, a := range params {
		if p.fn.byName[a.bare()] != nil {
			return p.failAt(a.pos, "different names", quoted(a.bare())+" twice")
		}
		p.fn.byName[a.bare()] = a
	}
	return nil
}

// param reads "*name : type = default" and what separates it from the next.
func (p *parser) param() (*param, error) {
	a, err := p.paramName()
	if err != nil {
		return nil, err
	}
	if p.isSymbol(":") {
		p.next()
		if a.typ, a.value, err = p.annotation(); err != nil {
			return nil, err
		}
	}
	if p.isSymbol("=") {
		p.next()
		if a.def, err = p.literal(); err != nil {
			return nil, err
		}
	}
	if p.isSymbol(",") {
		p.next()
		a.desc = strings.TrimPrefix(p.comment, " ")
	} else if !p.isSymbol(")") {
		return nil, p.fail(`"," or ")" after a parameter`)
	}
	return a, nil
}

func (p *parser) paramName() (*param, error) {
	a := &param{pos: p.tok.pos}
	for p.isSymbol("*") || p.isSymbol("**") {
		a.name += p.tok.text
		p.next()
	}
	bare, err := p.name("the name of a parameter")
	a.name += bare
	a.local = bare
	return a, err
}

// words reads these tokens; "\n" is the end of a line.
func (p *parser) words(texts ...string) error {
	for _, s := range texts {
		if s == "\n" {
			if p.tok.kind != tokenNewline && p.tok.kind != tokenEnd {
				return p.fail("the end of the line")
			}
			p.next()
		} else if err := p.expect(s); err != nil {
			return err
		}
	}
	return nil
}

// body reads the lines of the function whose def is indented so much. A graph
// of placeholders alone has none.
func (p *parser) body(def int) error {
	indent := p.indent()
	if p.tok.kind == tokenEnd || indent <= def {
		indent = def + 1
	}
	if err := p.prologue(); err != nil {
		return err
	}
	p.findRenames(indent)
	for p.fn.placed < len(p.fn.params) && !p.fn.params[p.fn.placed].late {
		if err := p.place(); err != nil {
			return err
		}
	}
	for p.tok.kind != tokenEnd {
		if p.tok.kind == tokenNewline {
			p.next()
			continue
		}
		if in := p.indent(); in < indent || p.isName("class") {
			break
		} else if in > indent {
			return p.fail("a line indented like the first of the body")
		}
		if err := p.line(); err != nil {
			return err
		}
		if p.tok.kind != tokenNewline && p.tok.kind != tokenEnd {
			return p.fail("the end of the line")
		}
	}
	return p.finish()
}

// findRenames looks through the body for the lines "local = parameter", which
// name the placeholders.
func (p *parser) findRenames(indent int) {
	rest, top := p.src[p.lineStart:], true
	for rest != "" {
		n := lineLength(rest)
		line := rest[:n]
		rest = rest[min(n+1, len(rest)):]
		text := strings.TrimSpace(line)
		if text == "" || text[0] == '#' || text[0] == '\033' || isRecord(text) {
			continue
		}
		if len(line)-len(strings.TrimLeft(line, " \t")) < indent || strings.HasPrefix(text, "class ") {
			break
		}
		local, bare, _ := strings.Cut(text, " = ")
		a := p.fn.byName[bare]
		if a == nil || a.local != bare || local == bare || !isIdentifier(local) || pythonKeywords[local] || isBoxedName(local) {
			top = false
			continue
		}
		a.local, a.late = local, !top
	}
}

// place makes the next parameter a node, here.
func (p *parser) place() error {
	a := p.fn.params[p.fn.placed]
	p.fn.placed++
	a.done = true
	var args []Arg
	if a.def != nil {
		args = []Arg{a.def}
	}
	n, err := p.node(a.pos, a.local, Placeholder, Path(a.name), args, nil)
	if err != nil {
		return err
	}
	n.typ = a.typ
	p.note(n, a.value)
	if a.desc != "" {
		n.meta.Set(MetaDesc, a.desc)
	}
	return nil
}

// placeThrough makes nodes of the parameters up to a, and of those that follow
// it, up to the next one that is renamed later.
func (p *parser) placeThrough(a *param) error {
	for p.fn.placed < len(p.fn.params) && !(a.done && p.fn.params[p.fn.placed].late) {
		if err := p.place(); err != nil {
			return err
		}
	}
	return nil
}

// finish checks what the end of a body leaves open.
func (p *parser) finish() error {
	if len(p.fn.boxes) > 0 {
		return p.fail("a call that takes " + p.fn.boxes[0].name)
	}
	if c, ok := p.fn.graph.codegen.(PyTreeCodeGen); ok && c.Args == nil {
		// a pytree signature without a value to flatten
		c.Args = []string{}
		for i, a := range p.fn.params {
			n := p.fn.graph.First()
			if i < p.fn.placed && n.NumUsers() > 0 {
				return p.failAt(a.pos, "a line that flattens the arguments, since the result is built up by a spec", "none")
			}
			c.Args = append(c.Args, a.name)
			if i < p.fn.placed {
				if err := p.fn.graph.Erase(n); err != nil {
					return err
				}
			}
		}
		c.In = p.inSpec(nil, 0)
		p.fn.graph.codegen = c
	}
	return nil
}
