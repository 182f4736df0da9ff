package fxcase_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/rewriter"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// The programs whose patterns have literals, keywords and lists, or that choose
// among the matches.

// call calls a function by its Python name.
func call(name string, args ...any) *torch.Tensor {
	args, kw := torch.SplitKwargs(args)
	return torch.As[*torch.Tensor](torch.Dispatch(ir.CallFunction, fn(name), args, kw))
}

// upstream: test_subgraph_rewriter.TestSubgraphRewriter.test_subgraph_rewriter_replace_pattern_with_callback
func TestRwCallback(t *testing.T) {
	r := rewriteOf(t, "rw_callback", func(x *torch.Tensor) *torch.Tensor { return add(torch.Add(x, 1), torch.Add(x, 2)) }, "x")
	sines := func(m *rewriter.Match, graph, pattern *ir.Graph) (*ir.Graph, error) {
		assert.Same(t, r.gm.Graph(), graph)
		assert.Same(t, m.Anchor.Graph(), pattern)
		g := ir.NewGraph()
		cur := g.Placeholder("a")
		g.Placeholder("b")
		for range m.Inputs[1].(ir.Int) {
			cur = g.CallMethod("sin", args(cur))
		}
		g.Output(cur)
		return g, nil
	}
	done := r.replace(torch.Add, nil, rewriter.WithFunc(sines))
	r.same(map[string]any{"matches": madeBy(done)})
}

// upstream: test_subgraph_rewriter.TestSubgraphRewriter.test_subgraph_rewriter_replace_pattern_with_filters
func TestRwFilters(t *testing.T) {
	r := rewriteOf(t, "rw_filters", func(x, scale *torch.Tensor) any {
		return ir.PyTuple{torch.Mul(torch.Relu(x), 0.1), torch.Mul(torch.Relu(add(x, 1)), scale), torch.Mul(torch.Relu(x), 0.5)}
	}, "x, scale")
	secondIsScalar := func(m *rewriter.Match, _, pattern *ir.Graph) bool {
		second := pattern.Find(ir.Placeholder, nil)[1]
		_, isNode := m.Nodes[second].(*ir.Node)
		return !isNode
	}
	small := func(m *rewriter.Match, _, _ *ir.Graph) bool { return m.Inputs[1].(ir.Float) < 0.3 }
	done := r.replace(func(a, s *torch.Tensor) *torch.Tensor { return torch.Mul(torch.Relu(a), s) },
		func(a, s *torch.Tensor) *torch.Tensor { return mul(torch.Neg(a), s) },
		rewriter.FilterBy(secondIsScalar), rewriter.FilterBy(small))
	r.same(map[string]any{"matches": madeBy(done)})
}

func TestRwIgnoreLiterals(t *testing.T) {
	r := rewriteOf(t, "rw_ignore_literals", func(x, y *torch.Tensor) any {
		return ir.PyTuple{torch.Add(x, 1), torch.Add(x, 2.0), torch.Add(x, y), torch.Add(x, true)}
	}, "x, y")
	r.counts(r.replace(func(a *torch.Tensor) *torch.Tensor { return torch.Add(a, 5) }, timesTen, rewriter.IgnoreLiterals()))
}

func timesTen(a *torch.Tensor) *torch.Tensor { return mul(a, 10) }

func TestRwInjective(t *testing.T) {
	r := rewriteOf(t, "rw_injective", twoAdds, "x, y")
	r.counts(r.replace(torch.Add, torch.Mul))
}

func twoAdds(x, y *torch.Tensor) any { return ir.PyTuple{torch.Add(x, x), torch.Add(x, y)} }

func TestRwKwargs(t *testing.T) {
	dim, keep := torch.Kw("dim", 1), torch.Kw("keepdim", true)
	r := rewriteOf(t, "rw_kwargs", func(x *torch.Tensor) any {
		return ir.PyTuple{torch.Sum(x, dim, keep), torch.Sum(x, keep, dim), torch.Sum(x, 1, keep)}
	}, "x")
	r.counts(r.replace(func(a *torch.Tensor) *torch.Tensor { return torch.Sum(a, dim, keep) },
		func(a *torch.Tensor) *torch.Tensor { return torch.Mean(a, dim, keep) }))
}

func TestRwListArgument(t *testing.T) {
	r := rewriteOf(t, "rw_list_argument", func(x, y, z *torch.Tensor) any {
		return ir.PyTuple{torch.Cat(torch.List{x, y, z}), torch.Cat(torch.Tuple{x, y}), torch.Cat(torch.List{x, y}, 0)}
	}, "x, y, z")
	r.counts(r.replace(func(a, b *torch.Tensor) *torch.Tensor { return torch.Cat(torch.List{a, b}) },
		func(a, b *torch.Tensor) *torch.Tensor { return torch.Stack(torch.List{a, b}) }))
}

// upstream: test_subgraph_rewriter.TestSubgraphRewriter.test_subgraph_rewriter_replace_adjacent_aggregate_matches
func TestRwListPlaceholderAdjacent(t *testing.T) {
	r := rewriteOf(t, "rw_list_placeholder_adjacent", func(x, y *torch.Tensor) any {
		a, b := torch.Relu(x), torch.Relu(y)
		return ir.PyTuple{torch.Cat(torch.List{a, b}), torch.Cat(torch.List{torch.Cat(torch.List{a, b}), b})}
	}, "x, y")
	m := r.replace(torch.Cat, torch.Hstack)
	n := r.replace(torch.Relu, torch.Sigmoid)
	r.same(map[string]any{"matches": []int{len(m), len(n)}})
}

func TestRwLiterals(t *testing.T) {
	r := rewriteOf(t, "rw_literals", func(x *torch.Tensor) any {
		return ir.PyTuple{torch.Add(x, 1), torch.Add(x, 1.0), torch.Add(x, true), torch.Add(x, 2)}
	}, "x")
	r.counts(r.replace(func(a *torch.Tensor) *torch.Tensor { return torch.Add(a, 1) }, timesTen))
}

func TestRwNodeNameMatch(t *testing.T) {
	r := rewriteOf(t, "rw_node_name_match", func(x *torch.Tensor) *torch.Tensor {
		return add(torch.Sigmoid(x), torch.Exp(x).Neg())
	}, "x")
	done := r.replace(torch.Relu, torch.Tanh, rewriter.NameMatch("exp"))
	r.same(map[string]any{"matches": anchorsOf(done)})
}

func TestRwOpOverloadDefaults(t *testing.T) {
	const addTensor, clamp = "torch.ops.aten.add.Tensor", "torch.ops.aten.clamp.default"
	r := rewriteOf(t, "rw_op_overload_defaults", func(x, y *torch.Tensor) any {
		return ir.PyTuple{call(addTensor, x, y), call(addTensor, x, y, torch.Kw("alpha", 1)), call(addTensor, x, y, torch.Kw("alpha", 2)),
			call(clamp, x, 1), call(clamp, x, torch.Kw("min", 1))}
	}, "x, y")
	m := r.replace(func(a, b *torch.Tensor) *torch.Tensor { return call(addTensor, a, b, torch.Kw("alpha", 1)) },
		func(a, b *torch.Tensor) *torch.Tensor { return call("torch.ops.aten.mul.Tensor", a, b) })
	n := r.replace(func(a *torch.Tensor) *torch.Tensor { return call(clamp, a, torch.Kw("min", 1)) },
		func(a *torch.Tensor) *torch.Tensor { return call("torch.ops.aten.relu.default", a) })
	r.same(map[string]any{"matches": []int{len(m), len(n)}})
}

func TestRwPlaceholderMatchesLiteral(t *testing.T) {
	testenv.Libtorch(t)
	r := rewriteOf(t, "rw_placeholder_matches_literal", func(x *torch.Tensor) any {
		return ir.PyTuple{torch.Add(x, 3), torch.Add(torch.Ones(1), x), call("torch.add", 4, x)}
	}, "x")
	done := r.replace(named(t, "a, b", torch.Add), torch.Sub)
	var pairs [][2]string
	for _, d := range done {
		pairs = append(pairs, pairsOf(d.Match)...)
	}
	r.same(map[string]any{"matches": pairs})
}

func TestRwRepeatedPlaceholder(t *testing.T) {
	r := rewriteOf(t, "rw_repeated_placeholder", twoAdds, "x, y")
	r.counts(r.replace(func(a *torch.Tensor) *torch.Tensor { return torch.Add(a, a) },
		func(a *torch.Tensor) *torch.Tensor { return mul(a, 2) }))
}
