package libtorch

// #include "trampoline.h"
import "C"

import (
	"unsafe"

	"github.com/torchfx-go/torchfx/ir"
)

// A Tensor is a handle: one reference to a tensor of libtorch. Many handles may
// refer to one tensor, and many tensors to one memory.
//
// Close gives the reference back. A handle that is lost without it is closed by
// the collector, some time later. All methods are safe for concurrent use; Close
// during a call waits for nothing, and the memory goes when the call ends.
// Whether the elements may be read and written at once is the program's affair,
// as in PyTorch.
type Tensor struct{ handle }

// newTensor takes over a reference that C returned. bytes are what goes with it.
func newTensor(impl uint64, bytes int64) *Tensor {
	t := new(Tensor)
	t.own(remains{impl, bytes, profileAdd(), kindTensor, false})
	return t
}

// Close gives the reference back. A second Close does nothing, and so does one of
// a nil tensor. The error is always nil; it is there for io.Closer.
func (t *Tensor) Close() error {
	if t == nil {
		return nil
	}
	return t.handle.Close()
}

// Closed reports whether Close was called.
func (t *Tensor) Closed() bool { return t == nil || t.handle.Closed() }

func (t *Tensor) ptr() (uint64, bool) {
	if t == nil {
		return 0, false
	}
	return t.handle.ptr()
}

// Same reports whether t and u are handles of one tensor, as Python's "is" asks.
func (t *Tensor) Same(u *Tensor) bool {
	p, ok := t.ptr()
	if !ok {
		return false
	}
	defer t.unuse()
	q, ok := u.ptr()
	if !ok {
		return false
	}
	defer u.unuse()
	return p == q
}

// TensorInfo describes a tensor.
type TensorInfo struct {
	DType        ir.DType
	Device       ir.Device
	Layout       ir.Layout
	Sizes        []int64
	Strides      []int64 // in elements; nil where the layout has none
	Offset       int64   // of the first element in the storage, in elements
	Numel        int64
	StorageBytes int64
	RequiresGrad bool
	Conj, Neg    bool // the elements are conjugated or negated when read
	Inference    bool // made in inference mode
	Wrapped      bool // a number that an operator takes as a tensor, see [WrappedNumber]
	Contiguous   bool
	HasStorage   bool
	Defined      bool // always: an undefined tensor is a nil handle
}

// Flags of tensor_info in bridge/tensor.h.
const (
	infoDefined = 1 << iota
	infoRequiresGrad
	infoConj
	infoNeg
	infoInference
	infoWrapped
	infoContiguous
	infoHasStorage
	infoHasStrides
)

// Info describes t in one crossing. The shape of a batched tensor is without its
// batch dimension, and that of a nested tensor is an error.
func (t *Tensor) Info() (TensorInfo, error) {
	p, ok := t.ptr()
	if !ok {
		return TensorInfo{}, closedError("info")
	}
	defer t.unuse()
	var r reply
	doors.acquire()
	code := C.tfx_tensor_info(C.uint64_t(p), r.w(), replyWords, &r.out)
	doors.release()
	if code != 0 {
		return TensorInfo{}, r.fail("", code)
	}
	defer r.done()
	return decodeInfo(r.view())
}

func decodeInfo(w []uint64) (TensorInfo, error) {
	flags := w[0]
	has := func(f uint64) bool { return flags&f != 0 }
	if !has(infoDefined) {
		return TensorInfo{}, nil // nothing follows
	}
	dtype, err := dtypeFromC10(int(w[1]))
	if err != nil {
		return TensorInfo{}, err
	}
	device, err := ir.DeviceFromC10(int(w[2]), int(int64(w[3])))
	if err != nil {
		return TensorInfo{}, err
	}
	layout, err := ir.LayoutFromC10(int(w[4]))
	if err != nil {
		return TensorInfo{}, err
	}
	n := int(w[8])
	dims := make([]int64, n, 2*n) // sizes and strides share one array
	info := TensorInfo{
		DType: dtype, Device: device, Layout: layout,
		Offset: int64(w[5]), Numel: int64(w[6]), StorageBytes: int64(w[7]),
		RequiresGrad: has(infoRequiresGrad), Conj: has(infoConj), Neg: has(infoNeg), Inference: has(infoInference),
		Wrapped: has(infoWrapped), Contiguous: has(infoContiguous), HasStorage: has(infoHasStorage), Defined: has(infoDefined),
	}
	copy(dims, words64(w[9:9+n]))
	info.Sizes = dims[:n:n]
	if has(infoHasStrides) {
		info.Strides = append(dims[n:n], words64(w[9+n:9+2*n])...)
	}
	return info, nil
}

// words64 sees words as signed.
func words64(w []uint64) []int64 {
	return unsafe.Slice((*int64)(unsafe.Pointer(unsafe.SliceData(w))), len(w))
}

// Ref returns a second handle of the same tensor.
func (t *Tensor) Ref() (*Tensor, error) {
	p, ok := t.ptr()
	if !ok {
		return nil, closedError("ref")
	}
	defer t.unuse()
	C.tfx_tensor_retain(C.uint64_t(p))
	return newTensor(p, 0), nil
}

// ID is the identity of the tensor behind the handle: the same for two handles of
// one tensor, 0 once closed. It may come back for another tensor after this one
// is gone.
func (t *Tensor) ID() uintptr {
	p, ok := t.ptr()
	if !ok {
		return 0
	}
	t.unuse()
	return uintptr(p)
}

// DataPtr returns the address of the first element, nil for a tensor without
// elements. The memory lives as long as t and views of it do; on a device it is
// the device's.
func (t *Tensor) DataPtr() (unsafe.Pointer, error) {
	p, ok := t.ptr()
	if !ok {
		return nil, closedError("data")
	}
	defer t.unuse()
	var r reply
	if code := C.tfx_tensor_data(C.uint64_t(p), r.w(), replyWords, &r.out); code != 0 {
		return nil, r.fail("", code)
	}
	return address(r.words[0]), nil
}

// IsAlias reports whether two tensors share a storage.
func IsAlias(a, b *Tensor) bool {
	p, ok := a.ptr()
	if !ok {
		return false
	}
	defer a.unuse()
	q, ok := b.ptr()
	if !ok {
		return false
	}
	defer b.unuse()
	return C.tfx_is_alias(C.uint64_t(p), C.uint64_t(q)) != 0
}
