package torchops

import (
	"strings"
	"sync/atomic"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
)

// A Tensor is a tensor of libtorch or, in a trace, stands for a node. It is
// always used as *Tensor; a nil one is Python's None.
//
// A real tensor holds memory outside Go's heap: [Tensor.Close] frees it, or the
// [Scope] it is in; the collector does in the end where nobody did. Reading one
// tensor is safe from many goroutines; writing it, by an operator that ends in
// "_" say, needs exclusive access.
//
// The methods that return no error panic with an *[Error], as operators do in
// model code; [Try] turns that into an error.
type Tensor struct {
	handle libtorch.Tensor // none in a trace
	value  Value           // what a traced tensor stands for
	scope  atomic.Pointer[Scope]
	made   *Tensor // itself, where this package made it: see onHeap
}

// is reports whether x and y are one tensor, as Python's "is" tells: two of Go may
// be handles of it, as an in-place method returns its receiver.
func (t *Tensor) is(other *Tensor) bool {
	return t == other || t.real() && other.real() && t.handle.Same(&other.handle)
}

// FromHandle returns the tensor of a handle, which now belongs to the tensor.
func FromHandle(h *libtorch.Tensor) *Tensor {
	if h == nil {
		return nil
	}
	t := newTensor()
	t.handle = *h
	return t
}

// real reports whether t is a tensor of libtorch, open or closed.
func (t *Tensor) real() bool { return t != nil && t.handle != (libtorch.Tensor{}) }

// Handle returns the handle, which stays the tensor's. It fails for nil and
// traced tensors.
func (t *Tensor) Handle() (*libtorch.Tensor, error) {
	switch {
	case t == nil:
		return nil, ir.Errorf(ir.ErrType, "expected a tensor, got nil")
	case t.value.recorder != nil:
		return nil, errRead
	}
	return &t.handle, nil
}

// Close frees the tensor. The memory goes when no other tensor shares it. A
// second call, and one on nil or a traced tensor, does nothing.
func (t *Tensor) Close() error {
	if !t.real() {
		return nil
	}
	if t.scope.Load() != nil {
		if s := t.scope.Swap(nil); s != nil {
			s.forget(t)
		}
	}
	return t.handle.Close()
}

// Ref returns a second tensor over the same memory and of the same identity, to
// be closed by itself: what is written into one is seen in the other.
func (t *Tensor) Ref() (*Tensor, error) {
	if _, traced := ValueOf(t); traced {
		return t.value.Tensor(), nil
	}
	h, err := t.Handle()
	if err != nil {
		return nil, failed("Ref", nil, nil, err)
	}
	if h, err = h.Ref(); err != nil {
		return nil, failed("Ref", nil, nil, err)
	}
	return FromHandle(h), nil
}

// Traced reports whether t stands for a node.
func (t *Tensor) Traced() bool { return t != nil && t.value.recorder != nil }

// Value returns what a traced tensor stands for.
func (t *Tensor) Value() Value { return t.value }

// info reads all facts about t in one crossing.
func (t *Tensor) info() (libtorch.TensorInfo, error) {
	h, err := t.Handle()
	if err != nil {
		return libtorch.TensorInfo{}, err
	}
	return h.Info()
}

// mustInfo is info for the methods that panic.
func (t *Tensor) mustInfo(method string) libtorch.TensorInfo {
	info, err := t.info()
	mustNot(method, err)
	return info
}

// Shape returns the sizes.
func (t *Tensor) Shape() []int { return toInts(t.known().mustInfo("Shape").Sizes) }

// Strides returns how many elements apart neighbours are in each dimension.
func (t *Tensor) Strides() []int { return toInts(t.mustInfo("Strides").Strides) }

// StorageOffset returns the place of the first element in the storage, in elements.
func (t *Tensor) StorageOffset() int { return int(t.mustInfo("StorageOffset").Offset) }

// Numel returns the number of elements.
func (t *Tensor) Numel() int { return int(t.known().mustInfo("Numel").Numel) }

// Dim returns the number of dimensions.
func (t *Tensor) Dim() int { return len(t.known().mustInfo("Dim").Sizes) }

// DType returns the dtype.
func (t *Tensor) DType() DType { return t.mustInfo("DType").DType }

// Device returns the device.
func (t *Tensor) Device() Device { return t.mustInfo("Device").Device }

// Layout returns the layout.
func (t *Tensor) Layout() Layout { return t.mustInfo("Layout").Layout }

// RequiresGrad reports whether gradients of t are recorded.
func (t *Tensor) RequiresGrad() bool { return t.mustInfo("RequiresGrad").RequiresGrad }

// Size returns a size; a negative dim counts from the end. In a trace it
// records the call and the size stands for it.
func (t *Tensor) Size(dim int) SymInt {
	return As[SymInt](Dispatch(ir.CallMethod, "size", []any{t.known(), int64(dim)}, nil))
}

func toInts(x []int64) []int {
	n := make([]int, len(x))
	for i, v := range x {
		n[i] = int(v)
	}
	return n
}

// describe writes t as messages show it, "f32[2, 3] cpu".
func (t *Tensor) describe() string {
	switch {
	case t == nil:
		return "None"
	case t.value.recorder != nil:
		return "a traced tensor"
	}
	info, err := t.handle.Info()
	if err != nil {
		if t.handle.Closed() {
			return "a closed tensor"
		}
		return "a tensor without sizes" // a nested one
	}
	text := info.DType.Short() + strings.Replace(strings.Replace(tupleText(toInts(info.Sizes)), "(", "[", 1), ")", "]", 1)
	text = strings.Replace(text, ",]", "]", 1) + " " + info.Device.String()
	if info.Layout != ir.Strided {
		text += " " + strings.TrimPrefix(info.Layout.String(), "torch.")
	}
	return text
}
