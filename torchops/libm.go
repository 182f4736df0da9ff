package torchops

import (
	"math"
	"math/big"

	libtorch "github.com/torchfx-go/torchfx/cgo"
)

// Elementary functions as Python's math module has them: those of the C library, and
// the gamma function of CPython itself (Modules/mathmodule.c).

var (
	sin = libtorch.CMath["sin"]
	cos = libtorch.CMath["cos"]
	exp = libtorch.CMath["exp"]
	log = libtorch.CMath["log"]
	pow = libtorch.Pow
)

// Sums that are rounded once are made of these. libmBits holds squares of a double and
// room for rounding.
const libmBits = 256

func newBig() *big.Float           { return new(big.Float).SetPrec(libmBits) }
func bigOf(x float64) *big.Float   { return newBig().SetFloat64(x) }
func round64(x *big.Float) float64 { f, _ := x.Float64(); return f }

// Lanczos' approximation with g = 6.02…, of thirteen terms.
const lanczosG = 6.024680040776729583740234375

var lanczosTerms = [13][2]float64{
	{23531376880.410759688572007674451636754734846804940, 0},
	{42919803642.649098768957899047001988850926355848959, 39916800},
	{35711959237.355668049440185451547166705960488635843, 120543840},
	{17921034426.037209699919755754458931112671403265390, 150917976},
	{6039542586.3520280050642916443072979210699388420708, 105258076},
	{1439720407.3117216736632230727949123939715485786372, 45995730},
	{248874557.86205415651146038641322942321632125127801, 13339535},
	{31426415.585400194380614231628318205362874684987640, 2637558},
	{2876370.6289353724412254090516208496135991145378768, 357423},
	{186056.26539522349504029498971604569928220784236328, 32670},
	{8071.6720023658162106380029022722506138218516325024, 1925},
	{210.82427775157934587250973392071336271166969580291, 66},
	{2.5066282746310002701649081771338373386264310793408, 1},
}

// lanczosSum is a quotient of two polynomials, in 1/x where x is large. The products
// are rounded before they are added, on every machine.
func lanczosSum(x float64) float64 {
	num, den := 0.0, 0.0
	for i := range lanczosTerms {
		if x < 5 {
			t := lanczosTerms[len(lanczosTerms)-1-i]
			num, den = float64(num*x)+t[0], float64(den*x)+t[1]
		} else {
			t := lanczosTerms[i]
			num, den = num/x+t[0], den/x+t[1]
		}
	}
	return num / den
}

// sinPi is sin(πx) for x of at least 0, exact where it is 0.
func sinPi(x float64) float64 {
	y := math.Mod(x, 2)
	switch int(math.Round(2 * y)) {
	case 0:
		return sin(math.Pi * y)
	case 1:
		return cos(math.Pi * (y - 0.5))
	case 2:
		return sin(math.Pi * (1 - y))
	case 3:
		return -cos(math.Pi * (y - 1.5))
	}
	return sin(math.Pi * (y - 2))
}

// gamma is math.gamma; poles are NaN.
func gamma(x float64) float64 {
	switch {
	case math.IsNaN(x), math.IsInf(x, 1):
		return x
	case math.IsInf(x, -1), x == 0, x < 0 && x == math.Floor(x):
		return math.NaN()
	case x == math.Floor(x) && x <= 23:
		product := 1.0
		for n := 2.0; n < x; n++ {
			product *= n // exact
		}
		return product
	}
	a := math.Abs(x)
	switch {
	case a < 1e-20:
		return 1 / x
	case a > 200 && x < 0:
		return 0 / (-sinPi(a))
	case a > 200:
		return math.Inf(1)
	}
	const half = lanczosG - 0.5
	y := a + half
	// what was rounded off y
	lost := (y - half) - a
	if a > half {
		lost = (y - a) - half
	}
	lost = float64(lost*lanczosG) / y
	power, times := pow(y, a-0.5), 1
	if a >= 140 {
		power, times = pow(y, a/2-0.25), 2
	}
	if x < 0 {
		r := -math.Pi / sinPi(a) / a * exp(y) / lanczosSum(a)
		r -= float64(lost * r)
		for range times {
			r /= power
		}
		return r
	}
	r := lanczosSum(a) / exp(y)
	r += float64(lost * r)
	for range times {
		r *= power
	}
	return r
}

// lgamma is math.lgamma; poles are NaN.
func lgamma(x float64) float64 {
	switch {
	case math.IsNaN(x):
		return x
	case math.IsInf(x, 0):
		return math.Inf(1)
	case x == math.Floor(x) && x <= 0:
		return math.NaN()
	case x == 1 || x == 2:
		return 0
	}
	a := math.Abs(x)
	if a < 1e-20 {
		return -log(a)
	}
	r := log(lanczosSum(a)) - lanczosG
	r += float64((a - 0.5) * (log(a+lanczosG-0.5) - 1))
	if x < 0 {
		const logPi = 1.144729885849400174143427351353058711647
		r = logPi - log(math.Abs(sinPi(a))) - log(a) - r
	}
	return r
}
