package rewriter

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/ir"
)

// chain makes n triples of nodes, add, relu, neg, one after the other.
func chain(n int) *ir.Graph {
	g := ir.NewGraph()
	y := g.Placeholder("y")
	x := g.Placeholder("x")
	for range n {
		x = call(g, neg, call(g, relu, call(g, add, x, y)))
	}
	g.Output(x)
	return g
}

const (
	addRelu = "def forward(self, a, b):\n    add = torch.add(a, b)\n    relu = torch.relu(add)\n    return relu"
	subSin  = "def forward(self, a, b):\n    sub = torch.sub(a, b)\n    sin = torch.sin(sub)\n    return sin"
)

func BenchmarkReplace(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		b.Run(fmt.Sprintf("%d nodes", n), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				m, err := ir.NewGraphModule(nil, chain(n/3))
				require.NoError(b, err)
				b.StartTimer()
				done, err := Replace(m, addRelu, With(subSin))
				require.NoError(b, err)
				require.Len(b, done, n/3)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/node")
		})
	}
}

func BenchmarkMatch(b *testing.B) {
	p, err := ir.ParseCode(addRelu)
	require.NoError(b, err)
	for _, n := range []int{10_000, 100_000} {
		g := chain(n / 3)
		b.Run(fmt.Sprintf("%d nodes", n), func(b *testing.B) {
			m, err := NewMatcher(p)
			require.NoError(b, err)
			for b.Loop() {
				matches, err := m.Match(g)
				require.NoError(b, err)
				require.Len(b, matches, n/3)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/node")
		})
	}
}

// steps counts what a search does.
func steps(t *testing.T, pattern, g *ir.Graph, opts ...Option) (matches, steps int) {
	t.Helper()
	m, err := NewMatcher(pattern, opts...)
	require.NoError(t, err)
	s := m.search()
	require.NoError(t, s.run(g))
	return len(s.matches), s.steps
}

func TestWorkIsLinearInTheGraph(t *testing.T) {
	shared := func(n int) *ir.Graph { // a relu and a sin of every x, and all x from one hub
		g := ir.NewGraph()
		x := g.Placeholder("x")
		var out []ir.Arg
		for range n {
			y := call(g, neg, x)
			out = append(out, call(g, relu, y), call(g, ir.FuncOf("torch.sin"), y))
		}
		g.Output(ir.TupleOf(out...))
		return g
	}
	star := func(n int) *ir.Graph { // n relus and n sins of one x
		g := ir.NewGraph()
		x := g.Placeholder("x")
		var out []ir.Arg
		for range n {
			out = append(out, call(g, relu, x))
		}
		for range n {
			out = append(out, call(g, ir.FuncOf("torch.sin"), x))
		}
		g.Output(ir.TupleOf(out...))
		return g
	}
	tests := []struct {
		name    string
		pattern string
		graph   func(int) *ir.Graph
		options []Option
		matches int // for each unit of the graph
	}{
		{"one result", addRelu, chain, nil, 1},
		{"one result, commutative", addRelu, chain, []Option{Commutative()}, 1},
		{"two results of one input", def("a", "relu = torch.relu(a)", "sin = torch.sin(a)", "return (relu, sin)"), shared, nil, 1},
		{"two results of one input with many users", def("a", "relu = torch.relu(a)", "sin = torch.sin(a)", "return (relu, sin)"), star, nil, 1},
		{"two results of nothing in common", def("a, b", "relu = torch.relu(a)", "sin = torch.sin(b)", "return (relu, sin)"), shared, nil, 0},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			p, err := ir.ParseCode(tc.pattern)
			require.NoError(t, err)
			small, few := steps(t, p, tc.graph(500), tc.options...)
			large, many := steps(t, p, tc.graph(5000), tc.options...)
			if tc.matches > 0 {
				assert.Equal(t, 500*tc.matches, small)
				assert.Equal(t, 5000*tc.matches, large)
			} else {
				assert.Equal(t, 10*small, large)
			}
			assert.Less(t, many, 12*few, "steps for ten times the nodes")
		})
	}
}

// Patterns and graphs made to take for ever.
func TestHostilePatternsEnd(t *testing.T) {
	const n = 10_000
	reluChain := func() *ir.Graph {
		g := ir.NewGraph()
		x := g.Placeholder("x")
		for range n {
			x = call(g, relu, x)
		}
		g.Output(x)
		return g
	}
	// six separate results, none of which ever stands apart in a chain
	separate := ir.NewGraph()
	var out []ir.Arg
	for i := range 6 {
		out = append(out, call(separate, relu, separate.Placeholder(string(rune('a'+i)))))
	}
	separate.Output(ir.TupleOf(out...))

	// a tree of sums whose last leaf fits in no order
	tree := func(leaf func(g *ir.Graph, i int) ir.Arg) *ir.Graph {
		g := ir.NewGraph()
		var level []ir.Arg
		for i := range 64 {
			level = append(level, leaf(g, i))
		}
		for len(level) > 1 {
			var above []ir.Arg
			for i := 0; i < len(level); i += 2 {
				above = append(above, call(g, add, level[i], level[i+1]))
			}
			level = above
		}
		g.Output(level[0])
		return g
	}
	var shared *ir.Node
	sums := tree(func(g *ir.Graph, i int) ir.Arg {
		if i == 0 {
			shared = g.Placeholder("shared")
		}
		if i == 0 || i == 63 {
			return call(g, neg, shared)
		}
		return call(g, neg, g.Placeholder(fmt.Sprintf("p%d", i)))
	})
	distinct := tree(func(g *ir.Graph, i int) ir.Arg { return call(g, neg, g.Placeholder(fmt.Sprintf("x%d", i))) })

	tests := []struct {
		name    string
		pattern *ir.Graph
		graph   *ir.Graph
		options []Option
	}{
		{"separate results in a chain", separate, reluChain(), nil},
		{"commutative tree", sums, distinct, []Option{Commutative()}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			m, err := NewMatcher(tc.pattern, append(tc.options, MaxSteps(2_000_000))...)
			require.NoError(t, err)
			start := time.Now()
			_, err = m.Match(tc.graph)
			require.ErrorIs(t, err, ir.ErrRuntime)
			assert.ErrorContains(t, err, "expected an end within 2000000 comparisons")
			assert.Less(t, time.Since(start), 30*time.Second)
		})
	}
}
