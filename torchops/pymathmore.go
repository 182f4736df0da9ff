package torchops

import (
	"math"
	"math/big"
	"slices"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
)

// The functions of Python's math module on whole numbers, on parts of a float and
// on sequences.

func init() {
	for name, f := range map[string]func(n, k int64) (any, error){"comb": combinations, "perm": permutations} {
		params := "n, k?"
		if name == "comb" {
			params = "n, k"
		}
		define("math."+name, params, func(m *libtorch.Mode, a []any) (any, error) {
			n, err := indexNumber(m, a[0])
			if err != nil {
				return nil, err
			}
			k := n // perm(n) is n!
			if a[1] != nil {
				if k, err = indexNumber(m, a[1]); err != nil {
					return nil, err
				}
			}
			if n < 0 || k < 0 {
				return nil, ir.Errorf(ir.ErrValue, "n must be a non-negative integer")
			}
			return f(n, k)
		})
	}
	define("math.factorial", "x", func(m *libtorch.Mode, a []any) (any, error) {
		n, err := indexNumber(m, a[0])
		if err == nil && n < 0 {
			err = ir.Errorf(ir.ErrValue, "factorial() not defined for negative values")
		}
		if err != nil {
			return nil, err
		}
		return permutations(n, n)
	})
	define("math.lcm", "*integers", func(m *libtorch.Mode, a []any) (any, error) {
		lcm := big.NewInt(1)
		for _, v := range a[0].([]any) {
			n, err := indexNumber(m, v)
			if err != nil {
				return nil, err
			}
			if n == 0 || lcm.Sign() == 0 {
				lcm.SetInt64(0) // and the rest is looked at all the same
				continue
			}
			x := new(big.Int).Abs(big.NewInt(n))
			lcm.Mul(lcm, x.Quo(x, new(big.Int).GCD(nil, nil, lcm, x)))
		}
		return int64Of(lcm, "lcm")
	})
	define("math.prod", "*iterable, start?", func(m *libtorch.Mode, a []any) (any, error) {
		over := a[0].([]any)
		if len(over) != 1 {
			return nil, typeErrorf("prod() takes exactly 1 positional argument (%d given)", len(over))
		}
		x, err := iterate(m, over[0])
		if err != nil {
			return nil, err
		}
		defer closeRows(over[0], x, nil)
		total := a[1]
		if total == nil {
			total = int64(1)
		}
		for i, item := range x {
			next, err := binaries[2].apply(m, total, item, false)
			if err != nil {
				return nil, err
			}
			if i > 0 {
				_, _ = discard(total, nil)
			}
			total = next
		}
		return total, nil
	})
	define("math.hypot", "*coordinates", func(m *libtorch.Mode, a []any) (any, error) {
		x, err := realNumbers(m, a[0])
		if err != nil {
			return nil, err
		}
		return norm2(x), nil
	})
	define("math.fsum", "seq", func(m *libtorch.Mode, a []any) (any, error) {
		x, err := realNumbers(m, a[0])
		if err != nil {
			return nil, err
		}
		return exactSum(x)
	})
	define("math.dist", "p, q", func(m *libtorch.Mode, a []any) (any, error) {
		var points [2][]any
		for i, v := range a {
			x, err := iterate(m, v)
			if err != nil {
				return nil, err
			}
			defer closeRows(v, x, nil)
			points[i] = x
		}
		if len(points[0]) != len(points[1]) {
			return nil, ir.Errorf(ir.ErrValue, "both points must have the same number of dimensions")
		}
		p, err := realNumbers(m, points[0])
		if err != nil {
			return nil, err
		}
		q, err := realNumbers(m, points[1])
		if err != nil {
			return nil, err
		}
		for i := range p {
			p[i] -= q[i]
		}
		return norm2(p), nil
	})
	define("math.isclose", "*args, rel_tol?, abs_tol?", func(m *libtorch.Mode, a []any) (any, error) {
		pair := a[0].([]any)
		if len(pair) != 2 {
			return nil, typeErrorf("isclose() takes exactly 2 positional arguments (%d given)", len(pair))
		}
		a = append(slices.Clone(pair), a[1:]...)
		v := [4]float64{2: 1e-9}
		for i := range a {
			if i >= 2 && a[i] == nil {
				continue // not given
			}
			n, err := realNumber(m, a[i])
			if err != nil {
				return nil, err
			}
			v[i] = asFloat(n)
		}
		x, y, rel, abs := v[0], v[1], v[2], v[3]
		if rel < 0 || abs < 0 {
			return nil, ir.Errorf(ir.ErrValue, "tolerances must be non-negative")
		}
		if x == y {
			return true, nil
		}
		if math.IsInf(x, 0) || math.IsInf(y, 0) {
			return false, nil
		}
		d := math.Abs(y - x)
		return d <= math.Abs(rel*y) || d <= math.Abs(rel*x) || d <= abs, nil
	})
	for name, f := range map[string]func(x float64) any{
		"frexp": func(x float64) any { m, e := math.Frexp(x); return ir.PyTuple{m, int64(e)} },
		"modf": func(x float64) any {
			if math.IsInf(x, 0) {
				return ir.PyTuple{math.Copysign(0, x), x}
			}
			whole, part := math.Modf(x)
			return ir.PyTuple{part, whole}
		},
		"ulp": func(x float64) any {
			x = math.Abs(x)
			if math.IsInf(x, 0) || math.IsNaN(x) {
				return x
			}
			if next := math.Nextafter(x, math.Inf(1)); !math.IsInf(next, 0) {
				return next - x
			}
			return x - math.Nextafter(x, 0)
		},
	} {
		define("math."+name, "x", func(m *libtorch.Mode, a []any) (any, error) {
			n, err := realNumber(m, a[0])
			if err != nil {
				return nil, err
			}
			return f(asFloat(n)), nil
		})
	}
	define("math.ldexp", "x, i", func(m *libtorch.Mode, a []any) (any, error) {
		x, err := realNumber(m, a[0])
		if err != nil {
			return nil, err
		}
		if k := kindOf(a[1]); k != intKind && k != boolKind {
			return nil, typeErrorf("Expected an int as second argument to ldexp.")
		}
		n := asInt(a[1])
		y := math.Ldexp(asFloat(x), int(min(max(n, -5000), 5000)))
		if math.IsInf(y, 0) && !math.IsInf(asFloat(x), 0) {
			return nil, errRange
		}
		return y, nil
	})
	define("math.nextafter", "x, y", func(m *libtorch.Mode, a []any) (any, error) {
		x, err := realNumber(m, a[0])
		if err != nil {
			return nil, err
		}
		y, err := realNumber(m, a[1])
		if err != nil {
			return nil, err
		}
		return math.Nextafter(asFloat(x), asFloat(y)), nil
	})
	for name, f := range map[string]func(float64) float64{"gamma": gamma, "lgamma": lgamma} {
		define("math."+name, "x", func(m *libtorch.Mode, a []any) (any, error) { return callMath(m, f, a[0]) })
	}
}

// int64Of refuses what 64 bits do not hold.
func int64Of(n *big.Int, what string) (any, error) {
	if !n.IsInt64() {
		return nil, errTooLarge(what)
	}
	return n.Int64(), nil
}

// factors bounds the products below: more of them leave 64 bits in any case.
const factors = 64

func permutations(n, k int64) (any, error) {
	if k > n {
		return int64(0), nil
	}
	product := big.NewInt(1)
	for i := range min(k, factors) {
		product.Mul(product, big.NewInt(n-i))
	}
	return int64Of(product, "perm")
}

func combinations(n, k int64) (any, error) {
	if k > n {
		return int64(0), nil
	}
	k = min(k, n-k)
	if k > factors {
		return nil, errTooLarge("comb")
	}
	return int64Of(new(big.Int).Binomial(n, k), "comb")
}

func realNumbers(m *libtorch.Mode, v any) ([]float64, error) {
	x, err := iterate(m, v)
	if err != nil {
		return nil, err
	}
	defer closeRows(v, x, nil)
	numbers := make([]float64, len(x))
	for i, item := range x {
		n, err := realNumber(m, item)
		if err != nil {
			return nil, err
		}
		numbers[i] = asFloat(n)
	}
	return numbers, nil
}

// norm2 is the root of the sum of squares, rounded once. An infinity wins over a NaN.
func norm2(x []float64) float64 {
	sum, special := newBig(), 0.0
	for _, v := range x {
		switch {
		case math.IsInf(v, 0):
			special = math.Inf(1)
		case math.IsNaN(v):
			if special == 0 {
				special = v
			}
		default:
			sum.Add(sum, newBig().Mul(bigOf(v), bigOf(v)))
		}
	}
	if special != 0 {
		return special
	}
	return round64(newBig().Sqrt(sum))
}

// exactSum rounds the sum once.
func exactSum(x []float64) (any, error) {
	const bits = 2200 // from the smallest double to the largest, and carries
	sum := new(big.Float).SetPrec(bits)
	special := 0.0
	for _, v := range x {
		if math.IsInf(v, 0) || math.IsNaN(v) {
			if math.IsInf(special, 0) && math.IsInf(v, 0) && special != v {
				return nil, ir.Errorf(ir.ErrValue, "-inf + inf in fsum")
			}
			special += v
			continue
		}
		sum.Add(sum, new(big.Float).SetPrec(bits).SetFloat64(v))
	}
	if special != 0 {
		return special, nil
	}
	total := round64(sum)
	if math.IsInf(total, 0) {
		return nil, ir.Errorf(ir.ErrValue, "intermediate overflow in fsum")
	}
	return total, nil
}
