package torchops

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
)

// What stands in where libtorch asks only C++ whether a tensor lies along its channels is
// what its operator says, where it has one.
func TestAlongChannels(t *testing.T) {
	testenv.Libtorch(t)
	tests := []struct {
		name           string
		sizes, strides []int64
		format         ir.MemoryFormat
		want           bool
	}{
		{"row by row", []int64{2, 3, 4, 5}, []int64{60, 20, 5, 1}, ir.ChannelsLast, false},
		{"channels last", []int64{2, 3, 4, 5}, []int64{60, 1, 15, 3}, ir.ChannelsLast, true},
		{"of another format", []int64{2, 3, 4, 5}, []int64{60, 1, 15, 3}, ir.ChannelsLast3D, false},
		{"one channel is both", []int64{2, 1, 4, 5}, []int64{20, 20, 5, 1}, ir.ChannelsLast, true},
		{"strides of one element count not", []int64{1, 3, 1, 1}, []int64{7, 1, 9, 11}, ir.ChannelsLast, true},
		{"gaps", []int64{2, 3, 2, 5}, []int64{60, 1, 30, 3}, ir.ChannelsLast, false},
		{"no elements", []int64{0, 3, 4, 5}, []int64{60, 1, 15, 3}, ir.ChannelsLast, true},
		{"no channels, row by row", []int64{2, 0, 4, 5}, []int64{20, 20, 5, 1}, ir.ChannelsLast, false},
		{"three dimensions", []int64{3, 4, 5}, []int64{1, 15, 3}, ir.ChannelsLast, false},
		{"volumes", []int64{2, 3, 4, 5, 6}, []int64{360, 1, 90, 18, 3}, ir.ChannelsLast3D, true},
		{"volumes row by row", []int64{2, 3, 4, 5, 6}, []int64{360, 120, 30, 6, 1}, ir.ChannelsLast3D, false},
		{"no dimensions", nil, nil, ir.ChannelsLast, false},
	}
	for _, tc := range tests {
		assert.Equal(t, tc.want, alongChannels(tc.sizes, tc.strides, tc.format), tc.name)
		x, err := callTensor("aten::empty_strided", append([]int64{}, tc.sizes...), append([]int64{}, tc.strides...))
		require.NoError(t, err, tc.name)
		says, err := Call("aten::is_contiguous.memory_format", x, tc.format)
		if !errors.Is(err, ir.ErrUnsupported) { // no operator before 2.12
			require.NoError(t, err, tc.name)
			assert.Equal(t, says, tc.want, tc.name)
		}
		does, err := InvokeMethod(nil, "is_contiguous", []any{x}, []Kwarg{Kw("memory_format", tc.format)})
		require.NoError(t, err, tc.name)
		assert.Equal(t, tc.want, does, tc.name)
		require.NoError(t, x.Close())
	}
}
