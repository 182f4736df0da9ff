package passes

import (
	"github.com/torchfx-go/torchfx/ir"
)

// An epilogue is what oneDNN computes with a result before it is stored: an
// elementwise function, by ATen's names.
type epilogue struct {
	attr      string  // "none" for no function
	scalars   ir.List // its parameters
	algorithm string
}

var noEpilogue = epilogue{"none", ir.ListOf(), ""}

// activation returns the epilogue that a call of an operator is.
func activation(n *ir.Node) (epilogue, bool) {
	args, err := bind(n)
	if err != nil {
		return noEpilogue, false
	}
	plain := func(attr string) (epilogue, bool) { return epilogue{attr, ir.ListOf(), ""}, true }
	switch n.Func().Op() {
	case "aten::relu":
		return plain("relu")
	case "aten::sigmoid":
		return plain("sigmoid")
	case "aten::tanh":
		return plain("tanh")
	case "aten::silu":
		return plain("swish")
	case "aten::hardswish":
		return plain("hardswish")
	case "aten::hardsigmoid":
		return plain("hardsigmoid")
	case "aten::leaky_relu":
		return scalars("leaky_relu", args["negative_slope"])
	case "aten::relu6":
		return scalars("hardtanh", ir.Int(0), ir.Int(6))
	case "aten::hardtanh":
		return bounds(args["min_val"], args["max_val"])
	case "aten::clamp":
		return bounds(args["min"], args["max"])
	case "aten::gelu":
		algorithm, ok := args["approximate"].(ir.Str)
		return epilogue{"gelu", ir.ListOf(), string(algorithm)}, ok
	}
	return noEpilogue, false
}

// bounds is what keeps values between two numbers; where they are turned round, clamp
// returns the upper one and oneDNN refuses.
func bounds(low, high ir.Arg) (epilogue, bool) {
	a, ok := literal(low)
	b, ok2 := literal(high)
	if !ok || !ok2 || !(a <= b) {
		return noEpilogue, false
	}
	return scalars("hardtanh", low, high)
}

func scalars(attr string, values ...ir.Arg) (epilogue, bool) {
	for _, v := range values {
		switch v.(type) {
		case ir.Int, ir.Float:
		default:
			return noEpilogue, false
		}
	}
	return epilogue{attr, ir.ListOf(values...), ""}, true
}

// activationOf returns the activation that is all that reads n, and what it is.
func activationOf(n *ir.Node) (*ir.Node, epilogue) {
	if n.NumUsers() != 1 {
		return nil, noEpilogue
	}
	for u := range n.Users() {
		if u.Op() == ir.CallFunction && u.Arg(0) == ir.Arg(n) && len(u.Inputs()) == 1 {
			if e, ok := activation(u); ok {
				return u, e
			}
		}
	}
	return nil, noEpilogue
}

var addTensor = ir.OverloadOf("aten::add.Tensor")

// residualOf returns the addition that is all that reads n, and its other operand:
// of the same sizes and dtype, so that nothing is broadcast or promoted.
func residualOf(n *ir.Node) (add, other *ir.Node) {
	if n.NumUsers() != 1 {
		return nil, nil
	}
	for u := range n.Users() {
		if u.Func() != addTensor || len(u.Inputs()) != 2 {
			return nil, nil
		}
		args, err := bind(u)
		if err != nil || args["alpha"] != ir.Int(1) && args["alpha"] != ir.Float(1) {
			return nil, nil
		}
		other, _ := args["other"].(*ir.Node)
		if other == n {
			other, _ = args["self"].(*ir.Node)
		}
		a, known := valueOf(n)
		b, knownToo := valueOf(other)
		if !known || !knownToo || a.DType != b.DType || !sameSizes(a.Sizes, b.Sizes) {
			return nil, nil
		}
		if sum, ok := valueOf(u); ok && sum.Strides != nil {
			if _, dense := notedFormat(u); !dense {
				return nil, nil // it lies as the other does, as nothing that is packed can
			}
		}
		return u, other
	}
	return nil, nil
}
