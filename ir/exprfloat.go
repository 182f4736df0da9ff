package ir

import (
	"math"
	"math/big"
	"strconv"
	"strings"
)

// toInt rounds with one of math's functions and makes an integer of it.
func (x number) toInt(round func(float64) float64) (number, error) {
	if x = x.asInt(); x.kind == kindInt {
		return x, nil
	}
	f := round(x.float())
	if math.IsNaN(f) || math.Abs(f) >= 1<<63 {
		return number{}, errOverflow
	}
	return intNumber(int64(f)), nil
}

// roundDecimal is Python's round(float, digits): to the nearest decimal of so
// many digits, exact halves to even.
func roundDecimal(x float64, digits int64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) || digits > 350 {
		return x
	}
	if digits < -350 {
		return math.Copysign(0, x)
	}
	if digits >= 0 {
		f, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'f', int(digits), 64), 64)
		return f
	}
	unit := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(-digits), nil))
	q := new(big.Rat).Quo(new(big.Rat).SetFloat64(x), unit)
	text := roundHalfEven(q)
	f, _ := strconv.ParseFloat(text+strings.Repeat("0", int(-digits)), 64)
	return math.Copysign(f, x)
}

func roundHalfEven(r *big.Rat) string {
	twice := new(big.Int).Mul(r.Num(), big.NewInt(2))
	q, m := new(big.Int).DivMod(twice.Add(twice, r.Denom()), new(big.Int).Mul(r.Denom(), big.NewInt(2)), new(big.Int))
	if m.Sign() == 0 && q.Bit(0) == 1 {
		q.Sub(q, big.NewInt(1))
	}
	return q.String()
}

// sympyFloat spells a float as mpmath's to_str does, with so many significant
// digits; strip cuts the zeros at the end.
func sympyFloat(f float64, digits int, strip bool) string {
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 0):
		return map[bool]string{true: "inf", false: "-inf"}[f > 0]
	}
	e := strconv.FormatFloat(math.Abs(f), 'e', digits-1, 64)
	mantissa, exponent, _ := strings.Cut(e, "e")
	exp, _ := strconv.Atoi(exponent)
	mantissa = strings.Replace(mantissa, ".", "", 1)
	point, suffix := 1, ""
	if min(-(digits/3), -5) < exp && exp < digits {
		if exp < 0 {
			mantissa = strings.Repeat("0", -exp) + mantissa
		} else {
			point = exp + 1
		}
	} else if suffix = "e" + strconv.Itoa(exp); exp > 0 {
		suffix = "e+" + strconv.Itoa(exp)
	}
	mantissa = mantissa[:point] + "." + mantissa[point:]
	if strip || f == 0 {
		if mantissa = strings.TrimRight(mantissa, "0"); mantissa[len(mantissa)-1] == '.' {
			mantissa += "0"
		}
	}
	if math.Signbit(f) && f != 0 {
		mantissa = "-" + mantissa
	}
	return mantissa + suffix
}
