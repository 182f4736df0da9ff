package interpreter_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// counting is a handler, so that no step takes the short way.
type counting struct {
	interpreter.Default
	nodes *int
}

func (c counting) RunNode(r *interpreter.Run, n *ir.Node) (any, error) {
	*c.nodes++
	return c.Default.RunNode(r, n)
}

var sameTensor = torch.Wrap("tensorstep_same", func(x *torch.Tensor) *torch.Tensor { return x })

// Steps of tensors alone are executed past the handler where there is none: values,
// errors and what is closed are those of the steps that a handler sees.
func TestStepsOfTensorsAlone(t *testing.T) {
	needLibtorch(t)
	_ = sameTensor
	neg, add, same, mm := ir.FuncOf("torch.neg"), ir.FuncOf("operator.add"), ir.FuncOf("tensorstep_same"), ir.FuncOf("torch.ops.aten.mm.default")
	for name, build := range map[string]func(g *ir.Graph, x, y ir.Arg) ir.Arg{
		"chain": func(g *ir.Graph, x, y ir.Arg) ir.Arg {
			for range 5 {
				x = g.CallFunction(add, []ir.Arg{g.CallMethod("neg", []ir.Arg{x}), y})
			}
			return x
		},
		"twice in one call": func(g *ir.Graph, x, y ir.Arg) ir.Arg {
			n := g.CallFunction(neg, []ir.Arg{x})
			return g.CallFunction(add, []ir.Arg{n, n})
		},
		"shared by a Go function": func(g *ir.Graph, x, y ir.Arg) ir.Arg {
			n := g.CallFunction(neg, []ir.Arg{x})
			s := g.CallFunction(same, []ir.Arg{n})
			a := g.CallFunction(add, []ir.Arg{n, y}) // the last of n, not of the tensor
			return g.CallFunction(add, []ir.Arg{s, a})
		},
		"in a list": func(g *ir.Graph, x, y ir.Arg) ir.Arg {
			n := g.CallFunction(neg, []ir.Arg{x})
			c := g.CallFunction(ir.FuncOf("torch.cat"), []ir.Arg{ir.ListOf(n, n), ir.Int(0)})
			return g.CallFunction(add, []ir.Arg{c, c})
		},
		"returned twice": func(g *ir.Graph, x, y ir.Arg) ir.Arg {
			n := g.CallFunction(neg, []ir.Arg{x})
			return ir.TupleOf(n, n, g.CallFunction(neg, []ir.Arg{n}))
		},
		"written": func(g *ir.Graph, x, y ir.Arg) ir.Arg {
			n := g.CallFunction(neg, []ir.Arg{x})
			g.CallFunction(ir.FuncOf("operator.iadd"), []ir.Arg{n, y})
			return g.CallMethod("add_", []ir.Arg{n, y})
		},
		"used by nobody": func(g *ir.Graph, x, y ir.Arg) ir.Arg {
			g.CallFunction(neg, []ir.Arg{x})
			return x
		},
		"numbers instead of tensors": func(g *ir.Graph, x, y ir.Arg) ir.Arg {
			n := g.CallMethod("size", []ir.Arg{x, ir.Int(0)})
			return g.CallFunction(add, []ir.Arg{x, g.CallFunction(add, []ir.Arg{n, n})})
		},
		"fails": func(g *ir.Graph, x, y ir.Arg) ir.Arg {
			n := g.CallFunction(neg, []ir.Arg{x})
			return g.CallFunction(mm, []ir.Arg{n, g.CallFunction(neg, []ir.Arg{y})})
		},
	} {
		t.Run(name, func(t *testing.T) {
			x, y := tensor(t, []float32{1, 2, 3}, 3), tensor(t, []float32{10, 20, 30}, 3)
			g := ir.NewGraph()
			g.Output(build(g, g.Placeholder("x"), g.Placeholder("y")))
			m := module(t, g, nil)
			nodes := 0
			want, wantErr := interpreter.New(m, interpreter.WithHandler(counting{nodes: &nodes})).Run(t.Context(), x, y)
			defer closeResult(want)
			assert.Equal(t, g.Len(), nodes+boolInt(wantErr != nil), "every node goes through the handler")
			in := interpreter.New(m)
			for range 2 { // the second run has a used frame
				leavesNothing(t, func() any {
					got, err := in.Run(t.Context(), x, y)
					if wantErr != nil {
						require.EqualError(t, err, wantErr.Error())
						return nil
					}
					require.NoError(t, err)
					assert.Equal(t, allElements(t, want), allElements(t, got))
					return got
				})
			}
			assert.Equal(t, []float32{1, 2, 3}, elements(t, x), "arguments are lent")
		})
	}
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

func allElements(t *testing.T, v any) (all [][]float32) {
	if items, ok := v.(ir.PyTuple); ok {
		for _, item := range items {
			all = append(all, elements(t, item))
		}
		return all
	}
	return [][]float32{elements(t, v)}
}
