package torchops

import (
	"math"
	"math/big"
	"math/bits"
	"math/cmplx"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
)

// Python's arithmetic on the numbers of a run: bool, int64, float64 and
// complex128. Bools count as ints, and an operand is brought to the wider kind
// of the two. Python's ints have no bound; one that leaves 64 bits is an error
// here, never a wrong number.

// numberKind orders the kinds of numbers from narrow to wide.
type numberKind uint8

const (
	notNumber numberKind = iota
	boolKind
	intKind
	floatKind
	complexKind
)

func kindOf(v any) numberKind {
	switch v.(type) {
	case bool:
		return boolKind
	case int64:
		return intKind
	case float64:
		return floatKind
	case complex128:
		return complexKind
	}
	return notNumber
}

// asInt returns a bool or an int as an int.
func asInt(v any) int64 {
	switch v := v.(type) {
	case bool:
		if v {
			return 1
		}
		return 0
	case int64:
		return v
	}
	return 0
}

// asFloat returns a real number as a float. An int is rounded to the nearest.
func asFloat(v any) float64 {
	if f, ok := v.(float64); ok {
		return f
	}
	return float64(asInt(v))
}

// asComplex returns any number as a complex one.
func asComplex(v any) complex128 {
	if c, ok := v.(complex128); ok {
		return c
	}
	return complex(asFloat(v), 0)
}

// arithmetic is what an operator does on each kind; nil where Python has no
// such operator.
type arithmetic struct {
	sign    string // in messages
	ints    func(a, b int64) (any, error)
	floats  func(a, b float64) (any, error)
	complex func(a, b complex128) (any, error)
	bools   func(a, b bool) bool // of two bools only; otherwise they are ints
}

// apply computes a ∘ b. ok is false where the operands are no numbers that the
// operator takes.
func (o *arithmetic) apply(a, b any) (v any, ok bool, err error) {
	ka, kb := kindOf(a), kindOf(b)
	if ka == notNumber || kb == notNumber {
		return nil, false, nil
	}
	switch k := max(ka, kb); {
	case k == boolKind && o.bools != nil:
		return o.bools(a.(bool), b.(bool)), true, nil
	case k <= intKind && o.ints != nil:
		v, err = o.ints(asInt(a), asInt(b))
	case k == floatKind && o.floats != nil:
		v, err = o.floats(asFloat(a), asFloat(b))
	case k == complexKind && o.complex != nil:
		v, err = o.complex(asComplex(a), asComplex(b))
	default:
		return nil, false, nil
	}
	return v, true, err
}

var errOverflow = ir.Errorf(ir.ErrValue, "(34, 'Numerical result out of range')")

// errTooLarge is for ints that Python holds and 64 bits do not.
func errTooLarge(what string) error {
	return ir.Errorf(ir.ErrUnsupported, "%s: expected a result of 64 bits, got a larger int", what)
}

var (
	addNumbers = arithmetic{sign: "+",
		ints: func(a, b int64) (any, error) {
			s := a + b
			if (s > a) != (b > 0) && b != 0 {
				return nil, errTooLarge("int addition")
			}
			return s, nil
		},
		floats:  func(a, b float64) (any, error) { return a + b, nil },
		complex: func(a, b complex128) (any, error) { return a + b, nil },
	}
	subNumbers = arithmetic{sign: "-",
		ints: func(a, b int64) (any, error) {
			d := a - b
			if (d < a) != (b > 0) && b != 0 {
				return nil, errTooLarge("int subtraction")
			}
			return d, nil
		},
		floats:  func(a, b float64) (any, error) { return a - b, nil },
		complex: func(a, b complex128) (any, error) { return a - b, nil },
	}
	mulNumbers = arithmetic{sign: "*",
		ints: func(a, b int64) (any, error) {
			p, ok := mulInts(a, b)
			if !ok {
				return nil, errTooLarge("int multiplication")
			}
			return p, nil
		},
		floats: func(a, b float64) (any, error) { return a * b, nil },
		complex: func(a, b complex128) (any, error) {
			return mulComplex(a, b), nil
		},
	}
	divNumbers = arithmetic{sign: "/",
		ints: func(a, b int64) (any, error) {
			if b == 0 {
				return nil, ir.Errorf(ir.ErrZeroDivision, "division by zero")
			}
			return divideInts(a, b), nil
		},
		floats: func(a, b float64) (any, error) {
			if b == 0 {
				return nil, ir.Errorf(ir.ErrZeroDivision, "float division by zero")
			}
			return a / b, nil
		},
		complex: func(a, b complex128) (any, error) { return divideComplex(a, b) },
	}
	floorDivNumbers = arithmetic{sign: "//",
		ints: func(a, b int64) (any, error) {
			if b == 0 {
				return nil, ir.Errorf(ir.ErrZeroDivision, "integer division or modulo by zero")
			}
			if a == math.MinInt64 && b == -1 {
				return nil, errTooLarge("int floor division")
			}
			q, _ := floorDivMod(a, b)
			return q, nil
		},
		floats: func(a, b float64) (any, error) {
			if b == 0 {
				return nil, ir.Errorf(ir.ErrZeroDivision, "float floor division by zero")
			}
			q, _ := floatDivMod(a, b)
			return q, nil
		},
	}
	modNumbers = arithmetic{sign: "%",
		ints: func(a, b int64) (any, error) {
			if b == 0 {
				return nil, ir.Errorf(ir.ErrZeroDivision, "integer modulo by zero")
			}
			_, r := floorDivMod(a, b)
			return r, nil
		},
		floats: func(a, b float64) (any, error) {
			if b == 0 {
				return nil, ir.Errorf(ir.ErrZeroDivision, "float modulo")
			}
			_, r := floatDivMod(a, b)
			return r, nil
		},
	}
	powNumbers = arithmetic{sign: "** or pow()", ints: powInts, floats: powFloats, complex: powComplex}

	andNumbers = arithmetic{sign: "&",
		ints:  func(a, b int64) (any, error) { return a & b, nil },
		bools: func(a, b bool) bool { return a && b },
	}
	orNumbers = arithmetic{sign: "|",
		ints:  func(a, b int64) (any, error) { return a | b, nil },
		bools: func(a, b bool) bool { return a || b },
	}
	xorNumbers = arithmetic{sign: "^",
		ints:  func(a, b int64) (any, error) { return a ^ b, nil },
		bools: func(a, b bool) bool { return a != b },
	}
	lshiftNumbers = arithmetic{sign: "<<",
		ints: func(a, n int64) (any, error) {
			switch {
			case n < 0:
				return nil, ir.Errorf(ir.ErrValue, "negative shift count")
			case a == 0:
				return int64(0), nil
			case n > 63 || a<<n>>n != a:
				return nil, errTooLarge("int shift")
			}
			return a << n, nil
		},
	}
	rshiftNumbers = arithmetic{sign: ">>",
		ints: func(a, n int64) (any, error) {
			if n < 0 {
				return nil, ir.Errorf(ir.ErrValue, "negative shift count")
			}
			return a >> min(n, 63), nil
		},
	}
)

// mulInts multiplies and reports whether the product fits.
func mulInts(a, b int64) (product int64, ok bool) {
	high, low := bits.Mul64(magnitude(a), magnitude(b))
	if (a < 0) != (b < 0) {
		return -int64(low), high == 0 && low <= 1<<63
	}
	return int64(low), high == 0 && low < 1<<63
}

func magnitude(a int64) uint64 {
	if a < 0 {
		return -uint64(a)
	}
	return uint64(a)
}

// divideInts rounds the exact quotient once, also where the operands are no
// floats.
func divideInts(a, b int64) float64 {
	const exact = 1 << 53
	if magnitude(a) <= exact && magnitude(b) <= exact {
		return float64(a) / float64(b)
	}
	if a == 0 {
		return 0 / float64(b) // Python keeps the sign of a zero
	}
	q, _ := new(big.Rat).SetFrac64(a, b).Float64()
	return q
}

// floorDivMod divides towards minus infinity; the remainder has the sign of b.
func floorDivMod(a, b int64) (q, r int64) {
	q, r = a/b, a%b
	if r != 0 && (r < 0) != (b < 0) {
		q, r = q-1, r+b
	}
	return q, r
}

// floatDivMod is _float_div_mod of CPython's floatobject.c.
func floatDivMod(a, b float64) (q, r float64) {
	r = math.Mod(a, b)
	q = (a - r) / b
	if r != 0 {
		if (b < 0) != (r < 0) {
			r += b
			q--
		}
	} else {
		r = math.Copysign(0, b)
	}
	if q == 0 {
		return math.Copysign(0, a/b), r
	}
	floor := math.Floor(q)
	if q-floor > 0.5 {
		floor++
	}
	return floor, r
}

func powInts(a, n int64) (any, error) {
	if n < 0 {
		return powFloats(float64(a), float64(n))
	}
	// |a| > 1 leaves 64 bits within 63 steps, the others repeat
	switch {
	case a == 0 || a == 1:
		if n == 0 {
			return int64(1), nil
		}
		return a, nil
	case a == -1:
		return 1 - 2*(n&1), nil
	}
	product := int64(1)
	for range n {
		next, ok := mulInts(product, a)
		if !ok {
			return nil, errTooLarge("int power")
		}
		product = next
	}
	return product, nil
}

func powFloats(a, b float64) (any, error) {
	if math.IsInf(a, 0) || math.IsInf(b, 0) || math.IsNaN(a) || math.IsNaN(b) {
		return math.Pow(a, b), nil
	}
	if a == 0 && b < 0 {
		return nil, ir.Errorf(ir.ErrZeroDivision, "0.0 cannot be raised to a negative power")
	}
	if a < 0 && b != math.Floor(b) {
		return powComplex(complex(a, 0), complex(b, 0))
	}
	p := pow(a, b)
	if math.IsInf(p, 0) {
		return nil, errOverflow
	}
	return p, nil
}

// mulComplex rounds every product, where Go may fuse one with the sum.
func mulComplex(a, b complex128) complex128 {
	return complex(float64(real(a)*real(b))-float64(imag(a)*imag(b)), float64(real(a)*imag(b))+float64(imag(a)*real(b)))
}

// divideComplex is _Py_c_quot: Smith's method, by the larger part.
func divideComplex(a, b complex128) (any, error) {
	re, im := real(b), imag(b)
	switch {
	case b == 0:
		return nil, ir.Errorf(ir.ErrZeroDivision, "complex division by zero")
	case math.Abs(re) >= math.Abs(im):
		ratio := im / re
		denominator := re + float64(im*ratio)
		return complex((real(a)+float64(imag(a)*ratio))/denominator, (imag(a)-float64(real(a)*ratio))/denominator), nil
	case math.Abs(im) >= math.Abs(re):
		ratio := re / im
		denominator := float64(re*ratio) + im
		return complex((float64(real(a)*ratio)+imag(a))/denominator, (float64(imag(a)*ratio)-real(a))/denominator), nil
	}
	return cmplx.NaN(), nil
}

// powComplex is complex_pow: by repeated multiplication for whole exponents up
// to 100, else by polar form.
func powComplex(a, b complex128) (any, error) {
	if n := real(b); imag(b) == 0 && n == math.Floor(n) && math.Abs(n) <= 100 {
		product, square := complex(1, 0), a
		for k := int(math.Abs(n)); k > 0; k >>= 1 {
			if k&1 == 1 {
				product = mulComplex(product, square)
			}
			square = mulComplex(square, square)
		}
		if n > 0 || n == 0 {
			return product, nil
		}
		if a == 0 {
			return nil, ir.Errorf(ir.ErrZeroDivision, "0.0 to a negative or complex power")
		}
		return divideComplex(1, product)
	}
	if a == 0 {
		if imag(b) != 0 || real(b) < 0 {
			return nil, ir.Errorf(ir.ErrZeroDivision, "0.0 to a negative or complex power")
		}
		return complex(0, 0), nil
	}
	abs, angle := libtorch.Hypot(real(a), imag(a)), libtorch.Atan2(imag(a), real(a))
	length := pow(abs, real(b))
	phase := angle * real(b)
	if imag(b) != 0 {
		length /= exp(angle * imag(b))
		phase += imag(b) * log(abs)
	}
	power := complex(length*cos(phase), length*sin(phase))
	if cmplx.IsInf(power) && !cmplx.IsInf(a) && !cmplx.IsInf(b) {
		return nil, errOverflow
	}
	return power, nil
}

// negative, positive, absolute and invert are the unary operators; ok is false
// where v is no number that has them.
func negative(v any) (any, bool, error) {
	switch v := v.(type) {
	case bool:
		return -asInt(v), true, nil
	case int64:
		if v == math.MinInt64 {
			return nil, true, errTooLarge("int negation")
		}
		return -v, true, nil
	case float64:
		return -v, true, nil
	case complex128:
		return -v, true, nil
	}
	return nil, false, nil
}

func positive(v any) (any, bool, error) {
	if b, ok := v.(bool); ok {
		return asInt(b), true, nil
	}
	return v, kindOf(v) != notNumber, nil
}

func absolute(v any) (any, bool, error) {
	switch v := v.(type) {
	case bool, int64:
		if asInt(v) < 0 {
			return negative(v)
		}
		return asInt(v), true, nil
	case float64:
		return math.Abs(v), true, nil
	case complex128:
		return libtorch.Hypot(real(v), imag(v)), true, nil
	}
	return nil, false, nil
}

func invert(v any) (any, bool, error) {
	if k := kindOf(v); k == boolKind || k == intKind {
		return ^asInt(v), true, nil
	}
	return nil, false, nil
}
