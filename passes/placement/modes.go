package placement

import (
	"math"
	"slices"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/passes"
)

// bySize fills one device after the other.
func (p *partitioner) bySize() error {
	occupied := map[int]bool{}
	device := func(n *ir.Node) (Device, error) {
		need := p.sizes.extra(n, nil)
		for _, d := range p.devices {
			if !occupied[d.ID] && d.Memory >= need {
				occupied[d.ID] = true
				return d, nil
			}
		}
		return Device{}, ir.Errorf(ir.ErrRuntime, "placement: %s is too large to fit any device", n)
	}
	var left int64
	g := p.create()
	for _, n := range p.calls() {
		if len(p.groups) > len(p.devices) {
			p.create().Add(n)
			continue
		}
		need := p.sizes.extra(n, g.has)
		switch {
		case g.bytes == 0:
			d, err := device(n)
			if err != nil {
				return err
			}
			left = d.Memory
			g.Devices = append(g.Devices, d.ID)
		case left < need && len(p.groups) == len(p.devices):
			p.create().Add(n)
			continue
		case left < need:
			d, err := device(n)
			if err != nil {
				return err
			}
			g = p.create()
			need = p.sizes.extra(n, g.has)
			left = d.Memory
			g.Devices = append(g.Devices, d.ID)
		}
		g.Add(n)
		left -= need
	}
	link(p.groups)
	if !assign(p.groups, p.devices) {
		return ir.Errorf(ir.ErrRuntime, "placement: Cannot Get a Valid Partition to Logical Device Mapping")
	}
	return nil
}

// isEmbedding reports whether a node calls an embedding.
func (p *partitioner) isEmbedding(n *ir.Node) bool {
	return n.Op() == ir.CallModule && strings.Contains(passes.TargetName(p.module, n), "Embedding")
}

// sparse keeps embeddings apart.
func (p *partitioner) sparse() error {
	memory := p.devices[0].Memory
	if slices.ContainsFunc(p.devices, func(d Device) bool { return d.Memory != memory }) {
		return ir.Errorf(ir.ErrRuntime, "placement: All devices must have same memory size!")
	}
	var kinds [2][]*Group // all but embeddings, embeddings
	kind := 0
	g := p.create()
	finish := func() {
		kinds[kind] = append(kinds[kind], g)
		g = p.create()
	}
	for _, n := range p.calls() {
		if now := map[bool]int{true: 1}[p.isEmbedding(n)]; now != kind {
			if g.bytes != 0 {
				finish()
			}
			kind = now
		}
		if p.sizes.extra(n, g.has)+g.bytes > memory {
			if finish(); p.sizes.extra(n, g.has) > memory {
				return ir.Errorf(ir.ErrRuntime, "placement: %s is too large to fit into a device", n.Target())
			}
		}
		g.Add(n)
	}
	kinds[kind] = append(kinds[kind], g)
	link(p.groups)
	for k := range kinds {
		for {
			joined := p.joinSmallest(kinds[k], memory)
			if joined == nil {
				break
			}
			kinds[k] = joined
		}
	}
	var rest int64
	for _, g := range kinds[0] {
		rest += g.bytes
	}
	if len(kinds[1]) > len(p.devices) {
		return ir.Errorf(ir.ErrRuntime, "placement: Need %d devices, but only %d provided", len(kinds[1]), len(p.devices))
	}
	var occupied []int
	for i, g := range kinds[1] {
		if rest+g.bytes > memory {
			return ir.Errorf(ir.ErrRuntime, "placement: partition_%d(embedding partition) and non embedding partitions can not fit into one device", g.id)
		}
		g.Devices = []int{p.devices[i].ID}
		occupied = append(occupied, p.devices[i].ID)
	}
	for _, g := range kinds[0] {
		g.Devices = slices.Clone(occupied)
	}
	return nil
}

// joinSmallest joins the smallest of some groups with the largest near it that it fits
// beside, and returns what they are then; nil where there is none.
func (p *partitioner) joinSmallest(groups []*Group, memory int64) []*Group {
	if len(groups) == 0 {
		return nil
	}
	sorted := slices.Clone(groups)
	slices.SortStableFunc(sorted, func(a, b *Group) int { return int(min(max(a.bytes-b.bytes, -1), 1)) })
	setLevels(p.groups)
	smallest := sorted[0]
	for _, g := range slices.Backward(sorted[1:]) {
		if d := smallest.level - g.level; d < -1 || d > 1 || join(g, smallest).bytes > memory {
			continue
		}
		p.groups = joinIn(p.groups, g, smallest)
		rest := slices.DeleteFunc(slices.Clone(groups), func(o *Group) bool { return o == g || o == smallest })
		return append(rest, p.groups[len(p.groups)-1])
	}
	return nil
}

// place gives all groups devices anew and estimates the time; infinity where there
// are not enough.
func (p *partitioner) place(groups []*Group) float64 {
	for _, g := range groups {
		g.Devices = nil
	}
	if !assign(groups, p.devices) {
		return math.Inf(1)
	}
	return totalLatency(groups, p.latency, p.rate)
}

// byCost joins pairs of groups as long as the time does not grow.
func (p *partitioner) byCost() error {
	for _, n := range p.calls() {
		p.create().Add(n)
	}
	link(p.groups)
	setLevels(p.groups)
	for p.joinBest() {
	}
	link(p.groups)
	return nil
}

func (p *partitioner) joinBest() bool {
	cost := totalLatency(p.groups, p.latency, p.rate)
	var pair [2]*Group
	for i, a := range p.groups {
		for _, b := range p.groups[i+1:] {
			if d := a.level - b.level; (d < -1 || d > 1) && !b.parents[a] && !slices.Contains(b.children, a) {
				continue
			}
			// the groups are shared: their devices and links are restored below
			tried := joinIn(p.groups, a, b)
			if !tried[len(tried)-1].inCircle() {
				if c := p.place(tried); c <= cost {
					pair, cost = [2]*Group{a, b}, c
				}
			}
			link(p.groups)
		}
	}
	if pair[0] != nil {
		p.groups = joinIn(p.groups, pair[0], pair[1])
	}
	setLevels(p.groups)
	for _, g := range p.groups {
		g.Devices = nil
	}
	assign(p.groups, p.devices)
	return pair[0] != nil
}

// bySwaps starts by size and swaps calls between groups.
func (p *partitioner) bySwaps() error {
	if err := p.bySize(); err != nil {
		return err
	}
	cost := totalLatency(p.groups, p.latency, p.rate)
	type swap struct {
		a, b   *ir.Node
		pa, pb *Group
	}
	for _, n := range p.calls() {
		from := p.groups[slices.IndexFunc(p.groups, func(g *Group) bool { return g.has[n] })]
		var best *swap
		for _, to := range p.groups {
			if to == from {
				continue
			}
			for _, m := range append(slices.Clone(to.nodes), nil) {
				if m != nil && isLeaf(m) {
					continue
				}
				exchange(n, m, from, to)
				link(p.groups)
				if !from.inCircle() && !to.inCircle() {
					if c := p.place(p.groups); c < cost {
						cost, best = c, &swap{n, m, from, to}
					}
				}
				exchange(m, n, from, to)
				link(p.groups)
			}
		}
		if best != nil {
			exchange(best.a, best.b, best.pa, best.pb)
			link(p.groups)
		}
	}
	// a group may have lost all of its calls
	p.groups = slices.DeleteFunc(p.groups, func(g *Group) bool { return len(g.nodes) == 0 })
	link(p.groups)
	for _, g := range p.groups {
		g.Devices = nil
	}
	if !assign(p.groups, p.devices) {
		return ir.Errorf(ir.ErrRuntime, "placement: Cannot Get a Valid Partition to Logical Device Mapping")
	}
	return nil
}

// exchange moves a from its group into another, and b the other way; nil moves
// nothing.
func exchange(a, b *ir.Node, from, to *Group) {
	if a != nil {
		from.Remove(a)
		to.Add(a)
	}
	if b != nil {
		from.Add(b)
		to.Remove(b)
	}
}
