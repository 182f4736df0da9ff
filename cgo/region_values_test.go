package libtorch

import (
	"testing"

	"github.com/torchfx-go/torchfx/cgo/delegate"
)

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
