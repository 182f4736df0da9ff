package libtorch

// #include "trampoline.h"
import "C"

import (
	"runtime"
	"unsafe"

	"github.com/torchfx-go/torchfx/ir"
)

// A Frame is the memory of one run of a plan: its slots, and the block that
// intermediate results are written to. It is used by one run at a time, and
// reused for the next: the block then is there already.
type Frame struct{ handle }

// NewFrame makes a frame. It keeps what it needs of the plan, which may be closed.
func (p *Plan) NewFrame() (*Frame, error) {
	impl, ok := p.ptr()
	if !ok {
		return nil, ir.Errorf(ir.ErrClosed, "frame: the plan is closed")
	}
	defer p.unuse()
	var r reply
	if code := C.tfx_frame_new(C.uint64_t(impl), r.w(), replyWords, &r.out); code != 0 {
		return nil, r.fail("", code)
	}
	f := new(Frame)
	f.own(remains{impl: r.words[0], kind: kindFrame})
	return f, nil
}

// Absent is a value for a slot that libtorch cannot hold. A step that reads it
// stops the run, and the caller does the step.
type Absent struct{}

// A PlanStop says why a run stopped.
type PlanStop int32

// The reasons.
const (
	PlanFinished  PlanStop = C.TFX_STOP_DONE      // the values are the results
	PlanAsks      PlanStop = C.TFX_STOP_GO        // the step is the caller's; a Go step's values are handed over
	PlanCancelled PlanStop = C.TFX_STOP_CANCELLED // by Stop, before the step
)

// A PlanRun is the state of a run between crossings.
type PlanRun struct {
	At     int // the step to begin with; afterwards the one it stopped or failed at
	Resume bool
	Stop   PlanStop
	Call   int // on an error, which of the step's calls failed
}

// Run puts values into slots and runs from r.At, or where r.Resume is set from
// behind the step that the caller has done, whose result is among the values. It
// returns the values of the slots that the step names, which belong to the
// caller: a tuple is an ir.PyTuple, any other list a slice, None is nil.
//
// A run of a program on a device is for the thread of a [DeviceWorker], whose stream
// the mode names; all runs of a frame are for one of them.
func (f *Frame) Run(m *Mode, r *PlanRun, slots []int, values []any) (out []any, err error) {
	m = m.current()
	if m != nil && m.Stream != nil { // on a worker; the device's are bounded by themselves
		out, err = f.run(m, r, slots, values)
		collectReleased()
		return out, deviceFault(m.Stream.device, err)
	}
	if n := m.threads(); n > 1 {
		return f.runOnWorker(n, m, r, slots, values)
	}
	enter()
	out, err = f.run(m, r, slots, values)
	leave()
	collectReleased()
	return out, err
}

// The names of the parameters above hide the semaphore.
func enter() { slots.acquire() }
func leave() { slots.release() }

func (f *Frame) runOnWorker(n int, m *Mode, r *PlanRun, slots []int, values []any) (out []any, err error) {
	onWorker(n, func() { out, err = f.run(m, r, slots, values) })
	collectReleased()
	return out, err
}

func (f *Frame) run(m *Mode, r *PlanRun, slots []int, values []any) ([]any, error) {
	var cmode C.tfx_mode
	mode, err := m.encode(&cmode)
	if err != nil {
		return nil, err
	}
	impl, ok := f.ptr()
	if !ok {
		return nil, ir.Errorf(ir.ErrClosed, "run: the frame is closed")
	}
	defer f.unuse()
	c := frames.Get().(*frame)
	defer c.put()
	if err := c.in.slotValues(slots, values); err != nil {
		c.in.unuse()
		return nil, err
	}
	run := C.tfx_run{at: C.int64_t(r.At), resume: flag(r.Resume)}
	code := C.tfx_frame_run(C.uint64_t(impl), mode, (*C.uint64_t)(unsafe.Pointer(unsafe.SliceData(c.in.w))), C.uint64_t(len(c.in.w)), &run,
		c.out.w(), replyWords, &c.out.out)
	c.in.unuse()
	r.At, r.Stop, r.Call = int(run.at), PlanStop(run.stop), int(run.overload)
	if code != 0 {
		return nil, c.out.fail("", code)
	}
	d := decoder{w: c.out.view(), tuples: true}
	out := d.all()
	c.out.done()
	if d.err != nil {
		closeAll(out)
		return nil, d.err
	}
	return out, nil
}

// Put puts values into slots while a run is stopped.
func (f *Frame) Put(slots []int, values []any) error {
	impl, ok := f.ptr()
	if !ok {
		return ir.Errorf(ir.ErrClosed, "put: the frame is closed")
	}
	defer f.unuse()
	c := frames.Get().(*frame)
	defer c.put()
	defer c.in.unuse()
	if err := c.in.slotValues(slots, values); err != nil {
		return err
	}
	code := C.tfx_frame_put(C.uint64_t(impl), (*C.uint64_t)(unsafe.Pointer(unsafe.SliceData(c.in.w))), C.uint64_t(len(c.in.w)), c.out.w(), replyWords, &c.out.out)
	if code != 0 {
		return c.out.fail("", code)
	}
	return nil
}

// Values returns what is in slots while a run is stopped. The values belong to
// the caller.
func (f *Frame) Values(slots []int) ([]any, error) {
	impl, ok := f.ptr()
	if !ok {
		return nil, ir.Errorf(ir.ErrClosed, "values: the frame is closed")
	}
	defer f.unuse()
	list := make([]uint64, len(slots))
	for i, s := range slots {
		list[i] = uint64(s)
	}
	var r reply
	code := C.tfx_frame_values(C.uint64_t(impl), (*C.uint64_t)(unsafe.Pointer(unsafe.SliceData(list))), C.uint64_t(len(list)), r.w(), replyWords, &r.out)
	if code != 0 {
		return nil, r.fail("", code)
	}
	d := decoder{w: r.view(), tuples: true}
	out := d.all()
	r.done()
	return out, d.err
}

// Stop makes a run that is going on stop before its next step. It may be called
// from any goroutine.
func (f *Frame) Stop() {
	if impl, ok := f.ptr(); ok {
		C.tfx_frame_stop(C.uint64_t(impl))
		f.unuse()
	}
}

// Clear empties the slots after a run and makes the frame ready for the next one.
// The block is kept.
func (f *Frame) Clear() {
	if impl, ok := f.ptr(); ok {
		C.tfx_frame_clear(C.uint64_t(impl))
		f.unuse()
	}
	runtime.KeepAlive(f)
	collectReleased()
}

func (e *encoder) slotValues(slots []int, values []any) error {
	for i, v := range values {
		e.w = append(e.w, uint64(slots[i]))
		if err := e.slotValue(v); err != nil {
			return err
		}
	}
	return nil
}

// slotValue writes a value of any kind for a slot.
func (e *encoder) slotValue(v any) error {
	switch v := v.(type) {
	case Absent:
		e.head(C.TFX_ABSENT, 0)
		return nil
	case []any:
		e.head(C.TFX_LIST, len(v))
		for _, item := range v {
			if err := e.slotValue(item); err != nil {
				return err
			}
		}
		return nil
	case ir.PyTuple:
		e.head(C.TFX_TUPLE, len(v))
		for _, item := range v {
			if err := e.slotValue(item); err != nil {
				return err
			}
		}
		return nil
	}
	if err := e.any(v); err != nil {
		return badArg(&param{name: "of a slot", typ: &anyType}, v, err)
	}
	return nil
}

// all reads the values that are left.
func (d *decoder) all() []any {
	if len(d.w) == 0 {
		return nil
	}
	var values []any
	for len(d.w) > 0 {
		values = append(values, d.value(nil))
	}
	return values
}

// A GraphState says what has become of a shape class of a program on a device.
type GraphState int

// The states.
const (
	GraphWarming  GraphState = C.TFX_GRAPH_WARMING  // runs step by step
	GraphCaptured GraphState = C.TFX_GRAPH_CAPTURED // is replayed
	GraphRefused  GraphState = C.TFX_GRAPH_REFUSED  // runs step by step for good
)

// A FrameGraph is a shape class that a frame of a program on a device has met.
type FrameGraph struct {
	Runs  int // that were done step by step
	State GraphState
	Why   string // it was refused
}

// Graphs returns the shape classes of a frame of a program that captures graphs, the
// most recent first. No run of the frame may be going on.
func (f *Frame) Graphs() ([]FrameGraph, error) {
	impl, ok := f.ptr()
	if !ok {
		return nil, ir.Errorf(ir.ErrClosed, "graphs: the frame is closed")
	}
	defer f.unuse()
	var r reply
	if code := C.tfx_frame_graphs(C.uint64_t(impl), r.w(), replyWords, &r.out); code != 0 {
		return nil, r.fail("", code)
	}
	defer r.done()
	d := decoder{w: r.view()}
	values := d.all()
	var graphs []FrameGraph
	for ; d.err == nil && len(values) >= 3; values = values[3:] {
		graphs = append(graphs, FrameGraph{int(values[0].(int64)), GraphState(values[1].(int64)), values[2].(string)})
	}
	return graphs, d.err
}
