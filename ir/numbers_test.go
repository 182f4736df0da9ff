package ir

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// recordedNumbers is testdata/numbers.json, which scripts/record_numbers.py made
// from PyTorch's headers.
type recordedNumbers struct {
	DTypes []struct {
		Python  string  `json:"python"`
		C10     int     `json:"c10"`
		Export  int     `json:"export"`
		Size    int     `json:"size"`
		Short   *string `json:"short"`
		Float   bool    `json:"float"`
		Complex bool    `json:"complex"`
	} `json:"dtypes"`
	Devices       [][2]any `json:"devices"`
	Layouts       [][3]any `json:"layouts"`
	MemoryFormats [][3]any `json:"memory_formats"`
}

func readNumbers(t *testing.T) recordedNumbers {
	data, err := os.ReadFile("testdata/numbers.json")
	require.NoError(t, err)
	var r recordedNumbers
	require.NoError(t, json.Unmarshal(data, &r))
	return r
}

func TestDTypeNumbers(t *testing.T) {
	rows := readNumbers(t).DTypes
	require.Len(t, DTypes(), len(rows), "every dtype of c10, and no other")
	for _, row := range rows {
		d, err := ParseDType(row.Python)
		require.NoError(t, err)
		assert.Equal(t, row.Python, d.String())
		assert.Equal(t, row.C10, d.C10(), row.Python)
		assert.Equal(t, row.Export, d.Export(), row.Python)
		assert.Equal(t, row.Size, d.Size(), row.Python)
		assert.Equal(t, row.Float, d.IsFloat(), row.Python)
		assert.Equal(t, row.Complex, d.IsComplex(), row.Python)
		if row.Short != nil {
			assert.Equal(t, *row.Short, d.Short(), row.Python)
		}
		back, err := DTypeFromC10(row.C10)
		require.NoError(t, err)
		assert.Equal(t, d, back)
		if row.Export > 0 {
			back, err = DTypeFromExport(row.Export)
			require.NoError(t, err)
			assert.Equal(t, d, back)
		}
		if code := d.Safetensors(); code != "" {
			back, err = ParseDType(code)
			require.NoError(t, err)
			assert.Equal(t, d, back)
		}
	}
	for _, bad := range []int{-1, 47, 255} {
		_, err := DTypeFromC10(bad)
		require.ErrorIs(t, err, ErrUnsupported)
	}
	for _, bad := range []int{0, -1, 14, 36} {
		_, err := DTypeFromExport(bad)
		require.ErrorIs(t, err, ErrUnsupported, bad)
	}
	for alias, d := range map[string]DType{"float": Float32, "torch.double": Float64, "half": Float16, "long": Int64, "torch.bool": Bool8} {
		got, err := ParseDType(alias)
		require.NoError(t, err)
		assert.Equal(t, d, got, alias)
	}
	_, err := ParseDType("torch.float33")
	require.ErrorIs(t, err, ErrUnsupported)
	assert.Equal(t, -1, InvalidDType.C10())
	assert.False(t, DType(200).Valid())
	assert.Equal(t, "invalid dtype 200", DType(200).String())
}

func TestDeviceNumbers(t *testing.T) {
	rows := readNumbers(t).Devices
	require.Len(t, rows, int(numDeviceKinds))
	for _, row := range rows {
		name, number := row[0].(string), int(row[1].(float64))
		d, err := ParseDevice(name)
		require.NoError(t, err)
		kind, index := d.C10()
		assert.Equal(t, number, kind, name)
		assert.Equal(t, -1, index)
		assert.Equal(t, name, d.String())
		d, err = ParseDevice(name + ":3")
		require.NoError(t, err)
		assert.Equal(t, name+":3", d.String())
		back, err := DeviceFromC10(number, 3)
		require.NoError(t, err)
		assert.Equal(t, d, back)
	}
	for _, bad := range []string{"", "cuda:", "cuda:-1", "cuda:128", "cuda:01", "gpu", "cuda:1:2", "CPU", "cuda: 1"} {
		_, err := ParseDevice(bad)
		require.ErrorIs(t, err, ErrRuntime, bad)
	}
	_, err := DeviceFromC10(99, 0)
	require.ErrorIs(t, err, ErrUnsupported)
	assert.Equal(t, Device{}, NewDevice(DeviceCPU, -5), "the zero value is the cpu")
}

func TestLayoutNumbers(t *testing.T) {
	rows := readNumbers(t).Layouts
	require.Len(t, rows, int(numLayouts))
	for _, row := range rows {
		l, err := ParseLayout(row[0].(string))
		require.NoError(t, err)
		assert.Equal(t, row[0], l.String())
		assert.EqualValues(t, row[1], l.C10(), row[0])
		assert.EqualValues(t, row[2], l.Export(), row[0])
		back, err := LayoutFromC10(l.C10())
		require.NoError(t, err)
		assert.Equal(t, l, back)
		if l.Export() > 0 {
			back, err = LayoutFromExport(l.Export())
			require.NoError(t, err)
			assert.Equal(t, l, back)
		}
	}
	_, err := LayoutFromExport(0)
	require.ErrorIs(t, err, ErrUnsupported)
	_, err = LayoutFromC10(8)
	require.ErrorIs(t, err, ErrUnsupported)
	_, err = ParseLayout("torch.dense")
	require.ErrorIs(t, err, ErrUnsupported)
}

func TestMemoryFormatNumbers(t *testing.T) {
	rows := readNumbers(t).MemoryFormats
	require.Len(t, rows, int(numMemoryFormats))
	for _, row := range rows {
		m, err := ParseMemoryFormat(row[0].(string))
		require.NoError(t, err)
		assert.Equal(t, row[0], m.String())
		assert.EqualValues(t, row[1], m.C10(), row[0])
		assert.EqualValues(t, row[2], m.Export(), row[0])
		back, err := MemoryFormatFromC10(m.C10())
		require.NoError(t, err)
		assert.Equal(t, m, back)
		back, err = MemoryFormatFromExport(m.Export())
		require.NoError(t, err)
		assert.Equal(t, m, back)
	}
	_, err := MemoryFormatFromExport(0)
	require.ErrorIs(t, err, ErrUnsupported)
	_, err = ParseMemoryFormat("torch.nchw")
	require.ErrorIs(t, err, ErrUnsupported)
}

func TestUnknownDeviceKind(t *testing.T) {
	d := NewDevice(numDeviceKinds, 1)
	assert.Equal(t, "device kind 20:1", d.String())
	kind, index := d.C10()
	assert.Equal(t, -1, kind)
	assert.Equal(t, 1, index)
}
