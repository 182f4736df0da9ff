package interpreter_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// A dump names what a plan takes, returns and reads, and each shape class by its inputs.
func TestDumpNamesInputsAndClasses(t *testing.T) {
	needLibtorch(t)
	g := ir.NewGraph()
	x, n, list := g.Placeholder("x"), g.Placeholder("n"), g.Placeholder("items")
	layer := g.CallFunction(ir.OverloadOf("aten::linear"), []ir.Arg{x, g.GetAttr("layer.weight"), g.GetAttr("layer.bias")})
	first := g.CallFunction(getitem, []ir.Arg{list, ir.Int(0)})
	g.Output(ir.TupleOf(g.CallFunction(ir.OverloadOf("aten::add.Tensor"), []ir.Arg{layer, first}), g.CallFunction(ir.OverloadOf("aten::mul.Tensor"), []ir.Arg{layer, n})))
	gm := module(t, g, map[string]any{"layer.weight": uniform(t, 4, 3), "layer.bias": uniform(t, 4)})
	p := compile(t, gm, interpreter.PlanFusion(false))
	last := called(t, "aten::t", uniform(t, 3, 5)) // in columns
	for _, args := range [][]any{
		{uniform(t, 2, 3), int64(3), []any{uniform(t, 4)}},
		{last.RequiresGradInPlace(), 0.5, []any{torch.Full([]int{}, 1), true, nil}},
	} {
		out, err := p.Run(t.Context(), args...)
		require.NoError(t, err)
		closeResult(out)
	}
	text, err := p.Dump()
	require.NoError(t, err)
	for _, want := range []string{
		"takes x %0, n %1, items %2; returns %5 %6; reads 2 tensors of the module, 64 bytes\n",
		"layer.weight layer.bias\n",
		"\nshape class 0: f32[5, 3] strides [1, 5] that requires gradients, 0.5, (i64[], true, None); threads 1\n",
		"\nshape class 1: f32[2, 3], 3, (f32[4]); threads 1\n",
	} {
		assert.Contains(t, text, want)
	}
	assert.Regexp(t, `(?m)^0 +linear_default +%3 +f32\[5, 4\] +0 +80 +0–\d +granted$`, text)
}
