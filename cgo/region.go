package libtorch

// #include "delegate.h"
// #include <stdlib.h>
import "C"

import (
	"context"
	"slices"
	"sync"
	"time"
	"unsafe"

	"github.com/torchfx-go/torchfx/cgo/delegate"
	"github.com/torchfx-go/torchfx/ir"
)

// A Region is a program that a delegate has compiled. Close it; it is safe for
// concurrent use.
type Region struct {
	delegate *Delegate
	region   *owned
	inputs   int

	bridging sync.Mutex
	bridged  *Object // as the bridge holds it; nil before its first run there
}

// Compile compiles a program with its constants, dense tensors on the CPU in the
// order in which the program made them. Their elements are copied: the caller may close
// them, or write into them, afterwards.
//
// The error wraps [ir.ErrUnsupported] where the delegate has no kernels for it.
func (d *Delegate) Compile(p *delegate.Program, constants []*Tensor) (*Region, error) {
	words, err := p.Words()
	if err != nil {
		return nil, err
	}
	if len(constants) != p.Constants() {
		return nil, ir.Errorf(ir.ErrValue, "region: expected %d constants, got %d", p.Constants(), len(constants))
	}
	done, err := inUse(constants)
	if err != nil {
		return nil, err
	}
	defer done()
	at, err := tensorWords(constants)
	if err != nil {
		return nil, err
	}
	ptr, err := compileWords(d, words, at, len(constants))
	if err != nil {
		return nil, err
	}
	return newRegion(d, ptr, p.Inputs()), nil
}

// newRegion takes a reference over.
func newRegion(d *Delegate, ptr unsafe.Pointer, inputs int) *Region {
	return &Region{delegate: d, inputs: inputs, region: own(ptr, func(p unsafe.Pointer) { releaseRegion(d, p) })}
}

// Share returns the region once more, to be closed by itself: what was compiled, which
// does not change, goes with the last of them.
func (r *Region) Share() (shared *Region, err error) {
	err = r.region.use("region", func(ptr unsafe.Pointer) error {
		C.tfx_region_retain(r.delegate.api, ptr)
		shared = newRegion(r.delegate, ptr, r.inputs)
		return nil
	})
	return shared, err
}

func compileWords(d *Delegate, words, constants []int64, n int) (unsafe.Pointer, error) {
	var m message
	var region *C.tfx_delegate_region
	code := C.tfx_region_compile(d.api, dims(words), C.uint64_t(len(words)), dims(constants), C.uint64_t(n), &region, m.at(), m.size())
	if code != 0 {
		return nil, m.fail("region", code)
	}
	return unsafe.Pointer(region), nil
}

func releaseRegion(d *Delegate, region unsafe.Pointer) { C.tfx_region_release(d.api, region) }

func closeTensors(all []*Tensor) {
	for _, t := range all {
		_ = t.Close()
	}
}

// inUse keeps tensors from going while C has the addresses of their elements,
// until done is called.
func inUse(tensors []*Tensor) (done func(), err error) {
	for i, t := range tensors {
		if _, ok := t.ptr(); !ok {
			for _, t := range tensors[:i] {
				t.unuse()
			}
			return nil, closedError("region")
		}
	}
	return func() {
		for _, t := range tensors {
			t.unuse()
		}
	}, nil
}

// tensorWords describes tensors as delegate.h says.
func tensorWords(tensors []*Tensor) ([]int64, error) {
	var words []int64
	for i, t := range tensors {
		info, err := t.Info()
		if err != nil {
			return nil, err
		}
		if info.Device.Kind() != ir.DeviceCPU || info.Layout != ir.Strided || info.Conj || info.Neg {
			return nil, ir.Errorf(ir.ErrUnsupported, "region: tensor %d: expected a dense one on the CPU, got %v on %v", i, info.Layout, info.Device)
		}
		data, err := t.DataPtr()
		if err != nil {
			return nil, err
		}
		words = append(words, int64(info.DType.C10()), int64(len(info.Sizes)), int64(uintptr(data)))
		words = append(words, info.Sizes...)
		words = append(words, info.Strides...)
	}
	return words, nil
}

// Close gives the region back; what was prepared of it lives on. A second Close
// does nothing. The error is always nil.
func (r *Region) Close() error {
	r.bridging.Lock() // until both are closed: a run that comes between would open the first again
	defer r.bridging.Unlock()
	if r.bridged != nil {
		_ = r.bridged.Close()
		r.bridged = nil
	}
	r.region.close()
	return nil
}

// Closed reports whether the region was given back.
func (r *Region) Closed() bool {
	return r.region.use("region", func(unsafe.Pointer) error { return nil }) != nil
}

// Pointer is the region's address (tfx_delegate_region), for the bridge, which
// takes a reference of its own while r is open.
func (r *Region) Pointer() uintptr { return uintptr(r.region.ptr) }

// Bytes is the memory that the region holds: its constants as its kernels want them.
func (r *Region) Bytes() (n int64) {
	_ = r.region.use("region", func(ptr unsafe.Pointer) error {
		n = int64(C.tfx_region_bytes(r.delegate.api, (*C.tfx_delegate_region)(ptr)))
		return nil
	})
	return n
}

// A RegionLayouts is how the values between a region's kernels lie.
type RegionLayouts struct {
	// Taken is delegate.Measured until the region is prepared for the first time, which
	// decides it for all shapes that follow. A program with these layouts gives the same
	// region again and measures nothing.
	Taken delegate.Layouts
	// Times are what was measured to decide: the shortest run with each layout that was
	// tried, of the calling thread's processor time where one thread ran. nil where
	// nothing was measured.
	Times map[delegate.Layouts]time.Duration
}

// Layouts tells how values lie between the region's kernels. It does not wait for a
// Prepare that goes on.
func (r *Region) Layouts() (l RegionLayouts) {
	_ = r.region.use("region", func(ptr unsafe.Pointer) error {
		var told C.tfx_delegate_layouts
		C.tfx_region_tell_layouts(r.delegate.api, (*C.tfx_delegate_region)(ptr), &told)
		l.Taken = delegate.Layouts(told.layouts)
		for i, nanoseconds := range told.nanoseconds {
			if nanoseconds == 0 {
				continue
			}
			if l.Times == nil {
				l.Times = map[delegate.Layouts]time.Duration{}
			}
			l.Times[delegate.Layouts(i)] = time.Duration(nanoseconds)
		}
		return nil
	})
	return l
}

// Prepare makes the region ready for inputs of the sizes, strides and dtypes of
// these, run by that many threads; their elements are not read. What comes again
// is found again. Close the class.
//
// The error wraps [ir.ErrUnsupported] where the delegate does not serve such
// inputs, and the class of PyTorch's exception where they do not fit the program.
func (r *Region) Prepare(inputs []*Tensor, threads int) (*RegionClass, error) {
	if len(inputs) != r.inputs {
		return nil, ir.Errorf(ir.ErrValue, "region: expected %d inputs, got %d", r.inputs, len(inputs))
	}
	words, err := tensorWords(inputs)
	if err != nil {
		return nil, err
	}
	var shape *C.tfx_delegate_class
	err = r.region.use("region", func(ptr unsafe.Pointer) error {
		var err error
		withTeam(threads, func() {
			var m message
			code := C.tfx_region_prepare(r.delegate.api, (*C.tfx_delegate_region)(ptr), dims(words), C.uint64_t(len(inputs)), C.int32_t(threads), &shape, m.at(), m.size())
			if code != 0 {
				err = m.fail("region", code)
			}
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	api := r.delegate.api
	c := &RegionClass{delegate: r.delegate, threads: threads, inputs: r.inputs, Scratch: int64(shape.scratch), Kernels: int(shape.nsteps)}
	for _, s := range unsafe.Slice(shape.outputs, int(shape.noutputs)) {
		dtype, err := ir.DTypeFromC10(int(s.dtype))
		if err != nil {
			return nil, err
		}
		o := RegionOutput{DType: dtype, Bytes: int64(s.bytes)}
		for i := range int(s.dim) {
			o.Sizes = append(o.Sizes, int64(s.sizes[i]))
			o.Strides = append(o.Strides, int64(s.strides[i]))
		}
		c.Outputs = append(c.Outputs, o)
	}
	c.shape = own(unsafe.Pointer(shape), func(p unsafe.Pointer) { C.tfx_class_release(api, p) })
	return c, nil
}

// withTeam runs f where that many threads belong: with more than one on one of
// the workers, since each OS thread that calls keeps a team.
func withTeam(threads int, f func()) {
	if threads > 1 {
		onWorker(threads, f)
		return
	}
	slots.acquire()
	defer slots.release()
	f()
}

// A RegionOutput is the shape of what a class returns.
type RegionOutput struct {
	DType          ir.DType
	Sizes, Strides []int64 // contiguous or channels last
	Bytes          int64
}

// A RegionClass is a region for inputs of one shape. It does not change and is
// safe for concurrent use.
type RegionClass struct {
	Outputs []RegionOutput
	Scratch int64 // bytes that a run needs besides inputs and outputs
	Kernels int   // of a run

	delegate        *Delegate
	shape           *owned
	threads, inputs int
}

// Close gives the class back. A second Close does nothing. The error is always nil.
func (c *RegionClass) Close() error {
	c.shape.close()
	return nil
}

// Run computes the outputs, new tensors that the caller closes. The inputs must
// be as those that the class was prepared for. ctx ends the run between kernels.
//
// It allocates outputs and scratch at each call; a plan gives the memory itself.
func (c *RegionClass) Run(ctx context.Context, inputs []*Tensor) ([]*Tensor, error) {
	outputs := make([]*Tensor, 0, len(c.Outputs))
	for _, o := range c.Outputs {
		t, err := emptyStrided(o)
		if err != nil {
			closeTensors(outputs)
			return nil, err
		}
		outputs = append(outputs, t)
	}
	if err := c.RunInto(ctx, inputs, outputs, nil, nil); err != nil {
		closeTensors(outputs)
		return nil, err
	}
	return outputs, nil
}

// RunInto is [RegionClass.Run] into tensors of the shapes of Outputs. scratch has c.Scratch bytes, aligned to
// 64, that nobody else uses meanwhile; nil is memory of the call's own. nanoseconds is
// nil or has room for what each of the kernels took.
func (c *RegionClass) RunInto(ctx context.Context, inputs, outputs []*Tensor, scratch unsafe.Pointer, nanoseconds []uint64) error {
	done, err := inUse(slices.Concat(inputs, outputs))
	if err != nil {
		return err
	}
	defer done()
	in, err := addresses(inputs, c.inputs)
	if err != nil {
		return err
	}
	out, err := addresses(outputs, len(c.Outputs))
	if err != nil {
		return err
	}
	if nanoseconds != nil && len(nanoseconds) < c.Kernels {
		return ir.Errorf(ir.ErrValue, "region: expected room for %d kernels' times, got %d", c.Kernels, len(nanoseconds))
	}
	if scratch == nil {
		scratch = C.aligned_alloc(C.TFX_DELEGATE_ALIGN, C.size_t(c.Scratch+C.TFX_DELEGATE_ALIGN-1)&^(C.TFX_DELEGATE_ALIGN-1)+C.TFX_DELEGATE_ALIGN)
		if scratch == nil {
			return ir.Errorf(ir.ErrOutOfMemory, "region: expected %d bytes of scratch memory, got none", c.Scratch)
		}
		defer C.free(scratch)
	}
	var cancel *C.int32_t
	if ctx.Done() != nil {
		cancel = (*C.int32_t)(C.calloc(1, C.sizeof_int32_t))
		if cancel == nil {
			return ir.Errorf(ir.ErrOutOfMemory, "region: no memory for a flag")
		}
		defer C.free(unsafe.Pointer(cancel))
		watched := make(chan struct{})
		stop := context.AfterFunc(ctx, func() {
			C.tfx_delegate_cancel(cancel)
			close(watched)
		})
		defer func() {
			if !stop() {
				<-watched // the flag is freed next
			}
		}()
	}
	return c.shape.use("region", func(ptr unsafe.Pointer) error {
		var m message
		var code C.int32_t
		withTeam(c.threads, func() {
			code = C.tfx_region_run(c.delegate.api, (*C.tfx_delegate_class)(ptr), dims(in), dims(out), scratch, cancel,
				(*C.uint64_t)(unsafe.SliceData(nanoseconds)), m.at(), m.size())
		})
		if code != 0 {
			return m.fail("region", code)
		}
		return nil
	})
}

// addresses are those of the elements of n tensors.
func addresses(tensors []*Tensor, n int) ([]int64, error) {
	if len(tensors) != n {
		return nil, ir.Errorf(ir.ErrValue, "region: expected %d tensors, got %d", n, len(tensors))
	}
	all := make([]int64, n)
	for i, t := range tensors {
		data, err := t.DataPtr()
		if err != nil {
			return nil, err
		}
		all[i] = int64(uintptr(data))
	}
	return all, nil
}

// emptyStrided makes a tensor of an output's shape, its elements not initialised.
func emptyStrided(o RegionOutput) (*Tensor, error) {
	op, err := Find("aten::empty_strided")
	if err != nil {
		return nil, err
	}
	out, err := op.Call(nil, []any{o.Sizes, o.Strides, o.DType, nil, nil, nil})
	if err != nil {
		return nil, err
	}
	return out[0].(*Tensor), nil
}

// Describe is a text of what the class does: a line for each kernel with oneDNN's
// name of it, layouts and memory, and sums.
func (c *RegionClass) Describe() string {
	return c.described(func(shape *C.tfx_delegate_class, text *C.char, n C.uint64_t) C.uint64_t {
		return C.tfx_class_describe(c.delegate.api, shape, text, n)
	})
}

// DescribeKernel is the line of one kernel, without its number.
func (c *RegionClass) DescribeKernel(i int) string {
	return c.described(func(shape *C.tfx_delegate_class, text *C.char, n C.uint64_t) C.uint64_t {
		return C.tfx_class_describe_step(c.delegate.api, shape, C.uint64_t(i), text, n)
	})
}

func (c *RegionClass) described(write func(shape *C.tfx_delegate_class, text *C.char, n C.uint64_t) C.uint64_t) (text string) {
	_ = c.shape.use("region", func(ptr unsafe.Pointer) error {
		shape := (*C.tfx_delegate_class)(ptr)
		n := write(shape, nil, 0)
		buf := (*C.char)(C.calloc(1, n+1))
		if buf == nil {
			return nil
		}
		defer C.free(unsafe.Pointer(buf))
		write(shape, buf, n)
		text = C.GoString(buf)
		return nil
	})
	return text
}
