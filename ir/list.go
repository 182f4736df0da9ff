package ir

import "iter"

// A link is a place in a graph's list. It stays behind when its node is erased
// or moved, and keeps pointing forward, so that a walk standing on it goes on.
type link struct {
	node       *Node // nil for the root, and once the node left
	next, prev *link
	order      uint64 // grows along the list, for comparing places
}

// orderGap is the distance between the labels of appended nodes: so many
// insertions at one place, halving the gap each time, need no relabelling.
const orderGap = 1 << 20

// insertAfter puts a new link for n behind l.
func (g *Graph) insertAfter(l *link, n *Node) {
	k := &link{node: n, next: l.next, prev: l}
	l.next.prev, l.next = k, k
	n.at = k
	g.length++
	g.version++
	if k.next == &g.root {
		k.order = l.order + orderGap
	} else if k.order = l.order + (k.next.order-l.order)/2; k.order == l.order {
		g.relabel()
	}
}

func (g *Graph) relabel() {
	order := uint64(0)
	for l := g.root.next; l != &g.root; l = l.next {
		order += orderGap
		l.order = order
	}
}

// unlink takes n out of the list.
func (g *Graph) unlink(n *Node) {
	l := n.at
	l.prev.next, l.next.prev = l.next, l.prev
	l.node = nil
	g.length--
	g.version++
}

// live follows forward pointers from a link that was left behind to the first
// place that is still in the list.
func (l *link) live(g *Graph) *link {
	for l != &g.root && l.node == nil {
		l = l.next
	}
	return l
}

func (l *link) nextNode() *Node { return l.next.node }
func (l *link) prevNode() *Node { return l.prev.node }

// Nodes walks the graph in execution order and tolerates changes meanwhile:
//   - a node inserted after the current one is visited, one inserted before is not;
//   - erasing the current or any later node is safe, erased nodes are skipped;
//   - when the current node is moved, the walk goes on from its old place.
func (g *Graph) Nodes() iter.Seq[*Node] {
	return func(yield func(*Node) bool) {
		for l := g.root.next; l != &g.root; l = l.next {
			if l.node != nil && !yield(l.node) {
				return
			}
		}
	}
}

// Backward walks the graph from its end, with the same promises as
// [Graph.Nodes] mirrored.
func (g *Graph) Backward() iter.Seq[*Node] {
	return func(yield func(*Node) bool) {
		for l := g.root.prev; l != &g.root; l = l.prev {
			if l.node != nil && !yield(l.node) {
				return
			}
		}
	}
}

// First returns the first node, nil in an empty graph.
func (g *Graph) First() *Node { return g.root.next.node }

// Last returns the last node, nil in an empty graph.
func (g *Graph) Last() *Node { return g.root.prev.node }

// Len returns the number of nodes.
func (g *Graph) Len() int { return g.length }
