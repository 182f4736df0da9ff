package passes_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx"
	"github.com/torchfx-go/torchfx/export"
	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/passes"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// Every batch norm of the recorded networks folds, and they still compute what
// PyTorch recorded.
func TestFoldBatchNormOfNetworks(t *testing.T) {
	testenv.Libtorch(t)
	tests := []struct {
		name  string
		folds int
	}{
		{"tiny_resnet", 6},
		{"tiny_resnet_core", 6}, // after the core decompositions
		{"tv_mobilenet_v2", 7},  // depthwise convolutions
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			dir := testenv.Fixtures(t, "pt2", "2.15.0", tc.name)
			p, err := torchfx.Load(filepath.Join(dir, "model.pt2"))
			require.NoError(t, err)
			defer p.Close()
			report, err := passes.FoldBatchNorm(t.Context(), p.Module())
			require.NoError(t, err)
			assert.Len(t, report.Folds, tc.folds)
			assert.Empty(t, report.Kept, report.String())
			require.NoError(t, p.Module().Graph().Lint())

			x := readTensor(t, filepath.Join(dir, "inputs.0.safetensors"), "i0")
			defer x.Close()
			want := readTensor(t, filepath.Join(dir, "expected.0.safetensors"), "o0")
			defer want.Close()
			y, err := p.Run(t.Context(), x)
			require.NoError(t, err)
			defer y.(*torch.Tensor).Close()
			// folding rounds otherwise, and the values are of another processor
			same, err := torch.Call("aten::allclose", y, want, 1e-4, 1e-5)
			require.NoError(t, err)
			require.Equal(t, true, same, "want %s\ngot %s", want, y)
		})
	}
}

func readTensor(t *testing.T, name, key string) *torch.Tensor {
	f, err := export.OpenSafetensors(name)
	require.NoError(t, err)
	defer f.Close()
	stored, err := f.Tensor(key)
	require.NoError(t, err)
	data, err := stored.Bytes()
	require.NoError(t, err)
	shape := make([]int, len(stored.Sizes))
	for i, n := range stored.Sizes {
		shape[i] = int(n)
	}
	x, err := torch.FromBytes(stored.DType, shape, data)
	require.NoError(t, err)
	return x
}
