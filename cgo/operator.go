package libtorch

// #include "trampoline.h"
import "C"

import (
	"fmt"
	"strings"
	"sync"
	"unsafe"

	"github.com/torchfx-go/torchfx/ir"
)

// An Operator is an operator of the dispatcher, found once. It is safe for
// concurrent use and never goes away.
type Operator struct {
	handle uint64
	schema *ir.Schema
	params []param
}

var operators sync.Map // string -> *Operator

// Find returns the operator of a name, "aten::add.Tensor", resolved once for the
// process. The error wraps [ir.ErrUnsupported] where libtorch has no such
// operator: a library that registers it may not be open yet, see [OpenLibrary].
func Find(op string) (*Operator, error) {
	if o, ok := operators.Load(op); ok {
		return o.(*Operator), nil
	}
	if err := Open(); err != nil {
		return nil, err
	}
	if op == "" {
		return nil, unknown(op)
	}
	var r reply
	name := unsafe.StringData(op)
	code := C.tfx_find((*C.char)(unsafe.Pointer(name)), C.uint64_t(len(op)), r.w(), replyWords, &r.out)
	if code != 0 {
		return nil, r.fail(op, code)
	}
	defer r.done()
	w := r.view()
	if w[0]&0xff == C.TFX_NONE {
		return nil, unknown(op)
	}
	text, n := str(w[3:], int(w[2]>>8))
	tags, _ := str(w[4+n:], int(w[3+n]>>8))
	schema, err := parse(text, tags)
	if err != nil {
		return nil, err
	}
	o, _ := operators.LoadOrStore(op, &Operator{handle: w[1], schema: schema, params: params(schema)})
	return o.(*Operator), nil
}

func unknown(op string) error {
	hint := ""
	if all, err := Operators(); err == nil {
		if near := all.Nearest(op); near != "" {
			hint = fmt.Sprintf("; the nearest is %q", near)
		}
	}
	return ir.Errorf(ir.ErrUnsupported, "operator %q: libtorch %s has none of that name%s", op, loaded.version, hint)
}

// parse reads what libtorch says of an operator. Tags of a newer libtorch are
// left out.
func parse(text, tags string) (*ir.Schema, error) {
	s, err := ir.ParseSchema(text)
	if err != nil {
		return nil, err
	}
	if tags != "" {
		s.Tags, _ = ir.ParseTags(strings.Split(tags, ","))
	}
	return s, nil
}

// live is the catalogue of the running libtorch; opening a library drops it.
var live struct {
	sync.Mutex
	catalogue *ir.Catalogue
}

// Operators lists the operators that the running libtorch and the libraries
// opened so far have registered, with their schemas and tags.
func Operators() (*ir.Catalogue, error) {
	if err := Open(); err != nil {
		return nil, err
	}
	live.Lock()
	defer live.Unlock()
	if live.catalogue != nil {
		return live.catalogue, nil
	}
	var r reply
	if code := C.tfx_list(r.w(), replyWords, &r.out); code != 0 {
		return nil, r.fail("", code)
	}
	text := r.one()
	all := make([]*ir.Schema, 0, strings.Count(text, "\n"))
	for line := range strings.Lines(text) {
		schema, tags, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		s, err := parse(schema, tags)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	live.catalogue = ir.NewCatalogue(loaded.version, all)
	return live.catalogue, nil
}

// Schema returns the signature, with its tags. It must not be changed.
func (o *Operator) Schema() *ir.Schema { return o.schema }

// HasKernel reports whether the operator can run on a kind of device, by a kernel
// of its own or through the operators that it is made of. On the device meta one whose
// result depends on elements cannot.
func (o *Operator) HasKernel(kind ir.DeviceKind) bool {
	n, _ := ir.NewDevice(kind, -1).C10()
	return C.tfx_has_kernel(C.uint64_t(o.handle), C.int32_t(n)) != 0
}

// Call runs the operator. args holds exactly one value for each argument of the
// schema, in its order, defaults filled in; the values are
//
//	schema type               Go value
//	T?                        nil, or as T
//	Tensor                    *Tensor; nil is an undefined tensor, as Python makes of None
//	int, SymInt               int64, int
//	float, SymFloat           float64
//	bool, SymBool             bool
//	Scalar                    int64, int, uint64, float64, bool, complex128
//	str                       string
//	ScalarType                ir.DType
//	Layout, MemoryFormat      ir.Layout, ir.MemoryFormat
//	Device                    ir.Device
//	Generator                 *Generator
//	Storage, Stream, classes  *Object
//	Tensor[], Tensor?[]       []*Tensor, with nil for None where the schema allows it
//	int[], float[], bool[]    []int64, []float64, []bool
//	str[], Scalar[]           []string; []int64, []float64, []bool, []complex128
//	any list, a tuple         []any of the above
//
// A value of another kind is an error of class [ir.ErrType], a list whose length
// the schema does not allow one of class [ir.ErrRuntime] and a closed tensor one of
// class [ir.ErrClosed], each naming the argument. What libtorch reports is an
// [*Error].
//
// The results are the caller's to close. A result that is None or an undefined
// tensor is nil, a list of tensors []*Tensor, a tuple or other list []any, a dict
// []any of []any{key, value}. An operator that writes an argument returns a new
// handle of it.
//
// The call runs on the calling goroutine, at most so many at once as there are
// slots; with more than one thread it runs on a worker of its own.
func (o *Operator) Call(m *Mode, args []any) ([]any, error) { return o.CallInto(nil, m, args) }

// CallInto is [Operator.Call] with the results appended to dst, which is returned
// as it was where the call fails.
func (o *Operator) CallInto(dst []any, m *Mode, args []any) ([]any, error) {
	m = m.current()
	if m != nil && m.Observe != nil {
		m.Observe(o)
	}
	if n := m.threads(); n > 1 {
		if _, recording := RecordedSoFar(); !recording { // or another thread would make the call
			return o.callOnWorker(dst, n, m, args)
		}
	}
	slots.acquire()
	results, err := o.run(dst, m, args)
	slots.release()
	collectReleased()
	return results, err
}

// callOnWorker is apart from Call because what its closure holds lives on the heap.
func (o *Operator) callOnWorker(dst []any, n int, m *Mode, args []any) (results []any, err error) {
	onWorker(n, func() { results, err = o.run(dst, m, args) })
	collectReleased()
	return results, err
}

// run calls the operator on this thread.
func (o *Operator) run(dst []any, m *Mode, args []any) ([]any, error) {
	var cmode C.tfx_mode
	mode, err := m.encode(&cmode)
	if err != nil {
		return dst, err
	}
	f := frames.Get().(*frame)
	defer f.put()
	if err := f.in.args(o, args); err != nil {
		f.in.unuse()
		return dst, err
	}
	code := C.tfx_call(C.uint64_t(o.handle), mode, (*C.uint64_t)(unsafe.Pointer(unsafe.SliceData(f.in.w))), C.uint64_t(len(f.in.w)),
		f.out.w(), replyWords, &f.out.out)
	f.in.unuse()
	if code != 0 {
		return dst, f.out.fail(o.schema.Op, code)
	}
	results, err := decode(dst, f.out.view(), o.schema.Returns)
	f.out.done()
	return results, err
}

// A frame is the memory of one call, reused.
type frame struct {
	in  encoder
	out reply
}

var frames = sync.Pool{New: func() any {
	return &frame{in: encoder{w: make([]uint64, 0, argWords), used: make([]*cell, 0, argTensors)}}
}}

// put gives the frame back, unless a call with very long lists has grown it.
func (f *frame) put() {
	if cap(f.in.w) > maxWords || cap(f.in.used) > maxWords {
		return
	}
	clear(f.in.used)
	f.in.w, f.in.used = f.in.w[:0], f.in.used[:0]
	frames.Put(f)
}
