package torchfx_test

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
	"github.com/torchfx-go/torchfx/export"
	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// Folders that PyTorch writes, of layers of every kind and of a module with graph
// modules in it, run here and give PyTorch's bits; written again they run in Python
// and give the same. TORCHFX_PYTHON names a Python that has torch and safetensors.
func TestFoldersAgainstPython(t *testing.T) {
	python := testenv.Python(t)
	testenv.Libtorch(t)
	out := t.TempDir()
	script := func(command string) {
		text, err := exec.Command(python, filepath.Join("scripts", "reference_folders.py"), command, out).CombinedOutput()
		require.NoError(t, err, "%s", text)
	}
	script("make")
	dirs, err := os.ReadDir(out)
	require.NoError(t, err)
	require.Greater(t, len(dirs), 50)
	for _, d := range dirs {
		t.Run(d.Name(), func(t *testing.T) {
			t.Chdir(filepath.Join(out, d.Name()))
			var parameters []string
			data, err := os.ReadFile("parameters.json")
			require.NoError(t, err)
			require.NoError(t, json.Unmarshal(data, &parameters))
			for _, folder := range []string{"python", "go"} {
				gm, warnings, err := torchfx.LoadFolder(folder)
				require.NoError(t, err)
				assert.Empty(t, warnings)
				evaluate(gm)
				compareRun(t, gm, folder)
				require.NoError(t, torchfx.ToFolder(gm, "go", "M"))
				require.NoError(t, interpreter.Check(gm))
			}
		})
	}
	if !t.Failed() {
		script("check")
	}
}

// evaluate puts the modules of a graph module into evaluation mode.
func evaluate(gm *ir.GraphModule) {
	for _, v := range gm.Attrs() {
		switch v := v.(type) {
		case nn.Module:
			nn.Train(v, false)
		case *ir.GraphModule:
			evaluate(v)
		}
	}
}

func compareRun(t *testing.T, gm *ir.GraphModule, folder string) {
	t.Helper()
	given, err := export.OpenSafetensors("inputs.safetensors")
	require.NoError(t, err)
	defer given.Close()
	var inputs []any
	for i := range given.Names() {
		inputs = append(inputs, tensorOf(t, given, fmt.Sprintf("i%d", i)))
	}
	out, err := interpreter.New(gm).Run(t.Context(), inputs...)
	require.NoError(t, err, folder)
	want, err := export.OpenSafetensors("expected.safetensors")
	require.NoError(t, err)
	defer want.Close()
	have := leaves(out)
	require.Len(t, have, len(want.Names()), folder)
	for i, x := range have {
		expected, err := want.Tensor(fmt.Sprintf("o%d", i))
		require.NoError(t, err)
		a, err := expected.Bytes()
		require.NoError(t, err)
		b, err := x.Bytes()
		require.NoError(t, err)
		assert.Equal(t, expected.DType, x.DType())
		assert.Equal(t, a, b, "%s, result %d", folder, i)
	}
}

func tensorOf(t *testing.T, f *export.Safetensors, name string) *torch.Tensor {
	t.Helper()
	x, err := f.Tensor(name)
	require.NoError(t, err)
	data, err := x.Bytes()
	require.NoError(t, err)
	shape := make([]int, len(x.Sizes))
	for i, n := range x.Sizes {
		shape[i] = int(n)
	}
	made, err := torch.FromBytes(x.DType, shape, data)
	require.NoError(t, err)
	return made
}

// leaves returns the tensors of a result in order.
func leaves(v any) (list []*torch.Tensor) {
	switch v := v.(type) {
	case *torch.Tensor:
		return []*torch.Tensor{v}
	case ir.PyTuple:
		for _, item := range v {
			list = append(list, leaves(item)...)
		}
	}
	return list
}
