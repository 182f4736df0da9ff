package torchfx_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx"
	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/export"
	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// load opens a recorded program and closes it with the test.
func load(t testing.TB, name string, opts ...torchfx.LoadOption) *torchfx.Program {
	t.Helper()
	p, err := torchfx.Load(fixture(t, name), opts...)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, p.Close()) })
	return p
}

// fixture returns the path of a recorded program and skips the test where it or
// libtorch is not there.
func fixture(t testing.TB, name string) string {
	t.Helper()
	testenv.Libtorch(t)
	return testenv.Fixtures(t, "pt2", "2.15.0", name, "model.pt2")
}

// ones returns a tensor that is closed with the test.
func ones(t testing.TB, shape ...int) *torch.Tensor {
	t.Helper()
	n := 1
	for _, s := range shape {
		n *= s
	}
	data := make([]float32, n)
	for i := range data {
		data[i] = 1
	}
	x, err := torch.From(data, shape...)
	require.NoError(t, err)
	t.Cleanup(func() { x.Close() })
	return x
}

// floats returns the elements of a state tensor.
func floats(t testing.TB, p *torchfx.Program, name string) []float32 {
	t.Helper()
	for n, s := range p.State() {
		if n == name {
			data, err := torch.Data[float32](s)
			require.NoError(t, err)
			return data
		}
	}
	require.Failf(t, "no such state", "%s", name)
	return nil
}

func TestRunReturnsAResultOfItsOwn(t *testing.T) {
	p := load(t, "linear_relu")
	x := ones(t, 2, 4)
	out, err := p.Run(t.Context(), x)
	require.NoError(t, err)
	y := out.(*torch.Tensor)
	assert.Equal(t, []int{2, 3}, y.Shape())
	require.NoError(t, y.Close())
	assert.NotPanics(t, func() { x.Shape() })
}

func TestKeywordsReachTheirPlaces(t *testing.T) {
	p := load(t, "linear_relu")
	x := ones(t, 2, 4)
	out, err := p.Call(t.Context(), nil, map[string]any{"x": x})
	if err == nil {
		out.(*torch.Tensor).Close()
	}
	require.ErrorIs(t, err, ir.ErrInput, "as in Python, what was exported by position is not given by name")
}

func TestStateIsLeftForTheNextRunAndReset(t *testing.T) {
	p := load(t, "batchnorm_train")
	before := floats(t, p, "1.running_mean")
	x := input(t, p)
	run := func() []float32 {
		out, err := p.RunFlat(t.Context(), []any{x})
		require.NoError(t, err)
		closeAll(out)
		return floats(t, p, "1.running_mean")
	}
	first := run()
	assert.NotEqual(t, before, first)
	assert.NotEqual(t, first, run(), "the second run starts from what the first one left")
	require.NoError(t, p.Reset())
	assert.Equal(t, before, floats(t, p, "1.running_mean"))
	assert.Equal(t, first, run())
}

// input returns ones in the shape that the program's first input had.
func input(t testing.TB, p *torchfx.Program) *torch.Tensor {
	t.Helper()
	for n := range p.Module().Graph().Nodes() {
		if n.Op() != ir.Placeholder {
			continue
		}
		meta, ok := n.Meta().Get(ir.MetaVal).(ir.TensorMeta)
		require.True(t, ok, "placeholder %s: expected a tensor", n)
		shape := make([]int, len(meta.Sizes))
		for i, s := range meta.Sizes {
			shape[i] = int(s.Hint())
		}
		return ones(t, shape...)
	}
	require.Fail(t, "the program has no input")
	return nil
}

func closeAll(values []any) {
	for _, v := range values {
		if t, ok := v.(*torch.Tensor); ok {
			t.Close()
		}
	}
}

func TestTensorsOfOneStorageShareIt(t *testing.T) {
	p := load(t, "shared_storage")
	tensors := map[string]*torch.Tensor{}
	for name, s := range p.State() {
		tensors[name] = s
	}
	shared := 0
	for a, x := range tensors {
		for b, y := range tensors {
			hx, err := x.Handle()
			require.NoError(t, err)
			hy, err := y.Handle()
			require.NoError(t, err)
			if a < b && libtorch.IsAlias(hx, hy) {
				shared++
			}
		}
	}
	assert.Positive(t, shared)
}

func TestGuardsNameTheDimension(t *testing.T) {
	p := load(t, "linear_relu")
	_, err := p.Run(t.Context(), ones(t, 2, 5))
	require.ErrorIs(t, err, ir.ErrInput)
	assert.ErrorContains(t, err, "x")
	assert.False(t, errors.As(err, new(*interpreter.NodeError)))
}

func TestWithoutGuardsTheOperatorRefuses(t *testing.T) {
	p := load(t, "linear_relu", torchfx.WithoutGuards())
	_, err := p.Run(t.Context(), ones(t, 2, 5))
	var node *interpreter.NodeError
	require.ErrorAs(t, err, &node)
	assert.Equal(t, "torch.ops.aten.linear.default", node.Op)
	assert.Contains(t, node.Args[0], "f32[2, 5] cpu")
	assert.Contains(t, node.Source, "File ")
	assert.ErrorIs(t, err, ir.ErrRuntime)
}

func TestGuardsHoldWithoutSampleInputs(t *testing.T) {
	p := load(t, "no_example_inputs")
	_, err := p.RunFlat(t.Context(), []any{int64(1)})
	assert.ErrorIs(t, err, ir.ErrInput)
}

func TestClosedTensorIsAnError(t *testing.T) {
	for _, program := range []string{"linear_relu", "no_example_inputs"} {
		p := load(t, program)
		x := input(t, p)
		require.NoError(t, x.Close())
		_, err := p.RunFlat(t.Context(), []any{x})
		assert.ErrorIs(t, err, ir.ErrClosed, program)
		_, err = p.Run(t.Context(), x)
		assert.ErrorIs(t, err, ir.ErrClosed, program)
	}
}

func TestWithLibrary(t *testing.T) {
	const name = "custom_op_mutating" // y = x + 1; bump_(y, 2); y * 2
	_, err := torchfx.Load(fixture(t, name), torchfx.WithLibrary("none.so"))
	require.ErrorIs(t, err, ir.ErrMissing)
	require.ErrorContains(t, err, "none.so")

	p := load(t, name, torchfx.WithLibrary(testenv.FixtureOperators(t)))
	out, err := p.Run(t.Context(), ones(t, 4))
	require.NoError(t, err)
	y := out.(*torch.Tensor)
	defer y.Close()
	data, err := torch.Data[float32](y)
	require.NoError(t, err)
	assert.Equal(t, []float32{8, 8, 8, 8}, data)
}

func TestClosedProgramRefuses(t *testing.T) {
	p := load(t, "linear_relu")
	x := ones(t, 2, 4)
	out, err := p.Run(t.Context(), x)
	require.NoError(t, err)
	defer out.(*torch.Tensor).Close()
	require.NoError(t, p.Close())
	require.NoError(t, p.Close())
	_, err = p.Run(t.Context(), x)
	assert.ErrorIs(t, err, ir.ErrClosed)
	_, err = p.RunFlat(t.Context(), []any{x})
	assert.ErrorIs(t, err, ir.ErrClosed)
	assert.ErrorIs(t, p.Reset(), ir.ErrClosed)
	assert.NotPanics(t, func() { _ = out.(*torch.Tensor).String() })
}

func TestResultThatIsStateOutlivesTheProgram(t *testing.T) {
	p := load(t, "state_outputs")
	out, err := p.RunFlat(t.Context(), []any{input(t, p)})
	require.NoError(t, err)
	defer closeAll(out)
	require.NoError(t, p.Close())
	for _, v := range out {
		assert.NotEmpty(t, v.(*torch.Tensor).String())
	}
}

func TestCloseWaitsForRuns(t *testing.T) {
	p := load(t, "tiny_resnet")
	x := input(t, p)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 5 {
				out, err := p.RunFlat(context.Background(), []any{x})
				if err != nil {
					assert.ErrorIs(t, err, ir.ErrClosed)
					return
				}
				closeAll(out)
			}
		})
	}
	runtime.Gosched()
	require.NoError(t, p.Close())
	wg.Wait()
}

func TestOnDeviceSaysWhyThereIsNone(t *testing.T) {
	path := fixture(t, "linear_relu")
	info, err := libtorch.GetInfo()
	require.NoError(t, err)
	_, err = torchfx.Load(path, torchfx.OnDevice(ir.NewDevice(ir.DeviceCUDA, info.CUDADevices)))
	if info.CUDA {
		require.ErrorIs(t, err, ir.ErrValue)
		return
	}
	require.ErrorIs(t, err, ir.ErrMissing)
	require.ErrorContains(t, err, info.CUDAWhy)
	require.ErrorContains(t, err, "torchfx setup --cuda")
}

func TestOnDeviceRedirectsCreationOperators(t *testing.T) {
	meta := ir.NewDevice(ir.DeviceMeta, -1)
	p := load(t, "factory_args", torchfx.OnDevice(meta))
	older := func(warning string) bool { return strings.Contains(warning, "newer than libtorch") } // this libtorch may be
	warnings := slices.DeleteFunc(p.Warnings(), older)
	assert.NotEmpty(t, warnings)
	for name, s := range p.State() {
		assert.Equal(t, meta, s.Device(), name)
	}
	for _, w := range warnings {
		assert.Contains(t, w, "became meta")
	}
	x, err := torch.Call("aten::_to_copy", recordedInputs(t, "factory_args")[0], torch.Kw("device", meta))
	require.NoError(t, err)
	defer x.(*torch.Tensor).Close()
	out, err := p.RunFlat(t.Context(), []any{x})
	require.NoError(t, err)
	defer closeAll(out)
	for i, v := range out {
		assert.Equal(t, meta, v.(*torch.Tensor).Device(), "output %d", i)
	}
}

func TestResetKeepsReplacedAttributes(t *testing.T) {
	p := load(t, "linear_relu")
	var weight string
	for name := range p.State() {
		weight = name
		break
	}
	mine := ones(t, 3, 4)
	p.Module().SetAttr(weight, mine)
	require.NoError(t, p.Reset())
	got, ok := p.Module().Attr(weight)
	require.True(t, ok)
	assert.Same(t, mine, got)
	out, err := p.Run(t.Context(), ones(t, 2, 4))
	require.NoError(t, err)
	out.(*torch.Tensor).Close()
	assert.NotPanics(t, func() { mine.Shape() }, "what the program did not make it does not close")
}

// Runs leave nothing: no tensor, and no memory of the process.
func TestManyRunsLeaveMemoryFlat(t *testing.T) {
	for _, tc := range []struct {
		program string
		runs    int
	}{{"linear_relu", 10_000}, {"while_loop", 1000}, {"tiny_resnet", 200}} {
		t.Run(tc.program, func(t *testing.T) {
			p := load(t, tc.program)
			inputs := recordedInputs(t, tc.program)
			if instrumented {
				tc.runs = 20
			}
			runs := func(n int) {
				for range n {
					out, err := p.RunFlat(t.Context(), inputs)
					require.NoError(t, err)
					closeAll(out)
				}
			}
			runs(tc.runs / 10)
			runtime.GC()
			count, bytes := libtorch.LiveTensors()
			before := residentBytes(t)
			runs(tc.runs)
			afterCount, afterBytes := libtorch.LiveTensors()
			assert.Equal(t, count, afterCount, "live tensors")
			assert.Equal(t, bytes, afterBytes, "bytes of live tensors")
			if instrumented {
				return
			}
			runtime.GC()
			// what the Go heap and malloc keep for reuse moves by a few megabytes; a
			// leak of one smallest tensor a run would be more
			assert.Less(t, residentBytes(t)-before, int64(8<<20), "growth of resident memory")
		})
	}
}

// recordedInputs returns the first input set of a recorded program.
func recordedInputs(t testing.TB, program string) []any {
	t.Helper()
	f, err := export.OpenSafetensors(filepath.Join(filepath.Dir(fixture(t, program)), "inputs.0.safetensors"))
	require.NoError(t, err)
	defer f.Close()
	var inputs []any
	for i := range f.Names() {
		x, err := f.Tensor(fmt.Sprintf("i%d", i))
		require.NoError(t, err)
		data, err := x.Bytes()
		require.NoError(t, err)
		shape := make([]int, len(x.Sizes))
		for i, n := range x.Sizes {
			shape[i] = int(n)
		}
		v, err := torch.FromBytes(x.DType, shape, data)
		require.NoError(t, err)
		t.Cleanup(func() { v.Close() })
		inputs = append(inputs, v)
	}
	return inputs
}

func residentBytes(t testing.TB) int64 {
	t.Helper()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skipf("needs /proc: %v", err)
	}
	var size, resident int64
	_, err = fmt.Sscan(string(text), &size, &resident)
	require.NoError(t, err)
	return resident * int64(os.Getpagesize())
}

func TestManyGoroutinesGetTheSameBits(t *testing.T) {
	p := load(t, "tiny_resnet")
	inputs := recordedInputs(t, "tiny_resnet")
	run := func() ([]byte, error) {
		out, err := p.RunFlat(t.Context(), inputs)
		if err != nil {
			return nil, err
		}
		defer closeAll(out)
		return out[0].(*torch.Tensor).Bytes()
	}
	want, err := run()
	require.NoError(t, err)
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() {
			for range 4 {
				got, err := run()
				assert.NoError(t, err)
				assert.Equal(t, want, got)
			}
		})
	}
	wg.Wait()
}

// Wherever a run is cancelled, it closes what it made.
func TestCancelledRunsLeaveNothing(t *testing.T) {
	p := load(t, "tiny_resnet")
	inputs := recordedInputs(t, "tiny_resnet")
	count, _ := libtorch.LiveTensors()
	for nodes := range p.Module().Graph().Len() {
		ctx, cancel := context.WithCancel(t.Context())
		in := interpreter.New(p.Module(), interpreter.WithHandler(interpreter.Around(interpreter.Default{},
			func(r *interpreter.Run, n *ir.Node, run func() (any, error)) (any, error) {
				if nodes--; nodes < 0 {
					cancel()
				}
				return run()
			})))
		out, err := in.RunFlat(ctx, inputs)
		if err == nil {
			closeAll(out) // cancelled at the last node, which is looked at no more
		} else {
			require.ErrorIs(t, err, context.Canceled)
		}
		cancel()
	}
	after, _ := libtorch.LiveTensors()
	assert.Equal(t, count, after)
}

func BenchmarkRun(b *testing.B) {
	for _, program := range []string{"linear_relu", "mlp_gelu", "tiny_resnet"} {
		b.Run(program, func(b *testing.B) {
			p := load(b, program)
			inputs := recordedInputs(b, program)
			b.ReportAllocs()
			for b.Loop() {
				out, err := p.RunFlat(b.Context(), inputs)
				if err != nil {
					b.Fatal(err)
				}
				closeAll(out)
			}
		})
	}
}

// Nil pointers of every type that may stand for an argument are errors, not panics.
func TestNilPointersAreErrors(t *testing.T) {
	for _, program := range []string{"linear_relu", "pytree_inputs", "no_example_inputs"} {
		p := load(t, program)
		for _, v := range []any{(*torch.Tensor)(nil), (*ir.PyDict)(nil), (*ir.PyObject)(nil), ir.PyTuple(nil), []any(nil), map[string]any(nil), (*int)(nil)} {
			_, err := p.RunFlat(t.Context(), []any{v})
			assert.Error(t, err, "%s: %T", program, v)
			_, err = p.Run(t.Context(), v)
			assert.Error(t, err, "%s: %T", program, v)
		}
	}
}
