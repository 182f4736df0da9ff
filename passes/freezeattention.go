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
