package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/passes"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// soak runs plans from 64 goroutines on 50 shapes, a pointwise one on a thread and on two, and two frozen ones of
// a convolution, by libtorch's kernels and in a region of the delegate, and compares every
// result with what one goroutine got; the same again with every other run's context
// cancelled at any time; and ten times as many calls of an operator, whose handles are
// dropped. It tells memory and threads over time.
func soak(runs int) error {
	gm, err := soakGraph()
	if err != nil {
		return err
	}
	frozen, err := smallNetwork(passes.WithoutRewrites("delegate"))
	if err != nil {
		return err
	}
	defer frozen.Close()
	region, err := smallNetwork(passes.WithChoices(passes.Unmeasured()))
	if err != nil {
		return err
	}
	defer region.Close()
	if len(region.Report.Regions) == 0 {
		return fmt.Errorf("soak: expected a region of the delegate, which `torchfx setup` builds, got\n%s", region.Report)
	}
	images := func(n int) []int { return []int{1 + n%3, 16, 4 + n/3, 6} }
	vectors := func(n int) []int { return []int{64 * (n + 1)} }
	long := func(n int) []int { return []int{2048 * (n + 1)} } // most of them worth two threads
	for _, part := range []struct {
		name    string
		gm      *ir.GraphModule
		sizes   func(n int) []int
		threads int
	}{
		{"a pointwise plan", gm, vectors, 1},
		{"a pointwise plan on two threads", gm, long, 2},
		{"a frozen plan", frozen.Module, images, 1},
		{"a region of the delegate", region.Module, images, 1},
	} {
		for _, cancelled := range []bool{false, true} {
			name := part.name
			if cancelled {
				name = "the same, cancelled"
			}
			fmt.Printf("\n%s:\n", name)
			if err := soakPlan(part.gm, part.sizes, part.threads, runs, cancelled); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	fmt.Printf("\nan operator:\n")
	return soakCalls(10 * runs)
}

const soakers, soakParts = 64, 10

func soakPlan(gm *ir.GraphModule, sizes func(n int) []int, threads, runs int, cancelled bool) error {
	const shapes = 50
	plan, err := interpreter.Compile(gm, interpreter.WithThreads(threads))
	if err != nil {
		return err
	}
	defer plan.Close()
	inputs, want := make([]any, shapes), make([][]byte, shapes)
	for n := range shapes {
		if inputs[n], err = uniform(sizes(n)...); err != nil {
			return err
		}
		defer inputs[n].(*torch.Tensor).Close()
		if want[n], err = bytesOf(context.Background(), plan, inputs[n]); err != nil {
			return err
		}
	}
	var stopped atomic.Int64
	err = fromMany(runs, func(k, r, part int) error {
		n := (k*31 + r*17 + part) % shapes
		ctx := context.Background()
		if cancelled && r%2 == 1 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, time.Duration(rand.Int64N(int64(200*time.Microsecond))))
			defer cancel()
		}
		got, err := bytesOf(ctx, plan, inputs[n])
		switch {
		case errors.Is(err, ir.ErrCancelled) && ctx.Err() != nil:
			stopped.Add(1)
			return nil
		case err == nil && !bytes.Equal(got, want[n]):
			return fmt.Errorf("shape %d: a result differs from that of one goroutine", n)
		}
		return err
	})
	if cancelled {
		fmt.Printf("stopped: %d runs\n", stopped.Load())
	}
	return err
}

// soakCalls calls an operator, closes every other result and leaves the others to the
// collector.
func soakCalls(calls int) error {
	x, err := uniform(64)
	if err != nil {
		return err
	}
	defer x.(*torch.Tensor).Close()
	err = fromMany(calls, func(_, r, _ int) error {
		v, err := torch.Call("aten::add.Tensor", x, x)
		if err != nil || r%2 == 1 {
			return err
		}
		return v.(*torch.Tensor).Close()
	})
	for range 3 {
		runtime.GC()
		time.Sleep(100 * time.Millisecond) // cleanups run beside
	}
	status("after the collector")
	libtorch.TrimMemory()
	status("without what C's allocator keeps for the next call")
	return err
}

// fromMany calls do so often from all goroutines, in parts with a word after each.
func fromMany(times int, do func(goroutine, round, part int) error) error {
	status("before")
	for part := range soakParts {
		first, end := times*part/soakParts, times*(part+1)/soakParts
		failed := make(chan error, soakers)
		var wait sync.WaitGroup
		for k := range soakers {
			wait.Go(func() {
				for r := range (end - first + soakers - 1 - k) / soakers {
					if err := do(k, r, part); err != nil {
						failed <- err
						return
					}
				}
			})
		}
		wait.Wait()
		select {
		case err := <-failed:
			return err
		default:
			status(fmt.Sprintf("after %d", end))
		}
	}
	return nil
}

// soakGraph is sigmoid(x + 1) * tanh(x + 1) - its sum.
func soakGraph() (*ir.GraphModule, error) {
	g := ir.NewGraph()
	call := func(name string, args ...ir.Arg) *ir.Node { return g.CallFunction(ir.FuncOf("torch."+name), args) }
	a := call("add", g.Placeholder("x"), ir.Int(1))
	b := call("mul", call("sigmoid", a), call("tanh", a))
	g.Output(call("sub", b, call("sum", b)))
	return ir.NewGraphModule(nil, g)
}

func bytesOf(ctx context.Context, plan *interpreter.Plan, x any) ([]byte, error) {
	out, err := plan.Run(ctx, x)
	if err != nil {
		return nil, err
	}
	t := out.(*torch.Tensor)
	defer t.Close()
	return t.Bytes()
}

// status prints the resident memory, Go's part of it, and the threads of the process.
func status(when string) {
	data, _ := os.ReadFile("/proc/self/status")
	var facts []string
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, "VmRSS:") || strings.HasPrefix(line, "Threads:") {
			facts = append(facts, strings.Join(strings.Fields(line), " "))
		}
	}
	live, _ := torch.LiveTensors()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	fmt.Printf("%s: %s (%d of Go's), %.1f MB of Go's heap in use, %d live tensors\n", when, strings.Join(facts, ", "), pprof.Lookup("threadcreate").Count(), mb(int64(m.HeapInuse)), live)
}
