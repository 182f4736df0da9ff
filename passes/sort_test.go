package passes_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/torchfx-go/torchfx/internal/fxcase"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/operator"
	"github.com/torchfx-go/torchfx/passes"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// disordered is the program of the recorded case sort_legalize_stable.
func disordered(t *testing.T) *ir.GraphModule {
	m := traced(t, func(x, y *torch.Tensor) any {
		return ir.PyTuple{torch.Relu(x), torch.Sigmoid(y), operator.Add(torch.Relu(x), y), torch.Neg(torch.Sigmoid(y)), operator.Mul(x, 2)}
	}, parameters("x, y"))
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
	c := fxcase.Open(t, "sort_legalize_stable")
	legalized, stable := disordered(t), disordered(t)
	require.NoError(t, passes.Legalize(legalized))
	require.NoError(t, passes.Sort(stable))
	c.Same(stable, nil)
	c.Result(map[string]any{"disordered": graphNames(disordered(t)), "legalized": graphNames(legalized), "stable": graphNames(stable)})
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
