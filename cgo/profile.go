package libtorch

import (
	"runtime/pprof"
	"sync/atomic"
)

// profile holds the open tensors that were made while stacks were asked for.
var (
	profile  = pprof.NewProfile("torchfx.tensors")
	stacks   atomic.Bool
	lastSeen atomic.Uint64
)

// ProfileTensors switches the recording of stacks on or off. While it is on, each
// new tensor is added to the runtime/pprof profile "torchfx.tensors" until it is
// closed, which costs about a microsecond; those made before are not in it. Read
// it as any other profile:
//
//	import _ "net/http/pprof"
//	go tool pprof http://localhost:6060/debug/pprof/torchfx.tensors
func ProfileTensors(on bool) { stacks.Store(on) }

// profileAdd returns the key of a new tensor in the profile, 0 for none. The key
// is a number, not the tensor: a profile that held it would keep it alive.
func profileAdd() uint64 {
	if !stacks.Load() {
		return 0
	}
	key := lastSeen.Add(1)
	profile.Add(key, 3)
	return key
}

func profileRemove(key uint64) {
	if key != 0 {
		profile.Remove(key)
	}
}
