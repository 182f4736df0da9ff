package rewriter

import (
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// commutative are the operators that give the same bits, shape and dtype with
// their first two operands swapped. testdata/commutative.py finds them by calling
// every operator of two tensors both ways; those left out are deprecated or
// sums whose order libtorch does not promise (matrix products, distances).
var commutative = map[string]bool{
	"add": true, "mul": true, "multiply": true, // IEEE addition and multiplication commute
	"eq": true, "ne": true, "not_equal": true,
	"maximum": true, "minimum": true, "fmax": true, "fmin": true,
	"logical_and": true, "logical_or": true, "logical_xor": true,
	"bitwise_and": true, "bitwise_or": true, "bitwise_xor": true,
	"gcd": true, "lcm": true, "hypot": true, "logaddexp": true, "logaddexp2": true,
}

// pythonNames are the functions of Python's operator module that commute, with
// the operator behind each. Strings and lists, which + does not commute for, are
// told apart as far as the literals show.
var pythonNames = map[string]string{
	"add": "add", "mul": "mul", "eq": "eq", "ne": "ne",
	"and_": "bitwise_and", "or_": "bitwise_or", "xor": "bitwise_xor",
}

// commutes reports whether the first two positional arguments of n may change
// places.
func commutes(n *ir.Node) bool {
	if len(n.Args()) < 2 {
		return false
	}
	for _, a := range n.Args()[:2] {
		switch a.(type) {
		case *ir.Node, ir.Int, ir.BigInt, ir.Float, ir.Bool, ir.Complex:
		default:
			return false
		}
	}
	name := operatorName(n)
	if f := n.Func(); f != nil && f.Kind() == ir.Operator {
		name = pythonNames[f.Base()]
	}
	if !commutative[name] {
		return false
	}
	if f := n.Func(); f != nil && f.Kind() == ir.Overload {
		// add.Scalar has operands of two kinds
		s := ir.Operators().Lookup(f.Op())
		if s == nil || s.IsOut() || len(s.Args) < 2 || s.Args[0].Type.Kind != s.Args[1].Type.Kind {
			return false
		}
	}
	for _, k := range n.Kwargs() {
		one := k.Value == ir.Arg(ir.Int(1)) || k.Value == ir.Arg(ir.Float(1))
		if !(k.Name == "alpha" && one) {
			return false // alpha scales the second operand; out= is an effect
		}
	}
	return len(n.Args()) == 2 || strings.HasPrefix(name, "add") && n.Arg(2) == ir.Arg(ir.Int(1))
}
