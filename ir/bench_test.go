package ir

import (
	"fmt"
	"testing"
)

// wide returns a graph of n nodes: every tenth reads the first one, as a shared
// weight or mask is read, and every fifth is dead.
func wide(n int) *Graph {
	g := NewGraph()
	add, relu := FuncOf("torch.ops.aten.add.Tensor"), FuncOf("torch.ops.aten.relu.default")
	first := g.Placeholder("x")
	last := first
	for i := g.Len(); i < n-1; i++ {
		switch {
		case i%10 == 0:
			last = g.CallFunction(add, []Arg{last, first})
		case i%5 == 0:
			g.CallFunction(relu, []Arg{last})
		default:
			last = g.CallFunction(relu, []Arg{last})
		}
	}
	g.Output(last)
	return g
}

func BenchmarkGraph(b *testing.B) {
	for _, n := range []int{1000, 10000, 100000} {
		g := wide(n)
		for name, f := range map[string]func(){
			"build":  func() { wide(n) },
			"lint":   func() { _ = g.Lint() },
			"strict": func() { _ = g.Lint(Strict()) },
			"string": func() { _ = g.String() },
			"code":   func() { _, _ = g.PythonCode("self") },
			"json":   func() { _, _ = g.JSON() },
			"clone":  func() { g.Clone() },
			"dce":    func() { _, _ = g.Clone().EliminateDeadCode() },
		} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					f()
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/node")
			})
		}
	}
}
