package rewriter

import (
	"maps"
	"slices"

	"github.com/torchfx-go/torchfx/ir"
)

// accept keeps what is matched now, unless it could not be replaced.
func (s *search) accept() bool {
	if !s.complete() || !s.contained() || !s.convex() || s.err != nil {
		return false
	}
	m := Match{
		Anchor: s.pattern.anchors[0].node, Nodes: maps.Clone(s.found), pattern: slices.Clone(s.trail),
	}
	for _, p := range s.pattern.placeholders {
		m.Inputs = append(m.Inputs, s.found[p])
	}
	for _, p := range s.pattern.results {
		n, _ := s.found[p].(*ir.Node)
		m.Result = append(m.Result, n)
	}
	if s.nameNodes {
		m.Names = make(map[string]*ir.Node, len(s.pattern.names))
		for _, x := range s.pattern.names {
			m.Names[x.name], _ = s.found[x.node].(*ir.Node)
		}
	}
	if !s.overlapping {
		for n := range m.computed() {
			s.used[n] = true
		}
	}
	s.matches = append(s.matches, m)
	return true
}

// inside returns the pattern's node that n stands for, nil for a node outside of
// the match; nodes under placeholders are outside.
func (s *search) inside(n *ir.Node) *ir.Node {
	if p := s.taken[n]; p != nil && p.Op() != ir.Placeholder {
		return p
	}
	return nil
}

// complete reports whether every node of the pattern stands for one, which is in
// doubt only where literals passed for anything.
func (s *search) complete() bool {
	if len(s.trail) >= s.pattern.nodes {
		return true
	}
	at, _ := s.found[s.pattern.anchors[0].node].(*ir.Node)
	for p := range s.pattern.graph.Nodes() {
		if _, ok := s.found[p]; !ok {
			return s.fail(pair{p, at}, func() string { return "expected " + kind(p) + ", got literals alone" })
		}
	}
	return true
}

// contained reports whether every inner node of the match is used inside only.
func (s *search) contained() bool {
	for _, p := range s.trail {
		n, ok := s.found[p].(*ir.Node)
		if !ok || p.Op() == ir.Placeholder || s.pattern.returned[p] {
			continue
		}
		if s.explain == nil && n.NumUsers() > len(s.taken) {
			return false // without a look at all of them
		}
		for u := range n.Users() {
			s.step()
			if s.inside(u) == nil {
				return s.fail(pair{p, n}, func() string {
					return "expected no users outside of the match, got " + u.Name()
				})
			}
		}
	}
	return true
}

// convex reports whether no way leads out of the matched nodes and back in. Only
// nodes before the last of them can be on one.
func (s *search) convex() bool {
	var last *ir.Node
	for _, p := range s.trail {
		if n, ok := s.found[p].(*ir.Node); ok && computes(p) && (last == nil || last.Before(n)) {
			last = n
		}
	}
	within := func(n *ir.Node) bool { p := s.taken[n]; return p != nil && computes(p) }
	var seen map[*ir.Node]bool
	var queue []*ir.Node
	for _, p := range s.trail {
		start, ok := s.found[p].(*ir.Node)
		if !ok || !computes(p) {
			continue
		}
		for u := range start.Users() {
			s.step()
			if !within(u) && u.Before(last) && !seen[u] {
				if seen == nil {
					seen = map[*ir.Node]bool{}
				}
				seen[u] = true
				queue = append(queue, u)
			}
		}
	}
	for len(queue) > 0 {
		n := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		for u := range n.Users() {
			if !s.step() {
				return false
			}
			if p := s.taken[u]; within(u) {
				return s.fail(pair{p, u}, func() string {
					return "expected no way out of the match and back in, got one through " + n.Name()
				})
			}
			if !seen[u] && u.Before(last) {
				seen[u] = true
				queue = append(queue, u)
			}
		}
	}
	return true
}
