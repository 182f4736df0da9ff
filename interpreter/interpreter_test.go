package interpreter_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// The graphs of these tests compute with Python's integers, so that they need
// no libtorch.
var (
	add     = ir.FuncOf("operator.add")
	mul     = ir.FuncOf("operator.mul")
	lt      = ir.FuncOf("operator.lt")
	div     = ir.FuncOf("operator.floordiv")
	getitem = ir.FuncOf("operator.getitem")
)

func module(t testing.TB, g *ir.Graph, attrs map[string]any) *ir.GraphModule {
	t.Helper()
	require.NoError(t, g.Lint())
	gm, err := ir.NewGraphModule(attrs, g)
	require.NoError(t, err)
	return gm
}

// polynomial is (x + y) * x + 1
func polynomial(t testing.TB) *ir.GraphModule {
	g := ir.NewGraph()
	x, y := g.Placeholder("x"), g.Placeholder("y")
	sum := g.CallFunction(add, []ir.Arg{x, y})
	product := g.CallFunction(mul, []ir.Arg{sum, x})
	g.Output(g.CallFunction(add, []ir.Arg{product, ir.Int(1)}))
	return module(t, g, nil)
}

// upstream: test_fx.TestFX.test_interpreter
func TestRun(t *testing.T) {
	got, err := interpreter.New(polynomial(t)).Run(t.Context(), int64(3), int64(4))
	require.NoError(t, err)
	assert.Equal(t, int64(22), got)
}

func TestCallBindsKeywords(t *testing.T) {
	in := interpreter.New(polynomial(t))
	got, err := in.Call(t.Context(), []any{int64(3)}, map[string]any{"y": int64(4)})
	require.NoError(t, err)
	assert.Equal(t, int64(22), got)
	_, err = in.Call(t.Context(), []any{int64(3)}, map[string]any{"z": int64(4)})
	assert.ErrorIs(t, err, ir.ErrInput)
}

// upstream: test_fx.TestFX.test_interpreter_star_args
// upstream: test_fx.TestFX.test_interpreter_default_args
// upstream: test_fx.TestFX.test_interpreter_not_enough_args
func TestPlaceholders(t *testing.T) {
	g := ir.NewGraph()
	x := g.Placeholder("x")
	y := g.Placeholder("y", ir.Default(ir.Int(10)))
	rest := g.Placeholder("*rest")
	g.Output(ir.TupleOf(x, y, rest))
	in := interpreter.New(module(t, g, nil))
	tests := []struct {
		name string
		args []any
		want any
		err  string
	}{
		{"all", []any{int64(1), int64(2), int64(3), int64(4)}, ir.PyTuple{int64(1), int64(2), []any{int64(3), int64(4)}}, ""},
		{"no rest", []any{int64(1), int64(2)}, ir.PyTuple{int64(1), int64(2), []any{}}, ""},
		{"default", []any{int64(1)}, ir.PyTuple{int64(1), int64(10), []any{}}, ""},
		{"missing", nil, nil, "Expected positional argument for parameter x, but one was not passed in!"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			got, err := in.Run(t.Context(), tc.args...)
			if tc.err != "" {
				require.ErrorContains(t, err, tc.err)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, tc.want, got)
		})
	}
}

func TestSurplusArgumentsAreIgnored(t *testing.T) {
	got, err := interpreter.New(polynomial(t)).Run(t.Context(), int64(3), int64(4), int64(5))
	require.NoError(t, err)
	assert.Equal(t, int64(22), got)
}

func TestRunFlatReturnsLeaves(t *testing.T) {
	got, err := interpreter.New(polynomial(t)).RunFlat(t.Context(), []any{int64(3), int64(4)})
	require.NoError(t, err)
	assert.Equal(t, []any{int64(22)}, got)
}

func TestGraphWithoutOutputReturnsNothing(t *testing.T) {
	g := ir.NewGraph()
	g.Placeholder("x")
	got, err := interpreter.New(module(t, g, nil)).Run(t.Context(), int64(1))
	require.NoError(t, err)
	assert.Nil(t, got)
}

// upstream: test_lazy_graph_module.TestLazyGraphModule.test_replace_sin_with_cos
// upstream: test_lazy_graph_module.TestLazyGraphModule.test_call_forward_directly
func TestRunSeesAChangedGraph(t *testing.T) {
	gm := polynomial(t)
	in := interpreter.New(gm)
	_, err := in.Run(t.Context(), int64(3), int64(4))
	require.NoError(t, err)
	out, err := gm.Graph().OutputNode()
	require.NoError(t, err)
	last := out.Arg(0).(*ir.Node)
	last.SetArgs(last.Arg(0), ir.Int(100))
	got, err := in.Run(t.Context(), int64(3), int64(4))
	require.NoError(t, err)
	assert.Equal(t, int64(121), got)
}

// upstream: test_fx.TestFX.test_interpreter_other_graph
func TestWithGraphRunsAnotherGraph(t *testing.T) {
	other := ir.NewGraph()
	x, y := other.Placeholder("x"), other.Placeholder("y")
	other.Output(other.CallFunction(mul, []ir.Arg{x, y}))
	got, err := interpreter.New(polynomial(t), interpreter.WithGraph(other)).Run(t.Context(), int64(3), int64(4))
	require.NoError(t, err)
	assert.Equal(t, int64(12), got)
}

// upstream: test_fx.TestFX.test_interpreter_partial_eval
func TestEnvironmentIsNotComputedAgain(t *testing.T) {
	gm := polynomial(t)
	sum := gm.Graph().Lookup("add")
	env := map[*ir.Node]any{sum: int64(100)}
	got, err := interpreter.New(gm).RunWith(t.Context(), interpreter.Options{Env: env}, int64(3), int64(4))
	require.NoError(t, err)
	assert.Equal(t, int64(301), got)
	assert.Len(t, env, 1)
}

func TestKeepValuesFillsTheEnvironment(t *testing.T) {
	gm := polynomial(t)
	env := map[*ir.Node]any{}
	_, err := interpreter.New(gm, interpreter.KeepValues()).RunWith(t.Context(), interpreter.Options{Env: env}, int64(3), int64(4))
	require.NoError(t, err)
	got := map[string]any{}
	for n, v := range env {
		got[n.Name()] = v
	}
	assert.Equal(t, map[string]any{"x": int64(3), "y": int64(4), "add": int64(7), "mul": int64(21), "add_1": int64(22), "output": int64(22)}, got)
}

func TestRunBoxedCountsArguments(t *testing.T) {
	in := interpreter.New(polynomial(t))
	for _, tc := range []struct {
		args []any
		want string
	}{
		{[]any{int64(1)}, "Interpreter.boxed_run expected 2 arguments for placeholders but received 1 (missing arguments)"},
		{[]any{int64(1), int64(2), int64(3)}, "Interpreter.boxed_run expected 2 arguments for placeholders but received 3 (extra arguments)"},
	} {
		args := tc.args
		_, err := in.RunBoxed(t.Context(), &args)
		assert.EqualError(t, err, tc.want)
		assert.ErrorIs(t, err, ir.ErrRuntime)
		assert.Len(t, args, len(tc.args))
	}
	args := []any{int64(3), int64(4)}
	got, err := in.RunBoxed(t.Context(), &args)
	require.NoError(t, err)
	assert.Equal(t, int64(22), got)
	assert.Empty(t, args)
}

// upstream: test_fx.TestFX.test_user_friendly_call_provenance_with_function
// upstream: test_fx.TestFX.test_custom_traceback_raised_when_exception_source_is_graphmodule
func TestNodeErrorTellsTheNode(t *testing.T) {
	g := ir.NewGraph()
	x := g.Placeholder("x")
	quotient := g.CallFunction(div, []ir.Arg{x, ir.Int(0)})
	quotient.Meta().Set(ir.MetaStackTrace, "  File \"model.py\", line 3, in forward\n    return x // 0\n")
	g.Output(quotient)
	_, err := interpreter.New(module(t, g, nil)).Run(t.Context(), int64(1))
	var node *interpreter.NodeError
	require.ErrorAs(t, err, &node)
	assert.ErrorIs(t, err, ir.ErrZeroDivision)
	assert.Equal(t, "floordiv", node.Node)
	assert.Equal(t, "operator.floordiv", node.Op)
	assert.Len(t, node.Args, 2)
	assert.Equal(t, "  File \"model.py\", line 3, in forward\n    return x // 0", node.Source)
	assert.Contains(t, err.Error(), "While executing %floordiv : [num_users=1] = call_function[target=operator.floordiv](args = (%x, 0), kwargs = {})\nOriginal traceback:\n  File \"model.py\", line 3")
}

func TestMissingValueNamesBothNodes(t *testing.T) {
	other := ir.NewGraph()
	stranger := other.Placeholder("stranger")
	g := ir.NewGraph()
	g.Output(g.CallFunction(add, []ir.Arg{stranger, ir.Int(1)}))
	gm, err := ir.NewGraphModule(nil, g)
	require.NoError(t, err)
	_, err = interpreter.New(gm).Run(t.Context())
	var node *interpreter.NodeError
	require.ErrorAs(t, err, &node)
	assert.Equal(t, "add", node.Node)
	assert.ErrorContains(t, err, "Node add referenced nonexistent value stranger! Run Graph.lint() to diagnose such issues")
}

func TestCancelledContextStopsBetweenNodes(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	h := interpreter.Around(interpreter.Default{}, func(r *interpreter.Run, n *ir.Node, run func() (any, error)) (any, error) {
		if n.Name() == "add" {
			cancel()
		}
		return run()
	})
	_, err := interpreter.New(polynomial(t), interpreter.WithHandler(h)).Run(ctx, int64(3), int64(4))
	assert.ErrorIs(t, err, ir.ErrCancelled)
	assert.ErrorIs(t, err, context.Canceled)
	assert.EqualError(t, err, "run: stopped before node mul: context canceled")
}

func TestExpiredContextStartsNothing(t *testing.T) {
	ctx, cancel := context.WithDeadline(t.Context(), time.Unix(1, 0))
	defer cancel()
	_, err := interpreter.New(polynomial(t)).Run(ctx, int64(3), int64(4))
	assert.ErrorIs(t, err, context.DeadlineExceeded)
	assert.ErrorContains(t, err, "before node x")
}

// swap computes sums as products, as an override of one step does.
type swap struct{ interpreter.Default }

func (s swap) CallFunction(r *interpreter.Run, fn *ir.Func, args []any, kwargs []torch.Kwarg) (any, error) {
	if fn == add {
		fn = mul
	}
	return s.Default.CallFunction(r, fn, args, kwargs)
}

// upstream: test_fx.TestFX.test_interpreter_run_node_override
func TestOverrideIsReachedThroughDecorators(t *testing.T) {
	var seen []string
	h := interpreter.Around(swap{}, func(r *interpreter.Run, n *ir.Node, run func() (any, error)) (any, error) {
		v, err := run()
		seen = append(seen, fmt.Sprint(n.Name(), "=", v))
		return v, err
	})
	got, err := interpreter.New(polynomial(t), interpreter.WithHandler(h)).Run(t.Context(), int64(3), int64(4))
	require.NoError(t, err)
	assert.Equal(t, int64(36), got)
	assert.Equal(t, []string{"x=3", "y=4", "add=12", "mul=36", "add_1=36", "output=36"}, seen)
}

// panicking fails as model code does.
type panicking struct{ interpreter.Default }

func (panicking) CallFunction(_ *interpreter.Run, fn *ir.Func, _ []any, _ []torch.Kwarg) (any, error) {
	panic(&torch.Error{Op: fn.Name(), Args: []string{"self: f32[2] cpu"}, Err: ir.Errorf(ir.ErrValue, "no")})
}

func TestPanicOfModelCodeIsANodeError(t *testing.T) {
	_, err := interpreter.New(polynomial(t), interpreter.WithHandler(panicking{})).Run(t.Context(), int64(3), int64(4))
	var node *interpreter.NodeError
	require.ErrorAs(t, err, &node)
	assert.Equal(t, "add", node.Node)
	assert.Equal(t, []string{"self: f32[2] cpu"}, node.Args)
	assert.ErrorIs(t, err, ir.ErrValue)
}

// guards refuses everything but one argument.
type guards struct{ want any }

func (g guards) Check(leaves []any) error {
	if leaves[0] != g.want {
		return ir.Errorf(ir.ErrInput, "argument x: expected %v, got %v", g.want, leaves[0])
	}
	return nil
}

func TestGuardsRefuseWithoutANode(t *testing.T) {
	g := ir.NewGraph()
	x := g.Placeholder("x")
	g.CallModule("_guards_fn", []ir.Arg{x})
	g.Output(x)
	in := interpreter.New(module(t, g, map[string]any{"_guards_fn": guards{int64(7)}}))
	_, err := in.Run(t.Context(), int64(8))
	assert.EqualError(t, err, "argument x: expected 7, got 8")
	assert.ErrorIs(t, err, ir.ErrInput)
	assert.False(t, errors.As(err, new(*interpreter.NodeError)))
	_, err = in.Run(t.Context(), int64(7))
	assert.NoError(t, err)
}

func TestCallModuleRunsAGraphModule(t *testing.T) {
	g := ir.NewGraph()
	x := g.Placeholder("x")
	g.Output(g.CallModule("block.poly", []ir.Arg{x}, ir.Kwargs(ir.Kw("y", ir.Int(4)))))
	in := interpreter.New(module(t, g, map[string]any{"block.poly": polynomial(t)}))
	got, err := in.Run(t.Context(), int64(3))
	require.NoError(t, err)
	assert.Equal(t, int64(22), got)
}

func TestHandlerEntersSubgraphsOnRequest(t *testing.T) {
	g := ir.NewGraph()
	x := g.Placeholder("x")
	g.Output(g.CallModule("poly", []ir.Arg{x, ir.Int(4)}))
	gm := module(t, g, map[string]any{"poly": polynomial(t)})
	outside, err := interpreter.New(gm, interpreter.WithHandler(swap{})).Run(t.Context(), int64(3))
	require.NoError(t, err)
	assert.Equal(t, int64(22), outside)
	inside, err := interpreter.New(gm, interpreter.WithHandler(swap{}), interpreter.InSubgraphs()).Run(t.Context(), int64(3))
	require.NoError(t, err)
	assert.Equal(t, int64(36), inside)
}

func TestManyGoroutinesRunOneInterpreter(t *testing.T) {
	in := interpreter.New(polynomial(t))
	var wg sync.WaitGroup
	for i := range 64 {
		wg.Go(func() {
			for k := range 50 {
				x, y := int64(i), int64(k)
				got, err := in.Run(t.Context(), x, y)
				assert.NoError(t, err)
				assert.Equal(t, (x+y)*x+1, got)
			}
		})
	}
	wg.Wait()
}

func BenchmarkRunPerNode(b *testing.B) {
	g := ir.NewGraph()
	v := ir.Arg(g.Placeholder("x"))
	for range 100 {
		v = g.CallFunction(add, []ir.Arg{v, ir.Int(1)})
	}
	g.Output(v)
	in := interpreter.New(module(b, g, nil))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := in.Run(b.Context(), int64(1)); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/100, "ns/node")
}
