package passes_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/passes"
	torch "github.com/torchfx-go/torchfx/torchops"
)

func bare(t *testing.T, shape ...int) *torch.Tensor {
	t.Helper()
	testenv.Libtorch(t)
	v, err := torch.Call("aten::empty.memory_format", shape, torch.Kw("device", ir.NewDevice(ir.DeviceMeta, -1)))
	require.NoError(t, err)
	return v.(*torch.Tensor)
}

// Tensors that code makes where its inputs lie are made on a real device, also
// where the graph was lowered without elements.
func TestLowerOnMetaNamesNoMeta(t *testing.T) {
	x := bare(t, 3)
	g := ir.NewGraph()
	in := g.Placeholder("x")
	at := g.CallFunction(ir.FuncOf("builtins.getattr"), []ir.Arg{in, ir.Str("device")})
	ones := g.CallFunction(ir.FuncOf("torch.ones"), []ir.Arg{ir.Int(3)}, ir.Kwargs(ir.Kw("device", at)))
	g.Output(g.CallFunction(ir.FuncOf("torch.add"), []ir.Arg{in, ones}))
	gm, err := ir.NewGraphModule(nil, g)
	require.NoError(t, err)
	low, err := passes.Lower(context.Background(), gm, []any{x})
	require.NoError(t, err)
	code, err := low.Code()
	require.NoError(t, err)
	assert.Contains(t, code, "torch.ops.aten.ones.default([3], device = device(type='cpu'), pin_memory = False)")
	for n := range low.Graph().Nodes() {
		if m, ok := n.Meta().Get(ir.MetaVal).(ir.TensorMeta); ok {
			assert.Equal(t, ir.DeviceCPU, m.Device.Kind(), n.Name())
		}
	}
}

// Sizes that follow from elements are not made up.
func TestLowerOnMetaRefusesSizesOfElements(t *testing.T) {
	x := bare(t, 3)
	g := ir.NewGraph()
	g.Output(g.CallFunction(ir.FuncOf("torch.nonzero"), []ir.Arg{g.Placeholder("x")}))
	gm, err := ir.NewGraphModule(nil, g)
	require.NoError(t, err)
	_, err = passes.Lower(context.Background(), gm, []any{x})
	require.ErrorIs(t, err, ir.ErrNotImplemented)
	require.ErrorContains(t, err, "nonzero")
}

// A factory of a graph makes what is beside tensors without elements, also where no
// device is named, and the constants of a graph keep theirs.
func TestLowerOnMetaWithFactories(t *testing.T) {
	x := bare(t, 3)
	g := ir.NewGraph()
	in := g.Placeholder("x")
	ones := g.CallFunction(ir.FuncOf("torch.ones"), []ir.Arg{ir.Int(3), ir.Int(2)})
	two := g.CallFunction(ir.FuncOf("torch.tensor"), []ir.Arg{ir.ListOf(ir.Float(1), ir.Float(2))})
	g.Output(g.CallFunction(ir.FuncOf("torch.add"), []ir.Arg{g.CallFunction(ir.FuncOf("torch.matmul"), []ir.Arg{in, ones}), two}))
	gm, err := ir.NewGraphModule(nil, g)
	require.NoError(t, err)
	for _, opts := range [][]passes.LowerOption{nil, {passes.ToLeaves()}} {
		want, err := passes.Lower(context.Background(), gm, []any{torch.Randn(3)}, opts...)
		require.NoError(t, err)
		got, err := passes.Lower(context.Background(), gm, []any{x}, opts...)
		require.NoError(t, err)
		before, err := want.Code()
		require.NoError(t, err)
		after, err := got.Code()
		require.NoError(t, err)
		assert.Equal(t, before, after)
	}
}
