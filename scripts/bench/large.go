package main

import (
	"fmt"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// A largeChain is a chain of 8 pointwise operators on 1 M elements, which fill no
// cache: what counts is memory traffic, and for the dear ones the arithmetic.
type largeChain struct {
	name string // of the Python side
	ops  []string
	aim  float64 // how many times as fast as eager code a Plan is to be
}

var large = []largeChain{
	{"arithmetic", []string{"add", "mul", "relu"}, 5},
	{"sigmoid", []string{"sigmoid"}, 1.7},
	{"tanh", []string{"tanh"}, 1.7},
	{"exp", []string{"exp", "neg"}, 1.7}, // in the range where it is neither 0 nor infinite
	{"transcendental", []string{"sigmoid", "tanh", "exp"}, 1.7},
}

func (l largeChain) chain(py *python) (*chain, error) {
	const n = 8
	c := &chain{title: fmt.Sprintf("Chain of %d pointwise operators (%s) on 1 M elements", n, strings.Join(l.ops, ", ")), operators: n}
	g := ir.NewGraph()
	x, y := g.Placeholder("x"), g.Placeholder("y")
	last := x
	for i := range n {
		args := []ir.Arg{last}
		op := l.ops[i%len(l.ops)]
		if op == "add" || op == "mul" {
			args = append(args, y)
		}
		last = g.CallFunction(ir.FuncOf("torch."+op), args)
	}
	g.Output(last)
	gm, err := ir.NewGraphModule(nil, g)
	if err != nil {
		return nil, err
	}
	var inputs [2]any
	for i := range inputs {
		r, err := uniform(1 << 20)
		if err != nil {
			return nil, err
		}
		if inputs[i], err = torch.Call("aten::sub.Tensor", r, 0.5); err != nil {
			return nil, err
		}
	}
	if err := c.addGo(gm, inputs[:]...); err != nil {
		return nil, err
	}
	if err := c.addApart(gm, inputs[:]...); err != nil {
		return nil, err
	}
	c.addPython(py, l.name)
	c.addCompiled(py, l.name)
	c.aims = []aim{{"Python eager", "Plan", l.aim}}
	return c, nil
}
