package passes_test

import (
	"context"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	"github.com/torchfx-go/torchfx/passes"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// convBNModule is the program of the recorded case fuse_conv_bn.
func convBNModule(t *testing.T, r recording) *ir.GraphModule {
	require.NoError(t, libtorch.ManualSeed(5))
	layers := map[string]nn.Module{
		"conv": nn.NewConv2d(2, 3, 1), "bn": nn.NewBatchNorm2d(3),
		"nested.0": nn.NewConv1d(3, 3, 1, torch.Kw("bias", false)), "nested.1": nn.NewBatchNorm1d(3),
		"lin": nn.NewLinear(2, 2), "bnl": nn.NewBatchNorm1d(2),
		"shared": nn.NewConv2d(2, 3, 1), "bn2": nn.NewBatchNorm2d(3),
		"bn3": nn.NewBatchNorm2d(3, torch.Kw("track_running_stats", false)),
	}
	m := r.before(t)
	for _, path := range slices.Sorted(maps.Keys(layers)) { // in one order, for the random numbers
		layer := layers[path]
		nn.Train(layer, false)
		for s := range nn.Tensors(layer) {
			if s.Kind == nn.Buffer && s.Tensor != nil && (s.Name == "running_mean" || s.Name == "running_var") {
				v, err := torch.Call("aten::uniform_", s.Tensor, 0.5, 2.0)
				require.NoError(t, err)
				if v != s.Tensor {
					v.(*torch.Tensor).Close()
				}
			}
		}
		m.SetAttr(path, layer)
	}
	return m
}

func runAll(t *testing.T, m *ir.GraphModule, args ...any) (results [][]float32) {
	out, err := interpreter.New(m).Run(context.Background(), args...)
	require.NoError(t, err)
	defer closeTensors(out)
	for _, v := range out.(ir.PyTuple) {
		c, err := torch.Call("aten::contiguous", v)
		require.NoError(t, err)
		values, err := torch.Data[float32](c.(*torch.Tensor))
		require.NoError(t, err)
		results = append(results, values)
		if c != v {
			c.(*torch.Tensor).Close()
		}
	}
	return results
}

// upstream: test_fx_experimental.TestFXExperimental.test_conv_bn_fusion
// upstream: test_fx_experimental.TestFXExperimental.test_conv_bn_fusion_not_running_state
func TestRecordedFuseConvBN(t *testing.T) {
	testenv.Libtorch(t)
	r := recorded(t, "fuse_conv_bn")
	m := convBNModule(t, r)
	v, err := torch.Call("aten::randn", []int{2, 2, 3, 3})
	require.NoError(t, err)
	x := v.(*torch.Tensor)
	defer x.Close()
	y := tensorOf(t, false, 2, 2)
	want := runAll(t, m, x, y)

	// conv is called twice, and the second call must give what it gave
	gone, err := passes.FuseConvBN(m)
	require.NoError(t, err)
	require.Equal(t, []string{"nested_1", "bnl"}, gone)
	got := runAll(t, m, x, y)
	for i := range want {
		require.InDeltaSlice(t, want[i], got[i], 1e-5)
	}

	m = convBNModule(t, r)
	gone, err = passes.FuseConvBN(m, passes.FuseSharedLayers())
	require.NoError(t, err)
	require.Equal(t, []string{"nested_1", "bn", "bnl"}, gone)
	r.requireTexts(t, asNew(t, m))
	got = runAll(t, m, x, y)
	for i := range want[:3] {
		require.InDeltaSlice(t, want[i], got[i], 1e-5)
	}
}

func TestFuseConvBNRefusesTraining(t *testing.T) {
	testenv.Libtorch(t)
	m := bodyModule(t, "a = self.conv(x)\nb = self.bn(a)", "b")
	m.SetAttr("conv", nn.NewConv2d(2, 3, 1))
	m.SetAttr("bn", nn.NewBatchNorm2d(3))
	_, err := passes.FuseConvBN(m)
	require.ErrorIs(t, err, ir.ErrAssertion)
	require.ErrorContains(t, err, "Fusion only for eval!")
	require.NotNil(t, m.Graph().Lookup("b"))
}
