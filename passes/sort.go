package passes

import (
	"container/heap"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// Legalize puts the nodes of m's graph into an order in which each comes after
// those that it reads: first come first served, with arithmetic, comparisons and
// asserts moved to the front as soon as they can be computed, so that they stand
// before what depends on data. The graph is replaced by a copy; where m has one,
// its nodes are no longer part of m. It fails with class ir.ErrRuntime, and
// changes nothing, when nodes read each other in a circle. Same order as
// torch.fx.passes.tools_common.legalize_graph.
func Legalize(m *ir.GraphModule) error {
	if m == nil {
		return ir.Errorf(ir.ErrInput, "legalize: expected a graph module, got nil")
	}
	var front, queue []*ir.Node // front is taken from its end, and first
	return resort(m, ir.ErrRuntime, &order{
		push: func(n *ir.Node) { queue = append(queue, n) },
		free: func(n *ir.Node) {
			if n.Op() == ir.CallFunction && early[n.Func()] {
				front = append(front, n)
			} else {
				queue = append(queue, n)
			}
		},
		pop: func() (n *ir.Node) {
			if last := len(front) - 1; last >= 0 {
				n, front = front[last], front[:last]
			} else if len(queue) > 0 {
				n, queue = queue[0], queue[1:]
			}
			return n
		},
	})
}

// early are the functions that Legalize moves to the front.
var early = func() map[*ir.Func]bool {
	set := map[*ir.Func]bool{}
	for _, f := range strings.Fields(`operator.add operator.mul operator.sub operator.floordiv operator.truediv
operator.mod operator.le operator.lt operator.ge operator.gt operator.eq operator.ne
torch.ops.aten.sym_constrain_range.default torch.ops.aten.sym_constrain_range_for_size.default
torch.ops.aten._assert_async.msg torch.ops.aten.scalar_tensor.default torch.ops.aten._assert_scalar.default`) {
		set[ir.FuncOf(f)] = true
	}
	return set
}()

// Sort puts the nodes of m's graph into an order in which each comes after those
// that it reads, and changes their order no more than that takes: always the
// first node that can be computed is next. The graph is replaced by a copy whose
// names are made anew from the old ones. It fails with class ir.ErrAssertion, and
// changes nothing, when nodes read each other in a circle. Same order as
// torch.fx.passes.tools_common.stable_topological_sort.
func Sort(m *ir.GraphModule) error {
	if m == nil {
		return ir.Errorf(ir.ErrInput, "sort: expected a graph module, got nil")
	}
	q := &nodeHeap{at: positions(m.Graph())}
	push := func(n *ir.Node) { heap.Push(q, n) }
	return resort(m, ir.ErrAssertion, &order{push: push, free: push, pop: q.next})
}

// SortNodes returns nodes of one graph in an order in which each comes after
// those of them that it reads, and otherwise as they are given. It fails with
// class ir.ErrAssertion when they read each other in a circle. Same as
// torch.fx.passes.utils.fuser_utils.topo_sort.
func SortNodes(nodes []*ir.Node) ([]*ir.Node, error) {
	q := &nodeHeap{at: make(map[*ir.Node]int, len(nodes))}
	for i, n := range nodes {
		q.at[n] = i
	}
	push := func(n *ir.Node) { heap.Push(q, n) }
	sorted, stuck := (&order{push: push, free: push, pop: q.next}).sort(nodes)
	if len(stuck) > 0 {
		return nil, ir.Errorf(ir.ErrAssertion, "sort nodes: topological sorted nodes doesn't have same length as input nodes: %s read each other in a circle",
			strings.Join(nodeNames(stuck), ", "))
	}
	return sorted, nil
}

// An order decides which of the nodes that can be computed is next.
type order struct {
	push func(*ir.Node)  // takes one that reads none of the others
	free func(*ir.Node)  // takes one whose last operand came before
	pop  func() *ir.Node // gives the next, nil where there is none
}

// sort returns the nodes in order, and those that no order can hold.
func (o *order) sort(nodes []*ir.Node) (sorted, stuck []*ir.Node) {
	missing := make(map[*ir.Node]int, len(nodes))
	for _, n := range nodes {
		missing[n] = 0
	}
	for _, n := range nodes {
		for _, m := range n.Inputs() {
			if _, ok := missing[m]; ok {
				missing[n]++
			}
		}
	}
	for _, n := range nodes {
		if missing[n] == 0 {
			o.push(n)
		}
	}
	sorted = make([]*ir.Node, 0, len(nodes))
	for n := o.pop(); n != nil; n = o.pop() {
		sorted = append(sorted, n)
		for u := range n.Users() {
			if left, ok := missing[u]; ok {
				if missing[u] = left - 1; left == 1 {
					o.free(u)
				}
			}
		}
	}
	for _, n := range nodes {
		if missing[n] > 0 {
			stuck = append(stuck, n)
		}
	}
	return sorted, stuck
}

// resort replaces the graph of m by a copy in another order.
func resort(m *ir.GraphModule, class *ir.Class, o *order) error {
	sorted, stuck := o.sort(nodesOf(m.Graph()))
	if len(stuck) > 0 {
		return ir.Errorf(class, "sort graph: Input graph has cycles, unable to add [%s]", strings.Join(nodeNames(stuck), ", "))
	}
	g := ir.NewGraph()
	g.TakeCodeGen(m.Graph())
	env := make(map[*ir.Node]*ir.Node, len(sorted))
	for _, n := range sorted {
		c, err := g.CopyNode(n, lookup(env))
		if err != nil {
			return err
		}
		env[n] = c
	}
	return m.SetGraph(g)
}

// A nodeHeap gives nodes by their positions.
type nodeHeap struct {
	at    map[*ir.Node]int
	nodes []*ir.Node
}

func (h *nodeHeap) Len() int           { return len(h.nodes) }
func (h *nodeHeap) Less(i, j int) bool { return h.at[h.nodes[i]] < h.at[h.nodes[j]] }
func (h *nodeHeap) Swap(i, j int)      { h.nodes[i], h.nodes[j] = h.nodes[j], h.nodes[i] }
func (h *nodeHeap) Push(n any)         { h.nodes = append(h.nodes, n.(*ir.Node)) }
func (h *nodeHeap) Pop() any {
	n := h.nodes[len(h.nodes)-1]
	h.nodes = h.nodes[:len(h.nodes)-1]
	return n
}

// next takes out the first node, nil where there is none.
func (h *nodeHeap) next() *ir.Node {
	if h.Len() == 0 {
		return nil
	}
	return heap.Pop(h).(*ir.Node)
}
