package passes

import (
	"context"
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

// A net builds a module of one layer and one batch norm.
type net struct {
	t     *testing.T
	attrs map[string]any
	graph *ir.Graph
	dtype ir.DType
}

func newNet(t *testing.T) *net {
	testenv.Libtorch(t)
	require.NoError(t, libtorch.ManualSeed(0))
	return &net{t: t, attrs: map[string]any{}, graph: ir.NewGraph(), dtype: ir.Float32}
}

func (b *net) randn(shape ...int) *torch.Tensor {
	v, err := torch.Call("aten::randn", shape, torch.Kw("dtype", b.dtype))
	require.NoError(b.t, err)
	return v.(*torch.Tensor)
}

// param adds a random attribute and a read of it.
func (b *net) param(path string, shape ...int) ir.Arg {
	v := b.randn(shape...)
	if strings.HasSuffix(path, "running_var") {
		square, err := torch.Call("aten::square", v)
		require.NoError(b.t, err)
		v = square.(*torch.Tensor)
	}
	b.attrs[path] = v
	return b.graph.GetAttr(path)
}

// call appends a call, named after its operator as torch.export does.
func (b *net) call(op string, args ...ir.Arg) *ir.Node {
	name, _, _ := strings.Cut(strings.TrimPrefix(op, "aten::"), ".")
	return b.graph.CallFunction(ir.OverloadOf(op), args, ir.Name(name))
}

// module finishes the graph with out, notes the shapes that x gives, and returns
// the module.
func (b *net) module(out ir.Arg, x *torch.Tensor) *ir.GraphModule {
	b.graph.Output(out)
	gm, err := ir.NewGraphModule(b.attrs, b.graph)
	require.NoError(b.t, err)
	note := func(_ *interpreter.Run, n *ir.Node, run func() (any, error)) (any, error) {
		v, err := run()
		if t, ok := v.(*torch.Tensor); ok {
			meta := ir.TensorMeta{DType: t.DType()}
			for _, s := range t.Shape() {
				meta.Sizes = append(meta.Sizes, ir.SizeOf(int64(s)))
			}
			n.Meta().Set(ir.MetaVal, meta)
		}
		return v, err
	}
	y, err := interpreter.New(gm, interpreter.WithHandler(interpreter.Around(interpreter.Default{}, note))).Run(b.t.Context(), x)
	require.NoError(b.t, err)
	y.(*torch.Tensor).Close()
	return gm
}

func run(t *testing.T, gm *ir.GraphModule, x *torch.Tensor) *torch.Tensor {
	y, err := interpreter.New(gm).Run(t.Context(), x)
	require.NoError(t, err)
	return y.(*torch.Tensor)
}

func requireClose(t *testing.T, want, got *torch.Tensor, rtol, atol float64) {
	t.Helper()
	assert.Equal(t, want.DType(), got.DType())
	assert.Equal(t, want.Shape(), got.Shape())
	same, err := torch.Call("aten::allclose", got, want, rtol, atol)
	require.NoError(t, err)
	require.Equal(t, true, same, "want %s\ngot %s", want, got)
}

func ints(n ...int) ir.List { return ir.IntList(n...) }

// batchNorm is aten.batch_norm of x with parameters of n channels.
func (b *net) batchNorm(x ir.Arg, n int, training bool) *ir.Node {
	return b.call("aten::batch_norm", x, b.param("bn.weight", n), b.param("bn.bias", n),
		b.param("bn.running_mean", n), b.param("bn.running_var", n), ir.Bool(training), ir.Float(0.1), ir.Float(1e-5), ir.Bool(false))
}

func TestFoldBatchNormKeepsTheNumbers(t *testing.T) {
	none := ir.None{}
	tests := []struct {
		name     string
		input    []int
		channels int
		layer    func(b *net, x ir.Arg) *ir.Node
	}{
		{"linear", []int{5, 3}, 4, func(b *net, x ir.Arg) *ir.Node {
			return b.call("aten::linear", x, b.param("l.weight", 4, 3))
		}},
		{"linear with bias", []int{5, 3}, 4, func(b *net, x ir.Arg) *ir.Node {
			return b.call("aten::linear", x, b.param("l.weight", 4, 3), b.param("l.bias", 4))
		}},
		{"conv1d", []int{2, 3, 9}, 4, func(b *net, x ir.Arg) *ir.Node {
			return b.call("aten::conv1d", x, b.param("l.weight", 4, 3, 3), none, ints(2), ints(1))
		}},
		{"conv2d, bias by keyword", []int{2, 3, 6, 5}, 4, func(b *net, x ir.Arg) *ir.Node {
			weight, bias := b.param("l.weight", 4, 3, 3, 2), b.param("l.bias", 4)
			return b.graph.CallFunction(ir.OverloadOf("aten::conv2d"), []ir.Arg{x, weight}, ir.Kwargs(ir.Kw("bias", bias)), ir.Name("conv2d"))
		}},
		{"conv2d, padding by name", []int{2, 3, 6, 5}, 4, func(b *net, x ir.Arg) *ir.Node {
			return b.call("aten::conv2d.padding", x, b.param("l.weight", 4, 3, 3, 3), none, ints(1, 1), ir.Str("same"))
		}},
		{"conv2d, depthwise", []int{2, 6, 6, 5}, 6, func(b *net, x ir.Arg) *ir.Node {
			return b.call("aten::conv2d", x, b.param("l.weight", 6, 1, 3, 3), b.param("l.bias", 6), ints(1, 1), ints(1, 1), ints(1, 1), ir.Int(6))
		}},
		{"conv3d", []int{1, 2, 4, 4, 4}, 3, func(b *net, x ir.Arg) *ir.Node {
			return b.call("aten::conv3d", x, b.param("l.weight", 3, 2, 2, 2, 2))
		}},
		{"convolution", []int{2, 4, 6, 5}, 6, func(b *net, x ir.Arg) *ir.Node {
			return b.call("aten::convolution", x, b.param("l.weight", 6, 2, 3, 3), none, ints(1, 1), ints(0, 0), ints(1, 1), ir.Bool(false), ints(0, 0), ir.Int(2))
		}},
		{"convolution, transposed, groups", []int{2, 4, 6, 5}, 6, func(b *net, x ir.Arg) *ir.Node {
			return b.call("aten::convolution", x, b.param("l.weight", 4, 3, 3, 3), none, ints(1, 1), ints(0, 0), ints(1, 1), ir.Bool(true), ints(0, 0), ir.Int(2))
		}},
		{"conv_transpose1d", []int{2, 3, 9}, 4, func(b *net, x ir.Arg) *ir.Node {
			return b.call("aten::conv_transpose1d", x, b.param("l.weight", 3, 4, 3), b.param("l.bias", 4), ints(2))
		}},
		{"conv_transpose2d, groups", []int{2, 4, 5, 5}, 6, func(b *net, x ir.Arg) *ir.Node {
			return b.call("aten::conv_transpose2d.input", x, b.param("l.weight", 4, 3, 2, 2), none, ints(1, 1), ints(0, 0), ints(0, 0), ir.Int(2))
		}},
		{"conv_transpose3d", []int{1, 2, 3, 3, 3}, 4, func(b *net, x ir.Arg) *ir.Node {
			return b.call("aten::conv_transpose3d.input", x, b.param("l.weight", 2, 4, 2, 2, 2))
		}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			b := newNet(t)
			x := b.randn(tc.input...)
			layer := tc.layer(b, b.graph.Placeholder("x"))
			gm := b.module(b.batchNorm(layer, tc.channels, false), x)
			want := run(t, gm, x)

			report, err := FoldBatchNorm(t.Context(), gm)
			require.NoError(t, err)
			require.Len(t, report.Folds, 1, report.String())
			assert.Equal(t, Fold{"batch_norm", layer.Name(), "l.weight_folded", "l.bias_folded"}, report.Folds[0])
			require.NoError(t, gm.Graph().Lint())
			assert.NotContains(t, gm.Graph().String(), "batch_norm")
			requireClose(t, want, run(t, gm, x), 1e-4, 1e-5)
		})
	}
}

func TestFoldBatchNormForms(t *testing.T) {
	const n = 4
	tests := []struct {
		name string
		norm func(b *net, x ir.Arg) ir.Arg // returns the normalised tensor
	}{
		{"no_training, as the core decompositions leave it", func(b *net, x ir.Arg) ir.Arg {
			norm := b.call("aten::_native_batch_norm_legit_no_training", x, b.param("bn.weight", n), b.param("bn.bias", n),
				b.param("bn.running_mean", n), b.param("bn.running_var", n), ir.Float(0.1), ir.Float(1e-3))
			out := b.graph.CallFunction(getItem, []ir.Arg{norm, ir.Int(0)})
			b.graph.CallFunction(getItem, []ir.Arg{norm, ir.Int(1)}) // nothing reads it
			return out
		}},
		{"native_batch_norm", func(b *net, x ir.Arg) ir.Arg {
			norm := b.call("aten::native_batch_norm", x, b.param("bn.weight", n), b.param("bn.bias", n),
				b.param("bn.running_mean", n), b.param("bn.running_var", n), ir.Bool(false), ir.Float(0.1), ir.Float(1e-5))
			return b.graph.CallFunction(getItem, []ir.Arg{norm, ir.Int(0)})
		}},
		{"_native_batch_norm_legit, whose schema writes the statistics", func(b *net, x ir.Arg) ir.Arg {
			norm := b.call("aten::_native_batch_norm_legit", x, b.param("bn.weight", n), b.param("bn.bias", n),
				b.param("bn.running_mean", n), b.param("bn.running_var", n), ir.Bool(false), ir.Float(0.1), ir.Float(1e-5))
			return b.graph.CallFunction(getItem, []ir.Arg{norm, ir.Int(0)})
		}},
		{"without affine parameters", func(b *net, x ir.Arg) ir.Arg {
			return b.call("aten::batch_norm", x, ir.None{}, ir.None{}, b.param("bn.running_mean", n), b.param("bn.running_var", n),
				ir.Bool(false), ir.Float(0.1), ir.Float(1e-5), ir.Bool(true))
		}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			b := newNet(t)
			x := b.randn(2, 3, 5, 5)
			conv := b.call("aten::conv2d", b.graph.Placeholder("x"), b.param("l.weight", n, 3, 3, 3), b.param("l.bias", n))
			relu := b.call("aten::relu", tc.norm(b, conv))
			gm := b.module(relu, x)
			want := run(t, gm, x)

			report, err := FoldBatchNorm(t.Context(), gm)
			require.NoError(t, err)
			require.Len(t, report.Folds, 1, report.String())
			require.NoError(t, gm.Graph().Lint())
			assert.Equal(t, []string{"x", "l_weight_folded", "l_bias_folded", "conv2d", "relu", "output"}, names(gm.Graph()))
			requireClose(t, want, run(t, gm, x), 1e-4, 1e-5)
		})
	}
}

func names(g *ir.Graph) []string {
	var all []string
	for n := range g.Nodes() {
		all = append(all, n.Name())
	}
	return all
}

func TestFoldBatchNormReports(t *testing.T) {
	b := newNet(t)
	x := b.randn(2, 3, 5, 5)
	conv := b.call("aten::conv2d", b.graph.Placeholder("x"), b.param("net.conv.weight", 4, 3, 3, 3))
	conv.Meta().Set(ir.MetaStackTrace, "File \"net.py\", line 7")
	b.attrs["net.conv.bias_folded"] = b.randn(1)
	gm := b.module(b.batchNorm(conv, 4, false), x)

	report, err := FoldBatchNorm(t.Context(), gm)
	require.NoError(t, err)
	assert.Equal(t, &BatchNormReport{
		Folds:   []Fold{{"batch_norm", "conv2d", "net.conv.weight_folded", "net.conv.bias_folded_1"}},
		Removed: []string{"batch_norm", "net_conv_weight", "bn_weight", "bn_bias", "bn_running_mean", "bn_running_var"},
		Made:    []string{"net_conv_weight_folded", "net_conv_bias_folded_1"},
		Dropped: []string{"net.conv.weight", "bn.weight", "bn.bias", "bn.running_mean", "bn.running_var"},
	}, report)
	assert.Equal(t, `batch_norm folded into conv2d: net.conv.weight_folded, net.conv.bias_folded_1
6 nodes removed, 2 made, 5 attributes dropped
`, report.String())
	assert.Equal(t, "File \"net.py\", line 7", conv.Meta().Get(ir.MetaStackTrace))
	bias := gm.Graph().Lookup("net_conv_bias_folded_1")
	assert.Equal(t, ir.TensorMeta{DType: ir.Float32, Sizes: []ir.Size{ir.SizeOf(4)}, Strides: []ir.Size{ir.SizeOf(1)}}, bias.Meta().Get(ir.MetaVal))
	_, there := gm.Attr("bn.weight")
	assert.False(t, there)
}

// A weight that another layer reads too stays as it is for that layer.
func TestFoldBatchNormOfASharedWeight(t *testing.T) {
	b := newNet(t)
	x := b.randn(5, 3)
	in, weight := b.graph.Placeholder("x"), b.param("l.weight", 4, 3)
	plain := b.call("aten::linear", in, weight)
	normed := b.batchNorm(b.call("aten::linear", in, weight), 4, false)
	gm := b.module(b.call("aten::sub.Tensor", normed, plain), x)
	want := run(t, gm, x)

	report, err := FoldBatchNorm(t.Context(), gm)
	require.NoError(t, err)
	require.Len(t, report.Folds, 1, report.String())
	assert.NotContains(t, report.Dropped, "l.weight")
	requireClose(t, want, run(t, gm, x), 1e-4, 1e-5)
}

func TestFoldBatchNormKeepsHalfPrecision(t *testing.T) {
	b := newNet(t)
	b.dtype = ir.BFloat16
	x := b.randn(5, 8)
	gm := b.module(b.batchNorm(b.call("aten::linear", b.graph.Placeholder("x"), b.param("l.weight", 4, 8)), 4, false), x)
	want := run(t, gm, x)
	_, err := FoldBatchNorm(t.Context(), gm)
	require.NoError(t, err)
	// unfolded, the product is rounded to eight bits before it is normalised
	requireClose(t, want, run(t, gm, x), 3e-2, 3e-2)
}

func TestFoldBatchNormLeavesAlone(t *testing.T) {
	conv := func(b *net) *ir.Node {
		return b.call("aten::conv2d", b.graph.Placeholder("x"), b.param("l.weight", 3, 3, 3, 3))
	}
	tests := []struct {
		name, why string
		build     func(b *net) ir.Arg
	}{
		{"training", "it trains", func(b *net) ir.Arg { return b.batchNorm(conv(b), 3, true) }},
		{"another layer", "its input is torch.ops.aten.relu.default, neither a convolution nor linear", func(b *net) ir.Arg {
			return b.batchNorm(b.call("aten::relu", b.graph.Placeholder("x")), 3, false)
		}},
		{"a result used elsewhere", "the result of conv2d is used elsewhere too", func(b *net) ir.Arg {
			c := conv(b)
			return b.call("aten::add.Tensor", b.batchNorm(c, 3, false), c)
		}},
		{"statistics of the batch", "running_mean: there is none", func(b *net) ir.Arg {
			return b.call("aten::batch_norm", conv(b), ir.None{}, ir.None{}, ir.None{}, ir.None{}, ir.Bool(false), ir.Float(0.1), ir.Float(1e-5), ir.Bool(false))
		}},
		{"saved statistics in use", "getitem_1 uses its saved statistics", func(b *net) ir.Arg {
			norm := b.call("aten::native_batch_norm", conv(b), ir.None{}, ir.None{}, b.param("bn.running_mean", 3), b.param("bn.running_var", 3), ir.Bool(false), ir.Float(0.1), ir.Float(1e-5))
			out := b.graph.CallFunction(getItem, []ir.Arg{norm, ir.Int(0)})
			return ir.TupleOf(out, b.graph.CallFunction(getItem, []ir.Arg{norm, ir.Int(1)}))
		}},
		{"a computed weight", "weight of conv2d: expected an attribute, got torch.ops.aten.neg.default", func(b *net) ir.Arg {
			x := b.graph.Placeholder("x")
			w := b.call("aten::neg", b.param("l.weight", 3, 3, 3, 3))
			return b.batchNorm(b.call("aten::conv2d", x, w), 3, false)
		}},
		{"a statistic that a view writes", "running_mean: attribute bn.running_mean is written by the graph", func(b *net) ir.Arg {
			norm := b.batchNorm(conv(b), 3, false)
			mean := b.graph.GetAttr("bn.running_mean")
			b.call("aten::mul_.Scalar", b.call("aten::view", mean, ints(3, 1)), ir.Float(2))
			return norm
		}},
		{"an unbatched convolution", "conv2d: expected a result of 4 dimensions, got 3", func(b *net) ir.Arg {
			c := b.call("aten::conv2d", b.call("aten::select.int", b.graph.Placeholder("x"), ir.Int(0), ir.Int(0)), b.param("l.weight", 3, 3, 3, 3))
			return b.batchNorm(c, 3, false) // its height is 3, too
		}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			b := newNet(t)
			x := b.randn(2, 3, 5, 5)
			out := tc.build(b)
			b.graph.Output(out)
			gm, err := ir.NewGraphModule(b.attrs, b.graph)
			require.NoError(t, err)
			for n := range gm.Graph().Nodes() {
				if n.Name() == "conv2d" {
					rank := 4
					if n.Arg(0).(*ir.Node).Op() != ir.Placeholder {
						rank = 3
					}
					n.Meta().Set(ir.MetaVal, ir.TensorMeta{DType: ir.Float32, Sizes: make([]ir.Size, rank)})
				}
			}
			before := gm.Graph().String()
			report, err := FoldBatchNorm(t.Context(), gm)
			require.NoError(t, err)
			require.Len(t, report.Kept, 1)
			assert.Equal(t, tc.why, report.Kept[0].Why)
			assert.Equal(t, before, gm.Graph().String())
			require.NoError(t, x.Close())
		})
	}
}

func TestFoldBatchNormOfAClosedTensor(t *testing.T) {
	b := newNet(t)
	x := b.randn(5, 3)
	gm := b.module(b.batchNorm(b.call("aten::linear", b.graph.Placeholder("x"), b.param("l.weight", 4, 3)), 4, false), x)
	before := gm.Graph().String()
	v, _ := gm.Attr("l.weight")
	require.NoError(t, v.(*torch.Tensor).Close())
	_, err := FoldBatchNorm(t.Context(), gm)
	require.ErrorIs(t, err, ir.ErrClosed)
	assert.Equal(t, before, gm.Graph().String())
}

func TestFoldBatchNormStopsWithItsContext(t *testing.T) {
	b := newNet(t)
	x := b.randn(5, 3)
	gm := b.module(b.batchNorm(b.call("aten::linear", b.graph.Placeholder("x"), b.param("l.weight", 4, 3)), 4, false), x)
	before := gm.Graph().String()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := FoldBatchNorm(ctx, gm)
	require.ErrorIs(t, err, ir.ErrCancelled)
	assert.Equal(t, before, gm.Graph().String())
}
