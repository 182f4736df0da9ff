package torchfx_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx"
	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	"github.com/torchfx-go/torchfx/operator"
	"github.com/torchfx-go/torchfx/rewriter"
	torch "github.com/torchfx-go/torchfx/torchops"
)

type scaled struct {
	nn.Base `forward:"x"`
	W       *torch.Tensor
}

func (m *scaled) Forward(x *torch.Tensor) *torch.Tensor { return operator.Mul(x, m.W) }

func negRelu(x *torch.Tensor) *torch.Tensor { return operator.Add(torch.Neg(x), torch.Relu(x)) }

func codeOf(t *testing.T, gm *ir.GraphModule) string {
	t.Helper()
	require.NoError(t, gm.Graph().Lint())
	code, err := gm.Code()
	require.NoError(t, err)
	return code
}

// The forms that a pattern and a replacement may have, for one and the same
// rewrite.
func TestReplacePatternTakesFunctionsGraphsModulesAndText(t *testing.T) {
	patternText := "def forward(self, x):\n    neg = torch.neg(x)\n    relu = torch.relu(x)\n    add = neg + relu\n    return add"
	replacementText := "def forward(self, x):\n    sigmoid = torch.sigmoid(x)\n    return sigmoid"
	graph := func(text string) *ir.Graph {
		g, err := ir.ParseCode(text)
		require.NoError(t, err)
		return g
	}
	gm := func(text string) *ir.GraphModule {
		m, err := ir.NewGraphModule(nil, graph(text))
		require.NoError(t, err)
		return m
	}
	tests := []struct {
		name                 string
		pattern, replacement any
	}{
		{"functions", negRelu, torch.Sigmoid},
		{"graphs", graph(patternText), graph(replacementText)},
		{"graph modules", gm(patternText), gm(replacementText)},
		{"text", patternText, replacementText},
		{"mixed", negRelu, replacementText},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			m, err := torchfx.SymbolicTrace(func(x *torch.Tensor) *torch.Tensor { return torch.Abs(negRelu(x)) })
			require.NoError(t, err)
			matches, err := torchfx.ReplacePattern(m, tc.pattern, tc.replacement)
			require.NoError(t, err)
			assert.Len(t, matches, 1)
			assert.Equal(t, `


def forward(self, x):
    sigmoid = torch.sigmoid(x);  x = None
    abs_1 = torch.abs(sigmoid);  sigmoid = None
    return abs_1
    `, codeOf(t, m))
		})
	}
}

// A parameter of the replacement comes along; a constant that a replacement
// function brings never takes the name, and so the value, of the module's own.
func TestReplacePatternBringsTensors(t *testing.T) {
	testenv.Libtorch(t)
	one, two := ones(t, 2), ones(t, 2)
	m, err := torchfx.SymbolicTrace(func(x *torch.Tensor) *torch.Tensor { return torch.Neg(torch.Add(x, one)) })
	require.NoError(t, err)
	_, err = torchfx.ReplacePattern(m, torch.Neg, func(x *torch.Tensor) *torch.Tensor { return torch.Add(x, two) })
	require.NoError(t, err)
	assert.Equal(t, `


def forward(self, x):
    _tensor_constant0 = self._tensor_constant0
    add = torch.add(x, _tensor_constant0);  x = _tensor_constant0 = None
    _tensor_constant0_1 = self._tensor_constant1
    add_1 = torch.add(add, _tensor_constant0_1);  add = _tensor_constant0_1 = None
    return add_1
    `, codeOf(t, m))
	for path, want := range map[string]*torch.Tensor{"_tensor_constant0": one, "_tensor_constant1": two} {
		v, ok := m.Attr(path)
		require.True(t, ok, path)
		assert.Same(t, want, v, path)
	}

	w := ones(t, 2)
	module, err := torchfx.SymbolicTrace(torch.Relu)
	require.NoError(t, err)
	_, err = torchfx.ReplacePattern(module, torch.Relu, &scaled{W: w})
	require.NoError(t, err)
	v, ok := module.Attr("w")
	require.True(t, ok)
	assert.Same(t, w, v)
}

func TestReplacePatternWithFiltersReportsNodes(t *testing.T) {
	m, err := torchfx.SymbolicTrace(func(x *torch.Tensor) *torch.Tensor { return torch.Relu(torch.Relu(x)) })
	require.NoError(t, err)
	first := func(match *rewriter.Match, _, _ *ir.Graph) bool { return match.At().Name() == "relu" }
	done, err := torchfx.ReplacePatternWithFilters(m, torch.Relu, negRelu, rewriter.FilterBy(first))
	require.NoError(t, err)
	require.Len(t, done, 1)
	assert.Equal(t, "[neg relu_2 add]", fmt.Sprint(done[0].Made))
	assert.Equal(t, "[relu]", fmt.Sprint(done[0].Removed))

	_, err = torchfx.ReplacePatternWithFilters(m, torch.Relu, nil)
	require.ErrorIs(t, err, ir.ErrAssertion)
	_, err = torchfx.ReplacePattern(m, 3, torch.Relu)
	require.ErrorContains(t, err, "pattern: trace: expected an nn.Module")
	_, err = torchfx.ReplacePattern(m, torch.Relu, func(x *torch.Tensor) *torch.Tensor { _ = x.Shape(); return x })
	require.ErrorContains(t, err, "replacement: trace at trace_test.go")
}

func ExampleSymbolicTrace() {
	gm, err := torchfx.SymbolicTrace(func(x *torch.Tensor) *torch.Tensor {
		return torch.Relu(x).Add(1)
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(gm.Graph())
	// Output:
	// graph():
	//     %x : [num_users=1] = placeholder[target=x]
	//     %relu : [num_users=1] = call_function[target=torch.relu](args = (%x,), kwargs = {})
	//     %add : [num_users=1] = call_method[target=add](args = (%relu, 1), kwargs = {})
	//     return add
}

// The patterns are Go functions; only what they call counts.
func ExampleReplacePattern() {
	gm, err := torchfx.SymbolicTrace(func(x *torch.Tensor) *torch.Tensor {
		return torch.Add(torch.Neg(x), torch.Relu(x))
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	matches, err := torchfx.ReplacePattern(gm,
		func(x *torch.Tensor) *torch.Tensor { return torch.Add(torch.Neg(x), torch.Relu(x)) },
		func(x *torch.Tensor) *torch.Tensor { return torch.Relu(x.Neg()) })
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(matches), "match")
	fmt.Println(gm.Graph())
	// Output:
	// 1 match
	// graph():
	//     %x : [num_users=1] = placeholder[target=x]
	//     %neg_1 : [num_users=1] = call_method[target=neg](args = (%x,), kwargs = {})
	//     %relu_1 : [num_users=1] = call_function[target=torch.relu](args = (%neg_1,), kwargs = {})
	//     return relu_1
}
