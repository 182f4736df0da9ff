package interpreter_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// What operators without an out variant return lies in the block, one after another
// in the same memory, unless it is a result.
func TestOperatorsThatAllocateAreGrantedPlaces(t *testing.T) {
	needLibtorch(t)
	g := ir.NewGraph()
	v := g.Placeholder("x")
	for range 6 {
		v = g.CallFunction(ir.OverloadOf("aten::flip"), []ir.Arg{v, ir.IntList(0)})
	}
	g.Output(v)
	p := compile(t, module(t, g, nil), interpreter.PlanFusion(false))
	x := tensor(t, []float32{1, 2, 3, 4}, 4)
	for range 3 {
		got, err := p.Run(t.Context(), x)
		require.NoError(t, err)
		assert.Equal(t, []float32{1, 2, 3, 4}, elements(t, got))
		closeResult(got)
	}
	text, err := p.Dump()
	require.NoError(t, err)
	assert.Contains(t, text, "shape class 0: f32[4]; threads 1\n5 results of 80 bytes in a block of 128 bytes\n")
}

// A constant may be read by a group, and written, resized or turned beside it.
func TestPlansOfWrittenConstants(t *testing.T) {
	needLibtorch(t)
	op := func(g *ir.Graph, name string, args ...ir.Arg) *ir.Node {
		return g.CallFunction(ir.OverloadOf(name), args)
	}
	tests := []struct {
		name string
		make func(g *ir.Graph, x, w *ir.Node) ir.Arg
	}{
		{"written between a read and the group", func(g *ir.Graph, _, w *ir.Node) ir.Arg {
			v := op(g, "aten::relu", w)
			op(g, "aten::neg_", w)
			return op(g, "aten::relu", v)
		}},
		{"turned, by what returns it itself", func(g *ir.Graph, _, w *ir.Node) ir.Arg {
			v := op(g, "aten::relu", op(g, "aten::neg", w))
			op(g, "aten::transpose_", op(g, "aten::conj", w), ir.Int(0), ir.Int(1))
			return v
		}},
		{"resized by an out argument", func(g *ir.Graph, x, w *ir.Node) ir.Arg {
			v := op(g, "aten::neg", op(g, "aten::relu", w))
			g.CallFunction(ir.OverloadOf("aten::exp.out"), []ir.Arg{x}, ir.Kwargs(ir.Keyword{Name: "out", Value: w}))
			return v
		}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			g := ir.NewGraph()
			x := g.Placeholder("x")
			g.Output(tc.make(g, x, g.GetAttr("w")))
			with := func() *ir.GraphModule {
				return module(t, g, map[string]any{"w": tensor(t, []float32{1, -2, 3, -4, 5, -6}, 2, 3)})
			}
			in := interpreter.New(with())
			p := compile(t, with(), interpreter.PlanFuseAll())
			for range 4 {
				want, err := in.Run(t.Context(), tensor(t, []float32{1, 2}, 2))
				require.NoError(t, err)
				got, err := p.Run(t.Context(), tensor(t, []float32{1, 2}, 2))
				require.NoError(t, err)
				sameBits(t, want, got)
			}
		})
	}
}

// A list of conjugated tensors stays what it is where a fallback resolves them.
func TestPlansKeepListsOfLazyTensors(t *testing.T) {
	needLibtorch(t)
	g := ir.NewGraph()
	x := g.Placeholder("x")
	both := g.CallFunction(ir.OverloadOf("aten::broadcast_tensors"), []ir.Arg{ir.ListOf(g.CallMethod("conj", []ir.Arg{x}), x)})
	g.CallFunction(ir.OverloadOf("aten::cat"), []ir.Arg{both})
	g.Output(ir.TupleOf(both, g.CallFunction(ir.OverloadOf("aten::cat"), []ir.Arg{both})))
	p := compile(t, module(t, g, nil))
	z := made("aten::complex", tensor(t, []float32{1, 2}, 2), tensor(t, []float32{3, 4}, 2))
	for range 3 {
		got, err := p.Run(t.Context(), z)
		require.NoError(t, err)
		first := got.(ir.PyTuple)[0].([]any)[0].(*torch.Tensor)
		assert.True(t, shares(first, z))
		closeResult(got)
	}
}
