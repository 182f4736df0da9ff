package passes

import (
	"slices"

	"github.com/torchfx-go/torchfx/ir"
)

// An ordered set of nodes, in order of first addition.
type nodeSet struct {
	nodes []*ir.Node
	at    map[*ir.Node]int
}

func (s *nodeSet) has(n *ir.Node) bool { _, ok := s.at[n]; return ok }

func (s *nodeSet) add(n *ir.Node) {
	if s.has(n) {
		return
	}
	if s.at == nil {
		s.at = map[*ir.Node]int{}
	}
	s.at[n] = len(s.nodes)
	s.nodes = append(s.nodes, n)
}

// nodeNames lists the names of nodes.
func nodeNames(nodes []*ir.Node) []string {
	out := make([]string, len(nodes))
	for i, n := range nodes {
		out[i] = n.Name()
	}
	return out
}

// positions numbers the nodes of a graph.
func positions(g *ir.Graph) map[*ir.Node]int {
	at := make(map[*ir.Node]int, g.Len())
	for n := range g.Nodes() {
		at[n] = len(at)
	}
	return at
}

// nodesOf lists the nodes of a graph.
func nodesOf(g *ir.Graph) []*ir.Node { return slices.Collect(g.Nodes()) }
