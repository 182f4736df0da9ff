package passes

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// Rewrites that promise equal bits give them.
func TestFreezeWithoutArithmetic(t *testing.T) {
	tests := []struct {
		name, body string
		want       []string
	}{
		{"dropout", "d = torch.ops.aten.dropout.default(x, 0.5, False)\nreturn torch.ops.aten.neg.default(d)", []string{"aten.neg"}},
		{"dropout that trains", "d = torch.ops.aten.dropout.default(x, 0.0, True)\nreturn torch.ops.aten.neg.default(d)", []string{"aten.dropout", "aten.neg"}},
		{"casts and views", "a = torch.ops.aten.to.dtype(x, torch.float32)\nb = torch.ops.aten.contiguous.default(a)\nc = torch.ops.aten.view.default(b, [4, 6])\nd = torch.ops.aten.clone.default(c)\nreturn torch.ops.aten.neg.default(d)",
			[]string{"aten.contiguous", "aten.neg"}},
		{"a copy in rows of rows", "a = torch.ops.aten.mm.default(x, self.w)\nb = torch.ops.aten.contiguous.default(torch.ops.aten.neg.default(a))\nreturn torch.ops.aten.neg.default(torch.ops.aten.view.default(b, [24]))",
			[]string{"aten.mm", "aten.neg", "aten.view", "aten.neg"}},
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

// A program that lays its arguments out does so when it is frozen, though they lay so at export:
// a caller may give others.
func TestFreezeArgumentsThatLieOtherwise(t *testing.T) {
	for _, lay := range []string{"contiguous.default(%s)", "clone.default(%s, memory_format=torch.contiguous_format)"} {
		t.Run(lay, func(t *testing.T) {
			testenv.Libtorch(t)
			x, turned := randn(t, 4, 6), torch.Transpose(randn(t, 6, 4), 0, 1)
			t.Cleanup(func() { turned.Close() })
			laid := fmt.Sprintf(lay, "torch.ops.aten.neg.default(x)")
			gm := aten(t, "a = torch.ops.aten."+laid+"\nreturn torch.ops.aten.view.default(a, [24])", nil, x)
			freezes(t, gm, [][]*torch.Tensor{{x}, {turned}})
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
