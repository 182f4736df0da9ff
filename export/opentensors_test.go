package export

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/ir"
)

func TestOpenTensors(t *testing.T) {
	saved := func(name string) string { return filepath.Join("testdata", "torchsave", name+".pt") }
	tests := []struct {
		name, path string
		keys       []string
		want       string
	}{
		{"a state dict", saved("state_dict"), nil, ""},
		{"a checkpoint", saved("checkpoint"), []string{"model"}, ""},
		{"a tensor", saved("tensor"), nil, "tensor"},
		{"a layer", saved("layers"), nil, ""},
		{"a graph module", saved("graph_module"), nil, ""},
		{"TorchScript", scriptFile("values"), nil, "count fc.weight fc.bias"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			f, err := OpenTensors(tc.path, tc.keys...)
			require.NoError(t, err)
			defer f.Close()
			require.NotEmpty(t, f.Names)
			require.Len(t, f.Tensors, len(f.Names))
			if tc.want != "" {
				assert.Equal(t, tc.want, strings.Join(f.Names, " "))
			}
			for name, x := range f.State() {
				_, err := x.Bytes()
				require.NoError(t, err, name)
			}
		})
	}
	_, err := OpenTensors(scriptFile("values"), "model")
	require.ErrorIs(t, err, ir.ErrValue)
	_, err = OpenTensors(filepath.Join("testdata", "programs"))
	require.ErrorIs(t, err, ir.ErrUnsupported)
}

// The state dict of a module, of whatever class, has Python's names.
func TestModuleState(t *testing.T) {
	s, err := OpenTorchSave(filepath.Join("testdata", "torchsave", "graph_module.pt"), Classes(func(string) bool { return true }))
	require.NoError(t, err)
	defer s.Close()
	names, tensors, ok := s.ModuleState()
	require.True(t, ok)
	for _, name := range names {
		assert.NotContains(t, name, "_parameters")
		assert.NotNil(t, tensors[name])
	}
	s, err = OpenTorchSave(filepath.Join("testdata", "torchsave", "state_dict.pt"))
	require.NoError(t, err)
	defer s.Close()
	_, _, ok = s.ModuleState()
	assert.False(t, ok)
}

func TestNpyHeaders(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "numpy", "*.np[yz]"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			if strings.HasSuffix(file, ".npy") {
				want, err := ReadNpy(strings.NewReader(string(data)))
				got, err2 := ReadNpyHeader(strings.NewReader(string(data)), int64(len(data)))
				assert.Equal(t, fmt.Sprint(err), fmt.Sprint(err2))
				if err == nil {
					want.Storage = nil
					assert.Equal(t, want, got)
				}
				return
			}
			z, err := OpenNpz(file)
			require.NoError(t, err)
			defer z.Close()
			for _, name := range z.Names() {
				want, err := z.Tensor(name)
				got, err2 := z.Header(name)
				assert.Equal(t, fmt.Sprint(err), fmt.Sprint(err2))
				if err == nil {
					want.Storage = nil
					assert.Equal(t, want, got)
				}
			}
		})
	}
	whole := npyMagic + "\x01\x00\x46\x00{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }"
	for n := range len(whole) {
		_, err := ReadNpyHeader(strings.NewReader(whole[:n]), int64(n))
		require.ErrorIs(t, err, ir.ErrFormat, "%d bytes", n)
	}
}
