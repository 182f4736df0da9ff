package passes

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

func needsBFloat16(t *testing.T) {
	testenv.Libtorch(t)
	if supported, err := torch.Call("mkldnn::_is_mkldnn_bf16_supported"); err != nil || supported != true {
		t.Skip("SKIPPED: this processor has no kernels of bfloat16")
	}
}

func indices(t *testing.T, below int, sizes ...int) *torch.Tensor {
	x, err := tensor("aten::randint", below, sizes)
	require.NoError(t, err)
	t.Cleanup(func() { x.Close() })
	return x
}

// Small networks whose layers compute in bfloat16 give results of float32, within the
// tolerance of the report; norms, embeddings, softmax, attention, LSTMs and numbers that
// index stay as they are.
func TestFreezeNetworksToBFloat16(t *testing.T) {
	needsBFloat16(t)
	const lin, ln = "torch.ops.aten.linear.default", "torch.ops.aten.layer_norm.default"
	transformer := map[string][]int{"ew": {11, 16}, "lw": {16}, "lb": {16}, "qw": {16, 16}, "qb": {16}, "kw": {16, 16}, "vw": {16, 16}, "vb": {16}, "ow": {16, 16}, "ob": {16}, "fw": {64, 16}, "fb": {64}, "gw": {16, 64}}
	tests := []struct {
		name, body string
		attrs      map[string][]int
		inputs     func() []*torch.Tensor
		layers     int
		wide       []string // operators that stay in float32
	}{
		{"convolutions, norms and relu", "c = torch.ops.aten.conv2d.default(x, self.w, self.b, [1, 1], [1, 1])\nn = torch.ops.aten.batch_norm.default(c" + normed + "\nr = torch.ops.aten.relu.default(n)\n" +
			"d = torch.ops.aten.conv2d.default(r, self.dw, None, [2, 2], [1, 1], [1, 1], 8)\ns = torch.ops.aten.hardswish.default(d)\np = torch.ops.aten.adaptive_avg_pool2d.default(s, [1, 1])\n" +
			"f = torch.ops.aten.flatten.using_ints(p, 1)\nl = " + lin + "(f, self.lw)\nreturn torch.ops.aten.log_softmax.int(l, -1)",
			with(convs, norm, map[string][]int{"lw": {6, 8}}), func() []*torch.Tensor { return []*torch.Tensor{randn(t, 2, 8, 9, 11)} }, 3, []string{"aten.log_softmax.int"}},
		{"a norm that stays", "n = torch.ops.aten.batch_norm.default(x" + normed + "\nr = torch.ops.aten.relu.default(n)\nreturn torch.ops.aten.conv2d.default(r, self.w, self.b, [1, 1], [1, 1])",
			with(convs, norm), func() []*torch.Tensor { return []*torch.Tensor{randn(t, 2, 8, 9, 11)} }, 1, []string{"aten.batch_norm", "aten.relu"}},
		{"a line of convolutions", "c = torch.ops.aten.conv1d.default(x, self.cw, self.b, [2], [1])\na = torch.ops.aten.gelu.default(c)\nu = torch.ops.aten.group_norm.default(a, 2, self.g, self.nb)\nreturn torch.ops.aten.conv1d.default(u, self.cw)",
			with(norm, map[string][]int{"cw": {8, 8, 3}, "b": {8}}), func() []*torch.Tensor { return []*torch.Tensor{randn(t, 2, 8, 17)} }, 2, []string{"aten.group_norm"}},
		{"embedding and layers", "e = torch.ops.aten.embedding.default(self.ew, x)\nn = " + ln + "(e, [16], self.lw, self.lb)\nu = " + lin + "(n, self.fw, self.fb)\na = torch.ops.aten.gelu.default(u)\nd = " + lin + "(a, self.gw)\n" +
			"r = torch.ops.aten.add.Tensor(d, e)\nm = " + ln + "(r, [16], self.lw, self.lb)\nj = torch.ops.aten.add.Tensor(x, 1)\nreturn (m, j)",
			transformer, func() []*torch.Tensor { return []*torch.Tensor{indices(t, 11, 3, 5)} }, 2, []string{"aten.embedding", "aten.layer_norm"}},
		{"attention", "q = " + lin + "(x, self.qw, self.qb)\nk = " + lin + "(x, self.kw)\nv = " + lin + "(x, self.vw, self.vb)\nqh = torch.ops.aten.transpose.int(torch.ops.aten.view.default(q, [2, 5, 4, 4]), 1, 2)\n" +
			"kh = torch.ops.aten.transpose.int(torch.ops.aten.view.default(k, [2, 5, 4, 4]), 1, 2)\nvh = torch.ops.aten.transpose.int(torch.ops.aten.view.default(v, [2, 5, 4, 4]), 1, 2)\n" +
			"a = torch.ops.aten.scaled_dot_product_attention.default(qh, kh, vh)\nb = torch.ops.aten.transpose.int(a, 1, 2)\nc = torch.ops.aten.reshape.default(b, [2, 5, 16])\nreturn " + lin + "(c, self.ow, self.ob)",
			transformer, func() []*torch.Tensor { return []*torch.Tensor{randn(t, 2, 5, 16)} }, 4, []string{"aten.scaled_dot_product_attention"}},
		{"LSTM", "s = torch.ops.aten.zeros.default([1, 2, 4])\nr = torch.ops.aten.lstm.input(x, [s, s], [self.w, self.h, self.b, self.b2], True, 1, 0.0, False, False, True)\ngetitem = r[0]\nreturn " + lin + "(getitem, self.lw)",
			with(lstm, map[string][]int{"lw": {3, 4}}), func() []*torch.Tensor { return []*torch.Tensor{randn(t, 2, 7, 6)} }, 1, []string{"aten.mkldnn_rnn_layer"}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			inputs := tc.inputs()
			gm := aten(t, tc.body, tc.attrs, inputs...)
			frozen := freezes(t, gm, [][]*torch.Tensor{inputs}, WithRewrites("bfloat16"))
			assert.Equal(t, tc.layers, frozen.Report.Count("bfloat16"), "%s", frozen.Report)
			assert.Equal(t, 0.05, frozen.Report.Tolerance())
			plain := freezes(t, gm, [][]*torch.Tensor{inputs}, WithRewrites("bfloat16"), WithoutRewrites("pack-convolutions", "pack-linears"))
			ops := operatorsOf(plain.Module)
			for _, op := range tc.wide {
				assert.Contains(t, ops, op)
			}
			for n := range plain.Module.Graph().Nodes() {
				meta, _ := valueOf(n)
				if n.Op() == ir.CallFunction && !narrowOps[n.Func()] && n.Func() != toDType && layerKinds[n.Func()] == 0 {
					assert.NotEqual(t, ir.BFloat16, meta.DType, n)
				}
			}
		})
	}
}

// What the rewrite computes are the bits of the layers on operands that were cast.
func TestBFloat16IsThatOfCasts(t *testing.T) {
	needsBFloat16(t)
	x := randn(t, 3, 5, 16)
	gm := aten(t, "l = torch.ops.aten.linear.default(x, self.w, self.b)\ng = torch.ops.aten.gelu.default(l)\nreturn torch.ops.aten.linear.default(g, self.w2)", linears, x)
	by := aten(t, "n = torch.ops.aten.to.dtype(x, torch.bfloat16)\nv = torch.ops.aten.to.dtype(self.w, torch.bfloat16)\nc = torch.ops.aten.to.dtype(self.b, torch.bfloat16)\nu = torch.ops.aten.to.dtype(self.w2, torch.bfloat16)\n"+
		"l = torch.ops.aten.linear.default(n, v, c)\ng = torch.ops.aten.gelu.default(l)\nr = torch.ops.aten.linear.default(g, u)\nreturn torch.ops.aten.to.dtype(r, torch.float32)", linears, x)
	for path, v := range gm.Attrs() {
		by.SetAttr(path, v)
	}
	frozen := freezes(t, gm, [][]*torch.Tensor{{x}}, OnlyRewrites("bfloat16"))
	want, got := runModule(t, interpreter.New(by), []*torch.Tensor{x}), runModule(t, interpreter.New(frozen.Module), []*torch.Tensor{x})
	assert.Zero(t, distance(t, want[0], got[0]))
	closeEach(append(want, got...))
}
