package placement

import "github.com/torchfx-go/torchfx/ir"

// A Latency is what a call takes, in seconds: for its memory accesses and for
// computing. The larger of both counts.
type Latency struct{ Memory, Compute float64 }

// A GroupLatency is what the slowest path through a group takes, in seconds.
type GroupLatency struct{ Memory, Compute, Overall float64 }

// LatencyOf returns what a group takes: the calls on its slowest path, one after the
// other. Same as torch.fx.experimental.partitioner_utils.get_latency_of_one_partition.
func LatencyOf(g *Group, of map[*ir.Node]Latency) (slowest GroupLatency) {
	paths := map[*ir.Node]GroupLatency{} // from a node on
	var from func(n *ir.Node) GroupLatency
	from = func(n *ir.Node) GroupLatency {
		if l, ok := paths[n]; ok {
			return l
		}
		var rest GroupLatency
		for u := range n.Users() {
			if g.has[u] {
				if l := from(u); l.Overall > rest.Overall {
					rest = l
				}
			}
		}
		own := of[n]
		l := GroupLatency{rest.Memory + own.Memory, rest.Compute + own.Compute, rest.Overall + max(own.Memory, own.Compute)}
		paths[n] = l
		return l
	}
	for _, n := range g.nodes {
		if isLeaf(n) {
			continue
		}
		first := true
		for _, in := range n.Inputs() {
			first = first && (!g.has[in] || isLeaf(in))
		}
		if first {
			if l := from(n); l.Overall > slowest.Overall {
				slowest = l
			}
		}
	}
	return slowest
}

// TransferTime returns what it takes to bring what a child reads of a parent from one
// device to the other, at a rate in bytes a second: nothing on the same devices.
func TransferTime(parent, child *Group, rate float64) float64 {
	if len(parent.Devices) > 0 && len(child.Devices) > 0 && equal(parent.Devices, child.Devices) {
		return 0
	}
	var bytes int64
	seen := map[*ir.Node]bool{}
	for _, n := range child.nodes {
		for _, in := range n.Inputs() {
			if parent.has[in] && !seen[in] {
				bytes += child.sizes[in].Output
				seen[in] = true
			}
		}
	}
	return float64(bytes) / rate
}

func equal(a, b []int) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// TotalLatency returns what the slowest path through all groups takes, with the
// transfers between them. Same as
// torch.fx.experimental.partitioner_utils.get_latency_of_partitioned_graph.
func TotalLatency(groups []*Group, of map[*ir.Node]Latency, rate float64) (slowest float64) {
	link(groups)
	return totalLatency(groups, of, rate)
}

// totalLatency expects groups that are linked and form no circles.
func totalLatency(groups []*Group, of map[*ir.Node]Latency, rate float64) (slowest float64) {
	paths := map[*Group]float64{}
	var from func(g *Group) float64
	from = func(g *Group) float64 {
		if l, ok := paths[g]; ok {
			return l
		}
		paths[g] = 0 // in a circle: counted once
		rest := 0.0
		for _, c := range g.children {
			rest = max(rest, TransferTime(g, c, rate)+from(c))
		}
		paths[g] = rest + LatencyOf(g, of).Overall
		return paths[g]
	}
	for _, g := range groups {
		if len(g.parents) == 0 {
			slowest = max(slowest, from(g))
		}
	}
	return slowest
}
