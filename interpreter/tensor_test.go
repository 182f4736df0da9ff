package interpreter_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// needLibtorch skips a test where libtorch is not set up.
func needLibtorch(t testing.TB) {
	t.Helper()
	testenv.Libtorch(t)
	require.NoError(t, libtorch.Open())
}

func tensor(t testing.TB, data []float32, shape ...int) *torch.Tensor {
	t.Helper()
	make := func() (*torch.Tensor, error) { return torch.From(data, shape...) }
	if len(shape) == 0 {
		make = func() (*torch.Tensor, error) { return torch.Scalar(data[0], ir.Float32) }
	}
	x, err := make()
	require.NoError(t, err)
	t.Cleanup(func() { x.Close() })
	return x
}

func elements(t testing.TB, v any) []float32 {
	t.Helper()
	require.IsType(t, &torch.Tensor{}, v)
	data, err := torch.Data[float32](v.(*torch.Tensor))
	require.NoError(t, err)
	return data
}

// leavesNothing checks that a run closes every tensor that it makes but the
// results, which f returns.
func leavesNothing(t *testing.T, f func() any) {
	t.Helper()
	before := settledTensors()
	out := f()
	closeResult(out)
	after, _ := libtorch.LiveTensors()
	assert.Equal(t, before, after, "live tensors")
}

// settledTensors counts the tensors that are alive once the collector has freed what
// earlier tests left to it, so that it frees nothing of theirs meanwhile.
func settledTensors() int64 {
	count := int64(-1)
	for range 100 {
		runtime.GC()
		time.Sleep(time.Millisecond)
		now, _ := libtorch.LiveTensors()
		if now == count {
			break
		}
		count = now
	}
	return count
}

func closeResult(v any) {
	switch v := v.(type) {
	case *torch.Tensor:
		v.Close()
	case []any:
		for _, item := range v {
			closeResult(item)
		}
	case ir.PyTuple:
		closeResult([]any(v))
	case *ir.PyDict:
		for _, item := range v.All() {
			closeResult(item)
		}
	}
}

var (
	relu     = ir.OverloadOf("aten::relu")
	reluIn   = ir.OverloadOf("aten::relu_")
	addTT    = ir.OverloadOf("aten::add.Tensor")
	mulTT    = ir.OverloadOf("aten::mul.Tensor")
	split    = ir.OverloadOf("aten::split.Tensor")
	ltScalar = ir.OverloadOf("aten::lt.Scalar")
)

func TestDeepGraphKeepsLiveValuesOnly(t *testing.T) {
	needLibtorch(t)
	const depth, elems = 200, 1 << 16
	g := ir.NewGraph()
	v := ir.Arg(g.Placeholder("x"))
	for range depth {
		v = g.CallFunction(addTT, []ir.Arg{v, ir.Int(1)})
	}
	g.Output(v)
	x := tensor(t, make([]float32, elems), elems)
	_, bytes := libtorch.LiveTensors()
	var most int64
	h := interpreter.Around(interpreter.Default{}, func(r *interpreter.Run, n *ir.Node, run func() (any, error)) (any, error) {
		out, err := run()
		_, now := libtorch.LiveTensors()
		most = max(most, now-bytes)
		return out, err
	})
	leavesNothing(t, func() any {
		out, err := interpreter.New(module(t, g, nil), interpreter.WithHandler(h)).Run(t.Context(), x)
		require.NoError(t, err)
		assert.Equal(t, float32(depth), elements(t, out)[0])
		return out
	})
	assert.LessOrEqual(t, most, int64(2*4*elems), "two values at once")
}

func TestInPlaceResultsAndListItems(t *testing.T) {
	needLibtorch(t)
	g := ir.NewGraph()
	x := g.Placeholder("x")
	doubled := g.CallFunction(mulTT, []ir.Arg{x, ir.Int(2)})
	same := g.CallFunction(reluIn, []ir.Arg{doubled}) // a second handle of doubled
	parts := g.CallFunction(split, []ir.Arg{same, ir.Int(1)})
	first := g.CallFunction(getitem, []ir.Arg{parts, ir.Int(0)})
	second := g.CallFunction(getitem, []ir.Arg{parts, ir.Int(1)})
	sum := g.CallFunction(addTT, []ir.Arg{first, second})
	g.Output(ir.TupleOf(sum, second, x, second))
	in := interpreter.New(module(t, g, nil))
	input := tensor(t, []float32{-1, 2, 3, 4}, 2, 2)
	leavesNothing(t, func() any {
		out, err := in.Run(t.Context(), input)
		require.NoError(t, err)
		items := out.(ir.PyTuple)
		assert.Equal(t, []float32{6, 12}, elements(t, items[0]))
		assert.Equal(t, []float32{6, 8}, elements(t, items[1]))
		assert.NotSame(t, input, items[2])
		require.NoError(t, items[1].(*torch.Tensor).Close())
		assert.Equal(t, []float32{6, 8}, elements(t, items[3]), "each result is closed by itself")
		return out
	})
	assert.Equal(t, []float32{-1, 2, 3, 4}, elements(t, input))
}

func TestHigherOrderOperatorsOnTensors(t *testing.T) {
	needLibtorch(t)
	sumAndProduct := subgraph(t, func(g *ir.Graph, x, y *ir.Node) ir.Arg {
		return ir.TupleOf(g.CallFunction(addTT, []ir.Arg{x, y}), g.CallFunction(mulTT, []ir.Arg{x, y}))
	})
	identity := subgraph(t, func(_ *ir.Graph, x, y *ir.Node) ir.Arg { return ir.TupleOf(x, x) })
	sum := subgraph(t, func(g *ir.Graph, x, y *ir.Node) ir.Arg {
		return ir.TupleOf(g.CallFunction(addTT, []ir.Arg{x, y}))
	})
	small := subgraph(t, func(g *ir.Graph, x, _ *ir.Node) ir.Arg { return g.CallFunction(ltScalar, []ir.Arg{x, ir.Int(20)}) })
	double := subgraph(t, func(g *ir.Graph, x, y *ir.Node) ir.Arg {
		return ir.TupleOf(g.CallFunction(mulTT, []ir.Arg{x, ir.Int(2)}), g.CallFunction(addTT, []ir.Arg{y, x}))
	})
	tests := []struct {
		name  string
		sub   *ir.GraphModule
		args  func(sub, test, x, y *ir.Node) []ir.Arg
		x, y  []float32
		shape []int
		want  [][]float32
	}{
		{"cond", sumAndProduct, func(sub, _, x, y *ir.Node) []ir.Arg { return []ir.Arg{x, sub, sub, ir.ListOf(x, y)} },
			[]float32{3}, []float32{4}, nil, [][]float32{{7}, {12}}},
		{"cond", identity, func(sub, _, x, y *ir.Node) []ir.Arg { return []ir.Arg{x, sub, sub, ir.ListOf(x, y)} },
			[]float32{3}, []float32{4}, nil, [][]float32{{3}, {3}}},
		{"while_loop", double, func(sub, test, x, y *ir.Node) []ir.Arg {
			return []ir.Arg{test, sub, ir.ListOf(x, y), ir.ListOf()}
		}, []float32{3}, []float32{4}, nil, [][]float32{{24}, {4 + 3 + 6 + 12}}},
		{"while_loop", double, func(sub, test, x, y *ir.Node) []ir.Arg {
			return []ir.Arg{test, sub, ir.ListOf(x, y), ir.ListOf()}
		}, []float32{30}, []float32{4}, nil, [][]float32{{30}, {4}}},
		{"while_loop_stack_output", double, func(sub, test, x, y *ir.Node) []ir.Arg {
			return []ir.Arg{test, sub, ir.ListOf(x, y), ir.ListOf()}
		}, []float32{3}, []float32{4}, nil, [][]float32{{6, 12, 24}, {7, 13, 25}}},
		{"map_impl", sumAndProduct, func(sub, _, x, y *ir.Node) []ir.Arg { return []ir.Arg{sub, ir.ListOf(x), ir.ListOf(y)} },
			[]float32{1, 2, 3}, []float32{1, 10, 100}, []int{3}, [][]float32{{2, 11, 101, 3, 12, 102, 4, 13, 103}, {1, 10, 100, 2, 20, 200, 3, 30, 300}}},
		{"scan", sumAndProduct, func(sub, _, x, y *ir.Node) []ir.Arg {
			return []ir.Arg{sub, ir.ListOf(y), ir.ListOf(x), ir.ListOf()}
		}, []float32{1, 2, 3}, []float32{1, 2, 3}, []int{3}, [][]float32{{7, 8, 9}, {1, 2, 3, 4, 6, 8, 12, 15, 18}}},
		{"associative_scan", sum, func(sub, _, x, y *ir.Node) []ir.Arg { return []ir.Arg{sub, ir.ListOf(x), ir.ListOf()} },
			[]float32{1, 2, 3, 4, 5, 6, 7}, []float32{0, 0, 0, 0, 0, 0, 0}, []int{7}, [][]float32{{1, 3, 6, 10, 15, 21, 28}}},
		{"associative_scan", sum, func(sub, _, x, y *ir.Node) []ir.Arg { return []ir.Arg{sub, ir.ListOf(x), ir.ListOf()} },
			[]float32{9}, []float32{0}, []int{1}, [][]float32{{9}}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			g := ir.NewGraph()
			x, y := g.Placeholder("x"), g.Placeholder("y")
			sub, test := g.GetAttr("sub"), g.GetAttr("test")
			g.Output(g.CallFunction(higherOrder(tc.name), tc.args(sub, test, x, y)))
			in := interpreter.New(module(t, g, map[string]any{"sub": tc.sub, "test": small}))
			a, b := tensor(t, tc.x, tc.shape...), tensor(t, tc.y, tc.shape...)
			leavesNothing(t, func() any {
				out, err := in.Run(t.Context(), a, b)
				require.NoError(t, err)
				items := toList(out)
				require.Len(t, items, len(tc.want))
				for i, want := range tc.want {
					assert.Equal(t, want, elements(t, items[i]), "result %d", i)
				}
				return out
			})
			assert.Equal(t, tc.x, elements(t, a), "arguments stay open")
		})
	}
}

func toList(v any) []any {
	if items, ok := v.(ir.PyTuple); ok {
		return items
	}
	return v.([]any)
}

// The operator writes the copies of its bases, never the bases.
func TestAutoFunctionalizedWritesCopies(t *testing.T) {
	needLibtorch(t)
	op := ir.OverloadOf("aten::copy_")
	build := func(name string, kwargs func(x, y *ir.Node) []ir.Keyword) *interpreter.Interpreter {
		g := ir.NewGraph()
		x, y := g.Placeholder("x"), g.Placeholder("y")
		g.Output(g.CallFunction(higherOrder(name), []ir.Arg{op}, ir.Kwargs(kwargs(x, y)...)))
		return interpreter.New(module(t, g, nil))
	}
	whole := build("auto_functionalized", func(x, y *ir.Node) []ir.Keyword {
		return []ir.Keyword{ir.Kw("self", x), ir.Kw("src", y)}
	})
	base := build("auto_functionalized_v2", func(x, y *ir.Node) []ir.Keyword {
		return []ir.Keyword{ir.Kw("src", y), ir.Kw("_self_base_index", ir.Int(0)), ir.Kw("_all_bases", ir.ListOf(x))}
	})
	slice := build("auto_functionalized_v2", func(x, y *ir.Node) []ir.Keyword {
		return []ir.Keyword{ir.Kw("src", y), ir.Kw("_self_base_index", ir.Int(0)), ir.Kw("_self_slice_dim", ir.Int(0)),
			ir.Kw("_self_slice_start", ir.Int(1)), ir.Kw("_self_slice_end", ir.Int(2)), ir.Kw("_all_bases", ir.ListOf(x))}
	})
	strided := build("auto_functionalized_v2", func(x, y *ir.Node) []ir.Keyword {
		return []ir.Keyword{ir.Kw("src", y), ir.Kw("_self_base_index", ir.Int(0)), ir.Kw("_self_size", ir.IntList(1)),
			ir.Kw("_self_stride", ir.IntList(1)), ir.Kw("_self_storage_offset", ir.Int(2)), ir.Kw("_all_bases", ir.ListOf(x))}
	})
	for _, tc := range []struct {
		name string
		in   *interpreter.Interpreter
		want []float32
	}{
		{"whole", whole, []float32{9, 9, 9}},
		{"base", base, []float32{9, 9, 9}},
		{"slice", slice, []float32{1, 9, 3}},
		{"strided", strided, []float32{1, 2, 9}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			x, y := tensor(t, []float32{1, 2, 3}, 3), tensor(t, []float32{9}, 1)
			leavesNothing(t, func() any {
				out, err := tc.in.Run(t.Context(), x, y)
				require.NoError(t, err)
				items := toList(out)
				require.Len(t, items, 2)
				assert.Equal(t, tc.want, elements(t, items[1]))
				return out
			})
			assert.Equal(t, []float32{1, 2, 3}, elements(t, x))
		})
	}
}

func TestWithEffectsReturnsAToken(t *testing.T) {
	needLibtorch(t)
	g := ir.NewGraph()
	token, x := g.Placeholder("token"), g.Placeholder("x")
	g.Output(g.CallFunction(higherOrder("with_effects"), []ir.Arg{token, relu, x}))
	in := interpreter.New(module(t, g, nil))
	x0 := tensor(t, []float32{-1, 2}, 2)
	leavesNothing(t, func() any {
		out, err := in.Run(t.Context(), nil, x0)
		require.NoError(t, err)
		items := out.(ir.PyTuple)
		require.Len(t, items, 2)
		assert.Equal(t, []int{0}, items[0].(*torch.Tensor).Shape())
		assert.Equal(t, []float32{0, 2}, elements(t, items[1]))
		return out
	})
}

func TestVmapLevelsBelongToTheRun(t *testing.T) {
	needLibtorch(t)
	fn := func(name string) *ir.Func { return ir.FuncOf("torch._functorch.predispatch." + name) }
	g := ir.NewGraph()
	x := g.Placeholder("x")
	g.CallFunction(fn("lazy_load_decompositions"), nil)
	g.CallFunction(fn("_vmap_increment_nesting"), []ir.Arg{ir.Int(3), ir.Str("error")})
	row := g.CallFunction(fn("_add_batch_dim"), []ir.Arg{x, ir.Int(0), ir.Int(1)})
	sum := g.CallFunction(ir.OverloadOf("aten::sum"), []ir.Arg{row}) // of each row
	all := g.CallFunction(fn("_remove_batch_dim"), []ir.Arg{sum, ir.Int(1), ir.Int(3), ir.Int(0)})
	g.CallFunction(fn("_vmap_decrement_nesting"), nil)
	g.Output(g.CallFunction(ir.OverloadOf("aten::mul.Tensor"), []ir.Arg{all, ir.Int(10)}))
	gm := module(t, g, nil)
	require.NoError(t, interpreter.Check(gm))
	in := interpreter.New(gm)
	x0 := tensor(t, []float32{1, 2, 3, 4, 5, 6}, 3, 2)
	leavesNothing(t, func() any {
		out, err := in.Run(t.Context(), x0)
		require.NoError(t, err)
		assert.Equal(t, []float32{30, 70, 110}, elements(t, out))
		return out
	})
}

func TestAutocastRegion(t *testing.T) {
	needLibtorch(t)
	g := ir.NewGraph()
	x, y := g.Placeholder("x"), g.Placeholder("y")
	region := []ir.Arg{ir.Str("cpu"), ir.BFloat16, ir.Bool(true), ir.Bool(false), g.GetAttr("sub"), x, y}
	g.Output(g.CallFunction(higherOrder("wrap_with_autocast"), region))
	sub := subgraph(t, func(g *ir.Graph, x, y *ir.Node) ir.Arg {
		return g.CallFunction(ir.OverloadOf("aten::mm"), []ir.Arg{x, y})
	})
	in := interpreter.New(module(t, g, map[string]any{"sub": sub}))
	a := tensor(t, []float32{1, 2, 3, 4}, 2, 2)
	leavesNothing(t, func() any {
		out, err := in.Run(t.Context(), a, a)
		require.NoError(t, err)
		assert.Equal(t, ir.BFloat16, out.(*torch.Tensor).DType())
		return out
	})
}

func TestOperatorErrorDescribesArguments(t *testing.T) {
	needLibtorch(t)
	g := ir.NewGraph()
	x, y := g.Placeholder("x"), g.Placeholder("y")
	g.Output(g.CallFunction(ir.OverloadOf("aten::mm"), []ir.Arg{x, y}))
	in := interpreter.New(module(t, g, nil))
	a, b := tensor(t, []float32{1, 2}, 1, 2), tensor(t, []float32{1, 2, 3}, 3, 1)
	leavesNothing(t, func() any {
		_, err := in.Run(t.Context(), a, b)
		var node *interpreter.NodeError
		require.ErrorAs(t, err, &node)
		assert.Equal(t, []string{"self: f32[1, 2] cpu", "mat2: f32[3, 1] cpu"}, node.Args)
		assert.ErrorIs(t, err, ir.ErrRuntime)
		return nil
	})
}
