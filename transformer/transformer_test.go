package transformer_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
	"github.com/torchfx-go/torchfx/tracer"
	"github.com/torchfx-go/torchfx/transformer"
)

var fnNeg = ir.FuncOf("torch.neg")

type negToSigmoid struct{ transformer.Default }

func (s negToSigmoid) CallFunction(r *interpreter.Run, fn *ir.Func, a []any, kw []torch.Kwarg) (any, error) {
	if fn == fnNeg {
		return a[0].(torch.Value).Method("sigmoid", nil), nil
	}
	return s.Default.CallFunction(r, fn, a, kw)
}

func traced(t *testing.T, f any, opts ...tracer.Option) *ir.GraphModule {
	t.Helper()
	gm, err := tracer.SymbolicTrace(f, opts...)
	require.NoError(t, err)
	return gm
}

func TestOverridesAreReached(t *testing.T) {
	gm := traced(t, func(x, y *torch.Tensor) *torch.Tensor { return torch.Neg(torch.Add(torch.Neg(x), y)) }, tracer.Signature("x, y=None"))
	before := gm.Graph().String()
	out, err := transformer.Transform(context.Background(), gm, func(d transformer.Default) interpreter.Handler { return negToSigmoid{d} })
	require.NoError(t, err)
	require.NoError(t, out.Graph().Lint())
	code, err := out.Code()
	require.NoError(t, err)
	assert.Equal(t, `


def forward(self, x, y = None):
    sigmoid = x.sigmoid();  x = None
    add = torch.add(sigmoid, y);  sigmoid = y = None
    sigmoid_1 = add.sigmoid();  add = None
    return sigmoid_1
    `, code)
	assert.Equal(t, before, gm.Graph().String(), "the old graph stays")
	assert.Equal(t, "GraphModule", out.ClassName())
}

// What changes the code of the old graph changes that of the new one.
func TestTransformKeepsWhatChangesCode(t *testing.T) {
	gm := traced(t, func(x *torch.Tensor) *torch.Tensor { return torch.Neg(x) }, tracer.Signature("x"))
	gm.Graph().OnGenerateCode(func(ir.BodyFunc) ir.BodyFunc {
		return func(body []string) []string { return append([]string{"pass\n"}, body...) }
	})
	want, err := gm.Code()
	require.NoError(t, err)
	assert.Contains(t, want, "    pass\n")
	got, err := transform(t, gm, asIs).Code()
	require.NoError(t, err)
	assert.Equal(t, want, got)
}

// upstream: test_fx.TestFX.test_transformer_noop
func TestWithoutOverridesTheGraphIsCopied(t *testing.T) {
	testenv.Libtorch(t)
	one, err := torch.From([]float32{1}, 1)
	require.NoError(t, err)
	defer one.Close()
	gm := traced(t, func(x *torch.Tensor) (*torch.Tensor, *torch.Tensor) {
		y := torch.Add(x, one)
		return y, y.View(x.Size(0), -1)
	})
	for n := range gm.Graph().Nodes() {
		n.Meta().Set(ir.MetaStackTrace, "here")
		n.Meta().Set(ir.MetaVal, "a shape")
	}
	out, err := transformer.Transform(context.Background(), gm, func(d transformer.Default) interpreter.Handler { return d })
	require.NoError(t, err)
	require.NoError(t, ir.Equal(gm.Graph(), out.Graph()))
	v, ok := out.Attr("_tensor_constant0")
	require.True(t, ok)
	assert.Same(t, one, v)
	add := out.Graph().Lookup("add")
	assert.Equal(t, "here", add.Meta().Get(ir.MetaStackTrace), "provenance is carried over")
	assert.False(t, add.Meta().Has(ir.MetaVal), "shapes are not")
}

func ExampleTransform() {
	gm, err := tracer.SymbolicTrace(func(x *torch.Tensor) *torch.Tensor { return torch.Relu(torch.Neg(x)) })
	if err != nil {
		fmt.Println(err)
		return
	}
	out, err := transformer.Transform(context.Background(), gm, func(d transformer.Default) interpreter.Handler { return negToSigmoid{d} })
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(out.Graph())
	// Output:
	// graph():
	//     %x : [num_users=1] = placeholder[target=x]
	//     %sigmoid : [num_users=1] = call_method[target=sigmoid](args = (%x,), kwargs = {})
	//     %relu : [num_users=1] = call_function[target=torch.relu](args = (%sigmoid,), kwargs = {})
	//     return relu
}
