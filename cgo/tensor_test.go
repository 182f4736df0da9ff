package libtorch

import (
	"encoding/binary"
	"fmt"
	"math"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
)

func TestBytesOfEveryDType(t *testing.T) {
	testenv.Libtorch(t)
	for _, dt := range ir.DTypes() {
		t.Run(dt.Name(), func(t *testing.T) {
			data := make([]byte, 6*dt.Size())
			for i := range data {
				data[i] = byte(i % 2) // legal for bool too
			}
			x, err := NewTensor(dt, []int64{2, 3}, data)
			if testenv.Otherwise(t, dt.Name()) != "" {
				require.ErrorContains(t, err, "has none of that name")
				return
			}
			require.NoError(t, CheckDType(dt))
			if dt.IsQuantized() {
				require.ErrorIs(t, err, ir.ErrUnsupported)
				return
			}
			require.NoError(t, err)
			defer x.Close()
			info, err := x.Info()
			require.NoError(t, err)
			want := TensorInfo{DType: dt, Device: ir.Device{}, Sizes: []int64{2, 3}, Strides: []int64{3, 1}, Numel: 6,
				StorageBytes: int64(len(data)), Contiguous: true, HasStorage: true, Defined: true}
			assert.Equal(t, want, info)
			out := make([]byte, len(data)+1)
			n, err := x.CopyBytes(out)
			require.NoError(t, err)
			assert.Equal(t, data, out[:n])
			_, err = x.CopyBytes(out[:len(data)-1])
			require.ErrorIs(t, err, ir.ErrValue)
			assert.Equal(t, fmt.Sprintf("expected room for %d bytes, got %d", len(data), len(data)-1), err.Error())
		})
	}
}

// A dtype that an older libtorch does not have is refused by its name wherever it comes
// in, and the number that stands for none there comes out as no dtype.
func TestADTypeOfALaterRelease(t *testing.T) {
	empty := find(t, "aten::empty.memory_format")
	all := dtypes
	defer func() { dtypes = all }()
	dtypes = func() int { return ir.BComplex32.C10() }

	want := "dtype torch.bcomplex32: libtorch " + loaded.version + " has none of that name"
	_, err := NewTensor(ir.BComplex32, []int64{1}, make([]byte, 4))
	require.EqualError(t, err, want)
	require.ErrorIs(t, err, ir.ErrUnsupported)
	_, err = FromMemory(make([]byte, 4), ir.BComplex32, []int64{1}, []int64{1}, 0, nil)
	require.EqualError(t, err, want)
	require.EqualError(t, CheckDType(ir.BComplex32), want)
	require.NoError(t, CheckDType(ir.Float32))
	require.ErrorIs(t, CheckDType(ir.InvalidDType), ir.ErrUnsupported)
	_, err = empty.Call(nil, []any{[]int64{1}, ir.BComplex32, nil, nil, nil, nil})
	require.EqualError(t, err, "argument dtype: expected a dtype of libtorch "+loaded.version+", got torch.bcomplex32")
	require.ErrorIs(t, err, ir.ErrUnsupported)
	_, err = dtypeFromC10(ir.BComplex32.C10())
	require.ErrorIs(t, err, ir.ErrUnsupported)
}

func TestTensorsThatCannotBe(t *testing.T) {
	testenv.Libtorch(t)
	mem := make([]byte, 64)
	tests := []struct {
		name  string
		make  func() (*Tensor, error)
		class *ir.Class
		say   string
	}{
		{"too few bytes", func() (*Tensor, error) { return NewTensor(ir.Float32, []int64{4}, mem[:15]) }, ir.ErrValue, "expected 16 bytes, got 15"},
		{"negative size", func() (*Tensor, error) { return NewTensor(ir.Float32, []int64{2, -1}, nil) }, ir.ErrValue, "got -1 in dimension 1"},
		{"overflow", func() (*Tensor, error) { return NewTensor(ir.Float32, []int64{1 << 40, 1 << 40}, nil) }, ir.ErrValue, "too large"},
		{"no dtype", func() (*Tensor, error) { return NewTensor(ir.InvalidDType, nil, nil) }, ir.ErrUnsupported, "invalid dtype"},
		{"too many dimensions", func() (*Tensor, error) { return NewTensor(ir.UInt8, make([]int64, 65), nil) }, ir.ErrValue, "at most 64"},
		{"past the end", func() (*Tensor, error) { return FromMemory(mem, ir.Float32, []int64{4}, []int64{5}, 1, nil) }, ir.ErrValue, "reaches element 16 of 16"},
		{"offset past the end", func() (*Tensor, error) { return FromMemory(mem, ir.Float32, []int64{0}, []int64{1}, 17, nil) }, ir.ErrValue, "expected to fit"},
		{"negative offset", func() (*Tensor, error) { return FromMemory(mem, ir.Float32, nil, nil, -1, nil) }, ir.ErrValue, "got -1"},
		{"negative stride", func() (*Tensor, error) { return FromMemory(mem, ir.Float32, []int64{2}, []int64{-1}, 3, nil) }, ir.ErrValue, "got -1 in dimension 0"},
		{"overflowing stride", func() (*Tensor, error) {
			return FromMemory(mem, ir.Float32, []int64{3, 3}, []int64{math.MaxInt64, math.MaxInt64}, 0, nil)
		}, ir.ErrValue, ""},
		{"strides of another rank", func() (*Tensor, error) { return FromMemory(mem, ir.Float32, []int64{2}, nil, 0, nil) }, ir.ErrValue, "as many strides as sizes"},
		{"unaligned", func() (*Tensor, error) { return FromMemory(mem[1:], ir.Float32, []int64{2}, []int64{1}, 0, nil) }, ir.ErrValue, "an address that 4 divides"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			_, err := tc.make()
			require.ErrorIs(t, err, tc.class)
			assert.ErrorContains(t, err, tc.say)
		})
	}
	loans.Lock()
	defer loans.Unlock()
	assert.Empty(t, loans.open, "a refused memory is not lent")
}

// TestFromMemoryShares writes through libtorch and through Go.
func TestFromMemoryShares(t *testing.T) {
	testenv.Libtorch(t)
	mem, err := syscall.Mmap(-1, 0, 4096, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	require.NoError(t, err)
	var released atomic.Int32
	base, err := FromMemory(mem, ir.Float32, []int64{2, 2}, []int64{2, 1}, 4, func() { released.Add(1); _ = syscall.Munmap(mem) })
	require.NoError(t, err)
	binary.NativeEndian.PutUint32(mem[16:], math.Float32bits(5))
	assert.Equal(t, []float32{5, 0, 0, 0}, values(t, base))
	call(t, nil, "aten::fill_.Scalar", base, 3.0)[0].(*Tensor).Close()
	assert.Equal(t, float32(3), math.Float32frombits(binary.NativeEndian.Uint32(mem[28:])))
	p, err := base.DataPtr()
	require.NoError(t, err)
	assert.Equal(t, unsafe.Pointer(&mem[16]), p)

	info, err := base.Info()
	require.NoError(t, err)
	assert.Equal(t, int64(4), info.Offset)
	assert.Equal(t, int64(4096), info.StorageBytes)

	view, err := View(base, ir.Int32, []int64{3}, []int64{2}, 4)
	require.NoError(t, err)
	assert.True(t, IsAlias(view, base))
	_, err = View(base, ir.Int32, []int64{1025}, []int64{1}, 0)
	require.ErrorIs(t, err, ir.ErrValue)
	require.NoError(t, base.Close())
	assert.Zero(t, released.Load(), "a view still refers to the storage")
	require.NoError(t, view.Close())
	assert.Equal(t, int32(1), released.Load(), "released by the Close that dropped the last reference")
}

// TestGoMemoryIsPinned lets libtorch look at memory of the Go heap while it is
// collected.
func TestGoMemoryIsPinned(t *testing.T) {
	testenv.Libtorch(t)
	var released atomic.Int32
	x := func() *Tensor {
		mem := make([]byte, 1<<16)
		for i := range mem {
			mem[i] = 7
		}
		x, err := FromMemory(mem, ir.UInt8, []int64{1 << 16}, []int64{1}, 0, func() { released.Add(1) })
		require.NoError(t, err)
		return x
	}()
	for range 5 {
		runtime.GC()
		_ = make([]byte, 1<<16)
	}
	out := make([]byte, 1<<16)
	_, err := x.CopyBytes(out)
	require.NoError(t, err)
	for _, b := range out {
		require.Equal(t, byte(7), b)
	}
	require.NoError(t, x.Close())
	assert.Equal(t, int32(1), released.Load())
}

func TestEmptyAndScalarTensors(t *testing.T) {
	testenv.Libtorch(t)
	for _, sizes := range [][]int64{{0}, {0, 3}, {3, 0, 2}} {
		x, err := NewTensor(ir.Float32, sizes, nil)
		require.NoError(t, err)
		p, err := x.DataPtr()
		require.NoError(t, err)
		assert.Nil(t, p)
		assert.Empty(t, values(t, x))
		require.NoError(t, x.Close())
	}
	x, err := FromMemory(nil, ir.Float32, []int64{0}, []int64{1}, 0, nil)
	require.NoError(t, err)
	require.NoError(t, x.Close())
	s := floats(t, nil, 2)
	info, err := s.Info()
	require.NoError(t, err)
	assert.Empty(t, info.Sizes)
	assert.Equal(t, int64(1), info.Numel)
}

// TestCopyBytesOfAnyStrides compares with the strides walked in Go.
func TestCopyBytesOfAnyStrides(t *testing.T) {
	testenv.Libtorch(t)
	mem := make([]byte, 4096)
	for i := range mem {
		mem[i] = byte(i * 31)
	}
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(0, 4).Draw(rt, "dims")
		sizes, strides := make([]int64, n), make([]int64, n)
		for i := range n {
			sizes[i] = rapid.Int64Range(0, 5).Draw(rt, "size")
			strides[i] = rapid.Int64Range(0, 50).Draw(rt, "stride")
		}
		offset := rapid.Int64Range(0, 100).Draw(rt, "offset")
		x, err := FromMemory(mem, ir.UInt8, sizes, strides, offset, nil)
		require.NoError(rt, err)
		defer x.Close()
		want := []byte{}
		var walk func(dim int, at int64)
		walk = func(dim int, at int64) {
			if dim == n {
				want = append(want, mem[at])
				return
			}
			for i := range sizes[dim] {
				walk(dim+1, at+i*strides[dim])
			}
		}
		walk(0, offset)
		got := make([]byte, len(want))
		_, err = x.CopyBytes(got)
		require.NoError(rt, err)
		require.Equal(rt, want, got)
	})
}

func TestConjugateNegativeSparseAndMeta(t *testing.T) {
	testenv.Libtorch(t)
	data := binary.NativeEndian.AppendUint32(nil, math.Float32bits(1))
	data = binary.NativeEndian.AppendUint32(data, math.Float32bits(2))
	c, err := NewTensor(ir.Complex64, []int64{1}, data)
	require.NoError(t, err)
	defer c.Close()
	conj := call(t, nil, "aten::conj", c)[0].(*Tensor)
	info, err := conj.Info()
	require.NoError(t, err)
	assert.True(t, info.Conj)
	out := make([]byte, 8)
	_, err = conj.CopyBytes(out)
	require.NoError(t, err)
	assert.Equal(t, float32(-2), math.Float32frombits(binary.NativeEndian.Uint32(out[4:])))

	sparse := call(t, nil, "aten::to_sparse", floats(t, []int64{2, 2}, 1, 0, 0, 4), nil, nil, nil)[0].(*Tensor)
	info, err = sparse.Info()
	require.NoError(t, err)
	assert.Equal(t, ir.Sparse, info.Layout)
	assert.Nil(t, info.Strides)
	assert.False(t, info.HasStorage)
	assert.Equal(t, []float32{1, 0, 0, 4}, values(t, sparse))
	_, err = View(sparse, ir.Float32, nil, nil, 0)
	require.ErrorIs(t, err, ir.ErrValue)

	meta := call(t, nil, "aten::empty.memory_format", []int64{1 << 20, 1 << 20}, ir.Float32, nil, ir.NewDevice(ir.DeviceMeta, -1), nil, nil)[0].(*Tensor)
	info, err = meta.Info()
	require.NoError(t, err)
	assert.Equal(t, "meta", info.Device.String())
	_, err = meta.CopyBytes(out)
	require.ErrorIs(t, err, ir.ErrRuntime)
	assert.Zero(t, meta.cell.bytes, "a meta tensor keeps no memory")
}

func TestWrappedNumberKeepsTheDType(t *testing.T) {
	testenv.Libtorch(t)
	data := make([]byte, 8)
	x, err := NewTensor(ir.Int64, []int64{1}, data)
	require.NoError(t, err)
	defer x.Close()
	dtype := func(n *Tensor) ir.DType {
		info, err := call(t, nil, "aten::add.Tensor", x, n, int64(1))[0].(*Tensor).Info()
		require.NoError(t, err)
		return info.DType
	}
	for _, tc := range []struct {
		number any
		want   ir.DType
	}{{1.5, ir.Float32}, {int64(2), ir.Int64}, {true, ir.Int64}, {2i, ir.Complex64}} {
		n, err := WrappedNumber(tc.number)
		require.NoError(t, err)
		assert.Equal(t, tc.want, dtype(n), "%v", tc.number)
		info, err := n.Info()
		require.NoError(t, err)
		assert.True(t, info.Wrapped)
		require.NoError(t, n.Close())
	}
	plain := call(t, nil, "aten::scalar_tensor", 1.5, ir.Float64, nil, nil, nil)[0].(*Tensor)
	assert.Equal(t, ir.Float64, dtypeOf(t, call(t, nil, "aten::add.Tensor", plain, floats(t, nil, 1), int64(1))[0]), "without the flag the tensor's dtype counts")
	_, err = WrappedNumber("1")
	require.ErrorIs(t, err, ir.ErrType)
}

func dtypeOf(t *testing.T, v any) ir.DType {
	info, err := v.(*Tensor).Info()
	require.NoError(t, err)
	return info.DType
}

func TestGenerators(t *testing.T) {
	testenv.Libtorch(t)
	draw := func(g *Generator) []float32 {
		return values(t, call(t, nil, "aten::rand.generator", []int64{4}, g, nil, nil, nil, nil)[0])
	}
	a, err := NewGenerator(42)
	require.NoError(t, err)
	// torch.rand(4, generator=torch.Generator().manual_seed(42))
	assert.Equal(t, []float32{0.88226926, 0.91500396, 0.38286376, 0.95930564}, draw(a))
	state, err := a.State()
	require.NoError(t, err)
	next := draw(a)
	require.NoError(t, a.SetState(state))
	assert.Equal(t, next, draw(a))
	require.NoError(t, a.SetSeed(42))
	seed, err := a.Seed()
	require.NoError(t, err)
	assert.Equal(t, uint64(42), seed)
	assert.Equal(t, float32(0.88226926), draw(a)[0])

	def := func() []float32 { return values(t, call(t, nil, "aten::rand", []int64{4}, nil, nil, nil, nil)[0]) }
	require.NoError(t, ManualSeed(42))
	rng, err := RNGState()
	require.NoError(t, err)
	first := def()
	assert.Equal(t, []float32{0.88226926, 0.91500396, 0.38286376, 0.95930564}, first)
	require.NoError(t, SetRNGState(rng))
	assert.Equal(t, first, def())

	require.NoError(t, a.Close())
	require.NoError(t, a.Close())
	require.ErrorIs(t, a.SetSeed(1), ir.ErrClosed)
	_, err = find(t, "aten::rand.generator").Call(nil, []any{[]int64{4}, a, nil, nil, nil, nil})
	require.ErrorIs(t, err, ir.ErrClosed)
	assert.ErrorContains(t, err, "argument generator: expected an open generator")
}

func TestHasKernel(t *testing.T) {
	add := find(t, "aten::add.Tensor")
	assert.True(t, add.HasKernel(ir.DeviceCPU))
	assert.True(t, add.HasKernel(ir.DeviceMeta))
	assert.False(t, find(t, "aten::_cudnn_init_dropout_state").HasKernel(ir.DeviceCPU))
	assert.True(t, find(t, "aten::native_batch_norm").HasKernel(ir.DeviceMeta))
	assert.False(t, find(t, "aten::nonzero").HasKernel(ir.DeviceMeta), "its size depends on elements")
}
