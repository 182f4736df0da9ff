package script_test

import (
	"context"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/script"
	torch "github.com/torchfx-go/torchfx/torchops"
)

const compile = `
import sys, torch
torch.set_num_threads(1)
class M(torch.nn.Module):
    def forward(self, x, y):
        return torch.relu(x @ y) * 2, x.sum(-1)
x = (torch.arange(12, dtype=torch.float32) - 6).reshape(3, 4)
batch = torch.export.Dim("batch", min=2, max=64)
program = torch.export.export(M(), (x, torch.ones(4, 2)), dynamic_shapes={"x": {0: batch}, "y": {}})
torch._inductor.aoti_compile_and_package(program, package_path=sys.argv[1])
`

// Python compiles a package and libtorch's loader runs it, from several goroutines.
// TORCHFX_PYTHON names a Python with torch; a C++ compiler is needed.
func TestPackage(t *testing.T) {
	python := testenv.Python(t)
	testenv.Libtorch(t)
	path := filepath.Join(t.TempDir(), "model.pt2")
	out, err := exec.Command(python, "-c", compile, path).CombinedOutput()
	require.NoError(t, err, "%s", out)
	p, err := script.OpenPackage(path, script.Runners(2))
	require.NoError(t, err)
	defer p.Close()
	metadata, err := p.Metadata()
	require.NoError(t, err)
	assert.Equal(t, "cpu", metadata["AOTI_DEVICE_KEY"])
	x, err := torch.From([]float32{-6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5}, 3, 4)
	require.NoError(t, err)
	y := torch.Ones(4, 2)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 10 {
				results, err := p.Run(context.Background(), x, y)
				if !assert.NoError(t, err) || !assert.Len(t, results, 2) {
					return
				}
				assert.Equal(t, []float32{0, 0, 0, 0, 28, 28}, data(t, results[0]))
				assert.Equal(t, []float32{-18, -2, 14}, data(t, results[1]))
			}
		})
	}
	wg.Wait()
	_, err = p.Run(context.Background(), x)
	require.Error(t, err)
	require.NoError(t, p.Close())
	_, err = p.Run(context.Background(), x, y)
	require.ErrorIs(t, err, ir.ErrClosed)
}

func TestPackageErrors(t *testing.T) {
	testenv.Libtorch(t)
	_, err := script.OpenPackage("testdata/values.pt")
	require.ErrorIs(t, err, ir.ErrInput)
	require.ErrorContains(t, err, "testdata/values.pt")
	_, err = script.OpenPackage("testdata/none.pt2")
	require.ErrorIs(t, err, ir.ErrInput)
	_, err = script.OpenPackage("testdata/values.pt", script.Runners(0))
	require.ErrorIs(t, err, ir.ErrValue)
}
