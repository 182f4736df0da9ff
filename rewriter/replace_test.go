package rewriter

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/ir"
)

// torch.fx puts the copy before the first user of a result, and leaves a graph
// in a wrong order where an input of the replacement comes later.
func TestCopyStandsBehindItsInputs(t *testing.T) {
	pattern := def("x, y", "r = torch.relu(x)", "s = torch.add(r, y)", "return (r, s)")
	fused := def("x, y", "f = program_fused(x, y)", "getitem = f[0]", "getitem_1 = f[1]", "return (getitem, getitem_1)")
	apart := def("x, y", "sin = torch.sin(x)", "cos = torch.cos(y)", "return (sin, cos)")
	tests := []struct {
		name, graph, replacement string
		want                     []string
	}{
		{"between input and first user",
			def("x, y", "r = torch.relu(x)", "b = torch.neg(y)", "s = torch.add(r, b)", "u = torch.exp(r)", "return (s, u)"), fused,
			[]string{"b = torch.neg(y)", "f = program_fused(x, b)", "getitem = f[0]", "getitem_1 = f[1]", "u = torch.exp(getitem)", "return (getitem_1, u)"}},
		{"users of a result before the input move",
			def("x, y", "r = torch.relu(x)", "u = torch.exp(r)", "b = torch.neg(y)", "v = torch.log(u)", "c = torch.abs(b)", "s = torch.add(r, c)", "return (s, v)"), fused,
			[]string{"b = torch.neg(y)", "c = torch.abs(b)", "f = program_fused(x, c)", "getitem = f[0]", "getitem_1 = f[1]",
				"u = torch.exp(getitem)", "v = torch.log(u)", "return (getitem_1, v)"}},
		{"the results apart: the copy is one block all the same",
			def("x, y", "r = torch.relu(x)", "u = torch.exp(r)", "b = torch.neg(y)", "s = torch.add(r, b)", "return (s, u)"), apart,
			[]string{"b = torch.neg(y)", "sin = torch.sin(x)", "cos = torch.cos(b)", "u = torch.exp(sin)", "return (cos, u)"}},
		{"an input as result moves what reads it",
			def("x, y", "r = torch.relu(x)", "u = torch.exp(r)", "b = torch.neg(y)", "s = torch.add(r, b)", "return (s, u)"),
			def("x, y", "return (y, x)"),
			[]string{"b = torch.neg(y)", "u = torch.exp(b)", "return (x, u)"}},
		{"nothing moves where the results are early inputs",
			def("x, y", "r = torch.relu(x)", "u = torch.exp(r)", "b = torch.neg(y)", "s = torch.add(r, b)", "return (s, u)"),
			def("x, y", "return (x, y)"),
			[]string{"u = torch.exp(x)", "b = torch.neg(y)", "return (b, u)"}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			body, done := rewritten(t, tc.graph, pattern, tc.replacement)
			require.Len(t, done, 1)
			assert.Equal(t, tc.want, body)
		})
	}
}

func TestEffectsAreNotReordered(t *testing.T) {
	graph := def("x, y", "r = torch.relu(x)", "u = torch.exp(r)", "b = torch.neg(y)", "z = y.add_(u)", "c = torch.abs(b)", "s = torch.add(r, c)", "return (s, z)")
	g := parsed(t, graph)
	before := g.String()
	done, err := ReplacePattern(module(t, g), def("x, y", "r = torch.relu(x)", "s = torch.add(r, y)", "return (r, s)"),
		def("x, y", "f = program_fused(x, y)", "getitem = f[0]", "getitem_1 = f[1]", "return (getitem, getitem_1)"))
	require.ErrorIs(t, err, ir.ErrRuntime)
	assert.EqualError(t, err, "replace at s: expected the input c before the first user u of a result, or nothing with an effect between them, got z")
	assert.Empty(t, done)
	assert.Equal(t, before, g.String(), "nothing was changed")
}

// The copy would read x after it was written, the match read it before.
func TestMatchWithAnInputWrittenInTheMiddleStays(t *testing.T) {
	pattern, replacement := def("a", "n = torch.neg(a)", "r = torch.relu(n)", "return r"), def("a", "m = torch.sin(a)", "return m")
	tests := []struct {
		name, write string
		want        int
	}{
		{"method in place", "x.add_(1)", 0},
		{"function in place", "torch.relu_(x)", 0},
		{"overload", "torch.ops.aten.add_.Tensor(x, 1)", 0},
		{"operator", "operator.iadd(x, 1)", 0},
		{"out", "torch.add(y, 1, out = x)", 0},
		{"read only", "torch.add(x, 1)", 1},
		{"random, and writes nothing", "torch.bernoulli(x)", 1},
		{"another value is written", "y.add_(x)", 1},
		{"overload that reads it", "torch.ops.aten.add_.Tensor(y, x)", 1},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			g := parsed(t, def("x, y", "n = torch.neg(x)", "w = "+tc.write, "r = torch.relu(n)", "return (r, w)"))
			var reasons []string
			done, err := Replace(module(t, g), pattern, With(replacement), Explain(func(r Reason) { reasons = append(reasons, r.String()) }))
			require.NoError(t, err)
			assert.Len(t, done, tc.want)
			if tc.want == 0 {
				assert.Equal(t, []string{"at r, against r: w writes the input x in the middle of the match"}, reasons)
			}
		})
	}
	body, done := rewritten(t, def("x", "w = x.add_(1)", "n = torch.neg(x)", "r = torch.relu(n)", "v = x.mul_(2)", "return (r, v)"), pattern, replacement)
	assert.Len(t, done, 1, "before the match it does no harm, and behind it the copy stands before it")
	assert.Equal(t, []string{"w = x.add_(1)", "m = torch.sin(x)", "v = x.mul_(2)", "return (m, v)"}, body)
}

func TestResultsThatAreInputs(t *testing.T) {
	pattern := def("x, y", "add = torch.add(x, y)", "return (add, x)")
	tests := []struct {
		name, graph, replacement string
		want                     []string
	}{
		{"changed places", def("x, y", "add = torch.add(x, y)", "n = torch.neg(x)", "return (add, n)"), def("x, y", "return (x, y)"),
			[]string{"n = torch.neg(y)", "return (x, n)"}},
		{"the copy reads the input as it was", def("x, y", "add = torch.add(x, y)", "n = torch.neg(x)", "return (add, n)"),
			def("x, y", "sin = torch.sin(x)", "cos = torch.cos(sin)", "return (x, cos)"),
			[]string{"sin = torch.sin(x)", "cos = torch.cos(sin)", "n = torch.neg(cos)", "return (x, n)"}},
		{"left alone", def("x, y", "add = torch.add(x, y)", "n = torch.neg(x)", "return (add, n)"),
			def("x, y", "sub = torch.sub(x, y)", "return (sub, x)"),
			[]string{"sub = torch.sub(x, y)", "n = torch.neg(x)", "return (sub, n)"}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			body, done := rewritten(t, tc.graph, pattern, tc.replacement)
			require.Len(t, done, 1)
			assert.Equal(t, tc.want, body)
		})
	}
	t.Run("an input that depends on the result", func(t *testing.T) {
		g := parsed(t, def("x", "y = torch.neg(x)", "add = torch.add(x, y)", "return (add, y)"))
		before := g.String()
		_, err := ReplacePattern(module(t, g), pattern, def("x, y", "f = program_f(x, y)", "return (f, f)"))
		require.ErrorIs(t, err, ir.ErrRuntime)
		assert.EqualError(t, err, "replace at add: expected inputs that do not depend on a result, got y")
		assert.Equal(t, before, g.String())
	})
}

func TestResultsThatAreLiterals(t *testing.T) {
	body, done := rewritten(t, def("x", "d = x.dim()", "a = d + 1", "return (a, d)"), def("x", "d = x.dim()", "return d"), def("x", "return 4"))
	require.Len(t, done, 1)
	assert.Equal(t, []string{"a = 4 + 1", "return (a, 4)"}, body)
	assert.Empty(t, done[0].Made)
}

// upstream: test_subgraph_rewriter.TestSubgraphRewriter.test_subgraph_rewriter_replaced_nodes
func TestReplaceReportsWhatItDid(t *testing.T) {
	m := module(t, parsed(t, def("x", "a = torch.neg(x)", "b = torch.relu(a)", "c = torch.neg(b)", "return c")))
	done, err := Replace(m, def("x", "n = torch.neg(x)", "return n"), With(def("x", "e = torch.exp(x)", "l = torch.log(e)", "return l")))
	require.NoError(t, err)
	require.Len(t, done, 2)
	assert.Equal(t, []string{"e", "l"}, names(done[0].Made))
	assert.Equal(t, []string{"a"}, names(done[0].Removed))
	assert.Equal(t, ir.Path("x"), done[0].Inputs[0].(*ir.Node).Target())
	assert.Equal(t, []string{"e_1", "l_1"}, names(done[1].Made))
	assert.Nil(t, done[1].At().Graph(), "what matched is erased")
}

func TestCallbackSeesInputsAsTheyAre(t *testing.T) {
	m := module(t, parsed(t, def("x", "a = torch.neg(x)", "b = torch.neg(a)", "return b")))
	var inputs []string
	_, err := Replace(m, def("x", "n = torch.neg(x)", "return n"), WithFunc(func(match *Match, g, p *ir.Graph) (*ir.Graph, error) {
		inputs = append(inputs, ir.Repr(match.Inputs[0]))
		assert.Equal(t, match.Inputs[0], match.Nodes[p.First()])
		return ir.ParseCode(def("x", "e = torch.exp(x)", "return e"))
	}))
	require.NoError(t, err)
	assert.Equal(t, []string{"x", "e"}, inputs)
}

func TestReplaceStopsAtTheFirstError(t *testing.T) {
	broken := errors.New("no idea")
	tests := []struct {
		name     string
		callback Callback
		want     string
	}{
		{"error", func(*Match, *ir.Graph, *ir.Graph) (*ir.Graph, error) { return nil, broken }, "no idea"},
		{"nil", func(*Match, *ir.Graph, *ir.Graph) (*ir.Graph, error) { return nil, nil }, "expected a graph from the callback, got nil"},
		{"no output", func(*Match, *ir.Graph, *ir.Graph) (*ir.Graph, error) { return ir.NewGraph(), nil }, "replacement: output node"},
		{"too many results", func(*Match, *ir.Graph, *ir.Graph) (*ir.Graph, error) { return ir.ParseCode(def("x", "return (x, x)")) },
			"Returning nodes count mismatch: 1 vs 2"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			m := module(t, parsed(t, def("x", "a = torch.neg(x)", "b = torch.neg(a)", "return b")))
			count := 0
			done, err := Replace(m, def("x", "n = torch.neg(x)", "return n"), WithFunc(func(match *Match, g, p *ir.Graph) (*ir.Graph, error) {
				if count++; count == 1 {
					return ir.ParseCode(def("x", "e = torch.exp(x)", "return e"))
				}
				return tc.callback(match, g, p)
			}))
			require.ErrorContains(t, err, tc.want)
			assert.Len(t, done, 1)
			assert.Equal(t, []string{"e = torch.exp(x)", "b = torch.neg(e)", "return b"}, bodyOf(t, m))
		})
	}
}

func TestReplaceRefuses(t *testing.T) {
	negation := def("x", "n = torch.neg(x)", "return n")
	tests := []struct {
		name        string
		pattern     any
		replacement any
		option      Option
		class       *ir.Class
		want        string
	}{
		{"MatchOutput", negation, negation, MatchOutput(), ir.ErrValue, "got MatchOutput or Overlapping"},
		{"Overlapping", negation, negation, Overlapping(), ir.ErrValue, "got MatchOutput or Overlapping"},
		{"an input alone as pattern", def("x", "return x"), negation, nil, ir.ErrAssertion, "expected a pattern with a result that it computes"},
		{"a number as pattern", 1, negation, nil, ir.ErrType, "pattern: expected a *ir.Graph, a *ir.GraphModule or Python code, got int"},
		{"a nil graph", (*ir.Graph)(nil), negation, nil, ir.ErrType, "pattern: expected"},
		{"a nil module", (*ir.GraphModule)(nil), negation, nil, ir.ErrType, "pattern: expected"},
		{"code that does not parse", "neg(x)", negation, nil, ir.ErrSyntax, "pattern: code, line 1"},
		{"a call behind return", "def forward(self, x):\n    return torch.neg(x)", negation, nil, ir.ErrSyntax, "pattern: code, line 2"},
		{"replacement that does not parse", negation, "x", nil, ir.ErrSyntax, "replacement: code, line 1"},
		{"empty pattern", ir.NewGraph(), negation, nil, ir.ErrValue, "empty pattern"},
		{"too many inputs, without a match too", def("x", "n = torch.exp(x)", "return n"), def("x, y", "return x"), nil, ir.ErrAssertion, "Placeholder count mismatch: 1 vs 2"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			opts := []Option{With(tc.replacement)}
			if tc.option != nil {
				opts = append(opts, tc.option)
			}
			_, err := Replace(module(t, parsed(t, negation)), tc.pattern, opts...)
			require.ErrorIs(t, err, tc.class)
			assert.ErrorContains(t, err, tc.want)
		})
	}
	m := module(t, parsed(t, negation))
	_, err := ReplacePattern(m, m, negation)
	require.ErrorContains(t, err, "expected a pattern of its own")
	_, err = ReplacePattern(m, negation, m.Graph())
	require.ErrorContains(t, err, "expected a graph of its own")
	_, err = NewMatcher(nil)
	require.ErrorIs(t, err, ir.ErrType)
}

// An attribute of a replacement goes where its path leads, into a nested module
// too; torch.fx sets the whole path as one attribute of the root.
func TestReplacementAttributesByPath(t *testing.T) {
	inner, err := ir.NewGraphModule(nil, parsed(t, def("x", "n = torch.neg(x)", "return n")))
	require.NoError(t, err)
	m, err := ir.NewGraphModule(fact{"inner": inner}, parsed(t, def("x", "n = torch.neg(x)", "i = self.inner(n)", "return i")))
	require.NoError(t, err)
	w, block := &tensor{}, module(t, parsed(t, def("x", "return x")))
	r, err := ir.NewGraphModule(fact{"inner.w": w, "a.b.v": w, "block": block},
		parsed(t, def("x", "w = self.inner.w", "v = self.a.b.v", "m = torch.mul(w, v)", "c = self.block(m)", "s = torch.sub(x, c)", "return s")))
	require.NoError(t, err)
	_, err = ReplacePattern(m, def("x", "n = torch.neg(x)", "return n"), r)
	require.NoError(t, err)
	require.NoError(t, m.Graph().Lint())
	for _, path := range []string{"inner.w", "a.b.v"} {
		v, ok := m.Attr(path)
		require.True(t, ok, path)
		assert.Same(t, w, v, path)
	}
	v, ok := inner.Attr("w")
	assert.True(t, ok)
	assert.Same(t, w, v)
	v, _ = m.Attr("block")
	assert.NotSame(t, block, v, "a nested module is copied")

	// a tensor is no place for a module
	m, err = ir.NewGraphModule(fact{"w": w}, parsed(t, def("x", "w = self.w", "n = torch.neg(x)", "a = n + w", "return a")))
	require.NoError(t, err)
	r, err = ir.NewGraphModule(fact{"w.lin": &layer{"Linear"}}, parsed(t, def("x", "l = self.w.lin(x)", "return l")))
	require.NoError(t, err)
	_, err = ReplacePattern(m, def("x", "n = torch.neg(x)", "return n"), r)
	require.ErrorIs(t, err, ir.ErrAttribute)
	assert.Len(t, m.Graph().Find(ir.CallFunction, neg), 1, "nothing was replaced")
}

// A plain graph as replacement, and a callback's, brings the attributes of the
// module that it belongs to.
func TestAttributesOfAnOwnedGraph(t *testing.T) {
	w := &tensor{}
	owned, err := ir.NewGraphModule(fact{"w": w}, parsed(t, def("x", "w = self.w", "m = torch.mul(x, w)", "return m")))
	require.NoError(t, err)
	for name, opt := range map[string]Option{
		"graph":    With(owned.Graph()),
		"callback": WithFunc(func(*Match, *ir.Graph, *ir.Graph) (*ir.Graph, error) { return owned.Graph(), nil }),
	} {
		t.Run(name, func(t *testing.T) {
			unused := &layer{"Unused"}
			m, err := ir.NewGraphModule(fact{"unused": unused}, parsed(t, def("x", "n = torch.neg(x)", "return n")))
			require.NoError(t, err)
			_, err = Replace(m, def("x", "n = torch.neg(x)", "return n"), opt)
			require.NoError(t, err)
			require.NoError(t, m.Graph().Lint())
			assert.Equal(t, []string{"unused", "w"}, attrs(m), "only a module as replacement cleans up")
		})
	}
}
