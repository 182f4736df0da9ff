package rewriter

import (
	"slices"

	"github.com/torchfx-go/torchfx/ir"
)

// value compares a pair of arguments of which at most one is a node, and returns
// the goals that are left: lists and tuples item by item, anything else as a
// literal. A placeholder also takes a literal or a list, and must find the same
// again.
func (s *search) value(g *goal) (rest *goal, ok bool) {
	if p, isNode := g.want.(*ir.Node); isNode {
		return g.next, s.valueOf(p, g)
	}
	inner, open, equal := s.open(g.want, g.got)
	if !open {
		return g.next, equal || s.fail(g.pair, func() string { return g.expected(ir.Repr(g.want), g.got) })
	}
	rest = g.next
	for i := len(inner) - 1; i >= 0; i-- {
		rest = &goal{want: inner[i].want, got: inner[i].got, pair: g.pair, label: g.label, next: rest}
	}
	return rest, true
}

// valueOf matches a node of the pattern against an argument that is no node.
func (s *search) valueOf(p *ir.Node, g *goal) bool {
	if p.Op() != ir.Placeholder {
		return s.ignoreLiterals || s.fail(g.pair, func() string { return g.expected(kind(p), g.got) })
	}
	bound, ok := s.found[p]
	if !ok {
		s.bind(p, g.got)
		return true
	}
	return s.ignoreLiterals || ir.EqualArgs(bound, g.got) ||
		s.fail(g.pair, func() string { return g.expected(ir.Repr(bound)+", as before", g.got) })
}

type args struct{ want, got ir.Arg }

// open takes two containers apart into pairs of their items, in order. Where that
// is not to be done, equal says whether the two match as they are. Slices and
// dicts are literals to torch.fx, and here too unless the pattern has nodes in
// them.
func (s *search) open(want, got ir.Arg) (inner []args, open, equal bool) {
	ws, wok := asSequence(want)
	gs, gok := asSequence(got)
	if wok && gok {
		inner, open = s.openSequence(ws, gs)
		return inner, open, false
	}
	if s.ignoreLiterals || !hasNode(want) {
		return nil, false, s.ignoreLiterals || ir.EqualArgs(want, got)
	}
	switch want := want.(type) {
	case ir.Slice:
		if got, ok := got.(ir.Slice); ok {
			return []args{{want.Start, got.Start}, {want.Stop, got.Stop}, {want.Step, got.Step}}, true, false
		}
	case ir.Dict:
		got, ok := got.(ir.Dict)
		if !ok || got.Len() != want.Len() {
			return nil, false, false
		}
		for key, v := range want.All() {
			w, ok := got.Get(key)
			if !ok {
				return nil, false, false
			}
			inner = append(inner, args{v, w})
		}
		return inner, true, false
	}
	return nil, false, false
}

func (s *search) openSequence(want, got sequence) (inner []args, ok bool) {
	n := want.Len()
	rest := s.loose && n > 0 && isRest(want.At(n-1))
	if rest {
		n--
	}
	if got.Len() < n || got.Len() > n && !rest {
		return nil, false
	}
	for i := range n {
		inner = append(inner, args{want.At(i), got.At(i)})
	}
	if rest {
		inner = append(inner, args{want.At(n), ir.TupleOf(items(got)[n:]...)})
	}
	return inner, true
}

func hasNode(a ir.Arg) bool {
	found := false
	ir.Walk(a, func(leaf ir.Arg) {
		_, ok := leaf.(*ir.Node)
		found = found || ok
	})
	return found
}

// fits reports whether p could match n as far as the two and what they read
// show, each pair for itself: necessary for a match, and the same whatever else
// is matched, so that it is found out once for each pair of nodes.
func (s *search) fits(p, n *ir.Node) bool {
	if p.Op() == ir.Placeholder {
		return s.sameKind(p, n)
	}
	key := pair{p, n}
	if fit, ok := s.fit[key]; ok {
		return fit
	}
	if !s.step() {
		return false
	}
	fit := s.sameKind(p, n) && s.mayContain(p, n)
	if fit {
		l, why := s.lay(p, n)
		fit = why == "" && s.fitsAll(l.want, l.got)
		if !fit && why == "" && s.commutative && commutes(p) && commutes(n) {
			l.got = append([]ir.Arg{l.got[1], l.got[0]}, l.got[2:]...)
			fit = s.fitsAll(l.want, l.got)
		}
	}
	s.fit[key] = fit
	return fit
}

// mayContain reports whether the users of n, where p is an inner node, could all
// be inside of a match: [search.contained] as far as it shows beforehand. Each is
// matched by a node of the pattern then, and by a user of p unless it reads n in a
// list, which a placeholder may stand for.
func (s *search) mayContain(p, n *ir.Node) bool {
	if s.explain != nil || p.Op() == ir.Output || s.pattern.returned[p] {
		return true // a reason is to name the user outside
	}
	if n.NumUsers() > s.pattern.nodes {
		return false
	}
	if n.NumUsers() <= p.NumUsers() || s.loose || s.ignoreLiterals {
		return true // one of the pattern's literals or "*rest" may stand for n, too
	}
	direct := 0
	for u := range n.Users() {
		if u.Op() == ir.Output && !s.matchOutput {
			return false
		}
		if slices.Contains(u.Args(), ir.Arg(n)) || slices.ContainsFunc(u.Kwargs(), func(k ir.Keyword) bool { return k.Value == ir.Arg(n) }) {
			direct++
		}
	}
	return direct <= p.NumUsers()
}

func (s *search) fitsAll(want, got []ir.Arg) bool {
	for i := range want {
		if !s.fitsArg(want[i], got[i]) {
			return false
		}
	}
	return true
}

func (s *search) fitsArg(want, got ir.Arg) bool {
	p, pok := want.(*ir.Node)
	n, nok := got.(*ir.Node)
	switch {
	case pok && nok:
		return s.fits(p, n)
	case pok:
		return p.Op() == ir.Placeholder || s.ignoreLiterals
	}
	inner, open, equal := s.open(want, got)
	for _, a := range inner {
		if !s.fitsArg(a.want, a.got) {
			return false
		}
	}
	return open || equal
}
