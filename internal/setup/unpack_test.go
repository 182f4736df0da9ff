package setup

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// buildLibrary compiles a shared library that needs the given ones of dir.
func buildLibrary(t *testing.T, cxx, file string, args ...string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	src := filepath.Join(t.TempDir(), "empty.cc")
	require.NoError(t, os.WriteFile(src, nil, 0o644))
	out, err := exec.Command(cxx, append([]string{"-shared", "-fPIC", "-o", file, src}, args...)...).CombinedOutput()
	require.NoError(t, err, string(out))
}

// A linux wheel as the real one is built: libtorch_cpu needs libgomp beside it,
// which needs another one, and finds cudart in the tree of another wheel.
func TestLibrariesBringWhatTheyNeed(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("makes libraries as Linux has them")
	}
	cxx := tool(t, "g++")
	site := t.TempDir()
	lib := filepath.Join(site, "torch", "lib")
	cuda := filepath.Join(site, "nvidia", "cu13", "lib")
	link := func(dir, name string) []string {
		return []string{"-Wl,--no-as-needed", "-L" + dir, "-l:" + name, "-Wl,-rpath,$ORIGIN/../../nvidia/cu13/lib:$ORIGIN", "-Wl,--disable-new-dtags"}
	}
	buildLibrary(t, cxx, filepath.Join(lib, "libdeep.so.2"))
	buildLibrary(t, cxx, filepath.Join(lib, "libgomp.so.1"), link(lib, "libdeep.so.2")...)
	buildLibrary(t, cxx, filepath.Join(lib, "libother.so"))
	buildLibrary(t, cxx, filepath.Join(lib, "libc10.so"))
	buildLibrary(t, cxx, filepath.Join(cuda, "libcudart.so.13"))
	buildLibrary(t, cxx, filepath.Join(lib, "libtorch_cpu.so"), append(link(lib, "libgomp.so.1"), link(cuda, "libcudart.so.13")...)...)
	assert.Equal(t, []string{cuda}, runtimeDirs(lib))

	files := map[string]string{"torch/lib/libtorch_python.so": "no library at all"}
	for _, name := range []string{"libdeep.so.2", "libgomp.so.1", "libother.so", "libc10.so", "libtorch_cpu.so"} {
		data, err := os.ReadFile(filepath.Join(lib, name))
		require.NoError(t, err)
		files["torch/lib/"+name] = string(data)
	}
	dir, stage := t.TempDir(), t.TempDir()
	wheelFile := filepath.Join(t.TempDir(), "torch.whl")
	writeZip(t, wheelFile, files)
	c := torchCPU(wheel{sha256: "x"}, 0, "torch/lib/libtorch_cpu.so", "torch/lib/libc10.so")
	require.NoError(t, c.unpack(t.Context(), wheelFile, dir, stage, silent{}))
	got, err := filepath.Glob(filepath.Join(dir, "torch", "lib", "*"))
	require.NoError(t, err)
	for i := range got {
		got[i] = filepath.Base(got[i])
	}
	assert.Equal(t, []string{"libc10.so", "libdeep.so.2", "libgomp.so.1", "libtorch_cpu.so"}, got)
	assert.True(t, c.unpackedIn(dir))
	require.NoError(t, os.Remove(filepath.Join(dir, "torch", "lib", "libdeep.so.2")))
	assert.False(t, c.unpackedIn(dir), "what is needed is part of the component")
}

// A file that is there already and right keeps its inode: a running program may
// have it mapped.
func TestUnpackLeavesWhatIsRight(t *testing.T) {
	dir, stage := t.TempDir(), t.TempDir()
	c := nvidia(wheel{project: "p", sha256: "x"}, 0)
	wheelFile := filepath.Join(t.TempDir(), "p.whl")
	writeZip(t, wheelFile, map[string]string{"nvidia/a/lib/liba.so": "aaaa", "nvidia/a/lib/libb.so": "bbbb"})
	place := func(name string) string { return filepath.Join(dir, "nvidia", "a", "lib", name) }
	require.NoError(t, c.unpack(t.Context(), wheelFile, dir, stage, silent{}))
	before, err := os.Stat(place("liba.so"))
	require.NoError(t, err)

	require.NoError(t, os.WriteFile(place("libb.so"), []byte("bbxb"), 0o644)) // same size, other content
	require.NoError(t, c.unpack(t.Context(), wheelFile, dir, stage, silent{}))
	after, err := os.Stat(place("liba.so"))
	require.NoError(t, err)
	assert.True(t, os.SameFile(before, after))
	data, err := os.ReadFile(place("libb.so"))
	require.NoError(t, err)
	assert.Equal(t, "bbbb", string(data))
	left, err := os.ReadDir(stage)
	require.NoError(t, err)
	assert.Empty(t, left)
}

func TestUnpackRefuses(t *testing.T) {
	tests := []struct {
		name  string
		files map[string]string
		say   string
	}{
		{"a way out", map[string]string{"nvidia/../../evil/lib/liba.so": ""}, "leads outside"},
		{"an absolute path", map[string]string{"/nvidia/lib/liba.so": ""}, "leads outside"},
		{"nothing that is meant", map[string]string{"readme.txt": ""}, "got none"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			wheelFile := filepath.Join(t.TempDir(), "p.whl")
			writeZip(t, wheelFile, tc.files)
			dir := t.TempDir()
			c := nvidia(wheel{project: "p", sha256: "x"}, 0)
			err := c.unpack(t.Context(), wheelFile, dir, t.TempDir(), silent{})
			assert.ErrorContains(t, err, tc.say)
			assert.False(t, c.unpackedIn(dir))
		})
	}
	c := nvidia(wheel{project: "p", sha256: "x"}, 0)
	broken := filepath.Join(t.TempDir(), "p.whl")
	require.NoError(t, os.WriteFile(broken, []byte("PK no"), 0o644))
	assert.ErrorContains(t, c.unpack(t.Context(), broken, t.TempDir(), t.TempDir(), silent{}), "zip:")
}
