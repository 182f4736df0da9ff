package ir

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
)

// PythonCode is the text of a graph as Python source, with what it takes to
// run or save it.
type PythonCode struct {
	Source        string      // the function, with empty lines around it as torch.fx has them
	Globals       []Global    // what free names stand for, in order of first mention
	Lines         map[int]int // line of the function, counted from its first, to the index of the node that made it; -1 for none
	PrologueStart int         // line of Source where the function starts
}

// A Global is a free name of generated code.
type Global struct {
	Name   string // as the code writes it
	Object string // qualified name of what it stands for, or the text itself
	IsText bool   // it stands for a string: an annotation that is text
}

// standardGlobals are in every generated module. Source:
// torch.fx.graph._custom_builtins of 2.15.0.
var standardGlobals = []struct{ name, object, statement string }{
	{"inf", "math.inf", "from math import inf"},
	{"nan", "math.nan", "from math import nan"},
	{"NoneType", "NoneType", "NoneType = type(None)"},
	{"torch", "torch", "import torch"},
	{"device", "torch.device", "from torch import device"},
	{"fx_pytree", "torch.fx._pytree", "import torch.fx._pytree as fx_pytree"},
	{"pytree", "torch.utils._pytree", "import torch.utils._pytree as pytree"},
}

// Imports returns the sorted statements that define the globals of c, as torch.fx
// writes them. Only for methods of torch.Tensor, where torch.fx's statement does
// not compile, they differ.
func (c *PythonCode) Imports() []string {
	var lines []string
	for _, g := range c.Globals {
		line := ""
		for _, s := range standardGlobals {
			if s.name == g.Name {
				line = s.statement
			}
		}
		if g.IsText {
			line = g.Name + " = " + Repr(Str(g.Object))
		} else if line == "" {
			line = importLine(g)
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

func importLine(g Global) string {
	parts := strings.Split(g.Object, ".")
	last := len(parts) - 1
	_, notNumber := strconv.ParseFloat(g.Object, 64)
	switch {
	case notNumber == nil, strings.HasPrefix(g.Object, "torch.Tensor.") && isIdentifier(parts[last]):
		return g.Name + " = " + g.Object // a number in an annotation, a method: nothing to import
	case slices.ContainsFunc(parts, func(p string) bool { return !isIdentifier(p) }):
		return g.Name + " = " + Repr(Str(g.Object)) // an annotation that names no object
	case last == 0:
		return "from builtins import " + g.Object + " as " + g.Name
	}
	return "from " + strings.Join(parts[:last], ".") + " import " + parts[last] + " as " + g.Name
}

// A CodeOption changes what [Graph.PythonCode] makes.
type CodeOption func(*codeConfig)

type codeConfig struct {
	verbose, stride, device, colored, expanded, record bool
	meta                                               []string
}

// Verbose annotates values with the dtype and shape that meta has, and adds
// comments that say where in the source a node comes from.
func Verbose() CodeOption { return func(c *codeConfig) { c.verbose = true } }

// IncludeStride adds strides to the annotations of [Verbose].
func IncludeStride() CodeOption { return func(c *codeConfig) { c.stride = true } }

// IncludeDevice adds devices to the annotations of [Verbose].
func IncludeDevice() CodeOption { return func(c *codeConfig) { c.device = true } }

// Colored adds terminal colours.
func Colored() CodeOption { return func(c *codeConfig) { c.colored = true } }

// Expanded writes each parameter, and each result that meta describes, on a
// line of its own.
func Expanded() CodeOption { return func(c *codeConfig) { c.expanded = true } }

// RecordFunc writes calls of PyTorch's profiler around each call.
func RecordFunc() CodeOption { return func(c *codeConfig) { c.record = true } }

// ShowMeta adds the values of these meta keys to the comments of [Verbose].
func ShowMeta(keys ...string) CodeOption { return func(c *codeConfig) { c.meta = keys } }

// PythonCode returns g as Python source, the same text byte for byte as torch.fx
// 2.15 makes; root is the name of the module that attribute paths start from,
// "self" as a rule. It fails where an operator has too few arguments to be
// written, or where a parameter or keyword is no identifier: a file's names must
// not become statements of a program.
//
// Where torch.fx writes text that is no Python, this differs: a piece of a path
// that is a keyword is read by getattr, a function as a value and an enum inside
// a dict are written by their names, and a default stays out of the line that
// unpacks a pytree.
func (g *Graph) PythonCode(root string, opts ...CodeOption) (*PythonCode, error) {
	if err := CheckOptions("python code", opts); err != nil {
		return nil, err
	}
	e := &emitter{
		graph: g, root: root, names: newNamespace(), locals: newNodeTable[string](g),
		objects: map[string]string{}, fresh: map[string]bool{}, last: newNodeTable[*Node](g),
		text: make([]byte, 0, 64*g.length), keepPieces: g.body != nil,
	}
	e.names.grow(g.length)
	for _, o := range opts {
		o(&e.cfg)
	}
	e.name = e.local
	return e.generate()
}

// An emitter writes one graph. Locals and globals share one namespace, so the
// order in which names are asked for decides who keeps a contested one; it
// follows _gen_python_code in torch/fx/graph.py.
type emitter struct {
	graph   *Graph
	root    string
	cfg     codeConfig
	names   *namespace
	locals  *nodeTable[string]
	objects map[string]string  // qualified name of an object -> its name in the code
	fresh   map[string]bool    // globals already listed
	last    *nodeTable[*Node]  // the last reader of each node
	name    func(*Node) string // local, kept as a value for repr

	at      *Node // being written
	globals []Global
	params  []CodeParam
	wrapped []string // globals that need a wrap line
	returns string
	summary string // comment last written
	err     error

	text       []byte // the body
	starts     []int  // for each node, where its text begins
	keepPieces bool   // for a BodyFunc
	pieces     []int  // where the pieces of the body begin
	line       []byte // the right side of the statement being written
}

// local returns the name of n in the code.
func (e *emitter) local(n *Node) string {
	name := e.locals.get(n)
	if name == "" {
		name = e.names.create(n.name)
		e.locals.set(n, name)
	}
	return name
}

// global returns the name in the code of an object of the program, by its
// qualified name, and lists it.
func (e *emitter) global(qualified string) string {
	if fromTorch(qualified) {
		return qualified
	}
	return e.globalAs(qualified, Global{Object: qualified})
}

func (e *emitter) globalAs(candidate string, g Global) string {
	key := g.Object
	if g.IsText {
		key = "'" + key
	}
	name, ok := e.objects[key]
	if !ok {
		name = e.names.createFor(candidate, func(name string) bool {
			return illegalName(name) && !ownsName(name, g.Object)
		})
		e.objects[key] = name
	}
	if !e.fresh[name] {
		e.fresh[name] = true
		g.Name = name
		e.globals = append(e.globals, g)
	}
	return name
}

// ownsName reports whether a reserved name belongs to the very object.
func ownsName(name, object string) bool {
	for _, s := range standardGlobals {
		if s.name == name {
			return s.object == object
		}
	}
	return name == object
}

// typeGlobal is global for a name inside an annotation, which may be a string.
func (e *emitter) typeGlobal(t string) string {
	if text, ok := unquoted(t); ok {
		return e.globalAs(t, Global{Object: text, IsText: true})
	}
	if t == "..." {
		return e.globalAs(t, Global{Object: "builtins.Ellipsis"})
	}
	return e.global(t)
}

// unquoted returns the inside of a Python string literal without escapes.
func unquoted(t string) (string, bool) {
	if len(t) >= 2 && (t[0] == '\'' || t[0] == '"') && t[len(t)-1] == t[0] {
		return t[1 : len(t)-1], true
	}
	return "", false
}

func (e *emitter) fail(n *Node, what string) {
	if e.err == nil {
		e.err = Errorf(ErrValue, "python code of %s (%s): %s", n.name, n.target, what)
	}
}

// add appends a piece of the body, made of parts.
func (e *emitter) add(parts ...string) {
	if e.keepPieces {
		e.pieces = append(e.pieces, len(e.text))
	}
	for _, p := range parts {
		e.text = append(e.text, p...)
	}
}

// assign appends the statement that gives a name its value, without the end of
// the line.
func (e *emitter) assign(name, annotation string, value []byte) {
	e.add(name, annotation, " = ")
	e.text = append(e.text, value...)
}

func (e *emitter) generate() (*PythonCode, error) {
	for _, s := range standardGlobals {
		e.globalAs(s.name, Global{Object: s.object})
	}
	if c, ok := e.graph.codegen.(PyTreeCodeGen); ok {
		if err := c.check(); err != nil {
			return nil, err
		}
	}
	for n := range e.graph.Nodes() {
		n.Operands(func(m *Node) { e.last.set(m, n) })
	}
	e.starts = make([]int, 0, e.graph.length)
	if e.cfg.record {
		e.add("_rf = torch._C._profiler._RecordFunctionFast('## ENTER_GRAPH_PLACEHOLDER_KEY ##'); _rf.__enter__()\n")
	}
	for n := range e.graph.Nodes() {
		if e.cfg.verbose {
			e.sourceComment(n)
		}
		i := len(e.starts)
		e.starts = append(e.starts, len(e.text))
		if e.keepPieces {
			e.add(fmt.Sprintf("# COUNTER: %d\n", i))
		}
		record := e.cfg.record && (n.op == CallFunction || n.op == CallMethod || n.op == CallModule)
		if record {
			e.add(fmt.Sprintf("_rf_%s = torch._C._profiler._RecordFunctionFast('## %d ##'); _rf_%s.__enter__()\n", n.name, i, n.name))
		}
		e.release(n, e.node(n, e.dying(n)))
		if record {
			e.add(fmt.Sprintf("_rf_%s.__exit__(None, None, None)\n", n.name))
		}
	}
	if e.err != nil {
		return nil, e.err
	}
	if e.cfg.record {
		e.add("_rf.__exit__(None, None, None)\n")
	}
	if len(e.starts) == 0 && len(e.text) == 0 {
		e.add("pass\n")
	}
	var wraps []string
	if len(e.wrapped) > 0 {
		wrap := e.global("torch.fx._symbolic_trace.wrap")
		for _, name := range e.wrapped {
			wraps = append(wraps, wrap+`("`+name+`")`)
		}
	}
	lines := e.lines()
	if e.graph.body != nil {
		lines = countedLines(strings.Join(e.graph.body(e.cut()), ""))
	}
	if c, ok := e.graph.CodeGen().(interface{ ExtraGlobals() []Global }); ok {
		for _, g := range c.ExtraGlobals() {
			if g.IsText || !fromTorch(g.Object) {
				e.globalAs(g.Name, g)
			}
		}
	}
	return e.assemble(wraps, lines), nil
}

// cut returns the pieces of the body.
func (e *emitter) cut() []string {
	text, pieces := string(e.text), make([]string, len(e.pieces))
	for i, start := range e.pieces {
		end := len(text)
		if i+1 < len(e.pieces) {
			end = e.pieces[i+1]
		}
		pieces[i] = text[start:end]
	}
	return pieces
}

// lines yields the lines of the body with the index of the node that made each,
// -1 for none.
func (e *emitter) lines() iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		text, node := string(e.text), -1
		for start := 0; start <= len(text); {
			end := start + strings.IndexByte(text[start:], '\n')
			if end < start {
				end = len(text)
			}
			for node+1 < len(e.starts) && e.starts[node+1] <= start {
				node++
			}
			if !yield(node, text[start:end]) {
				return
			}
			start = end + 1
		}
	}
}

// countedLines is lines for a body with counters in it, which it leaves out.
func countedLines(body string) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		node := -1
		for line := range strings.SplitSeq(body, "\n") {
			if i, ok := counter(line); ok {
				node = i
			} else if !yield(node, line) {
				return
			}
		}
	}
}

// assemble puts the function around its body and notes the lines. Empty lines
// at the start of the body go, but not the last line that there is.
func (e *emitter) assemble(wraps []string, lines iter.Seq2[int, string]) *PythonCode {
	prologue := e.graph.CodeGen().FuncDef(e.params, e.returns, e.cfg.expanded)
	c := &PythonCode{Globals: e.globals, Lines: make(map[int]int, e.graph.length)}
	wrap := strings.Join(wraps, "\n")
	var b strings.Builder
	b.Grow(len(e.text) + 4*e.graph.length + len(prologue) + len(wrap) + 64)
	b.WriteString("\n" + wrap + "\n\n" + prologue)
	number, empty := strings.Count(prologue, "\n")+1, false
	started := false
	write := func(line string) {
		b.WriteString("\n    ")
		b.WriteString(line)
	}
	for node, line := range lines {
		c.Lines[number] = node
		number++
		if empty = line == "" && !started; !empty {
			started = true
			write(line)
		}
	}
	if !started && empty {
		write("")
	}
	c.Source = b.String()
	c.PrologueStart = strings.Count(wrap, "\n") + 4
	return c
}

// counter finds the index in a "# COUNTER: i" line.
func counter(line string) (int, bool) {
	_, rest, ok := strings.Cut(line, "# COUNTER: ")
	n, digits := 0, 0
	for ok && digits < len(rest) && digits < 9 && rest[digits] >= '0' && rest[digits] <= '9' {
		n = n*10 + int(rest[digits]-'0')
		digits++
	}
	return n, digits > 0
}

// dying returns the values that nobody reads after n, in the order that n
// mentions them.
func (e *emitter) dying(n *Node) []*Node {
	var dead []*Node
	n.Operands(func(m *Node) {
		if e.last.get(m) == n {
			e.last.set(m, nil)
			dead = append(dead, m)
		}
	})
	return dead
}

// release ends the line of n and drops the values that die with it.
func (e *emitter) release(n *Node, dead []*Node) {
	if n.op == Placeholder {
		return
	}
	if n.op == Output {
		e.add("\n")
		return
	}
	if n.NumUsers() == 0 {
		dead = append(dead, n)
	}
	if len(dead) == 0 {
		e.add("\n")
		return
	}
	if e.cfg.colored {
		e.add(";  ", e.dim(e.releaseText(dead)), "\n")
		return
	}
	e.add(";  ")
	for _, m := range dead {
		e.text = append(e.text, e.local(m)...)
		e.text = append(e.text, " = "...)
	}
	e.text = append(e.text, "None\n"...)
}

func (e *emitter) releaseText(dead []*Node) string {
	names := make([]string, len(dead))
	for i, n := range dead {
		names[i] = e.local(n)
	}
	return strings.Join(names, " = ") + " = None"
}
