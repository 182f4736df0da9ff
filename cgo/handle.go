package libtorch

// #include "trampoline.h"
import "C"

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"
)

// A handle is one reference to an object of libtorch: what Tensor, Generator,
// Object, Plan and Frame have in common. It dies in one of two ways, by Close or by the
// collector, and never while a call uses it.
//
// It is a small value, and its copies are one handle: they die together.
type handle struct {
	cell *cell
	turn uint32 // of the cell; in another turn it is another handle's
}

// A cell holds the reference of one handle after another. To tell the collector of
// an object, and to take that back when it is closed, costs more than all the rest
// of a handle; so the collector watches the cell, which is told once, and the next
// handle takes the cell of one that was closed.
type cell struct {
	*remains
	state atomic.Uint64 // the turn in the upper half; below, calls that use it, times two, plus one once it is closed
	shelf uint8         // where it stands between two handles
}

// remains is what freeing takes. It does not refer to the cell, or the cell would
// never be collected.
type remains struct {
	impl  uint64 // the reference, 0 between two handles
	bytes int64  // what goes with it, as counted when it was made
	key   uint64 // in the profile, 0 for none
	kind  handleKind
	small bool // a tensor that keeps little memory, see end
}

type handleKind uint8

const (
	kindTensor handleKind = iota
	kindGenerator
	kindObject
	kindPlan
	kindFrame
	kindWaiting // a tensor that was closed; see cell.end
)

// shelves hold the cells that no handle has, of the first result of calls and of each
// further one: a pool gives back one object fast, and more than that slowly. A
// reference may wait in a cell.
var shelves [maxCells]sync.Pool

func init() {
	for i := range shelves {
		shelves[i].New = func() any {
			c := &cell{remains: new(remains), shelf: uint8(i)}
			runtime.AddCleanup(c, sweep, c.remains)
			return c
		}
	}
}

// own makes h the owner of a reference.
func (h *handle) own(what remains) {
	c := shelves[0].Get().(*cell)
	if c.impl != 0 {
		C.tfx_tensor_release(C.uint64_t(c.impl))
	}
	h.hold(c, what)
	if what.kind < kindPlan {
		born(what.bytes, what.small)
	}
}

// hold makes h the handle of what a cell, in which nothing waits, gets to hold. It is
// followed by born.
func (h *handle) hold(c *cell, what remains) {
	*c.remains = what
	h.cell, h.turn = c, uint32(c.state.Load()>>32)
}

// sweep is the net under Close.
func sweep(what *remains) {
	if what.impl == 0 {
		return // the cell of no handle
	}
	if what.kind < kindPlan {
		swept.Add(what.bytes + tensorOverhead)
	}
	what.free()
	collectReleased()
}

// free gives the reference back. It is followed by collectReleased, except inside
// a call, which does that once it has left its slot: a release function of the
// program may call operators of its own.
func (what *remains) free() {
	if what.kind != kindWaiting {
		what.forget()
	}
	doors.acquire()
	switch impl := C.uint64_t(what.impl); what.kind {
	case kindTensor, kindWaiting:
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
	doors.release()
}

// forget counts the handle no more.
func (what *remains) forget() {
	profileRemove(what.key)
	if what.kind < kindPlan {
		died(what.bytes, what.small)
	}
}

// end frees what a closed handle held, and offers the cell to the next one.
func (c *cell) end() {
	c.leave()
	c.next()
}

// leave frees what a closed handle held, and reports whether anything is free at once. A
// small tensor waits in the cell for the call that makes the next handle, and is
// given back by its crossing: what waits is no more than was open at once and small,
// which C's allocator would keep too, and not beyond a collection.
func (c *cell) leave() (freed bool) {
	if c.small {
		if c.key != 0 {
			profileRemove(c.key)
		}
		died(c.bytes, true)
		c.kind = kindWaiting
		return false
	}
	c.free()
	c.impl = 0
	return true
}

// ended is end where the bridge has given the reference back.
func (c *cell) ended() {
	c.forget()
	c.impl = 0
	c.next()
}

// next offers the cell to the next handle. Those that had it stay closed: their turn
// is over.
func (c *cell) next() {
	turn := c.state.Load() >> 32
	if turn == math.MaxUint32 {
		return // no number is left; the cell stays closed
	}
	c.state.Store((turn + 1) << 32)
	shelves[c.shelf].Put(c)
}

// Close gives the reference back. A second Close does nothing. The error is always
// nil; it is there for io.Closer.
func (h *handle) Close() error {
	c := h.cell
	if c == nil {
		return nil
	}
	// its turn is over at once where nobody uses it, and the cell is nobody's then
	if h.turn == math.MaxUint32 || !c.state.CompareAndSwap(uint64(h.turn)<<32, uint64(h.turn+1)<<32) {
		return h.closeUsed()
	}
	freed := c.leave()
	shelves[c.shelf].Put(c)
	if freed {
		collectReleased()
	}
	return nil
}

// closeUsed closes a handle that a call uses, which ends with it.
func (h *handle) closeUsed() error {
	c := h.cell
	for {
		s := c.state.Load()
		if uint32(s>>32) != h.turn || s&1 != 0 {
			return nil
		}
		if !c.state.CompareAndSwap(s, s|1) {
			continue
		}
		if uint32(s) == 0 {
			c.end()
			collectReleased()
		}
		return nil
	}
}

// Closed reports whether Close was called.
func (h *handle) Closed() bool {
	if h.cell == nil {
		return true
	}
	s := h.cell.state.Load()
	return uint32(s>>32) != h.turn || s&1 != 0
}

// ptr is the only way to the C pointer. It fails once h is closed; otherwise the
// pointer is good until unuse, which also keeps the cell alive until then.
func (h *handle) ptr() (uint64, bool) {
	c := h.cell
	if c == nil {
		return 0, false
	}
	for {
		s := c.state.Load()
		if uint32(s>>32) != h.turn || s&1 != 0 {
			return 0, false
		}
		if c.state.CompareAndSwap(s, s+2) {
			maybeGC()
			return c.impl, true
		}
	}
}

func (h *handle) unuse() { h.cell.unuse() }

// take is ptr for a call that gives the reference back if it succeeds: h is closed
// from now on. It fails where h is closed already, or in use. Either untake or the
// cell's ended follows.
func (h *handle) take() (uint64, bool) {
	c := h.cell
	open := uint64(h.turn) << 32
	if c == nil || !c.state.CompareAndSwap(open, open|1) {
		return 0, false
	}
	maybeGC()
	return c.impl, true
}

// untake opens h again.
func (h *handle) untake() { h.cell.state.Store(uint64(h.turn) << 32) }

func (c *cell) unuse() {
	if uint32(c.state.Add(^uint64(1))) == 1 {
		c.end()
	}
}
