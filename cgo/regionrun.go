package libtorch

// #include "trampoline.h"
import "C"

import (
	"unsafe"

	"github.com/torchfx-go/torchfx/ir"
)

// Delegate returns what compiled the region.
func (r *Region) Delegate() *Delegate { return r.delegate }

// Run computes the region's outputs in a mode, as a plan does: new tensors, which are
// the caller's to close. It records no gradients.
//
// An error of class [ir.ErrNotImplemented] says that the delegate has no kernels for
// such inputs: the operators themselves are to be asked.
func (r *Region) Run(m *Mode, inputs []*Tensor) ([]*Tensor, error) {
	object, err := r.object()
	if err != nil {
		return nil, err
	}
	impls := make([]uint64, len(inputs))
	for i, t := range inputs {
		p, ok := t.ptr()
		if !ok {
			return nil, closedError("input of a region")
		}
		defer t.unuse()
		impls[i] = p
	}
	m = m.current()
	return onThreads(m, func() ([]*Tensor, error) {
		var cmode C.tfx_mode
		mode, err := m.encode(&cmode)
		if err != nil {
			return nil, err
		}
		impl, ok := object.ptr()
		if !ok {
			return nil, closedError("region")
		}
		defer object.unuse()
		var out reply
		code := C.tfx_bridge_region_run(C.uint64_t(impl), mode, (*C.uint64_t)(unsafe.Pointer(unsafe.SliceData(impls))), C.uint64_t(len(impls)), out.w(), replyWords, &out.out)
		if code != 0 {
			return nil, out.fail("", code)
		}
		defer out.done()
		d := decoder{w: out.view()}
		results, _ := d.value(nil).([]*Tensor)
		return results, d.err
	})
}

// object returns the region as the bridge holds it, made at the first call.
func (r *Region) object() (*Object, error) {
	r.bridging.Lock()
	defer r.bridging.Unlock()
	if r.bridged != nil {
		return r.bridged, nil
	}
	err := r.region.use("region", func(ptr unsafe.Pointer) error {
		var out reply
		if code := C.tfx_bridge_region_new(C.uint64_t(r.delegate.API()), C.uint64_t(uintptr(ptr)), out.w(), replyWords, &out.out); code != 0 {
			return out.fail("", code)
		}
		defer out.done()
		d := decoder{w: out.view()}
		r.bridged, _ = d.value(nil).(*Object)
		return d.err
	})
	if r.bridged == nil && err == nil {
		err = ir.Errorf(ir.ErrRuntime, "region: the bridge made no object of it")
	}
	return r.bridged, err
}
