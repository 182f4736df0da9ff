package passes_test

import (
	"fmt"
	"strings"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/torchfx-go/torchfx/ir"
)

// meaning returns what a module computes as a text that does not depend on names,
// order or the borders of submodules. Equal steps over equal values are one, so
// it is the same for graphs that differ by common subexpressions; steps that
// nobody reads are left out.
func meaning(t require.TestingT, m *ir.GraphModule) string {
	e := &evaluation{ids: map[string]*value{}}
	var args []*value
	for _, p := range m.Graph().Find(ir.Placeholder, nil) {
		args = append(args, e.intern("argument "+p.Target().String()))
	}
	return e.show(e.run(t, m, args), map[*value]string{})
}

// A value is one result; equal results are one value.
type value struct {
	what    string   // the step
	inputs  []*value // what it reads
	items   []*value // of a tuple that a submodule returns
	isTuple bool
}

type evaluation struct{ ids map[string]*value }

func (e *evaluation) intern(what string, inputs ...*value) *value {
	key := what
	for _, in := range inputs {
		key += fmt.Sprintf("|%p", in)
	}
	if e.ids[key] == nil {
		e.ids[key] = &value{what: what, inputs: inputs}
	}
	return e.ids[key]
}

func (e *evaluation) run(t require.TestingT, m *ir.GraphModule, args []*value) *value {
	env := map[*ir.Node]*value{}
	for n := range m.Graph().Nodes() {
		var inputs []*value
		var text strings.Builder
		fmt.Fprintf(&text, "%s %s", n.Op(), n.Target())
		leaf := func(a ir.Arg) {
			if in, ok := a.(*ir.Node); ok {
				require.NotNil(t, env[in], "%s reads %s, which comes later", n, in)
				inputs = append(inputs, env[in])
			}
		}
		describe := func(a ir.Arg) {
			ir.Walk(a, leaf)
			text.WriteString(" " + ir.Repr(ir.MapNodes(a, func(*ir.Node) ir.Arg { return ir.Str("%") })))
		}
		for _, a := range n.Args() {
			describe(a)
		}
		for _, k := range n.Kwargs() {
			text.WriteString(" " + k.Name)
			describe(k.Value)
		}
		switch n.Op() {
		case ir.Placeholder:
			require.NotEmpty(t, args, "argument %s", n)
			env[n], args = args[0], args[1:]
		case ir.GetAttr:
			v, _ := m.Attr(n.Target().String())
			env[n] = e.intern(fmt.Sprintf("attribute %p", v))
		case ir.CallModule:
			v, _ := m.Attr(n.Target().String())
			if sub, ok := v.(*ir.GraphModule); ok {
				env[n] = e.run(t, sub, inputs)
			} else {
				env[n] = e.intern(fmt.Sprintf("call of %p", v), inputs...)
			}
		case ir.Output:
			if a, ok := n.Arg(0).(*ir.Node); ok {
				return env[a]
			}
			result := e.intern(text.String(), inputs...)
			if tuple, ok := n.Arg(0).(ir.Tuple); ok {
				result.isTuple = true
				result.items = nil
				for _, item := range tuple.All() {
					if in, ok := item.(*ir.Node); ok {
						result.items = append(result.items, env[in])
					} else {
						result.items = append(result.items, e.intern("literal "+ir.Repr(item)))
					}
				}
			}
			return result
		default:
			i, indexed := n.Arg(1).(ir.Int)
			if n.Func() == ir.FuncOf("operator.getitem") && indexed && inputs[0].isTuple {
				env[n] = inputs[0].items[i]
			} else {
				env[n] = e.intern(text.String(), inputs...)
			}
		}
	}
	return nil
}

// show writes a value and what it reads, each once.
func (e *evaluation) show(v *value, seen map[*value]string) string {
	if v == nil {
		return "nothing"
	}
	if name, ok := seen[v]; ok {
		return name
	}
	seen[v] = fmt.Sprintf("#%d", len(seen))
	parts := []string{seen[v], v.what}
	for _, in := range v.inputs {
		parts = append(parts, e.show(in, seen))
	}
	return "(" + strings.Join(parts, " ") + ")"
}

// drawModule draws a module with arguments, attributes and submodules.
func drawModule(t *rapid.T) *ir.GraphModule {
	g := ir.NewGraph()
	var values []*ir.Node
	for i := range rapid.IntRange(1, 3).Draw(t, "arguments") {
		values = append(values, g.Placeholder(fmt.Sprintf("x%d", i)))
	}
	pick := func() ir.Arg { return rapid.SampledFrom(values).Draw(t, "operand") }
	for range rapid.IntRange(0, 12).Draw(t, "steps") {
		var n *ir.Node
		switch rapid.IntRange(0, 7).Draw(t, "step") {
		case 0:
			n = g.GetAttr(rapid.SampledFrom([]string{"w", "a.b", "a_b"}).Draw(t, "attribute"))
		case 1:
			n = g.CallModule(rapid.SampledFrom([]string{"lin", "m.n", "m_n"}).Draw(t, "module"), []ir.Arg{pick()})
		case 2:
			n = g.CallMethod("relu", []ir.Arg{pick()})
		case 3:
			n = g.CallFunction(ir.FuncOf("torch.neg"), []ir.Arg{pick()})
		case 4:
			n = g.CallFunction(ir.FuncOf("torch.clamp"), []ir.Arg{pick()}, ir.Kwargs(ir.Kw("min", ir.Int(rapid.IntRange(0, 1).Draw(t, "literal")))))
		case 5:
			n = g.CallFunction(ir.FuncOf("torch.cat"), []ir.Arg{ir.ListOf(pick(), pick())})
		case 6:
			n = g.CallFunction(ir.FuncOf("torch.split"), []ir.Arg{pick(), ir.Int(1)})
			values = append(values, n)
			n = g.CallFunction(ir.FuncOf("operator.getitem"), []ir.Arg{n, ir.Int(rapid.IntRange(0, 1).Draw(t, "item"))})
		default:
			n = g.CallFunction(ir.FuncOf("operator.add"), []ir.Arg{pick(), pick()})
		}
		values = append(values, n)
	}
	var results []ir.Arg
	for range rapid.IntRange(1, 3).Draw(t, "results") {
		results = append(results, pick())
	}
	if len(results) == 1 {
		g.Output(results[0])
	} else {
		g.Output(ir.TupleOf(results...))
	}
	return moduleOf(t, g)
}
