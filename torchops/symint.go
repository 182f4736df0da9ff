package torchops

import (
	"strconv"

	"github.com/torchfx-go/torchfx/ir"
)

// Int is a size argument: any Go integer or a [SymInt]. Anything else is an
// *[Error] when the call is made.
type Int = any

// A SymInt is an integer that may stand for a node: a size of a traced tensor.
// It is a struct that Go neither compares nor adds, so that code which would
// fix a traced size to a number does not compile. The zero value is 0.
type SymInt struct {
	_     [0]func() // not comparable
	n     int64
	value Value
}

// N returns the integer n.
func N[T ~int | ~int64](n T) SymInt { return SymInt{n: int64(n)} }

// Int returns the number. It panics with an *[Error] where n stands for a node:
// the number is not known before the graph runs.
func (n SymInt) Int() int {
	if n.value.recorder != nil {
		mustNot("SymInt.Int", ir.Errorf(ir.ErrTrace, noControlFlow+": a traced size has no number yet: use the methods of SymInt, or give the argument as concrete"))
	}
	return int(n.n)
}

// Traced reports whether n stands for a node.
func (n SymInt) Traced() bool { return n.value.recorder != nil }

// Add returns n + m.
func (n SymInt) Add(m Int) SymInt { return n.binary("add", m) }

// Sub returns n - m.
func (n SymInt) Sub(m Int) SymInt { return n.binary("sub", m) }

// Mul returns n * m.
func (n SymInt) Mul(m Int) SymInt { return n.binary("mul", m) }

// FloorDiv returns n // m, which rounds towards minus infinity as in Python.
func (n SymInt) FloorDiv(m Int) SymInt { return n.binary("floordiv", m) }

// Mod returns n % m, which has the sign of m as in Python.
func (n SymInt) Mod(m Int) SymInt { return n.binary("mod", m) }

// Neg returns -n.
func (n SymInt) Neg() SymInt {
	return As[SymInt](Dispatch(ir.CallFunction, ir.FuncOf("operator.neg"), []any{n}, nil))
}

func (n SymInt) binary(name string, m Int) SymInt {
	return As[SymInt](Dispatch(ir.CallFunction, ir.FuncOf("operator."+name), []any{n, m}, nil))
}

// String returns the number, or what a traced size is.
func (n SymInt) String() string {
	if n.Traced() {
		return "a traced size"
	}
	return strconv.FormatInt(n.n, 10)
}

// Pow returns n to the power m; m is at least 0.
func (n SymInt) Pow(m Int) SymInt { return n.binary("pow", m) }

// LShift returns n << m.
func (n SymInt) LShift(m Int) SymInt { return n.binary("lshift", m) }

// RShift returns n >> m.
func (n SymInt) RShift(m Int) SymInt { return n.binary("rshift", m) }

// And returns n & m, bit by bit.
func (n SymInt) And(m Int) SymInt { return n.binary("and_", m) }

// Or returns n | m, bit by bit.
func (n SymInt) Or(m Int) SymInt { return n.binary("or_", m) }

// Xor returns n ^ m, bit by bit.
func (n SymInt) Xor(m Int) SymInt { return n.binary("xor", m) }

// Eq returns n == m.
func (n SymInt) Eq(m Int) SymBool { return n.compare("eq", m) }

// Ne returns n != m.
func (n SymInt) Ne(m Int) SymBool { return n.compare("ne", m) }

// Lt returns n < m.
func (n SymInt) Lt(m Int) SymBool { return n.compare("lt", m) }

// Le returns n <= m.
func (n SymInt) Le(m Int) SymBool { return n.compare("le", m) }

// Gt returns n > m.
func (n SymInt) Gt(m Int) SymBool { return n.compare("gt", m) }

// Ge returns n >= m.
func (n SymInt) Ge(m Int) SymBool { return n.compare("ge", m) }

func (n SymInt) compare(name string, m Int) SymBool {
	return As[SymBool](Dispatch(ir.CallFunction, ir.FuncOf("operator."+name), []any{n, m}, nil))
}

// A SymBool is the result of a comparison of sizes, which may stand for a node.
type SymBool struct {
	_     [0]func() // not comparable
	b     bool
	value Value
}

// Traced reports whether b stands for a node.
func (b SymBool) Traced() bool { return b.value.recorder != nil }

// Bool returns the truth. It panics with an *[Error] where b stands for a node:
// a trace cannot follow control flow.
func (b SymBool) Bool() bool {
	if b.Traced() {
		return b.value.Bool()
	}
	return b.b
}

// String returns true, false, or what a traced truth is.
func (b SymBool) String() string {
	if b.Traced() {
		return "a traced truth"
	}
	return strconv.FormatBool(b.b)
}
