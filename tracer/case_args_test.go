package tracer_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	"github.com/torchfx-go/torchfx/operator"
	torch "github.com/torchfx-go/torchfx/torchops"
	"github.com/torchfx-go/torchfx/tracer"
)

func TestTrace_default_dtype_use(t *testing.T) {
	gm, err := tracer.SymbolicTrace(func(x, dtype, device V) V {
		return op("add", x.Method("to", []any{dtype}), fn("torch.zeros_like", x, torch.Kw("dtype", dtype), torch.Kw("device", device)))
	}, tracer.Parameters(nn.Param{Name: "x"}, nn.Param{Name: "dtype", Default: ir.Float64}, nn.Param{Name: "device", Default: ir.NewDevice(ir.DeviceCPU, -1)}))
	sameCase(t, gm, err)
}

func TestTrace_default_special(t *testing.T) {
	gm, err := tracer.SymbolicTrace(func(x, dt, dev, inf, ninf, nan, c, l, m, z, e, s V) V { return x }, tracer.Parameters(
		nn.Param{Name: "x"}, nn.Param{Name: "dt", Default: ir.Float32}, nn.Param{Name: "dev", Default: ir.NewDevice(ir.DeviceCPU, -1)},
		nn.Param{Name: "inf", Default: ir.Float(inf)}, nn.Param{Name: "ninf", Default: ir.Float(-inf)}, nn.Param{Name: "nan", Default: ir.Float(inf - inf)},
		nn.Param{Name: "c", Default: ir.Enum{Class: ir.FuncOf("program.Color"), Member: "BLUE", Value: ir.Int(2)}},
		nn.Param{Name: "l", Default: ir.Strided}, nn.Param{Name: "m", Default: ir.ChannelsLast}, nn.Param{Name: "z", Default: ir.Complex(1 + 2i)},
		nn.Param{Name: "e", Default: ir.Ellipsis{}}, nn.Param{Name: "s", Default: ir.Slice{Start: ir.Int(1), Stop: ir.None{}, Step: ir.Int(2)}}))
	sameCase(t, gm, err)
}

// upstream: test_fx.TestFX.test_multiple_default_args
func TestTrace_default_values(t *testing.T) {
	gm, err := trace(func(a, b, c, d, e, g, h, i, j, k V) V { return op("add", a, b) },
		`a=1, b=2.5, c="s'q", d=None, e=True, g=(1, 2), h=[1, [2]], i={'k': 1}, j=-0.0, k=1e+20`)
	sameCase(t, gm, err)
}

func TestTrace_args_keyword_only(t *testing.T) {
	gm, err := trace(func(x, k, m V) V { return op("add", op("mul", x, k), m) }, "x, *, k, m=2")
	sameCase(t, gm, err)
}

type star struct {
	nn.Base `forward:"*args, **kwargs"`
}

func (*star) Forward(args, kwargs V) V { return op("add", args.Index(0), kwargs.Index("y")) }

func TestTrace_args_method_star(t *testing.T) {
	gm, err := tracer.SymbolicTrace(&star{})
	sameCase(t, gm, err)
}

// upstream: test_fx.TestFX.test_args_kwargs
func TestTrace_args_star(t *testing.T) {
	gm, err := trace(func(x, args, kwargs V) V {
		sum := op("add", x, op("mul", args.Index(0), args.Index(1)))
		return op("sub", sum, kwargs.Index("scale"))
	}, "x, *args, **kwargs")
	sameCase(t, gm, err)
}

func TestTrace_args_star_and_keyword_only(t *testing.T) {
	gm, err := trace(func(x, rest, k, extra V) V {
		return op("add", op("add", op("add", x, rest.Index(0)), k), extra.Index("b"))
	}, "x, *rest, k=1, **extra")
	sameCase(t, gm, err)
}

func TestTrace_concrete_annotated(t *testing.T) {
	gm, err := trace(func(x map[string]V, y V) V { return op("add", x["a"], y) },
		"x: typing.Dict[str, torch.Tensor], y: torch.Tensor -> torch.Tensor", concrete("x", map[string]any{"a": tracer.PH}))
	sameCase(t, gm, err)
}

// Annotations come where torch.fx has them; it wraps functions with stars, and
// their result has none then.
//
// upstream: test_fx.TestFX.test_annotations_with_no_forward_references
// upstream: test_fx.TestFX.test_fn_type_annotations
// upstream: test_fx.TestFX.test_return_type_exists
// upstream: test_fx.TestFX.test_return_type_exists_pre_pep585
// upstream: test_fx.TestFX.test_nonetype_annotation
// upstream: test_fx.TestFX.test_typename_print_pre_pep585
func TestAnnotationsOfSignatures(t *testing.T) {
	one := func(x V) V { return op("neg", x) }
	two := func(x, k V) V { return op("add", x, k) }
	for _, c := range []struct {
		signature string
		f         any
		want      string
	}{
		{"x: typing.Optional[torch.Tensor] = None -> torch.Tensor", one, "(self, x : typing_Union[torch.Tensor,NoneType] = None) -> torch.Tensor:"},
		{"x -> typing.Dict[str, int]", one, "(self, x) -> typing_Dict[str,int]:"},
		{"x: torch.Tensor, k: float = 1.0", two, "(self, x : torch.Tensor, k : float = 1.0):"},
		{"x: torch.Tensor, *, k: int=1 -> torch.Tensor", two, "(self, x : torch.Tensor, k : int = 1):"},
		{"x: torch.Tensor, *k: int -> torch.Tensor", two, "(self, x : torch.Tensor, *k):"},
		{"x: torch.Tensor, **k: int -> torch.Tensor", two, "(self, x : torch.Tensor, **k):"},
	} {
		t.Run(c.signature, func(t *testing.T) {
			gm, err := trace(c.f, c.signature)
			require.NoError(t, err)
			for range 2 {
				code, err := gm.Code()
				require.NoError(t, err)
				require.Contains(t, code, "def forward"+c.want)
				gm, err = tracer.SymbolicTrace(gm)
				require.NoError(t, err)
			}
		})
	}
}

func TestBadSignatures(t *testing.T) {
	for _, s := range []string{"2x", "x, x", "x, h=foo(2)", "x):\n    y = 2", "x -> ", "x=", "x y"} {
		_, err := trace(func(x V) V { return x }, s)
		require.ErrorIs(t, err, ir.ErrSyntax, s)
	}
}

// upstream: test_fx.TestFX.test_pytree
func TestTrace_concrete_module_retrace(t *testing.T) {
	testenv.Libtorch(t)
	pair := concrete("xs", []any{tracer.PH, tracer.PH})
	gm, err := tracer.SymbolicTrace(&listed{Lin: nn.NewLinear(2, 2)}, pair)
	require.NoError(t, err)
	gm, err = tracer.SymbolicTrace(gm, pair)
	sameCase(t, gm, err)
	tree := gm.Graph().CodeGen().(ir.PyTreeCodeGen)
	require.Equal(t, ir.TupleSpec(ir.Leaf(), ir.ListSpec(ir.Leaf(), ir.Leaf())), tree.In, "self is a leaf")
	x := tensor(t, []float32{1, 2}, 1, 2)
	out, err := run(gm, []any{x, x})
	require.NoError(t, err)
	require.Len(t, out, 2)
}

type listed struct {
	nn.Base `forward:"xs"`
	Lin     *nn.Linear
}

func (m *listed) Forward(xs []*torch.Tensor) (out torch.List) {
	for _, x := range xs {
		out = append(out, m.Lin.Forward(x))
	}
	return out
}

func TestTrace_concrete_default_with_pytree(t *testing.T) {
	// upstream's defect 17: there the code does not compile
	gm, err := trace(func(a map[string]V, n V) V { return a["x"] }, "a, n=None", concrete("a", map[string]any{"x": tracer.PH}))
	require.Equal(t, `


def forward(self, a, n = None):
    a_1, n, = fx_pytree.tree_flatten_spec([a, n], self._in_spec)
    return pytree.tree_unflatten([a_1], self._out_spec)
    `, code(t, gm, err))
}

// upstream: test_fx.TestFX.test_pytree
func TestTrace_concrete_nested(t *testing.T) {
	gm, err := trace(func(a map[string]V, b []any, flag bool, n any) any {
		first := b[0].(ir.PyTuple)
		out := a["y"]
		if flag {
			out = op("add", a["x"], first[1])
		}
		return dict("o", out, "p", []any{b[1], a["y"]})
	}, "a, b, flag, n", concrete("a", dict("x", tracer.PH, "y", tracer.PH),
		"b", []any{ir.PyTuple{tracer.PH, tracer.PH}, tracer.PH}, "flag", true, "n", nil))
	sameCase(t, gm, err)
}

// upstream: test_fx.TestFX.test_metadata_on_ph
func TestTrace_concrete_ph_meta(t *testing.T) {
	gm, err := trace(func(x, y *torch.Tensor) *torch.Tensor { return operator.Add(x, y) }, "x, y",
		concrete("x", tracer.PHWithMeta{"ph_key": "first", "extra": 5}))
	sameCase(t, gm, err)
	meta := gm.Graph().Lookup("x_1").Meta()
	require.Equal(t, "first", meta.Get("ph_key"))
	require.Equal(t, 5, meta.Get("extra"))
}

func TestTrace_concrete_positional(t *testing.T) {
	f := func(x *torch.Tensor, y bool, z *torch.Tensor) *torch.Tensor {
		if y {
			return operator.Add(x, z)
		}
		return x
	}
	gm, err := trace(f, "x, y, z", tracer.ConcreteArgs(tracer.PH, false, tracer.PH))
	sameCase(t, gm, err)
}

func TestTrace_concrete_positional_mismatch(t *testing.T) {
	_, err := trace(func(x, y, z V) V { return x }, "x, y, z", tracer.ConcreteArgs(tracer.PH, false))
	failsAs(t, err, nil)
}

// upstream: test_fx.TestFX.test_concrete_arg_none_assert
func TestTrace_concrete_scalars(t *testing.T) {
	f := func(x *torch.Tensor, flag bool, n int, name string, none any, scale float64) *torch.Tensor {
		if flag {
			return operator.Mul(operator.Mul(x, n), scale)
		}
		return x
	}
	gm, err := trace(f, "x, flag=True, n=3, name='s', none=None, scale=0.5",
		concrete("flag", false, "n", 4, "name", "t", "none", nil, "scale", 1.5))
	sameCase(t, gm, err)
}

func TestTrace_concrete_tensor_and_tuple(t *testing.T) {
	gm, err := trace(func(x, w *torch.Tensor, tuple ir.PyTuple) V {
		return op("add", op("add", op("add", x, w), tuple[0]), tuple[1])
	}, "x, w, t", concrete("w", tensor(t, []float32{1, 1}, 2), "t", ir.PyTuple{tracer.PH, 3}))
	sameCase(t, gm, err)
}

type variadic struct {
	nn.Base `forward:"*args"`
}

func (*variadic) Forward(args ...*torch.Tensor) *torch.Tensor {
	return operator.Add(args[0], operator.Mul(args[1], args[2]))
}

// upstream: test_fx.TestFX.test_varargs_concrete
func TestTrace_concrete_varargs(t *testing.T) {
	gm, err := tracer.SymbolicTrace(&variadic{}, tracer.ConcreteArgs(tracer.PH, tracer.PH, tracer.PH))
	sameCase(t, gm, err)
}

// upstream: test_fx.TestFX.test_partial_trace
func TestTrace_concrete_wrong_value(t *testing.T) {
	gm, err := trace(func(x *torch.Tensor, n int) *torch.Tensor { return operator.Mul(x, n) }, "x, n", concrete("n", 3))
	require.NoError(t, err)
	_, err = run(gm, tensor(t, []float32{1, 1}, 2), 4)
	failsAs(t, err, nil)
}

type config struct {
	Hidden  *torch.Tensor
	Mask    *torch.Tensor
	Nested  struct{ Scale torch.SymInt }
	Ignored string `pytree:"-"`
}

// upstream: test_fx.TestFX.test_pytree
func TestStructsArePytrees(t *testing.T) {
	gm, err := trace(func(c *config, x *torch.Tensor) map[string]*torch.Tensor {
		return map[string]*torch.Tensor{"out": operator.Mul(operator.Add(c.Hidden, c.Mask), c.Nested.Scale), "in": x}
	}, "c, x")
	require.Equal(t, `


def forward(self, c, x):
    c_1, c_2, c_3, x, = fx_pytree.tree_flatten_spec([c, x], self._in_spec)
    add = c_1 + c_2;  c_1 = c_2 = None
    mul = add * c_3;  add = c_3 = None
    return pytree.tree_unflatten([x, mul], self._out_spec)
    `, code(t, gm, err))
	one := tensor(t, []float32{1}, 1)
	out, err := run(gm, &config{Hidden: one, Mask: one, Nested: struct{ Scale torch.SymInt }{torch.N(3)}}, one)
	require.NoError(t, err)
	got, ok := out.(*ir.PyDict).Get("out")
	require.True(t, ok)
	item, err := got.(*torch.Tensor).Item()
	require.NoError(t, err)
	require.EqualValues(t, 6, item)
}
