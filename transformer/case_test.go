package transformer_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/fxcase"
	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	"github.com/torchfx-go/torchfx/operator"
	torch "github.com/torchfx-go/torchfx/torchops"
	"github.com/torchfx-go/torchfx/tracer"
	"github.com/torchfx-go/torchfx/transformer"
)

// The tests TestTrace_<case> transform the module of a recorded case and get
// what torch.fx recorded.

// sameTexts compares a graph module with the one in a folder of the running
// test's case.
func sameTexts(t *testing.T, gm *ir.GraphModule, folder string) {
	t.Helper()
	require.NoError(t, gm.Graph().Lint())
	c := fxcase.Open(t, strings.TrimPrefix(t.Name(), "TestTrace_"))
	if folder == "before" {
		c.Before(gm, nil)
	} else {
		c.Same(gm, nil)
	}
}

func transform(t *testing.T, gm *ir.GraphModule, wrap func(transformer.Default) interpreter.Handler) *ir.GraphModule {
	t.Helper()
	out, err := transformer.Transform(context.Background(), gm, wrap)
	require.NoError(t, err)
	return out
}

func asIs(d transformer.Default) interpreter.Handler { return d }

type dropped struct {
	nn.Base `forward:"x"`
	Lin     *nn.Linear
	Drop    *nn.Dropout
}

func (m *dropped) Forward(x *torch.Tensor) *torch.Tensor {
	return m.Drop.Forward(m.Lin.Forward(m.Drop.Forward(x)))
}

type dropDropout struct{ transformer.Default }

func (s dropDropout) CallModule(r *interpreter.Run, path string, args []any, kw []torch.Kwarg) (any, error) {
	m, err := r.Attr(path)
	if err != nil {
		return nil, err
	}
	if _, ok := m.(*nn.Dropout); ok {
		return args[0], nil
	}
	return s.Default.CallModule(r, path, args, kw)
}

func TestTrace_transform_drop_and_meta(t *testing.T) {
	testenv.Libtorch(t)
	gm := traced(t, &dropped{Lin: nn.NewLinear(2, 2), Drop: nn.NewDropout()})
	sameTexts(t, gm, "before")
	sameTexts(t, transform(t, gm, func(d transformer.Default) interpreter.Handler { return dropDropout{d} }), "")
}

type starred struct {
	nn.Base `forward:"x, input=2, *rest"`
	Lin     *nn.Linear
	W       *torch.Tensor
}

func (m *starred) Forward(x *torch.Tensor, input, rest torch.Value) any {
	y := operator.Add(m.Lin.Forward(x), operator.Mul(nn.Read(m.W), input))
	shape := y.Value().Attr("shape")
	return ir.PyTuple{y.View(-1), []any{shape.Index(0), map[string]any{"k": rest.Index(0)}}}
}

// upstream: test_fx.TestFX.test_transformer_noop
func TestTrace_transform_noop(t *testing.T) {
	testenv.Libtorch(t)
	w, err := torch.From([]float32{1, 1}, 2)
	require.NoError(t, err)
	defer w.Close()
	gm := traced(t, &starred{Lin: nn.NewLinear(2, 2), W: w})
	for n := range gm.Graph().Nodes() {
		n.Meta().Set("tag", n.Name())
		n.Meta().Set(ir.MetaCustom, ir.DictOf(ir.Pair{Key: ir.Str("k"), Value: ir.Str(n.Name())}))
		n.Meta().Set(ir.MetaStackTrace, "trace "+n.Name())
	}
	out := transform(t, gm, asIs)
	sameTexts(t, out, "")
	for _, name := range []string{"lin", "w", "view"} {
		n := out.Graph().Lookup(name)
		assert.False(t, n.Meta().Has("tag"), name)
		assert.True(t, n.Meta().Has(ir.MetaCustom), name)
		assert.Equal(t, "trace "+name, n.StackTrace())
	}
	assert.Zero(t, out.Graph().Lookup("x").Meta().Len(), "a placeholder's meta is lost")
	last, err := out.Graph().OutputNode()
	require.NoError(t, err)
	assert.Equal(t, "output", last.Meta().Get("tag"), "the output's is kept")
}

func TestTrace_transform_rename_and_pytree(t *testing.T) {
	gm := traced(t, func(x map[string]*torch.Tensor) *torch.Tensor { return x["a"].Add(x["b"]) },
		tracer.Concrete(map[string]any{"x": map[string]any{"a": tracer.PH, "b": tracer.PH}}))
	gm.Graph().Lookup("add").Rename("my_sum")
	sameTexts(t, gm, "before")
	sameTexts(t, transform(t, gm, asIs), "")
}
