package torchops

import (
	"maps"
	"math"
	"math/big"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
)

// Python's math module. On a tensor the functions read its one element, as
// Python does through __float__.

// realMath are the functions from one float to a float beside those of the C library:
// a NaN from a number is a domain error, an infinity from a finite one a range error.
var realMath = map[string]func(float64) float64{
	"sqrt": math.Sqrt, "fabs": math.Abs,
	"degrees": func(x float64) float64 { return x * (180 / math.Pi) },
	"radians": func(x float64) float64 { return x * (math.Pi / 180) },
}

func init() {
	maps.Copy(realMath, libtorch.CMath)
	delete(realMath, "log") // has a base, below
	for name, f := range realMath {
		define("math."+name, "x", func(m *libtorch.Mode, a []any) (any, error) { return callMath(m, f, a[0]) })
	}
	for name, f := range map[string]func(float64) float64{"ceil": math.Ceil, "floor": math.Floor, "trunc": math.Trunc} {
		define("math."+name, "x", func(m *libtorch.Mode, a []any) (any, error) {
			if _, isTensor := a[0].(*Tensor); isTensor && name == "trunc" {
				return nil, ir.Errorf(ir.ErrType, "type Tensor doesn't define __trunc__ method")
			}
			v, err := realNumber(m, a[0])
			if err != nil {
				return nil, err
			}
			if _, isFloat := v.(float64); !isFloat {
				return asInt(v), nil
			}
			return floatToInt(f(v.(float64)))
		})
	}
	for name, f := range map[string]func(x float64) bool{
		"isnan": math.IsNaN, "isinf": func(x float64) bool { return math.IsInf(x, 0) },
		"isfinite": func(x float64) bool { return !math.IsInf(x, 0) && !math.IsNaN(x) },
	} {
		define("math."+name, "x", func(m *libtorch.Mode, a []any) (any, error) {
			v, err := realNumber(m, a[0])
			return err == nil && f(asFloat(v)), err
		})
	}
	for name, f := range map[string]func(x, y float64) (any, error){
		"pow": mathPow, "atan2": func(x, y float64) (any, error) { return libtorch.Atan2(x, y), nil },
		"copysign": func(x, y float64) (any, error) { return math.Copysign(x, y), nil },
		"fmod": func(x, y float64) (any, error) {
			if y == 0 && !math.IsNaN(x) || math.IsInf(x, 0) && !math.IsNaN(y) {
				return nil, errDomain
			}
			return math.Mod(x, y), nil
		},
		"remainder": func(x, y float64) (any, error) {
			if y == 0 && !math.IsNaN(x) || math.IsInf(x, 0) && !math.IsNaN(y) {
				return nil, errDomain
			}
			return math.Remainder(x, y), nil
		},
	} {
		define("math."+name, "x, y", func(m *libtorch.Mode, a []any) (any, error) {
			x, err := realNumber(m, a[0])
			if err != nil {
				return nil, err
			}
			y, err := realNumber(m, a[1])
			if err != nil {
				return nil, err
			}
			return f(asFloat(x), asFloat(y))
		})
	}
	define("math.log", "x, base?", func(m *libtorch.Mode, a []any) (any, error) {
		x, err := callMath(m, logPositive, a[0])
		if err != nil || a[1] == nil {
			return x, err
		}
		base, err := callMath(m, logPositive, a[1])
		if err != nil {
			return nil, err
		}
		return divNumbers.floats(x.(float64), base.(float64))
	})
	define("math.gcd", "*integers", func(m *libtorch.Mode, a []any) (any, error) {
		gcd := new(big.Int)
		for _, v := range a[0].([]any) {
			n, err := indexNumber(m, v)
			if err != nil {
				return nil, err
			}
			gcd.GCD(nil, nil, gcd, new(big.Int).Abs(big.NewInt(n)))
		}
		if !gcd.IsInt64() {
			return nil, errTooLarge("gcd")
		}
		return gcd.Int64(), nil
	})
	define("math.isqrt", "n", func(m *libtorch.Mode, a []any) (any, error) {
		n, err := indexNumber(m, a[0])
		if err != nil {
			return nil, err
		}
		if n < 0 {
			return nil, ir.Errorf(ir.ErrValue, "isqrt() argument must be nonnegative")
		}
		return new(big.Int).Sqrt(big.NewInt(n)).Int64(), nil
	})
}

var (
	errDomain = ir.Errorf(ir.ErrValue, "math domain error")
	errRange  = ir.Errorf(ir.ErrValue, "math range error")
)

// logPositive makes the logarithm of 0 a domain error, as Python has it.
func logPositive(x float64) float64 {
	if x == 0 {
		return math.NaN()
	}
	return log(x)
}

func mathPow(x, y float64) (any, error) {
	p := pow(x, y)
	switch finite := !math.IsInf(x, 0) && !math.IsInf(y, 0) && !math.IsNaN(x) && !math.IsNaN(y); {
	case finite && (math.IsNaN(p) || x == 0 && y < 0):
		return nil, errDomain
	case finite && math.IsInf(p, 0):
		return nil, errRange
	}
	return p, nil
}

// callMath applies f and tells errors as CPython's math_1 does.
func callMath(m *libtorch.Mode, f func(float64) float64, v any) (any, error) {
	n, err := realNumber(m, v)
	if err != nil {
		return nil, err
	}
	x := asFloat(n)
	switch y := f(x); {
	case math.IsNaN(y) && !math.IsNaN(x):
		return nil, errDomain
	case math.IsInf(y, 0) && !math.IsInf(x, 0):
		// log2(0), atanh(1): poles are outside the domain; the rest grew too large
		if math.Abs(x) <= 1 {
			return nil, errDomain
		}
		return nil, errRange
	default:
		return y, nil
	}
}

// realNumber is what __float__ can be asked for: a bool, an int, a float, or
// the one element of a tensor.
func realNumber(m *libtorch.Mode, v any) (any, error) {
	t, fromTensor := v.(*Tensor)
	if fromTensor {
		info, err := t.info()
		if err == nil && info.Numel != 1 {
			err = ir.Errorf(ir.ErrValue, "only one element tensors can be converted to Python scalars")
		}
		if err != nil {
			return nil, err
		}
		if v, err = item(m, t); err != nil {
			return nil, err
		}
	}
	if c, isComplex := v.(complex128); isComplex && fromTensor {
		if imag(c) != 0 {
			return nil, ir.Errorf(ir.ErrRuntime, "value cannot be converted to type double without overflow")
		}
		v = real(c)
	}
	if k := kindOf(v); k == notNumber || k == complexKind {
		return nil, ir.Errorf(ir.ErrType, "must be real number, not %s", typeName(v))
	}
	return v, nil
}

// floatToInt is int() of a whole float.
func floatToInt(x float64) (any, error) {
	switch {
	case math.IsNaN(x):
		return nil, ir.Errorf(ir.ErrValue, "cannot convert float NaN to integer")
	case math.IsInf(x, 0):
		return nil, ir.Errorf(ir.ErrValue, "cannot convert float infinity to integer")
	case x < -1<<63 || x >= 1<<63:
		return nil, errTooLarge("int of a float")
	}
	return int64(x), nil
}
