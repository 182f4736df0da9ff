package ir

import (
	"slices"
	"strconv"
)

// An Expr is an expression over symbols: a size of a program with dynamic
// shapes, or a condition on sizes. It is immutable and safe for concurrent use.
//
// The functions are those of torch.utils._sympy.functions and the few of SymPy
// that torch.export writes. An Expr is data: evaluating one computes with
// numbers and never runs code of the file that it came from.
type Expr struct {
	fn     *exprFunc // what is applied to args; nil for a symbol and a number
	args   []*Expr
	symbol string // of a symbol
	assume string // of a symbol: SymPy's assumptions as written, "positive=True, integer=True"
	value  number // of a number
	text   string // of a Float: its digits as written; of an infinity: its name
	bits   int    // of a Float: its precision, 53 for float64
	depth  int    // of the tree below
}

// SymbolExpr returns the expression that is the symbol called name, an integer.
func SymbolExpr(name string) *Expr { return &Expr{symbol: name, assume: "integer=True"} }

// IntExpr returns the expression that is the number n.
func IntExpr(n int64) *Expr { return &Expr{value: intNumber(n)} }

// Symbol returns the name, where e is one symbol and nothing else.
func (e *Expr) Symbol() (name string, ok bool) { return e.symbol, e.symbol != "" }

// Const returns the number, where e is one: an Int, Float or Bool.
func (e *Expr) Const() (value Arg, ok bool) {
	if !e.isNumber() {
		return nil, false
	}
	return e.value.arg(), true
}

// Symbols returns the names of the symbols of e, each once, in order of first
// mention.
func (e *Expr) Symbols() []string {
	var names []string
	e.walk(func(x *Expr) {
		if x.symbol != "" && !slices.Contains(names, x.symbol) {
			names = append(names, x.symbol)
		}
	})
	return names
}

func (e *Expr) walk(f func(*Expr)) {
	f(e)
	for _, a := range e.args {
		a.walk(f)
	}
}

// Equal reports whether e and o are the same expression, written the same way:
// a + b is not b + a. Assumptions about symbols do not count.
func (e *Expr) Equal(o *Expr) bool {
	if e == nil || o == nil {
		return e == o
	}
	return e.fn == o.fn && e.symbol == o.symbol && e.value == o.value && slices.EqualFunc(e.args, o.args, (*Expr).Equal)
}

func (e *Expr) isNumber() bool { return e.fn == nil && e.symbol == "" }

// isInt reports whether e is the integer n.
func (e *Expr) isInt(n int64) bool { return e.isNumber() && e.value == intNumber(n) }

// negative reports whether e is a number below zero.
func (e *Expr) negative() bool { return e.isNumber() && e.value.kind != kindBool && e.value.sign() < 0 }

// apply makes a function of args, as it is written.
func apply(fn *exprFunc, args ...*Expr) *Expr {
	e := &Expr{fn: fn, args: args}
	for _, a := range args {
		e.depth = max(e.depth, a.depth+1)
	}
	return e
}

// negate returns -e: a number changes its sign, a product gets a factor -1.
func negate(e *Expr) *Expr {
	switch {
	case e.isNumber() && e.value.kind != kindBool:
		n := *e
		n.value = e.value.neg()
		if e.text != "" {
			n.text = "-" + e.text
			if e.text[0] == '-' {
				n.text = e.text[1:]
			}
		}
		return &n
	case e.fn == fnMul && e.args[0].isInt(-1) && len(e.args) == 2:
		return e.args[1]
	case e.fn == fnMul && e.args[0].isNumber() && e.args[0].text == "":
		return apply(fnMul, append([]*Expr{negate(e.args[0])}, e.args[1:]...)...)
	case e.fn == fnMul:
		return apply(fnMul, append([]*Expr{IntExpr(-1)}, e.args...)...)
	}
	return apply(fnMul, IntExpr(-1), e)
}

// Srepr returns what SymPy's srepr does, "Mul(Integer(2), Symbol('s27'))": the
// text that torch.export writes for a symbolic size. What came in this form
// comes out unchanged.
func (e *Expr) Srepr() string { return string(e.appendSrepr(nil)) }

func (e *Expr) appendSrepr(b []byte) []byte {
	switch {
	case e.symbol != "":
		b = append(append(b, "Symbol("...), Repr(Str(e.symbol))...)
		if e.assume != "" {
			b = append(append(b, ", "...), e.assume...)
		}
		return append(b, ')')
	case e.fn == nil && e.bits > 0:
		b = append(append(append(b, "Float('"...), e.text...), "', precision="...)
		return append(strconv.AppendInt(b, int64(e.bits), 10), ')')
	case e.fn == nil && e.text != "":
		return append(b, e.text...)
	case e.fn == nil:
		return append(b, e.value.srepr()...)
	}
	b = append(append(b, e.fn.name...), '(')
	for i, a := range e.args {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = a.appendSrepr(b)
	}
	return append(b, ')')
}
