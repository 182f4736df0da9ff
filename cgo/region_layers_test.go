package libtorch

import (
	"testing"

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
