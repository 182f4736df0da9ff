package passes

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

func TestFreezeConvolutions(t *testing.T) {
	const conv = "torch.ops.aten.conv2d.default(x, self.w, self.b, [1, 1], [1, 1])"
	weights := map[string][]int{"w": {8, 8, 3, 3}, "b": {8}, "w2": {8, 8, 3, 3}, "b2": {8}, "dw": {8, 1, 3, 3}, "tw": {8, 4, 3, 3}, "tb": {4}, "g": {8}, "m": {8}, "var": {8}}
	const packed, sum = "mkldnn._convolution_pointwise", "mkldnn._convolution_pointwise.binary"
	tests := []struct {
		name, body string
		want       []string
	}{
		{"alone", "return " + conv, []string{packed, "aten.contiguous"}},
		{"without bias", "return torch.ops.aten.conv2d.default(x, self.w)", []string{packed, "aten.contiguous"}},
		{"relu", "return torch.ops.aten.relu.default(" + conv + ")", []string{packed, "aten.contiguous"}},
		{"relu in place", "c = " + conv + "\nr = torch.ops.aten.relu_.default(c)\nreturn r", []string{packed, "aten.contiguous"}},
		{"relu6", "return torch.ops.aten.hardtanh.default(" + conv + ", 0.0, 6.0)", []string{packed, "aten.contiguous"}},
		{"silu", "return torch.ops.aten.silu.default(" + conv + ")", []string{packed, "aten.contiguous"}},
		{"hardswish", "return torch.ops.aten.hardswish.default(" + conv + ")", []string{packed, "aten.contiguous"}},
		{"gelu", "return torch.ops.aten.gelu.default(" + conv + ")", []string{packed, "aten.contiguous"}},
		{"gelu by tanh", "return torch.ops.aten.gelu.default(" + conv + ", approximate='tanh')", []string{packed, "aten.contiguous"}},
		{"leaky relu", "return torch.ops.aten.leaky_relu.default(" + conv + ", 0.2)", []string{packed, "aten.contiguous"}},
		{"sigmoid", "return torch.ops.aten.sigmoid.default(" + conv + ")", []string{packed, "aten.contiguous"}},
		{"tanh", "return torch.ops.aten.tanh.default(" + conv + ")", []string{packed, "aten.contiguous"}},
		{"residual", "return torch.ops.aten.add.Tensor(" + conv + ", x)", []string{sum, "aten.contiguous"}},
		{"residual first, and relu", "return torch.ops.aten.relu.default(torch.ops.aten.add.Tensor(x, " + conv + "))", []string{sum, "aten.contiguous"}},
		{"residual and sigmoid", "return torch.ops.aten.sigmoid.default(torch.ops.aten.add.Tensor(x, " + conv + "))", []string{sum, "aten.sigmoid", "aten.contiguous"}},
		{"residual of a convolution is written over", "c = " + conv + "\nd = torch.ops.aten.conv2d.default(c, self.w2, self.b2, [1, 1], [1, 1])\nreturn torch.ops.aten.add.Tensor(c, d)",
			[]string{packed, sum, "aten.contiguous"}},
		{"two convolutions summed", "c = " + conv + "\nd = torch.ops.aten.conv2d.default(x, self.w2, self.b2, [1, 1], [1, 1])\nreturn torch.ops.aten.relu.default(torch.ops.aten.add.Tensor(c, d))",
			[]string{packed, "mkldnn._convolution_pointwise_.binary", "aten.contiguous"}},
		{"result used twice", "c = " + conv + "\nreturn (c, torch.ops.aten.relu.default(c))", []string{packed, "aten.relu", "aten.contiguous", "aten.contiguous"}},
		{"depthwise, strided", "return torch.ops.aten.conv2d.default(x, self.dw, self.b, [2, 2], [1, 1], [1, 1], 8)", []string{packed, "aten.contiguous"}},
		{"same padding", "return torch.ops.aten.conv2d.padding(x, self.w, self.b, [1, 1], 'same', [2, 2])", []string{packed, "aten.contiguous"}},
		{"transposed", "return torch.ops.aten.relu.default(torch.ops.aten.conv_transpose2d.input(x, self.tw, self.tb, [2, 2], [1, 1], [1, 1]))",
			[]string{"mkldnn._convolution_transpose_pointwise", "aten.contiguous"}},
		{"convolution", "return torch.ops.aten.convolution.default(x, self.w, self.b, [1, 1], [1, 1], [1, 1], False, [0, 0], 1)", []string{packed, "aten.contiguous"}},
		{"batch norm and relu", "return torch.ops.aten.relu.default(torch.ops.aten.batch_norm.default(" + conv + ", self.g, self.b2, self.m, self.var, False, 0.1, 1e-05, True))",
			[]string{packed, "aten.contiguous"}},
		{"pooled and flattened", "p = torch.ops.aten.max_pool2d.default(" + conv + ", [2, 2])\nf = torch.ops.aten.flatten.using_ints(p, 1)\nreturn torch.ops.aten.mul.Tensor(f, 2.0)",
			[]string{packed, "aten.max_pool2d", "aten.flatten.using_ints", "aten.mul.Tensor", "aten.contiguous"}},
		{"viewed", "v = torch.ops.aten.view.default(" + conv + ", [2, -1])\nreturn torch.ops.aten.mul.Tensor(v, 2.0)", []string{packed, "aten.contiguous", "aten.view", "aten.mul.Tensor"}},
		{"permuted", "return torch.ops.aten.permute.default(" + conv + ", [0, 2, 3, 1])", []string{packed, "aten.contiguous", "aten.permute"}},
		{"written through a view", "c = " + conv + "\nv = torch.ops.aten.view.default(c, [2, -1])\na = torch.ops.aten.add_.Tensor(v, 1.0)\nreturn torch.ops.aten.mul.Tensor(c, 2.0)",
			[]string{packed, "aten.contiguous", "aten.view", "aten.add_.Tensor", "aten.mul.Tensor"}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			testenv.Libtorch(t)
			x, larger := randn(t, 2, 8, 10, 12), randn(t, 2, 8, 14, 16)
			gm := aten(t, tc.body, weights, x)
			// packed weights are right for other sizes, too
			frozen := freezes(t, gm, [][]*torch.Tensor{{x}, {larger}})
			assert.Equal(t, tc.want, operatorsOf(frozen.Module), "%s", frozen.Module.Graph())
		})
	}
}

// Convolutions of one and three dimensions are packed as those of two are, transposed
// ones and those with folded norms, too, and what follows them is fused.
func TestFreezeConvolutionsOfOtherDimensions(t *testing.T) {
	const packed, sum, transposed = "mkldnn._convolution_pointwise", "mkldnn._convolution_pointwise.binary", "mkldnn._convolution_transpose_pointwise"
	tests := []struct {
		name  string
		call  string // D stands for the number of dimensions, [n] for a list of as many
		after string // of c
		want  []string
	}{
		{"alone", "convDd.default(x, self.w, self.b, [1], [1])", "", []string{packed}},
		{"strided, with relu", "convDd.default(x, self.w, None, [2])", "aten.relu.default(c)", []string{packed}},
		{"dilated, same padding", "convDd.padding(x, self.w, self.b, [1], 'same', [2])", "aten.gelu.default(c)", []string{packed}},
		{"depthwise", "convDd.default(x, self.dw, self.b, [1], [1], [1], 8)", "aten.silu.default(c)", []string{packed}},
		{"residual and relu", "convDd.default(x, self.w, self.b, [1], [1])", "aten.relu.default(torch.ops.aten.add.Tensor(x, c))", []string{sum}},
		{"norm", "convDd.default(x, self.w, self.b, [1], [1])", "aten.relu.default(torch.ops.aten.batch_norm.default(c, self.g, self.b2, self.m, self.var, False, 0.1, 1e-05, True))", []string{packed}},
		{"norm without parameters", "convDd.default(x, self.w, None, [1], [1])", "aten.batch_norm.default(c, None, None, self.m, self.var, False, 0.1, 1e-05, True)", []string{packed}},
		{"convolution", "convolution.default(x, self.w, self.b, [1], [0], [1], False, [0], 1)", "", []string{packed}},
		{"transposed", "conv_transposeDd.IN(x, self.w, self.b, [2], [1], [1])", "aten.relu.default(c)", []string{transposed}},
		{"transposed, in groups, norm", "conv_transposeDd.IN(x, self.tw, None, [2], [0], [0], 2)", "aten.batch_norm.default(c, self.g, self.b2, self.m, self.var, False, 0.1, 1e-05, True)", []string{transposed}},
		{"transposed, depthwise, dilated", "conv_transposeDd.IN(x, self.dw, self.b, [3], [1], [2], 8, [2])", "", []string{transposed}},
		{"pooled", "convDd.default(x, self.w, self.b, [1], [1])", "aten.max_poolDd.default(c, [2])", []string{packed, "aten.max_poolDd"}},
		{"flattened", "convDd.default(x, self.w, self.b)", "aten.view.default(c, [2, -1])", []string{packed, "aten.view"}},
		{"in a row", "convDd.default(x, self.w, self.b, [1], [1])", "aten.convDd.default(torch.ops.aten.convDd.default(c, self.dw, None, [1], [1], [1], 8), self.w)", []string{packed, packed, packed}},
	}
	for _, dims := range []int{1, 2, 3} {
		for _, tc := range tests {
			t.Run(fmt.Sprintf("%s, of %d dimensions", tc.name, dims), func(t *testing.T) {
				testenv.Libtorch(t)
				size := func(first ...int) []int { return append(first, slices.Repeat([]int{3}, dims)...) }
				image := func(n int) []int { return append([]int{2, 8}, []int{n, n + 3, n + 1}[:dims]...) }
				lists := regexp.MustCompile(`\[(\d)\]`)
				write := func(s string) string {
					in := "input"
					if dims == 1 {
						in = "default"
					}
					s = strings.NewReplacer("Dd", fmt.Sprint(dims)+"d", "IN", in).Replace(s)
					return lists.ReplaceAllString(s, "["+strings.TrimSuffix(strings.Repeat("$1, ", dims), ", ")+"]")
				}
				body := "c = torch.ops.aten." + write(tc.call) + "\n"
				if tc.after == "" {
					body += "return c"
				} else {
					body += "return torch.ops." + write(tc.after)
				}
				x, larger := randn(t, image(7)...), randn(t, image(11)...)
				gm := aten(t, body, map[string][]int{"w": size(8, 8), "tw": size(8, 4), "dw": size(8, 1), "b": {8}, "b2": {8}, "g": {8}, "m": {8}, "var": {8}}, x)
				frozen := freezes(t, gm, [][]*torch.Tensor{{x}, {larger}})
				want := []string{}
				for _, op := range tc.want {
					want = append(want, write(op))
				}
				got := slices.DeleteFunc(operatorsOf(frozen.Module), func(op string) bool {
					return op == "aten.contiguous" || op == "aten.unsqueeze" || op == "aten.squeeze.dim"
				})
				assert.Equal(t, want, got, "%s\n%s", frozen.Report, frozen.Module.Graph())
				freezes(t, gm, [][]*torch.Tensor{{x}, {larger}}, WithChoices(NewChoices()))

				wide := castTo(t, x, ir.Float64)
				gm = atenOf(t, ir.Float64, body, map[string][]int{"w": size(8, 8), "tw": size(8, 4), "dw": size(8, 1), "b": {8}, "b2": {8}, "g": {8}, "m": {8}, "var": {8}}, wide)
				frozen = freezes(t, gm, [][]*torch.Tensor{{wide}})
				assert.Zero(t, frozen.Report.Count("pack-convolutions"), "float64 has no kernels")
			})
		}
	}
}

// What cannot be packed stays, and the report has the reason.
func TestFreezeLeavesConvolutions(t *testing.T) {
	tests := []struct{ name, body, why string }{
		{"without a batch", "return torch.ops.aten.conv2d.default(torch.ops.aten.select.int(x, 0, 0), self.w)", "it is not of one to three dimensions with a batch"},
		{"computed weight", "return torch.ops.aten.conv2d.default(x, torch.ops.aten.mul.Tensor(self.w, torch.ops.aten.mean.default(x)))", "its weight is no constant"},
		{"written weight", "m = torch.ops.aten.mul_.Tensor(self.w, 1.0)\nreturn torch.ops.aten.conv2d.default(x, self.w)", "its weight is no constant"},
		{"uneven padding", "return torch.ops.aten.conv2d.padding(x, self.even, None, [1, 1], 'same')", "its sizes are computed, or its padding is not the same on both sides"},
		{"of float64", "return torch.ops.aten.conv2d.default(torch.ops.aten.to.dtype(x, torch.float64), torch.ops.aten.to.dtype(self.w, torch.float64))", "expected float32 or bfloat16, got torch.float64"},
		{"channels by themselves in three dimensions, of bfloat16", "n = torch.ops.aten.to.dtype(torch.ops.aten.unsqueeze.default(x, 2), torch.bfloat16)\n" +
			"return torch.ops.aten.conv3d.default(n, torch.ops.aten.to.dtype(self.d, torch.bfloat16), None, [2, 1, 1], [1, 2, 2], [1, 1, 1], 8)", "libtorch's packed kernel for channels by themselves"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			testenv.Libtorch(t)
			x := randn(t, 2, 8, 10, 12)
			gm := aten(t, tc.body, map[string][]int{"d": {16, 1, 3, 1, 2}, "w": {8, 8, 3, 3}, "w1": {8, 8, 3}, "even": {8, 8, 2, 2}}, x)
			frozen := freezes(t, gm, [][]*torch.Tensor{{x}})
			require.Zero(t, frozen.Report.Count("pack-convolutions"), "%s", frozen.Report)
			require.Contains(t, frozen.Report.String(), "left: "+tc.why)
		})
	}
}

func TestFreezeLinears(t *testing.T) {
	const lin = "torch.ops.aten.linear.default(x, self.w, self.b)"
	const packed, sum = "mkldnn._linear_pointwise", "mkldnn._linear_pointwise.binary"
	tests := []struct {
		name, body string
		want       []string
	}{
		{"alone", "return " + lin, []string{packed}},
		{"without bias", "return torch.ops.aten.linear.default(x, self.w)", []string{packed}},
		{"gelu", "return torch.ops.aten.gelu.default(" + lin + ")", []string{packed}},
		{"relu, in place", "return torch.ops.aten.relu_.default(" + lin + ")", []string{packed}},
		{"residual", "return torch.ops.aten.add.Tensor(x, " + lin + ")", []string{sum}},
		{"used twice", "l = " + lin + "\nreturn (l, torch.ops.aten.relu.default(l))", []string{packed, "aten.relu"}},
		{"addmm", "v = torch.ops.aten.view.default(x, [-1, 16])\nt = torch.ops.aten.t.default(self.w)\nreturn torch.ops.aten.addmm.default(self.b, v, t)", []string{"aten.view", packed}},
		{"mm", "v = torch.ops.aten.view.default(x, [-1, 16])\nt = torch.ops.aten.permute.default(self.w, [1, 0])\nreturn torch.ops.aten.mm.default(v, t)", []string{"aten.view", packed}},
		{"scaled addmm", "v = torch.ops.aten.view.default(x, [-1, 16])\nt = torch.ops.aten.t.default(self.w)\nreturn torch.ops.aten.addmm.default(self.b, v, t, alpha=2)", []string{"aten.view", "aten.addmm"}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			testenv.Libtorch(t)
			x, longer := randn(t, 3, 5, 16), randn(t, 7, 9, 16)
			gm := aten(t, tc.body, map[string][]int{"w": {16, 16}, "b": {16}}, x)
			frozen := freezes(t, gm, [][]*torch.Tensor{{x}, {longer}})
			assert.Equal(t, tc.want, operatorsOf(frozen.Module), "%s", frozen.Module.Graph())
		})
	}
}
