package libtorch

// #include "trampoline.h"
import "C"

import (
	"runtime"
	"runtime/cgo"
	"sync/atomic"
)

// entered counts the calls of [Mode.Within] that are open, so that a process
// without one asks no thread.
var entered atomic.Int64

// Within runs fn in the mode: what fn calls without a mode of its own (nil) on this
// goroutine, operators and planned graphs alike, is called in m. Outside, nil is
// the default mode again, also after a panic. Within nests; the innermost mode
// holds alone. It is how code that knows no modes, a model's own, runs in one.
//
// The goroutine is locked to its thread while fn runs, unless m is the default mode
// and no other is open. Goroutines that fn starts are not in m. m must not change
// while fn runs.
func (m *Mode) Within(fn func()) {
	if m == nil || m.isDefault() && entered.Load() == 0 {
		fn()
		return
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	h := cgo.NewHandle(m)
	defer h.Delete()
	entered.Add(1)
	defer entered.Add(-1)
	outer := C.tfx_within(C.uintptr_t(h))
	defer C.tfx_within(outer)
	fn()
}

// CurrentMode returns the mode of the innermost [Mode.Within] around this code on
// this goroutine, nil for none. It must not be changed.
func CurrentMode() *Mode {
	if entered.Load() == 0 {
		return nil
	}
	h := cgo.Handle(C.tfx_current())
	if h == 0 {
		return nil
	}
	return h.Value().(*Mode)
}

// current returns m, or for nil the mode that the goroutine is in.
func (m *Mode) current() *Mode {
	if m == nil {
		return CurrentMode()
	}
	return m
}

func (m *Mode) isDefault() bool {
	return !m.Grad && !m.Inference && m.Threads >= 0 && m.Threads <= 1 && m.Autocast == nil && len(m.Vmap) == 0 && m.Stream == nil && m.Observe == nil
}
