package interpreter_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// A pointwiseOp is an operator with what it takes beside tensors.
type pointwiseOp struct {
	name    string
	tensors int
	numbers []ir.Arg
	kwargs  []ir.Keyword
}

var pointwiseOps = []pointwiseOp{
	{name: "aten::add.Tensor", tensors: 2},
	{name: "aten::sub.Tensor", tensors: 2},
	{name: "aten::mul.Tensor", tensors: 2},
	{name: "aten::div.Tensor", tensors: 2},
	{name: "aten::maximum", tensors: 2},
	{name: "aten::minimum", tensors: 2},
	{name: "aten::neg", tensors: 1},
	{name: "aten::abs", tensors: 1},
	{name: "aten::sqrt", tensors: 1},
	{name: "aten::rsqrt", tensors: 1},
	{name: "aten::reciprocal", tensors: 1},
	{name: "aten::relu", tensors: 1},
	{name: "aten::clamp_min", tensors: 1, numbers: []ir.Arg{ir.Float(0.1)}},
	{name: "aten::clamp_max", tensors: 1, numbers: []ir.Arg{ir.Float(0.7)}},
	{name: "aten::clamp_max", tensors: 1, numbers: []ir.Arg{ir.Float(math.NaN())}},
	{name: "aten::clamp", tensors: 1, numbers: []ir.Arg{ir.Float(-0.3), ir.Float(1e-40)}},
	{name: "aten::clamp", tensors: 1, numbers: []ir.Arg{ir.None{}, ir.Int(1)}},
	{name: "aten::hardtanh", tensors: 1},
	{name: "aten::add.Tensor", tensors: 2, kwargs: []ir.Keyword{{Name: "alpha", Value: ir.Int(2)}}},
	{name: "aten::sub.Tensor", tensors: 2, kwargs: []ir.Keyword{{Name: "alpha", Value: ir.Int(3)}}},
	{name: "aten::mul.Tensor", tensors: 1, numbers: []ir.Arg{ir.Float(1.1)}},
	{name: "aten::add.Tensor", tensors: 1, numbers: []ir.Arg{ir.Int(2)}},
	{name: "aten::div.Tensor", tensors: 1, numbers: []ir.Arg{ir.Float(3)}},
	{name: "aten::pow.Tensor_Scalar", tensors: 1, numbers: []ir.Arg{ir.Int(2)}},
	{name: "aten::pow.Tensor_Scalar", tensors: 1, numbers: []ir.Arg{ir.Float(0.5)}},
	{name: "aten::exp", tensors: 1},
	{name: "aten::tanh", tensors: 1},
	{name: "aten::sigmoid", tensors: 1},
	{name: "aten::silu", tensors: 1},
	{name: "aten::gelu", tensors: 1},
	{name: "aten::gelu", tensors: 1, kwargs: []ir.Keyword{{Name: "approximate", Value: ir.Str("tanh")}}},
	{name: "aten::erf", tensors: 1},
	{name: "aten::log", tensors: 1},
	{name: "aten::log1p", tensors: 1},
	{name: "aten::sin", tensors: 1},
	{name: "aten::floor", tensors: 1},
	{name: "aten::round", tensors: 1},
	{name: "aten::sign", tensors: 1},
	{name: "aten::mish", tensors: 1},
	{name: "aten::elu", tensors: 1},
	{name: "aten::softplus", tensors: 1},
	{name: "aten::leaky_relu", tensors: 1},
	{name: "aten::hardswish", tensors: 1},
	{name: "aten::logical_not", tensors: 1},
	{name: "aten::pow.Tensor_Tensor", tensors: 2},
	{name: "aten::atan2", tensors: 2},
	{name: "aten::fmod.Tensor", tensors: 2},
	{name: "aten::remainder.Tensor", tensors: 2},
	{name: "aten::lt.Tensor", tensors: 2},
	{name: "aten::eq.Tensor", tensors: 2},
	{name: "aten::bitwise_and.Tensor", tensors: 2},
	{name: "aten::hypot", tensors: 2},
	{name: "aten::copysign.Tensor", tensors: 2},
	{name: "aten::addcmul", tensors: 3},
	{name: "aten::lerp.Scalar", tensors: 2, numbers: []ir.Arg{ir.Float(0.3)}},
}

var fuseShapes = [][]int{{1}, {5}, {37}, {64}, {100}, {1, 33}, {3, 64}, {2, 3, 35}, {2, 5, 4, 6}, {1, 1}, {301, 130}, {70, 1031}, {20000}, {131, 3, 67}, {70001}, {9, 7411}}

// special are the values where operators differ from what one would write.
var special = []float64{math.NaN(), math.Copysign(math.NaN(), -1), 0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), 1e-40, -1e-40, 1, -1, 0.5, 2, 3e38, 88.8, -104, 1e-310}

// drawInput makes an argument that broadcasts to shape: some dimensions are left
// out or 1, and its memory may be in another order, with gaps, or begin within its
// storage.
func drawInput(t *rapid.T, shape []int, i int) *torch.Tensor {
	label := func(what string) string { return fmt.Sprintf("%s of input %d", what, i) }
	full := rapid.Bool().Draw(t, label("full"))
	sizes := slices.Clone(shape)
	if !full {
		sizes = sizes[rapid.IntRange(0, len(shape)).Draw(t, label("first dimension")):]
		for d := range sizes {
			if rapid.Bool().Draw(t, label("broadcast")) {
				sizes[d] = 1
			}
		}
	}
	dtype := rapid.SampledFrom([]ir.DType{ir.Float32, ir.Float32, ir.Float32, ir.Float32, ir.Float64, ir.BFloat16, ir.Float16, ir.Int64, ir.Bool8}).Draw(t, label("dtype"))
	layout := rapid.SampledFrom([]string{"contiguous", "contiguous", "contiguous", "reversed", "gaps", "offset"}).Draw(t, label("layout"))
	random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, label("seed")), 0))
	stored := slices.Clone(sizes)
	switch layout {
	case "reversed":
		slices.Reverse(stored)
	case "gaps":
		if len(stored) > 0 {
			stored[len(stored)-1] *= 2
		}
	case "offset":
		if len(stored) > 0 {
			stored[0]++
		}
	}
	n := 1
	for _, s := range stored {
		n *= s
	}
	values := make([]float64, n)
	for k := range values {
		if values[k] = random.NormFloat64() * 2; random.IntN(5) == 0 {
			values[k] = special[random.IntN(len(special))]
		}
		if dtype == ir.Int64 {
			values[k] = float64(random.IntN(9) - 4)
		}
	}
	x, err := torch.From(values, stored...)
	require.NoError(t, err)
	then := func(name string, args ...any) {
		out, err := torch.Call(name, append([]any{x}, args...)...)
		require.NoError(t, err)
		require.NoError(t, x.Close())
		x = out.(*torch.Tensor)
	}
	then("aten::_to_copy", torch.Kw("dtype", dtype))
	if len(sizes) == 0 {
		then("aten::view", []int64{})
	}
	switch layout {
	case "reversed":
		order := make([]int64, len(sizes))
		for d := range order {
			order[d] = int64(len(sizes) - 1 - d)
		}
		then("aten::permute", order)
	case "gaps":
		if len(sizes) > 0 {
			then("aten::slice.Tensor", -1, nil, nil, 2)
		}
	case "offset":
		if len(sizes) > 0 {
			then("aten::slice.Tensor", 0, 1)
		}
	}
	return x
}

// drawPointwise builds a graph of pointwise operators over some inputs.
func drawPointwise(t *rapid.T, ninputs int) *ir.GraphModule {
	g := ir.NewGraph()
	var values []*ir.Node
	for i := range ninputs {
		values = append(values, g.Placeholder(fmt.Sprintf("x%d", i)))
	}
	n := rapid.IntRange(2, 14).Draw(t, "operators")
	var results []ir.Arg
	for i := range n {
		op := rapid.SampledFrom(pointwiseOps).Draw(t, "operator")
		var args []ir.Arg
		for range op.tensors {
			// mostly of the last ones, so that there are chains
			back := rapid.OneOf(rapid.IntRange(0, 1), rapid.IntRange(0, len(values)-1)).Draw(t, "argument")
			args = append(args, values[len(values)-1-min(back, len(values)-1)])
		}
		v := g.CallFunction(ir.OverloadOf(op.name), append(args, op.numbers...), ir.Kwargs(op.kwargs...))
		values = append(values, v)
		if i == n-1 || rapid.IntRange(0, 5).Draw(t, "result") == 0 {
			results = append(results, v)
		}
	}
	g.Output(ir.TupleOf(results...))
	gm, err := ir.NewGraphModule(nil, g)
	require.NoError(t, err)
	return gm
}
