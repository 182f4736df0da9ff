package libtorch

// #include "trampoline.h"
import "C"

import (
	"math"
	"unsafe"

	"github.com/torchfx-go/torchfx/ir"
)

// Words are the arguments of one call of an operator, written in the order of its
// schema as the bridge takes them: the cheapest way to call an operator whose
// arguments are known by their kinds. It does not check them against the schema: who
// writes them does. The zero Words is empty; one lies on the stack of its caller and
// is good for one call.
type Words struct {
	n, inUse int
	failed   bool
	words    [wordsRoom]uint64
	used     [wordsTensors]*cell
}

// Room for one call, and for what it returns.
const (
	wordsRoom    = 48
	wordsTensors = 8
	// MaxResults is the most tensors that [Operator.CallWords] returns.
	MaxResults = 4
)

// Constant returns what is written for argument i of the operator where it is v, as
// in [Operator.Call]. ok is false for what is a handle or no such argument.
func (o *Operator) Constant(i int, v any) (words []uint64, ok bool) {
	var e encoder
	err := e.arg(&o.params[i], v)
	e.unuse()
	return e.w, err == nil && len(e.used) == 0
}

// Copy writes words of [Operator.Constant].
func (w *Words) Copy(words []uint64) {
	if w.n+len(words) > len(w.words) {
		w.failed = true
		return
	}
	w.n += copy(w.words[w.n:], words)
}

func (w *Words) two(head, payload uint64) {
	if w.n+2 > len(w.words) {
		w.failed = true
		return
	}
	w.words[w.n], w.words[w.n+1] = head, payload
	w.n += 2
}

func (w *Words) one(word uint64) {
	if w.n == len(w.words) {
		w.failed = true
		return
	}
	w.words[w.n] = word
	w.n++
}

// Int writes an int, which is also how a dtype, a layout and a memory format go, by
// their numbers in c10.
func (w *Words) Int(n int64) { w.two(C.TFX_INT, uint64(n)) }

// Float writes a float.
func (w *Words) Float(x float64) { w.two(C.TFX_FLOAT, math.Float64bits(x)) }

// Bool writes a bool.
func (w *Words) Bool(b bool) { w.one(C.TFX_BOOL | uint64(bit(b))<<8) }

// Wrapped says that the number that is written next stands for a tensor of it whose
// dtype gives way; see [WrappedNumber].
func (w *Words) Wrapped() { w.one(C.TFX_WRAPPED) }

// Device writes a device.
func (w *Words) Device(d ir.Device) {
	kind, index := d.C10()
	w.two(C.TFX_DEVICE, uint64(kind))
	w.one(uint64(index))
}

// Str writes a string.
func (w *Words) Str(s string) {
	if len(s) > 8*len(w.words) {
		w.failed = true
		return
	}
	w.one(C.TFX_STR | uint64(len(s))<<8)
	for len(s) > 0 {
		var word uint64
		n := copy(unsafe.Slice((*byte)(unsafe.Pointer(&word)), 8), s)
		w.one(word)
		s = s[n:]
	}
}

// Ints begins a list of n ints, each of which is written by Item.
func (w *Words) Ints(n int) { w.one(C.TFX_INTS | uint64(n)<<8) }

// Item writes an element of a list of ints.
func (w *Words) Item(n int64) { w.one(uint64(n)) }

// Tensor writes a tensor.
func (w *Words) Tensor(t *Tensor) {
	w.one(C.TFX_TENSOR)
	w.TensorItem(t)
}

// Tensors begins a list of n tensors, each of which is written by TensorItem.
func (w *Words) Tensors(n int) { w.one(C.TFX_TENSORS | uint64(n)<<8) }

// TensorItem writes an element of a list of tensors.
func (w *Words) TensorItem(t *Tensor) {
	if w.inUse == len(w.used) {
		w.failed = true
		return
	}
	impl, ok := t.ptr()
	if !ok {
		w.failed = true
		return
	}
	w.used[w.inUse] = t.cell
	w.inUse++
	w.one(impl)
}

// Drop ends the use of what was written, where no call follows.
func (w *Words) Drop() {
	for _, c := range w.used[:w.inUse] {
		c.unuse()
	}
	w.inUse = 0
}

// Failed reports whether something did not fit or a tensor was closed.
func (w *Words) Failed() bool { return w.failed }

// Ordinary reports whether calls in a mode are those of [Operator.CallWords]: without
// gradients, on this thread, observed by nobody.
func (m *Mode) Ordinary() bool {
	m = m.current()
	return m == nil || m.isDefault()
}

// CallWords calls an operator that returns tensors, of which the schema has as many as
// results, [MaxResults] at most, and makes these, which must be zero, handles of what
// it returns: one stays zero for an undefined tensor. The mode of the calling thread
// must be an ordinary one. Errors are those of [Operator.Call].
func (o *Operator) CallWords(w *Words, results []*Tensor) error {
	if w.failed {
		w.Drop()
		return ir.Errorf(ir.ErrValue, "%s: expected arguments that fit, and open tensors", o.schema.Op)
	}
	var r struct {
		out   C.tfx_out
		words [3 * MaxResults]uint64
	}
	slots.acquire()
	code := C.tfx_call(C.uint64_t(o.handle), nil, (*C.uint64_t)(unsafe.Pointer(&w.words)), C.uint64_t(w.n),
		nil, 0, (*C.uint64_t)(unsafe.Pointer(&r.words)), C.uint64_t(len(r.words)), &r.out)
	slots.release()
	w.Drop()
	if code != 0 {
		collectReleased()
		long := reply{out: r.out}
		copy(long.words[:], r.words[:])
		return long.fail(o.schema.Op, code)
	}
	at := 0
	for _, t := range results {
		if r.words[at]&0xff != C.TFX_TENSOR {
			at++
			continue
		}
		t.own(remains{r.words[at+1], int64(r.words[at+2]), profileAdd(), kindTensor})
		at += 3
	}
	collectReleased()
	return nil
}
