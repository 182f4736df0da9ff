package libtorch

import (
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/cgo/delegate"
	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
)

// TestDelegateSharesLibtorchsOpenMP looks at what is mapped: a second runtime would
// bring threads of its own.
func TestDelegateSharesLibtorchsOpenMP(t *testing.T) {
	openDelegate(t)
	maps, err := os.ReadFile("/proc/self/maps")
	require.NoError(t, err)
	all := regexp.MustCompile(`(?m)\S*/lib(?:gomp|omp|iomp5)[^/\n]*$`).FindAllString(string(maps), -1)
	slices.Sort(all)
	all = slices.Compact(all)
	require.Len(t, all, 1)
	dir, err := filepath.EvalSymlinks(testenv.Record(t).LibDir)
	require.NoError(t, err)
	file, err := filepath.EvalSymlinks(all[0])
	require.NoError(t, err)
	if _, err := os.Stat(filepath.Join(dir, filepath.Base(file))); err == nil {
		assert.Equal(t, dir, filepath.Dir(file), "libtorch's own")
	}
}

func TestDelegateFilesThatDoNotFit(t *testing.T) {
	path := testenv.Delegate(t)
	_, err := OpenDelegateFile(filepath.Join(t.TempDir(), "gone.so"))
	require.ErrorIs(t, err, ir.ErrMissing)
	_, err = OpenDelegateFile(testenv.Record(t).Bridge)
	require.ErrorIs(t, err, ir.ErrVersion)
	assert.ErrorContains(t, err, "not a delegate: no symbol tfx_delegate")
	text := filepath.Join(t.TempDir(), "text.so")
	require.NoError(t, os.WriteFile(text, []byte("no library"), 0o600))
	_, err = OpenDelegateFile(text)
	require.ErrorIs(t, err, ir.ErrVersion)
	d, err := OpenDelegateFile(path)
	require.NoError(t, err)
	again, err := OpenDelegateFile(path)
	require.NoError(t, err)
	assert.Same(t, d, again)
	assert.Equal(t, "oneDNN", d.Name)
}

// TestRegionsAndNaN states what becomes of NaN, which libtorch's operators keep.
func TestRegionsAndNaN(t *testing.T) {
	d := openDelegate(t)
	x := floats(t, []int64{1, 2}, float32(math.NaN()), 1)
	var lost []string
	for _, f := range functions() {
		var p delegate.Program
		p.Output(p.Eltwise(f.kind, p.Input(), f.alpha, f.beta), delegate.Contiguous)
		r, err := d.Compile(&p, nil)
		require.NoError(t, err)
		defer r.Close()
		c, err := r.Prepare([]*Tensor{x}, 1)
		require.NoError(t, err)
		defer c.Close()
		out, err := c.Run(t.Context(), []*Tensor{x})
		require.NoError(t, err)
		defer closeTensors(out)
		if !math.IsNaN(float64(values(t, out[0])[0])) {
			lost = append(lost, f.name)
		}
	}
	assert.Equal(t, []string{"relu", "relu6", "clamp", "hardsigmoid", "exp"}, lost, "as delegate/tfx_delegate.h says")
}
