package delegate

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/ir"
)

// TestNumbersAreTheHeaders compares the constants of Go with the enumerations of
// the header, by their number and how many there are.
func TestNumbersAreTheHeaders(t *testing.T) {
	text, err := os.ReadFile("tfx_delegate.h")
	require.NoError(t, err)
	header := map[string]int64{}
	for _, m := range regexp.MustCompile(`(?m)^(?:#define|) *(TFX_\w+)(?: =|) (0x[0-9a-f]+|\d+)\b`).FindAllStringSubmatch(string(text), -1) {
		v, err := strconv.ParseInt(m[2], 0, 64)
		require.NoError(t, err)
		header[m[1]] = v
	}
	tests := []struct {
		prefix string
		names  string
		first  int64
	}{
		{"TFX_NODE_", "CONVOLUTION TRANSPOSED LINEAR POOL ADAPTIVE_POOL BINARY ELTWISE FLATTEN RESHAPE CONCAT MATMUL PERMUTE SOFTMAX LAYER_NORM", int64(opConvolution)},
		{"TFX_POOL_", "MAX AVERAGE AVERAGE_WITHOUT_PADDING", int64(MaxPool)},
		{"TFX_BINARY_", "ADD SUB MUL DIV MAX MIN", int64(Add)},
		{"TFX_ELTWISE_", "RELU CLIP HARDSWISH HARDSIGMOID SIGMOID SILU TANH GELU GELU_TANH LEAKY_RELU ELU AFFINE ABS SQRT SQUARE EXP LOG SOFTPLUS MISH", int64(ReLU)},
		{"TFX_FORMAT_", "CONTIGUOUS CHANNELS_LAST FASTEST", int64(Contiguous)},
		{"TFX_LAYOUTS_", "MEASURED ANY CHANNELS_LAST BLOCKED", int64(Measured)},
	}
	for _, tc := range tests {
		t.Run(tc.prefix, func(t *testing.T) {
			names := strings.Fields(tc.names)
			for i, name := range names {
				assert.Equal(t, header[tc.prefix+name], tc.first+int64(i), name)
			}
			count := 0
			for name := range header {
				if strings.HasPrefix(name, tc.prefix) {
					count++
				}
			}
			assert.Equal(t, len(names), count, "every enumerator of the header has a constant here")
		})
	}
	assert.Equal(t, header["TFX_REGION_MAGIC"], int64(magic))
	assert.Equal(t, header["TFX_REGION_VERSION"], int64(version))
	assert.Len(t, opcodeNames, int(opLayerNorm)+1, "each opcode has a name")
}

func TestWordsNumberInputsThenConstantsThenNodes(t *testing.T) {
	var p Program
	weight := p.Constant()
	x := p.Input()
	y := p.Convolution(x, weight, None, Convolution{Padding: []int64{1, 2}, Stride: []int64{2, 2}})
	skip := p.Input() // made late, numbered early
	z := p.Activation(p.Add(y, skip), ReLU)
	p.Output(z, ChannelsLast)
	words, err := p.Words()
	require.NoError(t, err)
	assert.Equal(t, []int64{
		magic, version, 0, 2, 1, 3, 1,
		1, 13, 0, 2, -1, 2, 2, 2, 1, 2, 1, 2, 1, 1, 1, // x is 0, skip 1, the weight 2, the convolution 3
		6, 3, 1, 3, 1,
		7, 4, 1, 4, 0, 0,
		5, 1,
	}, words)
	again, err := p.Words()
	require.NoError(t, err)
	assert.Equal(t, words, again)
	assert.Equal(t, []int{2, 1, 3, 1}, []int{p.Inputs(), p.Constants(), p.Nodes(), p.Outputs()})
}

func TestMistakesAreKept(t *testing.T) {
	tests := []struct {
		name  string
		build func(p *Program, x Value)
		say   string
	}{
		{"a value of no program", func(p *Program, x Value) { p.Add(x, 7) }, "region: binary: expected a value of this program, got 7 of 2"},
		{"no operand", func(p *Program, x Value) { p.Activation(None, ReLU) }, "region: eltwise: expected a value of this program, got -1 of 2"},
		{"no spatial dimension", func(p *Program, x Value) { p.Convolution(x, x, None, Convolution{}) }, "expected 1 to 3 spatial dimensions, got 0"},
		{"four of them", func(p *Program, x Value) { p.AdaptivePool(x, MaxPool, 1, 1, 1, 1) }, "expected 1 to 3 spatial dimensions, got 4"},
		{"lists of two lengths", func(p *Program, x Value) {
			p.Convolution(x, x, None, Convolution{Padding: []int64{0, 0}, Stride: []int64{1}})
		}, "expected 2 numbers for 2 spatial dimensions, got [1]"},
		{"an output that is nothing", func(p *Program, x Value) { p.Output(None, Contiguous) }, "region: output: expected a value"},
		{"one padding of a transposed convolution", func(p *Program, x Value) {
			p.Transposed(x, x, None, Convolution{Padding: []int64{1}, PaddingAfter: []int64{2}})
		}, "expected the same padding on both sides, got [2] after"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			var p Program
			x := p.Input()
			p.Constant()
			tc.build(&p, x)
			p.Output(x, Contiguous)
			_, err := p.Words()
			require.ErrorIs(t, err, ir.ErrValue)
			assert.ErrorContains(t, err, tc.say)
		})
	}
}

func ExampleProgram() {
	var p Program
	x, weight, bias := p.Input(), p.Constant(), p.Constant()
	y := p.Convolution(x, weight, bias, Convolution{Padding: []int64{1, 1}})
	p.Output(p.Activation(p.Add(y, x), ReLU), Contiguous)
	words, err := p.Words()
	_, _ = words, err // libtorch.CompileRegion takes the program and the two tensors
}

func TestLayoutsHaveNames(t *testing.T) {
	tests := map[Layouts]string{Measured: "measured", AnyLayout: "as each kernel likes", ChannelsLastLayout: "channels last", BlockedLayout: "blocked", -1: "layouts -1", 4: "layouts 4"}
	for l, want := range tests {
		assert.Equal(t, want, l.String())
	}
}
