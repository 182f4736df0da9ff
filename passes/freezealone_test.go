package passes

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// batch stands for the size of a batch in the sizes of inputs.
const batch = -1

// An alone is a program to which a rewrite applies when all others are off.
type alone struct {
	rewrite, name, body string
	attrs               map[string][]int
	inputs              [][]int
	wide                bool // it applies to float64, too
}

var (
	images        = [][]int{{batch, 8, 9, 11}}
	rows          = [][]int{{batch, 5, 16}}
	heads         = [][]int{{batch, 3, 6, 16}, {batch, 3, 6, 16}, {batch, 3, 6, 16}}
	groupsOfHeads = [][]int{{batch, 6, 5, 16}, {batch, 2, 7, 16}, {batch, 2, 7, 16}}
	norm          = map[string][]int{"g": {8}, "nb": {8}, "m": {8}, "var": {8}}
	convs         = map[string][]int{"w": {8, 8, 3, 3}, "b": {8}, "w2": {8, 8, 3, 3}, "dw": {8, 1, 3, 3}}
	linears       = map[string][]int{"w": {16, 16}, "b": {16}, "w2": {16, 16}, "b2": {16}}
	lstm          = map[string][]int{"w": {16, 6}, "h": {16, 4}, "b": {16}, "b2": {16}, "wr": {16, 6}, "hr": {16, 4}, "br": {16}, "br2": {16}}
	sequence      = [][]int{{batch, 7, 6}}
)

const (
	normed   = ", self.g, self.nb, self.m, self.var, False, 0.1, 1e-05, True)"
	weighted = "w = torch.ops.aten.softmax.int(s, -1)\nreturn torch.ops.aten.matmul.default(w, z)"
)

// with joins sizes of attributes.
func with(all ...map[string][]int) map[string][]int {
	joined := map[string][]int{}
	for _, m := range all {
		maps.Copy(joined, m)
	}
	return joined
}

var alones = []alone{
	{"functional", "chain", "a = torch.ops.aten.neg.default(x)\nb = torch.ops.aten.relu_.default(a)\nc = torch.ops.aten.add_.Tensor(b, self.w)\nd = torch.ops.aten.mul_.Tensor(c, 2.0)\nreturn torch.ops.aten.neg.default(d)",
		map[string][]int{"w": {16}}, rows, true},
	{"pack-lstms", "two directions", "t = torch.ops.aten.transpose.int(x, 0, 1)\ns = torch.ops.aten.slice.Tensor(t, 0, 0, 2)\nz = torch.ops.aten.slice.Tensor(s, 2, 0, 4)\n" +
		"r = torch.ops.aten.lstm.input(x, [z, z], [self.w, self.h, self.b, self.b2, self.wr, self.hr, self.br, self.br2], True, 1, 0.0, False, True, True)\n" +
		"getitem = r[0]\ngetitem_1 = r[1]\ngetitem_2 = r[2]\nreturn (getitem, getitem_1, getitem_2)", lstm, sequence, false},
	{"fold-constants", "transposed product", "s = torch.ops.aten.mul.Tensor(self.w, 2.0)\nt = torch.ops.aten.t.default(s)\nreturn torch.ops.aten.matmul.default(x, t)", linears, rows, true},
	{"drop-identities", "dropout, views and copies", "a = torch.ops.aten.dropout.default(x, 0.5, False)\no = torch.ops.aten.neg.default(a)\nc = torch.ops.aten.contiguous.default(o)\nd = torch.ops.aten.expand.default(c, [-1, -1, -1])\n" +
		"e = torch.ops.aten.clone.default(d)\nreturn torch.ops.aten.mul.Tensor(e, self.b)", linears, rows, true},
	{"fuse-attention", "divided", "k = torch.ops.aten.transpose.int(y, -2, -1)\np = torch.ops.aten.matmul.default(x, k)\ns = torch.ops.aten.div.Tensor(p, 4.0)\n" + weighted, nil, heads, true},
	{"fuse-attention", "multiplied, with a mask", "k = torch.ops.aten.transpose.int(y, -2, -1)\np = torch.ops.aten.matmul.default(x, k)\nf = torch.ops.aten.mul.Tensor(p, 0.25)\n" +
		"s = torch.ops.aten.add.Tensor(f, self.mask)\n" + weighted, map[string][]int{"mask": {6, 6}}, heads, true},
	{"fuse-attention", "hidden places", "k = torch.ops.aten.transpose.int(y, -2, -1)\nq = torch.ops.aten.div.Tensor(x, 4.0)\np = torch.ops.aten.matmul.default(q, k)\nh = torch.ops.aten.gt.Scalar(self.mask, 0.3)\n" +
		"s = torch.ops.aten.masked_fill.Scalar(p, h, -inf)\n" + weighted, map[string][]int{"mask": {6, 6}}, heads, true},
	{"fuse-attention", "matrices of heads", "q = torch.ops.aten.view.default(x, [-1, 6, 16])\nk = torch.ops.aten.transpose.int(torch.ops.aten.reshape.default(y, [-1, 6, 16]), 1, 2)\nv = torch.ops.aten.reshape.default(z, [-1, 6, 16])\n" +
		"s = torch.ops.aten.view.default(torch.ops.aten.bmm.default(q, k), [-1, 3, 6, 6])\nm = torch.ops.aten.add.Tensor(s, self.mask)\nw = torch.ops.aten._softmax.default(m, -1, False)\n" +
		"e = torch.ops.aten.view.default(w, [-1, 6, 6])\nr = torch.ops.aten.bmm.default(e, v)\nreturn torch.ops.aten.view.default(r, [-1, 3, 6, 16])", map[string][]int{"mask": {6, 6}}, heads, true},
	{"fuse-attention", "einsum", "s = torch.ops.aten.einsum.default('bqhd,bkhd->bhqk', [x, y])\nw = torch.ops.aten.softmax.int(torch.ops.aten.mul.Tensor(s, 0.25), -1)\nreturn torch.ops.aten.einsum.default('bhqk,bkhd->bqhd', [w, z])", nil, heads, true},
	{"group-heads", "expanded", "k = torch.ops.aten.reshape.default(torch.ops.aten.expand.default(torch.ops.aten.unsqueeze.default(y, 2), [-1, -1, 3, -1, -1]), [-1, 6, 7, 16])\n" +
		"v = torch.ops.aten.reshape.default(torch.ops.aten.expand.default(torch.ops.aten.unsqueeze.default(z, 2), [-1, -1, 3, -1, -1]), [-1, 6, 7, 16])\n" +
		"return torch.ops.aten.scaled_dot_product_attention.default(x, k, v, None, 0.0, False, scale=0.25)", nil, groupsOfHeads, true},
	{"group-heads", "interleaved, with a mask", "k = torch.ops.aten.repeat_interleave.self_int(y, 3, 1)\nv = torch.ops.aten.repeat_interleave.self_int(z, 3, -3)\nm = torch.ops.aten.gt.Scalar(self.mask, 0.3)\n" +
		"return torch.ops.aten.scaled_dot_product_attention.default(x, k, v, m)", map[string][]int{"mask": {5, 7}}, groupsOfHeads, true},
	{"group-heads", "copied, causal", "k = torch.ops.aten.view.default(torch.ops.aten.clone.default(torch.ops.aten.expand.default(torch.ops.aten.unsqueeze.default(y, -3), [-1, 2, 3, 7, 16])), [-1, 6, 7, 16])\n" +
		"v = torch.ops.aten._unsafe_view.default(torch.ops.aten.clone.default(torch.ops.aten.expand.default(torch.ops.aten.unsqueeze.default(z, 2), [-1, 2, 3, 7, 16])), [-1, 6, 7, 16])\n" +
		"return torch.ops.aten.scaled_dot_product_attention.default(x, k, v, None, 0.0, True)", nil, groupsOfHeads, true},
	{"fuse-patterns", "layer norm", "d = torch.ops.aten.sub.Tensor(x, torch.ops.aten.mean.dim(x, [-1], True))\nv = torch.ops.aten.mean.dim(torch.ops.aten.pow.Tensor_Scalar(d, 2), [-1], True)\n" +
		"r = torch.ops.aten.sqrt.default(torch.ops.aten.add.Tensor(v, 1e-05))\nn = torch.ops.aten.mul.Tensor(torch.ops.aten.div.Tensor(d, r), self.b)\nreturn torch.ops.aten.add.Tensor(n, self.b2)", linears, rows, true},
	{"fuse-patterns", "gelu", "e = torch.ops.aten.erf.default(torch.ops.aten.div.Tensor(x, 1.4142135623730951))\no = torch.ops.aten.add.Tensor(e, 1)\nh = torch.ops.aten.mul.Tensor(x, 0.5)\nreturn torch.ops.aten.mul.Tensor(h, o)", nil, rows, true},
	{"fuse-patterns", "silu", "s = torch.ops.aten.sigmoid.default(x)\nreturn torch.ops.aten.mul.Tensor(x, s)", nil, rows, true},
	{"fuse-patterns", "hardswish", "a = torch.ops.aten.add.Tensor(x, 3)\nh = torch.ops.aten.hardtanh.default(a, 0.0, 6.0)\np = torch.ops.aten.mul.Tensor(x, h)\nreturn torch.ops.aten.div.Tensor(p, 6)", nil, rows, true},
	{"delegate", "convolution, norm and relu", "c = torch.ops.aten.conv2d.default(x, self.w, self.b, [1, 1], [1, 1])\nn = torch.ops.aten.batch_norm.default(c" + normed + "\nreturn torch.ops.aten.relu.default(n)", with(convs, norm), images, false},
	{"fold-batch-norm", "convolution", "c = torch.ops.aten.conv2d.default(x, self.w, self.b, [1, 1], [1, 1])\nn = torch.ops.aten.batch_norm.default(c" + normed + "\nreturn torch.ops.aten.relu.default(n)", with(convs, norm), images, true},
	{"fold-batch-norm", "before a convolution", "n = torch.ops.aten.batch_norm.default(x" + normed + "\nreturn torch.ops.aten.conv2d.default(n, self.w, self.b)", with(convs, norm), images, true},
	{"bfloat16", "convolutions", "c = torch.ops.aten.conv2d.default(x, self.w, self.b, [1, 1], [1, 1])\nr = torch.ops.aten.relu.default(c)\nd = torch.ops.aten.conv2d.default(r, self.w2)\nreturn torch.ops.aten.tanh.default(d)", convs, images, false},
	{"bfloat16", "linear layers", "c = torch.ops.aten.linear.default(x, self.w, self.b)\nr = torch.ops.aten.gelu.default(c)\nreturn torch.ops.aten.linear.default(r, self.w2, self.b2)", linears, rows, false},
	{"pack-convolutions", "residual and relu", "c = torch.ops.aten.conv2d.default(x, self.w, self.b, [1, 1], [1, 1])\na = torch.ops.aten.add.Tensor(c, x)\nr = torch.ops.aten.relu.default(a)\n" +
		"return torch.ops.aten.conv2d.default(r, self.dw, None, [2, 2], [1, 1], [1, 1], 8)", convs, images, false},
	{"fuse-cudnn", "relu", "c = torch.ops.aten.conv2d.default(x, self.w, self.b, [1, 1], [1, 1])\nreturn torch.ops.aten.relu.default(c)", convs, images, false},
	{"merge-linears", "query and key", "q = torch.ops.aten.linear.default(x, self.w, self.b)\nk = torch.ops.aten.linear.default(x, self.w2, self.b2)\nreturn torch.ops.aten.mul.Tensor(q, k)", linears, rows, false},
	{"merge-linears", "a bias on some", "q = torch.ops.aten.linear.default(x, self.w, self.b)\nk = torch.ops.aten.linear.default(x, self.w2)\np = torch.ops.aten.mul.Tensor(q, k)\nreturn torch.ops.aten.linear.default(p, self.w, self.b2)", linears, rows, false},
	{"pack-convolutions", "a line", "c = torch.ops.aten.conv1d.default(x, self.lw, self.b, [1], [1])\na = torch.ops.aten.add.Tensor(c, x)\nr = torch.ops.aten.relu.default(a)\nreturn torch.ops.aten.conv1d.default(r, self.lw, None, [2])",
		map[string][]int{"lw": {8, 8, 3}, "b": {8}}, [][]int{{batch, 8, 17}}, false},
	{"pack-convolutions", "three dimensions", "c = torch.ops.aten.conv3d.default(x, self.vw, self.b, [1, 1, 1], [1, 1, 1])\nr = torch.ops.aten.gelu.default(c)\nreturn torch.ops.aten.conv_transpose3d.input(r, self.vw, None, [2, 2, 2])",
		map[string][]int{"vw": {8, 8, 3, 3, 3}, "b": {8}}, [][]int{{batch, 8, 4, 5, 6}}, false},
	{"pack-linears", "gelu", "l = torch.ops.aten.linear.default(x, self.w, self.b)\ng = torch.ops.aten.gelu.default(l)\nr = torch.ops.aten.linear.default(g, self.w2)\nreturn torch.ops.aten.add.Tensor(r, x)", linears, rows, false},
}

// values makes inputs for a batch of n.
func (a alone) values(t *testing.T, n int, d ir.DType) []*torch.Tensor {
	var all []*torch.Tensor
	for _, sizes := range a.inputs {
		sizes = slices.Clone(sizes)
		if i := slices.Index(sizes, batch); i >= 0 {
			sizes[i] = n
		}
		all = append(all, castTo(t, randn(t, sizes...), d))
	}
	return all
}

func castTo(t testing.TB, x *torch.Tensor, d ir.DType) *torch.Tensor {
	y, err := tensor("aten::to.dtype", x, d)
	require.NoError(t, err)
	t.Cleanup(func() { y.Close() })
	return y
}

// options switch all rewrites off but that of the case.
func (a alone) options(t *testing.T) []FreezeOption {
	opts := []FreezeOption{OnlyRewrites(a.rewrite)}
	switch a.rewrite {
	case "delegate":
		testenv.Delegate(t)
		opts = append(opts, func(f *freezer) { f.delegate = onednnOfSetUp })
	case "bfloat16":
		if supported, err := torch.Call("mkldnn::_is_mkldnn_bf16_supported"); err != nil || supported != true {
			t.Skip("SKIPPED: this processor has no kernels of bfloat16")
		}
	}
	return opts
}

// outputsOf gives a graph results.
func outputsOf(t *testing.T, g *ir.Graph, results ...ir.Arg) {
	require.NoError(t, g.Erase(g.Find(ir.Output, nil)[0]))
	g.Output(ir.TupleOf(results...))
}

// Every rewrite works alone, in the tolerance that it states, and stays right where the
// programs are of another dtype, their values are read by others, weights are
// written, shared or trained, and sizes are others.
func TestEachRewriteAlone(t *testing.T) {
	testenv.Libtorch(t)
	tested := map[string]bool{}
	for _, a := range alones {
		tested[a.rewrite] = true
		t.Run(a.rewrite+"/"+a.name, func(t *testing.T) {
			testenv.Libtorch(t)
			at := slices.IndexFunc(rewrites, func(r Rewrite) bool { return r.Name == a.rewrite })
			require.GreaterOrEqual(t, at, 0)
			if rewrites[at].Device == "cuda" {
				gm := aten(t, a.body, a.attrs, a.values(t, 2, ir.Float32)...)
				frozen, err := Freeze(t.Context(), gm, FreezeFor(ir.DeviceCUDA), OnlyRewrites(a.rewrite))
				require.NoError(t, err)
				defer frozen.Close()
				require.Positive(t, frozen.Report.Count(a.rewrite))
				return // its kernels run where a GPU is
			}
			opts := a.options(t)
			same := func(t *testing.T, gm *ir.GraphModule, sets ...[]*torch.Tensor) *FreezeReport {
				report := freezes(t, gm, sets, opts...).Report
				for _, applied := range report.Applied {
					require.Equal(t, a.rewrite, applied.Rewrite)
				}
				if report.Count(a.rewrite) > 0 {
					require.Equal(t, max(rewrites[at].Tolerance, min(report.narrow, report.Tolerance())), report.Tolerance())
				}
				return report
			}
			of := func(t *testing.T, d ir.DType) (*ir.GraphModule, []*torch.Tensor) {
				inputs := a.values(t, 2, d)
				gm := atenOf(t, d, a.body, a.attrs, inputs...)
				return gm, inputs
			}
			t.Run("applies", func(t *testing.T) {
				gm, x := of(t, ir.Float32)
				require.Positive(t, same(t, gm, x, a.values(t, 5, ir.Float32)).Count(a.rewrite))
			})
			t.Run("off", func(t *testing.T) {
				gm, x := of(t, ir.Float32)
				report := freezes(t, gm, [][]*torch.Tensor{x}, WithoutRewrites(a.rewrite)).Report
				require.Zero(t, report.Count(a.rewrite))
				none := freezes(t, gm, [][]*torch.Tensor{x}, OnlyRewrites())
				require.Empty(t, none.Report.Applied)
				require.Equal(t, gm.Graph().String(), none.Module.Graph().String())
			})
			t.Run("float64", func(t *testing.T) {
				gm, x := of(t, ir.Float64)
				require.Equal(t, a.wide, same(t, gm, x).Count(a.rewrite) > 0)
			})
			t.Run("all values are results", func(t *testing.T) {
				gm, x := of(t, ir.Float32)
				var all []ir.Arg
				for n := range gm.Graph().Nodes() {
					if _, one := valueOf(n); one && n.Op() == ir.CallFunction {
						all = append(all, n)
					}
				}
				outputsOf(t, gm.Graph(), all...)
				same(t, gm, x, a.values(t, 5, ir.Float32))
			})
			t.Run("twice on the same weights", func(t *testing.T) {
				gm, x := of(t, ir.Float32)
				g := gm.Graph()
				nodes := nodesOf(g)
				results := []ir.Arg{}
				for range 2 {
					env := map[*ir.Node]*ir.Node{}
					for _, n := range nodes {
						switch {
						case n.Op() == ir.Placeholder && len(results) > 0: // of other values
							neg, err := (&freezer{graph: g}).call(nodes[len(nodes)-1], n, "aten::neg", n)
							require.NoError(t, err)
							env[n] = neg
						case n.Op() == ir.Placeholder:
							env[n] = n
						case n.Op() == ir.Output:
							for _, in := range n.Inputs() {
								results = append(results, env[in])
							}
						default:
							restore, err := g.InsertBefore(nodes[len(nodes)-1])
							require.NoError(t, err)
							c, err := g.CopyNode(n, lookup(env))
							restore()
							require.NoError(t, err)
							env[n] = c
						}
					}
				}
				outputsOf(t, g, results...)
				require.Positive(t, same(t, gm, x).Count(a.rewrite))
			})
			t.Run("weights that train", func(t *testing.T) {
				gm, x := of(t, ir.Float32)
				for _, v := range gm.Attrs() {
					_, err := torch.Call("aten::requires_grad_", v, true)
					require.NoError(t, err)
				}
				require.Positive(t, same(t, gm, x).Count(a.rewrite))
			})
			for name, through := range map[string]string{"weights that are written": "", "weights that are written through others": "_alias"} {
				t.Run(name, func(t *testing.T) {
					gm, x := of(t, ir.Float32)
					if len(a.attrs) == 0 {
						t.Skip("it has no weights")
					}
					g := gm.Graph()
					restore, err := g.InsertBefore(g.First())
					require.NoError(t, err)
					for path, v := range maps.Collect(gm.Attrs()) {
						kept, err := tensor("aten::clone", v)
						require.NoError(t, err)
						alias, err := tensor("aten::alias", v)
						require.NoError(t, err)
						t.Cleanup(func() { kept.Close(); alias.Close() })
						_, err = torch.Call("aten::zero_", v)
						require.NoError(t, err)
						gm.SetAttr(path+"_kept", kept)
						if through != "" {
							gm.SetAttr(path+through, alias)
						}
						g.CallFunction(ir.OverloadOf("aten::copy_"), []ir.Arg{g.GetAttr(path + through), g.GetAttr(path + "_kept")})
					}
					restore()
					note(t, gm, x)
					same(t, gm, x)
				})
			}
			t.Run("any batch", func(t *testing.T) {
				gm, x := of(t, ir.Float32)
				symbolic(t, gm)
				report := same(t, gm, x, a.values(t, 0, ir.Float32), a.values(t, 1, ir.Float32), a.values(t, 5, ir.Float32))
				assert.Positive(t, report.Count(a.rewrite), "%s", report)
			})
			for _, d := range []ir.DType{ir.BFloat16, ir.Float16} {
				t.Run(d.String(), func(t *testing.T) {
					gm, x := of(t, d)
					same(t, gm, x)
				})
			}
		})
	}
	for _, r := range rewrites {
		assert.True(t, tested[r.Name], "%s is not tested", r.Name)
	}
}

// symbolic notes that the first dimension of the inputs has any size.
func symbolic(t *testing.T, gm *ir.GraphModule) {
	for _, n := range gm.Graph().Find(ir.Placeholder, nil) {
		meta, ok := valueOf(n)
		require.True(t, ok)
		meta.Sizes = slices.Clone(meta.Sizes)
		meta.Sizes[0] = ir.SymbolicSize(ir.SymbolExpr("s0"), meta.Sizes[0].Hint())
		n.Meta().Set(ir.MetaVal, meta)
	}
	for n := range gm.Graph().Nodes() {
		if n.Op() == ir.CallFunction {
			n.Meta().Delete(ir.MetaVal)
		}
	}
	RefreshValues(t.Context(), gm, nil)
}

// note notes a graph's values on inputs.
func note(t testing.TB, gm *ir.GraphModule, inputs []*torch.Tensor) {
	observe := func(_ *interpreter.Run, n *ir.Node, run func() (any, error)) (any, error) {
		v, err := run()
		var found bool
		if meta, e := describe(v, &found); e == nil && found && n.Op() != ir.Output {
			n.Meta().Set(ir.MetaVal, meta)
		}
		return v, err
	}
	closeEach(runModule(t, interpreter.New(gm, interpreter.WithHandler(interpreter.Around(interpreter.Default{}, observe))), inputs))
}
