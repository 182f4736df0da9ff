package export

import (
	"math/bits"
	"slices"
	"sync"
	"unsafe"

	"github.com/torchfx-go/torchfx/ir"
)

// A Tensor is a tensor of a file: a strided view of a storage. Tensors that
// share memory in the program share the *Storage. Sizes, Strides and Offset are
// in elements.
type Tensor struct {
	Storage      *Storage // nil when the file was opened without weights
	DType        ir.DType
	Device       ir.Device // where the program had it
	Sizes        []int64
	Strides      []int64
	Offset       int64
	Parameter    bool // a parameter, not a buffer or constant
	RequiresGrad bool
}

// Numel returns the number of elements.
func (t *Tensor) Numel() int64 {
	n := int64(1)
	for _, s := range t.Sizes {
		n *= s
	}
	return n
}

// as returns the tensor as a parameter, or as none: t itself where it is that already,
// so that what is tied stays one.
func (t *Tensor) as(parameter bool) *Tensor {
	if t.Parameter == parameter {
		return t
	}
	other := *t
	other.Parameter = parameter
	return &other
}

// Contiguous reports whether the elements lie in row-major order without gaps.
func (t *Tensor) Contiguous() bool {
	want := int64(1)
	for i := len(t.Sizes) - 1; i >= 0; i-- {
		if t.Sizes[i] != 1 && t.Strides[i] != want {
			return t.Numel() == 0
		}
		want *= t.Sizes[i]
	}
	return true
}

// Bytes returns the elements in row-major order, little-endian. The slice is
// the storage's own where the tensor is contiguous, else a copy; it is valid as
// long as [Storage.Bytes] says. It fails when the tensor has no storage.
func (t *Tensor) Bytes() ([]byte, error) {
	if t.Storage == nil {
		return nil, ir.Errorf(ir.ErrClosed, "tensor: was opened without its elements")
	}
	data := t.Storage.Bytes()
	size := int64(t.DType.Size())
	n := t.Numel()
	if n == 0 {
		return nil, nil
	}
	if data == nil {
		return nil, ir.Errorf(ir.ErrClosed, "tensor: its program was closed")
	}
	if t.Contiguous() {
		return data[t.Offset*size : (t.Offset+n)*size], nil
	}
	out := make([]byte, 0, n*size)
	index := make([]int64, len(t.Sizes))
	for at := t.Offset; ; {
		out = append(out, data[at*size:(at+1)*size]...)
		d := len(index) - 1
		for ; d >= 0; d-- {
			index[d]++
			at += t.Strides[d]
			if index[d] < t.Sizes[d] {
				break
			}
			at -= t.Strides[d] * t.Sizes[d]
			index[d] = 0
		}
		if d < 0 {
			return out, nil
		}
	}
}

// extent returns the elements from the start of the storage to the end of a
// view, 0 for a view of nothing, and false where a number is negative or the
// sum overflows.
func extent(sizes, strides []int64, offset int64) (n int64, ok bool) {
	const limit = 1 << 62
	if offset < 0 || offset > limit {
		return 0, false
	}
	empty := slices.Contains(sizes, 0)
	n = offset + 1
	for i, size := range sizes {
		if size < 0 || strides[i] < 0 {
			return 0, false
		}
		if empty {
			continue // wherever it starts and however it strides
		}
		hi, lo := bits.Mul64(uint64(size-1), uint64(strides[i]))
		if hi != 0 || lo > limit || n+int64(lo) > limit {
			return 0, false
		}
		n += int64(lo)
	}
	if empty {
		return 0, true
	}
	return n, true
}

// elements returns the product of sizes, and false where it overflows.
func elements(sizes []int64) (int64, bool) {
	n := uint64(1)
	for _, s := range sizes {
		if s == 0 {
			return 0, true
		}
	}
	for _, s := range sizes {
		hi, lo := bits.Mul64(n, uint64(s))
		if s < 0 || hi != 0 || lo > 1<<62 {
			return 0, false
		}
		n = lo
	}
	return int64(n), true
}

// A Storage is the memory behind one or more tensors: bytes of a file mapped
// copy-on-write, or of the heap. Writing into it never changes the file. Mapped bytes
// that lie where elements cannot, as another zip tool than PyTorch's may put them, are
// copied to the heap when they are first asked for.
type Storage struct {
	data    []byte
	from    *mapping // nil for the heap
	size    int
	crooked *crooked // of mapped bytes that are not aligned
}

// crooked holds the copy of bytes that are not aligned, nil before it is made.
type crooked struct {
	mu   sync.Mutex
	copy []byte
}

// NewStorage makes a storage of bytes in memory, which it takes over.
func NewStorage(data []byte) *Storage { return &Storage{data: data, size: len(data)} }

// alignment is what the elements of any dtype need at most.
const alignment = 16

// storageOf makes a storage of bytes that were sliced from s, with elements that lie
// at multiples of align.
func storageOf(s *span, data []byte, align int) *Storage {
	if s.m == nil {
		return NewStorage(data)
	}
	out := &Storage{data: data, from: s.m, size: len(data)}
	if uintptr(unsafe.Pointer(unsafe.SliceData(data)))%uintptr(align) != 0 {
		out.crooked = &crooked{}
	}
	return out
}

// Bytes returns the whole storage, to read and to write. Mapped bytes are valid
// until the program that they came from is closed and every holder got by
// [Storage.Hold] is released, and only while the Storage or the program is
// reachable; after that Bytes returns nil. Storages of the heap stay.
func (s *Storage) Bytes() []byte {
	if s.crooked == nil {
		if s.from != nil && !s.from.alive() {
			return nil
		}
		return s.data
	}
	s.crooked.mu.Lock()
	defer s.crooked.mu.Unlock()
	if s.crooked.copy == nil && s.from.hold() {
		s.crooked.copy = append(make([]byte, 0, len(s.data)), s.data...)
		_ = s.from.release()
	}
	return s.crooked.copy
}

// peek returns the bytes to read only, wherever they lie, and whether they are those of
// the mapped file.
func (s *Storage) peek() (data []byte, mapped bool) {
	if s.crooked != nil {
		s.crooked.mu.Lock()
		defer s.crooked.mu.Unlock()
		if s.crooked.copy != nil {
			return s.crooked.copy, false
		}
	}
	if s.from != nil && !s.from.alive() {
		return nil, false
	}
	return s.data, s.from != nil
}

// Len returns the size in bytes.
func (s *Storage) Len() int { return s.size }

// PageOut says that the bytes will not be read soon, so that their memory can be used
// for something else: they come back from the file, what was written from where the
// system keeps such. It is advice, for storages that are mapped.
func (s *Storage) PageOut() {
	if s.from != nil && s.from.hold() {
		pageOut(s.data)
		_ = s.from.release()
	}
}

// Mapped reports whether the bytes are those of a mapped file, and not a copy.
func (s *Storage) Mapped() bool {
	if s.crooked != nil {
		s.crooked.mu.Lock()
		defer s.crooked.mu.Unlock()
		return s.crooked.copy == nil
	}
	return s.from != nil
}

// Hold keeps the memory past the Close of its program, for one who hands it to
// code that the collector does not see. Release may be called once; later calls
// do nothing. It fails with ErrClosed when the memory is gone already.
func (s *Storage) Hold() (release func(), err error) {
	nothing := func() {}
	switch {
	case s.from == nil:
		return nothing, nil
	case s.crooked != nil && s.Bytes() != nil:
		return nothing, nil
	case s.crooked != nil || !s.from.hold():
		return nil, ir.Errorf(ir.ErrClosed, "storage: its program was closed")
	}
	var once sync.Once
	return func() { once.Do(func() { _ = s.from.release() }) }, nil
}
