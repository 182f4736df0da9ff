package passes

import (
	"fmt"
	"iter"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// A NodeEvent is a decision about a node on the way to the nodes that a backend
// computes, see [AcceleratorNodes].
type NodeEvent struct {
	Node  *ir.Node
	What  string   // kind and reason, "acc_del|user_of_new_cpu_node"
	Cause *ir.Node // another node, nil where it was this one itself
}

// String returns "node: what cause", with # for a cause that is the node itself.
func (e NodeEvent) String() string {
	cause := "#"
	if e.Cause != nil {
		cause = e.Cause.Name()
	}
	return fmt.Sprintf("%s: %s %s", e.Node.Name(), e.What, cause)
}

// NodeEvents are what was decided, in order. Same as
// torch.fx.passes.splitter_base.NodeEventTracker.
type NodeEvents struct {
	all   []NodeEvent
	nodes []*ir.Node // in order of their first events
	of    map[*ir.Node][]int
}

func (e *NodeEvents) add(n *ir.Node, what string, cause *ir.Node) {
	if e.of == nil {
		e.of = map[*ir.Node][]int{}
	}
	if e.of[n] == nil {
		e.nodes = append(e.nodes, n)
	}
	e.of[n] = append(e.of[n], len(e.all))
	e.all = append(e.all, NodeEvent{n, what, cause})
}

// All yields the events in order.
func (e *NodeEvents) All() iter.Seq[NodeEvent] {
	return func(yield func(NodeEvent) bool) {
		for _, ev := range e.all {
			if !yield(ev) {
				return
			}
		}
	}
}

// Of returns the events of one node.
func (e *NodeEvents) Of(n *ir.Node) []NodeEvent {
	var out []NodeEvent
	for _, i := range e.of[n] {
		out = append(out, e.all[i])
	}
	return out
}

// String lists the events by node.
func (e *NodeEvents) String() string {
	var b strings.Builder
	for _, n := range e.nodes {
		fmt.Fprintf(&b, "Node: %s:\n", n.Name())
		for _, ev := range e.Of(n) {
			fmt.Fprintf(&b, "  %s\n", ev)
		}
	}
	return b.String()
}

// Trace lists the events of nodes, and below each those of the node that caused
// it, indented; without nodes, those of all that have more than one event.
func (e *NodeEvents) Trace(nodes ...*ir.Node) string {
	if len(nodes) == 0 {
		for _, n := range e.nodes {
			if len(e.of[n]) > 1 {
				nodes = append(nodes, n)
			}
		}
	}
	var b strings.Builder
	for _, n := range nodes {
		fmt.Fprintf(&b, "===== Tracking node %s =====\n", n.Name())
		e.trace(&b, n, "|-", 0)
		fmt.Fprintf(&b, "===== End of tracking node %s =====\n", n.Name())
	}
	return b.String()
}

// maxCauses bounds the depth of a trace.
const maxCauses = 1000

func (e *NodeEvents) trace(b *strings.Builder, n *ir.Node, indent string, depth int) {
	for _, ev := range e.Of(n) {
		fmt.Fprintf(b, "%s%s\n", indent, ev)
		if ev.Cause != nil && depth < maxCauses {
			e.trace(b, ev.Cause, "| "+indent, depth+1)
		}
	}
}

// AcceleratorNodes returns the calls that a backend computes, in graph order, and
// why each is one or not. With nonTensors false only tensors may go between them
// and the rest: a call that yields something else stays with the others when one of
// those reads it, and with it whatever reads that. Needs what [ShapeProp] notes.
// Same as torch.fx.passes.splitter_base.FxNetAccNodesFinder.
func AcceleratorNodes(m *ir.GraphModule, support OperatorSupport, nonTensors bool) ([]*ir.Node, *NodeEvents) {
	f := &accFinder{module: m, taken: nodeMarks{}, events: &NodeEvents{}}
	for n := range m.Graph().Nodes() {
		switch {
		case !isCall(n):
			f.events.add(n, "init_cpu|not_callable", nil)
		case !support.Supported(m, n):
			f.events.add(n, "init_cpu|operator_support", nil)
		default:
			f.events.add(n, "init_acc|callable_and_operator_supported", nil)
			f.taken[n] = true
		}
	}
	if !nonTensors {
		f.dropReaders()
		for f.dropYielders() {
		}
	}
	var nodes []*ir.Node
	for n := range m.Graph().Nodes() {
		if f.taken[n] {
			nodes = append(nodes, n)
		}
	}
	return nodes, f.events
}

type accFinder struct {
	module *ir.GraphModule
	taken  nodeMarks
	events *NodeEvents
}

// dropReaders takes out what reads values other than tensors of the rest.
func (f *accFinder) dropReaders() {
	var others []*ir.Node
	for n := range f.module.Graph().Nodes() {
		if isCall(n) && !f.taken[n] && !OutputsTensor(n) {
			f.events.add(n, "new_cpu_node|callable_non_tensor_input", nil)
			others = append(others, n)
		}
	}
	f.drop(others)
}

// drop takes out the users of nodes, and on from those that yield no tensors.
func (f *accFinder) drop(nodes []*ir.Node) {
	for len(nodes) > 0 {
		n := nodes[0]
		nodes = nodes[1:]
		for u := range n.Users() {
			if !f.taken[u] {
				continue
			}
			delete(f.taken, u)
			f.events.add(u, "acc_del|user_of_new_cpu_node", n)
			if !OutputsTensor(u) {
				f.events.add(u, "new_cpu_node|non_tensor_output", nil)
				nodes = append(nodes, u)
			}
		}
	}
}

// dropYielders takes out what yields values other than tensors to the rest, and
// reports whether there was any.
func (f *accFinder) dropYielders() bool {
	var others []*ir.Node
	for n := range f.module.Graph().Nodes() {
		if !f.taken[n] || OutputsTensor(n) {
			continue
		}
		for u := range n.Users() {
			if !f.taken[u] {
				others = append(others, n)
				f.events.add(n, "acc_del|non_tensor_output_with_cpu_user", u)
				break
			}
		}
	}
	for _, n := range others {
		delete(f.taken, n)
	}
	f.drop(others)
	return len(others) > 0
}
