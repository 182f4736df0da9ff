//go:build gotorch

package gotorch_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	gt "github.com/wangkuiyi/gotorch"
	gnn "github.com/wangkuiyi/gotorch/nn"
	"github.com/wangkuiyi/gotorch/vision/models"

	torchfx "github.com/torchfx-go/torchfx"
	"github.com/torchfx-go/torchfx/gotorch"
	"github.com/torchfx-go/torchfx/passes"
	torch "github.com/torchfx-go/torchfx/torchops"
	"github.com/torchfx-go/torchfx/tracer"
)

const loadSaved = `
import json, sys, torch
torch.set_num_threads(1)
for case in json.load(open(sys.argv[1])):
    ep = torch.export.load(case["program"])
    assert sorted(ep.state_dict) == case["state"], (sorted(ep.state_dict), case["state"])
    def read(t):
        return torch.frombuffer(bytearray(open(t["file"], "rb").read()), dtype=torch.float32).reshape(t["shape"])
    with torch.no_grad():
        for run in case["runs"]:
            out = ep.module()(read(run["input"]))
            want = read(run["output"])
            assert torch.equal(out, want), (case["program"], (out - want).abs().max())
`

type raw struct {
	File  string `json:"file"`
	Shape []int  `json:"shape"`
}

// gotorch's networks are traced, their batch norms folded, and saved; the file
// gives the same bits as the graph here and in Python, for another batch too. Only
// folding rounds. TORCHFX_PYTHON names a Python that has torch.
func TestSaved(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, v *torch.Tensor) raw {
		bytes, err := v.Bytes()
		require.NoError(t, err)
		file := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(file, bytes, 0o600))
		return raw{file, v.Shape()}
	}
	var cases []map[string]any
	for _, tc := range []struct {
		name   string
		module interface {
			gnn.IModule
			Forward(gt.Tensor) gt.Tensor
		}
		shape []int
		folds int
		leaf  bool
	}{
		{"mnist", models.MLP(), []int{1, 28, 28}, 0, false},
		{"mnist_leaves", models.MLP(), []int{1, 28, 28}, 0, true},
		{"conv", newConvNet(), []int{3, 8, 8}, 1, false},
		{"resnet18", eval(models.Resnet18()), []int{3, 64, 64}, 20, false},
		{"resnet50", eval(models.Resnet50()), []int{3, 32, 32}, 53, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			image := func(n int) *torch.Tensor { return torch.Randn(sizes(append([]int{n}, tc.shape...)...)...) }
			how := tracer.Recording{Leaf: tc.leaf, Functional: tc.leaf, Names: []string{"image"}, Dynamic: []tracer.Dim{{Symbol: "batch"}}}
			gm, err := gotorch.TraceBy(how, tc.module, image(2))
			require.NoError(t, err)
			report, err := passes.FoldBatchNorm(context.Background(), gm)
			require.NoError(t, err)
			assert.Len(t, report.Folds, tc.folds, report)
			assert.Empty(t, report.Kept)

			path := filepath.Join(dir, tc.name+".pt2")
			require.NoError(t, torchfx.Save(path, gm))
			p, err := torchfx.Load(path)
			require.NoError(t, err)
			defer p.Close()
			var state []string
			for name := range p.State() {
				state = append(state, name)
			}
			var runs []any
			for _, n := range []int{2, 3} {
				x := image(n)
				want := run(t, gm, x)
				near(t, forward(t, tc.module, x), want, 1e-4)
				got, err := p.Run(context.Background(), x)
				require.NoError(t, err)
				same(t, want, got.(*torch.Tensor))
				runs = append(runs, map[string]raw{
					"input":  write(tc.name+"in"+string(rune('0'+n)), x),
					"output": write(tc.name+"out"+string(rune('0'+n)), want),
				})
			}
			cases = append(cases, map[string]any{"program": path, "runs": runs, "state": slices.Sorted(slices.Values(state))})
		})
	}
	python := os.Getenv("TORCHFX_PYTHON")
	if python == "" {
		return
	}
	list := filepath.Join(dir, "cases.json")
	text, err := json.Marshal(cases)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(list, text, 0o600))
	out, err := exec.Command(python, "-c", loadSaved, list).CombinedOutput()
	require.NoError(t, err, "%s", out)
}
