package vision_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/examples/vision"
	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	"github.com/torchfx-go/torchfx/passes"
	torch "github.com/torchfx-go/torchfx/torchops"
	"github.com/torchfx-go/torchfx/tracer"
)

// resnet18 traced, in evaluation, with an input.
func resnet18(t *testing.T) (*ir.GraphModule, *torch.Tensor) {
	testenv.Libtorch(t)
	m, err := vision.New("resnet18")
	require.NoError(t, err)
	nn.Train(m, false)
	gm, err := tracer.SymbolicTrace(m)
	require.NoError(t, err)
	x := torch.Randn(1, 3, 64, 64)
	t.Cleanup(func() { _ = x.Close() })
	return gm, x
}

func bits(t *testing.T, gm *ir.GraphModule, x *torch.Tensor) []byte {
	out, err := interpreter.New(gm).Run(t.Context(), x)
	require.NoError(t, err)
	y := out.(*torch.Tensor)
	defer y.Close()
	data, err := y.Bytes()
	require.NoError(t, err)
	return data
}

// upstream: test_fx.TestFX.test_interpreter_noop_resnet18
// upstream: test_fx.TestFX.test_replace_uses
func TestUpstreamReplaceUses(t *testing.T) {
	gm, x := resnet18(t)
	want := bits(t, gm, x)
	replaced := 0
	for n := range gm.Graph().Nodes() {
		v, _ := gm.Attr(n.Target().String())
		if _, ok := v.(*nn.ReLU); n.Op() != ir.CallModule || !ok {
			continue
		}
		restore, err := gm.Graph().InsertAfter(n)
		require.NoError(t, err)
		n.ReplaceAllUsesWith(gm.Graph().CallFunction(ir.FuncOf("torch.relu"), n.Args()))
		restore()
		require.NoError(t, gm.Graph().Erase(n))
		replaced++
	}
	require.Equal(t, 17, replaced)
	require.NoError(t, gm.Graph().Lint())
	require.Equal(t, want, bits(t, gm, x))
}

// upstream: test_fx_experimental.TestFXExperimental.test_subgraph_trivial_resnet
func TestUpstreamSplitResnet(t *testing.T) {
	gm, x := resnet18(t)
	want := bits(t, gm, x)
	i := 0
	split, err := passes.Split(gm, func(*ir.Node) int { i++; return i / 40 })
	require.NoError(t, err)
	require.Len(t, split.Parts, 2)
	require.Equal(t, want, bits(t, split.Module, x))
}

// upstream: test_fx_experimental.TestFXExperimental.test_optimize_for_inference_cpu_torchvision
func TestUpstreamOptimizeResnet(t *testing.T) {
	gm, x := resnet18(t)
	run := func() []float32 {
		out, err := interpreter.New(gm).Run(t.Context(), x)
		require.NoError(t, err)
		y := out.(*torch.Tensor)
		defer y.Close()
		values, err := torch.Data[float32](y)
		require.NoError(t, err)
		return values
	}
	want := run()
	gone, err := passes.OptimizeForInference(gm)
	require.NoError(t, err)
	require.Len(t, gone, 20)
	// folding rounds otherwise
	require.InDeltaSlice(t, want, run(), 1e-4)
}
