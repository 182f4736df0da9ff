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

// Patterns and graphs made to take for ever end with an error.
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

	tests := []struct {
		name    string
		pattern *ir.Graph
		graph   *ir.Graph
		options []Option
	}{
		{"separate results in a chain", separate, reluChain(), nil},
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

// sum adds up leaves in a balanced tree, and returns its sums, the last of all
// leaves last.
func sum(g *ir.Graph, leaves []ir.Arg) (sums []*ir.Node) {
	for len(leaves) > 1 {
		var above []ir.Arg
		for i := 0; i < len(leaves); i += 2 {
			n := call(g, add, leaves[i], leaves[i+1])
			sums, above = append(sums, n), append(above, n)
		}
		leaves = above
	}
	return sums
}

// Sums have as many orders as there are ways to swap their operands; finding that
// none fits takes no more than a look or two at each pair of nodes.
func TestCommutativeSumsEnd(t *testing.T) {
	const leaves, trees = 64, 80 // 10,000 nodes
	parameters := func(g *ir.Graph, prefix string) (all []ir.Arg) {
		for i := range leaves {
			all = append(all, g.Placeholder(fmt.Sprintf("%s%d", prefix, i)))
		}
		return all
	}
	of := func(f func(g *ir.Graph, i int) ir.Arg) *ir.Graph {
		g := ir.NewGraph()
		var all []ir.Arg
		for i := range trees {
			all = append(all, f(g, i))
		}
		g.Output(ir.ListOf(all...))
		return g
	}
	last := func(nodes []*ir.Node) *ir.Node { return nodes[len(nodes)-1] }
	plain := ir.NewGraph()
	plain.Output(call(plain, relu, last(sum(plain, parameters(plain, "p")))))

	// the first leaf and the last are one
	shared := ir.NewGraph()
	in := parameters(shared, "p")
	shared.Output(call(shared, relu, last(sum(shared, append(in[:leaves-1:leaves-1], call(shared, neg, in[0]))))))
	require.NoError(t, shared.Erase(in[leaves-1].(*ir.Node)))

	// a + (b + (c + ...)), against f[n] = f[n-1] + f[n-2]
	nested := ir.NewGraph()
	x := ir.Arg(nested.Placeholder("x"))
	for i := range 40 {
		x = call(nested, add, nested.Placeholder(fmt.Sprintf("p%d", i)), x)
	}
	nested.Output(x)
	fibonacci := ir.NewGraph()
	f1, f2 := ir.Arg(fibonacci.Placeholder("x")), ir.Arg(fibonacci.Placeholder("y"))
	for range 10_000 {
		f1, f2 = call(fibonacci, add, f1, f2), f1
	}
	fibonacci.Output(f1)

	tests := []struct {
		name           string
		pattern, graph *ir.Graph
		matches        int
	}{
		{"each", plain, of(func(g *ir.Graph, i int) ir.Arg {
			return call(g, relu, last(sum(g, parameters(g, fmt.Sprintf("x%d_", i)))))
		}), trees},
		{"an inner sum read outside", plain, of(func(g *ir.Graph, i int) ir.Arg {
			all := sum(g, parameters(g, fmt.Sprintf("x%d_", i)))
			return ir.ListOf(call(g, relu, last(all)), all[0])
		}), 0},
		{"a leaf that should be another", shared, of(func(g *ir.Graph, i int) ir.Arg {
			in := parameters(g, fmt.Sprintf("x%d_", i))
			in[leaves-1] = call(g, neg, in[leaves-1])
			return call(g, relu, last(sum(g, in)))
		}), 0},
		{"sums that are read twice", nested, fibonacci, 0},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			m, err := NewMatcher(tc.pattern, Commutative())
			require.NoError(t, err)
			s := m.search()
			require.NoError(t, s.run(tc.graph))
			assert.Len(t, s.matches, tc.matches)
			assert.Less(t, s.steps, 2*tc.pattern.Len()*tc.graph.Len())
		})
	}
}
