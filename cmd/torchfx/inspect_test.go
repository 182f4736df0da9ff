package main

import (
	"bytes"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/export"
)

// TestInspectDamaged looks into damaged files of every format: each is told or refused,
// in bounded time. Seeds are fixed.
func TestInspectDamaged(t *testing.T) {
	dir := t.TempDir()
	files := []string{
		linearProgram, scriptProgram("values"), scriptProgram("loop"),
		testdataOf("torchsave", "graph_module_nested.pt"), testdataOf("torchsave", "layers.pt"), testdataOf("torchsave", "python_class.pt"),
		testdataOf("torchsave", "legacy_checkpoint.pt"), testdataOf("torchsave", "containers.pt"),
	}
	for _, to := range []string{"a.safetensors", "a.npz"} {
		code, _, stderr := invoke(nil, "convert", linearProgram, filepath.Join(dir, to))
		require.Zero(t, code, stderr)
		files = append(files, filepath.Join(dir, to))
	}
	told := 0
	for i, file := range files {
		whole, err := os.ReadFile(file)
		require.NoError(t, err)
		random := rand.New(rand.NewPCG(3, uint64(i)))
		for range 40 {
			data := bytes.Clone(whole)
			for range 1 + random.IntN(4) {
				switch at := random.IntN(len(data)); random.IntN(3) {
				case 0:
					data[at] ^= 1 << random.IntN(8)
				case 1:
					copy(data[at:], data[random.IntN(len(data)):])
				default:
					data = data[:max(at, 16)]
				}
			}
			damaged := filepath.Join(dir, "damaged"+filepath.Ext(file))
			require.NoError(t, os.WriteFile(damaged, data, 0o600))
			start := time.Now()
			if r, err := inspect(damaged, nil); err == nil {
				r.print(io.Discard, true)
				told++
			}
			assert.Less(t, time.Since(start), 20*time.Second, file) // 2 s on a machine that does nothing else
		}
	}
	assert.NotZero(t, told, "some damage is none")
}

// A name out of a file reaches a terminal as text alone.
func TestInspectPrintsPlainText(t *testing.T) {
	r := &inspectReport{
		Path: "a\x1b[1m", Format: "TorchScript", Kind: "a\x1b", Writer: "w\x1b", Metadata: map[string]string{"k\x1b": "v\x1b"},
		Methods: []string{"m\x1b"}, Operators: map[string]int{"o\x1b": 1}, Modules: []string{"m\u202e"}, Values: []string{"v\x1b"}, Note: "n\x1b",
		Tensors: []inspectTensor{{Name: "t\x1b", DType: "float32"}}, Files: []inspectFile{{Name: "f\x1b"}}, Shards: []inspectFile{{Name: "s\x1b"}},
		Compiled: []inspectCompiled{{Name: "c\x1b", Kernels: []string{"k\x1b"}, Inputs: []checkValue{{"i\x1b", "t\x1b"}}}},
	}
	var b bytes.Buffer
	r.print(&b, false)
	assert.NotContains(t, b.String(), "\x1b")
	assert.NotContains(t, b.String(), "\u202e")
}

// What views of a storage have in common is counted once, whoever is told first.
func TestInspectCountsMemoryOnce(t *testing.T) {
	storage := export.NewStorage(make([]byte, 48))
	view := func(name string, offset, n, stride int64) inspectTensor {
		return inspectTensor{Name: name, Shape: []int64{n}, Bytes: 4 * n,
			view: &export.Tensor{Storage: storage, Sizes: []int64{n}, Strides: []int64{stride}, Offset: offset}}
	}
	alone := inspectTensor{Name: "alone", Shape: []int64{5}, Bytes: 20}
	r := &inspectReport{Tensors: []inspectTensor{
		view("inside", 2, 3, 1), view("first", 0, 6, 1), view("beyond", 4, 4, 1), view("apart", 8, 2, 2), view("empty", 0, 0, 1), alone,
	}}
	r.countMemory()
	for i, want := range []struct {
		own    int64
		shares string
	}{{0, "first"}, {6, ""}, {2, "first"}, {2, ""}, {0, ""}, {5, ""}} {
		assert.Equal(t, want.own, r.Tensors[i].own, r.Tensors[i].Name)
		assert.Equal(t, want.shares, r.Tensors[i].SharesWith, r.Tensors[i].Name)
	}
}
