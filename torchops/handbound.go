package torchops

import (
	"errors"
	"strconv"
	"strings"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
)

// Functions and methods that PyTorch binds to C++ by hand, with the signatures of
// torch/csrc/autograd/python_variable.cpp, python_variable_methods.cpp and
// python_torch_functions_manual.cpp of 2.15.0.

// defineBound registers a function that takes its arguments as the parser of one
// or more signatures does; see [binding]. Where a signature is given an operator, run
// does for it what that does.
func defineBound(name string, run func(b *binding) (any, error), signatures ...string) *public {
	var list []*signature
	for _, text := range signatures {
		s, err := readSignature(name[strings.LastIndexByte(name, '.')+1:], text)
		if err != nil {
			panic("torchops: " + err.Error())
		}
		list = append(list, s)
	}
	p := newPublic(name, strings.HasPrefix(name, tensorMethod), list)
	p.run = run
	implementations.LoadOrStore(ir.FuncOf(name), &implementation{name: name, call: p.call, parser: p})
	return p
}

// aboutSelf makes a method that only reads facts about the tensor.
func aboutSelf(f func(libtorch.TensorInfo) any) func(b *binding) (any, error) {
	return func(b *binding) (any, error) {
		info, err := b.self.info()
		if err != nil {
			return nil, err
		}
		return f(info), nil
	}
}

// op calls an operator in the call's mode; the result joins the call's scope.
func (b *binding) op(name string, args []any, kw ...Kwarg) (any, error) {
	return CallMode(b.mode, name, args, kw)
}

// same returns the tensor that the method was called on, as a tensor that is
// closed by itself.
func (b *binding) same() (any, error) {
	h, err := b.self.Handle()
	if err != nil {
		return nil, err
	}
	if h, err = h.Ref(); err != nil {
		return nil, err
	}
	return joined(h, b.self), nil
}

// bool returns the value of a parameter that is False where it is not given.
func (b *binding) bool(i int) bool { return b.values[i] == true }

func init() {
	facts := map[string]func(libtorch.TensorInfo) any{
		"dim":            func(i libtorch.TensorInfo) any { return int64(len(i.Sizes)) },
		"ndimension":     func(i libtorch.TensorInfo) any { return int64(len(i.Sizes)) },
		"numel":          func(i libtorch.TensorInfo) any { return i.Numel },
		"nelement":       func(i libtorch.TensorInfo) any { return i.Numel },
		"storage_offset": func(i libtorch.TensorInfo) any { return i.Offset },
		"element_size":   func(i libtorch.TensorInfo) any { return int64(i.DType.Size()) },
		"get_device":     func(i libtorch.TensorInfo) any { return int64(i.Device.Index()) },
		"has_names":      func(libtorch.TensorInfo) any { return false },
	}
	for name, f := range facts {
		defineBound(tensorMethod+name, aboutSelf(f), "")
	}
	defineBound("torch.numel", func(b *binding) (any, error) { return int64(b.values[0].(*Tensor).Numel()), nil }, "Tensor input")
	defineBound("torch.get_device", func(b *binding) (any, error) {
		return int64(b.values[0].(*Tensor).Device().Index()), nil
	}, "Tensor input")
	for name, of := range map[string]func(libtorch.TensorInfo) []int64{
		"size":   func(i libtorch.TensorInfo) []int64 { return i.Sizes },
		"stride": func(i libtorch.TensorInfo) []int64 { return i.Strides },
	} {
		one := sizeAt(of)
		all := aboutSelf(func(i libtorch.TensorInfo) any { return intTuple(of(i)) })
		defineBound(tensorMethod+name, func(b *binding) (any, error) {
			if b.values[0] == nil {
				return all(b)
			}
			info, err := b.self.info()
			if err != nil {
				return nil, err
			}
			dim, err := indexNumber(b.mode, b.values[0])
			if err != nil {
				return nil, err
			}
			return one(info, []any{dim})
		}, "int64_t? dim=None")
	}
	defineBound(tensorMethod+"is_contiguous", func(b *binding) (any, error) { return b.contiguous(b.values[0]) },
		"*, MemoryFormat memory_format=None")
	contiguous := defineBound(tensorMethod+"contiguous", func(b *binding) (any, error) {
		is, err := b.contiguous(b.values[0])
		if err != nil {
			return nil, err
		}
		if is {
			return b.same()
		}
		format := b.values[0]
		if format == nil {
			format = ir.ContiguousFormat
		}
		return b.op("aten::contiguous", []any{b.self}, Kw("memory_format", format))
	}, "*, MemoryFormat memory_format=None")
	contiguous.signatures[0].op = "aten::contiguous"
	defineBound(tensorMethod+"item", func(b *binding) (any, error) { return item(b.mode, b.self) }, "")
	defineBound(tensorMethod+"tolist", func(b *binding) (any, error) { return b.toList() }, "")
	defineBound(tensorMethod+"requires_grad_", func(b *binding) (any, error) {
		return CallMode(nil, "aten::requires_grad_", []any{b.self, b.values[0] != false}, nil) // no call of the dispatcher in Python
	}, "bool requires_grad=True")
	write := defineBound(tensorMethod+"copy_", func(b *binding) (any, error) {
		return b.op("aten::copy_", []any{b.self, b.values[0], b.bool(1)})
	}, "Tensor other, bool non_blocking=False")
	write.signatures[0].op, write.signatures[0].call = "aten::copy_", []string{"self", "other"}
	defineBound(tensorMethod+"set_", func(b *binding) (any, error) {
		switch b.which {
		case 0:
			return b.op("aten::set_", []any{b.self})
		case 1:
			return b.op("aten::set_.source_Tensor", []any{b.self, b.values[0]})
		}
		args := []any{b.self, b.values[0], b.values[1], b.values[2]}
		if b.values[3] != nil {
			args = append(args, b.values[3])
		}
		return b.op("aten::set_.source_Tensor_storage_offset", args)
	}, "", "Tensor source", "Tensor source, SymInt storage_offset, SymIntArrayRef size, SymIntArrayRef stride=None")
	defineBound(tensorMethod+"nonzero", func(b *binding) (any, error) { return b.nonzero(b.self, b.bool(0), nil) },
		"*, bool as_tuple=False")
	defineBound("torch.nonzero", func(b *binding) (any, error) { return b.nonzero(b.values[0], b.bool(1), b.values[2]) },
		"Tensor input, *, bool as_tuple=False, Tensor out=None")
	defineBound("torch.range", func(b *binding) (any, error) { return b.numberRange() },
		"Scalar start, Scalar end, Scalar step=1, *, Tensor out=None, ScalarType dtype=None, Layout layout=None, Device? device=None, bool? pin_memory=False, bool? requires_grad=False")
	for _, name := range []string{"torch.conj", tensorMethod + "conj"} {
		params := "Tensor input"
		if strings.HasPrefix(name, tensorMethod) {
			params = ""
		}
		defineBound(name, func(b *binding) (any, error) {
			if b.self == nil {
				b.self = b.values[0].(*Tensor)
			}
			return b.conj()
		}, params)
	}
	define("torch.is_tensor", "obj", func(_ *libtorch.Mode, a []any) (any, error) {
		_, is := a[0].(*Tensor)
		return is, nil
	})
	define("torch.is_storage", "obj", func(*libtorch.Mode, []any) (any, error) { return false, nil })
	define("torch.get_default_dtype", "", func(*libtorch.Mode, []any) (any, error) { return ir.Float32, nil })
	define("torch.is_grad_enabled", "", func(m *libtorch.Mode, _ []any) (any, error) {
		m = modeOf(m)
		return m != nil && m.Grad, nil
	})
	define("torch.is_inference_mode_enabled", "", func(m *libtorch.Mode, _ []any) (any, error) {
		m = modeOf(m)
		return m != nil && m.Inference, nil
	})
}

// contiguous reports whether the tensor lies in memory as a format says; no
// format is row by row.
func (b *binding) contiguous(format any) (bool, error) {
	if format == nil || format == ir.ContiguousFormat {
		info, err := b.self.info()
		return info.Contiguous, err
	}
	if format == ir.PreserveFormat {
		return false, ir.Errorf(ir.ErrRuntime, "preserve memory format is unsupported by the contiguous operator")
	}
	// Not an operator call in Python, and no operator before 2.12.
	const op = "aten::is_contiguous.memory_format"
	if _, err := libtorch.Find(op); errors.Is(err, ir.ErrUnsupported) {
		info, err := b.self.info()
		return alongChannels(info.Sizes, info.Strides, format), err
	}
	v, err := CallMode(nil, op, []any{b.self, format}, nil)
	is, _ := v.(bool)
	return is, err
}

// alongChannels reports whether strides are those of a format of channels last.
func alongChannels(sizes, strides []int64, format any) bool {
	order := []int{1, 3, 2, 0}
	if format == ir.ChannelsLast3D {
		order = []int{1, 4, 3, 2, 0}
	}
	if len(sizes) != len(order) || len(strides) != len(order) {
		return false
	}
	expected := int64(1)
	for _, d := range order {
		if sizes[d] != 1 {
			if strides[d] != expected {
				return false
			}
			expected *= sizes[d]
		}
	}
	return true
}

// conj is at::Tensor::conj, which is no call of the dispatcher where the elements
// are real.
func (b *binding) conj() (any, error) {
	info, err := b.self.info()
	switch {
	case err != nil:
		return nil, err
	case !info.DType.IsComplex():
		return b.same()
	case info.Layout != ir.Strided:
		return b.op("aten::conj_physical", []any{b.self})
	}
	return b.op("aten::_conj", []any{b.self})
}

func (b *binding) nonzero(t any, asTuple bool, out any) (any, error) {
	switch {
	case asTuple && out != nil:
		return nil, ir.Errorf(ir.ErrRuntime, "nonzero does not support the out kwarg when as_tuple is True")
	case asTuple:
		v, err := b.op("aten::nonzero_numpy", []any{t})
		list, _ := v.([]any)
		return ir.PyTuple(list), err
	case out != nil:
		return b.op("aten::nonzero.out", []any{t}, Kw("out", out))
	}
	return b.op("aten::nonzero", []any{t})
}

// numberRange is torch.range, whose end is part of it.
func (b *binding) numberRange() (any, error) {
	start, end, step := b.values[0], b.values[1], b.values[2]
	if step == nil {
		step = int64(1)
	}
	if out := b.values[3]; out != nil {
		return b.op("aten::range.out", []any{start, end, step}, Kw("out", out))
	}
	kw := []Kwarg{Kw("device", CPU), Kw("pin_memory", b.bool(7))}
	for i, name := range map[int]string{4: "dtype", 5: "layout", 6: "device"} {
		if v := b.values[i]; v != nil {
			if dt, ok := dtypeOf(v); ok {
				v = dt
			}
			if name == "device" {
				kw[0].Value = v
			} else {
				kw = append(kw, Kw(name, v))
			}
		}
	}
	v, err := b.op("aten::range.step", []any{start, end, step}, kw...)
	if err == nil && b.bool(8) {
		err = requireGrad(v)
	}
	return v, err
}

// toList is the elements as numbers in nested lists, or the number of a tensor
// without dimensions.
func (b *binding) toList() (any, error) {
	plain := b.self
	for _, op := range []string{"aten::resolve_conj", "aten::resolve_neg"} {
		v, err := b.op(op, []any{plain})
		if err != nil {
			return nil, err
		}
		plain = v.(*Tensor)
		defer func() { _ = plain.Close() }()
	}
	info, data, err := plain.read("tolist")
	if err != nil {
		return nil, err
	}
	at := numberAt(info.DType, data)
	next := 0
	var build func(sizes []int64) any
	build = func(sizes []int64) any {
		if len(sizes) == 0 {
			next++
			return at(next - 1)
		}
		list := make([]any, sizes[0])
		for i := range list {
			list[i] = build(sizes[1:])
		}
		return list
	}
	return build(info.Sizes), nil
}

// numberAt returns how the elements of contiguous data are read as Python's
// numbers.
func numberAt(dt DType, data []byte) func(i int) any {
	re, im, text := decodeElements(dt, data)
	return func(i int) any {
		switch {
		case im != nil:
			return complex(re[i], im[i])
		case re != nil:
			return re[i]
		case dt == ir.Bool8:
			return text[i] == "True"
		}
		if n, err := strconv.ParseInt(text[i], 10, 64); err == nil {
			return n
		}
		n, _ := strconv.ParseUint(text[i], 10, 64) // of a uint64 tensor
		return n
	}
}
