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
}

var large = []largeChain{
	{"arithmetic", []string{"add", "mul", "relu"}},
	{"sigmoid", []string{"sigmoid"}},
	{"tanh", []string{"tanh"}},
	{"exp", []string{"exp", "neg"}}, // in the range where it is neither 0 nor infinite
	{"transcendental", []string{"sigmoid", "tanh", "exp"}},
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
	return c, nil
}
