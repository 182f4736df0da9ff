package libtorch

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/cgo/delegate"
)

// conv is a case of one convolution; in channels, out channels and the kernel's size
// make its constants.
func conv(name string, input []int64, out int64, kernel []int64, g delegate.Convolution, bias bool) regionCase {
	groups := max(g.Groups, 1)
	c := regionCase{name: name, inputs: [][]int64{input}, terms: int(input[1] / groups)}
	c.constants = [][]int64{append([]int64{out, input[1] / groups}, kernel...)}
	for _, k := range kernel {
		c.terms *= int(k)
	}
	if bias {
		c.constants = append(c.constants, []int64{out})
	}
	c.build = func(p *delegate.Program, in, c []delegate.Value) []delegate.Value {
		b := delegate.None
		if bias {
			b = c[1]
		}
		return []delegate.Value{p.Convolution(in[0], c[0], b, g)}
	}
	c.eager = func(tb testing.TB, in, c []*Tensor) []*Tensor {
		var b *Tensor
		if bias {
			b = c[1]
		}
		return []*Tensor{eagerConvolution(tb, in[0], c[0], b, g, false)}
	}
	return c
}

func eagerConvolution(tb testing.TB, x, w, b *Tensor, g delegate.Convolution, transposed bool) *Tensor {
	tb.Helper()
	n := len(g.Padding)
	list := func(v []int64, or int64) []int64 {
		out := make([]int64, n)
		for i := range out {
			out[i] = or
		}
		copy(out, v)
		return out
	}
	var bias any
	if b != nil {
		bias = b
	}
	if len(g.PaddingAfter) > 0 { // libtorch pads first
		var pads []int64
		for i := n - 1; i >= 0; i-- {
			pads = append(pads, g.Padding[i], g.PaddingAfter[i])
		}
		x = one(tb, "aten::constant_pad_nd", x, pads, 0.0)
		g.Padding = make([]int64, n)
	}
	return one(tb, "aten::convolution", x, w, bias, list(g.Stride, 1), g.Padding, list(g.Dilation, 1), transposed, list(g.OutputPadding, 0), max(g.Groups, 1))
}

// with is a case that applies more to the result of another, which has the sizes of a
// second input.
func with(name string, base regionCase, more [][]int64, build func(p *delegate.Program, y delegate.Value, in []delegate.Value) delegate.Value,
	eager func(tb testing.TB, y *Tensor, in []*Tensor) *Tensor,
) regionCase {
	c := base
	c.name = name
	first := len(base.inputs)
	c.inputs = append(append([][]int64{}, base.inputs...), more...)
	c.build = func(p *delegate.Program, in, c []delegate.Value) []delegate.Value {
		return []delegate.Value{build(p, base.build(p, in, c)[0], in[first:])}
	}
	c.eager = func(tb testing.TB, in, c []*Tensor) []*Tensor {
		return []*Tensor{eager(tb, base.eager(tb, in, c)[0], in[first:])}
	}
	return c
}

// A function is an activation in both worlds.
type function struct {
	name        string
	kind        delegate.EltwiseKind
	alpha, beta float64
	eager       func(tb testing.TB, x *Tensor) *Tensor
}

func functions() []function {
	op := func(name string, more ...any) func(tb testing.TB, x *Tensor) *Tensor {
		return func(tb testing.TB, x *Tensor) *Tensor { return one(tb, name, append([]any{x}, more...)...) }
	}

	return []function{
		{"relu", delegate.ReLU, 0, 0, op("aten::relu")},
		{"relu6", delegate.Clip, 0, 6, op("aten::hardtanh", 0.0, 6.0)},
		{"clamp", delegate.Clip, -0.25, 0.5, op("aten::clamp", -0.25, 0.5)},
		{"hardswish", delegate.HardSwish, 0, 0, op("aten::hardswish")},
		{"hardsigmoid", delegate.HardSigmoid, 0, 0, op("aten::hardsigmoid")},
		{"sigmoid", delegate.Sigmoid, 0, 0, op("aten::sigmoid")},
		{"silu", delegate.SiLU, 0, 0, op("aten::silu")},
		{"tanh", delegate.Tanh, 0, 0, op("aten::tanh")},
		{"gelu", delegate.GELU, 0, 0, op("aten::gelu", "none")},
		{"gelu tanh", delegate.GELUTanh, 0, 0, op("aten::gelu", "tanh")},
		{"leaky relu", delegate.LeakyReLU, 0.1, 0, op("aten::leaky_relu", 0.1)},
		{"elu", delegate.ELU, 1.5, 0, op("aten::elu", 1.5, 1.0, 1.0)},
		{"affine", delegate.Affine, 2, -0.5, func(tb testing.TB, x *Tensor) *Tensor {
			return one(tb, "aten::sub.Scalar", one(tb, "aten::mul.Scalar", x, 2.0), 0.5, 1.0)
		}},
		{"abs", delegate.Abs, 0, 0, op("aten::abs")},
		{"square", delegate.Square, 0, 0, op("aten::square")},
		{"exp", delegate.Exp, 0, 0, op("aten::exp")},
		{"softplus", delegate.Softplus, 2, 0, op("aten::softplus", 2.0, 1000.0)},
		{"mish", delegate.Mish, 0, 0, op("aten::mish")},
	}
}

func convolutionCases() []regionCase {
	pad := func(n int, p int64) delegate.Convolution {
		c := delegate.Convolution{}
		for range n {
			c.Padding = append(c.Padding, p)
		}
		return c
	}
	g := func(c delegate.Convolution, groups int64) delegate.Convolution { c.Groups = groups; return c }
	s := func(c delegate.Convolution, stride ...int64) delegate.Convolution { c.Stride = stride; return c }
	return []regionCase{
		conv("of one dimension", []int64{2, 8, 20}, 12, []int64{3}, s(pad(1, 1), 2), true),
		conv("of two, no bias", []int64{2, 16, 9, 7}, 32, []int64{3, 3}, pad(2, 1), false),
		conv("of two, few channels", []int64{1, 3, 33, 31}, 16, []int64{7, 7}, s(pad(2, 3), 2, 2), true),
		conv("of two, odd channels", []int64{2, 5, 8, 8}, 7, []int64{3, 2}, pad(2, 1), true),
		conv("of three", []int64{1, 4, 6, 7, 8}, 8, []int64{3, 3, 3}, pad(3, 1), true),
		conv("1x1", []int64{2, 64, 14, 14}, 128, []int64{1, 1}, pad(2, 0), true),
		conv("1x1 of stride 2", []int64{2, 64, 14, 14}, 128, []int64{1, 1}, s(pad(2, 0), 2, 2), true),
		conv("dilated", []int64{1, 16, 20, 20}, 16, []int64{3, 3}, delegate.Convolution{Padding: []int64{2, 4}, Dilation: []int64{2, 4}}, true),
		conv("in groups", []int64{2, 32, 10, 10}, 64, []int64{3, 3}, g(pad(2, 1), 4), true),
		conv("depthwise", []int64{2, 32, 15, 15}, 32, []int64{3, 3}, g(s(pad(2, 1), 2, 2), 32), true),
		conv("depthwise 5x5", []int64{1, 24, 15, 15}, 24, []int64{5, 5}, g(pad(2, 2), 24), false),
		conv("depthwise with two of each", []int64{1, 16, 8, 8}, 32, []int64{3, 3}, g(pad(2, 1), 16), true),
		conv("padded on one side", []int64{1, 16, 9, 9}, 16, []int64{3, 3},
			delegate.Convolution{Padding: []int64{0, 1}, PaddingAfter: []int64{1, 2}, Stride: []int64{2, 2}}, true),
		transposedCase("transposed", []int64{2, 16, 7, 6}, []int64{16, 8, 3, 3}, delegate.Convolution{Padding: []int64{1, 1}, Stride: []int64{2, 2}, OutputPadding: []int64{1, 1}}),
		transposedCase("transposed in groups", []int64{1, 16, 5, 5}, []int64{16, 4, 4, 4}, delegate.Convolution{Padding: []int64{1, 1}, Stride: []int64{2, 2}, Groups: 2}),
		transposedCase("transposed of one dimension", []int64{1, 6, 11}, []int64{6, 10, 4}, delegate.Convolution{Padding: []int64{0}, Stride: []int64{3}}),
		transposedCase("transposed of three", []int64{1, 8, 4, 4, 4}, []int64{8, 8, 2, 2, 2}, delegate.Convolution{Padding: []int64{0, 0, 0}, Stride: []int64{2, 2, 2}}),
	}
}

func transposedCase(name string, input, weight []int64, g delegate.Convolution) regionCase {
	terms := int(weight[0])
	for _, k := range weight[2:] {
		terms *= int(k)
	}
	return regionCase{
		name: name, inputs: [][]int64{input}, constants: [][]int64{weight, {weight[1] * max(g.Groups, 1)}}, terms: terms,
		build: func(p *delegate.Program, in, c []delegate.Value) []delegate.Value {
			return []delegate.Value{p.Transposed(in[0], c[0], c[1], g)}
		},
		eager: func(tb testing.TB, in, c []*Tensor) []*Tensor {
			return []*Tensor{eagerConvolution(tb, in[0], c[0], c[1], g, true)}
		},
	}
}

func linearCase(name string, input []int64, out int64) regionCase {
	last := input[len(input)-1]
	return regionCase{
		name: name, inputs: [][]int64{input}, constants: [][]int64{{out, last}, {out}}, terms: int(last),
		build: func(p *delegate.Program, in, c []delegate.Value) []delegate.Value {
			return []delegate.Value{p.Linear(in[0], c[0], c[1])}
		},
		eager: func(tb testing.TB, in, c []*Tensor) []*Tensor {
			return []*Tensor{one(tb, "aten::linear", in[0], c[0], c[1])}
		},
	}
}

// unary is a case of one input and no constants.
func unary(name string, input []int64, build func(p *delegate.Program, x delegate.Value) delegate.Value, eager func(tb testing.TB, x *Tensor) *Tensor) regionCase {
	return regionCase{
		name: name, inputs: [][]int64{input},
		build: func(p *delegate.Program, in, _ []delegate.Value) []delegate.Value {
			return []delegate.Value{build(p, in[0])}
		},
		eager: func(tb testing.TB, in, _ []*Tensor) []*Tensor { return []*Tensor{eager(tb, in[0])} },
	}
}

func poolCases() []regionCase {
	pool := func(name, op string, input []int64, kind delegate.PoolKind, w delegate.Window, more ...any) regionCase {
		n := len(w.Kernel)
		or := func(l []int64, v int64) []int64 {
			if len(l) > 0 {
				return l
			}
			l = make([]int64, n)
			for i := range l {
				l[i] = v
			}
			return l
		}
		stride := w.Stride
		if len(stride) == 0 {
			stride = w.Kernel
		}
		args := []any{w.Kernel, stride, or(w.Padding, 0)}
		if kind == delegate.MaxPool {
			args = append(args, or(w.Dilation, 1), w.CeilMode)
		} else {
			args = append(args, w.CeilMode)
		}
		args = append(args, more...)
		return unary(name, input, func(p *delegate.Program, x delegate.Value) delegate.Value { return p.Pool(x, kind, w) },
			func(tb testing.TB, x *Tensor) *Tensor { return one(tb, op, append([]any{x}, args...)...) })
	}
	return []regionCase{
		pool("max of one dimension", "aten::max_pool1d", []int64{2, 8, 21}, delegate.MaxPool, delegate.Window{Kernel: []int64{3}, Stride: []int64{2}, Padding: []int64{1}}),
		pool("max of two", "aten::max_pool2d", []int64{2, 16, 13, 12}, delegate.MaxPool, delegate.Window{Kernel: []int64{3, 3}, Stride: []int64{2, 2}, Padding: []int64{1, 1}}),
		pool("max dilated", "aten::max_pool2d", []int64{1, 16, 13, 12}, delegate.MaxPool, delegate.Window{Kernel: []int64{3, 2}, Stride: []int64{1, 1}, Dilation: []int64{2, 3}}),
		pool("max to the ceiling", "aten::max_pool2d", []int64{1, 16, 14, 14}, delegate.MaxPool, delegate.Window{Kernel: []int64{3, 3}, Stride: []int64{2, 2}, CeilMode: true}),
		pool("max of three", "aten::max_pool3d", []int64{1, 4, 6, 7, 8}, delegate.MaxPool, delegate.Window{Kernel: []int64{2, 3, 2}}),
		pool("average with padding", "aten::avg_pool2d", []int64{2, 16, 13, 12}, delegate.AveragePool, delegate.Window{Kernel: []int64{3, 3}, Stride: []int64{2, 2}, Padding: []int64{1, 1}}, true, nil),
		pool("average without padding", "aten::avg_pool2d", []int64{2, 5, 13, 12}, delegate.AveragePoolWithoutPadding, delegate.Window{Kernel: []int64{3, 3}, Stride: []int64{2, 2}, Padding: []int64{1, 1}}, false, nil),
		pool("average to the ceiling", "aten::avg_pool2d", []int64{1, 16, 14, 14}, delegate.AveragePoolWithoutPadding, delegate.Window{Kernel: []int64{3, 3}, Stride: []int64{2, 2}, CeilMode: true}, false, nil),
		pool("average of three", "aten::avg_pool3d", []int64{1, 4, 6, 6, 8}, delegate.AveragePool, delegate.Window{Kernel: []int64{2, 3, 2}}, true, nil),
		unary("global average", []int64{2, 33, 7, 7}, func(p *delegate.Program, x delegate.Value) delegate.Value {
			return p.AdaptivePool(x, delegate.AveragePool, 1, 1)
		},
			func(tb testing.TB, x *Tensor) *Tensor { return one(tb, "aten::_adaptive_avg_pool2d", x, []int64{1, 1}) }),
		unary("adaptive average", []int64{2, 16, 14, 21}, func(p *delegate.Program, x delegate.Value) delegate.Value {
			return p.AdaptivePool(x, delegate.AveragePool, 7, 7)
		},
			func(tb testing.TB, x *Tensor) *Tensor { return one(tb, "aten::_adaptive_avg_pool2d", x, []int64{7, 7}) }),
		unary("adaptive maximum", []int64{2, 16, 14, 21}, func(p *delegate.Program, x delegate.Value) delegate.Value {
			return p.AdaptivePool(x, delegate.MaxPool, 7, 7)
		},
			func(tb testing.TB, x *Tensor) *Tensor { return one(tb, "aten::adaptive_max_pool2d", x, []int64{7, 7}) }),
	}
}

func arithmeticCases() []regionCase {
	binary := func(name, op string, kind delegate.BinaryKind, a, b []int64, more ...any) regionCase {
		return regionCase{
			name: name, inputs: [][]int64{a, b},
			build: func(p *delegate.Program, in, _ []delegate.Value) []delegate.Value {
				return []delegate.Value{p.Binary(kind, in[0], in[1])}
			},
			eager: func(tb testing.TB, in, _ []*Tensor) []*Tensor {
				return []*Tensor{one(tb, op, append([]any{in[0], in[1]}, more...)...)}
			},
		}
	}
	full := []int64{2, 16, 5, 6}
	constant := binary("a constant for each channel", "aten::mul.Tensor", delegate.Mul, full, nil)
	constant.inputs, constant.constants = [][]int64{full}, [][]int64{{16, 1, 1}}
	constant.build = func(p *delegate.Program, in, c []delegate.Value) []delegate.Value {
		return []delegate.Value{p.Binary(delegate.Mul, c[0], in[0])}
	}
	constant.eager = func(tb testing.TB, in, c []*Tensor) []*Tensor {
		return []*Tensor{one(tb, "aten::mul.Tensor", c[0], in[0])}
	}
	return []regionCase{
		binary("add", "aten::add.Tensor", delegate.Add, full, full, 1.0),
		binary("sub", "aten::sub.Tensor", delegate.Sub, full, full, 1.0),
		binary("mul", "aten::mul.Tensor", delegate.Mul, full, full),
		binary("div", "aten::div.Tensor", delegate.Div, full, full),
		binary("maximum", "aten::maximum", delegate.Maximum, full, full),
		binary("minimum", "aten::minimum", delegate.Minimum, full, full),
		binary("mul of channels", "aten::mul.Tensor", delegate.Mul, full, []int64{2, 16, 1, 1}),
		binary("mul of channels, the other way round", "aten::mul.Tensor", delegate.Mul, []int64{2, 16, 1, 1}, full),
		binary("add of the last dimension", "aten::add.Tensor", delegate.Add, []int64{3, 4, 5}, []int64{5}, 1.0),
		binary("add of one", "aten::add.Tensor", delegate.Add, full, []int64{1}, 1.0),
		constant,
	}
}

func shapeCases() []regionCase {
	cases := []regionCase{
		unary("flatten", []int64{2, 5, 3, 4}, func(p *delegate.Program, x delegate.Value) delegate.Value { return p.Flatten(x, 1, -1) },
			func(tb testing.TB, x *Tensor) *Tensor {
				return one(tb, "aten::flatten.using_ints", x, int64(1), int64(-1))
			}),
		unary("reshape", []int64{2, 6, 4}, func(p *delegate.Program, x delegate.Value) delegate.Value { return p.Reshape(x, 3, -1, 2) },
			func(tb testing.TB, x *Tensor) *Tensor { return one(tb, "aten::reshape", x, []int64{3, -1, 2}) }),
		unary("permute", []int64{2, 3, 4, 5}, func(p *delegate.Program, x delegate.Value) delegate.Value { return p.Permute(x, 0, 2, 3, 1) },
			func(tb testing.TB, x *Tensor) *Tensor { return one(tb, "aten::permute", x, []int64{0, 2, 3, 1}) }),
		unary("softmax", []int64{2, 3, 4, 5}, func(p *delegate.Program, x delegate.Value) delegate.Value { return p.Softmax(x, -1) },
			func(tb testing.TB, x *Tensor) *Tensor { return one(tb, "aten::_softmax", x, int64(-1), false) }),
		unary("softmax of channels", []int64{2, 3, 4, 5}, func(p *delegate.Program, x delegate.Value) delegate.Value { return p.Softmax(x, 1) },
			func(tb testing.TB, x *Tensor) *Tensor { return one(tb, "aten::_softmax", x, int64(1), false) }),
		unary("an input as it is", []int64{2, 3, 4, 5}, func(p *delegate.Program, x delegate.Value) delegate.Value { return x },
			func(tb testing.TB, x *Tensor) *Tensor { return x }),
		linearCase("linear", []int64{4, 64}, 48),
		linearCase("linear of one row", []int64{1, 512}, 1000),
		linearCase("linear of a batch of rows", []int64{2, 5, 32}, 16),
	}
	norm := regionCase{
		name: "layer norm", inputs: [][]int64{{2, 5, 32}}, constants: [][]int64{{32}, {32}}, terms: 64,
		build: func(p *delegate.Program, in, c []delegate.Value) []delegate.Value {
			return []delegate.Value{p.LayerNorm(in[0], c[0], c[1], 1e-5)}
		},
		eager: func(tb testing.TB, in, c []*Tensor) []*Tensor {
			return []*Tensor{one(tb, "aten::layer_norm", in[0], []int64{32}, c[0], c[1], 1e-5, false)}
		},
	}
	bare := norm
	bare.name, bare.constants = "layer norm without weights", nil
	bare.build = func(p *delegate.Program, in, _ []delegate.Value) []delegate.Value {
		return []delegate.Value{p.LayerNorm(in[0], delegate.None, delegate.None, 1e-5)}
	}
	bare.eager = func(tb testing.TB, in, _ []*Tensor) []*Tensor {
		return []*Tensor{one(tb, "aten::layer_norm", in[0], []int64{32}, nil, nil, 1e-5, false)}
	}
	concat := func(name string, dim int64, sizes ...[]int64) regionCase {
		return regionCase{
			name: name, inputs: sizes,
			build: func(p *delegate.Program, in, _ []delegate.Value) []delegate.Value {
				return []delegate.Value{p.Concat(dim, in...)}
			},
			eager: func(tb testing.TB, in, _ []*Tensor) []*Tensor { return []*Tensor{one(tb, "aten::cat", in, dim)} },
		}
	}
	matmul := regionCase{
		name: "matmul", inputs: [][]int64{{2, 3, 4, 8}, {2, 3, 8, 5}}, terms: 8,
		build: func(p *delegate.Program, in, _ []delegate.Value) []delegate.Value {
			return []delegate.Value{p.MatMul(in[0], in[1], delegate.None)}
		},
		eager: func(tb testing.TB, in, _ []*Tensor) []*Tensor {
			return []*Tensor{one(tb, "aten::matmul", in[0], in[1])}
		},
	}
	transposed := matmul
	transposed.name, transposed.inputs = "matmul with a transposed one", [][]int64{{2, 3, 4, 8}, {2, 3, 5, 8}}
	transposed.build = func(p *delegate.Program, in, _ []delegate.Value) []delegate.Value {
		return []delegate.Value{p.MatMul(in[0], p.Permute(in[1], 0, 1, 3, 2), delegate.None)}
	}
	transposed.eager = func(tb testing.TB, in, _ []*Tensor) []*Tensor {
		return []*Tensor{one(tb, "aten::matmul", in[0], one(tb, "aten::transpose.int", in[1], int64(2), int64(3)))}
	}
	constant := regionCase{
		name: "matmul with constants", inputs: [][]int64{{6, 32}}, constants: [][]int64{{32, 24}, {24}}, terms: 32,
		build: func(p *delegate.Program, in, c []delegate.Value) []delegate.Value {
			return []delegate.Value{p.MatMul(in[0], c[0], c[1])}
		},
		eager: func(tb testing.TB, in, c []*Tensor) []*Tensor {
			return []*Tensor{one(tb, "aten::addmm", c[1], in[0], c[0], 1.0, 1.0)}
		},
	}
	return append(cases, norm, bare, concat("concat of channels", 1, []int64{2, 16, 5, 5}, []int64{2, 32, 5, 5}, []int64{2, 3, 5, 5}),
		concat("concat of rows", -1, []int64{2, 3}, []int64{2, 4}), matmul, transposed, constant)
}

func fusedCases() []regionCase {
	base := conv("", []int64{2, 16, 9, 7}, 32, []int64{3, 3}, delegate.Convolution{Padding: []int64{1, 1}}, true)
	depthwise := conv("", []int64{2, 32, 9, 7}, 32, []int64{3, 3}, delegate.Convolution{Padding: []int64{1, 1}, Groups: 32}, true)
	pointwise := conv("", []int64{2, 16, 9, 7}, 32, []int64{1, 1}, delegate.Convolution{Padding: []int64{0, 0}}, true)
	linear := linearCase("", []int64{2, 5, 32}, 16)
	var cases []regionCase
	for _, f := range functions() {
		act := func(p *delegate.Program, y delegate.Value, _ []delegate.Value) delegate.Value {
			return p.Eltwise(f.kind, y, f.alpha, f.beta)
		}
		eager := func(tb testing.TB, y *Tensor, _ []*Tensor) *Tensor { return f.eager(tb, y) }
		cases = append(cases, with("convolution, "+f.name, base, nil, act, eager), with("depthwise, "+f.name, depthwise, nil, act, eager),
			with("linear, "+f.name, linear, nil, act, eager),
			unary(f.name+" by itself", []int64{2, 17, 5, 6}, func(p *delegate.Program, x delegate.Value) delegate.Value {
				return p.Eltwise(f.kind, x, f.alpha, f.beta)
			},
				f.eager))
	}
	residual := func(p *delegate.Program, y delegate.Value, in []delegate.Value) delegate.Value {
		return p.Activation(p.Add(y, in[0]), delegate.ReLU)
	}
	eagerResidual := func(tb testing.TB, y *Tensor, in []*Tensor) *Tensor {
		return one(tb, "aten::relu", one(tb, "aten::add.Tensor", y, in[0], 1.0))
	}
	for name, b := range map[string]regionCase{"convolution": base, "depthwise": depthwise, "1x1": pointwise} {
		cases = append(cases, with(name+", add, relu", b, [][]int64{{2, 32, 9, 7}}, residual, eagerResidual),
			with(name+", add of one for each channel", b, [][]int64{{2, 32, 1, 1}}, residual, eagerResidual))
	}
	return append(cases, with("linear, add, relu", linear, [][]int64{{2, 5, 16}}, residual, eagerResidual),
		with("linear, add of a row", linear, [][]int64{{16}}, residual, eagerResidual), blockCase(), squeezeCase(), twiceCase())
}

// blockCase is the shape of a residual network: what is added is computed in the
// region, so that the last convolution adds to it where it lies.
func blockCase() regionCase {
	pad := delegate.Convolution{Padding: []int64{1, 1}}
	point := delegate.Convolution{Padding: []int64{0, 0}}
	return regionCase{
		name: "residual block", inputs: [][]int64{{2, 32, 8, 8}},
		constants: [][]int64{{64, 32, 1, 1}, {32, 64, 1, 1}, {32, 32, 3, 3}, {64, 32, 1, 1}, {10, 64}}, terms: 600,
		build: func(p *delegate.Program, in, c []delegate.Value) []delegate.Value {
			relu := func(x delegate.Value) delegate.Value { return p.Activation(x, delegate.ReLU) }
			x := p.Convolution(in[0], c[0], delegate.None, point) // read twice
			y := relu(p.Convolution(x, c[1], delegate.None, point))
			y = relu(p.Convolution(y, c[2], delegate.None, pad))
			y = relu(p.Add(p.Convolution(y, c[3], delegate.None, point), x))
			y = p.Flatten(p.AdaptivePool(y, delegate.AveragePool, 1, 1), 1, -1)
			return []delegate.Value{p.Linear(y, c[4], delegate.None), x}
		},
		eager: func(tb testing.TB, in, c []*Tensor) []*Tensor {
			relu := func(x *Tensor) *Tensor { return one(tb, "aten::relu", x) }
			x := eagerConvolution(tb, in[0], c[0], nil, point, false)
			y := relu(eagerConvolution(tb, x, c[1], nil, point, false))
			y = relu(eagerConvolution(tb, y, c[2], nil, pad, false))
			y = relu(one(tb, "aten::add.Tensor", eagerConvolution(tb, y, c[3], nil, point, false), x, 1.0))
			y = one(tb, "aten::flatten.using_ints", one(tb, "aten::_adaptive_avg_pool2d", y, []int64{1, 1}), int64(1), int64(-1))
			return []*Tensor{one(tb, "aten::linear", y, c[4], nil), x}
		},
	}
}

// squeezeCase scales channels by what it computes of them.
func squeezeCase() regionCase {
	point := delegate.Convolution{Padding: []int64{0, 0}}
	return regionCase{
		name: "squeeze and excite", inputs: [][]int64{{2, 32, 8, 8}}, constants: [][]int64{{32, 32, 1, 1}, {8, 32, 1, 1}, {32, 8, 1, 1}}, terms: 64,
		build: func(p *delegate.Program, in, c []delegate.Value) []delegate.Value {
			x := p.Convolution(in[0], c[0], delegate.None, point)
			s := p.AdaptivePool(x, delegate.AveragePool, 1, 1)
			s = p.Activation(p.Convolution(s, c[1], delegate.None, point), delegate.SiLU)
			s = p.Activation(p.Convolution(s, c[2], delegate.None, point), delegate.Sigmoid)
			return []delegate.Value{p.Binary(delegate.Mul, s, x)}
		},
		eager: func(tb testing.TB, in, c []*Tensor) []*Tensor {
			x := eagerConvolution(tb, in[0], c[0], nil, point, false)
			s := one(tb, "aten::_adaptive_avg_pool2d", x, []int64{1, 1})
			s = one(tb, "aten::silu", eagerConvolution(tb, s, c[1], nil, point, false))
			s = one(tb, "aten::sigmoid", eagerConvolution(tb, s, c[2], nil, point, false))
			return []*Tensor{one(tb, "aten::mul.Tensor", s, x)}
		},
	}
}

// twiceCase reads values in ways that forbid writing over them.
func twiceCase() regionCase {
	point := delegate.Convolution{Padding: []int64{0, 0}}
	return regionCase{
		name: "values with several readers", inputs: [][]int64{{1, 16, 6, 6}}, constants: [][]int64{{16, 16, 1, 1}, {16, 16, 1, 1}}, terms: 64,
		build: func(p *delegate.Program, in, c []delegate.Value) []delegate.Value {
			a := p.Convolution(in[0], c[0], delegate.None, point)
			self := p.Add(p.Convolution(a, c[1], delegate.None, point), a) // the kernel reads a itself
			r := p.Activation(a, delegate.ReLU)
			s := p.Activation(r, delegate.Sigmoid)
			both := p.Add(p.Add(self, s), s) // s twice
			flat := p.Reshape(r, 1, -1)      // a view of r
			return []delegate.Value{both, p.Activation(flat, delegate.Tanh), r, r, p.Add(a, a)}
		},
		eager: func(tb testing.TB, in, c []*Tensor) []*Tensor {
			add := func(x, y *Tensor) *Tensor { return one(tb, "aten::add.Tensor", x, y, 1.0) }
			a := eagerConvolution(tb, in[0], c[0], nil, point, false)
			self := add(eagerConvolution(tb, a, c[1], nil, point, false), a)
			r := one(tb, "aten::relu", a)
			s := one(tb, "aten::sigmoid", r)
			return []*Tensor{add(add(self, s), s), one(tb, "aten::tanh", one(tb, "aten::reshape", r, []int64{1, -1})), r, r, add(a, a)}
		},
	}
}

// TestRegionsComputeWhatLibtorchDoes runs each case in both layouts of values
// between kernels, with inputs in both memory formats and outputs in all.
func TestRegionsComputeWhatLibtorchDoes(t *testing.T) {
	d := openDelegate(t)
	for kind, cases := range map[string][]regionCase{
		"convolution": convolutionCases(), "pool": poolCases(), "arithmetic": arithmeticCases(), "shape": shapeCases(), "fused": fusedCases(),
	} {
		for _, c := range cases {
			t.Run(kind+"/"+c.name, func(t *testing.T) {
				inputs, constants := c.tensors(t)
				want := c.eager(t, inputs, constants)
				var last []*Tensor
				for _, x := range inputs {
					last = append(last, channelsLast(t, x))
				}
				for _, layouts := range []delegate.Layouts{delegate.AnyLayout, delegate.ChannelsLastLayout, delegate.BlockedLayout} {
					for _, f := range []delegate.Format{delegate.Contiguous, delegate.ChannelsLast, delegate.Fastest} {
						r, err := d.Compile(c.program(layouts, f), constants)
						require.NoError(t, err)
						c.check(t, r, inputs, want, f)
						c.check(t, r, last, want, f)
						require.NoError(t, r.Close())
					}
				}
			})
		}
	}
}
