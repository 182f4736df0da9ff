package passes_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/passes"
)

// disordered is the graph of the recorded case sort_legalize_stable.
func disordered(t *testing.T) *ir.GraphModule {
	m := module(t, `def forward(self, x, y):
    relu = torch.relu(x)
    sigmoid = torch.sigmoid(y)
    relu_1 = torch.relu(x)
    add = relu_1 + y;  relu_1 = None
    sigmoid_1 = torch.sigmoid(y);  y = None
    neg = torch.neg(sigmoid_1);  sigmoid_1 = None
    mul = x * 2;  x = None
    return (relu, sigmoid, add, neg, mul)`, ir.ClassName("<lambda>"))
	n := func(name string) *ir.Node { return m.Graph().Lookup(name) }
	require.NoError(t, n("relu").Append(n("x")))
	require.NoError(t, n("output").Prepend(n("relu")))
	require.NoError(t, n("sigmoid").Append(n("y")))
	require.NoError(t, n("x").Prepend(n("mul")))
	return m
}

// upstream: test_fx_passes.TestFXGraphPasses.test_topo_sort_stability
// upstream: test_source_matcher_utils.TestSourceMatcher.test_legalize_slice
func TestRecordedSortLegalizeStable(t *testing.T) {
	r := recorded(t, "sort_legalize_stable")
	var want struct{ Disordered, Legalized, Stable []string }
	r.result(t, &want)
	require.Equal(t, want.Disordered, graphNames(disordered(t)))
	m := disordered(t)
	require.NoError(t, passes.Legalize(m))
	require.Equal(t, want.Legalized, graphNames(m))
	m = disordered(t)
	require.NoError(t, passes.Sort(m))
	require.Equal(t, want.Stable, graphNames(m))
	r.requireTexts(t, m)
}

func TestSortRefusesCycles(t *testing.T) {
	tests := []struct {
		name  string
		sort  func(*ir.GraphModule) error
		class *ir.Class
	}{
		{"legalize", passes.Legalize, ir.ErrRuntime},
		{"sort", passes.Sort, ir.ErrAssertion},
		{"nodes", func(m *ir.GraphModule) error {
			_, err := passes.SortNodes(m.Graph().Find(ir.CallFunction, nil))
			return err
		}, ir.ErrAssertion},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			m := module(t, reluNeg)
			g := m.Graph()
			relu, neg := g.Lookup("relu"), g.Lookup("neg")
			relu.SetArgs(neg)
			err := tc.sort(m)
			require.ErrorIs(t, err, tc.class)
			require.ErrorContains(t, err, "relu, neg")
			require.Same(t, g, m.Graph())
		})
	}
}

// Sorting a graph in any order gives one that lints and computes the same;
// sorting one in order changes nothing.
func TestSortKeepsMeaning(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawModule(t)
		want := meaning(t, m)
		order := graphNames(m)
		require.NoError(t, passes.Sort(m))
		require.Equal(t, order, graphNames(m))
		nodes := m.Graph().Find(ir.CallFunction, nil)
		for range rapid.IntRange(0, 5).Draw(t, "moves") {
			if len(nodes) == 0 {
				break
			}
			pick := rapid.SampledFrom(nodes)
			require.NoError(t, pick.Draw(t, "to").Append(pick.Draw(t, "move")))
		}
		for name, sort := range map[string]func(*ir.GraphModule) error{"sort": passes.Sort, "legalize": passes.Legalize} {
			c := m.Clone()
			require.NoError(t, sort(c), name)
			require.NoError(t, c.Graph().Lint(), name)
			require.Equal(t, want, meaning(t, c), name)
		}
	})
}
