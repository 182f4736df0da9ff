package rewriter

import (
	"slices"

	"github.com/torchfx-go/torchfx/ir"
)

// ReplacePattern replaces every match of pattern in m by replacement and
// returns the matches in program order. Pattern and replacement are each an
// *ir.Graph, an *ir.GraphModule or a string of Python code; their placeholders
// correspond by position, and so do the values that they return. Follows
// torch.fx.replace_pattern; see [Replace].
func ReplacePattern(m *ir.GraphModule, pattern, replacement any) ([]Match, error) {
	replaced, err := Replace(m, pattern, With(replacement))
	matches := make([]Match, len(replaced))
	for i, r := range replaced {
		matches[i] = r.Match
	}
	return matches, err
}

// Replace is [ReplacePattern] with options: filters, a replacement made for
// each match, other rules of matching. It follows torch.fx.subgraph_rewriter's
// replace_pattern_with_filters:
//
//   - All matches are found and filtered first, then replaced one after the other;
//     inputs that an earlier replacement took away are what stands for them now,
//     also inside of lists.
//   - The copy of the replacement stands before the first user of a result, or
//     behind the last result where nobody reads one. Its nodes keep the
//     replacement's names, as far as these are free, and its meta.
//   - Where an input of the replacement comes later than that, the copy stands
//     behind the input, and the users in between move behind the copy. torch.fx
//     makes a graph in a wrong order there. When such a move would change the order
//     of effects, or an input depends on a result, the match is reported as an
//     error of class [ir.ErrRuntime].
//   - Where something writes an input between the match and the first user, the
//     copy stands directly behind the match; a match in the middle of which an input
//     is written stays. torch.fx has the copy read other numbers than the match did.
//     Writes through a view are not seen.
//   - The results are replaced all at once, for the nodes outside of the copy. Where a
//     result is an input too, torch.fx has the copy read what takes its place.
//   - Attributes that the replacement's targets name and m lacks come from the
//     module that the replacement belongs to, under the same path: nested graph
//     modules as copies, other values shared. What m has already stays.
//   - With a graph module as replacement, m's submodules that nothing uses any
//     more are deleted, and m's graph is linted.
//
// Each match is replaced as a whole or not at all. On error the returned slice
// lists what was replaced before it.
func Replace(m *ir.GraphModule, pattern any, opts ...Option) ([]Replaced, error) {
	if m == nil {
		return nil, ir.Errorf(ir.ErrInput, "replace: expected a graph module, got nil")
	}
	c, err := configure("replace", opts)
	if err != nil {
		return nil, err
	}
	if c.matchOutput || c.overlapping {
		return nil, ir.Errorf(ir.ErrValue, "replace: expected matches that can be replaced one by one, got MatchOutput or Overlapping")
	}
	e := &edit{module: m, config: c, writers: writers{}}
	if e.pattern, err = graphOf("pattern", pattern); err != nil {
		return nil, err
	}
	if e.pattern == m.Graph() {
		return nil, ir.Errorf(ir.ErrValue, "replace: expected a pattern of its own, got the module's graph")
	}
	if e.common, err = e.replacement(); err != nil {
		return nil, err
	}
	matches, err := e.find()
	if err != nil {
		return nil, err
	}
	if len(matches) > 0 {
		for n := range m.Graph().Nodes() {
			e.writers.add(n)
		}
	}
	for i := range matches {
		if err := e.replace(&matches[i]); err != nil {
			return e.done, err
		}
	}
	if _, ok := c.replacement.(*ir.GraphModule); ok && c.callback == nil {
		m.DeleteUnusedSubmodules()
		if err := m.Graph().Lint(); err != nil {
			return e.done, err
		}
	}
	return e.done, nil
}

// An edit is a series of replacements in one module.
type edit struct {
	module  *ir.GraphModule
	config  *config
	pattern *ir.Graph
	common  *ir.Graph // the replacement, nil where a callback makes it
	writers writers
	moved   map[*ir.Node]move
	done    []Replaced
}

// A move is what stands for a node since a replacement took it away.
type move struct {
	to ir.Arg
	at int // number of the replacement
}

// replacement returns the checked replacement, nil where a callback makes it.
func (e *edit) replacement() (*ir.Graph, error) {
	if e.config.callback != nil {
		return nil, nil
	}
	if e.config.replacement == nil {
		return nil, ir.Errorf(ir.ErrAssertion, "replace: Must provide either a replacement GraphModule or a replacement callback")
	}
	g, err := graphOf("replacement", e.config.replacement)
	if err != nil {
		return nil, err
	}
	return g, e.check(g)
}

// check finds what would go wrong halfway through a replacement by g.
func (e *edit) check(g *ir.Graph) error {
	if g == e.module.Graph() {
		return ir.Errorf(ir.ErrValue, "replacement: expected a graph of its own, got the module's")
	}
	if _, err := g.OutputNode(); err != nil {
		return ir.Errorf(ir.ErrAssertion, "replacement: %w", err)
	}
	if err := g.Lint(); err != nil {
		return ir.Errorf(ir.ErrRuntime, "replacement: %w", err)
	}
	return nil
}

// find returns the matches that all filters accept.
func (e *edit) find() ([]Match, error) {
	matcher, err := newMatcher(e.pattern, e.config)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(matcher.pattern.results, computes) {
		return nil, ir.Errorf(ir.ErrAssertion, "replace: expected a pattern with a result that it computes, got none")
	}
	if e.common != nil {
		// before the first change, and without a match too
		if err := sameCounts(len(matcher.pattern.placeholders), len(matcher.pattern.results), e.common); err != nil {
			return nil, err
		}
	}
	g := e.module.Graph()
	matches, err := matcher.Match(g)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(matches, func(m Match) bool {
		return slices.ContainsFunc(e.config.filters, func(f Filter) bool {
			if f(&m, g, e.pattern) {
				return false
			}
			if e.config.explain != nil {
				e.config.explain(Reason{At: m.At(), Want: m.Anchor, Why: "a filter refused the match"})
			}
			return true
		})
	}), nil
}

// sameCounts compares what a pattern takes and returns with a replacement.
func sameCounts(inputs, results int, with *ir.Graph) error {
	if n := len(placeholders(with)); n != inputs {
		return ir.Errorf(ir.ErrAssertion, "replace: Placeholder count mismatch: %d vs %d", inputs, n)
	}
	if n := len(returned(with)); n != results {
		return ir.Errorf(ir.ErrAssertion, "replace: Returning nodes count mismatch: %d vs %d", results, n)
	}
	return nil
}

// returned lists what a replacement gives back: the items of a tuple or list,
// else the one value.
func returned(with *ir.Graph) []ir.Arg {
	a := with.Last().Arg(0)
	if s, ok := asSequence(a); ok {
		return items(s)
	}
	return []ir.Arg{a}
}

// replace replaces one match.
func (e *edit) replace(m *Match) error {
	for i, a := range m.Inputs {
		m.Inputs[i] = ir.MapNodes(a, e.now)
	}
	for i, p := range placeholders(e.pattern) {
		m.Nodes[p] = m.Inputs[i]
	}
	with := e.common
	if with == nil {
		var err error
		if with, err = e.config.callback(m, e.module.Graph(), e.pattern); err != nil {
			return err
		}
		if with == nil {
			return ir.Errorf(ir.ErrType, "replace at %s: expected a graph from the callback, got nil", m.At().Name())
		}
		if err := e.check(with); err != nil {
			return err
		}
		if err := sameCounts(len(m.Inputs), len(m.Result), with); err != nil {
			return err
		}
	}
	p, err := newPatch(e, m, with)
	if err != nil {
		return err
	}
	if x, n := p.overwritten(); x != nil {
		if e.config.explain != nil {
			e.config.explain(Reason{At: m.At(), Want: m.Anchor, Why: n.Name() + " writes the input " + x.Name() + " in the middle of the match"})
		}
		return nil
	}
	if err := takeAttributes(e.module, with); err != nil {
		return err
	}
	r, err := p.apply()
	if err != nil {
		return err
	}
	e.done = append(e.done, r)
	for _, n := range r.Made {
		e.writers.add(n)
	}
	if e.moved == nil {
		e.moved = map[*ir.Node]move{}
	}
	for i, old := range m.Result {
		if p.results[i] != ir.Arg(old) {
			e.moved[old] = move{p.results[i], len(e.done)}
		}
	}
	return nil
}

// now returns what stands for n after the replacements so far.
func (e *edit) now(n *ir.Node) ir.Arg {
	for at := 0; ; {
		m, ok := e.moved[n]
		if !ok || m.at <= at {
			return n
		}
		next, isNode := m.to.(*ir.Node)
		if !isNode {
			return m.to
		}
		n, at = next, m.at
	}
}
