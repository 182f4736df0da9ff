package interpreter_test

import (
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

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

func TestPlanModes(t *testing.T) {
	needLibtorch(t)
	gm := chainOf(t, 3, addOne)
	x := tensor(t, []float32{1, 2}, 2)
	for name, opt := range map[string]interpreter.PlanOption{
		"inference": interpreter.WithMode(libtorch.Mode{Inference: true}),
		"gradients": interpreter.WithMode(libtorch.Mode{Grad: true}),
		"threads":   interpreter.WithThreads(2),
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
