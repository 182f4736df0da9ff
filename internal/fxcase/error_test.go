package fxcase_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/fxcase"
	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	"github.com/torchfx-go/torchfx/operator"
	torch "github.com/torchfx-go/torchfx/torchops"
	"github.com/torchfx-go/torchfx/tracer"
)

// Programs that must fail, and two that here do not.

func TestOpsContainsError(t *testing.T) {
	c := fxcase.Open(t, "ops_contains_error")
	_, err := trace(func(x value) any { return operator.Call("contains", x, 1) }, "x")
	c.Fails(err)
}

func TestOpsSetitemError(t *testing.T) {
	c := fxcase.Open(t, "ops_setitem_error")
	_, err := trace(func(x value) any {
		operator.Call("setitem", x, 0, 1)
		return x
	}, "x")
	c.Fails(err)
}

func TestUnpackDoubleStarError(t *testing.T) {
	c := fxcase.Open(t, "unpack_double_star_error")
	_, err := trace(func(x value) any {
		d := &ir.PyDict{}
		for name, v := range x.Items() {
			d.Set(name, v)
		}
		return d
	}, "x")
	c.Fails(err)
}

// wrap_bad_type: what is no function has no parameters to record. It is a mistake
// in the program's text, so that it ends the program when it starts.
func TestWrapBadType(t *testing.T) {
	c := fxcase.Open(t, "wrap_bad_type")
	defer func() {
		err, ok := recover().(error)
		require.True(t, ok, "expected a panic with an error")
		c.Fails(err)
	}()
	torch.Wrap("program.three", 3)
}

// A root must be a module or attributes by name, which the compiler sees to; a
// trace takes any value and says what it takes.
func TestModuleBadRoot(t *testing.T) {
	fxcase.Open(t, "module_bad_root")
	_, err := tracer.SymbolicTrace([]any{1})
	require.ErrorIs(t, err, ir.ErrAssertion)
	require.ErrorContains(t, err, "expected an nn.Module, an *ir.GraphModule or a function, got []interface {}")
}

type keywordNamed struct {
	nn.Base `forward:"x"`
	Named   *nn.ModuleDict
}

func (m *keywordNamed) Forward(x *torch.Tensor) *torch.Tensor {
	return m.Named.Get("in").(*nn.Sigmoid).Forward(x)
}

// Upstream writes self.named.in, which is no Python; here the code reads the
// attribute by its name.
func TestNameKeywordModule(t *testing.T) {
	fxcase.Open(t, "name_keyword_module")
	testenv.Libtorch(t)
	gm, err := tracer.SymbolicTrace(&keywordNamed{Named: nn.NewModuleDict(nn.Child{Name: "in", Module: nn.NewSigmoid()})})
	require.NoError(t, err)
	code, err := gm.Code()
	require.NoError(t, err)
	assert.Contains(t, code, `getattr(self.named, "in")(x)`)
	g, err := ir.ParseCode(code)
	require.NoError(t, err)
	require.NoError(t, ir.Equal(gm.Graph(), g))
}

type shaped struct {
	nn.Base `forward:"x"`
	W       *torch.Tensor
}

func (m *shaped) Forward(x *torch.Tensor) *torch.Tensor {
	if m.W.Shape()[0] > 2 && m.W.Dim() == 2 && m.W.Numel() == 4 && m.W.Size(1).Int() == 1 {
		return add(x, m.W.Mean())
	}
	return x
}

func TestTracerParamShapesConstant(t *testing.T) {
	c := fxcase.Open(t, "tracer_param_shapes_constant")
	testenv.Libtorch(t)
	root := &shaped{W: torch.Ones(4, 1)}
	c.Same(tracer.SymbolicTrace(root, tracer.ConstantParamShapes()))
	_, err := tracer.SymbolicTrace(root)
	require.Error(t, err)
}
