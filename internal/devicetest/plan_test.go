package devicetest

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// parse makes a module of the code of its forward.
func parse(t testing.TB, code string, attrs map[string]any) *ir.GraphModule {
	t.Helper()
	g, err := ir.ParseCode(code)
	require.NoError(t, err)
	m, err := ir.NewGraphModule(attrs, g)
	require.NoError(t, err)
	return m
}

func numbers(t testing.TB, seed uint64, shape ...int) *torch.Tensor {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	n := 1
	for _, s := range shape {
		n *= s
	}
	data := make([]float32, n)
	for i := range data {
		data[i] = float32(r.NormFloat64())
	}
	x, err := torch.From(data, shape...)
	require.NoError(t, err)
	t.Cleanup(func() { _ = x.Close() })
	return x
}

func compile(t testing.TB, m *ir.GraphModule, opts ...interpreter.PlanOption) *interpreter.Plan {
	t.Helper()
	p, err := interpreter.Compile(m, opts...)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, p.Close()) })
	return p
}

func elements(t testing.TB, v any) []float32 {
	t.Helper()
	require.IsType(t, &torch.Tensor{}, v)
	data, err := torch.Data[float32](v.(*torch.Tensor))
	require.NoError(t, err)
	return data
}

// near compares with what the CPU gives: to the last bit on the stand-in, whose
// kernels are the CPU's, and on a GPU within float32's rounding over the length of the
// sums here, since its kernels add in another order (products of matrices do not use
// TF32 by default).
func near(t testing.TB, d Device, want, got []float32) {
	t.Helper()
	if d.Standin {
		require.Equal(t, want, got)
		return
	}
	require.Len(t, got, len(want))
	for i := range want {
		require.LessOrEqual(t, math.Abs(float64(want[i]-got[i])), 1e-4*(1+math.Abs(float64(want[i]))), "element %d: %v, %v", i, want[i], got[i])
	}
}

// network is two linear layers and a residual, whose weights are tied to a view.
func network(t testing.TB) *ir.GraphModule {
	t.Helper()
	return parse(t, `def forward(self, x, y):
    w = self.w
    b = self.b
    v = self.v
    linear = torch.nn.functional.linear(x, w, b)
    relu = torch.relu(linear)
    linear_1 = torch.nn.functional.linear(relu, w)
    add = linear_1 + y
    mul = torch.mul(add, v)
    sum_1 = mul.sum(dim = 1)
    return (mul, sum_1)
`, tiedWeights(t))
}

func tiedWeights(t testing.TB) map[string]any {
	w := numbers(t, 1, 16, 16)
	v, err := torch.Try(func() *torch.Tensor { return w.Select(0, 3) })
	require.NoError(t, err)
	t.Cleanup(func() { _ = v.Close() })
	return map[string]any{"w": w, "b": numbers(t, 2, 16), "v": v}
}

func onCPU(t testing.TB, m *ir.GraphModule, args ...any) [][]float32 {
	t.Helper()
	out, err := interpreter.New(m).Run(t.Context(), args...)
	require.NoError(t, err)
	return results(t, out)
}

// results are the elements of a tuple's tensors, which it closes.
func results(t testing.TB, out any) (all [][]float32) {
	t.Helper()
	for _, v := range out.(ir.PyTuple) {
		all = append(all, elements(t, v))
		require.NoError(t, v.(*torch.Tensor).Close())
	}
	return all
}

func TestAPlanOnADeviceComputesWhatTheCPUDoes(t *testing.T) {
	d := Open(t)
	m := network(t)
	for name, opts := range map[string][]interpreter.PlanOption{
		"results on the device": nil,
		"results on the host":   {interpreter.PlanHostResults()},
		"captured":              {interpreter.PlanHostResults(), interpreter.PlanCaptures(4)},
		"captured, on device":   {interpreter.PlanCaptures(4)},
	} {
		t.Run(name, func(t *testing.T) {
			p := compile(t, m, append(opts, interpreter.PlanDevice(d.Device))...)
			for run := range 12 {
				rows := 1 + run%2
				x, y := numbers(t, uint64(10+run), rows, 16), numbers(t, uint64(90+run), rows, 16)
				want := onCPU(t, m, x, y)
				out, err := p.Run(t.Context(), x, y)
				require.NoError(t, err)
				for _, v := range out.(ir.PyTuple) {
					on := d.Device
					if name == "results on the host" || name == "captured" {
						on = ir.Device{}
					}
					require.Equal(t, on, v.(*torch.Tensor).Device(), "run %d", run)
				}
				got := results(t, out)
				for i := range want {
					near(t, d, want[i], got[i])
				}
			}
		})
	}
}

// A stream must not see what another has not finished, and memory of one run must not
// be handed to another: many goroutines, arguments from both sides, and results that
// go into the next run.
func TestRunsOfManyGoroutinesDoNotMeet(t *testing.T) {
	d := Open(t)
	m := network(t)
	for _, captures := range []int{0, 2} {
		t.Run(fmt.Sprintf("%d captures", captures), func(t *testing.T) {
			p := compile(t, m, interpreter.PlanDevice(d.Device), interpreter.PlanCaptures(captures))
			type pair struct {
				x, y *torch.Tensor
				want [][]float32
			}
			var cases []pair
			for i := range 8 {
				c := pair{x: numbers(t, uint64(i), 1+i%4, 16), y: numbers(t, uint64(50+i), 1+i%4, 16)}
				c.want = onCPU(t, m, c.x, c.y)
				// twice: what comes out as the first result goes in as x
				first, err := interpreter.New(m).Run(t.Context(), c.x, c.y)
				require.NoError(t, err)
				second, err := interpreter.New(m).Run(t.Context(), first.(ir.PyTuple)[0], c.y)
				require.NoError(t, err)
				results(t, first)
				c.want = results(t, second)
				cases = append(cases, c)
			}
			var wg sync.WaitGroup
			errs := make(chan error, 16)
			got := make([][][]float32, 16*12)
			for g := range 16 {
				wg.Add(1)
				go func() {
					defer wg.Done()
					for run := range 12 {
						c := cases[(g+run)%len(cases)]
						first, err := p.Run(context.Background(), c.x, c.y)
						if err != nil {
							errs <- err
							return
						}
						second, err := p.Run(context.Background(), first.(ir.PyTuple)[0], c.y)
						for _, v := range first.(ir.PyTuple) {
							_ = v.(*torch.Tensor).Close()
						}
						if err != nil {
							errs <- err
							return
						}
						for _, v := range second.(ir.PyTuple) {
							data, err := torch.Data[float32](v.(*torch.Tensor))
							if err != nil {
								errs <- err
								return
							}
							got[g*12+run] = append(got[g*12+run], data)
							_ = v.(*torch.Tensor).Close()
						}
					}
				}()
			}
			wg.Wait()
			close(errs)
			for err := range errs {
				require.NoError(t, err)
			}
			for g := range 16 {
				for run := range 12 {
					for i, want := range cases[(g+run)%len(cases)].want {
						near(t, d, want, got[g*12+run][i])
					}
				}
			}
		})
	}
}

func TestARunWaitsForTheDeviceOnce(t *testing.T) {
	d := Open(t)
	m := network(t)
	x, y := numbers(t, 1, 4, 16), numbers(t, 2, 4, 16)
	for _, captures := range []int{0, 1} {
		p := compile(t, m, interpreter.PlanDevice(d.Device), interpreter.PlanHostResults(), interpreter.PlanCaptures(captures))
		require.NoError(t, p.Warmup(t.Context(), x, y))
		before := d.Counts(t)
		out, err := p.Run(t.Context(), x, y)
		require.NoError(t, err)
		did := d.Counts(t).Since(before)
		results(t, out)
		assert.Equal(t, int64(1), did.EventWaits, "waits for the end")
		assert.Zero(t, did.StreamWaits)
		assert.Zero(t, did.Reads)
		assert.Zero(t, did.Plain, "copies that the host waits for")
		assert.Equal(t, int64(4), did.Pinned, "two arguments in, two results out")
		assert.Equal(t, int64(captures), did.Replays)
	}
}

func TestMemoryOfADeviceIsFlat(t *testing.T) {
	d := Open(t)
	m := network(t)
	used := func() int64 {
		mem, err := libtorch.MemoryOf(d.Device)
		require.NoError(t, err)
		return mem.Allocated
	}
	// libraries of a GPU keep what they need of memory for each stream, once they were used
	before, err := interpreter.Compile(m, interpreter.PlanDevice(d.Device), interpreter.PlanCaptures(2))
	require.NoError(t, err)
	require.NoError(t, before.Warmup(t.Context(), numbers(t, 1, 5, 16), numbers(t, 2, 5, 16)))
	require.NoError(t, before.Close())
	start := used()
	p, err := interpreter.Compile(m, interpreter.PlanDevice(d.Device), interpreter.PlanCaptures(2))
	require.NoError(t, err)
	run := func(n int) {
		for i := range n {
			rows := 1 + i%5
			out, err := p.Run(t.Context(), numbers(t, 1, rows, 16), numbers(t, 2, rows, 16))
			require.NoError(t, err)
			results(t, out)
		}
	}
	run(60)
	warm := used()
	run(200)
	assert.Equal(t, warm, used(), "bytes after 260 runs")
	require.NoError(t, p.Close())
	assert.Equal(t, start, used(), "bytes after Close")
}

// Between runs a plan holds nothing of its callers' arguments, on the host or the device.
func TestAPlanKeepsNoArguments(t *testing.T) {
	d := Open(t)
	m := parse(t, "def forward(self, x):\n    relu = torch.relu(x)\n    return relu\n", nil)
	p := compile(t, m, interpreter.PlanDevice(d.Device))
	x := numbers(t, 1, 1<<16)
	mem := func() int64 {
		out, err := p.Run(t.Context(), x)
		require.NoError(t, err)
		require.NoError(t, out.(*torch.Tensor).Close())
		m, err := libtorch.MemoryOf(d.Device)
		require.NoError(t, err)
		return m.Allocated
	}
	empty, err := libtorch.MemoryOf(d.Device)
	require.NoError(t, err)
	for range 3 {
		assert.Less(t, mem()-empty.Allocated, int64(1<<16), "bytes after a run, of 262144 in and as many out")
	}
}

func TestArgumentsAreWrittenBack(t *testing.T) {
	d := Open(t)
	m := parse(t, `def forward(self, x):
    add_ = x.add_(1)
    mul = add_ * 2
    return mul
`, nil)
	p := compile(t, m, interpreter.PlanDevice(d.Device), interpreter.PlanHostResults(), interpreter.PlanCaptures(1))
	for run := range 6 {
		x := numbers(t, uint64(run), 5)
		before := elements(t, x)
		out, err := p.Run(t.Context(), x)
		require.NoError(t, err)
		for i, v := range elements(t, x) {
			assert.Equal(t, before[i]+1, v)
			assert.Equal(t, 2*v, elements(t, out)[i])
		}
		_ = out.(*torch.Tensor).Close()
	}
	if d.Graphs {
		classes, _, err := p.Captures(t.Context())
		require.NoError(t, err)
		require.NotEmpty(t, classes)
		assert.Equal(t, "it writes into an argument", classes[0].Why)
	}
}

// A buffer that a program writes is the plan's own, and a replay writes it once.
func TestBuffersLiveOnTheDevice(t *testing.T) {
	d := Open(t)
	for _, captures := range []int{0, 1} {
		n := numbers(t, 3, 1)
		start := elements(t, n)[0]
		m := parse(t, `def forward(self, x):
    n = self.n
    add_ = n.add_(1)
    mul = x * n
    return mul
`, map[string]any{"n": n})
		p := compile(t, m, interpreter.PlanDevice(d.Device), interpreter.PlanHostResults(), interpreter.PlanCaptures(captures))
		x, err := torch.From([]float32{1}, 1)
		require.NoError(t, err)
		require.NoError(t, libtorch.OnEachWorker(t.Context(), d.Device, func(*libtorch.DeviceWorker) error { return nil }))
		for run := range 8 {
			out, err := p.Run(t.Context(), x)
			require.NoError(t, err)
			want := start
			for range run + 1 {
				want++
			}
			assert.Equal(t, []float32{want}, elements(t, out), "run %d of %d captures", run, captures)
			_ = out.(*torch.Tensor).Close()
		}
		assert.Equal(t, []float32{start}, elements(t, n), "the module's own")
		_ = x.Close()
	}
}

func TestCapturesAreBoundedAndSayWhyNot(t *testing.T) {
	d := Open(t)
	d.NeedGraphs(t)
	p := compile(t, network(t), interpreter.PlanDevice(d.Device), interpreter.PlanCaptures(2))
	for _, rows := range []int{1, 2, 3} {
		require.NoError(t, p.Warmup(t.Context(), numbers(t, 1, rows, 16), numbers(t, 2, rows, 16)))
	}
	classes, why, err := p.Captures(t.Context())
	require.NoError(t, err)
	assert.Empty(t, why)
	states := map[libtorch.GraphState]int{}
	for _, c := range classes {
		states[c.State]++
	}
	assert.Equal(t, map[libtorch.GraphState]int{libtorch.GraphCaptured: 2 * Workers, libtorch.GraphWarming: Workers}, states)

	tests := []struct {
		name, code string
		attrs      map[string]any
		host       bool
		plan, why  string
	}{
		{name: "reads an element", code: "    amax = x.amax()\n    item = torch.ops.aten._local_scalar_dense.default(amax)\n    add = x + item\n    return add\n",
			plan: "step item: aten::_local_scalar_dense reads elements"},
		{name: "size depends on elements", code: "    nonzero = torch.ops.aten.nonzero.default(x)\n    return nonzero\n", plan: "step nonzero: aten::nonzero has a result whose size depends on elements"},
		{name: "waits inside of an operator", code: "    gt = torch.ops.aten.gt.Scalar(x, 0)\n    index = torch.ops.aten.index.Tensor(x, [gt])\n    return index\n",
			why: "its capture failed: "},
		{name: "is done by Go", code: "    nonzero = torch.nonzero(x)\n    return nonzero\n", plan: "step nonzero is done by Go"},
		{name: "a result is an argument", code: "    view = x.view(-1)\n    return view\n", why: "a result shares memory with another, an argument or a constant"},
		{name: "the same, copied", code: "    view = x.view(-1)\n    return view\n", host: true},
		{name: "a result is a weight", code: "    w = self.w\n    t = w.t()\n    add = x + 1\n    return (t, add)\n", attrs: map[string]any{"w": numbers(t, 1, 2, 3)},
			why: "a result shares memory with another, an argument or a constant"},
		{name: "a result is not dense", code: "    add = x + 1\n    expand = add.expand(4, 3)\n    return expand\n", why: "a result is not dense"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			m := parse(t, "def forward(self, x):\n"+tc.code, tc.attrs)
			opts := []interpreter.PlanOption{interpreter.PlanDevice(d.Device), interpreter.PlanCaptures(2)}
			if tc.host {
				opts = append(opts, interpreter.PlanHostResults())
			}
			p := compile(t, m, opts...)
			x := numbers(t, 1, 1, 3)
			want, err := interpreter.New(m).Run(t.Context(), x)
			require.NoError(t, err)
			for range 6 {
				out, err := p.Run(t.Context(), x)
				require.NoError(t, err)
				assert.Equal(t, fmt.Sprint(values(t, want)), fmt.Sprint(values(t, out)))
			}
			classes, why, err := p.Captures(t.Context())
			require.NoError(t, err)
			assert.Equal(t, tc.plan, why)
			if tc.plan == "" {
				require.NotEmpty(t, classes)
				assert.Contains(t, classes[0].Why, tc.why)
				assert.Equal(t, tc.why == "", classes[0].Why == "")
				assert.Equal(t, tc.why == "", classes[0].State == libtorch.GraphCaptured)
			}
		})
	}
}

// values are the tensors of a result on the CPU.
func values(t testing.TB, v any) (all []any) {
	t.Helper()
	switch v := v.(type) {
	case ir.PyTuple:
		for _, item := range v {
			all = append(all, values(t, item)...)
		}
	case *torch.Tensor:
		b, err := v.Bytes()
		require.NoError(t, err)
		return []any{v.Shape(), b}
	default:
		return []any{v}
	}
	return all
}

func TestAFailedRunLeavesTheDeviceUsable(t *testing.T) {
	d := Open(t)
	m := parse(t, `def forward(self, x, y):
    relu = torch.relu(x)
    mm = torch.mm(relu, y)
    return mm
`, nil)
	p := compile(t, m, interpreter.PlanDevice(d.Device), interpreter.PlanHostResults(), interpreter.PlanCaptures(1))
	good, bad := numbers(t, 1, 3, 3), numbers(t, 2, 2, 3)
	want, err := interpreter.New(m).Run(t.Context(), good, good)
	require.NoError(t, err)
	for range 6 {
		_, err := p.Run(t.Context(), good, bad)
		require.ErrorContains(t, err, "mm")
		out, err := p.Run(t.Context(), good, good)
		require.NoError(t, err)
		near(t, d, elements(t, want), elements(t, out))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = p.Run(ctx, good, good)
	require.ErrorIs(t, err, ir.ErrCancelled)
}
