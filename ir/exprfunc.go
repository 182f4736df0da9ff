package ir

import "math"

// An exprFunc is a function that expressions may hold.
type exprFunc struct {
	name     string // as srepr writes it
	min, max int    // number of arguments
	prec     int    // SymPy's precedence, which decides where str puts parentheses
	boolean  bool   // the value is a truth value
	eval     func(a []number) (number, error)
}

// The precedences of sympy/printing/precedence.py and of the classes in
// torch/utils/_sympy/functions.py.
const (
	precIdentity   = 10
	precOr         = 20
	precAnd        = 30
	precRelational = 35
	precBitOr      = 36
	precBitXor     = 37
	precBitAnd     = 38
	precAdd        = 40
	precMul        = 50
	precPow        = 60
	precFunc       = 70
	precNot        = 100
	precAtom       = 1000
)

const manyArgs = 1 << 20

// The functions that have a notation of their own. FloorDiv, Mod and the like
// compute as Python does, for negative numbers too.
var (
	fnAdd = &exprFunc{"Add", 1, manyArgs, precAdd, false, fold(number.add)}
	fnMul = &exprFunc{"Mul", 1, manyArgs, precMul, false, fold(number.mul)}
	fnPow = &exprFunc{"Pow", 2, 2, precPow, false, binary(number.pow)}

	fnFloorDiv = &exprFunc{"FloorDiv", 2, 2, precRelational, false, binary(number.floorDiv)}
	fnCleanDiv = &exprFunc{"CleanDiv", 2, 2, precRelational, false, binary(number.floorDiv)}
	fnMod      = &exprFunc{"Mod", 2, 2, precRelational, false, binary(number.mod)}
	fnTrueDiv  = &exprFunc{"IntTrueDiv", 2, 2, precRelational, false, binary(number.trueDiv)}
	fnLShift   = &exprFunc{"LShift", 2, 2, precFunc, false, shift(true)}
	fnRShift   = &exprFunc{"RShift", 2, 2, precFunc, false, shift(false)}
	fnIdentity = &exprFunc{"Identity", 1, 1, precIdentity, false, unary(func(x number) (number, error) { return x, nil })}

	fnEq = &exprFunc{"Equality", 2, 2, precMul, true, comparison(func(c int, ok bool) bool { return ok && c == 0 })}
	fnNe = &exprFunc{"Unequality", 2, 2, precMul, true, comparison(func(c int, ok bool) bool { return !ok || c != 0 })}
	fnLt = &exprFunc{"StrictLessThan", 2, 2, precRelational, true, comparison(func(c int, ok bool) bool { return ok && c < 0 })}
	fnLe = &exprFunc{"LessThan", 2, 2, precRelational, true, comparison(func(c int, ok bool) bool { return ok && c <= 0 })}
	fnGt = &exprFunc{"StrictGreaterThan", 2, 2, precRelational, true, comparison(func(c int, ok bool) bool { return ok && c > 0 })}
	fnGe = &exprFunc{"GreaterThan", 2, 2, precRelational, true, comparison(func(c int, ok bool) bool { return ok && c >= 0 })}

	// And, Or and Where stop at the argument that decides; see Expr.eval.
	fnAnd   = &exprFunc{"And", 1, manyArgs, precAnd, true, nil}
	fnOr    = &exprFunc{"Or", 1, manyArgs, precOr, true, nil}
	fnWhere = &exprFunc{"Where", 3, 3, precRelational, false, nil}
	fnNot   = &exprFunc{"Not", 1, 1, precNot, true, unary(func(x number) (number, error) { return boolNumber(!x.truth()), nil })}

	fnMax = &exprFunc{"Max", 1, manyArgs, precAtom, false, fold(func(x, y number) (number, error) { return extreme(x, y, 1) })}
	fnMin = &exprFunc{"Min", 1, manyArgs, precAtom, false, fold(func(x, y number) (number, error) { return extreme(x, y, -1) })}

	fnBitAnd = &exprFunc{"BitwiseFn_bitwise_and", 2, 2, precBitAnd, false, bitwise(func(x, y int64) int64 { return x & y })}
	fnBitOr  = &exprFunc{"BitwiseFn_bitwise_or", 2, 2, precBitOr, false, bitwise(func(x, y int64) int64 { return x | y })}
	fnBitXor = &exprFunc{"BitwiseFn_bitwise_xor", 2, 2, precBitXor, false, bitwise(func(x, y int64) int64 { return x ^ y })}

	fnSqrt         = mathFunc("sqrt", math.Sqrt)
	fnAbs          = &exprFunc{"Abs", 1, 1, precFunc, false, unary(absNumber)}
	fnCeilToInt    = &exprFunc{"CeilToInt", 1, 1, precFunc, false, rounding(math.Ceil)}
	fnFloorToInt   = &exprFunc{"FloorToInt", 1, 1, precFunc, false, rounding(math.Floor)}
	fnTruncToInt   = &exprFunc{"TruncToInt", 1, 1, precFunc, false, rounding(math.Trunc)}
	fnRoundToInt   = &exprFunc{"RoundToInt", 1, 1, precFunc, false, rounding(math.RoundToEven)}
	fnRoundDecimal = &exprFunc{"RoundDecimal", 2, 2, precFunc, false, binary(roundTo)}
	fnToFloat      = &exprFunc{"ToFloat", 1, 1, precFunc, false, unary(func(x number) (number, error) { return floatNumber(x.float()), nil })}
)

// exprFuncs are the functions by the names that srepr and str write.
var exprFuncs = byName(
	fnAdd, fnMul, fnPow, fnFloorDiv, fnCleanDiv, fnMod, fnTrueDiv, fnLShift, fnRShift, fnIdentity,
	fnEq, fnNe, fnLt, fnLe, fnGt, fnGe, fnAnd, fnOr, fnNot, fnWhere, fnMax, fnMin, fnBitAnd, fnBitOr, fnBitXor,
	fnSqrt, fnAbs, fnCeilToInt, fnFloorToInt, fnTruncToInt, fnRoundToInt, fnRoundDecimal, fnToFloat,
	&exprFunc{"PythonMod", 2, 2, precRelational, false, binary(number.mod)},
	&exprFunc{"CeilDiv", 2, 2, precFunc, false, binary(ceilDiv)},
	&exprFunc{"ModularIndexing", 3, 3, precRelational, false, modularIndexing},
	&exprFunc{"FloatTrueDiv", 2, 2, precRelational, false, binary(floatTrueDiv)},
	&exprFunc{"PowByNatural", 2, 2, precMul, false, binary(powByNatural)},
	&exprFunc{"FloatPow", 2, 2, precPow, false, binary(func(x, y number) (number, error) { return floatPow(x.float(), y.float()) })},
	&exprFunc{"TruncToFloat", 1, 1, precFunc, false, unary(truncToFloat)},
	&exprFunc{"IsNonOverlappingAndDenseIndicator", 2, 2 * maxIndicatorDims, precFunc, false, denseIndicator},
	&exprFunc{"floor", 1, 1, precFunc, false, rounding(math.Floor)},
	&exprFunc{"ceiling", 1, 1, precFunc, false, rounding(math.Ceil)},
	mathFunc("cos", math.Cos), mathFunc("cosh", math.Cosh), mathFunc("sin", math.Sin), mathFunc("sinh", math.Sinh),
	mathFunc("tan", math.Tan), mathFunc("tanh", math.Tanh), mathFunc("asin", math.Asin), mathFunc("acos", math.Acos),
	mathFunc("atan", math.Atan), mathFunc("exp", math.Exp), mathFunc("log", math.Log), mathFunc("asinh", math.Asinh),
	mathFunc("log2", math.Log2),
)

// exprAliases are the names by which SymPy's str and Python's guards call the
// same functions.
var exprAliases = map[string]*exprFunc{
	"Eq": fnEq, "Ne": fnNe, "Lt": fnLt, "Le": fnLe, "Gt": fnGt, "Ge": fnGe,
	"max": fnMax, "min": fnMin, "abs": fnAbs, "int": fnTruncToInt, "float": fnToFloat,
	"torch.sym_max": fnMax, "torch.sym_min": fnMin, "torch.sym_float": fnToFloat, "torch.sym_int": fnTruncToInt,
	"torch.sym_not": fnNot, "torch.sym_ite": fnWhere, "torch._sym_sqrt": fnSqrt,
	"round": fnRoundToInt, "math.floor": fnFloorToInt, "math.ceil": fnCeilToInt, "math.trunc": fnTruncToInt,
}

func byName(funcs ...*exprFunc) map[string]*exprFunc {
	m := make(map[string]*exprFunc, len(funcs))
	for _, f := range funcs {
		m[f.name] = f
	}
	return m
}

// exprFuncNamed returns the function that a text calls name, nil if there is
// none. "math.cos" and "torch._sym_cos" are OpaqueUnaryFn_cos.
func exprFuncNamed(name string, args int) *exprFunc {
	if name == "round" && args == 2 {
		return fnRoundDecimal
	}
	if f, ok := exprFuncs[name]; ok {
		return f
	}
	if f, ok := exprAliases[name]; ok {
		return f
	}
	for _, prefix := range []string{"math.", "torch._sym_"} {
		if len(name) > len(prefix) && name[:len(prefix)] == prefix {
			return exprFuncs["OpaqueUnaryFn_"+name[len(prefix):]]
		}
	}
	return nil
}

func unary(f func(number) (number, error)) func([]number) (number, error) {
	return func(a []number) (number, error) { return f(a[0]) }
}

func binary(f func(x, y number) (number, error)) func([]number) (number, error) {
	return func(a []number) (number, error) { return f(a[0], a[1]) }
}

func fold(f func(x, y number) (number, error)) func([]number) (number, error) {
	return func(a []number) (r number, err error) {
		r = a[0]
		for i := 1; i < len(a) && err == nil; i++ {
			r, err = f(r, a[i])
		}
		return r, err
	}
}

func comparison(holds func(order int, ordered bool) bool) func([]number) (number, error) {
	return func(a []number) (number, error) { return boolNumber(holds(a[0].compare(a[1]))), nil }
}

func rounding(f func(float64) float64) func([]number) (number, error) {
	return func(a []number) (number, error) { return a[0].toInt(f) }
}

// mathFunc is one of PyTorch's OpaqueUnaryFn: a function of Python's math
// module, which raises where the result would be no number. Go's functions may
// differ from C's in the last bit; the square root does not.
func mathFunc(name string, f func(float64) float64) *exprFunc {
	return &exprFunc{"OpaqueUnaryFn_" + name, 1, 1, precFunc, false, func(a []number) (number, error) {
		x := a[0].float()
		y := f(x)
		switch {
		case math.IsNaN(y) && !math.IsNaN(x), math.IsInf(y, -1) && !math.IsInf(x, 0):
			return number{}, errDomain
		case math.IsInf(y, 1) && !math.IsInf(x, 0):
			return number{}, errOverflow
		}
		return floatNumber(y), nil
	}}
}

func bitwise(f func(x, y int64) int64) func([]number) (number, error) {
	return func(a []number) (number, error) {
		x, y := a[0], a[1]
		if x.kind == kindBool && y.kind == kindBool {
			return boolNumber(f(x.n, y.n) != 0), nil
		}
		if x, y = x.asInt(), y.asInt(); x.kind != kindInt || y.kind != kindInt {
			return number{}, Errorf(ErrType, "bitwise: expected integers")
		}
		return intNumber(f(x.n, y.n)), nil
	}
}

func shift(left bool) func([]number) (number, error) {
	return func(a []number) (number, error) {
		x, y := a[0].asInt(), a[1].asInt()
		switch {
		case x.kind != kindInt || y.kind != kindInt:
			return number{}, Errorf(ErrType, "shift: expected integers")
		case y.n < 0:
			return number{}, Errorf(ErrValue, "negative shift count")
		case !left:
			return intNumber(x.n >> min(y.n, 63)), nil
		case x.n == 0:
			return x, nil
		case y.n > 62:
			return number{}, errOverflow
		}
		n, err := mulInt(x.n, 1<<y.n)
		return intNumber(n), err
	}
}

// extreme returns the larger number for side 1, the smaller for -1, the first
// of equal ones.
func extreme(x, y number, side int) (number, error) {
	if order, ordered := y.compare(x); ordered && order == side {
		return y, nil
	}
	return x, nil
}

func absNumber(x number) (number, error) {
	if x = x.asInt(); x.sign() >= 0 && !math.Signbit(x.f) {
		return x, nil
	}
	if x.n == math.MinInt64 {
		return number{}, errOverflow
	}
	return x.neg(), nil
}

// ceilDiv rounds the quotient of two integers up, as PyTorch writes it:
// (x + y - 1) // y.
func ceilDiv(x, y number) (number, error) {
	up, err := y.add(intNumber(-1))
	if err == nil {
		x, err = x.add(up)
	}
	if err != nil {
		return number{}, err
	}
	return x.floorDiv(y)
}

func modularIndexing(a []number) (number, error) {
	q, err := a[0].floorDiv(a[1])
	if err != nil {
		return number{}, err
	}
	return q.mod(a[2])
}

func floatTrueDiv(x, y number) (number, error) {
	return floatNumber(x.float()).trueDiv(floatNumber(y.float()))
}

func powByNatural(x, y number) (number, error) {
	if y.sign() < 0 {
		return number{}, Errorf(ErrValue, "exponent must be non-negative")
	}
	return x.pow(y)
}

func truncToFloat(x number) (number, error) { return floatNumber(math.Trunc(x.float())), nil }

func roundTo(x, digits number) (number, error) {
	if digits = digits.asInt(); digits.kind != kindInt {
		return number{}, Errorf(ErrType, "round: expected a whole number of digits")
	}
	return floatNumber(roundDecimal(x.float(), digits.n)), nil
}

const maxIndicatorDims = 64

// denseIndicator takes the sizes, then the strides of a tensor, and is 1 where
// its elements fill their memory without gaps or overlaps, else 0. Same rule as
// eval_is_non_overlapping_and_dense in torch/fx/experimental/symbolic_shapes.py.
func denseIndicator(a []number) (number, error) {
	dim := len(a) / 2
	if len(a)%2 != 0 {
		return number{}, Errorf(ErrType, "IsNonOverlappingAndDenseIndicator: expected as many strides as sizes")
	}
	for i := range a {
		if a[i] = a[i].asInt(); a[i].kind != kindInt {
			return number{}, Errorf(ErrType, "IsNonOverlappingAndDenseIndicator: expected integers")
		}
	}
	sizes, strides := a[:dim], a[dim:]
	if dim == 1 {
		return indicator(strides[0].n == 1 || sizes[0].n < 2), nil
	}
	order := make([]int, dim)
	for i := range order {
		order[i] = i
		for j := i; j > 0 && strides[order[j]].n < strides[order[j-1]].n; j-- {
			order[j], order[j-1] = order[j-1], order[j]
		}
	}
	expected := int64(1)
	for _, i := range order {
		if sizes[i].n == 1 {
			continue
		}
		if strides[i].n != expected {
			return indicator(false), nil
		}
		var err error
		if expected, err = mulInt(expected, sizes[i].n); err != nil {
			return number{}, err
		}
	}
	return indicator(true), nil
}

func indicator(b bool) number { return intNumber(boolNumber(b).n) }
