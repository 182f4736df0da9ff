package rewriter

import "github.com/torchfx-go/torchfx/ir"

// A Match is one place where a pattern was found. Source of the shape:
// torch.fx.subgraph_rewriter.Match.
type Match struct {
	Anchor *ir.Node            // node of the graph that the pattern's first returned node matched
	Nodes  map[*ir.Node]ir.Arg // pattern node to what it matched: a node, or a literal under a placeholder
	Names  map[string]*ir.Node // names that a pattern with a name map gave, else nil
	Inputs []ir.Arg            // what the pattern's placeholders matched, in their order
	Result []*ir.Node          // what the pattern's returned nodes matched, in their order
}

// A Replaced is a match that was replaced, with what that changed.
type Replaced struct {
	Match
	Made    []*ir.Node // nodes put in, in order
	Removed []string   // names of the nodes taken out
}

// An Option changes how patterns match and are replaced.
type Option func(*config)

type config struct {
	filters        []Filter
	callback       Callback
	ignoreLiterals bool
	nameMatch      string
	replacement    any
}

// A Filter looks at a match before it is replaced; false leaves it alone.
type Filter func(m *Match, graph, pattern *ir.Graph) bool

// A Callback makes the replacement graph for a match.
type Callback func(m *Match, graph, pattern *ir.Graph) (*ir.Graph, error)

// With gives the replacement: an *ir.Graph, *ir.GraphModule or code text.
func With(replacement any) Option { return func(c *config) { c.replacement = replacement } }

// WithFunc gives a function that makes the replacement for each match.
func WithFunc(f Callback) Option { return func(c *config) { c.callback = f } }

// FilterBy keeps the matches that f accepts.
func FilterBy(f Filter) Option { return func(c *config) { c.filters = append(c.filters, f) } }

// IgnoreLiterals lets any literal of the pattern match any literal or node.
func IgnoreLiterals() Option { return func(c *config) { c.ignoreLiterals = true } }

// NameMatch accepts a node as anchor whose name contains s.
func NameMatch(s string) Option { return func(c *config) { c.nameMatch = s } }

// ReplacePattern replaces every match of pattern in m by replacement, both an
// *ir.Graph, *ir.GraphModule or code text, and returns the matches in program
// order. Follows torch.fx.replace_pattern.
func ReplacePattern(m *ir.GraphModule, pattern, replacement any) ([]Match, error) {
	replaced, err := Replace(m, pattern, With(replacement))
	matches := make([]Match, len(replaced))
	for i, r := range replaced {
		matches[i] = r.Match
	}
	return matches, err
}

// Replace is [ReplacePattern] with options: filters, a replacement made for each
// match, looser literals. Follows torch.fx.subgraph_rewriter's
// replace_pattern_with_filters.
func Replace(m *ir.GraphModule, pattern any, opts ...Option) ([]Replaced, error) {
	var c config
	for _, o := range opts {
		o(&c)
	}
	if c.replacement == nil && c.callback == nil {
		return nil, ir.Errorf(ir.ErrAssertion, "replace: Must provide either a replacement GraphModule or a replacement callback")
	}
	return nil, notBuilt("replace")
}

// A Matcher finds a pattern in graphs. It may be used by many goroutines.
type Matcher struct{ pattern *ir.Graph }

// NewMatcher prepares a pattern. It fails for an empty pattern and for one with
// dead code.
func NewMatcher(pattern *ir.Graph, opts ...Option) (*Matcher, error) {
	if pattern.Len() == 0 {
		return nil, ir.Errorf(ir.ErrValue, "new matcher: SubgraphMatcher cannot be initialized with an empty pattern")
	}
	return &Matcher{pattern}, nil
}

// Match returns the places in g where the pattern stands, in program order of
// their anchors, without overlaps.
func (m *Matcher) Match(g *ir.Graph) ([]Match, error) { return nil, notBuilt("match") }

func notBuilt(what string) error {
	return ir.Errorf(ir.ErrUnsupported, "rewriter: %s is not built yet", what)
}
