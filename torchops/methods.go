package torchops

import "github.com/torchfx-go/torchfx/ir"

// The methods of torch.Tensor that model code calls most. They compute on a real
// tensor and record call_method on a traced one, and panic with an *[Error] where
// an operator fails. Views share the memory of x: each must be closed by itself.

// Add returns x + y, times Kw("alpha", …); y may be any Go number.
func (x *Tensor) Add(y any, options ...any) *Tensor {
	return CallTensor("torch.Tensor.add", options, x, y)
}

// Sub returns x - y, times Kw("alpha", …).
func (x *Tensor) Sub(y any, options ...any) *Tensor {
	return CallTensor("torch.Tensor.sub", options, x, y)
}

// Mul returns x * y, element by element.
func (x *Tensor) Mul(y any) *Tensor { return CallTensor("torch.Tensor.mul", nil, x, y) }

// Div returns x / y, rounded by Kw("rounding_mode", "floor") or "trunc".
func (x *Tensor) Div(y any, options ...any) *Tensor {
	return CallTensor("torch.Tensor.div", options, x, y)
}

// Pow returns x to the power y.
func (x *Tensor) Pow(y any) *Tensor { return CallTensor("torch.Tensor.pow", nil, x, y) }

// Neg returns -x.
func (x *Tensor) Neg() *Tensor { return CallTensor("torch.Tensor.neg", nil, x) }

// Abs returns |x|.
func (x *Tensor) Abs() *Tensor { return CallTensor("torch.Tensor.abs", nil, x) }

// Exp returns e to the power x.
func (x *Tensor) Exp() *Tensor { return CallTensor("torch.Tensor.exp", nil, x) }

// Log returns the natural logarithm.
func (x *Tensor) Log() *Tensor { return CallTensor("torch.Tensor.log", nil, x) }

// Sqrt returns the square root.
func (x *Tensor) Sqrt() *Tensor { return CallTensor("torch.Tensor.sqrt", nil, x) }

// Relu returns max(x, 0).
func (x *Tensor) Relu() *Tensor { return CallTensor("torch.Tensor.relu", nil, x) }

// Sigmoid returns 1 / (1 + e to the power -x).
func (x *Tensor) Sigmoid() *Tensor { return CallTensor("torch.Tensor.sigmoid", nil, x) }

// Tanh returns the hyperbolic tangent.
func (x *Tensor) Tanh() *Tensor { return CallTensor("torch.Tensor.tanh", nil, x) }

// Softmax returns e to the power x, scaled to sum to 1 along dim; Kw("dtype", …)
// converts first.
func (x *Tensor) Softmax(dim int, options ...any) *Tensor {
	return CallTensor("torch.Tensor.softmax", options, x, dim)
}

// MatMul returns the matrix product; see [MatMul].
func (x *Tensor) MatMul(y *Tensor) *Tensor { return CallTensor("torch.Tensor.matmul", nil, x, y) }

// Clamp returns x brought into bounds, by position or by Kw("min", …) and
// Kw("max", …).
func (x *Tensor) Clamp(bounds ...any) *Tensor { return CallTensor("torch.Tensor.clamp", bounds, x) }

// Eq returns where x == y.
func (x *Tensor) Eq(y any) *Tensor { return CallTensor("torch.Tensor.eq", nil, x, y) }

// Ne returns where x != y.
func (x *Tensor) Ne(y any) *Tensor { return CallTensor("torch.Tensor.ne", nil, x, y) }

// Lt returns where x < y.
func (x *Tensor) Lt(y any) *Tensor { return CallTensor("torch.Tensor.lt", nil, x, y) }

// Le returns where x <= y.
func (x *Tensor) Le(y any) *Tensor { return CallTensor("torch.Tensor.le", nil, x, y) }

// Gt returns where x > y.
func (x *Tensor) Gt(y any) *Tensor { return CallTensor("torch.Tensor.gt", nil, x, y) }

// Ge returns where x >= y.
func (x *Tensor) Ge(y any) *Tensor { return CallTensor("torch.Tensor.ge", nil, x, y) }

// Sum returns the sum of all elements, or along the dimensions that are given,
// numbers or a []int; then may stand Kw("keepdim", true) and Kw("dtype", …).
func (x *Tensor) Sum(dims ...any) *Tensor { return x.reduce("torch.Tensor.sum", dims) }

// Mean returns the mean of all elements, or along the dimensions that are given;
// see [Tensor.Sum].
func (x *Tensor) Mean(dims ...any) *Tensor { return x.reduce("torch.Tensor.mean", dims) }

// reduce calls a reduction, with several dimensions that stand in a row as one
// argument, as Python wants it.
func (x *Tensor) reduce(name string, dims []any) *Tensor {
	n := 0
	for n < len(dims) {
		if _, isInt := dims[n].(int); !isInt {
			break
		}
		n++
	}
	if n < 2 {
		return CallTensor(name, dims, x)
	}
	return CallTensor(name, dims[n:], x, dims[:n])
}

// Argmax returns the index of the largest element along a dimension, of all where
// none is given; Kw("keepdim", true) keeps the dimension.
func (x *Tensor) Argmax(options ...any) *Tensor { return CallTensor("torch.Tensor.argmax", options, x) }

// View returns a view of other sizes; one may be -1, which is worked out.
func (x *Tensor) View(size ...Int) *Tensor { return CallTensor("torch.Tensor.view", size, x) }

// Reshape is [Tensor.View] that copies where no view is possible.
func (x *Tensor) Reshape(size ...Int) *Tensor { return CallTensor("torch.Tensor.reshape", size, x) }

// Permute returns a view with the dimensions in another order.
func (x *Tensor) Permute(dims ...Int) *Tensor { return CallTensor("torch.Tensor.permute", dims, x) }

// Transpose returns a view with two dimensions exchanged.
func (x *Tensor) Transpose(a, b int) *Tensor {
	return CallTensor("torch.Tensor.transpose", nil, x, a, b)
}

// Expand returns a view with dimensions of size 1 repeated; -1 keeps a size.
func (x *Tensor) Expand(size ...Int) *Tensor { return CallTensor("torch.Tensor.expand", size, x) }

// Flatten joins dimensions start to end, both included, into one: all of them, from
// start on, or as far as end.
func (x *Tensor) Flatten(startEnd ...any) *Tensor {
	return CallTensor("torch.Tensor.flatten", startEnd, x)
}

// Squeeze returns a view without the dimensions that are given, numbers or a []int,
// as far as their size is 1; without all such dimensions where none is given.
func (x *Tensor) Squeeze(dims ...any) *Tensor { return CallTensor("torch.Tensor.squeeze", dims, x) }

// Unsqueeze returns a view with a new dimension of size 1 before dim.
func (x *Tensor) Unsqueeze(dim int) *Tensor { return CallTensor("torch.Tensor.unsqueeze", nil, x, dim) }

// Select returns a view of entry index of dimension dim, which goes away.
func (x *Tensor) Select(dim int, index Int) *Tensor {
	return CallTensor("torch.Tensor.select", nil, x, dim, index)
}

// Narrow returns a view of length entries of dimension dim from start on.
func (x *Tensor) Narrow(dim int, start, length Int) *Tensor {
	return CallTensor("torch.Tensor.narrow", nil, x, dim, start, length)
}

// AsStrided returns a view with sizes and strides over the storage of x; an offset,
// in elements, may follow.
func (x *Tensor) AsStrided(size, stride Ints, offset ...any) *Tensor {
	return CallTensor("torch.Tensor.as_strided", offset, x, size, stride)
}

// Index returns x[parts]: integers, [Slice], nil for a new dimension, [Ellipsis],
// tensors and lists, as in Python.
func (x *Tensor) Index(parts ...any) *Tensor {
	if len(parts) == 1 {
		if t, ok := x.view(hidden(parts)[0]); ok {
			return t
		}
	}
	return As[*Tensor](Dispatch(ir.CallFunction, fnGetItem, []any{x, subscript(x, parts)}, nil))
}

// subscript is what stands between the brackets.
func subscript(x *Tensor, parts []any) any {
	k := keeping{call: fnGetItem.Name()}
	whole := k.all(hidden(parts))
	k.refuseLost(x.Traced())
	if len(whole) == 1 {
		return whole[0]
	}
	return ir.PyTuple(whole)
}

// SetIndex is x[parts] = v for a number or a tensor, which is broadcast; see
// [Tensor.Index]. As in Python, a trace refuses it: a Proxy has no assignment to
// its items.
func (x *Tensor) SetIndex(v any, parts ...any) {
	Dispatch(ir.CallFunction, fnSetItem, []any{x, subscript(x, parts), v}, nil)
}

// Ellipsis stands for all dimensions that the other parts of an index leave.
var Ellipsis = ir.Ellipsis{}

// None is a new dimension of size one among the parts of an index, and elsewhere an
// argument that is not given; nil is the same.
var None any

// Slice is start:stop:step in an index; nil, or no step, leaves a part out:
// x.Index(torch.Slice(1, nil)) is x[1:].
func Slice(start, stop Int, step ...Int) ir.Slice {
	// inlined, so that the parts stay on the stack of the caller
	return ir.Slice{Start: ir.Opaque{Value: start}, Stop: ir.Opaque{Value: stop}, Step: ir.Opaque{Value: stepOf(step)}}
}

func stepOf(step []Int) Int {
	if len(step) > 1 {
		mustNot("slice", typeErrorf("slice expected at most 3 arguments, got %d", 2+len(step)))
	}
	if len(step) == 0 {
		return nil
	}
	return step[0]
}

// Chunk returns at most n views that divide dimension dim evenly.
func (x *Tensor) Chunk(n, dim int) Tensors {
	return CallTensors("torch.Tensor.chunk", nil, x, n, dim)
}

// Split returns views of size entries of dimension dim each, the last one shorter.
func (x *Tensor) Split(size Int, dim int) Tensors {
	return CallTensors("torch.Tensor.split", nil, x, size, dim)
}

// Unbind returns a view of each entry of dimension dim.
func (x *Tensor) Unbind(dim int) Tensors {
	return CallTensors("torch.Tensor.unbind", nil, x, dim)
}

// To returns x as a dtype, on a device, or both; x's own memory where nothing
// changes.
func (x *Tensor) To(what ...any) *Tensor { return CallTensor("torch.Tensor.to", what, x) }

// Contiguous returns x with its elements in row-major order, or in that of
// Kw("memory_format", …); its own memory where they are.
func (x *Tensor) Contiguous(options ...any) *Tensor {
	return CallTensor("torch.Tensor.contiguous", options, x)
}

// Clone returns a copy, with its elements as in x or in the order of
// Kw("memory_format", …).
func (x *Tensor) Clone(options ...any) *Tensor { return CallTensor("torch.Tensor.clone", options, x) }

// Detach returns a view without a history of gradients.
func (x *Tensor) Detach() *Tensor { return CallTensor("torch.Tensor.detach", nil, x) }

// ToBool returns x as booleans: the method bool. [Tensor.Bool] is the truth of one
// element.
func (x *Tensor) ToBool(options ...any) *Tensor { return CallTensor("torch.Tensor.bool", options, x) }

// AllClose is the method allclose; rtol, atol and equal_nan are options.
func (x *Tensor) AllClose(other *Tensor, options ...any) SymBool {
	return As[SymBool](CallAny("torch.Tensor.allclose", options, x, other))
}

// The functions of these are called from elsewhere, so that they escape.

// ApplyInPlace makes each element what f, a func(float64) float64, returns of it: the
// method apply_.
func (x *Tensor) ApplyInPlace(f any) *Tensor {
	return As[*Tensor](Dispatch(ir.CallMethod, "apply_", []any{x, f}, nil))
}

// MapInPlace makes each element what f, a func(a, b float64) float64, returns of it and
// that of y: the method map_.
func (x *Tensor) MapInPlace(y *Tensor, f any) *Tensor {
	return As[*Tensor](Dispatch(ir.CallMethod, "map_", []any{x, y, f}, nil))
}

// Map2InPlace is the method map2_, of three elements; f is a function that graphs name.
func (x *Tensor) Map2InPlace(y, z *Tensor, f any) *Tensor {
	return As[*Tensor](Dispatch(ir.CallMethod, "map2_", []any{x, y, z, f}, nil))
}
