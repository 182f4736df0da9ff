package torchfx_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx"
	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	torch "github.com/torchfx-go/torchfx/torchops"
	"github.com/torchfx-go/torchfx/tracer"
)

type withConstant struct {
	nn.Base `forward:"x"`
	Scale   *torch.Tensor
	Fc      *nn.Linear
	Unused  *nn.Linear
}

func (m *withConstant) Forward(x *torch.Tensor) *torch.Tensor {
	return m.Fc.Forward(torch.Add(torch.Mul(x, m.Scale), torch.Ones(4)))
}

func TestNewGraphModuleRoots(t *testing.T) {
	testenv.Libtorch(t)
	model := &withConstant{Scale: torch.Ones(4), Fc: nn.NewLinear(4, 2), Unused: nn.NewLinear(1, 1)}
	tr := tracer.New()
	g, err := tr.Trace(model)
	require.NoError(t, err)

	_, err = torchfx.NewGraphModule(model, g.Clone())
	require.ErrorIs(t, err, ir.ErrRuntime)
	require.EqualError(t, err, "Node _tensor_constant0 referenced target _tensor_constant0 but that target was not provided in ``root``!")

	gm, err := torchfx.NewGraphModule(tr, g)
	require.NoError(t, err)
	again, err := torchfx.NewGraphModule(gm, g.Clone())
	require.NoError(t, err)
	for _, m := range []*torchfx.GraphModule{gm, again} {
		assert.Equal(t, "GraphModule", m.ClassName())
		assert.ElementsMatch(t, []string{"scale", "fc", "_tensor_constant0"}, slices.Collect(maps.Keys(maps.Collect(m.Attrs()))))
	}

	for _, n := range g.Find(ir.CallFunction, torch.FnAdd) {
		n.ReplaceAllUsesWith(n.Arg(0).(*ir.Node))
	}
	_, err = g.EliminateDeadCode()
	require.NoError(t, err)
	own, err := torchfx.NewGraphModule(model, g.Clone(), ir.ClassName("Scaled"))
	require.NoError(t, err)
	assert.Equal(t, "Scaled", own.ClassName())
	assert.ElementsMatch(t, []string{"scale", "fc"}, slices.Collect(maps.Keys(maps.Collect(own.Attrs()))))

	_, err = torchfx.NewGraphModule(7, g)
	require.ErrorIs(t, err, ir.ErrRuntime)
	_, err = torchfx.NewGraphModule(model, nil)
	require.ErrorIs(t, err, ir.ErrAssertion)
}
