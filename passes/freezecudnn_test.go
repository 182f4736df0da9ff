package passes

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
)

// What cuDNN is given is a convolution with the same arguments by their names, which
// its operators have in another order than aten::cudnn_convolution has them.
func TestConvolutionsForCUDA(t *testing.T) {
	testenv.Libtorch(t)
	const conv = "c = torch.ops.aten.conv2d.default(x, self.w, None, [2, 1], [0, 3], [1, 2], 2)\n"
	tests := []struct {
		name, body string
		want       []string
	}{
		{"relu", conv + "return torch.ops.aten.relu.default(c)", []string{"aten.cudnn_convolution_relu"}},
		{"add and relu", conv + "d = torch.ops.aten.neg.default(c)\ne = torch.ops.aten.conv2d.default(x, self.w, None, [2, 1], [0, 3], [1, 2], 2)\n" +
			"s = torch.ops.aten.add.Tensor(d, e)\nreturn torch.ops.aten.relu.default(s)", []string{"aten.conv2d", "aten.neg", "aten.cudnn_convolution_add_relu"}},
		{"neither", conv + "return torch.ops.aten.sigmoid.default(c)", []string{"aten.conv2d", "aten.sigmoid"}},
		{"read twice", conv + "r = torch.ops.aten.relu.default(c)\nreturn torch.ops.aten.add.Tensor(r, c)", []string{"aten.conv2d", "aten.relu", "aten.add.Tensor"}},
		{"one dimension", "c = torch.ops.aten.conv1d.default(self.v, self.u)\nreturn torch.ops.aten.relu.default(c)", []string{"aten.conv1d", "aten.relu"}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			x := randn(t, 2, 4, 9, 12)
			gm := aten(t, tc.body, map[string][]int{"w": {6, 2, 3, 3}, "v": {2, 4, 9}, "u": {4, 4, 3}}, x)
			frozen, err := Freeze(t.Context(), gm, FreezeFor(ir.DeviceCUDA), WithoutRewrites("fold-constants"))
			require.NoError(t, err)
			defer frozen.Close()
			assert.Equal(t, tc.want, operatorsOf(frozen.Module), "%s\n%s", frozen.Report, frozen.Module.Graph())
			assert.Zero(t, frozen.Report.Count("pack-convolutions"), "oneDNN is for the CPU")
			for n := range frozen.Module.Graph().Nodes() {
				if n.Op() != ir.CallFunction || n.Func().Op() != "aten::cudnn_convolution_relu" && n.Func().Op() != "aten::cudnn_convolution_add_relu" {
					continue
				}
				args, err := bind(n)
				require.NoError(t, err)
				assert.Equal(t, "x", args["self"].(*ir.Node).Name())
				assert.Equal(t, ir.Arg(ir.None{}), args["bias"])
				for name, want := range map[string][]int64{"stride": {2, 1}, "padding": {0, 3}, "dilation": {1, 2}} {
					got, ok := numbers(args[name], 2)
					require.True(t, ok)
					assert.Equal(t, want, got, name)
				}
				assert.Equal(t, ir.Arg(ir.Int(2)), args["groups"])
				if n.Func().Op() == "aten::cudnn_convolution_add_relu" {
					assert.Equal(t, "d", args["z"].(*ir.Node).Name())
					assert.Equal(t, ir.Arg(ir.Float(1)), args["alpha"])
				}
			}
		})
	}
}
