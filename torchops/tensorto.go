package torchops

import (
	"strconv"
	"strings"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
)

// Conversions of a tensor to another dtype or device: torch/csrc/autograd/
// python_variable_methods.cpp and utils/python_arg_parsing.h of 2.15.0.

func init() {
	const rest = "bool non_blocking=False, bool copy=False, *, MemoryFormat? memory_format=None"
	p := defineBound(tensorMethod+"to", to, "Device device=None, ScalarType dtype=None, "+rest, "ScalarType dtype, "+rest, "Tensor tensor, "+rest)
	p.signatures[1].op = "aten::to.dtype"
	for name, dt := range map[string]DType{
		"float": ir.Float32, "double": ir.Float64, "half": ir.Float16, "bfloat16": ir.BFloat16, "long": ir.Int64, "int": ir.Int32,
		"short": ir.Int16, "char": ir.Int8, "byte": ir.UInt8, "bool": ir.Bool8, "cfloat": ir.Complex64, "cdouble": ir.Complex128,
	} {
		p := defineBound(tensorMethod+name, func(b *binding) (any, error) {
			return b.convert(conversion{dtype: dt, format: b.values[0]})
		}, "*, MemoryFormat? memory_format=None")
		p.signatures[0].op, p.signatures[0].call = "aten::to.dtype", []string{"self", strconv.Itoa(dt.C10())}
	}
	defineBound(tensorMethod+"cpu", func(b *binding) (any, error) {
		return b.convert(conversion{device: CPU, format: b.values[0]})
	}, "*, MemoryFormat? memory_format=None")
	defineBound(tensorMethod+"cuda", func(b *binding) (any, error) {
		device := b.values[0]
		if device == nil {
			device = CUDA(-1)
		}
		return b.convert(conversion{device: device, nonBlocking: b.bool(1), format: b.values[2]})
	}, "Device? device=None, bool non_blocking=False, *, MemoryFormat? memory_format=None")
	defineBound(tensorMethod+"type", func(b *binding) (any, error) { return b.typed() },
		"PyObject* dtype=None, bool non_blocking=False, *, MemoryFormat? memory_format=None")
}

// A conversion is what a tensor is to become; nil leaves it.
type conversion struct {
	device, dtype     any
	nonBlocking, copy bool
	format            any
}

// to is Tensor.to in its three forms.
func to(b *binding) (any, error) {
	v := b.values
	var c conversion
	switch b.which {
	case 0:
		c, v = conversion{device: v[0], dtype: v[1]}, v[2:]
	case 1:
		c, v = conversion{dtype: v[0]}, v[1:]
	default:
		like, isTensor := v[0].(*Tensor)
		if !isTensor { // a number is taken for the tensor that it would be
			n, err := libtorch.WrappedNumber(v[0])
			if err != nil {
				return nil, err
			}
			like = FromHandle(n)
			defer func() { _ = like.Close() }()
		}
		info, err := like.info()
		if err != nil {
			return nil, err
		}
		c, v = conversion{device: info.Device, dtype: info.DType}, v[1:]
	}
	c.nonBlocking, c.copy, c.format = v[0] == true, v[1] == true, v[2]
	return b.convert(c)
}

func (b *binding) convert(c conversion) (any, error) {
	if dt, ok := dtypeOf(c.dtype); ok {
		c.dtype = dt
	}
	if c.device != nil {
		d, err := deviceOf(c.device)
		if err != nil {
			return nil, err
		}
		c.device = d
	}
	rest := []Kwarg{Kw("non_blocking", c.nonBlocking), Kw("copy", c.copy), Kw("memory_format", c.format)}
	switch {
	case c.device == nil && c.dtype == nil && !c.copy && c.format == nil:
		return b.same()
	case c.device != nil && c.dtype != nil:
		return b.op("aten::to.device", []any{b.self, c.device, c.dtype}, rest...)
	case c.dtype != nil:
		return b.op("aten::to.dtype", []any{b.self, c.dtype}, rest...)
	}
	info, err := b.self.info()
	if err != nil {
		return nil, err
	}
	if c.device == nil {
		c.device = info.Device
	}
	return b.op("aten::to.dtype_layout", []any{b.self}, append(rest, Kw("dtype", info.DType), Kw("layout", info.Layout), Kw("device", c.device))...)
}

// typed is Tensor.type: the name of the legacy type, or a conversion to one or to
// a dtype.
func (b *binding) typed() (any, error) {
	info, err := b.self.info()
	if err != nil {
		return nil, err
	}
	c := conversion{device: info.Device, nonBlocking: b.bool(1), format: b.values[2]}
	switch v := b.values[0].(type) {
	case nil:
		return typeText(info.DType, info.Device, info.Layout), nil
	case DType:
		c.dtype, c.device = v, nil
	case *ir.Func:
		if c.dtype, c.device, err = legacyType(v.Name()); err != nil {
			return nil, err
		}
	case string:
		if c.dtype, c.device, err = legacyType(v); err != nil {
			return nil, err
		}
	default:
		return nil, typeErrorf("dtype must be a type, str, or dtype object")
	}
	return b.convert(c)
}

// legacyNames are what the names of the legacy tensor types call the dtypes.
var legacyNames = map[DType]string{
	ir.UInt8: "Byte", ir.Int8: "Char", ir.Int16: "Short", ir.Int32: "Int", ir.Int64: "Long", ir.Float16: "Half", ir.Float32: "Float",
	ir.Float64: "Double", ir.Complex32: "ComplexHalf", ir.Complex64: "ComplexFloat", ir.Complex128: "ComplexDouble", ir.Bool8: "Bool",
	ir.BFloat16: "BFloat16", ir.UInt16: "UInt16", ir.UInt32: "UInt32", ir.UInt64: "UInt64", ir.QInt8: "QInt8", ir.QUInt8: "QUInt8",
	ir.QInt32: "QInt32", ir.Float8E5M2: "Float8_e5m2", ir.Float8E4M3FN: "Float8_e4m3fn", ir.Float8E5M2FNUZ: "Float8_e5m2fnuz",
	ir.Float8E4M3FNUZ: "Float8_e4m3fnuz", ir.Float8E8M0FNU: "Float8_e8m0fnu", ir.Float4E2M1FNX2: "Float4_e2m1fn_x2", ir.BComplex32: "ComplexBFloat16",
}

// typeText is what Tensor.type() returns.
func typeText(dt DType, device Device, layout Layout) string {
	text := "torch."
	if device.Kind() != ir.DeviceCPU {
		text += device.Kind().String() + "."
	}
	if layout == ir.Sparse {
		text += "sparse."
	}
	return text + legacyNames[dt] + "Tensor"
}

// legacyType reads "torch.cuda.FloatTensor".
func legacyType(name string) (dtype, device any, err error) {
	rest, ok := strings.CutPrefix(name, "torch.")
	device = CPU
	if gpu, on := strings.CutPrefix(rest, "cuda."); on {
		rest, device = gpu, CUDA(-1)
	}
	rest, tensor := strings.CutSuffix(rest, "Tensor")
	for dt, legacy := range legacyNames {
		if ok && tensor && legacy == rest {
			return dt, device, nil
		}
	}
	return nil, nil, ir.Errorf(ir.ErrValue, "invalid type: '%s'", strings.TrimPrefix(name, "builtins."))
}
