package ir

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// wide returns a graph of n nodes: every tenth reads the first one, as a shared
// weight or mask is read, and every fifth is dead.
func wide(n int) *Graph {
	g := NewGraph()
	add, relu := FuncOf("torch.ops.aten.add.Tensor"), FuncOf("torch.ops.aten.relu.default")
	first := g.Placeholder("x")
	last := first
	for i := g.Len(); i < n-1; i++ {
		switch {
		case i%10 == 0:
			last = g.CallFunction(add, []Arg{last, first})
		case i%5 == 0:
			g.CallFunction(relu, []Arg{last})
		default:
			last = g.CallFunction(relu, []Arg{last})
		}
	}
	g.Output(last)
	return g
}

func BenchmarkGraph(b *testing.B) {
	for _, n := range []int{1000, 10000, 100000} {
		g := wide(n)
		for name, f := range map[string]func(){
			"build":  func() { wide(n) },
			"lint":   func() { _ = g.Lint(Strict()) },
			"string": func() { _ = g.String() },
			"code":   func() { _, _ = g.PythonCode("self") },
			"json":   func() { _, _ = g.JSON() },
			"clone":  func() { g.Clone() },
			"dce":    func() { _, _ = g.Clone().EliminateDeadCode() },
		} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					f()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/node")
			})
		}
	}
}

// Nothing may be quadratic: 100,000 nodes take about a hundred times what 1,000
// take. The bound is far above that, so that a loaded machine does not fail it,
// and far below what one quadratic step would take.
func TestLargeGraphsStayLinear(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	const n = 100000
	start := time.Now()
	g := wide(n)
	require.Equal(t, n, g.Len())
	require.NoError(t, g.Lint(Strict()))
	require.NotEmpty(t, g.String())
	_, err := g.PythonCode("self")
	require.NoError(t, err)
	c := g.Clone()
	require.NoError(t, Equal(g, c))
	changed, err := c.EliminateDeadCode()
	require.NoError(t, err)
	require.True(t, changed)

	// the shared node changes all its readers, and every reader goes
	x, y := c.First(), c.GetAttr("w")
	require.NoError(t, x.Append(y))
	require.Len(t, x.ReplaceAllUsesWith(y), n/10)
	for m := range c.Backward() {
		if m.NumUsers() == 0 {
			require.NoError(t, c.Erase(m))
		}
	}
	require.Zero(t, c.Len())

	// insertions before one node, and names that all want to be the same
	restore, err := g.InsertBefore(g.Last())
	require.NoError(t, err)
	for range n {
		g.GetAttr("a_1")
	}
	restore()
	require.Less(t, time.Since(start), 30*time.Second)
}
