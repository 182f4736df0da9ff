package main

import (
	"fmt"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// A smallChain is an operator on small tensors, over and over: what counts is what calling
// it costs.
type smallChain struct {
	target string
	first  []int // sizes of what the first call reads, and the next reads its result
	rest   []any // what each call reads besides: sizes of a tensor, an index, or an argument that is none
	apart  bool  // every call reads the first tensor, and torch.maximum joins the results
}

var small = []smallChain{
	{target: "torch._C._nn.linear", first: []int{1, 64}, rest: []any{[]int{64, 64}, []int{64}}},
	{target: "torch.ops.aten.addmm.default", first: []int{64}, rest: []any{[]int{8, 64}, []int{64, 64}}, apart: true},
	{target: "torch.ops.aten.mm.default", first: []int{8, 64}, rest: []any{[]int{64, 64}}},
	{target: "torch.ops.aten.bmm.default", first: []int{4, 8, 16}, rest: []any{[]int{4, 16, 16}}},
	{target: "torch.matmul", first: []int{2, 8, 16}, rest: []any{[]int{16, 16}}},
	{target: "torch.conv2d", first: []int{1, 4, 8, 8}, rest: []any{[]int{4, 4, 3, 3}, []int{4}, ir.Int(1), ir.Int(1)}},
	{target: "torch.batch_norm", first: []int{1, 4, 8, 8}, rest: []any{[]int{4}, []int{4}, []int{4}, []int{4}, ir.Bool(false), ir.Float(0.1), ir.Float(1e-5), ir.Bool(true)}},
	{target: "torch.layer_norm", first: []int{4, 64}, rest: []any{ir.ListOf(ir.Int(64)), []int{64}, []int{64}}},
	{target: "torch.softmax", first: []int{4, 64}, rest: []any{ir.Int(-1)}},
	{target: "torch._C._nn.gelu", first: []int{4, 64}},
	{target: "torch.relu", first: []int{4, 64}},
	{target: "torch.cat", first: []int{4, 32}, apart: true},
	{target: "torch.sum", first: []int{4, 64}, rest: []any{ir.Int(1), ir.Bool(true)}, apart: true},
	{target: "torch.mean", first: []int{4, 64}, rest: []any{ir.Int(1), ir.Bool(true)}, apart: true},
	{target: "torch.max_pool2d", first: []int{1, 4, 8, 8}, rest: []any{ir.Int(3), ir.Int(1), ir.Int(1)}},
	{target: "torch._C._nn.avg_pool2d", first: []int{1, 4, 8, 8}, rest: []any{ir.Int(3), ir.Int(1), ir.Int(1)}},
	{target: "torch.index_select", first: []int{8, 16}, rest: []any{ir.Int(0), index{8}}},
	{target: "torch.embedding", first: []int{8, 16}, rest: []any{index{4}}, apart: true},
	{target: "torch.transpose", first: []int{8, 16}, rest: []any{ir.Int(0), ir.Int(1)}},
	{target: "torch.reshape", first: []int{8, 16}, rest: []any{ir.ListOf(ir.Int(8), ir.Int(16))}},
}

// An index is n indices, each in range where there are n at least.
type index struct{ n int }

const smallCalls = 32

func (s smallChain) chain() (*chain, error) {
	g := ir.NewGraph()
	first := g.Placeholder("x")
	x, err := uniform(s.first...)
	if err != nil {
		return nil, err
	}
	inputs := []any{x}
	var rest []ir.Arg
	for _, r := range s.rest {
		var v any
		switch r := r.(type) {
		case []int:
			v, err = uniform(r...)
		case index:
			v, err = torch.Call("aten::arange", r.n)
		default:
			rest = append(rest, r.(ir.Arg))
			continue
		}
		if err != nil {
			return nil, err
		}
		n := g.Placeholder(fmt.Sprintf("y%d", len(inputs)))
		inputs = append(inputs, v)
		rest = append(rest, n)
	}
	var results []*ir.Node
	last := first
	for range smallCalls {
		args := append([]ir.Arg{last}, rest...)
		if s.target == "torch.cat" {
			args = []ir.Arg{ir.ListOf(last, last)}
		}
		n := g.CallFunction(ir.FuncOf(s.target), args)
		if s.apart {
			results = append(results, n)
		} else {
			last = n
		}
	}
	if s.apart {
		last = results[0]
		for _, r := range results[1:] {
			last = g.CallFunction(ir.FuncOf("torch.maximum"), []ir.Arg{last, r})
		}
	}
	g.Output(last)
	gm, err := ir.NewGraphModule(nil, g)
	if err != nil {
		return nil, err
	}
	c := &chain{title: s.target, operators: smallCalls}
	return c, c.addGo(gm, inputs...)
}

// measureSmall is the table of what operators on small tensors cost this module's
// executors.
func measureSmall(rounds int, spelled string) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "%s; `%s`; %d calls a run, nanoseconds of CPU time a call, minimum / median.\n\n", machineNow(), spelled, smallCalls)
	b.WriteString("| | sizes | Plan | Interpreter | graph module, called | Interpreter against Plan |\n|---|---|---|---|---|---|\n")
	for _, s := range small {
		c, err := s.chain()
		if err == nil {
			err = c.measure(rounds)
		}
		if err != nil {
			return "", fmt.Errorf("%s: %w", s.target, err)
		}
		var took [3]spread
		for i, x := range c.contenders {
			took[i] = spreadOf(x.took)
		}
		fmt.Fprintf(&b, "| %s | %s | %.0f / %.0f | %.0f / %.0f | %.0f / %.0f | %.2f |\n", s.target, strings.ReplaceAll(strings.Trim(fmt.Sprint(s.first), "[]"), " ", "x"),
			took[0].Minimum, took[0].Median, took[1].Minimum, took[1].Median, took[2].Minimum, took[2].Median, took[1].Minimum/took[0].Minimum)
	}
	return b.String(), nil
}
