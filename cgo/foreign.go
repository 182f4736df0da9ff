package libtorch

// #include "trampoline.h"
import "C"

import "github.com/torchfx-go/torchfx/ir"

// FromImpl returns a handle of a tensor that other C++ code in the process holds,
// by the address of its TensorImpl, which is what an at::Tensor holds. The handle
// has a reference of its own. The other code must hold its reference during the
// call, and use the same libtorch. The error wraps [ir.ErrType] for the undefined
// tensor.
func FromImpl(impl uintptr) (*Tensor, error) {
	if err := Open(); err != nil {
		return nil, err
	}
	if impl == 0 {
		return nil, ir.Errorf(ir.ErrType, "tensor of another library: expected a tensor, got none")
	}
	C.tfx_tensor_retain(C.uint64_t(impl))
	t := newTensor(uint64(impl), 0) // what it holds was counted by whoever made it, or not at all
	info, err := t.Info()
	if err == nil && !info.Defined {
		err = ir.Errorf(ir.ErrType, "tensor of another library: expected a tensor, got an undefined one")
	}
	if err != nil {
		_ = t.Close()
		return nil, err
	}
	return t, nil
}

// RetainImpl returns the address of the TensorImpl behind t with a new reference,
// which the caller owns: an at::Tensor of other C++ code in the process that is
// made to hold it gives it back.
func (t *Tensor) RetainImpl() (uintptr, error) {
	p, ok := t.ptr()
	if !ok {
		return 0, closedError("retain")
	}
	defer t.unuse()
	C.tfx_tensor_retain(C.uint64_t(p))
	return uintptr(p), nil
}
