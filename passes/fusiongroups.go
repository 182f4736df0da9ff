package passes

import (
	"slices"

	"github.com/torchfx-go/torchfx/ir"
)

// OutputsTensor reports whether [ShapeProp] found that n yields a tensor. Same as
// torch.fx.passes.tools_common.is_node_output_tensor.
func OutputsTensor(n *ir.Node) bool { return isSubtype(TypeOf(n), "torch.Tensor") }

// nodeMarks is a set of nodes of which only the members matter.
type nodeMarks map[*ir.Node]bool

// within reports whether all of s are in t.
func (s nodeMarks) within(t nodeMarks) bool {
	for n := range s {
		if !t[n] {
			return false
		}
	}
	return true
}

// A fusionGroup is a set of connected calls that pass values other than tensors
// among each other, and of what lies on the paths between them.
type fusionGroup struct {
	top    int // position of its first node
	nodes  nodeSet
	inputs nodeSet
	todo   []*ir.Node
}

func (g *fusionGroup) add(n *ir.Node) {
	if g.nodes.has(n) {
		return
	}
	g.todo = append(g.todo, n)
	g.nodes.add(n)
	for _, in := range n.Inputs() {
		if isCall(in) {
			g.inputs.add(in)
		}
	}
}

// fusionGroups finds the groups among the nodes that a backend takes, and takes out
// of these the groups that reach beyond. Needs what [ShapeProp] notes. Same as
// torch.fx.passes.tools_common.FxNetAccFusionsFinder.
func fusionGroups(m *ir.GraphModule, taken nodeMarks) map[*ir.Node]*fusionGroup {
	f := &groupFinder{at: positions(m.Graph())}
	groups := map[*ir.Node]*fusionGroup{}
	for n := range m.Graph().Nodes() {
		if !taken[n] || groups[n] != nil || !isCall(n) || n.Meta().Has(ir.MetaTensorMeta) {
			continue
		}
		g := f.grow(n)
		if !slices.ContainsFunc(g.nodes.nodes, func(n *ir.Node) bool { return !taken[n] }) {
			for _, n := range g.nodes.nodes {
				groups[n] = g
			}
			continue
		}
		for _, n := range g.nodes.nodes {
			delete(taken, n)
		}
	}
	return groups
}

type groupFinder struct{ at map[*ir.Node]int }

func (f *groupFinder) grow(n *ir.Node) *fusionGroup {
	g := &fusionGroup{top: f.at[n]}
	g.add(n)
	for _, in := range n.Inputs() {
		g.inputs.add(in)
	}
	for len(g.todo) > 0 {
		slices.SortFunc(g.todo, func(a, b *ir.Node) int { return f.at[a] - f.at[b] })
		n, g.todo = g.todo[0], g.todo[1:]
		f.close(g)
		if !n.Meta().Has(ir.MetaTensorMeta) {
			for u := range n.Users() {
				if isCall(u) && !g.nodes.has(u) {
					g.add(u)
					f.close(g)
				}
			}
		}
		for _, in := range n.Inputs() {
			if isCall(in) && !in.Meta().Has(ir.MetaTensorMeta) && !g.nodes.has(in) {
				g.add(in)
				g.top = min(g.top, f.at[in])
				f.close(g)
			}
		}
	}
	return g
}

// close adds every node on a path from the group back into it.
func (f *groupFinder) close(g *fusionGroup) {
	inputs := slices.Clone(g.inputs.nodes)
	slices.SortFunc(inputs, func(a, b *ir.Node) int { return f.at[a] - f.at[b] })
	reaches := map[*ir.Node]bool{}
	// on a stack of its own: paths may be as long as the graph
	type visit struct {
		n    *ir.Node
		done bool
	}
	var stack []visit
	for _, in := range inputs {
		stack = append(stack, visit{n: in})
		for len(stack) > 0 {
			v := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			_, seen := reaches[v.n]
			switch {
			case v.done:
				for _, in := range v.n.Inputs() {
					if g.nodes.has(in) || reaches[in] {
						reaches[v.n] = true
					}
				}
				if reaches[v.n] {
					g.add(v.n)
				}
			case seen || !isCall(v.n) || f.at[v.n] < g.top || g.nodes.has(v.n):
			default:
				reaches[v.n] = false
				stack = append(stack, visit{v.n, true})
				for _, in := range v.n.Inputs() {
					stack = append(stack, visit{n: in})
				}
			}
		}
	}
}
