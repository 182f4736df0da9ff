package passes

import (
	"slices"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// A Partition is a set of nodes that can become one call: no path leads out of
// it and back. Nodes are in graph order, except that getitems which follow their
// producer into another partition come last. Change the slice to change the
// partition.
type Partition struct{ Nodes []*ir.Node }

// String returns the names of the nodes.
func (p *Partition) String() string { return "[" + strings.Join(nodeNames(p.Nodes), " ") + "]" }

// A PartitionOption changes what a [Partitioner] proposes.
type PartitionOption func(*Partitioner)

// AllowSingleNodes keeps partitions of one node. Default: a partition must
// compute at least twice, see [NonComputeOps].
func AllowSingleNodes() PartitionOption { return func(p *Partitioner) { p.single = true } }

// NonComputeOps names functions that compute nothing, by qualified name.
// torch.ops.aten.view and operator.getitem always count so. As in torch.fx, calls
// of methods and modules do not count as computing either, unless
// [CountAllCalls] is given.
func NonComputeOps(names ...string) PartitionOption {
	return func(p *Partitioner) {
		for _, name := range names {
			p.nonCompute[ir.FuncOf(name)] = true
		}
	}
}

// CountAllCalls counts calls of methods and modules as computing. Default: only
// functions count.
func CountAllCalls() PartitionOption { return func(p *Partitioner) { p.countAll = true } }

// AllowAlone names functions that may be a partition by themselves, by qualified
// name. Default: none.
func AllowAlone(names ...string) PartitionOption {
	return func(p *Partitioner) {
		for _, name := range names {
			p.alone[ir.FuncOf(name)] = true
		}
	}
}

// NoHorizontalFusion joins a node with the partitions of its users alone.
// Default: partitions that have nothing to do with each other are joined, too.
func NoHorizontalFusion() PartitionOption { return func(p *Partitioner) { p.vertical = true } }

// A Partitioner finds the largest sets of nodes that a backend can compute in
// one call. It looks at the graph as it is at each call.
type Partitioner struct {
	module                     *ir.GraphModule
	support                    OperatorSupport
	single, countAll, vertical bool
	nonCompute, alone          map[*ir.Func]bool
}

// NewPartitioner returns a partitioner of m's graph. Only calls are given to
// support: placeholders, reads of attributes and the output stay outside.
// Follows torch.fx.passes.infra.partitioner.CapabilityBasedPartitioner, which
// asks for those as well.
func NewPartitioner(m *ir.GraphModule, support OperatorSupport, opts ...PartitionOption) *Partitioner {
	p := &Partitioner{module: m, support: support, nonCompute: map[*ir.Func]bool{}, alone: map[*ir.Func]bool{}}
	for _, o := range opts {
		if o != nil {
			o(p)
		}
	}
	return p
}

// alwaysNonCompute are functions that never count as computing.
var alwaysNonCompute = map[*ir.Func]bool{ir.FuncOf("torch.ops.aten.view"): true, getitem: true}

// Propose returns partitions, no two of which share a node. From the end of the
// graph to its start each supported node is joined with the partitions that are
// there already, oldest first, as long as no path leads out of the union and
// back, nor through another partition. The results of a node that are all taken
// apart by getitem stay in the node's partition.
func (p *Partitioner) Propose() []*Partition {
	s := newPartitionSearch(p.module.Graph())
	for n := range p.module.Graph().Backward() {
		var candidates []*joined
		own := isCall(n) && p.support.Supported(p.module, n)
		if own {
			candidates = append(candidates, s.start(n))
		}
		if !p.vertical {
			for _, j := range s.inOrder() {
				if !own || j != candidates[0] {
					candidates = append(candidates, j)
				}
			}
		} else if own {
			for u := range n.Users() {
				if j := s.of[u]; j != nil && !slices.Contains(candidates, j) {
					candidates = append(candidates, j)
				}
			}
		}
		for i := 1; i < len(candidates); i++ {
			candidates[i] = s.join(candidates[i-1], candidates[i])
		}
	}
	s.followProducers()
	var found []*Partition
	for _, j := range s.byID() {
		if len(j.nodes) > 0 && (p.single || p.computes(j.nodes) > 1) {
			found = append(found, &Partition{j.nodes})
		}
	}
	return found
}

// computes counts the nodes that compute something, those that may stand alone
// twice.
func (p *Partitioner) computes(nodes []*ir.Node) (count int) {
	for _, n := range nodes {
		f := n.Func()
		if f == nil {
			if p.countAll {
				count++
			}
			continue
		}
		if !alwaysNonCompute[f] && !p.nonCompute[f] {
			count++
		}
		if p.alone[f] {
			count++
		}
	}
	return count
}

// TrimNonCompute takes out of partitions the nodes at their borders that compute
// nothing: those of [NonComputeOps] that read, or are read by, nothing else
// inside. Same as remove_bookend_non_compute_ops of torch.fx.
func (p *Partitioner) TrimNonCompute(parts []*Partition) {
	for _, part := range parts {
		t := &trimmer{nonCompute: p.nonCompute, inside: map[*ir.Node]bool{}}
		for _, n := range part.Nodes {
			t.inside[n] = true
		}
		part.Nodes = slices.DeleteFunc(slices.Clone(part.Nodes), func(n *ir.Node) bool {
			spare := t.nonCompute[n.Func()] && (t.clear(n, false) || t.clear(n, true))
			if spare {
				delete(t.inside, n)
			}
			return spare
		})
	}
}

type trimmer struct {
	nonCompute map[*ir.Func]bool
	inside     map[*ir.Node]bool
}

// clear reports whether no computing node of the partition lies behind n, or
// before it.
func (t *trimmer) clear(n *ir.Node, behind bool) bool {
	seen := map[*ir.Node]bool{}
	stack := []*ir.Node{n}
	for len(stack) > 0 {
		m := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if seen[m] || !t.inside[m] {
			continue
		}
		seen[m] = true
		if !t.nonCompute[m.Func()] {
			return false
		}
		if behind {
			stack = slices.AppendSeq(stack, m.Users())
		} else {
			stack = append(stack, m.Inputs()...)
		}
	}
	return true
}
