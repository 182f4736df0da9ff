package passes

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// An attention is softmax(q·kᵀ·scale + mask)·v, written out around a softmax.
type attention struct {
	q, k, v *ir.Node // [batch, head, place, feature], [head, place, feature] or, by einsum, in another order
	orders  [3][]int // of dimensions that bring q, k and v into that order, nil for as they are
	turned  bool     // k is as the product has it, [..., feature, place]
	scale   float64
	mask    attentionMask
	deep    *ir.Node // where query, key and value are matrices, their scores as [batch, head, ..], nil for never
	last    *ir.Node // the second product
	result  []int    // order of dimensions that brings the result into that of last
}

// An attentionMask is what is added to scores, or says which of them are left out.
type attentionMask struct {
	node   *ir.Node
	kind   maskKind
	hidden float64 // what scores that are left out become
}

type maskKind uint8

const (
	noMask maskKind = iota
	added           // node is added
	hides           // where node is true scores are left out
	lets            // where node is false scores are left out
)

var (
	softmaxes = overloads("aten::softmax.int aten::_softmax aten::_safe_softmax")
	products  = overloads("aten::matmul aten::bmm aten::einsum")
	casts     = overloads("aten::to.dtype aten::_to_copy")
)

// fuseAttention replaces attention that is written out by libtorch's operator, which
// never holds all scores at once. Around a softmax over the last dimension it knows
//
//   - products by matmul, bmm, baddbmm and einsum, of three dimensions or of four, or
//     of four as three, as decompositions have them;
//   - keys transposed by transpose, permute and einsum;
//   - queries, keys or scores scaled by mul and div, by numbers or constants of one;
//   - masks that are added, or by which masked_fill or where hides scores, behind
//     -inf, or the least number of float32 where the values are of that;
//   - a softmax in a wider dtype.
//
// Dropout has to be gone, by drop-identities. Masks that broadcast scores, keys of fewer
// heads, and scores that others read are left.
func (f *freezer) fuseAttention() error {
	for _, n := range nodesOf(f.graph) {
		if n.Graph() == nil || n.Op() != ir.CallFunction || !softmaxes[n.Func()] {
			continue
		}
		a := &attention{scale: 1}
		memory := mapMemory(f.module)
		switch why := f.attention(a, n, memory); why {
		case "":
			if err := f.fuseOne(a, memory); err != nil {
				return fmt.Errorf("%s: %w", n, err)
			}
		case noAttention:
		default:
			f.kept(n, "%s", why)
		}
	}
	return nil
}

const noAttention = "no product follows"

// attention reads what is around a softmax, and says why that is none.
func (f *freezer) attention(a *attention, softmax *ir.Node, memory *memoryMap) (why string) {
	weights, viewed := f.weightsOf(softmax)
	if a.last = onlyUser(weights); a.last == nil || !products[a.last.Func()] {
		return noAttention
	}
	first, value, orders, ok := factors(a.last)
	if !ok || first != weights || !slices.IsSorted(orders[0]) {
		return noAttention
	}
	a.v, a.orders[2], a.result = value, orders[1], orders[2]
	meta, known := valueOf(softmax)
	args, err := bind(softmax)
	if err != nil || !known || args["dim"] != ir.Arg(ir.Int(-1)) && args["dim"] != ir.Arg(ir.Int(len(meta.Sizes)-1)) {
		return "its softmax is not over the last dimension"
	}
	scores, _ := softmax.Arg(0).(*ir.Node)
	if scores == nil || !f.scoresOf(a, scores) {
		return "its scores are no product, scaled and masked once each"
	}
	return a.fits(memory, viewed)
}

// weightsOf follows a softmax to what is multiplied: through casts, and through a view
// that makes one dimension of batch and heads.
func (f *freezer) weightsOf(softmax *ir.Node) (weights *ir.Node, viewed bool) {
	weights = softmax
	for {
		u := onlyUser(weights)
		switch {
		case u != nil && u.Arg(0) == ir.Arg(weights) && casts[u.Func()] && floatsOf(weights, u):
			weights = u
		case u != nil && !viewed && flattens(u, weights):
			weights, viewed = u, true
		default:
			return weights, viewed
		}
	}
}

// scoresOf reads scores: from the mask, past the scale, to the product.
func (f *freezer) scoresOf(a *attention, n *ir.Node) bool {
	for n != nil && n.Op() == ir.CallFunction && n.NumUsers() == 1 {
		x, _ := n.Arg(0).(*ir.Node)
		args, err := bind(n)
		if err != nil {
			return false
		}
		switch op := n.Func().Op(); {
		case x != nil && casts[n.Func()] && floatsOf(x, n):
			n = x
		case x != nil && a.deep == nil && flattens(x, n):
			a.deep = n
			n = x
		case x != nil && a.deep == nil && flattens(n, x): // for the softmax alone
			n = x
		case op == "aten::masked_fill.Scalar" || op == "aten::masked_fill.Tensor":
			mask, isNode := args["mask"].(*ir.Node)
			hidden, isNumber := f.number(args["value"])
			if !isNode || !isNumber || !a.masked(mask, hides, hidden) {
				return false
			}
			n = x
		case op == "aten::where.self":
			mask, _ := args["condition"].(*ir.Node)
			kind, scores, other := lets, args["self"], args["other"]
			hidden, isNumber := f.number(other)
			if !isNumber {
				kind, scores = hides, other
				hidden, isNumber = f.number(args["self"])
			}
			n, _ = scores.(*ir.Node)
			if mask == nil || !isNumber || !a.masked(mask, kind, hidden) {
				return false
			}
		case op == "aten::add.Tensor":
			scores, mask := f.summands(n)
			if scores == nil || args["alpha"] != ir.Arg(ir.Int(1)) && args["alpha"] != ir.Arg(ir.Float(1)) || !a.masked(mask, added, 0) {
				return false
			}
			n = scores
		case op == "aten::baddbmm":
			alpha, ok := literal(args["alpha"])
			beta, ok2 := literal(args["beta"])
			bias, ok3 := args["self"].(*ir.Node)
			if !ok || !ok2 || !ok3 || beta != 0 && (beta != 1 || !a.masked(bias, added, 0)) {
				return false
			}
			a.scale *= alpha
			return f.product(a, args["batch1"], args["batch2"])
		case products[n.Func()]:
			var ok bool
			if a.q, a.k, _, ok = factors(n); !ok {
				return false
			}
			return f.operands(a, n)
		default:
			var ok bool
			if n, ok = f.unscaled(a, n); !ok {
				return false
			}
		}
	}
	return false
}

// masked notes a mask, of which there is one.
func (a *attention) masked(mask *ir.Node, kind maskKind, hidden float64) bool {
	if a.mask.kind != noMask || a.scale != 1 {
		return false // there is one behind it, or it is scaled with the scores
	}
	a.mask = attentionMask{mask, kind, hidden}
	return kind == added || math.IsInf(hidden, -1) || hidden <= -1e38
}

// summands tells scores from a mask that is added: they lead to a product.
func (f *freezer) summands(n *ir.Node) (scores, mask *ir.Node) {
	left, ok := n.Arg(0).(*ir.Node)
	right, ok2 := n.Arg(1).(*ir.Node)
	if !ok || !ok2 {
		return nil, nil
	}
	product := func(n *ir.Node) bool {
		for range 4 {
			if n.Op() != ir.CallFunction || n.NumUsers() != 1 {
				return false
			}
			if products[n.Func()] || n.Func().Op() == "aten::baddbmm" {
				return true
			}
			next, _ := n.Arg(0).(*ir.Node)
			if next == nil {
				return false
			}
			n = next
		}
		return false
	}
	switch {
	case product(left):
		return left, right
	case product(right):
		return right, left
	}
	return nil, nil
}

// unscaled takes a multiplication by a number, or a division, off a value.
func (f *freezer) unscaled(a *attention, n *ir.Node) (*ir.Node, bool) {
	op := ""
	if n.Op() == ir.CallFunction {
		op = n.Func().Op()
	}
	if op != "aten::mul.Tensor" && op != "aten::mul.Scalar" && op != "aten::div.Tensor" && op != "aten::div.Scalar" || len(n.Args()) != 2 || len(n.Kwargs()) > 0 {
		return n, false
	}
	x, by := n.Arg(0), n.Arg(1)
	if _, isNumber := f.number(x); isNumber && strings.Contains(op, "mul") {
		x, by = by, x
	}
	scaled, _ := x.(*ir.Node)
	scale, ok := f.number(by)
	if scaled == nil || !ok || scale == 0 || math.IsInf(scale, 0) || math.IsNaN(scale) || !floatsOf(scaled, n) {
		return n, false
	}
	if strings.Contains(op, "div") {
		scale = 1 / scale
	}
	a.scale *= scale
	return scaled, true
}

// number returns the number that an argument is: a literal, or a tensor without
// dimensions that is constant.
func (f *freezer) number(a ir.Arg) (float64, bool) {
	if v, ok := literal(a); ok {
		return v, true
	}
	n, _ := a.(*ir.Node)
	if n == nil {
		return 0, false
	}
	if t, ok := f.constant(n); ok && len(t.Shape()) == 0 && t.DType().IsFloat() {
		v, err := t.Item()
		number, isFloat := v.(float64)
		return number, err == nil && isFloat
	}
	if n.Op() != ir.CallFunction {
		return 0, false
	}
	switch n.Func().Op() {
	case "aten::scalar_tensor":
		return literal(n.Arg(0))
	case "aten::full":
		if sizes, ok := n.Arg(0).(ir.List); ok && sizes.Len() == 0 {
			return literal(n.Arg(1))
		}
	}
	return 0, false
}

func onlyUser(n *ir.Node) *ir.Node {
	if n.NumUsers() != 1 {
		return nil
	}
	for u := range n.Users() {
		return u
	}
	return nil
}

// floatsOf reports whether both values are of floating point and of the same sizes.
func floatsOf(x, n *ir.Node) bool {
	a, known := valueOf(x)
	b, knownToo := valueOf(n)
	return known && knownToo && a.DType.IsFloat() && b.DType.IsFloat() && sameSizes(a.Sizes, b.Sizes)
}

var reviews = overloads("aten::view aten::_unsafe_view aten::reshape")

// flattens reports whether one of two values, of which one is a view of the other, has
// as matrices what the other has as batches of heads: flat [n, l, s], deep [b, h, l, s].
func flattens(flat, deep *ir.Node) bool {
	view := flat
	if view.Op() != ir.CallFunction || view.Arg(0) != ir.Arg(deep) {
		view = deep
		if view.Op() != ir.CallFunction || view.Arg(0) != ir.Arg(flat) {
			return false
		}
	}
	a, known := valueOf(flat)
	b, knownToo := valueOf(deep)
	return reviews[view.Func()] && known && knownToo && len(a.Sizes) == 3 && len(b.Sizes) == 4 && sameSizes(a.Sizes[1:], b.Sizes[2:])
}

// factors returns the operands of a product, and for einsum the orders of dimensions that
// bring the first into [.., row, inner], the second into [.., inner, column], and a result
// [.., row, column] into what the product returns.
func factors(n *ir.Node) (left, right *ir.Node, orders [3][]int, ok bool) {
	if n.Func().Op() != "aten::einsum" {
		left, ok = n.Arg(0).(*ir.Node)
		right, isNode := n.Arg(1).(*ir.Node)
		return left, right, orders, ok && isNode && len(n.Args()) == 2
	}
	equation, isText := n.Arg(0).(ir.Str)
	operands, isList := n.Arg(1).(ir.List)
	if !isText || !isList || operands.Len() != 2 {
		return nil, nil, orders, false
	}
	left, ok = operands.At(0).(*ir.Node)
	right, isNode := operands.At(1).(*ir.Node)
	ins, out, found := strings.Cut(strings.ReplaceAll(string(equation), " ", ""), "->")
	a, b, found2 := strings.Cut(ins, ",")
	if !ok || !isNode || !found || !found2 || len(a) != 4 || len(b) != 4 || len(out) != 4 || strings.Contains(string(equation), ".") {
		return nil, nil, orders, false
	}
	batch, row, column, inner := "", "", "", ""
	for _, c := range out {
		switch inA, inB := strings.ContainsRune(a, c), strings.ContainsRune(b, c); {
		case inA && inB:
			batch += string(c)
		case inA:
			row += string(c)
		default:
			column += string(c)
		}
	}
	for _, c := range a {
		if !strings.ContainsRune(out, c) {
			inner += string(c)
		}
	}
	if len(batch) != 2 || len(row) != 1 || len(column) != 1 || len(inner) != 1 || !strings.Contains(b, inner) {
		return nil, nil, orders, false
	}
	orders[0], orders[1] = orderOf(a, batch+row+inner), orderOf(b, batch+inner+column)
	orders[2] = orderOf(batch+row+column, out)
	return left, right, orders, orders[0] != nil && orders[1] != nil && orders[2] != nil
}

// orderOf returns where the labels of to are among those of from.
func orderOf(from, to string) (order []int) {
	for _, c := range to {
		i := strings.IndexRune(from, c)
		if i < 0 || strings.Count(to, string(c)) > 1 {
			return nil
		}
		order = append(order, i)
	}
	return order
}

func (f *freezer) product(a *attention, left, right ir.Arg) bool {
	var ok, ok2 bool
	a.q, ok = left.(*ir.Node)
	a.k, ok2 = right.(*ir.Node)
	a.turned = true
	return ok && ok2 && f.scales(a)
}

// operands reads what the product of the scores is of.
func (f *freezer) operands(a *attention, n *ir.Node) bool {
	_, _, orders, _ := factors(n)
	if orders[0] != nil && !slices.IsSorted(orders[2]) {
		return false // scores that lie otherwise
	}
	a.orders[0] = orders[0]
	if a.orders[1] = orders[1]; orders[1] != nil { // [.., inner, column] is what keys are turned
		a.orders[1] = []int{orders[1][0], orders[1][1], orders[1][3], orders[1][2]}
	}
	a.turned = orders[1] == nil
	return f.scales(a)
}

// scales takes scales off query and key, and what transposes the key.
func (f *freezer) scales(a *attention) bool {
	a.q, _ = f.unscaled(a, a.q)
	a.k, _ = f.unscaled(a, a.k)
	if a.turned && transposesLast(a.k) {
		a.turned = false
		a.k = a.k.Arg(0).(*ir.Node)
		a.k, _ = f.unscaled(a, a.k)
	}
	return true
}

// transposesLast reports whether a call swaps the last two dimensions of its operand.
func transposesLast(n *ir.Node) bool {
	meta, known := valueOf(n)
	if n.Op() != ir.CallFunction || !known {
		return false
	}
	rank := len(meta.Sizes)
	place := func(a ir.Arg) int {
		i, ok := a.(ir.Int)
		if !ok {
			return -1
		}
		return (int(i) + rank) % rank
	}
	switch n.Func().Op() {
	case "aten::transpose.int":
		i, j := place(n.Arg(1)), place(n.Arg(2))
		return min(i, j) == rank-2 && max(i, j) == rank-1
	case "aten::permute":
		order, ok := numbers(n.Arg(1), rank)
		if !ok || rank < 3 {
			return false
		}
		for i := range order {
			want := i
			if i >= rank-2 {
				want = 2*rank - 3 - i
			}
			if int((order[i]+int64(rank))%int64(rank)) != want {
				return false
			}
		}
		return true
	}
	return false
}

// fits says why libtorch's operator does not compute an attention.
func (a *attention) fits(memory *memoryMap, viewed bool) string {
	var sizes [3][]ir.Size
	var dtype ir.DType
	for i, n := range []*ir.Node{a.q, a.k, a.v} {
		meta, known := valueOf(n)
		if !known || !meta.DType.IsFloat() || i > 0 && meta.DType != dtype || len(meta.Sizes) != 3 && len(meta.Sizes) != 4 {
			return "query, key and value are not noted as tensors of one dtype and of three or four dimensions"
		}
		if memory.is(memory.written, n) {
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
	case memory.is(memory.written, m.node):
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
