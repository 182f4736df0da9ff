package setup

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// cudaTorch is a torch of 2.11 with a CUDA half, and what stands beside it.
func (m *machine) cudaTorch(headers string) string {
	dir := m.torchDir("2.11.0")
	require.NoError(m.t, os.WriteFile(filepath.Join(dir, "lib", libName("torch_cuda")), nil, 0o644))
	if headers != "" {
		include := filepath.Join(filepath.Dir(dir), "nvidia", filepath.FromSlash(headers), "include")
		require.NoError(m.t, os.MkdirAll(include, 0o755))
		require.NoError(m.t, os.WriteFile(filepath.Join(include, "cuda_runtime_api.h"), nil, 0o644))
	}
	return dir
}

func TestGraphsAreCompiledWhereTheirHeadersAre(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("CUDA is for Linux here")
	}
	t.Setenv("CUDA_HOME", "")
	tests := []struct {
		name, headers string
		want          []string
	}{
		{"of today's packages", "cu13", []string{"compiler", "compiler"}},
		{"of the packages before", "cuda_runtime", []string{"compiler", "compiler"}},
		{"not there", "", []string{"compiler"}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			if _, err := os.Stat("/usr/local/cuda/include/cuda_runtime_api.h"); err == nil && tc.headers == "" {
				t.Skip("CUDA is installed")
			}
			m := newMachine(t)
			graphs := m.opts.bridge.library
			graphs.what, graphs.name = "the library for CUDA graphs", "graphs.so"
			m.opts.bridge.graphs = &graphs
			t.Setenv("LIBTORCH", m.cudaTorch(tc.headers))
			r, err := Run(t.Context(), m.opts)
			require.NoError(t, err)
			assert.Equal(t, tc.want, m.ran())
			made := isFile(filepath.Join(filepath.Dir(r.Record.Bridge), "graphs.so"))
			assert.Equal(t, tc.headers != "", made, "beside the bridge")
			r, err = Run(t.Context(), m.opts)
			require.NoError(t, err)
			assert.False(t, r.Changed)
			assert.Empty(t, m.ran())
		})
	}
}

// Without them all else works: a compiler that fails on them is told of, once.
func TestGraphsThatDoNotCompile(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("CUDA is for Linux here")
	}
	m := newMachine(t)
	graphs := m.opts.bridge.library
	graphs.what, graphs.name = "the library for CUDA graphs", "graphs.so"
	graphs.steps = func([]string, string, string) [][]string { return [][]string{{"-fails"}} }
	m.opts.bridge.graphs = &graphs
	m.program("g++", `case "$1" in -fails) echo "graphs.cc:1: error: no such thing" >&2; exit 1 ;; esac
`+compilerOK)
	t.Setenv("LIBTORCH", m.cudaTorch("cu13"))
	r, err := Run(t.Context(), m.opts)
	require.NoError(t, err)
	assert.True(t, r.Changed)
	assert.Contains(t, m.log.text(), "no CUDA graphs: ")
	assert.Contains(t, r.Record.Extra["graphs"], "no such thing")
	r, err = Run(t.Context(), m.opts)
	require.NoError(t, err)
	assert.False(t, r.Changed, "it is not tried again before something changes")
}

func TestCUDATextTellsOfGraphs(t *testing.T) {
	for want, f := range map[string]Facts{
		"no: no driver":               {CUDAWhy: "no driver", GraphsWhy: "there is no CUDA"},
		"1 device, graphs":            {CUDA: 1},
		"2 devices, no graphs: a why": {CUDA: 2, GraphsWhy: "a why"},
	} {
		assert.Equal(t, want, f.CUDAText())
	}
}
