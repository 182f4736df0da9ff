package passes

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/interpreter"
	torch "github.com/torchfx-go/torchfx/torchops"
)

func onednn(t testing.TB) *OneDNN {
	t.Helper()
	library, err := libtorch.OpenDelegateFile(testenv.Delegate(t))
	require.NoError(t, err)
	return NewOneDNN(library)
}

// What programs of regions have nodes for becomes a region, alone or behind a
// convolution, and gives the results of the operators within the tolerance, at sizes
// that were noted and at others.
func TestOneDNN(t *testing.T) {
	weights := map[string][]int{
		"w": {8, 8, 3, 3}, "b": {8}, "k1": {8, 8, 3}, "k3": {8, 8, 3, 3, 3}, "dw": {8, 1, 3, 3}, "tw": {8, 4, 2, 2}, "tb": {4}, "even": {8, 8, 2, 2},
		"g": {8}, "m": {8}, "var": {8}, "l": {16, 12}, "lb": {16}, "lt": {12, 16}, "one": {1}, "ch": {8, 1, 1},
	}
	const conv = "torch.ops.aten.conv2d.default(x, self.w, self.b, [1, 1], [1, 1])"
	tests := []struct {
		name, body string
		want       []string // what is left outside
	}{
		{"convolution", "return " + conv, nil},
		{"without bias", "return torch.ops.aten.conv2d.default(x, self.w)", nil},
		{"strided, dilated", "return torch.ops.aten.conv2d.default(x, self.w, self.b, [2, 1], [2, 2], [1, 2])", nil},
		{"depthwise", "return torch.ops.aten.conv2d.default(x, self.dw, self.b, [2, 2], [1, 1], [1, 1], 8)", nil},
		{"same padding", "return torch.ops.aten.conv2d.padding(x, self.even, self.b, [1, 1], 'same')", nil},
		{"transposed", "return torch.ops.aten.conv_transpose2d.input(x, self.tw, self.tb, [2, 2], [1, 1], [1, 1])", nil},
		{"convolution.default", "return torch.ops.aten.convolution.default(x, self.w, self.b, [1, 1], [1, 1], [1, 1], False, [0, 0], 1)", nil},
		{"batch norm", "return torch.ops.aten.relu.default(torch.ops.aten.batch_norm.default(" + conv + ", self.g, self.b, self.m, self.var, False, 0.1, 1e-05, True))", nil},
		{"batch norm first", "return torch.ops.aten.conv2d.default(torch.ops.aten.relu.default(torch.ops.aten.batch_norm.default(x, self.g, self.b, self.m, self.var, False, 0.1, 1e-05, True)), self.w)", nil},
		{"batch norm with statistics", "n = torch.ops.aten._native_batch_norm_legit_no_training.default(" + conv + ", self.g, self.b, self.m, self.var, 0.1, 1e-05)\ni = operator.getitem(n, 0)\nreturn torch.ops.aten.relu.default(i)", nil},
		{"residual", "return torch.ops.aten.relu.default(torch.ops.aten.add.Tensor(" + conv + ", x))", nil},
		{"residual first", "return torch.ops.aten.relu.default(torch.ops.aten.add.Tensor(x, " + conv + "))", nil},
		{"residual of two", "c = " + conv + "\nd = torch.ops.aten.conv2d.default(c, self.w, self.b, [1, 1], [1, 1])\nreturn torch.ops.aten.add.Tensor(c, d)", nil},
		{"used twice", "c = " + conv + "\nreturn (c, torch.ops.aten.relu.default(c))", nil},
		{"multiplied and shifted", "return torch.ops.aten.add.Tensor(torch.ops.aten.mul.Tensor(" + conv + ", self.ch), 2.5)", nil},
		{"squeeze and excite", "c = " + conv + "\np = torch.ops.aten.adaptive_avg_pool2d.default(c, [1, 1])\nq = torch.ops.aten.conv2d.default(p, self.w, self.b, [1, 1], [1, 1])\ns = torch.ops.aten.hardsigmoid.default(q)\nreturn torch.ops.aten.mul.Tensor(s, c)", nil},
		{"max pool", "return torch.ops.aten.max_pool2d.default(" + conv + ", [3, 3], [2, 2], [1, 1])", nil},
		{"max pool, ceil", "return torch.ops.aten.max_pool2d.default(" + conv + ", [3, 3], [2, 2], [1, 1], [1, 1], True)", nil},
		{"average pool", "return torch.ops.aten.avg_pool2d.default(" + conv + ", [2, 2], [2, 2], [1, 1])", nil},
		{"average pool without padding", "return torch.ops.aten.avg_pool2d.default(" + conv + ", [2, 2], [2, 2], [1, 1], False, False)", nil},
		{"average pool, ceil", "return torch.ops.aten.avg_pool2d.default(" + conv + ", [3, 3], [2, 2], [1, 1], True)", []string{"aten.avg_pool2d"}},
		{"average pool, divisor", "return torch.ops.aten.avg_pool2d.default(" + conv + ", [2, 2], [2, 2], [0, 0], False, True, 3)", []string{"aten.avg_pool2d"}},
		{"transposed, in groups, dilated", "return torch.ops.aten.leaky_relu.default(torch.ops.aten.conv_transpose2d.input(x, self.tw, None, [2, 3], [1, 0], [1, 2], 2, [1, 2]), 0.2)", nil},
		{"bias for each channel of a sum", "return torch.ops.aten.relu6.default(torch.ops.aten.add.Tensor(" + conv + ", self.ch))", nil},
		{"mean", "return torch.ops.aten.mean.dim(" + conv + ", [-1, -2])", nil},
		{"mean that keeps", "return torch.ops.aten.mean.dim(" + conv + ", [2, 3], True)", nil},
		{"mean of one dimension", "return torch.ops.aten.mean.dim(" + conv + ", [3])", []string{"aten.mean.dim"}},
		{"concatenation", "c = " + conv + "\nreturn torch.ops.aten.relu.default(torch.ops.aten.cat.default([c, x], 1))", nil},
		{"clamp", "return torch.ops.aten.clamp.default(" + conv + ", -0.5, 1.5)", nil},
		{"clamp from below", "return torch.ops.aten.clamp_min.default(" + conv + ", 0.25)", nil},
		{"hardtanh", "return torch.ops.aten.hardtanh.default(" + conv + ", 0.0, 6.0)", nil},
		{"hardswish", "return torch.ops.aten.hardswish.default(" + conv + ")", nil},
		{"silu", "return torch.ops.aten.silu.default(" + conv + ")", nil},
		{"sigmoid", "return torch.ops.aten.sigmoid.default(" + conv + ")", nil},
		{"tanh", "return torch.ops.aten.tanh.default(" + conv + ")", nil},
		{"gelu", "return torch.ops.aten.gelu.default(" + conv + ")", nil},
		{"gelu by tanh", "return torch.ops.aten.gelu.default(" + conv + ", approximate='tanh')", nil},
		{"leaky relu", "return torch.ops.aten.leaky_relu.default(" + conv + ", 0.1)", nil},
		{"elu", "return torch.ops.aten.elu.default(" + conv + ")", nil},
		{"mish", "return torch.ops.aten.mish.default(" + conv + ")", nil},
		{"one dimension", "return torch.ops.aten.conv1d.default(torch.ops.aten.select.int(x, 2, 0), self.k1, self.b)", []string{"aten.select.int"}},
		{"a transposed view of the result", "c = " + conv + "\nreturn torch.ops.aten.neg.default(torch.ops.aten.permute.default(c, [0, 2, 3, 1]))", []string{"aten.permute", "aten.neg"}},
		{"flattened, linear", "c = torch.ops.aten.max_pool2d.default(" + conv + ", [2, 2])\nf = torch.ops.aten.flatten.using_ints(c, 2)\ns = torch.ops.aten.slice.Tensor(f, 2, 0, 12)\nreturn torch.ops.aten.linear.default(s, self.l, self.lb)", []string{"aten.slice.Tensor"}},
		{"permuted between, layer norm", "p = torch.ops.aten.permute.default(" + conv + ", [0, 2, 3, 1])\nn = torch.ops.aten.layer_norm.default(p, [8], self.g, self.b)\nreturn torch.ops.aten.gelu.default(n)", nil},
		{"softmax", "return torch.ops.aten.softmax.int(" + conv + ", -1)", nil},
		{"computed weight", "return torch.ops.aten.conv2d.default(x, torch.ops.aten.mul.Tensor(self.w, torch.ops.aten.mean.default(x)))", []string{"aten.mean", "aten.mul.Tensor", "aten.conv2d"}},
		{"in float64", "return torch.ops.aten.conv2d.default(torch.ops.aten.to.dtype(x, torch.float64), torch.ops.aten.to.dtype(self.w, torch.float64))", []string{"aten.to.dtype", "aten.to.dtype", "aten.conv2d"}},
		{"no layer", "return torch.ops.aten.relu.default(x)", []string{"aten.relu"}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			d := onednn(t)
			x, larger := randn(t, 2, 8, 10, 12), randn(t, 3, 8, 14, 16)
			gm := aten(t, tc.body, weights, x)
			frozen := freezes(t, gm, [][]*torch.Tensor{{x}, {larger}, {x}}, FreezeDelegate(d), OnlyRewrites("delegate"))
			left := slices.DeleteFunc(operatorsOf(frozen.Module), func(name string) bool { return name == "operator.getitem" })
			if tc.want == nil {
				assert.Empty(t, left, "%s\n%s", frozen.Report, frozen.Module.Graph())
			} else {
				assert.Equal(t, tc.want, left, "%s", frozen.Module.Graph())
			}
		})
	}
}

func TestOneDNNLinears(t *testing.T) {
	const lin = "torch.ops.aten.linear.default(x, self.w, self.b)"
	tests := []struct {
		name, body string
		want       []string
	}{
		{"alone", "return " + lin, []string{}},
		{"without bias", "return torch.ops.aten.linear.default(x, self.w)", []string{}},
		{"gelu", "return torch.ops.aten.gelu.default(" + lin + ")", []string{}},
		{"residual and layer norm", "a = torch.ops.aten.add.Tensor(" + lin + ", x)\nreturn torch.ops.aten.layer_norm.default(a, [16], self.b, self.b)", []string{}},
		{"addmm", "v = torch.ops.aten.view.default(x, [-1, 16])\nreturn torch.ops.aten.addmm.default(self.b, v, self.w)", []string{}},
		{"mm", "v = torch.ops.aten.view.default(x, [-1, 16])\nreturn torch.ops.aten.mm.default(v, self.w)", []string{}},
		{"matmul", "return torch.ops.aten.matmul.default(x, self.w)", []string{}},
		{"scaled addmm", "v = torch.ops.aten.view.default(x, [-1, 16])\nreturn torch.ops.aten.addmm.default(self.b, v, self.w, alpha=2)", []string{"aten.view", "aten.addmm"}},
		{"attention between", "q = " + lin + "\ns = torch.ops.aten.scaled_dot_product_attention.default(q, q, q)\nreturn torch.ops.aten.linear.default(s, self.w, self.b)", []string{"aten.scaled_dot_product_attention"}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			d := onednn(t)
			x, longer := randn(t, 3, 5, 16), randn(t, 7, 9, 16)
			gm := aten(t, tc.body, map[string][]int{"w": {16, 16}, "b": {16}}, x)
			frozen := freezes(t, gm, [][]*torch.Tensor{{x}, {longer}}, FreezeDelegate(d), OnlyRewrites("delegate"))
			assert.Equal(t, tc.want, operatorsOf(frozen.Module), "%s", frozen.Module.Graph())
		})
	}
}

// A block of a transformer: everything but attention and its views is two regions, at
// other batches and lengths too.
func TestOneDNNTransformer(t *testing.T) {
	d := onednn(t)
	linear := func(x, w, b string) string {
		return "torch.ops.aten.linear.default(" + x + ", self." + w + ", self." + b + ")"
	}
	heads := func(name, x string) string {
		return name + "u = torch.ops.aten.unflatten.int(" + x + ", 2, [4, -1])\n" + name + " = torch.ops.aten.transpose.int(" + name + "u, 1, 2)\n"
	}
	body := heads("q", linear("x", "wq", "b")) + heads("k", linear("x", "wk", "b")) + heads("v", linear("x", "wv", "b")) +
		"a = torch.ops.aten.scaled_dot_product_attention.default(q, k, v)\n" +
		"at = torch.ops.aten.transpose.int(a, 1, 2)\n" +
		"af = torch.ops.aten.flatten.using_ints(at, 2)\n" +
		"s = torch.ops.aten.add.Tensor(" + linear("af", "wo", "b") + ", x)\n" +
		"n = torch.ops.aten.layer_norm.default(s, [32], self.g, self.b)\n" +
		"f = torch.ops.aten.gelu.default(" + linear("n", "w1", "b1") + ")\n" +
		"r = torch.ops.aten.add.Tensor(" + linear("f", "w2", "b") + ", n)\n" +
		"return torch.ops.aten.layer_norm.default(r, [32], self.g, self.b)"
	weights := map[string][]int{"wq": {32, 32}, "wk": {32, 32}, "wv": {32, 32}, "wo": {32, 32}, "w1": {64, 32}, "w2": {32, 64}, "b": {32}, "b1": {64}, "g": {32}}
	x := randn(t, 2, 7, 32)
	gm := aten(t, body, weights, x)
	frozen := freezes(t, gm, [][]*torch.Tensor{{x}, {randn(t, 1, 5, 32)}, {randn(t, 3, 11, 32)}, {x}}, FreezeDelegate(d))
	assert.Len(t, frozen.Report.Regions, 4, "%s", frozen.Report)
	for _, name := range operatorsOf(frozen.Module) {
		assert.NotContains(t, []string{"aten.linear", "aten.gelu", "aten.layer_norm", "aten.add.Tensor"}, name)
	}
}

// One plan, many goroutines, several shapes; the frozen module may be closed meanwhile.
func TestOneDNNConcurrently(t *testing.T) {
	d := onednn(t)
	x := randn(t, 2, 8, 10, 12)
	gm := aten(t, "c = torch.ops.aten.conv2d.default(x, self.w, None, [1, 1], [1, 1])\ns = torch.ops.aten.sin.default(c)\nd = torch.ops.aten.conv2d.default(s, self.w, None, [1, 1], [1, 1])\nreturn torch.ops.aten.relu.default(torch.ops.aten.add.Tensor(d, x))",
		map[string][]int{"w": {8, 8, 3, 3}}, x)
	frozen, err := Freeze(t.Context(), gm, FreezeDelegate(d), WithChoices(Unmeasured()))
	require.NoError(t, err)
	plan, err := interpreter.Compile(frozen.Module)
	require.NoError(t, err)
	require.NoError(t, frozen.Close())
	serial := map[int]*torch.Tensor{}
	inputs := map[int]*torch.Tensor{}
	for i := range 4 {
		inputs[i] = randn(t, 1+i, 8, 10+i, 12)
		serial[i] = runModule(t, plan, []*torch.Tensor{inputs[i]})[0]
		t.Cleanup(func() { serial[i].Close() })
	}
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for r := range 100 {
				i := (g + r) % 4
				out, err := plan.RunFlat(context.Background(), []any{inputs[i]})
				if !assert.NoError(t, err) {
					return
				}
				got := out[0].(*torch.Tensor)
				assert.Zero(t, distance(t, serial[i], got), "the bits of a run alone")
				got.Close()
			}
		})
	}
	wg.Wait()
	require.NoError(t, plan.Close())
}

// Without measurements regions are taken; with them, the report has both times, and
// what is alike is measured once. bfloat16 is libtorch's, and so is all where there is
// no delegate.
func TestFreezeDelegate(t *testing.T) {
	d := onednn(t)
	x := randn(t, 1, 16, 24, 24)
	body := "c = torch.ops.aten.conv2d.default(x, self.w, None, [1, 1], [1, 1])\ns = torch.ops.aten.sin.default(c)\nd = torch.ops.aten.conv2d.default(s, self.v, None, [1, 1], [1, 1])\nreturn d"
	gm := aten(t, body, map[string][]int{"w": {16, 16, 3, 3}, "v": {16, 16, 3, 3}}, x)
	choices := NewChoices()
	frozen := freezes(t, gm, [][]*torch.Tensor{{x}}, FreezeDelegate(d), WithChoices(choices))
	measured := 0
	for key, c := range choices.All() {
		if _, ok := c.Nanos["onednn"]; ok {
			measured++
			assert.Contains(t, key, "onednn region of 1 operators, inputs [1 16 24 24]")
			assert.Contains(t, c.Nanos, "libtorch")
		}
	}
	assert.Equal(t, 1, measured, "%v", choices.All())
	assert.Regexp(t, `delegate: (onednn_0: [cd]: onednn [\d.]+ [µm]s against libtorch|[cd] left: libtorch [\d.]+ [µm]s against onednn) [\d.]+ [µm]s, measured`, frozen.Report.String())
	for _, r := range frozen.Report.Regions {
		assert.Contains(t, r.Kernels, "convolution")
	}
	frozen, err := Freeze(t.Context(), gm, FreezeDelegate(d), WithChoices(Unmeasured()), WithRewrites("bfloat16"))
	require.NoError(t, err)
	defer frozen.Close()
	assert.Zero(t, frozen.Report.Count("delegate"))
	assert.Contains(t, frozen.Report.String(), "delegate: all left: bfloat16")
	without, err := Freeze(t.Context(), gm, FreezeDelegate(nil), WithChoices(Unmeasured()))
	require.NoError(t, err)
	defer without.Close()
	assert.Zero(t, without.Report.Count("delegate"))
}

// Whoever has the weights of a file in memory is told when they have been read.
func TestFreezeIdle(t *testing.T) {
	d := onednn(t)
	x := randn(t, 1, 16, 24, 24)
	gm := aten(t, "c = torch.ops.aten.conv2d.default(x, self.w, None, [1, 1], [1, 1])\nreturn torch.ops.aten.relu.default(c)", map[string][]int{"w": {16, 16, 3, 3}}, x)
	weight, _ := gm.Attr("w")
	for _, way := range []FreezeOption{FreezeDelegate(d), FreezeDelegate(nil)} {
		told := 0
		frozen, err := Freeze(t.Context(), gm, way, WithChoices(Unmeasured()), Idle(func(w *torch.Tensor) {
			assert.Same(t, weight, w)
			told++
		}))
		require.NoError(t, err)
		assert.Positive(t, told)
		require.NoError(t, frozen.Close())
	}
}

// Runs of many sizes do not make a plan larger and larger.
func TestOneDNNMemory(t *testing.T) {
	d := onednn(t)
	x := randn(t, 1, 16, 24, 24)
	gm := aten(t, "c = torch.ops.aten.conv2d.default(x, self.w, None, [1, 1], [1, 1])\nreturn torch.ops.aten.relu.default(c)", map[string][]int{"w": {16, 16, 3, 3}}, x)
	frozen, err := Freeze(t.Context(), gm, FreezeDelegate(d), WithChoices(Unmeasured()))
	require.NoError(t, err)
	defer frozen.Close()
	plan, err := interpreter.Compile(frozen.Module)
	require.NoError(t, err)
	defer plan.Close()
	var inputs []*torch.Tensor
	for i := range 12 {
		inputs = append(inputs, randn(t, 1+i%3, 16, 20+i, 24))
	}
	round := func() {
		for _, x := range inputs {
			closeEach(runModule(t, plan, []*torch.Tensor{x}))
		}
	}
	for range 5 {
		round()
	}
	before := residentBytes(t)
	for range 200 {
		round()
	}
	// If runs kept their results, these 2,400 would hold some 180 MB; what else the process
	// does, the race detector's own memory above all, is a few.
	assert.Less(t, residentBytes(t)-before, int64(32<<20))
	v, _ := frozen.Module.Attr("onednn_0")
	assert.EqualValues(t, 1, len(frozen.Report.Regions))
	assert.Less(t, v.(*interpreter.Delegated).Region().Bytes(), int64(1<<20), "weights once for each layout")
}

func residentBytes(t testing.TB) int64 {
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skip("SKIPPED, needs /proc/self/statm")
	}
	var size, resident int64
	_, err = fmt.Sscan(string(data), &size, &resident)
	require.NoError(t, err)
	return resident * int64(os.Getpagesize())
}
