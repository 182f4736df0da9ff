//go:build gotorch

package gotorch_test

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	gt "github.com/wangkuiyi/gotorch"
	gnn "github.com/wangkuiyi/gotorch/nn"
	F "github.com/wangkuiyi/gotorch/nn/functional"
	"github.com/wangkuiyi/gotorch/vision/models"

	"github.com/torchfx-go/torchfx/gotorch"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
	"github.com/torchfx-go/torchfx/tracer"
)

// convNet has a branch, writes in place, and a batch norm that can be folded.
type convNet struct {
	gnn.Module
	Conv *gnn.Conv2dModule
	Norm *gnn.BatchNorm2dModule
	Up   *gnn.ConvTranspose2dModule
	Gain gt.Tensor
}

func newConvNet() *convNet {
	m := &convNet{
		Conv: gnn.Conv2d(3, 4, 3, 1, 1, 1, 1, true, "zeros"),
		Norm: gnn.BatchNorm2d(4, 1e-5, 0.1, true, true),
		Up:   gnn.ConvTranspose2d(4, 2, 2, 2, 0, 0, 1, true, 1, "zeros"),
		Gain: gt.RandN([]int64{1}, true),
	}
	m.Init(m)
	m.Train(false)
	return m
}

func (m *convNet) Forward(x gt.Tensor) gt.Tensor {
	x = F.Relu(m.Norm.Forward(m.Conv.Forward(x)), true)
	return gt.Mul(m.Up.Forward(x), m.Gain)
}

// twoWays has several inputs and results.
type twoWays struct {
	gnn.Module
	Linear *gnn.LinearModule
}

func (m *twoWays) Forward(x, y gt.Tensor, all []gt.Tensor, alpha float32) (gt.Tensor, []gt.Tensor) {
	sum := gt.Add(m.Linear.Forward(x), y, alpha)
	return sum, []gt.Tensor{gt.Stack(all, 0), x}
}

func eval[M gnn.IModule](m M) M {
	m.Train(false)
	return m
}

func TestTracedComputesTheSame(t *testing.T) {
	tests := []struct {
		name   string
		module interface {
			gnn.IModule
			Forward(gt.Tensor) gt.Tensor
		}
		shape   []torch.Int
		targets []string // of a small one
		leaves  []string
	}{
		{"linear", gnn.Linear(4, 3, true), sizes(2, 4), []string{"aten.t.default", "aten.addmm.default"}, []string{"aten.t.default", "aten.addmm.default"}},
		{"linear of three dimensions, no bias", gnn.Linear(4, 3, false), sizes(2, 5, 4), []string{"aten.t.default", "aten.matmul.default"},
			nil},
		{"sequential", single{gnn.Sequential(gnn.Linear(4, 8, true), gnn.Functional(gt.Tanh), gnn.Linear(8, 2, true))}, sizes(2, 4),
			[]string{"aten.t.default", "aten.addmm.default", "aten.tanh.default", "aten.t.default", "aten.addmm.default"}, nil},
		{"convolutions", newConvNet(), sizes(2, 3, 8, 8), []string{"aten.conv2d.default", "aten.batch_norm.default", "aten.relu_.default", "aten.conv_transpose2d.input", "aten.mul.Tensor"}, nil},
		{"mnist", models.MLP(), sizes(5, 1, 28, 28), []string{"aten.view.default", "aten.t.default", "aten.addmm.default", "aten.tanh.default",
			"aten.t.default", "aten.addmm.default", "aten.tanh.default", "aten.t.default", "aten.addmm.default", "aten.log_softmax.int"}, nil},
		{"resnet18", eval(models.Resnet18()), sizes(1, 3, 64, 64), nil, nil},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			x := torch.Randn(tc.shape...)
			want := forward(t, tc.module, x)
			defer want.Close()
			gm, err := gotorch.Trace(tc.module, x)
			require.NoError(t, err)
			require.NoError(t, gm.Graph().Lint())
			if tc.targets != nil {
				assert.Equal(t, tc.targets, targets(gm))
			}
			same(t, want, run(t, gm, x))

			gm, err = gotorch.TraceBy(tracer.Recording{Leaf: true, Functional: true}, tc.module, x)
			require.NoError(t, err)
			if tc.leaves != nil {
				assert.Equal(t, tc.leaves, targets(gm))
			}
			same(t, want, run(t, gm, x))
		})
	}
}

func sizes(n ...int) []torch.Int {
	all := make([]torch.Int, len(n))
	for i, v := range n {
		all[i] = v
	}
	return all
}

func TestStructuredInputsAndResults(t *testing.T) {
	m := &twoWays{Linear: gnn.Linear(3, 3, true)}
	m.Init(m)
	x, y := torch.Randn(2, 3), torch.Randn(2, 3)
	all := []*torch.Tensor{torch.Randn(2, 3), torch.Randn(2, 3)}
	gm, err := gotorch.Trace(m, x, y, all, float32(2))
	require.NoError(t, err)
	assert.Equal(t, "twoWays", gm.ClassName())
	assert.Equal(t, []string{"aten.t.default", "aten.addmm.default", "aten.add.Tensor", "aten.stack.default"}, targets(gm))

	u, v := torch.Randn(2, 3), torch.Randn(2, 3)
	out, err := interpreter.New(gm).Run(context.Background(), u, v, []any{v, u}, 2.0)
	require.NoError(t, err)
	both := out.(ir.PyTuple)
	list := both[1].([]any)
	sum := forward(t, gnn.Functional(func(x gt.Tensor) gt.Tensor {
		y, err := gotorch.ToGotorch(v)
		require.NoError(t, err)
		return gt.Add(m.Linear.Forward(x), y, 2)
	}), u)
	same(t, sum, both[0].(*torch.Tensor))
	stacked, err := torch.Call("aten::stack", []*torch.Tensor{v, u})
	require.NoError(t, err)
	same(t, stacked.(*torch.Tensor), list[0].(*torch.Tensor))
	same(t, u, list[1].(*torch.Tensor))
}

// Sizes that come to libtorch through gotorch's own arithmetic stay symbols too.
func TestDynamicBatch(t *testing.T) {
	m := models.MLP()
	gm, err := gotorch.TraceBy(tracer.Recording{Names: []string{"image"}, Dynamic: []tracer.Dim{{Symbol: "batch"}}}, m, torch.Randn(2, 1, 28, 28))
	require.NoError(t, err)
	for _, n := range []int{1, 3, 7} {
		x := torch.Randn(n, 1, 28, 28)
		same(t, forward(t, m, x), run(t, gm, x))
	}
}

// The graph's attributes are the module's tensors: their names, memory and flags.
func TestAttributesAreTheModules(t *testing.T) {
	m := newConvNet()
	gm, err := gotorch.Trace(m, torch.Randn(1, 3, 4, 4))
	require.NoError(t, err)
	attrs := maps.Collect(gm.Attrs())
	assert.Equal(t, []string{"conv.bias", "conv.weight", "gain", "norm.bias", "norm.running_mean", "norm.running_var", "norm.weight", "up.bias", "up.weight"},
		slices.Sorted(maps.Keys(attrs)))
	gain := attrs["gain"].(*torch.Tensor)
	assert.True(t, gain.RequiresGrad(), "a parameter")
	assert.False(t, attrs["norm.running_mean"].(*torch.Tensor).RequiresGrad(), "a buffer")
	before := data(t, gain)[0]
	require.NoError(t, gotorch.Do(func() { m.Gain.SetData(gt.Full([]int64{1}, before+1, false)) }))
	assert.Equal(t, before+1, data(t, gain)[0], "training goes on in the graph")
}

func TestTensorsWithoutNamesAreConstants(t *testing.T) {
	shift := gt.Full([]int64{3}, 2, false)
	m := gnn.Functional(func(x gt.Tensor) gt.Tensor { return gt.Add(x, shift, 1) })
	x := torch.Randn(2, 3)
	gm, err := gotorch.Trace(m, x)
	require.NoError(t, err)
	_, ok := gm.Attr("_tensor_constant0")
	assert.True(t, ok)
	same(t, forward(t, m, x), run(t, gm, x))
}

type noForward struct{ gnn.Module }

func TestTraceFails(t *testing.T) {
	odd := &noForward{}
	odd.Init(odd)
	linear := gnn.Linear(4, 3, true)
	var none *gnn.LinearModule
	tests := []struct {
		name   string
		module gnn.IModule
		inputs []any
		class  error
		says   string
	}{
		{"nil", nil, nil, ir.ErrType, "expected a module, got none"},
		{"nil pointer", none, nil, ir.ErrType, "expected a module, got none"},
		{"not initialised", &convNet{}, nil, ir.ErrRuntime, "requires calling `Init` before using"},
		{"no forward", odd, nil, ir.ErrType, "expected a method Forward, found none"},
		{"too few inputs", linear, nil, ir.ErrType, "expected 1 inputs, which Forward takes, got 0"},
		{"too many inputs", linear, []any{torch.Randn(1), torch.Randn(1)}, ir.ErrType, "got 2"},
		{"another kind", linear, []any{3}, ir.ErrType, "expected a gotorch.Tensor, got a int"},
		{"shapes", linear, []any{torch.Randn(2, 5)}, ir.ErrRuntime, "mat1 and mat2 shapes cannot be multiplied (2x5 and 4x3)"},
		{"panic", gnn.Functional(func(x gt.Tensor) gt.Tensor { return []gt.Tensor{x}[x.Dim()] }), []any{torch.Randn(1)}, ir.ErrRuntime, "index out of range"},
		{"reading", gnn.Functional(func(x gt.Tensor) gt.Tensor { return gt.Full([]int64{1}, x.Item().(float32), false) }), []any{torch.Randn(1)}, ir.ErrRuntime, "item"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			_, err := gotorch.Trace(tc.module, tc.inputs...)
			require.ErrorIs(t, err, tc.class)
			require.ErrorContains(t, err, tc.says)
			require.NotContains(t, err.Error(), "frame #", "C++'s stack helps nobody")

			x := torch.Randn(2, 4) // nothing stays switched on
			gm, err := gotorch.Trace(linear, x)
			require.NoError(t, err)
			same(t, forward(t, linear, x), run(t, gm, x))
		})
	}
}

// A tensor that Go has dropped lives on while something of Do runs: C++ may be
// reading it.
func TestNothingIsFreedInside(t *testing.T) {
	released := make(chan struct{})
	drop := func() {
		x, err := torch.FromMemory(make([]byte, 32), torch.Float32, []int{8}, []int{1}, 0, func() { close(released) })
		require.NoError(t, err)
		_, err = gotorch.ToGotorch(x)
		require.NoError(t, err)
		require.NoError(t, x.Close())
	}
	collect := func() bool {
		for range 20 {
			runtime.GC()
			torch.Zeros(1).Close() // a call collects what libtorch has dropped
			select {
			case <-released:
				return true
			case <-time.After(5 * time.Millisecond):
			}
		}
		return false
	}
	require.NoError(t, gotorch.Do(func() {
		drop()
		assert.False(t, collect(), "freed inside")
	}))
	assert.True(t, collect(), "freed afterwards")
}

// Without what Do holds back this gives wrong numbers or a segmentation fault, now
// and then: a temporary is freed while C++ reads it.
func TestBusyCollector(t *testing.T) {
	const size = 256
	m := gnn.Functional(func(x gt.Tensor) gt.Tensor {
		for range 20 {
			x = gt.MM(gt.Tanh(x), gt.Sigmoid(x))
		}
		return x
	})
	x := torch.Randn(size, size)
	want := forward(t, m, x)
	stop := make(chan struct{})
	var collector, tracers sync.WaitGroup
	collector.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				runtime.GC()
			}
		}
	})
	for range 2 {
		tracers.Go(func() {
			for range 2 {
				gm, err := gotorch.Trace(m, x)
				if !assert.NoError(t, err) {
					return
				}
				assert.Len(t, targets(gm), 60)
				same(t, want, forward(t, m, x))
				same(t, want, run(t, gm, x))
			}
		})
	}
	tracers.Wait()
	close(stop)
	collector.Wait()
}

func TestManyAtOnce(t *testing.T) {
	const n = 100
	alone := make([]string, n)
	var wait sync.WaitGroup
	trace := func(i int) string {
		width := int64(1 + i)
		gm, err := gotorch.Trace(single{gnn.Sequential(gnn.Linear(4, width, true), gnn.Functional(gt.Relu), gnn.Linear(width, 2, i%2 == 0))}, torch.Randn(3, 4))
		if err != nil {
			return err.Error()
		}
		return fmt.Sprint(gm.Graph())
	}
	for i := range n {
		alone[i] = trace(i)
	}
	for i := range n {
		wait.Go(func() { assert.Equal(t, alone[i], trace(i)) })
	}
	wait.Wait()
}

func TestDoNests(t *testing.T) {
	var order []string
	require.NoError(t, gotorch.Do(func() {
		assert.ErrorContains(t, gotorch.Do(func() { order = append(order, "inner"); panic("broken") }), "gotorch: broken")
		order = append(order, "outer")
	}))
	assert.Equal(t, []string{"inner", "outer"}, order)
	freed := make(chan struct{})
	runtime.SetFinalizer(new([64]byte), func(*[64]byte) { close(freed) })
	waitFor(t, freed) // finalizers run again
}

// A batch norm in training writes its statistics, from the graph as from gotorch.
func TestTraining(t *testing.T) {
	m := gnn.BatchNorm2d(3, 1e-5, 0.1, true, true)
	x, y := torch.Randn(4, 3, 5, 5), torch.Randn(4, 3, 5, 5)
	gm, err := gotorch.Trace(m, x)
	require.NoError(t, err)
	state, err := gotorch.StateDict(m)
	require.NoError(t, err)
	snapshot := func() []float32 { return data(t, state["running_mean"]) }
	traced := snapshot()
	require.NotEqual(t, []float32{0, 0, 0}, traced, "the trace is a run")

	plan, err := interpreter.Compile(gm)
	require.NoError(t, err)
	defer plan.Close()
	out, err := plan.Run(context.Background(), y)
	require.NoError(t, err)
	after := snapshot()
	require.NoError(t, gotorch.Do(func() {
		m.RunningMean.SetData(gt.NewTensor(traced))
	}))
	same(t, forward(t, m, y), out.(*torch.Tensor))
	assert.Equal(t, after, snapshot())
}
