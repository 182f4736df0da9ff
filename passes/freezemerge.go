package passes

import (
	"fmt"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// mergeLinears computes linear layers of one input, the query, key and value of
// attention or the two gates of a llama's layer say, as one layer whose result is
// sliced, where that was measured to be faster.
func (f *freezer) mergeLinears() error {
	var order []string
	groups := map[string][]*linearCall{} // by input
	memory := mapMemory(f.module)
	for n := range f.graph.Nodes() {
		c, _ := f.linear(n)
		if c == nil || !canBeSliced(memory, n) {
			continue
		}
		// the addition of a residual saves more than merging; an activation may, where
		// nothing is measured it is taken to
		if c.fuse(f); c.residual != nil || c.activation != nil && f.choices.fixed != "" {
			continue
		}
		input := inputKey(memory, c)
		if groups[input] == nil {
			order = append(order, input)
		}
		groups[input] = append(groups[input], c)
	}
	for _, input := range order {
		group := groups[input]
		if len(group) < 2 {
			continue
		}
		first := group[0].node
		choice, err := f.choose(mergedKey(group), []string{waySingle, wayMerged}, func(m *measured) error { return mergedWays(m, group) })
		if err != nil {
			return fmt.Errorf("%s: %w", first, err)
		}
		if choice.Way == waySingle {
			f.kept(first, "%d layers: %s", len(group), choice)
			continue
		}
		if err := f.mergeLinear(group, memory, choice); err != nil {
			return fmt.Errorf("%s: %w", first, err)
		}
	}
	return nil
}

// The ways to compute linear layers of one input.
const (
	waySingle = "one by one"
	wayMerged = "merged"
)

// inputKey tells the inputs of layers apart, and of one that is written what it is before
// and behind. A view of a value is the same as another by the same call, as layers have
// theirs in decomposed programs.
func inputKey(m *memoryMap, c *linearCall) string {
	n := c.input
	if m.changes(n) {
		return fmt.Sprintf("%s written %d times", n.Name(), m.writesBefore(n, c.node))
	}
	if n.Op() != ir.CallFunction || !stridedViews[n.Func()] {
		return n.Name()
	}
	var b strings.Builder
	b.WriteString(n.Func().Op())
	for _, a := range n.Args() {
		b.WriteString(" " + ir.Repr(a))
	}
	for _, k := range n.Kwargs() {
		b.WriteString(" " + k.Name + "=" + ir.Repr(k.Value))
	}
	return b.String()
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

// takeAnyStrides makes what reads n, for which canBeSliced holds, ready for a value
// that lies otherwise.
func takeAnyStrides(m *memoryMap, n *ir.Node) {
	for _, member := range m.members[n] {
		if member.Func() == viewOp {
			_ = member.SetTarget(reshapeOp) // takes the same
		}
		if meta, known := valueOf(member); known && !ownLayout[member.Func()] {
			meta.Strides = nil
			member.Meta().Set(ir.MetaVal, meta)
		}
	}
}

// mergeLinear makes one layer of several, at the place of the first.
func (f *freezer) mergeLinear(group []*linearCall, memory *memoryMap, choice Choice) error {
	first := group[0]
	c := calculator{}
	defer c.close()
	weights, biases := make([]*torch.Tensor, len(group)), make([]*torch.Tensor, len(group))
	total, bias := int64(0), (*linearCall)(nil) // one that has a bias
	for i, l := range group {
		w, err := l.plain()
		if err != nil {
			return err
		}
		c.temporaries = append(c.temporaries, w)
		weights[i], biases[i] = w, l.biasTensor
		if l.biasTensor == nil {
			biases[i] = c.call("aten::zeros", []int64{l.out}, torch.Kw("dtype", l.t.DType()))
		} else if bias == nil {
			bias = l
		}
		total += l.out
	}
	weight := c.keep("aten::cat", weights)
	if c.err != nil {
		return c.err
	}
	now, why := f.linear(first.node)
	if now == nil {
		return ir.Errorf(ir.ErrRuntime, "expected a linear layer, got %s: %s", first.node, why)
	}
	args := []ir.Arg{now.input} // which may be a slice of layers that were merged before
	read, err := f.attribute(first.node, pathOf(first.weight)+"_merged", weight)
	if err != nil {
		return err
	}
	args = append(args, read)
	if bias != nil {
		t := c.keep("aten::cat", biases)
		if c.err != nil {
			return c.err
		}
		if read, err = f.attribute(first.node, pathOf(bias.bias)+"_merged", t); err != nil {
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
	f.applied(merged, "%s", choice.after(fmt.Sprintf("%d layers, %d rows, %d to %d", len(group), first.rows, first.in, total)))
	start := int64(0)
	for _, c := range group {
		slice, err := f.call(c.node, c.node, "aten::slice.Tensor", merged, ir.Int(last), ir.Int(start), ir.Int(start+c.out))
		if err != nil {
			return err
		}
		start += c.out
		takeAnyStrides(memory, c.node)
		slice.Meta().CopyFrom(c.node.Meta())
		if err := f.replace(c.node, slice); err != nil {
			return err
		}
	}
	return nil
}

func mergedKey(group []*linearCall) string {
	parts := make([]string, len(group))
	for i, c := range group {
		parts[i] = fmt.Sprintf("%d bias %t %s %s", c.out, c.biasTensor != nil, c.epilogue.attr, c.epilogue.algorithm)
	}
	return fmt.Sprintf("merged linears of %s, rows %d, %d to %s", group[0].t.DType(), group[0].rows, group[0].in, strings.Join(parts, ", "))
}

// mergedWays measures packed layers one by one, with activations in them, and one of
// all, with activations behind it. Where packing does not pay it is not made later; what
// is compared, calls of one size against one of several, is the same.
func mergedWays(m *measured, group []*linearCall) error {
	first, dtype := group[0], torch.Kw("dtype", group[0].t.DType())
	input := m.call("aten::rand", []int64{first.rows, first.in}, dtype)
	total, bias := int64(0), any(nil)
	for i, c := range group {
		total += c.out
		weight, err := c.packWeight()
		if err != nil {
			return err
		}
		m.temporaries = append(m.temporaries, weight)
		args := []any{input, weight, nil, c.epilogue.attr, c.scalars(), c.epilogue.algorithm}
		if c.biasTensor != nil {
			args[2] = m.call("aten::contiguous", c.biasTensor)
			bias = c.biasTensor
		}
		if i == 0 {
			m.way(waySingle, "mkldnn::_linear_pointwise", args...)
		} else {
			m.then(waySingle, "mkldnn::_linear_pointwise", args...)
		}
	}
	weight := m.call("mkldnn::_reorder_linear_weight", m.call("aten::rand", []int64{total, first.in}, dtype), first.rows)
	if bias != nil {
		bias = m.call("aten::rand", []int64{total}, dtype)
	}
	m.way(wayMerged, "mkldnn::_linear_pointwise", input, weight, bias, "none", []any{}, "")
	result, start := m.call("aten::rand", []int64{first.rows, total}, dtype), int64(0)
	for _, c := range group {
		if c.activation != nil {
			slice := m.call("aten::slice.Tensor", result, 1, start, start+c.out)
			m.then(wayMerged, c.activation.Func().Op(), append([]any{slice}, c.activationArgs()...)...)
		}
		start += c.out
	}
	return m.err
}
