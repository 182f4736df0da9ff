package torchops

import libtorch "github.com/torchfx-go/torchfx/cgo"

// IsRecording reports whether the operators that this goroutine calls are recorded
// into a graph. Layers keep away from fused operators then, as Python's do under
// make_fx and torch.export.
func IsRecording() bool {
	_, yes := libtorch.RecordedSoFar()
	return yes
}
