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
	"pgregory.net/rapid"
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

func noSymbols(string) (Arg, bool) { return nil, false }

func TestExprErrors(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"empty", "", "expression: column 1: expected a number, a symbol or a function, got the end"},
		{"code", "__import__('os').system('true')", `expression: column 1: expected a known function, got "__import__"`},
		{"attribute", "s0.__class__", `expression: column 3: expected an operator or the end, got "."`},
		{"module", "math.system(1)", `expression: column 1: expected a known function, got "math"`},
		{"function of torch", "torch.load('x')", `expression: column 1: expected a known function, got "torch"`},
		{"lambda", "(lambda: 0)()", `expression: column 8: expected ")", got ":"`},
		{"subscript", "L['x']", `expression: column 2: expected an operator or the end, got "["`},
		{"string", "'abc'", `expression: column 1: expected a number, a symbol or a function, got "'"`},
		{"open", "Mul(Integer(2)", `expression: column 15: expected ",", got the end`},
		{"two values", "s0 s1", `expression: column 4: expected an operator or the end, got "s1"`},
		{"too few arguments", "FloorDiv(s0)", `expression: column 1: expected FloorDiv with 2 arguments, got "FloorDiv"`},
		{"too many arguments", "ToFloat(s0, s1)", `expression: column 1: expected ToFloat with 1 arguments, got "ToFloat"`},
		{"long integer", "Integer(9223372036854775808)", `expression: column 9: expected an integer of 64 bits, got "9223372036854775808"`},
		{"long number", "9223372036854775808", `expression: column 1: expected a number of 64 bits, got "9223372036854775808"`},
		{"zero denominator", "Rational(1, 0)", `expression: column 14: expected a fraction of 64 bits, got ")"`},
		{"division by zero", "s0/0", `expression: column 5: expected a divisor that is not zero, got the end`},
		{"assumption", "Symbol('s0', positive=os)", `expression: column 23: expected True or False, got "os"`},
		{"nameless symbol", "Symbol('')", `expression: column 8: expected a quoted string without escapes, got "'"`},
		{"escape", `Symbol('a\'b')`, `expression: column 8: expected a quoted string without escapes, got "'"`},
		{"no float", "Float('x', precision=53)", `expression: column 7: expected a float, got "'"`},
		{"bits of a number", "~s0", `expression: column 4: expected a condition after ~, got the end`},
		{"deep", strings.Repeat("(", 500) + "s0" + strings.Repeat(")", 500), `expression: column 201: expected parts nested at most 200 deep, got "("`},
		{"deep in signs", strings.Repeat("-", 500) + "s0", `expression: column 202: expected parts nested at most 200 deep, got "-"`},
		{"deep to the left", "s0" + strings.Repeat("//s1", 500), `expression: column 807: expected parts nested at most 200 deep, got "/"`},
		{"long", strings.Repeat("s0+", 30000) + "s0", "expression: expected at most 65536 bytes, got 90002"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			e, err := ParseExpr(tc.text)
			assert.Nil(t, e)
			assert.EqualError(t, err, tc.want)
			assert.ErrorIs(t, err, ErrSyntax)
		})
	}
}

func TestExprEvalErrors(t *testing.T) {
	env := func(s string) (Arg, bool) {
		v, ok := map[string]Arg{"big": Int(math.MaxInt64), "small": Int(math.MinInt64), "zero": Int(0), "text": Str("x"), "n": Int(3), "f": Float(-1)}[s]
		return v, ok
	}
	tests := []struct {
		text, want string
		class      *Class
	}{
		{"n + s0", "expression: symbol s0 has no value", ErrKey},
		{"n*text", "expression: symbol text: expected an int, float or bool, got ir.Str", ErrType},
		{"big + 1", "expression big + 1: the result needs more than 64 bits", ErrValue},
		{"small - 1", "expression small - 1: the result needs more than 64 bits", ErrValue},
		{"small*-1", "expression -small: the result needs more than 64 bits", ErrValue},
		{"big*big", "expression big*big: the result needs more than 64 bits", ErrValue},
		{"small//-1", "expression (small//(-1)): the result needs more than 64 bits", ErrValue},
		{"Abs(small)", "expression Abs(small): the result needs more than 64 bits", ErrValue},
		{"n**64", "expression n**64: the result needs more than 64 bits", ErrValue},
		{"n**big", "expression n**big: the result needs more than 64 bits", ErrValue},
		{"LShift(n, 63)", "expression LShift(n, 63): the result needs more than 64 bits", ErrValue},
		{"LShift(n, f)", "expression LShift(n, f): shift: expected integers", ErrType},
		{"RShift(n, -1)", "expression RShift(n, -1): negative shift count", ErrValue},
		{"n//zero", "expression (n//zero): division by zero", ErrZeroDivision},
		{"Mod(n, zero)", "expression Mod(n, zero): division by zero", ErrZeroDivision},
		{"n/zero", "expression 1/zero: division by zero", ErrZeroDivision},
		{"ModularIndexing(n, zero, 2)", "expression ModularIndexing(n, zero, 2): division by zero", ErrZeroDivision},
		{"PowByNatural(n, -1)", "expression PowByNatural(n, -1): exponent must be non-negative", ErrValue},
		{"FloatPow(f, 0.5)", "expression FloatPow(f, 0.5): math domain error", ErrValue},
		{"OpaqueUnaryFn_sqrt(f)", "expression OpaqueUnaryFn_sqrt(f): math domain error", ErrValue},
		{"OpaqueUnaryFn_log(zero)", "expression OpaqueUnaryFn_log(zero): math domain error", ErrValue},
		{"TruncToInt(1e300*n)", "expression TruncToInt(1.0e+300*n): the result needs more than 64 bits", ErrValue},
		{"IsNonOverlappingAndDenseIndicator(n, n, n)", "expression IsNonOverlappingAndDenseIndicator(n, n, n): IsNonOverlappingAndDenseIndicator: expected as many strides as sizes", ErrType},
	}
	for _, tc := range tests {
		t.Run(tc.text, func(t *testing.T) {
			e, err := ParseExpr(tc.text)
			require.NoError(t, err)
			_, err = e.Eval(env)
			assert.EqualError(t, err, tc.want)
			assert.ErrorIs(t, err, tc.class)
		})
	}
}

func TestExprText(t *testing.T) {
	tests := []struct{ text, str, srepr string }{
		{"2*s27", "2*s27", "Mul(Integer(2), Symbol('s27'))"},
		{"s0//2", "(s0//2)", "FloorDiv(Symbol('s0'), Integer(2))"},
		{"((s77//2)) + 1", "((s77//2)) + 1", "Add(FloorDiv(Symbol('s77'), Integer(2)), Integer(1))"},
		{"-s0 - 1", "-s0 - 1", "Add(Mul(Integer(-1), Symbol('s0')), Integer(-1))"},
		{"-3*s27 + 2*s77", "-3*s27 + 2*s77", "Add(Mul(Integer(-3), Symbol('s27')), Mul(Integer(2), Symbol('s77')))"},
		{"s0/2", "s0/2", "Mul(Rational(1, 2), Symbol('s0'))"},
		{"s0/s1", "s0/s1", "Mul(Symbol('s0'), Pow(Symbol('s1'), Integer(-1)))"},
		{"sqrt(s0)", "sqrt(s0)", "Pow(Symbol('s0'), Rational(1, 2))"},
		{"s0 % 3", "Mod(s0, 3)", "Mod(Symbol('s0'), Integer(3))"},
		{"Eq(s0, 4)", "Eq(s0, 4)", "Equality(Symbol('s0'), Integer(4))"},
		{"(s0 < 4) & Ne(s1, 2)", "(s0 < 4) & Ne(s1, 2)", "And(StrictLessThan(Symbol('s0'), Integer(4)), Unequality(Symbol('s1'), Integer(2)))"},
		{"1 < s0 <= 4", "(1 < s0) & (s0 <= 4)", "And(StrictLessThan(Integer(1), Symbol('s0')), LessThan(Symbol('s0'), Integer(4)))"},
		{"0.1", "0.100000000000000", "Float('0.10000000000000001', precision=53)"},
		{"int_oo", "int_oo", "int_oo"},
		{"-oo", "-oo", "-oo"},
		{"Symbol('s0', integer=True, positive=True)", "s0", "Symbol('s0', integer=True, positive=True)"},
	}
	for _, tc := range tests {
		t.Run(tc.text, func(t *testing.T) {
			e, err := ParseExpr(tc.text)
			require.NoError(t, err)
			assert.Equal(t, tc.str, e.String())
			assert.Equal(t, tc.srepr, e.Srepr())
		})
	}
}

func TestExprQueries(t *testing.T) {
	e, err := ParseExpr("s1*s0 + s1 - 2")
	require.NoError(t, err)
	assert.Equal(t, []string{"s1", "s0"}, e.Symbols())
	_, ok := e.Symbol()
	assert.False(t, ok)
	_, ok = e.Const()
	assert.False(t, ok)

	name, ok := SymbolExpr("s0").Symbol()
	assert.True(t, ok)
	assert.Equal(t, "s0", name)
	value, ok := IntExpr(7).Const()
	assert.True(t, ok)
	assert.Equal(t, Int(7), value)

	same, err := ParseExpr("Add(Mul(Symbol('s1', integer=True), Symbol('s0')), Symbol('s1'), Integer(-2))")
	require.NoError(t, err)
	assert.True(t, e.Equal(same))
	assert.False(t, e.Equal(e.args[0]))
	assert.False(t, e.Equal(nil))
}

// Short circuits protect what stands behind them, as in Python.
func TestGuardShortCircuit(t *testing.T) {
	e, err := ParseGuard("L['n'] != 0 and 10 % L['n'] == 0")
	require.NoError(t, err)
	for n, want := range map[int64]Bool{0: false, 5: true, 3: false} {
		got, err := e.Eval(func(string) (Arg, bool) { return Int(n), true })
		require.NoError(t, err)
		assert.Equal(t, want, got, "n=%d", n)
	}
}

func TestGuardPlaces(t *testing.T) {
	tests := []struct {
		symbol string
		want   GuardPlace
	}{
		{"L['x']", GuardPlace{[]Arg{Str("x")}, "", -1}},
		{"L['x'].size()[0]", GuardPlace{[]Arg{Str("x")}, "size", 0}},
		{"L['x'].stride()[2]", GuardPlace{[]Arg{Str("x")}, "stride", 2}},
		{"L['x'].storage_offset()", GuardPlace{[]Arg{Str("x")}, "storage_offset", -1}},
		{"L['xs'][1]['a key'].size()[0]", GuardPlace{[]Arg{Str("xs"), Int(1), Str("a key")}, "size", 0}},
		{`L["it's"].left.size()[0]`, GuardPlace{[]Arg{Str("it's"), Str("left")}, "size", 0}},
		{"x.size()[1]", GuardPlace{[]Arg{Str("x")}, "size", 1}},
	}
	for _, tc := range tests {
		t.Run(tc.symbol, func(t *testing.T) {
			e, err := ParseGuard(tc.symbol + " == 3")
			require.NoError(t, err)
			require.Equal(t, []string{tc.symbol}, e.Symbols())
			got, err := ParseGuardPlace(tc.symbol)
			require.NoError(t, err)
			assert.Equal(t, tc.want, got)
		})
	}
}

func TestGuardErrors(t *testing.T) {
	tests := []struct{ text, want string }{
		{"__import__('os').system('true') == 0", `guard: column 1: expected a known function, got "__import__"`},
		{"L['x'].system('true')", `guard: column 8: expected size, stride, storage_offset or numel, got "system"`},
		{"L['x'].size()[-1] == 1", `guard: column 17: expected a dimension from 0 to 63, got "]"`},
		{"L['x'].size(0) == 1", `guard: column 12: expected "()", got "("`},
		{"L['x'][L['y']]", `guard: column 8: expected an integer of 64 bits, got "L"`},
		{"L['x'].dtype == torch.float32", `guard: column 30: expected "(", got the end`},
		{"L['x'] == 'a'", `guard: column 11: expected a number, a symbol or a function, got "'"`},
		{"L['x'] if True else 1", `guard: column 8: expected an operator or the end, got "if"`},
		{"[x for x in L]", `guard: column 1: expected a number, a symbol or a function, got "["`},
	}
	for _, tc := range tests {
		t.Run(tc.text, func(t *testing.T) {
			_, err := ParseGuard(tc.text)
			assert.EqualError(t, err, tc.want)
		})
	}
	_, err := ParseGuardPlace("L")
	assert.EqualError(t, err, "guard: column 2: expected an argument's name, got the end")
	_, err = ParseGuardPlace("L['x'] + 1")
	assert.EqualError(t, err, `guard: column 7: expected the end, got " "`)
}

// randomExpr draws an expression of integers.
func randomExpr(depth int) *rapid.Generator[*Expr] {
	return rapid.Custom(func(t *rapid.T) *Expr {
		if depth == 0 {
			if rapid.Bool().Draw(t, "symbol") {
				return SymbolExpr(rapid.SampledFrom([]string{"s0", "s1", "u0"}).Draw(t, "name"))
			}
			return IntExpr(rapid.Int64Range(-9, 99).Draw(t, "int"))
		}
		fn := rapid.SampledFrom([]*exprFunc{fnAdd, fnMul, fnFloorDiv, fnMod, fnMax, fnMin, fnAbs, fnPow, fnWhere, fnLt, fnEq, fnAnd, fnNot, fnBitXor, fnLShift}).Draw(t, "fn")
		args := make([]*Expr, min(max(fn.min, 2), fn.max))
		for i := range args {
			args[i] = randomExpr(depth-1).Draw(t, "arg")
			if args[i].fn == fn { // a sum in a sum is one sum
				args[i] = args[i].args[0]
			}
		}
		if fn == fnPow {
			args[1] = IntExpr(rapid.Int64Range(0, 3).Draw(t, "exponent"))
			if args[0].fn == fnNot { // SymPy's text of this power, ~a**2, is Python's ~(a**2)
				args[0] = args[0].args[0]
			}
		}
		return apply(fn, args...)
	})
}

// srepr is read back as the same tree, and str as one with the same value.
func TestExprPrintsAndParses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := randomExpr(rapid.IntRange(0, 4).Draw(t, "depth")).Draw(t, "expr")
		back, err := ParseExpr(e.Srepr())
		if err != nil || !back.Equal(e) {
			t.Fatalf("%s came back as %s: %v", e.Srepr(), back.Srepr(), err)
		}
		text, err := ParseExpr(e.String())
		if err != nil {
			t.Fatalf("%s: %v", e, err)
		}
		env := func(s string) (Arg, bool) { return Int(map[string]int64{"s0": 3, "s1": 7, "u0": -4}[s]), true }
		want, err1 := e.Eval(env)
		got, err2 := text.Eval(env)
		if (err1 == nil) != (err2 == nil) || err1 == nil && !EqualArgs(asNumber(want), asNumber(got)) {
			t.Fatalf("%s = %v %v, but its text %s = %v %v", e.Srepr(), want, err1, e, got, err2)
		}
	})
}

// asNumber takes a bool for the integer that it equals in Python: the text of
// Mul(1, Not(a)) is ~a, as SymPy prints it, which is a bool and no integer.
func asNumber(a Arg) Arg {
	if b, ok := a.(Bool); ok {
		if b {
			return Int(1)
		}
		return Int(0)
	}
	return a
}

func FuzzParseExpr(f *testing.F) {
	for _, text := range []string{
		"Add(Mul(Float('0.5', precision=53), ToFloat(Symbol('s77', positive=True, integer=True))), Float('1.0', precision=53))",
		"2*s27 + 1", "-s0//2 % 3", "L['z'].size()[0] == (2*L['x'].size()[1])", "L['n'] >= 0 and not L['n'] > 10",
		"torch.sym_max(L['a'], 3) ** 2 << 1 | ~(1 < 2)", "Where(Eq(s0, 1), int_oo, Rational(-1, 3))", "1/sqrt(s0)/2/s1",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		env := func(string) (Arg, bool) { return Int(3), true }
		if e, err := ParseGuard(text); err == nil {
			_ = e.String()
			_, _ = e.Eval(env)
			for _, s := range e.Symbols() {
				if _, err := ParseGuardPlace(s); err != nil {
					t.Fatalf("%q: symbol %q: %v", text, s, err)
				}
			}
		}
		e, err := ParseExpr(text)
		if err != nil {
			return
		}
		printed := e.Srepr()
		back, err := ParseExpr(printed)
		if err != nil {
			t.Fatalf("%q printed as %q: %v", text, printed, err)
		}
		if back.Srepr() != printed {
			t.Fatalf("%q printed as %q, then as %q", text, printed, back.Srepr())
		}
		_ = e.String()
		_, _ = e.Eval(env)
		_, _ = e.Eval(noSymbols)
	})
}
