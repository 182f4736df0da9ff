package export

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/ir"
)

// savedFolders returns the recorded cases of torch.fx that hold a saved folder.
func savedFolders(t *testing.T) []string {
	dirs, err := filepath.Glob(filepath.Join(fixtures(t, "fx"), "*", "folder"))
	require.NoError(t, err)
	require.NotEmpty(t, dirs)
	return dirs
}

func bytesOf(t *testing.T, tensor *Tensor) []byte {
	b, err := tensor.Bytes()
	require.NoError(t, err)
	return b
}

// TestFolderState reads what torch.save wrote and compares with the same state as
// safetensors.
func TestFolderState(t *testing.T) {
	for _, dir := range savedFolders(t) {
		t.Run(filepath.Base(filepath.Dir(dir)), func(t *testing.T) {
			saved, err := OpenState(filepath.Join(dir, "state_dict.pt"))
			require.NoError(t, err)
			defer func() { require.NoError(t, saved.Close()) }()
			want, err := OpenState(filepath.Join(dir, "state_dict.safetensors"))
			require.NoError(t, err)
			defer func() { require.NoError(t, want.Close()) }()
			require.ElementsMatch(t, want.Names, saved.Names)
			for name, x := range want.Tensors {
				y, ok := saved.Tensors[name]
				require.True(t, ok)
				assert.Equal(t, x.DType, y.DType, name)
				assert.True(t, slices.Equal(x.Sizes, y.Sizes), name)
				assert.Equal(t, bytesOf(t, x), bytesOf(t, y), name)
			}
		})
	}
}

func numbers(t *testing.T, d ir.DType, offset int64, sizes, strides []int64, s *Storage) *Tensor {
	return &Tensor{Storage: s, DType: d, Sizes: sizes, Strides: strides, Offset: offset}
}

func TestWriteState(t *testing.T) {
	shared := NewStorage([]byte(strings.Repeat("abcd", 8)))
	in := map[string]*Tensor{
		"a.weight": numbers(t, ir.Float32, 0, []int64{2, 3}, []int64{3, 1}, shared),
		"a.view":   numbers(t, ir.Float32, 1, []int64{3, 2}, []int64{1, 3}, shared),
		"scalar":   numbers(t, ir.Int64, 0, []int64{}, []int64{}, NewStorage(make([]byte, 8))),
		"empty":    numbers(t, ir.Float16, 0, []int64{0, 4}, []int64{4, 1}, NewStorage(nil)),
		"small":    numbers(t, ir.Float8E5M2, 2, []int64{3}, []int64{1}, NewStorage([]byte("wxyzv"))),
		"ünïcode":  numbers(t, ir.Bool8, 0, []int64{1}, []int64{1}, NewStorage([]byte{1})),
	}
	names := []string{"scalar", "a.weight", "empty", "a.view", "small", "ünïcode"}
	var file bytes.Buffer
	require.NoError(t, WriteState(&file, func(yield func(string, *Tensor) bool) {
		for _, n := range names {
			if !yield(n, in[n]) {
				return
			}
		}
	}))
	saved, err := ReadTorchSave(bytes.NewReader(file.Bytes()), int64(file.Len()))
	require.NoError(t, err)
	order, tensors, err := saved.StateDict()
	require.NoError(t, err)
	require.Equal(t, names, order)
	for name, got := range tensors {
		want := in[name]
		assert.Equal(t, want.DType, got.DType, name)
		assert.Equal(t, want.Sizes, got.Sizes, name)
		assert.Equal(t, want.Strides, got.Strides, name)
		assert.Equal(t, bytesOf(t, want), bytesOf(t, got), name)
	}
	assert.Same(t, tensors["a.weight"].Storage, tensors["a.view"].Storage)

	err = WriteState(&file, func(yield func(string, *Tensor) bool) { yield("x", &Tensor{}) })
	require.ErrorContains(t, err, "write state x: expected a tensor with a storage")
}
