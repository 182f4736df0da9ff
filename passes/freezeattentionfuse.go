package passes

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/torchfx-go/torchfx/ir"
)

// fits says why libtorch's operator does not compute an attention.
func (a *attention) fits(memory *memoryMap, viewed bool) string {
	var sizes [3][]ir.Size
	var dtype ir.DType
	for i, n := range []*ir.Node{a.q, a.k, a.v} {
		meta, known := valueOf(n)
		if !known || !meta.DType.IsFloat() || i > 0 && meta.DType != dtype || len(meta.Sizes) != 3 && len(meta.Sizes) != 4 {
			return "query, key and value are not noted as tensors of one dtype and of three or four dimensions"
		}
		if memory.changes(n) {
			return n.Name() + " is written"
		}
		dtype, sizes[i] = meta.DType, meta.Sizes
		if order := a.orders[i]; order != nil {
			sizes[i] = make([]ir.Size, len(order))
			for to, from := range order {
				sizes[i][to] = meta.Sizes[from]
			}
		}
	}
	q, k, v := sizes[0], sizes[1], sizes[2]
	rank := len(q)
	if len(k) != rank || len(v) != rank {
		return "query, key and value differ in dimensions"
	}
	place, feature := k[rank-2], k[rank-1]
	if a.turned {
		place, feature = feature, place
	}
	if !sameSizes(q[:rank-2], k[:rank-2]) || !sameSizes(q[:rank-2], v[:rank-2]) || !sameSize(feature, q[rank-1]) || !sameSize(place, v[rank-2]) {
		return "sizes of query, key and value are broadcast"
	}
	if result, known := valueOf(a.last); !known || result.DType != dtype || len(result.Sizes) != rank {
		return "its result is of another dtype, or of more dimensions"
	}
	if (a.deep != nil || viewed) && rank == 4 {
		return "it is viewed in another way"
	}
	if !a.rows() && !canBeSliced(memory, a.last) {
		return "its result lies otherwise"
	}
	if a.mask.kind == noMask {
		return ""
	}
	scores := append(append([]ir.Size{}, q[:rank-1]...), place)
	if a.deep != nil {
		meta, _ := valueOf(a.deep)
		scores = meta.Sizes
	}
	return a.mask.fits(memory, scores, dtype)
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
		order = []int{0, 1, 2, 3}[:len(meta.Sizes)]
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

// fits says why a mask cannot be given to the operator: it must not be larger than
// the scores.
func (m *attentionMask) fits(memory *memoryMap, scores []ir.Size, dtype ir.DType) string {
	meta, known := valueOf(m.node)
	if !known || len(meta.Sizes) > len(scores) || len(meta.Sizes) == 0 {
		return "its mask is not noted, or has more dimensions than the scores"
	}
	for i, s := range meta.Sizes {
		if n, known := s.Known(); (!known || n != 1) && !sameSize(s, scores[len(scores)-len(meta.Sizes)+i]) {
			return "its mask broadcasts the scores"
		}
	}
	switch {
	case memory.changes(m.node):
		return m.node.Name() + " is written"
	case m.kind == added && meta.DType != dtype:
		return "its mask is of another dtype"
	case m.kind != added && meta.DType != ir.Bool8:
		return "its mask is not of truth values"
	case m.kind != added && !math.IsInf(m.hidden, -1) && dtype != ir.Float32:
		return fmt.Sprintf("what is hidden becomes %g", m.hidden)
	}
	return ""
}

// fuseOne puts the operator in the place of an attention.
func (f *freezer) fuseOne(a *attention, memory *memoryMap) error {
	at := a.last
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
	q, k, v := order(a.q, a.orders[0]), order(a.k, a.orders[1]), order(a.v, a.orders[2])
	if a.turned {
		k = call("aten::transpose.int", k, ir.Int(-2), ir.Int(-1))
	}
	meta, _ := valueOf(a.q)
	flat := len(meta.Sizes) == 3
	heads := a.deep != nil && a.mask.kind != noMask // that the mask tells apart
	four := func(n *ir.Node) *ir.Node {
		switch {
		case !flat:
			return n
		case !heads:
			return call("aten::unsqueeze", n, ir.Int(0)) // batch and heads are heads alike
		}
		args, err := bind(a.deep)
		failed = cmp.Or(failed, err)
		sizes, ok := args["size"].(ir.List) // of view
		if !ok {
			sizes, _ = args["shape"].(ir.List) // of reshape
		}
		return call("aten::unflatten.int", n, ir.Int(0), ir.ListOf(sizes.At(0), sizes.At(1)))
	}
	mask := ir.Arg(ir.None{})
	switch m := a.mask; {
	case m.kind == noMask:
	case m.kind == added:
		mask = m.node
	case math.IsInf(m.hidden, -1) && m.kind == lets:
		mask = m.node
	case math.IsInf(m.hidden, -1):
		mask = call("aten::logical_not", m.node)
	case m.kind == hides:
		mask = call("aten::where.Scalar", m.node, ir.Float(m.hidden), ir.Float(0))
	default:
		mask = call("aten::where.Scalar", m.node, ir.Float(0), ir.Float(m.hidden))
	}
	if n, ok := mask.(*ir.Node); ok {
		if meta, _ := valueOf(a.mask.node); len(meta.Sizes)%2 == 1 { // the operator's kernels take two or four
			mask = call("aten::unsqueeze", n, ir.Int(0))
		}
	}
	q, k, v = four(q), four(k), four(v)
	restore, err := f.graph.InsertBefore(at)
	if err != nil {
		return err
	}
	result := f.graph.CallFunction(ir.OverloadOf("aten::scaled_dot_product_attention"), []ir.Arg{q, k, v, mask, ir.Float(0), ir.Bool(false)},
		ir.Kwargs(ir.Kw("scale", ir.Float(a.scale))), ir.Name("scaled_dot_product_attention"))
	restore()
	result.Meta().CopyFrom(at.Meta())
	last := result
	if flat {
		result.Meta().Delete(ir.MetaVal)
		if !heads {
			last = call("aten::squeeze.dim", result, ir.Int(0))
		} else {
			last = call("aten::flatten.using_ints", result, ir.Int(0), ir.Int(1))
		}
	}
	// the operator's result lies as the query does
	meta, _ = valueOf(at)
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
	if a.mask.kind != noMask {
		text = ", mask " + a.mask.node.Name()
	}
	f.applied(result, "attention of %s, %s and %s, scale %s%s", a.q, a.k, a.v, ir.Repr(ir.Float(a.scale)), text)
	return f.replace(at, last)
}
