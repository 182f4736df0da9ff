package passes

import (
	"maps"
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

func TestFreezeLSTMs(t *testing.T) {
	tests := []struct {
		name, body string
		packed     int
	}{
		{"one layer", "r = torch.ops.aten.lstm.input(x, [y, z], [self.w, self.h, self.b, self.b2], True, 1, 0.0, False, False, False)", 1},
		{"batch first", "r = torch.ops.aten.lstm.input(x, [y, z], [self.w, self.h, self.b, self.b2], True, 1, 0.0, False, False, True)", 1},
		{"without biases", "r = torch.ops.aten.lstm.input(x, [y, z], [self.w, self.h], False, 1, 0.0, False, False, False)", 1},
		{"two directions", "r = torch.ops.aten.lstm.input(x, [y, z], [self.w, self.h, self.b, self.b2, self.wr, self.hr, self.br, self.br2], True, 1, 0.0, False, True, True)", 2},
		{"two layers", "r = torch.ops.aten.lstm.input(x, [y, z], [self.w, self.h, self.b, self.b2, self.h2, self.hr, self.br, self.br2], True, 2, 0.0, False, False, True)", 2},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			testenv.Libtorch(t)
			x, longer := randn(t, 5, 5, 6), randn(t, 9, 5, 6)
			if tc.name == "batch first" || tc.name == "two directions" || tc.name == "two layers" {
				longer = randn(t, 5, 9, 6)
			}
			states := tc.packed
			h, c := randn(t, states, 5, 4), randn(t, states, 5, 4)
			gm := aten(t, tc.body+"\ngetitem = r[0]\ngetitem_1 = r[1]\ngetitem_2 = r[2]\nreturn (getitem, getitem_1, getitem_2)", map[string][]int{
				"w": {16, 6}, "h": {16, 4}, "b": {16}, "b2": {16}, "wr": {16, 6}, "hr": {16, 4}, "h2": {16, 4}, "br": {16}, "br2": {16}}, x, h, c)
			// packed for the sizes noted, right for others
			frozen := freezes(t, gm, [][]*torch.Tensor{{x, h, c}, {longer, h, c}})
			packed := len(frozen.Module.Graph().Find(ir.CallFunction, ir.OverloadOf("aten::mkldnn_rnn_layer")))
			assert.Equal(t, tc.packed, packed, "%s", frozen.Report)
		})
	}
}

// Operators on packed weights read memory as it lies; arguments need not lie as the
// graph notes, nor parameters one element behind the other.
func TestFreezeTakesAnyStrides(t *testing.T) {
	testenv.Libtorch(t)
	transposed := func(sizes ...int) *torch.Tensor {
		x, err := tensor("aten::transpose.int", randn(t, sizes...), 0, 1)
		require.NoError(t, err)
		t.Cleanup(func() { x.Close() })
		return x
	}
	x, h, c := randn(t, 5, 7, 6), randn(t, 2, 7, 4), randn(t, 2, 7, 4)
	lstm := aten(t, "r = torch.ops.aten.lstm.input(x, [y, z], [self.w, self.h, self.b, self.b2, self.h2, self.hr, self.b, self.b2], True, 2, 0.0, False, False, False)\n"+
		"getitem = r[0]\ngetitem_1 = r[1]\ngetitem_2 = r[2]\nreturn (getitem, getitem_1, getitem_2)",
		map[string][]int{"w": {16, 6}, "h": {16, 4}, "h2": {16, 4}, "hr": {16, 4}, "b": {16}, "b2": {16}}, x, h, c)
	frozen := freezes(t, lstm, [][]*torch.Tensor{{x, h, c}, {transposed(7, 5, 6), transposed(7, 2, 4), transposed(7, 2, 4)}})
	assert.Positive(t, frozen.Report.Count("pack-lstms"))
	for path, v := range maps.Collect(lstm.Attrs()) {
		weight := v.(*torch.Tensor)
		if weight.Dim() == 2 { // with gaps between its elements
			twice, err := tensor("aten::repeat_interleave.self_int", weight, 2, 1)
			require.NoError(t, err)
			columns, err := tensor("aten::slice.Tensor", twice, 1, 0, nil, 2)
			require.NoError(t, err)
			t.Cleanup(func() { twice.Close(); columns.Close() })
			lstm.SetAttr(path, columns)
		}
	}
	frozen = freezes(t, lstm, [][]*torch.Tensor{{x, h, c}})
	assert.Positive(t, frozen.Report.Count("pack-lstms"))

	const expand = "s = torch.ops.aten.slice.Tensor(self.b, 0, 0, 1)\ne = torch.ops.aten.expand.default(s, [16])\n"
	y := randn(t, 3, 8)
	linear := aten(t, expand+"return torch.ops.aten.linear.default(x, self.w, e)", map[string][]int{"w": {16, 8}, "b": {4}}, y)
	frozen = freezes(t, linear, [][]*torch.Tensor{{y}, {transposed(8, 3)}})
	assert.Positive(t, frozen.Report.Count("pack-linears"), "%s", frozen.Report)
	image := randn(t, 2, 3, 9, 9)
	conv := aten(t, expand+"return torch.ops.aten.conv2d.default(x, self.w, e)", map[string][]int{"w": {16, 3, 3, 3}, "b": {4}}, image)
	frozen = freezes(t, conv, [][]*torch.Tensor{{image}})
	assert.Positive(t, frozen.Report.Count("pack-convolutions"), "%s", frozen.Report)
}

// Batch and length of a sequence may have any size. An empty batch, which the operator
// on packed weights does not take, and an empty sequence, which no LSTM does, end as
// before.
func TestFreezeLSTMsOfAnySize(t *testing.T) {
	anySize := func(t *testing.T, gm *ir.GraphModule, dims map[string][]int) {
		for _, n := range gm.Graph().Find(ir.Placeholder, nil) {
			meta, _ := valueOf(n)
			meta.Sizes = slices.Clone(meta.Sizes)
			for i, dim := range dims[n.Name()] {
				if dim >= 0 {
					meta.Sizes[dim] = ir.SymbolicSize(ir.SymbolExpr([]string{"time", "batch"}[i]), meta.Sizes[dim].Hint())
				}
			}
			n.Meta().Set(ir.MetaVal, meta)
		}
		for n := range gm.Graph().Nodes() {
			if n.Op() == ir.CallFunction {
				n.Meta().Delete(ir.MetaVal)
			}
		}
		RefreshValues(t.Context(), gm, nil)
	}
	for name, tc := range map[string]struct {
		body       string
		batchFirst bool
		states     int
	}{
		"two layers":                  {"r = torch.ops.aten.lstm.input(x, [y, z], [self.w, self.h, self.b, self.b2, self.h2, self.hr, self.br, self.br2], True, 2, 0.0, False, False, False)", false, 2},
		"two directions, batch first": {"r = torch.ops.aten.lstm.input(x, [y, z], [self.w, self.h, self.wr, self.hr], False, 1, 0.0, False, True, True)", true, 2},
	} {
		t.Run(name, func(t *testing.T) {
			testenv.Libtorch(t)
			inputs := func(time, batch int) []*torch.Tensor {
				x := []int{time, batch, 6}
				if tc.batchFirst {
					x = []int{batch, time, 6}
				}
				return []*torch.Tensor{randn(t, x...), randn(t, tc.states, batch, 4), randn(t, tc.states, batch, 4)}
			}
			gm := aten(t, tc.body+"\ngetitem = r[0]\ngetitem_1 = r[1]\ngetitem_2 = r[2]\nreturn (getitem, getitem_1, getitem_2)", map[string][]int{
				"w": {16, 6}, "h": {16, 4}, "b": {16}, "b2": {16}, "wr": {16, 6}, "hr": {16, 4}, "h2": {16, 4}, "br": {16}, "br2": {16}}, inputs(5, 7)...)
			dims := map[string][]int{"x": {0, 1}, "y": {-1, 1}, "z": {-1, 1}}
			if tc.batchFirst {
				dims["x"] = []int{1, 0}
			}
			anySize(t, gm, dims)
			frozen := freezes(t, gm, [][]*torch.Tensor{inputs(5, 7), inputs(9, 2), inputs(1, 1), inputs(3, 0)})
			assert.Positive(t, frozen.Report.Count("pack-lstms"), "%s", frozen.Report)
			for _, m := range []*ir.GraphModule{gm, frozen.Module} {
				for _, x := range [][]*torch.Tensor{inputs(0, 3), inputs(0, 0)} {
					plan, err := interpreter.Compile(m)
					require.NoError(t, err)
					defer plan.Close()
					args := []any{x[0], x[1], x[2]}
					_, err = plan.RunFlat(t.Context(), args)
					require.ErrorContains(t, err, "Expected sequence length to be larger than 0 in RNN")
					_, err = interpreter.New(m).RunFlat(t.Context(), args)
					require.ErrorContains(t, err, "Expected sequence length to be larger than 0 in RNN")
				}
			}
		})
	}
}

// What cannot run on packed weights stays, and the report has the reason.
func TestFreezeLeavesLSTMs(t *testing.T) {
	const taken = "\ngetitem = r[0]\nreturn getitem"
	tests := []struct{ name, body, why string }{
		{"projected", "r = torch.ops.aten.lstm.input(x, [z, y], [self.w, self.hp, self.b, self.b2, self.p], True, 1, 0.0, False, False, False)" + taken, "its hidden state is projected"},
		{"in training", "r = torch.ops.aten.lstm.input(x, [y, y], [self.w, self.h], False, 1, 0.0, True, False, False)" + taken, "it trains"},
		{"computed weight", "n = torch.ops.aten.mul.Tensor(self.w, torch.ops.aten.mean.default(x))\nr = torch.ops.aten.lstm.input(x, [y, y], [n, self.h], False, 1, 0.0, False, False, False)" + taken, "a weight is no constant"},
		{"float64", "d = torch.ops.aten.to.dtype(x, torch.float64)\ns = torch.ops.aten.to.dtype(y, torch.float64)\nr = torch.ops.aten.lstm.input(d, [s, s], [torch.ops.aten.to.dtype(self.w, torch.float64), torch.ops.aten.to.dtype(self.h, torch.float64)], False, 1, 0.0, False, False, False)" + taken, "a weight is no constant"},
		{"a GRU", "r = torch.ops.aten.gru.input(x, y, [self.gw, self.gh], False, 1, 0.0, False, False, False)" + taken, ""},
		{"sequences of several lengths", "n = torch.ops.aten.ones.default([5], dtype=torch.int64)\nl = torch.ops.aten.mul.Tensor(n, 7)\nf = torch.ops.aten.reshape.default(x, [35, 6])\nr = torch.ops.aten.lstm.data(f, l, [y, y], [self.w, self.h], False, 1, 0.0, False, False)" + taken, ""},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			testenv.Libtorch(t)
			x, h, p := randn(t, 5, 7, 6), randn(t, 1, 7, 4), randn(t, 1, 7, 3)
			gm := aten(t, tc.body, map[string][]int{"w": {16, 6}, "h": {16, 4}, "hp": {16, 3}, "p": {3, 4}, "b": {16}, "b2": {16}, "gw": {12, 6}, "gh": {12, 4}}, x, h, p)
			frozen := freezes(t, gm, [][]*torch.Tensor{{x, h, p}})
			assert.Zero(t, frozen.Report.Count("pack-lstms"))
			assert.Contains(t, frozen.Report.String(), tc.why)
		})
	}
}

func TestFreezeNormsBefore(t *testing.T) {
	const norm = "n = torch.ops.aten.batch_norm.default(x, self.g, self.b, self.m, self.var, False, 0.1, 1e-05, True)\n"
	tests := []struct {
		name, body string
		folds      int
		why        string
	}{
		{"convolution", norm + "return torch.ops.aten.conv2d.default(n, self.w, self.cb)", 1, ""},
		{"convolution without bias, strided", norm + "return torch.ops.aten.conv2d.default(n, self.w, None, [2, 2])", 1, ""},
		{"grouped", norm + "return torch.ops.aten.conv2d.default(n, self.gw, self.cb, [1, 1], [0, 0], [1, 1], 2)", 1, ""},
		{"padded", norm + "return torch.ops.aten.conv2d.default(n, self.w, self.cb, [1, 1], [1, 1])", 0, " pads, or is transposed"},
		{"transposed", norm + "return torch.ops.aten.conv_transpose2d.input(n, self.w)", 0, " pads, or is transposed"},
		{"used twice", norm + "c = torch.ops.aten.conv2d.default(n, self.w, self.cb)\nreturn (c, n)", 0, ""},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			testenv.Libtorch(t)
			x := randn(t, 2, 8, 6, 7)
			gm := aten(t, tc.body, map[string][]int{"g": {8}, "b": {8}, "m": {8}, "var": {8}, "w": {8, 8, 3, 3}, "gw": {8, 4, 3, 3}, "cb": {8}}, x)
			frozen := freezes(t, gm, [][]*torch.Tensor{{x}}, OnlyRewrites("fold-batch-norm"))
			assert.Equal(t, tc.folds, frozen.Report.Count("fold-batch-norm"), "%s", frozen.Report)
			assert.Contains(t, frozen.Report.String(), tc.why)
		})
	}
	t.Run("linear", func(t *testing.T) {
		testenv.Libtorch(t)
		x := randn(t, 5, 8)
		gm := aten(t, norm+"return torch.ops.aten.linear.default(n, self.w, self.cb)", map[string][]int{"g": {8}, "b": {8}, "m": {8}, "var": {8}, "w": {6, 8}, "cb": {6}}, x)
		frozen := freezes(t, gm, [][]*torch.Tensor{{x}}, OnlyRewrites("fold-batch-norm"))
		require.Equal(t, []string{"aten.linear"}, operatorsOf(frozen.Module))
	})
}

func TestFreezeMergesLinears(t *testing.T) {
	q, k, v := "torch.ops.aten.linear.default(x, self.w, self.b)", "torch.ops.aten.linear.default(x, self.w2, self.b2)", "torch.ops.aten.linear.default(x, self.w3, self.b3)"
	view := func(s string) string { return "torch.ops.aten.view.default(" + s + ", [3, -1, 2, 8])" }
	tests := []struct {
		name, body string
		merged     int
	}{
		{"query, key and value", "return " + add + "(" + mul + "(" + view(q) + ", " + view(k) + "), " + view(v) + ")", 1},
		{"views across rows", "return " + add + "(torch.ops.aten.view.default(" + q + ", [-1, 16]), torch.ops.aten.view.default(" + k + ", [-1, 16]))", 1},
		{"a bias on some", "return " + mul + "(" + mul + "(" + q + ", torch.ops.aten.linear.default(x, self.w2)), torch.ops.aten.linear.default(x, self.w3, self.b3))", 1},
		{"no bias", "return " + mul + "(torch.ops.aten.linear.default(x, self.w), torch.ops.aten.linear.default(x, self.w2))", 1},
		{"one weight twice", "return " + mul + "(torch.ops.aten.relu6.default(" + q + "), torch.ops.aten.neg.default(torch.ops.aten.linear.default(x, self.w)))", 0},
		{"one weight twice, not fused", "return " + mul + "(torch.ops.aten.neg.default(" + q + "), torch.ops.aten.neg.default(torch.ops.aten.linear.default(x, self.w)))", 1},
		{"layers of other sizes", "return torch.ops.aten.cat.default([" + q + ", torch.ops.aten.linear.default(x, self.small, self.bs)], -1)", 1},
		{"decomposed", "i = torch.ops.aten.view.default(x, [-1, 16])\no = torch.ops.aten.addmm.default(self.b, i, torch.ops.aten.t.default(self.w))\nj = torch.ops.aten.view.default(x, [-1, 16])\n" +
			"p = torch.ops.aten.mm.default(j, torch.ops.aten.permute.default(self.w2, [1, 0]))\nreturn " + mul + "(torch.ops.aten.view.default(o, [3, -1, 16]), torch.ops.aten.view.default(p, [3, -1, 16]))", 1},
		{"another input", "return " + mul + "(" + q + ", torch.ops.aten.linear.default(torch.ops.aten.neg.default(x), self.w2, self.b2))", 0},
		{"results", "return (" + q + ", " + k + ")", 0},
		{"with an activation", "return " + add + "(torch.ops.aten.relu.default(" + q + "), torch.ops.aten.relu.default(" + k + "))", 0},
		{"written", "v = " + q + "\na = torch.ops.aten.select.int(v, 0, 0)\ns = torch.ops.aten.add_.Tensor(a, 1.0)\nreturn " + mul + "(" + k + ", v)", 0},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			testenv.Libtorch(t)
			x, longer := randn(t, 3, 5, 16), randn(t, 3, 9, 16)
			gm := aten(t, tc.body, map[string][]int{"w": {16, 16}, "b": {16}, "w2": {16, 16}, "b2": {16}, "w3": {16, 16}, "b3": {16}, "small": {6, 16}, "bs": {6}}, x)
			frozen := freezes(t, gm, [][]*torch.Tensor{{x}, {longer}})
			assert.Equal(t, tc.merged, frozen.Report.Count("merge-linears"), "%s\n%s", frozen.Report, frozen.Module.Graph())
		})
	}
}

// The gates of a llama's layer are merged, though one of them has an activation, where
// that is measured to be faster.
func TestFreezeMergesGates(t *testing.T) {
	testenv.Libtorch(t)
	x := randn(t, 3, 5, 16)
	gm := aten(t, "a = torch.ops.aten.silu.default(torch.ops.aten.linear.default(x, self.gate))\nb = torch.ops.aten.linear.default(x, self.up)\nreturn torch.ops.aten.linear.default("+mul+"(a, b), self.down)",
		map[string][]int{"gate": {24, 16}, "up": {24, 16}, "down": {16, 24}}, x)
	c := NewChoices()
	freezes(t, gm, [][]*torch.Tensor{{x}}, WithChoices(c))
	merged := 0
	for key, choice := range c.chosen {
		if strings.HasPrefix(key, "merged linears") {
			assert.Len(t, choice.Nanos, 2)
			merged++
			for _, way := range []string{waySingle, wayMerged} {
				choice.Way = way
				c.chosen[key] = choice
				frozen := freezes(t, gm, [][]*torch.Tensor{{x}, {randn(t, 2, 9, 16)}}, WithChoices(c))
				assert.Equal(t, way == wayMerged, frozen.Report.Count("merge-linears") == 1, "%s", frozen.Report)
			}
		}
	}
	assert.Equal(t, 1, merged)
}

func TestFreezeToBFloat16(t *testing.T) {
	testenv.Libtorch(t)
	body := "c = torch.ops.aten.relu.default(torch.ops.aten.conv2d.default(x, self.w, self.b, [1, 1], [1, 1]))\n" +
		"d = torch.ops.aten.add.Tensor(torch.ops.aten.conv2d.default(c, self.w2, None, [1, 1], [1, 1]), c)\n" +
		"f = torch.ops.aten.flatten.using_ints(torch.ops.aten.max_pool2d.default(d, [2, 2]), 1)\n" +
		"v = torch.ops.aten.linear.default(f, self.l)\n" +
		"return torch.ops.aten.softmax.int(v, -1)"
	x := randn(t, 2, 8, 4, 4)
	gm := aten(t, body, map[string][]int{"w": {8, 8, 3, 3}, "b": {8}, "w2": {8, 8, 3, 3}, "l": {6, 32}}, x)
	frozen := freezes(t, gm, [][]*torch.Tensor{{x}}, WithRewrites("bfloat16"), WithoutRewrites("pack-convolutions", "pack-linears"))
	if frozen.Report.Count("bfloat16") == 0 {
		t.Skip("SKIPPED: this processor has no kernels of bfloat16")
	}
	assert.Equal(t, []string{"aten.to.dtype", "aten.conv2d", "aten.relu", "aten.conv2d", "aten.add.Tensor", "aten.max_pool2d", "aten.flatten.using_ints", "aten.linear", "aten.to.dtype", "aten.softmax.int"},
		operatorsOf(frozen.Module))
	packed := freezes(t, gm, [][]*torch.Tensor{{x}}, WithRewrites("bfloat16"))
	assert.Equal(t, 0.05, packed.Report.Tolerance())
	assert.Equal(t, []string{"aten.to.dtype", "mkldnn._convolution_pointwise", "mkldnn._convolution_pointwise.binary", "aten.max_pool2d", "aten.flatten.using_ints", "mkldnn._linear_pointwise", "aten.to.dtype", "aten.softmax.int"},
		operatorsOf(packed.Module))
}

// MKL's operator is right for the rows that it was packed for, and falls back to the
// weight as it was for others.
func TestFreezeLinearsByMKL(t *testing.T) {
	testenv.Libtorch(t)
	if _, err := libtorch.Find("mkl::_mkl_linear"); err != nil {
		t.Skip("SKIPPED: this libtorch is without MKL")
	}
	byMKL := NewChoices()
	byMKL.fixed = wayMKL
	x, longer := randn(t, 3, 16), randn(t, 7, 16)
	gm := aten(t, "return torch.ops.aten.relu.default(torch.ops.aten.linear.default(x, self.w, self.b))", map[string][]int{"w": {8, 16}, "b": {8}}, x)
	frozen := freezes(t, gm, [][]*torch.Tensor{{x}, {longer}}, WithChoices(byMKL))
	assert.Equal(t, []string{"mkl._mkl_linear", "aten.relu"}, operatorsOf(frozen.Module))
}

// What is chosen by measuring is one of the ways, whatever the machine, and right.
func TestFreezeMeasures(t *testing.T) {
	testenv.Libtorch(t)
	x := randn(t, 2, 8, 10, 12)
	body := "c = torch.ops.aten.relu.default(torch.ops.aten.conv2d.default(x, self.w, self.b))\n" +
		"f = torch.ops.aten.flatten.using_ints(c, 2)\n" +
		"m = torch.ops.aten.linear.default(f, self.q, self.d)\n" +
		"n = torch.ops.aten.linear.default(f, self.k, self.d)\n" +
		"return torch.ops.aten.add.Tensor(torch.ops.aten.mul.Tensor(m, n), 1.0)"
	gm := aten(t, body, map[string][]int{"w": {8, 8, 3, 3}, "b": {8}, "q": {24, 80}, "k": {24, 80}, "d": {24}}, x)
	c := NewChoices()
	freezes(t, gm, [][]*torch.Tensor{{x}}, WithChoices(c))
	found := c.All()
	assert.GreaterOrEqual(t, len(found), 2)
	for key, choice := range found {
		assert.Contains(t, choice.Nanos, choice.Way, key)
		for way, nanos := range choice.Nanos {
			assert.Positive(t, nanos, "%s, %s", key, way)
		}
		assert.NotEmpty(t, choice.String())
	}
}

// A layer of which oneDNN has no kernel, with output padding that its stride is not larger
// than, stays as it is, whether that is measured or not.
func TestFreezeLeavesWhatOneDNNRefuses(t *testing.T) {
	x := randn(t, 2, 4, 8, 8)
	gm := aten(t, "d = torch.ops.aten.conv_transpose2d.input(x, self.w, None, [1, 2], [0, 0], [1, 0], 4, [2, 1])\nreturn torch.ops.aten.conv2d.default(d, self.w2)",
		map[string][]int{"w": {4, 3, 2, 2}, "w2": {8, 12, 1, 1}}, x)
	for name, choices := range map[string]*Choices{"measured": NewChoices(), "unmeasured": Unmeasured()} {
		t.Run(name, func(t *testing.T) {
			frozen := freezes(t, gm, [][]*torch.Tensor{{x}}, OnlyRewrites("pack-convolutions"), WithChoices(choices))
			assert.Contains(t, frozen.Report.String(), "d left: oneDNN refuses it")
		})
	}
}
