package interpreter_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/interpreter"
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

var fuseShapes = [][]int{{1}, {5}, {37}, {64}, {100}, {1, 33}, {3, 64}, {2, 3, 35}, {2, 5, 4, 6}, {1, 1}, {301, 130}, {70, 1031}, {20000}, {131, 3, 67}}

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

// Fused operators give the bits of the Interpreter's, whatever the dtypes, shapes,
// strides and values.
func TestFusedOperatorsGiveTheSameBits(t *testing.T) {
	needLibtorch(t)
	groups, runs := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		shape := rapid.SampledFrom(fuseShapes).Draw(t, "shape")
		var args []any
		defer func() { closeResult(args) }()
		for i := range rapid.IntRange(1, 4).Draw(t, "inputs") {
			args = append(args, drawInput(t, shape, i))
		}
		gm := drawPointwise(t, len(args))
		want, wantErr := interpreter.New(gm).Run(t.Context(), args...)
		defer closeResult(want)
		p, err := interpreter.Compile(gm, interpreter.PlanFuseAll())
		require.NoError(t, err)
		defer p.Close()
		for range 3 {
			got, err := p.Run(t.Context(), args...)
			if wantErr != nil {
				require.EqualError(t, err, wantErr.Error())
				continue
			}
			require.NoError(t, err)
			for i, w := range want.(ir.PyTuple) {
				equalBits(t, gm, w.(*torch.Tensor), got.(ir.PyTuple)[i].(*torch.Tensor))
			}
			closeResult(got)
			runs++
		}
		text, err := p.Dump()
		require.NoError(t, err)
		groups += strings.Count(text, "fused at")
	})
	t.Logf("%d groups in %d runs", groups, runs)
	assert.Greater(t, groups, 10)
}

// anyNaN reports whether in a graph of two NaNs that differ either may come out, in
// eager code too, where it depends on how the compiler has ordered the operands of
// one loop or the other: in mul, and in add and sub without FMA or in libtorch's before 2.15,
// which are of another compiler.
func anyNaN(t require.TestingT, g *ir.Graph) bool {
	has := func(name string) bool { return len(g.Find(ir.CallFunction, ir.OverloadOf(name))) > 0 }
	info, err := libtorch.GetInfo()
	require.NoError(t, err)
	other := info.CPUCapability == "DEFAULT" || !strings.HasPrefix(info.TorchVersion, "2.15.")
	return has("aten::mul.Tensor") || other && (has("aten::add.Tensor") || has("aten::sub.Tensor"))
}

// isNaN reports whether an element's little-endian bytes are a NaN.
func isNaN(d ir.DType, b []byte) bool {
	var bits uint64
	for i, x := range b {
		bits |= uint64(x) << (8 * i)
	}
	infinity := map[ir.DType]uint64{ir.Float32: 0x7f800000, ir.Float64: 0x7ff << 52, ir.Float16: 0x7c00, ir.BFloat16: 0x7f80}[d]
	return infinity != 0 && bits&(1<<(8*len(b)-1)-1) > infinity
}

func equalBits(t require.TestingT, gm *ir.GraphModule, want, got *torch.Tensor) {
	require.Equal(t, torch.Describe(want), torch.Describe(got))
	require.Equal(t, want.Strides(), got.Strides())
	a, err := want.Bytes()
	require.NoError(t, err)
	b, err := got.Bytes()
	require.NoError(t, err)
	if slices.Equal(a, b) {
		return
	}
	size := want.DType().Size()
	differ, first := 0, -1
	for i := 0; i < len(a); i += size {
		x, y := a[i:i+size], b[i:i+size]
		if !slices.Equal(x, y) && !(anyNaN(t, gm.Graph()) && isNaN(want.DType(), x) && isNaN(want.DType(), y)) {
			if differ++; first < 0 {
				first = i
			}
		}
	}
	if differ == 0 {
		return
	}
	require.Fail(t, "bits differ", "%d of %d elements, the first at %d: expected % x, got % x\n%s", differ, len(a)/size, first/size, a[first:first+size], b[first:first+size], gm.Graph())
}

// chain is a graph of operators of torch on x, one after the other; binary ones
// take y too.
func chain(t testing.TB, ops ...string) *ir.GraphModule {
	t.Helper()
	g := ir.NewGraph()
	x, y := g.Placeholder("x"), g.Placeholder("y")
	last := x
	for _, op := range ops {
		args := []ir.Arg{last}
		switch op {
		case "add", "sub", "mul", "div", "maximum", "minimum":
			args = append(args, y)
		}
		name := "torch." + op
		if op == "silu" {
			name = "torch._C._nn.silu"
		}
		last = g.CallFunction(fn(name), args)
	}
	g.Output(last)
	gm, err := ir.NewGraphModule(nil, g)
	require.NoError(t, err)
	return gm
}

func uniform(t testing.TB, sizes ...int) *torch.Tensor {
	t.Helper()
	out, err := torch.Call("aten::randn", sizes)
	require.NoError(t, err)
	x := out.(*torch.Tensor)
	t.Cleanup(func() { x.Close() })
	return x
}

func TestDumpTellsWhatIsFused(t *testing.T) {
	needLibtorch(t)
	x, y := uniform(t, 300, 70), uniform(t, 70)
	gm := chain(t, "add", "relu", "mul", "tanh", "neg")
	for _, tc := range []struct {
		option interpreter.PlanOption
		want   []string
	}{
		{interpreter.PlanFuseAll(), []string{"fused at step 4: 0:add 1:relu 2:mul 3:tanh 4:neg; gives %6; ", "3 in registers, kernel, 1 in registers"}},
		{interpreter.PlanFusion(true), []string{"fused at step 2: 0:add 1:relu 2:mul; gives %4; ", "3 in registers"}},
		{interpreter.PlanFusion(false), nil},
	} {
		p := compile(t, gm, tc.option)
		agreePlan(t, gm, p, x, y)
		text, err := p.Dump()
		require.NoError(t, err)
		assert.Equal(t, len(tc.want) > 0, strings.Contains(text, "fused"))
		for _, want := range tc.want {
			assert.Contains(t, text, want)
		}
	}
}

// A group is closed by what may see or change its operands: writes into them,
// other operators, results that are needed early, other shapes.
func TestGroupsEndWhereTheyHaveTo(t *testing.T) {
	needLibtorch(t)
	x, y := uniform(t, 64, 33), uniform(t, 64, 33)
	call := func(g *ir.Graph, name string, args ...ir.Arg) *ir.Node {
		return g.CallFunction(ir.OverloadOf("aten::"+name), args)
	}
	t.Run("a write between", func(t *testing.T) {
		g := ir.NewGraph()
		a, b := g.Placeholder("a"), g.Placeholder("b")
		copied := call(g, "clone", a)
		sum := call(g, "add.Tensor", copied, b)
		product := call(g, "mul.Tensor", sum, b)
		call(g, "fill_.Scalar", copied, ir.Int(7))
		late := call(g, "add.Tensor", copied, product)
		g.Output(call(g, "neg", late))
		gm, err := ir.NewGraphModule(nil, g)
		require.NoError(t, err)
		agree(t, gm, x, y)
	})
	t.Run("an operand that is freed between", func(t *testing.T) {
		g := ir.NewGraph()
		a, b := g.Placeholder("a"), g.Placeholder("b")
		first := call(g, "mm", a, call(g, "t", b))
		sum := call(g, "add.Tensor", first, ir.Float(1))
		other := call(g, "mm", first, first) // the last reader of first
		g.Output(ir.TupleOf(call(g, "mul.Tensor", call(g, "neg", sum), sum), other))
		gm, err := ir.NewGraphModule(nil, g)
		require.NoError(t, err)
		p := compile(t, gm)
		agreePlan(t, gm, p, x, y)
		text, err := p.Dump()
		require.NoError(t, err)
		assert.Contains(t, text, "fused at")
	})
}

// The exponential of sigmoid and silu is done in registers with the bits of eager
// code's, for whatever argument: every 1,021st of the 2^32 there are, or all where
// TORCHFX_EXHAUSTIVE is set, which takes minutes.
func TestExponentialsInRegisters(t *testing.T) {
	needLibtorch(t)
	const chunk = 1 << 20
	stride := 1021
	if os.Getenv("TORCHFX_EXHAUSTIVE") != "" {
		stride = 1
	}
	for _, op := range []string{"sigmoid", "silu"} {
		t.Run(op, func(t *testing.T) {
			gm := chain(t, op, "neg")
			p := compile(t, gm)
			in := interpreter.New(gm)
			y := uniform(t, 1)
			values := make([]float32, 0, chunk)
			check := func() {
				x := tensor(t, values, len(values))
				defer x.Close()
				want, err := in.Run(t.Context(), x, y)
				require.NoError(t, err)
				defer closeResult(want)
				for range 2 { // watched, fused
					got, err := p.Run(t.Context(), x, y)
					require.NoError(t, err)
					equalBits(t, gm, want.(*torch.Tensor), got.(*torch.Tensor))
					closeResult(got)
				}
				values = values[:0]
			}
			for bits := 0; bits < 1<<32; bits += stride {
				values = append(values, math.Float32frombits(uint32(bits)))
				if len(values) == chunk {
					check()
				}
			}
			for n := range 70 { // the elements that fill no vector
				for i := range n {
					values = append(values, float32(i)-35)
				}
				if n > 0 {
					check()
				}
			}
			text, err := p.Dump()
			require.NoError(t, err)
			assert.Contains(t, text, "2 in registers")
		})
	}
}

// With several threads the bits are those of eager code with as many.
func TestFusedOnSeveralThreads(t *testing.T) {
	needLibtorch(t)
	gm := chain(t, "add", "mul", "relu", "sigmoid", "neg", "maximum", "div")
	for _, sizes := range [][]int{{100003}, {517, 301}, {64}} {
		x, y := uniform(t, sizes...), uniform(t, sizes[len(sizes)-1])
		want, err := interpreter.New(gm, interpreter.WithThreads(2)).Run(t.Context(), x, y)
		require.NoError(t, err)
		p := compile(t, gm, interpreter.PlanThreads(2), interpreter.PlanFuseAll())
		for range 3 {
			got, err := p.Run(t.Context(), x, y)
			require.NoError(t, err)
			sameBits(t, want, got)
			closeResult(got)
		}
		closeResult(want)
	}
}

// Results are memory of their own, whatever is run afterwards.
func TestFusedResultsAreTheirOwn(t *testing.T) {
	needLibtorch(t)
	gm := chain(t, "add", "mul", "relu")
	p := compile(t, gm)
	x, y := uniform(t, 5000), uniform(t, 5000)
	z := uniform(t, 5000)
	for range 2 {
		first, err := p.Run(t.Context(), x, y)
		require.NoError(t, err)
		second, err := p.Run(t.Context(), z, y)
		require.NoError(t, err)
		want, err := interpreter.New(gm).Run(t.Context(), x, y)
		require.NoError(t, err)
		sameBits(t, want, first)
		closeResult([]any{first, second, want})
	}
}

// A reduction over the last dimensions is the end of a group.
func TestFusedReductionsGiveTheSameBits(t *testing.T) {
	needLibtorch(t)
	call := func(g *ir.Graph, name string, args ...ir.Arg) *ir.Node {
		return g.CallFunction(ir.OverloadOf("aten::"+name), args)
	}
	for _, tc := range []struct {
		sizes []int
		dims  []ir.Arg
		fused bool
	}{
		{[]int{64, 768}, []ir.Arg{ir.Int(-1)}, true},
		{[]int{131, 3, 67}, []ir.Arg{ir.Int(2)}, true},
		{[]int{131, 3, 67}, []ir.Arg{ir.Int(1), ir.Int(2)}, true},
		{[]int{5, 1000}, []ir.Arg{ir.Int(1)}, true},
		{[]int{2000, 17}, []ir.Arg{ir.Int(1)}, true},
		{[]int{1, 4096}, []ir.Arg{ir.Int(1)}, false},  // one row
		{[]int{3, 70000}, []ir.Arg{ir.Int(1)}, false}, // a row is more than a block
		{[]int{40, 30, 20}, []ir.Arg{ir.Int(1)}, false},
		{[]int{40, 30, 20}, []ir.Arg{ir.Int(0), ir.Int(2)}, false},
	} {
		for _, op := range []string{"sum.dim_IntList", "mean.dim", "amax", "amin"} {
			for _, keep := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s %v %v %v", op, tc.sizes, tc.dims, keep), func(t *testing.T) {
					g := ir.NewGraph()
					x, y := g.Placeholder("x"), g.Placeholder("y")
					product := call(g, "mul.Tensor", call(g, "add.Tensor", x, y), x)
					reduced := call(g, op, product, ir.ListOf(tc.dims...), ir.Bool(keep))
					results := []ir.Arg{call(g, "mul.Tensor", reduced, ir.Float(2)), reduced}
					if keep {
						results = append(results, call(g, "neg", call(g, "sub.Tensor", product, reduced)))
					}
					g.Output(ir.TupleOf(results...))
					gm, err := ir.NewGraphModule(nil, g)
					require.NoError(t, err)
					p := compile(t, gm, interpreter.PlanFuseAll())
					agreePlan(t, gm, p, uniform(t, tc.sizes...), uniform(t, tc.sizes[len(tc.sizes)-1]))
					text, err := p.Dump()
					require.NoError(t, err)
					_, groups, found := strings.Cut(text, "fused at")
					require.True(t, found)
					first, _, _ := strings.Cut(groups, "\n")
					assert.Equal(t, tc.fused, strings.Contains(first, ":"+reduced.Name()), first)
				})
			}
		}
	}
}
