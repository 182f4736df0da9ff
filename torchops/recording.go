package torchops

import (
	"slices"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
)

// IsRecording reports whether the operators that this goroutine calls are recorded
// into a graph. Layers keep away from fused operators then, as Python's do under
// make_fx and torch.export.
func IsRecording() bool {
	_, yes := libtorch.RecordedSoFar()
	return yes
}

// MayFuse reports whether a layer may call a fused operator, which computes no
// gradients, with tensors of its own: not while the code is recorded, where
// gradients of these are, and under autocast of a GPU, as Python's layers decide.
func MayFuse(own ...*Tensor) bool {
	if IsRecording() {
		return false
	}
	m := modeOf(nil)
	if m == nil {
		return true
	}
	if m.Autocast != nil && m.Autocast.Device == ir.DeviceCUDA && !m.Autocast.Disabled {
		return false
	}
	return !m.Grad || !slices.ContainsFunc(own, func(t *Tensor) bool { return t != nil && t.RequiresGrad() })
}

// modeOf returns the mode that a call is made in.
func modeOf(m *libtorch.Mode) *libtorch.Mode {
	if m == nil {
		return libtorch.CurrentMode()
	}
	return m
}
