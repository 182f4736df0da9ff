package rewriter

import (
	"github.com/torchfx-go/torchfx/ir"
)

// A Matcher finds a pattern in graphs. It may be used by many goroutines.
type Matcher struct {
	pattern *pattern
	config  *config
}

// NewMatcher prepares a pattern: a graph whose placeholders match anything, not to
// be changed while the matcher is in use. It fails for an empty pattern ([ir.ErrValue]), and for one with dead code or an
// unused placeholder ([ir.ErrAssertion]). The rules are those of
// torch.fx.passes.utils.matcher_utils.SubgraphMatcher:
//
//   - The search starts at anchors, the returned nodes that nothing else in the
//     pattern uses, and tries for each the nodes of the graph in program order.
//   - Nodes match that call the same target; a get_attr one that reads a tensor of
//     the same Go type, whatever its path and elements.
//   - Matching is injective: two nodes of the pattern, placeholders too, never
//     match one of the graph. A placeholder used twice must match the same twice.
//   - Arguments correspond by place, keywords by name in the same order; calls of
//     one overload that differ in that are completed from its schema.
//   - Literals match by type and value: 1, 1.0 and True differ, as do 0.0 and -0.0.
//     Lists and tuples match each other, item by item. A placeholder matches a
//     literal or a list too.
//   - A matched node that is not returned has no users outside of the match.
//   - No way leads out of the match and back in, so that it can be one step.
//   - Of matches that share a node which the pattern computes the first counts.
//
// Where torch.fx fails with a KeyError there is no match: an anchor that nothing
// in the graph could be, or a node of the pattern that met a literal under
// [IgnoreLiterals].
func NewMatcher(g *ir.Graph, opts ...Option) (*Matcher, error) {
	if g == nil {
		return nil, ir.Errorf(ir.ErrType, "pattern: expected a graph, got nil")
	}
	c, err := configure("pattern", opts)
	if err != nil {
		return nil, err
	}
	return newMatcher(g, c)
}

func newMatcher(g *ir.Graph, c *config) (*Matcher, error) {
	p, err := newPattern(g, c)
	if err != nil {
		return nil, err
	}
	return &Matcher{p, c}, nil
}

// Match returns the places in g where the pattern stands, in the order of the
// search: by the place of the first anchor, then of the second, and so on. It
// fails when a get_attr of pattern or graph cannot be compared ([ir.ErrAssertion],
// [ir.ErrRuntime]), and when the search does not end in time ([MaxSteps]).
func (m *Matcher) Match(g *ir.Graph) ([]Match, error) {
	s := m.search()
	if err := s.run(g); err != nil {
		return nil, err
	}
	return s.matches, nil
}

// search returns a search that has not begun.
func (m *Matcher) search() *search {
	s := &search{
		config: m.config, pattern: m.pattern, limit: m.config.maxSteps,
		found: map[*ir.Node]ir.Arg{}, taken: map[*ir.Node]*ir.Node{}, used: map[*ir.Node]bool{}, fit: map[pair]bool{},
	}
	if s.limit <= 0 {
		s.limit = defaultMaxSteps
	}
	return s
}
