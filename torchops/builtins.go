package torchops

import (
	"errors"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
)

// Python's builtins that graphs call.

func init() {
	define("builtins.round", "number, ndigits?", func(_ *libtorch.Mode, a []any) (any, error) { return round(a[0], a[1]) })
	define("round", "number, ndigits?", func(_ *libtorch.Mode, a []any) (any, error) { return round(a[0], a[1]) })
	define("builtins.abs", "x", func(m *libtorch.Mode, a []any) (any, error) {
		return unary(m, "abs()", "aten::abs", absolute, a[0])
	})
	constructor("int", int64(0), 2, func(m *libtorch.Mode, a []any) (any, error) {
		if len(a) == 2 {
			return intOfBase(m, a[0], a[1])
		}
		return toInt(m, a[0])
	})
	constructor("float", 0.0, 1, func(m *libtorch.Mode, a []any) (any, error) { return toFloat(m, a[0]) })
	constructor("bool", false, 1, func(m *libtorch.Mode, a []any) (any, error) { return truthOf(m, a[0]) })
	constructor("list", []any{}, 1, func(m *libtorch.Mode, a []any) (any, error) { return iterate(m, a[0]) })
	constructor("tuple", ir.PyTuple{}, 1, func(m *libtorch.Mode, a []any) (any, error) {
		x, err := iterate(m, a[0])
		return ir.PyTuple(x), err
	})
	define("builtins.len", "obj", func(_ *libtorch.Mode, a []any) (any, error) {
		t, ok := a[0].(*Tensor)
		if !ok {
			n, err := lengthOf(a[0])
			return int64(n), err
		}
		info, err := t.info()
		if err == nil && len(info.Sizes) == 0 {
			err = ir.Errorf(ir.ErrType, "len() of a 0-d tensor")
		}
		if err != nil {
			return nil, err
		}
		return info.Sizes[0], nil
	})
	for _, name := range []string{"max", "min"} {
		impl := &implementation{name: name, params: []param{{name: "values"}, {"key", true}, {"default", true}}, rest: 0}
		impl.call = func(m *libtorch.Mode, args []any, kw []Kwarg) (any, error) {
			a, err := impl.bind(args, kw)
			if err != nil {
				return nil, err
			}
			e := extremum{name: name, key: a[1], fallback: a[2]}
			e.hasFallback = slices.ContainsFunc(kw, func(k Kwarg) bool { return k.Name == "default" })
			return e.of(m, a[0].([]any))
		}
		implementations.Store(ir.FuncOf("builtins."+name), impl)
	}
	define("builtins.sum", "iterable, start?", func(m *libtorch.Mode, a []any) (any, error) {
		start := a[1]
		if start == nil {
			start = int64(0)
		}
		return sum(m, a[0], start)
	})
	define("builtins.pow", "base, exp", func(m *libtorch.Mode, a []any) (any, error) {
		return Invoke(m, ir.FuncOf("operator.pow"), a, nil)
	})
	define("builtins.divmod", "a, b", func(m *libtorch.Mode, a []any) (any, error) {
		if isTensor(a[0]) || isTensor(a[1]) || isSequence(a[0]) || isSequence(a[1]) {
			return nil, typeErrorf("unsupported operand type(s) for divmod(): '%s' and '%s'", typeName(a[0]), typeName(a[1]))
		}
		q, err := Invoke(m, ir.FuncOf("operator.floordiv"), a, nil)
		if err != nil {
			return nil, err
		}
		r, err := Invoke(m, ir.FuncOf("operator.mod"), a, nil)
		return ir.PyTuple{q, r}, err
	})
	define("builtins.getattr", "*args", func(m *libtorch.Mode, a []any) (any, error) {
		args := a[0].([]any)
		if n := len(args); n < 2 || n > 3 {
			return nil, typeErrorf("getattr expected 2 to 3 arguments, got %d", n)
		}
		name, ok := args[1].(string)
		if !ok {
			return nil, ir.Errorf(ir.ErrType, "attribute name must be string, not '%s'", typeName(args[1]))
		}
		v, err := getAttr(m, args[0], name)
		if len(args) == 3 && errors.Is(err, ir.ErrAttribute) {
			return args[2], nil
		}
		return v, err
	})
}

// constructor registers a type of Python that is called: without an argument it gives
// a constant.
func constructor(name string, empty any, most int, f func(m *libtorch.Mode, a []any) (any, error)) {
	define("builtins."+name, "*args", func(m *libtorch.Mode, a []any) (any, error) {
		args := a[0].([]any)
		switch {
		case len(args) > most:
			return nil, typeErrorf("%s expected at most %d argument%s, got %d", name, most, plural(most), len(args))
		case len(args) == 0:
			return empty, nil
		}
		return f(m, args)
	})
}

// intOfBase is int(text, base).
func intOfBase(m *libtorch.Mode, v, base any) (any, error) {
	n, err := indexNumber(m, base)
	if err != nil {
		return nil, err
	}
	if n != 0 && (n < 2 || n > 36) {
		return nil, ir.Errorf(ir.ErrValue, "int() base must be >= 2 and <= 36, or 0")
	}
	s, ok := v.(string)
	if !ok {
		return nil, typeErrorf("int() can't convert non-string with explicit base")
	}
	i, err := strconv.ParseInt(strings.TrimSpace(s), int(n), 64)
	if err != nil {
		return nil, ir.Errorf(ir.ErrValue, "invalid literal for int() with base %d: '%s'", n, s)
	}
	return i, nil
}

// round is Python's: halves go to even, also in the decimal digits, since the
// number is rounded from its exact value.
func round(v, digits any) (any, error) {
	if _, ok := v.(*Tensor); ok {
		return nil, ir.Errorf(ir.ErrType, "type Tensor doesn't define __round__ method")
	}
	k := kindOf(v)
	if k == notNumber || k == complexKind {
		return nil, ir.Errorf(ir.ErrType, "type %s doesn't define __round__ method", typeName(v))
	}
	if digits == nil {
		if k == floatKind {
			return floatToInt(math.RoundToEven(v.(float64)))
		}
		return asInt(v), nil
	}
	if d := kindOf(digits); d != intKind && d != boolKind {
		return nil, ir.Errorf(ir.ErrType, "'%s' object cannot be interpreted as an integer", typeName(digits))
	}
	n := asInt(digits)
	if k == floatKind {
		return roundFloat(v.(float64), n)
	}
	if n >= 0 {
		return asInt(v), nil
	}
	if n < -19 {
		return int64(0), nil
	}
	unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(-n), nil)
	return roundToUnit(big.NewRat(asInt(v), 1), unit, func(r *big.Rat) (any, error) {
		if !r.Num().IsInt64() {
			return nil, errTooLarge("round")
		}
		return r.Num().Int64(), nil
	})
}

func roundFloat(x float64, n int64) (any, error) {
	// beyond these a double has no digits to round, or none that remain
	if math.IsNaN(x) || math.IsInf(x, 0) || n > 323 {
		return x, nil
	}
	if n < -308 {
		return math.Copysign(0, x), nil
	}
	if n >= 0 {
		r, err := strconv.ParseFloat(strconv.FormatFloat(x, 'f', int(n), 64), 64)
		if err != nil {
			return nil, ir.Errorf(ir.ErrValue, "rounded value too large to represent")
		}
		return r, nil
	}
	unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(-n), nil)
	return roundToUnit(new(big.Rat).SetFloat64(x), unit, func(r *big.Rat) (any, error) {
		f, _ := r.Float64()
		if math.IsInf(f, 0) {
			return nil, ir.Errorf(ir.ErrValue, "rounded value too large to represent")
		}
		return math.Copysign(f, x), nil
	})
}

// roundToUnit rounds x to a multiple of unit, halves to an even multiple.
func roundToUnit(x *big.Rat, unit *big.Int, finish func(*big.Rat) (any, error)) (any, error) {
	scaled := new(big.Rat).Quo(x, new(big.Rat).SetInt(unit))
	twice := new(big.Int).Mul(scaled.Num(), big.NewInt(2))
	denominator := new(big.Int).Mul(scaled.Denom(), big.NewInt(2))
	q, r := new(big.Int).DivMod(twice.Add(twice, scaled.Denom()), denominator, new(big.Int))
	if r.Sign() == 0 && q.Bit(0) == 1 {
		q.Sub(q, big.NewInt(1)) // exactly a half, which went up to an odd multiple
	}
	return finish(new(big.Rat).SetInt(q.Mul(q, unit)))
}

// toInt is int(v).
func toInt(m *libtorch.Mode, v any) (any, error) {
	if s, ok := v.(string); ok {
		n, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64)
		if err != nil {
			return nil, ir.Errorf(ir.ErrValue, "invalid literal for int() with base 10: '%s'", s)
		}
		return n, nil
	}
	n, err := realNumber(m, v)
	if err != nil {
		return nil, err
	}
	if x, ok := n.(float64); ok {
		return floatToInt(math.Trunc(x))
	}
	return asInt(n), nil
}

// toFloat is float(v).
func toFloat(m *libtorch.Mode, v any) (any, error) {
	if s, ok := v.(string); ok {
		x, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
		if err != nil {
			return nil, ir.Errorf(ir.ErrValue, "could not convert string to float: '%s'", s)
		}
		return x, nil
	}
	n, err := realNumber(m, v)
	return asFloat(n), err
}

// iterate returns the items of v; those of a tensor are its rows.
func iterate(m *libtorch.Mode, v any) ([]any, error) {
	switch v := v.(type) {
	case string:
		runes := []any{}
		for _, r := range v {
			runes = append(runes, string(r))
		}
		return runes, nil
	case *ir.PyDict:
		keys := []any{}
		for key := range v.All() {
			keys = append(keys, key)
		}
		return keys, nil
	}
	if t, ok := v.(*Tensor); ok {
		info, err := t.info()
		if err == nil && len(info.Sizes) == 0 {
			err = ir.Errorf(ir.ErrType, "iteration over a 0-d tensor")
		}
		if err != nil {
			return nil, err
		}
		rows, err := CallMode(m, "aten::unbind.int", []any{t}, nil)
		list, _ := rows.([]any)
		return list, err
	}
	x, kind := items(v)
	if kind == "" {
		return nil, ir.Errorf(ir.ErrType, "'%s' object is not iterable", typeName(v))
	}
	return append([]any{}, x...), nil
}

// closeRows closes the rows that iterating over a tensor made, but for the one
// that is kept.
func closeRows(over any, rows []any, kept any) {
	if _, ok := over.(*Tensor); !ok {
		return
	}
	for _, row := range rows {
		if row != kept {
			_ = row.(*Tensor).Close()
		}
	}
}

// An extremum is a call of max() or min(), which keep the first of equal values.
type extremum struct {
	name        string
	key         any // what is compared of a value, nil for itself
	fallback    any // of an empty sequence
	hasFallback bool
}

func (e *extremum) of(m *libtorch.Mode, values []any) (best any, err error) {
	switch {
	case len(values) == 0:
		return nil, typeErrorf("%s expected at least 1 argument, got 0", e.name)
	case len(values) > 1 && e.hasFallback:
		return nil, typeErrorf("Cannot specify a default for %s() with multiple positional arguments", e.name)
	case len(values) == 1:
		over := values[0]
		if values, err = iterate(m, over); err != nil {
			return nil, err
		}
		defer func() { closeRows(over, values, best) }()
	}
	if len(values) == 0 {
		if e.hasFallback {
			return e.fallback, nil
		}
		return nil, ir.Errorf(ir.ErrValue, "%s() arg is an empty sequence", e.name)
	}
	better, sign, swapped := "gt", ">", "lt"
	if e.name == "min" {
		better, sign, swapped = "lt", "<", "gt"
	}
	keys, err := keysOf(m, e.key, values)
	if err != nil {
		return nil, err
	}
	at := 0
	for i := 1; i < len(values); i++ {
		holds := func(c int) bool { return c > 0 == (e.name == "max") && c != 0 }
		r, err := compare(m, better, sign, swapped, holds, keys[i], keys[at])
		if err != nil {
			return nil, err
		}
		wins, err := truthOf(m, r)
		_, _ = discard(r, nil)
		if err != nil {
			return nil, err
		}
		if wins {
			at = i
		}
	}
	return values[at], nil
}

// keysOf is what sorting and comparing looks at: each value, or key(value).
func keysOf(m *libtorch.Mode, key any, values []any) ([]any, error) {
	if key == nil {
		return values, nil
	}
	keys := make([]any, len(values))
	for i, v := range values {
		var err error
		if keys[i], err = callValue(m, key, v); err != nil {
			return nil, err
		}
	}
	return keys, nil
}

// sum is start plus every item of v, from left to right.
func sum(m *libtorch.Mode, v, start any) (any, error) {
	x, err := iterate(m, v)
	if err != nil {
		return nil, err
	}
	defer closeRows(v, x, nil)
	add := &binaries[0]
	total := start
	for i, item := range x {
		next, err := add.apply(m, total, item, false)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			_, _ = discard(total, nil)
		}
		total = next
	}
	return total, nil
}
