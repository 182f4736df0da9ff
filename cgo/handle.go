package libtorch

// #include "trampoline.h"
import "C"

import (
	"runtime"
	"sync/atomic"
)

// A handle is one reference to an object of libtorch: what Tensor, Generator,
// Object, Plan and Frame have in common. It dies in one of two ways, by Close or by the
// collector, and never while a call uses it.
type handle struct {
	what    remains
	state   atomic.Int32 // calls that use it, times two, plus one once it is closed
	cleanup runtime.Cleanup
}

// remains is what freeing takes. It does not refer to the handle, or the handle
// would never be collected.
type remains struct {
	impl  uint64 // the reference
	bytes int64  // what goes with it, as counted when it was made
	key   uint64 // in the profile, 0 for none
	kind  handleKind
}

type handleKind uint8

const (
	kindTensor handleKind = iota
	kindGenerator
	kindObject
	kindPlan
	kindFrame
)

// own makes h the owner of a reference.
func (h *handle) own(what remains) {
	h.what = what
	h.cleanup = runtime.AddCleanup(h, sweep, what)
	if what.kind < kindPlan {
		born(what.bytes)
	}
}

// sweep is the net under Close.
func sweep(what remains) {
	if what.kind < kindPlan {
		swept.Add(what.bytes + tensorOverhead)
	}
	what.free()
	collectReleased()
}

// free gives the reference back. It is followed by collectReleased, except inside
// a call, which does that once it has left its slot: a release function of the
// program may call operators of its own.
func (what remains) free() {
	profileRemove(what.key)
	if what.kind < kindPlan {
		died(what.bytes)
	}
	switch impl := C.uint64_t(what.impl); what.kind {
	case kindTensor:
		C.tfx_tensor_release(impl)
	case kindGenerator:
		C.tfx_generator_release(impl)
	case kindObject:
		C.tfx_object_release(impl)
	case kindPlan:
		C.tfx_plan_release(impl)
	case kindFrame:
		C.tfx_frame_release(impl)
	}
}

// Close gives the reference back. A second Close does nothing. The error is always
// nil; it is there for io.Closer.
func (h *handle) Close() error {
	for {
		s := h.state.Load()
		if s&1 != 0 {
			return nil
		}
		if !h.state.CompareAndSwap(s, s|1) {
			continue
		}
		h.cleanup.Stop()
		if s == 0 {
			h.what.free()
			collectReleased()
		}
		runtime.KeepAlive(h) // or the cleanup could run before it is stopped
		return nil
	}
}

// Closed reports whether Close was called.
func (h *handle) Closed() bool { return h.state.Load()&1 != 0 }

// ptr is the only way to the C pointer. It fails once h is closed; otherwise the
// pointer is good until unuse, which also keeps h alive until then.
func (h *handle) ptr() (uint64, bool) {
	for {
		s := h.state.Load()
		if s&1 != 0 {
			return 0, false
		}
		if h.state.CompareAndSwap(s, s+2) {
			maybeGC()
			return h.what.impl, true
		}
	}
}

func (h *handle) unuse() {
	if h.state.Add(-2) == 1 {
		h.what.free()
	}
	runtime.KeepAlive(h)
}
