package passes_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/passes"
)

// torch.fx drops the rounding mode; here that call stays.
//
// upstream: test_fx_experimental.TestFXExperimental.test_normalize_binary_operators
func TestRecordedNormalizeOperators(t *testing.T) {
	r := recorded(t, "normalize_operators")
	m := r.before(t)
	m.SetAttr("lin", &submodule{"torch.nn.modules.linear.Linear"})
	require.NoError(t, passes.NormalizeOperators(m))
	kept := m.Graph().Lookup("div")
	require.NotNil(t, kept)
	require.Equal(t, []ir.Keyword{ir.Kw("rounding_mode", ir.Str("floor"))}, kept.Kwargs())

	var want struct{ Types [][]*string }
	r.result(t, &want)
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
	// and with it done as torch.fx does, the texts are the same
	kept.SetKwargs()
	require.NoError(t, passes.NormalizeOperators(m))
	r.requireTexts(t, asNew(t, m))
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
