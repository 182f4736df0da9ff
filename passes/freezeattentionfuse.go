package passes

import (
	"slices"

	"github.com/torchfx-go/torchfx/ir"
)

// fits says why libtorch's operator does not compute an attention.
func (a *attention) fits(memory *memoryMap) string {
	result, known := valueOf(a.last)
	rank := len(result.Sizes)
	var sizes [3][]ir.Size
	for i, n := range []*ir.Node{a.q, a.k, a.v} {
		meta, noted := valueOf(n)
		if !known || !noted || !meta.DType.IsFloat() || meta.DType != result.DType {
			return "query, key, value and result are not noted as tensors of one dtype"
		}
		if len(meta.Sizes) != rank {
			return "query, key and value differ in dimensions, or are viewed in another way"
		}
		if memory.changes(n) {
			return n.Name() + " is written"
		}
		sizes[i] = meta.Sizes
		if order := a.orders[i]; order != nil {
			sizes[i] = make([]ir.Size, len(order))
			for to, from := range order {
				sizes[i][to] = meta.Sizes[from]
			}
		}
	}
	q, k, v := sizes[0], sizes[1], sizes[2]
	a.lead = slices.Clone(result.Sizes[:rank-2])
	if a.result != nil {
		for to, from := range a.result {
			if from < rank-2 {
				a.lead[from] = result.Sizes[to]
			}
		}
	}
	for _, s := range sizes {
		for i, n := range a.lead {
			if _, static := n.Known(); !sameSize(s[i], n) && !(isSizeOne(s[i]) && static) {
				return "sizes of query, key and value do not go together"
			}
		}
	}
	place, feature := k[rank-2], k[rank-1]
	if a.turned {
		place, feature = feature, place
	}
	if !sameSize(feature, q[rank-1]) || !sameSize(place, v[rank-2]) {
		return "sizes of query, key and value do not go together"
	}
	if !a.rows() && !canBeSliced(memory, a.last) {
		return "its result lies otherwise"
	}
	if a.narrows && len(a.masks) > 0 {
		return "masked scores are rounded to a narrower dtype"
	}
	if !a.aim() {
		return "its dimensions are not known"
	}
	for _, s := range a.scales {
		if _, by, _ := scaledBy(s.call); memory.changes(by) {
			return by.Name() + " is written"
		}
		if s.frame != len(a.frames)-1 && !sameSizes(a.frames[s.frame].sizes, a.target.sizes) {
			return "scales are seen through a view"
		}
	}
	for _, m := range a.masks {
		if why := m.fits(a, memory, []ir.Size{q[rank-2], place}); why != "" {
			return why
		}
	}
	return ""
}

// aim finds the two dimensions before places and features that the operator is to see.
func (a *attention) aim() bool {
	lead := attentionFrame{sizes: a.lead}
	switch n := len(a.lead); {
	case n == 2:
		a.target = lead
	case n > 2:
		all := int64(1)
		for _, s := range a.lead[:n-1] {
			if one, known := s.Known(); known && all >= 0 {
				all *= one
			} else {
				all = -1 // like no other
			}
		}
		a.target = attentionFrame{sizes: []ir.Size{ir.SizeOf(all), a.lead[n-1]}}
		_, ok := lead.list(n - 1)
		return ok
	case n == 1:
		a.target = attentionFrame{sizes: []ir.Size{ir.SizeOf(1), a.lead[0]}}
		seen := []int{}
		for _, m := range a.masks {
			seen = append(seen, m.frame)
		}
		for _, s := range a.scales {
			seen = append(seen, s.frame)
		}
		for _, i := range seen {
			if f := a.frames[i]; len(f.sizes) == 2 {
				a.target = f
				_, ok := f.list(2)
				return ok
			}
		}
	default:
		a.target = attentionFrame{sizes: []ir.Size{ir.SizeOf(1), ir.SizeOf(1)}}
	}
	return true
}

// rows reports whether the result is noted as one in rows, of which the dimensions are
// in another order.
func (a *attention) rows() bool {
	meta, _ := valueOf(a.last)
	if len(meta.Strides) != len(meta.Sizes) {
		return false
	}
	order := a.result
	if order == nil {
		order = make([]int, len(meta.Sizes))
		for i := range order {
			order[i] = i
		}
	}
	next := int64(1)
	for from := len(order) - 1; from >= 0; from-- {
		to := slices.Index(order, from)
		if n := meta.Sizes[to].Hint(); n != 1 {
			if meta.Strides[to].Hint() != next {
				return false
			}
			next *= n
		}
	}
	return true
}

// fuseOne puts the operator in the place of an attention.
func (f *freezer) fuseOne(a *attention, masks attentionMasks, memory *memoryMap) error {
	at := a.last
	meta, _ := valueOf(at)
	var failed error
	call := func(op string, args ...ir.Arg) *ir.Node {
		if failed != nil {
			return at
		}
		n, err := f.call(at, at, op, args...)
		if failed = err; err != nil {
			return at
		}
		n.Meta().Delete(ir.MetaVal)
		return n
	}
	order := func(n *ir.Node, by []int) *ir.Node {
		if by == nil || slices.IsSorted(by) {
			return n
		}
		list := make([]int64, len(by))
		for i, d := range by {
			list[i] = int64(d)
		}
		return call("aten::permute", n, ir.IntList(list...))
	}
	lead := attentionFrame{sizes: a.lead}
	// operand brings query, key or value into four dimensions
	operand := func(n, of *ir.Node, by []int) *ir.Node {
		sizes, _ := valueOf(of)
		full, expands := make([]ir.Arg, len(sizes.Sizes)), false
		for i := range full {
			full[i] = ir.Int(-1)
			from := i
			if by != nil {
				from = by[i]
			}
			if i < len(a.lead) && isSizeOne(sizes.Sizes[from]) && !isSizeOne(a.lead[i]) {
				full[i], _ = lead.size(i)
				expands = true
			}
		}
		if expands {
			n = call("aten::expand", n, ir.ListOf(full...))
		}
		switch rank := len(a.lead); {
		case rank > 2:
			return call("aten::flatten.using_ints", n, ir.Int(0), ir.Int(rank-2))
		case rank == 1 && a.target.args != nil:
			sizes, _ := a.target.list(2)
			return call("aten::unflatten.int", n, ir.Int(0), sizes)
		default:
			for range 2 - rank {
				n = call("aten::unsqueeze", n, ir.Int(0)) // batch and heads are heads alike
			}
			return n
		}
	}
	q, k, v := order(a.q, a.orders[0]), order(a.k, a.orders[1]), order(a.v, a.orders[2])
	scaled := func(seen bool) {
		for _, s := range slices.Backward(a.scales) {
			if direct := s.frame == len(a.frames)-1; direct != seen {
				_, by, _ := scaledBy(s.call)
				q = call(s.call.Func().Op(), q, by)
				if of, _ := valueOf(by); of.DType != meta.DType { // scores were cast before
					q = call("aten::to.dtype", q, meta.DType)
				}
			}
		}
	}
	scaled(false)
	if a.turned {
		k = call("aten::transpose.int", k, ir.Int(-2), ir.Int(-1))
	}
	q, k, v = operand(q, a.q, a.orders[0]), operand(k, a.k, a.orders[1]), operand(v, a.v, a.orders[2])
	scaled(true)
	mask, err := masks.of(a, at, meta.DType)
	if err != nil {
		return err
	}
	restore, err := f.graph.InsertBefore(at)
	if err != nil {
		return err
	}
	result := f.graph.CallFunction(ir.OverloadOf("aten::scaled_dot_product_attention"), []ir.Arg{q, k, v, mask, ir.Float(0), ir.Bool(false)},
		ir.Kwargs(ir.Kw("scale", ir.Float(a.scale))), ir.Name("scaled_dot_product_attention"))
	restore()
	result.Meta().CopyFrom(at.Meta())
	last := result
	if len(a.lead) != 2 {
		result.Meta().Delete(ir.MetaVal)
	}
	switch rank := len(a.lead); {
	case rank > 2:
		sizes, _ := lead.list(rank - 1)
		last = call("aten::unflatten.int", result, ir.Int(0), sizes)
	case rank == 1 && a.target.args != nil:
		last = call("aten::flatten.using_ints", result, ir.Int(0), ir.Int(1))
	default:
		for range 2 - rank {
			last = call("aten::squeeze.dim", last, ir.Int(0))
		}
	}
	// the operator's result lies as the query does
	if canBeSliced(memory, at) {
		takeAnyStrides(memory, at)
		meta.Strides = nil
	} else {
		last = call("aten::contiguous", last)
	}
	last = order(last, a.result)
	last.Meta().CopyFrom(at.Meta())
	last.Meta().Set(ir.MetaVal, meta)
	if failed != nil {
		return failed
	}
	text := ""
	if n, ok := mask.(*ir.Node); ok {
		text = ", mask " + n.Name()
	}
	f.applied(result, "attention of %s, %s and %s, scale %s%s", q, k, v, ir.Repr(ir.Float(a.scale)), text)
	return f.replace(at, last)
}
