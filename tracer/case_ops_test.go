package tracer_test

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	F "github.com/torchfx-go/torchfx/nn/functional"
	"github.com/torchfx-go/torchfx/operator"
	torch "github.com/torchfx-go/torchfx/torchops"
	"github.com/torchfx-go/torchfx/tracer"
)

var inf = math.Inf(1)

func run(gm *ir.GraphModule, args ...any) (any, error) {
	return interpreter.New(gm).Run(context.Background(), args...)
}

func TestTrace_ops_augmented(t *testing.T) {
	gm, err := trace(func(x, y V) V {
		x = x.Op("add", y).Op("mul", 2).Op("sub", 1).Op("truediv", y)
		return x.Op("floordiv", 2).Op("pow", 2).Op("mod", 3)
	}, "x, y")
	sameCase(t, gm, err)
}

// upstream: test_fx.TestFX.test_fx_shifts
// upstream: test_fx.TestFX.test_fx_and_or
// upstream: test_fx.TestFX.test_matmul_tracing
func TestTrace_ops_forward(t *testing.T) {
	gm, err := trace(func(x, y V) (any, any) {
		var a, b []any
		for _, name := range []string{"add", "sub", "mul", "floordiv", "truediv", "mod", "pow", "lshift", "rshift", "and_", "or_", "xor", "matmul"} {
			a = append(a, op(name, x, y))
		}
		for _, name := range []string{"eq", "ne", "lt", "gt", "le", "ge"} {
			b = append(b, op(name, x, y))
		}
		for _, name := range []string{"pos", "neg", "invert", "abs"} {
			b = append(b, op(name, x))
		}
		return a, append(b, x.Index(y))
	}, "x, y")
	sameCase(t, gm, err)
}

func TestTrace_ops_negative_literals(t *testing.T) {
	gm, err := tracer.SymbolicTrace(func(x V) any {
		return ir.PyTuple{op("sub", x, -1), op("pow", x, -2), op("mul", -1, x), op("add", x, -1.5), x.Index(-1),
			x.Index(torch.Slice(-3, -1, nil)), op("mul", x, 1-2i)}
	})
	sameCase(t, gm, err)
}

func TestTrace_ops_not_error(t *testing.T) {
	_, err := tracer.SymbolicTrace(func(x V) bool { return !x.Bool() })
	failsAs(t, err, nil)
}

func TestTrace_ops_precedence(t *testing.T) {
	gm, err := trace(func(x, y V) any {
		return ir.PyTuple{op("mul", op("add", x, 1), op("neg", op("pow", y, 2))), op("neg", op("add", x, y)), op("add", x, y).Index(0),
			op("and_", op("eq", x, y), op("invert", op("gt", x, 1))), x.Method("sum", nil).Index(ir.Ellipsis{}), op("mul", 2, x).Method("relu", nil)}
	}, "x, y")
	sameCase(t, gm, err)
}

// upstream: test_fx.TestFX.test_fx_shifts
// upstream: test_fx.TestFX.test_fx_and_or
// upstream: test_fx.TestFX.test_matmul_tracing
func TestTrace_ops_reverse(t *testing.T) {
	testenv.Libtorch(t)
	gm, err := tracer.SymbolicTrace(func(x V) any {
		var a, b []any
		for i, name := range []string{"add", "sub", "mul", "floordiv", "truediv", "mod", "pow", "lshift", "rshift", "and_", "or_", "xor"} {
			left := []int{1, 1, 2, 3, 4, 5, 6, 1, 1, 1, 1, 1}[i]
			a = append(a, x.ROp(name, left))
		}
		for _, name := range []string{"eq", "ne", "lt", "gt", "le", "ge"} {
			b = append(b, op(name, 1, x))
		}
		ones := func() *torch.Tensor { return torch.Ones(2) }
		return ir.PyTuple{a, b, op("add", ones(), x), op("sub", ones(), x), op("matmul", ones(), x), op("gt", ones(), x)}
	})
	sameCase(t, gm, err)
}

// upstream: test_fx.TestFX.test_ellipsis
func TestTrace_index_slices(t *testing.T) {
	gm, err := trace(func(x, n V) any {
		all := torch.Slice(nil, nil, nil)
		return ir.PyTuple{x.Index(0), x.Index(torch.Slice(1, nil, nil)), x.Index(torch.Slice(nil, n, nil)), x.Index(torch.Slice(nil, nil, 2)),
			x.Index(torch.Slice(1, n, 2)), x.Index(nil), x.Index(ir.PyTuple{ir.Ellipsis{}, 0}), x.Index(ir.PyTuple{all, torch.Slice(1, nil, nil), nil}),
			x.Index([]int{0, 1}), x.Index(op("gt", x, 0)), x.Index(ir.PyTuple{n, ir.Ellipsis{}, torch.Slice(-1, nil, nil)}),
			x.Index(tensor(t, []float32{0, 1}, 2)), x.Index(true), x.Index(ir.PyTuple{})}
	}, "x, n")
	sameCase(t, gm, err)
}

// upstream: test_fx.TestFX.test_reserved_getattr
func TestTrace_attr_chains(t *testing.T) {
	gm, err := tracer.SymbolicTrace(func(x V) any {
		return ir.PyTuple{x.Attr("shape"), x.Attr("shape").Index(0), x.Attr("T").Method("size", []any{-1}),
			x.Attr("grad").Attr("data").Method("add", []any{1}).Attr("dtype"), x.Attr("foo").Attr("bar").Attr("baz"), op("add", x.Attr("real"), 1)}
	})
	sameCase(t, gm, err)
}

func TestTrace_call_on_proxy(t *testing.T) {
	gm, err := tracer.SymbolicTrace(func(x V) V {
		sum := op("add", x.Call([]any{1}, torch.Kw("k", 2)), x.Method("m", []any{3}))
		return op("add", sum, x.Method("n", nil, torch.Kw("y", x)).Call([]any{4}))
	})
	sameCase(t, gm, err)
}

func TestTrace_method_inplace_and_kwargs(t *testing.T) {
	gm, err := trace(func(x, y V) V {
		x.Method("add_", []any{y}, torch.Kw("alpha", 2)).Method("mul_", []any{3})
		x = x.Method("clamp", nil, torch.Kw("min", 0), torch.Kw("max", y)).Method("to", []any{ir.Float16}, torch.Kw("copy", true))
		x = x.Method("view", []any{2, -1}).Method("permute", []any{0, 1})
		return x.Method("sum", nil, torch.Kw("dim", ir.PyTuple{0, 1}), torch.Kw("keepdim", true))
	}, "x, y")
	sameCase(t, gm, err)
}

func TestTrace_functions_factory_error(t *testing.T) {
	gm, err := tracer.SymbolicTrace(func(x *torch.Tensor) V { return fn("torch.arange", 0, x.Size(0)) })
	sameCase(t, gm, err)
}

func TestTrace_functions_factory_with_proxy_size(t *testing.T) {
	gm, err := tracer.SymbolicTrace(func(x V) any {
		size := func() V { return x.Method("size", []any{0}) }
		return ir.PyTuple{fn("torch.zeros", x.Attr("shape").Index(0)), fn("torch.ones", ir.PyTuple{size(), 2}),
			fn("torch.full", ir.PyTuple{size(), 2}, 1.0), fn("torch.empty", x.Attr("shape")), fn("torch.arange", size())}
	})
	sameCase(t, gm, err)
}

func TestSeveralTracedSizes(t *testing.T) {
	testenv.Libtorch(t)
	gm, err := tracer.SymbolicTrace(func(x *torch.Tensor) *torch.Tensor { return torch.Ones(x.Size(0), 2) })
	assert.Contains(t, code(t, gm, err), "ones = torch.ones(size, 2)")
}

func TestTrace_functions_nn_functional(t *testing.T) {
	gm, err := trace(func(x, w, b V) (any, any) {
		call := func(name string, args ...any) V {
			positional, kw := torch.SplitKwargs(args)
			return F.Call(name, positional, kw).(V)
		}
		x = call("linear", x, w, b)
		x = call("relu", x, torch.Kw("inplace", true))
		x = call("dropout", x, torch.Kw("p", 0.2), torch.Kw("training", false))
		x = call("gelu", x, torch.Kw("approximate", "tanh"))
		x = call("softmax", x, torch.Kw("dim", -1))
		x = call("layer_norm", x, ir.PyTuple{4})
		x = call("max_pool2d", x, 2, torch.Kw("stride", ir.PyTuple{1, 1}))
		x = call("adaptive_avg_pool2d", x, ir.PyTuple{1, 1})
		x = call("interpolate", x, torch.Kw("scale_factor", 2.0), torch.Kw("mode", "nearest"))
		x = call("pad", x, ir.PyTuple{1, 1}, "constant", 0.5)
		return call("cross_entropy", x, w), call("scaled_dot_product_attention", x, w, b)
	}, "x, w, b")
	sameCase(t, gm, err)
}

func TestTrace_functions_torch_namespaces(t *testing.T) {
	gm, err := trace(func(x, y V) any {
		return ir.PyTuple{fn("torch._C._linalg.linalg_norm", x), fn("torch._C._fft.fft_fft", x), fn("torch._C._special.special_erf", x),
			fn("torch.functional.einsum", "ij,jk->ik", x, y), fn("torch.stack", ir.PyTuple{x, y}, torch.Kw("dim", 1)), fn("torch.where", op("gt", x, y), x, y),
			fn("torch.ops.aten.add.Tensor", x, y), fn("torch.ops.aten.relu", x), x.Method("zero_", nil), fn("torch._C._sparse._sparse_mm", x, y),
			fn("torch.functional.norm", x, torch.Kw("p", "fro"), torch.Kw("dim", nil), torch.Kw("keepdim", false), torch.Kw("out", nil), torch.Kw("dtype", nil)),
			fn("torch.functional.split", x, []int{1, 2}, torch.Kw("dim", 0)), fn("torch.max", x, 1).Index(0),
			fn("torch.sum", x, torch.Kw("dim", []int{0, 1}), torch.Kw("dtype", ir.Float64))}
	}, "x, y")
	sameCase(t, gm, err)
}

// upstream: test_fx.TestFX.test_unpack
func TestTrace_unpack_known(t *testing.T) {
	gm, err := trace(func(x, pair V) V {
		ab, xs := pair.Unpack(2), x.Unpack(2)
		cd := xs[0].Unpack(2)
		return op("add", op("add", op("add", op("add", ab[0], ab[1]), cd[0]), cd[1]), xs[1])
	}, "x, pair")
	sameCase(t, gm, err)
}

// upstream: test_fx.TestFX.test_unpack_list_better_error
func TestTrace_unpack_loop_error(t *testing.T) {
	for name, f := range map[string]any{
		"values":  func(xs V) any { return sumOf(xs) },
		"tensors": func(xs torch.Tensors) any { return sumOfTensors(xs) },
		"entries": func(xs V) any {
			for range xs.Items() {
				t.Error(name0)
			}
			return xs
		},
	} {
		_, err := trace(f, "xs")
		require.Error(t, err, name)
		failsAs(t, err, nil)
	}
}

const name0 = "an entry of a dict that nobody knows"

func sumOf(xs V) any {
	var out any = 0
	for _, x := range xs.All() {
		out = op("add", out, x)
	}
	return out
}

func sumOfTensors(xs torch.Tensors) any {
	var out any = 0
	for _, x := range xs.All() {
		out = operator.Add(out, x)
	}
	return out
}

// upstream: test_fx.TestFX.test_unpack_list_better_error
func TestTrace_unpack_star_error(t *testing.T) {
	_, err := tracer.SymbolicTrace(func(x V) V {
		var args []any
		for _, v := range x.All() {
			args = append(args, v)
		}
		return fn("torch.add", args...)
	})
	failsAs(t, err, nil)
}

func TestTrace_unpack_iter_override(t *testing.T) {
	gm, err := trace(func(xs, kw V) any {
		out := sumOf(xs).(V)
		if op("gt", out, 0).Bool() {
			out = fn("torch.relu", out)
		}
		d := &ir.PyDict{}
		for key, v := range kw.Items() {
			d.Set(key, v)
		}
		return ir.PyTuple{out, d}
	}, "xs, kw",
		tracer.OnLen(func(V) (int, bool) { return 3, true }),
		tracer.OnKeys(func(V) ([]string, bool) { return []string{"a", "b"}, true }),
		tracer.OnBool(func(V) (bool, bool) { return true, true }))
	sameCase(t, gm, err)
}

func TestSizesAreComputedAndCompared(t *testing.T) {
	gm, err := tracer.SymbolicTrace(func(x *torch.Tensor) any {
		n := x.Size(0)
		return ir.PyTuple{torch.N(7).Sub(n), n.Pow(2), torch.N(7).FloorDiv(n), n.LShift(1), n.Gt(3), torch.N(3).Lt(n), n.Eq(n)}
	})
	assert.Equal(t, `


def forward(self, x):
    size = x.size(0);  x = None
    sub = 7 - size
    pow_1 = size ** 2
    floordiv = 7 // size
    lshift = size << 1
    gt = size > 3
    gt_1 = size > 3
    eq = size == size;  size = None
    return (sub, pow_1, floordiv, lshift, gt, gt_1, eq)
    `, code(t, gm, err))
	n := torch.N(5)
	assert.Equal(t, 25, n.Pow(2).Int())
	assert.True(t, n.Gt(3).Bool())
	assert.False(t, n.Eq(torch.N(4)).Bool())

	_, err = tracer.SymbolicTrace(func(x *torch.Tensor) *torch.Tensor {
		if x.Size(0).Gt(3).Bool() {
			return x
		}
		return torch.Neg(x)
	})
	assert.ErrorIs(t, err, ir.ErrTrace)
}
