package rewriter

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/torchfx-go/torchfx/ir"
)

var (
	unaries  = []*ir.Func{relu, neg, ir.FuncOf("torch.sin")}
	binaries = []*ir.Func{add, ir.FuncOf("operator.mul"), ir.FuncOf("torch.sub")}
)

// randomGraph draws a graph of up to 14 steps without dead code.
func randomGraph(t *rapid.T) *ir.Graph {
	g := ir.NewGraph()
	var values []*ir.Node
	for i := range rapid.IntRange(1, 3).Draw(t, "inputs") {
		values = append(values, g.Placeholder(fmt.Sprintf("x%d", i)))
	}
	for range rapid.IntRange(2, 14).Draw(t, "steps") {
		values = append(values, randomStep(t, g, values))
	}
	var out []ir.Arg
	for _, v := range values {
		if v.NumUsers() == 0 && v.Op() != ir.Placeholder {
			out = append(out, v)
		}
	}
	g.Output(ir.TupleOf(out...))
	return g
}

// randomStep draws one call on some of values.
func randomStep(t *rapid.T, g *ir.Graph, values []*ir.Node) *ir.Node {
	pick := func() ir.Arg { return rapid.SampledFrom(values[max(0, len(values)-5):]).Draw(t, "value") }
	switch rapid.IntRange(0, 4).Draw(t, "kind") {
	case 0, 1:
		return call(g, rapid.SampledFrom(unaries).Draw(t, "unary"), pick())
	case 2:
		return call(g, rapid.SampledFrom(binaries).Draw(t, "binary"), pick(), ir.Int(rapid.IntRange(0, 1).Draw(t, "literal")))
	case 3:
		return call(g, ir.FuncOf("torch.cat"), ir.ListOf(pick(), pick()))
	default:
		return call(g, rapid.SampledFrom(binaries).Draw(t, "binary"), pick(), pick())
	}
}

// cutOut draws a pattern that is a piece of g, and says whether the piece is
// convex, so that it must be found.
func cutOut(t *rapid.T, g *ir.Graph) (p *ir.Graph, convex bool) {
	var body []*ir.Node
	for n := range g.Nodes() {
		if n.Op() == ir.CallFunction {
			body = append(body, n)
		}
	}
	chosen := map[*ir.Node]bool{rapid.SampledFrom(body).Draw(t, "piece"): true}
	for range rapid.IntRange(0, 3).Draw(t, "more") {
		var near []*ir.Node
		for _, n := range body {
			for _, m := range append(n.Inputs(), slices.Collect(n.Users())...) {
				if chosen[m] && !chosen[n] {
					near = append(near, n)
				}
			}
		}
		if len(near) > 0 {
			chosen[rapid.SampledFrom(near).Draw(t, "near")] = true
		}
	}
	p, convex = ir.NewGraph(), true
	copies, outside := map[*ir.Node]ir.Arg{}, map[*ir.Node]bool{}
	var out []ir.Arg
	for _, n := range body {
		for _, m := range n.Inputs() {
			outside[n] = outside[n] || !chosen[n] && (chosen[m] || outside[m])
			convex = convex && !(chosen[n] && outside[m])
			if chosen[n] && copies[m] == nil {
				copies[m] = p.Placeholder(m.Name())
			}
		}
		if chosen[n] {
			c, err := p.CopyNode(n, func(m *ir.Node) ir.Arg { return copies[m] })
			require.NoError(t, err)
			copies[n] = c
		}
	}
	for _, n := range body {
		for u := range n.Users() {
			if chosen[n] && !chosen[u] {
				out = append(out, copies[n])
				break
			}
		}
	}
	p.Output(ir.TupleOf(out...))
	return p, convex
}

// inOrder moves the parameters of a pattern in front of its calls, as those of a
// function are.
func inOrder(p *ir.Graph) *ir.Graph {
	var first *ir.Node
	for n := range p.Nodes() {
		if n.Op() != ir.Placeholder && first == nil {
			first = n
		}
		if n.Op() == ir.Placeholder && first != nil {
			_ = first.Prepend(n)
		}
	}
	return p
}

// meaning writes what a graph computes as one expression over its parameters.
func meaning(g *ir.Graph) string {
	values := map[*ir.Node]string{}
	show := func(a ir.Arg) string {
		return ir.Repr(ir.MapNodes(a, func(n *ir.Node) ir.Arg { return ir.Str(values[n]) }))
	}
	numbers := map[string]string{} // keeps expressions short: equal ones have one number
	for n := range g.Nodes() {
		text := n.Target().String()
		for _, a := range n.Args() {
			text += " " + show(a)
		}
		if n.Op() == ir.Output {
			return show(n.Arg(0)) + fmt.Sprint(numbers)
		}
		if n.Op() == ir.Placeholder {
			values[n] = text
			continue
		}
		if numbers[text] == "" {
			numbers[text] = fmt.Sprintf("#%x", hash(text))
		}
		values[n] = numbers[text]
	}
	return ""
}

func hash(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}

func TestMatchesAreSoundAndComplete(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := randomGraph(t)
		p, convex := cutOut(t, g)
		inOrder(p)
		m, err := NewMatcher(p)
		require.NoError(t, err)
		matches, err := m.Match(g)
		require.NoError(t, err)
		if convex {
			require.NotEmpty(t, matches, "%s\nin\n%s", p, g)
		}
		used := map[*ir.Node]bool{}
		for i := range matches {
			match := &matches[i]
			for n := range match.computed() {
				require.False(t, used[n], "%s is in two matches", n)
				used[n] = true
			}
			stands := func(a ir.Arg) ir.Arg {
				return ir.MapNodes(a, func(q *ir.Node) ir.Arg { return match.Nodes[q] })
			}
			for q, a := range match.Pairs() {
				n, ok := a.(*ir.Node)
				if !ok || !computes(q) {
					continue
				}
				require.Equal(t, q.Target(), n.Target())
				require.Equal(t, len(q.Args()), len(n.Args()))
				for j := range q.Args() {
					require.True(t, ir.EqualArgs(stands(q.Arg(j)), n.Arg(j)), "%s against %s", n, q)
				}
			}
		}
	})
}

func TestReplacementByItselfIsIdentity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := randomGraph(t)
		p, _ := cutOut(t, g)
		inOrder(p)
		before, length := meaning(g), g.Len()
		m, err := ir.NewGraphModule(nil, g)
		require.NoError(t, err)
		done, err := Replace(m, p, With(p.Clone()))
		require.NoError(t, err)
		require.NoError(t, g.Lint(ir.Strict()))
		require.Equal(t, before, meaning(g))
		require.Equal(t, length, g.Len())
		for _, d := range done {
			require.Len(t, d.Made, p.Len()-len(d.Inputs)-1)
			require.Len(t, d.Removed, len(d.Made))
		}
	})
}

// Any replacement leaves a graph in order, also with other inputs for a result
// than the pattern had; a refused one leaves what was replaced before it.
func TestLintHoldsAfterAnyReplacement(t *testing.T) {
	refused := 0
	rapid.Check(t, func(t *rapid.T) {
		g := randomGraph(t)
		p, _ := cutOut(t, g)
		inOrder(p)
		r := ir.NewGraph()
		var values []*ir.Node
		for n := range p.Nodes() {
			if n.Op() == ir.Placeholder {
				values = append(values, r.Placeholder(n.Name()))
			}
		}
		for range rapid.IntRange(0, 3).Draw(t, "made") {
			values = append(values, randomStep(t, r, values))
		}
		var out []ir.Arg
		for range p.Last().Inputs() {
			out = append(out, rapid.SampledFrom(values).Draw(t, "result"))
		}
		r.Output(ir.TupleOf(out...))
		m, err := ir.NewGraphModule(nil, g)
		require.NoError(t, err)
		opts := []Option{With(r)}
		for _, o := range []Option{Commutative(), LooseArguments(), IgnoreLiterals()} {
			if rapid.Bool().Draw(t, "option") {
				opts = append(opts, o)
			}
		}
		if _, err := Replace(m, p, opts...); err != nil {
			require.ErrorIs(t, err, ir.ErrRuntime)
			refused++
		}
		require.NoError(t, g.Lint(ir.Strict()))
	})
	assert.LessOrEqual(t, refused, 5, "a result that an input depends on is rare")
}

// With Commutative a pattern is found whatever the order of operands.
func TestCommutativeFindsEveryOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := randomGraph(t)
		p, convex := cutOut(t, g)
		inOrder(p)
		for n := range g.Nodes() {
			if commutes(n) && rapid.Bool().Draw(t, "swap") {
				n.SetArgs(n.Arg(1), n.Arg(0))
			}
		}
		m, err := NewMatcher(p, Commutative())
		require.NoError(t, err)
		matches, err := m.Match(g)
		require.NoError(t, err)
		if convex {
			require.NotEmpty(t, matches, "%s\nin\n%s", p, g)
		}
	})
}

// What is left out of a search because it leads nowhere leaves the matches as they
// are: a search that gives reasons goes there.
func TestShortcutsChangeNoMatch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := randomGraph(t)
		if rapid.Bool().Draw(t, "sums") {
			g = randomSums(t)
		}
		p, _ := cutOut(t, g)
		inOrder(p)
		var opts []Option
		for _, o := range []Option{Commutative(), Commutative(), LooseArguments(), IgnoreLiterals(), Overlapping()} {
			if rapid.Bool().Draw(t, "option") {
				opts = append(opts, o)
			}
		}
		short, err := NewMatcher(p, opts...)
		require.NoError(t, err)
		long, err := NewMatcher(p, append(opts, Explain(func(Reason) {}))...)
		require.NoError(t, err)
		long.pattern.twins = nil
		want, err := long.Match(g)
		require.NoError(t, err)
		got, err := short.Match(g)
		require.NoError(t, err)
		require.Len(t, got, len(want), "%s\nin\n%s", p, g)
		for i := range want {
			require.Equal(t, pairsOf(&want[i]), pairsOf(&got[i]), "%s\nin\n%s", p, g)
		}
	})
}

// randomSums draws a graph of additions, whose values are mostly read once.
func randomSums(t *rapid.T) *ir.Graph {
	g := ir.NewGraph()
	var values []*ir.Node
	for i := range rapid.IntRange(2, 8).Draw(t, "inputs") {
		values = append(values, g.Placeholder(fmt.Sprintf("x%d", i)))
	}
	pick := func() ir.Arg {
		i := rapid.IntRange(0, len(values)-1).Draw(t, "value")
		n := values[i]
		if len(values) > 2 && rapid.IntRange(0, 5).Draw(t, "once") > 0 {
			values = slices.Delete(values, i, i+1)
		}
		return n
	}
	for range rapid.IntRange(2, 12).Draw(t, "steps") {
		values = append(values, call(g, add, pick(), pick()))
	}
	var out []ir.Arg
	for n := range g.Nodes() {
		if n.NumUsers() == 0 && n.Op() != ir.Placeholder {
			out = append(out, n)
		}
	}
	g.Output(ir.TupleOf(out...))
	return g
}
