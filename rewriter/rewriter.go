package rewriter

import "github.com/torchfx-go/torchfx/ir"

// A Match is one place where a pattern was found. It stands for
// torch.fx.subgraph_rewriter.Match and for the matcher's InternalMatch.
type Match struct {
	Anchor *ir.Node            // what the first returned node of the pattern without other users matched
	Nodes  map[*ir.Node]ir.Arg // pattern node to what it matched: a node, or a literal or list under a placeholder
	Inputs []ir.Arg            // what the pattern's placeholders matched, in their order
	Result []*ir.Node          // what the pattern's returned nodes matched, in their order
}

// A Replaced is a match that was replaced, with what that changed.
type Replaced struct {
	Match
	Made    []*ir.Node // nodes put in, in order
	Removed []string   // names of the nodes taken out
}

// A Filter looks at a match before anything is replaced; false leaves it alone.
type Filter func(m *Match, graph, pattern *ir.Graph) bool

// A Callback makes the replacement graph for a match.
type Callback func(m *Match, graph, pattern *ir.Graph) (*ir.Graph, error)

// An Option changes how patterns match and are replaced.
type Option func(*config)

type config struct {
	filters        []Filter
	callback       Callback
	ignoreLiterals bool
	nameMatch      string
	replacement    any
}

// With gives the replacement, an *ir.Graph or *ir.GraphModule.
func With(replacement any) Option { return func(c *config) { c.replacement = replacement } }

// WithFunc gives a function that makes the replacement for each match.
func WithFunc(f Callback) Option { return func(c *config) { c.callback = f } }

// FilterBy keeps the matches that f accepts. Several filters must all accept.
func FilterBy(f Filter) Option { return func(c *config) { c.filters = append(c.filters, f) } }

// IgnoreLiterals lets any literal of the pattern match any argument.
func IgnoreLiterals() Option { return func(c *config) { c.ignoreLiterals = true } }

// NameMatch accepts a node as anchor whose name contains s.
func NameMatch(s string) Option { return func(c *config) { c.nameMatch = s } }
