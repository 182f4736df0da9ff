package ir

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRepr(t *testing.T) {
	g := NewGraph()
	x := g.Placeholder("x")
	class := FuncOf("m.Pair")
	for _, tc := range []struct {
		arg       Arg
		repr, str string // str "" where it is the same
	}{
		{nil, "None", ""},
		{None{}, "None", ""},
		{Bool(true), "True", ""},
		{Int(-3), "-3", ""},
		{BigInt("100000000000000000000"), "100000000000000000000", ""},
		{Float(1), "1.0", ""},
		{Float(math.Copysign(0, -1)), "-0.0", ""},
		{Float(1e16), "1e+16", ""},
		{Float(123456789012345680), "1.2345678901234568e+17", ""},
		{Float(0.0001), "0.0001", ""},
		{Float(0.00001), "1e-05", ""},
		{Float(5e-324), "5e-324", ""},
		{Float(math.Inf(-1)), "-inf", ""},
		{Float(math.NaN()), "nan", ""},
		{Complex(complex(0, 1)), "1j", ""},
		{Complex(complex(math.Copysign(0, -1), 1)), "(-0+1j)", ""},
		{Complex(complex(1.5, -1e20)), "(1.5-1e+20j)", ""},
		{Complex(complex(1, math.NaN())), "(1+nanj)", ""},
		{Str("it's"), `"it's"`, "it's"},
		{Str(`both ' and "`), `'both \' and "'`, `both ' and "`},
		{Str("\t\n\r\\\x00\x7f"), `'\t\n\r\\\x00\x7f'`, "\t\n\r\\\x00\x7f"},
		{Str("é日\u200b\u00a0😀\U000e0001"), `'é日\u200b\xa0😀\U000e0001'`, "é日\u200b\u00a0😀\U000e0001"},
		{Str("\xff"), `'\udcff'`, "\xff"},
		{Ellipsis{}, "Ellipsis", ""},
		{Range{0, 3, 1}, "range(0, 3)", ""},
		{Range{0, 3, 2}, "range(0, 3, 2)", ""},
		{BFloat16, "torch.bfloat16", ""},
		{NewDevice(DeviceCUDA, 1), "device(type='cuda', index=1)", "cuda:1"},
		{Device{}, "device(type='cpu')", "cpu"},
		{Jagged, "torch.jagged", ""},
		{ChannelsLast3D, "torch.channels_last_3d", ""},
		{x, "x", ""},
		{ListOf(x, nil), "[x, None]", ""},
		{TupleOf(), "()", ""},
		{TupleOf(Str("a")), "('a',)", ""},
		{Slice{Start: x}, "slice(x, None, None)", ""},
		{DictOf(Pair{Str("k"), x}, Pair{Int(1), Str("v")}), "{'k': x, 1: 'v'}", ""},
		{NamedTupleOf(class, []string{"first", "second"}, x, Int(1)), "Pair(first=x, second=1)", ""},
		{Enum{Class: FuncOf("m.Color"), Member: "RED", Value: Int(1)}, "<Color.RED: 1>", "Color.RED"},
		{Enum{Class: FuncOf("m.Level"), Member: "LOW", Value: Int(1), IsInt: true}, "<Level.LOW: 1>", "1"},
		{OverloadOf("aten::add.Tensor"), "<OpOverload(op='aten.add', overload='Tensor')>", "aten.add.Tensor"},
		{OverloadOf("aten::relu"), "<OpOverload(op='aten.relu', overload='default')>", "aten.relu.default"},
		{FuncOf("torch.ops.aten.add"), "<OpOverloadPacket(op='aten.add')>", "aten.add"},
		{FuncOf("getattr"), "<built-in function getattr>", ""},
		{FuncOf("torch.relu"), "<built-in method relu of type object at 0x000000000000>", ""},
		{FuncOf("m.helper"), "<function helper at 0x000000000000>", ""},
		{Opaque{tensor{}}, "torch.Tensor(size=[2, 3], dtype=float32)", ""},
		{Opaque{7}, "7", ""},
	} {
		assert.Equal(t, tc.repr, Repr(tc.arg))
		if tc.str == "" {
			tc.str = tc.repr
		}
		assert.Equal(t, tc.str, strOf(tc.arg), tc.repr)
	}
}

// tensor is an opaque value that says what it is.
type tensor struct{}

func (tensor) TensorMeta() TensorMeta {
	return TensorMeta{DType: Float32, Sizes: []Size{SizeOf(2), SizeOf(3)}}
}

func TestReprOfRecordedValues(t *testing.T) {
	var table struct {
		Floats  [][2]string `json:"floats"`
		Strings [][2]string `json:"strings"`
	}
	readTable(t, "t_python_repr", &table)
	for _, row := range table.Floats {
		var f float64
		switch row[0] {
		case "inf", "-inf", "nan":
			f = map[string]float64{"inf": math.Inf(1), "-inf": math.Inf(-1), "nan": math.NaN()}[row[0]]
		default:
			f = parseHex(t, row[0])
		}
		assert.Equal(t, row[1], Repr(Float(f)), row[0])
	}
	for _, row := range table.Strings {
		assert.Equal(t, row[1], Repr(Str(row[0])))
	}
}

func TestMaxListLen(t *testing.T) {
	g := NewGraph()
	x := g.Placeholder("x")
	n := g.CallFunction(FuncOf("torch.cat"), []Arg{x, ListOf(x, x, x), Int(1)})
	assert.Contains(t, n.Format(MaxListLen(2)), "args = (%x, [%x, %x, %x], ...[total_len=3])")
	assert.NotContains(t, n.Format(MaxListLen(3)), "total_len")
}

func TestCodeErrors(t *testing.T) {
	g := NewGraph()
	x := g.Placeholder("x")
	n := g.CallFunction(FuncOf("operator.add"), []Arg{x})
	_, err := g.PythonCode("self")
	require.EqualError(t, err, "python code of add (operator.add): expected more than 1 arguments for an operator")
	require.NoError(t, n.SetOp(CallMethod, Path("add")))
	n.SetArgs()
	_, err = g.PythonCode("self")
	require.ErrorContains(t, err, "expected a receiver")
	gm, err := NewGraphModule(nil, g)
	require.NoError(t, err)
	_, err = gm.Code()
	require.Error(t, err)
	_, err = gm.Readable()
	require.Error(t, err)
	assert.Contains(t, gm.String(), "# python code of add")
}

func TestCodeThatTorchWouldBreak(t *testing.T) {
	g := NewGraph()
	x := g.Placeholder("x")
	g.CallModule(`named.in.a"b`, []Arg{x})
	red := Enum{Class: FuncOf("m.Color"), Member: "RED", Value: Int(1)}
	class := FuncOf("m.Pair")
	g.CallFunction(FuncOf("torch.add"), []Arg{x, FuncOf("torch.relu"), FuncOf("m.f"), DictOf(Pair{Str("a"), ListOf(red, x)}),
		NamedTupleOf(class, []string{"a"}, OverloadOf("aten::relu"))})
	g.Output(nil)
	code, err := g.PythonCode("root")
	require.NoError(t, err)
	assert.Contains(t, code.Source, `torch.add(x, torch.relu, m_f, {'a': [Color.RED, x]}, m_Pair(torch.ops.aten.relu.default,));  x = add = None`)
	assert.Contains(t, code.Source, `named_in_a_b = getattr(getattr(root.named, "in"), "a\"b")(x);  named_in_a_b = None`)
	assert.Contains(t, code.Source, "return None")
}

// Names out of a file must not become statements of a Python program.
func TestCodeInjection(t *testing.T) {
	evil := "x):\n    import os  #"
	g := NewGraph()
	g.Placeholder(evil)
	_, err := g.PythonCode("self")
	require.ErrorIs(t, err, ErrValue)

	for _, build := range []func(g *Graph, x *Node) *Node{
		func(g *Graph, x *Node) *Node { return g.CallFunction(FuncOf("torch.f"+evil), []Arg{x}) },
		func(g *Graph, x *Node) *Node {
			return g.CallFunction(FuncOf("torch.f"), []Arg{x}, WithType("torch."+evil))
		},
		func(g *Graph, x *Node) *Node { return g.CallModule("a."+evil, []Arg{x, Str(evil)}) },
		func(g *Graph, x *Node) *Node { return g.CallMethod(evil, []Arg{x}) },
		func(g *Graph, x *Node) *Node { return g.GetAttr("a\r" + evil + `"\`) },
		func(g *Graph, x *Node) *Node {
			n, err := g.CreateNode(GetAttr, Path("w"), nil, ExactName(evil))
			require.NoError(t, err)
			n.Meta().Set(MetaCustom, "a\r"+evil)
			n.Meta().Set(MetaStackTrace, "File \"f\", line 1, in f\n  a\rimport os")
			return n
		},
	} {
		g := NewGraph()
		n := build(g, g.Placeholder("x"))
		code, err := g.PythonCode("self", Verbose())
		require.NoError(t, err)
		for line := range strings.SplitSeq(strings.ReplaceAll(code.Source, "\r", "\n"), "\n") {
			assert.False(t, strings.HasPrefix(strings.TrimSpace(line), "import"), "%s\n%s", n.Name(), code.Source)
		}
		for _, line := range code.Imports() {
			assert.NotContains(t, line, "\n")
		}
	}
	for _, c := range []PyTreeCodeGen{
		{Args: []string{evil}},
		{Args: []string{"x"}, In: TupleSpec(TupleSpec(), DictSpec([]string{"':0}) #\n"}, Leaf()))},
	} {
		g := NewGraph()
		g.Placeholder("x")
		g.SetCodeGen(c)
		_, err := g.PythonCode("self")
		require.ErrorIs(t, err, ErrValue)
	}
	g = NewGraph()
	g.CallFunction(FuncOf("torch.f"), nil, Kwargs(Kw(evil, Int(1))))
	_, err = g.PythonCode("self")
	require.ErrorContains(t, err, "expected an identifier")
}

func TestBodyFunc(t *testing.T) {
	g, _ := chain(1)
	var seen []string
	restore := g.OnGenerateCode(func(current BodyFunc) BodyFunc {
		assert.Nil(t, current)
		return func(body []string) []string {
			seen = body
			return append([]string{"import pdb; pdb.set_trace()\n"}, body...)
		}
	})
	code, err := g.PythonCode("self")
	require.NoError(t, err)
	assert.Equal(t, "\n\n\ndef forward(self, x):\n    import pdb; pdb.set_trace()\n    relu = torch.relu(x);  x = None\n    return relu\n    ", code.Source)
	assert.Equal(t, map[int]int{1: -1, 2: 1, 3: 2, 4: 2}, code.Lines)
	assert.Equal(t, []string{"# COUNTER: 0\n", "# COUNTER: 1\n", "relu = torch.relu(x)", ";  x = None\n", "# COUNTER: 2\n", "return relu", "\n"}, seen)
	inner := g.OnGenerateCode(func(current BodyFunc) BodyFunc {
		return func(body []string) []string { return append(current(body), "# end\n") }
	})
	code, err = g.PythonCode("self")
	require.NoError(t, err)
	assert.Contains(t, code.Source, "# end")
	inner()
	restore()
	code, err = g.PythonCode("self")
	require.NoError(t, err)
	assert.NotContains(t, code.Source, "pdb")
}

// listCodeGen takes one list, as a user's own code generator might.
type listCodeGen struct{ PlainCodeGen }

func (listCodeGen) FuncDef(params []CodeParam, returns string, _ bool) string {
	names := []string{}
	for _, p := range params {
		names = append(names, p.Name)
	}
	return "def forward(self, args_list: List[torch.Tensor])" + returns + ":\n    " + strings.Join(names, ", ") + " = args_list"
}

func (listCodeGen) ExtraGlobals() []Global { return []Global{{Name: "List", Object: "typing.List"}} }

func (listCodeGen) ProcessInputs(args []any, _ map[string]any) ([]any, error) {
	return args[0].([]any), nil
}

// upstream: test_fx.TestFX.test_custom_codegen
// upstream: test_fx.TestFX.test_interpreter_with_codegen
func TestOwnCodeGen(t *testing.T) {
	g := NewGraph()
	x, y := g.Placeholder("x"), g.Placeholder("y")
	g.Output(g.CallFunction(FuncOf("operator.add"), []Arg{x, y}))
	g.SetCodeGen(listCodeGen{})
	code, err := g.PythonCode("self")
	require.NoError(t, err)
	assert.Equal(t, "\n\n\ndef forward(self, args_list: List[torch.Tensor]):\n    x, y = args_list\n    add = x + y;  x = y = None\n    return add\n    ", code.Source)
	assert.Contains(t, code.Imports(), "from typing import List as List")
	in, err := g.ProcessInputs([]any{[]any{1, 2}}, nil)
	require.NoError(t, err)
	assert.Equal(t, []any{1, 2}, in)
	require.Equal(t, listCodeGen{}, g.Clone().CodeGen())
}

func TestProcessInputs(t *testing.T) {
	g := NewGraph()
	for _, name := range []string{"x", "y", "z"} {
		g.Placeholder(name)
	}
	for _, tc := range []struct {
		name   string
		args   []any
		kwargs map[string]any
		want   []any
		err    string
	}{
		{"positional", []any{1, 2}, nil, []any{1, 2}, ""},
		{"keyword", []any{1}, map[string]any{"z": 3, "y": 2}, []any{1, 2, 3}, ""},
		{"one left out", []any{1}, map[string]any{"z": 3}, []any{1, Absent{}, 3}, ""},
		{"twice", []any{1}, map[string]any{"x": 3}, nil, "argument x: expected one value, got two, by position and by keyword"},
		{"unknown", nil, map[string]any{"w": 3}, nil, "keyword argument w: expected one of x, y, z"},
		{"too many", []any{1, 2, 3, 4}, map[string]any{"x": 3}, nil, "arguments: expected at most 3 (x, y, z), got 4"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := g.ProcessInputs(tc.args, tc.kwargs)
			if tc.err != "" {
				require.ErrorIs(t, err, ErrInput)
				require.EqualError(t, err, tc.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tc.want, got)
		})
	}
}

func TestPyTreeInputsAndOutputs(t *testing.T) {
	c := PyTreeCodeGen{Args: []string{"self", "xs", "y"}, In: TupleSpec(DictSpec([]string{"a", "b"}, Leaf(), Leaf()), Leaf()), Out: ListSpec(Leaf(), Leaf())}
	in, err := c.ProcessInputs([]any{map[string]any{"b": 2, "a": 1}}, map[string]any{"y": 3})
	require.NoError(t, err)
	assert.Equal(t, []any{1, 2, 3}, in)
	out, err := c.ProcessOutputs(PyTuple{1, 2})
	require.NoError(t, err)
	assert.Equal(t, []any{1, 2}, out)
	_, err = c.ProcessInputs(nil, map[string]any{"w": 1})
	require.ErrorIs(t, err, ErrInput)

	call := PyTreeCodeGen{Args: []string{"x", "k"}, In: TupleSpec(TupleSpec(Leaf()), DictSpec([]string{"k"}, Leaf())), Out: Leaf()}
	in, err = call.ProcessInputs([]any{1}, map[string]any{"k": 2})
	require.NoError(t, err)
	assert.Equal(t, []any{1, 2}, in)
	out, err = call.ProcessOutputs(5)
	require.NoError(t, err)
	assert.Equal(t, 5, out)
}

// A default would end up in the line that unpacks, where torch.fx's code fails
// to compile.
func TestPyTreeDefault(t *testing.T) {
	g := NewGraph()
	x := g.Placeholder("xs_1")
	y := g.Placeholder("y", Default(Int(1)), WithType("int"))
	g.Output(TupleOf(x, y))
	g.SetCodeGen(PyTreeCodeGen{Args: []string{"xs", "y"}, In: TupleSpec(TupleSpec(Leaf()), Leaf())})
	code, err := g.PythonCode("self")
	require.NoError(t, err)
	assert.Equal(t, "\n\n\ndef forward(self, xs, y = 1):\n    y : int;\n\n    xs_1, y , = fx_pytree.tree_flatten_spec([xs, y], self._in_spec)\n    return (xs_1, y)\n    ", code.Source)
}
