package operator

import (
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// Call calls a function of the module by its Python name on any values: "add" on
// two ints, "getitem" on a list. It panics with a *torchops.Error.
func Call(name string, args ...any) any {
	return torch.Dispatch(ir.CallFunction, ir.FuncOf("operator."+name), args, nil)
}

func tensor(name string, args ...any) *torch.Tensor {
	return torch.As[*torch.Tensor](Call(name, args...))
}

// Add returns x + y.
func Add(x, y any) *torch.Tensor { return tensor("add", x, y) }

// Sub returns x - y.
func Sub(x, y any) *torch.Tensor { return tensor("sub", x, y) }

// Mul returns x * y.
func Mul(x, y any) *torch.Tensor { return tensor("mul", x, y) }

// TrueDiv returns x / y.
func TrueDiv(x, y any) *torch.Tensor { return tensor("truediv", x, y) }

// FloorDiv returns x // y, rounded towards minus infinity.
func FloorDiv(x, y any) *torch.Tensor { return tensor("floordiv", x, y) }

// Mod returns x % y, with the sign of y.
func Mod(x, y any) *torch.Tensor { return tensor("mod", x, y) }

// Pow returns x ** y.
func Pow(x, y any) *torch.Tensor { return tensor("pow", x, y) }

// MatMul returns x @ y.
func MatMul(x, y *torch.Tensor) *torch.Tensor { return tensor("matmul", x, y) }

// Neg returns -x.
func Neg(x *torch.Tensor) *torch.Tensor { return tensor("neg", x) }

// Pos returns +x.
func Pos(x *torch.Tensor) *torch.Tensor { return tensor("pos", x) }

// Abs returns abs(x).
func Abs(x *torch.Tensor) *torch.Tensor { return tensor("abs", x) }

// Invert returns ~x.
func Invert(x *torch.Tensor) *torch.Tensor { return tensor("invert", x) }

// And returns x & y.
func And(x, y any) *torch.Tensor { return tensor("and_", x, y) }

// Or returns x | y.
func Or(x, y any) *torch.Tensor { return tensor("or_", x, y) }

// Xor returns x ^ y.
func Xor(x, y any) *torch.Tensor { return tensor("xor", x, y) }

// LShift returns x << y.
func LShift(x, y any) *torch.Tensor { return tensor("lshift", x, y) }

// RShift returns x >> y.
func RShift(x, y any) *torch.Tensor { return tensor("rshift", x, y) }

// Eq returns x == y, element by element.
func Eq(x, y any) *torch.Tensor { return tensor("eq", x, y) }

// Ne returns x != y.
func Ne(x, y any) *torch.Tensor { return tensor("ne", x, y) }

// Lt returns x < y.
func Lt(x, y any) *torch.Tensor { return tensor("lt", x, y) }

// Le returns x <= y.
func Le(x, y any) *torch.Tensor { return tensor("le", x, y) }

// Gt returns x > y.
func Gt(x, y any) *torch.Tensor { return tensor("gt", x, y) }

// Ge returns x >= y.
func Ge(x, y any) *torch.Tensor { return tensor("ge", x, y) }

// GetItem returns x[index]; an index of several parts is an ir.PyTuple. See
// torchops.Tensor.Index.
func GetItem(x *torch.Tensor, index any) *torch.Tensor { return tensor("getitem", x, index) }
