package placement

import (
	"slices"
	"strconv"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/passes"
)

// An Option changes how [Partition] groups calls.
type Option func(*partitioner)

// BySize fills one device after the other in graph order. Default.
func BySize() Option { return func(p *partitioner) { p.group = (*partitioner).bySize } }

// SparseNN keeps embeddings apart from everything else, for devices of one size: each
// group of embeddings gets a device, and every device all the rest.
func SparseNN() Option { return func(p *partitioner) { p.group = (*partitioner).sparse } }

// CostAware starts with one call a group and joins two as long as the estimated time
// does not grow. rate is that of the way between devices, in bytes a second.
func CostAware(rate float64, of map[*ir.Node]Latency) Option {
	return func(p *partitioner) { p.group, p.rate, p.latency = (*partitioner).byCost, rate, of }
}

// KernighanLin starts from [BySize] and swaps calls between groups as long as the
// estimated time gets less.
func KernighanLin(rate float64, of map[*ir.Node]Latency) Option {
	return func(p *partitioner) { p.group, p.rate, p.latency = (*partitioner).bySwaps, rate, of }
}

// Fixed takes the groups as given: a number for each call, and the devices of each
// number. Memory is not looked at.
func Fixed(number map[*ir.Node]int, devices map[int][]int) Option {
	return func(p *partitioner) { p.number, p.given = number, devices }
}

// SaturateHost puts all groups a second time on devices that are not used, as often
// as there are enough of them with enough memory.
func SaturateHost() Option { return func(p *partitioner) { p.saturate = true } }

// A Part is one submodule of a [Result].
type Part struct {
	Call    *ir.Node   // that calls it, in the graph of the new module
	Inputs  []*ir.Node // what the call reads
	Outputs []*ir.Node // what stands for its results: the call, or the items taken of it
	Devices []int      // that hold it
	Bytes   int64
}

// A Result is what [Partition] made.
type Result struct {
	Splitting *passes.Splitting
	Parts     []Part // in the order of their calls
	Groups    []*Group
}

type partitioner struct {
	module   *ir.GraphModule
	devices  []Device
	sizes    Sizes
	group    func(*partitioner) error
	rate     float64
	latency  map[*ir.Node]Latency
	number   map[*ir.Node]int
	given    map[int][]int
	saturate bool
	groups   []*Group
}

// Partition groups the calls of m's graph, gives each group a device, and cuts the
// graph into one submodule a group; m is left as it was. All of it becomes one group
// where one device is large enough. Needs what passes.ShapeProp notes.
//
// Errors of class ir.ErrRuntime: no devices, no calls, a node that no device has the
// memory for, devices that have not enough together, groups that cannot be given
// devices.
func Partition(m *ir.GraphModule, devices []Device, opts ...Option) (*Result, error) {
	if m == nil {
		return nil, ir.Errorf(ir.ErrInput, "placement: expected a graph module, got nil")
	}
	if err := ir.CheckOptions("placement", opts); err != nil {
		return nil, err
	}
	p := &partitioner{module: m, devices: devices, group: (*partitioner).bySize}
	for _, o := range opts {
		o(p)
	}
	if len(devices) == 0 {
		return nil, ir.Errorf(ir.ErrRuntime, "placement: No devices")
	}
	var err error
	if p.sizes, err = SizesOf(m); err != nil {
		return nil, err
	}
	if len(p.calls()) == 0 {
		return nil, ir.Errorf(ir.ErrRuntime, "placement: No Partition since no operations in the module")
	}
	if err := p.assign(); err != nil {
		return nil, err
	}
	if p.saturate {
		p.replicate()
	}
	return p.cut()
}

func (p *partitioner) calls() []*ir.Node {
	var calls []*ir.Node
	for n := range p.module.Graph().Nodes() {
		if isCall(n) {
			calls = append(calls, n)
		}
	}
	return calls
}

func (p *partitioner) assign() error {
	var total, memory int64
	for _, size := range p.sizes {
		total += size.Total
	}
	for _, d := range p.devices {
		memory += d.Memory
	}
	largest := slices.MaxFunc(p.devices, func(a, b Device) int { return int(min(max(a.Memory-b.Memory, -1), 1)) })
	switch {
	case p.number != nil:
		return p.fixed()
	case total <= largest.Memory:
		g := p.create()
		for n := range p.module.Graph().Nodes() {
			if n.Op() != ir.Output {
				g.put(n)
			}
		}
		g.bytes, g.Devices = total, []int{largest.ID}
		return nil
	case total > memory:
		return ir.Errorf(ir.ErrRuntime, "placement: Devices do not have enough memory for the module")
	}
	return p.group(p)
}

func (p *partitioner) create() *Group {
	g := NewGroup(p.sizes)
	g.id = len(p.groups)
	p.groups = append(p.groups, g)
	return g
}

func (p *partitioner) fixed() error {
	byNumber := map[int]*Group{}
	for _, n := range p.calls() {
		number, ok := p.number[n]
		if !ok {
			return ir.Errorf(ir.ErrRuntime, "placement: expected a group for %s, got none", n)
		}
		g := byNumber[number]
		if g == nil {
			g = NewGroup(p.sizes)
			g.id, g.Devices = number, slices.Clone(p.given[number])
			byNumber[number] = g
			p.groups = append(p.groups, g)
		}
		g.Add(n)
	}
	return nil
}

// replicate puts the groups on devices that are not used.
func (p *partitioner) replicate() {
	used, taken := map[int]int64{}, map[int]bool{}
	var order []Device
	for _, g := range p.groups {
		for _, id := range g.Devices {
			used[id] += g.bytes
			taken[id] = true
		}
	}
	for _, d := range p.devices {
		if taken[d.ID] {
			order = append(order, d)
		}
	}
	copies := map[int][]int{}
	for replicas := 0; len(order)*2+replicas <= len(p.devices); replicas += len(order) {
		round := map[int]int{}
		chosen := map[int]bool{}
		for _, d := range order {
			var best *Device
			for i, c := range p.devices {
				if !taken[c.ID] && !chosen[c.ID] && c.Memory >= used[d.ID] && (best == nil || c.Memory < best.Memory) {
					best = &p.devices[i]
				}
			}
			if best == nil {
				round = nil
				break
			}
			chosen[best.ID] = true
			round[d.ID] = best.ID
		}
		if round == nil {
			break
		}
		for id, copied := range round {
			copies[id] = append(copies[id], copied)
			taken[copied] = true
		}
	}
	for _, g := range p.groups {
		for _, id := range slices.Clone(g.Devices) {
			g.Devices = append(g.Devices, copies[id]...)
		}
	}
}

func (p *partitioner) cut() (*Result, error) {
	number, byNumber := map[*ir.Node]int{}, map[string]*Group{}
	for _, g := range p.groups {
		byNumber[strconv.Itoa(g.id)] = g
		for _, n := range g.nodes {
			number[n] = g.id
		}
	}
	split, err := passes.Split(p.module, func(n *ir.Node) int { return number[n] })
	if err != nil {
		return nil, err
	}
	r := &Result{Splitting: split, Groups: p.groups}
	for _, n := range split.Module.Graph().Find(ir.CallModule, nil) {
		g := byNumber[n.Target().String()[strings.LastIndexByte(n.Target().String(), '_')+1:]]
		part := Part{Call: n, Inputs: n.Inputs(), Outputs: []*ir.Node{n}, Devices: g.Devices, Bytes: g.bytes}
		if n.NumUsers() > 1 {
			part.Outputs = slices.Collect(n.Users())
		}
		r.Parts = append(r.Parts, part)
	}
	return r, nil
}
