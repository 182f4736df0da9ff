package fxcase_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx"
	"github.com/torchfx-go/torchfx/internal/fxcase"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/rewriter"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// The programs that search for a pattern, and those that must fail.

// matches searches a graph for a pattern.
func matches(t *testing.T, gm *ir.GraphModule, pattern *ir.Graph, opts ...rewriter.Option) []rewriter.Match {
	t.Helper()
	m, err := rewriter.NewMatcher(pattern, opts...)
	require.NoError(t, err)
	found, err := m.Match(gm.Graph())
	require.NoError(t, err)
	return found
}

func TestRwCycleRejected(t *testing.T) {
	c := fxcase.Open(t, "rw_cycle_rejected")
	gm := c.Same(trace(func(x *torch.Tensor) *torch.Tensor {
		a := torch.Relu(x)
		return torch.Add(a, torch.Sigmoid(a))
	}, "x"))
	one := matches(t, gm, named(t, "x, y", func(x, y *torch.Tensor) any {
		a := torch.Relu(x)
		return ir.PyTuple{a, torch.Add(a, y)}
	}))
	two := matches(t, gm, named(t, "x, y", func(x, y *torch.Tensor) any { return ir.PyTuple{torch.Relu(x), torch.Add(y, y)} }))
	c.Result(map[string]any{"matches": []int{len(one), len(two)}})
}

func TestRwNoAnchor(t *testing.T) {
	c := fxcase.Open(t, "rw_no_anchor")
	gm := c.Same(trace(func(x *torch.Tensor) *torch.Tensor {
		y := torch.Relu(x)
		return add(y, y)
	}, "x"))
	found := matches(t, gm, named(t, "x", func(x *torch.Tensor) any {
		y := torch.Relu(x)
		return ir.PyTuple{y, y}
	}))
	c.Result(map[string]any{"matches": len(found)})
}

func reluTimes(n int, x *torch.Tensor) *torch.Tensor {
	for range n {
		x = torch.Relu(x)
	}
	return x
}

func TestRwMatcherOptions(t *testing.T) {
	c := fxcase.Open(t, "rw_matcher_options")
	three := func(x, y *torch.Tensor) *torch.Tensor { return add(reluTimes(3, x), y) }
	gm := c.Same(trace(three, "x, y"))
	var rows [][]any
	for _, p := range []struct {
		name  string
		graph *ir.Graph
	}{
		{"p1", named(t, "x", func(x *torch.Tensor) *torch.Tensor { return reluTimes(2, x) })},
		{"p2", named(t, "x, y", three)},
	} {
		for bits := range 8 {
			var opts []rewriter.Option
			output, placeholder, remove := bits&4 != 0, bits&2 != 0, bits&1 != 0
			if output {
				opts = append(opts, rewriter.MatchOutput())
			}
			if placeholder {
				opts = append(opts, rewriter.MatchPlaceholders())
			}
			if !remove {
				opts = append(opts, rewriter.Overlapping())
			}
			found := [][][2]string{}
			for _, m := range matches(t, gm, p.graph, opts...) {
				found = append(found, pairsOf(m))
			}
			rows = append(rows, []any{p.name, output, placeholder, remove, found})
		}
	}
	c.Result(map[string]any{"rows": rows})
}

// Upstream's program gives the pattern pytree code, whose output is flat; here a
// pattern may return its dict as it is, too.
func TestRwNameNodeMap(t *testing.T) {
	c := fxcase.Open(t, "rw_name_node_map")
	gm := c.Same(trace(func(x, w *torch.Tensor) *torch.Tensor { return mul(torch.Relu(torch.Mm(x, w)), 2) }, "x, w"))
	pattern := named(t, "x, w", func(x, w *torch.Tensor) any {
		m := torch.Mm(x, w)
		r := torch.Relu(m)
		return ir.PyTuple{r, map[string]any{"mm": m, "relu": r}}
	})
	leaf := ir.Leaf()
	flat := pattern.Clone()
	mm, relu := flat.Lookup("mm"), flat.Lookup("relu")
	flat.Last().SetArgs(ir.ListOf(relu, mm, relu))
	flat.SetCodeGen(ir.PyTreeCodeGen{
		Args: []string{"x", "w"},
		In:   ir.TupleSpec(leaf, leaf),
		Out:  ir.TupleSpec(leaf, &ir.TreeSpec{Type: "builtins.dict", Keys: []any{"mm", "relu"}, Children: []*ir.TreeSpec{leaf, leaf}}),
	})
	for name, p := range map[string]*ir.Graph{"returned as it is": pattern, "flattened by pytree code": flat} {
		t.Run(name, func(t *testing.T) {
			maps := []map[string]string{}
			for _, match := range matches(t, gm, p, rewriter.NameNodes()) {
				by := map[string]string{}
				for key, n := range match.Names {
					by[key] = n.Name()
				}
				maps = append(maps, by)
			}
			c.Result(map[string]any{"maps": maps})
		})
	}
}

// torch.fx finds out by a KeyError while it matches; here the pattern is refused.
func TestRwDeadPattern(t *testing.T) {
	c := fxcase.Open(t, "rw_dead_pattern")
	gm, err := trace(torch.Relu, "x")
	require.NoError(t, err)
	_, err = torchfx.ReplacePattern(gm, named(t, "a, b", func(a, b *torch.Tensor) *torch.Tensor { return torch.Relu(a) }),
		func(a, b *torch.Tensor) *torch.Tensor { return a })
	assert.JSONEq(t, `{"type": "KeyError", "message": "b"}`, c.Text("error.json"))
	require.ErrorIs(t, err, ir.ErrAssertion)
	assert.EqualError(t, err,
		"pattern: SubgraphMatcher cannot be initialized with a pattern with dead code: no result depends on b")
}

func TestRwNoReplacement(t *testing.T) {
	c := fxcase.Open(t, "rw_no_replacement")
	gm, err := trace(torch.Relu, "x")
	require.NoError(t, err)
	_, err = torchfx.ReplacePatternWithFilters(gm, torch.Relu, nil)
	c.Fails(err)
}

func TestRwOutputCountMismatch(t *testing.T) {
	c := fxcase.Open(t, "rw_output_count_mismatch")
	gm, err := trace(sigmoidPlusRelu, "x")
	require.NoError(t, err)
	before := gm.Graph().String()
	_, err = torchfx.ReplacePattern(gm, func(a *torch.Tensor) any { return ir.PyTuple{torch.Sigmoid(a), torch.Relu(a)} }, torch.Exp)
	c.Fails(err)
	assert.Equal(t, before, gm.Graph().String(), "nothing was changed")
}
