package export

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/ir"
)

// someTensors are tensors of 8 bytes each.
func someTensors(names ...string) map[string]*Tensor {
	tensors := map[string]*Tensor{}
	for i, name := range names {
		tensors[name] = &Tensor{Storage: NewStorage([]byte{byte(i), 1, 2, 3, 4, 5, 6, 7}), DType: ir.Float32, Sizes: []int64{2}, Strides: []int64{1}}
	}
	return tensors
}

func TestShardedSafetensors(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model.safetensors.index.json")
	tensors := someTensors("layers.10.w", "layers.2.w", "head", "layers.2.b")
	require.NoError(t, WriteShardedSafetensors(path, tensors, map[string]string{"format": "pt"}, 16))
	files, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*"))
	require.NoError(t, err)
	assert.Equal(t, []string{"model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors", "model.safetensors.index.json"},
		[]string{filepath.Base(files[0]), filepath.Base(files[1]), filepath.Base(files[2])})

	f, err := OpenSafetensors(path)
	require.NoError(t, err)
	assert.Equal(t, []string{"head", "layers.2.b", "layers.2.w", "layers.10.w"}, f.Names())
	assert.Equal(t, map[string]string{"total_size": "32"}, f.Metadata())
	for name, want := range tensors {
		got, err := f.Tensor(name)
		require.NoError(t, err)
		assert.Equal(t, want.Storage.Bytes(), got.Storage.Bytes(), name)
	}
	_, err = f.Tensor("nobody")
	require.ErrorIs(t, err, ir.ErrKey)
	require.NoError(t, f.Close())
	_, err = f.Tensor("head")
	require.ErrorIs(t, err, ir.ErrClosed)

	assert.ErrorContains(t, WriteShardedSafetensors("model.json", tensors, nil, 16), "expected a name that ends in .safetensors.index.json")
}

func TestShardedSafetensorsFaults(t *testing.T) {
	tests := []struct{ name, index, says string }{
		{"no map", `{"metadata": {}}`, "expected a weight_map, got none"},
		{"no JSON", `{`, "not valid JSON"},
		{"a list", `[]`, "expected the index as an object, got a list"},
		{"a path that leads out", `{"weight_map": {"a": "../one.safetensors"}}`, `a: expected a file beside the index, got "../one.safetensors"`},
		{"a path of Windows", `{"weight_map": {"a": "x\\one.safetensors"}}`, "expected a file beside the index"},
		{"the folder", `{"weight_map": {"a": ".."}}`, "expected a file beside the index"},
		{"a missing file", `{"weight_map": {"a": "two.safetensors"}}`, "file two.safetensors: open"},
		{"a missing name", `{"weight_map": {"b": "one.safetensors"}}`, "expected b in one.safetensors, found no such name there"},
		{"a name twice", `{"weight_map": {"a": "one.safetensors", "a": "one.safetensors"}}`, "a is there twice"},
		{"an index in an index", `{"weight_map": {"a": "model.safetensors.index.json"}}`, "expected a header of at most"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			one, err := os.Create(filepath.Join(dir, "one.safetensors"))
			require.NoError(t, err)
			require.NoError(t, WriteSafetensors(one, someTensors("a"), nil))
			require.NoError(t, one.Close())
			path := filepath.Join(dir, "model.safetensors.index.json")
			require.NoError(t, os.WriteFile(path, []byte(tc.index), 0o600))
			_, err = OpenSafetensors(path)
			assert.ErrorContains(t, err, tc.says)
		})
	}
}
