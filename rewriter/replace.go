package rewriter

import (
	"slices"

	"github.com/torchfx-go/torchfx/ir"
)

// ReplacePattern replaces every match of pattern in m by replacement and
// returns the matches in program order. Pattern and replacement are each an
// *ir.Graph or an *ir.GraphModule; their placeholders correspond by position,
// and so do the values that they return. Follows torch.fx.replace_pattern.
//
// Attributes that the replacement's targets name and m lacks are taken over
// from the replacement, when that is a graph module.
func ReplacePattern(m *ir.GraphModule, pattern, replacement any) ([]Match, error) {
	replaced, err := Replace(m, pattern, With(replacement))
	matches := make([]Match, len(replaced))
	for i, r := range replaced {
		matches[i] = r.Match
	}
	return matches, err
}

// Replace is [ReplacePattern] with options: filters, a replacement made for
// each match, looser literals. Follows torch.fx.subgraph_rewriter's
// replace_pattern_with_filters. On error m may hold the replacements made
// before it; the returned slice lists those.
func Replace(m *ir.GraphModule, pattern any, opts ...Option) ([]Replaced, error) {
	var c config
	for _, o := range opts {
		o(&c)
	}
	if c.replacement == nil && c.callback == nil {
		return nil, ir.Errorf(ir.ErrAssertion, "replace: Must provide either a replacement GraphModule or a replacement callback")
	}
	pg, _, err := graphOf("pattern", pattern)
	if err != nil {
		return nil, err
	}
	var rg *ir.Graph
	var source *ir.GraphModule
	if c.callback == nil {
		if rg, source, err = graphOf("replacement", c.replacement); err != nil {
			return nil, err
		}
	}
	matcher, err := NewMatcher(pg, opts...)
	if err != nil {
		return nil, err
	}
	g := m.Graph()
	matches, err := matcher.Match(g)
	if err != nil {
		return nil, err
	}
	matches = slices.DeleteFunc(matches, func(match Match) bool {
		return slices.ContainsFunc(c.filters, func(f Filter) bool { return !f(&match, g, pg) })
	})
	var done []Replaced
	e := edit{module: m, pattern: matcher.pattern, moved: map[*ir.Node]ir.Arg{}}
	for _, match := range matches {
		with := rg
		if c.callback != nil {
			if with, err = c.callback(&match, g, pg); err != nil {
				return done, err
			}
		}
		r, err := e.apply(match, with)
		if err != nil {
			return done, err
		}
		done = append(done, r)
	}
	if source != nil && len(done) > 0 {
		takeAttributes(m, source)
	}
	return done, nil
}

// graphOf reads one of the forms that a pattern may have.
func graphOf(what string, v any) (*ir.Graph, *ir.GraphModule, error) {
	switch v := v.(type) {
	case *ir.Graph:
		return v, nil, nil
	case *ir.GraphModule:
		return v.Graph(), v, nil
	}
	return nil, nil, ir.Errorf(ir.ErrType, "replace: expected a *ir.Graph or *ir.GraphModule as %s, got %T", what, v)
}

// takeAttributes copies what the replacement names and m lacks.
func takeAttributes(m, source *ir.GraphModule) {
	for n := range source.Graph().Nodes() {
		if n.Op() != ir.GetAttr && n.Op() != ir.CallModule {
			continue
		}
		path := n.Target().String()
		if _, has := m.Attr(path); has {
			continue
		}
		if v, ok := source.Attr(path); ok {
			m.SetAttr(path, v)
		}
	}
}

// edit is a series of replacements in one module.
type edit struct {
	module  *ir.GraphModule
	pattern *pattern
	moved   map[*ir.Node]ir.Arg // nodes that earlier replacements took out, and what stands for them now
}

// apply replaces one match by a copy of the graph with.
func (e *edit) apply(match Match, with *ir.Graph) (Replaced, error) {
	g := e.module.Graph()
	var placeholders []*ir.Node
	for n := range with.Nodes() {
		if n.Op() == ir.Placeholder {
			placeholders = append(placeholders, n)
		}
	}
	if len(match.Inputs) != len(placeholders) {
		return Replaced{}, ir.Errorf(ir.ErrAssertion, "replace: Placeholder count mismatch: pattern has %d, replacement %d", len(match.Inputs), len(placeholders))
	}
	out, err := with.OutputNode()
	if err != nil {
		return Replaced{}, err
	}
	if n := len(results(out)); n != len(match.Result) {
		return Replaced{}, ir.Errorf(ir.ErrAssertion, "replace: Returning nodes count mismatch: pattern returns %d, replacement %d", len(match.Result), n)
	}
	copied := map[*ir.Node]ir.Arg{}
	for i, p := range placeholders {
		match.Inputs[i] = ir.MapNodes(match.Inputs[i], e.now)
		copied[p] = match.Inputs[i]
	}
	at, err := insertPoint(match)
	if err != nil {
		return Replaced{}, err
	}
	restore, err := g.InsertBefore(at)
	if err != nil {
		return Replaced{}, err
	}
	r := Replaced{Match: match}
	lookup := func(m *ir.Node) ir.Arg { return copied[m] }
	for n := range with.Nodes() {
		if n.Op() == ir.Placeholder || n.Op() == ir.Output {
			continue
		}
		made, err := g.CopyNode(n, lookup)
		if err != nil {
			restore()
			return Replaced{}, err
		}
		copied[n] = made
		r.Made = append(r.Made, made)
	}
	restore()
	for i, a := range results(out) {
		old := match.Result[i]
		now := ir.MapNodes(a, lookup)
		if n, ok := now.(*ir.Node); ok {
			old.ReplaceAllUsesWith(n)
		} else {
			replaceWithLiteral(old, now)
		}
		e.moved[old] = now
	}
	r.Removed, err = e.remove(match)
	return r, err
}

// now returns what stands for n after earlier replacements.
func (e *edit) now(n *ir.Node) ir.Arg {
	for {
		a, ok := e.moved[n]
		if !ok {
			return n
		}
		m, isNode := a.(*ir.Node)
		if !isNode || m == n {
			return a
		}
		n = m
	}
}

// insertPoint is the first user of a returned value, or the place behind the
// last returned one.
func insertPoint(match Match) (*ir.Node, error) {
	var first *ir.Node
	for _, n := range match.Result {
		for u := range n.Users() {
			if (first == nil || u.Before(first)) && !matched(match, u) {
				first = u
			}
		}
	}
	if first != nil {
		return first, nil
	}
	last := match.Result[0]
	for _, n := range match.Result {
		if last.Before(n) {
			last = n
		}
	}
	if last.Next() == nil {
		return nil, ir.Errorf(ir.ErrAssertion, "replace: nothing stands behind %s where the replacement could go", last.Name())
	}
	return last.Next(), nil
}

func matched(match Match, n *ir.Node) bool {
	for p, a := range match.Nodes {
		if a == ir.Arg(n) && computes(p) {
			return true
		}
	}
	return false
}

func replaceWithLiteral(old *ir.Node, literal ir.Arg) {
	swap := func(m *ir.Node) ir.Arg {
		if m == old {
			return literal
		}
		return m
	}
	for u := range old.Users() {
		args, kwargs := slices.Clone(u.Args()), slices.Clone(u.Kwargs())
		for i := range args {
			args[i] = ir.MapNodes(args[i], swap)
		}
		for i := range kwargs {
			kwargs[i].Value = ir.MapNodes(kwargs[i].Value, swap)
		}
		u.SetOperands(args, kwargs)
	}
}

// remove erases the matched nodes, users before what they read.
func (e *edit) remove(match Match) (names []string, err error) {
	kept := map[*ir.Node]bool{}
	for _, a := range match.Inputs {
		if n, ok := a.(*ir.Node); ok {
			kept[n] = true
		}
	}
	for p := range e.pattern.graph.Backward() {
		n, ok := match.Nodes[p].(*ir.Node)
		if !ok || !computes(p) || kept[n] {
			continue
		}
		if err := e.module.Graph().Erase(n); err != nil {
			return names, err
		}
		names = append(names, n.Name())
	}
	return names, nil
}
