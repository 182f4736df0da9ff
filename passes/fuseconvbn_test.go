package passes_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/fxcase"
	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	"github.com/torchfx-go/torchfx/operator"
	"github.com/torchfx-go/torchfx/passes"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// convBN is the model of the recorded case fuse_conv_bn.
type convBN struct {
	nn.Base `forward:"x, y"`
	Conv    *nn.Conv2d
	BN      *nn.BatchNorm2d `nn:"bn"`
	Nested  *nn.Sequential
	Lin     *nn.Linear
	BNL     *nn.BatchNorm1d `nn:"bnl"`
	Shared  *nn.Conv2d
	BN2     *nn.BatchNorm2d `nn:"bn2"`
	BN3     *nn.BatchNorm2d `nn:"bn3"`
}

func (m *convBN) Forward(x, y *torch.Tensor) any {
	a := m.BN.Forward(m.Conv.Forward(x))
	b := m.Nested.Forward(a.Value().Method("flatten", []any{2}).Tensor())
	c := m.BNL.Forward(m.Lin.Forward(y))
	s := m.Shared.Forward(x)
	return ir.PyTuple{b, c, operator.Add(m.BN2.Forward(s), s), m.BN3.Forward(m.Conv.Forward(x))}
}

func newConvBN(t *testing.T) *convBN {
	require.NoError(t, torch.ManualSeed(5))
	m := &convBN{
		Conv: nn.NewConv2d(2, 3, 1), BN: nn.NewBatchNorm2d(3),
		Nested: nn.NewSequential(nn.NewConv1d(3, 3, 1, nn.WithBias(false)), nn.NewBatchNorm1d(3)),
		Lin:    nn.NewLinear(2, 2), BNL: nn.NewBatchNorm1d(2),
		Shared: nn.NewConv2d(2, 3, 1), BN2: nn.NewBatchNorm2d(3),
		BN3: nn.NewBatchNorm2d(3, nn.WithTrackRunningStats(false)),
	}
	for path, layer := range nn.Modules(m) {
		mean, there := nn.Lookup(layer, "running_mean")
		if !there || mean.(*torch.Tensor) == nil {
			continue
		}
		variance, _ := nn.Lookup(layer, "running_var")
		require.NotNil(t, variance, path)
		mean.(*torch.Tensor).UniformInPlace(-1, 1)
		variance.(*torch.Tensor).UniformInPlace(0.5, 2)
	}
	nn.Train(m, false)
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
	c := fxcase.Open(t, "fuse_conv_bn")
	testenv.Libtorch(t)
	m := c.Before(traced(t, newConvBN(t)), nil)
	x, y := torch.Randn(2, 2, 3, 3), torch.Randn(2, 2)
	want := runAll(t, m, x, y)

	// conv is called twice, and the second call must give what it gave
	gone, err := passes.FuseConvBN(m)
	require.NoError(t, err)
	require.Equal(t, []string{"nested_1", "bnl"}, gone)
	got := runAll(t, m, x, y)
	for i := range want {
		require.InDeltaSlice(t, want[i], got[i], 1e-5)
	}

	// torch.fx changes the layer all the same
	m = traced(t, newConvBN(t))
	gone, err = passes.FuseConvBN(m, passes.FuseSharedLayers())
	require.NoError(t, err)
	require.Equal(t, []string{"nested_1", "bn", "bnl"}, gone)
	c.Runs(c.Same(m, nil))
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
