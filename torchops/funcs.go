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

// function calls a function that returns one tensor.
func function(f *ir.Func, args ...any) *Tensor { return As[*Tensor](callFunction(f.Name(), args...)) }

// functionWith is function with options behind the arguments.
func functionWith(f *ir.Func, options []any, args ...any) *Tensor {
	return As[*Tensor](callFunctionWith(f.Name(), options, args...))
}

// Add returns x + y.
func Add(x *Tensor, y any, options ...any) *Tensor { return functionWith(FnAdd, options, x, y) }

// Sub returns x - y.
func Sub(x *Tensor, y any, options ...any) *Tensor { return functionWith(FnSub, options, x, y) }

// Mul returns x * y, element by element.
func Mul(x *Tensor, y any, options ...any) *Tensor { return functionWith(FnMul, options, x, y) }

// Div returns x / y, never rounded.
func Div(x *Tensor, y any, options ...any) *Tensor { return functionWith(FnDiv, options, x, y) }

// MatMul returns the matrix product of [..., n, m] and [..., m, p], or of vectors,
// as torch.matmul does.
func MatMul(x, y *Tensor, options ...any) *Tensor { return functionWith(FnMatMul, options, x, y) }

// Neg returns -x.
func Neg(x *Tensor, options ...any) *Tensor { return functionWith(FnNeg, options, x) }

// Abs returns |x|.
func Abs(x *Tensor, options ...any) *Tensor { return functionWith(FnAbs, options, x) }

// Exp returns e to the power x.
func Exp(x *Tensor, options ...any) *Tensor { return functionWith(FnExp, options, x) }

// Log returns the natural logarithm of x.
func Log(x *Tensor, options ...any) *Tensor { return functionWith(FnLog, options, x) }

// Sqrt returns the square root of x.
func Sqrt(x *Tensor, options ...any) *Tensor { return functionWith(FnSqrt, options, x) }

// Relu returns max(x, 0).
func Relu(x *Tensor) *Tensor { return function(FnRelu, x) }

// Sigmoid returns 1 / (1 + e to the power -x).
func Sigmoid(x *Tensor, options ...any) *Tensor { return functionWith(FnSigmoid, options, x) }

// Tanh returns the hyperbolic tangent of x.
func Tanh(x *Tensor, options ...any) *Tensor { return functionWith(FnTanh, options, x) }

// Softmax returns e to the power x, scaled to sum to 1 along dim.
func Softmax(x *Tensor, dim int, options ...any) *Tensor {
	return functionWith(FnSoftmax, options, x, dim)
}

// Sum returns the sum of all elements, or along the dimensions that follow: an int
// or a []int, or as Kw("dim", …), with Kw("keepdim", true) and Kw("dtype", …).
func Sum(x *Tensor, options ...any) *Tensor { return functionWith(FnSum, options, x) }

// Mean returns the mean of all elements; see [Sum] for options.
func Mean(x *Tensor, options ...any) *Tensor { return functionWith(FnMean, options, x) }

// Flatten joins dimensions start to end, both included, into one: all of them, from
// start on, or as far as end. Python's torch.flatten(x, 1) is Flatten(x, 1).
func Flatten(x *Tensor, startEnd ...any) *Tensor { return functionWith(FnFlatten, startEnd, x) }

// Unsqueeze returns a view with a new dimension of size 1 before dim.
func Unsqueeze(x *Tensor, dim int) *Tensor { return function(ir.FuncOf("torch.unsqueeze"), x, dim) }

// Where returns x where condition holds and y elsewhere; see [WhereTuple] for the
// form of one argument.
func Where(condition *Tensor, x, y any, options ...any) *Tensor {
	return functionWith(FnWhere, options, condition, x, y)
}

// WhereTuple is torch.where(condition): the places where condition holds, one tensor
// of indices for each dimension.
func WhereTuple(condition *Tensor) Tensors {
	return As[Tensors](callFunction(FnWhere.Name(), condition))
}

// Cat joins tensors along a dimension that they have: the first one, or the int
// that follows, or Kw("dim", …).
func Cat(tensors Seq, options ...any) *Tensor {
	return functionWith(FnCat, options, tensors)
}

// Stack joins tensors of one shape along a new dimension; see [Cat] for which.
func Stack(tensors Seq, options ...any) *Tensor {
	return functionWith(FnStack, options, tensors)
}

// Zeros returns a tensor of zeros of the sizes. After the sizes may stand
// options: Kw("dtype", …), Kw("device", …), In(scope).
func Zeros(size ...Int) *Tensor { return function(ir.FuncOf("torch.zeros"), size...) }

// Ones returns a tensor of ones; see [Zeros] for options.
func Ones(size ...Int) *Tensor { return function(ir.FuncOf("torch.ones"), size...) }

// Full returns a tensor of one value; see [Zeros] for options.
func Full(size Ints, value any, options ...any) *Tensor {
	return function(ir.FuncOf("torch.full"), append([]any{size, value}, options...)...)
}

// Arange returns the numbers from start up to but without end, by step, as int64
// where all are ints and as float32 otherwise. Arguments are those of Python: end,
// start and end, or all three, then options; see [Zeros].
func Arange(startEndStep ...any) *Tensor { return function(ir.FuncOf("torch.arange"), startEndStep...) }

// Eye returns the identity matrix [n, n], or [n, m] where a second number follows;
// see [Zeros] for options.
func Eye(n Int, options ...any) *Tensor {
	return function(ir.FuncOf("torch.eye"), append([]any{n}, options...)...)
}

// Rand returns numbers drawn evenly from [0, 1); see [Zeros] for options. Without
// Kw("generator", …) they come from the process's generator; see [ManualSeed].
func Rand(size ...Int) *Tensor { return function(ir.FuncOf("torch.rand"), size...) }

// Randn returns numbers drawn from the normal distribution; see [Rand].
func Randn(size ...Int) *Tensor { return function(ir.FuncOf("torch.randn"), size...) }

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
	return functionWith(ir.FuncOf("torch.tensor"), options, data)
}
