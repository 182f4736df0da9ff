package torchops

import (
	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
)

// The properties of torch.Tensor, which graphs read by getattr(x, "shape"), and
// recorded calls as torch.Tensor.shape.__get__.

// tensorViews are the properties that are operators.
var tensorViews = map[string]string{
	"T": "aten::numpy_T", "H": "aten::matrix_H", "mT": "aten::mT", "mH": "aten::mH",
	"real": "aten::real", "imag": "aten::imag", "data": "aten::detach",
}

// tensorFacts are the properties that are read without a call.
var tensorFacts = map[string]func(libtorch.TensorInfo) any{
	"shape":         func(i libtorch.TensorInfo) any { return intTuple(i.Sizes) },
	"dtype":         func(i libtorch.TensorInfo) any { return i.DType },
	"device":        func(i libtorch.TensorInfo) any { return i.Device },
	"layout":        func(i libtorch.TensorInfo) any { return i.Layout },
	"ndim":          func(i libtorch.TensorInfo) any { return int64(len(i.Sizes)) },
	"requires_grad": func(i libtorch.TensorInfo) any { return i.RequiresGrad },
	"itemsize":      func(i libtorch.TensorInfo) any { return int64(i.DType.Size()) },
	"nbytes":        func(i libtorch.TensorInfo) any { return i.Numel * int64(i.DType.Size()) },
	"is_sparse":     func(i libtorch.TensorInfo) any { return i.Layout == ir.Sparse },
	"is_sparse_csr": func(i libtorch.TensorInfo) any { return i.Layout == ir.SparseCSR },
	"is_mkldnn":     func(i libtorch.TensorInfo) any { return i.Layout == ir.Mkldnn },
	"is_quantized":  func(i libtorch.TensorInfo) any { return i.DType.IsQuantized() },
	"is_nested":     func(libtorch.TensorInfo) any { return false }, // one has no TensorInfo
	"name":          func(libtorch.TensorInfo) any { return nil },   // torch has given names up
	"volatile":      func(libtorch.TensorInfo) any { return false },
	"grad_dtype":    func(i libtorch.TensorInfo) any { return i.DType },
	"grad":          func(libtorch.TensorInfo) any { return nil }, // nothing here runs backwards
}

// gradientFacts are the properties that operators of the dispatcher read, which
// Python does not count as calls.
var gradientFacts = map[string]string{
	"is_leaf": "aten::is_leaf", "output_nr": "aten::output_nr", "_version": "aten::_version", "retains_grad": "aten::retains_grad",
}

func init() {
	for name, kind := range map[string]ir.DeviceKind{
		"is_cpu": ir.DeviceCPU, "is_cuda": ir.DeviceCUDA, "is_meta": ir.DeviceMeta, "is_mps": ir.DeviceMPS, "is_xpu": ir.DeviceXPU,
		"is_xla": ir.DeviceXLA, "is_ipu": ir.DeviceIPU, "is_vulkan": ir.DeviceVulkan, "is_maia": ir.DeviceMAIA, "is_mtia": ir.DeviceMTIA,
	} {
		tensorFacts[name] = func(i libtorch.TensorInfo) any { return i.Device.Kind() == kind }
	}
	names := []string{"grad_fn"}
	for name := range tensorViews {
		names = append(names, name)
	}
	for name := range tensorFacts {
		names = append(names, name)
	}
	for name := range gradientFacts {
		names = append(names, name)
	}
	for _, name := range names {
		define(tensorMethod+name+".__get__", "self, owner?", func(m *libtorch.Mode, a []any) (any, error) {
			t, ok := a[0].(*Tensor)
			if !ok {
				return nil, typeErrorf("descriptor '%s' for 'torch._C.TensorBase' objects doesn't apply to a '%s' object", name, typeName(a[0]))
			}
			return tensorAttr(m, t, name)
		})
	}
}

// tensorAttr is getattr(t, name).
func tensorAttr(m *libtorch.Mode, t *Tensor, name string) (any, error) {
	if op, isView := tensorViews[name]; isView {
		return CallMode(m, op, []any{t}, nil)
	}
	if op, isFact := gradientFacts[name]; isFact {
		return CallMode(nil, op, []any{t}, nil)
	}
	info, err := t.info()
	if err != nil {
		return nil, err
	}
	if f, isFact := tensorFacts[name]; isFact {
		return f(info), nil
	}
	if name == "grad_fn" {
		if leaf, err := CallMode(nil, "aten::is_leaf", []any{t}, nil); err != nil || leaf == true {
			return nil, err
		}
		return nil, ir.Errorf(ir.ErrUnsupported, "attribute grad_fn of a tensor that is no leaf: what autograd records is not reached from here")
	}
	return nil, ir.Errorf(ir.ErrAttribute, "'Tensor' object has no attribute '%s'", name)
}

// getAttr is getattr(v, name) for what a graph asks of tensors and of the
// containers that its inputs have.
func getAttr(m *libtorch.Mode, v any, name string) (any, error) {
	switch v := v.(type) {
	case *Tensor:
		return tensorAttr(m, v, name)
	case *ir.PyObject:
		if value, ok := v.Get(name); ok {
			return value, nil
		}
	case ir.PyTuple:
		if item, ok := returnItem(v, name); ok {
			return item, nil
		}
	case Device:
		switch name {
		case "type":
			return v.Kind().String(), nil
		case "index":
			if v.Index() < 0 {
				return nil, nil
			}
			return int64(v.Index()), nil
		}
	case DType:
		switch name {
		case "itemsize":
			return int64(v.Size()), nil
		case "is_floating_point":
			return v.IsFloat(), nil
		case "is_complex":
			return v.IsComplex(), nil
		case "is_signed":
			return !v.IsUnsigned() && v != ir.Bool8, nil
		}
	case complex128:
		switch name {
		case "real":
			return real(v), nil
		case "imag":
			return imag(v), nil
		}
	case int64, float64, bool:
		switch name {
		case "real":
			if b, isBool := v.(bool); isBool {
				return asInt(b), nil
			}
			return v, nil
		case "imag":
			if _, isFloat := v.(float64); isFloat {
				return 0.0, nil
			}
			return int64(0), nil
		}
	case ir.Slice:
		for part, a := range map[string]ir.Arg{"start": v.Start, "stop": v.Stop, "step": v.Step} {
			if part == name {
				return normalize(a)
			}
		}
	}
	return nil, ir.Errorf(ir.ErrAttribute, "'%s' object has no attribute '%s'", typeName(v), name)
}

func intTuple(x []int64) ir.PyTuple {
	return ir.PyTuple(listOf(x, func(n int64) any { return n }))
}
