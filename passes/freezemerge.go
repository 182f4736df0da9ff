package passes

import (
	"fmt"

	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// mergeLinears computes linear layers of one input, the query, key and value of
// attention say, as one layer whose result is sliced, where that was measured to be
// faster.
func (f *freezer) mergeLinears() error {
	var order []*ir.Node
	groups := map[*ir.Node][]*linearCall{} // by input
	memory := mapMemory(f.module)
	for n := range f.graph.Nodes() {
		c, _ := f.linear(n)
		if c == nil || c.transposed || !canBeSliced(memory, n) {
			continue
		}
		if c.fuse(); c.last != n {
			continue // what is fused with it saves more
		}
		if groups[c.input] == nil {
			order = append(order, c.input)
		}
		groups[c.input] = append(groups[c.input], c)
	}
	for _, input := range order {
		for _, group := range mergeable(groups[input]) {
			if len(group) < 2 {
				continue
			}
			choice, err := f.choices.choose(mergedKey(group), f.threads, func(m *measured) error { return mergedWays(m, group) })
			if err != nil {
				return fmt.Errorf("%s: %w", input, err)
			}
			if choice.Way == waySingle {
				f.kept(group[0].node, "%d layers: %s", len(group), choice)
				continue
			}
			if err := f.mergeLinear(group, memory); err != nil {
				return fmt.Errorf("%s: %w", input, err)
			}
		}
	}
	return nil
}

// The ways to compute linear layers of one input.
const (
	waySingle = "one by one"
	wayMerged = "merged"
)

// mergeable splits layers of one input into those that can be merged: all with a bias, or
// all without.
func mergeable(group []*linearCall) [][]*linearCall {
	var with, without []*linearCall
	for _, c := range group {
		if c.biasTensor != nil {
			with = append(with, c)
		} else {
			without = append(without, c)
		}
	}
	return [][]*linearCall{with, without}
}

var viewOp, reshapeOp = ir.OverloadOf("aten::view"), ir.OverloadOf("aten::reshape")

// canBeSliced reports whether a slice of a larger result can stand for n: nobody writes or
// returns its memory, and what reads it, or a view of it, takes any strides. A view
// itself does once it is a reshape.
func canBeSliced(m *memoryMap, n *ir.Node) bool {
	if m.is(m.written, n) || m.is(m.returned, n) {
		return false
	}
	for _, member := range m.members[n] {
		for u := range member.Users() {
			if u.Func() != viewOp && !anyStrides(u) {
				return false
			}
		}
	}
	return true
}

// mergeLinear makes one layer of several, at the place of the first.
func (f *freezer) mergeLinear(group []*linearCall, memory *memoryMap) error {
	first := group[0]
	weights, biases := make([]*torch.Tensor, len(group)), make([]*torch.Tensor, len(group))
	total := int64(0)
	for i, c := range group {
		weights[i], biases[i] = c.t, c.biasTensor
		total += c.out
	}
	weight, err := tensor("aten::cat", weights)
	if err != nil {
		return err
	}
	now, err := bind(first.node)
	if err != nil {
		return err
	}
	args := []ir.Arg{now["input"]} // which may be a slice of layers that were merged before
	read, err := f.attribute(first.node, pathOf(first.weight)+"_merged", weight)
	if err != nil {
		return err
	}
	args = append(args, read)
	if first.biasTensor != nil {
		bias, err := tensor("aten::cat", biases)
		if err != nil {
			return err
		}
		if read, err = f.attribute(first.node, pathOf(first.bias)+"_merged", bias); err != nil {
			return err
		}
		args = append(args, read)
	}
	merged, err := f.call(first.node, first.node, "aten::linear", args...)
	if err != nil {
		return err
	}
	meta, _ := valueOf(first.node)
	last := len(meta.Sizes) - 1
	meta.Sizes = append(append([]ir.Size{}, meta.Sizes[:last]...), ir.SizeOf(total))
	meta.Strides = nil // of no use for what follows
	merged.Meta().Set(ir.MetaVal, meta)
	f.applied(merged, "%d layers, %d rows, %d to %d", len(group), first.rows, first.in, total)
	start := int64(0)
	for _, c := range group {
		slice, err := f.call(c.node, c.node, "aten::slice.Tensor", merged, ir.Int(last), ir.Int(start), ir.Int(start+c.out))
		if err != nil {
			return err
		}
		start += c.out
		for _, member := range memory.members[c.node] {
			if member.Func() == viewOp {
				_ = member.SetTarget(reshapeOp) // takes the same
			}
		}
		if err := f.replace(c.node, slice); err != nil {
			return err
		}
	}
	return nil
}

func mergedKey(group []*linearCall) string {
	outs := make([]int64, len(group))
	for i, c := range group {
		outs[i] = c.out
	}
	return fmt.Sprintf("merged linears of %s, rows %d, %d to %v, bias %t", group[0].t.DType(), group[0].rows, group[0].in, outs, group[0].biasTensor != nil)
}

// mergedWays measures packed layers one by one, and one of all. Where packing does not
// pay it is not made later; what is compared, calls of one size against one of
// several, is the same.
func mergedWays(m *measured, group []*linearCall) error {
	first := group[0]
	input := m.call("aten::rand", []int64{first.rows, first.in}, torch.Kw("dtype", first.t.DType()))
	total := int64(0)
	for i, c := range group {
		total += c.out
		weight := m.call("mkldnn::_reorder_linear_weight", c.t, c.rows)
		args := []any{input, weight, nil, "none", []any{}, ""}
		if c.biasTensor != nil {
			args[2] = m.call("aten::contiguous", c.biasTensor)
		}
		if i == 0 {
			m.way(waySingle, "mkldnn::_linear_pointwise", args...)
		} else {
			m.then(waySingle, "mkldnn::_linear_pointwise", args...)
		}
	}
	weight := m.call("mkldnn::_reorder_linear_weight", m.call("aten::rand", []int64{total, first.in}, torch.Kw("dtype", first.t.DType())), first.rows)
	var bias any
	if first.biasTensor != nil {
		bias = m.call("aten::rand", []int64{total}, torch.Kw("dtype", first.t.DType()))
	}
	m.way(wayMerged, "mkldnn::_linear_pointwise", input, weight, bias, "none", []any{}, "")
	return m.err
}
