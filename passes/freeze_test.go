package passes

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

func randn(t testing.TB, sizes ...int) *torch.Tensor {
	t.Helper()
	x, err := tensor("aten::randn", sizes)
	require.NoError(t, err)
	t.Cleanup(func() { x.Close() })
	return x
}

var (
	attributeRead = regexp.MustCompile(`self\.(\w+)`)
	operatorCalls = regexp.MustCompile(`torch\.ops\.[\w.]+\([^()]*\)`)
)

// flat brings code with calls as arguments into the form that graphs are read from, a
// call or an attribute a line.
func flat(body string) string {
	var lines []string
	seen := map[string]bool{}
	for line := range strings.Lines(strings.TrimSpace(body)) {
		line = strings.TrimSpace(line)
		for _, m := range attributeRead.FindAllStringSubmatch(line, -1) {
			if name := m[1]; !seen[name] {
				seen[name] = true
				lines = append(lines, name+" = self."+name)
			}
		}
		line = attributeRead.ReplaceAllString(line, "$1")
		for {
			at := operatorCalls.FindStringIndex(line)
			if at == nil || strings.HasSuffix(line[:at[0]], "= ") && at[1] == len(line) && !strings.Contains(line[:at[0]], "(") {
				break
			}
			name := fmt.Sprintf("t%d", len(lines))
			lines = append(lines, name+" = "+line[at[0]:at[1]])
			line = line[:at[0]] + name + line[at[1]:]
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n    ")
}

// aten reads a graph of operators, gives it attributes of random elements, and notes
// its values on inputs.
func aten(t testing.TB, body string, attrs map[string][]int, inputs ...*torch.Tensor) *ir.GraphModule {
	t.Helper()
	return atenOf(t, ir.Float32, body, attrs, inputs...)
}

// atenOf is aten with attributes of a dtype.
func atenOf(t testing.TB, d ir.DType, body string, attrs map[string][]int, inputs ...*torch.Tensor) *ir.GraphModule {
	t.Helper()
	testenv.Libtorch(t)
	require.NoError(t, libtorch.ManualSeed(0))
	values := map[string]any{}
	for name, sizes := range attrs {
		x := randn(t, sizes...)
		if len(sizes) > 1 && sizes[0] > 0 { // as layers begin, so that values stay of one magnitude
			x = torch.Div(x, math.Sqrt(float64(x.Numel()/sizes[0])))
		}
		if strings.HasSuffix(name, "var") {
			x = torch.Add(torch.Abs(x), 0.5)
		}
		values[name] = castTo(t, x, d)
	}
	args := []string{"x", "y", "z"}[:len(inputs)]
	g, err := ir.ParseCode("def forward(self, " + strings.Join(args, ", ") + "):\n    " + flat(body))
	require.NoError(t, err)
	gm, err := ir.NewGraphModule(values, g)
	require.NoError(t, err)
	note(t, gm, inputs)
	return gm
}

func runModule(t testing.TB, r interface {
	RunFlat(context.Context, []any) ([]any, error)
}, inputs []*torch.Tensor) []*torch.Tensor {
	t.Helper()
	args := make([]any, len(inputs))
	for i, x := range inputs {
		args[i] = x
	}
	out, err := r.RunFlat(t.Context(), args)
	require.NoError(t, err)
	tensors := make([]*torch.Tensor, len(out))
	for i, v := range out {
		tensors[i] = v.(*torch.Tensor)
	}
	return tensors
}

func closeEach(tensors []*torch.Tensor) {
	for _, x := range tensors {
		x.Close()
	}
}

// distance is the largest difference, as a part of the largest magnitude.
func distance(t testing.TB, want, got *torch.Tensor) float64 {
	t.Helper()
	if want.Numel() == 0 {
		return 0
	}
	if same, err := torch.Call("aten::equal", want, got); err == nil && same == true {
		return 0 // infinities, too
	}
	if d := want.DType(); !d.IsFloat() && !d.IsComplex() {
		want, got = castTo(t, want, ir.Float64), castTo(t, got, ir.Float64)
	}
	number := func(x *torch.Tensor) float64 {
		v, err := torch.Max(torch.Abs(x)).Item()
		require.NoError(t, err)
		f, _ := v.(float64)
		return f
	}
	if scale := number(want); scale > 0 {
		return number(torch.Sub(want, got)) / scale
	}
	return number(got)
}

// steps are the strides that matter: of dimensions that have more than one element, in
// a tensor that has any.
func steps(x *torch.Tensor) []int {
	strides := slices.Clone(x.Strides())
	for i, n := range x.Shape() {
		if n == 1 || x.Numel() == 0 {
			strides[i] = 0
		}
	}
	return strides
}

// freezes freezes a module and checks that the frozen one gives the same results, with
// the same strides, within the tolerance that the report states.
func freezes(t testing.TB, gm *ir.GraphModule, sets [][]*torch.Tensor, opts ...FreezeOption) *Frozen {
	t.Helper()
	before := gm.Graph().String()
	options := append([]FreezeOption{WithChoices(Unmeasured()), FreezeDelegate(nil)}, opts...)
	frozen, err := Freeze(t.Context(), gm, options...)
	require.NoError(t, err)
	t.Cleanup(func() { frozen.Close() })
	again, err := Freeze(t.Context(), frozen.Module, options...)
	require.NoError(t, err)
	t.Cleanup(func() { again.Close() })
	require.Equal(t, frozen.Module.Graph().String(), again.Module.Graph().String(), "a frozen module stays as it is\n%s", again.Report)
	require.Equal(t, before, gm.Graph().String(), "the module given stays as it is")
	require.NoError(t, frozen.Module.Graph().Lint())
	plan, err := interpreter.Compile(frozen.Module)
	require.NoError(t, err)
	defer plan.Close()
	for _, inputs := range sets {
		want := runModule(t, interpreter.New(gm), inputs)
		for _, r := range []interface {
			RunFlat(context.Context, []any) ([]any, error)
		}{interpreter.New(frozen.Module), plan, plan} {
			got := runModule(t, r, inputs)
			require.Len(t, got, len(want))
			for i := range want {
				require.Equal(t, torch.Describe(want[i]), torch.Describe(got[i]))
				require.Equal(t, steps(want[i]), steps(got[i]))
				require.LessOrEqual(t, distance(t, want[i], got[i]), frozen.Report.Tolerance(), "%s\n%s", frozen.Report, frozen.Module.Graph())
			}
			closeEach(got)
		}
		closeEach(want)
	}
	return frozen
}

// operatorsOf lists what a graph calls, without "torch.ops." and ".default".
func operatorsOf(gm *ir.GraphModule) []string {
	names := []string{}
	for n := range gm.Graph().Nodes() {
		if n.Op() == ir.CallFunction {
			names = append(names, strings.TrimSuffix(strings.TrimPrefix(n.Target().String(), "torch.ops."), ".default"))
		}
	}
	return names
}

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
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			testenv.Libtorch(t)
			x := randn(t, 2, 8, 10, 12)
			gm := aten(t, tc.body, map[string][]int{"w": {8, 8, 3, 3}, "w1": {8, 8, 3}, "even": {8, 8, 2, 2}}, x)
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

// Rewrites that promise equal bits give them.
func TestFreezeWithoutArithmetic(t *testing.T) {
	tests := []struct {
		name, body string
		want       []string
	}{
		{"dropout", "d = torch.ops.aten.dropout.default(x, 0.5, False)\nreturn torch.ops.aten.neg.default(d)", []string{"aten.neg"}},
		{"dropout that trains", "d = torch.ops.aten.dropout.default(x, 0.0, True)\nreturn torch.ops.aten.neg.default(d)", []string{"aten.dropout", "aten.neg"}},
		{"casts and views", "a = torch.ops.aten.to.dtype(x, torch.float32)\nb = torch.ops.aten.contiguous.default(a)\nc = torch.ops.aten.view.default(b, [4, 6])\nd = torch.ops.aten.clone.default(c)\nreturn torch.ops.aten.neg.default(d)",
			[]string{"aten.neg"}},
		{"a cast that does something", "a = torch.ops.aten.to.dtype(x, torch.float64)\nreturn torch.ops.aten.neg.default(a)", []string{"aten.to.dtype", "aten.neg"}},
		{"a copy that is written", "a = torch.ops.aten.clone.default(x)\nv = torch.ops.aten.select.int(a, 0, 0)\nb = torch.ops.aten.zero_.default(v)\nreturn torch.ops.aten.neg.default(a)",
			[]string{"aten.clone", "aten.select.int", "aten.zero_", "aten.neg"}},
		{"a copy that is returned", "return torch.ops.aten.clone.default(x)", []string{"aten.clone"}},
		{"writes", "a = torch.ops.aten.neg.default(x)\nb = torch.ops.aten.add_.Tensor(a, 1.0)\nc = torch.ops.aten.mul_.Tensor(b, x)\nreturn c", []string{"aten.neg", "aten.add.Tensor", "aten.mul.Tensor"}},
		{"a write that is seen", "a = torch.ops.aten.neg.default(x)\nv = torch.ops.aten.select.int(a, 0, 0)\nb = torch.ops.aten.add_.Tensor(a, 1.0)\nreturn torch.ops.aten.mul.Tensor(b, v)",
			[]string{"aten.neg", "aten.select.int", "aten.add_.Tensor", "aten.mul.Tensor"}},
		{"a write into an argument", "a = torch.ops.aten.neg_.default(torch.ops.aten.neg_.default(x))\nreturn torch.ops.aten.neg.default(a)", []string{"aten.neg_", "aten.neg_", "aten.neg"}},
		{"constants", "s = torch.ops.aten.mul.Tensor(self.w, 2.0)\nt = torch.ops.aten.t.default(s)\na = torch.ops.aten.arange.default(4)\nb = torch.ops.aten.unsqueeze.default(a, 1)\nreturn (torch.ops.aten.mul.Tensor(x, b), torch.ops.aten.mm.default(x, t))",
			[]string{"aten.mul.Tensor", "aten.mm"}},
		{"a constant that is returned", "s = torch.ops.aten.mul.Tensor(self.w, 2.0)\nreturn (s, torch.ops.aten.neg.default(x))", []string{"aten.mul.Tensor", "aten.neg"}},
		{"a constant that is written", "s = torch.ops.aten.zeros.default([4, 6])\nv = torch.ops.aten.select.int(s, 0, 1)\nb = torch.ops.aten.add_.Tensor(v, 1.0)\nreturn torch.ops.aten.add.Tensor(s, x)",
			[]string{"aten.zeros", "aten.select.int", "aten.add_.Tensor", "aten.add.Tensor"}},
		{"a constant that grows", "s = torch.ops.aten.full.default([4000, 600], 2.0)\nreturn torch.ops.aten.mul.Tensor(torch.ops.aten.sum.default(x), s)", []string{"aten.full", "aten.sum", "aten.mul.Tensor"}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			testenv.Libtorch(t)
			x := randn(t, 4, 6)
			gm := aten(t, tc.body, map[string][]int{"w": {6, 6}}, x)
			frozen := freezes(t, gm, [][]*torch.Tensor{{x}}, WithoutRewrites("pack-linears"))
			require.Zero(t, frozen.Report.Tolerance())
			assert.Equal(t, tc.want, operatorsOf(frozen.Module), "%s\n%s", frozen.Report, frozen.Module.Graph())
		})
	}
}

func TestFreezeSwitches(t *testing.T) {
	testenv.Libtorch(t)
	x := randn(t, 2, 8, 10, 12)
	gm := aten(t, "c = torch.ops.aten.conv2d.default(x, self.w)\nreturn torch.ops.aten.dropout.default(c, 0.5, False)", map[string][]int{"w": {8, 8, 3, 3}}, x)
	for _, r := range Rewrites() {
		assert.NotEmpty(t, r.Doc)
		frozen := freezes(t, gm, [][]*torch.Tensor{{x}}, WithoutRewrites(r.Name))
		assert.Zero(t, frozen.Report.Count(r.Name), "%s", frozen.Report)
		only := freezes(t, gm, [][]*torch.Tensor{{x}}, OnlyRewrites(r.Name))
		for _, a := range only.Report.Applied {
			assert.Equal(t, r.Name, a.Rewrite)
		}
	}
	_, err := Freeze(t.Context(), gm, WithRewrites("pack-convolution"))
	require.ErrorIs(t, err, ir.ErrKey)
	require.ErrorContains(t, err, "freeze: expected rewrites that Rewrites lists, got pack-convolution")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Freeze(ctx, gm)
	require.ErrorIs(t, err, ir.ErrCancelled)
}

// Tensors that were replaced are closed, the others are not, and none is twice.
func TestFreezeReleasesOriginals(t *testing.T) {
	testenv.Libtorch(t)
	x := randn(t, 2, 8, 10, 12)
	gm := aten(t, "c = torch.ops.aten.conv2d.default(x, self.w)\nm = torch.ops.aten.mul.Tensor(c, self.s)\nreturn m", map[string][]int{"w": {8, 8, 3, 3}, "s": {1}, "unused": {3}}, x)
	want := runModule(t, interpreter.New(gm), []*torch.Tensor{x})[0]
	defer want.Close()
	frozen, err := Freeze(t.Context(), gm, ReleaseOriginals(), WithChoices(Unmeasured()), FreezeDelegate(nil))
	require.NoError(t, err)
	defer frozen.Close()
	assert.ElementsMatch(t, []string{"w", "unused"}, frozen.Report.Dropped)
	for name, open := range map[string]bool{"w": false, "unused": false, "s": true} {
		v, _ := gm.Attr(name)
		h, err := v.(*torch.Tensor).Handle()
		require.NoError(t, err)
		_, err = h.Info()
		assert.Equal(t, open, err == nil, name)
	}
	got := runModule(t, interpreter.New(frozen.Module), []*torch.Tensor{x})[0]
	defer got.Close()
	assert.LessOrEqual(t, distance(t, want, got), frozen.Report.Tolerance())
}

// Of two modules on the same weights, each with tensors of its own, the one stays what it
// is while the originals of the other are released.
func TestFreezeReleasesSharedOriginals(t *testing.T) {
	testenv.Libtorch(t)
	x := randn(t, 2, 8, 10, 12)
	body := "c = torch.ops.aten.conv2d.default(x, self.w, self.b)\nm = torch.ops.aten.relu.default(c)\nreturn m"
	first := aten(t, body, map[string][]int{"w": {8, 8, 3, 3}, "b": {8}}, x)
	second := first.Clone()
	for _, name := range []string{"w", "b"} {
		v, _ := first.Attr(name)
		other, err := tensor("aten::alias", v)
		require.NoError(t, err)
		t.Cleanup(func() { other.Close() })
		second.SetAttr(name, other)
	}
	want := runModule(t, interpreter.New(first), []*torch.Tensor{x})[0]
	defer want.Close()
	same := func(gm *ir.GraphModule, tolerance float64) {
		got := runModule(t, interpreter.New(gm), []*torch.Tensor{x})[0]
		defer got.Close()
		assert.LessOrEqual(t, distance(t, want, got), tolerance)
	}
	release := func(gm *ir.GraphModule) *Frozen {
		frozen, err := Freeze(t.Context(), gm, ReleaseOriginals(), WithChoices(Unmeasured()), FreezeDelegate(nil))
		require.NoError(t, err)
		assert.Contains(t, frozen.Report.Dropped, "w")
		return frozen
	}
	a := release(first)
	same(second, 0)
	b := release(second)
	same(a.Module, a.Report.Tolerance())
	require.NoError(t, a.Close())
	same(b.Module, b.Report.Tolerance())
	require.NoError(t, b.Close())
}

// A module of layers is lowered on the values given.
func TestFreezeLowers(t *testing.T) {
	testenv.Libtorch(t)
	g, err := ir.ParseCode("def forward(self, x):\n    w = self.w\n    c = torch.conv2d(x, w)\n    r = c.relu()\n    return r")
	require.NoError(t, err)
	x := randn(t, 2, 8, 10, 12)
	gm, err := ir.NewGraphModule(map[string]any{"w": randn(t, 8, 8, 3, 3)}, g)
	require.NoError(t, err)
	frozen := freezes(t, gm, [][]*torch.Tensor{{x}}, FreezeArgs(x))
	assert.Equal(t, []string{"mkldnn._convolution_pointwise", "aten.contiguous"}, operatorsOf(frozen.Module))
}

func TestChoices(t *testing.T) {
	testenv.Libtorch(t)
	name := filepath.Join(t.TempDir(), "choices.json")
	c, err := OpenChoices(name)
	require.NoError(t, err)
	asked := 0
	ways := func(m *measured) error {
		asked++
		small, large := m.call("aten::ones", []int{4}), m.call("aten::ones", []int{1 << 20})
		m.way("slow", "aten::sin", large)
		m.way("fast", "aten::sin", small)
		return m.err
	}
	for range 2 {
		choice, err := c.choose("a key", 1, ways)
		require.NoError(t, err)
		assert.Equal(t, "fast", choice.Way)
		assert.Less(t, choice.Nanos["fast"], choice.Nanos["slow"])
	}
	require.NoError(t, c.Save(name))
	again, err := OpenChoices(name)
	require.NoError(t, err)
	assert.Equal(t, c.All(), again.All())
	choice, err := again.choose("a key", 1, ways)
	require.NoError(t, err)
	assert.Equal(t, "fast", choice.Way)
	assert.Equal(t, 1, asked, "measured once")
	_, err = c.choose("another", 1, func(m *measured) error { m.way("none", "aten::nosuch"); return nil })
	require.Error(t, err)
	assert.False(t, math.IsInf(choice.Nanos["slow"], 1))
}

// The second process that freezes a network finds in the file what the first one measured,
// and writes nothing.
func TestKeepChoices(t *testing.T) {
	testenv.Libtorch(t)
	name := filepath.Join(t.TempDir(), "choices.json")
	freeze := func(into string, opts ...FreezeOption) (*Frozen, error) {
		g, err := ir.ParseCode("def forward(self, x):\n    w = self.w\n    c = torch.conv2d(x, w)\n    r = c.relu()\n    return r")
		require.NoError(t, err)
		gm, err := ir.NewGraphModule(map[string]any{"w": randn(t, 8, 8, 3, 3)}, g)
		require.NoError(t, err)
		return Freeze(t.Context(), gm, append(opts, FreezeArgs(randn(t, 1, 8, 10, 12)), KeepChoices(into))...)
	}
	frozen, err := freeze(name)
	require.NoError(t, err)
	defer frozen.Close()
	first, err := OpenChoices(name)
	require.NoError(t, err)
	require.NotEmpty(t, first.All())
	written, err := os.Stat(name)
	require.NoError(t, err)
	again, err := freeze(name)
	require.NoError(t, err)
	defer again.Close()
	assert.Equal(t, frozen.Report, again.Report)
	after, err := os.Stat(name)
	require.NoError(t, err)
	assert.Equal(t, written.ModTime(), after.ModTime())

	require.NoError(t, os.WriteFile(name, []byte("no choices"), 0o600))
	_, err = freeze(name)
	require.ErrorIs(t, err, ir.ErrFormat)
	_, err = freeze(filepath.Join(name, "below a file"))
	require.Error(t, err)
}

func ExampleFreeze() {
	g, err := ir.ParseCode("def forward(self, x):\n    w = self.w\n    c = torch.conv2d(x, w)\n    r = torch.relu(c)\n    return r")
	if err != nil {
		fmt.Println(err)
		return
	}
	w, x := torch.Ones([]int{4, 4, 3, 3}), torch.Ones([]int{1, 4, 8, 8})
	gm, err := ir.NewGraphModule(map[string]any{"w": w}, g)
	if err != nil {
		fmt.Println(err)
		return
	}
	frozen, err := Freeze(context.Background(), gm, FreezeArgs(x), WithChoices(Unmeasured()), FreezeDelegate(nil))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer frozen.Close()
	fmt.Print(frozen.Report)
	// Output:
	// pack-convolutions: convolution_pointwise: conv2d, relu: weight [4 4 3 3], stride [1 1], padding [0 0], groups 1, input [1 4 8 8]
	// pack-convolutions: contiguous: convolution_pointwise is laid out again for output
	// rewritten: 2, attributes dropped: 1, tolerance: 0.0001
}
