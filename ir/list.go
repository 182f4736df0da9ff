package ir

import (
	"iter"
	"math"
)

// A link is a place in a graph's list. It stays behind when its node is erased
// or moved, and keeps pointing forward, so that a walk standing on it goes on.
type link struct {
	node       *Node // nil for the root, and once the node left
	next, prev *link
	order      uint64 // grows along the list, for comparing places
}

// orderGap is the distance between the labels of appended nodes.
const orderGap = 1 << 32

// insertAfter puts k, a new link for n, behind l.
func (g *Graph) insertAfter(l *link, n *Node, k *link) {
	*k = link{node: n, next: l.next, prev: l}
	l.next.prev, l.next = k, k
	n.at = k
	g.length++
	low, high := l.order, k.next.order
	if k.next == &g.root {
		high = math.MaxUint64
		if low < high-2*orderGap {
			high = low + 2*orderGap
		}
	}
	if k.order = low + (high-low)/2; k.order == low {
		g.relabel(k)
	}
}

// relabel makes room around k, whose neighbours have adjacent labels: it spreads
// the labels evenly over the smallest aligned range of them that is not too
// crowded, where a range of 2^i may hold (2/1.3)^i. An insertion costs
// O(log² n) so, amortised, wherever it happens (Bender et al., Two simplified
// algorithms for maintaining order in a list).
func (g *Graph) relabel(k *link) {
	first, last, count := k, k, uint64(1)
	room := 1.0
	for bits := 1; bits < 64; bits++ {
		room *= 2 / 1.3
		low := k.order >> bits << bits
		high := low + (1<<bits - 1)
		for first.prev != &g.root && first.prev.order >= low {
			first, count = first.prev, count+1
		}
		for last.next != &g.root && last.next.order <= high {
			last, count = last.next, count+1
		}
		if float64(count) > room {
			continue
		}
		step := (high - low) / (count + 1)
		if step == 0 {
			continue
		}
		for l := first; ; l = l.next {
			low += step
			l.order = low
			if l == last {
				return
			}
		}
	}
}

// unlink takes n out of the list.
func (g *Graph) unlink(n *Node) {
	l := n.at
	l.prev.next, l.next.prev = l.next, l.prev
	l.node = nil
	g.length--
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
