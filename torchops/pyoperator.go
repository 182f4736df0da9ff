package torchops

import (
	"reflect"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
)

var (
	fnGetItem = ir.FuncOf("operator.getitem")
	fnSetItem = ir.FuncOf("operator.setitem")
	fnGetAttr = ir.FuncOf("builtins.getattr")

	// torch.fx prints the first as the second
	fnSegmentReduce        = ir.FuncOf("torch.segment_reduce")
	fnPrivateSegmentReduce = ir.FuncOf("torch._segment_reduce")
)

// A binaryOperator is one operator of Python with two operands.
type binaryOperator struct {
	names  []string // in the operator module
	number *arithmetic
	other  func(a, b any) (v any, ok bool, err error) // sequences; nil where there is nothing else
	tensor tensorBinary
}

// The operators of two operands, with what Python calls of ATen for a tensor:
// torch/csrc/autograd/python_variable.cpp and torch/_tensor.py of 2.15.0.
var binaries = []binaryOperator{
	{[]string{"add", "iadd"}, &addNumbers, concat, tensorBinary{tensor: "aten::add.Tensor", swap: "aten::add.Tensor", inplace: "aten::add_.Tensor"}},
	{[]string{"sub", "isub"}, &subNumbers, nil, tensorBinary{tensor: "aten::sub.Tensor", reflected: "aten::rsub.Scalar", inplace: "aten::sub_.Tensor"}},
	{[]string{"mul", "imul"}, &mulNumbers, repeat, tensorBinary{tensor: "aten::mul.Tensor", swap: "aten::mul.Tensor", inplace: "aten::mul_.Tensor"}},
	{[]string{"truediv", "itruediv"}, &divNumbers, nil, tensorBinary{tensor: "aten::div.Tensor", left: reciprocalTimes, inplace: "aten::div_.Tensor"}},
	{[]string{"floordiv", "ifloordiv"}, &floorDivNumbers, nil, tensorBinary{tensor: "aten::floor_divide", first: "aten::floor_divide", inplace: "aten::floor_divide_.Tensor"}},
	{[]string{"mod", "imod"}, &modNumbers, nil, tensorBinary{tensor: "aten::remainder.Tensor", scalar: "aten::remainder.Scalar", first: "aten::remainder.Scalar_Tensor", inplace: "aten::remainder_.Tensor", inplaceScalar: "aten::remainder_.Scalar"}},
	{[]string{"pow", "ipow"}, &powNumbers, nil, tensorBinary{tensor: "aten::pow.Tensor_Tensor", scalar: "aten::pow.Tensor_Scalar", first: "aten::pow.Scalar", inplace: "aten::pow_.Tensor", inplaceScalar: "aten::pow_.Scalar"}},
	{[]string{"matmul", "imatmul"}, nil, nil, tensorBinary{tensor: "aten::matmul", tensorsOnly: true}},
	{[]string{"and_", "iand"}, &andNumbers, nil, tensorBinary{tensor: "aten::__and__.Tensor", scalar: "aten::__and__.Scalar", swap: "aten::bitwise_and.Scalar", inplace: "aten::__iand__.Tensor", inplaceScalar: "aten::__iand__.Scalar"}},
	{[]string{"or_", "ior"}, &orNumbers, nil, tensorBinary{tensor: "aten::__or__.Tensor", scalar: "aten::__or__.Scalar", swap: "aten::bitwise_or.Scalar", inplace: "aten::__ior__.Tensor", inplaceScalar: "aten::__ior__.Scalar"}},
	{[]string{"xor", "ixor"}, &xorNumbers, nil, tensorBinary{tensor: "aten::__xor__.Tensor", scalar: "aten::__xor__.Scalar", swap: "aten::bitwise_xor.Scalar", inplace: "aten::__ixor__.Tensor", inplaceScalar: "aten::__ixor__.Scalar"}},
	{[]string{"lshift", "ilshift"}, &lshiftNumbers, nil, tensorBinary{tensor: "aten::__lshift__.Tensor", scalar: "aten::__lshift__.Scalar", first: "aten::bitwise_left_shift.Scalar_Tensor", inplace: "aten::__ilshift__.Tensor", inplaceScalar: "aten::__ilshift__.Scalar"}},
	{[]string{"rshift", "irshift"}, &rshiftNumbers, nil, tensorBinary{tensor: "aten::__rshift__.Tensor", scalar: "aten::__rshift__.Scalar", first: "aten::bitwise_right_shift.Scalar_Tensor", inplace: "aten::__irshift__.Tensor", inplaceScalar: "aten::__irshift__.Scalar"}},
}

// comparisons maps each comparison to its sign and to the one with its operands
// swapped.
var comparisons = []struct {
	name, sign, swapped string
	holds               func(c int) bool
}{
	{"eq", "==", "eq", func(c int) bool { return c == 0 }},
	{"ne", "!=", "ne", func(c int) bool { return c != 0 }},
	{"lt", "<", "gt", func(c int) bool { return c < 0 }},
	{"le", "<=", "ge", func(c int) bool { return c <= 0 }},
	{"gt", ">", "lt", func(c int) bool { return c > 0 }},
	{"ge", ">=", "le", func(c int) bool { return c >= 0 }},
}

// unaries are the operators of one operand.
var unaries = []struct {
	name, sign, op string
	number         func(v any) (any, bool, error)
}{
	{"neg", "-", "aten::neg", negative},
	{"pos", "+", "aten::positive", positive},
	{"abs", "abs()", "aten::abs", absolute},
	{"invert", "~", "aten::bitwise_not", invert},
	{"inv", "~", "aten::bitwise_not", invert},
}

func init() {
	for _, b := range binaries {
		for i, name := range b.names {
			inplace := i == 1
			define("operator."+name, "a, b", func(m *libtorch.Mode, a []any) (any, error) {
				return b.apply(m, a[0], a[1], inplace)
			})
		}
	}
	for _, c := range comparisons {
		define("operator."+c.name, "a, b", func(m *libtorch.Mode, a []any) (any, error) {
			return compare(m, c.name, c.sign, c.swapped, c.holds, a[0], a[1])
		})
	}
	for _, u := range unaries {
		define("operator."+u.name, "a", func(m *libtorch.Mode, a []any) (any, error) {
			return unary(m, u.sign, u.op, u.number, a[0])
		})
	}
	define("operator.not_", "a", func(m *libtorch.Mode, a []any) (any, error) {
		t, err := truthOf(m, a[0])
		return !t, err
	})
	define("operator.truth", "a", func(m *libtorch.Mode, a []any) (any, error) { return truthOf(m, a[0]) })
	define("operator.is_", "a, b", func(_ *libtorch.Mode, a []any) (any, error) { return same(a[0], a[1]), nil })
	define("operator.is_not", "a, b", func(_ *libtorch.Mode, a []any) (any, error) { return !same(a[0], a[1]), nil })
	define("operator.index", "a", func(m *libtorch.Mode, a []any) (any, error) { return indexNumber(m, a[0]) })
	define("operator.concat", "a, b", func(_ *libtorch.Mode, a []any) (any, error) {
		v, ok, err := concat(a[0], a[1])
		if !ok && err == nil {
			err = ir.Errorf(ir.ErrType, "'%s' object can't be concatenated", typeName(a[0]))
		}
		return v, err
	})
	define("operator.contains", "a, b", func(m *libtorch.Mode, a []any) (any, error) {
		if t, ok := a[0].(*Tensor); ok {
			return tensorContains(m, t, a[1])
		}
		return contains(m, a[0], a[1])
	})
	define("operator.getitem", "a, b", func(m *libtorch.Mode, a []any) (any, error) {
		if t, ok := a[0].(*Tensor); ok {
			return getItem(m, t, a[1])
		}
		index := a[1]
		if _, ok := index.(*Tensor); ok {
			n, err := indexNumber(m, index)
			if err != nil {
				return nil, err
			}
			index = n
		}
		return indexInto(a[0], index)
	})
	define("operator.setitem", "a, b, c", func(m *libtorch.Mode, a []any) (any, error) {
		if holds(a[2], a[0]) { // what walks values would not end
			return nil, ir.Errorf(ir.ErrUnsupported, "setitem: expected a value without the %s that it is put into", typeName(a[0]))
		}
		switch v := a[0].(type) {
		case *Tensor:
			return nil, setItem(m, v, a[1], a[2])
		case []any:
			return nil, setListItem(m, v, a[1], a[2])
		case *ir.PyDict:
			if a[1] != nil && !reflect.TypeOf(a[1]).Comparable() {
				return nil, typeErrorf("unhashable type: '%s'", typeName(a[1]))
			}
			v.Set(a[1], a[2])
			return nil, nil
		}
		return nil, typeErrorf("'%s' object does not support item assignment", typeName(a[0]))
	})
	define("operator.delitem", "*args", func(m *libtorch.Mode, a []any) (any, error) {
		args := a[0].([]any)
		if len(args) != 2 {
			return nil, typeErrorf("delitem expected 2 arguments, got %d", len(args))
		}
		return nil, delItem(args[0], args[1])
	})
}

// apply computes a ∘ b as Python chooses: tensors first, numbers, the rest.
func (b *binaryOperator) apply(m *libtorch.Mode, x, y any, inplace bool) (any, error) {
	_, xt := x.(*Tensor)
	_, yt := y.(*Tensor)
	if format, isFormat := x.(string); isFormat && b.names[0] == "mod" {
		return formatPercent(m, format, y)
	}
	if xt || yt {
		v, ok, err := b.tensor.apply(m, x, y, inplace && xt)
		if ok || err != nil {
			return v, err
		}
		if b.names[0] == "mul" && (isSequence(x) || isSequence(y) && !inplace) {
			return repeatByTensor(m, x, y)
		}
	}
	if b.number != nil {
		if v, ok, err := b.number.apply(x, y); ok {
			return v, err
		}
	}
	if inplace && b.names[0] == "add" {
		if v, ok, err := extended(m, x, y); ok {
			return v, err
		}
	}
	if b.other != nil {
		if v, ok, err := b.other(x, y); ok {
			return v, err
		}
	}
	sign := "@"
	if b.number != nil {
		sign = b.number.sign
	}
	if inplace {
		sign += "="
	}
	return nil, ir.Errorf(ir.ErrType, "unsupported operand type(s) for %s: '%s' and '%s'", sign, typeName(x), typeName(y))
}

func unary(m *libtorch.Mode, sign, op string, number func(any) (any, bool, error), v any) (any, error) {
	if t, ok := v.(*Tensor); ok {
		if sign == "~" {
			if info, err := t.info(); err == nil && !info.DType.IsInt() && info.DType != ir.Bool8 {
				return nil, ir.Errorf(ir.ErrType, "~ (operator.invert) is only implemented on integer and Boolean-type tensors")
			}
		}
		return CallMode(m, op, []any{t}, nil)
	}
	r, ok, err := number(v)
	if !ok && err == nil {
		err = ir.Errorf(ir.ErrType, "bad operand type for unary %s: '%s'", sign, typeName(v))
	}
	return r, err
}

// truthOf is bool(v).
func truthOf(m *libtorch.Mode, v any) (bool, error) {
	t, ok := v.(*Tensor)
	if !ok {
		return truth(v), nil
	}
	r, err := CallMode(m, "aten::is_nonzero", []any{t}, nil)
	b, _ := r.(bool)
	return b, err
}

// indexNumber is operator.index(v): an int as it is, a 0-dim integer tensor read.
func indexNumber(m *libtorch.Mode, v any) (int64, error) {
	if t, ok := v.(*Tensor); ok {
		info, err := t.info()
		if err != nil {
			return 0, err
		}
		if info.Numel != 1 || !info.DType.IsInt() && info.DType != ir.Bool8 {
			return 0, ir.Errorf(ir.ErrType, "only integer tensors of a single element can be converted to an index")
		}
		if v, err = item(m, t); err != nil {
			return 0, err
		}
	}
	if k := kindOf(v); k != intKind && k != boolKind {
		return 0, ir.Errorf(ir.ErrType, "'%s' object cannot be interpreted as an integer", typeName(v))
	}
	return asInt(v), nil
}

// setListItem is x[index] = v of a list, one item.
func setListItem(m *libtorch.Mode, x []any, index, v any) error {
	if _, isSlice := index.(ir.Slice); isSlice {
		return ir.Errorf(ir.ErrUnsupported, "setitem: expected one index of a list, got a slice")
	}
	i, err := indexNumber(m, index)
	if err != nil {
		return typeErrorf("list indices must be integers or slices, not %s", typeName(index))
	}
	if i < 0 {
		i += int64(len(x))
	}
	if i < 0 || i >= int64(len(x)) {
		return ir.Errorf(ir.ErrIndex, "list assignment index out of range")
	}
	x[i] = v
	return nil
}

// delItem is del v[index], which lists and dicts of a run do not have: they may be
// shared.
func delItem(v, index any) error {
	switch v := v.(type) {
	case *Tensor:
		return typeErrorf("Tensor does not support deleting items")
	case []any, *ir.PyDict:
		if _, isSlice := index.(ir.Slice); !isSlice {
			if _, err := indexInto(v, index); err != nil {
				return err
			}
		}
		return ir.Errorf(ir.ErrUnsupported, "delitem: expected a %s that stays as it is", typeName(v))
	case ir.PyTuple, string:
		return typeErrorf("'%s' object doesn't support item deletion", typeName(v))
	}
	return typeErrorf("'%s' object does not support item deletion", typeName(v))
}

// repeatByTensor is [1, 2] * t: an integer tensor counts as the number it holds.
func repeatByTensor(m *libtorch.Mode, x, y any) (any, error) {
	if isSequence(y) {
		x, y = y, x
	}
	n, err := indexNumber(m, y)
	if err != nil {
		return nil, err
	}
	v, _, err := repeat(x, n)
	return v, err
}
