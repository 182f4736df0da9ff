package interpreter_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

func compile(t testing.TB, gm *ir.GraphModule, opts ...interpreter.PlanOption) *interpreter.Plan {
	t.Helper()
	needLibtorch(t)
	p, err := interpreter.Compile(gm, opts...)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, p.Close()) })
	return p
}

// agree runs a module by both executors, the plan three times: it learns the
// shapes in the first run, and uses what it has learned in the others.
func agree(t *testing.T, gm *ir.GraphModule, args ...any) {
	t.Helper()
	p := compile(t, gm)
	agreePlan(t, gm, p, args...)
}

func agreePlan(t *testing.T, gm *ir.GraphModule, p *interpreter.Plan, args ...any) {
	t.Helper()
	want, wantErr := interpreter.New(gm).Run(t.Context(), args...)
	for run := range 3 {
		leavesNothing(t, func() any {
			got, err := p.Run(t.Context(), args...)
			if wantErr != nil {
				require.EqualError(t, err, wantErr.Error())
				return nil
			}
			require.NoError(t, err, "run %d", run)
			sameBits(t, want, got)
			return got
		})
	}
	closeResult(want)
}

// sameBits compares two results to the last bit.
func sameBits(t testing.TB, want, got any) {
	t.Helper()
	switch want := want.(type) {
	case *torch.Tensor:
		require.IsType(t, want, got)
		x := got.(*torch.Tensor)
		require.Equal(t, torch.Describe(want), torch.Describe(x))
		require.Equal(t, want.Strides(), x.Strides())
		a, err := want.Bytes()
		require.NoError(t, err)
		b, err := x.Bytes()
		require.NoError(t, err)
		require.Equal(t, a, b)
	case []any:
		require.IsType(t, want, got)
		require.Len(t, got, len(want))
		for i, item := range got.([]any) {
			sameBits(t, want[i], item)
		}
	case *ir.PyDict:
		require.IsType(t, want, got)
		for key, item := range want.All() {
			other, ok := got.(*ir.PyDict).Get(key)
			require.True(t, ok, key)
			sameBits(t, item, other)
		}
	case ir.PyTuple:
		require.IsType(t, want, got)
		sameBits(t, []any(want), []any(got.(ir.PyTuple)))
	default:
		require.Equal(t, want, got)
	}
}

func fn(name string) *ir.Func { return ir.FuncOf(name) }

func TestPlanComputesWhatTheInterpreterDoes(t *testing.T) {
	needLibtorch(t)
	x, y := tensor(t, []float32{1, -2, 3, -4, 5, -6}, 2, 3), tensor(t, []float32{6, 5, 4, 3, 2, 1}, 2, 3)
	ints, err := torch.From([]int64{2, 0, 1}, 3)
	require.NoError(t, err)
	defer ints.Close()
	type build func(g *ir.Graph, x, y *ir.Node) ir.Arg
	call := func(g *ir.Graph, name string, args ...ir.Arg) *ir.Node { return g.CallFunction(fn(name), args) }
	tests := []struct {
		name string
		args []any
		f    build
	}{
		{"functions of torch", []any{x, y}, func(g *ir.Graph, x, y *ir.Node) ir.Arg {
			return call(g, "torch.add", call(g, "torch.relu", x), y)
		}},
		{"keywords", []any{x, y}, func(g *ir.Graph, x, y *ir.Node) ir.Arg {
			return g.CallFunction(fn("torch.add"), []ir.Arg{x, y}, ir.Kwargs(ir.Keyword{Name: "alpha", Value: ir.Int(3)}))
		}},
		{"overloads by number of arguments", []any{x, y}, func(g *ir.Graph, x, y *ir.Node) ir.Arg {
			return ir.TupleOf(call(g, "torch.sum", x), call(g, "torch.sum", x, ir.Int(1)), call(g, "torch.max", x, y), call(g, "torch.max", x, ir.Int(0)))
		}},
		{"methods", []any{x, y}, func(g *ir.Graph, x, y *ir.Node) ir.Arg {
			return g.CallMethod("matmul", []ir.Arg{x, g.CallMethod("t", []ir.Arg{y})})
		}},
		{"sizes", []any{x, y}, func(g *ir.Graph, x, _ *ir.Node) ir.Arg {
			n := g.CallMethod("size", []ir.Arg{x, ir.Int(0)})
			m := call(g, "operator.mul", n, ir.Int(3))
			return ir.TupleOf(g.CallMethod("view", []ir.Arg{x, m}), g.CallMethod("reshape", []ir.Arg{x, ir.Int(-1), n}), m, call(g, "operator.floordiv", n, ir.Int(-3)))
		}},
		{"shape as a value", []any{x, y}, func(g *ir.Graph, x, _ *ir.Node) ir.Arg {
			shape := call(g, "builtins.getattr", x, ir.Str("shape"))
			return ir.TupleOf(shape, call(g, "operator.getitem", shape, ir.Int(-1)), g.CallMethod("expand", []ir.Arg{x, shape}))
		}},
		{"operators of Python", []any{x, y}, func(g *ir.Graph, x, y *ir.Node) ir.Arg {
			a := call(g, "operator.add", x, ir.Float(1.5))
			b := call(g, "operator.sub", ir.Int(2), a)
			c := call(g, "operator.truediv", ir.Int(1), b)
			d := call(g, "operator.mod", y, ir.Int(4))
			return ir.TupleOf(a, b, c, d, call(g, "operator.lt", x, y), call(g, "operator.gt", ir.Int(0), x), call(g, "operator.neg", x))
		}},
		{"numbers keep their dtype", []any{ints, 2.5}, func(g *ir.Graph, x, y *ir.Node) ir.Arg {
			return ir.TupleOf(call(g, "operator.mul", x, y), call(g, "operator.add", x, ir.Int(1)), call(g, "torch.mul", x, y))
		}},
		{"arithmetic of numbers", []any{int64(-7), int64(2)}, func(g *ir.Graph, x, y *ir.Node) ir.Arg {
			var all []ir.Arg
			for _, name := range []string{"add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "eq", "lt", "ge", "and_", "lshift"} {
				all = append(all, call(g, "operator."+name, x, y))
			}
			return ir.TupleOf(append(all, call(g, "operator.neg", x), call(g, "math.sqrt", y), call(g, "torch.sym_max", x, y))...)
		}},
		{"arithmetic of floats", []any{-7.5, int64(2)}, func(g *ir.Graph, x, y *ir.Node) ir.Arg {
			var all []ir.Arg
			for _, name := range []string{"add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "eq", "lt"} {
				all = append(all, call(g, "operator."+name, x, y))
			}
			return ir.TupleOf(append(all, call(g, "operator.neg", x), call(g, "operator.mul", x, ir.Int(0)))...)
		}},
		{"integers of more than 64 bits", []any{int64(math.MaxInt64), int64(2)}, func(g *ir.Graph, x, y *ir.Node) ir.Arg {
			return call(g, "operator.mul", x, y)
		}},
		{"division by zero", []any{int64(1), int64(0)}, func(g *ir.Graph, x, y *ir.Node) ir.Arg {
			return call(g, "operator.floordiv", x, y)
		}},
		{"indexing", []any{x, ints}, func(g *ir.Graph, x, i *ir.Node) ir.Arg {
			cols := call(g, "operator.getitem", x, ir.TupleOf(ir.Slice{Start: ir.None{}, Stop: ir.None{}, Step: ir.None{}}, i))
			return call(g, "torch.relu", cols)
		}},
		{"lists", []any{x, y}, func(g *ir.Graph, x, y *ir.Node) ir.Arg {
			parts := call(g, "torch.split", call(g, "torch.cat", ir.ListOf(x, y, x)), ir.Int(2))
			return ir.TupleOf(parts, call(g, "operator.getitem", parts, ir.Int(1)), call(g, "torch.stack", parts), call(g, "torch.stack", ir.TupleOf(y, x), ir.Int(1)))
		}},
		{"lists of ATen", []any{x, y}, func(g *ir.Graph, x, y *ir.Node) ir.Arg {
			parts := g.CallFunction(split, []ir.Arg{x, ir.Int(1)})
			return ir.TupleOf(parts, call(g, "operator.getitem", parts, ir.Int(-1)))
		}},
		{"several results", []any{x, y}, func(g *ir.Graph, x, _ *ir.Node) ir.Arg {
			top := g.CallFunction(ir.OverloadOf("aten::topk"), []ir.Arg{x, ir.Int(2)})
			return ir.TupleOf(top, call(g, "operator.getitem", top, ir.Int(1)))
		}},
		{"values that C++ cannot hold", []any{x, y}, func(g *ir.Graph, x, y *ir.Node) ir.Arg {
			dt := call(g, "builtins.getattr", x, ir.Str("dtype"))
			return ir.TupleOf(dt, g.CallMethod("to", []ir.Arg{g.CallMethod("gt", []ir.Arg{x, y}), dt}))
		}},
		{"dicts", []any{x, y}, func(g *ir.Graph, x, y *ir.Node) ir.Arg {
			return ir.DictOf(ir.Pair{Key: ir.Str("sum"), Value: call(g, "torch.add", x, y)}, ir.Pair{Key: ir.Str("x"), Value: x})
		}},
		{"random numbers", []any{x, y}, func(g *ir.Graph, x, _ *ir.Node) ir.Arg {
			return call(g, "torch.relu", g.CallFunction(ir.OverloadOf("aten::full_like"), []ir.Arg{x, ir.Float(0.5)}))
		}},
		{"shapes that depend on values", []any{x, y}, func(g *ir.Graph, x, _ *ir.Node) ir.Arg {
			found := g.CallFunction(ir.OverloadOf("aten::nonzero"), []ir.Arg{g.CallFunction(ir.OverloadOf("aten::gt.Scalar"), []ir.Arg{x, ir.Int(0)})})
			return g.CallFunction(ir.OverloadOf("aten::add.Tensor"), []ir.Arg{found, ir.Int(1)})
		}},
		{"nothing is returned", []any{x, y}, func(g *ir.Graph, x, y *ir.Node) ir.Arg {
			call(g, "torch.add", x, y)
			return ir.None{}
		}},
		{"a batch of a vmap", []any{x, y}, func(g *ir.Graph, x, y *ir.Node) ir.Arg {
			const pre = "torch._functorch.predispatch."
			level := call(g, pre+"_vmap_increment_nesting", ir.Int(2), ir.Str("error"))
			a := call(g, pre+"_add_batch_dim", x, ir.Int(0), level)
			b := g.CallFunction(ir.OverloadOf("aten::sum"), []ir.Arg{a})
			out := call(g, pre+"_remove_batch_dim", b, level, ir.Int(2), ir.Int(0))
			call(g, pre+"_vmap_decrement_nesting")
			return out
		}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			g := ir.NewGraph()
			a, b := g.Placeholder("x"), g.Placeholder("y")
			g.Output(tc.f(g, a, b))
			agree(t, module(t, g, nil), tc.args...)
		})
	}
}

func TestPlanTakesArgumentsAsTheInterpreterDoes(t *testing.T) {
	g := ir.NewGraph()
	x := g.Placeholder("x")
	y := g.Placeholder("y", ir.Default(ir.Int(10)))
	rest := g.Placeholder("*rest")
	g.Output(ir.TupleOf(x, y, rest, g.CallFunction(add, []ir.Arg{x, y})))
	gm := module(t, g, nil)
	for _, args := range [][]any{{int64(1), int64(2), int64(3), int64(4)}, {int64(1)}, nil} {
		agree(t, gm, args...)
	}
	p := compile(t, polynomial(t))
	got, err := p.Call(t.Context(), []any{int64(3)}, map[string]any{"y": int64(4)})
	require.NoError(t, err)
	assert.Equal(t, int64(22), got)
	_, err = p.Call(t.Context(), []any{int64(3)}, map[string]any{"z": int64(4)})
	assert.ErrorIs(t, err, ir.ErrInput)
	leaves, err := p.RunFlat(t.Context(), []any{int64(3), int64(4)})
	require.NoError(t, err)
	assert.Equal(t, []any{int64(22)}, leaves)
}

func TestPlanRunsHigherOrderOperatorsInside(t *testing.T) {
	needLibtorch(t)
	x, y := tensor(t, []float32{1, 2}, 2), tensor(t, []float32{3, 4}, 2)
	two := func(f *ir.Func) *ir.GraphModule { return subgraph(t, call(f)) }
	attrs := func() map[string]any { return map[string]any{"sum": two(addTT), "product": two(mulTT)} }
	hop := func(name string, args func(sum, product, x, y *ir.Node) []ir.Arg) *ir.GraphModule {
		g := ir.NewGraph()
		x, y := g.Placeholder("x"), g.Placeholder("y")
		sum, product := g.GetAttr("sum"), g.GetAttr("product")
		out := g.CallFunction(higherOrder(name), args(sum, product, x, y))
		g.Output(g.CallFunction(ir.FuncOf("torch.relu"), []ir.Arg{g.CallFunction(getitem, []ir.Arg{out, ir.Int(0)})}))
		return module(t, g, attrs())
	}
	tests := []struct {
		name string
		gm   *ir.GraphModule
	}{
		{"cond, true", hop("cond", func(sum, product, x, y *ir.Node) []ir.Arg {
			return []ir.Arg{ir.Bool(true), sum, product, ir.ListOf(x, y)}
		})},
		{"cond, false", hop("cond", func(sum, product, x, y *ir.Node) []ir.Arg {
			return []ir.Arg{ir.Bool(false), sum, product, ir.TupleOf(x, y)}
		})},
		{"wrap", hop("wrap", func(sum, _, x, y *ir.Node) []ir.Arg { return []ir.Arg{sum, x, y} })},
		{"invoke_subgraph", hop("invoke_subgraph", func(_, product, x, y *ir.Node) []ir.Arg { return []ir.Arg{product, ir.Str("p"), x, y} })},
		{"gradients on", hop("wrap_with_set_grad_enabled", func(sum, _, x, y *ir.Node) []ir.Arg { return []ir.Arg{ir.Bool(true), sum, x, y} })},
		{"autocast", hop("wrap_with_autocast", func(sum, _, x, y *ir.Node) []ir.Arg {
			return []ir.Arg{ir.Str("cpu"), ir.BFloat16, ir.Bool(true), ir.None{}, sum, x, y}
		})},
		{"map, by Go", hop("map_impl", func(sum, _, x, y *ir.Node) []ir.Arg { return []ir.Arg{sum, ir.ListOf(x), ir.ListOf(y)} })},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) { agree(t, tc.gm, x, y) })
	}
}

func TestPlanLoops(t *testing.T) {
	needLibtorch(t)
	test := subgraph(t, func(g *ir.Graph, i, _ *ir.Node) ir.Arg { return g.CallFunction(ltScalar, []ir.Arg{i, ir.Int(5)}) })
	body := subgraph(t, func(g *ir.Graph, i, x *ir.Node) ir.Arg { // the carried values change places
		return ir.TupleOf(g.CallFunction(addTT, []ir.Arg{i, ir.Int(1)}), g.CallFunction(mulTT, []ir.Arg{x, i}))
	})
	g := ir.NewGraph()
	i, x := g.Placeholder("i"), g.Placeholder("x")
	loop := g.CallFunction(higherOrder("while_loop"), []ir.Arg{g.GetAttr("test"), g.GetAttr("body"), ir.ListOf(i, x), ir.ListOf()})
	g.Output(ir.TupleOf(loop, i))
	gm := module(t, g, map[string]any{"test": test, "body": body})
	for _, start := range []float32{0, 4, 7} {
		agree(t, gm, tensor(t, []float32{start}), tensor(t, []float32{1.5, 2}, 2))
	}
}

// chainOf is n operators one after another.
func chainOf(t testing.TB, n int, f func(g *ir.Graph, v *ir.Node, i int) *ir.Node) *ir.GraphModule {
	g := ir.NewGraph()
	v := g.Placeholder("x")
	for i := range n {
		v = f(g, v, i)
	}
	g.Output(v)
	return module(t, g, nil)
}

func addOne(g *ir.Graph, v *ir.Node, _ int) *ir.Node {
	return g.CallFunction(addTT, []ir.Arg{v, ir.Int(1)})
}

func TestPlanResultsAreTheCallers(t *testing.T) {
	needLibtorch(t)
	g := ir.NewGraph()
	x := g.Placeholder("x")
	a := g.CallFunction(addTT, []ir.Arg{x, ir.Int(1)})
	b := g.CallFunction(mulTT, []ir.Arg{a, ir.Int(2)})
	v := g.CallFunction(ir.OverloadOf("aten::view"), []ir.Arg{b, ir.IntList(-1)}) // of an intermediate result
	w := g.GetAttr("w")
	c := g.CallFunction(addTT, []ir.Arg{b, w})
	g.Output(ir.TupleOf(a, a, x, v, w, c))
	weight := tensor(t, []float32{10, 20}, 2)
	gm := module(t, g, map[string]any{"w": weight})
	p := compile(t, gm)
	in := tensor(t, []float32{1, 2}, 2)
	agreePlan(t, gm, p, in)

	first, err := p.Run(t.Context(), in)
	require.NoError(t, err)
	for k := range 5 { // runs that would write over what the first has returned
		out, err := p.Run(t.Context(), tensor(t, []float32{float32(k), 7}, 2))
		require.NoError(t, err)
		closeResult(out)
	}
	items := first.(ir.PyTuple)
	assert.Equal(t, []float32{2, 3}, elements(t, items[0]))
	assert.Equal(t, []float32{4, 6}, elements(t, items[3]))
	assert.Equal(t, []float32{14, 26}, elements(t, items[5]))
	for i, shared := range []bool{true, true, true, false, true, false} { // a with its twin, x with the input, w with the attribute
		h, err := items[i].(*torch.Tensor).Handle()
		require.NoError(t, err)
		others := 0
		for k, other := range append(items[:len(items):len(items)], in, weight) {
			o, err := other.(*torch.Tensor).Handle()
			require.NoError(t, err)
			if k != i && libtorch.IsAlias(h, o) {
				others++
			}
		}
		assert.Equal(t, shared, others > 0, "result %d", i)
	}
	require.NoError(t, items[0].(*torch.Tensor).Close())
	assert.Equal(t, []float32{2, 3}, elements(t, items[1]), "each is closed by itself")
	closeResult(first)
}

func TestPlanWritesWhatTheGraphWrites(t *testing.T) {
	needLibtorch(t)
	g := ir.NewGraph()
	x := g.Placeholder("x")
	count := g.GetAttr("count")
	g.CallFunction(ir.OverloadOf("aten::add_.Tensor"), []ir.Arg{count, ir.Int(1)})
	doubled := g.CallFunction(mulTT, []ir.Arg{x, ir.Int(2)})
	view := g.CallFunction(ir.OverloadOf("aten::select.int"), []ir.Arg{doubled, ir.Int(0), ir.Int(0)})
	g.CallFunction(ir.OverloadOf("aten::fill_.Scalar"), []ir.Arg{view, ir.Int(9)})
	g.CallFunction(ir.OverloadOf("aten::neg_"), []ir.Arg{x})
	g.Output(ir.TupleOf(g.CallFunction(addTT, []ir.Arg{doubled, count}), view))
	count0 := tensor(t, []float32{100}, 1)
	p := compile(t, module(t, g, map[string]any{"count": count0}))
	in := tensor(t, []float32{1, 2}, 2)
	for k, want := range [][]float32{{110, 105}, {111, 98}, {112, 107}} {
		out, err := p.Run(t.Context(), in)
		require.NoError(t, err)
		items := out.(ir.PyTuple)
		assert.Equal(t, want, elements(t, items[0]), "run %d", k)
		assert.Equal(t, []float32{9}, elements(t, items[1]))
		closeResult(out)
	}
	assert.Equal(t, []float32{103}, elements(t, count0))
	assert.Equal(t, []float32{-1, -2}, elements(t, in))
}

func TestPlanWritesOneResultOverTheOther(t *testing.T) {
	needLibtorch(t)
	const n = 1 << 10
	p := compile(t, chainOf(t, 20, addOne), interpreter.PlanFusion(false))
	x := tensor(t, make([]float32, n), n)
	for range 3 {
		out, err := p.Run(t.Context(), x)
		require.NoError(t, err)
		assert.Equal(t, float32(20), elements(t, out)[n-1])
		closeResult(out)
	}
	text, err := p.Dump()
	require.NoError(t, err)
	assert.Contains(t, text, "shape class 0: 19 results in a block of 4096 bytes", "the block is one result")
}

func TestPlanKeepsWhatViewsLookAt(t *testing.T) {
	needLibtorch(t)
	g := ir.NewGraph()
	x := g.Placeholder("x")
	a := g.CallFunction(addTT, []ir.Arg{x, ir.Int(1)})
	row := g.CallFunction(ir.OverloadOf("aten::select.int"), []ir.Arg{a, ir.Int(0), ir.Int(1)})
	same := g.CallFunction(ir.OverloadOf("aten::dropout"), []ir.Arg{row, ir.Float(0.5), ir.Bool(false)}) // a view that no schema tells of
	b := ir.Arg(g.CallFunction(mulTT, []ir.Arg{x, ir.Int(3)}))
	for range 6 { // would take the place of a
		b = g.CallFunction(mulTT, []ir.Arg{b, ir.Int(3)})
	}
	g.Output(g.CallFunction(addTT, []ir.Arg{same, b}))
	gm := module(t, g, nil)
	p := compile(t, gm)
	agreePlan(t, gm, p, tensor(t, []float32{1, 2, 3, 4}, 2, 2))
}

func TestPlanOfManyShapes(t *testing.T) {
	needLibtorch(t)
	gm := chainOf(t, 6, func(g *ir.Graph, v *ir.Node, i int) *ir.Node {
		if i%2 == 0 {
			return addOne(g, v, i)
		}
		return g.CallFunction(ir.FuncOf("torch.sigmoid"), []ir.Arg{v})
	})
	p := compile(t, gm)
	for _, n := range []int{3, 500, 4, 500, 3, 1, 0, 700} {
		agreePlan(t, gm, p, tensor(t, make([]float32, n), n))
	}
	for n := range 200 {
		agreePlan(t, gm, p, tensor(t, make([]float32, n), n))
	}
	text, err := p.Dump()
	require.NoError(t, err)
	assert.Equal(t, 64, strings.Count(text, "\nshape class "), "the number of layouts is bounded")
	doubles, err := torch.From([]float64{1, 2}, 2)
	require.NoError(t, err)
	defer doubles.Close()
	agreePlan(t, gm, p, doubles)
	transposed, err := torch.Call("aten::t", tensor(t, []float32{1, 2, 3, 4, 5, 6}, 2, 3))
	require.NoError(t, err)
	defer closeResult(transposed)
	agreePlan(t, gm, p, transposed)
}

func TestPlanErrorsAreTheInterpreters(t *testing.T) {
	needLibtorch(t)
	x := tensor(t, []float32{1, 1}, 2)
	closed := tensor(t, []float32{1}, 1)
	require.NoError(t, closed.Close())
	one := func(f *ir.Func, args ...ir.Arg) *ir.GraphModule {
		return chainOf(t, 1, func(g *ir.Graph, v *ir.Node, _ int) *ir.Node {
			return g.CallFunction(f, append([]ir.Arg{g.CallFunction(ir.FuncOf("torch.relu"), []ir.Arg{v})}, args...))
		})
	}
	tests := []struct {
		name string
		gm   *ir.GraphModule
		args []any
	}{
		{"an operator", one(ir.OverloadOf("aten::view"), ir.IntList(7)), []any{x}},
		{"a function of torch", one(ir.FuncOf("torch.reshape"), ir.IntList(7)), []any{x}},
		{"a method", one(ir.FuncOf("torch.Tensor.view"), ir.Int(7)), []any{x}},
		{"an operator of Python", one(ir.FuncOf("operator.matmul"), ir.Int(7)), []any{x}},
		{"a number for a tensor", one(ir.OverloadOf("aten::relu")), []any{"text"}},
		{"a closed tensor", one(ir.OverloadOf("aten::relu")), []any{closed}},
		{"nothing given", one(ir.OverloadOf("aten::relu")), nil},
		{"a wrong argument", one(ir.FuncOf("torch.sum"), ir.Str("a")), []any{x}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) { agree(t, tc.gm, tc.args...) })
	}
}

func TestPlanNamesTheNodeInsideAGraph(t *testing.T) {
	needLibtorch(t)
	g := ir.NewGraph()
	x := g.Placeholder("x")
	g.Output(g.CallFunction(higherOrder("wrap"), []ir.Arg{g.GetAttr("sub"), x, x}))
	sub := subgraph(t, call(ir.OverloadOf("aten::view"), ir.IntList(7)))
	_, err := compile(t, module(t, g, map[string]any{"sub": sub})).Run(t.Context(), tensor(t, []float32{1}, 1))
	var outer, inner *interpreter.NodeError
	require.ErrorAs(t, err, &outer)
	assert.Equal(t, "wrap", outer.Node)
	require.ErrorAs(t, outer.Err, &inner)
	assert.Equal(t, "view_default", inner.Node)
	assert.Contains(t, inner.Args[0], "self: f32[1] cpu")
}

func TestCompileTellsAllThatIsMissing(t *testing.T) {
	needLibtorch(t)
	g := ir.NewGraph()
	x := g.Placeholder("x")
	a := g.CallFunction(ir.OverloadOf("aten::no_such"), []ir.Arg{x})
	b := g.CallFunction(ir.FuncOf("torch.no_such"), []ir.Arg{a})
	g.Output(g.CallFunction(addTT, []ir.Arg{b, g.GetAttr("w")}))
	gm, err := ir.NewGraphModule(map[string]any{"w": nil}, g)
	require.NoError(t, err)
	gm.DeleteAttr("w")
	_, err = interpreter.Compile(gm)
	require.Error(t, err)
	for _, part := range []string{`"aten::no_such"`, "torch.no_such", "nonexistent target w"} {
		assert.ErrorContains(t, err, part)
	}
}

func TestCancelledPlan(t *testing.T) {
	needLibtorch(t)
	p := compile(t, chainOf(t, 2, addOne))
	x := tensor(t, []float32{1}, 1)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := p.Run(over, x)
	require.ErrorIs(t, err, ir.ErrCancelled)
	require.ErrorIs(t, err, context.Canceled)

	forever := subgraph(t, func(g *ir.Graph, i, _ *ir.Node) ir.Arg {
		return ir.TupleOf(g.CallFunction(ir.OverloadOf("aten::gt.Scalar"), []ir.Arg{i, ir.Int(0)}))
	})
	body := subgraph(t, func(g *ir.Graph, i, x *ir.Node) ir.Arg {
		return ir.TupleOf(g.CallFunction(addTT, []ir.Arg{i, ir.Int(1)}), x)
	})
	g := ir.NewGraph()
	i, y := g.Placeholder("i"), g.Placeholder("x")
	g.Output(g.CallFunction(higherOrder("while_loop"), []ir.Arg{g.GetAttr("test"), g.GetAttr("body"), ir.ListOf(i, y), ir.ListOf()}))
	loop := compile(t, module(t, g, map[string]any{"test": forever, "body": body}))
	one := tensor(t, []float32{1})
	for range 3 {
		leavesNothing(t, func() any {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			defer cancel()
			_, err := loop.Run(ctx, one, x)
			assert.ErrorIs(t, err, context.DeadlineExceeded)
			return nil
		})
	}
}

// A plan under many goroutines and shapes gives what one goroutine gets, and
// leaves nothing.
func TestPlanOfManyGoroutines(t *testing.T) {
	needLibtorch(t)
	g := ir.NewGraph()
	x := g.Placeholder("x")
	a := g.CallFunction(ir.FuncOf("torch.tanh"), []ir.Arg{g.CallFunction(addTT, []ir.Arg{x, ir.Int(1)})})
	b := g.CallFunction(mulTT, []ir.Arg{a, g.CallFunction(ir.FuncOf("torch.sigmoid"), []ir.Arg{a})})
	whole := g.CallFunction(ir.FuncOf("torch.sum"), []ir.Arg{b})
	g.Output(ir.TupleOf(g.CallFunction(ir.OverloadOf("aten::sub.Tensor"), []ir.Arg{b, whole}), whole))
	gm := module(t, g, nil)
	p := compile(t, gm)
	const shapes, goroutines, runs = 50, 64, 100
	var inputs []*torch.Tensor
	var want [][]byte
	for n := range shapes {
		data := make([]float32, 16*(n+1))
		for i := range data {
			data[i] = float32(i%7) - 3
		}
		in := tensor(t, data, len(data))
		inputs = append(inputs, in)
		out, err := p.Run(t.Context(), in)
		require.NoError(t, err)
		bytes, err := out.(ir.PyTuple)[0].(*torch.Tensor).Bytes()
		require.NoError(t, err)
		want = append(want, bytes)
		closeResult(out)
	}
	leavesNothing(t, func() any {
		var wait sync.WaitGroup
		failures := make(chan error, goroutines)
		for k := range goroutines {
			wait.Go(func() {
				for r := range runs {
					n := (k*31 + r*17) % shapes
					out, err := p.Run(t.Context(), inputs[n])
					if err != nil {
						failures <- err
						return
					}
					bytes, err := out.(ir.PyTuple)[0].(*torch.Tensor).Bytes()
					closeResult(out)
					if err != nil || string(bytes) != string(want[n]) {
						failures <- fmt.Errorf("shape %d: expected what one goroutine gets (%w)", n, err)
						return
					}
				}
			})
		}
		wait.Wait()
		close(failures)
		for err := range failures {
			assert.NoError(t, err)
		}
		return nil
	})
}

func TestClosedPlan(t *testing.T) {
	needLibtorch(t)
	p, err := interpreter.Compile(polynomial(t))
	require.NoError(t, err)
	out, err := p.Run(t.Context(), int64(1), int64(2))
	require.NoError(t, err)
	assert.Equal(t, int64(4), out)
	require.NoError(t, p.Close())
	require.NoError(t, p.Close())
	_, err = p.Run(t.Context(), int64(1), int64(2))
	require.ErrorIs(t, err, ir.ErrClosed)
	_, err = p.Dump()
	require.ErrorIs(t, err, ir.ErrClosed)
}

// A plan that is closed while others run it finishes what has begun, and refuses the
// rest.
func TestPlanIsClosedDuringRuns(t *testing.T) {
	needLibtorch(t)
	g := ir.NewGraph()
	x := g.Placeholder("x")
	for range 20 {
		x = g.CallFunction(ir.OverloadOf("aten::cumsum"), []ir.Arg{g.CallFunction(fn("torch.tanh"), []ir.Arg{x}), ir.Int(0)})
	}
	g.Output(x)
	gm := module(t, g, nil)
	in := tensor(t, []float32{0.5, -1, 2, 0.25}, 4)
	want, err := interpreter.New(gm).Run(t.Context(), in)
	require.NoError(t, err)
	defer closeResult(want)
	leavesNothing(t, func() any {
		var refused atomic.Int64
		for round := range 20 {
			p, err := interpreter.Compile(gm)
			require.NoError(t, err)
			var wait sync.WaitGroup
			begun := make(chan struct{}, 16)
			for range 8 {
				wait.Go(func() {
					for run := 0; ; run++ {
						out, err := p.Run(t.Context(), in)
						if errors.Is(err, ir.ErrClosed) {
							refused.Add(1)
							return
						}
						if !assert.NoError(t, err) {
							begun <- struct{}{}
							return
						}
						a, _ := want.(*torch.Tensor).Bytes()
						b, _ := out.(*torch.Tensor).Bytes()
						closeResult(out)
						assert.Equal(t, a, b)
						if run == round%3 {
							begun <- struct{}{}
						}
					}
				})
			}
			<-begun
			assert.NoError(t, p.Close())
			wait.Wait()
		}
		assert.EqualValues(t, 20*8, refused.Load())
		return nil
	})
}

func TestPlanModes(t *testing.T) {
	needLibtorch(t)
	gm := chainOf(t, 3, addOne)
	x := tensor(t, []float32{1, 2}, 2)
	for name, opt := range map[string]interpreter.PlanOption{
		"inference": interpreter.PlanMode(libtorch.Mode{Inference: true}),
		"gradients": interpreter.PlanMode(libtorch.Mode{Grad: true}),
		"threads":   interpreter.PlanThreads(2),
	} {
		t.Run(name, func(t *testing.T) {
			p := compile(t, gm, opt)
			for range 3 {
				out, err := p.Run(t.Context(), x)
				require.NoError(t, err)
				assert.Equal(t, []float32{4, 5}, elements(t, out))
				h, err := out.(*torch.Tensor).Handle()
				require.NoError(t, err)
				info, err := h.Info()
				require.NoError(t, err)
				assert.Equal(t, name == "inference", info.Inference)
				closeResult(out)
			}
		})
	}
}

func TestPlanRefusesWhatItsCheckRefuses(t *testing.T) {
	needLibtorch(t)
	no := errors.New("no")
	p := compile(t, polynomial(t), interpreter.PlanCheck(func([]any) error { return no }))
	_, err := p.Run(t.Context(), int64(1), int64(2))
	assert.ErrorIs(t, err, no)
}

// No more runs of a plan go on at once than it has workers; others wait, as long as
// their contexts let them.
func TestPlanWorkers(t *testing.T) {
	needLibtorch(t)
	entered, leave := make(chan struct{}, 8), make(chan struct{})
	gate := torch.Wrap("planworkers_gate", func(x *torch.Tensor) *torch.Tensor {
		entered <- struct{}{}
		<-leave
		return x
	})
	_ = gate
	g := ir.NewGraph()
	g.Output(g.CallFunction(ir.FuncOf("planworkers_gate"), []ir.Arg{g.Placeholder("x")}))
	p := compile(t, module(t, g, nil), interpreter.PlanWorkers(2))
	x := tensor(t, []float32{1}, 1)
	done := make(chan error)
	run := func(ctx context.Context) {
		out, err := p.Run(ctx, x)
		closeResult(out)
		done <- err
	}
	for range 3 {
		go run(t.Context())
	}
	<-entered
	<-entered
	ctx, cancel := context.WithCancel(t.Context())
	go run(ctx)
	cancel()
	require.ErrorIs(t, <-done, ir.ErrCancelled)
	assert.Empty(t, entered, "two are in it, the others wait")
	close(leave)
	for range 3 {
		require.NoError(t, <-done)
	}
}
