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
	liveCount, liveBytes atomic.Int64
	floor                atomic.Int64 // least of liveBytes since the last forced collection
	slack                atomic.Int64
	swept                atomic.Int64 // bytes that cleanups freed, ever
	collecting           atomic.Pointer[chan struct{}]
	forced               atomic.Int64 // collections, for tests
)

const (
	tensorOverhead = 512 // bytes of a TensorImpl, its storage and their allocations
	minSlack       = 64 << 20
	maxSlack       = 4 << 30
)

func init() { slack.Store(minSlack) }

// LiveTensors returns how many tensor handles are open and the bytes of memory
// that they alone keep, as far as it is known when they are made: a view counts
// its handle only. See the profile torchfx.tensors for where they came from.
func LiveTensors() (count, bytes int64) {
	return liveCount.Load(), liveBytes.Load() - liveCount.Load()*tensorOverhead
}

func born(bytes int64) {
	liveCount.Add(1)
	n := liveBytes.Add(bytes + tensorOverhead)
	if over := n - floor.Load() - slack.Load(); over > 0 {
		pressure(over)
	}
}

func died(bytes int64) {
	liveCount.Add(-1)
	n := liveBytes.Add(-bytes - tensorOverhead)
	for low := floor.Load(); n < low; low = floor.Load() {
		if floor.CompareAndSwap(low, n) {
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
	if over > slack.Load() {
		if running := collecting.Load(); running != nil {
			<-*running
		}
	}
}

func collect(done chan struct{}) {
	before := swept.Load()
	collectAndClean()
	// glibc keeps what was freed, by thread, several times what is live. To take
	// it back each time would cost the faults of all pages again.
	if forced.Load()%4 == 3 {
		C.tfx_trim()
	}
	freed, now := swept.Load()-before, slack.Load()
	if freed < now/4 {
		slack.Store(min(now*2, maxSlack))
	} else {
		slack.Store(max(now/2, minSlack))
	}
	floor.Store(liveBytes.Load())
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
