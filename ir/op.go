package ir

import "fmt"

// An Op is a node's opcode.
type Op uint8

// The six opcodes of torch.fx.
const (
	Placeholder  Op = iota // an argument of the call; target is its name
	GetAttr                // a parameter, buffer or submodule; target is its path
	CallFunction           // a function's result; target is the function
	CallModule             // a submodule's result; target is its path
	CallMethod             // a method's result; target is its name, the first argument the receiver
	Output                 // the result of the graph; its one argument
)

var opNames = [...]string{"placeholder", "get_attr", "call_function", "call_module", "call_method", "output"}

// String returns the name that torch.fx prints.
func (o Op) String() string {
	if int(o) < len(opNames) {
		return opNames[o]
	}
	return fmt.Sprintf("op %d", uint8(o))
}

// ParseOp reads an opcode's name.
func ParseOp(s string) (Op, error) {
	for i, name := range opNames {
		if s == name {
			return Op(i), nil
		}
	}
	return 0, Errorf(ErrAssertion, "op '%s' is not in _legal_ops", s)
}
