package libtorch

// #include "trampoline.h"
import "C"

import (
	"sync"
	"sync/atomic"
	"unsafe"
)

// A Sequence is prepared calls that are made one after the other in one crossing:
// what goes from one to the next never becomes a handle. Operators in it have no
// effects ([Prepared.Pure]). It works on registers: the inputs, and behind them the
// result of each call. Once built it is safe for concurrent use; it needs no Close.
type Sequence struct {
	code   []uint64
	inputs int
	calls  int
}

// NewSequence returns a sequence of no calls on so many inputs.
func NewSequence(inputs int) *Sequence { return &Sequence{inputs: inputs} }

// Add appends a call with registers in its holes, after which the registers in last
// are read no more. It returns the register of the result.
func (s *Sequence) Add(p *Prepared, registers, last []int) int {
	s.code = append(s.code, p.handle)
	for _, r := range registers {
		s.code = append(s.code, uint64(r))
	}
	s.code = append(s.code, uint64(len(last)))
	for _, r := range last {
		s.code = append(s.code, uint64(r))
	}
	s.calls++
	return s.inputs + s.calls - 1
}

// Run makes the calls on tensors, none of them nil, in the default mode, and returns
// how many were made. It stops before a call that fails, which the caller can make by
// itself to learn why, and between calls once stop, which may be nil, is not zero. It
// makes none where a tensor is closed.
//
// own says which tensors are given away: one that a call in last has read is closed,
// and it may stand among the tensors once, where nobody else uses it.
// Where results are left, result is called with each register in order and gives the
// zero Tensor that becomes its handle.
func (s *Sequence) Run(stop *atomic.Int32, tensors []*Tensor, own []bool, result func(register int) *Tensor) (done int, err error) {
	f := sequenceFrames.Get().(*sequenceFrame)
	defer f.put()
	for i, t := range tensors {
		var impl uint64
		var ok bool
		if own[i] {
			impl, ok = t.take()
		} else {
			impl, ok = t.ptr()
		}
		if !ok {
			for k, t := range tensors[:i] {
				if own[k] {
					t.untake()
				} else {
					t.unuse()
				}
			}
			return 0, nil
		}
		f.in = append(f.in, impl, uint64(bit(own[i])))
	}
	var r reply
	slots.acquire()
	code := C.tfx_sequence((*C.uint64_t)(unsafe.Pointer(unsafe.SliceData(s.code))), C.uint64_t(len(s.code)),
		(*C.uint64_t)(unsafe.Pointer(unsafe.SliceData(f.in))), C.uint64_t(len(tensors)), (*C.int32_t)(unsafe.Pointer(stop)), r.w(), replyWords, &r.out)
	slots.release()
	var left []uint64 // register, kind, handle, bytes
	if code == 0 {
		w := r.view()
		done, left = int(w[0]), w[1:]
	}
	for i, t := range tensors {
		switch {
		case !own[i]:
			t.unuse()
		case len(left) > 0 && left[0] == uint64(i):
			t.untake()
			left = left[4:]
		default:
			t.cell.ended()
		}
	}
	for ; len(left) > 0; left = left[4:] {
		result(int(left[0])).own(remains{left[2], int64(left[3]), profileAdd(), kindTensor, false})
	}
	if code != 0 {
		err = r.fail("a sequence of calls", code)
	}
	r.done()
	collectReleased()
	return done, err
}

// A sequenceFrame is the memory of one run, reused.
type sequenceFrame struct{ in []uint64 }

var sequenceFrames = sync.Pool{New: func() any { return new(sequenceFrame) }}

func (f *sequenceFrame) put() {
	f.in = f.in[:0]
	sequenceFrames.Put(f)
}

// Pure reports whether the operator has no effects: the call can be in a [Sequence].
func (p *Prepared) Pure() bool { return p.op.schema.Effects().Pure() }
