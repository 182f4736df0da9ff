//go:build gotorch

package gotorch

// void *torchfx_gotorch_word(void);
import "C"

import (
	"runtime"
	"unsafe"

	gotorch "github.com/wangkuiyi/gotorch"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// A gotorch.Tensor is a pointer to a cell of Go's heap, whose finalizer deletes the
// at::Tensor that the cell points to, which is one pointer to the TensorImpl.

// FromGotorch returns a tensor that is t: the same memory, the same identity, a
// reference of its own. It is the caller's to close; t stays gotorch's, and either
// may die first. What is written into one is seen in the other.
//
// The error wraps [ir.ErrType] where t is no tensor: the zero Tensor, or what C++
// calls undefined, as the gradient of a tensor that has none.
func FromGotorch(t gotorch.Tensor) (*torch.Tensor, error) {
	defer runtime.KeepAlive(t.T)
	if t.T == nil || *t.T == nil {
		return nil, ir.Errorf(ir.ErrType, "from gotorch: expected a tensor, got none")
	}
	h, err := libtorch.FromImpl(*(*uintptr)(*t.T))
	if err != nil {
		return nil, err
	}
	return torch.FromHandle(h), nil
}

// ToGotorch returns a gotorch tensor that is t: the same memory, the same identity,
// a reference of its own, which gotorch gives back by its rules (a finalizer; GC
// waits for it where the calling goroutine has begun a training loop). t stays the
// caller's to close.
//
// The error wraps [ir.ErrClosed] for a closed tensor and [ir.ErrType] for one that
// stands for a node of a trace.
func ToGotorch(t *torch.Tensor) (gotorch.Tensor, error) {
	h, err := t.Handle()
	if err != nil {
		return gotorch.Tensor{}, err
	}
	impl, err := h.RetainImpl()
	if err != nil {
		return gotorch.Tensor{}, err
	}
	word := C.torchfx_gotorch_word()
	*(*uintptr)(word) = impl
	cell := new(unsafe.Pointer)
	*cell = word
	gotorch.SetTensorFinalizer(cell)
	return gotorch.Tensor{T: cell}, nil
}
