package torchfx_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	torchfx "github.com/torchfx-go/torchfx"
	"github.com/torchfx-go/torchfx/examples/vision"
	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	"github.com/torchfx-go/torchfx/passes"
	torch "github.com/torchfx-go/torchfx/torchops"
	"github.com/torchfx-go/torchfx/tracer"
)

const runLowered = `
import json, sys, torch
torch.set_num_threads(1)
for case in json.load(open(sys.argv[1])):
    module = torch.export.load(case["program"]).module()
    for run in case["runs"]:
        def read(t):
            return torch.frombuffer(bytearray(open(t["file"], "rb").read()), dtype=torch.float32).reshape(t["shape"])
        with torch.no_grad():
            out = torch.utils._pytree.tree_leaves(module(*[read(t) for t in run["inputs"]]))
        want = [read(t) for t in run["outputs"]]
        assert len(out) == len(want), (case["program"], len(out), len(want))
        for a, b in zip(out, want):
            assert torch.equal(a, b), (case["program"], (a - b).abs().max())
`

type rawTensor struct {
	File  string `json:"file"`
	Shape []int  `json:"shape"`
}

type encoderNet struct {
	nn.Base
	Encoder *nn.TransformerEncoder
}

func (m *encoderNet) Forward(x *torch.Tensor) *torch.Tensor { return m.Encoder.Forward(x) }

type lstmNet struct {
	nn.Base
	Layer *nn.LSTM
}

func (m *lstmNet) Forward(x *torch.Tensor) (*torch.Tensor, *torch.Tensor) {
	out, _, cell := m.Layer.Forward(x, nil, nil)
	return out, cell
}

// Networks that are traced, lowered and saved are programs of torch.export: PyTorch
// loads them and gives the same bits, also for other sizes of what stayed a symbol.
// TORCHFX_PYTHON names a Python that has torch.
func TestLoweredInPython(t *testing.T) {
	testenv.Libtorch(t)
	python := os.Getenv("TORCHFX_PYTHON")
	dir := t.TempDir()
	write := func(name string, v *torch.Tensor) rawTensor {
		data, err := v.Bytes()
		require.NoError(t, err)
		file := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(file, data, 0o600))
		return rawTensor{file, v.Shape()}
	}
	network := func(name string) nn.Module {
		m, err := vision.New(name)
		require.NoError(t, err)
		return m
	}
	image := func(n int) []any { return []any{torch.Randn(n, 3, 32, 32)} }
	sequence := func(n int) []any { return []any{torch.Randn(5, n, 8)} }
	batch := []tracer.Dim{{Symbol: "batch"}}
	var cases []map[string]any
	for _, c := range []struct {
		name    string
		module  nn.Module
		inputs  func(n int) []any
		dynamic []tracer.Dim
		leaves  bool
	}{
		{"resnet18", network("resnet18"), image, batch, false},
		{"resnet18_leaves", network("resnet18"), image, batch, true},
		{"mobilenet_v2", network("mobilenet_v2"), image, batch, false},
		{"densenet121", network("densenet121"), image, nil, false},
		{"encoder", &encoderNet{Encoder: nn.NewTransformerEncoder(nn.NewTransformerEncoderLayer(8, 2, nn.WithDimFeedforward(16)), 2)}, sequence, []tracer.Dim{{Dim: 1, Symbol: "batch"}}, false},
		{"lstm", &lstmNet{Layer: nn.NewLSTM(8, 6, nn.WithNumLayers(2), nn.WithBidirectional(true))}, sequence, []tracer.Dim{{Dim: 1, Symbol: "batch"}}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			nn.Train(c.module, false)
			gm, err := tracer.SymbolicTrace(c.module)
			require.NoError(t, err)
			opts := []passes.LowerOption{passes.Dynamic(c.dynamic...)}
			if c.leaves {
				opts = append(opts, passes.ToLeaves())
			}
			path := filepath.Join(dir, c.name+".pt2")
			require.NoError(t, torchfx.Save(path, gm, torchfx.LoweredOn(c.inputs(2), opts...)))
			p, err := torchfx.Load(path)
			require.NoError(t, err)
			defer p.Close()
			sizes := []int{2}
			if c.dynamic != nil {
				sizes = append(sizes, 3)
			}
			var runs []any
			for i, n := range sizes {
				in := c.inputs(n)
				want, err := interpreter.New(gm).Run(context.Background(), in...)
				require.NoError(t, err)
				got, err := p.Run(context.Background(), in...)
				require.NoError(t, err)
				run := map[string][]rawTensor{}
				for k, v := range in {
					run["inputs"] = append(run["inputs"], write(c.name+"in"+string(rune('a'+k))+string(rune('0'+i)), v.(*torch.Tensor)))
				}
				again := tensorsOf(got)
				for k, v := range tensorsOf(want) {
					equal, err := torch.Call("aten::equal", v, again[k])
					require.NoError(t, err)
					require.Equal(t, true, equal, "output %d", k)
					run["outputs"] = append(run["outputs"], write(c.name+"out"+string(rune('a'+k))+string(rune('0'+i)), v))
				}
				runs = append(runs, run)
			}
			cases = append(cases, map[string]any{"program": path, "runs": runs})
		})
	}
	if python == "" {
		return
	}
	data, err := json.Marshal(cases)
	require.NoError(t, err)
	list := filepath.Join(dir, "cases.json")
	require.NoError(t, os.WriteFile(list, data, 0o600))
	out, err := exec.Command(python, "-c", runLowered, list).CombinedOutput()
	require.NoError(t, err, "%s", out)
}

func tensorsOf(v any) (all []*torch.Tensor) {
	switch v := v.(type) {
	case *torch.Tensor:
		return []*torch.Tensor{v}
	case ir.PyTuple:
		for _, item := range v {
			all = append(all, tensorsOf(item)...)
		}
	case []any:
		for _, item := range v {
			all = append(all, tensorsOf(item)...)
		}
	}
	return all
}
