package libtorch

// #include "trampoline.h"
import "C"

import (
	"runtime"
	"sync/atomic"
	"time"
)

// Go's collector sees a few dozen bytes where libtorch holds a gigabyte, so it
// would let unclosed tensors pile up for hours. These counters let it feel them:
// when the bytes of libtorch have grown by slack over the least that was live
// since the last forced collection, one is forced.
//
// slack adapts. A program that closes its tensors gains nothing from collections,
// so each one that frees little doubles the slack; one that leaves tensors to the
// collector gets it halved. Callers that outrun a collection wait for it.
var (
	held       tally
	swept      atomic.Int64 // bytes that cleanups freed, ever
	collecting atomic.Pointer[chan struct{}]
	forced     atomic.Int64 // collections, for tests
)

// A tally counts what is held. Its fields lie side by side, as every call touches them.
type tally struct {
	small        atomic.Uint64 // tensors: how many, times 1<<smallBits, plus their bytes
	count, bytes atomic.Int64  // of all others
	floor        atomic.Int64  // least weight since the last forced collection
	slack        atomic.Int64
}

const (
	tensorOverhead = 512 // bytes of a TensorImpl, its storage and their allocations
	smallBits      = 37  // room for the bytes of 1<<27 small tensors, the most that their count has room for
	minSlack       = 64 << 20
	maxSlack       = 4 << 30
)

func init() { held.slack.Store(minSlack) }

// LiveTensors returns how many tensor handles are open and the bytes of memory
// that they alone keep, as far as it is known when they are made: a view counts
// its handle only. See the profile torchfx.tensors for where they came from.
func LiveTensors() (count, bytes int64) {
	small := held.small.Load()
	return held.count.Load() + int64(small>>smallBits), held.bytes.Load() + int64(small&(1<<smallBits-1))
}

// weight is the bytes of others and of small tensors, with what comes with each handle.
func (l *tally) weight(small uint64) int64 {
	return l.bytes.Load() + int64(small&(1<<smallBits-1)) + (l.count.Load()+int64(small>>smallBits))*tensorOverhead
}

// born counts a new handle.
func born(bytes int64, small bool) {
	var n int64
	if small {
		n = held.weight(held.small.Add(1<<smallBits + uint64(bytes)))
	} else {
		held.count.Add(1)
		held.bytes.Add(bytes)
		n = held.weight(held.small.Load())
	}
	if over := n - held.floor.Load() - held.slack.Load(); over > 0 {
		pressure(over)
	}
}

func died(bytes int64, small bool) {
	var n int64
	if small {
		n = held.weight(held.small.Add(-(1<<smallBits + uint64(bytes))))
	} else {
		held.count.Add(-1)
		held.bytes.Add(-bytes)
		n = held.weight(held.small.Load())
	}
	for low := held.floor.Load(); n < low; low = held.floor.Load() {
		if held.floor.CompareAndSwap(low, n) {
			break
		}
	}
}

// pressure starts a collection unless one runs, and waits for it where the
// program is already a whole slack beyond the limit.
func pressure(over int64) {
	done := make(chan struct{})
	if collecting.CompareAndSwap(nil, &done) {
		go collect(done)
	}
	if over > held.slack.Load() {
		if running := collecting.Load(); running != nil {
			<-*running
		}
	}
}

func collect(done chan struct{}) {
	before := swept.Load()
	collectAndClean()
	// glibc keeps what was freed, by thread, several times what is held. To take
	// it back each time would cost the faults of all pages again.
	if forced.Load()%4 == 3 {
		C.tfx_trim()
	}
	freed, now := swept.Load()-before, held.slack.Load()
	if freed < now/4 {
		held.slack.Store(min(now*2, maxSlack))
	} else {
		held.slack.Store(max(now/2, minSlack))
	}
	held.floor.Store(held.weight(held.small.Load()))
	forced.Add(1)
	collecting.Store(nil)
	close(done)
}

// collectAndClean collects and waits until the cleanups that this starts have run.
// They run on goroutines of the runtime, in no set order: so it waits first for
// one of its own, then until no more bytes come free.
func collectAndClean() {
	ran := make(chan struct{})
	runtime.AddCleanup(new([64]byte), func(ran chan struct{}) { close(ran) }, ran)
	runtime.GC()
	select {
	case <-ran:
	case <-time.After(100 * time.Millisecond): // a busy machine: the next collection will do
	}
	for last := int64(-1); last != swept.Load(); {
		last = swept.Load()
		time.Sleep(time.Millisecond)
	}
}
