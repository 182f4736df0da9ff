package main

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// elementSizes are from what the first caches hold to what none does.
var elementSizes = []int{1 << 14, 1 << 16, 1 << 20, 1 << 22}

// An elementwise is a pointwise operator with the function that it rounds, nil for one
// that rounds nothing.
type elementwise struct {
	name  string
	exact func(float64) float64
}

var elementwises = []elementwise{
	{"tanh", math.Tanh},
	{"exp", math.Exp},
	{"sigmoid", func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }},
	{"neg", nil},
}

// measureElements is the table of what one pointwise operator takes an element: of
// eager code into a tensor that is there, which tells what of it is arithmetic that nothing
// that moves data less makes faster, and in a Plan, whose result is new.
func measureElements(rounds int, spelled string) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s; `%s`; nanoseconds of CPU time an element, one thread, least of %d turns; float32 arguments between 0.5 and 1, of all those there are, whose result is not the nearest number.\n\n|", machineNow(), spelled, rounds)
	for _, n := range elementSizes {
		fmt.Fprintf(&b, " | %d", n)
	}
	for _, n := range elementSizes {
		fmt.Fprintf(&b, " | %d, Plan", n)
	}
	fmt.Fprintf(&b, " | not the nearest |\n|%s\n", strings.Repeat("---|", 2*len(elementSizes)+2))
	for _, e := range elementwises {
		fmt.Fprintf(&b, "| %s |", e.name)
		for _, measure := range []func(int, int) (float64, error){e.eager, e.planned} {
			for _, n := range elementSizes {
				least, err := measure(n, rounds)
				if err != nil {
					return "", err
				}
				fmt.Fprintf(&b, " %.2f |", least)
			}
		}
		off, err := e.notNearest()
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, " %s |\n", off)
	}
	return b.String(), nil
}

// eager is the nanoseconds an element of eager code on n of them.
func (e elementwise) eager(n, rounds int) (float64, error) {
	out, err := uniform(n)
	if err != nil {
		return 0, err
	}
	return leastOf(n, rounds, func(x any) (any, error) {
		return torch.Call("aten::"+e.name+".out", x, torch.Kw("out", out))
	})
}

// planned is that of a Plan.
func (e elementwise) planned(n, rounds int) (float64, error) {
	g := ir.NewGraph()
	g.Output(g.CallFunction(ir.FuncOf("torch."+e.name), []ir.Arg{g.Placeholder("x")}))
	gm, err := ir.NewGraphModule(nil, g)
	if err != nil {
		return 0, err
	}
	plan, err := interpreter.Compile(gm)
	if err != nil {
		return 0, err
	}
	defer plan.Close()
	return leastOf(n, rounds, func(x any) (any, error) { return plan.Run(context.Background(), x) })
}

// leastOf is the nanoseconds an element that f takes on n of them, the least of some turns,
// each of some four million elements.
func leastOf(n, rounds int, f func(x any) (any, error)) (float64, error) {
	x, err := uniform(n)
	if err != nil {
		return 0, err
	}
	times := max(elementSizes[len(elementSizes)-1]/n, 1)
	least := math.Inf(1)
	for range rounds {
		start := cpuTime()
		for range times {
			v, err := f(x)
			if err != nil {
				return 0, err
			}
			if err := v.(*torch.Tensor).Close(); err != nil {
				return 0, err
			}
		}
		least = min(least, float64((cpuTime()-start)/time.Nanosecond)/float64(times*n))
	}
	return least, nil
}

// notNearest is the part of all arguments between 0.5 and 1 whose result is another
// number than the nearest one.
func (e elementwise) notNearest() (string, error) {
	if e.exact == nil {
		return "-", nil
	}
	first, last := math.Float32bits(0.5), math.Float32bits(1)
	args := make([]float32, 0, last-first)
	for bits := first; bits < last; bits++ {
		args = append(args, math.Float32frombits(bits))
	}
	x, err := torch.From(args, len(args))
	if err != nil {
		return "", err
	}
	defer x.Close()
	y, err := torch.Call("aten::"+e.name, x)
	if err != nil {
		return "", err
	}
	defer y.(*torch.Tensor).Close()
	got, err := torch.Data[float32](y.(*torch.Tensor))
	if err != nil {
		return "", err
	}
	off := 0
	for i, a := range args {
		if float32(e.exact(float64(a))) != got[i] {
			off++
		}
	}
	return fmt.Sprintf("%.3f %%", 100*float64(off)/float64(len(args))), nil
}
