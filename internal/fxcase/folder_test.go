package fxcase_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx"
	"github.com/torchfx-go/torchfx/internal/fxcase"
	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	"github.com/torchfx-go/torchfx/operator"
	torch "github.com/torchfx-go/torchfx/torchops"
	"github.com/torchfx-go/torchfx/tracer"
)

// The programs that are saved to a folder. Children that torch.fx pickles are
// written here as the statements that make them, and a padding mode stands in
// quotes, without which Python does not read it.

// saves writes a module to a folder and compares its file with the recorded one,
// and what is read back with the module.
func saves(t *testing.T, c *fxcase.Case, gm *ir.GraphModule, class string) {
	t.Helper()
	want := c.Text("folder/module.py")
	t.Chdir(t.TempDir())
	require.NoError(t, torchfx.ToFolder(gm, "folder", class))
	data, err := os.ReadFile(filepath.Join("folder", "module.py"))
	require.NoError(t, err)
	var expected, got []string
	pickles := false
	for line := range strings.Lines(want) {
		if strings.Contains(line, "weights_only=False") {
			pickles = true
			continue
		}
		expected = append(expected, strings.Replace(line, "padding_mode=reflect", "padding_mode='reflect'", 1))
	}
	made := 0 // statements that make the children that torch.fx pickles
	for line := range strings.Lines(string(data)) {
		if len(expected) > len(got) && line == expected[len(got)] {
			got = append(got, line)
		} else {
			made++
			assert.Regexp(t, `^        (setattr\(self|self\.get_submodule\()`, line)
		}
	}
	assert.Equal(t, expected, got)
	assert.Equal(t, pickles, made > 0)
	again, warnings, err := torchfx.LoadFolder("folder")
	require.NoError(t, err)
	assert.Empty(t, warnings)
	require.NoError(t, ir.Equal(gm.Graph(), again.Graph()))
}

type odd struct {
	nn.Base `forward:"a, b, c, d"`
	C1      *nn.Conv1d      `nn:"c1"`
	C2      *nn.Conv2d      `nn:"c2"`
	C3      *nn.Conv3d      `nn:"c3"`
	B1      *nn.BatchNorm1d `nn:"b1"`
	B2      *nn.BatchNorm2d `nn:"b2"`
	B3      *nn.BatchNorm3d `nn:"b3"`
	Lin     *nn.Linear
	Act     *nn.LeakyReLU
	Scale   *torch.Tensor
	Idx     *torch.Tensor `nn:"idx,buffer"`
}

func (m *odd) Forward(a, b, c, d *torch.Tensor) any {
	a, b, c = m.B1.Forward(m.C1.Forward(a)), m.B2.Forward(m.C2.Forward(b)), m.B3.Forward(m.C3.Forward(c))
	d = add(mul(m.Act.Forward(m.Lin.Forward(d)), m.Scale), operator.GetItem(m.Idx, 0))
	return ir.PyTuple{a, b, c, add(d, m.Idx)}
}

func TestFoldFolderModules(t *testing.T) {
	c := fxcase.Open(t, "fold_folder_modules")
	testenv.Libtorch(t)
	scale, err := torch.From([]float64{2})
	require.NoError(t, err)
	scale = method(method(scale, "squeeze"), "requires_grad_")
	m := &odd{
		C1: nn.NewConv1d(1, 2, 3, nn.WithPadding(1), nn.WithBias(false)),
		C2: nn.NewConv2d(1, 2, ir.PyTuple{3, 1}, nn.WithStride(ir.PyTuple{2, 1}), nn.WithPaddingMode("reflect"), nn.WithPadding(ir.PyTuple{1, 0})),
		C3: nn.NewConv3d(1, 1, 1, nn.WithDilation(2), nn.WithGroups(1)),
		B1: nn.NewBatchNorm1d(2), B2: nn.NewBatchNorm2d(2, nn.WithEps(1e-3), nn.WithMomentum(nil), nn.WithAffine(false)),
		B3:  nn.NewBatchNorm3d(1, nn.WithTrackRunningStats(false)),
		Lin: nn.NewLinear(2, 2, nn.WithBias(false)), Act: nn.NewLeakyReLU(nn.WithNegativeSlope(0.2)),
		Scale: scale, Idx: torch.Arange(0, 3, 1),
	}
	nn.Train(m, false)
	gm := c.Same(tracer.SymbolicTrace(m))
	saves(t, c, gm, "Saved")
}

type nestedSaved struct {
	nn.Base  `forward:"x"`
	Features *nn.Sequential
	Head     *nn.Linear
}

func (m *nestedSaved) Forward(x *torch.Tensor) *torch.Tensor {
	return m.Head.Forward(m.Features.Forward(x))
}

func TestFoldFolderNested(t *testing.T) {
	c := fxcase.Open(t, "fold_folder_nested")
	testenv.Libtorch(t)
	gm := c.Same(tracer.SymbolicTrace(&nestedSaved{Features: nn.NewSequential(nn.NewLinear(2, 3), nn.NewReLU()), Head: nn.NewLinear(3, 1)}))
	saves(t, c, gm, "Nested")
}
