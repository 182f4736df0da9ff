package setup

import (
	"archive/zip"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// A machine is a doctored one: PATH holds only what the test puts there, the
// wheels are a few bytes, and the bridge is text that a fake compiler copies.
type machine struct {
	t      *testing.T
	bin    string // the only folder on PATH
	home   string
	wheels string // what the fake pip can download: <project>.whl
	log    *recorder
	opts   Options
}

// Fake programs, as shell scripts that need nothing on PATH.
const (
	// without torch, with pip
	pythonOK = `case "$1" in
-c) echo '""' ;;
-m) shift 2
  case "$1" in
  --version) echo "pip 99.0 from nowhere (python 3)" ;;
  download)
    while [ $# -gt 0 ]; do
      case "$1" in
      --requirement) read -r line < "$2"; project="${line%%==*}" ;;
      --dest) dest="$2" ;;
      esac
      shift
    done
    echo "$project" >> "$FAKE_LOG"
    /bin/cp "$FAKE_WHEELS/$project.whl" "$dest/$project-1-py3-none-any.whl" ;;
  esac ;;
esac`
	pythonNoPip = `case "$1" in -c) echo '""' ;; *) echo "$0: No module named pip" >&2; exit 1 ;; esac`
	compilerOK  = `case "$1" in --version) echo "fake++ 1.0"; exit ;; esac
echo compiler >> "$FAKE_LOG"
while [ $# -gt 0 ]; do case "$1" in -o) out="$2" ;; esac; shift; done
/bin/cp bridge.cc "$out"`
	glibcOK = `echo "glibc 2.36"`
)

// pipFails is a Python whose pip prints text and fails.
func pipFails(text string) string {
	return `case "$1 $3" in "-c "*) echo '""' ;; "-m --version") echo "pip 99.0 from nowhere" ;; *) cat >&2 <<'EOT'
` + text + "\nEOT\nexit 1 ;; esac"
}

func newMachine(t *testing.T) *machine {
	if runtime.GOOS == "windows" {
		t.Skip("needs a POSIX shell")
	}
	dir := t.TempDir()
	m := &machine{t: t, bin: filepath.Join(dir, "bin"), home: filepath.Join(dir, "home"), wheels: filepath.Join(dir, "wheels"), log: new(recorder)}
	for _, d := range []string{m.bin, m.wheels} {
		require.NoError(t, os.Mkdir(d, 0o755))
	}
	t.Setenv("PATH", m.bin)
	t.Setenv("CXX", "")
	t.Setenv("LIBTORCH", "")
	t.Setenv("FAKE_WHEELS", m.wheels)
	t.Setenv("FAKE_LOG", filepath.Join(dir, "log"))
	m.program("python3", pythonOK)
	m.program("g++", compilerOK)
	m.program("getconf", glibcOK)
	cat, err := filepath.EvalSymlinks("/bin/cat")
	require.NoError(t, err)
	require.NoError(t, os.Symlink(cat, filepath.Join(m.bin, "cat")))

	p := &platform{
		goos: runtime.GOOS, goarch: runtime.GOARCH, tested: true, glibc: [2]int{2, 28},
		cpu: []component{
			torchCPU(m.wheel("torch", torchFiles(TorchVersion)), 1, "torch/lib/"+libName("torch_cpu"), "torch/lib/"+libName("c10")),
			nvidia(m.wheel("nvidia-cuda-runtime", map[string]string{
				"nvidia/cu13/lib/libcudart.so.13": "runtime", "nvidia/cu13/include/cuda.h": "left out"}), 1, "libcudart.so.13"),
		},
		cuda: []component{nvidia(m.wheel("nvidia-cublas", map[string]string{"nvidia/cu13/lib/libcublas.so.13": "blas"}), 1)},
	}
	m.opts = Options{Home: m.home, Report: m.log, platform: p, bridge: &bridge{
		library: library{"the bridge", "bridge.so", fstest.MapFS{"bridge.cc": {Data: []byte("source 1")}},
			func(includeDirs []string, libDir, out string) [][]string {
				return [][]string{{"-I" + includeDirs[0], "-L" + libDir, "-o", out}}
			}},
		abi: 7,
		try: func(string, string) (*Facts, error) { return &Facts{CPU: "FAKE2", CUDAWhy: "no driver"}, nil },
	}}
	return m
}

// torchFiles are the files of a small torch wheel of a version.
func torchFiles(version string) map[string]string {
	v := strings.Split(version, ".")
	lib := string(sharedLibrary())
	return map[string]string{
		"torch/lib/" + libName("torch_cpu"):                lib,
		"torch/lib/" + libName("c10"):                      lib,
		"torch/lib/" + libName("torch_python"):             "left out",
		"torch/__init__.py":                                "left out",
		"torch/include/ATen/core/dispatch/Dispatcher.h":    "// dispatcher",
		"torch-2.15.0.dist-info/licenses/LICENSE":          "BSD",
		"torch/include/torch/headeronly/version.h":         "#define TORCH_VERSION_MAJOR " + v[0] + "\n#define TORCH_VERSION_MINOR " + v[1] + "\n#define TORCH_VERSION_PATCH " + v[2] + "\n",
		"torch/include/torch/csrc/api/include/torch/all.h": "// all",
	}
}

// writeTorch puts these files below dir.
func writeTorch(t *testing.T, dir, version string) {
	t.Helper()
	for name, content := range torchFiles(version) {
		name = filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(t, os.WriteFile(name, []byte(content), 0o644))
	}
}

// torchDir is a folder with a libtorch of a version.
func (m *machine) torchDir(version string) string {
	dir := m.t.TempDir()
	writeTorch(m.t, dir, version)
	return filepath.Join(dir, "torch")
}

// sharedLibrary is a file that [needed] reads: the shell is one and small, and
// where it is not, the test program itself.
var sharedLibrary = sync.OnceValue(func() []byte {
	exe, err := os.Executable()
	if err != nil {
		panic(err)
	}
	for _, name := range []string{"/bin/sh", exe} {
		if _, _, err := neededOf(name); err == nil {
			if data, err := os.ReadFile(name); err == nil {
				return data
			}
		}
	}
	panic("neither the shell nor this program is a library")
})

// program puts a shell script on PATH.
func (m *machine) program(name, script string) {
	m.t.Helper()
	require.NoError(m.t, os.WriteFile(filepath.Join(m.bin, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755))
}

func (m *machine) remove(name string) {
	m.t.Helper()
	require.NoError(m.t, os.Remove(filepath.Join(m.bin, name)))
}

// wheel makes an archive that the fake pip downloads for the project.
func (m *machine) wheel(project string, files map[string]string) wheel {
	m.t.Helper()
	name := filepath.Join(m.wheels, project+".whl")
	writeZip(m.t, name, files)
	sum, err := fileSHA256(name)
	require.NoError(m.t, err)
	return wheel{project: project, version: "1", platform: "any", sha256: sum, size: 1}
}

func writeZip(t *testing.T, name string, files map[string]string) {
	t.Helper()
	f, err := os.Create(name)
	require.NoError(t, err)
	z := zip.NewWriter(f)
	for file, content := range files {
		w, err := z.CreateHeader(&zip.FileHeader{Name: file}) // stored: the library is large
		require.NoError(t, err)
		_, err = w.Write([]byte(content))
		require.NoError(t, err)
	}
	require.NoError(t, errors.Join(z.Close(), f.Close()))
}

// ran returns which programs worked, one word each, and forgets them.
func (m *machine) ran() []string {
	m.t.Helper()
	name := os.Getenv("FAKE_LOG")
	data, err := os.ReadFile(name)
	if !errors.Is(err, fs.ErrNotExist) {
		require.NoError(m.t, err)
		require.NoError(m.t, os.Remove(name))
	}
	return strings.Fields(string(data))
}

// files lists what lies in the home, without the lock.
func (m *machine) files() []string {
	m.t.Helper()
	var out []string
	require.NoError(m.t, filepath.WalkDir(m.home, func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && d.Name() != lockName {
			rel, _ := filepath.Rel(m.home, name)
			out = append(out, filepath.ToSlash(rel))
		}
		return err
	}))
	return out
}

// tool returns the path of a program of the real machine, or skips.
func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("needs %s", name)
	}
	return path
}

// recorder keeps what a set-up said.
type recorder struct {
	mu    sync.Mutex
	lines []string
}

func (r *recorder) Say(line string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, line)
}

func (r *recorder) Begin(what string, _ int64) Task {
	r.Say(what)
	return silent{}
}

func (r *recorder) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.lines, "\n")
}
