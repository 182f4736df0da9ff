package fxcase_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx"
	"github.com/torchfx-go/torchfx/internal/fxcase"
	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/rewriter"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// The programs that replace a pattern. Program, pattern and replacement are Go
// functions, which the front door traces; where what the case returns tells the
// names of a pattern's parameters, the pattern is traced with these.

// A rewrite is a case whose program replaces in gm.
type rewrite struct {
	*fxcase.Case
	t  *testing.T
	gm *ir.GraphModule
}

// rewriteOf traces the program that a case starts from, a function with
// parameters or a module, and compares it with the recorded one.
func rewriteOf(t *testing.T, name string, root any, params string) *rewrite {
	t.Helper()
	c := fxcase.Open(t, name)
	if params == "" {
		return &rewrite{c, t, c.Before(torchfx.SymbolicTrace(root))}
	}
	return &rewrite{c, t, c.Before(trace(root, params))}
}

func (r *rewrite) replace(pattern, replacement any, opts ...rewriter.Option) []rewriter.Replaced {
	r.t.Helper()
	done, err := torchfx.ReplacePatternWithFilters(r.gm, pattern, replacement, opts...)
	require.NoError(r.t, err)
	return done
}

// same compares the rewritten module with the recorded one, and facts with what
// the program returned beside it.
func (r *rewrite) same(facts map[string]any) {
	r.t.Helper()
	require.NoError(r.t, r.gm.Graph().Lint())
	r.Same(r.gm, nil)
	if facts != nil {
		r.Result(facts)
	}
}

// counts is same for a program that returned the number of matches.
func (r *rewrite) counts(done []rewriter.Replaced) {
	r.t.Helper()
	r.same(map[string]any{"matches": len(done)})
}

// named traces a pattern whose parameters have names.
func named(t *testing.T, params string, pattern any) *ir.Graph {
	t.Helper()
	gm, err := trace(pattern, params)
	require.NoError(t, err)
	return gm.Graph()
}

// pairsOf lists the pairs of a match by name, literals as Python writes them.
func pairsOf(m rewriter.Match) [][2]string {
	out := [][2]string{}
	for p, a := range m.Pairs() {
		out = append(out, [2]string{p.Name(), ir.Repr(a)})
	}
	return out
}

// anchorsOf lists the anchors of replaced matches.
func anchorsOf(done []rewriter.Replaced) (out []string) {
	for _, d := range done {
		out = append(out, d.Anchor.Name())
	}
	return out
}

// madeBy lists the anchors with the nodes that were made.
func madeBy(done []rewriter.Replaced) (out [][]any) {
	for _, d := range done {
		out = append(out, []any{d.Anchor.Name(), names(d.Made)})
	}
	return out
}

func reluAndNeg(x *torch.Tensor) any {
	y := torch.Relu(x)
	return ir.PyTuple{y, torch.Neg(y)}
}

func TestRwAnchorReused(t *testing.T) {
	r := rewriteOf(t, "rw_anchor_reused", reluAndNeg, "x")
	r.counts(r.replace(reluAndNeg, func(x *torch.Tensor) any { return ir.PyTuple{torch.Sin(x), torch.Cos(x)} }))
}

func TestRwArgumentOrder(t *testing.T) {
	r := rewriteOf(t, "rw_argument_order", torch.Mm, "x, y")
	r.replace(torch.Mm, func(x, y *torch.Tensor) *torch.Tensor { return torch.Mm(y, x) })
	r.same(nil)
}

func TestRwBacktrackingAnchors(t *testing.T) {
	r := rewriteOf(t, "rw_backtracking_anchors", func(x, y *torch.Tensor) any {
		return ir.PyTuple{torch.Relu(x), torch.Relu(y), torch.Sigmoid(y), torch.Sigmoid(x)}
	}, "x, y")
	done := r.replace(named(t, "a", func(a *torch.Tensor) any { return ir.PyTuple{torch.Relu(a), torch.Sigmoid(a)} }),
		func(a *torch.Tensor) any { return ir.PyTuple{torch.Sin(a), torch.Cos(a)} })
	var pairs [][][2]string
	for _, d := range done {
		pairs = append(pairs, pairsOf(d.Match))
	}
	r.same(map[string]any{"matches": pairs})
}

func TestRwCallMethod(t *testing.T) {
	half := func(x *torch.Tensor) *torch.Tensor { return x.Dequantize().Sigmoid().To(torch.Float16) }
	r := rewriteOf(t, "rw_call_method", func(x *torch.Tensor) any { return ir.PyTuple{half(x), x.To(torch.Float32)} }, "x")
	r.counts(r.replace(half, (*torch.Tensor).Tanh))
}

func TestRwConsecutive(t *testing.T) {
	r := rewriteOf(t, "rw_consecutive", func(x *torch.Tensor) *torch.Tensor {
		return torch.Sigmoid(torch.Sigmoid(torch.Sigmoid(x)))
	}, "x")
	r.counts(r.replace(torch.Sigmoid, func(a *torch.Tensor) *torch.Tensor { return add(torch.Exp(a), 1) }))
}

func TestRwDuplicatedOutputs(t *testing.T) {
	r := rewriteOf(t, "rw_duplicated_outputs", func(x1, x2 *torch.Tensor) *torch.Tensor {
		return mul(torch.Add(torch.Mm(x1, x2), 1), 3)
	}, "x1, x2")
	r.counts(r.replace(func(a, b *torch.Tensor) *torch.Tensor { return torch.Add(torch.Mm(a, b), 1) }, torch.MatMul))
}

func TestRwIdentityPattern(t *testing.T) {
	testenv.Libtorch(t)
	r := rewriteOf(t, "rw_identity_pattern", negPlusReluTwice, "x")
	done := r.replace(named(t, "x", negPlusRelu), negPlusRelu)
	r.same(map[string]any{"matches": anchorsAndPairs(done)})
	r.Runs(r.gm)
}

func negPlusRelu(x *torch.Tensor) *torch.Tensor { return add(torch.Neg(x), torch.Relu(x)) }

func negPlusReluTwice(x *torch.Tensor) *torch.Tensor {
	v := negPlusRelu(x)
	return torch.Add(v, v)
}

func anchorsAndPairs(done []rewriter.Replaced) (out [][]any) {
	for _, d := range done {
		out = append(out, []any{d.Anchor.Name(), pairsOf(d.Match)})
	}
	return out
}

func TestRwIdentityReplacement(t *testing.T) {
	r := rewriteOf(t, "rw_identity_replacement", func(x, y *torch.Tensor) *torch.Tensor {
		return add(torch.Relu(torch.Add(x, y)), torch.Relu(y))
	}, "x, y")
	r.counts(r.replace(torch.Relu, func(a *torch.Tensor) *torch.Tensor { return a }))
}

func TestRwInternalNodeWithOtherUsers(t *testing.T) {
	r := rewriteOf(t, "rw_internal_node_with_other_users", func(x, w1, w2, b1, b2 *torch.Tensor) any {
		torch.Cat(torch.List{w1, w2})
		m1 := torch.Cat(torch.List{w1, w2})
		m2 := torch.Cat(torch.List{x, b2})
		torch.Addmm(b1, m1, m2.Transposed())
		t1 := torch.Sum(w1, 1)
		t2 := torch.Addmm(b1, m1, m2.Transposed())
		return ir.PyTuple{torch.Sum(t1), torch.Sum(t2)}
	}, "x, w1, w2, b1, b2")
	r.counts(r.replace(func(x, w1, w2, b1, b2 *torch.Tensor) *torch.Tensor {
		return torch.Addmm(b1, torch.Cat(torch.List{w1, w2}), torch.Cat(torch.List{x, b2}).Transposed())
	}, func(x, w1, w2, b1, b2 *torch.Tensor) *torch.Tensor { return torch.Cat(torch.List{x, w1, w2}) }))
}

func TestRwMultipleMatches(t *testing.T) {
	r := rewriteOf(t, "rw_multiple_matches", func(x *torch.Tensor) *torch.Tensor {
		m1 := torch.Cat(torch.List{x, x}).Sum()
		m2 := torch.Cat(torch.List{m1.View(1), x}).Sum()
		return add(add(m1, m2), torch.Cat(torch.List{x, x}).Sum())
	}, "x")
	r.counts(r.replace(func(a, b *torch.Tensor) *torch.Tensor { return torch.Cat(torch.List{a, b}).Sum() },
		func(a, b *torch.Tensor) *torch.Tensor { return torch.Stack(torch.List{a, b}).Mean() }))
}

func TestRwMultipleOutputs(t *testing.T) {
	r := rewriteOf(t, "rw_multiple_outputs", sigmoidPlusRelu, "x")
	done := r.replace(func(a *torch.Tensor) any { return ir.PyTuple{torch.Sigmoid(a), torch.Relu(a)} },
		func(a *torch.Tensor) any { return ir.PyTuple{torch.Exp(a), torch.Abs(a)} })
	r.same(map[string]any{"matches": len(done), "anchor": done[0].Anchor.Name()})
}

func sigmoidPlusRelu(x *torch.Tensor) *torch.Tensor { return add(torch.Sigmoid(x), torch.Relu(x)) }

func TestRwOneliner(t *testing.T) {
	testenv.Libtorch(t)
	r := rewriteOf(t, "rw_oneliner", negPlusReluTwice, "x")
	r.counts(r.replace(negPlusRelu, torch.Relu))
	r.Runs(r.gm)
}

func TestRwOverlapFirstWins(t *testing.T) {
	r := rewriteOf(t, "rw_overlap_first_wins", func(x *torch.Tensor) *torch.Tensor {
		for range 4 {
			x = torch.Sigmoid(x)
		}
		return x
	}, "x")
	done := r.replace(func(a *torch.Tensor) *torch.Tensor { return torch.Sigmoid(torch.Sigmoid(a)) }, torch.Exp)
	r.same(map[string]any{"matches": anchorsOf(done)})
}

func TestRwPlaceholderIsDeepValue(t *testing.T) {
	r := rewriteOf(t, "rw_placeholder_is_deep_value", func(x *torch.Tensor) *torch.Tensor {
		return torch.Relu(torch.Neg(add(torch.Exp(x), 1)))
	}, "x")
	r.replace(func(a *torch.Tensor) *torch.Tensor { return torch.Relu(torch.Neg(a)) },
		func(a *torch.Tensor) *torch.Tensor { return sub(a, 5) })
	r.same(nil)
}

func TestRwReturningNodeWithOtherUsers(t *testing.T) {
	r := rewriteOf(t, "rw_returning_node_with_other_users", func(x *torch.Tensor) *torch.Tensor {
		y := torch.Relu(x)
		return sub(torch.Neg(y), y)
	}, "x")
	r.counts(r.replace(torch.Relu, torch.Sigmoid))
}

func TestRwUnusedResult(t *testing.T) {
	r := rewriteOf(t, "rw_unused_result", func(x, y *torch.Tensor) *torch.Tensor {
		y.CopyInPlace(torch.Abs(x))
		return x
	}, "x, y")
	r.counts(r.replace(func(p, q *torch.Tensor) *torch.Tensor { return q.CopyInPlace(torch.Abs(p)) },
		func(p, q *torch.Tensor) *torch.Tensor { return q.FillInPlace(torch.Neg(p)) }))
}

func TestRwWholeGraph(t *testing.T) {
	f := func(x *torch.Tensor) *torch.Tensor {
		a := torch.Neg(x)
		return torch.Add(a, a)
	}
	r := rewriteOf(t, "rw_whole_graph", f, "x")
	r.replace(f, torch.Sigmoid)
	r.same(nil)
}
