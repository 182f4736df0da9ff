package interpreter_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
)

func higherOrder(name string) *ir.Func { return ir.FuncOf("torch.ops.higher_order." + name) }

// subgraph returns a module of two inputs.
func subgraph(t testing.TB, build func(g *ir.Graph, x, y *ir.Node) ir.Arg) *ir.GraphModule {
	g := ir.NewGraph()
	x, y := g.Placeholder("x"), g.Placeholder("y")
	g.Output(build(g, x, y))
	return module(t, g, nil)
}

func call(fn *ir.Func, args ...ir.Arg) func(g *ir.Graph, x, y *ir.Node) ir.Arg {
	return func(g *ir.Graph, x, y *ir.Node) ir.Arg {
		all := []ir.Arg{x, y}
		if len(args) > 0 {
			all = append([]ir.Arg{x}, args...)
		}
		return ir.TupleOf(g.CallFunction(fn, all))
	}
}

func TestCondTakesTheBranch(t *testing.T) {
	g := ir.NewGraph()
	x, y := g.Placeholder("x"), g.Placeholder("y")
	less := g.CallFunction(lt, []ir.Arg{x, y})
	yes, no := g.GetAttr("yes"), g.GetAttr("no")
	g.Output(g.CallFunction(higherOrder("cond"), []ir.Arg{less, yes, no, ir.ListOf(x, y)}))
	in := interpreter.New(module(t, g, map[string]any{"yes": subgraph(t, call(add)), "no": subgraph(t, call(mul))}))
	for _, tc := range []struct{ x, y, want int64 }{{3, 4, 7}, {4, 3, 12}} {
		got, err := in.Run(t.Context(), tc.x, tc.y)
		require.NoError(t, err)
		assert.Equal(t, ir.PyTuple{tc.want}, got)
	}
}

func TestWhileLoopCarries(t *testing.T) {
	// while i < 5: i, x = i + 1, x * i
	test := subgraph(t, func(g *ir.Graph, i, _ *ir.Node) ir.Arg { return g.CallFunction(lt, []ir.Arg{i, ir.Int(5)}) })
	body := subgraph(t, func(g *ir.Graph, i, x *ir.Node) ir.Arg {
		return ir.TupleOf(g.CallFunction(add, []ir.Arg{i, ir.Int(1)}), g.CallFunction(mul, []ir.Arg{x, i}))
	})
	g := ir.NewGraph()
	i, x := g.Placeholder("i"), g.Placeholder("x")
	loop := g.CallFunction(higherOrder("while_loop"), []ir.Arg{g.GetAttr("test"), g.GetAttr("body"), ir.ListOf(i, x), ir.ListOf()})
	g.Output(loop)
	in := interpreter.New(module(t, g, map[string]any{"test": test, "body": body}))
	got, err := in.Run(t.Context(), int64(2), int64(10))
	require.NoError(t, err)
	assert.Equal(t, ir.PyTuple{int64(5), int64(240)}, got)
	got, err = in.Run(t.Context(), int64(9), int64(10))
	require.NoError(t, err)
	assert.Equal(t, ir.PyTuple{int64(9), int64(10)}, got)
}

func TestSwitchRefusesAnIndexOutside(t *testing.T) {
	g := ir.NewGraph()
	i, x := g.Placeholder("i"), g.Placeholder("x")
	branches := ir.ListOf(g.GetAttr("a"), g.GetAttr("b"))
	g.Output(g.CallFunction(higherOrder("switch"), []ir.Arg{i, branches, ir.ListOf(x, x)}))
	in := interpreter.New(module(t, g, map[string]any{"a": subgraph(t, call(add)), "b": subgraph(t, call(mul))}))
	got, err := in.Run(t.Context(), int64(1), int64(6))
	require.NoError(t, err)
	assert.Equal(t, ir.PyTuple{int64(36)}, got)
	_, err = in.Run(t.Context(), int64(2), int64(6))
	assert.ErrorIs(t, err, ir.ErrAssertion)
}

func TestRegionsRunTheirGraph(t *testing.T) {
	tests := []struct {
		name string
		args func(sub, x, y *ir.Node) []ir.Arg
	}{
		{"wrap_with_set_grad_enabled", func(sub, x, y *ir.Node) []ir.Arg { return []ir.Arg{ir.Bool(false), sub, x, y} }},
		{"wrap_with_autocast", func(sub, x, y *ir.Node) []ir.Arg {
			return []ir.Arg{ir.Str("cpu"), ir.BFloat16, ir.Bool(true), ir.None{}, sub, x, y}
		}},
		{"invoke_subgraph", func(sub, x, y *ir.Node) []ir.Arg { return []ir.Arg{sub, ir.Str("id"), x, y} }},
		{"tag_activation_checkpoint", func(sub, x, y *ir.Node) []ir.Arg { return []ir.Arg{sub, x, y} }},
		{"run_const_graph", func(sub, x, y *ir.Node) []ir.Arg { return []ir.Arg{sub, ir.TupleOf(x, y)} }},
		{"strict_mode", func(sub, x, y *ir.Node) []ir.Arg { return []ir.Arg{sub, ir.ListOf(x, y)} }},
		{"hints_wrapper", func(sub, x, y *ir.Node) []ir.Arg { return []ir.Arg{sub, ir.TupleOf(x, y), ir.DictOf()} }},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			g := ir.NewGraph()
			x, y := g.Placeholder("x"), g.Placeholder("y")
			sub := g.GetAttr("sub")
			g.Output(g.CallFunction(higherOrder(tc.name), tc.args(sub, x, y)))
			gm := module(t, g, map[string]any{"sub": subgraph(t, call(add))})
			require.NoError(t, interpreter.Check(gm))
			got, err := interpreter.New(gm).Run(t.Context(), int64(3), int64(4))
			require.NoError(t, err)
			assert.Equal(t, ir.PyTuple{int64(7)}, got)
		})
	}
}

// upstream: test_fx.TestFX.test_user_friendly_call_provenance_with_module
// upstream: test_fx.TestFX.test_custom_traceback_not_raised_when_exception_source_is_submodule
func TestSubgraphErrorNamesBothNodes(t *testing.T) {
	g := ir.NewGraph()
	x := g.Placeholder("x")
	g.Output(g.CallFunction(higherOrder("cond"), []ir.Arg{ir.Bool(true), g.GetAttr("sub"), g.GetAttr("sub"), ir.ListOf(x, x)}))
	in := interpreter.New(module(t, g, map[string]any{"sub": subgraph(t, call(div, ir.Int(0)))}))
	_, err := in.Run(t.Context(), int64(1))
	assert.ErrorIs(t, err, ir.ErrZeroDivision)
	assert.ErrorContains(t, err, "run node cond (torch.ops.higher_order.cond): run node floordiv (operator.floordiv):")
}

func TestCheckReportsEverything(t *testing.T) {
	g := ir.NewGraph()
	x := g.Placeholder("x")
	a := g.CallFunction(ir.FuncOf("mylib.frobnicate"), []ir.Arg{x})
	b := g.CallFunction(ir.FuncOf("mylib.frobnicate"), []ir.Arg{a})
	c := g.CallFunction(higherOrder("triton_kernel_wrapper_functional"), nil)
	d := g.CallMethod("no_such_method", []ir.Arg{b})
	e := g.GetAttr("gone")
	f := g.CallModule("number", []ir.Arg{x})
	g.CallFunction(ir.OverloadOf("aten::conv_depthwise3d"), []ir.Arg{x})
	g.CallFunction(ir.FuncOf("torch._C._nn.conv_depthwise3d"), []ir.Arg{x})
	g.CallMethod("numpy", []ir.Arg{x})
	g.Output(ir.TupleOf(a, b, c, d, e, f))
	gm, err := ir.NewGraphModule(map[string]any{"gone": 1, "number": 3, "sub": subgraph(t, call(ir.FuncOf("mylib.inner")))}, g)
	require.NoError(t, err)
	gm.DeleteAttr("gone")
	err = interpreter.Check(gm)
	require.Error(t, err)
	for _, want := range []string{
		"nodes frobnicate, frobnicate_1: function mylib.frobnicate",
		"its kernel is Python code",
		"method no_such_method",
		"node gone: Node referenced nonexistent target gone",
		"call of module number",
		"node sub.inner: function mylib.inner",
		"node conv_depthwise3d: operator aten::conv_depthwise3d has no kernel for the CPU; PyTorch has one for CUDA",
		"node conv_depthwise3d_default: operator aten::conv_depthwise3d has no kernel for the CPU; PyTorch has one for CUDA",
		"node numpy: method numpy is left out: memory of numpy and of other libraries of Python",
	} {
		assert.ErrorContains(t, err, want)
	}
	assert.ErrorIs(t, err, ir.ErrUnsupported)
}
