package vision_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx"
	"github.com/torchfx-go/torchfx/examples/vision"
	"github.com/torchfx-go/torchfx/export"
	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/nn"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// With torchvision's weights the networks return torchvision's bits, as Go code,
// as the graph of a trace, and as the folder that torch.fx wrote; and Python
// imports the folders written here and gets the same bits. TORCHFX_PYTHON names a
// Python that has torchvision and safetensors.
func TestAgainstTorchvision(t *testing.T) {
	python := testenv.Python(t)
	testenv.Libtorch(t)
	out := t.TempDir()
	script(t, python, "make", out)
	for _, name := range vision.Names {
		t.Run(name, func(t *testing.T) {
			t.Chdir(filepath.Join(out, name))
			compare(t, name)
		})
	}
	script(t, python, "check", out)
}

func script(t *testing.T, python, command, out string) {
	t.Helper()
	text, err := exec.Command(python, filepath.Join("..", "..", "scripts", "reference_vision.py"), command, out).CombinedOutput()
	require.NoError(t, err, "%s", text)
}

func compare(t *testing.T, name string) {
	m, err := vision.New(name)
	require.NoError(t, err)
	for _, file := range []string{"state.pt", "state.safetensors"} {
		missed, err := torchfx.LoadState(m, file)
		require.NoError(t, err)
		require.Empty(t, missed)
	}
	expected, after := bytesOf(t, "expected.safetensors"), bytesOf(t, "after.safetensors")
	s := torch.NewScope()
	defer s.Close()
	shape := []int{2, 3, 224, 224}
	x, err := torch.FromBytes(torch.Float32, shape, bytesOf(t, "input.safetensors")["x"])
	require.NoError(t, err)
	s.Add(x)

	check := func(mode, how string, run func() (any, error)) {
		require.NoError(t, torch.ManualSeed(11))
		out, err := run()
		require.NoError(t, err, how)
		results := tensors(t, out)
		for i, y := range results {
			data, err := y.Bytes()
			require.NoError(t, err)
			assert.Equal(t, expected[mode+"."+string(rune('0'+i))], data, "%s, %s, result %d", mode, how, i)
			_ = y.Close()
		}
	}
	nn.Train(m, false)
	check("eval", "model", func() (any, error) { return nn.Invoke(m, []any{x}, nil) })
	gm, err := torchfx.SymbolicTrace(m)
	require.NoError(t, err)
	check("eval", "graph", func() (any, error) { return interpreter.New(gm).Run(t.Context(), x) })

	require.NoError(t, torchfx.ToFolder(gm, "go", "Net", export.Complete())) // with the import of googlenet's annotation
	for _, folder := range []string{"python", "go"} {
		loaded, warnings, err := torchfx.LoadFolder(folder)
		require.NoError(t, err)
		assert.Empty(t, warnings)
		for _, v := range loaded.Attrs() {
			if layer, ok := v.(nn.Module); ok {
				nn.Train(layer, false)
			}
		}
		check("eval", "folder "+folder, func() (any, error) { return interpreter.New(loaded).Run(t.Context(), x) })
	}

	nn.Train(m, true)
	check("train", "model", func() (any, error) { return nn.Invoke(m, []any{x}, nil) })
	for key, y := range nn.StateDict(m) {
		data, err := y.Bytes()
		require.NoError(t, err)
		require.Equal(t, after[key], data, "%s after training mode", key)
	}
}

// bytesOf returns the tensors of a file of safetensors.
func bytesOf(t *testing.T, file string) map[string][]byte {
	t.Helper()
	f, err := export.OpenSafetensors(file)
	require.NoError(t, err)
	defer f.Close()
	all := map[string][]byte{}
	for _, name := range f.Names() {
		x, err := f.Tensor(name)
		require.NoError(t, err)
		data, err := x.Bytes()
		require.NoError(t, err)
		all[name] = append([]byte{}, data...)
	}
	return all
}
