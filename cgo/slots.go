//go:build cgo

// The files beside this one that hold C are built with cgo alone, and this one needs them.

package libtorch

import (
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/torchfx-go/torchfx/ir"
)

// slots bounds how many operators run at once, so that any number of goroutines
// may call and only so many OS threads are ever inside libtorch. A thread that
// waits in C costs memory of its own (a stack, an allocator's cache, an OpenMP
// team), and Go makes a new one for every goroutine that blocks there.
var slots = newSemaphore(runtime.GOMAXPROCS(0))

// doors bounds in the same way who is inside libtorch for a moment only, to look at a
// tensor or give one back. Such calls do not wait for the kernels of others, or inside a
// slot for another; but where the system takes the processor from a thread in one of
// them, Go makes a thread for the next goroutine, which may end up there, too.
var doors = newSemaphore(2 * runtime.GOMAXPROCS(0))

// SetSlots sets how many operators may run at once: the W of the process.
// Default: GOMAXPROCS at start. n must be at least 1. It is for the start of a
// program, before libtorch is opened.
func SetSlots(n int) error {
	loading.Lock()
	defer loading.Unlock()
	if n < 1 {
		return ir.Errorf(ir.ErrValue, "slots: expected 1 at least, got %d", n)
	}
	if ready.Load() {
		return ir.Errorf(ir.ErrRuntime, "slots: expected to be set before libtorch is opened")
	}
	slots = newSemaphore(n)
	return nil
}

// A semaphore counts free slots below zero for those who wait, so that the free
// path is one atomic operation.
type semaphore struct {
	size atomic.Int64
	free atomic.Int64
	wake chan struct{}
	many sync.Mutex // held while taking more than one, or two would wait for each other
}

func newSemaphore(n int) *semaphore {
	s := &semaphore{wake: make(chan struct{})}
	s.size.Store(int64(n))
	s.free.Store(int64(n))
	return s
}

func (s *semaphore) acquire() {
	if s.free.Add(-1) < 0 {
		<-s.wake
	}
}

func (s *semaphore) release() {
	if s.free.Add(1) <= 0 {
		s.wake <- struct{}{}
	}
}

// acquireMany takes n slots, or all where there are fewer, and returns how many.
func (s *semaphore) acquireMany(n int) int {
	n = min(n, int(s.size.Load()))
	s.many.Lock()
	defer s.many.Unlock()
	for range n {
		s.acquire()
	}
	return n
}

func (s *semaphore) releaseMany(n int) {
	for range n {
		s.release()
	}
}

// workers run what must not wander between OS threads: kernels with a team of
// OpenMP threads, which libgomp keeps for each thread that ever asked for one.
// Each worker is locked to its thread for life; there are as many as calls that
// hold two slots can run at once.
var workers struct {
	once sync.Once
	jobs chan func()
}

// onWorker runs f on a worker while it holds n slots.
func onWorker(n int, f func()) {
	workers.once.Do(func() {
		workers.jobs = make(chan func())
		for range max(1, int(slots.size.Load())/2) {
			go func() {
				runtime.LockOSThread()
				for job := range workers.jobs {
					job()
				}
			}()
		}
	})
	held := slots.acquireMany(n)
	defer slots.releaseMany(held)
	done := make(chan struct{})
	workers.jobs <- func() {
		defer close(done)
		f()
	}
	<-done
}
