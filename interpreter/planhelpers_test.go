package interpreter_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

func compile(t testing.TB, gm *ir.GraphModule, opts ...interpreter.PlanOption) *interpreter.Plan {
	t.Helper()
	needLibtorch(t)
	p, err := interpreter.Compile(gm, opts...)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, p.Close()) })
	return p
}

// agree runs a module by both executors, the plan three times: it learns the
// shapes in the first run, and uses what it has learned in the others.
func agree(t *testing.T, gm *ir.GraphModule, args ...any) {
	t.Helper()
	p := compile(t, gm)
	agreePlan(t, gm, p, args...)
}

func agreePlan(t *testing.T, gm *ir.GraphModule, p *interpreter.Plan, args ...any) {
	t.Helper()
	agreeThreads(t, gm, p, 1, args...)
}

// agreeThreads is agreePlan of a plan that runs on several threads, as the Interpreter then does.
func agreeThreads(t *testing.T, gm *ir.GraphModule, p *interpreter.Plan, threads int, args ...any) {
	t.Helper()
	want, wantErr := interpreter.New(gm, interpreter.WithThreads(threads)).Run(t.Context(), args...)
	for run := range 3 {
		leavesNothing(t, func() any {
			got, err := p.Run(t.Context(), args...)
			if wantErr != nil {
				require.EqualError(t, err, wantErr.Error())
				return nil
			}
			require.NoError(t, err, "run %d", run)
			sameBits(t, want, got)
			return got
		})
	}
	closeResult(want)
}

// sameBits compares two results to the last bit.
func sameBits(t testing.TB, want, got any) {
	t.Helper()
	switch want := want.(type) {
	case *torch.Tensor:
		require.IsType(t, want, got)
		x := got.(*torch.Tensor)
		require.Equal(t, torch.Describe(want), torch.Describe(x))
		require.Equal(t, want.Strides(), x.Strides())
		a, err := want.Bytes()
		require.NoError(t, err)
		b, err := x.Bytes()
		require.NoError(t, err)
		require.Equal(t, a, b)
	case []any:
		require.IsType(t, want, got)
		require.Len(t, got, len(want))
		for i, item := range got.([]any) {
			sameBits(t, want[i], item)
		}
	case *ir.PyDict:
		require.IsType(t, want, got)
		for key, item := range want.All() {
			other, ok := got.(*ir.PyDict).Get(key)
			require.True(t, ok, key)
			sameBits(t, item, other)
		}
	case ir.PyTuple:
		require.IsType(t, want, got)
		sameBits(t, []any(want), []any(got.(ir.PyTuple)))
	default:
		require.Equal(t, want, got)
	}
}

func fn(name string) *ir.Func { return ir.FuncOf(name) }

// chainOf is n operators one after another.
func chainOf(t testing.TB, n int, f func(g *ir.Graph, v *ir.Node, i int) *ir.Node) *ir.GraphModule {
	g := ir.NewGraph()
	v := g.Placeholder("x")
	for i := range n {
		v = f(g, v, i)
	}
	g.Output(v)
	return module(t, g, nil)
}

func addOne(g *ir.Graph, v *ir.Node, _ int) *ir.Node {
	return g.CallFunction(addTT, []ir.Arg{v, ir.Int(1)})
}
