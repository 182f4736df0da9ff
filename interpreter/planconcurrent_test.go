package interpreter_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

func TestCancelledPlan(t *testing.T) {
	needLibtorch(t)
	p := compile(t, chainOf(t, 2, addOne))
	x := tensor(t, []float32{1}, 1)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := p.Run(over, x)
	require.ErrorIs(t, err, ir.ErrCancelled)
	require.ErrorIs(t, err, context.Canceled)

	forever := subgraph(t, func(g *ir.Graph, i, _ *ir.Node) ir.Arg {
		return ir.TupleOf(g.CallFunction(ir.OverloadOf("aten::gt.Scalar"), []ir.Arg{i, ir.Int(0)}))
	})
	body := subgraph(t, func(g *ir.Graph, i, x *ir.Node) ir.Arg {
		return ir.TupleOf(g.CallFunction(addTT, []ir.Arg{i, ir.Int(1)}), x)
	})
	g := ir.NewGraph()
	i, y := g.Placeholder("i"), g.Placeholder("x")
	g.Output(g.CallFunction(higherOrder("while_loop"), []ir.Arg{g.GetAttr("test"), g.GetAttr("body"), ir.ListOf(i, y), ir.ListOf()}))
	loop := compile(t, module(t, g, map[string]any{"test": forever, "body": body}))
	one := tensor(t, []float32{1})
	for range 3 {
		leavesNothing(t, func() any {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			defer cancel()
			_, err := loop.Run(ctx, one, x)
			assert.ErrorIs(t, err, context.DeadlineExceeded)
			return nil
		})
	}
}

// A plan under many goroutines and shapes gives what one goroutine gets, and
// leaves nothing.
func TestPlanOfManyGoroutines(t *testing.T) {
	needLibtorch(t)
	g := ir.NewGraph()
	x := g.Placeholder("x")
	a := g.CallFunction(ir.FuncOf("torch.tanh"), []ir.Arg{g.CallFunction(addTT, []ir.Arg{x, ir.Int(1)})})
	b := g.CallFunction(mulTT, []ir.Arg{a, g.CallFunction(ir.FuncOf("torch.sigmoid"), []ir.Arg{a})})
	whole := g.CallFunction(ir.FuncOf("torch.sum"), []ir.Arg{b})
	g.Output(ir.TupleOf(g.CallFunction(ir.OverloadOf("aten::sub.Tensor"), []ir.Arg{b, whole}), whole))
	gm := module(t, g, nil)
	p := compile(t, gm)
	const shapes, goroutines, runs = 50, 64, 100
	var inputs []*torch.Tensor
	var want [][]byte
	for n := range shapes {
		data := make([]float32, 16*(n+1))
		for i := range data {
			data[i] = float32(i%7) - 3
		}
		in := tensor(t, data, len(data))
		inputs = append(inputs, in)
		out, err := p.Run(t.Context(), in)
		require.NoError(t, err)
		bytes, err := out.(ir.PyTuple)[0].(*torch.Tensor).Bytes()
		require.NoError(t, err)
		want = append(want, bytes)
		closeResult(out)
	}
	leavesNothing(t, func() any {
		var wait sync.WaitGroup
		failures := make(chan error, goroutines)
		for k := range goroutines {
			wait.Go(func() {
				for r := range runs {
					n := (k*31 + r*17) % shapes
					out, err := p.Run(t.Context(), inputs[n])
					if err != nil {
						failures <- err
						return
					}
					bytes, err := out.(ir.PyTuple)[0].(*torch.Tensor).Bytes()
					closeResult(out)
					if err != nil || string(bytes) != string(want[n]) {
						failures <- fmt.Errorf("shape %d: expected what one goroutine gets (%w)", n, err)
						return
					}
				}
			})
		}
		wait.Wait()
		close(failures)
		for err := range failures {
			assert.NoError(t, err)
		}
		return nil
	})
}

func TestClosedPlan(t *testing.T) {
	needLibtorch(t)
	p, err := interpreter.Compile(polynomial(t))
	require.NoError(t, err)
	out, err := p.Run(t.Context(), int64(1), int64(2))
	require.NoError(t, err)
	assert.Equal(t, int64(4), out)
	require.NoError(t, p.Close())
	require.NoError(t, p.Close())
	_, err = p.Run(t.Context(), int64(1), int64(2))
	require.ErrorIs(t, err, ir.ErrClosed)
	_, err = p.Dump()
	require.ErrorIs(t, err, ir.ErrClosed)
}

// A plan that is closed while others run it finishes what has begun, and refuses the
// rest.
func TestPlanIsClosedDuringRuns(t *testing.T) {
	needLibtorch(t)
	g := ir.NewGraph()
	x := g.Placeholder("x")
	for range 20 {
		x = g.CallFunction(ir.OverloadOf("aten::cumsum"), []ir.Arg{g.CallFunction(fn("torch.tanh"), []ir.Arg{x}), ir.Int(0)})
	}
	g.Output(x)
	gm := module(t, g, nil)
	in := tensor(t, []float32{0.5, -1, 2, 0.25}, 4)
	want, err := interpreter.New(gm).Run(t.Context(), in)
	require.NoError(t, err)
	defer closeResult(want)
	leavesNothing(t, func() any {
		var refused atomic.Int64
		for round := range 20 {
			p, err := interpreter.Compile(gm)
			require.NoError(t, err)
			var wait sync.WaitGroup
			begun := make(chan struct{}, 16)
			for range 8 {
				wait.Go(func() {
					for run := 0; ; run++ {
						out, err := p.Run(t.Context(), in)
						if errors.Is(err, ir.ErrClosed) {
							refused.Add(1)
							return
						}
						if !assert.NoError(t, err) {
							begun <- struct{}{}
							return
						}
						a, _ := want.(*torch.Tensor).Bytes()
						b, _ := out.(*torch.Tensor).Bytes()
						closeResult(out)
						assert.Equal(t, a, b)
						if run == round%3 {
							begun <- struct{}{}
						}
					}
				})
			}
			<-begun
			assert.NoError(t, p.Close())
			wait.Wait()
		}
		assert.EqualValues(t, 20*8, refused.Load())
		return nil
	})
}

// No more runs of a plan go on at once than it has workers; others wait, as long as
// their contexts let them.
func TestPlanWorkers(t *testing.T) {
	needLibtorch(t)
	entered, leave := make(chan struct{}, 8), make(chan struct{})
	gate := torch.Wrap("planworkers_gate", func(x *torch.Tensor) *torch.Tensor {
		entered <- struct{}{}
		<-leave
		return x
	})
	_ = gate
	g := ir.NewGraph()
	g.Output(g.CallFunction(ir.FuncOf("planworkers_gate"), []ir.Arg{g.Placeholder("x")}))
	p := compile(t, module(t, g, nil), interpreter.WithWorkers(2))
	x := tensor(t, []float32{1}, 1)
	done := make(chan error)
	run := func(ctx context.Context) {
		out, err := p.Run(ctx, x)
		closeResult(out)
		done <- err
	}
	for range 3 {
		go run(t.Context())
	}
	<-entered
	<-entered
	ctx, cancel := context.WithCancel(t.Context())
	go run(ctx)
	cancel()
	require.ErrorIs(t, <-done, ir.ErrCancelled)
	assert.Empty(t, entered, "two are in it, the others wait")
	close(leave)
	for range 3 {
		require.NoError(t, <-done)
	}
}

// Runs of 64 goroutines, some of which are cancelled before they begin or meanwhile and
// some of which fail, leave the others alone, and neither tensors nor goroutines behind.
func TestPlanOfManyGoroutinesThatFail(t *testing.T) {
	needLibtorch(t)
	gm := chainOf(t, 20, func(g *ir.Graph, v *ir.Node, _ int) *ir.Node {
		return g.CallFunction(ir.OverloadOf("aten::cumsum"), []ir.Arg{g.CallFunction(fn("torch.tanh"), []ir.Arg{v}), ir.Int(1)})
	})
	p := compile(t, gm, interpreter.WithWorkers(3))
	in, bad := called(t, "aten::ones", []int64{4, 5000}), called(t, "aten::ones", []int64{4})
	first, err := p.Run(t.Context(), in)
	require.NoError(t, err)
	want, err := first.(*torch.Tensor).Bytes()
	require.NoError(t, err)
	closeResult(first)
	goroutines := runtime.NumGoroutine()
	var stopped atomic.Int64
	leavesNothing(t, func() any {
		var wait sync.WaitGroup
		for k := range 64 {
			wait.Go(func() {
				for r := range 8 {
					ctx, cancel := context.WithCancel(context.Background())
					switch (k + r) % 4 {
					case 0:
						cancel()
					case 1:
						time.AfterFunc(time.Duration(r+1)*200*time.Microsecond, cancel)
					}
					x := in
					if (k+r)%7 == 0 {
						x = bad
					}
					out, err := p.Run(ctx, x)
					switch {
					case errors.Is(err, ir.ErrCancelled):
						stopped.Add(1)
					case x == bad:
						assert.ErrorIs(t, err, ir.ErrIndex)
					case assert.NoError(t, err):
						got, _ := out.(*torch.Tensor).Bytes()
						assert.True(t, slices.Equal(want, got), "bits differ")
						closeResult(out)
					}
					cancel()
				}
			})
		}
		wait.Wait()
		return nil
	})
	assert.Positive(t, stopped.Load())
	for range 100 { // timers' functions end
		if runtime.NumGoroutine() <= goroutines {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	assert.LessOrEqual(t, runtime.NumGoroutine(), goroutines)
}
