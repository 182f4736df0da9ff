package ir

import "strings"

// A CodeGen makes the signature and the return of generated code, and fits what
// a caller gives to the placeholders of a graph. A graph without one has
// torch.fx's plain form, [PlainCodeGen]. Implementations are immutable, since
// copies of a graph share them.
//
// A CodeGen that also has a method ExtraGlobals() []Global adds these to the
// globals of the code.
type CodeGen interface {
	// FuncDef returns the def statement and whatever must follow it to bind the
	// parameters, lines after the first indented by four spaces, no newline at
	// the end. returns is the annotation of the result, " -> int" or "".
	FuncDef(params []CodeParam, returns string, expanded bool) string
	// Return returns the return statement for the argument of the output node.
	// repr prints a value. descs, if not nil, asks for a line per item of a list
	// or tuple, each with one of descs as its comment.
	Return(value Arg, descs []string, repr func(Arg) string) string
	// ProcessInputs turns what a caller gave into one value per placeholder, in
	// order. [Absent] stands for an argument that was left out.
	ProcessInputs(args []any, kwargs map[string]any) ([]any, error)
	// ProcessOutputs turns the value of the output node into what the caller gets.
	ProcessOutputs(out any) (any, error)
}

// Absent is what [Graph.ProcessInputs] gives for a placeholder whose argument
// the caller left out; the placeholder's default counts.
type Absent struct{}

// A CodeParam is one parameter of the generated function, one per placeholder.
type CodeParam struct {
	Name       string // the placeholder's target, with its stars
	Annotation string // " : int", or `: "f32[2]"` in verbose code, or ""
	Default    string // the literal, or ""
	Desc       string // comment of expanded code, or ""
}

// String returns the parameter as a signature has it.
func (p CodeParam) String() string {
	s := p.Name + p.Annotation
	if p.Default != "" {
		s += " = " + p.Default
	}
	return s
}

// A PlainCodeGen makes torch.fx's ordinary code: a parameter per placeholder.
type PlainCodeGen struct {
	Name string // of the function; "" is forward
}

func (c PlainCodeGen) name() string {
	if c.Name == "" {
		return "forward"
	}
	return c.Name
}

// FuncDef returns "def forward(self, x, y):".
func (c PlainCodeGen) FuncDef(params []CodeParam, returns string, expanded bool) string {
	if len(params) == 0 || params[0].String() != "self" {
		params = append([]CodeParam{{Name: "self"}}, params...)
	}
	var b strings.Builder
	b.WriteString("def " + c.name() + "(")
	for i, p := range params {
		switch {
		case expanded && i == 0:
			b.WriteString("\n")
		case !expanded && i > 0:
			b.WriteString(", ")
		}
		if !expanded {
			b.WriteString(p.String())
			continue
		}
		b.WriteString("    " + p.String() + ",")
		if p.Desc != "" {
			b.WriteString("  # " + p.Desc)
		}
		b.WriteString("\n")
	}
	b.WriteString(")" + returns + ":")
	return b.String()
}

// Return returns "return value".
func (PlainCodeGen) Return(value Arg, descs []string, repr func(Arg) string) string {
	if s, ok := describedItems(value, descs, repr); ok {
		return "return " + s
	}
	return "return " + repr(value)
}

// ProcessInputs returns args. It refuses keyword arguments, whose places only
// the graph knows; see [Graph.ProcessInputs].
func (PlainCodeGen) ProcessInputs(args []any, kwargs map[string]any) ([]any, error) {
	if len(kwargs) > 0 {
		return nil, Errorf(ErrInput, "keyword arguments: expected none, got %d", len(kwargs))
	}
	return args, nil
}

// ProcessOutputs returns out.
func (PlainCodeGen) ProcessOutputs(out any) (any, error) { return out, nil }

// describedItems prints a list or tuple an item a line with comments.
func describedItems(value Arg, descs []string, repr func(Arg) string) (string, bool) {
	if descs == nil {
		return "", false
	}
	var items []Arg
	open, end := "[", "]"
	switch v := value.(type) {
	case List:
		items = v.items
	case Tuple:
		items, open, end = v.items, "(", ")"
	default:
		return "", false
	}
	var b strings.Builder
	b.WriteString(open + "\n")
	for i, item := range items[:min(len(items), len(descs))] {
		b.WriteString("    " + repr(item) + ",  # " + descs[i] + "\n")
	}
	b.WriteString(end)
	return b.String(), true
}

// A BoxedCodeGen makes code that takes one list of arguments and empties it, so
// that the caller's references do not keep inputs alive.
type BoxedCodeGen struct{ PlainCodeGen }

// FuncDef returns "def forward(self, args_list):" and the lines that unpack it.
func (c BoxedCodeGen) FuncDef(params []CodeParam, returns string, expanded bool) string {
	var b strings.Builder
	b.WriteString("def " + c.name() + "(self, args_list)" + returns + ":")
	bound := false
	for _, p := range params {
		if p.String() == "self" {
			continue
		}
		if !bound {
			b.WriteString("\n    args_iter = iter(args_list)")
			bound = true
		}
		b.WriteString("\n    " + p.Name + " = next(args_iter)")
	}
	if bound {
		b.WriteString("\n    args_list.clear()")
	}
	return b.String()
}

// CodeGen returns what makes the signature of the graph's code, never nil.
func (g *Graph) CodeGen() CodeGen {
	if g.codegen == nil {
		return PlainCodeGen{}
	}
	return g.codegen
}

// SetCodeGen sets what makes the signature of the graph's code; nil is
// [PlainCodeGen]. What [Graph.OnGenerateCode] registered goes with the code
// generator of before, as in torch.fx.
func (g *Graph) SetCodeGen(c CodeGen) { g.codegen, g.body = c, nil }

// TakeCodeGen gives g the code generator of another graph, and what
// [Graph.OnGenerateCode] registered there.
func (g *Graph) TakeCodeGen(from *Graph) { g.codegen, g.body = from.codegen, from.body }

// A BodyFunc changes the pieces of a function's body before they are joined.
// Each piece is text that ends in a newline when it ends a line; a piece
// "# COUNTER: i\n" precedes what node i made and is taken out afterwards.
type BodyFunc func(body []string) []string

// OnGenerateCode lets the function that make returns change the body of the
// code made from now on; make is given the present one, nil if there is none, and
// chains it by calling it. restore sets that one again, whatever was registered
// since.
func (g *Graph) OnGenerateCode(make func(current BodyFunc) BodyFunc) (restore func()) {
	old := g.body
	g.body = make(old)
	return func() { g.body = old }
}

// ProcessInputs turns what a caller gave into one value per placeholder, in
// order, by the graph's [CodeGen]. For a plain signature it finds the place of
// keyword arguments by the placeholders' targets; arguments left out at the end
// are missing from the result, others are [Absent].
func (g *Graph) ProcessInputs(args []any, kwargs map[string]any) ([]any, error) {
	if _, plain := g.CodeGen().(PlainCodeGen); !plain || len(kwargs) == 0 {
		return g.CodeGen().ProcessInputs(args, kwargs)
	}
	var names []string
	for n := range g.Nodes() {
		if n.op == Placeholder {
			names = append(names, n.target.String())
		}
	}
	return bindArguments(names, args, kwargs)
}

// ProcessOutputs turns the value of the output node into what the caller gets,
// by the graph's [CodeGen].
func (g *Graph) ProcessOutputs(out any) (any, error) { return g.CodeGen().ProcessOutputs(out) }
