package ir

import (
	"errors"
	"fmt"
)

// A Class is a kind of failure, for errors.Is. The first group are Python's
// exception classes, so that a parity test can compare what was raised; the
// second are this project's own.
type Class struct{ name string }

// Error returns the class in words.
func (c *Class) Error() string { return c.name }

// Python's classes.
var (
	ErrType           = &Class{"type error"}
	ErrValue          = &Class{"value error"}
	ErrIndex          = &Class{"index error"}
	ErrKey            = &Class{"key error"}
	ErrAttribute      = &Class{"attribute error"}
	ErrAssertion      = &Class{"assertion error"}
	ErrNotImplemented = &Class{"not implemented"}
	ErrRuntime        = &Class{"runtime error"}
	ErrZeroDivision   = &Class{"zero division"}
	ErrLinAlg         = &Class{"linear algebra error"}
	ErrOutOfMemory    = &Class{"out of memory"}
	ErrSyntax         = &Class{"syntax error"}
)

// The project's own classes.
var (
	ErrClosed      = &Class{"closed"}           // a tensor or program used after Close
	ErrCancelled   = &Class{"cancelled"}        // a context ended a run
	ErrUnsupported = &Class{"unsupported"}      // an operator, dtype, device or feature that is not there
	ErrVersion     = &Class{"version mismatch"} // a library or file of another version
	ErrFormat      = &Class{"bad format"}       // a file that is not what it should be
	ErrTrace       = &Class{"trace error"}      // model code that cannot be traced
	ErrInput       = &Class{"bad input"}        // arguments that a program's signature or guards refuse
	ErrMissing     = &Class{"not installed"}    // libtorch, a compiler, a library that has to be set up
)

// classed is an error text under a class, with an optional cause.
type classed struct {
	class *Class
	text  string
	cause error
}

func (e *classed) Error() string { return e.text }

func (e *classed) Unwrap() []error {
	if e.cause == nil {
		return []error{e.class}
	}
	return []error{e.class, e.cause}
}

// Errorf makes an error of a class. As in fmt.Errorf, %w keeps a cause. The
// class is for errors.Is and is not printed.
func Errorf(class *Class, format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	return &classed{class, err.Error(), errors.Unwrap(err)}
}

// ClassOf returns the first class that err wraps, or nil.
func ClassOf(err error) *Class {
	if c, ok := errors.AsType[*Class](err); ok {
		return c
	}
	return nil
}
