package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// soak runs one plan from 64 goroutines on 50 shapes, compares every result with
// what one goroutine got, and tells memory and threads over time.
func soak(runs int) error {
	const goroutines, shapes = 64, 50
	gm, err := soakGraph()
	if err != nil {
		return err
	}
	plan, err := interpreter.Compile(gm)
	if err != nil {
		return err
	}
	defer plan.Close()
	inputs, want := make([]any, shapes), make([][]byte, shapes)
	for n := range shapes {
		if inputs[n], err = uniform(64 * (n + 1)); err != nil {
			return err
		}
		if want[n], err = bytesOf(plan, inputs[n]); err != nil {
			return err
		}
	}
	status("before")
	const parts = 10
	for part := range parts {
		failed := make(chan error, goroutines)
		var wait sync.WaitGroup
		for k := range goroutines {
			wait.Go(func() {
				for r := range runs / parts / goroutines {
					n := (k*31 + r*17 + part) % shapes
					got, err := bytesOf(plan, inputs[n])
					if err == nil && !bytes.Equal(got, want[n]) {
						err = fmt.Errorf("shape %d: a result differs from that of one goroutine", n)
					}
					if err != nil {
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
			status(fmt.Sprintf("after %d runs", (part+1)*(runs/parts/goroutines)*goroutines))
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

func bytesOf(plan *interpreter.Plan, x any) ([]byte, error) {
	out, err := plan.Run(context.Background(), x)
	if err != nil {
		return nil, err
	}
	t := out.(*torch.Tensor)
	defer t.Close()
	return t.Bytes()
}

// status prints the resident memory and the threads of the process.
func status(when string) {
	data, _ := os.ReadFile("/proc/self/status")
	var facts []string
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, "VmRSS:") || strings.HasPrefix(line, "Threads:") {
			facts = append(facts, strings.Join(strings.Fields(line), " "))
		}
	}
	live, _ := torch.LiveTensors()
	fmt.Printf("%s: %s, %d live tensors\n", when, strings.Join(facts, ", "), live)
}
