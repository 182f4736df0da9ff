package libtorch

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	debugpkg "runtime/debug"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/install"
	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
)

// floats makes a float32 tensor that is closed with the test.
func floats(tb testing.TB, sizes []int64, v ...float32) *Tensor {
	tb.Helper()
	testenv.Libtorch(tb)
	data := make([]byte, 0, 4*len(v))
	for _, x := range v {
		data = binary.NativeEndian.AppendUint32(data, math.Float32bits(x))
	}
	t, err := NewTensor(ir.Float32, sizes, data)
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = t.Close() })
	return t
}

func ones(tb testing.TB, sizes ...int64) *Tensor {
	n := int64(1)
	for _, s := range sizes {
		n *= s
	}
	v := make([]float32, n)
	for i := range v {
		v[i] = 1
	}
	return floats(tb, sizes, v...)
}

// values reads a float32 tensor.
func values(tb testing.TB, v any) []float32 {
	tb.Helper()
	t, ok := v.(*Tensor)
	require.True(tb, ok, "expected a tensor, got %T", v)
	info, err := t.Info()
	require.NoError(tb, err)
	require.Equal(tb, ir.Float32, info.DType)
	data := make([]byte, 4*info.Numel)
	n, err := t.CopyBytes(data)
	require.NoError(tb, err)
	require.Equal(tb, len(data), n)
	out := make([]float32, info.Numel)
	for i := range out {
		out[i] = math.Float32frombits(binary.NativeEndian.Uint32(data[4*i:]))
	}
	return out
}

func find(tb testing.TB, op string) *Operator {
	tb.Helper()
	testenv.Libtorch(tb)
	o, err := Find(op)
	require.NoError(tb, err)
	return o
}

// call calls an operator in a mode and closes the results with the test.
func call(tb testing.TB, m *Mode, op string, args ...any) []any {
	tb.Helper()
	results, err := find(tb, op).Call(m, args)
	require.NoError(tb, err, op)
	tb.Cleanup(func() { closeAll(results) })
	return results
}

// resident returns the resident memory of the process in bytes.
func resident(tb testing.TB) int64 { return status(tb, "VmRSS:") << 10 }

// settled is resident without what Go's collector has not looked at yet.
func settled(tb testing.TB) int64 {
	debugpkg.FreeOSMemory()
	return resident(tb)
}

// osThreads returns how many OS threads the process has.
func osThreads(tb testing.TB) int64 { return status(tb, "Threads:") }

func status(tb testing.TB, key string) int64 {
	tb.Helper()
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		tb.Skip("SKIPPED, needs /proc/self/status")
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, key); ok {
			n, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			require.NoError(tb, err)
			return n
		}
	}
	tb.Fatalf("no %s in /proc/self/status", key)
	return 0
}

// testOps opens the operators of testdata/ops.cc, which it compiles where that was
// not done before with the same source and libtorch.
func testOps(tb testing.TB) {
	tb.Helper()
	testenv.Libtorch(tb)
	require.NoError(tb, buildOps())
}

var buildOps = sync.OnceValue(func() error {
	r, err := install.Read(install.Home())
	if err != nil {
		return err
	}
	source, err := os.ReadFile("testdata/ops.cc")
	if err != nil {
		return err
	}
	sum := sha256.Sum256(append(source, r.TorchVersion+r.LibDir...))
	dir := filepath.Join(install.Home(), "bridge", "test-"+hex.EncodeToString(sum[:8]))
	lib := filepath.Join(dir, "libops.so")
	if _, err := os.Stat(lib); err != nil {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		made := lib + "." + strconv.Itoa(os.Getpid())
		args := []string{"-std=c++20", "-O1", "-fPIC", "-shared", "-w"}
		for _, inc := range r.IncludeDirs {
			args = append(args, "-isystem", inc)
		}
		args = append(args, "testdata/ops.cc", "-o", made, "-L"+r.LibDir, "-Wl,-rpath,"+r.LibDir, "-ltorch_cpu", "-lc10",
			"-Wl,--unresolved-symbols=ignore-in-shared-libs")
		if text, err := exec.Command("c++", args...).CombinedOutput(); err != nil {
			return ir.Errorf(ir.ErrMissing, "compile testdata/ops.cc: %w\n%s", err, text)
		}
		if err := os.Rename(made, lib); err != nil {
			return err
		}
	}
	return OpenLibrary(lib)
})
