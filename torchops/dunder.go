package torchops

import (
	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
)

// The methods of tensors behind Python's syntax that are bound to C++; those that
// are Python code are elsewhere.

// syntaxMethods are the methods that are an operator of Python with the tensor on
// the left.
var syntaxMethods = map[string]string{
	"__add__": "add", "__sub__": "sub", "__mul__": "mul", "__truediv__": "truediv", "__div__": "truediv", "__mod__": "mod",
	"__matmul__": "matmul", "__pow__": "pow", "__iadd__": "iadd", "__isub__": "isub", "__imul__": "imul", "__idiv__": "itruediv",
	"__itruediv__": "itruediv", "__ifloordiv__": "ifloordiv", "__imod__": "imod", "__ipow__": "ipow", "__lt__": "lt", "__le__": "le", "__gt__": "gt",
	"__ge__": "ge", "__eq__": "eq", "__ne__": "ne", "__invert__": "invert", "__getitem__": "getitem", "__setitem__": "setitem",
	"__neg__": "neg", "__pos__": "pos", "__abs__": "abs",
}

// reflectedMethods are what the methods with the tensor on the right call, for a tensor and
// for a number on the left.
var reflectedMethods = map[string][2]string{
	"__radd__": {"aten::add.Tensor", "aten::add.Tensor"}, "__rmul__": {"aten::mul.Tensor", "aten::mul.Tensor"},
	"__rand__": {"aten::bitwise_and.Tensor", "aten::bitwise_and.Scalar"}, "__ror__": {"aten::bitwise_or.Tensor", "aten::bitwise_or.Scalar"},
	"__rxor__": {"aten::bitwise_xor.Tensor", "aten::bitwise_xor.Scalar"},
}

// readingMethods are the methods that read the one element.
var readingMethods = map[string]string{
	"__bool__": "bool", "__nonzero__": "bool", "__int__": "int", "__long__": "int", "__float__": "float", "__complex__": "complex",
}

func init() {
	receiving := func(name, params string, f func(m *libtorch.Mode, a []any) (any, error)) {
		define(tensorMethod+name, params, func(m *libtorch.Mode, a []any) (any, error) {
			if _, _, err := receiver(name, a); err != nil {
				return nil, err
			}
			return f(m, a)
		})
	}
	for name, op := range syntaxMethods {
		params := "self, other"
		switch name {
		case "__invert__", "__neg__", "__pos__", "__abs__":
			params = "self"
		case "__setitem__":
			params = "self, key, value"
		}
		f := ir.FuncOf("operator." + op)
		receiving(name, params, func(m *libtorch.Mode, a []any) (any, error) { return Invoke(m, f, a, nil) })
	}
	for name, ops := range reflectedMethods {
		receiving(name, "self, other", func(m *libtorch.Mode, a []any) (any, error) {
			op := ops[1]
			if _, isTensor := a[1].(*Tensor); isTensor {
				op = ops[0]
			} else if kindOf(a[1]) == notNumber {
				return nil, typeErrorf("unsupported operand type(s) for %s: '%s' and 'Tensor'", name, typeName(a[1]))
			}
			return CallMode(m, op, a, nil)
		})
	}
	for name, builtin := range readingMethods {
		f := ir.FuncOf("builtins." + builtin)
		receiving(name, "self", func(m *libtorch.Mode, a []any) (any, error) { return Invoke(m, f, a, nil) })
	}
	receiving("__index__", "self", func(m *libtorch.Mode, a []any) (any, error) { return indexNumber(m, a[0]) })
}
