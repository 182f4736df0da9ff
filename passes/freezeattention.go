package passes

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// An attention is softmax(q·kᵀ·scale + mask)·v, written out around a softmax.
type attention struct {
	q, k, v *ir.Node // [..., place, feature], or by einsum in another order
	orders  [3][]int // of dimensions that bring q, k and v into that order, nil for as they are
	turned  bool     // k is as the product has it, [..., feature, place]
	scale   float64
	scales  []attentionScale // the last one first
	masks   []attentionMask  // the last one first
	frames  []attentionFrame
	lead    []ir.Size      // sizes of the result but for the last two
	target  attentionFrame // of the operator: two dimensions
	safe    bool           // where all scores are -inf the softmax is 0
	narrows bool           // scores are rounded to a narrower dtype than that of the product
	weights []*ir.Node     // from the softmax to the second product, with what only they are made of
	last    *ir.Node       // the second product
	result  []int          // order of dimensions that brings the result into that of last
}

// An attentionScale is a call that multiplies scores, or divides them, by a tensor that has one
// number for all keys.
type attentionScale struct {
	call  *ir.Node
	frame int
}

// An attentionFrame is how the dimensions before the last two of scores were seen where
// something was done to them: as the operands have them, or through a view.
type attentionFrame struct {
	sizes []ir.Size
	args  []ir.Arg // of the view, nil for a size that was left to it; nil for no view
}

var (
	softmaxes = overloads("aten::softmax.int aten::_softmax aten::_safe_softmax")
	products  = overloads("aten::matmul aten::bmm aten::mm aten::einsum")
	casts     = overloads("aten::to.dtype aten::to.other aten::to.dtype_layout aten::type_as aten::_to_copy")
)

// fuseAttention replaces attention that is written out by libtorch's operator, which
// never holds all scores at once. Around a softmax over the last dimension it knows
//
//   - products by matmul, bmm, baddbmm and einsum, of any number of dimensions, or
//     of four as three, as decompositions have them;
//   - keys transposed by transpose, permute and einsum, keys of one head for all;
//   - queries, keys or scores scaled by mul and div, by numbers, by constants of one and
//     by what has one number for all keys;
//   - masks, one upon another: added, subtracted, or by masked_fill or where a number
//     in the place of scores, behind views of the scores;
//   - a softmax in a wider dtype.
//
// A number in the place of a score hides it where it is -10000 or less; scores are
// taken to be larger than half of it. Where all places are hidden from a query, the result
// is what the program given has: the mean of all values, of those that -inf does not
// hide, or NaN.
//
// Dropout has to be gone, by drop-identities. Scores and weights that others read are left.
func (f *freezer) fuseAttention() error {
	masks := attentionMasks{freezer: f, made: map[string]*ir.Node{}}
	for _, n := range nodesOf(f.graph) {
		if n.Graph() == nil || n.Op() != ir.CallFunction || !softmaxes[n.Func()] {
			continue
		}
		memory := mapMemory(f.module)
		switch a, why := f.attention(n, memory); why {
		case "":
			if err := f.fuseOne(a, masks, memory); err != nil {
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
func (f *freezer) attention(softmax *ir.Node, memory *memoryMap) (a *attention, why string) {
	chain, safe := f.safely(softmax)
	chain = weightsOf(chain)
	weights := chain[len(chain)-1]
	a = &attention{scale: 1, safe: safe || softmax.Func() == safeSoftmax, last: onlyUser(weights), weights: chain}
	if a.last == nil || a.last.Op() != ir.CallFunction || !products[a.last.Func()] {
		return nil, noAttention
	}
	var ok bool
	if a.v, a.orders[2], a.result, ok = valuesOf(a.last, weights); !ok {
		return nil, noAttention
	}
	meta, known := valueOf(softmax)
	args, err := bind(softmax)
	if err != nil || !known || args["dim"] != ir.Arg(ir.Int(-1)) && args["dim"] != ir.Arg(ir.Int(len(meta.Sizes)-1)) {
		return nil, "its softmax is not over the last dimension"
	}
	scores, _ := softmax.Arg(0).(*ir.Node)
	if scores != nil {
		a.narrows = narrower(softmax, scores)
		a = f.scoresOf(a, scores, softmax)
	}
	if scores == nil || a == nil {
		return nil, "its scores are no product, scaled and masked"
	}
	f.asBatches(a, memory)
	if why := a.fits(memory); why != "" {
		return a, why
	}
	return a, f.hidesMore(a)
}

var safeSoftmax = ir.OverloadOf("aten::_safe_softmax")

// safely returns the calls by which decompositions make 0 of a softmax of nothing but -inf, the last
// one behind the others, and whether they are there:
// where(not any(not softmax's operand == -inf), 0, softmax).
func (f *freezer) safely(softmax *ir.Node) (calls []*ir.Node, safe bool) {
	var zero, chosen *ir.Node
	for u := range softmax.Users() {
		switch u.Func() {
		case whereOp:
			chosen = u
		default:
			zero = u
		}
	}
	none := []*ir.Node{softmax}
	if chosen == nil || softmax.NumUsers() > 2 || chosen.Arg(2) != ir.Arg(softmax) || zero != nil && (!likes[zero.Func()] || chosen.Arg(1) != ir.Arg(zero)) {
		return none, false
	}
	if number, ok := f.number(chosen.Arg(1)); !ok || number != 0 {
		return none, false
	}
	at, calls := chosen.Arg(0), none
	for i, op := range []string{"aten::logical_not", "aten::any.dim", "aten::logical_not", "aten::eq.Scalar"} {
		n, _ := at.(*ir.Node)
		if n == nil || n.Op() != ir.CallFunction || n.Func().Op() != op || n.NumUsers() != 1 {
			return none, false
		}
		if i == 1 && (len(n.Args()) != 3 || n.Arg(1) != ir.Arg(ir.Int(-1)) || n.Arg(2) != ir.Arg(ir.Bool(true))) {
			return none, false
		}
		calls, at = append(calls, n), n.Arg(0)
	}
	if number, ok := literal(calls[4].Arg(1)); !ok || !math.IsInf(number, -1) || at != softmax.Arg(0) {
		return none, false
	}
	return append(calls, chosen), true
}

var whereOp = ir.OverloadOf("aten::where.self")

// weightsOf follows weights to what is multiplied: through casts, and through views of matrices as
// others.
func weightsOf(chain []*ir.Node) []*ir.Node {
	for {
		weights := chain[len(chain)-1]
		u := onlyUser(weights)
		if u == nil || u.Op() != ir.CallFunction || u.Arg(0) != ir.Arg(weights) || !(casts[u.Func()] && floatsOf(weights, u)) && !reviews(u, weights) {
			return chain
		}
		chain = append(chain, u)
	}
}

// narrower reports whether n is of a narrower dtype than x.
func narrower(n, x *ir.Node) bool {
	a, known := valueOf(n)
	b, knownToo := valueOf(x)
	return known && knownToo && a.DType.Size() < b.DType.Size()
}

// scoresOf reads scores, of which by is what makes use: from the last mask, past others and
// scales, to the product. It returns nil where that is not all that there is.
func (f *freezer) scoresOf(given *attention, n, by *ir.Node) *attention {
	a := *given
	a.masks, a.scales, a.frames = slices.Clone(a.masks), slices.Clone(a.scales), slices.Clone(a.frames)
	for n != nil && n.Op() == ir.CallFunction && a.readOnlyBy(n, by) {
		meta, known := valueOf(n)
		args, err := bind(n)
		if err != nil || !known || len(meta.Sizes) < 2 {
			return nil
		}
		if len(a.frames) == 0 {
			a.frames = append(a.frames, attentionFrame{sizes: meta.Sizes[:len(meta.Sizes)-2]})
		}
		x, _ := n.Arg(0).(*ir.Node)
		next := x
		switch op := n.Func().Op(); {
		case x != nil && casts[n.Func()] && floatsOf(x, n):
			a.narrows = a.narrows || narrower(n, x)
		case x != nil && reviews(n, x):
			if !a.view(n, args, x) {
				return nil
			}
		case op == "aten::masked_fill.Scalar" || op == "aten::masked_fill.Tensor":
			mask, isNode := args["mask"].(*ir.Node)
			hidden, isNumber := f.number(args["value"])
			if !isNode || !isNumber || !a.masked(attentionMask{node: mask, kind: hides, number: hidden}) {
				return nil
			}
		case strings.HasPrefix(op, "aten::where."):
			mask, _ := args["condition"].(*ir.Node)
			kind, scores, other := lets, args["self"], args["other"]
			hidden, isNumber := f.number(other)
			if !isNumber {
				kind, scores = hides, other
				hidden, isNumber = f.number(args["self"])
			}
			next, _ = scores.(*ir.Node)
			if mask == nil || !isNumber || !a.masked(attentionMask{node: mask, kind: kind, number: hidden}) {
				return nil
			}
		case op == "aten::add.Tensor" || op == "aten::sub.Tensor":
			return f.summands(&a, n, args)
		case op == "aten::baddbmm":
			alpha, ok := literal(args["alpha"])
			beta, ok2 := literal(args["beta"])
			bias, ok3 := args["self"].(*ir.Node)
			if !ok || !ok2 || !ok3 || beta != 0 && !a.masked(attentionMask{node: bias, number: beta}) {
				return nil
			}
			a.scale *= alpha
			a.q, ok = args["batch1"].(*ir.Node)
			a.k, ok2 = args["batch2"].(*ir.Node)
			a.turned = true
			if !ok || !ok2 || !f.operands(&a) {
				return nil
			}
			return &a
		case products[n.Func()]:
			var ok bool
			if a.q, a.k, a.orders[0], a.orders[1], ok = queriesAndKeys(n); !ok {
				return nil
			}
			a.turned = n.Func() != einsum
			if !f.operands(&a) {
				return nil
			}
			return &a
		default:
			scaled, ok := f.unscaled(&a, n)
			if !ok {
				if scaled, ok = a.scaledByTensor(n); !ok {
					return nil
				}
			}
			next = scaled
		}
		n, by = next, n
	}
	return nil
}

// view notes how scores are seen in front of a view of them.
func (a *attention) view(view *ir.Node, args map[string]ir.Arg, x *ir.Node) bool {
	outer := &a.frames[len(a.frames)-1]
	list, ok := args["size"].(ir.List) // of view
	if !ok {
		list, ok = args["shape"].(ir.List) // of reshape
	}
	if !ok || list.Len() != len(outer.sizes)+2 {
		return false
	}
	outer.args = make([]ir.Arg, len(outer.sizes))
	for i := range outer.args {
		if size := list.At(i); size != ir.Arg(ir.Int(-1)) {
			outer.args[i] = size
		}
	}
	meta, _ := valueOf(x)
	a.frames = append(a.frames, attentionFrame{sizes: meta.Sizes[:len(meta.Sizes)-2]})
	return true
}

// summands tells scores from a mask that is added to them: they lead to a product.
func (f *freezer) summands(a *attention, n *ir.Node, args map[string]ir.Arg) *attention {
	alpha, ok := literal(args["alpha"])
	left, isNode := n.Arg(0).(*ir.Node)
	right, isNode2 := n.Arg(1).(*ir.Node)
	if !ok || !isNode || !isNode2 {
		return nil
	}
	try := func(scores, mask *ir.Node, times float64) *attention {
		meta, known := valueOf(scores)
		sum, _ := valueOf(n)
		if !known || !sameSizes(meta.Sizes, sum.Sizes) {
			return nil // the mask has more
		}
		with := *a
		with.masks = slices.Clone(a.masks)
		if !with.masked(attentionMask{node: mask, number: times}) {
			return nil
		}
		return f.scoresOf(&with, scores, n)
	}
	if n.Func().Op() == "aten::sub.Tensor" {
		return try(left, right, -alpha)
	}
	if found := try(left, right, alpha); found != nil || alpha != 1 {
		return found
	}
	return try(right, left, 1)
}

// unscaled takes a multiplication by a number, or a division, off a value.
func (f *freezer) unscaled(a *attention, n *ir.Node) (*ir.Node, bool) {
	if n.Op() != ir.CallFunction || !scalings[n.Func()] || len(n.Args()) != 2 || len(n.Kwargs()) > 0 {
		return n, false
	}
	x, by := n.Arg(0), n.Arg(1)
	multiplies := strings.HasPrefix(n.Func().Op(), "aten::mul")
	if _, isNumber := f.number(x); isNumber && multiplies {
		x, by = by, x
	}
	scaled, _ := x.(*ir.Node)
	scale, ok := f.number(by)
	if scaled == nil || !ok || scale == 0 || math.IsInf(scale, 0) || math.IsNaN(scale) || !floatsOf(scaled, n) {
		return n, false
	}
	if !multiplies {
		scale = 1 / scale
	}
	a.scale *= scale
	return scaled, true
}

var scalings = overloads("aten::mul.Tensor aten::mul.Scalar aten::div.Tensor aten::div.Scalar")

// scaledByTensor notes a multiplication of scores by a tensor, or a division, that queries
// can be multiplied by as well: it has one number for all keys, and masks are not in it.
func (a *attention) scaledByTensor(n *ir.Node) (*ir.Node, bool) {
	if n.Func().Op() != "aten::mul.Tensor" && n.Func().Op() != "aten::div.Tensor" || len(n.Args()) != 2 || len(n.Kwargs()) > 0 {
		return nil, false
	}
	scores, by, ok := scaledBy(n)
	a.scales = append(a.scales, attentionScale{n, len(a.frames) - 1})
	return scores, ok && by != nil
}

// scaledBy returns the operands of a multiplication, or division, by a tensor that has one number
// for all keys.
func scaledBy(n *ir.Node) (scores, by *ir.Node, ok bool) {
	left, isNode := n.Arg(0).(*ir.Node)
	right, isNode2 := n.Arg(1).(*ir.Node)
	if !isNode || !isNode2 {
		return nil, nil, false
	}
	fits := func(x, by *ir.Node) bool {
		meta, known := valueOf(by)
		of, known2 := valueOf(x)
		rank := len(meta.Sizes)
		if !known || !known2 || !floatsOf(x, n) || !meta.DType.IsFloat() || rank > len(of.Sizes) || rank > 0 && meta.DType != of.DType {
			return false
		}
		for i, s := range meta.Sizes {
			one, isNumber := s.Known()
			if !(isNumber && one == 1) && (i == rank-1 || !sameSize(s, of.Sizes[len(of.Sizes)-rank+i])) {
				return false
			}
		}
		return true
	}
	switch {
	case fits(left, right):
		return left, right, true
	case fits(right, left) && n.Func().Op() == "aten::mul.Tensor":
		return right, left, true
	}
	return nil, nil, false
}

// number returns the number that an argument is: a literal, a constant of one element, or a
// tensor of which all elements are one number.
func (f *freezer) number(a ir.Arg) (float64, bool) { return f.numberWithin(a, 4) }

func (f *freezer) numberWithin(a ir.Arg, depth int) (float64, bool) {
	if v, ok := literal(a); ok {
		return v, true
	}
	n, _ := a.(*ir.Node)
	if n == nil || depth == 0 {
		return 0, false
	}
	if t, ok := f.constant(n); ok && t.Numel() == 1 && t.DType().IsFloat() {
		v, err := t.Item()
		number, isFloat := v.(float64)
		return number, err == nil && isFloat
	}
	if n.Op() != ir.CallFunction {
		return 0, false
	}
	switch op := n.Func().Op(); op {
	case "aten::scalar_tensor":
		return literal(n.Arg(0))
	case "aten::zeros_like":
		return 0, true
	case "aten::full", "aten::full_like":
		return literal(n.Arg(1))
	case "aten::ones_like", "aten::ones":
		return 1, true
	case "aten::mul.Tensor", "aten::mul.Scalar", "aten::div.Tensor", "aten::div.Scalar":
		x, ok := f.numberWithin(n.Arg(0), depth-1)
		y, ok2 := f.numberWithin(n.Arg(1), depth-1)
		if strings.HasPrefix(op, "aten::div") {
			y = 1 / y
		}
		return x * y, ok && ok2 && len(n.Args()) == 2 && len(n.Kwargs()) == 0
	}
	return 0, false
}

// likes are operators that look at no element of their operand.
var likes = overloads("aten::full_like aten::ones_like aten::zeros_like")

// readOnlyBy reports whether n is read by one node alone, but for what takes its sizes or its dtype
// for that node, or for weights, and goes with them.
func (a *attention) readOnlyBy(n, by *ir.Node) bool {
	var leads func(u *ir.Node, depth int) bool
	leads = func(u *ir.Node, depth int) bool {
		if u == by {
			return true
		}
		if depth == 0 || u.Op() != ir.CallFunction || u.NumUsers() == 0 || depth == 4 && !likes[u.Func()] || depth < 4 && !scalings[u.Func()] {
			return false
		}
		for next := range u.Users() {
			if !leads(next, depth-1) {
				return false
			}
		}
		return true
	}
	for u := range n.Users() {
		if !leads(u, 4) && !slices.Contains(a.weights, u) {
			return false
		}
	}
	return n.NumUsers() > 0
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

var viewing = overloads("aten::view aten::_unsafe_view aten::reshape")

// reviews reports whether n is a view of x in which the last two dimensions are those of x.
func reviews(n, x *ir.Node) bool {
	a, known := valueOf(n)
	b, knownToo := valueOf(x)
	if !known || !knownToo || !viewing[n.Func()] || n.Arg(0) != ir.Arg(x) || len(a.Sizes) < 2 || len(b.Sizes) < 2 {
		return false
	}
	return sameSizes(a.Sizes[len(a.Sizes)-2:], b.Sizes[len(b.Sizes)-2:])
}
