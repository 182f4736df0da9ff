package delegate

import "slices"

// A Convolution is the geometry of one. Padding lists what comes before the first
// element of each spatial dimension; its length is their number. Of the other lists an empty
// one means ones, for PaddingAfter what Padding says, for OutputPadding zeros.
type Convolution struct {
	Stride        []int64
	Padding       []int64
	PaddingAfter  []int64 // where it differs from Padding; not for transposed ones
	OutputPadding []int64 // of transposed ones
	Dilation      []int64
	Groups        int64 // 0 is 1
}

// A Window is that of a pooling. Kernel has one size for each spatial dimension; an empty
// Stride is Kernel, an empty Padding zeros, an empty Dilation ones.
type Window struct {
	Kernel, Stride, Padding, Dilation []int64
	CeilMode                          bool
}

// or returns list, or n times v where it is empty.
func or(list []int64, n int, v int64) []int64 {
	if len(list) > 0 {
		return list
	}
	return slices.Repeat([]int64{v}, n)
}

func (p *Program) sameLength(op opcode, n int, lists ...[]int64) {
	if n < 1 || n > 3 {
		p.fail("%s: expected 1 to 3 spatial dimensions, got %d", op, n)
	}
	for _, l := range lists {
		if len(l) != n {
			p.fail("%s: expected %d numbers for %d spatial dimensions, got %v", op, n, n, l)
		}
	}
}

// Convolution is aten::convolution of x [N, C, …], with weight [K, C/groups, …] and
// bias [K], both constants, or None for no bias.
func (p *Program) Convolution(x, weight, bias Value, c Convolution) Value {
	n := len(c.Padding)
	stride, dilation := or(c.Stride, n, 1), or(c.Dilation, n, 1)
	after := c.PaddingAfter
	if len(after) == 0 {
		after = c.Padding
	}
	p.sameLength(opConvolution, n, stride, after, dilation)
	return p.node(opConvolution, x, weight, operand{bias, true}, int64(n), stride, c.Padding, after, dilation, max(c.Groups, 1))
}

// Transposed is the transposed convolution of x [N, C, …], with weight [C, K/groups, …].
func (p *Program) Transposed(x, weight, bias Value, c Convolution) Value {
	n := len(c.Padding)
	stride, dilation, extra := or(c.Stride, n, 1), or(c.Dilation, n, 1), or(c.OutputPadding, n, 0)
	p.sameLength(opTransposed, n, stride, dilation, extra)
	if len(c.PaddingAfter) > 0 {
		p.fail("transposed convolution: expected the same padding on both sides, got %v after", c.PaddingAfter)
	}
	return p.node(opTransposed, x, weight, operand{bias, true}, int64(n), stride, c.Padding, extra, dilation, max(c.Groups, 1))
}

// Linear is x [..., C] times the transpose of weight [K, C], plus bias [K] or None.
func (p *Program) Linear(x, weight, bias Value) Value {
	return p.node(opLinear, x, weight, operand{bias, true})
}

// MatMul is the matrix product of a [..., m, k] and b [..., k, p], plus bias [p] or None, a constant.
func (p *Program) MatMul(a, b, bias Value) Value {
	return p.node(opMatMul, a, b, operand{bias, true})
}

// Pool is the pooling of the kind over x [N, C, …].
func (p *Program) Pool(x Value, kind PoolKind, w Window) Value {
	n := len(w.Kernel)
	stride := w.Stride
	if len(stride) == 0 {
		stride = w.Kernel
	}
	padding, dilation := or(w.Padding, n, 0), or(w.Dilation, n, 1)
	p.sameLength(opPool, n, stride, padding, dilation)
	ceil := int64(0)
	if w.CeilMode {
		ceil = 1
	}
	return p.node(opPool, x, int64(kind), int64(n), w.Kernel, stride, padding, dilation, ceil)
}

// AdaptivePool is the pooling to the given spatial sizes; they divide those of x, or
// preparing says that the region is not served. Size 1 is global pooling.
func (p *Program) AdaptivePool(x Value, kind PoolKind, sizes ...int64) Value {
	p.sameLength(opAdaptivePool, len(sizes))
	return p.node(opAdaptivePool, x, int64(kind), int64(len(sizes)), sizes)
}

// Binary is element-wise arithmetic on a and b. One of them has the sizes of the
// result, the other broadcasts to it; one may be a constant.
func (p *Program) Binary(kind BinaryKind, a, b Value) Value {
	return p.node(opBinary, int64(kind), a, b)
}

// Add is [Program.Binary] of [Add].
func (p *Program) Add(a, b Value) Value { return p.Binary(Add, a, b) }

// Activation is an element-wise function without parameters.
func (p *Program) Activation(x Value, kind EltwiseKind) Value { return p.Eltwise(kind, x, 0, 0) }

// Eltwise is an element-wise function; the kinds say what alpha and beta are.
func (p *Program) Eltwise(kind EltwiseKind, x Value, alpha, beta float64) Value {
	return p.node(opEltwise, int64(kind), x, bits(alpha), bits(beta))
}

// Flatten merges dimensions first to last, which count from the end where negative.
func (p *Program) Flatten(x Value, first, last int64) Value {
	return p.node(opFlatten, x, first, last)
}

// Reshape gives x other sizes, in row-major order; one may be -1.
func (p *Program) Reshape(x Value, sizes ...int64) Value {
	return p.node(opReshape, x, int64(len(sizes)), sizes)
}

// Permute reorders dimensions as Tensor.permute does.
func (p *Program) Permute(x Value, dims ...int64) Value {
	return p.node(opPermute, x, int64(len(dims)), dims)
}

// Concat puts the values one after the other along dim, negative from the end.
func (p *Program) Concat(dim int64, values ...Value) Value {
	return p.node(opConcat, dim, int64(len(values)), values)
}

// Softmax is that along dim, negative from the end.
func (p *Program) Softmax(x Value, dim int64) Value { return p.node(opSoftmax, x, dim) }

// LayerNorm normalises the last dimension; weight and bias are constants or None.
func (p *Program) LayerNorm(x, weight, bias Value, epsilon float64) Value {
	return p.node(opLayerNorm, x, operand{weight, true}, operand{bias, true}, bits(epsilon))
}
