package torchops

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
)

// pythonErrors maps what Python raises to the class that stands for it here.
// OverflowError has none: a float that grew too large is a value error.
var pythonErrors = map[string]error{
	"TypeError": ir.ErrType, "ValueError": ir.ErrValue, "IndexError": ir.ErrIndex, "KeyError": ir.ErrKey,
	"ZeroDivisionError": ir.ErrZeroDivision, "OverflowError": ir.ErrValue, "AssertionError": ir.ErrAssertion,
	"AttributeError": ir.ErrAttribute,
}

// inexact are the functions that C libraries compute a little differently: what
// this package computes may be so many units in the last place away from glibc's.
// exp, log and pow are rounded correctly on both sides.
var inexact = map[string]int64{
	"math.sin": 1, "math.cos": 1, "math.tan": 1, // beyond 2**64 they are Go's
	"math.sinh": 1, "math.cosh": 1, // glibc's are not rounded correctly

	"math.expm1": 1, "math.log1p": 1, "math.asin": 2, "math.acos": 1, "math.atan": 1, "math.tanh": 2, "math.asinh": 2, "math.acosh": 2,
	"math.atanh": 2, "math.erf": 1, "math.erfc": 2, "math.atan2": 1, "math.hypot": 1,
}

// bigInt stands for an int of Python beyond 64 bits.
type bigInt string

func decodeValue(t *testing.T, raw json.RawMessage) any {
	t.Helper()
	var v any
	require.NoError(t, json.Unmarshal(raw, &v))
	return decodeJSON(t, v)
}

func decodeJSON(t *testing.T, v any) any {
	t.Helper()
	list := func(x any) []any { return listOf(x.([]any), func(v any) any { return decodeJSON(t, v) }) }
	float := func(s any) float64 {
		f, err := strconv.ParseFloat(s.(string), 64)
		require.NoError(t, err)
		return f
	}
	switch v := v.(type) {
	case []any:
		return list(v)
	case map[string]any:
		for kind, x := range v {
			switch kind {
			case "i":
				n, err := strconv.ParseInt(x.(string), 10, 64)
				require.NoError(t, err)
				return n
			case "big":
				return bigInt(x.(string))
			case "f":
				return float(x)
			case "c":
				return complex(float(x.([]any)[0]), float(x.([]any)[1]))
			case "tuple":
				return ir.PyTuple(list(x))
			case "slice":
				parts := list(x)
				arg := func(v any) ir.Arg {
					if v == nil {
						return ir.None{}
					}
					return ir.Int(v.(int64))
				}
				return ir.Slice{Start: arg(parts[0]), Stop: arg(parts[1]), Step: arg(parts[2])}
			}
		}
		require.Fail(t, "unknown value", "%v", v)
	}
	return v
}

// text writes a value so that equal texts are equal values of one type, also
// for NaN and for zeros of either sign.
func text(v any) string {
	switch v := v.(type) {
	case float64:
		return strconv.FormatFloat(v, 'x', -1, 64)
	case complex128:
		return text(real(v)) + "," + text(imag(v))
	case []any, ir.PyTuple:
		x, kind := items(v)
		parts := listOf(x, func(v any) any { return text(v) })
		return fmt.Sprintf("%s%v", kind, parts)
	}
	return fmt.Sprintf("%T %v", v, v)
}

// near reports whether two floats, or complex numbers part by part, are at most
// so many units in the last place apart.
func near(a, b any, ulps int64) bool {
	x, isFloat := a.(float64)
	y, both := b.(float64)
	if isFloat && both {
		d := int64(math.Float64bits(x)) - int64(math.Float64bits(y))
		return math.Signbit(x) == math.Signbit(y) && max(d, -d) <= ulps
	}
	c, isComplex := a.(complex128)
	d, both := b.(complex128)
	return isComplex && both && math.Hypot(real(c)-real(d), imag(c)-imag(d)) <= 1e-15*math.Hypot(real(d), imag(d))
}

func TestPythonsNumbers(t *testing.T) {
	file, err := os.Open("testdata/operator.jsonl")
	require.NoError(t, err)
	defer file.Close()
	cases := 0
	for lines := bufio.NewScanner(file); lines.Scan(); cases++ {
		var c struct {
			Fn      string
			Args    []json.RawMessage
			Out     json.RawMessage
			Error   string
			Message string
		}
		require.NoError(t, json.Unmarshal(lines.Bytes(), &c))
		args := make([]any, len(c.Args))
		shown := make([]string, len(args))
		for i := range args {
			args[i] = decodeValue(t, c.Args[i])
			shown[i] = text(args[i])
		}
		name := c.Fn + "(" + strings.Join(shown, ", ") + ")"
		got, err := Invoke(nil, ir.FuncOf(c.Fn), args, nil)
		if c.Error != "" {
			class := pythonErrors[c.Error]
			require.NotNil(t, class, c.Error)
			if assert.Error(t, err, "%s: Python raises %s, got %s", name, c.Error, text(got)) {
				assert.ErrorIs(t, err, class, name)
			}
			continue
		}
		want := decodeValue(t, c.Out)
		if _, tooLarge := want.(bigInt); tooLarge {
			assert.ErrorIs(t, err, ir.ErrUnsupported, name)
			continue
		}
		if !assert.NoError(t, err, name) {
			continue
		}
		if text(want) != text(got) && !near(want, got, inexact[c.Fn]) {
			assert.Failf(t, "another result", "%s: Python has %s, got %s", name, text(want), text(got))
		}
	}
	require.Greater(t, cases, 10000)
}

// A list is searched by identity, then by the truth of ==, of tensors too.
func TestListsContainTensors(t *testing.T) {
	testenv.Libtorch(t)
	one, pair := Ones(1), Ones(2)
	in := func(list []any, item any) (any, error) {
		return Invoke(nil, ir.FuncOf("operator.contains"), []any{list, item}, nil)
	}
	for _, c := range []struct {
		list []any
		item any
		want bool
	}{
		{[]any{1, 2}, one, true},
		{[]any{3, 2}, one, false},
		{[]any{one}, 1.0, true},
		{[]any{pair}, pair, true}, // itself: == would be ambiguous
	} {
		got, err := in(c.list, c.item)
		require.NoError(t, err)
		assert.Equal(t, c.want, got, "%v in %v", c.item, c.list)
	}
	_, err := in([]any{1}, pair)
	require.ErrorIs(t, err, ir.ErrRuntime)
	require.ErrorContains(t, err, "Boolean value of Tensor with more than one value is ambiguous")
}
