package libtorch

// #include "trampoline.h"
import "C"

import (
	"runtime"
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/torchfx-go/torchfx/ir"
)

// Recording says what [Record] notes.
type Recording struct {
	// Leaf notes, in place of an operator that libtorch makes of others
	// (CompositeImplicitAutograd: linear, matmul, layer_norm), those others. Without
	// it an operator is noted as it was called.
	Leaf bool
	// Reads allows values that depend on the inputs to be read, by item and its kin.
	// Without it such a read fails where it happens.
	Reads bool
	// Functional, with Leaf, notes an operator that writes as the one that does not,
	// where it writes tensors that [FunctionalWrap] gave or that were made meanwhile:
	// views of what was written are made anew.
	Functional bool
	// Bare is the tensors without elements, of the device meta. Where there are some,
	// nothing is computed of them nor made beside them, and they say until the end that
	// they are on the CPU: operators are those that the CPU's elements would see. They
	// must be known to this recording alone.
	Bare []*Tensor
}

// A Recorded operator is one that was called, with its arguments, its results and
// what was known of each tensor among these right after the call.
type Recorded struct {
	Op      string       // "aten::add.Tensor"
	Args    []any        // one for each of the schema, of the kinds of [Operator.Call]; a wrapped number is the number
	Results []any        // likewise
	Facts   []TensorInfo // of the tensors in Results, lists opened, in order; not Defined where there is none
}

// recordings counts the threads that record.
var recordings atomic.Int32

// Record calls fn and notes each operator that libtorch is called for by this
// goroutine meanwhile, by whatever code: ours, gotorch's, a custom operator's. It
// is seen below autograd and autocast, so the operators are those that computed.
// What other goroutines call is not noted, also not those that fn starts.
//
// inputs are the tensors that vary from run to run. A tensor's [Tensor.ID] tells
// which results are arguments later: all tensors in the events are held until
// they are closed, by [CloseRecorded].
//
// The goroutine is locked to its thread while fn runs. A panic of fn passes, and
// the thread records no more. Recordings do not nest.
func Record(r Recording, inputs []*Tensor, fn func()) ([]Recorded, error) {
	if err := Open(); err != nil {
		return nil, err
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := r.start(inputs); err != nil {
		return nil, err
	}
	recordings.Add(1)
	var reply reply
	stopped := false
	stop := func() C.int32_t {
		stopped = true
		recordings.Add(-1)
		return C.tfx_record_stop(reply.w(), replyWords, &reply.out)
	}
	defer func() {
		if stopped {
			return
		}
		if stop() == 0 { // fn panicked: what was noted is of no use
			events, _ := recorded(reply.view())
			CloseRecorded(events)
		}
		reply.done()
	}()
	fn()
	if code := stop(); code != 0 {
		return nil, reply.fail("record", code)
	}
	events, err := recorded(reply.view())
	reply.done()
	if err != nil {
		CloseRecorded(events)
		return nil, err
	}
	return events, nil
}

func (r Recording) start(inputs []*Tensor) error {
	if C.tfx_recording() >= 0 {
		return ir.Errorf(ir.ErrRuntime, "record: expected a goroutine that is not recording, got one that is")
	}
	var flags C.uint32_t
	if r.Leaf {
		flags |= C.TFX_RECORD_LEAF
	}
	if r.Reads {
		flags |= C.TFX_RECORD_READS
	}
	if r.Functional {
		flags |= C.TFX_RECORD_FUNCTIONAL
	}
	if len(r.Bare) > 0 {
		flags |= C.TFX_RECORD_BARE
	}
	impls := make([]uint64, 0, len(inputs)+len(r.Bare))
	for _, t := range slices.Concat(inputs, r.Bare) {
		p, ok := t.ptr()
		if !ok {
			return closedError("record")
		}
		defer t.unuse()
		impls = append(impls, p)
	}
	bare := impls[len(inputs):]
	var reply reply
	code := C.tfx_record_start(flags, (*C.uint64_t)(unsafe.Pointer(unsafe.SliceData(impls))), C.uint64_t(len(inputs)),
		(*C.uint64_t)(unsafe.Pointer(unsafe.SliceData(bare))), C.uint64_t(len(bare)), reply.w(), replyWords, &reply.out)
	if code != 0 {
		return reply.fail("record", code)
	}
	return nil
}

// recorded reads the events. Each handle among them gets an owner, also on an error.
func recorded(w []uint64) ([]Recorded, error) {
	d := decoder{w: w}
	events := make([]Recorded, d.next()>>8)
	for i := range events {
		e := &events[i]
		d.next() // a tuple of four
		e.Op = d.str(int(d.next() >> 8))
		var args, returns []ir.Param
		if op, err := Find(e.Op); err == nil {
			args, returns = op.schema.Args, op.schema.Returns
		}
		e.Args, e.Results = d.values(args), d.values(returns)
		e.Facts = make([]TensorInfo, d.next()>>8)
		for k := range e.Facts {
			n := int(d.next() >> 8)
			if n > 0 {
				info, err := decodeInfo(d.w[:n])
				d.keep(err)
				e.Facts[k] = info
			}
			d.w = d.w[n:]
		}
	}
	return events, d.err
}

// values reads a tuple of one value for each of a schema's arguments or returns.
func (d *decoder) values(params []ir.Param) []any {
	values := make([]any, d.next()>>8)
	for i := range values {
		var t *ir.Type
		if i < len(params) {
			t = &params[i].Type
		}
		values[i] = d.value(t)
	}
	return values
}

// CloseRecorded closes every tensor in events.
func CloseRecorded(events []Recorded) {
	for _, e := range events {
		closeAll(e.Args)
		closeAll(e.Results)
	}
}

// FunctionalWrap returns a tensor that stands for t in a functional recording, while
// which t is not written.
func FunctionalWrap(t *Tensor) (*Tensor, error) {
	p, ok := t.ptr()
	if !ok {
		return nil, closedError("functional tensor")
	}
	defer t.unuse()
	var r reply
	return r.tensor("", C.tfx_functional_wrap(C.uint64_t(p), r.w(), replyWords, &r.out))
}

// FunctionalUnwrap returns the value that a tensor of [FunctionalWrap], or one made of
// such, has now, and another handle of any other. Inside the recording it notes what
// takes to bring the value up to date.
func FunctionalUnwrap(t *Tensor) (*Tensor, error) {
	p, ok := t.ptr()
	if !ok {
		return nil, closedError("functional tensor")
	}
	defer t.unuse()
	var r reply
	return r.tensor("", C.tfx_functional_unwrap(C.uint64_t(p), r.w(), replyWords, &r.out))
}

// RecordedSoFar reports how many operators the [Record] that this goroutine runs in
// has noted so far; ok is false outside one.
func RecordedSoFar() (n int, ok bool) {
	if recordings.Load() == 0 {
		return 0, false
	}
	so := int(C.tfx_recording())
	return max(so, 0), so >= 0
}
