package interpreter_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

const compilePackage = `
import sys, torch
torch.set_num_threads(1)
class M(torch.nn.Module):
    def forward(self, pair, *, scale):
        x, y = pair
        return {"product": torch.relu(x @ y) * scale, "sums": [x.sum(-1)]}
x = (torch.arange(12, dtype=torch.float32) - 6).reshape(3, 4)
program = torch.export.export(M(), ((x, torch.ones(4, 2)),), {"scale": torch.tensor(2.0)})
torch._inductor.aoti_compile_and_package(program, package_path=sys.argv[1])
`

// A package that Python compiles takes and returns what forward does, nested as there.
// TORCHFX_PYTHON names a Python with torch; a C++ compiler is needed.
func TestOpenAOTI(t *testing.T) {
	python := testenv.Python(t)
	needLibtorch(t)
	path := filepath.Join(t.TempDir(), "model.pt2")
	out, err := exec.Command(python, "-c", compilePackage, path).CombinedOutput()
	require.NoError(t, err, "%s", out)
	p, err := interpreter.OpenAOTI(path, interpreter.WithWorkers(2))
	require.NoError(t, err)
	defer p.Close()
	pair := ir.PyTuple{tensor(t, []float32{-6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5}, 3, 4), torch.Ones([]int{4, 2})}
	keywords := map[string]any{"scale": tensor(t, []float32{2})}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 10 {
				v, err := p.Call(context.Background(), []any{pair}, keywords)
				if !assert.NoError(t, err) {
					return
				}
				result := v.(*ir.PyDict)
				product, _ := result.Get("product")
				sums, _ := result.Get("sums")
				assert.Equal(t, []float32{0, 0, 0, 0, 28, 28}, elements(t, product))
				assert.Equal(t, []float32{-18, -2, 14}, elements(t, sums.([]any)[0]))
				closeResult(v)
			}
		})
	}
	wg.Wait()
	_, err = p.Run(t.Context(), pair)
	assert.ErrorIs(t, err, ir.ErrInput, "without its keyword")
	for want, x := range map[string]*torch.Tensor{
		"input_handles[0]: unmatched dim value at 0, expected: 3, but got: 2": torch.Ones([]int{2, 4}),
		"input_handles[0]: unmatched stride value at 0":                       torch.Ones([]int{4, 3}).T(),
		"input_handles[0]: unmatched dtype":                                   torch.Ones([]int{3, 4}).Double(),
	} {
		_, err = p.Call(t.Context(), []any{ir.PyTuple{x, pair[1]}}, keywords)
		assert.ErrorIs(t, err, ir.ErrInput)
		assert.ErrorContains(t, err, want)
	}
	_, err = interpreter.OpenAOTI(path, interpreter.AOTIModel("other"))
	assert.ErrorIs(t, err, ir.ErrInput)
	assert.ErrorContains(t, err, `expected a program "other", got model`)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = p.Call(ctx, []any{pair}, keywords)
	assert.ErrorIs(t, err, ir.ErrCancelled)
	require.NoError(t, p.Close())
	_, err = p.Call(t.Context(), []any{pair}, keywords)
	assert.ErrorIs(t, err, ir.ErrClosed)
}

func TestOpenAOTIRefusesOtherFiles(t *testing.T) {
	needLibtorch(t)
	path := filepath.Join(t.TempDir(), "model.pt2")
	require.NoError(t, os.WriteFile(path, []byte("no archive"), 0o600))
	_, err := interpreter.OpenAOTI(path)
	assert.ErrorIs(t, err, ir.ErrInput)
	assert.ErrorContains(t, err, "not a valid zip file")
	_, err = interpreter.OpenAOTI("missing.pt2")
	assert.ErrorContains(t, err, "missing.pt2: no such file")
	_, err = interpreter.OpenAOTI(filepath.Join("..", "examples", "digits", "testdata", "digits.pt2"))
	assert.ErrorIs(t, err, ir.ErrInput)
	assert.ErrorContains(t, err, "torchfx.Load opens what torch.export.save wrote")
}
