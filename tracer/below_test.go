package tracer_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/nn"
	torch "github.com/torchfx-go/torchfx/torchops"
	"github.com/torchfx-go/torchfx/tracer"
)

type twoLayers struct {
	nn.Base
	Fc1, Fc2 *nn.Linear
	Scale    *torch.Tensor `nn:"scale,buffer"`
}

func (m *twoLayers) Forward(x *torch.Tensor) *torch.Tensor {
	return torch.Mul(m.Fc2.Forward(torch.Relu(m.Fc1.Forward(x))), m.Scale).Add(2)
}

func TestRecordModule(t *testing.T) {
	testenv.Libtorch(t)
	scale, err := torch.From([]float32{3}, 1)
	require.NoError(t, err)
	m := &twoLayers{Fc1: nn.NewLinear(4, 8), Fc2: nn.NewLinear(8, 2), Scale: scale}
	x, err := torch.From(make([]float32, 12), 3, 4)
	require.NoError(t, err)
	gm, err := tracer.Record(m, x)
	require.NoError(t, err)
	code, err := gm.Code()
	require.NoError(t, err)
	t.Log("\n" + code)
	gm, err = tracer.Recording{Leaf: true}.Record(m, x)
	require.NoError(t, err)
	assert.NoError(t, gm.Graph().Lint())
	code, err = gm.Code()
	require.NoError(t, err)
	t.Log("\n" + code)
}
