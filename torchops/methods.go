package torchops

import (
	"slices"

	"github.com/torchfx-go/torchfx/ir"
)

// The methods of torch.Tensor that model code calls most. They compute on a real
// tensor and record call_method on a traced one, and panic with an *[Error] where
// an operator fails. Views share the memory of x: each must be closed by itself.

// method calls a method that returns one tensor.
func (x *Tensor) method(name string, args ...any) *Tensor {
	return As[*Tensor](x.callMethod(name, args...))
}

// methodWith is method with options behind the arguments.
func (x *Tensor) methodWith(name string, options []any, args ...any) *Tensor {
	return As[*Tensor](x.callMethodWith(name, options, args...))
}

// Add returns x + y, times Kw("alpha", …); y may be any Go number.
func (x *Tensor) Add(y any, options ...any) *Tensor { return x.methodWith("add", options, y) }

// Sub returns x - y, times Kw("alpha", …).
func (x *Tensor) Sub(y any, options ...any) *Tensor { return x.methodWith("sub", options, y) }

// Mul returns x * y, element by element.
func (x *Tensor) Mul(y any) *Tensor { return x.method("mul", y) }

// Div returns x / y, rounded by Kw("rounding_mode", "floor") or "trunc".
func (x *Tensor) Div(y any, options ...any) *Tensor { return x.methodWith("div", options, y) }

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

// Softmax returns e to the power x, scaled to sum to 1 along dim; Kw("dtype", …)
// converts first.
func (x *Tensor) Softmax(dim int, options ...any) *Tensor {
	return x.methodWith("softmax", options, dim)
}

// MatMul returns the matrix product; see [MatMul].
func (x *Tensor) MatMul(y *Tensor) *Tensor { return x.method("matmul", y) }

// Clamp returns x brought into bounds, by position or by Kw("min", …) and
// Kw("max", …).
func (x *Tensor) Clamp(bounds ...any) *Tensor { return x.method("clamp", bounds...) }

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

// Sum returns the sum of all elements, or along the dimensions that are given,
// numbers or a []int; then may stand Kw("keepdim", true) and Kw("dtype", …).
func (x *Tensor) Sum(dims ...any) *Tensor { return x.method("sum", oneList(dims)...) }

// Mean returns the mean of all elements, or along the dimensions that are given;
// see [Tensor.Sum].
func (x *Tensor) Mean(dims ...any) *Tensor { return x.method("mean", oneList(dims)...) }

// oneList makes one argument of several dimensions that stand in a row, as Python
// wants it of reductions.
func oneList(dims []any) []any {
	n := 0
	for n < len(dims) {
		if _, isInt := dims[n].(int); !isInt {
			break
		}
		n++
	}
	if n < 2 {
		return dims
	}
	return with(dims[n:], slices.Clone(dims[:n]))
}

// Argmax returns the index of the largest element along a dimension, of all where
// none is given; Kw("keepdim", true) keeps the dimension.
func (x *Tensor) Argmax(options ...any) *Tensor { return x.method("argmax", options...) }

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

// Flatten joins dimensions start to end, both included, into one: all of them, from
// start on, or as far as end.
func (x *Tensor) Flatten(startEnd ...any) *Tensor { return x.method("flatten", startEnd...) }

// Squeeze returns a view without the dimensions that are given, numbers or a []int,
// as far as their size is 1; without all such dimensions where none is given.
func (x *Tensor) Squeeze(dims ...any) *Tensor { return x.method("squeeze", dims...) }

// Unsqueeze returns a view with a new dimension of size 1 before dim.
func (x *Tensor) Unsqueeze(dim int) *Tensor { return x.method("unsqueeze", dim) }

// Select returns a view of entry index of dimension dim, which goes away.
func (x *Tensor) Select(dim int, index Int) *Tensor { return x.method("select", dim, index) }

// Narrow returns a view of length entries of dimension dim from start on.
func (x *Tensor) Narrow(dim int, start, length Int) *Tensor {
	return x.method("narrow", dim, start, length)
}

// AsStrided returns a view with sizes and strides over the storage of x; an offset,
// in elements, may follow.
func (x *Tensor) AsStrided(size, stride Ints, offset ...any) *Tensor {
	return x.methodWith("as_strided", offset, size, stride)
}

// Index returns x[parts]: integers, [Slice], nil for a new dimension, [Ellipsis],
// tensors and lists, as in Python.
func (x *Tensor) Index(parts ...any) *Tensor {
	if len(parts) == 1 {
		if t, ok := x.view(parts[0]); ok {
			return t
		}
	}
	var index any = ir.PyTuple(slices.Clone(parts))
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

// None is a new dimension of size one among the parts of an index, and elsewhere an
// argument that is not given; nil is the same.
var None any

// Slice is start:stop:step in an index; nil, or no step, leaves a part out:
// x.Index(torch.Slice(1, nil)) is x[1:].
func Slice(start, stop Int, step ...Int) ir.Slice {
	s := ir.Slice{Start: slicePart(start), Stop: slicePart(stop), Step: ir.None{}}
	switch len(step) {
	case 0:
	case 1:
		s.Step = slicePart(step[0])
	default:
		mustNot("slice", typeErrorf("slice expected at most 3 arguments, got %d", 2+len(step)))
	}
	return s
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

// Contiguous returns x with its elements in row-major order, or in that of
// Kw("memory_format", …); its own memory where they are.
func (x *Tensor) Contiguous(options ...any) *Tensor { return x.method("contiguous", options...) }

// Clone returns a copy, with its elements as in x or in the order of
// Kw("memory_format", …).
func (x *Tensor) Clone(options ...any) *Tensor { return x.method("clone", options...) }

// Detach returns a view without a history of gradients.
func (x *Tensor) Detach() *Tensor { return x.method("detach") }

// ToBool returns x as booleans: the method bool. [Tensor.Bool] is the truth of one
// element.
func (x *Tensor) ToBool(options ...any) *Tensor { return x.method("bool", options...) }

// AllClose is the method allclose; rtol, atol and equal_nan are options.
func (x *Tensor) AllClose(other *Tensor, options ...any) SymBool {
	return As[SymBool](x.callMethodWith("allclose", options, other))
}
