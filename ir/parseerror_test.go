package ir

import (
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseCodeErrors(t *testing.T) {
	for _, tc := range []struct{ name, src, want string }{
		{"empty", "", "code, line 1, column 1: expected an import, a wrapped function, a class or a def, got the end of the code"},
		{"statement", "x = 1 + 2", `code, line 1, column 7: expected the end of the line, got "+"`},
		{"call", "print(1)", `code, line 1, column 1: expected an import, a wrapped function, a class or a def, got "print"`},
		{"no name", "def (self):", `code, line 1, column 5: expected the name of a function, got "("`},
		{"no colon", "def f(self)\n    return 1", `code, line 1, column 12: expected ":", got the end of the line`},
		{"parameter", "def f(self, 1):\n    return 1", `code, line 1, column 13: expected the name of a parameter, got "1"`},
		{"twice", "def f(self, x, *x):\n    return x", `code, line 1, column 16: expected different names, got "x" twice`},
		{"keyword", "def f(self, class):\n    pass", `code, line 1, column 13: expected the name of a parameter, got "class"`},
		{"undefined", "def f(self, x):\n    y = torch.relu(z)", `code, line 2, column 20: expected a local, a literal or a global that an import explains, got "z"`},
		{"again", "def f(self, x):\n    y = -x\n    y = ~x", `code, line 3, column 5: expected a local that is not there yet, got "y" again`},
		{"nested", "def f(self, x):\n    y = torch.relu(torch.neg(x))", `code, line 2, column 20: expected a local or a literal, got a call of "torch.neg"; a call has a line of its own: y = torch.neg(…)`},
		{"sum", "def f(self, x):\n    y = x + x + x", `code, line 2, column 15: expected the end of the line, got "+"`},
		{"copy", "def f(self, x):\n    y = -x\n    z = y", "code, line 3, column 10: expected an operator, a subscript, an attribute or a call, got the end of the code"},
		{"indent", "def f(self, x):\n    y = -x\n      z = -y", `code, line 3, column 7: expected a line indented like the first of the body, got "z"`},
		{"more", "def f(self, x):\n    return x\nprint(x)", `code, line 3, column 1: expected the end of the code, got "print"`},
		{"tuple", "def f(self, x):\n    return (x)", `code, line 2, column 12: expected a tuple, with a comma behind a single value, got a value in brackets`},
		{"set", "def f(self, x):\n    return {x}", `code, line 2, column 14: expected ":", got "}"`},
		{"string", "def f(self):\n    return 'é", `code, line 2, column 12: expected a string that ends on its line, got "'é"`},
		{"escape", "def f(self):\n    return '\\q'", `code, line 2, column 12: expected an escape that Python's repr writes in a string, got "'\\q'"`},
		{"surrogate", "def f(self):\n    return '\\ud800'", `code, line 2, column 12: expected an escape of a character in a string, got "'\\ud800'"`},
		{"number", "def f(self):\n    return 0x10", `code, line 2, column 12: expected a number, got "0x"`},
		{"octal", "def f(self):\n    return 010", `code, line 2, column 12: expected a number without leading zeros, got "010"`},
		{"symbol", "def f(self):\n    return ?", `code, line 2, column 12: expected a name, a literal or a symbol, got "?"`},
		{"repr", "def f(self):\n    return <function f at 0x0>", `code, line 2, column 12: expected a value, got "<"`},
		{"lambda", "def f(self):\n    return lambda: 1", `code, line 2, column 12: expected a value, got "lambda"`},
		{"slice", "def f(self, x):\n    return slice(x)", `code, line 2, column 12: expected slice(start, stop, step), got "slice(...)"`},
		{"device", "def f(self):\n    return device(type='tpu')", `code, line 2, column 12: expected device(type='cpu') or device(type='cuda', index=0), got "device(...)"`},
		{"release", "def f(self, x):\n    y = -x;  z = None", `code, line 2, column 14: expected a name to release that is there, got "z"`},
		{"keywords", "def f(self, x):\n    y = torch.add(x, a = 1, a = 2)", `code, line 2, column 29: expected different keywords, got "a" twice`},
		{"positional", "def f(self, x):\n    y = torch.add(a = 1, x)", `code, line 2, column 26: expected a keyword argument after a keyword argument, got "x"`},
		{"open call", "def f(self, x):\n    y = torch.relu(x\n    return y", `code, line 3, column 5: expected "," or ")", got "return"`},
		{"behind a call", "def f(self, x):\n    y = torch.relu(x)  y = None", `code, line 2, column 24: expected the end of the line, got "y"`},
		{"open type", "def f(self, x : list[int):\n    return x", `code, line 1, column 25: expected "," or "]", got ")"`},
		{"value as a key", "def f(self, x):\n    return {(1, x): 1}", `code, line 2, column 13: expected a key that is no value of the graph, got "x"`},
		{"augmented", "def f(self, x, y):\n    x += 1;  z = y", `code, line 2, column 18: expected the value that was changed, x, got y`},
		{"unchanged", "def f(self, x):\n    x += 1", `code, line 2, column 11: expected ";", got the end of the code`},
		{"box", "def f(self, x):\n    f_boxed_arg_0 = [x]\n    y = -x", `code, line 2, column 5: expected a local that the next call takes, got "f_boxed_arg_0"`},
		{"box left", "def f(self, x):\n    f_boxed_arg_0 = [x]\n    return x", "code, line 3, column 13: expected a call that takes f_boxed_arg_0, got the end of the code"},
		{"flatten", "def f(self, x):\n    a, b = x", `code, line 2, column 10: expected ",", got "="`},
		{"type", "def f(self, x : 1):\n    return x", `code, line 1, column 17: expected a type, got "1"`},
		{"getattr", "def f(self, x):\n    y = getattr(getattr(x, 1), \"a\")()", `code, line 2, column 17: expected a local or a literal, got a call of "getattr"; a call has a line of its own: y = getattr(…)`},
		{"attribute", "def f(self, x):\n    y = x.a.b", `code, line 2, column 14: expected "(" after a method, got the end of the code`},
		{"class", "class M(object):\n    def f(self):\n        pass", `code, line 1, column 7: expected a name and (torch.nn.Module): after class, got "M"`},
		{"UTF-8", "def f(self):\n    return '\xff'", "code, line 2, column 13: expected UTF-8 text, got byte 0xff"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g, err := ParseCode(tc.src)
			require.EqualError(t, err, tc.want)
			assert.Nil(t, g)
			assert.ErrorIs(t, err, ErrSyntax)
			place, ok := errors.AsType[*CodeError](err)
			require.True(t, ok)
			assert.Positive(t, place.Line)
		})
	}
}

// TestParseCodeBounds has hostile code refused, or read, in time that grows with
// its length alone.
func TestParseCodeBounds(t *testing.T) {
	deep := strings.Repeat("[", maxCodeDepth+1)
	for _, tc := range []struct{ name, src, want string }{
		{"lists", "def f(self):\n    return " + deep, "expected at most 200 levels of nesting"},
		{"brackets", "def f(self):\n    return " + strings.ReplaceAll(deep, "[", "("), "expected at most 200 levels of nesting"},
		{"dicts", "def f(self):\n    return " + strings.ReplaceAll(deep, "[", "{1: "), "expected at most 200 levels of nesting"},
		{"calls", "def f(self):\n    return " + strings.ReplaceAll(deep, "[", "torch.T("), "expected at most 200 levels of nesting"},
		{"getattr", "def f(self):\n    x = " + strings.ReplaceAll(deep, "[", "getattr("), "expected at most 200 levels of nesting"},
		{"types", "def f(self, x : " + strings.ReplaceAll(deep, "[", "list[") + "):\n    pass", "expected at most 200 levels of nesting"},
		{"size", strings.Repeat(" ", maxCode+1), "expected at most 67108864 bytes, got 67108865"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := ParseCode(tc.src)
			require.ErrorContains(t, err, tc.want)
		})
	}
	const n = 20_000
	for _, tc := range []struct{ name, src string }{
		{"keys", "def f(self):\n    return {" + numbered(n, "%: 0, ") + "}"},
		{"keywords", "def f(self, x):\n    y = torch.add(" + numbered(n, "k% = x, ") + ")"},
		{"parameters", "def f(self, " + numbered(n, "x%, ") + "):\n" + numbered(n, "    y% = x%\n") + "    return 0"},
		{"renamed late", "def f(self, x, " + numbered(n, "x%, ") + "):\n    y = -x\n" + numbered(n, "    y% = x%\n") + "    return 0"},
		{"releases", "def f(self, x):\n    y = -x;  " + strings.Repeat("x = ", n) + "None"},
		{"uses", "def f(self, x):\n    y = torch.cat([" + strings.Repeat("x, ", n) + "])"},
		{"names", "def f(self, x):\n" + numbered(n, "    x_1_% = -x\n")},
		{"comments", "def f(self, x):\n" + strings.Repeat("    # File: a.py:1 in f, code: x\n\n", n) + "    y = -x"},
		{"classes", "class A(torch.nn.Module):\n    def f(self):\n        pass\n" + strings.Repeat("\n    class b(torch.nn.Module):\n        def f(self):\n            pass\n", n/10)},
		{"digits", "def f(self):\n    return " + strings.Repeat("9", 50*n)},
		{"path", "def f(self):\n    x = self" + strings.Repeat(".a", n)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			start := time.Now()
			_, err := ParseCode(tc.src)
			require.NoError(t, err)
			assert.Less(t, time.Since(start), 10*time.Second, "%d bytes", len(tc.src))
		})
	}
}

// numbered repeats a text with numbers in the place of %.
func numbered(n int, text string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.ReplaceAll(text, "%", strconv.Itoa(i)))
	}
	return b.String()
}

func TestParseCodeForms(t *testing.T) {
	for _, tc := range []struct{ name, src, want string }{
		{"no self", "def pattern(x, y):\n    add = torch.add(x, y)\n    return add\n",
			"graph():\n    %x : [num_users=1] = placeholder[target=x]\n    %y : [num_users=1] = placeholder[target=y]\n" +
				"    %add : [num_users=1] = call_function[target=torch.add](args = (%x, %y), kwargs = {})\n    return add"},
		{"self as a value", "def f(self, x):\n    add = self + x\n    return add",
			"graph():\n    %self : [num_users=1] = placeholder[target=self]\n    %x : [num_users=1] = placeholder[target=x]\n" +
				"    %add : [num_users=1] = call_function[target=operator.add](args = (%self, %x), kwargs = {})\n    return add"},
		{"late placeholder", "def f(self, x, input, y):\n    neg = -x\n    input_1 = input\n    add = input_1 + y\n    return add",
			"graph():\n    %x : [num_users=1] = placeholder[target=x]\n    %neg : [num_users=0] = call_function[target=operator.neg](args = (%x,), kwargs = {})\n" +
				"    %input_1 : [num_users=1] = placeholder[target=input]\n    %y : [num_users=1] = placeholder[target=y]\n" +
				"    %add : [num_users=1] = call_function[target=operator.add](args = (%input_1, %y), kwargs = {})\n    return add"},
		{"after the output", "def f(self, x):\n    return x\n    output = -x\n    ",
			"graph():\n    %x : [num_users=2] = placeholder[target=x]\n    return x\n    %output : [num_users=0] = call_function[target=operator.neg](args = (%x,), kwargs = {})"},
		{"guessed globals", "def f(self, x):\n    a = math_sqrt(x)\n    b = _operator_abs_1(a)\n    c = torch_Tensor_add(b, len)\n    d = program_helper(c)\n    return d",
			"graph():\n    %x : [num_users=1] = placeholder[target=x]\n    %a : [num_users=1] = call_function[target=math.sqrt](args = (%x,), kwargs = {})\n" +
				"    %b : [num_users=1] = call_function[target=operator.abs](args = (%a,), kwargs = {})\n" +
				"    %c : [num_users=1] = call_function[target=torch.Tensor.add](args = (%b, <built-in function len>), kwargs = {})\n" +
				"    %d : [num_users=1] = call_function[target=program.helper](args = (%c,), kwargs = {})\n    return d"},
		{"import", "from my.deep import mod as g\ndef f(self, x):\n    y = g(x)\n    return y",
			"graph():\n    %x : [num_users=1] = placeholder[target=x]\n    %y : [num_users=1] = call_function[target=my.deep.mod](args = (%x,), kwargs = {})\n    return y"},
		{"whole negative number", "def f(self):\n    neg = -2\n    add = -2 + neg\n    return add",
			"graph():\n    %neg : [num_users=1] = call_function[target=operator.neg](args = (2,), kwargs = {})\n" +
				"    %add : [num_users=1] = call_function[target=operator.add](args = (-2, %neg), kwargs = {})\n    return add"},
		{"carriage returns", "def f(self, x):\r\n    neg = -x\r\n    return neg\r\n",
			"graph():\n    %x : [num_users=1] = placeholder[target=x]\n    %neg : [num_users=1] = call_function[target=operator.neg](args = (%x,), kwargs = {})\n    return neg"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g, err := ParseCode(tc.src)
			require.NoError(t, err)
			require.Equal(t, tc.want, g.String())
			require.NoError(t, g.Lint())
		})
	}
}

func TestParseCodeRoot(t *testing.T) {
	g, err := ParseCode("def forward(self, x):\n    lin = mod.lin(x)\n    return lin", WithRoot("mod"))
	require.NoError(t, err)
	assert.Equal(t, "lin", g.First().Next().Target().String())
	assert.Equal(t, CallModule, g.First().Next().Op())
	code, err := g.PythonCode("mod")
	require.NoError(t, err)
	assert.Contains(t, code.Source, "mod.lin(x)")
}

// A pytree signature whose specs nobody tells refuses values that are no leaves.
func TestParseCodeSpecs(t *testing.T) {
	const src = "def forward(self, xs, y):\n    a, b, c, = fx_pytree.tree_flatten_spec([xs, y], self._in_spec)\n    return pytree.tree_unflatten([a, b], self._out_spec)"
	g, err := ParseCode(src)
	require.NoError(t, err)
	_, err = g.ProcessInputs([]any{[]any{1, 2}, 3}, nil)
	require.ErrorContains(t, err, "a structure that is not in the code")
	_, err = g.ProcessOutputs([]any{1, 2})
	require.Error(t, err)

	in, out := TupleSpec(ListSpec(Leaf(), Leaf()), Leaf()), DictSpec([]string{"a", "b"}, Leaf(), Leaf())
	g, err = ParseCode(src, WithSpecs(in, out))
	require.NoError(t, err)
	leaves, err := g.ProcessInputs([]any{[]any{1, 2}, 3}, nil)
	require.NoError(t, err)
	assert.Equal(t, []any{1, 2, 3}, leaves)
	result, err := g.ProcessOutputs([]any{1, 2})
	require.NoError(t, err)
	assert.Equal(t, NewPyDict([]any{"a", "b"}, []any{1, 2}), result)

	g, err = ParseCode("def forward(self, x, y):\n    a, b, = fx_pytree.tree_flatten_spec([x, y], self._in_spec)\n    return a")
	require.NoError(t, err)
	leaves, err = g.ProcessInputs([]any{1, 2}, nil)
	require.NoError(t, err)
	assert.Equal(t, []any{1, 2}, leaves, "as many values as arguments: each is one")
}

// Verbose code tells what is known of values, and the last line of the trace.
func TestParseCodeVerbose(t *testing.T) {
	const src = "class M(torch.nn.Module):\n    def forward(self, x: \"f32[2, s0][s0, 1]cuda:1\", n: \"Sym(s0 + 1)\"):\n" +
		"        # Backward of forward node: File: a.py:12 in f, code: return x + n\n        add: \"bf16[]\" = x + n\n        return add\n"
	c, err := ParseClass(src)
	require.NoError(t, err)
	assert.Equal(t, "M", c.Name)
	x, n, add := c.Graph.Lookup("x"), c.Graph.Lookup("n"), c.Graph.Lookup("add")
	assert.Equal(t, "f32[2, s0][s0, 1]cuda:1", x.Meta().Get(MetaVal).(TensorMeta).Text(true, true))
	assert.Equal(t, "s0 + 1", n.Meta().Get(MetaVal).(SymScalar).Expr.String())
	assert.Equal(t, "bf16[]", add.Meta().Get(MetaVal).(TensorMeta).Text(false, false))
	assert.Equal(t, "File \"a.py\", line 12, in f\n    return x + n", add.StackTrace())
	assert.Equal(t, true, add.Meta().Get(MetaAutogradBackward))
	m, err := NewGraphModule(nil, c.Graph, ClassName("M"))
	require.NoError(t, err)
	again, err := m.Readable(IncludeStride(), IncludeDevice())
	require.NoError(t, err)
	assert.Equal(t, strings.Replace(src, "\"bf16[]\" = x + n", "\"bf16[][]cpu\" = x + n;  x = n = None", 1), again)
}

// Values that the code only describes stay what they are described as.
func TestParseCodeDescriptions(t *testing.T) {
	const src = "\n\n\ndef forward(self):\n    return (torch.Tensor(size=[2, 3], dtype=bfloat16), torch.Tensor(size=[], dtype=bool), b'a\\x00\\'\"')\n    "
	g, err := ParseCode(src)
	require.NoError(t, err)
	items := g.Last().Arg(0).(Tuple)
	tensor := items.At(0).(Opaque).Value.(*CodeTensor)
	assert.Equal(t, "bf16[2, 3]", tensor.TensorMeta().Text(false, false))
	assert.Equal(t, CodeBytes("a\x00'\""), items.At(2).(Opaque).Value)
	code, err := g.PythonCode("self")
	require.NoError(t, err)
	assert.Equal(t, src, code.Source)
}
