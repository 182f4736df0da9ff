package interpreter_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// BenchmarkOneOperator is what a run of a Plan costs beside its operators: one addition
// of 64 elements, and the closing of its result.
func BenchmarkOneOperator(b *testing.B) {
	g := ir.NewGraph()
	x, y := g.Placeholder("x"), g.Placeholder("y")
	g.Output(g.CallFunction(ir.FuncOf("torch.add"), []ir.Arg{x, y}))
	gm, err := ir.NewGraphModule(nil, g)
	require.NoError(b, err)
	plan, err := interpreter.Compile(gm)
	require.NoError(b, err)
	one, err := torch.From(make([]float32, 64), 64)
	require.NoError(b, err)
	ctx := context.Background()
	b.ReportAllocs()
	for b.Loop() {
		out, err := plan.Run(ctx, one, one)
		if err != nil {
			b.Fatal(err)
		}
		if err := out.(*torch.Tensor).Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkGroups is what fusion brings to chains of operators on one thread and on two, which
// take turns; the metrics are the least µs of a run.
func BenchmarkGroups(b *testing.B) {
	needLibtorch(b)
	for _, ops := range [][]string{
		{"add", "mul", "relu"}, {"add", "mul", "relu", "add", "mul", "relu", "neg", "abs"},
		{"rsqrt", "div", "rsqrt", "div", "rsqrt", "div", "rsqrt", "div"},
		{"exp"}, {"tanh"}, {"sigmoid"}, {"silu", "mul"}, {"sigmoid", "tanh", "exp", "neg"},
	} {
		for _, n := range []int{1 << 15, 1 << 17, 1 << 20} {
			b.Run(fmt.Sprintf("%s/%d", strings.Join(ops, "-"), n), func(b *testing.B) {
				gm := chain(b, ops...)
				x, y := uniform(b, n), uniform(b, n)
				sides := map[string]*interpreter.Plan{}
				least := map[string]time.Duration{}
				for _, threads := range []int{1, 2} {
					sides[fmt.Sprintf("kernels-%d", threads)] = compile(b, gm, interpreter.WithThreads(threads), interpreter.PlanFusion(false))
					sides[fmt.Sprintf("fused-%d", threads)] = compile(b, gm, interpreter.WithThreads(threads))
				}
				for b.Loop() {
					for side, p := range sides {
						for range 8 { // one after the other, as a service has them
							start := time.Now()
							out, err := p.Run(b.Context(), x, y)
							closeResult(out)
							if err != nil {
								b.Fatal(err)
							}
							if took := time.Since(start); least[side] == 0 || took < least[side] {
								least[side] = took
							}
						}
					}
				}
				for side, d := range least {
					b.ReportMetric(d.Seconds()*1e6, side)
				}
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}
