package interpreter_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

func TestPlanResultsAreTheCallers(t *testing.T) {
	needLibtorch(t)
	g := ir.NewGraph()
	x := g.Placeholder("x")
	a := g.CallFunction(addTT, []ir.Arg{x, ir.Int(1)})
	b := g.CallFunction(mulTT, []ir.Arg{a, ir.Int(2)})
	v := g.CallFunction(ir.OverloadOf("aten::view"), []ir.Arg{b, ir.IntList(-1)}) // of an intermediate result
	w := g.GetAttr("w")
	c := g.CallFunction(addTT, []ir.Arg{b, w})
	g.Output(ir.TupleOf(a, a, x, v, w, c))
	weight := tensor(t, []float32{10, 20}, 2)
	gm := module(t, g, map[string]any{"w": weight})
	p := compile(t, gm)
	in := tensor(t, []float32{1, 2}, 2)
	agreePlan(t, gm, p, in)

	first, err := p.Run(t.Context(), in)
	require.NoError(t, err)
	for k := range 5 { // runs that would write over what the first has returned
		out, err := p.Run(t.Context(), tensor(t, []float32{float32(k), 7}, 2))
		require.NoError(t, err)
		closeResult(out)
	}
	items := first.(ir.PyTuple)
	assert.Equal(t, []float32{2, 3}, elements(t, items[0]))
	assert.Equal(t, []float32{4, 6}, elements(t, items[3]))
	assert.Equal(t, []float32{14, 26}, elements(t, items[5]))
	for i, shared := range []bool{true, true, true, false, true, false} { // a with its twin, x with the input, w with the attribute
		h, err := items[i].(*torch.Tensor).Handle()
		require.NoError(t, err)
		others := 0
		for k, other := range append(items[:len(items):len(items)], in, weight) {
			o, err := other.(*torch.Tensor).Handle()
			require.NoError(t, err)
			if k != i && libtorch.IsAlias(h, o) {
				others++
			}
		}
		assert.Equal(t, shared, others > 0, "result %d", i)
	}
	require.NoError(t, items[0].(*torch.Tensor).Close())
	assert.Equal(t, []float32{2, 3}, elements(t, items[1]), "each is closed by itself")
	closeResult(first)
}

func TestPlanWritesWhatTheGraphWrites(t *testing.T) {
	needLibtorch(t)
	g := ir.NewGraph()
	x := g.Placeholder("x")
	count := g.GetAttr("count")
	g.CallFunction(ir.OverloadOf("aten::add_.Tensor"), []ir.Arg{count, ir.Int(1)})
	doubled := g.CallFunction(mulTT, []ir.Arg{x, ir.Int(2)})
	view := g.CallFunction(ir.OverloadOf("aten::select.int"), []ir.Arg{doubled, ir.Int(0), ir.Int(0)})
	g.CallFunction(ir.OverloadOf("aten::fill_.Scalar"), []ir.Arg{view, ir.Int(9)})
	g.CallFunction(ir.OverloadOf("aten::neg_"), []ir.Arg{x})
	g.Output(ir.TupleOf(g.CallFunction(addTT, []ir.Arg{doubled, count}), view))
	count0 := tensor(t, []float32{100}, 1)
	p := compile(t, module(t, g, map[string]any{"count": count0}))
	in := tensor(t, []float32{1, 2}, 2)
	for k, want := range [][]float32{{110, 105}, {111, 98}, {112, 107}} {
		out, err := p.Run(t.Context(), in)
		require.NoError(t, err)
		items := out.(ir.PyTuple)
		assert.Equal(t, want, elements(t, items[0]), "run %d", k)
		assert.Equal(t, []float32{9}, elements(t, items[1]))
		closeResult(out)
	}
	assert.Equal(t, []float32{103}, elements(t, count0))
	assert.Equal(t, []float32{-1, -2}, elements(t, in))
}

func TestPlanWritesOneResultOverTheOther(t *testing.T) {
	needLibtorch(t)
	const n = 1 << 10
	p := compile(t, chainOf(t, 20, addOne), interpreter.PlanFusion(false))
	x := tensor(t, make([]float32, n), n)
	for range 3 {
		out, err := p.Run(t.Context(), x)
		require.NoError(t, err)
		assert.Equal(t, float32(20), elements(t, out)[n-1])
		closeResult(out)
	}
	text, err := p.Dump()
	require.NoError(t, err)
	assert.Contains(t, text, "19 results of 77824 bytes in a block of 4096 bytes", "the block is one result")
}

func TestPlanKeepsWhatViewsLookAt(t *testing.T) {
	needLibtorch(t)
	g := ir.NewGraph()
	x := g.Placeholder("x")
	a := g.CallFunction(addTT, []ir.Arg{x, ir.Int(1)})
	row := g.CallFunction(ir.OverloadOf("aten::select.int"), []ir.Arg{a, ir.Int(0), ir.Int(1)})
	same := g.CallFunction(ir.OverloadOf("aten::dropout"), []ir.Arg{row, ir.Float(0.5), ir.Bool(false)}) // a view that no schema tells of
	b := ir.Arg(g.CallFunction(mulTT, []ir.Arg{x, ir.Int(3)}))
	for range 6 { // would take the place of a
		b = g.CallFunction(mulTT, []ir.Arg{b, ir.Int(3)})
	}
	g.Output(g.CallFunction(addTT, []ir.Arg{same, b}))
	gm := module(t, g, nil)
	p := compile(t, gm)
	agreePlan(t, gm, p, tensor(t, []float32{1, 2, 3, 4}, 2, 2))
}

func TestPlanOfManyShapes(t *testing.T) {
	needLibtorch(t)
	gm := chainOf(t, 6, func(g *ir.Graph, v *ir.Node, i int) *ir.Node {
		if i%2 == 0 {
			return addOne(g, v, i)
		}
		return g.CallFunction(ir.FuncOf("torch.sigmoid"), []ir.Arg{v})
	})
	p := compile(t, gm)
	for _, n := range []int{3, 500, 4, 500, 3, 1, 0, 700} {
		agreePlan(t, gm, p, tensor(t, make([]float32, n), n))
	}
	for n := range 200 {
		agreePlan(t, gm, p, tensor(t, make([]float32, n), n))
	}
	text, err := p.Dump()
	require.NoError(t, err)
	assert.Equal(t, 64, strings.Count(text, "\nshape class "), "the number of layouts is bounded")
	doubles, err := torch.From([]float64{1, 2}, 2)
	require.NoError(t, err)
	defer doubles.Close()
	agreePlan(t, gm, p, doubles)
	transposed, err := torch.Call("aten::t", tensor(t, []float32{1, 2, 3, 4, 5, 6}, 2, 3))
	require.NoError(t, err)
	defer closeResult(transposed)
	agreePlan(t, gm, p, transposed)
}
