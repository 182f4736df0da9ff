package torchops

import (
	"unsafe"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
)

// From returns a CPU tensor with a copy of data, in row-major order. Without a
// shape it has one dimension; an empty shape that is wanted is [Scalar]'s.
func From[T Element](data []T, shape ...int) (*Tensor, error) {
	if len(shape) == 0 {
		shape = []int{len(data)}
	}
	n, err := numelOf(shape, DTypeOf[T]())
	if err == nil && n != len(data) {
		err = ir.Errorf(ir.ErrValue, "shape %v: expected %d elements, got %d", shape, n, len(data))
	}
	if err != nil {
		return nil, failed("From", nil, nil, err)
	}
	return FromBytes(DTypeOf[T](), shape, bytesOf(data))
}

// FromBytes returns a CPU tensor with a copy of contiguous elements of any
// dtype, in this machine's byte order.
func FromBytes(dt DType, shape []int, data []byte) (*Tensor, error) {
	n, err := numelOf(shape, dt)
	if err == nil && !dt.Valid() {
		err = ir.Errorf(ir.ErrValue, "expected a dtype, got %s", dt)
	}
	if err == nil && n*dt.Size() != len(data) {
		err = ir.Errorf(ir.ErrValue, "shape %v of %s: expected %d bytes of data, got %d", shape, dt, n*dt.Size(), len(data))
	}
	if err != nil {
		return nil, failed("FromBytes", nil, nil, err)
	}
	h, err := libtorch.NewTensor(dt, toInt64s(shape), data)
	if err != nil {
		return nil, failed("FromBytes", nil, nil, err)
	}
	return FromHandle(h), nil
}

// FromMemory returns a tensor over memory that it does not copy, a mapped file
// say. Element i of dimension 0 starts strides[0]*i elements after offset; nil
// strides are contiguous ones.
//
// The memory must stay where it is and keep its contents until release is
// called, which happens when libtorch drops the last tensor that shares it;
// whether the tensor may be written is the caller's to know. What the strides
// reach is checked against len(mem).
func FromMemory(mem []byte, dt DType, shape, strides []int, offset int, release func()) (*Tensor, error) {
	if strides == nil {
		strides = contiguousStrides(shape)
	}
	h, err := libtorch.FromMemory(mem, dt, toInt64s(shape), toInt64s(strides), int64(offset), release)
	if err != nil {
		return nil, failed("FromMemory", nil, nil, err)
	}
	return FromHandle(h), nil
}

// contiguousStrides returns the strides of row-major elements.
func contiguousStrides(shape []int) []int {
	strides := make([]int, len(shape))
	step := 1
	for i := len(shape) - 1; i >= 0; i-- {
		strides[i] = step
		step *= max(shape[i], 1)
	}
	return strides
}

// Scalar returns a CPU tensor without dimensions that holds v, a number in any
// Go type, converted to dt as torch.tensor does. InvalidDType takes the dtype
// that Python would: bool, int64, float32 or complex64.
func Scalar(v any, dt DType) (*Tensor, error) {
	number, err := normalize(v)
	if _, large := number.(uint64); err == nil && !large && kindOf(number) == notNumber {
		err = ir.Errorf(ir.ErrType, "expected a number, got %s", typeName(number))
	}
	if err != nil {
		return nil, failed("Scalar", []any{v}, nil, err)
	}
	if dt == ir.InvalidDType {
		dt = [...]DType{notNumber: ir.UInt64, boolKind: ir.Bool8, intKind: ir.Int64, floatKind: ir.Float32, complexKind: ir.Complex64}[kindOf(number)]
	}
	r, err := Call("aten::scalar_tensor", number, Kw("dtype", dt))
	t, _ := r.(*Tensor)
	return t, err
}

// Bytes returns a copy of the elements in row-major order and in this machine's
// byte order. A tensor that is elsewhere, or not contiguous, is brought into
// that order first.
func (t *Tensor) Bytes() ([]byte, error) {
	_, data, err := t.read("Bytes")
	return data, err
}

// read returns the elements with the facts about them.
func (t *Tensor) read(method string) (libtorch.TensorInfo, []byte, error) {
	info, err := t.info()
	if err != nil {
		return info, nil, failed(method, nil, nil, err)
	}
	data := make([]byte, int(info.Numel)*info.DType.Size())
	if _, err = t.handle.CopyBytes(data); err != nil {
		return info, nil, failed(method, []any{t}, nil, err)
	}
	return info, data, nil
}

// Data returns a copy of the elements in row-major order. T must be the Go type
// of the tensor's dtype.
func Data[T Element](t *Tensor) ([]T, error) {
	info, data, err := t.read("Data")
	if err != nil {
		return nil, err
	}
	if want := DTypeOf[T](); info.DType != want {
		return nil, failed("Data", []any{t}, nil, ir.Errorf(ir.ErrType, "expected a tensor of %s, got %s", want, info.DType))
	}
	elements := make([]T, info.Numel)
	if b, isBool := any(elements).([]bool); isBool {
		for i := range b {
			b[i] = data[i] != 0 // a byte of foreign memory may be anything
		}
		return elements, nil
	}
	copy(bytesOf(elements), data)
	return elements, nil
}

// Item returns the one element as bool, int64, float64 or complex128, and one of
// a UInt64 tensor that int64 does not hold as uint64. Same as torch.Tensor.item.
func (t *Tensor) Item() (any, error) {
	if t.Traced() {
		return nil, &Error{Op: "item", Err: errRead}
	}
	return item(nil, t)
}

// item reads the one element of a tensor under the modes of a run.
func item(m *libtorch.Mode, t *Tensor) (any, error) {
	return CallMode(m, "aten::item", []any{t}, nil)
}

func toInt64s(x []int) []int64 {
	if len(x) == 0 {
		return nil
	}
	return unsafe.Slice((*int64)(unsafe.Pointer(unsafe.SliceData(x))), len(x))
}
