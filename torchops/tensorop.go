package torchops

import (
	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
)

// A tensorBinary says which ATen operator Python's operator calls when a tensor
// is involved, by what the other operand is.
type tensorBinary struct {
	tensor      string // tensor ∘ tensor, and tensor ∘ number where scalar is ""
	scalar      string // tensor ∘ number
	tensorsOnly bool   // numbers are refused
	// number ∘ tensor is one of these; where none is set, Python refuses it
	swap      string // called with the tensor first
	reflected string // likewise, an operator that swaps by itself
	first     string // called with the number first
	left      func(m *libtorch.Mode, number any, t *Tensor) (any, error)

	inplace, inplaceScalar string // of the augmented assignment
}

// apply calls the operator. ok is false where the other operand is neither a
// tensor nor a number.
func (o *tensorBinary) apply(m *libtorch.Mode, x, y any, inplace bool) (v any, ok bool, err error) {
	t, xt := x.(*Tensor)
	u, yt := y.(*Tensor)
	var op string
	args := []any{x, y}
	switch {
	case !xt && kindOf(x) == notNumber, !yt && kindOf(y) == notNumber, o.tensorsOnly && !(xt && yt):
		return nil, false, nil
	case xt && inplace && o.inplace != "":
		if op = o.inplace; !yt && o.inplaceScalar != "" {
			op = o.inplaceScalar
		}
		_, err = discard(CallMode(m, op, args, nil))
		return t, true, err
	case xt && (yt || o.scalar == ""):
		op = o.tensor
	case xt:
		op = o.scalar
	case o.left != nil:
		v, err = o.left(m, x, u)
		return v, true, err
	case o.first != "":
		op = o.first
	case o.reflected != "":
		op, args = o.reflected, []any{y, x}
	default:
		op, args = o.swap, []any{y, x}
	}
	v, err = CallMode(m, op, args, nil)
	return v, true, err
}

// reciprocalTimes is number / tensor as Python computes it, which rounds twice.
func reciprocalTimes(m *libtorch.Mode, number any, t *Tensor) (any, error) {
	r, err := CallMode(m, "aten::reciprocal", []any{t}, nil)
	if err != nil {
		return nil, err
	}
	v, err := CallMode(m, "aten::mul.Tensor", []any{r, number}, nil)
	_, _ = discard(r, nil)
	return v, err
}

// discard closes a tensor that a call returned and nobody needs.
func discard(v any, err error) (any, error) {
	if t, ok := v.(*Tensor); ok {
		_ = t.Close()
	}
	return nil, err
}

// compare is a comparison of Python. With a tensor on the right of something
// else, the operands change places.
func compare(m *libtorch.Mode, name, sign, swapped string, holds func(int) bool, x, y any) (any, error) {
	t, xt := x.(*Tensor)
	u, yt := y.(*Tensor)
	if !xt && !yt {
		switch name {
		case "eq":
			return equal(x, y), nil
		case "ne":
			return !equal(x, y), nil
		}
		return order(sign, x, y, holds)
	}
	if !xt {
		t, y, yt, name = u, x, false, swapped
	}
	switch {
	case yt:
		return CallMode(m, "aten::"+name+".Tensor", []any{t, y}, nil)
	case kindOf(y) != notNumber:
		return CallMode(m, "aten::"+name+".Scalar", []any{t, y}, nil)
	case name == "eq" || name == "ne":
		return name == "ne", nil // what == cannot compare is different
	}
	return nil, ir.Errorf(ir.ErrType, "'%s' not supported between instances of '%s' and '%s'", sign, typeName(x), typeName(y))
}

// tensorContains is "v in t".
func tensorContains(m *libtorch.Mode, t *Tensor, v any) (any, error) {
	s := NewScope()
	defer s.Close()
	found, err := compare(m, "eq", "==", "eq", nil, t, v)
	if err != nil {
		return nil, err
	}
	equals, ok := found.(*Tensor)
	if !ok {
		return nil, ir.Errorf(ir.ErrRuntime, "Tensor.__contains__ only supports Tensor or scalar, but you passed in a <class '%s'>.", typeName(v))
	}
	s.Add(equals)
	anyTrue, err := CallMode(m, "aten::any", []any{equals}, nil)
	if err != nil {
		return nil, err
	}
	return item(m, anyTrue.(*Tensor))
}
