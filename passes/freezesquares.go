package passes

import (
	"github.com/torchfx-go/torchfx/ir"
)

var (
	powOp    = ir.OverloadOf("aten::pow.Tensor_Scalar")
	squareOp = ir.OverloadOf("aten::square")
)

// multiplySquares makes squares of floating numbers, of which norms by root mean square
// begin, products of a value with itself: of the same bits, and of a kind that plans
// compute together with the mean behind it, without writing the squares to memory.
func (f *freezer) multiplySquares() error {
	for _, n := range nodesOf(f.graph) {
		if n.Op() != ir.CallFunction || n.Func() != powOp && n.Func() != squareOp {
			continue
		}
		args, err := bind(n)
		if err != nil {
			return err
		}
		x, _ := args["self"].(*ir.Node)
		if exponent, isNumber := literal(args["exponent"]); n.Func() == powOp && !(isNumber && exponent == 2) || x == nil || !floating(x) {
			continue
		}
		call, err := f.call(n, n, "aten::mul.Tensor", x, x)
		if err != nil {
			return err
		}
		f.applied(call, "%s times itself", x)
		if err := f.replace(n, call); err != nil {
			return err
		}
	}
	return nil
}
