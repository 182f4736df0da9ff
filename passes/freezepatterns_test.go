package passes

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/testenv"
	torch "github.com/torchfx-go/torchfx/torchops"
)

const (
	mul  = "torch.ops.aten.mul.Tensor"
	add  = "torch.ops.aten.add.Tensor"
	divT = "torch.ops.aten.div.Tensor"
)

func TestFreezePatterns(t *testing.T) {
	tests := []struct {
		name, body string
		want       []string
	}{
		{"gelu by division", "return " + mul + "(" + mul + "(x, 0.5), " + add + "(torch.ops.aten.erf.default(" + divT + "(x, 1.4142135623730951)), 1.0))", []string{"aten.gelu"}},
		{"gelu by multiplication", "return " + mul + "(" + add + "(torch.ops.aten.erf.default(" + mul + "(x, 0.7071067811865476)), 1), " + mul + "(x, 0.5))", []string{"aten.gelu"}},
		{"gelu, half last", "return " + mul + "(" + mul + "(x, " + add + "(torch.ops.aten.erf.default(" + divT + "(x, 1.4142135623730951)), 1.0)), 0.5)", []string{"aten.gelu"}},
		{"gelu of another root", "return " + mul + "(" + mul + "(x, 0.5), " + add + "(torch.ops.aten.erf.default(" + divT + "(x, 1.5)), 1.0))",
			[]string{"aten.mul.Tensor", "aten.div.Tensor", "aten.erf", "aten.add.Tensor", "aten.mul.Tensor"}},
		{"gelu by tanh", "return " + mul + "(" + mul + "(x, 0.5), " + add + "(torch.ops.aten.tanh.default(" + mul + "(" + add + "(x, " + mul + "(torch.ops.aten.pow.Tensor_Scalar(x, 3.0), 0.044715)), 0.7978845608028654)), 1.0))",
			[]string{"aten.gelu"}},
		{"silu", "return " + mul + "(torch.ops.aten.sigmoid.default(x), x)", []string{"aten.silu"}},
		{"hardswish", "return " + divT + "(" + mul + "(x, torch.ops.aten.hardtanh.default(" + add + "(x, 3), 0.0, 6.0)), 6)", []string{"aten.hardswish"}},
		{"layer norm", "d = torch.ops.aten.sub.Tensor(x, torch.ops.aten.mean.dim(x, [-1], True))\nv = torch.ops.aten.mean.dim(torch.ops.aten.pow.Tensor_Scalar(d, 2), [-1], True)\n" +
			"return " + add + "(" + mul + "(" + divT + "(d, torch.ops.aten.sqrt.default(" + add + "(v, 1e-05))), self.w), self.b)", []string{"aten.layer_norm"}},
		{"layer norm by rsqrt", "d = torch.ops.aten.sub.Tensor(x, torch.ops.aten.mean.dim(x, [-1], True))\nv = torch.ops.aten.mean.dim(torch.ops.aten.pow.Tensor_Scalar(d, 2), [-1], True)\n" +
			"return " + add + "(" + mul + "(self.w, " + mul + "(d, torch.ops.aten.rsqrt.default(" + add + "(v, 1e-05)))), self.b)", []string{"aten.layer_norm"}},
		{"layer norm by variance", "m = torch.ops.aten.mean.dim(x, [-1], True)\nv = torch.ops.aten.var.correction(x, [-1], correction=0, keepdim=True)\n" +
			"return " + add + "(" + mul + "(" + divT + "(torch.ops.aten.sub.Tensor(x, m), torch.ops.aten.sqrt.default(" + add + "(v, 1e-05))), self.w), self.b)", []string{"aten.layer_norm"}},
		{"a value inside that is used elsewhere", "s = torch.ops.aten.sigmoid.default(x)\nreturn (" + mul + "(x, s), s)", []string{"aten.sigmoid", "aten.mul.Tensor"}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			testenv.Libtorch(t)
			x, longer := randn(t, 3, 5, 16), randn(t, 7, 9, 16)
			gm := aten(t, tc.body, map[string][]int{"w": {16}, "b": {16}}, x)
			frozen := freezes(t, gm, [][]*torch.Tensor{{x}, {longer}})
			assert.Equal(t, tc.want, operatorsOf(frozen.Module), "%s", frozen.Module.Graph())
			require.LessOrEqual(t, frozen.Report.Tolerance(), 1e-5)
		})
	}
}

func TestFreezeAttention(t *testing.T) {
	const product = "torch.ops.aten.matmul.default(x, torch.ops.aten.transpose.int(y, -2, -1))"
	const sdpa = "aten.scaled_dot_product_attention"
	weigh := func(scores string) string {
		return "return torch.ops.aten.matmul.default(torch.ops.aten.softmax.int(" + scores + ", -1), z)"
	}
	tests := []struct {
		name, body string
		want       []string
	}{
		{"divided", weigh(divT + "(" + product + ", 4.0)"), []string{"aten.transpose.int", "aten.transpose.int", sdpa}},
		{"multiplied, with a mask", weigh(add + "(" + mul + "(" + product + ", 0.25), self.mask)"), []string{"aten.transpose.int", "aten.transpose.int", sdpa}},
		{"not scaled, with a mask of rows", weigh(add + "(self.rows, " + product + ")"), []string{"aten.transpose.int", "aten.transpose.int", sdpa}},
		{"hidden places", "h = torch.ops.aten.gt.Scalar(self.mask, 1.0)\n" + weigh("torch.ops.aten.masked_fill.Scalar("+divT+"("+product+", 4.0), h, -inf)"),
			[]string{"aten.transpose.int", "aten.transpose.int", "aten.logical_not", sdpa}},
		{"with dropout", "d = torch.ops.aten.dropout.default(torch.ops.aten.softmax.int(" + product + ", -1), 0.1, False)\nreturn torch.ops.aten.matmul.default(d, z)",
			[]string{"aten.transpose.int", "aten.transpose.int", sdpa}},
		{"softmax over another dimension", "return torch.ops.aten.matmul.default(torch.ops.aten.softmax.int(" + product + ", -2), z)",
			[]string{"aten.transpose.int", "aten.matmul", "aten.softmax.int", "aten.matmul"}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			testenv.Libtorch(t)
			q, k, v := randn(t, 2, 3, 6, 16), randn(t, 2, 3, 6, 16), randn(t, 2, 3, 6, 16)
			gm := aten(t, tc.body, map[string][]int{"mask": {2, 1, 6, 6}, "rows": {6, 6}}, q, k, v)
			frozen := freezes(t, gm, [][]*torch.Tensor{{q, k, v}}, WithoutRewrites("fold-constants"))
			ops := operatorsOf(frozen.Module)
			if ops[0] == "aten.gt.Scalar" {
				ops = ops[1:]
			}
			assert.Equal(t, tc.want, ops, "%s", frozen.Module.Graph())
		})
	}
}
