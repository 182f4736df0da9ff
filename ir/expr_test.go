package ir

import (
	"encoding/json"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// exprCases are what SymPy and Python computed; see testdata/expr/record.py.
type exprCases struct {
	Torch, Sympy string
	Expressions  []struct {
		Srepr, Str string
		Values     []exprValue
	}
	Guards []struct {
		Text   string
		Values []exprValue
	}
}

// exprValue is a result under values for the symbols: one of the fields.
type exprValue struct {
	Env   map[string]json.Number
	Int   *int64
	Float *float64
	Bool  *bool
	Error string
}

func readExprCases(t *testing.T) exprCases {
	t.Helper()
	data, err := os.ReadFile("testdata/expr/cases.json")
	require.NoError(t, err)
	var c exprCases
	require.NoError(t, json.Unmarshal(data, &c))
	require.NotEmpty(t, c.Expressions)
	require.NotEmpty(t, c.Guards)
	return c
}

func (v exprValue) env(symbol string) (Arg, bool) {
	text, ok := v.Env[symbol]
	if !ok {
		return nil, false
	}
	if n, err := text.Int64(); err == nil && !strings.ContainsAny(text.String(), ".e") {
		return Int(n), true
	}
	f, err := text.Float64()
	return Float(f), err == nil
}

// check compares a result. Transcendental functions may differ from C's by the
// last bits, which a power on top multiplies; everything else is exact.
func (v exprValue) check(t *testing.T, text string, got Arg, err error) {
	t.Helper()
	switch {
	case v.Error == "zero":
		assert.ErrorIs(t, err, ErrZeroDivision, "%s with %v", text, v.Env)
	case v.Error != "":
		assert.ErrorIs(t, err, ErrValue, "%s with %v", text, v.Env)
	case !assert.NoError(t, err, "%s with %v", text, v.Env):
	case v.Int != nil:
		assert.Equal(t, Int(*v.Int), got, "%s with %v", text, v.Env)
	case v.Bool != nil:
		assert.Equal(t, Bool(*v.Bool), got, "%s with %v", text, v.Env)
	case strings.Contains(strings.ReplaceAll(text, "OpaqueUnaryFn_sqrt", ""), "OpaqueUnaryFn_") || strings.Contains(text, "FloatPow"):
		f, ok := got.(Float)
		require.True(t, ok, "%s with %v: %v", text, v.Env, got)
		assert.InDelta(t, *v.Float, float64(f), 1e-13*math.Max(1, math.Abs(*v.Float)), "%s with %v", text, v.Env)
	default:
		assert.Equal(t, Float(*v.Float), got, "%s with %v", text, v.Env)
	}
}

func TestExprAgainstSympy(t *testing.T) {
	for _, c := range readExprCases(t).Expressions {
		e, err := ParseExpr(c.Srepr)
		require.NoError(t, err)
		assert.Equal(t, c.Srepr, e.Srepr())
		if strings.Contains(c.Str, "Max(") || strings.Contains(c.Str, "Min(") {
			assert.Equal(t, sorted(c.Str), sorted(e.String())) // str has an order of its own for these
		} else {
			assert.Equal(t, c.Str, e.String())
		}
		for _, v := range c.Values {
			got, err := e.Eval(v.env)
			v.check(t, c.Srepr, got, err)
		}
	}
}

func sorted(s string) string {
	b := []byte(s)
	slices.Sort(b)
	return string(b)
}

// What str prints is read back with the same meaning, unless str cut a float to
// 15 digits.
func TestExprReadsItsOwnText(t *testing.T) {
	for _, c := range readExprCases(t).Expressions {
		if strings.Contains(c.Srepr, "Float(") {
			continue
		}
		e, err := ParseExpr(c.Str)
		require.NoError(t, err)
		for _, v := range c.Values {
			got, err := e.Eval(v.env)
			v.check(t, c.Str, got, err)
		}
	}
}

func TestGuardsAgainstPython(t *testing.T) {
	for _, c := range readExprCases(t).Guards {
		e, err := ParseGuard(c.Text)
		require.NoError(t, err)
		for _, v := range c.Values {
			got, err := e.Eval(v.env)
			v.check(t, c.Text, got, err)
		}
	}
}
