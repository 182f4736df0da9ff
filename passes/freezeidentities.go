package passes

import (
	"slices"

	"github.com/torchfx-go/torchfx/ir"
)

// dropouts return their first argument when they do not train.
var dropouts = overloads("aten::dropout aten::dropout_ aten::feature_dropout aten::feature_dropout_ aten::alpha_dropout aten::alpha_dropout_ " +
	"aten::feature_alpha_dropout aten::feature_alpha_dropout_")

// copiesOf return their first argument, in memory of their own or the same, with the
// dtype, place and layout that other arguments say.
var copiesOf = overloads("aten::alias aten::detach aten::lift_fresh aten::contiguous aten::clone aten::_to_copy aten::to.device aten::to.dtype " +
	"aten::to.other aten::type_as aten::to.dtype_layout aten::lift_fresh_copy aten::alias_copy aten::detach_copy aten::positive")

// stridedViews are views of a tensor's elements that sizes, strides and offset
// describe.
var stridedViews = overloads("aten::view aten::_unsafe_view aten::reshape aten::expand aten::permute aten::transpose.int aten::t aten::slice.Tensor " +
	"aten::narrow aten::flatten.using_ints aten::unflatten.int aten::squeeze aten::squeeze.dim aten::squeeze.dims aten::unsqueeze " +
	"aten::as_strided aten::view_as aten::reshape_as aten::expand_as aten::movedim.int aten::swapaxes")

var assertMetadata = ir.OverloadOf("aten::_assert_tensor_metadata")

// dropIdentities takes out what returns its first argument as it is, whatever the caller gives.
func (f *freezer) dropIdentities() error {
	m := mapMemory(f.module)
	for n := range f.graph.Nodes() {
		if n.Op() != ir.CallFunction {
			continue
		}
		x, _ := n.Arg(0).(*ir.Node)
		if x != nil && viewing[n.Func()] {
			if base := sameElements(x); base != x {
				if err := n.UpdateArg(0, base); err != nil {
					return err
				}
				f.applied(n, "views between %s and it change nothing", base)
				x = base
			}
		}
		switch {
		case x == nil:
		case n.Func() == assertMetadata:
			if metadataHolds(n, x) {
				f.applied(n, "%s checks what is noted of %s", n.Func().Op(), x)
				if err := f.graph.Erase(n); err != nil {
					return err
				}
			}
		case dropouts[n.Func()]:
			if args, err := bind(n); err == nil && (args["train"] == ir.Bool(false) || args["training"] == ir.Bool(false)) {
				if err := f.pass(n, x, "dropout that does not train"); err != nil {
					return err
				}
			}
		case copiesOf[n.Func()] && sameValue(n, x):
			if !m.mayStandFor(x, n) {
				f.kept(n, "its memory is written, or is a result's")
				continue
			}
			if laysOut(n) && laidByCaller(x) {
				f.kept(n, "how %s lies is the caller's to say", x)
				continue
			}
			if err := f.pass(n, x, n.Func().Op()+" changes nothing"); err != nil {
				return err
			}
		case stridedViews[n.Func()] && sameValue(n, x):
			if m.is(m.returned, n) && !m.is(m.returned, x) && m.is(m.outside, x) {
				continue // another object for the caller
			}
			if err := f.pass(n, x, n.Func().Op()+" changes nothing"); err != nil {
				return err
			}
		}
	}
	return nil
}

// laysOut reports whether a copy says how its result lies, whatever its operand does.
func laysOut(n *ir.Node) bool {
	format, given := n.Kwarg("memory_format")
	if n.Func() == contiguous {
		return true
	}
	return given && format != ir.Arg(ir.None{}) && format != ir.Arg(ir.PreserveFormat)
}

// laidByCaller reports whether a value may lie otherwise than noted since an argument does, of which
// strides are noted as they were at export: a caller may give others.
func laidByCaller(x *ir.Node) bool {
	seen := map[*ir.Node]bool{}
	var follows func(*ir.Node) bool
	follows = func(n *ir.Node) bool {
		if n.Op() == ir.Placeholder {
			return true
		}
		if seen[n] || ownLayout[n.Func()] || laysOut(n) || !anyStrides(n) {
			return false
		}
		seen[n] = true
		return slices.ContainsFunc(n.Inputs(), follows)
	}
	return follows(x)
}

var contiguous = ir.OverloadOf("aten::contiguous")

var permutations = overloads("aten::permute aten::transpose.int aten::unsqueeze aten::squeeze.dim")

// sameElements returns the value of which x is a view with the same elements one behind the
// other: dimensions of one element were added, taken out or moved, as what einsum is made of does,
// or moved and moved back.
func sameElements(x *ir.Node) (base *ir.Node) {
	base = x
	meta, known := valueOf(x)
	order := []int{} // dimensions of x that are not of one element, by their places in what it is a view of
	for i, s := range meta.Sizes {
		if !isSizeOne(s) {
			order = append(order, i)
		}
	}
	for n := x; known && n.Op() == ir.CallFunction; {
		from, _ := n.Arg(0).(*ir.Node)
		if from == nil {
			break
		}
		var of ir.TensorMeta
		if of, known = valueOf(from); !known {
			break
		}
		if viewing[n.Func()] && n.Func() != reshapeOp && base == n {
			order = order[:0]
			for i, s := range of.Sizes {
				if !isSizeOne(s) {
					order = append(order, i)
				}
			}
			base, n = from, from
			continue
		}
		places, ok := placesOf(n, len(of.Sizes))
		if !ok {
			break
		}
		for i, at := range order {
			if order[i] = places[at]; order[i] < 0 {
				return base // it is of another size there
			}
		}
		if slices.IsSorted(order) {
			base = from
		}
		n = from
	}
	return base
}

// placesOf returns where the dimensions of a permuted, squeezed or unsqueezed value are in what it is
// a view of, -1 for one that is not there.
func placesOf(n *ir.Node, rank int) (places []int, ok bool) {
	if !permutations[n.Func()] {
		return nil, false
	}
	for i := range rank {
		places = append(places, i)
	}
	dim := func(i, rank int) int {
		d, isInt := n.Arg(i).(ir.Int)
		if !isInt || int(d) < -rank || int(d) >= rank {
			ok = false
			return 0
		}
		return (int(d) + rank) % rank
	}
	ok = true
	switch n.Func().Op() {
	case "aten::permute":
		order, isList := numbers(n.Arg(1), rank)
		if !isList || rank < 2 {
			return nil, false
		}
		for i, d := range order {
			places[i] = (int(d) + rank) % rank
		}
	case "aten::transpose.int":
		if a, b := dim(1, rank), dim(2, rank); ok {
			places[a], places[b] = places[b], places[a]
		}
	case "aten::unsqueeze":
		if d := dim(1, rank+1); ok {
			places = slices.Insert(places, d, -1)
		}
	default: // squeeze, which leaves a dimension that has more
		meta, known := valueOf(n)
		if d := dim(1, rank); ok && known && len(meta.Sizes) < rank {
			places = slices.Delete(places, d, d+1)
		}
		ok = ok && known
	}
	return places, ok
}

// pass makes what reads n read its operand x.
func (f *freezer) pass(n, x *ir.Node, why string) error {
	f.applied(n, "%s", why)
	return f.replace(n, x)
}

// sameValue reports whether n and x are noted as tensors that agree in all but where
// their memory is. What is not known, the strides of packed values say, does not agree.
func sameValue(n, x *ir.Node) bool {
	a, known := valueOf(n)
	b, knownToo := valueOf(x)
	return known && knownToo && a.DType == b.DType && a.Device == b.Device && a.Layout == b.Layout && a.Layout == ir.Strided && len(a.Strides) == len(a.Sizes) &&
		sameSizes(a.Sizes, b.Sizes) && sameSizes(a.Strides, b.Strides) && sameSize(a.StorageOffset, b.StorageOffset)
}

// metadataHolds reports whether a check of a tensor's dtype, device and layout follows
// from what is noted of it.
func metadataHolds(n, x *ir.Node) bool {
	meta, known := valueOf(x)
	args, err := bind(n)
	if !known || err != nil || x.Op() == ir.Placeholder {
		return false // guards of inputs are another's
	}
	for name, holds := range map[string]func(ir.Arg) bool{
		"dtype":  func(a ir.Arg) bool { return a == meta.DType },
		"device": func(a ir.Arg) bool { d, ok := a.(ir.Device); return ok && d.Kind() == meta.Device.Kind() },
		"layout": func(a ir.Arg) bool { return a == meta.Layout },
		"size":   func(ir.Arg) bool { return false },
		"stride": func(ir.Arg) bool { return false },
	} {
		if a := args[name]; a != nil && a != (ir.None{}) && !holds(a) {
			return false
		}
	}
	return true
}
