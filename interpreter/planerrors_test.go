package interpreter_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
)

func TestPlanErrorsAreTheInterpreters(t *testing.T) {
	needLibtorch(t)
	x := tensor(t, []float32{1, 1}, 2)
	closed := tensor(t, []float32{1}, 1)
	require.NoError(t, closed.Close())
	one := func(f *ir.Func, args ...ir.Arg) *ir.GraphModule {
		return chainOf(t, 1, func(g *ir.Graph, v *ir.Node, _ int) *ir.Node {
			return g.CallFunction(f, append([]ir.Arg{g.CallFunction(ir.FuncOf("torch.relu"), []ir.Arg{v})}, args...))
		})
	}
	tests := []struct {
		name string
		gm   *ir.GraphModule
		args []any
	}{
		{"an operator", one(ir.OverloadOf("aten::view"), ir.IntList(7)), []any{x}},
		{"a function of torch", one(ir.FuncOf("torch.reshape"), ir.IntList(7)), []any{x}},
		{"a method", one(ir.FuncOf("torch.Tensor.view"), ir.Int(7)), []any{x}},
		{"an operator of Python", one(ir.FuncOf("operator.matmul"), ir.Int(7)), []any{x}},
		{"a number for a tensor", one(ir.OverloadOf("aten::relu")), []any{"text"}},
		{"a closed tensor", one(ir.OverloadOf("aten::relu")), []any{closed}},
		{"nothing given", one(ir.OverloadOf("aten::relu")), nil},
		{"a wrong argument", one(ir.FuncOf("torch.sum"), ir.Str("a")), []any{x}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) { agree(t, tc.gm, tc.args...) })
	}
}

func TestPlanNamesTheNodeInsideAGraph(t *testing.T) {
	needLibtorch(t)
	g := ir.NewGraph()
	x := g.Placeholder("x")
	g.Output(g.CallFunction(higherOrder("wrap"), []ir.Arg{g.GetAttr("sub"), x, x}))
	sub := subgraph(t, call(ir.OverloadOf("aten::view"), ir.IntList(7)))
	_, err := compile(t, module(t, g, map[string]any{"sub": sub})).Run(t.Context(), tensor(t, []float32{1}, 1))
	var outer, inner *interpreter.NodeError
	require.ErrorAs(t, err, &outer)
	assert.Equal(t, "wrap", outer.Node)
	require.ErrorAs(t, outer.Err, &inner)
	assert.Equal(t, "view_default", inner.Node)
	assert.Contains(t, inner.Args[0], "self: f32[1] cpu")
}

func TestCompileTellsAllThatIsMissing(t *testing.T) {
	needLibtorch(t)
	g := ir.NewGraph()
	x := g.Placeholder("x")
	a := g.CallFunction(ir.OverloadOf("aten::no_such"), []ir.Arg{x})
	b := g.CallFunction(ir.FuncOf("torch.no_such"), []ir.Arg{a})
	g.Output(g.CallFunction(addTT, []ir.Arg{b, g.GetAttr("w")}))
	gm, err := ir.NewGraphModule(map[string]any{"w": nil}, g)
	require.NoError(t, err)
	gm.DeleteAttr("w")
	_, err = interpreter.Compile(gm)
	require.Error(t, err)
	for _, part := range []string{`"aten::no_such"`, "torch.no_such", "nonexistent target w"} {
		assert.ErrorContains(t, err, part)
	}
}
