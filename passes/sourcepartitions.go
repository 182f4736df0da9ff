package passes

import (
	"slices"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// A SourcePartition is the nodes that one call of a function or module became when
// the program was captured.
type SourcePartition struct {
	Source  string     // the function or the class of the module
	Nodes   []*ir.Node // in graph order
	Inputs  []*ir.Node // what they read from outside, but for attributes; in graph order
	Outputs []*ir.Node // of them, those read outside
	Params  []*ir.Node // of them, the reads of attributes
}

// SourcePartitions finds the nodes that calls of the wanted functions or modules
// became: by ir.MetaSourceFnStack, whose innermost entry counts
// ("torch.nn.modules.linear.Linear", "torch.nn.functional.relu"), else by
// ir.MetaTorchFn ("linear"), else, for functions that the graph calls, by the
// innermost module of ir.MetaNNModuleStack. keep, unless nil, drops a partition when
// it refuses any node of it. The result has the sources in the order of their first
// nodes. Same as torch.fx.passes.utils.source_matcher_utils.get_source_partitions.
func SourcePartitions(g *ir.Graph, wanted []string, keep func(*ir.Node) bool) []SourcePartition {
	type call struct{ source, name string }
	var sources []string
	calls, nodes := map[string][]call{}, map[call][]*ir.Node{}
	for n := range g.Nodes() {
		name, source, ok := sourceOf(n, wanted)
		if !ok {
			continue
		}
		c := call{source, name}
		if calls[source] == nil {
			sources = append(sources, source)
		}
		if nodes[c] == nil {
			calls[source] = append(calls[source], c)
		}
		nodes[c] = append(nodes[c], n)
	}
	at := positions(g)
	var out []SourcePartition
	for _, source := range sources {
		for _, c := range calls[source] {
			refused := func(n *ir.Node) bool { return keep != nil && !keep(n) }
			if !slices.ContainsFunc(nodes[c], refused) {
				out = append(out, sourcePartition(source, nodes[c], at))
			}
		}
	}
	return out
}

// sourceOf returns the wanted source of a node and the name of the call.
func sourceOf(n *ir.Node, wanted []string) (name, source string, ok bool) {
	if stack, there := n.Meta().Get(ir.MetaSourceFnStack).(string); there {
		name, source, _ = strings.Cut(stack[strings.LastIndexByte(stack, ';')+1:], ",")
		return name, source, slices.Contains(wanted, source)
	}
	if fn, there := n.Meta().Get(ir.MetaTorchFn).(string); there {
		name, source, _ = strings.Cut(fn, ";")
		_, source, _ = strings.Cut(source, ".")
		source, _, _ = strings.Cut(source, ".")
		if slices.Contains(wanted, source) {
			return name, source, true
		}
	}
	stack, _ := n.Meta().Get(ir.MetaNNModuleStack).([]ir.ModuleCall)
	if n.Op() != ir.CallFunction || len(stack) == 0 {
		return "", "", false
	}
	inner := stack[len(stack)-1]
	return inner.Path, inner.Type, slices.Contains(wanted, inner.Type)
}

func sourcePartition(source string, nodes []*ir.Node, at map[*ir.Node]int) SourcePartition {
	p := SourcePartition{Source: source, Nodes: nodes}
	inside := marks(nodes)
	var inputs nodeSet
	for _, n := range nodes {
		for _, a := range n.Args() {
			if in, ok := a.(*ir.Node); ok && !inside[in] && in.Op() != ir.GetAttr {
				inputs.add(in)
			}
		}
		if n.Op() == ir.GetAttr {
			p.Params = append(p.Params, n)
			continue
		}
		for u := range n.Users() {
			if !inside[u] {
				p.Outputs = append(p.Outputs, n)
				break
			}
		}
	}
	p.Inputs = inputs.nodes
	slices.SortFunc(p.Inputs, func(a, b *ir.Node) int { return at[a] - at[b] })
	return p
}

// Connected reports whether something in q reads something in p. Same as
// torch.fx.passes.utils.source_matcher_utils.check_subgraphs_connected.
func (p SourcePartition) Connected(q SourcePartition) bool {
	inside := marks(q.Nodes)
	for _, n := range p.Nodes {
		for u := range n.Users() {
			if inside[u] {
				return true
			}
		}
	}
	return false
}
