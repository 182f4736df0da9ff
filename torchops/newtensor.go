package torchops

import (
	"math"

	"github.com/torchfx-go/torchfx/ir"
)

// Tensors made of Python data: torch/csrc/utils/tensor_new.cpp of 2.15.0.

const dataDepth = 128 // of nested lists, as PyTorch has it

func init() {
	defineBound("torch.tensor", func(b *binding) (any, error) {
		t, err := b.fromData(b.values[0], b.values[1], b.values[2], true)
		if err != nil {
			return nil, err
		}
		return b.fresh(t, b.bool(4))
	}, "PyObject* data, *, ScalarType dtype=None, Device? device=None, bool pin_memory=False, bool requires_grad=False, PyObject* names=None")
	defineBound("torch.as_tensor", func(b *binding) (any, error) {
		return b.asTensor(b.values[0], b.values[1], b.values[2])
	}, "PyObject* data, *, ScalarType dtype=None, Device? device=None")
	defineBound("torch.asarray", func(b *binding) (any, error) {
		v, err := b.asTensor(b.values[0], b.values[1], b.values[2])
		if err == nil && b.values[3] == true {
			var made any
			made, err = b.op("aten::clone", []any{v})
			_, _ = discard(v, nil)
			v = made
		}
		if err == nil && b.bool(4) {
			err = requireGrad(v)
		}
		return v, err
	}, "PyObject* obj, *, ScalarType? dtype=None, Device? device=None, bool? copy=None, bool requires_grad=False")
	defineBound("torch.scalar_tensor", func(b *binding) (any, error) {
		kw := []Kwarg{Kw("dtype", plainDType(b.values[1])), Kw("layout", b.values[2]), Kw("device", orCPU(b.values[3])), Kw("pin_memory", b.bool(4))}
		v, err := b.op("aten::scalar_tensor", []any{b.values[0]}, kw...)
		if err == nil && b.bool(5) {
			err = requireGrad(v)
		}
		return v, err
	}, "Scalar s, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=False, bool? requires_grad=False")
	defineBound(tensorMethod+"new_tensor", func(b *binding) (any, error) {
		info, err := b.self.info()
		if err != nil {
			return nil, err
		}
		dtype, device := b.values[1], b.values[2]
		if dtype == nil {
			dtype = info.DType
		}
		if device == nil {
			device = info.Device
		}
		t, err := b.fromData(b.values[0], dtype, device, true)
		if err != nil {
			return nil, err
		}
		return b.fresh(t, b.bool(3))
	}, "PyObject* data, *, ScalarType dtype=None, Device? device=None, bool requires_grad=False")
}

func plainDType(v any) any {
	if dt, ok := dtypeOf(v); ok {
		return dt
	}
	return nil
}

func orCPU(v any) any {
	if v == nil {
		return CPU
	}
	return v
}

// fresh ends the making of a tensor as Python does.
func (b *binding) fresh(t *Tensor, requiresGrad bool) (any, error) {
	if _, isTensor := b.values[0].(*Tensor); !isTensor {
		v, err := b.op("aten::lift_fresh", []any{t})
		_ = t.Close()
		if err != nil {
			return nil, err
		}
		t = v.(*Tensor)
	}
	if _, err := discard(b.op("aten::detach_", []any{t})); err != nil {
		return nil, err
	}
	var err error
	if requiresGrad {
		err = requireGrad(t)
	}
	if b.scope != nil {
		b.scope.Add(t)
	}
	return t, err
}

// asTensor is torch.as_tensor: a tensor itself where nothing has to change.
func (b *binding) asTensor(data, dtype, device any) (any, error) {
	if t, ok := data.(*Tensor); ok {
		info, err := t.info()
		if err != nil {
			return nil, err
		}
		d, dt := info.Device, info.DType
		if device != nil {
			if d, err = deviceOf(device); err != nil {
				return nil, err
			}
		}
		if want, ok := dtypeOf(dtype); ok {
			dt = want
		}
		return b.op("aten::to.device", []any{t, d, dt})
	}
	t, err := b.fromData(data, dtype, device, false)
	if err != nil {
		return nil, err
	}
	v, err := b.op("aten::lift_fresh", []any{t})
	_ = t.Close()
	if made, ok := v.(*Tensor); ok && b.scope != nil {
		b.scope.Add(made)
	}
	return v, err
}

// fromData makes a tensor of numbers in nested lists, of one number, or of a
// tensor, which is copied.
func (b *binding) fromData(data, dtype, device any, copies bool) (*Tensor, error) {
	d, err := deviceOf(orCPU(device))
	if err != nil {
		return nil, err
	}
	if t, ok := data.(*Tensor); ok {
		info, err := t.info()
		if err != nil {
			return nil, err
		}
		if dtype == nil {
			dtype = info.DType
		}
		if device == nil {
			d = info.Device
		}
		plain, err := b.op("aten::detach", []any{t})
		if err != nil {
			return nil, err
		}
		v, err := b.op("aten::to.device", []any{plain, d, plainDType(dtype)}, Kw("copy", copies))
		_, _ = discard(plain, nil)
		made, _ := v.(*Tensor)
		return made, err
	}
	values := &pythonData{}
	if err := values.read(data); err != nil {
		return nil, err
	}
	want := values.dtype()
	if dt, ok := dtypeOf(dtype); ok {
		want = dt
	}
	t, err := values.tensor(want)
	if err != nil || d == CPU {
		return t, err
	}
	v, err := CallMode(nil, "aten::to.device", []any{t, d, want}, nil)
	_ = t.Close()
	made, _ := v.(*Tensor)
	return made, err
}

// pythonData are the numbers of nested lists, in order.
type pythonData struct {
	shape  []int
	values []any
	widest numberKind
}

func (p *pythonData) read(data any) error {
	// the first element of each level says the shape; the others must agree
	for v, depth := data, 0; ; depth++ {
		x, kind := items(v)
		if kind == "" {
			break
		}
		if depth >= dataDepth {
			return ir.Errorf(ir.ErrValue, "too many dimensions '%s'", kind)
		}
		p.shape = append(p.shape, len(x))
		if len(x) == 0 {
			break
		}
		v = x[0]
	}
	return p.level(data, 0)
}

func (p *pythonData) level(v any, depth int) error {
	if depth < len(p.shape) {
		x, kind := items(v)
		if kind == "" {
			return typeErrorf("not a sequence")
		}
		if len(x) != p.shape[depth] {
			return ir.Errorf(ir.ErrValue, "expected sequence of length %d at dim %d (got %d)", p.shape[depth], depth, len(x))
		}
		for _, item := range x {
			if err := p.level(item, depth+1); err != nil {
				return err
			}
		}
		return nil
	}
	if t, ok := v.(*Tensor); ok {
		info, err := t.info()
		if err != nil {
			return err
		}
		if info.Numel != 1 {
			return ir.Errorf(ir.ErrValue, "only one element tensors can be converted to Python scalars")
		}
		if v, err = item(nil, t); err != nil {
			return err
		}
	}
	k := kindOf(v)
	if _, large := v.(uint64); large {
		k = intKind
	}
	switch {
	case k != notNumber:
	case isSequence(v) && !isText(v):
		return ir.Errorf(ir.ErrValue, "too many dimensions '%s'", typeName(v))
	case isText(v):
		return typeErrorf("new(): invalid data type 'str'")
	default:
		return ir.Errorf(ir.ErrRuntime, "Could not infer dtype of %s", typeName(v))
	}
	p.values = append(p.values, v)
	p.widest = max(p.widest, k)
	return nil
}

func isText(v any) bool { _, is := v.(string); return is }

// dtype is the one that Python infers.
func (p *pythonData) dtype() DType {
	return [...]DType{notNumber: ir.Float32, boolKind: ir.Bool8, intKind: ir.Int64, floatKind: ir.Float32, complexKind: ir.Complex64}[p.widest]
}

// tensor makes a CPU tensor of the numbers in the widest dtype of their kind, and
// converts it.
func (p *pythonData) tensor(want DType) (*Tensor, error) {
	kind := p.widest
	if want.IsFloat() && kind < floatKind {
		kind = floatKind // an int goes through a double, as in Python
	}
	var t *Tensor
	var err error
	switch kind {
	case complexKind:
		t, err = fromNumbers(p, asComplex)
	case floatKind:
		t, err = fromNumbers(p, asFloat)
	default:
		for _, v := range p.values {
			if err := fitsInto(v, want); err != nil {
				return nil, err
			}
		}
		t, err = fromNumbers(p, func(v any) int64 {
			if n, large := v.(uint64); large {
				return int64(n) // the same bits, of a uint64 tensor
			}
			return asInt(v)
		})
	}
	if err != nil || t.DType() == want {
		return t, err
	}
	defer func() { _ = t.Close() }()
	v, err := CallMode(nil, "aten::to.dtype", []any{t, want}, nil)
	made, _ := v.(*Tensor)
	return made, err
}

func fromNumbers[T Element](p *pythonData, number func(v any) T) (*Tensor, error) {
	list := make([]T, len(p.values))
	for i, v := range p.values {
		list[i] = number(v)
	}
	return FromBytes(DTypeOf[T](), p.shape, bytesOf(list))
}

// fitsInto refuses an int that an integer dtype does not hold.
func fitsInto(v any, dt DType) error {
	if !dt.IsInt() {
		return nil
	}
	large, isLarge := v.(uint64)
	n := asInt(v)
	bits := 8 * dt.Size()
	var fits bool
	switch {
	case isLarge:
		fits = dt == ir.UInt64
	case dt.IsUnsigned():
		fits = bits == 64 || n < 1<<bits && n >= -(1<<(bits-1)) // Python lets small negative ones wrap
	default:
		fits = bits == 64 || n >= -(1<<(bits-1)) && n < 1<<(bits-1)
	}
	if fits {
		return nil
	}
	if isLarge && large > math.MaxInt64 {
		return ir.Errorf(ir.ErrRuntime, "Overflow when unpacking long long")
	}
	return ir.Errorf(ir.ErrRuntime, "value cannot be converted to type %s without overflow", dt.Name())
}
