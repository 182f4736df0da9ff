package fxcase_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/fxcase"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
	"github.com/torchfx-go/torchfx/tracer"
)

// The programs that build a graph node by node.

func args(items ...ir.Arg) []ir.Arg { return items }

func fn(name string) *ir.Func { return ir.FuncOf(name) }

func str(s string) ir.Arg { return ir.Str(s) }

// module gives a graph to a module without attributes of the program's.
func module(t *testing.T, g *ir.Graph) *ir.GraphModule {
	t.Helper()
	gm, err := ir.NewGraphModule(nil, g)
	require.NoError(t, err)
	return gm
}

func TestAttrGetattrForms(t *testing.T) {
	c := fxcase.Open(t, "attr_getattr_forms")
	g := ir.NewGraph()
	x := g.Placeholder("x")
	get := fn("builtins.getattr")
	a := g.CallFunction(get, args(x, str("shape")))
	b := g.CallFunction(get, args(x, str("a b")))
	d := g.CallFunction(get, args(x, str("shape"), ir.None{}))
	e := g.CallFunction(get, args(a, str("x.y")))
	f := g.CallMethod("sub.0.run", args(x, ir.Int(1)))
	g.Output(ir.TupleOf(a, b, d, e, f))
	c.Same(module(t, g), nil)
}

func TestLiteralCallArgs(t *testing.T) {
	c := fxcase.Open(t, "literal_call_args")
	g := ir.NewGraph()
	x := g.Placeholder("x")
	n := g.CallFunction(torch.FnAdd, args(x, ir.Int(1), ir.Float(2.5), ir.Bool(true), ir.None{}, str("s"), str("it's \"q\"\n"), ir.Ellipsis{},
		ir.Float(math.Copysign(0, -1)), ir.Float(1e20), ir.Float(1e16), ir.Float(1e-5), ir.BigInt("1000000000000000000000000000000"), ir.Int(-7)))
	cuda, err := ir.ParseDevice("cuda:0")
	require.NoError(t, err)
	cpu, err := ir.ParseDevice("cpu")
	require.NoError(t, err)
	m := g.CallFunction(torch.FnAdd, args(n), ir.Kwargs(
		ir.Kw("f", ir.Float(math.Inf(1))), ir.Kw("g", ir.Float(math.Inf(-1))), ir.Kw("h", ir.Float(math.NaN())), ir.Kw("i", ir.Float32),
		ir.Kw("j", cuda), ir.Kw("k", cpu), ir.Kw("l", ir.Strided), ir.Kw("m", ir.ChannelsLast), ir.Kw("n", ir.TupleOf(ir.Int(1), ir.Int(2))),
		ir.Kw("o", ir.Range{Stop: 3, Step: 1}), ir.Kw("p", ir.Range{Start: 1, Stop: 10, Step: 2}), ir.Kw("q", fn("torch.ops.aten.add.Tensor"))))
	g.Output(m)
	c.Same(module(t, g), nil)
}

func TestLiteralComplex(t *testing.T) {
	c := fxcase.Open(t, "literal_complex")
	inf, nan, minus := math.Inf(1), math.NaN(), math.Copysign(0, -1)
	g := ir.NewGraph()
	x := g.Placeholder("x", ir.Default(ir.Complex(complex(2, -1.5))))
	var values []ir.Arg
	for _, v := range [][2]float64{{1, 2}, {-1, -0.5}, {0, 1}, {0, minus}, {minus, 3}, {3, 0}, {1, inf}, {nan, 1}, {1.5, 1e20}} {
		values = append(values, ir.Complex(complex(v[0], v[1])))
	}
	n := g.CallFunction(torch.FnAdd, args(x, ir.TupleOf(values...)),
		ir.Kwargs(ir.Kw("alpha", ir.ListOf(ir.Complex(1i), ir.DictOf(ir.Pair{Key: str("k"), Value: ir.Complex(1i)})))))
	g.Output(ir.TupleOf(n, ir.Complex(1), ir.Complex(complex(inf, -inf))))
	c.Same(module(t, g), nil)
}

func TestLiteralContainers(t *testing.T) {
	c := fxcase.Open(t, "literal_containers")
	none, dict := ir.None{}, ir.DictOf
	pair := func(k, v ir.Arg) ir.Pair { return ir.Pair{Key: k, Value: v} }
	g := ir.NewGraph()
	x, y := g.Placeholder("x"), g.Placeholder("y")
	n := g.CallFunction(fn("torch.cat"), args(ir.ListOf(x, ir.ListOf(y, ir.TupleOf(x)), ir.TupleOf(), ir.ListOf(), dict())), ir.Kwargs(
		ir.Kw("d", dict(pair(str("a"), x), pair(ir.Int(3), ir.ListOf(y)), pair(ir.TupleOf(ir.Int(1), ir.Int(2)), dict(pair(str("n"), none))))),
		ir.Kw("s", ir.Slice{Start: x, Stop: none, Step: y}),
		ir.Kw("t", ir.TupleOf(ir.Slice{Start: none, Stop: none, Step: none}, x, ir.ListOf(ir.Slice{Start: ir.Int(0), Stop: y, Step: ir.Int(2)})))))
	g.Output(dict(pair(str("a"), ir.ListOf(n, ir.TupleOf(n))),
		pair(str("b"), ir.TupleOf(n, dict(pair(str("c"), ir.Slice{Start: n, Stop: ir.Int(1), Step: none})))), pair(str("e"), ir.TupleOf())))
	c.Same(module(t, g), nil)
}

func TestLiteralInOutput(t *testing.T) {
	c := fxcase.Open(t, "literal_in_output")
	cpu, err := ir.ParseDevice("cpu")
	require.NoError(t, err)
	g := ir.NewGraph()
	x := g.Placeholder("x")
	g.Output(ir.TupleOf(x, ir.Float(math.Inf(1)), ir.Float(math.NaN()), ir.Float(math.Inf(-1)), ir.Float16, cpu, str("s"), ir.Float(1e-7),
		ir.Complex(2i), ir.Strided, ir.Slice{Start: x, Stop: ir.Int(3), Step: ir.None{}}, ir.None{}, ir.Ellipsis{}, ir.ListOf(ir.Bool(true), ir.Bool(false))))
	c.Same(module(t, g), nil)
}

func TestLiteralNamedtupleGraph(t *testing.T) {
	c := fxcase.Open(t, "literal_namedtuple_graph")
	pair := func(first, second ir.Arg) ir.Arg {
		return ir.NamedTupleOf(fn("program.Pair"), []string{"first", "second"}, first, second)
	}
	g := ir.NewGraph()
	x := g.Placeholder("x")
	n := g.CallFunction(torch.FnAdd, args(pair(x, ir.Int(2)), pair(ir.TupleOf(x, pair(x, ir.Int(1))), ir.None{})))
	g.Output(ir.ListOf(pair(n, ir.Int(1)), ir.DictOf(ir.Pair{Key: str("k"), Value: pair(n, n)})))
	c.Same(module(t, g), nil)
}

func TestNameCopyTwice(t *testing.T) {
	c := fxcase.Open(t, "name_copy_twice")
	src := c.Before(trace(func(x *torch.Tensor) *torch.Tensor {
		return add(torch.Relu(add(x, 1)), torch.Relu(mul(x, 2)))
	}, "x")).Graph()
	g := ir.NewGraph()
	out := ir.Arg(g.Placeholder("x"))
	var copies []ir.Arg
	for range 3 {
		var err error
		out, _, err = g.CopyFrom(src, map[*ir.Node]ir.Arg{src.First(): out})
		require.NoError(t, err)
		copies = append(copies, out)
	}
	g.Output(ir.TupleOf(copies...))
	c.Same(module(t, g), nil)
}

func TestNameExplicitCreate(t *testing.T) {
	c := fxcase.Open(t, "name_explicit_create")
	g := ir.NewGraph()
	create := func(op ir.Op, target ir.Target, args []ir.Arg, opts ...ir.NodeOption) *ir.Node {
		n, err := g.CreateNode(op, target, args, opts...)
		require.NoError(t, err)
		return n
	}
	x := create(ir.Placeholder, ir.Path("x"), nil, ir.Name("X Val"))
	a := create(ir.CallFunction, torch.FnRelu, args(x), ir.Name("reluOut"))
	b := create(ir.CallFunction, torch.FnRelu, args(a), ir.Name("reluOut"))
	d := create(ir.CallMethod, ir.Path("sigmoid"), args(b), ir.Name("class"))
	e := create(ir.CallMethod, ir.Path("__neg__"), args(d))
	f := g.CallFunction(torch.FnAdd, args(e, ir.Int(1)), ir.Name("a.b.c"))
	g.Output(g.CallFunction(torch.FnAdd, args(f, ir.Int(1)), ir.Name("a_b_c")))
	c.Same(module(t, g), nil)
}

func TestNameLocalVsGlobal(t *testing.T) {
	c := fxcase.Open(t, "name_local_vs_global")
	g := ir.NewGraph()
	a, b := g.Placeholder("program_abs_like"), g.Placeholder("_operator_abs")
	d := g.CallFunction(fn("program.abs_like"), args(a))
	e := g.CallFunction(fn("_operator.abs"), args(b))
	f := g.CallFunction(fn("_operator.abs"), args(d), ir.Name("builtins_max"))
	g.Output(ir.TupleOf(d, e, f, g.CallFunction(fn("max"), args(e, f))))
	c.Same(module(t, g), nil)
}

func TestOpEmptyGraph(t *testing.T) {
	fxcase.Open(t, "op_empty_graph").Same(module(t, ir.NewGraph()), nil)
}

func TestOpNoOutput(t *testing.T) {
	c := fxcase.Open(t, "op_no_output")
	g := ir.NewGraph()
	g.CallFunction(torch.FnRelu, args(g.Placeholder("x")))
	c.Same(module(t, g), nil)
}

func TestOpOnlyPlaceholder(t *testing.T) {
	c := fxcase.Open(t, "op_only_placeholder")
	g := ir.NewGraph()
	g.Placeholder("x")
	g.Placeholder("input")
	c.Same(module(t, g), nil)
}

func TestOpsInplaceGraph(t *testing.T) {
	c := fxcase.Open(t, "ops_inplace_graph")
	g := ir.NewGraph()
	x, y := g.Placeholder("x"), g.Placeholder("y")
	cur := x
	for _, name := range []string{"iadd", "iand", "ifloordiv", "ilshift", "imod", "imul", "imatmul", "ior", "ipow", "irshift", "isub", "itruediv", "ixor"} {
		cur = g.CallFunction(fn("_operator."+name), args(cur, y))
	}
	set := fn("_operator.setitem")
	s := g.CallFunction(set, args(cur, ir.Int(0), y))
	g.CallFunction(set, args(cur, ir.TupleOf(ir.Slice{Start: ir.Int(1), Stop: ir.None{}, Step: ir.None{}}, y), ir.Int(3)))
	g.Output(ir.TupleOf(cur, s))
	c.Same(module(t, g), nil)
}

func TestOpsOperatorModuleOthers(t *testing.T) {
	c := fxcase.Open(t, "ops_operator_module_others")
	g := ir.NewGraph()
	x := g.Placeholder("x")
	var outs []ir.Arg
	for _, f := range []struct {
		name     string
		operands int
	}{{"abs", 1}, {"not_", 1}, {"truth", 1}, {"concat", 2}, {"contains", 2}, {"is_", 2}, {"index", 1}, {"iconcat", 2}, {"delitem", 2},
		{"inv", 1}, {"invert", 1}, {"add", 2}, {"mul", 2}} {
		outs = append(outs, g.CallFunction(fn("_operator."+f.name), args(x, x)[:f.operands]))
	}
	g.Output(ir.TupleOf(outs...))
	c.Same(module(t, g), nil)
}

func TestTypeNodeTypes(t *testing.T) {
	c := fxcase.Open(t, "type_node_types")
	g := ir.NewGraph()
	typed := ir.WithType
	x := g.Placeholder("x", typed("typing.Tuple[torch.Tensor, ...]"))
	y := g.Placeholder("input", typed("typing.Optional[int]"), ir.Default(ir.None{}))
	a := g.GetAttr("w", typed("torch.nn.parameter.Parameter"))
	b := g.CallFunction(fn("_operator.getitem"), args(x, ir.Int(0)), typed("torch.Tensor"))
	d := g.CallMethod("add", args(b, a), typed("torch.Tensor"))
	e := g.CallFunction(fn("_operator.mul"), args(d, y), typed("typing.List[torch.Tensor]"))
	f := g.CallFunction(fn("_operator.iadd"), args(e, ir.Int(1)), typed("torch.Tensor"))
	h := g.CallModule("lin", args(f), typed("typing.Dict[str, torch.Tensor]"))
	i := g.CallFunction(fn("builtins.getattr"), args(h, str("shape")), typed("torch.Size"))
	g.Output(i, typed("collections.abc.Sequence[int]"))
	gm, err := ir.NewGraphModule(map[string]any{"w": struct{}{}, "lin": struct{}{}}, g)
	c.Same(gm, err)
}

// In Python a function says itself which of its arguments are boxed, here the
// node does.
func TestCodegenBoxedArg(t *testing.T) {
	c := fxcase.Open(t, "codegen_boxed_arg")
	g := ir.NewGraph()
	x, y := g.Placeholder("x"), g.Placeholder("y")
	a, b := g.CallFunction(torch.FnRelu, args(x)), g.CallFunction(torch.FnRelu, args(y))
	r := g.CallFunction(fn("program.runner"), args(ir.ListOf(a, b, x), b))
	r.Meta().Set(ir.MetaBoxedArgs, []int{0})
	g.Output(ir.TupleOf(r, a))
	c.Same(module(t, g), nil)
}

func trace(root any, params string, opts ...tracer.Option) (*ir.GraphModule, error) {
	return tracer.SymbolicTrace(root, append([]tracer.Option{tracer.Signature(params)}, opts...)...)
}
