package rewriter

import (
	"bufio"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/ir"
)

// parsed reads code of a function.
func parsed(t *testing.T, code string) *ir.Graph {
	t.Helper()
	g, err := ir.ParseCode(code)
	require.NoError(t, err)
	return g
}

// rewritten replaces and returns the body of the code that comes of it.
func rewritten(t *testing.T, graph, pattern, replacement string, opts ...Option) (body []string, done []Replaced) {
	t.Helper()
	m := module(t, parsed(t, graph))
	done, err := Replace(m, pattern, append(opts, With(replacement))...)
	require.NoError(t, err)
	return bodyOf(t, m), done
}

// bodyOf returns the lines of a module's code below the def, without the words
// that end the life of a local.
func bodyOf(t *testing.T, m *ir.GraphModule) (body []string) {
	t.Helper()
	require.NoError(t, m.Graph().Lint())
	code, err := m.Code()
	require.NoError(t, err)
	_, code, _ = strings.Cut(code, "def ")
	for _, line := range strings.Split(code, "\n")[1:] {
		line, _, _ = strings.Cut(strings.TrimSpace(line), ";")
		if line != "" {
			body = append(body, line)
		}
	}
	return body
}

func TestLooseArguments(t *testing.T) {
	tests := []struct {
		name, call, pattern string
		strict, loose       int
	}{
		{"position for keyword", "torch.sum(x, 1, keepdim = True)", "torch.sum(a, dim = 1, keepdim = True)", 0, 1},
		{"keywords in another order", "torch.sum(x, keepdim = True, dim = 1)", "torch.sum(a, dim = 1, keepdim = True)", 0, 1},
		{"a default given", "torch.sum(x, 1, False)", "torch.sum(a, 1)", 0, 1},
		{"another value than the default", "torch.sum(x, 1, True)", "torch.sum(a, 1)", 0, 0},
		{"input is self", "torch.sum(input = x)", "torch.sum(a)", 0, 1},
		{"a method", "x.softmax(dim = 1)", "a.softmax(1)", 0, 1},
		{"no parameter of that name", "torch.sum(x, axes = 1)", "torch.sum(a, 1)", 0, 0},
		{"overload: keyword for position, always", "torch.ops.aten.clamp.default(x, min = 1)", "torch.ops.aten.clamp.default(a, 1)", 1, 1},
		{"Python function: keywords in another order", "torch.nn.functional.gelu(x, b = 1, a = 2)", "torch.nn.functional.gelu(a, a = 2, b = 1)", 0, 1},
		{"Python function: keyword missing", "torch.nn.functional.gelu(x)", "torch.nn.functional.gelu(a, approximate = 'tanh')", 0, 0},
		{"Python function: keyword too many", "torch.nn.functional.gelu(x, approximate = 'tanh')", "torch.nn.functional.gelu(a)", 0, 0},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			g := parsed(t, def("x", "y = "+tc.call, "return y"))
			p := parsed(t, def("a", "y = "+tc.pattern, "return y"))
			for want, opts := range map[*int][]Option{&tc.strict: nil, &tc.loose: {LooseArguments()}} {
				m, err := NewMatcher(p, opts...)
				require.NoError(t, err)
				matches, err := m.Match(g)
				require.NoError(t, err)
				assert.Len(t, matches, *want, "options: %d", len(opts))
			}
		})
	}
}

func TestOptionalPlaceholder(t *testing.T) {
	pattern := def("a, eps = 0.1", "y = torch.nn.functional.layer(a, eps = eps)", "return y")
	replacement := def("a, eps = 0.1", "norm = torch.nn.functional.norm(a, eps)", "return norm")
	body, done := rewritten(t, def("x", "y = torch.nn.functional.layer(x)", "z = torch.nn.functional.layer(y, eps = 0.5)", "return z"),
		pattern, replacement, LooseArguments())
	assert.Len(t, done, 2)
	assert.Equal(t, []string{"norm = torch.nn.functional.norm(x, 0.1)", "norm_1 = torch.nn.functional.norm(norm, 0.5)", "return norm_1"}, body)
	_, done = rewritten(t, def("x", "y = torch.nn.functional.layer(x)", "return y"), pattern, replacement)
	assert.Empty(t, done, "only where arguments are loose")
}

func TestVariadicPlaceholder(t *testing.T) {
	tests := []struct{ name, call, pattern, replacement, want string }{
		{"items of a list", "torch.cat([x, y, x], dim = 1)", "torch.cat([a, rest], dim = 1)", "torch.hstack([rest, a])", "torch.hstack([y, x, x])"},
		{"no items", "torch.cat([x], dim = 1)", "torch.cat([a, rest], dim = 1)", "torch.hstack([a, rest])", "torch.hstack([x])"},
		{"arguments of a call", "x.view(2, 3, 4)", "a.view(rest)", "a.reshape(rest)", "x.reshape(2, 3, 4)"},
		{"arguments into a list", "x.view(2, 3)", "a.view(rest)", "torch.reshape(a, [rest])", "torch.reshape(x, [2, 3])"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			body, done := rewritten(t, def("x, y", "z = "+tc.call, "w = z + y", "return w"),
				def("a, *rest", "z = "+tc.pattern, "return z"), def("a, *rest", "z = "+tc.replacement, "return z"), LooseArguments())
			require.Len(t, done, 1)
			_, line, _ := strings.Cut(body[0], " = ")
			assert.Equal(t, tc.want, line)
		})
	}
}

func TestCommutative(t *testing.T) {
	tests := []struct {
		name, call, pattern string
		want                int
	}{
		{"function", "torch.add(y, 1)", "torch.add(1, a)", 1},
		{"operator", "2 * y", "a * 2", 1},
		{"method", "x.add(y)", "b.add(a)", 1},
		{"overload", "torch.ops.aten.add.Tensor(x, y)", "torch.ops.aten.add.Tensor(b, a)", 1},
		{"overload of two types", "torch.ops.aten.add.Scalar(x, 1)", "torch.ops.aten.add.Scalar(1, a)", 0},
		{"alpha of one", "torch.add(1, y, alpha = 1)", "torch.add(a, 1, alpha = 1)", 1},
		{"alpha scales the second", "torch.add(1, y, alpha = 2)", "torch.add(a, 1, alpha = 2)", 0},
		{"does not commute", "torch.sub(1, y)", "torch.sub(a, 1)", 0},
		{"division", "1 / y", "a / 1", 0},
		{"strings", "y + 'b'", "'b' + a", 0},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			params := "a"
			if strings.Contains(tc.pattern, "b.") || strings.Contains(tc.pattern, "(b") {
				params = "a, b"
			}
			g := parsed(t, def("x, y", "z = "+tc.call, "return z"))
			m, err := NewMatcher(parsed(t, def(params, "z = "+tc.pattern, "return z")), Commutative())
			require.NoError(t, err)
			matches, err := m.Match(g)
			require.NoError(t, err)
			assert.Len(t, matches, tc.want)
		})
	}
	t.Run("only where asked for", func(t *testing.T) {
		m, err := NewMatcher(parsed(t, def("a", "z = a + 1", "return z")))
		require.NoError(t, err)
		matches, err := m.Match(parsed(t, def("x", "z = 1 + x", "return z")))
		require.NoError(t, err)
		assert.Empty(t, matches)
	})
}

// An order that fits by itself is given up where what follows does not fit.
func TestCommutativeBacktracks(t *testing.T) {
	pattern := parsed(t, def("a, b", "s = torch.add(a, b)", "r = torch.relu(a)", "return (s, r)"))
	m, err := NewMatcher(pattern, Commutative())
	require.NoError(t, err)
	matches, err := m.Match(parsed(t, def("x, y", "s = torch.add(x, y)", "r = torch.relu(y)", "return (s, r)")))
	require.NoError(t, err)
	require.Len(t, matches, 1)
	assert.Equal(t, [][2]string{{"s", "s"}, {"a", "y"}, {"b", "x"}, {"r", "r"}}, pairsOf(&matches[0]))

	inner := parsed(t, def("a, b", "n = torch.neg(a)", "s = torch.add(n, b)", "p = torch.mul(s, a)", "return p"))
	m, err = NewMatcher(inner, Commutative())
	require.NoError(t, err)
	matches, err = m.Match(parsed(t, def("x, y", "n = torch.neg(x)", "o = torch.neg(y)", "s = torch.add(o, n)", "p = torch.mul(x, s)", "return p")))
	require.NoError(t, err)
	require.Len(t, matches, 1)
	assert.Equal(t, [][2]string{{"p", "p"}, {"s", "s"}, {"n", "n"}, {"a", "x"}, {"b", "o"}}, pairsOf(&matches[0]))
}

// Every operator of the table commutes by what was recorded from PyTorch.
func TestCommutativeOperatorsWereTried(t *testing.T) {
	f, err := os.Open("testdata/commutative.txt")
	require.NoError(t, err)
	defer f.Close()
	found := map[string]bool{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		name, overload, _ := strings.Cut(lines.Text(), ".")
		op := "aten::" + name
		if overload != "default" {
			op += "." + overload
		}
		if !strings.HasPrefix(name, "#") {
			require.NotNil(t, ir.Operators().Lookup(op), op)
			found[name] = true
		}
	}
	for name := range commutative {
		assert.True(t, found[name], name)
	}
	for _, name := range pythonNames {
		assert.True(t, commutative[name], name)
	}
}

func TestSlicesAndDictsAreOpenedForNodes(t *testing.T) {
	body, done := rewritten(t, def("x, n", "getitem = x[(slice(None, n, None), 2)]", "return getitem"),
		def("a, b", "getitem = a[(slice(None, b, None), 2)]", "return getitem"), def("a, b", "narrow = torch.narrow(a, 0, 0, b)", "return narrow"))
	assert.Len(t, done, 1)
	assert.Equal(t, []string{"narrow = torch.narrow(x, 0, 0, n)", "return narrow"}, body)

	_, done = rewritten(t, def("x", "y = f(x, {'k': x, 'n': 1})", "return y"),
		def("a", "y = f(a, {'k': a, 'n': 1})", "return y"), def("a", "return a"))
	assert.Len(t, done, 1)
	_, done = rewritten(t, def("x", "y = f(x, {'k': x, 'n': 1})", "return y"),
		def("a", "y = f(a, {'k': a, 'n': 2})", "return y"), def("a", "return a"))
	assert.Empty(t, done)
}

func TestExplain(t *testing.T) {
	chainOf := def("x, y", "relu = torch.relu(x)", "add = torch.add(relu, 2)", "return add")
	tests := []struct {
		name, graph, pattern string
		options              []Option
		want                 []string
	}{
		{"a literal", chainOf, def("a", "add = torch.add(a, 0)", "return add"), nil,
			[]string{"at add, against add: arg 1: expected 0, got 2"}},
		{"a keyword", def("x", "s = torch.sum(x, dim = -1)", "return s"), def("a", "s = torch.sum(a, dim = 1)", "return s"), nil,
			[]string{"at s, against s: kwarg dim: expected 1, got -1"}},
		{"by the schema", def("x", "s = torch.ops.aten.sum.dim_IntList(x, [1])", "return s"),
			def("a", "s = torch.ops.aten.sum.dim_IntList(a, [1], keepdim = True)", "return s"), nil,
			[]string{"at s, against s: argument keepdim: expected True, got False"}},
		{"what it calls", chainOf, def("a", "neg = torch.neg(a)", "add = torch.add(neg, 2)", "return add"), nil,
			[]string{"at add, against add: arg 0: expected call_function torch.neg, got relu, which is call_function torch.relu"}},
		{"another spelling", chainOf, def("a", "add = a + 2", "return add"), nil,
			[]string{"at add, against add: expected call_function operator.add, got call_function torch.add"}},
		{"nothing of the kind", chainOf, def("a", "neg = torch.neg(a)", "return neg"), nil,
			[]string{"against neg: expected call_function torch.neg, got none in the graph"}},
		{"how many arguments", chainOf, def("a", "add = torch.add(a)", "return add"), nil,
			[]string{"at add, against add: expected 1 positional arguments, got 2"}},
		{"two of one", def("x", "add = torch.add(x, x)", "return add"), def("a, b", "add = torch.add(a, b)", "return add"), nil,
			[]string{"at add, against add: arg 1: expected a node for b alone, got x, which stands for a"}},
		{"one of two", def("x, y", "add = torch.add(x, y)", "return add"), def("a", "add = torch.add(a, a)", "return add"), nil,
			[]string{"at add, against add: arg 1: expected x, as before, got y"}},
		{"other users", def("x", "n = torch.neg(x)", "r = torch.relu(n)", "return (r, n)"),
			def("a", "n = torch.neg(a)", "r = torch.relu(n)", "return r"), nil,
			[]string{"at n, against n: expected no users outside of the match, got output"}},
		{"a way out and back in", def("x", "a = torch.neg(x)", "b = torch.sin(a)", "c = torch.add(a, b)", "return c"),
			def("x, y", "a = torch.neg(x)", "c = torch.add(a, y)", "return (a, c)"), nil,
			[]string{"at c, against c: expected no way out of the match and back in, got one through b"}},
		{"an overlap", def("x", "a = torch.neg(x)", "b = torch.neg(a)", "c = torch.neg(b)", "return c"),
			def("x", "a = torch.neg(x)", "b = torch.neg(a)", "return b"), nil,
			[]string{
				"at a, against b: arg 0: expected call_function torch.neg, got x, which is a node that is placeholder",
				"at c, against b: b is part of an earlier match"}},
		{"the farthest attempt", def("x", "a = torch.neg(x)", "b = torch.add(a, 1)", "c = torch.add(b, 2)", "return c"),
			def("x", "a = torch.neg(x)", "b = torch.add(a, 1)", "c = torch.add(b, 3)", "return c"), nil,
			[]string{
				"at b, against c: arg 0: expected call_function torch.add, got a, which is call_function torch.neg",
				"at c, against c: arg 1: expected 3, got 2"}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			var reasons []string
			m, err := NewMatcher(parsed(t, tc.pattern), append(tc.options, Explain(func(r Reason) { reasons = append(reasons, r.String()) }))...)
			require.NoError(t, err)
			_, err = m.Match(parsed(t, tc.graph))
			require.NoError(t, err)
			assert.Equal(t, tc.want, reasons)
		})
	}
}

func TestExplainFilters(t *testing.T) {
	var reasons []string
	_, done := rewritten(t, def("x", "n = torch.neg(x)", "return n"), def("a", "m = torch.neg(a)", "return m"), def("a", "return a"),
		FilterBy(func(*Match, *ir.Graph, *ir.Graph) bool { return false }),
		Explain(func(r Reason) { reasons = append(reasons, r.String()) }))
	assert.Empty(t, done)
	assert.Equal(t, []string{"at n, against m: a filter refused the match"}, reasons)
}

// The dict may be returned as it is, or flat, in a graph with pytree code.
func TestNameNodes(t *testing.T) {
	g := parsed(t, def("x, w", "mm = torch.mm(x, w)", "relu = torch.relu(mm)", "mul = relu * 2", "return mul"))
	pattern := parsed(t, def("a, b", "m = torch.mm(a, b)", "r = torch.relu(m)", "return (r, {'mm': m, 'relu': r})"))
	leaf, flat := ir.Leaf(), pattern.Clone()
	m, r := flat.Lookup("m"), flat.Lookup("r")
	flat.Last().SetArgs(ir.ListOf(r, m, r))
	flat.SetCodeGen(ir.PyTreeCodeGen{Args: []string{"a", "b"}, In: ir.TupleSpec(leaf, leaf),
		Out: ir.TupleSpec(leaf, &ir.TreeSpec{Type: "builtins.dict", Keys: []any{"mm", "relu"}, Children: []*ir.TreeSpec{leaf, leaf}})})
	for name, p := range map[string]*ir.Graph{"as it is": pattern, "flat": flat} {
		matcher, err := NewMatcher(p, NameNodes())
		require.NoError(t, err, name)
		matches, err := matcher.Match(g)
		require.NoError(t, err, name)
		require.Len(t, matches, 1, name)
		assert.Equal(t, map[string]*ir.Node{"mm": g.Lookup("mm"), "relu": g.Lookup("relu")}, matches[0].Names, name)
	}
}

// A returned node of the pattern stands for any call of that name, with the
// arguments that the pattern has.
func TestNameMatch(t *testing.T) {
	body, done := rewritten(t, def("x", "exp = torch.exp(x)", "exp_1 = torch.exp(x, out = exp)", "add = exp + exp_1", "return add"),
		def("a", "relu = torch.relu(a)", "return relu"), def("a", "tanh = torch.tanh(a)", "return tanh"), NameMatch("exp"))
	assert.Len(t, done, 1)
	assert.Equal(t, []string{"tanh = torch.tanh(x)", "exp_1 = torch.exp(x, out = tanh)", "add = tanh + exp_1", "return add"}, body)
}

func TestNameNodesRefuses(t *testing.T) {
	for name, want := range map[string]string{
		"return m":             "to return a tuple",
		"return (m,)":          "at least two outputs",
		"return (m, m)":        "to have a dict output as the last element",
		"return (m, {'k': 1})": "a dict from names to nodes",
	} {
		_, err := NewMatcher(parsed(t, def("a", "m = torch.neg(a)", name)), NameNodes())
		require.ErrorIs(t, err, ir.ErrAssertion, name)
		assert.ErrorContains(t, err, want, name)
	}
}

func TestAttributesThatCannotBeCompared(t *testing.T) {
	pattern := parsed(t, def("x", "w = self.w", "mul = x * w", "return mul"))
	m, err := NewMatcher(pattern)
	require.NoError(t, err)
	graph := func(attr any) *ir.Graph {
		g := parsed(t, def("x", "v = self.v", "mul = x * v", "return mul"))
		_, err := ir.NewGraphModule(fact{"v": attr}, g)
		require.NoError(t, err)
		return g
	}
	_, err = m.Match(graph(&tensor{}))
	require.ErrorIs(t, err, ir.ErrAssertion)
	assert.ErrorContains(t, err, "expected w to belong to a module")

	_, err = ir.NewGraphModule(fact{"w": 3}, pattern)
	require.NoError(t, err)
	_, err = m.Match(graph(4))
	require.ErrorIs(t, err, ir.ErrRuntime)
	assert.ErrorContains(t, err, "Unsupported type int")
	matches, err := m.Match(graph(&tensor{}))
	require.NoError(t, err)
	assert.Empty(t, matches)
}

func TestMatcherIsShared(t *testing.T) {
	m, err := NewMatcher(parsed(t, addRelu))
	require.NoError(t, err)
	for range 4 {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			matches, err := m.Match(chain(100))
			require.NoError(t, err)
			assert.Len(t, matches, 100)
		})
	}
}
