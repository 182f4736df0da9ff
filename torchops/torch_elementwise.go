package torchops

import (
	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
)

// The methods that call a function for each element: apply_, map_ and map2_
// (torch/csrc/utils/tensor_apply.cpp). The function is one that a graph can name, or
// what operator.itemgetter and its like return.

func init() {
	defineBound(tensorMethod+"apply_", func(b *binding) (any, error) {
		return b.elementwise("apply_", b.values[0])
	}, "PyObject* callable")
	defineBound(tensorMethod+"map_", func(b *binding) (any, error) {
		return b.elementwise("map_", b.values[1], b.values[0].(*Tensor))
	}, "Tensor other, PyObject* callable")
	defineBound(tensorMethod+"map2_", func(b *binding) (any, error) {
		return b.elementwise("map2_", b.values[2], b.values[0].(*Tensor), b.values[1].(*Tensor))
	}, "Tensor x, Tensor y, PyObject* callable")
}

// elementwise writes f of each element, and of those at the same place of others.
func (b *binding) elementwise(method string, f any, others ...*Tensor) (any, error) {
	info, err := b.self.info()
	if err != nil {
		return nil, err
	}
	of := make([]libtorch.TensorInfo, len(others))
	for i, t := range others {
		if of[i], err = t.info(); err != nil {
			return nil, err
		}
	}
	recorded := info.RequiresGrad
	for _, o := range of {
		recorded = recorded || o.RequiresGrad
	}
	if recorded {
		return nil, ir.Errorf(ir.ErrRuntime, "Can't call %s() on Variable that requires grad. Use var.detach().%s() instead.", method, method)
	}
	for i, o := range of {
		if o.DType != info.DType || o.Device != info.Device || o.Layout != info.Layout {
			name := "other"
			if len(of) == 2 {
				name = [...]string{"x", "y"}[i]
			}
			return nil, typeErrorf("%s: expected %s for '%s' (got %s)", method, typeText(info.DType, info.Device, info.Layout), name, typeText(o.DType, o.Device, o.Layout))
		}
	}
	if info.Device.Kind() == ir.DeviceMeta {
		return b.same() // there are no elements
	}
	if info.Device.Kind() != ir.DeviceCPU {
		return nil, typeErrorf("%s is only implemented on CPU tensors", method)
	}
	if info.Layout != ir.Strided {
		return nil, ir.Errorf(ir.ErrRuntime, "Cannot access data pointer of Tensor that doesn't have storage")
	}
	operands := [][]any{nil}
	if operands[0], err = b.elements(b.self); err != nil {
		return nil, err
	}
	for _, t := range others {
		wide, err := b.op("aten::expand", []any{t, sizesOf(info)})
		if err != nil {
			return nil, err
		}
		list, err := b.elements(wide.(*Tensor))
		_, _ = discard(wide, nil)
		if err != nil {
			return nil, err
		}
		operands = append(operands, list)
	}
	values := &pythonData{shape: []int{len(operands[0])}}
	for i := range operands[0] {
		args := make([]any, len(operands))
		for j := range operands {
			args[j] = operands[j][i]
		}
		v, err := callValue(b.mode, f, args...)
		if err != nil {
			return nil, err
		}
		if err := values.element(v); err != nil {
			return nil, err
		}
	}
	made, err := values.tensor(info.DType)
	if err != nil {
		return nil, err
	}
	defer func() { _ = made.Close() }()
	shaped, err := b.op("aten::view", []any{made, sizesOf(info)})
	if err != nil {
		return nil, err
	}
	defer func() { _, _ = discard(shaped, nil) }()
	if _, err := discard(b.op("aten::copy_", []any{b.self, shaped})); err != nil {
		return nil, err
	}
	return b.same()
}

// elements are those of a tensor in order, as numbers.
func (b *binding) elements(t *Tensor) ([]any, error) {
	flat, err := b.op("aten::reshape", []any{t, []any{int64(-1)}})
	if err != nil {
		return nil, err
	}
	defer func() { _, _ = discard(flat, nil) }()
	v, err := (&binding{mode: b.mode, self: flat.(*Tensor)}).toList()
	list, _ := v.([]any)
	return list, err
}

// element adds the number that a function returned.
func (p *pythonData) element(v any) error {
	if t, isTensor := v.(*Tensor); isTensor {
		defer func() { _ = t.Close() }()
	} else if kindOf(v) == notNumber && !isInteger64(v) {
		return typeErrorf("must be real number, not %s", typeName(v))
	}
	return p.level(v, len(p.shape))
}

func sizesOf(info libtorch.TensorInfo) []any {
	return listOf(info.Sizes, func(n int64) any { return n })
}
