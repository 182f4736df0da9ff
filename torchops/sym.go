package torchops

import (
	"math"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
)

// Functions of torch on symbolic numbers, which in a run are plain ones, and
// the sizes of tensors, which need no operator call.

func init() {
	define("torch.sym_int", "a", func(m *libtorch.Mode, a []any) (any, error) { return toInt(m, a[0]) })
	define("torch.sym_float", "a", func(m *libtorch.Mode, a []any) (any, error) { return toFloat(m, a[0]) })
	define("torch.sym_not", "a", func(m *libtorch.Mode, a []any) (any, error) {
		t, err := truthOf(m, a[0])
		return !t, err
	})
	for _, name := range []string{"max", "min"} {
		define("torch.sym_"+name, "a, b", func(m *libtorch.Mode, a []any) (any, error) {
			for _, v := range a {
				if k := kindOf(v); k == notNumber && !isInteger64(v) || k == complexKind {
					return nil, ir.Errorf(ir.ErrAssertion, "expected (<class 'numpy.integer'>, <class 'numpy.floating'>, <class 'int'>, <class 'float'>), got <class '%s'>", className(v))
				}
			}
			v, err := (&extremum{name: name}).of(m, a)
			if err == nil && max(kindOf(a[0]), kindOf(a[1])) == floatKind {
				v = asFloat(v)
			}
			return v, err
		})
	}
	define("torch.sym_sum", "*args", func(m *libtorch.Mode, a []any) (any, error) {
		list := a[0].([]any)
		if len(list) == 1 {
			if inner, kind := items(list[0]); kind != "" {
				list = inner
			}
		}
		return sum(m, list, int64(0))
	})
	define("torch.sym_ite", "b, t, f", func(_ *libtorch.Mode, a []any) (any, error) {
		b, ok := a[0].(bool)
		if !ok {
			return nil, ir.Errorf(ir.ErrAssertion, "expected SymBool or bool, got <class '%s'>", className(a[0]))
		}
		if x, y := className(a[1]), className(a[2]); x != y {
			return nil, ir.Errorf(ir.ErrAssertion, "type mismatch: <class '%s'> vs <class '%s'>", x, y)
		}
		if b {
			return a[1], nil
		}
		return a[2], nil
	})
	define("torch.sym_fresh_size", "expr", func(m *libtorch.Mode, a []any) (any, error) {
		t, err := Invoke(m, ir.FuncOf("torch.tensor"), a, nil)
		if err != nil {
			return nil, err
		}
		defer func() { _, _ = discard(t, nil) }()
		return item(m, t.(*Tensor))
	})
	symMath := map[string]func(float64) float64{"sym_sqrt": math.Sqrt, "_sym_sqrt": math.Sqrt}
	for _, name := range []string{"cos", "cosh", "sin", "sinh", "tan", "tanh", "acos", "asin", "atan", "log2"} {
		symMath["_sym_"+name] = libtorch.CMath[name]
	}
	for name, f := range symMath {
		define("torch."+name, "a", func(m *libtorch.Mode, a []any) (any, error) { return callMath(m, f, a[0]) })
	}

	define("torch.ops.aten.sym_size.int", "self, dim", sizeAt(func(i libtorch.TensorInfo) []int64 { return i.Sizes }))
	define("torch.ops.aten.sym_stride.int", "self, dim", sizeAt(func(i libtorch.TensorInfo) []int64 { return i.Strides }))
	define("torch.ops.aten.sym_size.default", "self", aboutTensor(func(i libtorch.TensorInfo) any { return []any(intTuple(i.Sizes)) }))
	define("torch.ops.aten.sym_stride.default", "self", aboutTensor(func(i libtorch.TensorInfo) any { return []any(intTuple(i.Strides)) }))
	define("torch.ops.aten.sym_numel.default", "self", aboutTensor(func(i libtorch.TensorInfo) any { return i.Numel }))
	define("torch.ops.aten.sym_storage_offset.default", "self", aboutTensor(func(i libtorch.TensorInfo) any { return i.Offset }))
}

func tensorArg(v any) (*Tensor, error) {
	t, ok := v.(*Tensor)
	if !ok {
		return nil, ir.Errorf(ir.ErrType, "expected a Tensor, got %s", typeName(v))
	}
	return t, nil
}

// aboutTensor makes a function of one tensor that only reads facts about it.
func aboutTensor(f func(libtorch.TensorInfo) any) func(*libtorch.Mode, []any) (any, error) {
	return func(_ *libtorch.Mode, a []any) (any, error) {
		t, err := tensorArg(a[0])
		if err != nil {
			return nil, err
		}
		info, err := t.info()
		if err != nil {
			return nil, err
		}
		return f(info), nil
	}
}

// sizeAt makes a function that reads one of a tensor's sizes or strides.
func sizeAt(of func(libtorch.TensorInfo) []int64) func(*libtorch.Mode, []any) (any, error) {
	return func(m *libtorch.Mode, a []any) (any, error) {
		t, err := tensorArg(a[0])
		if err != nil {
			return nil, err
		}
		dim, err := indexNumber(m, a[1])
		if err != nil {
			return nil, err
		}
		info, err := t.info()
		if err != nil {
			return nil, err
		}
		sizes := of(info)
		n := int64(len(sizes))
		if dim < -n || dim >= n {
			if n == 0 {
				return nil, ir.Errorf(ir.ErrIndex, "Dimension specified as %d but tensor has no dimensions", dim)
			}
			return nil, ir.Errorf(ir.ErrIndex, "Dimension out of range (expected to be in range of [%d, %d], but got %d)", -n, n-1, dim)
		}
		if dim < 0 {
			dim += n
		}
		return sizes[dim], nil
	}
}

// className is what Python prints of the class of a value.
func className(v any) string {
	if isTensor(v) {
		return "torch.Tensor"
	}
	return typeName(v)
}
