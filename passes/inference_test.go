package passes_test

import (
	"fmt"
	"log"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	"github.com/torchfx-go/torchfx/passes"
)

// upstream: test_fx_experimental.TestFXExperimental.test_optimize_for_inference_cpu
func TestOptimizeForInference(t *testing.T) {
	testenv.Libtorch(t)
	m := module(t, `def forward(self, x):
    conv = self.conv(x)
    bn = self.bn(conv)
    drop = self.drop(bn)
    relu = torch.relu(drop)
    return (relu,)`)
	for path, layer := range map[string]nn.Module{"conv": nn.NewConv2d(3, 4, 3), "bn": nn.NewBatchNorm2d(4), "drop": nn.NewDropout()} {
		nn.Train(layer, false)
		m.SetAttr(path, layer)
	}
	x := tensorOf(t, false, 1, 3, 5, 5)
	want := runAll(t, m, x)
	gone, err := passes.OptimizeForInference(m)
	require.NoError(t, err)
	require.Equal(t, []string{"bn", "drop"}, gone)
	require.Equal(t, []string{"x", "conv", "relu", "output"}, graphNames(m))
	got := runAll(t, m, x)
	require.InDeltaSlice(t, want[0], got[0], 1e-5)
}

func ExampleOptimizeForInference() {
	lin, norm := nn.NewLinear(2, 2), nn.NewBatchNorm1d(2)
	nn.Train(lin, false)
	nn.Train(norm, false)
	g, err := ir.ParseCode("def forward(self, x):\n    lin = self.lin(x);  x = None\n    norm = self.norm(lin);  lin = None\n    return norm")
	if err != nil {
		log.Fatal(err)
	}
	m, err := ir.NewGraphModule(map[string]any{"lin": lin, "norm": norm}, g)
	if err != nil {
		log.Fatal(err)
	}
	gone, err := passes.OptimizeForInference(m)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("folded:", gone)
	for _, l := range []nn.Module{lin, norm} {
		for t := range nn.Tensors(l) {
			t.Tensor.Close()
		}
	}
	fused, _ := m.Attr("lin")
	for t := range nn.Tensors(fused.(nn.Module)) {
		t.Tensor.Close()
	}
	// Output: folded: [norm]
}
