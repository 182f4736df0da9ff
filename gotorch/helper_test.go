//go:build gotorch

package gotorch_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	gt "github.com/wangkuiyi/gotorch"
	gnn "github.com/wangkuiyi/gotorch/nn"

	"github.com/torchfx-go/torchfx/gotorch"
	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

func TestMain(m *testing.M) { testenv.MainWithExamples(m) }

// forward is what gotorch itself computes for x.
func forward(t *testing.T, m interface{ Forward(gt.Tensor) gt.Tensor }, x *torch.Tensor) (out *torch.Tensor) {
	t.Helper()
	var failed error
	require.NoError(t, gotorch.Do(func() {
		var in gt.Tensor
		if in, failed = gotorch.ToGotorch(x); failed == nil {
			out, failed = gotorch.FromGotorch(m.Forward(in))
		}
	}))
	require.NoError(t, failed)
	return out
}

// single is a Sequential as a module of one tensor.
type single struct{ *gnn.SequentialModule }

func (s single) Forward(x gt.Tensor) gt.Tensor { return s.SequentialModule.Forward(x).(gt.Tensor) }

// run is what the graph computes, by a compiled plan and node by node, which agree.
func run(t *testing.T, gm *ir.GraphModule, inputs ...any) *torch.Tensor {
	t.Helper()
	plan, err := interpreter.Compile(gm)
	require.NoError(t, err)
	defer plan.Close()
	out, err := plan.Run(context.Background(), inputs...)
	require.NoError(t, err)
	again, err := interpreter.New(gm).Run(context.Background(), inputs...)
	require.NoError(t, err)
	same(t, out.(*torch.Tensor), again.(*torch.Tensor))
	return out.(*torch.Tensor)
}

// same demands equal bits.
func same(t *testing.T, want, got *torch.Tensor) {
	t.Helper()
	equal, err := torch.Equal(want, got)
	require.NoError(t, err)
	require.True(t, equal, "expected\n%v\ngot\n%v", want, got)
}

// near demands equality up to the rounding of float32 sums.
func near(t *testing.T, want, got *torch.Tensor, tolerance float64) {
	t.Helper()
	equal, err := torch.Call("aten::allclose", want, got, tolerance, tolerance)
	require.NoError(t, err)
	require.Equal(t, true, equal, "expected\n%v\ngot\n%v", want, got)
}

// targets lists the operators of a graph.
func targets(gm *ir.GraphModule) (all []string) {
	for n := range gm.Graph().Nodes() {
		if n.Op() == ir.CallFunction {
			all = append(all, strings.TrimPrefix(n.Target().String(), "torch.ops."))
		}
	}
	return all
}
