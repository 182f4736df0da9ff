package torchops

import libtorch "github.com/torchfx-go/torchfx/cgo"

// LiveTensors returns how many tensors are open in the process and the bytes of
// memory that they alone keep, as far as it is known when they are made.
func LiveTensors() (count, bytes int64) { return libtorch.LiveTensors() }

// ProfileTensors switches the recording of where tensors are made on or off: the
// profile torchfx.tensors of runtime/pprof holds those made since and still open.
// It costs about a microsecond a tensor.
func ProfileTensors(on bool) { libtorch.ProfileTensors(on) }
