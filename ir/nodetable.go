package ir

// A nodeTable holds a value for each node of a graph, in a slice by the nodes'
// numbers: a tenth of what a map costs. The graph must not get new nodes
// meanwhile. Nodes of other graphs, which a faulty graph may mention, have their
// values in a map.
type nodeTable[T any] struct {
	graph *Graph
	own   []T
	other map[*Node]T
}

func newNodeTable[T any](g *Graph) *nodeTable[T] {
	return &nodeTable[T]{graph: g, own: make([]T, g.numbers)}
}

// get returns the value of n, the zero value where none was set.
func (t *nodeTable[T]) get(n *Node) T {
	if n.graph == t.graph {
		return t.own[n.number]
	}
	return t.other[n]
}

func (t *nodeTable[T]) set(n *Node, v T) {
	if n.graph == t.graph {
		t.own[n.number] = v
		return
	}
	if t.other == nil {
		t.other = map[*Node]T{}
	}
	t.other[n] = v
}

// number gives n, which is new in g, its place in tables. Numbers are not used
// again, so when most belong to nodes that are gone, all are dealt out anew.
func (g *Graph) number(n *Node) {
	if g.numbers > 2*g.length+1024 {
		g.numbers = 0
		for m := range g.Nodes() {
			m.number = g.numbers
			g.numbers++
		}
	}
	n.number = g.numbers
	g.numbers++
}
