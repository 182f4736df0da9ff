package passes

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	torch "github.com/torchfx-go/torchfx/torchops"
)

// What a rewrite has made may be what it finds next, of which nothing was noted before.
func TestFreezeChains(t *testing.T) {
	const norm = `
m# = torch.ops.aten.mean.dim($, [-1], True)
d# = torch.ops.aten.sub.Tensor($, m#)
v# = torch.ops.aten.mean.dim(torch.ops.aten.pow.Tensor_Scalar(d#, 2), [-1], True)
n# = torch.ops.aten.div.Tensor(d#, torch.ops.aten.sqrt.default(torch.ops.aten.add.Tensor(v#, 1e-5)))
y# = torch.ops.aten.add.Tensor(torch.ops.aten.mul.Tensor(n#, self.w), self.b)`
	const attention = `
k# = torch.ops.aten.transpose.int(torch.ops.aten.neg.default(x), -2, -1)
y# = torch.ops.aten.matmul.default(torch.ops.aten.softmax.int(torch.ops.aten.matmul.default(torch.ops.aten.abs.default(x), k#), -1), $)`
	weights := map[string][]int{"w": {8}, "b": {8}, "q": {8, 8}, "k": {8, 8}}
	twice := func(body string) string {
		return strings.NewReplacer("#", "1", "$", "x").Replace(body) + strings.NewReplacer("#", "2", "$", "y1").Replace(body) + "\nreturn y2"
	}
	for _, test := range []struct {
		name, body string
		shape      []int
		want       []string
	}{
		{"layer norms", twice(norm), []int{3, 8}, []string{"aten.layer_norm", "aten.layer_norm"}},
		{"attention", twice(attention), []int{1, 2, 3, 8}, []string{"aten.scaled_dot_product_attention", "aten.scaled_dot_product_attention"}},
		{"merged layers", `
a = torch.ops.aten.linear.default(x, self.q)
b = torch.ops.aten.linear.default(x, self.k)
c = torch.ops.aten.linear.default(a, self.q)
d = torch.ops.aten.linear.default(a, self.k)
return torch.ops.aten.mul.Tensor(torch.ops.aten.mul.Tensor(a, b), torch.ops.aten.mul.Tensor(c, d))`, []int{3, 8}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			x := randn(t, test.shape...)
			frozen := freezes(t, aten(t, test.body, weights, x), [][]*torch.Tensor{{x}})
			if test.want == nil {
				require.Equal(t, 2, frozen.Report.Count("merge-linears"), "%s", frozen.Report)
				return
			}
			for _, op := range test.want {
				require.Contains(t, operatorsOf(frozen.Module), op, "%s", frozen.Report)
			}
			require.Equal(t, 2, frozen.Report.Count("fuse-patterns")+frozen.Report.Count("fuse-attention"), "%s", frozen.Report)
		})
	}
}

// A sum lies as its first operand and a norm that is written out as its input: what a
// packed layer or libtorch's norm computes lies in rows.
func TestFreezeKeepsLayoutsOfOperands(t *testing.T) {
	for name, body := range map[string]string{
		"residual of a convolution": `
y = torch.ops.aten.reshape.default(x, [1, 3, 2, 4])
z = torch.ops.aten.transpose.int(y, 2, 3)
return torch.ops.aten.add.Tensor(z, torch.ops.aten.conv2d.default(z, self.c))`,
		"residual": "return torch.ops.aten.add.Tensor(x, torch.ops.aten.linear.default(x, self.q, self.b))",
		"norm": `
m = torch.ops.aten.mean.dim(x, [-1], True)
d = torch.ops.aten.sub.Tensor(x, m)
v = torch.ops.aten.mean.dim(torch.ops.aten.pow.Tensor_Scalar(d, 2), [-1], True)
n = torch.ops.aten.div.Tensor(d, torch.ops.aten.sqrt.default(torch.ops.aten.add.Tensor(v, 1e-5)))
return torch.ops.aten.add.Tensor(torch.ops.aten.mul.Tensor(n, self.w), self.b)`,
	} {
		t.Run(name, func(t *testing.T) {
			x, err := tensor("aten::t", randn(t, 8, 3))
			require.NoError(t, err)
			freezes(t, aten(t, body, map[string][]int{"w": {8}, "b": {8}, "q": {8, 8}, "c": {3, 3, 1, 1}}, x), [][]*torch.Tensor{{x}})
		})
	}
}
