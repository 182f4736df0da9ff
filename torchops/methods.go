package torchops

import "github.com/torchfx-go/torchfx/ir"

// The methods of torch.Tensor that model code calls most. They compute on a real
// tensor and record call_method on a traced one, and panic with an *[Error] where
// an operator fails. Views share the memory of x: each must be closed by itself.

// method calls a method that returns one tensor.
func (x *Tensor) method(name string, args ...any) *Tensor {
	return As[*Tensor](callTyped(methodOf(name), name, x, args))
}

// Add returns x + y; y may be any Go number.
func (x *Tensor) Add(y any) *Tensor { return x.method("add", y) }

// Sub returns x - y.
func (x *Tensor) Sub(y any) *Tensor { return x.method("sub", y) }

// Mul returns x * y, element by element.
func (x *Tensor) Mul(y any) *Tensor { return x.method("mul", y) }

// Div returns x / y.
func (x *Tensor) Div(y any) *Tensor { return x.method("div", y) }

// Pow returns x to the power y.
func (x *Tensor) Pow(y any) *Tensor { return x.method("pow", y) }

// Neg returns -x.
func (x *Tensor) Neg() *Tensor { return x.method("neg") }

// Abs returns |x|.
func (x *Tensor) Abs() *Tensor { return x.method("abs") }

// Exp returns e to the power x.
func (x *Tensor) Exp() *Tensor { return x.method("exp") }

// Log returns the natural logarithm.
func (x *Tensor) Log() *Tensor { return x.method("log") }

// Sqrt returns the square root.
func (x *Tensor) Sqrt() *Tensor { return x.method("sqrt") }

// Relu returns max(x, 0).
func (x *Tensor) Relu() *Tensor { return x.method("relu") }

// Sigmoid returns 1 / (1 + e to the power -x).
func (x *Tensor) Sigmoid() *Tensor { return x.method("sigmoid") }

// Tanh returns the hyperbolic tangent.
func (x *Tensor) Tanh() *Tensor { return x.method("tanh") }

// Softmax returns e to the power x, scaled to sum to 1 along dim.
func (x *Tensor) Softmax(dim int) *Tensor { return x.method("softmax", dim) }

// MatMul returns the matrix product; see [MatMul].
func (x *Tensor) MatMul(y *Tensor) *Tensor { return x.method("matmul", y) }

// Clamp returns x brought into bounds given by Kw("min", …) and Kw("max", …).
func (x *Tensor) Clamp(bounds ...Kwarg) *Tensor {
	return As[*Tensor](Dispatch(ir.CallMethod, "clamp", []any{x}, bounds))
}

// Eq returns where x == y.
func (x *Tensor) Eq(y any) *Tensor { return x.method("eq", y) }

// Ne returns where x != y.
func (x *Tensor) Ne(y any) *Tensor { return x.method("ne", y) }

// Lt returns where x < y.
func (x *Tensor) Lt(y any) *Tensor { return x.method("lt", y) }

// Le returns where x <= y.
func (x *Tensor) Le(y any) *Tensor { return x.method("le", y) }

// Gt returns where x > y.
func (x *Tensor) Gt(y any) *Tensor { return x.method("gt", y) }

// Ge returns where x >= y.
func (x *Tensor) Ge(y any) *Tensor { return x.method("ge", y) }

// Sum returns the sum of all elements, or along the dimensions that are given.
func (x *Tensor) Sum(dims ...int) *Tensor { return x.reduce("sum", dims) }

// Mean returns the mean of all elements, or along the dimensions that are given.
func (x *Tensor) Mean(dims ...int) *Tensor { return x.reduce("mean", dims) }

func (x *Tensor) reduce(name string, dims []int) *Tensor {
	switch len(dims) {
	case 0:
		return x.method(name)
	case 1:
		return x.method(name, dims[0])
	}
	return x.method(name, dims)
}

// Argmax returns the index of the largest element along dim.
func (x *Tensor) Argmax(dim int) *Tensor { return x.method("argmax", dim) }

// View returns a view of other sizes; one may be -1, which is worked out.
func (x *Tensor) View(size ...Int) *Tensor { return x.method("view", size...) }

// Reshape is [Tensor.View] that copies where no view is possible.
func (x *Tensor) Reshape(size ...Int) *Tensor { return x.method("reshape", size...) }

// Permute returns a view with the dimensions in another order.
func (x *Tensor) Permute(dims ...Int) *Tensor { return x.method("permute", dims...) }

// Transpose returns a view with two dimensions exchanged.
func (x *Tensor) Transpose(a, b int) *Tensor { return x.method("transpose", a, b) }

// Expand returns a view with dimensions of size 1 repeated; -1 keeps a size.
func (x *Tensor) Expand(size ...Int) *Tensor { return x.method("expand", size...) }

// Flatten joins dimensions start to end, both included, into one.
func (x *Tensor) Flatten(start, end int) *Tensor { return x.method("flatten", start, end) }

// Squeeze returns a view without dimension dim if its size is 1.
func (x *Tensor) Squeeze(dim int) *Tensor { return x.method("squeeze", dim) }

// Unsqueeze returns a view with a new dimension of size 1 before dim.
func (x *Tensor) Unsqueeze(dim int) *Tensor { return x.method("unsqueeze", dim) }

// Select returns a view of entry index of dimension dim, which goes away.
func (x *Tensor) Select(dim int, index Int) *Tensor { return x.method("select", dim, index) }

// Narrow returns a view of length entries of dimension dim from start on.
func (x *Tensor) Narrow(dim int, start, length Int) *Tensor {
	return x.method("narrow", dim, start, length)
}

// AsStrided returns a view with sizes, strides and an offset, in elements, over
// the storage of x.
func (x *Tensor) AsStrided(size, stride []int, offset int) *Tensor {
	return x.method("as_strided", size, stride, offset)
}

// Index returns x[parts]: integers, [Slice], nil for a new dimension, [Ellipsis],
// tensors and lists, as in Python.
func (x *Tensor) Index(parts ...any) *Tensor {
	var index any = ir.PyTuple(parts)
	if len(parts) == 1 {
		index = parts[0]
	}
	return As[*Tensor](Dispatch(ir.CallFunction, fnGetItem, []any{x, index}, nil))
}

// SetIndex is x[parts] = v for a number or a tensor, which is broadcast; see
// [Tensor.Index]. As in Python, a trace refuses it: a Proxy has no assignment to
// its items.
func (x *Tensor) SetIndex(v any, parts ...any) {
	var index any = ir.PyTuple(parts)
	if len(parts) == 1 {
		index = parts[0]
	}
	Dispatch(ir.CallFunction, fnSetItem, []any{x, index, v}, nil)
}

// Ellipsis stands for all dimensions that the other parts of an index leave.
var Ellipsis = ir.Ellipsis{}

// Slice is start:stop:step in an index; nil leaves a part out.
func Slice(start, stop, step Int) ir.Slice {
	return ir.Slice{Start: slicePart(start), Stop: slicePart(stop), Step: slicePart(step)}
}

func slicePart(v any) ir.Arg {
	if v == nil {
		return ir.None{}
	}
	return ir.Opaque{Value: v}
}

// Chunk returns at most n views that divide dimension dim evenly.
func (x *Tensor) Chunk(n, dim int) Tensors {
	return As[Tensors](Dispatch(ir.CallMethod, "chunk", []any{x, n, dim}, nil))
}

// Split returns views of size entries of dimension dim each, the last one shorter.
func (x *Tensor) Split(size Int, dim int) Tensors {
	return As[Tensors](Dispatch(ir.CallMethod, "split", []any{x, size, dim}, nil))
}

// Unbind returns a view of each entry of dimension dim.
func (x *Tensor) Unbind(dim int) Tensors {
	return As[Tensors](Dispatch(ir.CallMethod, "unbind", []any{x, dim}, nil))
}

// To returns x as a dtype, on a device, or both; x's own memory where nothing
// changes.
func (x *Tensor) To(what ...any) *Tensor { return x.method("to", what...) }

// Contiguous returns x with its elements in row-major order; its own memory
// where they are.
func (x *Tensor) Contiguous() *Tensor { return x.method("contiguous") }

// Clone returns a copy.
func (x *Tensor) Clone() *Tensor { return x.method("clone") }

// Detach returns a view without a history of gradients.
func (x *Tensor) Detach() *Tensor { return x.method("detach") }
