package passes_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/fxcase"
	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	"github.com/torchfx-go/torchfx/operator"
	"github.com/torchfx-go/torchfx/passes"
	torch "github.com/torchfx-go/torchfx/torchops"
)

type normalized struct {
	nn.Base  `forward:"x, y"`
	Lin      *nn.Linear
	rounding []any
}

func (m *normalized) Forward(x, y *torch.Tensor) *torch.Tensor {
	a := operator.Mul(torch.Add(x, y), torch.Sub(y, 1))
	b := operator.Add(torch.Eq(x, y).Float(), fn("torch.div", append([]any{x, y}, m.rounding...)...))
	relu := fn("torch.nn.functional.relu", a, true).Tensor()
	return operator.Add(operator.Add(m.Lin.Forward(relu), b), torch.FloorDivide(x, 2))
}

// torch.fx drops the rounding mode; here that call stays.
//
// upstream: test_fx_experimental.TestFXExperimental.test_normalize_binary_operators
func TestRecordedNormalizeOperators(t *testing.T) {
	c := fxcase.Open(t, "normalize_operators")
	testenv.Libtorch(t)
	c.Seed()
	root := &normalized{Lin: nn.NewLinear(2, 2), rounding: []any{torch.Kw("rounding_mode", "floor")}}
	m := c.Before(traced(t, root), nil)
	require.NoError(t, passes.NormalizeOperators(m))
	kept := m.Graph().Lookup("div")
	require.NotNil(t, kept)
	require.Equal(t, []ir.Keyword{ir.Kw("rounding_mode", ir.Str("floor"))}, kept.Kwargs())

	var want struct{ Types [][]*string }
	c.Recorded(&want)
	i := 0
	for n := range m.Graph().Nodes() {
		name, typ := *want.Types[i][0], ""
		if want.Types[i][1] != nil {
			typ = *want.Types[i][1]
		}
		require.Equal(t, strings.Replace(name, "truediv", "div", 1), n.Name())
		require.Equal(t, typ, n.Type(), name)
		i++
	}
	// and without it, the texts are the same
	root.rounding = nil
	m = traced(t, root)
	require.NoError(t, passes.NormalizeOperators(m))
	c.State(c.Same(m, nil))
}

// upstream: test_fx_experimental.TestFXExperimental.test_annotate_returns_with_schema
func TestAnnotateTypes(t *testing.T) {
	m := bodyModule(t, "w = self.w\na = torch.nn.functional.relu(x)\nb = torch.relu(a)\nc = self.lin(b)", "(c, w, y)")
	m.SetAttr("lin", &submodule{"torch.nn.modules.rnn.LSTM"})
	passes.AnnotateTypes(m)
	types := map[string]string{}
	for n := range m.Graph().Nodes() {
		types[n.Name()] = n.Type()
	}
	require.Equal(t, map[string]string{"x": "", "y": "", "w": "torch.Tensor", "a": "torch.Tensor", "b": "", "c": "", "output": ""}, types)
}
