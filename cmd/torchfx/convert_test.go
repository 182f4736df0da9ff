package main

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/export"
	"github.com/torchfx-go/torchfx/internal/testenv"
)

func testdataOf(parts ...string) string {
	return filepath.Join(append([]string{"..", "..", "export", "testdata"}, parts...)...)
}

func TestInspectTellsWhatAFileIs(t *testing.T) {
	tests := []struct {
		name, path string
		says       []string
	}{
		{"a program", linearProgram, []string{": exported program, 7.6 kB\n", "written by torch 2.15.0", "inputs     x: f32[s77, 3]", "dynamic    2 <= s77 <= 64",
			"operators  1, called 1 times: aten::linear ×1", "tensors    2, 8 elements, 32 bytes", "l.weight: float32[2 3] parameter, 24 bytes"}},
		{"a checkpoint", testdataOf("torchsave", "checkpoint.pt"), []string{": torch.save, 6.6 kB\n", "optimizer.state.0.exp_avg: float32[2 3], 24 bytes"}},
		{"a checkpoint from before torch 1.6", testdataOf("torchsave", "legacy_checkpoint.pt"), []string{": torch.save, "}},
		{"a folder", testdataOf("programs"), []string{": folder\n", "linear.pt2: exported program\n"}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			code, stdout, stderr := invoke(nil, "inspect", tc.path)
			require.Zero(t, code, stderr)
			for _, text := range tc.says {
				assert.Contains(t, stdout, text)
			}
		})
	}
	code, _, stderr := invoke(nil, "inspect", "inspect.go")
	assert.Equal(t, exitFailed, code)
	assert.Contains(t, stderr, "not a zip archive")
}

func TestInspectNamesWhatIsMissing(t *testing.T) {
	file := testenv.Fixtures(t, "pt2", "2.15.0", "custom_op", "model.pt2")
	code, stdout, stderr := invoke(nil, "inspect", "--json", file)
	require.Zero(t, code, stderr)
	var r inspectReport
	require.NoError(t, json.Unmarshal([]byte(stdout), &r))
	assert.Equal(t, "exported program", r.Format)
	require.Len(t, r.Missing, 3)
	assert.Contains(t, r.Missing[0], "unknown operator fixtures::halves.default")
	assert.Equal(t, []checkValue{{"x", "f32[4]"}}, r.Program.Inputs)
	assert.Equal(t, []checkValue{{"add", "f32[2]"}}, r.Program.Outputs)
}

// TestConvertAround takes weights through every format; they arrive as they were.
func TestConvertAround(t *testing.T) {
	dir := t.TempDir()
	want, err := export.OpenTensors(linearProgram)
	require.NoError(t, err)
	defer want.Close()
	require.Len(t, want.Names, 2)
	from := linearProgram
	for _, to := range []string{"a.safetensors", "b.pt", "c.safetensors.index.json", "d.npz", "e.pth"} {
		to = filepath.Join(dir, to)
		code, stdout, stderr := invoke(nil, "convert", "--shard-size", "16", from, to)
		require.Zero(t, code, stderr)
		assert.Empty(t, stdout+stderr)
		got, err := export.OpenTensors(to)
		require.NoError(t, err)
		require.Len(t, got.Names, 2)
		for name, w := range want.Tensors {
			x, err := w.Bytes()
			require.NoError(t, err)
			y, err := got.Tensors[name].Bytes()
			require.NoError(t, err)
			assert.Equal(t, x, y, "%s in %s", name, to)
		}
		require.NoError(t, got.Close())
		from = to
	}
}

func TestConvertPrograms(t *testing.T) {
	old := testenv.Fixtures(t, "pt2", "2.5.1", "linear_relu", "model.pt2")
	dir := t.TempDir()
	fresh, weights, both := filepath.Join(dir, "new.pt2"), filepath.Join(dir, "w.safetensors"), filepath.Join(dir, "both.pt2")
	for _, line := range [][]string{
		{"convert", old, fresh}, {"convert", fresh, weights}, {"convert", "--weights", weights, old, both},
	} {
		code, _, stderr := invoke(nil, line...)
		require.Zero(t, code, stderr)
	}
	p, err := export.Open(both)
	require.NoError(t, err)
	defer p.Close()
	assert.Equal(t, 8, p.SchemaMajor)
	assert.Equal(t, "2.5.1+cu124", p.TorchVersion)
	assert.Equal(t, "torchfx", p.Writer)

	two := filepath.Join(dir, "two.pt2")
	code, _, stderr := invoke(nil, "convert", testenv.Fixtures(t, "pt2", "2.15.0", "two_models", "model.pt2"), two)
	require.Zero(t, code, stderr)
	names, err := export.Models(two)
	require.NoError(t, err)
	assert.Len(t, names, 2)
}

func TestConvertRefuses(t *testing.T) {
	dir := t.TempDir()
	tests := []struct {
		name string
		line []string
		says string
	}{
		{"an unknown end", []string{linearProgram, filepath.Join(dir, "x.onnx")}, "expected a name that ends in .pt2, .pt"},
		{"several tensors as one array", []string{linearProgram, filepath.Join(dir, "x.npy")}, "expected one tensor, got 2"},
		{"tensors as a program", []string{testdataOf("torchsave", "checkpoint.pt"), filepath.Join(dir, "x.pt2")}, "this is a torch.save file"},
		{"weights for tensors", []string{"--weights", "w.pt", linearProgram, filepath.Join(dir, "x.pt")}, "--weights: expected a .pt2 file"},
		{"a key that is not there", []string{"--key", "nobody", testdataOf("torchsave", "checkpoint.pt"), filepath.Join(dir, "x.pt")}, `no key "nobody"`},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			code, _, stderr := invoke(nil, append([]string{"convert"}, tc.line...)...)
			assert.Equal(t, exitFailed, code)
			assert.Contains(t, stderr, tc.says)
			left, err := filepath.Glob(filepath.Join(dir, "*"))
			require.NoError(t, err)
			assert.Empty(t, left)
		})
	}
}
