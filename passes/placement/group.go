package placement

import (
	"slices"

	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/passes"
)

// A Sizes holds what each node takes in memory.
type Sizes map[*ir.Node]passes.NodeSize

// SizesOf returns the sizes of the nodes of m's graph, see passes.SizeOfNode. It fails
// with class ir.ErrRuntime where passes.ShapeProp has not run.
func SizesOf(m *ir.GraphModule) (Sizes, error) {
	if m == nil {
		return nil, ir.Errorf(ir.ErrInput, "placement: expected a graph module, got nil")
	}
	sizes := Sizes{}
	for n := range m.Graph().Nodes() {
		if n.Op() == ir.Output {
			break
		}
		size, err := passes.SizeOfNode(m, n)
		if err != nil {
			return nil, err
		}
		sizes[n] = size
	}
	return sizes, nil
}

// extra returns what a node needs in addition to those of a group: itself, and the
// values that it reads from outside.
func (s Sizes) extra(n *ir.Node, inside map[*ir.Node]bool) int64 {
	total := s[n].Total
	for _, in := range n.Inputs() {
		if !inside[in] {
			total += s[in].Output
		}
	}
	return total
}

// A Group is a set of nodes that go to one device together, with the arguments and
// attributes that they read.
type Group struct {
	Devices []int // IDs; several hold the same

	id       int
	sizes    Sizes
	nodes    []*ir.Node
	has      map[*ir.Node]bool
	parents  map[*Group]bool
	children []*Group
	level    int // how many groups come before it, at least
	bytes    int64
}

// NewGroup returns an empty group of nodes with these sizes.
func NewGroup(sizes Sizes) *Group { return &Group{sizes: sizes, has: map[*ir.Node]bool{}, level: -1} }

// ID numbers the groups of one graph.
func (g *Group) ID() int { return g.id }

// Nodes are the nodes of the group in order of their addition; not to be changed.
func (g *Group) Nodes() []*ir.Node { return g.nodes }

// Bytes is what the group takes in memory, with the values it reads from others.
func (g *Group) Bytes() int64 { return g.bytes }

func isLeaf(n *ir.Node) bool { return n.Op() == ir.Placeholder || n.Op() == ir.GetAttr }

func isCall(n *ir.Node) bool { return !isLeaf(n) && n.Op() != ir.Output }

func (g *Group) put(n *ir.Node) {
	if !g.has[n] {
		g.has[n] = true
		g.nodes = append(g.nodes, n)
	}
}

func (g *Group) weigh() {
	g.bytes = 0
	for _, n := range g.nodes {
		g.bytes += g.sizes.extra(n, g.has)
	}
}

// Add puts a call into the group, with the arguments and attributes that it reads.
func (g *Group) Add(n *ir.Node) {
	for _, in := range n.Inputs() {
		if isLeaf(in) {
			g.put(in)
		}
	}
	g.put(n)
	g.weigh()
}

// Remove takes a call out of the group, with the arguments and attributes that
// nothing else in it reads. What is not in it stays out.
func (g *Group) Remove(n *ir.Node) {
	if !g.has[n] {
		return
	}
	drop := func(n *ir.Node) {
		delete(g.has, n)
		g.nodes = slices.DeleteFunc(g.nodes, func(m *ir.Node) bool { return m == n })
	}
	drop(n)
	for _, in := range n.Inputs() {
		used := false
		for u := range in.Users() {
			used = used || g.has[u]
		}
		if isLeaf(in) && !used && g.has[in] {
			drop(in)
		}
	}
	g.weigh()
}

// join returns the union of two groups.
func join(a, b *Group) *Group {
	g := NewGroup(a.sizes)
	for _, n := range slices.Concat(a.nodes, b.nodes) {
		g.put(n)
	}
	g.weigh()
	return g
}

// joinIn puts the union of two groups behind the others.
func joinIn(groups []*Group, a, b *Group) []*Group {
	out := make([]*Group, 0, len(groups)-1)
	for _, g := range groups {
		if g != a && g != b {
			out = append(out, g)
		}
	}
	out = append(out, join(a, b))
	link(out)
	return out
}

// link numbers groups and notes which read which.
func link(groups []*Group) {
	of := map[*ir.Node][]*Group{}
	for i, g := range groups {
		g.id, g.parents, g.children = i, map[*Group]bool{}, nil
		for _, n := range g.nodes {
			of[n] = append(of[n], g)
		}
	}
	for _, g := range groups {
		for _, n := range g.nodes {
			for u := range n.Users() {
				for _, p := range of[u] {
					if p != g && !p.has[n] && !p.parents[g] {
						p.parents[g] = true
						g.children = append(g.children, p)
					}
				}
			}
		}
	}
}

// inCircle reports whether a group depends on itself by way of others.
func (g *Group) inCircle() bool {
	seen := map[*Group]bool{g: true}
	for queue := []*Group{g}; len(queue) > 0; queue = queue[1:] {
		for _, c := range queue[0].children {
			if c == g {
				return true
			}
			if !seen[c] {
				seen[c] = true
				queue = append(queue, c)
			}
		}
	}
	return false
}

// setLevels notes how far each group is from those without parents. Groups are
// visited at most as often as there are groups, where they form circles.
func setLevels(groups []*Group) {
	var current []*Group
	for _, g := range groups {
		if len(g.parents) == 0 {
			current = append(current, g)
		}
	}
	for level := 0; len(current) > 0 && level <= len(groups); level++ {
		var next []*Group
		seen := map[*Group]bool{}
		for _, g := range current {
			g.level = level
			for _, c := range g.children {
				if !seen[c] {
					seen[c] = true
					next = append(next, c)
				}
			}
		}
		current = next
	}
}

// A Device has memory for some groups.
type Device struct {
	Name   string
	Memory int64 // bytes
	ID     int
}

// assign gives each group without a device the one whose memory it fits most
// tightly, and reports whether all could be given one.
func assign(groups []*Group, devices []Device) bool {
	left, on := map[int]int64{}, map[int][]*Group{}
	order := make([]int, len(devices))
	for i, d := range devices {
		left[d.ID], order[i] = d.Memory, d.ID
	}
	var free []*Group
	for _, g := range groups {
		for _, id := range g.Devices {
			left[id] -= g.bytes
			on[id] = append(on[id], g)
		}
		if len(g.Devices) == 0 {
			free = append(free, g)
		}
	}
	for _, g := range free {
		slices.SortStableFunc(order, func(a, b int) int { return int(min(max(left[a]-left[b], -1), 1)) })
		i := slices.IndexFunc(order, func(id int) bool { return added(g, on[id]) < left[id] })
		if i < 0 {
			return false
		}
		id := order[i]
		left[id] -= added(g, on[id])
		on[id] = append(on[id], g)
		g.Devices = append(g.Devices, id)
	}
	return true
}

// added is what a group needs on a device that holds others.
func added(g *Group, others []*Group) (total int64) {
	if len(others) == 0 {
		return g.bytes
	}
	inside := map[*ir.Node]bool{}
	for _, o := range append(slices.Clone(others), g) {
		for _, n := range o.nodes {
			inside[n] = true
		}
	}
	for _, n := range g.nodes {
		total += g.sizes.extra(n, inside)
	}
	return total
}
