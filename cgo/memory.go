package libtorch

// #include "trampoline.h"
import "C"

import (
	"math"
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/torchfx-go/torchfx/ir"
)

// maxDims is libtorch's own bound for what most kernels take.
const maxDims = 64

// NewTensor makes a contiguous CPU tensor of the sizes and copies data into it,
// the elements one after another in the machine's byte order. data must have
// exactly the bytes of the elements.
func NewTensor(dt ir.DType, sizes []int64, data []byte) (*Tensor, error) {
	if err := Open(); err != nil {
		return nil, err
	}
	if err := storable(dt); err != nil {
		return nil, err
	}
	n, err := elements(sizes, dt)
	if err != nil {
		return nil, err
	}
	if want := n * int64(dt.Size()); int64(len(data)) != want {
		return nil, ir.Errorf(ir.ErrValue, "tensor of %s %v: expected %d bytes, got %d", dt.Name(), sizes, want, len(data))
	}
	var r reply
	code := C.tfx_tensor_new(C.int32_t(dt.C10()), dims(sizes), C.uint64_t(len(sizes)), unsafe.Pointer(unsafe.SliceData(data)), C.uint64_t(len(data)),
		r.w(), replyWords, &r.out)
	return r.tensor("", code)
}

// FromMemory makes a CPU tensor over mem without a copy: of the sizes and
// strides, in elements, starting offset elements into mem. The storage is the
// whole of mem, so that [View] can make further tensors over it.
//
// mem must stay valid and is libtorch's to read, and to write where the program
// calls an operator that writes, until release runs: once no tensor refers to the
// storage any longer, on the goroutine whose call dropped the last one. release
// may be nil. Memory of Go is pinned until then. On error, release does not run.
//
// The first element must be aligned to the size of an element.
func FromMemory(mem []byte, dt ir.DType, sizes, strides []int64, offset int64, release func()) (*Tensor, error) {
	if err := Open(); err != nil {
		return nil, err
	}
	if err := storable(dt); err != nil {
		return nil, err
	}
	if err := inside(int64(len(mem)), dt, sizes, strides, offset); err != nil {
		return nil, err
	}
	base := unsafe.Pointer(unsafe.SliceData(mem))
	if align := uintptr(alignment(dt)); uintptr(base)%align != 0 {
		return nil, ir.Errorf(ir.ErrValue, "memory: expected an address that %d divides for %s, got a remainder of %d", align, dt.Name(), uintptr(base)%align)
	}
	id := lend(mem, release)
	var r reply
	code := C.tfx_tensor_from_memory(C.int32_t(dt.C10()), base, C.uint64_t(len(mem)), dims(sizes), dims(strides), C.uint64_t(len(sizes)),
		C.int64_t(offset), C.uint64_t(id), r.w(), replyWords, &r.out)
	if code != 0 {
		forget(id)
	}
	return r.borrowed(code)
}

// View makes a tensor over the storage of base, with a dtype, sizes, strides and
// an offset, in elements of dt, of its own. The tensors share memory and nothing
// else: autograd does not see a relation, as between tensors of one file. base
// may be closed afterwards.
func View(base *Tensor, dt ir.DType, sizes, strides []int64, offset int64) (*Tensor, error) {
	if err := storable(dt); err != nil {
		return nil, err
	}
	info, err := base.Info()
	if err != nil {
		return nil, err
	}
	if !info.HasStorage || info.Layout != ir.Strided {
		return nil, ir.Errorf(ir.ErrValue, "view: expected a strided tensor with a storage, got layout %v", info.Layout)
	}
	if err := inside(info.StorageBytes, dt, sizes, strides, offset); err != nil {
		return nil, err
	}
	p, ok := base.ptr()
	if !ok {
		return nil, closedError("view")
	}
	defer base.unuse()
	var r reply
	code := C.tfx_tensor_view(C.uint64_t(p), C.int32_t(dt.C10()), dims(sizes), dims(strides), C.uint64_t(len(sizes)), C.int64_t(offset),
		r.w(), replyWords, &r.out)
	return r.tensor("", code)
}

// CopyBytes copies the elements of t to dst as a contiguous CPU tensor has them,
// conjugation and negation done, sparse layouts made dense, quantized ones as
// their integers, and returns how many bytes that were. dst must have room. From a
// device it waits for what the usual stream, or that of [Mode.Within] around the
// call, was given before.
func (t *Tensor) CopyBytes(dst []byte) (int, error) {
	p, ok := t.ptr()
	if !ok {
		return 0, closedError("copy")
	}
	defer t.unuse()
	var cmode C.tfx_mode
	mode, err := CurrentMode().streamOnly().encode(&cmode)
	if err != nil {
		return 0, err
	}
	var r reply
	slots.acquire()
	code := C.tfx_tensor_bytes(mode, C.uint64_t(p), unsafe.Pointer(unsafe.SliceData(dst)), C.uint64_t(len(dst)), r.w(), replyWords, &r.out)
	slots.release()
	if code != 0 {
		return 0, r.fail("", code)
	}
	return int(r.words[0]), nil
}

// TrimMemory gives memory that libtorch's tensors and matrix products have left to the
// system, for after work that took more than what follows will. It takes milliseconds,
// and does less where the C library cannot. It does nothing where libtorch is not open.
func TrimMemory() {
	if Open() == nil {
		C.tfx_trim_all()
	}
}

// Lasting begins a time in which large memory that libtorch allocates, for any
// goroutine, is whole pages beside C's heap, until the function that it returns is
// called. It is for making what stays, packed weights say: freeing what that was made
// from leaves no holes in the heap then, and freeing it gives its memory back to the
// system at once. Nested times are one. It does nothing where libtorch is not open.
func Lasting() (end func()) {
	if Open() != nil {
		return func() {}
	}
	C.tfx_allocate_lasting(1)
	return sync.OnceFunc(func() { C.tfx_allocate_lasting(-1) })
}

// storable refuses the dtypes whose tensors need more than bytes, and those that the
// open libtorch does not have.
func storable(dt ir.DType) error {
	if !dt.Valid() || dt.IsQuantized() {
		return ir.Errorf(ir.ErrUnsupported, "tensor: expected a dtype whose elements are plain bytes, got %v", dt)
	}
	return CheckDType(dt)
}

func alignment(dt ir.DType) int {
	if dt.IsComplex() {
		return dt.Size() / 2
	}
	return dt.Size()
}

// elements multiplies sizes, refusing negative ones and what no memory holds.
func elements(sizes []int64, dt ir.DType) (int64, error) {
	if len(sizes) > maxDims {
		return 0, ir.Errorf(ir.ErrValue, "tensor: expected at most %d dimensions, got %d", maxDims, len(sizes))
	}
	n := uint64(1)
	for i, s := range sizes {
		if s < 0 {
			return 0, ir.Errorf(ir.ErrValue, "tensor: expected sizes of 0 at least, got %d in dimension %d", s, i)
		}
		hi, lo := bits.Mul64(n, uint64(s))
		if hi != 0 || lo > math.MaxInt64/16 {
			return 0, ir.Errorf(ir.ErrValue, "tensor: sizes %v of %s are too large", sizes, dt.Name())
		}
		n = lo
	}
	return int64(n), nil
}

// inside checks that every element lies in a storage of so many bytes.
func inside(storage int64, dt ir.DType, sizes, strides []int64, offset int64) error {
	if len(strides) != len(sizes) {
		return ir.Errorf(ir.ErrValue, "tensor: expected as many strides as sizes, got %v and %v", strides, sizes)
	}
	n, err := elements(sizes, dt)
	if err != nil {
		return err
	}
	if offset < 0 {
		return ir.Errorf(ir.ErrValue, "tensor: expected an offset of 0 at least, got %d", offset)
	}
	last := uint64(offset)
	for i, s := range strides {
		if s < 0 {
			return ir.Errorf(ir.ErrValue, "tensor: expected strides of 0 at least, got %d in dimension %d", s, i)
		}
		if n == 0 || sizes[i] == 1 {
			continue
		}
		hi, lo := bits.Mul64(uint64(s), uint64(sizes[i]-1))
		sum, carry := bits.Add64(last, lo, 0)
		if hi != 0 || carry != 0 {
			return ir.Errorf(ir.ErrValue, "tensor: sizes %v with strides %v are too large", sizes, strides)
		}
		last = sum
	}
	if room := uint64(storage) / uint64(dt.Size()); n > 0 && last >= room || uint64(offset) > room {
		return ir.Errorf(ir.ErrValue, "tensor: sizes %v with strides %v from %d: expected to fit into %d bytes of %s, reaches element %d of %d",
			sizes, strides, offset, storage, dt.Name(), last, room)
	}
	return nil
}

func dims(v []int64) *C.int64_t { return (*C.int64_t)(unsafe.Pointer(unsafe.SliceData(v))) }

// tensor takes the one tensor of a reply.
func (r *reply) tensor(op string, code C.int32_t) (*Tensor, error) {
	if code != 0 {
		return nil, r.fail(op, code)
	}
	w := r.view()
	defer r.done()
	if w[0]&0xff != C.TFX_TENSOR {
		return nil, nil
	}
	return newTensor(w[1], int64(w[2])), nil
}

// borrowed is tensor for one whose memory is the caller's: the handle counts
// alone.
func (r *reply) borrowed(code C.int32_t) (*Tensor, error) {
	if code == 0 {
		r.words[2] = 0
	}
	return r.tensor("", code)
}

// loans are the memories that libtorch refers to, by number: C holds the number,
// never a Go pointer other than the pinned memory itself.
var loans struct {
	sync.Mutex
	next uint64
	open map[uint64]*loan
}

type loan struct {
	pin     runtime.Pinner
	release func()
}

func lend(mem []byte, release func()) uint64 {
	l := &loan{release: release}
	if len(mem) > 0 {
		l.pin.Pin(unsafe.SliceData(mem)) // does nothing to memory that is not Go's
	}
	loans.Lock()
	defer loans.Unlock()
	if loans.open == nil {
		loans.open = map[uint64]*loan{}
	}
	loans.next++
	loans.open[loans.next] = l
	return loans.next
}

func forget(id uint64) *loan {
	loans.Lock()
	l := loans.open[id]
	delete(loans.open, id)
	loans.Unlock()
	if l != nil {
		l.pin.Unpin()
	}
	return l
}

// collectReleased ends the loans whose storage libtorch has dropped. It runs after
// everything that may drop one; the look at the counter is all that it costs then.
func collectReleased() {
	if loaded.released != nil && atomic.LoadUint64(loaded.released) != 0 {
		endLoans()
	}
}

func endLoans() {
	for atomic.LoadUint64(loaded.released) != 0 {
		var ids [32]uint64
		n := C.tfx_collect((*C.uint64_t)(unsafe.Pointer(&ids)), C.uint64_t(len(ids)))
		for _, id := range ids[:n] {
			if l := forget(id); l != nil && l.release != nil {
				l.release()
			}
		}
	}
}
