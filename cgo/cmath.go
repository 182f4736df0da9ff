package libtorch

// #cgo linux LDFLAGS: -lm
// #include <math.h>
import "C"

// CMath are the functions of one number of C's math.h, as the platform's library
// computes them: Python's math module and the scalar code of libtorch call the same.
// Go's own differ in the last bits.
var CMath = map[string]func(float64) float64{
	"sin":   func(x float64) float64 { return float64(C.sin(C.double(x))) },
	"cos":   func(x float64) float64 { return float64(C.cos(C.double(x))) },
	"tan":   func(x float64) float64 { return float64(C.tan(C.double(x))) },
	"asin":  func(x float64) float64 { return float64(C.asin(C.double(x))) },
	"acos":  func(x float64) float64 { return float64(C.acos(C.double(x))) },
	"atan":  func(x float64) float64 { return float64(C.atan(C.double(x))) },
	"sinh":  func(x float64) float64 { return float64(C.sinh(C.double(x))) },
	"cosh":  func(x float64) float64 { return float64(C.cosh(C.double(x))) },
	"tanh":  func(x float64) float64 { return float64(C.tanh(C.double(x))) },
	"asinh": func(x float64) float64 { return float64(C.asinh(C.double(x))) },
	"acosh": func(x float64) float64 { return float64(C.acosh(C.double(x))) },
	"atanh": func(x float64) float64 { return float64(C.atanh(C.double(x))) },
	"exp":   func(x float64) float64 { return float64(C.exp(C.double(x))) },
	"exp2":  func(x float64) float64 { return float64(C.exp2(C.double(x))) },
	"expm1": func(x float64) float64 { return float64(C.expm1(C.double(x))) },
	"log":   func(x float64) float64 { return float64(C.log(C.double(x))) },
	"log2":  func(x float64) float64 { return float64(C.log2(C.double(x))) },
	"log10": func(x float64) float64 { return float64(C.log10(C.double(x))) },
	"log1p": func(x float64) float64 { return float64(C.log1p(C.double(x))) },
	"cbrt":  func(x float64) float64 { return float64(C.cbrt(C.double(x))) },
	"erf":   func(x float64) float64 { return float64(C.erf(C.double(x))) },
	"erfc":  func(x float64) float64 { return float64(C.erfc(C.double(x))) },
}

// Pow is C's pow.
func Pow(x, y float64) float64 { return float64(C.pow(C.double(x), C.double(y))) }

// Hypot is C's hypot.
func Hypot(x, y float64) float64 { return float64(C.hypot(C.double(x), C.double(y))) }

// Atan2 is C's atan2.
func Atan2(y, x float64) float64 { return float64(C.atan2(C.double(y), C.double(x))) }
