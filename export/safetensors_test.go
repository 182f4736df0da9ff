package export

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/torchfx-go/torchfx/ir"
)

func TestReadSafetensors(t *testing.T) {
	f, err := OpenSafetensors(filepath.Join("testdata", "numpy", "three.safetensors"))
	require.NoError(t, err)
	assert.ElementsMatch(t, []string{"x", "n", "e"}, f.Names())
	assert.Equal(t, map[string]string{"made by": "make_numpy.py"}, f.Metadata())
	x, err := f.Tensor("x")
	require.NoError(t, err)
	assert.Equal(t, []int64{2, 3}, x.Sizes)
	assert.Equal(t, []float32{0, 1, 2, 3, 4, 5}, floats(t, x))
	e, err := f.Tensor("e")
	require.NoError(t, err)
	assert.Equal(t, []int64{2, 0}, e.Sizes)
	assert.Equal(t, ir.UInt8, e.DType)
	_, err = f.Tensor("y")
	assert.ErrorIs(t, err, ir.ErrKey)
	require.NoError(t, f.Close())
	require.NoError(t, f.Close())
	_, err = f.Tensor("x")
	assert.ErrorIs(t, err, ir.ErrClosed)
}

// safetensors makes a file of a header and data.
func safetensors(header string, data int) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), make([]byte, data)...)
}

func TestSafetensorsFaults(t *testing.T) {
	one := `{"a":{"dtype":"%s","shape":%s,"data_offsets":%s}}`
	tests := []struct {
		name string
		data []byte
		says string
	}{
		{"nothing", nil, "expected at least 8 bytes, got 0"},
		{"a header longer than the file", binary.LittleEndian.AppendUint64(nil, 100), "expected a header of at most 0 bytes, got 100"},
		{"a huge header", append(binary.LittleEndian.AppendUint64(nil, 1<<63), '{'), "expected a header of at most"},
		{"no object", safetensors("[]", 0), "expected a header that begins with {"},
		{"no JSON", safetensors(`{"a":`, 0), "not valid JSON"},
		{"an unknown dtype", safetensors(fmt.Sprintf(one, "F99", "[1]", "[0,4]"), 4), `a: dtype "F99" is unknown`},
		{"half bytes", safetensors(fmt.Sprintf(one, "F4", "[2]", "[0,1]"), 1), `a: dtype "F4" is unknown`},
		{"too few bytes", safetensors(fmt.Sprintf(one, "F32", "[2]", "[0,4]"), 4), "a: expected 8 bytes for [2] of torch.float32, got 4"},
		{"a negative size", safetensors(fmt.Sprintf(one, "F32", "[-1]", "[0,4]"), 4), "expected a shape"},
		{"an overflow", safetensors(fmt.Sprintf(one, "F32", "[4611686018427387904,4]", "[0,4]"), 4), "expected a shape"},
		{"outside", safetensors(fmt.Sprintf(one, "F32", "[2]", "[0,8]"), 4), "expected two data_offsets from 0 to 4, got [0 8]"},
		{"backwards", safetensors(fmt.Sprintf(one, "F32", "[1]", "[4,0]"), 4), "expected two data_offsets"},
		{"three offsets", safetensors(fmt.Sprintf(one, "F32", "[1]", "[0,4,8]"), 4), "expected two data_offsets"},
		{"a hole before", safetensors(fmt.Sprintf(one, "F32", "[1]", "[4,8]"), 8), "expected its data at 0, right behind the one before, got 4"},
		{"a hole behind", safetensors(fmt.Sprintf(one, "F32", "[1]", "[0,4]"), 8), "expected 4 bytes of data, got 8"},
		{"an overlap", safetensors(`{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}}`, 3), "b: expected its data at 2"},
		{"a name twice", safetensors(`{"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}`, 0), "a: is there twice"},
		{"no shape", safetensors(`{"a":{"dtype":"U8","data_offsets":[0,0]}}`, 0), "a: required field shape"},
		{"metadata that is no text", safetensors(`{"__metadata__":{"a":1}}`, 0), "expected metadata a as a string"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			_, err := ReadSafetensors(bytes.NewReader(tc.data), int64(len(tc.data)))
			require.Error(t, err)
			assert.ErrorContains(t, err, tc.says)
		})
	}
}

// drawTensor draws a small tensor, contiguous or not.
func drawTensor(t *rapid.T, dtypes []ir.DType) *Tensor {
	x := &Tensor{DType: rapid.SampledFrom(dtypes).Draw(t, "dtype")}
	x.Sizes = rapid.SliceOfN(rapid.Int64Range(0, 3), 0, 3).Draw(t, "sizes")
	x.Strides = contiguous(x.Sizes)
	if rapid.Bool().Draw(t, "reversed") {
		slices.Reverse(x.Sizes)
		slices.Reverse(x.Strides)
	}
	x.Offset = rapid.Int64Range(0, 2).Draw(t, "offset")
	n, _ := extent(x.Sizes, x.Strides, x.Offset)
	size := int(n) * x.DType.Size()
	x.Storage = NewStorage(rapid.SliceOfN(rapid.Byte(), size, size).Draw(t, "data"))
	return x
}

func requireSameTensor(t require.TestingT, want, got *Tensor) {
	require.Equal(t, want.DType, got.DType)
	require.Equal(t, append([]int64{}, want.Sizes...), append([]int64{}, got.Sizes...))
	a, err := want.Bytes()
	require.NoError(t, err)
	b, err := got.Bytes()
	require.NoError(t, err)
	require.True(t, bytes.Equal(a, b), "elements differ")
}

func TestSafetensorsRoundTrip(t *testing.T) {
	var dtypes []ir.DType
	for _, d := range ir.DTypes() {
		if d.Safetensors() != "" && d != ir.Float4E2M1FNX2 {
			dtypes = append(dtypes, d)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		tensors := map[string]*Tensor{}
		for range rapid.IntRange(0, 4).Draw(t, "tensors") {
			name := rapid.String().Filter(func(s string) bool { return s != "__metadata__" }).Draw(t, "name")
			tensors[strings.ToValidUTF8(name, "?")] = drawTensor(t, dtypes)
		}
		meta := map[string]string{"k": "v"}
		var b bytes.Buffer
		require.NoError(t, WriteSafetensors(&b, tensors, meta))
		f, err := ReadSafetensors(bytes.NewReader(b.Bytes()), int64(b.Len()))
		require.NoError(t, err)
		require.ElementsMatch(t, slices.Collect(maps.Keys(tensors)), f.Names())
		require.Equal(t, meta, f.Metadata())
		for name, want := range tensors {
			got, err := f.Tensor(name)
			require.NoError(t, err)
			requireSameTensor(t, want, got)
		}
	})
}

func TestSafetensorsRefusesToWrite(t *testing.T) {
	x := &Tensor{DType: ir.Complex128, Storage: NewStorage(make([]byte, 16))}
	assert.ErrorIs(t, WriteSafetensors(&bytes.Buffer{}, map[string]*Tensor{"x": x}, nil), ir.ErrUnsupported)
	x = &Tensor{DType: ir.Float32}
	assert.ErrorIs(t, WriteSafetensors(&bytes.Buffer{}, map[string]*Tensor{"x": x}, nil), ir.ErrClosed)
}

// TestRecordedSafetensors reads every recorded file of inputs and results.
func TestRecordedSafetensors(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(fixtures(t, "pt2/2.15.0"), "*", "*.safetensors"))
	require.NoError(t, err)
	require.Greater(t, len(files), 150)
	for _, file := range files {
		f, err := OpenSafetensors(file)
		require.NoError(t, err, file)
		for _, name := range f.Names() {
			_, err := f.Tensor(name)
			require.NoError(t, err, file)
		}
		require.NoError(t, f.Close())
	}
}

func FuzzSafetensors(f *testing.F) {
	data, err := os.ReadFile(filepath.Join("testdata", "numpy", "three.safetensors"))
	require.NoError(f, err)
	f.Add(data)
	f.Add(safetensors(`{"a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}}`, 16))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := ReadSafetensors(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return
		}
		tensors := map[string]*Tensor{}
		for _, name := range s.Names() {
			x, err := s.Tensor(name)
			require.NoError(t, err)
			_, err = x.Bytes()
			require.NoError(t, err)
			tensors[name] = x
		}
		require.NoError(t, WriteSafetensors(&bytes.Buffer{}, tensors, s.Metadata()))
	})
}
