package torchops_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// A tensor of one element stands for a number where PyTorch reads it as one: for a
// SymInt of any shape, for a double without dimensions, complex ones too. One of bools
// is taken for a SymInt and fails where it is read; the rows of a tensor are a list of
// sizes to torch.ops.
func TestTensorsForNumbers(t *testing.T) {
	testenv.Libtorch(t)
	number := func(v any, shape ...int) *torch.Tensor { return torch.TensorOf(v).Reshape(shape) }
	x := number([]float64{0, 1, 2, 3, 4, 5}, 2, 3)
	for _, c := range []struct {
		name, fn string
		args     []any
		shape    []int
		class    *ir.Class
	}{
		{"an index of one dimension", "torch.select", []any{x, 0, number(1, 1)}, []int{3}, nil},
		{"an index of two", "torch.select", []any{x, 0, number(1, 1, 1)}, []int{3}, nil},
		{"a bool for an index", "torch.select", []any{x, 0, number(true)}, nil, ir.ErrRuntime},
		{"a bool among sizes", "torch.zeros", []any{[]any{1, number(true)}}, nil, ir.ErrRuntime},
		{"a bool for all sizes", "torch.roll", []any{x, number(true), []any{0}}, []int{2, 3}, nil},
		{"an int of one dimension, which an int64_t is not", "torch.cumsum", []any{x, number(1, 1)}, nil, ir.ErrType},
		{"a complex number for a double", "torch.isclose", []any{x, x, number(complex(1, 0))}, []int{2, 3}, nil},
		{"one with an imaginary part", "torch.isclose", []any{x, x, number(complex(1, 2))}, nil, ir.ErrRuntime},
		{"rows for sizes", "torch.ops.aten.view.default", []any{x, number([]int{3, 2}, 2)}, []int{3, 2}, nil},
		{"rows of floats for sizes", "torch.ops.aten.view.default", []any{x, number([]float64{3, 2}, 2)}, nil, ir.ErrRuntime},
		{"a float among sizes", "torch.ops.aten.zeros.default", []any{[]any{number(1.0)}}, nil, ir.ErrRuntime},
		{"rows for dimensions, which are no SymInt", "torch.ops.aten.sum.dim_IntList", []any{x, number([]int{0}, 1)}, nil, ir.ErrRuntime},
		{"one int for SymInt[1]", "torch.ops.aten.fft_ifft2.default", []any{x, 1}, nil, ir.ErrRuntime},
		{"one int for int[1]", "torch.ops.aten.sum.dim_IntList", []any{x, 1}, []int{2}, nil},
		{"no tensor for sym_size", "torch.ops.aten.sym_size.int", []any{[]any{x}, 1}, nil, ir.ErrRuntime},
		{"a truth for dims of tensordot", "torch.tensordot", []any{x, x.T(), true}, []int{2, 2}, nil},
		{"the order -inf of a masked norm", "torch.masked.norm", []any{x, number(math.Inf(-1)), 1, torch.Kw("mask", torch.Gt(x, 0))}, []int{2}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			args, kw := torch.SplitKwargs(c.args)
			v, err := torch.Invoke(nil, ir.FuncOf(c.fn), args, kw)
			if c.class != nil {
				assert.ErrorIs(t, err, c.class)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, c.shape, v.(*torch.Tensor).Shape())
		})
	}
	v, err := torch.Invoke(nil, ir.FuncOf("torch.masked.norm"), []any{x, number(math.Inf(-1)), 1}, []torch.Kwarg{torch.Kw("mask", torch.Gt(x, 0))})
	require.NoError(t, err)
	smallest, err := torch.Data[float32](v.(*torch.Tensor))
	require.NoError(t, err)
	assert.Equal(t, []float32{1, 3}, smallest)
}

// CPython's functions in C refuse arguments in their own words.
func TestArgumentsOfPythonsOwn(t *testing.T) {
	for _, c := range []struct {
		fn   string
		args []any
		kw   []torch.Kwarg
		text string
	}{
		{"math.erf", []any{1.0, 2.0}, nil, "math.erf() takes exactly one argument (2 given)"},
		{"math.atan2", []any{1.0}, nil, "atan2 expected 2 arguments, got 1"},
		{"math.copysign", []any{1.0}, []torch.Kwarg{torch.Kw("y", 1)}, "math.copysign() takes no keyword arguments"},
		{"operator.add", []any{1, 2, 3}, nil, "add expected 2 arguments, got 3"},
		{"operator.inv", []any{1, 2}, nil, "_operator.inv() takes exactly one argument (2 given)"},
		{"operator.is_", []any{1, 2}, []torch.Kwarg{torch.Kw("start", 1)}, "_operator.is_() takes no keyword arguments"},
		{"builtins.any", []any{1, 2}, nil, "any() takes exactly one argument (2 given)"},
		{"torch.sym_float", []any{1, 2, 3}, nil, "sym_float() takes 1 positional argument but 3 were given"},
		{"math.dist", []any{[]any{1.0}, " 2"}, nil, "both points must have the same number of dimensions"},
		{"math.isclose", []any{nil, 1}, nil, "must be real number, not NoneType"},
		{"operator.length_hint", []any{1, nil}, nil, "'NoneType' object cannot be interpreted as an integer"},
	} {
		_, err := torch.Invoke(nil, ir.FuncOf(c.fn), c.args, c.kw)
		assert.ErrorContains(t, err, c.text, c.fn)
	}
}

// Any slice of values is a list, nested ones too; one that holds itself is refused.
func TestSlicesAreLists(t *testing.T) {
	testenv.Libtorch(t)
	for _, c := range []struct {
		data  any
		shape []int
		dtype torch.DType
	}{
		{[][]int{{1, 2, 3}, {4, 5, 6}}, []int{2, 3}, torch.Int64},
		{[][][]float32{{{1}, {2}}}, []int{1, 2, 1}, torch.Float32},
		{[]float32{1, 2}, []int{2}, torch.Float32},
		{[][]bool{{true}, {false}}, []int{2, 1}, torch.Bool8},
		{[]complex128{1i}, []int{1}, torch.Complex64},
		{[]int32{7}, []int{1}, torch.Int64},
		{[]any{[]int{1}, []float64{2}}, []int{2, 1}, torch.Float32},
		{[][]int{}, []int{0}, torch.Float32},
	} {
		x := torch.TensorOf(c.data)
		assert.Equal(t, c.shape, x.Shape(), "%v", c.data)
		assert.Equal(t, c.dtype, x.DType(), "%v", c.data)
	}
	_, err := torch.Try(func() *torch.Tensor { return torch.TensorOf([][]int{{1, 2}, {3}}) })
	assert.ErrorIs(t, err, ir.ErrValue)
	type list []list
	itself := list{nil}
	itself[0] = itself
	_, err = torch.Try(func() *torch.Tensor { return torch.TensorOf(itself) })
	assert.Error(t, err)
}

func TestCallOfAFunction(t *testing.T) {
	testenv.Libtorch(t)
	_, err := torch.Call("torch.softmax", 1)
	assert.ErrorIs(t, err, ir.ErrUnsupported)
	assert.ErrorContains(t, err, `expected an operator, as "aten::add.Tensor"; torch.softmax is a function, which Invoke calls`)
}
