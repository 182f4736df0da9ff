package torchops

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
)

// open returns a tensor that is closed with the test.
func open[T Element](t testing.TB, data []T, shape ...int) *Tensor {
	t.Helper()
	x, err := From(data, shape...)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, x.Close()) })
	return x
}

func roundTrip[T Element](t *testing.T, data ...T) {
	t.Run(fmt.Sprintf("%T", data[0]), func(t *testing.T) {
		x := open(t, data)
		assert.Equal(t, DTypeOf[T](), x.DType())
		back, err := Data[T](x)
		require.NoError(t, err)
		assert.Equal(t, data, back)
		flipped, err := callTensor("aten::stack", []*Tensor{x.Select(0, 2), x.Select(0, 1), x.Select(0, 0)})
		require.NoError(t, err)
		back, err = Data[T](flipped)
		require.NoError(t, err)
		for i := range data {
			assert.Equal(t, data[len(data)-1-i], back[i])
		}
	})
}

func TestSlicesOfEveryDType(t *testing.T) {
	testenv.Libtorch(t)
	roundTrip(t, true, false, true)
	roundTrip[int8](t, math.MinInt8, -1, math.MaxInt8)
	roundTrip[int16](t, math.MinInt16, -1, math.MaxInt16)
	roundTrip[int32](t, math.MinInt32, -1, math.MaxInt32)
	roundTrip[int64](t, math.MinInt64, -1, math.MaxInt64)
	roundTrip(t, math.MinInt, -1, math.MaxInt)
	roundTrip[uint8](t, 0, 1, math.MaxUint8)
	roundTrip[uint16](t, 0, 1, math.MaxUint16)
	roundTrip[uint32](t, 0, 1, math.MaxUint32)
	roundTrip[uint64](t, 0, 1, math.MaxUint64)
	roundTrip[F16](t, 0, 0x3c00, 0x7bff)
	roundTrip[BF16](t, 0, 0x3f80, 0x7f7f)
	roundTrip[float32](t, 0, -1.5, math.MaxFloat32)
	roundTrip(t, 0, -1.5, math.MaxFloat64)
	roundTrip[complex64](t, 0, 1-2i, 3)
	roundTrip(t, 0, 1-2i, 3)
}

func TestBytesOfEveryDType(t *testing.T) {
	testenv.Libtorch(t)
	for _, dt := range ir.DTypes() {
		t.Run(dt.Name(), func(t *testing.T) {
			data := make([]byte, 6*dt.Size())
			for i := range data {
				data[i] = byte(i % 2)
			}
			x, err := FromBytes(dt, []int{2, 3}, data)
			if dt.IsQuantized() || testenv.Otherwise(t, dt.Name()) != "" {
				assert.ErrorIs(t, err, ir.ErrUnsupported)
				return
			}
			require.NoError(t, err)
			defer x.Close()
			assert.Equal(t, []int{2, 3}, x.Shape())
			assert.Equal(t, []int{3, 1}, x.Strides())
			assert.Equal(t, dt, x.DType())
			back, err := x.Bytes()
			require.NoError(t, err)
			assert.Equal(t, data, back)
			assert.NotContains(t, x.String(), "<")
		})
	}
}

func TestFromRefuses(t *testing.T) {
	testenv.Libtorch(t)
	_, err := From([]float32{1, 2, 3}, 2, 2)
	assert.ErrorIs(t, err, ir.ErrValue)
	assert.EqualError(t, err, "From: shape [2 2]: expected 4 elements, got 3")
	_, err = From([]float32{1}, -1, -1)
	assert.ErrorIs(t, err, ir.ErrValue)
	assert.EqualError(t, err, "From: shape: expected sizes of at least 0, got -1 in dimension 0")
	_, err = FromBytes(ir.Float32, []int{math.MaxInt, math.MaxInt}, nil)
	assert.ErrorIs(t, err, ir.ErrValue)
	_, err = FromBytes(ir.InvalidDType, nil, nil)
	assert.ErrorIs(t, err, ir.ErrValue)
	x := open(t, []float32{1})
	_, err = Data[float64](x)
	assert.ErrorIs(t, err, ir.ErrType)
	assert.ErrorContains(t, err, "expected a tensor of torch.float64, got torch.float32")
}

func TestBFloat16IsLibtorchs(t *testing.T) {
	testenv.Libtorch(t)
	all := make([]BF16, 1<<16)
	for i := range all {
		all[i] = BF16(i)
	}
	wide, err := callTensor("aten::to.dtype", open(t, all), ir.Float32)
	require.NoError(t, err)
	want, err := Data[float32](wide)
	require.NoError(t, err)
	for i, b := range all {
		require.Equal(t, math.Float32bits(want[i]), math.Float32bits(b.Float32()), "value %#x", i)
	}

	// every upper half with lower halves below, at and above the middle
	for _, low := range []uint32{0, 1, 0x7fff, 0x8000, 0x8001, 0xffff} {
		wide := make([]float32, len(all))
		for i := range wide {
			wide[i] = math.Float32frombits(uint32(i)<<16 | low)
		}
		narrow, err := callTensor("aten::to.dtype", open(t, wide), ir.BFloat16)
		require.NoError(t, err)
		want, err := Data[BF16](narrow)
		require.NoError(t, err)
		for i, x := range wide {
			if x != x {
				require.True(t, want[i].Float32() != want[i].Float32() && NewBF16(x) == 0x7fc0, "value %#x", i)
				continue
			}
			require.Equal(t, want[i], NewBF16(x), "value %#x with lower half %#x", i, low)
		}
	}
}

func TestFloat8IsLibtorchs(t *testing.T) {
	testenv.Libtorch(t)
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	for _, dt := range []DType{ir.Float8E5M2, ir.Float8E4M3FN, ir.Float8E5M2FNUZ, ir.Float8E4M3FNUZ, ir.Float8E8M0FNU} {
		x, err := FromBytes(dt, []int{256}, all)
		require.NoError(t, err)
		wide, err := callTensor("aten::to.dtype", x, ir.Float32)
		require.NoError(t, err)
		want, err := Data[float32](wide)
		require.NoError(t, err)
		for i, w := range want {
			got := float8(dt, byte(i))
			if w != w {
				require.True(t, got != got, "%s %#x: expected NaN, got %v", dt, i, got)
				continue
			}
			require.Equal(t, math.Float64bits(float64(w)), math.Float64bits(got), "%s %#x: expected %v, got %v", dt, i, w, got)
		}
	}
}

func TestFloat16IsLibtorchs(t *testing.T) {
	testenv.Libtorch(t)
	all := make([]F16, 1<<16)
	for i := range all {
		all[i] = F16(i)
	}
	wide, err := callTensor("aten::to.dtype", open(t, all), ir.Float32)
	require.NoError(t, err)
	want, err := Data[float32](wide)
	require.NoError(t, err)
	for i, h := range all {
		if got := h.Float32(); want[i] != want[i] {
			require.True(t, got != got, "value %#x", i)
		} else {
			require.Equal(t, math.Float32bits(want[i]), math.Float32bits(got), "value %#x", i)
		}
	}
}

func TestPrintIsPythons(t *testing.T) {
	testenv.Libtorch(t)
	for i, c := range readPrintCases(t) {
		if i%every != 0 {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			var x *Tensor
			var err error
			if c.Meta {
				x, err = callTensor("aten::empty.memory_format", c.Sizes, Kw("dtype", c.dt), Kw("device", ir.NewDevice(ir.DeviceMeta, -1)))
			} else {
				x, err = FromBytes(c.dt, c.Sizes, c.Data)
			}
			if testenv.Otherwise(t, c.dt.Name()) != "" {
				require.ErrorIs(t, err, ir.ErrUnsupported)
				return
			}
			require.NoError(t, err)
			defer x.Close()
			assert.Equal(t, c.Text, x.String())
		})
	}
}

func TestPrintOfOtherLayouts(t *testing.T) {
	testenv.Libtorch(t)
	x := open(t, []float32{0, 1.5, 0, 2, 0, 0}, 2, 3)
	call := func(op string, args ...any) *Tensor {
		t.Helper()
		y, err := callTensor(op, args...)
		require.NoError(t, err, op)
		return y
	}
	scales, zeros := open(t, []float64{0.1, 0.2}), open(t, []int64{0, 1})
	tests := []struct {
		name string
		x    *Tensor
		want string // as Python 3.11 with torch 2.15.0 prints it
	}{
		{"coordinates", call("aten::to_sparse", x), "tensor(indices=tensor([[0, 1],\n                       [1, 0]]),\n       values=tensor([1.5000, 2.0000]),\n       size=(2, 3), nnz=2, layout=torch.sparse_coo)"},
		{"no coordinates", call("aten::to_sparse", Zeros(2, 3)), "tensor(indices=tensor([], size=(2, 0)),\n       values=tensor([], size=(0,)),\n       size=(2, 3), nnz=0, layout=torch.sparse_coo)"},
		{"dtype", call("aten::to_sparse", x.To(Int32)), "tensor(indices=tensor([[0, 1],\n                       [1, 0]]),\n       values=tensor([1, 2]),\n       size=(2, 3), nnz=2, dtype=torch.int32, layout=torch.sparse_coo)"},
		{"compressed rows", call("aten::to_sparse_csr", x), "tensor(crow_indices=tensor([0, 1, 2]),\n       col_indices=tensor([1, 0]),\n       values=tensor([1.5000, 2.0000]), size=(2, 3), nnz=2,\n       layout=torch.sparse_csr)"},
		{"compressed columns", call("aten::to_sparse_csc", x), "tensor(ccol_indices=tensor([0, 1, 2, 2]),\n       row_indices=tensor([1, 0]),\n       values=tensor([2.0000, 1.5000]), size=(2, 3), nnz=2,\n       layout=torch.sparse_csc)"},
		{"quantized", call("aten::quantize_per_tensor", open(t, []float32{1, 2.5, 3}), 0.1, 10, QUInt8), "tensor([1.0000, 2.5000, 3.0000], size=(3,), dtype=torch.quint8,\n       quantization_scheme=torch.per_tensor_affine, scale=0.1, zero_point=10)"},
		{"quantized by channel", call("aten::quantize_per_channel", open(t, []float32{1, 2.5, 3, 4}, 2, 2), scales, zeros, 0, QInt8), "tensor([[1.0000, 2.5000],\n        [3.0000, 4.0000]], size=(2, 2), dtype=torch.qint8,\n       quantization_scheme=torch.per_channel_affine,\n       scale=tensor([0.1000, 0.2000], dtype=torch.float64),\n       zero_point=tensor([0, 1]), axis=0)"},
		{"conjugated", call("aten::_conj", open(t, []complex64{1 + 2i})), "tensor([1.-2.j])"},
		{"negated", call("aten::_neg_view", open(t, []float32{1})), "tensor([-1.])"},
		{"nested", call("aten::_nested_tensor_from_tensor_list", List{open(t, []float32{1, 2}), open(t, []float32{3})}), "nested_tensor([\n  tensor([1., 2.]),\n  tensor([3.])\n])"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) { assert.Equal(t, tc.want, tc.x.String()) })
	}
	closed := open(t, []float32{1})
	require.NoError(t, closed.Close())
	assert.Equal(t, "<tensor: info: the tensor is closed>", closed.String())
	assert.Equal(t, "None", (*Tensor)(nil).String())
}

func TestViewsShareMemory(t *testing.T) {
	testenv.Libtorch(t)
	x := open(t, []int64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, 3, 4)
	row := x.Select(0, 1)
	defer row.Close()
	assert.Equal(t, 4, row.StorageOffset())
	column := x.Index(Slice(nil, nil, nil), 2)
	defer column.Close()
	assert.Equal(t, []int{4}, column.Strides())
	_, err := Call("aten::fill_.Scalar", row, 7)
	require.NoError(t, err)
	got, err := Data[int64](column)
	require.NoError(t, err)
	assert.Equal(t, []int64{2, 7, 10}, got)
	diagonal := x.AsStrided([]int{3}, []int{5}, 0)
	defer diagonal.Close()
	got, err = Data[int64](diagonal)
	require.NoError(t, err)
	assert.Equal(t, []int64{0, 7, 10}, got)
}

func TestFromMemory(t *testing.T) {
	testenv.Libtorch(t)
	data := []float32{0, 1, 2, 3, 4, 5}
	released := false
	x, err := FromMemory(bytesOf(data), ir.Float32, []int{2, 2}, []int{3, 1}, 1, func() { released = true })
	require.NoError(t, err)
	got, err := Data[float32](x)
	require.NoError(t, err)
	assert.Equal(t, []float32{1, 2, 4, 5}, got)
	y := x.Select(0, 0)
	data[1] = 9
	got, err = Data[float32](y)
	require.NoError(t, err)
	assert.Equal(t, []float32{9, 2}, got)
	require.NoError(t, x.Close())
	assert.False(t, released, "a view still uses the memory")
	require.NoError(t, y.Close())
	assert.True(t, released)

	_, err = FromMemory(bytesOf(data), ir.Float32, []int{7}, nil, 0, nil)
	assert.ErrorIs(t, err, ir.ErrValue)
}

func TestCallMatchesAsPython(t *testing.T) {
	testenv.Libtorch(t)
	x := open(t, []float32{1, 2, 3, 4, 5, 6}, 2, 3)
	n := open(t, []int64{1, 2, 3})
	tests := []struct {
		name string
		op   string
		args []any
		want string // what Python prints
	}{
		{"defaults", "aten::add.Tensor", []any{x, x}, "tensor([[ 2.,  4.,  6.],\n        [ 8., 10., 12.]])"},
		{"Python's spelling", "torch.ops.aten.relu.default", []any{x}, "tensor([[1., 2., 3.],\n        [4., 5., 6.]])"},
		{"keyword", "aten::add.Tensor", []any{x, x, Kw("alpha", 2)}, "tensor([[ 3.,  6.,  9.],\n        [12., 15., 18.]])"},
		{"positional by name", "aten::transpose.int", []any{x, Kw("dim1", 0), Kw("dim0", 1)}, "tensor([[1., 4.],\n        [2., 5.],\n        [3., 6.]])"},
		{"wrapped float keeps the default dtype", "aten::add.Tensor", []any{n, 1.5}, "tensor([2.5000, 3.5000, 4.5000])"},
		{"wrapped int keeps the dtype", "aten::mul.Tensor", []any{x, 2}, "tensor([[ 2.,  4.,  6.],\n        [ 8., 10., 12.]])"},
		{"int for a float", "aten::dropout", []any{n, 0, false}, "tensor([1, 2, 3])"},
		{"scalar keeps its kind", "aten::full", []any{[]int{2}, true}, "tensor([True, True])"},
		{"complex scalar", "aten::full", []any{[]int{1}, 1 + 2i}, "tensor([1.+2.j])"},
		{"one int for int[1]", "aten::sum.dim_IntList", []any{x, 1}, "tensor([ 6., 15.])"},
		{"None in a list", "aten::index.Tensor", []any{x, []any{nil, open(t, []int64{2, 0})}}, "tensor([[3., 1.],\n        [6., 4.]])"},
		{"dtype", "aten::sum", []any{n, Kw("dtype", ir.Float64)}, "tensor(6., dtype=torch.float64)"},
		{"dtype by its number", "aten::zeros", []any{[]int{1}, Kw("dtype", 7)}, "tensor([0.], dtype=torch.float64)"},
		{"device by its name", "aten::zeros", []any{[]int{1}, Kw("device", "cpu")}, "tensor([0.])"},
		{"tensor for an int", "aten::select.int", []any{x, 0, open(t, []int64{1})}, "tensor([4., 5., 6.])"},
		{"list of tensors", "aten::cat", []any{List{n, n}}, "tensor([1, 2, 3, 1, 2, 3])"},
		{"arguments of a node", "aten::view", []any{x, ir.IntList([]int{3, -1}...)}, "tensor([[1., 2.],\n        [3., 4.],\n        [5., 6.]])"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			got, err := Call(tc.op, tc.args...)
			require.NoError(t, err)
			assert.Equal(t, tc.want, fmt.Sprint(got))
		})
	}
	pooled, err := callTensor("aten::avg_pool2d", open(t, make([]float32, 16), 1, 1, 4, 4), 2)
	require.NoError(t, err)
	assert.Equal(t, []int{1, 1, 2, 2}, pooled.Shape())

	several, err := Call("aten::sort", n)
	require.NoError(t, err)
	assert.Len(t, several.(ir.PyTuple), 2)
	parts, err := Call("aten::split.Tensor", n, 2)
	require.NoError(t, err)
	assert.Len(t, parts.([]any), 2)
	nothing, err := Call("aten::_assert_async.msg", open(t, []bool{true}), "no")
	require.NoError(t, err)
	assert.Nil(t, nothing)
}

func TestCallRefusesAsPython(t *testing.T) {
	testenv.Libtorch(t)
	x := open(t, []float32{1, 2, 3, 4, 5, 6}, 2, 3)
	closed := open(t, []float32{1})
	require.NoError(t, closed.Close())
	tests := []struct {
		name  string
		op    string
		args  []any
		class error
		says  string
	}{
		{"too many", "aten::relu", []any{x, 1}, ir.ErrRuntime, "aten::relu() expected at most 1 argument(s) but received 2 argument(s)"},
		{"keyword-only by position", "aten::add.Tensor", []any{x, x, 2}, ir.ErrRuntime, "aten::add() takes 2 positional argument(s) but 3 was/were given"},
		{"missing", "aten::add.Tensor", []any{x}, ir.ErrRuntime, "aten::add() is missing value for argument 'other'"},
		{"twice", "aten::add.Tensor", []any{x, x, Kw("self", x)}, ir.ErrRuntime, "Argument 'self' specified both as positional and keyword argument"},
		{"unknown keyword", "aten::add.Tensor", []any{x, Kw("foo", 1)}, ir.ErrRuntime, "Unknown keyword argument 'foo' for operator 'aten::add'"},
		{"text for a tensor", "aten::relu", []any{"x"}, ir.ErrRuntime, "Expected a value of type 'Tensor' for argument 'self' but instead found type 'str'"},
		{"float for an int", "aten::transpose.int", []any{x, 1.0, 0}, ir.ErrRuntime, "Expected a value of type 'int' for argument 'dim0' but instead found type 'float'"},
		{"int for a list", "aten::view", []any{x, 6}, ir.ErrRuntime, "Expected a value of type 'List[int]' for argument 'size' but instead found type 'int'"},
		{"None for a number", "aten::leaky_relu", []any{x, nil}, ir.ErrRuntime, "Expected a value of type 'number' for argument 'negative_slope' but instead found type 'NoneType'"},
		{"None among tensors", "aten::cat", []any{[]any{x, nil}}, ir.ErrRuntime, "Tensor"},
		{"kernel", "aten::mm", []any{x, x}, ir.ErrRuntime, "mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3) (self: f32[2, 3] cpu, mat2: f32[2, 3] cpu)"},
		{"index", "aten::select.int", []any{x, 5, 0}, ir.ErrIndex, "Dimension out of range"},
		{"closed", "aten::relu", []any{closed}, ir.ErrClosed, "a closed tensor"},
		{"unknown operator", "aten::ad.Tensor", []any{x}, ir.ErrUnsupported, "aten::ad.Tensor"},
		{"not an overload", "torch.ops.aten.add", []any{x}, ir.ErrUnsupported, "expected an overload"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Call(tc.op, tc.args...)
			require.ErrorIs(t, err, tc.class)
			assert.ErrorContains(t, err, tc.says)
			var e *Error
			require.ErrorAs(t, err, &e)
		})
	}
}

func TestScopes(t *testing.T) {
	testenv.Libtorch(t)
	s := NewScope()
	x := Zeros(2, 3, In(s))
	y := x.Add(1)
	weight := open(t, []float32{1, 2, 3})
	z := s.Keep(Mul(y, weight))
	defer z.Close()
	parts := y.Unbind(0)
	assert.Equal(t, 4, s.Len(), "x, y and two rows")
	require.NoError(t, y.Close())
	assert.Equal(t, 3, s.Len(), "a closed tensor leaves its scope")

	row := parts.At(0)
	for name, list := range map[string]any{
		"List": List{weight, row}, "Tensors": parts, "slice": []*Tensor{row, weight}, "list": []any{weight, row}, "tuple": ir.PyTuple{row},
	} {
		joined, err := callTensor("aten::cat", list)
		require.NoError(t, err, name)
		assert.Equal(t, 4, s.Len(), name)
		require.NoError(t, joined.Close())
	}

	inner := NewScope()
	w := Add(parts.At(0), Ones(3, In(inner)))
	assert.Equal(t, 2, inner.Len(), "the result joins the scope that was opened last")
	require.NoError(t, inner.Close())
	_, err := w.Bytes()
	assert.ErrorIs(t, err, ir.ErrClosed)

	require.NoError(t, s.Close())
	require.NoError(t, s.Close())
	_, err = Call("aten::relu", x)
	assert.ErrorIs(t, err, ir.ErrClosed)
	assert.Equal(t, "tensor([[1., 2., 3.],\n        [1., 2., 3.]])", z.String())
	assert.Equal(t, "tensor([1., 2., 3.])", weight.String(), "what was not made in the scope stays")

	late := open(t, []float32{1})
	s.Add(late)
	_, err = late.Bytes()
	assert.ErrorIs(t, err, ir.ErrClosed, "a tensor that joins a closed scope is closed")
}

func TestScalarAndItem(t *testing.T) {
	testenv.Libtorch(t)
	tests := []struct {
		name string
		v    any
		dt   DType
		want any
		is   DType
	}{
		{"bool", true, ir.InvalidDType, true, Bool8},
		{"int", 5, ir.InvalidDType, int64(5), Int64},
		{"float", 2.5, ir.InvalidDType, 2.5, Float32},
		{"complex", 1 + 2i, ir.InvalidDType, 1 + 2i, Complex64},
		{"converted", 2, Float64, 2.0, Float64},
		{"small of uint64", uint64(7), UInt64, int64(7), UInt64},
		{"large of uint64", uint64(math.MaxUint64), UInt64, uint64(math.MaxUint64), UInt64},
		{"half", 0.1, Float16, 0.0999755859375, Float16},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			x, err := Scalar(tc.v, tc.dt)
			require.NoError(t, err)
			defer x.Close()
			assert.Equal(t, tc.is, x.DType())
			assert.Empty(t, x.Shape())
			got, err := x.Item()
			require.NoError(t, err)
			assert.Equal(t, tc.want, got)
		})
	}
	_, err := Scalar("x", Float32)
	assert.ErrorIs(t, err, ir.ErrType)
	_, err = open(t, []int32{1, 2}).Item()
	assert.ErrorIs(t, err, ir.ErrRuntime)
}

func TestRefIsTheSameTensor(t *testing.T) {
	testenv.Libtorch(t)
	x := open(t, []float32{1, 2})
	y, err := x.Ref()
	require.NoError(t, err)
	assert.Equal(t, x.handle.ID(), y.handle.ID())
	_, err = Call("aten::zero_", x)
	require.NoError(t, err)
	assert.Equal(t, "tensor([0., 0.])", y.String())
	require.NoError(t, y.Close())
	require.NoError(t, y.Close())
	assert.Equal(t, []int{2}, x.Shape())
}

func TestFunctionsAndMethods(t *testing.T) {
	testenv.Libtorch(t)
	s := NewScope()
	defer s.Close()
	x := Arange(-3, 3, 1, In(s)).Reshape(2, 3)
	f := x.To(Float32)
	g, err := NewGenerator(7)
	require.NoError(t, err)
	defer g.Close()
	tests := []struct {
		name string
		got  *Tensor
		want string
	}{
		{"relu", Relu(x), "tensor([[0, 0, 0],\n        [0, 1, 2]])"},
		{"sum", x.Sum(), "tensor(-3)"},
		{"sum of rows", x.Sum(1), "tensor([-6,  3])"},
		{"mean over two", f.Mean(0, 1), "tensor(-0.5000)"},
		{"clamp", x.Clamp(Kw("min", -1), Kw("max", 1)), "tensor([[-1, -1, -1],\n        [ 0,  1,  1]])"},
		{"clamp by tensors", x.Clamp(Kw("min", Zeros(3, Kw("dtype", Int64), In(s)))), "tensor([[0, 0, 0],\n        [0, 1, 2]])"},
		{"pow", x.Pow(2), "tensor([[9, 4, 1],\n        [0, 1, 4]])"},
		{"where", Where(x.Lt(0), 0, x), "tensor([[0, 0, 0],\n        [0, 1, 2]])"},
		{"permute", x.Permute(1, 0).Select(0, -1), "tensor([-1,  2])"},
		{"expand", x.Select(1, 0).Unsqueeze(1).Expand(-1, 2), "tensor([[-3, -3],\n        [ 0,  0]])"},
		{"squeeze", x.Narrow(0, 1, 1).Squeeze(0), "tensor([0, 1, 2])"},
		{"flatten", Flatten(x, 0, -1), "tensor([-3, -2, -1,  0,  1,  2])"},
		{"view of one size", x.View(6), "tensor([-3, -2, -1,  0,  1,  2])"},
		{"view of one open size", x.View(-1), "tensor([-3, -2, -1,  0,  1,  2])"},
		{"to a device", f.To("cpu", Float64).Select(0, 0), "tensor([-3., -2., -1.], dtype=torch.float64)"},
		{"stack", Stack(x.Unbind(0), 1).Argmax(1), "tensor([1, 1, 1])"},
		{"split", Cat(List{x.Split(2, 1).At(-1), x.Split(2, 1).At(0)}, 1), "tensor([[-1, -3, -2],\n        [ 2,  0,  1]])"},
		{"cat of a tuple along the first dimension", Cat(Tuple{x, x.Narrow(0, 0, 1)}).Select(1, 0), "tensor([-3,  0, -3])"},
		{"stack along the last dimension", Stack(Tuple{x.Select(0, 0), x.Select(0, 1)}, Kw("dim", -1)).Select(0, 0), "tensor([-3,  0])"},
		{"sum along a dimension", Sum(x, 1), "tensor([-6,  3])"},
		{"sum along dimensions that stay", Sum(x, Kw("dim", []int{0, 1}), Kw("keepdim", true)), "tensor([[-3]])"},
		{"mean along a dimension", Mean(f, Kw("dim", 1)), "tensor([-2.,  1.])"},
		{"eye", Eye(2, Kw("dtype", Int64), In(s)), "tensor([[1, 0],\n        [0, 1]])"},
		{"sizes", Ones(x.Size(1), In(s)), "tensor([1., 1., 1.])"},
		{"seeded", Rand(2, Kw("generator", g), In(s)).Gt(2), "tensor([False, False])"},
		{"rounded", Tanh(Zeros(1, In(s)).Exp().Log()), "tensor([0.])"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) { assert.Equal(t, tc.want, tc.got.String()) })
	}
	near, err := AllClose(f, f.Add(1e-7), 0, 1e-6)
	require.NoError(t, err)
	assert.True(t, near)
	same, err := Equal(f, f.Neg())
	require.NoError(t, err)
	assert.False(t, same)
	_, err = Try(func() *Tensor { return x.View("a") })
	assert.ErrorIs(t, err, ir.ErrType)
	_, err = Try(func() *Tensor { return x.Select(0, 5) })
	assert.ErrorIs(t, err, ir.ErrIndex)
}

func TestTryRecoversErrorsAlone(t *testing.T) {
	testenv.Libtorch(t)
	x := open(t, []float32{1, 2})
	_, err := Try(func() *Tensor { return MatMul(x, Zeros(3)) })
	require.ErrorIs(t, err, ir.ErrRuntime)
	y, err := Try(func() *Tensor { return Relu(x) })
	require.NoError(t, err)
	assert.Equal(t, "tensor([1., 2.])", y.String())
	assert.PanicsWithValue(t, "a bug", func() { _, _ = Try(func() int { panic("a bug") }) })
}
