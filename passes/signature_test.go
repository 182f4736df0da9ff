package passes_test

import (
	"fmt"
	"log"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/passes"
)

func ints(values ...int) (args []ir.Arg) {
	for _, v := range values {
		args = append(args, ir.Int(v))
	}
	return args
}

func named(pairs ...any) (kwargs []ir.Keyword) {
	for i := 0; i < len(pairs); i += 2 {
		kwargs = append(kwargs, ir.Kw(pairs[i].(string), ir.Int(pairs[i+1].(int))))
	}
	return kwargs
}

// Binding as inspect.Signature.bind does it.
func TestSignatureBind(t *testing.T) {
	req := func(name string) passes.Parameter { return passes.Parameter{Name: name} }
	def := func(name string, v int) passes.Parameter { return passes.Parameter{Name: name, Default: ir.Int(v)} }
	only := func(kind passes.ParameterKind, p passes.Parameter) passes.Parameter { p.Kind = kind; return p }
	sig := func(params ...passes.Parameter) *passes.Signature { return &passes.Signature{Params: params} }

	// def f(x, /, y, *, z=1)
	slash := sig(only(passes.PositionalOnly, req("x")), req("y"), only(passes.KeywordOnly, def("z", 1)))
	uniform := sig(only(passes.PositionalOnly, req("input")), only(passes.PositionalOnly, def("from", 0)), def("to", 1), only(passes.KeywordOnly, def("generator", 7)))
	// def f(a, *args, b=0, **kwargs)
	rest := sig(req("a"), only(passes.VarPositional, req("args")), only(passes.KeywordOnly, def("b", 0)), only(passes.VarKeyword, req("kwargs")))
	tests := []struct {
		name   string
		sig    *passes.Signature
		args   []ir.Arg
		kwargs []ir.Keyword
		want   string // arguments by parameter, with defaults
		err    string
	}{
		// upstream: test_operator_schemas_fast_bind.TestFastBind.test_positional_or_keyword_and_defaults
		{"defaults", sig(req("a"), def("b", 1), def("c", 2)), ints(10), named("c", 3), "a=10 b=1 c=3", ""},
		{"by position", sig(req("a"), def("b", 1), def("c", 2)), ints(10, 20), nil, "a=10 b=20 c=2", ""},
		{"by keyword", sig(req("a"), def("b", 1)), nil, named("a", 1), "a=1 b=1", ""},
		// upstream: test_operator_schemas_fast_bind.TestFastBind.test_missing_required
		{"both missing", sig(req("a"), req("b")), nil, nil, "", "missing a required argument: 'a'"},
		{"one missing", sig(req("a"), req("b")), ints(1), nil, "", "missing a required argument: 'b'"},
		// upstream: test_operator_schemas_fast_bind.TestFastBind.test_too_many_positional
		{"too many", sig(req("a"), def("b", 1)), ints(1, 2, 3), nil, "", "too many positional arguments: expected 2, got 3"},
		// upstream: test_operator_schemas_fast_bind.TestFastBind.test_multiple_values_for_argument
		{"twice", sig(req("a"), req("b")), ints(1), named("a", 2, "b", 3), "", "multiple values for argument 'a'"},
		// upstream: test_operator_schemas_fast_bind.TestFastBind.test_unexpected_keyword
		{"unexpected", sig(req("a"), def("b", 1)), ints(1), named("c", 3), "", "got an unexpected keyword argument 'c'"},
		// upstream: test_operator_schemas_fast_bind.TestFastBind.test_keyword_only
		{"keyword only", sig(req("a"), only(passes.KeywordOnly, req("b")), only(passes.KeywordOnly, def("c", 1))), ints(1), named("b", 2), "a=1 b=2 c=1", ""},
		{"keyword only by position", sig(req("a"), only(passes.KeywordOnly, req("b"))), ints(1, 2), nil, "", "missing a required keyword-only argument: 'b'"},
		{"keyword only missing", sig(req("a"), only(passes.KeywordOnly, req("b"))), ints(1), nil, "", "missing a required keyword-only argument: 'b'"},
		// upstream: test_operator_schemas_fast_bind.TestFastBind.test_positional_only
		{"positional only", slash, ints(1, 2), named("z", 3), "x=1 y=2 z=3", ""},
		{"positional only by keyword", slash, nil, named("x", 1, "y", 2), "", "expected 'x' by position"},
		{"positional only twice", slash, ints(1), named("x", 2, "y", 3), "", "expected 'x' by position"},
		// upstream: test_operator_schemas_fast_bind.TestFastBind.test_from_keyword_positional_only_pattern
		{"from", uniform, ints(5), nil, "input=5 from=0 to=1 generator=7", ""},
		{"from given", uniform, ints(5, 6, 8), named("generator", 9), "input=5 from=6 to=8 generator=9", ""},
		{"from by keyword", uniform, nil, named("input", 1, "from", 2), "", "expected 'input' by position"},
		// upstream: test_operator_schemas_fast_bind.TestFastBind.test_varargs_and_varkw_fallback
		{"rest", rest, ints(1, 2, 3), named("b", 4, "x", 5), "a=1 args=(2, 3) b=4 kwargs={'x': 5}", ""},
		{"rest by keyword", rest, nil, named("a", 1, "x", 2), "a=1 args=() b=0 kwargs={'x': 2}", ""},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			b, err := tc.sig.Bind(tc.args, tc.kwargs)
			if tc.err != "" {
				require.ErrorIs(t, err, ir.ErrType)
				require.ErrorContains(t, err, tc.err)
				return
			}
			require.NoError(t, err)
			got := ""
			for i, p := range tc.sig.Params {
				a, ok := b.Arg(p.Name)
				require.True(t, ok)
				if i > 0 {
					got += " "
				}
				got += p.Name + "=" + ir.Repr(a)
			}
			require.Equal(t, tc.want, got)
		})
	}
}

// Which types of arguments go into which parameters.
//
// upstream: test_fx_experimental.TestFXExperimental.test_type_matches
func TestTypeMatches(t *testing.T) {
	hint := passes.TypeHint
	tests := []struct {
		param string
		arg   passes.PyType
		want  bool
	}{
		{"int", "int", true}, {"Scalar", "int", true}, {"Scalar", "float", true}, {"int", "torch.dtype", true}, {"int", "bool", true},
		{"int[]", "int", true}, {"int[]", hint(false, "int", "int"), true}, {"int[]", hint(true, "int", "int"), true},
		{"Tensor[]", hint(false, "torch.Tensor", "torch.Tensor"), true}, {"Tensor[]", hint(false, "torch.nn.Parameter", "torch.nn.Parameter"), true},
		{"Tensor", "torch.nn.Parameter", true}, {"Tensor[]", hint(false, "torch.nn.Parameter", "torch.Tensor"), true},
		{"Tensor[]", hint(false, "torch.Tensor", "torch.nn.Parameter"), true}, {"Tensor[]", hint(true, "torch.Tensor", "torch.Tensor"), true},
		{"Tensor[]", hint(true, "torch.nn.Parameter", "torch.nn.Parameter"), true}, {"Tensor[]", hint(true, "torch.nn.Parameter", "torch.Tensor"), true},
		{"Tensor[]?", "list[torch.Tensor]", true}, {"int[]?", "list[int]", true}, {"int[]?", "NoneType", true},
		{"int", "float", false}, {"Scalar", "str", false}, {"Tensor[]", "list[int]", false}, {"Tensor", "", false}, {"Tensor", "NoneType", false},
		{"float", "int", false}, {"Tensor?[]", "list[torch.Tensor]", false}, {"int[]", hint(false, "int", "str"), false},
	}
	for _, tc := range tests {
		s, err := ir.ParseSchema("x::f(" + tc.param + " a) -> ()")
		require.NoError(t, err)
		require.Equal(t, tc.want, passes.TypeMatches(s.Args[0].Type, tc.arg), "%s <- %s", tc.param, tc.arg)
	}
	require.Equal(t, passes.PyType("list[Any]"), hint(false))
	require.Equal(t, passes.PyType("tuple[int, ...]"), hint(true, "bool", "int"))
	require.Equal(t, passes.PyType("list[Any]"), hint(false, "int", "str"))
}

// Everything in the embedded table can be read.
func TestSignaturesAreReadable(t *testing.T) {
	for _, name := range []string{"torch.add", "math.sqrt", "torch.ops.aten.add.Tensor", "torch.ops.aten.add", "torch._C._nn.gelu"} {
		require.NotEmpty(t, passes.SignaturesOf(ir.FuncOf(name)), name)
	}
	require.Empty(t, passes.SignaturesOf(ir.FuncOf("torch.nn.functional.relu")))
	require.Len(t, passes.SignaturesOf(ir.FuncOf("torch.add")), 16)
	require.Equal(t, "(input: Tensor, other: Tensor, *, alpha: Scalar=1)", passes.SignaturesOf(ir.FuncOf("torch.add"))[0].String())
	require.Equal(t, "(input: Tensor, from: float=0.0, /, to: float=1.0, *, generator: Generator?=None)",
		passes.SignaturesOf(ir.FuncOf("torch.ops.aten.uniform_.default"))[0].String())
}

func ExampleNormalizeFunction() {
	g := ir.NewGraph()
	x := g.Placeholder("x")
	args, kwargs, ok, err := passes.NormalizeFunction(ir.FuncOf("torch.nn.functional.dropout"), []ir.Arg{x, ir.Float(0.1)}, nil)
	if err != nil || !ok {
		log.Fatal(err)
	}
	fmt.Println(args, kwargs)
	// Output: [x 0.1] [{training true} {inplace false}]
}

func ExampleNormalizeArgs() {
	g, err := ir.ParseCode("def forward(self, x):\n    softmax = torch.softmax(x, -1);  x = None\n    return softmax")
	if err != nil {
		log.Fatal(err)
	}
	m, err := ir.NewGraphModule(nil, g)
	if err != nil {
		log.Fatal(err)
	}
	g.Lookup("x").Meta().Set(passes.MetaType, "torch.Tensor") // ShapeProp notes it
	if _, err := passes.NormalizeArgs(m); err != nil {
		log.Fatal(err)
	}
	code, err := m.Code()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(code)
	// Output:
	// def forward(self, x):
	//     softmax = torch.softmax(input = x, dim = -1, dtype = None);  x = None
	//     return softmax
}
