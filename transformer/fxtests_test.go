package transformer_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
	"github.com/torchfx-go/torchfx/transformer"
)

// negSigmoid is the Transformer of the documentation: one for the other.
type negSigmoid struct{ transformer.Default }

func (s negSigmoid) CallFunction(r *interpreter.Run, fn *ir.Func, a []any, kw []torch.Kwarg) (any, error) {
	if fn == ir.FuncOf("torch.sigmoid") {
		fn = fnNeg
	}
	return s.Default.CallFunction(r, fn, a, kw)
}

func (s negSigmoid) CallMethod(r *interpreter.Run, name string, a []any, kw []torch.Kwarg) (any, error) {
	if name == "neg" {
		name = "relu"
	}
	return s.Default.CallMethod(r, name, a, kw)
}

func upstreamModule(t *testing.T, code string, attrs map[string]any) *ir.GraphModule {
	g, err := ir.ParseCode(code)
	require.NoError(t, err)
	m, err := ir.NewGraphModule(attrs, g)
	require.NoError(t, err)
	return m
}

// upstream: test_fx.TestFX.test_transformer_op_swap
func TestUpstreamTransformerSwaps(t *testing.T) {
	m := upstreamModule(t, "def forward(self, x):\n    sigmoid = torch.sigmoid(x);  x = None\n    neg = sigmoid.neg();  sigmoid = None\n    return neg", nil)
	out := transform(t, m, func(d transformer.Default) interpreter.Handler { return negSigmoid{d} })
	code, err := out.Code()
	require.NoError(t, err)
	assert.Equal(t, "\n\n\ndef forward(self, x):\n    neg = torch.neg(x);  x = None\n    relu = neg.relu();  neg = None\n    return relu\n    ", code)
}

// upstream: test_fx.TestFX.test_transformer_multi_outputs
// upstream: test_fx.TestFX.test_transformer_preserves_nn_module_stack_for_get_attr
func TestUpstreamTransformerResults(t *testing.T) {
	m := upstreamModule(t, "def forward(self, x):\n    w = self.w\n    add = x + w;  x = w = None\n    relu = add.relu()\n    return (add, relu)", map[string]any{"w": int64(1)})
	stack := []ir.ModuleCall{{Key: "self", Path: "self", Type: "torch.fx.graph_module.GraphModule"}}
	m.Graph().Lookup("w").Meta().Set(ir.MetaNNModuleStack, stack)
	out := transform(t, m, asIs)
	require.NoError(t, ir.Equal(m.Graph(), out.Graph()))
	require.Equal(t, stack, out.Graph().Lookup("w").Meta().Get(ir.MetaNNModuleStack))
}

// upstream: test_fx.TestFX.test_custom_codegen_with_transformer
func TestUpstreamTransformerKeepsCodeGen(t *testing.T) {
	m := upstreamModule(t, "def forward(self, x, y):\n    add = x + y;  x = y = None\n    return add", nil)
	m.Graph().SetCodeGen(ir.BoxedCodeGen{})
	out := transform(t, m, asIs)
	require.Equal(t, ir.BoxedCodeGen{}, out.Graph().CodeGen())
	code, err := out.Code()
	require.NoError(t, err)
	require.Contains(t, code, "args_iter = iter(args_list)")
}
