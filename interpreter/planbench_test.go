package interpreter_test

import (
	"context"
	"testing"

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
