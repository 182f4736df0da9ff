package libtorch

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/cgo/delegate"
)

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
