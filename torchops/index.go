package torchops

import (
	"fmt"
	"math"
	"slices"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
)

// Subscripts of tensors, t[i] and t[i] = v. The parts of an index are applied
// from left to right as views; what is a tensor, a list or a bool is kept for
// one index operator at the end. Same rules and messages as
// torch/csrc/autograd/python_variable_indexing.cpp of 2.15.0.

// An indexing is one subscript being applied.
type indexing struct {
	mode    *libtorch.Mode
	scope   *Scope  // closes what is only needed on the way
	self    *Tensor // what the views have made of the tensor so far
	dim     int     // the dimension of self that the next part is about
	indices []any   // for the index operator: nil for a dimension without one
	indexed bool    // some of indices is a tensor
	views   int     // operators applied
	assign  bool    // t[index] = v, where a slice that takes all makes no view
}

// getItem is t[index].
func getItem(m *libtorch.Mode, t *Tensor, index any) (any, error) {
	x := indexing{mode: m, scope: NewScope(), self: t}
	defer x.scope.Close()
	if err := x.apply(index); err != nil {
		return nil, err
	}
	if x.indexed {
		if err := x.step("aten::index.Tensor", x.self, x.indices); err != nil {
			return nil, err
		}
	}
	if x.views == 0 {
		if err := x.step("aten::alias", t); err != nil {
			return nil, err
		}
	}
	return x.release(t), nil
}

// setItem is t[index] = v.
func setItem(m *libtorch.Mode, t *Tensor, index, v any) error {
	_, isTensor := v.(*Tensor)
	if !isTensor && kindOf(v) == notNumber {
		return ir.Errorf(ir.ErrType, "can't assign a %s to a tensor", typeName(v))
	}
	x := indexing{mode: m, scope: NewScope(), self: t, assign: true}
	defer x.scope.Close()
	var err error
	switch index {
	case false:
		return nil // selects nothing
	case true:
		err = x.step("aten::unsqueeze", t, 0)
	default:
		err = x.apply(index)
	}
	if err != nil {
		return err
	}
	if isTensor {
		if v, err = x.withoutLeadingOnes(v.(*Tensor)); err != nil {
			return err
		}
	}
	self := x.self
	if !x.indexed && isTensor {
		return x.step("aten::copy_", self, v)
	}
	if !x.indexed {
		return x.step("aten::fill_.Scalar", self, v)
	}
	if !isTensor {
		if done, err := x.fill(v); done || err != nil {
			return err
		}
		info, err := self.info()
		if err != nil {
			return err
		}
		number, err := callTensorMode(nil, "aten::scalar_tensor", []any{v}, Kw("dtype", info.DType), Kw("device", info.Device))
		if err != nil {
			return err
		}
		x.scope.Add(number)
		if v, err = x.make("aten::lift_fresh", []any{number}); err != nil {
			return err
		}
	}
	return x.step("aten::index_put_", self, x.indices, v)
}

// fill assigns a number where one tensor is the index: by a mask, or by places in
// one dimension. done is false where it is neither.
func (x *indexing) fill(v any) (done bool, err error) {
	dim := -1
	for i, index := range x.indices {
		if index == nil {
			continue
		}
		if dim >= 0 {
			return false, nil
		}
		dim = i
	}
	index := x.indices[dim].(*Tensor)
	info, err := index.info()
	if err != nil {
		return false, err
	}
	self, err := x.self.info()
	if err != nil {
		return false, err
	}
	switch {
	case isMask(info.DType):
		if err := maskFits(info.Sizes, self.Sizes, dim); err != nil {
			return false, err
		}
		for range len(self.Sizes) - dim - len(info.Sizes) {
			if index, err = x.make("aten::unsqueeze", []any{index, -1}); err != nil {
				return false, err
			}
		}
		return true, x.step("aten::masked_fill_.Scalar", x.self, index, v)
	case info.DType != ir.Int64:
		return false, nil
	case len(info.Sizes) > 1:
		if index, err = x.make("aten::reshape", []any{index, []int{-1}}); err != nil {
			return false, err
		}
	}
	return true, x.step("aten::index_fill_.int_Scalar", x.self, dim, index, v)
}

// maskFits refuses a mask that does not have the sizes of the dimensions that it
// indexes: masked_fill_ would broadcast it.
func maskFits(mask, self []int64, dim int) error {
	for i, n := range mask {
		if at := dim + i; at < len(self) && self[at] != n {
			return ir.Errorf(ir.ErrIndex, "The shape of the mask %s at index %d does not match the shape of the indexed tensor %s at index %d",
				reprOf(listOf(mask, func(n int64) any { return n })), i, reprOf(listOf(self, func(n int64) any { return n })), at)
		}
	}
	return nil
}

// callTensorMode calls an operator that returns a tensor.
func callTensorMode(m *libtorch.Mode, op string, args []any, kw ...Kwarg) (*Tensor, error) {
	v, err := CallMode(m, op, args, kw)
	t, _ := v.(*Tensor)
	return t, err
}

// make calls an operator whose result is needed until the end.
func (x *indexing) make(op string, args []any, kw ...Kwarg) (*Tensor, error) {
	v, err := CallMode(x.mode, op, args, kw)
	if err != nil {
		return nil, err
	}
	t := v.(*Tensor)
	x.scope.Add(t)
	return t, nil
}

// step makes of self what an operator returns.
func (x *indexing) step(op string, args ...any) error {
	t, err := x.make(op, args)
	if err != nil {
		return err
	}
	x.self = t
	x.views++
	return nil
}

// release hands the result to the scope that the tensor is in, or to the caller.
func (x *indexing) release(t *Tensor) *Tensor {
	if s := t.scope.Load(); s != nil {
		s.Add(x.self)
		return x.self
	}
	return x.scope.Keep(x.self)
}

// apply applies a whole subscript.
func (x *indexing) apply(index any) error {
	parts, kind := items(index)
	if kind != "tuple" && !listIsTuple(parts) {
		if s, ok := index.(ir.Slice); ok {
			// a slice that stands alone makes a view even if it takes all
			return x.slice(s, !x.assign)
		}
		parts = []any{index}
	}
	taken, err := dimsTaken(parts)
	if err != nil {
		return err
	}
	info, err := x.self.info()
	if err != nil {
		return err
	}
	dims := len(info.Sizes)
	if taken > dims {
		if _, isInt := index.(int64); isInt && dims == 0 {
			return ir.Errorf(ir.ErrIndex, "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a 0-dim tensor to a number")
		}
		return ir.Errorf(ir.ErrIndex, "too many indices for tensor of dimension %d", dims)
	}
	for _, part := range parts {
		if err := x.part(part, dims-taken); err != nil {
			return err
		}
	}
	return nil
}

// listIsTuple reports whether a list is taken for the tuple of its items, as
// Python does for compatibility: a short one that holds more than numbers.
func listIsTuple(list []any) bool {
	if len(list) >= 32 {
		return false
	}
	return slices.ContainsFunc(list, func(item any) bool {
		switch item.(type) {
		case nil, *Tensor, []any, ir.PyTuple, ir.Slice, ir.Ellipsis:
			return true
		}
		return false
	})
}

// dimsTaken counts the dimensions that a subscript uses up; a mask takes as many
// as it has.
func dimsTaken(parts []any) (int, error) {
	n := 0
	for _, part := range parts {
		switch part := part.(type) {
		case nil, ir.Ellipsis, bool:
		case *Tensor:
			info, err := part.info()
			if err != nil {
				return 0, err
			}
			if isMask(info.DType) {
				n += len(info.Sizes)
			} else {
				n++
			}
		default:
			n++
		}
	}
	return n, nil
}

func isMask(d DType) bool { return d == ir.Bool8 || d == ir.UInt8 }

// part applies one part of a subscript; rest is what an ellipsis stands for.
func (x *indexing) part(part any, rest int) error {
	switch part := part.(type) {
	case nil:
		x.skip(1)
		return x.step("aten::unsqueeze", x.self, x.dim-1)
	case ir.Ellipsis:
		x.skip(rest)
		return nil
	case bool:
		return x.whole(part)
	case int64:
		return x.selectAt(part)
	case ir.Slice:
		return x.slice(part, false)
	case *Tensor:
		return x.tensor(part)
	case []any:
		return x.list(part)
	case ir.PyTuple:
		return x.list(part)
	case string:
		return ir.Errorf(ir.ErrType, "new(): invalid data type 'str'")
	}
	return ir.Errorf(ir.ErrIndex, "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got %s)", typeName(part))
}

// skip leaves n dimensions without an index.
func (x *indexing) skip(n int) {
	x.dim += n
	x.indices = append(x.indices, make([]any, n)...)
}

// whole is t[True] and t[False]: a new dimension of one or no entries.
func (x *indexing) whole(all bool) error {
	if err := x.step("aten::unsqueeze", x.self, x.dim); err != nil {
		return err
	}
	n := 0
	if all {
		n = 1
	}
	t, err := x.make("aten::empty.memory_format", []any{[]int{n}}, Kw("dtype", ir.Int64), Kw("device", x.self.Device()))
	if err == nil && all {
		_, err = x.make("aten::fill_.Scalar", []any{t, 0})
	}
	if err != nil {
		return err
	}
	x.index(t, 1)
	return nil
}

// index keeps a tensor for the end; it takes dims dimensions.
func (x *indexing) index(t *Tensor, dims int) {
	x.indices = append(x.indices, t)
	x.indexed = true
	x.dim += dims
}

func (x *indexing) selectAt(i int64) error {
	info, err := x.self.info()
	if err != nil {
		return err
	}
	if size := info.Sizes[x.dim]; i >= size || i < -size {
		return ir.Errorf(ir.ErrIndex, "index %d is out of bounds for dimension %d with size %d", i, x.dim, size)
	}
	return x.step("aten::select.int", x.self, x.dim, i)
}

func (x *indexing) slice(s ir.Slice, alone bool) error {
	info, err := x.self.info()
	if err != nil {
		return err
	}
	bounds := [3]int64{0, math.MaxInt64, 1} // what Python fills in
	for i, part := range []ir.Arg{s.Start, s.Stop, s.Step} {
		v, err := normalize(part)
		if err == nil && v != nil {
			bounds[i], err = indexNumber(x.mode, v)
		}
		if err != nil {
			return err
		}
	}
	switch step := bounds[2]; {
	case step == 0:
		return ir.Errorf(ir.ErrValue, "slice step cannot be zero")
	case step < 0:
		return ir.Errorf(ir.ErrValue, "step must be greater than zero")
	case len(info.Sizes) == 0:
		return ir.Errorf(ir.ErrIndex, "slice() cannot be applied to a 0-dim tensor.")
	}
	if alone || bounds[0] != 0 || bounds[1] < info.Sizes[x.dim] || bounds[2] != 1 {
		if err := x.step("aten::slice.Tensor", x.self, x.dim, bounds[0], bounds[1], bounds[2]); err != nil {
			return err
		}
	}
	x.skip(1)
	return nil
}

// tensor applies an index tensor; one integer alone is as that integer.
func (x *indexing) tensor(t *Tensor) error {
	info, err := t.info()
	if err != nil {
		return err
	}
	if len(info.Sizes) == 0 && (info.DType.IsInt() || info.DType == ir.Bool8) {
		v, err := item(x.mode, t)
		if err != nil {
			return err
		}
		if isMask(info.DType) {
			return x.whole(truth(v))
		}
		return x.selectAt(v.(int64))
	}
	dims := 1
	if isMask(info.DType) {
		dims = len(info.Sizes)
	}
	x.index(t, dims)
	return nil
}

// list makes an index tensor of a list of ints or bools, nested or not.
func (x *indexing) list(list []any) error {
	var numbers []int64
	shape, bools, err := flatten(x.mode, list, &numbers, 0)
	if err != nil {
		return err
	}
	var t *Tensor
	if bools {
		t, err = From(listOfBools(numbers), shape...)
	} else {
		t, err = From(numbers, shape...)
	}
	if err != nil {
		return err
	}
	x.scope.Add(t)
	if d := x.self.Device(); d.Kind() != ir.DeviceCPU && d.Kind() != ir.DeviceMeta {
		if t, err = x.make("aten::to.device", []any{t, d, t.DType()}); err != nil {
			return err
		}
	}
	if t, err = x.make("aten::lift_fresh", []any{t}); err != nil {
		return err
	}
	return x.tensor(t)
}

func listOfBools(numbers []int64) []bool {
	b := make([]bool, len(numbers))
	for i, n := range numbers {
		b[i] = n != 0
	}
	return b
}

// flatten appends the numbers of a nested list and returns its shape, and
// whether all of them are bools.
func flatten(m *libtorch.Mode, list []any, numbers *[]int64, depth int) (shape []int, bools bool, err error) {
	if depth > 64 {
		return nil, false, ir.Errorf(ir.ErrValue, "too many dimensions in an index list")
	}
	shape, bools = []int{len(list)}, len(list) > 0
	for i, v := range list {
		if nested, kind := items(v); kind != "" {
			inner, innerBools, err := flatten(m, nested, numbers, depth+1)
			if err != nil {
				return nil, false, err
			}
			if i > 0 && fmt.Sprint(shape[1:]) != fmt.Sprint(inner) {
				return nil, false, ir.Errorf(ir.ErrValue, "expected sequence of length %v at dim %d (got %v)", shape[1:], depth+1, inner)
			}
			shape, bools = append(shape[:1], inner...), bools && innerBools
			continue
		}
		if f, isFloat := v.(float64); isFloat {
			v, err = floatToInt(math.Trunc(f)) // as Python does, without a word
			if err != nil {
				return nil, false, err
			}
		}
		if !isTensor(v) && kindOf(v) == notNumber && !isText(v) {
			return nil, false, ir.Errorf(ir.ErrRuntime, "Could not infer dtype of %s", typeName(v))
		}
		n, err := indexNumber(m, v)
		if err != nil {
			return nil, false, err
		}
		if len(shape) > 1 {
			return nil, false, ir.Errorf(ir.ErrType, "not a sequence")
		}
		_, isBool := v.(bool)
		bools = bools && isBool
		*numbers = append(*numbers, n)
	}
	return shape, bools, nil
}

// withoutLeadingOnes drops the leading dimensions of size 1, so that a value
// with more dimensions than the place it goes to can be broadcast.
func (x *indexing) withoutLeadingOnes(t *Tensor) (*Tensor, error) {
	info, err := t.info()
	if err != nil {
		return nil, err
	}
	sizes := info.Sizes
	for len(sizes) > 0 && sizes[0] == 1 {
		sizes = sizes[1:]
	}
	if len(sizes) == len(info.Sizes) {
		return t, nil
	}
	return x.make("aten::reshape", []any{t, sizes})
}
