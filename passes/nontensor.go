package passes

import (
	"slices"

	"github.com/torchfx-go/torchfx/ir"
)

// MoveNonTensorNodes moves calls that yield something else than tensors from parts
// of the accelerator into the part that reads them, with what lies between, where
// that is one other part alone; so that only tensors leave the accelerator. Needs
// what [ShapeProp] notes. Follows
// torch.fx.passes.split_utils.move_non_tensor_nodes_on_boundary.
func MoveNonTensorNodes(parts []SubgraphPart) {
	m := &boundary{parts: parts, at: map[*ir.Node]int{}}
	for i, p := range parts {
		for _, n := range p.Nodes {
			m.at[n] = i
		}
	}
	for i, p := range parts {
		if !p.Accelerator {
			continue
		}
		var queue []*ir.Node
		for _, n := range p.Nodes {
			if !OutputsTensor(n) && m.leaves(n, i) {
				queue = append(queue, n)
			}
		}
		seen := nodeMarks{}
		for len(queue) > 0 {
			n := queue[0]
			queue = queue[1:]
			if seen[n] || m.at[n] != i {
				continue
			}
			seen[n] = true
			if !m.push(n, i) {
				continue
			}
			for _, in := range n.Inputs() {
				if at, ok := m.at[in]; ok && at == i && isCall(in) && !OutputsTensor(in) {
					queue = append(queue, in)
				}
			}
		}
	}
}

type boundary struct {
	parts []SubgraphPart
	at    map[*ir.Node]int
}

// readers yields the calls that read n and are in some part.
func (m *boundary) readers(n *ir.Node) []*ir.Node {
	var out []*ir.Node
	for u := range n.Users() {
		if _, ok := m.at[u]; ok && isCall(u) {
			out = append(out, u)
		}
	}
	return out
}

// leaves reports whether something outside part i reads n.
func (m *boundary) leaves(n *ir.Node, i int) bool {
	return slices.ContainsFunc(m.readers(n), func(u *ir.Node) bool { return m.at[u] != i })
}

// push moves n and what depends on it out of part i, and reports whether it could.
func (m *boundary) push(n *ir.Node, i int) bool {
	to := -1
	for _, u := range m.readers(n) {
		switch at := m.at[u]; {
		case at == i || at == to:
		case to >= 0:
			return false // several parts read it
		default:
			to = at
		}
	}
	moved, stack := nodeSet{}, []*ir.Node{n}
	seen := nodeMarks{}
	for len(stack) > 0 {
		n := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if seen[n] || m.at[n] == to {
			continue
		}
		if seen[n] = true; m.at[n] != i {
			return false
		}
		moved.add(n)
		stack = append(stack, m.readers(n)...)
	}
	if to < 0 {
		return false
	}
	for _, n := range moved.nodes {
		from := &m.parts[i]
		from.Nodes = slices.DeleteFunc(from.Nodes, func(x *ir.Node) bool { return x == n })
		m.parts[to].Nodes = append(m.parts[to].Nodes, n)
		m.at[n] = to
	}
	return true
}
