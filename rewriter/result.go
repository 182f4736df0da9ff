package rewriter

import (
	"iter"

	"github.com/torchfx-go/torchfx/ir"
)

// A Match is one place where a pattern was found. It stands for
// torch.fx.subgraph_rewriter.Match and for the matcher's InternalMatch.
type Match struct {
	Anchor  *ir.Node            // node of the pattern where the search started: its first result that it uses nowhere else
	Nodes   map[*ir.Node]ir.Arg // node of the pattern to what it matched: a node; under a placeholder also a literal or list
	Inputs  []ir.Arg            // what the pattern's placeholders matched, in their order
	Result  []*ir.Node          // what the pattern's returned nodes matched, in their order, once each
	Names   map[string]*ir.Node // with NameNodes: what the named nodes matched
	pattern []*ir.Node          // the keys of Nodes in the order in which they were matched
}

// At returns the node that the pattern's anchor matched. [Replace] erases it.
func (m *Match) At() *ir.Node {
	n, _ := m.Nodes[m.Anchor].(*ir.Node)
	return n
}

// Pairs yields the nodes of the pattern with what they matched, in the order of
// the search: from the results up to what they read, first arguments first.
func (m *Match) Pairs() iter.Seq2[*ir.Node, ir.Arg] {
	return func(yield func(*ir.Node, ir.Arg) bool) {
		for _, p := range m.pattern {
			if !yield(p, m.Nodes[p]) {
				return
			}
		}
	}
}

// computed yields the nodes of the graph that the match stands for: not those
// under placeholders, which it reads.
func (m *Match) computed() iter.Seq[*ir.Node] {
	return func(yield func(*ir.Node) bool) {
		for _, p := range m.pattern {
			if n, ok := m.Nodes[p].(*ir.Node); ok && computes(p) && !yield(n) {
				return
			}
		}
	}
}

func computes(p *ir.Node) bool { return p.Op() != ir.Placeholder && p.Op() != ir.Output }

// A Replaced is a match that was replaced, with what that changed.
type Replaced struct {
	Match
	Made    []*ir.Node // nodes put in, in order; without those that stand for the inputs
	Removed []*ir.Node // nodes taken out, users first; name, target and meta are still there
}

// A Reason tells why a place is no match. It is made only when [Explain] asked
// for it.
type Reason struct {
	At   *ir.Node // node of the graph, nil where no node could be meant
	Want *ir.Node // node of the pattern
	Why  string   // "kwarg dim: expected 1, got -1"
}

// String returns "at add_1, against add: arg 1: expected 0, got 2".
func (r Reason) String() string {
	against := "against " + r.Want.Name() + ": " + r.Why
	if r.At == nil {
		return against
	}
	return "at " + r.At.Name() + ", " + against
}
