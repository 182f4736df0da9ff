package rewriter

import (
	"reflect"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// maxSteps bounds the pairs of nodes that one search compares. A pattern with
// several anchors is a product of candidates; a hostile one must end.
const maxSteps = 20_000_000

// A Matcher finds a pattern in graphs. It may be used by many goroutines.
type Matcher struct {
	pattern *pattern
	config  config
}

// NewMatcher prepares a pattern: a graph whose placeholders match anything. It
// fails for an empty pattern, one without an output, and one with dead code.
// Semantics follow torch.fx.passes.utils.matcher_utils.SubgraphMatcher:
//
//   - matching starts at the returned nodes that nothing else in the pattern uses;
//   - it is injective: two nodes of the pattern never match one of the graph;
//   - literals match by type and value, unless [IgnoreLiterals];
//   - a matched node that is not returned has no users outside the match;
//   - a match leaves no way out of it and back in, so that it can be replaced;
//   - of overlapping matches the first in program order counts.
func NewMatcher(g *ir.Graph, opts ...Option) (*Matcher, error) {
	p, err := newPattern(g)
	if err != nil {
		return nil, err
	}
	m := &Matcher{pattern: p}
	for _, o := range opts {
		o(&m.config)
	}
	return m, nil
}

// Match returns the places in g where the pattern stands, in program order of
// their anchors, without overlaps. It fails when the search gets out of hand.
func (m *Matcher) Match(g *ir.Graph) ([]Match, error) {
	s := &search{config: &m.config, pattern: m.pattern, found: map[*ir.Node]ir.Arg{}, taken: map[*ir.Node]bool{}}
	for _, anchor := range m.pattern.anchors {
		var candidates []*ir.Node
		for n := range g.Nodes() {
			if s.named(n) || s.sameKind(anchor, n) {
				candidates = append(candidates, n)
			}
		}
		if len(candidates) == 0 {
			return nil, nil
		}
		s.candidates = append(s.candidates, candidates)
	}
	if len(s.candidates) == 0 {
		return nil, nil
	}
	s.extend(0)
	if s.steps > maxSteps {
		return nil, ir.Errorf(ir.ErrRuntime, "match: gave up after comparing %d pairs of nodes; the pattern has %d anchors with too many candidates",
			s.steps, len(m.pattern.anchors))
	}
	return withoutOverlaps(s.matches), nil
}

// A search is one run of a matcher over one graph.
type search struct {
	config     *config
	pattern    *pattern
	candidates [][]*ir.Node        // for each anchor
	found      map[*ir.Node]ir.Arg // pattern node to what it matched so far
	taken      map[*ir.Node]bool   // graph nodes matched so far
	trail      []*ir.Node          // pattern nodes in the order they were bound, for undoing
	matches    []Match
	steps      int
}

// extend tries the candidates of anchor i and goes on to the next anchor.
func (s *search) extend(i int) {
	if i == len(s.candidates) {
		if s.contained() && s.convex() {
			s.matches = append(s.matches, s.match())
		}
		return
	}
	for _, n := range s.candidates[i] {
		mark := len(s.trail)
		if s.pair(s.pattern.anchors[i], n, s.named(n)) {
			s.extend(i + 1)
		}
		s.undo(mark)
		if s.steps > maxSteps {
			return
		}
	}
}

func (s *search) bind(p *ir.Node, a ir.Arg) {
	s.found[p] = a
	s.trail = append(s.trail, p)
	if n, ok := a.(*ir.Node); ok {
		s.taken[n] = true
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

// node matches a node of the pattern against one of the graph, with everything
// that the two read.
func (s *search) node(p, n *ir.Node) bool { return s.pair(p, n, false) }

// pair is node, where equal says that the two count as the same kind anyway.
func (s *search) pair(p, n *ir.Node, equal bool) bool {
	if s.steps++; s.steps > maxSteps {
		return false
	}
	if bound, ok := s.found[p]; ok {
		return bound == ir.Arg(n)
	}
	if s.taken[n] || !equal && !s.sameKind(p, n) {
		return false
	}
	s.bind(p, n)
	if p.Op() == ir.Placeholder {
		return true
	}
	pa, na, ok := s.operands(p, n)
	if !ok {
		return false
	}
	for i := range pa {
		if !s.arg(pa[i], na[i]) {
			return false
		}
	}
	return true
}

// operands lays the arguments of two nodes side by side. Calls of one overload
// that give them differently are completed from its schema.
func (s *search) operands(p, n *ir.Node) (pa, na []ir.Arg, ok bool) {
	if len(p.Args()) == len(n.Args()) && sameKeys(p.Kwargs(), n.Kwargs()) {
		return flat(p), flat(n), true
	}
	f := p.Func()
	if f == nil || f.Kind() != ir.Overload {
		return nil, nil, false
	}
	schema := ir.Operators().Lookup(f.Op())
	if schema == nil {
		return nil, nil, false
	}
	return completed(p, schema), completed(n, schema), true
}

func sameKeys(a, b []ir.Keyword) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Name != b[i].Name {
			return false
		}
	}
	return true
}

func flat(n *ir.Node) []ir.Arg {
	all := append([]ir.Arg(nil), n.Args()...)
	for _, k := range n.Kwargs() {
		all = append(all, k.Value)
	}
	return all
}

// completed returns one value per argument of the schema: what n gives, else
// the default.
func completed(n *ir.Node, schema *ir.Schema) []ir.Arg {
	all := make([]ir.Arg, len(schema.Args))
	for i, param := range schema.Args {
		switch v, given := n.Kwarg(param.Name); {
		case given:
			all[i] = v
		case !param.KeywordOnly && i < len(n.Args()):
			all[i] = n.Arg(i)
		case param.Default != nil:
			all[i] = param.Default
		default:
			all[i] = ir.None{}
		}
	}
	return all
}

// arg matches an argument of the pattern: nodes by structure, lists and tuples
// item by item, anything else as a literal. A placeholder also takes a literal
// or a list, and must find the same again.
func (s *search) arg(p, a ir.Arg) bool {
	if pn, ok := p.(*ir.Node); ok {
		if an, ok := a.(*ir.Node); ok {
			return s.node(pn, an)
		}
		if pn.Op() != ir.Placeholder {
			return s.config.ignoreLiterals && isLiteral(a)
		}
		if bound, ok := s.found[pn]; ok {
			return ir.EqualArgs(bound, a)
		}
		s.bind(pn, a)
		return true
	}
	if ps, ok := p.(sequence); ok {
		as, ok := a.(sequence)
		if !ok || ps.Len() != as.Len() {
			return false
		}
		for i := range ps.Len() {
			if !s.arg(ps.At(i), as.At(i)) {
				return false
			}
		}
		return true
	}
	return ir.EqualArgs(p, a) || s.config.ignoreLiterals && isLiteral(p)
}

func isLiteral(a ir.Arg) bool {
	switch a.(type) {
	case *ir.Node, ir.List, ir.Tuple:
		return false
	}
	return true
}

// named reports whether [NameMatch] accepts n as an anchor.
func (s *search) named(n *ir.Node) bool {
	return s.config.nameMatch != "" && strings.Contains(n.Name(), s.config.nameMatch)
}

// sameKind compares two nodes without what they read.
func (s *search) sameKind(p, n *ir.Node) bool {
	if p.Op() == ir.Placeholder {
		return true
	}
	if p.Op() != n.Op() {
		return false
	}
	if p.Op() == ir.GetAttr {
		return reflect.TypeOf(attr(p)) == reflect.TypeOf(attr(n))
	}
	return p.Target() == n.Target()
}

// attr returns the value that a get_attr node reads, nil where its graph has no
// owner; torch.fx compares such nodes by the type of the value.
func attr(n *ir.Node) any {
	owner := n.Graph().Owner()
	if owner == nil {
		return nil
	}
	v, _ := owner.Attr(n.Target().String())
	return v
}

// contained reports whether every inner node of the match is used inside only.
func (s *search) contained() bool {
	for p, a := range s.found {
		n, ok := a.(*ir.Node)
		if !ok || p.Op() == ir.Placeholder || s.returned(p) {
			continue
		}
		for u := range n.Users() {
			if !s.taken[u] {
				return false
			}
		}
	}
	return true
}

func (s *search) returned(p *ir.Node) bool {
	for _, r := range s.pattern.returning {
		if r == p {
			return true
		}
	}
	return false
}

// convex reports whether no way leads out of the matched nodes and back in. Only
// nodes between the first and the last of them can be on one.
func (s *search) convex() bool {
	matched := map[*ir.Node]bool{}
	var first, last *ir.Node
	for p, a := range s.found {
		n, ok := a.(*ir.Node)
		if !ok || p.Op() == ir.Placeholder {
			continue
		}
		matched[n] = true
		if first == nil || n.Before(first) {
			first = n
		}
		if last == nil || last.Before(n) {
			last = n
		}
	}
	outside := map[*ir.Node]bool{} // not matched, but fed by a matched node
	for n := first; n != nil; n = n.Next() {
		fedFromOutside := false
		n.Operands(func(m *ir.Node) {
			if outside[m] {
				fedFromOutside = true
			}
			if !matched[n] && (matched[m] || outside[m]) {
				outside[n] = true
			}
		})
		if matched[n] && fedFromOutside {
			return false
		}
		if n == last {
			return true
		}
	}
	return true
}

// match makes a Match of what is bound now.
func (s *search) match() Match {
	m := Match{Nodes: make(map[*ir.Node]ir.Arg, len(s.found))}
	for p, a := range s.found {
		m.Nodes[p] = a
	}
	for _, p := range s.pattern.placeholders {
		m.Inputs = append(m.Inputs, s.found[p])
	}
	for _, p := range s.pattern.returning {
		n, _ := s.found[p].(*ir.Node)
		m.Result = append(m.Result, n)
	}
	m.Anchor = s.found[s.pattern.anchors[0]].(*ir.Node)
	return m
}

// withoutOverlaps keeps the first of matches that share a node which the
// pattern computes.
func withoutOverlaps(matches []Match) []Match {
	used := map[*ir.Node]bool{}
	var kept []Match
	for _, m := range matches {
		overlap := false
		for p, a := range m.Nodes {
			if n, ok := a.(*ir.Node); ok && computes(p) && used[n] {
				overlap = true
			}
		}
		if overlap {
			continue
		}
		for p, a := range m.Nodes {
			if n, ok := a.(*ir.Node); ok && computes(p) {
				used[n] = true
			}
		}
		kept = append(kept, m)
	}
	return kept
}

func computes(p *ir.Node) bool { return p.Op() != ir.Placeholder && p.Op() != ir.Output }
