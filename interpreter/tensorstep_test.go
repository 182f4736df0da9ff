package interpreter_test

import (
	"context"
	"testing"
	"time"

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
		"left in the middle": func(g *ir.Graph, x, y ir.Arg) ir.Arg {
			n := g.CallFunction(neg, []ir.Arg{x})
			a := g.CallFunction(add, []ir.Arg{n, y})
			b := g.CallFunction(add, []ir.Arg{a, n})
			return ir.TupleOf(n, b, g.CallFunction(neg, []ir.Arg{b}))
		},
		"between other steps": func(g *ir.Graph, x, y ir.Arg) ir.Arg {
			for range 3 {
				c := g.CallFunction(ir.FuncOf("torch.cat"), []ir.Arg{ir.ListOf(x, y), ir.Int(0)})
				n := g.CallFunction(neg, []ir.Arg{c})
				x = g.CallFunction(add, []ir.Arg{g.CallFunction(add, []ir.Arg{n, c}), n})
				y = n
			}
			return x
		},
		"a view and what it looks at": func(g *ir.Graph, x, y ir.Arg) ir.Arg {
			n := g.CallFunction(neg, []ir.Arg{x})
			v := g.CallMethod("t", []ir.Arg{n})
			w := g.CallMethod("t", []ir.Arg{v})
			return ir.TupleOf(w, g.CallFunction(neg, []ir.Arg{y}))
		},
		"random among the others": func(g *ir.Graph, x, y ir.Arg) ir.Arg {
			n := g.CallFunction(neg, []ir.Arg{x})
			r := g.CallFunction(ir.FuncOf("torch.rand_like"), []ir.Arg{n})
			return g.CallFunction(ir.FuncOf("torch.sub"), []ir.Arg{g.CallFunction(add, []ir.Arg{r, n}), g.CallFunction(add, []ir.Arg{r, n})})
		},
		"fails in the middle": func(g *ir.Graph, x, y ir.Arg) ir.Arg {
			n, m := g.CallFunction(neg, []ir.Arg{x}), g.CallFunction(neg, []ir.Arg{y})
			a := g.CallFunction(add, []ir.Arg{n, m})
			b := g.CallFunction(mm, []ir.Arg{a, m})
			return ir.TupleOf(n, b)
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

// A stretch of steps crosses to libtorch once; the context is looked at between its nodes.
func TestStretchesStopWithTheContext(t *testing.T) {
	needLibtorch(t)
	const n, steps = 512, 400
	x := tensor(t, make([]float32, n*n), n, n)
	g := ir.NewGraph()
	a := g.Placeholder("x")
	last := a
	for range steps {
		last = g.CallFunction(ir.FuncOf("torch.mm"), []ir.Arg{last, a})
	}
	g.Output(last)
	in := interpreter.New(module(t, g, nil))
	leavesNothing(t, func() any {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
		defer cancel()
		out, err := in.Run(ctx, x)
		require.ErrorIs(t, err, ir.ErrCancelled)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.ErrorContains(t, err, "stopped before node mm")
		assert.Nil(t, out)
		return nil
	})
}

// Results of a stretch join the scope of what they are made of.
func TestStretchesInScopes(t *testing.T) {
	needLibtorch(t)
	g := ir.NewGraph()
	x, y := g.Placeholder("x"), g.Placeholder("y")
	neg := func(v ir.Arg) *ir.Node { return g.CallFunction(ir.FuncOf("torch.neg"), []ir.Arg{v}) }
	fromX, fromY := neg(neg(neg(x))), neg(neg(y))
	g.Output(ir.TupleOf(fromX, fromY, g.CallFunction(ir.FuncOf("torch.add"), []ir.Arg{neg(fromX), neg(fromY)})))
	in := interpreter.New(module(t, g, nil))
	leavesNothing(t, func() any {
		outer, inner := torch.NewScope(), torch.NewScope()
		a, b := tensor(t, []float32{1}, 1), tensor(t, []float32{2}, 1)
		defer a.Close()
		defer b.Close()
		s, err := a.Ref()
		require.NoError(t, err)
		u, err := b.Ref()
		require.NoError(t, err)
		outer.Add(s)
		inner.Add(u)
		out, err := in.Run(t.Context(), s, u)
		require.NoError(t, err)
		results := out.(ir.PyTuple)
		assert.Equal(t, 2, outer.Len(), "x and what is made of it alone")
		assert.Equal(t, 3, inner.Len())
		assert.Equal(t, []float32{-1}, elements(t, results[2]))
		require.NoError(t, inner.Close())
		_, err = results[2].(*torch.Tensor).Ref()
		assert.ErrorIs(t, err, ir.ErrClosed)
		assert.Equal(t, []float32{-1}, elements(t, results[0]))
		require.NoError(t, outer.Close())
		return nil
	})
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
