package passes

import (
	"slices"
	"strings"
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

// A sigmoid of integers is of floating point, and silu takes none.
func TestFreezeLeavesPatternsOfIntegers(t *testing.T) {
	testenv.Libtorch(t)
	x := indices(t, 5, 3, 4)
	gm := aten(t, "s = torch.ops.aten.sigmoid.default(x)\nreturn "+mul+"(x, s)", nil, x)
	frozen := freezes(t, gm, [][]*torch.Tensor{{x}})
	assert.Equal(t, []string{"aten.sigmoid", "aten.mul.Tensor"}, operatorsOf(frozen.Module))
}

func TestFreezeAttention(t *testing.T) {
	const op = "torch.ops.aten."
	const turned, sdpa = op + "transpose.int(y, -2, -1)", "aten.scaled_dot_product_attention"
	const product = op + "matmul.default(x, " + turned + ")"
	weigh := func(scores string) string {
		return "return " + op + "matmul.default(" + op + "softmax.int(" + scores + ", -1), z)"
	}
	const matrices = "q = " + op + "view.default(x, [6, 6, 16])\nk = " + op + "transpose.int(" + op + "reshape.default(y, [6, 6, 16]), 1, 2)\nv = " + op + "reshape.default(z, [6, 6, 16])\n"
	tests := []struct {
		name, body string
		fused      bool
		why        string // it is not
	}{
		{"divided", weigh(divT + "(" + product + ", 4.0)"), true, ""},
		{"multiplied, with a mask", weigh(add + "(" + mul + "(" + product + ", 0.25), self.mask)"), true, ""},
		{"not scaled, with a mask of rows", weigh(add + "(self.rows, " + product + ")"), true, ""},
		{"a mask of heads", weigh(add + "(" + divT + "(" + product + ", 4), self.heads)"), true, ""},
		{"a mask of places", weigh(add + "(" + divT + "(" + product + ", 4), self.places)"), true, ""},
		{"divided by a tensor", "s = " + op + "full.default([], 4.0)\n" + weigh(divT+"("+product+", s)"), true, ""},
		{"multiplied by a tensor of another dtype", "s = " + op + "scalar_tensor.default(0.25, dtype=torch.float64)\n" + weigh(mul+"(s, "+product+")"), true, ""},
		{"keys permuted", weigh(divT + "(" + op + "matmul.default(x, " + op + "permute.default(y, [0, 1, 3, -2])), 4.0)"), true, ""},
		{"keys as they come", "k = " + op + "contiguous.default(" + turned + ")\n" + weigh(op+"matmul.default(x, k)"), true, ""},
		{"queries scaled", weigh(op + "matmul.default(" + divT + "(x, 4.0), " + turned + ")"), true, ""},
		{"keys scaled", weigh(op + "matmul.default(x, " + op + "transpose.int(" + mul + "(y, 0.25), -1, -2))"), true, ""},
		{"both scaled, safe softmax", "return " + op + "matmul.default(" + op + "_safe_softmax.default(" + add + "(" + op + "matmul.default(" + op + "mul.Scalar(x, 0.5), " + op + "mul.Scalar(" + turned + ", 0.5)), self.mask), -1), z)", true, ""},
		{"all before transposed", "q = " + op + "transpose.int(x, 1, 2)\nk = " + op + "permute.default(y, [0, 2, 3, 1])\nv = " + op + "transpose.int(z, 1, 2)\nreturn " + op + "matmul.default(" + op + "softmax.int(" + divT + "(" + op + "matmul.default(q, k), 4.0), -1), v)", true, ""},
		{"transposed around", "q = " + op + "transpose.int(x, 1, 2)\nk = " + op + "permute.default(y, [0, 2, 3, 1])\nv = " + op + "transpose.int(z, 1, 2)\nr = " + op + "matmul.default(" + op + "softmax.int(" + divT + "(" + op + "matmul.default(q, k), 4.0), -1), v)\n" +
			"b = " + op + "contiguous.default(" + op + "transpose.int(r, 1, 2))\nreturn " + op + "neg.default(" + op + "view.default(b, [2, 3, -1]))", true, ""},
		{"viewed", weigh(divT + "(" + product + ", 4.0)")[len("return "):] + "", true, ""},
		{"hidden places", "h = " + op + "gt.Scalar(self.mask, 0.2)\n" + weigh(op+"masked_fill.Scalar("+divT+"("+product+", 4.0), h, -inf)"), true, ""},
		{"hidden by a tensor", "h = " + op + "gt.Scalar(self.mask, 0.2)\ns = " + op + "full.default([], -inf)\n" + weigh(op+"masked_fill.Tensor("+divT+"("+product+", 4.0), h, s)"), true, ""},
		{"where", "h = " + op + "gt.Scalar(self.mask, -0.2)\ns = " + op + "scalar_tensor.default(-inf)\n" + weigh(op+"where.self(h, "+divT+"("+product+", 4.0), s)"), true, ""},
		{"where not", "h = " + op + "gt.Scalar(self.mask, 0.2)\ns = " + op + "scalar_tensor.default(-inf)\n" + weigh(op+"where.self(h, s, "+divT+"("+product+", 4.0))"), true, ""},
		{"all hidden by the least number", "h = " + op + "le.Scalar(self.rows, 100.0)\ns = " + op + "full.default([], -3.4028234663852886e+38)\n" + weigh(op+"where.self(h, s, "+divT+"("+product+", 4.0))"), true, ""},
		{"some shown by the least number", "h = " + op + "gt.Scalar(self.rows, 0.1)\ns = " + op + "full.default([], -3.4028234663852886e+38)\n" + weigh(op+"where.self(h, "+divT+"("+product+", 4.0), s)"), true, ""},
		{"with dropout", "d = " + op + "dropout.default(" + op + "softmax.int(" + product + ", -1), 0.1, False)\nreturn " + op + "matmul.default(d, z)", true, ""},
		{"softmax over the fourth dimension", "return " + op + "matmul.default(" + op + "_softmax.default(" + product + ", 3, False), z)", true, ""},
		{"softmax of float32", "s = " + op + "softmax.int(" + op + "to.dtype(" + product + ", torch.float32), -1, torch.float32)\nreturn " + op + "matmul.default(" + op + "to.dtype(s, torch.float32), z)", true, ""},
		{"softmax of float64", "s = " + op + "softmax.int(" + op + "to.dtype(" + product + ", torch.float64), -1)\nreturn " + op + "matmul.default(" + op + "to.dtype(s, torch.float32), z)", true, ""},
		{"matrices", matrices + "return " + op + "bmm.default(" + op + "softmax.int(" + op + "bmm.default(q, k), -1), v)", true, ""},
		{"matrices, added", matrices + "s = " + op + "baddbmm.default(self.batches, q, k, alpha=0.25)\nreturn " + op + "bmm.default(" + op + "softmax.int(s, -1), v)", true, ""},
		{"matrices, nothing added", matrices + "s = " + op + "baddbmm.default(self.rows, q, k, beta=0, alpha=0.25)\nreturn " + op + "bmm.default(" + op + "softmax.int(s, -1), v)", true, ""},
		{"matrices, half added", matrices + "s = " + op + "baddbmm.default(self.rows, q, k, beta=0.5, alpha=0.25)\nreturn " + op + "bmm.default(" + op + "softmax.int(s, -1), v)", true, ""},
		{"matrices of heads with a mask", matrices + "s = " + op + "view.default(" + op + "bmm.default(q, k), [2, 3, 6, -1])\nm = " + add + "(s, self.mask)\nf = " + op + "view.default(m, [6, 6, 6])\n" +
			"r = " + op + "bmm.default(" + op + "softmax.int(f, -1), v)\nreturn " + op + "view.default(r, [2, 3, 6, 16])", true, ""},
		{"decomposed", matrices + "s = " + op + "view.default(" + op + "bmm.default(q, k), [2, 3, 6, 6])\nm = " + add + "(" + divT + "(s, 4.0), self.mask)\nw = " + op + "_softmax.default(m, -1, False)\n" +
			"e = " + op + "view.default(" + op + "expand.default(w, [2, 3, 6, 6]), [6, 6, 6])\nr = " + op + "bmm.default(e, v)\nreturn " + op + "view.default(r, [2, 3, 6, 16])", true, ""},
		{"einsum", "s = " + op + "einsum.default('bhqd,bhkd->bhqk', [x, y])\nw = " + op + "softmax.int(" + mul + "(s, 0.25), -1)\nreturn " + op + "einsum.default('bhqk,bhkd->bhqd', [w, z])", true, ""},
		{"einsum, heads behind places", "s = " + op + "einsum.default('bqhd, bkhd -> bhqk', [x, y])\nw = " + op + "softmax.int(" + add + "(" + mul + "(s, 0.25), self.six), -1)\nreturn " + op + "einsum.default('bhqk,bkhd->bqhd', [w, z])", true, ""},
		{"einsum, scores turned", "s = " + op + "einsum.default('bhqd,bhkd->bhkq', [x, y])\nw = " + op + "softmax.int(s, -1)\nreturn " + op + "einsum.default('bhqk,bhkd->bhqd', [w, z])", true, ""},

		{"softmax over another dimension", "return " + op + "matmul.default(" + op + "softmax.int(" + product + ", -2), z)", false, "its softmax is not over the last dimension"},
		{"weights that are read", "w = " + op + "softmax.int(" + product + ", -1)\nreturn (" + op + "matmul.default(w, z), w)", false, ""},
		{"scores that are read", "s = " + product + "\nreturn (" + op + "matmul.default(" + op + "softmax.int(s, -1), z), s)", false, "its scores are no product"},
		{"a mask that broadcasts", "o = " + op + "slice.Tensor(x, 0, 0, 1)\n" + "w = " + op + "softmax.int(" + add + "(" + op + "matmul.default(o, " + op + "transpose.int(o, -2, -1)), self.mask), -1)\nreturn " + op + "matmul.default(w, o)", false, "its scores are no product"},
		{"a mask of more dimensions", weigh(add + "(" + product + ", " + op + "unsqueeze.default(self.mask, 0))"), false, ""},
		{"a mask that is scaled", weigh(mul + "(" + add + "(" + product + ", self.mask), 0.25)"), true, ""},
		{"a mask twice", weigh(add + "(" + product + ", self.mask, alpha=2)"), true, ""},
		{"a mask of truth values that is added", "h = " + op + "gt.Scalar(self.mask, 0.2)\n" + weigh(add+"("+product+", h)"), true, ""},
		{"hidden by -10000", "h = " + op + "gt.Scalar(self.mask, 0.2)\n" + weigh(op+"masked_fill.Scalar("+product+", h, -10000.0)"), true, ""},
		{"hidden by -10", "h = " + op + "gt.Scalar(self.mask, 0.2)\n" + weigh(op+"masked_fill.Scalar("+product+", h, -10.0)"), false, "its scores are no product"},
		{"added to what is hidden by a number", "h = " + op + "gt.Scalar(self.mask, 0.2)\ns = " + op + "masked_fill.Scalar(" + product + ", h, -10000.0)\n" + weigh(add+"(s, self.rows)"), false, "its scores are no product"},
		{"masked scores that are rounded", "p = " + op + "to.dtype(" + product + ", torch.float64)\nm = " + add + "(p, self.mask)\nn = " + op + "to.dtype(m, torch.float32)\n" + weigh("n"), false, "masked scores are rounded to a narrower dtype"},
		{"keys of one head", "k = " + op + "slice.Tensor(y, 1, 0, 1)\nv = " + op + "slice.Tensor(z, 1, 0, 1)\nreturn " + op + "matmul.default(" + op + "softmax.int(" + op + "matmul.default(x, " + op + "transpose.int(k, -2, -1)), -1), v)", true, ""},
		{"a value that is written", "s = " + product + "\nw = " + op + "softmax.int(s, -1)\ne = " + op + "select.int(x, 0, 0)\nu = " + op + "mul_.Tensor(e, 1.0)\nreturn " + op + "matmul.default(w, z)", false, "x is written"},
		{"scaled by a number that is computed", "s = " + op + "mean.default(x)\n" + weigh(mul+"("+product+", s)"), true, ""},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			testenv.Libtorch(t)
			body := tc.body
			if tc.name == "viewed" {
				body = "r = " + strings.TrimPrefix(body, "return ") + "\nv = " + op + "view.default(r, [6, -1])\nreturn " + op + "neg.default(v)"
			}
			q, k, v := randn(t, 2, 3, 6, 16), randn(t, 2, 3, 6, 16), randn(t, 2, 3, 6, 16)
			gm := aten(t, body, map[string][]int{"mask": {2, 1, 6, 6}, "rows": {6, 6}, "heads": {3, 1, 1}, "places": {6}, "batches": {6, 6, 6}, "six": {6, 3, 3}}, q, k, v)
			for _, opts := range [][]FreezeOption{{WithoutRewrites("fold-constants")}, nil} {
				frozen := freezes(t, gm, [][]*torch.Tensor{{q, k, v}}, opts...)
				ops := operatorsOf(frozen.Module)
				assert.Equal(t, tc.fused, slices.Contains(ops, sdpa), "%s\n%s", frozen.Report, frozen.Module.Graph())
				assert.Equal(t, tc.fused, !slices.Contains(ops, "aten.softmax.int") && !slices.Contains(ops, "aten._softmax") && !slices.Contains(ops, "aten._safe_softmax"))
				assert.Contains(t, frozen.Report.String(), tc.why)
			}
		})
	}
}
