package rewriter

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// A search is one run of a matcher over one graph: torch.fx's backtracking, made
// to end. Nodes of accepted matches are left out at once, an anchor that shares an
// input with earlier ones is looked for among the users of what that matched, and
// steps are counted.
type search struct {
	*config
	pattern    *pattern
	candidates [][]*ir.Node          // for each anchor, in program order
	found      map[*ir.Node]ir.Arg   // node of the pattern to what it matched so far
	taken      map[*ir.Node]*ir.Node // node of the graph to the pattern's that it stands for
	trail      []*ir.Node            // nodes of the pattern in the order they were matched, for undoing
	used       map[*ir.Node]bool     // computed by accepted matches, unless these may overlap
	fit        map[pair]bool         // memo of fits
	matches    []Match
	steps      int
	limit      int
	err        error
	report     report
}

type pair struct{ p, n *ir.Node }

// A goal is a pair of arguments still to be compared. Goals are a list that
// search branches share.
type goal struct {
	want, got ir.Arg
	pair             // the nodes whose argument this is
	label     string // which argument, where a reason is asked for
	anchor    bool   // got may be accepted by its name
	next      *goal
}

// run fills s.matches.
func (s *search) run(g *ir.Graph) error {
	if len(s.pattern.anchors) == 0 {
		s.tell(Reason{Want: s.pattern.graph.Last(), Why: "expected a pattern with a result that it computes, got none"})
		return nil
	}
	for _, a := range s.pattern.anchors {
		var list []*ir.Node
		for n := range g.Nodes() {
			if s.named(n) || s.sameKind(a.node, n) {
				list = append(list, n)
			}
		}
		if len(list) == 0 && s.err == nil {
			s.tellNone(g, a.node)
			return nil
		}
		s.candidates = append(s.candidates, list)
	}
	if s.err == nil {
		s.anchor(0)
	}
	return s.err
}

// anchor tries the candidates of anchor i and goes on to the next anchor. It
// reports whether a match was accepted.
func (s *search) anchor(i int) (accepted bool) {
	if i == len(s.pattern.anchors) {
		return s.accept()
	}
	a := s.pattern.anchors[i]
	mark := len(s.trail)
	for _, n := range s.near(i) {
		if i == 0 {
			s.report.start()
		}
		if i > 0 && s.pruned(a.node, n) {
			continue
		}
		hit := s.solve(&goal{want: a.node, got: n, pair: pair{a.node, n}, anchor: true}, i)
		s.undo(mark)
		if s.err != nil {
			return accepted
		}
		if i == 0 && !hit {
			s.tell(s.report.best)
		}
		accepted = accepted || hit
		if hit && s.overlaps(mark) {
			return true // what was matched before this anchor is used now
		}
	}
	return accepted
}

// near returns the nodes that anchor i could be.
func (s *search) near(i int) []*ir.Node {
	all := s.candidates[i]
	for len(all) > 0 && s.used[all[0]] {
		all = all[1:] // never again
	}
	s.candidates[i] = all
	path := s.pattern.anchors[i].path
	if path == nil || s.ignoreLiterals {
		return all
	}
	from, ok := s.found[path[0]].(*ir.Node)
	if !ok {
		return all
	}
	// Up from what is known. Where that branches out, the list is no longer.
	const wide = 64
	level := []*ir.Node{from}
	for j, p := range path[1:] {
		var above []*ir.Node
		for _, n := range level {
			if n.NumUsers() > wide {
				return all
			}
			for u := range n.Users() {
				s.step()
				if !slices.Contains(above, u) && (s.sameKind(p, u) || j == len(path)-2 && s.named(u)) {
					above = append(above, u)
				}
			}
		}
		if len(above) > wide {
			return all
		}
		if len(above) == 0 {
			s.fail(pair{p, from}, func() string { return "expected a user that is " + kind(p) + ", got none" })
		}
		level = above
	}
	slices.SortFunc(level, func(a, b *ir.Node) int {
		if a.Before(b) {
			return -1
		}
		return 1
	})
	return level
}

// pruned reports whether n can be left out without a closer look.
func (s *search) pruned(p, n *ir.Node) bool {
	if s.used[n] && computes(p) {
		return true
	}
	return s.explain == nil && !s.named(n) && !s.fits(p, n)
}

// solve works off goals, then goes on to the anchor after i. What it matched
// stays matched: the caller undoes it.
func (s *search) solve(g *goal, i int) bool {
	for g != nil {
		if !s.step() {
			return false
		}
		head := g
		g = g.next
		p, pok := head.want.(*ir.Node)
		n, nok := head.got.(*ir.Node)
		if !pok || !nok {
			var ok bool
			if g, ok = s.value(head); !ok {
				return false
			}
			continue
		}
		if bound, ok := s.found[p]; ok {
			if bound != ir.Arg(n) {
				return s.fail(head.pair, func() string { return head.expected(ir.Repr(bound)+", as before", n) })
			}
			continue
		}
		if !s.admits(head, p, n) {
			return false
		}
		s.bind(p, n)
		if p.Op() == ir.Placeholder {
			continue
		}
		l, why := s.lay(p, n)
		if why != "" {
			return s.fail(pair{p, n}, func() string { return why })
		}
		straight, swapped := s.orders(p, n, &l)
		if straight && swapped {
			mark := len(s.trail)
			if s.solve(s.push(pair{p, n}, &l, g), i) {
				return true
			}
			s.undo(mark)
			if s.err != nil {
				return false
			}
		}
		if swapped {
			l.got = slices.Clone(l.got)
			l.got[0], l.got[1] = l.got[1], l.got[0]
		}
		g = s.push(pair{p, n}, &l, g)
	}
	return s.anchor(i + 1)
}

// admits reports whether p may match n, apart from what they read.
func (s *search) admits(g *goal, p, n *ir.Node) bool {
	if other, ok := s.taken[n]; ok {
		return s.fail(g.pair, func() string {
			return g.expected("a node for "+p.Name()+" alone", n) + ", which stands for " + other.Name()
		})
	}
	if !(g.anchor && s.named(n)) && !s.sameKind(p, n) {
		return s.fail(g.pair, func() string { return g.expected(kind(p), n) + ", which is " + kind(n) })
	}
	if s.used[n] && computes(p) {
		return s.fail(g.pair, func() string { return n.Name() + " is part of an earlier match" })
	}
	return true
}

// push puts the arguments of a pair of nodes in front of the goals.
func (s *search) push(of pair, l *layout, next *goal) *goal {
	for i := len(l.want) - 1; i >= 0; i-- {
		g := &goal{want: l.want[i], got: l.got[i], pair: of, next: next}
		if s.explain != nil {
			g.label = l.label(i)
		}
		next = g
	}
	return next
}

// orders tells in which orders the operands of a call are worth a try: as they
// stand, swapped.
func (s *search) orders(p, n *ir.Node, l *layout) (straight, swapped bool) {
	if !s.commutative || !commutes(n) || !commutes(p) || ir.EqualArgs(n.Arg(0), n.Arg(1)) {
		return true, false
	}
	if s.pattern.twins[p] {
		return true, false
	}
	straight = s.fitsArg(l.want[0], l.got[0]) && s.fitsArg(l.want[1], l.got[1])
	swapped = s.fitsArg(l.want[0], l.got[1]) && s.fitsArg(l.want[1], l.got[0])
	return straight || !swapped, swapped
}

func (s *search) bind(p *ir.Node, a ir.Arg) {
	s.found[p] = a
	s.trail = append(s.trail, p)
	if n, ok := a.(*ir.Node); ok {
		s.taken[n] = p
	}
}

func (s *search) undo(mark int) {
	for _, p := range s.trail[mark:] {
		if n, ok := s.found[p].(*ir.Node); ok {
			delete(s.taken, n)
		}
		delete(s.found, p)
	}
	s.trail = s.trail[:mark]
}

// overlaps reports whether a node of the trail below mark is used up.
func (s *search) overlaps(mark int) bool {
	for _, p := range s.trail[:mark] {
		if n, ok := s.found[p].(*ir.Node); ok && computes(p) && s.used[n] {
			return true
		}
	}
	return false
}

// step counts, and reports whether the search may go on.
func (s *search) step() bool {
	if s.steps++; s.steps > s.limit && s.err == nil {
		s.err = ir.Errorf(ir.ErrRuntime, "match: expected an end within %d comparisons, got none: the pattern has %s "+
			"that could be in too many places; see MaxSteps", s.limit, plural(len(s.pattern.anchors), "result"))
	}
	return s.err == nil
}

func plural(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// named reports whether [NameMatch] accepts n as an anchor.
func (s *search) named(n *ir.Node) bool {
	return s.nameMatch != "" && strings.Contains(n.Name(), s.nameMatch)
}

// sameKind compares two nodes without what they read.
func (s *search) sameKind(p, n *ir.Node) bool {
	switch {
	case p.Op() == ir.Placeholder && !s.matchPlaceholders:
		return true
	case p.Op() != n.Op():
		return false
	case p.Op() == ir.Placeholder || p.Op() == ir.Output:
		return true
	case p.Op() == ir.GetAttr:
		return s.sameAttr(p, n)
	}
	return p.Target() == n.Target()
}

// sameAttr compares what two get_attr nodes read by type, as torch.fx does: any
// tensor is as good as another.
func (s *search) sameAttr(p, n *ir.Node) bool {
	var v [2]any
	for i, m := range []*ir.Node{p, n} {
		owner := m.Graph().Owner()
		if owner == nil {
			s.setErr(ir.Errorf(ir.ErrAssertion, "match: expected %s to belong to a module that has the attribute %s, got a graph by itself",
				m.Name(), m.Target()))
			return false
		}
		v[i], _ = owner.Attr(m.Target().String())
	}
	if reflect.TypeOf(v[0]) != reflect.TypeOf(v[1]) {
		return false
	}
	switch v[0].(type) {
	case ir.TensorLike, interface{ DType() ir.DType }:
		return true
	}
	s.setErr(ir.Errorf(ir.ErrRuntime, "match: Unsupported type %T when matching attributes", v[0]))
	return false
}

func (s *search) setErr(err error) {
	if s.err == nil {
		s.err = err
	}
}
