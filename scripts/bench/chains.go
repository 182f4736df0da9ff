package main

import (
	"path/filepath"
	"slices"
	"time"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// Names of contenders: what takes a compiler, and so a while; and what a Plan without
// fusion is held against.
const (
	compiled = "Python torch.compile with freezing"
	bareLoop = "bare C++ loop of out variants"
)

// measureChains is what operators cost, against torch.compile too on demand.
func measureChains(rounds int, compile bool) (*chainReport, error) {
	py, err := startPython("chains.py")
	if err != nil {
		return nil, err
	}
	defer py.close()
	pointwise, err := pointwiseChain(py)
	if err != nil {
		return nil, err
	}
	linears, err := linearChain(py)
	if err != nil {
		return nil, err
	}
	chains := []*chain{pointwise, linears}
	for _, c := range large {
		chain, err := c.chain(py)
		if err != nil {
			return nil, err
		}
		chains = append(chains, chain)
	}
	report := &chainReport{Machine: machineNow() + "; " + py.version}
	for _, c := range chains {
		if !compile {
			c.contenders = slices.DeleteFunc(c.contenders, func(x *contender) bool { return x.name == compiled })
		}
		if err := c.measure(rounds); err != nil {
			return nil, err
		}
		result := chainResult{Title: c.title, Aims: c.aims}
		for _, x := range c.contenders {
			result.Rows = append(result.Rows, chainRow{x.name, spreadOf(x.took)})
		}
		report.Chains = append(report.Chains, result)
	}
	return report, nil
}

// pointwiseChain is 64 pointwise operators on 64 elements.
func pointwiseChain(py *python) (*chain, error) {
	const n = 64
	c := &chain{title: "Chain of 64 pointwise operators (add, mul, sub, maximum) on 64 elements", operators: n}
	x, y, err := vectors(64)
	if err != nil {
		return nil, err
	}
	gm, err := pointwiseGraph(n)
	if err != nil {
		return nil, err
	}
	if err := c.addGo(gm, x, y); err != nil {
		return nil, err
	}
	single, err := pointwiseGraph(1)
	if err != nil {
		return nil, err
	}
	if err := c.addFixed(single, x, y); err != nil {
		return nil, err
	}
	if err := c.addApart(gm, x, y); err != nil {
		return nil, err
	}
	lib, err := testenv.BuildLibrary(filepath.Join("scripts", "bench", "testdata", "bare.cc"))
	if err != nil {
		return nil, err
	}
	if err := libtorch.OpenLibrary(lib); err != nil {
		return nil, err
	}
	for _, below := range []bool{true, false} {
		name := bareLoop
		if !below {
			name += ", through the autograd layer"
		}
		c.contenders = append(c.contenders, &contender{name: name, ops: n, run: func(times int) (time.Duration, error) {
			ns, err := torch.Call("torchfx_bench::chain", x, y, n, times, below)
			if err != nil {
				return 0, err
			}
			return time.Duration(ns.(int64)), nil
		}})
	}
	c.addPython(py, "pointwise")
	c.addCompiled(py, "pointwise")
	c.aims = []aim{
		{bareLoop, "Plan without fusion", 1 / 1.2},
		{"Python eager", "Plan", 2.5},
		{"Python eager", "Plan without fusion", 2.5},
		{"Python torch.fx GraphModule", "Plan", 4},
		{"Python torch.fx GraphModule", "Plan without fusion", 4},
		{"Python torch.fx Interpreter", "Plan", 25},
		{"Python torch.fx Interpreter", "Plan without fusion", 25},
		{"Python torch.fx Interpreter", "Interpreter", 8},
		{compiled, "Plan", 1},
	}
	return c, nil
}

func pointwiseGraph(n int) (*ir.GraphModule, error) {
	g := ir.NewGraph()
	x, y := g.Placeholder("x"), g.Placeholder("y")
	last := x
	for i := range n {
		last = g.CallFunction(ir.FuncOf("torch."+[]string{"add", "mul", "sub", "maximum"}[i%4]), []ir.Arg{last, y})
	}
	g.Output(last)
	return ir.NewGraphModule(nil, g)
}

// linearChain is 32 linear layers of 64 on one row.
func linearChain(py *python) (*chain, error) {
	const n = 32
	c := &chain{title: "Chain of 32 linear layers, 1x64x64", operators: n}
	x, err := uniform(1, 64)
	if err != nil {
		return nil, err
	}
	w, err := uniform(64, 64)
	if err != nil {
		return nil, err
	}
	bias, err := uniform(64)
	if err != nil {
		return nil, err
	}
	g := ir.NewGraph()
	last, weight, b := g.Placeholder("x"), g.Placeholder("w"), g.Placeholder("b")
	for range n {
		last = g.CallFunction(ir.FuncOf("torch._C._nn.linear"), []ir.Arg{last, weight, b})
	}
	g.Output(last)
	gm, err := ir.NewGraphModule(nil, g)
	if err != nil {
		return nil, err
	}
	if err := c.addGo(gm, x, w, bias); err != nil {
		return nil, err
	}
	c.addPython(py, "linears")
	return c, nil
}

func vectors(n int) (x, y any, err error) {
	if x, err = uniform(n); err != nil {
		return nil, nil, err
	}
	y, err = uniform(n)
	return x, y, err
}

func uniform(sizes ...int) (any, error) { return torch.Call("aten::rand", sizes) }
