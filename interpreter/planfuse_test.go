package interpreter_test

import (
	"math"
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

// Fused operators give the bits of the Interpreter's, whatever the dtypes, shapes,
// strides, values and threads.
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
		threads := interpreter.WithThreads(rapid.SampledFrom([]int{1, 1, 2, 3}).Draw(t, "threads"))
		want, wantErr := interpreter.New(gm, threads).Run(t.Context(), args...)
		defer closeResult(want)
		p, err := interpreter.Compile(gm, interpreter.PlanFuseAll(), threads)
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
// one loop or the other: in mul; in addcmul, which in PyTorch gives the other one in place than into
// new memory; and in add and sub without FMA or in libtorch's before 2.15,
// which are of another compiler.
func anyNaN(t require.TestingT, g *ir.Graph) bool {
	has := func(name string) bool { return len(g.Find(ir.CallFunction, ir.OverloadOf(name))) > 0 }
	info, err := libtorch.GetInfo()
	require.NoError(t, err)
	other := info.CPUCapability == "DEFAULT" || !strings.HasPrefix(info.TorchVersion, "2.15.")
	return has("aten::mul.Tensor") || has("aten::addcmul") || other && (has("aten::add.Tensor") || has("aten::sub.Tensor"))
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
	gm := chain(t, "add", "relu", "mul", "sin", "neg")
	for _, tc := range []struct {
		option interpreter.PlanOption
		want   []string
	}{
		{interpreter.PlanFuseAll(), []string{"fused at step 4: 0:add 1:relu 2:mul 3:sin 4:neg; gives %6; ", "3 in registers, kernel, 1 in registers"}},
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

// The exponential of sigmoid and silu is done in registers, and exp and tanh to the
// nearest float or by the kernel, with the bits of eager code's, for whatever argument: every
// 1,021st of the 2^32 there are, or all where TORCHFX_EXHAUSTIVE is set, which takes minutes.
func TestFunctionsOfAllArguments(t *testing.T) {
	needLibtorch(t)
	const chunk = 1 << 20
	stride := 1021
	if os.Getenv("TORCHFX_EXHAUSTIVE") != "" {
		stride = 1
	}
	for _, op := range []string{"sigmoid", "silu", "exp", "tanh"} {
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
			if op == "exp" || op == "tanh" {
				checkNearest(t, text, "nearest float, kernel where in doubt, 1 in registers")
			} else {
				assert.Contains(t, text, "2 in registers")
			}
		})
	}
}

// checkNearest checks that a dump tells of functions to the nearest float where they are known
// to be done so: with AVX-512 and the libtorch whose kernels were compared, which takes those of
// MKL's baseline, since the processor is not Intel's.
func checkNearest(t *testing.T, dump, want string) {
	t.Helper()
	info, err := libtorch.GetInfo()
	require.NoError(t, err)
	cpu, err := os.ReadFile("/proc/cpuinfo")
	if err == nil && info.CPUCapability == "AVX512" && strings.HasPrefix(info.TorchVersion, "2.15.") && strings.Contains(string(cpu), "AuthenticAMD") {
		assert.Contains(t, dump, want)
	}
}

// Functions that are faster in a group than by their kernels are in one of their own, and
// have the kernel's bits however the argument lies.
func TestFunctionsAlone(t *testing.T) {
	needLibtorch(t)
	for _, op := range []string{"exp", "tanh", "sigmoid", "silu"} {
		for _, threads := range []int{1, 2} {
			gm := chain(t, op)
			p := compile(t, gm, interpreter.WithThreads(threads))
			in := interpreter.New(gm, interpreter.WithThreads(threads))
			y := uniform(t, 1)
			for _, sizes := range [][]int{{1}, {1023}, {1024}, {1031}, {41, 700}, {100003}, {300, 517}} {
				base := uniform(t, sizes...)
				for _, x := range []*torch.Tensor{base, strided(t, base, "aten::t"), strided(t, base, "aten::slice.Tensor", 0, 1, nil, 3)} {
					want, err := in.Run(t.Context(), x, y)
					require.NoError(t, err)
					for range 2 { // watched, fused
						got, err := p.Run(t.Context(), x, y)
						require.NoError(t, err)
						equalBits(t, gm, want.(*torch.Tensor), got.(*torch.Tensor))
						closeResult(got)
					}
					closeResult(want)
				}
			}
			text, err := p.Dump()
			require.NoError(t, err)
			if op == "sigmoid" || op == "silu" {
				assert.Contains(t, text, "1 in registers")
			} else {
				checkNearest(t, text, "; nearest float, kernel where in doubt")
			}
			assert.NotContains(t, text, "1 × 1023 elements")
		}
	}
}

// strided is a view of a tensor.
func strided(t *testing.T, x *torch.Tensor, op string, args ...any) *torch.Tensor {
	t.Helper()
	out, err := torch.Call(op, append([]any{x}, args...)...)
	require.NoError(t, err)
	t.Cleanup(func() { out.(*torch.Tensor).Close() })
	return out.(*torch.Tensor)
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
