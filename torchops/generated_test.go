package torchops

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
)

// Each target of the generated functions is known, and spelled as a graph has it.
func TestGeneratedTargetsAreKnown(t *testing.T) {
	files, err := filepath.Glob("api_*.go")
	require.NoError(t, err)
	calls := regexp.MustCompile(`Call(?:Any|Tensor|Tensors[234]?)\("([^"]+)"`)
	n := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, m := range calls.FindAllStringSubmatch(string(text), -1) {
			n++
			name := m[1]
			assert.Equal(t, name, ir.FuncOf(name).Name())
			assert.True(t, Implemented(ir.FuncOf(name)), name)
		}
	}
	assert.Greater(t, n, 1000)
}

func TestGeneratedFunctionsCompute(t *testing.T) {
	testenv.Libtorch(t)
	x := open(t, []float32{3, 1, 2, 6, 5, 4}, 2, 3)
	y := open(t, []float32{1, 2, 3}, 3)
	numbers := func(x *Tensor) []float32 {
		v, err := Data[float32](x.Contiguous())
		require.NoError(t, err)
		return v
	}
	values, indices := MaxDim(x, 1)
	assert.Equal(t, []float32{3, 6}, numbers(values))
	at, err := Data[int64](indices)
	require.NoError(t, err)
	assert.Equal(t, []int64{0, 0}, at)
	assert.Equal(t, []float32{6}, numbers(x.Max()))
	assert.Equal(t, []float32{3, 2, 3, 6, 5, 4}, numbers(Max(x, y)), "an overload by a further argument")
	top, _ := x.Topk(2, Kw("largest", false))
	assert.Equal(t, []float32{1, 2, 4, 5}, numbers(top))
	u, d, v := x.Svd()
	assert.Equal(t, []int{2, 2, 2, 3, 2}, append(append(u.Shape(), d.Shape()...), v.Shape()...))
	assert.Equal(t, []float32{14}, numbers(Dot(y, y)))
	assert.Equal(t, []float32{14}, numbers(Einsum("i,i->", y, y)))
	assert.Equal(t, []float32{1, 2, 3, 1, 2, 3}, numbers(y.Repeat(2)))
	assert.Equal(t, []float32{2, 4, 6}, numbers(Addcmul(y, y, open(t, []float32{1, 1, 1}))))
	assert.Equal(t, []float32{1, 2, 3}, numbers(y), "nothing was written")
	assert.Equal(t, []float32{2, 4, 6}, numbers(y.Clone().MulInPlace(2)))
	output, counts := UniqueCounts(open(t, []float32{2, 1, 2}))
	assert.Equal(t, []float32{1, 2}, numbers(output))
	assert.Equal(t, 2, counts.Numel())
	a, b := Split(x, []int{1, 2}, Kw("dim", 1)).Unpack2()
	assert.Equal(t, []int{2, 1, 2, 2}, append(a.Shape(), b.Shape()...))
	assert.True(t, x.IsFloatingPoint().Bool())
	zeros, ones := open(t, []float32{0, 0, 0}), open(t, []float32{1, 1, 1})
	assert.Equal(t, []float32{3, 1, 2}, numbers(BatchNorm(open(t, []float32{3, 1, 2}, 1, 3), nil, nil, zeros, ones, false, 0.1, 0, false)), "None for weight and bias")
	assert.EqualValues(t, 1, x.Stride(1).Int())
	assert.Equal(t, Float64, x.Double().DType())
	assert.Equal(t, 2, x.NonzeroTuple().Len())
	_, err = Try(func() *Tensor { return Addmm(x, y, y) })
	assert.ErrorIs(t, err, ir.ErrRuntime)
	_, err = Try(func() *Tensor { return x.Cumsum(0, Kw("exclusive", true)) })
	assert.ErrorIs(t, err, ir.ErrType)
}

// A traced value records the function or the method that was called, with its
// arguments as they were given.
func TestGeneratedFunctionsAreRecorded(t *testing.T) {
	s := &script{}
	x, y := s.input("x"), s.input("y")
	Addmm(x, y, y, Kw("beta", 2))
	x.Addmm(y, y)
	x.MaxDim(1, true)
	x.Repeat(2, x.Size(0))
	Einsum("ij->ji", x)
	Split(x, 2)
	x.NegInPlace()
	NegInPlace(x)
	Hstack(List{x, y})
	x.NonzeroTuple()
	x.NewZeros(2, 3, Kw("dtype", Int64))
	UniqueCounts(x, false)
	x.T()
	x.Transposed()
	assert.Equal(t, []string{
		"v0 = call_function torch.addmm(x, y, y, beta=2)",
		"v1 = call_method addmm(x, y, y)",
		"v2 = call_method max(x, 1, True)",
		"v3 = call_function operator.getitem(v2, 0)",
		"v4 = call_function operator.getitem(v2, 1)",
		"v5 = call_method size(x, 0)",
		"v6 = call_method repeat(x, 2, v5)",
		`v7 = call_function torch.functional.einsum("ij->ji", x)`,
		"v8 = call_function torch.functional.split(x, 2, dim=0)",
		"v9 = call_method neg_(x)",
		"v10 = call_function torch.neg_(x)",
		"v11 = call_function torch.hstack([x, y])",
		"v12 = call_method nonzero(x, as_tuple=True)",
		"v13 = call_method new_zeros(x, 2, 3, dtype=torch.int64)",
		"v14 = call_function torch.functional.unique(x, sorted=False, return_inverse=False, return_counts=True, dim=None)",
		"v15 = call_function operator.getitem(v14, 0)",
		"v16 = call_function operator.getitem(v14, 1)",
		`v17 = call_function builtins.getattr(x, "T")`,
		"v18 = call_method t(x)",
	}, s.lines)
	_, err := Try(func() any { x.SetIndex(1, 0); return nil })
	assert.ErrorContains(t, err, "does not support item assignment")
}

// What Python has beyond the parameters of a function that is written by hand is an
// option of it, and is recorded as it was given.
func TestWrittenFunctionsTakeOptions(t *testing.T) {
	s := &script{}
	x, y := s.input("x"), s.input("y")
	Add(x, y, Kw("alpha", 2))
	x.Sub(y, Kw("alpha", 2))
	x.Div(2, Kw("rounding_mode", "floor"))
	x.Sum()
	x.Sum(1, Kw("keepdim", true))
	x.Sum(0, 1, true)
	x.Mean([]int{0, 1}, Kw("dtype", Float64))
	Sum(x, 1, true)
	x.Softmax(1, Kw("dtype", Float64))
	x.Squeeze()
	x.Squeeze(0, 1)
	x.Argmax()
	x.Argmax(1, Kw("keepdim", true))
	x.Clamp(0, Kw("max", 1))
	x.Flatten()
	Flatten(x, 1)
	Flatten(x, Kw("end_dim", 1))
	x.AsStrided([]any{x.Size(0)}, []int{1})
	x.Contiguous(Kw("memory_format", ChannelsLast))
	WhereTuple(x)
	Cat(List{x, y}, 1, Kw("out", y))
	Arange(x.Size(1))
	Neg(x, Kw("out", y))
	x.AllClose(y, Kw("equal_nan", true))
	x.ToBool()
	assert.Equal(t, []string{
		"v0 = call_function torch.add(x, y, alpha=2)",
		"v1 = call_method sub(x, y, alpha=2)",
		`v2 = call_method div(x, 2, rounding_mode="floor")`,
		"v3 = call_method sum(x)",
		"v4 = call_method sum(x, 1, keepdim=True)",
		"v5 = call_method sum(x, [0, 1], True)",
		"v6 = call_method mean(x, [0, 1], dtype=torch.float64)",
		"v7 = call_function torch.sum(x, 1, True)",
		"v8 = call_method softmax(x, 1, dtype=torch.float64)",
		"v9 = call_method squeeze(x)",
		"v10 = call_method squeeze(x, 0, 1)",
		"v11 = call_method argmax(x)",
		"v12 = call_method argmax(x, 1, keepdim=True)",
		"v13 = call_method clamp(x, 0, max=1)",
		"v14 = call_method flatten(x)",
		"v15 = call_function torch.flatten(x, 1)",
		"v16 = call_function torch.flatten(x, end_dim=1)",
		"v17 = call_method size(x, 0)",
		"v18 = call_method as_strided(x, [v17], [1])",
		"v19 = call_method contiguous(x, memory_format=torch.channels_last)",
		"v20 = call_function torch.where(x)",
		"v21 = call_function torch.cat([x, y], 1, out=y)",
		"v22 = call_method size(x, 1)",
		"v23 = call_function torch.arange(v22)",
		"v24 = call_function torch.neg(x, out=y)",
		"v25 = call_method allclose(x, y, equal_nan=True)",
		"v26 = call_method bool(x)",
	}, s.lines)
}
