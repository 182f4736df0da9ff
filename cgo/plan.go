package libtorch

// #include "trampoline.h"
import "C"

import (
	"runtime"
	"unsafe"

	"github.com/torchfx-go/torchfx/ir"
)

// A PlanProgram is a graph compiled to steps over numbered slots, which libtorch's
// side of the bridge runs without coming back: see [NewPlan]. Package interpreter
// makes them; nothing here knows of graphs.
type PlanProgram struct {
	Slots  int
	Inputs []int  // slots by whose shapes memory is planned
	Pinned []int  // slots whose memory is never planned
	Modes  []Mode // that Enter steps name
	Steps  []PlanStep

	// BelowAutograd runs operators without the layer that records gradients. It
	// is for runs that record none and for libtorch's own operators, where the
	// layer only passes calls on.
	BelowAutograd bool

	// Fusion does neighbouring pointwise steps together, block by block.
	Fusion PlanFusion
}

// A PlanFusion says which pointwise steps are done together.
type PlanFusion uint8

// Nothing, what is faster together, or all that can be, for tests.
const (
	PlanApart PlanFusion = iota
	PlanFuse
	PlanFuseAll
)

// A PlanStep is one step. What of its fields counts depends on Code.
type PlanStep struct {
	Code     PlanCode
	Plain    bool          // the layout of the results follows from that of the inputs
	Hides    bool          // a result may hold references to the arguments
	Tuples   bool          // lists of tensors among the results become tuples
	Number   PlanNumber    // of a Call, the arithmetic if both operands are numbers, 0 for none; the fact of a Size
	Target   int           // the step that Jump and Unless go to; the mode of Enter
	Results  []int         // slots
	Written  []int         // slots whose memory is written in place
	Slots    []int         // what Go and Done hand over
	Frees    []int         // slots to empty after the step
	Operands []PlanOperand // of Move, Unless, Size, Item, and of a Call with a Number
	Calls    []PlanCall    // of a Call: the first that takes its arguments is made
}

// A PlanCall is one operator with an operand for each argument of its schema.
type PlanCall struct {
	Op     *Operator
	Out    *Operator // the same operator into given tensors, nil for none
	Python bool      // arguments are matched as those of torch.add, not of torch.ops.aten.add.Tensor
	Args   []PlanOperand
}

// A PlanOperand is a constant, the value of a slot, or a list of operands.
type PlanOperand struct {
	Kind   PlanOperandKind
	Strict bool // no number in a tensor's place, no tensor in a number's
	Slot   int
	Const  any // as [Operator.Call] takes it
	Items  []PlanOperand
}

// A PlanOperandKind is a kind of operand.
type PlanOperandKind uint8

// The kinds of operands.
const (
	PlanConst PlanOperandKind = iota
	PlanSlot
	PlanList
)

// A PlanCode says what a step does.
type PlanCode uint32

// The codes.
const (
	PlanCallStep PlanCode = C.TFX_STEP_CALL
	PlanGo       PlanCode = C.TFX_STEP_GO
	PlanDone     PlanCode = C.TFX_STEP_DONE
	PlanMove     PlanCode = C.TFX_STEP_MOVE
	PlanJump     PlanCode = C.TFX_STEP_JUMP
	PlanUnless   PlanCode = C.TFX_STEP_UNLESS
	PlanSize     PlanCode = C.TFX_STEP_SIZE
	PlanItem     PlanCode = C.TFX_STEP_ITEM
	PlanEnter    PlanCode = C.TFX_STEP_ENTER
	PlanLeave    PlanCode = C.TFX_STEP_LEAVE
)

// A PlanNumber is arithmetic on two numbers, or a fact about a tensor.
type PlanNumber uint32

// The arithmetic of a Call, which is Python's.
const (
	PlanAdd      PlanNumber = C.TFX_ADD
	PlanSub      PlanNumber = C.TFX_SUB
	PlanMul      PlanNumber = C.TFX_MUL
	PlanDiv      PlanNumber = C.TFX_DIV
	PlanFloorDiv PlanNumber = C.TFX_FLOORDIV
	PlanMod      PlanNumber = C.TFX_MOD
	PlanMax      PlanNumber = C.TFX_MAX
	PlanMin      PlanNumber = C.TFX_MIN
	PlanEq       PlanNumber = C.TFX_EQ
	PlanNe       PlanNumber = C.TFX_NE
	PlanLt       PlanNumber = C.TFX_LT
	PlanLe       PlanNumber = C.TFX_LE
	PlanGt       PlanNumber = C.TFX_GT
	PlanGe       PlanNumber = C.TFX_GE
)

// The facts of a Size.
const (
	PlanSizeOf   PlanNumber = C.TFX_SIZE   // of a dimension, the second operand
	PlanStrideOf PlanNumber = C.TFX_STRIDE // likewise
	PlanDims     PlanNumber = C.TFX_DIMS
	PlanNumel    PlanNumber = C.TFX_NUMEL
	PlanOffset   PlanNumber = C.TFX_OFFSET
	PlanShape    PlanNumber = C.TFX_SHAPE // a tuple
)

// A Plan is a program that was checked and taken over by the bridge. It is
// immutable but for the memory layouts that it learns, and safe for concurrent
// use; a run of it is a [Frame].
type Plan struct{ handle }

// NewPlan takes over a program. The tensors among its constants are referred to,
// so that their handles may be closed afterwards.
func NewPlan(p *PlanProgram) (*Plan, error) {
	if err := Open(); err != nil {
		return nil, err
	}
	var e encoder
	defer e.unuse()
	if err := e.program(p); err != nil {
		return nil, err
	}
	var r reply
	code := C.tfx_plan_new((*C.uint64_t)(unsafe.Pointer(unsafe.SliceData(e.w))), C.uint64_t(len(e.w)), r.w(), replyWords, &r.out)
	if code != 0 {
		return nil, r.fail("", code)
	}
	plan := new(Plan)
	plan.own(remains{impl: r.words[0], kind: kindPlan})
	return plan, nil
}

func (e *encoder) program(p *PlanProgram) error {
	e.w = append(e.w, uint64(p.Slots), uint64(bit(p.BelowAutograd)), uint64(p.Fusion))
	e.slots(p.Pinned)
	e.slots(p.Inputs)
	e.w = append(e.w, uint64(len(p.Modes)))
	for i := range p.Modes {
		var c C.tfx_mode
		if _, err := p.Modes[i].encode(&c); err != nil {
			return err
		}
		c.threads = C.int32_t(p.Modes[i].threads())
		e.w = append(e.w, unsafe.Slice((*uint64)(unsafe.Pointer(&c)), unsafe.Sizeof(c)/8)...)
	}
	e.w = append(e.w, uint64(len(p.Steps)))
	for i := range p.Steps {
		if err := e.step(&p.Steps[i]); err != nil {
			return err
		}
	}
	return nil
}

func (e *encoder) slots(list []int) {
	e.w = append(e.w, uint64(len(list)))
	for _, s := range list {
		e.w = append(e.w, uint64(s))
	}
}

func (e *encoder) step(s *PlanStep) error {
	var flags uint64
	if s.Plain {
		flags |= C.TFX_PLAIN
	}
	if s.Hides {
		flags |= C.TFX_HIDES
	}
	if s.Tuples {
		flags |= C.TFX_TUPLES
	}
	if len(s.Calls) == 1 && s.Calls[0].Op.schema.Tags.Has(ir.TagPointwise) {
		flags |= C.TFX_POINTWISE
	}
	e.w = append(e.w, uint64(s.Code), flags, uint64(s.Number), uint64(s.Target))
	e.slots(s.Results)
	e.slots(s.Written)
	e.slots(s.Slots)
	e.slots(s.Frees)
	e.w = append(e.w, uint64(len(s.Operands)))
	for i := range s.Operands {
		if err := e.operand(&s.Operands[i], &param{typ: &anyType, free: -1}); err != nil {
			return err
		}
	}
	e.w = append(e.w, uint64(len(s.Calls)))
	for i := range s.Calls {
		if err := e.planCall(&s.Calls[i]); err != nil {
			return err
		}
	}
	return nil
}

var anyType = ir.Type{Kind: ir.TypeAny}

func (e *encoder) planCall(c *PlanCall) error {
	var out uint64
	if c.Out != nil {
		out = c.Out.handle
	}
	if len(c.Args) != len(c.Op.params) {
		return ir.Errorf(ir.ErrType, "%s: expected %d arguments, got %d", c.Op.schema.Op, len(c.Op.params), len(c.Args))
	}
	e.w = append(e.w, c.Op.handle, out, uint64(bit(c.Python)), uint64(len(c.Args)))
	for i := range c.Args {
		if err := e.operand(&c.Args[i], &c.Op.params[i]); err != nil {
			return err
		}
	}
	return nil
}

func (e *encoder) operand(o *PlanOperand, p *param) error {
	head := uint64(o.Kind)
	if o.Strict {
		head |= 0x100
	}
	e.w = append(e.w, head)
	switch o.Kind {
	case PlanSlot:
		e.w = append(e.w, uint64(o.Slot))
		return nil
	case PlanList:
		elem := &anyType
		if p.typ.Kind == ir.TypeList {
			elem = p.typ.Elem
		}
		item := param{name: p.name, typ: elem, free: -1}
		if elem.Kind == ir.TypeOptional {
			item.typ, item.optional = elem.Elem, true
		}
		e.w = append(e.w, uint64(len(o.Items)))
		for i := range o.Items {
			if err := e.operand(&o.Items[i], &item); err != nil {
				return err
			}
		}
		return nil
	}
	if o.Const == nil && p.optional {
		e.head(C.TFX_NONE, 0)
		return nil
	}
	if p.typ == &anyType {
		return e.slotValue(o.Const)
	}
	if err := e.value(p.typ, o.Const, p.free); err != nil {
		return badArg(p, o.Const, err)
	}
	return nil
}

// A PlanPlace is a result that runs of one shape class write into planned memory.
type PlanPlace struct {
	Step, Slot    int
	First, Last   int // the steps between which the memory is taken
	Offset, Bytes int64
	DType         ir.DType
	Sizes         []int64
}

// A PlanLayout is the memory plan of one shape class.
type PlanLayout struct {
	Bytes  int64 // of the block that all places lie in
	Places []PlanPlace
	Chosen []int // by step, the call that took the arguments; -1 for none
	Groups []PlanGroup
}

// A PlanGroup is pointwise steps that runs of one shape class do together.
type PlanGroup struct {
	Steps   []int // in order; the last one is where it is done
	Results []int // slots that are read outside of it
	Blocks  int   // that it is done in
	Block   int   // elements of one
	Scratch int   // blocks that hold what goes from one stage to another
	Stages  []PlanStage
}

// A PlanStage is a part of a group: operators whose values go from one to the next
// in registers, or one kernel of libtorch.
type PlanStage struct {
	Kernel bool
	Ops    int
}

// Layouts returns the memory plans that runs have made so far, the most recent
// first.
func (p *Plan) Layouts() ([]PlanLayout, error) {
	impl, ok := p.ptr()
	if !ok {
		return nil, ir.Errorf(ir.ErrClosed, "layouts: the plan is closed")
	}
	defer p.unuse()
	var r reply
	if code := C.tfx_plan_layouts(C.uint64_t(impl), r.w(), replyWords, &r.out); code != 0 {
		return nil, r.fail("", code)
	}
	defer r.done()
	d := decoder{w: r.view()}
	number := func() int { return int(int64(d.next())) }
	layouts := make([]PlanLayout, number())
	for i := range layouts {
		l := &layouts[i]
		l.Bytes = int64(d.next())
		l.Places = make([]PlanPlace, number())
		for k := range l.Places {
			at := &l.Places[k]
			at.Step, at.Slot, at.First, at.Last = number(), number(), number(), number()
			at.Offset, at.Bytes = int64(d.next()), int64(d.next())
			at.DType, d.err = ir.DTypeFromC10(number())
			at.Sizes = make([]int64, number())
			for j := range at.Sizes {
				at.Sizes[j] = int64(d.next())
			}
		}
		l.Chosen = make([]int, number())
		for k := range l.Chosen {
			l.Chosen[k] = number()
		}
		l.Groups = make([]PlanGroup, number())
		for k := range l.Groups {
			g := &l.Groups[k]
			numbers := func() []int {
				list := make([]int, number())
				for j := range list {
					list[j] = number()
				}
				return list
			}
			g.Steps, g.Results = numbers(), numbers()
			g.Blocks, g.Block, g.Scratch = number(), number(), number()
			g.Stages = make([]PlanStage, number())
			for j := range g.Stages {
				g.Stages[j] = PlanStage{Kernel: number() != 0, Ops: number()}
			}
		}
	}
	return layouts, d.err
}

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
func (f *Frame) Run(m *Mode, r *PlanRun, slots []int, values []any) (out []any, err error) {
	m = m.current()
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
