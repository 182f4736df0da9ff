package libtorch

// #include "trampoline.h"
import "C"

import (
	"math"
	"sync/atomic"
	"unsafe"

	"github.com/torchfx-go/torchfx/ir"
)

// A SlotCall is a call of an operator of which all is settled but what each call
// brings in slots: the cheapest way to call it. It is safe for concurrent use and
// needs no Close.
type SlotCall struct {
	op      *Operator
	handle  uint64
	results int           // how many cells a call brings for them, of a list none
	listed  *atomic.Int32 // of a list: how many the last call could have used
}

// An Argument says how a [SlotCall] makes one argument of its operator.
type Argument struct {
	Kind  ArgumentKind
	Slot  int // which of the call's; of [ArgRow] the first
	Count int // of [ArgRow] and [ArgTimes]
	Value any // of [ArgConstant], as in [Operator.Call]
}

// An ArgumentKind is what an argument is made of.
type ArgumentKind uint8

// The kinds. The number of a slot may stand for a tensor, whose dtype gives way then:
// see [WrappedNumber].
const (
	ArgConstant  ArgumentKind = C.TFX_ARG_CONSTANT
	ArgTensor    ArgumentKind = C.TFX_ARG_TENSOR
	ArgInt       ArgumentKind = C.TFX_ARG_INT // and a dtype, a layout and a memory format, by their numbers in c10
	ArgFloat     ArgumentKind = C.TFX_ARG_FLOAT
	ArgReal      ArgumentKind = C.TFX_ARG_REAL // an int for a float
	ArgBool      ArgumentKind = C.TFX_ARG_BOOL
	ArgDevice    ArgumentKind = C.TFX_ARG_DEVICE
	ArgGenerator ArgumentKind = C.TFX_ARG_GENERATOR
	ArgStr       ArgumentKind = C.TFX_ARG_STR
	ArgInts      ArgumentKind = C.TFX_ARG_INTS
	ArgTensors   ArgumentKind = C.TFX_ARG_TENSORS
	ArgRow       ArgumentKind = C.TFX_ARG_ROW   // ints of several slots in a row, a list
	ArgTimes     ArgumentKind = C.TFX_ARG_TIMES // an int several times, a list
	ArgWrapped   ArgumentKind = C.TFX_ARG_WRAPPED
)

// Room for what one call brings.
const (
	slotWords   = 40
	slotHandles = 8
)

// PrepareSlots readies calls whose arguments are made so, one for each of the schema.
// ok is false for constants that are handles or do not fit the schema.
func (o *Operator) PrepareSlots(args []Argument) (p *SlotCall, ok bool) {
	if len(args) != len(o.params) {
		return nil, false
	}
	var e encoder
	for i, a := range args {
		e.w = append(e.w, uint64(a.Kind)|uint64(a.Slot)<<8|uint64(a.Count)<<32)
		if a.Kind != ArgConstant {
			continue
		}
		if err := e.arg(&o.params[i], a.Value); err != nil || len(e.used) > 0 {
			e.unuse()
			return nil, false
		}
	}
	var r reply
	if C.tfx_prepare(C.uint64_t(o.handle), (*C.uint64_t)(unsafe.Pointer(unsafe.SliceData(e.w))), C.uint64_t(len(e.w)), r.w(), replyWords, &r.out) != 0 {
		r.done()
		return nil, false
	}
	p = &SlotCall{op: o, handle: r.words[0], results: min(len(o.schema.Returns), maxCells)}
	if p.results == 1 && o.schema.Returns[0].Type.Kind == ir.TypeList {
		p.results, p.listed = 0, new(atomic.Int32)
	}
	return p, true
}

// Operator returns what is called.
func (p *SlotCall) Operator() *Operator { return p.op }

// Slots are what one call brings. They lie on the stack of its caller and are good
// for one call. The zero Slots has none.
type Slots struct {
	n, inUse int
	words    [slotWords]uint64 // the slots, and behind them the items of lists
	used     [slotHandles]*cell
}

// Begin makes n slots, whose number must be at most 16.
func (s *Slots) Begin(n int) { s.n = max(n, 1) } // C reads one for a constant too

// Int puts an int into slot i.
func (s *Slots) Int(i int, n int64) { s.words[i] = uint64(n) }

// Float puts a float into slot i.
func (s *Slots) Float(i int, x float64) { s.words[i] = math.Float64bits(x) }

// Bool puts a bool into slot i.
func (s *Slots) Bool(i int, b bool) { s.words[i] = uint64(bit(b)) }

// Device puts a device into slot i.
func (s *Slots) Device(i int, d ir.Device) {
	kind, index := d.C10()
	s.words[i] = uint64(kind)&0xff | uint64(index)<<8
}

// Tensor puts a tensor into slot i, where it is open and there is room.
func (s *Slots) Tensor(i int, t *Tensor) bool { return s.handle(i, &t.handle) }

// Generator puts a generator into slot i, where it is open and there is room.
func (s *Slots) Generator(i int, g *Generator) bool { return s.handle(i, &g.handle) }

func (s *Slots) handle(at int, h *handle) bool {
	if s.inUse == len(s.used) {
		return false
	}
	impl, ok := h.ptr()
	if ok {
		s.words[at] = impl
		s.used[s.inUse] = h.cell
		s.inUse++
	}
	return ok
}

// List makes room for n items of slot i, where there is some; their places are first
// and those after it. They are ints or, as [Slots.Tensor] puts them there, tensors.
func (s *Slots) List(i, n int) (first int, ok bool) {
	first = s.n
	if n > len(s.words)-first {
		return 0, false
	}
	s.n += n
	s.words[i] = uint64(first) | uint64(n)<<32
	return first, true
}

// Len returns how many items slot i has.
func (s *Slots) Len(i int) int { return int(s.words[i] >> 32) }

// Str puts a string into slot i, where there is room.
func (s *Slots) Str(i int, x string) bool {
	at, ok := s.List(i, (len(x)+7)/8)
	if ok {
		copy(unsafe.Slice((*byte)(unsafe.Pointer(&s.words[0])), 8*len(s.words))[8*at:], x)
		s.words[i] = uint64(at) | uint64(len(x))<<32
	}
	return ok
}

// Drop ends the use of what was put there, where no call follows.
func (s *Slots) Drop() {
	for _, c := range s.used[:s.inUse] {
		c.unuse()
	}
	s.inUse = 0
}

// Ordinary reports whether calls in a mode are those of a [SlotCall]: without
// gradients, on this thread, observed by nobody.
func (m *Mode) Ordinary() bool {
	return m == nil && entered.Load() == 0 || m.ordinary()
}

func (m *Mode) ordinary() bool {
	m = m.current()
	return m == nil || m.isDefault()
}

// Call calls the operator with what s holds; the mode of the calling thread must be an
// ordinary one. The results are r's, to be taken from it in their order. Errors
// are those of [Operator.Call].
func (p *SlotCall) Call(s *Slots, r *Results) error {
	var waiting [maxCells]uint64
	r.n = p.results
	if p.listed != nil {
		r.n = int(p.listed.Load())
	}
	n := r.n
	r.bring(n, &waiting)
	slots.acquire()
	C.tfx_call_prepared(C.uint64_t(p.handle), (*C.uint64_t)(unsafe.Pointer(&s.words)), C.uint64_t(s.n), (*C.uint64_t)(unsafe.Pointer(&waiting)), C.uint64_t(n),
		(*C.uint64_t)(unsafe.Pointer(&r.words)), resultWords, &r.out)
	slots.release()
	for _, c := range s.used[:s.inUse] {
		c.unuse()
	}
	collectReleased()
	if r.out.code != 0 {
		return r.fail(p)
	}
	r.emptied()
	if p.listed != nil {
		p.expect(r, n)
	}
	return nil
}

// expect remembers how long a list was, where that is news.
func (p *SlotCall) expect(r *Results, expected int) {
	got := maxCells
	if r.out.heap == 0 {
		got = min(int(r.words[0]>>8), maxCells)
	}
	if got != expected {
		p.listed.Store(int32(got))
	}
}

// Results are what one call returned: values to be taken one after another, then
// Done. Where Call fails there are none. They lie on the stack of its caller.
type Results struct {
	out   C.tfx_out
	at    int
	words [resultWords]uint64
	cells [maxCells]*cell // for the first handles; what waited in them went with the call
	n     int             // of them are left
}

// small marks the bytes of a small tensor.
const small = 1 << 63

// maxCells is how many cells a call brings at most.
const maxCells = 4

// bring takes the n cells of a call, and lists the references that wait in them.
func (r *Results) bring(n int, waiting *[maxCells]uint64) {
	for i := range waiting[:n] {
		c := shelves[i].Get().(*cell)
		r.cells[i], waiting[i] = c, c.impl
	}
}

// emptied says that the call has given back what waited.
func (r *Results) emptied() {
	for _, c := range r.cells[:r.n] {
		c.impl = 0
	}
}

func (r *Results) putBack() {
	for ; r.n > 0; r.n-- {
		shelves[r.n-1].Put(r.cells[r.n-1])
	}
}

// resultWords holds a few results; more come in memory of the bridge.
const resultWords = 12

func (r *Results) fail(p *SlotCall) error {
	r.putBack()
	long := reply{out: r.out}
	copy(long.words[:], r.words[:])
	return long.fail(p.op.schema.Op, r.out.code)
}

func (r *Results) next() uint64 {
	i := r.at
	r.at++
	if r.out.heap != 0 {
		return unsafe.Slice((*uint64)(address(uint64(r.out.heap))), int(r.out.used))[i]
	}
	return r.words[i]
}

// Tensor makes t, which must be zero, a handle of the next tensor; it stays zero for
// an undefined one.
func (r *Results) Tensor(t *Tensor) { r.take(t, true) }

// Item is Tensor for one of a list.
func (r *Results) Item(t *Tensor) { r.take(t, false) }

// take is one function, as a call in cold code costs as much as what is in it.
func (r *Results) take(t *Tensor, headed bool) {
	if headed && r.next()&0xff != C.TFX_TENSOR {
		return
	}
	impl := r.next()
	bytes := r.next()
	if impl == 0 {
		return
	}
	what := remains{impl, int64(bytes &^ small), 0, kindTensor, bytes&small != 0}
	if stacks.Load() {
		what.key = profileAdd()
	}
	if r.n == 0 {
		t.own(what)
		return
	}
	r.n--
	t.hold(r.cells[r.n], what)
	born(what.bytes, what.small)
}

// Value returns the next bool, int or float.
func (r *Results) Value() any {
	switch head := r.next(); head & 0xff {
	case C.TFX_BOOL:
		return head>>8 != 0
	case C.TFX_INT:
		return int64(r.next())
	case C.TFX_FLOAT:
		return math.Float64frombits(r.next())
	}
	return nil
}

// List returns the length of the next list of tensors.
func (r *Results) List() int { return int(r.next() >> 8) }

// Done frees what did not lie in r, and what was not taken.
func (r *Results) Done() {
	if r.n > 0 || r.out.heap != 0 {
		r.drop()
	}
}

func (r *Results) drop() {
	r.putBack()
	if r.out.heap != 0 {
		C.tfx_free(r.out.heap)
		r.out.heap = 0
	}
}
