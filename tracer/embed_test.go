package tracer_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/nn"
	"github.com/torchfx-go/torchfx/operator"
	torch "github.com/torchfx-go/torchfx/torchops"
	"github.com/torchfx-go/torchfx/tracer"
)

type baseModel struct {
	nn.Base `forward:"x"`
	Lin     *nn.Linear
}

func (m *baseModel) Forward(x *torch.Tensor) *torch.Tensor { return m.Lin.Forward(x) }

type derivedModel struct {
	baseModel
	B *torch.Tensor
}

func (m *derivedModel) Forward(x *torch.Tensor) *torch.Tensor {
	return operator.Add(m.baseModel.Forward(x), m.B)
}

type derivedLayer struct {
	nn.Linear
	B *torch.Tensor
}

func (m *derivedLayer) Forward(x *torch.Tensor) *torch.Tensor {
	return operator.Add(m.Linear.Forward(x), m.B)
}

type derivedNet struct {
	nn.Base `forward:"x"`
	A       *derivedModel
	C       *derivedLayer
}

func (m *derivedNet) Forward(x *torch.Tensor) *torch.Tensor { return nn.Call(m.C, nn.Call(m.A, x)) }

// A struct that embeds a model or a layer inherits from it as a class of Python: names,
// repr, the trace and its module stack are those of
//
//	class DerivedModel(BaseModel):
//	    def forward(self, x):
//	        return super().forward(x) + self.b
func TestEmbeddingInherits(t *testing.T) {
	testenv.Libtorch(t)
	m := &derivedNet{
		A: &derivedModel{baseModel{Lin: nn.NewLinear(2, 2)}, embeddedParameter(t)},
		C: &derivedLayer{*nn.NewLinear(2, 2), embeddedParameter(t)},
	}
	var names []string
	for name := range nn.StateDict(m) {
		names = append(names, name)
	}
	assert.Equal(t, []string{"a.b", "a.lin.weight", "a.lin.bias", "c.weight", "c.bias", "c.b"}, names)
	assert.Equal(t, `derivedNet(
  (a): derivedModel(
    (lin): Linear(in_features=2, out_features=2, bias=True)
  )
  (c): derivedLayer(in_features=2, out_features=2, bias=True)
)`, nn.Repr(m))

	gm, err := tracer.SymbolicTrace(m)
	require.NoError(t, err)
	code, err := gm.Code()
	require.NoError(t, err)
	assert.Equal(t, `


def forward(self, x):
    a_lin = self.a.lin(x);  x = None
    a_b = self.a.b
    add = a_lin + a_b;  a_lin = a_b = None
    c_weight = self.c.weight
    c_bias = self.c.bias
    linear = torch._C._nn.linear(add, c_weight, c_bias);  add = c_weight = c_bias = None
    c_b = self.c.b
    add_1 = linear + c_b;  linear = c_b = None
    return add_1
    `, code)

	x := torch.Ones(1, 2)
	want, err := torch.Try(func() *torch.Tensor { return m.Forward(x) })
	require.NoError(t, err)
	got, err := interpreter.New(gm).Run(t.Context(), x)
	require.NoError(t, err)
	assert.Equal(t, want.String(), got.(*torch.Tensor).String())

	made, err := nn.Copy(m)
	require.NoError(t, err)
	c := made.(*derivedNet)
	assert.NotSame(t, m.A.Lin, c.A.Lin)
	assert.NotSame(t, m.C.Weight, c.C.Weight)
	nn.Train(m, false)
	assert.False(t, m.A.Lin.Training())
	assert.True(t, c.A.Lin.Training())
}

func embeddedParameter(t *testing.T) *torch.Tensor {
	p, err := nn.NewParameter(torch.Ones(2))
	require.NoError(t, err)
	return p
}
