package torchops

import (
	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
)

// The functions of torch that model code calls most. They compute on real
// tensors and record "torch.<name>" on traced ones, and panic with an *[Error]
// where an operator fails. The result joins the scope of the arguments. A tensor
// operand of a binary function may be any Go number. Options are what Python has
// further: arguments in its order, then Kw("out", …), Kw("alpha", …) and so on.

// Functions as the targets of nodes, to be compared with ==.
var (
	FnAdd     = ir.FuncOf("torch.add")
	FnSub     = ir.FuncOf("torch.sub")
	FnMul     = ir.FuncOf("torch.mul")
	FnDiv     = ir.FuncOf("torch.div")
	FnMatMul  = ir.FuncOf("torch.matmul")
	FnNeg     = ir.FuncOf("torch.neg")
	FnAbs     = ir.FuncOf("torch.abs")
	FnExp     = ir.FuncOf("torch.exp")
	FnLog     = ir.FuncOf("torch.log")
	FnSqrt    = ir.FuncOf("torch.sqrt")
	FnRelu    = ir.FuncOf("torch.relu")
	FnSigmoid = ir.FuncOf("torch.sigmoid")
	FnTanh    = ir.FuncOf("torch.tanh")
	FnSoftmax = ir.FuncOf("torch.softmax")
	FnCat     = ir.FuncOf("torch.cat")
	FnStack   = ir.FuncOf("torch.stack")
	FnFlatten = ir.FuncOf("torch.flatten")
	FnSum     = ir.FuncOf("torch.sum")
	FnMean    = ir.FuncOf("torch.mean")
	FnWhere   = ir.FuncOf("torch.where")
)

// Add returns x + y.
func Add(x *Tensor, y any, options ...any) *Tensor { return CallTensor("torch.add", options, x, y) }

// Sub returns x - y.
func Sub(x *Tensor, y any, options ...any) *Tensor { return CallTensor("torch.sub", options, x, y) }

// Mul returns x * y, element by element.
func Mul(x *Tensor, y any, options ...any) *Tensor { return CallTensor("torch.mul", options, x, y) }

// Div returns x / y, never rounded.
func Div(x *Tensor, y any, options ...any) *Tensor { return CallTensor("torch.div", options, x, y) }

// MatMul returns the matrix product of [..., n, m] and [..., m, p], or of vectors,
// as torch.matmul does.
func MatMul(x, y *Tensor, options ...any) *Tensor { return CallTensor("torch.matmul", options, x, y) }

// Neg returns -x.
func Neg(x *Tensor, options ...any) *Tensor { return CallTensor("torch.neg", options, x) }

// Abs returns |x|.
func Abs(x *Tensor, options ...any) *Tensor { return CallTensor("torch.abs", options, x) }

// Exp returns e to the power x.
func Exp(x *Tensor, options ...any) *Tensor { return CallTensor("torch.exp", options, x) }

// Log returns the natural logarithm of x.
func Log(x *Tensor, options ...any) *Tensor { return CallTensor("torch.log", options, x) }

// Sqrt returns the square root of x.
func Sqrt(x *Tensor, options ...any) *Tensor { return CallTensor("torch.sqrt", options, x) }

// Relu returns max(x, 0).
func Relu(x *Tensor) *Tensor { return CallTensor("torch.relu", nil, x) }

// Sigmoid returns 1 / (1 + e to the power -x).
func Sigmoid(x *Tensor, options ...any) *Tensor { return CallTensor("torch.sigmoid", options, x) }

// Tanh returns the hyperbolic tangent of x.
func Tanh(x *Tensor, options ...any) *Tensor { return CallTensor("torch.tanh", options, x) }

// Softmax returns e to the power x, scaled to sum to 1 along dim.
func Softmax(x *Tensor, dim int, options ...any) *Tensor {
	return CallTensor("torch.softmax", options, x, dim)
}

// Sum returns the sum of all elements, or along the dimensions that follow: an int
// or a []int, or as Kw("dim", …), with Kw("keepdim", true) and Kw("dtype", …).
func Sum(x *Tensor, options ...any) *Tensor { return CallTensor("torch.sum", options, x) }

// Mean returns the mean of all elements; see [Sum] for options.
func Mean(x *Tensor, options ...any) *Tensor { return CallTensor("torch.mean", options, x) }

// Flatten joins dimensions start to end, both included, into one: all of them, from
// start on, or as far as end. Python's torch.flatten(x, 1) is Flatten(x, 1).
func Flatten(x *Tensor, startEnd ...any) *Tensor { return CallTensor("torch.flatten", startEnd, x) }

// Unsqueeze returns a view with a new dimension of size 1 before dim.
func Unsqueeze(x *Tensor, dim int) *Tensor { return CallTensor("torch.unsqueeze", nil, x, dim) }

// Where returns x where condition holds and y elsewhere; see [WhereTuple] for the
// form of one argument.
func Where(condition *Tensor, x, y any, options ...any) *Tensor {
	return CallTensor("torch.where", options, condition, x, y)
}

// WhereTuple is torch.where(condition): the places where condition holds, one tensor
// of indices for each dimension.
func WhereTuple(condition *Tensor) Tensors {
	return CallTensors("torch.where", nil, condition)
}

// Cat joins tensors along a dimension that they have: the first one, or the int
// that follows, or Kw("dim", …).
func Cat(tensors Seq, options ...any) *Tensor {
	return CallTensor("torch.cat", options, tensors)
}

// Stack joins tensors of one shape along a new dimension; see [Cat] for which.
func Stack(tensors Seq, options ...any) *Tensor {
	return CallTensor("torch.stack", options, tensors)
}

// Zeros returns a tensor of zeros of the sizes. After the sizes may stand
// options: Kw("dtype", …), Kw("device", …), In(scope).
func Zeros(size ...Int) *Tensor { return CallTensor("torch.zeros", size) }

// Ones returns a tensor of ones; see [Zeros] for options.
func Ones(size ...Int) *Tensor { return CallTensor("torch.ones", size) }

// Full returns a tensor of one value; see [Zeros] for options.
func Full(size Ints, value any, options ...any) *Tensor {
	return CallTensor("torch.full", options, size, value)
}

// Arange returns the numbers from start up to but without end, by step, as int64
// where all are ints and as float32 otherwise. Arguments are those of Python: end,
// start and end, or all three, then options; see [Zeros].
func Arange(startEndStep ...any) *Tensor { return CallTensor("torch.arange", startEndStep) }

// Eye returns the identity matrix [n, n], or [n, m] where a second number follows;
// see [Zeros] for options.
func Eye(n Int, options ...any) *Tensor {
	return CallTensor("torch.eye", options, n)
}

// Rand returns numbers drawn evenly from [0, 1); see [Zeros] for options. Without
// Kw("generator", …) they come from the process's generator; see [ManualSeed].
func Rand(size ...Int) *Tensor { return CallTensor("torch.rand", size) }

// Randn returns numbers drawn from the normal distribution; see [Rand].
func Randn(size ...Int) *Tensor { return CallTensor("torch.randn", size) }

// A Generator is a source of random numbers that belongs to its user.
type Generator = libtorch.Generator

// NewGenerator returns a generator on the CPU that starts from seed.
func NewGenerator(seed uint64) (*Generator, error) { return libtorch.NewGenerator(seed) }

// ManualSeed starts the process's generator, which all goroutines share, from
// seed.
func ManualSeed(seed uint64) error { return libtorch.ManualSeed(seed) }

// AllClose reports whether x and y have one shape and are within
// atol + rtol·|y| of each other everywhere. NaNs are different but for
// Kw("equal_nan", true). It computes only; what a trace records is
// [Tensor.AllClose].
func AllClose(x, y *Tensor, rtol, atol float64, options ...any) (bool, error) {
	v, err := Call("aten::allclose", with(options, x, y, rtol, atol)...)
	b, _ := v.(bool)
	return b, err
}

// Equal reports whether x and y have one shape and the same elements. It computes
// only; what a trace records is [Tensor.Equal].
func Equal(x, y *Tensor) (bool, error) {
	v, err := Call("aten::equal", x, y)
	b, _ := v.(bool)
	return b, err
}

// TensorOf is torch.tensor: a new tensor of a number or of nested lists, of tensors of
// one element too, with its dtype found as Python finds it or given by
// Kw("dtype", …). For elements that are Go's see [From].
func TensorOf(data any, options ...any) *Tensor {
	return CallTensor("torch.tensor", options, data)
}
