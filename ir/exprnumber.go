package ir

import (
	"cmp"
	"math"
	"math/big"
	"math/bits"
	"strconv"
)

// A number is a value of an expression: an integer of 64 bits, an exact
// fraction, a float or a truth value. Arithmetic that leaves 64 bits is an
// error, never a wrong number.
type number struct {
	kind numberKind
	n, d int64 // integer n; fraction n/d in lowest terms, d > 1; 0 or 1 for a truth value
	f    float64
}

type numberKind uint8

const (
	kindInt numberKind = iota
	kindFraction
	kindFloat
	kindBool
)

func intNumber(n int64) number     { return number{kind: kindInt, n: n} }
func floatNumber(f float64) number { return number{kind: kindFloat, f: f} }

func boolNumber(b bool) number {
	if b {
		return number{kind: kindBool, n: 1}
	}
	return number{kind: kindBool}
}

// fraction returns n/d in lowest terms.
func fraction(n, d int64) (number, error) {
	if d == 0 {
		return number{}, errDivision
	}
	g := gcd(magnitude(n), magnitude(d))
	if g > 1 && g <= math.MaxInt64 {
		n, d = n/int64(g), d/int64(g)
	}
	if d < 0 {
		if n == math.MinInt64 || d == math.MinInt64 {
			return number{}, errOverflow
		}
		n, d = -n, -d
	}
	if d == 1 {
		return intNumber(n), nil
	}
	return number{kind: kindFraction, n: n, d: d}, nil
}

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func magnitude(n int64) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}

var (
	errOverflow = Errorf(ErrValue, "the result needs more than 64 bits")
	errDivision = Errorf(ErrZeroDivision, "division by zero")
	errDomain   = Errorf(ErrValue, "math domain error")
)

// numberOf takes an Int, Float or Bool.
func numberOf(a Arg) (number, bool) {
	switch a := a.(type) {
	case Int:
		return intNumber(int64(a)), true
	case Float:
		return floatNumber(float64(a)), true
	case Bool:
		return boolNumber(bool(a)), true
	}
	return number{}, false
}

// arg returns the number as an argument; a fraction becomes a float.
func (x number) arg() Arg {
	switch x.kind {
	case kindInt:
		return Int(x.n)
	case kindBool:
		return Bool(x.n != 0)
	}
	return Float(x.float())
}

// srepr spells what is no float in SymPy's srepr.
func (x number) srepr() string {
	switch x.kind {
	case kindInt:
		return "Integer(" + strconv.FormatInt(x.n, 10) + ")"
	case kindFraction:
		return "Rational(" + strconv.FormatInt(x.n, 10) + ", " + strconv.FormatInt(x.d, 10) + ")"
	}
	return strconv.FormatBool(x.n != 0)
}

// asInt makes the truth values the integers that they are in Python.
func (x number) asInt() number {
	if x.kind == kindBool {
		return intNumber(x.n)
	}
	return x
}

// den returns the denominator of an integer or a fraction.
func (x number) den() int64 {
	if x.kind == kindFraction {
		return x.d
	}
	return 1
}

// float returns the nearest float64.
func (x number) float() float64 {
	switch x.kind {
	case kindFloat:
		return x.f
	case kindFraction:
		f, _ := big.NewRat(x.n, x.d).Float64()
		return f
	}
	return float64(x.n)
}

func (x number) truth() bool { return x.n != 0 || x.kind == kindFloat && x.f != 0 }

func (x number) sign() int {
	if x.kind == kindFloat {
		return cmp.Compare(x.f, 0)
	}
	return cmp.Compare(x.n, 0)
}

// neg changes the sign of a number, whose magnitude is at most 1<<63 - 1. Only
// a float gets a float's sign: -0.0 beside an integer would be a sign of its own.
func (x number) neg() number {
	if x.isFloat() {
		x.f = -x.f
	} else {
		x.n = -x.n
	}
	return x
}

func (x number) isFloat() bool { return x.kind == kindFloat }

// compare orders two numbers exactly; with a NaN nothing holds.
func (x number) compare(y number) (order int, ordered bool) {
	if x.isFloat() && math.IsNaN(x.f) || y.isFloat() && math.IsNaN(y.f) {
		return 0, false
	}
	if !x.isFloat() && !y.isFloat() && x.den() == 1 && y.den() == 1 {
		return cmp.Compare(x.n, y.n), true
	}
	for _, v := range []number{x, y} {
		if v.isFloat() && math.IsInf(v.f, 0) {
			return cmp.Compare(x.float(), y.float()), true
		}
	}
	return x.rat().Cmp(y.rat()), true
}

// rat returns a finite number exactly.
func (x number) rat() *big.Rat {
	if x.isFloat() {
		r := new(big.Rat).SetFloat64(x.f)
		if r == nil {
			return new(big.Rat)
		}
		return r
	}
	return big.NewRat(x.n, x.den())
}

func (x number) add(y number) (number, error) {
	x, y = x.asInt(), y.asInt()
	switch {
	case x.isFloat() || y.isFloat():
		return floatNumber(x.float() + y.float()), nil
	case x.kind == kindInt && y.kind == kindInt:
		n, err := addInt(x.n, y.n)
		return intNumber(n), err
	}
	return fromRat(new(big.Rat).Add(x.rat(), y.rat()))
}

func (x number) mul(y number) (number, error) {
	x, y = x.asInt(), y.asInt()
	switch {
	case x.isFloat() || y.isFloat():
		return floatNumber(x.float() * y.float()), nil
	case x.kind == kindInt && y.kind == kindInt:
		n, err := mulInt(x.n, y.n)
		return intNumber(n), err
	}
	return fromRat(new(big.Rat).Mul(x.rat(), y.rat()))
}

func fromRat(r *big.Rat) (number, error) {
	if !r.Num().IsInt64() || !r.Denom().IsInt64() {
		return number{}, errOverflow
	}
	return fraction(r.Num().Int64(), r.Denom().Int64())
}

func addInt(a, b int64) (int64, error) {
	if c := a + b; (c > a) == (b > 0) {
		return c, nil
	}
	return 0, errOverflow
}

func mulInt(a, b int64) (int64, error) {
	hi, lo := bits.Mul64(magnitude(a), magnitude(b))
	negative := (a < 0) != (b < 0)
	switch {
	case hi != 0 || lo > 1<<63 || lo == 1<<63 && !negative:
		return 0, errOverflow
	case negative:
		return -int64(lo), nil
	}
	return int64(lo), nil
}

// floorDiv and mod are Python's // and %: the quotient is rounded down, the
// remainder has the divisor's sign.
func (x number) floorDiv(y number) (number, error) {
	x, y = x.asInt(), y.asInt()
	if y.sign() == 0 {
		return number{}, errDivision
	}
	switch {
	case x.isFloat() || y.isFloat():
		q, _ := floatDivMod(x.float(), y.float())
		return floatNumber(q), nil
	case x.kind == kindInt && y.kind == kindInt:
		if x.n == math.MinInt64 && y.n == -1 {
			return number{}, errOverflow
		}
		q := x.n / y.n
		if x.n%y.n != 0 && (x.n < 0) != (y.n < 0) {
			q--
		}
		return intNumber(q), nil
	}
	return floorRat(new(big.Rat).Quo(x.rat(), y.rat()))
}

func (x number) mod(y number) (number, error) {
	x, y = x.asInt(), y.asInt()
	if y.sign() == 0 {
		return number{}, errDivision
	}
	switch {
	case x.isFloat() || y.isFloat():
		_, m := floatDivMod(x.float(), y.float())
		return floatNumber(m), nil
	case x.kind == kindInt && y.kind == kindInt:
		if y.n == -1 {
			return intNumber(0), nil
		}
		m := x.n % y.n
		if m != 0 && (m < 0) != (y.n < 0) {
			m += y.n
		}
		return intNumber(m), nil
	}
	q, err := floorRat(new(big.Rat).Quo(x.rat(), y.rat()))
	if err != nil {
		return number{}, err
	}
	product := new(big.Rat).Mul(q.rat(), y.rat())
	return fromRat(product.Sub(x.rat(), product))
}

func floorRat(r *big.Rat) (number, error) {
	q := new(big.Int).Div(r.Num(), r.Denom()) // Euclidean, and the denominator is positive: rounds down
	if !q.IsInt64() {
		return number{}, errOverflow
	}
	return intNumber(q.Int64()), nil
}

// floatDivMod is float_divmod of CPython's floatobject.c.
func floatDivMod(x, y float64) (floor, mod float64) {
	mod = math.Mod(x, y)
	div := (x - mod) / y
	if mod != 0 {
		if (y < 0) != (mod < 0) {
			mod += y
			div--
		}
	} else {
		mod = math.Copysign(0, y)
	}
	if div == 0 {
		return math.Copysign(0, x/y), mod
	}
	if floor = math.Floor(div); div-floor > 0.5 {
		floor++
	}
	return floor, mod
}

// trueDiv is Python's /: a float, correctly rounded for integers of any size.
func (x number) trueDiv(y number) (number, error) {
	x, y = x.asInt(), y.asInt()
	if y.sign() == 0 {
		return number{}, errDivision
	}
	if x.isFloat() || y.isFloat() {
		return floatNumber(x.float() / y.float()), nil
	}
	f, _ := new(big.Rat).Quo(x.rat(), y.rat()).Float64()
	return floatNumber(f), nil
}

// pow is SymPy's Pow: exact for integers, a fraction for a negative exponent,
// a root for a fractional one.
func (x number) pow(y number) (number, error) {
	x, y = x.asInt(), y.asInt()
	if x.isFloat() || y.kind != kindInt {
		if y == (number{kind: kindFraction, n: 1, d: 2}) && x.kind == kindInt && x.n >= 0 {
			if r := int64(math.Sqrt(float64(x.n))); r*r == x.n {
				return intNumber(r), nil
			}
		}
		return floatPow(x.float(), y.float())
	}
	n, err := powInt(x.n, int64(magnitude(y.n)))
	if err != nil {
		return number{}, err
	}
	d, err := powInt(x.den(), int64(magnitude(y.n)))
	if err != nil {
		return number{}, err
	}
	if y.n < 0 {
		n, d = d, n
	}
	return fraction(n, d)
}

func powInt(base, exp int64) (int64, error) {
	if exp < 0 {
		return 0, errOverflow
	}
	result, err := int64(1), error(nil)
	if base == 0 || base == 1 || base == -1 {
		exp = min(exp, 2-exp&1) // only whether it is zero, odd or even counts
	}
	for ; exp > 0 && err == nil; exp-- { // 63 rounds at most, then it overflows
		result, err = mulInt(result, base)
	}
	return result, err
}

// floatPow is Python's float ** float, without its complex results.
func floatPow(x, y float64) (number, error) {
	switch {
	case x == 0 && y < 0:
		return number{}, errDivision
	case x < 0 && y != math.Trunc(y) && !math.IsInf(y, 0):
		return number{}, errDomain
	}
	r := math.Pow(x, y)
	if math.IsInf(r, 0) && !math.IsInf(x, 0) && !math.IsInf(y, 0) {
		return number{}, errOverflow
	}
	return floatNumber(r), nil
}
