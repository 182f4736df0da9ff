package export

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/torchfx-go/torchfx/ir"
)

func readNpyFile(t *testing.T, name string) (*Tensor, error) {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", "numpy", name))
	require.NoError(t, err)
	defer f.Close()
	return ReadNpy(f)
}

func TestReadNpy(t *testing.T) {
	want := []float32{0, 1, 2, 3, 4, 5}
	for _, name := range []string{"c_order.npy", "fortran.npy", "big_endian.npy"} {
		x, err := readNpyFile(t, name)
		require.NoError(t, err, name)
		assert.Equal(t, []int64{2, 3}, x.Sizes, name)
		assert.Equal(t, want, floats(t, x), name)
	}
	x, err := readNpyFile(t, "fortran.npy")
	require.NoError(t, err)
	assert.Equal(t, []int64{1, 2}, x.Strides)
	x, err = readNpyFile(t, "scalar.npy")
	require.NoError(t, err)
	assert.Empty(t, x.Sizes)
	assert.Equal(t, []byte{7, 0, 0, 0, 0, 0, 0, 0}, x.Storage.Bytes())
	x, err = readNpyFile(t, "complex_big.npy")
	require.NoError(t, err)
	assert.Equal(t, ir.Complex64, x.DType)
	assert.Equal(t, []float32{1, 2}, floats(t, x))
	x, err = readNpyFile(t, "bool.npy")
	require.NoError(t, err)
	assert.Equal(t, []byte{1, 0}, x.Storage.Bytes())
	x, err = readNpyFile(t, "empty.npy")
	require.NoError(t, err)
	assert.Equal(t, []int64{0, 3}, x.Sizes)
	_, err = readNpyFile(t, "object.npy")
	assert.ErrorContains(t, err, "arrays of Python objects are pickles")
	_, err = readNpyFile(t, "struct.npy")
	assert.ErrorIs(t, err, ir.ErrFormat)
}

// npy makes a version 1.0 file.
func npy(header string, data int) string {
	return npyMagic + "\x01\x00" + string([]byte{byte(len(header)), byte(len(header) >> 8)}) + header + strings.Repeat("\x00", data)
}

func TestNpyFaults(t *testing.T) {
	tests := []struct{ name, data, says string }{
		{"nothing", "", "expected the magic string"},
		{"another version", npyMagic + "\x09\x00\x00\x00\x00\x00", "expected format version 1 to 3, got 9"},
		{"a header beyond the file", npyMagic + "\x01\x00\xff\xff{", "expected a header of at most 1 bytes, got 65535"},
		{"no dict", npy("[]", 0), "expected {"},
		{"no shape", npy("{'descr': '<f4', 'fortran_order': False}", 0), "expected descr, fortran_order and shape"},
		{"a key twice", npy("{'descr': '<f4', 'descr': '<f4'}", 0), "expected each key once"},
		{"more keys", npy("{'descr': '<f4', 'x': 1}", 0), "expected descr, fortran_order or shape"},
		{"text behind", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x", 4), "and nothing else"},
		{"a negative size", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", 4), "expected a size"},
		{"an overflow", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4)}", 4), "expected the elements"},
		{"too short", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", 4), "expected the elements of [2] of torch.float32, got 4 bytes"},
		{"too long", npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", 9), "got 9 bytes"},
		{"dates", npy("{'descr': '<M8[ns]', 'fortran_order': False, 'shape': (1,)}", 8), `type "<M8[ns]" is no dtype`},
		{"an empty type", npy("{'descr': '', 'fortran_order': False, 'shape': (1,)}", 8), `type "" is no dtype`},
		{"code", npy("{'descr': __import__('os'), 'fortran_order': False, 'shape': (1,)}", 4), "expected a plain type in quotes"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			_, err := ReadNpy(strings.NewReader(tc.data))
			require.Error(t, err)
			assert.ErrorContains(t, err, tc.says)
		})
	}
}

func TestNpz(t *testing.T) {
	for _, tc := range []struct {
		file  string
		names []string
	}{{"two.npz", []string{"x", "n/y"}}, {"packed.npz", []string{"x"}}} {
		z, err := OpenNpz(filepath.Join("testdata", "numpy", tc.file))
		require.NoError(t, err)
		assert.Equal(t, tc.names, z.Names())
		x, err := z.Tensor("x")
		require.NoError(t, err)
		assert.Equal(t, []float32{0, 1, 2, 3, 4, 5}, floats(t, x))
		_, err = z.Tensor("z")
		assert.ErrorIs(t, err, ir.ErrKey)
		require.NoError(t, z.Close())
		assert.Equal(t, []float32{0, 1, 2, 3, 4, 5}, floats(t, x), "tensors stay")
		_, err = z.Tensor("x")
		assert.ErrorIs(t, err, ir.ErrClosed)
	}
	a := takeApart(t, "linear.pt2").bytes()
	_, err := ReadNpz(bytes.NewReader(a), int64(len(a)))
	assert.ErrorContains(t, err, "npz: expected records named *.npy")
}

func TestNpyRoundTrip(t *testing.T) {
	var dtypes []ir.DType
	for _, d := range npyTypes {
		dtypes = append(dtypes, d)
	}
	rapid.Check(t, func(t *rapid.T) {
		x := drawTensor(t, dtypes)
		var b bytes.Buffer
		require.NoError(t, WriteNpy(&b, x))
		n, _ := elements(x.Sizes)
		require.Zero(t, (b.Len()-int(n)*x.DType.Size())%64, "elements are aligned")
		got, err := ReadNpy(&b)
		require.NoError(t, err)
		requireSameTensor(t, x, got)

		b.Reset()
		require.NoError(t, WriteNpz(&b, map[string]*Tensor{"a": x, "b/c": x}))
		z, err := ReadNpz(bytes.NewReader(b.Bytes()), int64(b.Len()))
		require.NoError(t, err)
		got, err = z.Tensor("b/c")
		require.NoError(t, err)
		requireSameTensor(t, x, got)
	})
}

func TestNpyRefusesToWrite(t *testing.T) {
	x := &Tensor{DType: ir.BFloat16, Storage: NewStorage(make([]byte, 2))}
	assert.ErrorContains(t, WriteNpy(&bytes.Buffer{}, x), "NumPy has no torch.bfloat16")
}

func FuzzNpy(f *testing.F) {
	for _, name := range []string{"c_order.npy", "fortran.npy", "big_endian.npy", "scalar.npy", "object.npy", "struct.npy"} {
		data, err := os.ReadFile(filepath.Join("testdata", "numpy", name))
		require.NoError(f, err)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		x, err := ReadNpy(bytes.NewReader(data))
		if err != nil {
			return
		}
		var b bytes.Buffer
		require.NoError(t, WriteNpy(&b, x))
		y, err := ReadNpy(&b)
		require.NoError(t, err)
		requireSameTensor(t, x, y)
	})
}
