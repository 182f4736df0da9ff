package passes_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx"
	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/passes"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// Plans of frozen programs compute what PyTorch does of the networks that it exports on
// the spot, within the tolerance of the report: by libtorch's packed kernels, by
// oneDNN's regions and in bfloat16, at batches of other sizes, empty ones too.
// TORCHFX_PYTHON names an interpreter with the PyTorch of the reference.
func TestFrozenAgainstPython(t *testing.T) {
	python := testenv.Python(t)
	testenv.Libtorch(t)
	dir := t.TempDir()
	log, err := exec.Command(python, filepath.Join("testdata", "networks_to_freeze.py"), dir).CombinedOutput()
	require.NoError(t, err, "%s", log)
	data, err := os.ReadFile(filepath.Join(dir, "list.json"))
	require.NoError(t, err)
	var networks []frozenNetwork
	require.NoError(t, json.Unmarshal(data, &networks))
	require.NotEmpty(t, networks)
	for _, n := range networks {
		t.Run(n.Name, func(t *testing.T) {
			report := n.freezes(t, dir, passes.FreezeDelegate(nil))
			for _, rewrite := range n.Rewrites {
				assert.Positive(t, report.Count(rewrite), "%s: %s", rewrite, report)
			}
			n.freezes(t, dir)
			n.freezes(t, dir, passes.FreezeDelegate(nil), passes.WithRewrites("bfloat16"))
		})
	}
}

// A frozenNetwork is what testdata/networks_to_freeze.py exported.
type frozenNetwork struct {
	Name                  string
	Sets, Inputs, Results int
	Rewrites              []string // that have to be made
}

// freezes compares a plan of the frozen program with what PyTorch computed.
func (n frozenNetwork) freezes(t *testing.T, dir string, opts ...passes.FreezeOption) *passes.FreezeReport {
	path := filepath.Join(dir, n.Name)
	p, err := torchfx.Load(path + ".pt2")
	require.NoError(t, err)
	defer p.Close()
	report, err := p.Freeze(t.Context(), append(opts, passes.WithChoices(passes.Unmeasured()))...)
	require.NoError(t, err)
	plan, err := p.Compile()
	require.NoError(t, err)
	defer plan.Close()
	for i := range n.Sets {
		var inputs []any
		for j := range n.Inputs {
			inputs = append(inputs, readTensor(t, path+".safetensors", fmt.Sprintf("%d.i%d", i, j)))
		}
		out, err := plan.Run(t.Context(), inputs...)
		require.NoError(t, err)
		got := leaves(out)
		require.Len(t, got, n.Results)
		for j, x := range got {
			want := readTensor(t, path+".safetensors", fmt.Sprintf("%d.o%d", i, j))
			require.Equal(t, torch.Describe(want), torch.Describe(x))
			if want.Numel() > 0 {
				off, largest := number(t, torch.Max(torch.Abs(torch.Sub(want, x)))), number(t, torch.Max(torch.Abs(want)))
				// where no rewrite rounds, libtorch may by its operators' other widths
				require.LessOrEqual(t, off/largest, max(report.Tolerance(), 1e-6), "result %d of set %d: %s", j, i, report)
			}
			want.Close()
			x.Close()
		}
		for _, x := range inputs {
			x.(*torch.Tensor).Close()
		}
	}
	return report
}

func leaves(v any) (tensors []*torch.Tensor) {
	items := []any{}
	switch v := v.(type) {
	case *torch.Tensor:
		return []*torch.Tensor{v}
	case []any:
		items = v
	case ir.PyTuple:
		items = v
	}
	for _, item := range items {
		tensors = append(tensors, leaves(item)...)
	}
	return tensors
}

func number(t *testing.T, x *torch.Tensor) float64 {
	v, err := x.Item()
	require.NoError(t, err)
	return v.(float64)
}
