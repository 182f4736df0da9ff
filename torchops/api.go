package torchops

import "github.com/torchfx-go/torchfx/ir"

// What the generated functions and methods are made of. They take what Python's
// have no default for, and options behind it: further arguments in Python's order,
// then keywords by [Kw], and a scope for the results by [In].

// Ints is a list of integers, sizes or dimensions: a []int, a []Int that holds
// symbolic sizes, or one integer where Python takes one.
type Ints = any

// callFunction calls a function of Python by the name that graphs have.
func callFunction(name string, args ...any) any {
	args, kw := splitKwargs(args)
	return Dispatch(ir.CallFunction, ir.FuncOf(name), args, kw)
}

// callMethod calls a method by its name.
func (x *Tensor) callMethod(name string, args ...any) any {
	args, kw := splitKwargs(args)
	return Dispatch(ir.CallMethod, name, append([]any{x}, args...), kw)
}

// with puts options behind arguments.
func with(options []any, args ...any) []any { return append(args, options...) }

// anys makes arguments of tensors.
func anys(tensors []*Tensor) []any {
	args := make([]any, len(tensors))
	for i, t := range tensors {
		args[i] = t
	}
	return args
}
