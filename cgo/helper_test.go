package libtorch

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	debugpkg "runtime/debug"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

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
	require.NoError(tb, openOps())
}

var openOps = sync.OnceValue(func() error {
	lib, err := testenv.BuildLibrary(filepath.Join("testdata", "ops.cc"))
	if err != nil {
		return err
	}
	return OpenLibrary(lib)
})
