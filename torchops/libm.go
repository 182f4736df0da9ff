package torchops

import (
	"math"
	"math/big"
	"sync"
)

// Elementary functions rounded correctly. Go's math.Pow is off by up to fifty
// units in the last place, and Exp, Log, Sin and Cos by one; the C libraries
// that Python calls are off by none but for one argument in a thousand. A number
// of a graph is computed a few times a run, so the tens of microseconds that
// big.Float takes here do not count.

// libmBits is the working precision: 53 bits of the result, 64 lost where an
// argument is reduced, and room for rounding.
const libmBits = 256

func newBig() *big.Float           { return new(big.Float).SetPrec(libmBits) }
func bigOf(x float64) *big.Float   { return newBig().SetFloat64(x) }
func round64(x *big.Float) float64 { f, _ := x.Float64(); return f }

// atanSeries is z - z³/3 + z⁵/5 …, or with plus signs for atanh; |z| < 0.6.
func atanSeries(z *big.Float, sign float64) *big.Float {
	square := newBig().Mul(z, z)
	square.Mul(square, bigOf(sign))
	sum, power := newBig().Set(z), newBig().Set(z)
	for n := 3.0; power.Sign() != 0 && power.MantExp(nil) > z.MantExp(nil)-libmBits; n += 2 {
		power.Mul(power, square)
		sum.Add(sum, newBig().Quo(power, bigOf(n)))
	}
	return sum
}

var bigLn2 = sync.OnceValue(func() *big.Float {
	third := newBig().Quo(bigOf(1), bigOf(3))
	return newBig().Mul(bigOf(2), atanSeries(third, 1))
})

// bigPi is Machin's 16·atan(1/5) - 4·atan(1/239).
var bigPi = sync.OnceValue(func() *big.Float {
	a := atanSeries(newBig().Quo(bigOf(1), bigOf(5)), -1)
	b := atanSeries(newBig().Quo(bigOf(1), bigOf(239)), -1)
	return newBig().Sub(a.Mul(a, bigOf(16)), b.Mul(b, bigOf(4)))
})

// bigLog is the logarithm of a positive finite number.
func bigLog(x float64) *big.Float {
	m := newBig()
	e := bigOf(x).MantExp(m) // m in [0.5, 1)
	if m.Cmp(bigOf(math.Sqrt2/2)) < 0 {
		m.Mul(m, bigOf(2))
		e--
	}
	z := newBig().Quo(newBig().Sub(m, bigOf(1)), newBig().Add(m, bigOf(1)))
	sum := newBig().Mul(bigOf(2), atanSeries(z, 1))
	return sum.Add(sum, newBig().Mul(bigOf(float64(e)), bigLn2()))
}

// bigExp is e to the power x, for |x| up to 2000.
func bigExp(x *big.Float) *big.Float {
	k, _ := newBig().Quo(x, bigLn2()).Float64()
	k = math.RoundToEven(k)
	r := newBig().Sub(x, newBig().Mul(bigOf(k), bigLn2()))
	const halvings = 16
	r.SetMantExp(r, -halvings)
	sum, term := bigOf(1), bigOf(1)
	for n := 1.0; term.Sign() != 0 && term.MantExp(nil) > -libmBits; n++ {
		term.Mul(term, r)
		term.Quo(term, bigOf(n))
		sum.Add(sum, term)
	}
	for range halvings {
		sum.Mul(sum, sum)
	}
	return sum.SetMantExp(sum, int(k))
}

// exp is math.exp.
func exp(x float64) float64 {
	if !(math.Abs(x) < 800) || math.Abs(x) < 0x1p-60 {
		return math.Exp(x)
	}
	return round64(bigExp(bigOf(x)))
}

// log is math.log.
func log(x float64) float64 {
	if !(x > 0) || math.IsInf(x, 1) || x == 1 {
		return math.Log(x)
	}
	return round64(bigLog(x))
}

// log2 and log10 divide before they round.
func log2(x float64) float64  { return logBase(x, 2, math.Log2) }
func log10(x float64) float64 { return logBase(x, 10, math.Log10) }

func logBase(x, base float64, special func(float64) float64) float64 {
	if !(x > 0) || math.IsInf(x, 1) || x == 1 {
		return special(x)
	}
	return round64(newBig().Quo(bigLog(x), bigLog(base)))
}

// pow is C's pow.
func pow(x, y float64) float64 {
	a := math.Abs(x)
	if a == 0 || a == 1 || math.IsInf(a, 0) || y == 0 || math.IsInf(y, 0) || x != x || y != y || x < 0 && y != math.Floor(y) {
		return math.Pow(x, y) // exact, special, or no number
	}
	exponent := newBig().Mul(bigOf(y), bigLog(a))
	size, _ := exponent.Float64()
	p := 0.0
	switch {
	case size > 2000:
		p = math.Inf(1)
	case size > -2000:
		p = round64(bigExp(exponent))
	}
	if x < 0 && math.Mod(y, 2) != 0 {
		return -p
	}
	return p
}

// bigSinCos reduces x to [-π/4, π/4] and returns both series with the quadrant.
func bigSinCos(x float64) (sin, cos *big.Float, quadrant int64) {
	half := newBig().Quo(bigPi(), bigOf(2))
	turns, _ := newBig().Add(newBig().Quo(bigOf(x), half), bigOf(math.Copysign(0.5, x))).Int(nil)
	r := newBig().Sub(bigOf(x), newBig().Mul(newBig().SetInt(turns), half))
	square := newBig().Neg(newBig().Mul(r, r))
	series := func(first *big.Float, n float64) *big.Float {
		sum, term := newBig().Set(first), newBig().Set(first)
		for ; term.Sign() != 0 && term.MantExp(nil) > -libmBits; n += 2 {
			term.Mul(term, square)
			term.Quo(term, bigOf(n*(n+1)))
			sum.Add(sum, term)
		}
		return sum
	}
	return series(r, 2), series(bigOf(1), 1), new(big.Int).And(turns, big.NewInt(3)).Int64()
}

// circular is sin (shift 0) and cos (shift 1).
func circular(x float64, shift int64, special func(float64) float64) float64 {
	if !(math.Abs(x) < 0x1p64) || math.Abs(x) < 0x1p-30 {
		return special(x)
	}
	sin, cos, quadrant := bigSinCos(x)
	switch (quadrant + shift) % 4 {
	case 0:
		return round64(sin)
	case 1:
		return round64(cos)
	case 2:
		return -round64(sin)
	}
	return -round64(cos)
}

func sin(x float64) float64 { return circular(x, 0, math.Sin) }
func cos(x float64) float64 { return circular(x, 1, math.Cos) }

func tan(x float64) float64 {
	if !(math.Abs(x) < 0x1p64) || math.Abs(x) < 0x1p-30 {
		return math.Tan(x)
	}
	sin, cos, quadrant := bigSinCos(x)
	if quadrant%2 == 1 {
		return -round64(newBig().Quo(cos, sin))
	}
	return round64(newBig().Quo(sin, cos))
}

// sinh and cosh are half of e to the power x minus and plus its reciprocal.
func sinh(x float64) float64 { return hyperbolic(x, -1, math.Sinh) }
func cosh(x float64) float64 { return hyperbolic(x, 1, math.Cosh) }

func hyperbolic(x, sign float64, special func(float64) float64) float64 {
	if !(math.Abs(x) < 800) || math.Abs(x) < 0x1p-30 {
		return special(x)
	}
	e := bigExp(bigOf(x))
	sum := newBig().Add(e, newBig().Quo(bigOf(sign), e))
	return round64(sum.SetMantExp(sum, -1))
}
