package rewriter

import "github.com/torchfx-go/torchfx/ir"

// An Option changes how patterns match and are replaced.
type Option func(*config)

type config struct {
	filters     []Filter
	callback    Callback
	replacement any

	matchOutput       bool
	matchPlaceholders bool
	overlapping       bool
	ignoreLiterals    bool
	nameMatch         string
	nameNodes         bool
	loose             bool
	commutative       bool
	maxSteps          int
	explain           func(Reason)
}

func configure(what string, opts []Option) (*config, error) {
	if err := ir.CheckOptions(what, opts); err != nil {
		return nil, err
	}
	c := &config{}
	for _, o := range opts {
		o(c)
	}
	return c, nil
}

// A Filter looks at a match before anything is replaced; false leaves it alone.
type Filter func(m *Match, graph, pattern *ir.Graph) bool

// A Callback makes the replacement graph for a match, right before the match is
// replaced. The match's inputs are up to date, whatever was replaced before.
type Callback func(m *Match, graph, pattern *ir.Graph) (*ir.Graph, error)

// With gives [Replace] the replacement: an *ir.Graph, an *ir.GraphModule, or a
// string of Python code as [ir.ParseCode] reads it.
func With(replacement any) Option { return func(c *config) { c.replacement = replacement } }

// WithFunc gives [Replace] a function that makes the replacement for each match.
// It goes before [With].
func WithFunc(f Callback) Option { return func(c *config) { c.callback = f } }

// FilterBy has [Replace] keep the matches that f accepts. Several filters must
// all accept. Filters see all matches before the first is replaced.
func FilterBy(f Filter) Option { return func(c *config) { c.filters = append(c.filters, f) } }

// MatchOutput makes the pattern's output node part of the pattern, so that it
// matches only what the graph returns. Not for [Replace].
func MatchOutput() Option { return func(c *config) { c.matchOutput = true } }

// MatchPlaceholders lets a placeholder of the pattern match only a placeholder,
// or a literal.
func MatchPlaceholders() Option { return func(c *config) { c.matchPlaceholders = true } }

// Overlapping keeps matches that share nodes with an earlier one. Not for
// [Replace].
func Overlapping() Option { return func(c *config) { c.overlapping = true } }

// IgnoreLiterals lets any literal of the pattern match any argument, a node too,
// and a placeholder that was matched already any literal.
func IgnoreLiterals() Option { return func(c *config) { c.ignoreLiterals = true } }

// NameMatch accepts a node whose name contains s, whatever it calls, for a
// returned node of the pattern; its arguments must match still.
func NameMatch(s string) Option { return func(c *config) { c.nameMatch = s } }

// NameNodes says that the pattern returns a dict behind its results, from names
// to nodes of the pattern; [Match.Names] has what these matched. Follows
// torch.fx's SubgraphMatcherWithNameNodeMap, but leaves the pattern as it is.
func NameNodes() Option { return func(c *config) { c.nameNodes = true } }

// LooseArguments compares calls by what their arguments mean:
//
//   - Arguments of torch's functions and of tensor methods go by the names in the
//     operator's schema, whether given by position or by keyword, and defaults are
//     filled in; torch.sum(x, 1) is torch.sum(x, dim=1, keepdim=False). For other
//     calls keywords may come in any order.
//   - A placeholder of the pattern with a default, as in "def forward(self, x,
//     eps=0.1)", stands for an argument that may be missing. It is matched by the
//     default then.
//   - A placeholder "*rest" at the end of a call's positional arguments, or of a
//     list, matches any number of arguments or items. In the replacement the
//     placeholder in its place is spliced into the list or call that it stands in.
func LooseArguments() Option { return func(c *config) { c.loose = true } }

// Commutative lets the two operands of an operator that commutes match in either
// order: of torch.add(x, y), x + y, x.add(y), aten.add.Tensor (with alpha 1), and
// of mul, eq, ne, maximum, minimum, the logical and bitwise ones, and the like.
// Each gives the same bits in both orders. Of the orders in which a pattern fits,
// the first counts that leads to a match, as written before swapped.
func Commutative() Option { return func(c *config) { c.commutative = true } }

// MaxSteps bounds a search to n comparisons of arguments, beyond which it fails.
// Default: 20 million, which takes seconds. Finding a pattern of one result takes
// as many steps as pattern and graph have nodes, multiplied, at most. Several
// results without a common input multiply the places where each could be. Operands
// that commute and are equal trees in the pattern are looked at in one order; only
// where trees of different shape share inputs can orders multiply.
func MaxSteps(n int) Option { return func(c *config) { c.maxSteps = n } }

const defaultMaxSteps = 20_000_000

// Explain has f told of each place where the pattern's first anchor could be and
// that is no match, in program order, and of results of the pattern that nothing
// in the graph could be. It costs time. A matcher used by several goroutines
// calls f from each.
func Explain(f func(Reason)) Option { return func(c *config) { c.explain = f } }
