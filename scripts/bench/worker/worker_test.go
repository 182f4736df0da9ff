package worker

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestQuantile(t *testing.T) {
	hundred := make([]time.Duration, 100)
	for i := range hundred {
		hundred[i] = time.Duration(i + 1)
	}
	for _, c := range []struct {
		name   string
		sorted []time.Duration
		q      float64
		want   time.Duration
	}{
		{"middle of a hundred", hundred, 0.5, 50},
		{"99 of a hundred", hundred, 0.99, 99},
		{"least", hundred, 0, 1},
		{"largest", hundred, 1, 100},
		{"of one", hundred[:1], 0.99, 1},
		{"of two", hundred[:2], 0.99, 2},
	} {
		t.Run(c.name, func(t *testing.T) { require.Equal(t, c.want, quantile(c.sorted, c.q)) })
	}
}

func TestAnswer(t *testing.T) {
	var runs atomic.Int64
	n := &Network{Run: func() error { runs.Add(1); time.Sleep(time.Millisecond); return nil }}
	ask := func(line string, into ...any) {
		var b bytes.Buffer
		require.NoError(t, n.answer(&b, line))
		got, err := fmt.Sscan(b.String(), into...)
		require.NoError(t, err)
		require.Equal(t, len(into), got)
	}
	var wall, cpu, count, p50, p99, peak int64
	ask("run 3", &wall, &cpu)
	require.EqualValues(t, 3, runs.Load())
	require.GreaterOrEqual(t, wall, 3*time.Millisecond.Nanoseconds())
	runs.Store(0)
	ask("load 4 20", &count, &wall, &p50, &p99)
	require.Equal(t, runs.Load(), count)
	require.GreaterOrEqual(t, count, int64(4))
	require.GreaterOrEqual(t, wall, 20*time.Millisecond.Nanoseconds())
	require.GreaterOrEqual(t, p50, time.Millisecond.Nanoseconds())
	require.GreaterOrEqual(t, p99, p50)
	ask("memory", &peak)
	touched := make([]byte, 64<<20)
	for i := range touched {
		touched[i] = 1
	}
	before := peak
	ask("memory", &peak)
	runtime.KeepAlive(touched)
	require.GreaterOrEqual(t, peak, before+(32<<20))
	for _, line := range []string{"", "run", "walk 3", "load 1"} {
		require.ErrorContains(t, n.answer(&bytes.Buffer{}, line), "expected run, load or memory")
	}
}

func TestAnswerFails(t *testing.T) {
	broken := errors.New("broken")
	n := &Network{Run: func() error { return broken }}
	for _, line := range []string{"run 1", "load 2 5"} {
		require.ErrorIs(t, n.answer(&bytes.Buffer{}, line), broken)
	}
}

func TestDifference(t *testing.T) {
	dir := t.TempDir()
	var want []byte
	for _, x := range []float32{1, -4, 2} {
		want = binary.LittleEndian.AppendUint32(want, math.Float32bits(x))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "output.bin"), want, 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "inputs.json"), []byte(`{"inputs": [], "output": {"name": "output", "dtype": "float32", "shape": [3], "file": "output.bin"}}`), 0o644))
	m, err := ReadManifest(dir)
	require.NoError(t, err)
	zeros := &Manifest{Output: Value{File: "zeros.bin"}, folder: dir}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "zeros.bin"), make([]byte, 8), 0o644))
	_, err = zeros.Difference([]float32{0, 0})
	require.ErrorContains(t, err, "zero everywhere")
	nan := float32(math.NaN())
	for _, c := range []struct {
		name string
		got  []float32
		want float64
		err  string
	}{
		{"equal", []float32{1, -4, 2}, 0, ""},
		{"apart by one of four", []float32{2, -4, 2}, 0.25, ""},
		{"too few", []float32{1}, 0, "expected a result of 3 elements, got 1"},
		{"not a number", []float32{1, nan, 2}, 0, "element 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := m.Difference(c.got)
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
			require.InDelta(t, c.want, got, 1e-12)
		})
	}
}
