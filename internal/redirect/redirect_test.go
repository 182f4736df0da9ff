package redirect

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/ir"
)

func TestRedirectReachesSubgraphsAndRegions(t *testing.T) {
	cpu, cuda := ir.NewDevice(ir.DeviceCPU, -1), ir.NewDevice(ir.DeviceCUDA, 1)
	inner := ir.NewGraph()
	zeros := inner.CallFunction(ir.OverloadOf("aten::zeros"), []ir.Arg{ir.IntList(2)}, ir.Kwargs(ir.Kw("device", cpu)))
	inner.Output(ir.TupleOf(zeros))
	sub, err := ir.NewGraphModule(nil, inner)
	require.NoError(t, err)

	g := ir.NewGraph()
	x := g.Placeholder("x")
	copied := g.CallFunction(ir.OverloadOf("aten::to.device"), []ir.Arg{x, cpu, ir.Float32})
	there := g.CallFunction(ir.OverloadOf("aten::to.device"), []ir.Arg{x, cuda, ir.Float32})
	region := g.CallFunction(autocast, []ir.Arg{ir.Str("cpu"), ir.None{}, ir.Bool(true), ir.None{}, g.GetAttr("sub")})
	g.Output(ir.TupleOf(copied, there, region))
	module, err := ir.NewGraphModule(map[string]any{"sub": sub}, g)
	require.NoError(t, err)

	notes := Module(module, cuda)
	assert.Equal(t, []string{
		"node to_device (torch.ops.aten.to.device): device cpu became cuda:1",
		"node wrap_with_autocast (torch.ops.higher_order.wrap_with_autocast): device cpu became cuda:1",
		"node zeros_default (torch.ops.aten.zeros.default): device cpu became cuda:1",
	}, notes)
	assert.Equal(t, ir.Arg(cuda), copied.Arg(1))
	assert.Equal(t, ir.Arg(ir.Str("cuda")), region.Arg(0))
	device, _ := zeros.Kwarg("device")
	assert.Equal(t, ir.Arg(cuda), device)
	assert.Empty(t, Module(module, cuda), "a second time nothing is left to change")
}
