package tracer_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	F "github.com/torchfx-go/torchfx/nn/functional"
	"github.com/torchfx-go/torchfx/operator"
	torch "github.com/torchfx-go/torchfx/torchops"
	"github.com/torchfx-go/torchfx/tracer"
	"github.com/torchfx-go/torchfx/transformer"
)

// upstream: test_fx.TestFX.test_pytree_concrete
func TestTrace_doc_concrete_dict(t *testing.T) {
	f := func(x map[string]*torch.Tensor) any {
		var out any = 0
		for _, name := range []string{"a", "b", "c"} {
			out = operator.Add(out, x[name])
		}
		return out
	}
	gm, err := trace(f, "x", concrete("x", map[string]any{"a": tracer.PH, "b": tracer.PH, "c": tracer.PH}))
	sameCase(t, gm, err)
}

func TestTrace_doc_concrete_flag(t *testing.T) {
	f := func(x *torch.Tensor, flag bool) *torch.Tensor {
		if flag {
			return x
		}
		return operator.Mul(x, 2)
	}
	gm, err := trace(f, "x, flag", concrete("flag", true))
	sameCase(t, gm, err)
}

func TestTrace_doc_concrete_values_example(t *testing.T) {
	f := func(a *torch.Tensor, b bool) *torch.Tensor {
		if b {
			return a
		}
		return operator.Mul(a, 2)
	}
	gm, err := trace(f, "a, b", concrete("b", false))
	sameCase(t, gm, err)
}

type deadCode struct {
	nn.Base `forward:"x"`
	Attr1   *torch.Tensor `nn:"attr_1"`
}

func (m *deadCode) Forward(x *torch.Tensor) *torch.Tensor {
	operator.Add(x, 1)
	return operator.Add(x, m.Attr1)
}

func TestTrace_doc_dead_code(t *testing.T) {
	gm, err := tracer.SymbolicTrace(&deadCode{Attr1: tensor(t, []float32{1, 2, 3}, 3)})
	require.NoError(t, err)
	for _, want := range []bool{true, false} {
		changed, err := gm.Graph().EliminateDeadCode()
		require.NoError(t, err)
		assert.Equal(t, want, changed)
	}
	sameCase(t, gm, nil)
}

// upstream: test_fx.TestFX.test_control_flow_tracing
func TestTrace_doc_dynamic_control_flow(t *testing.T) {
	_, err := tracer.SymbolicTrace(func(x *torch.Tensor) *torch.Tensor {
		if operator.Gt(x.Sum(), 0).Bool() {
			return torch.Relu(x)
		}
		return torch.Neg(x)
	})
	failsAs(t, err, nil)
	var e *tracer.Error
	require.ErrorAs(t, err, &e)
	assert.Regexp(t, `^case_doc_test\.go:\d+$`, e.Source)
}

type myModule struct {
	nn.Base `forward:"x"`
	Param   *torch.Tensor
	Linear  *nn.Linear
}

func (m *myModule) Forward(x *torch.Tensor) *torch.Tensor {
	return m.Linear.Forward(operator.Add(x, m.Param)).Clamp(torch.Kw("min", 0.0), torch.Kw("max", 1.0))
}

func TestTrace_doc_first_example(t *testing.T) {
	testenv.Libtorch(t)
	gm, err := tracer.SymbolicTrace(&myModule{Param: tensor(t, make([]float32, 12), 3, 4), Linear: nn.NewLinear(4, 5)})
	sameCase(t, gm, err)
}

func addThenDouble(x, y *torch.Tensor) *torch.Tensor { return operator.Mul(torch.Add(x, y), 2) }

func TestTrace_doc_insert_after(t *testing.T) {
	gm, err := trace(addThenDouble, "x, y")
	require.NoError(t, err)
	add := gm.Graph().Lookup("add")
	restore, err := gm.Graph().InsertAfter(add)
	require.NoError(t, err)
	relu := gm.Graph().CallFunction(torch.FnRelu, []ir.Arg{add})
	restore()
	add.ReplaceAllUsesWith(relu, ir.OnlyUsers(func(user *ir.Node) bool { return user != relu }))
	sameCase(t, gm, nil)
}

type swapNegSigmoid struct{ interpreter.Default }

func (s swapNegSigmoid) CallFunction(r *interpreter.Run, f *ir.Func, args []any, kw []torch.Kwarg) (any, error) {
	if f == torch.FnSigmoid {
		f = torch.FnNeg
	}
	return s.Default.CallFunction(r, f, args, kw)
}

func (s swapNegSigmoid) CallMethod(r *interpreter.Run, name string, args []any, kw []torch.Kwarg) (any, error) {
	if name == "neg" {
		name = "sigmoid"
	}
	return s.Default.CallMethod(r, name, args, kw)
}

func sigmoidThenNeg(x *torch.Tensor) *torch.Tensor { return torch.Sigmoid(x).Neg() }

func TestTrace_doc_interpreter_swap(t *testing.T) {
	testenv.Libtorch(t)
	gm, err := tracer.SymbolicTrace(sigmoidThenNeg)
	sameCase(t, gm, err)
	x := tensor(t, []float32{-2, -1, 0, 1, 2}, 5)
	for want, in := range map[float32]*interpreter.Interpreter{
		0.8807970285415649:   interpreter.New(gm, interpreter.WithHandler(swapNegSigmoid{})),
		-0.11920291930437088: interpreter.New(gm),
	} {
		out, err := in.Run(context.Background(), x)
		require.NoError(t, err)
		first, err := out.(*torch.Tensor).Select(0, 0).Item()
		require.NoError(t, err)
		assert.InDelta(t, want, first, 1e-6)
	}
}

type specialSubmodule struct {
	nn.Base `forward:"x"`
}

func (*specialSubmodule) Forward(x *torch.Tensor) *torch.Tensor { return torch.Neg(x) }

type leafAndTraced struct {
	nn.Base `forward:"x"`
	Linear  *nn.Linear
	Submod  *specialSubmodule
}

func (m *leafAndTraced) Forward(x *torch.Tensor) *torch.Tensor {
	return nn.Call(m.Submod, m.Linear.Forward(x))
}

func TestTrace_doc_leaf_and_traced(t *testing.T) {
	testenv.Libtorch(t)
	gm, err := tracer.SymbolicTrace(&leafAndTraced{Linear: nn.NewLinear(3, 4), Submod: &specialSubmodule{}})
	sameCase(t, gm, err)
}

// upstream: test_fx.TestFX.test_torch_fx_len
func TestTrace_doc_len_error(t *testing.T) {
	_, err := tracer.SymbolicTrace(func(x *torch.Tensor) *torch.Tensor { return operator.TrueDiv(x, x.Len()) })
	failsAs(t, err, ir.ErrTrace)
}

// upstream: test_fx.TestFX.test_graph_edit_with_proxy
func TestTrace_doc_pair_ops_proxy(t *testing.T) {
	relu := ir.FuncOf("torch.nn.functional.relu")
	src, err := tracer.New().Trace(func(x *torch.Tensor) *torch.Tensor {
		return operator.Add(F.Relu(x), F.Relu(operator.Mul(x, 2)))
	})
	require.NoError(t, err)
	g := ir.NewGraph()
	appending := tracer.Append(g)
	env := map[*ir.Node]*ir.Node{}
	for n := range src.Nodes() {
		if n.Func() == relu {
			x := appending.Value(env[n.Arg(0).(*ir.Node)])
			a, err := appending.Lower(x.Op("gt", 0).Op("mul", x))
			require.NoError(t, err)
			env[n] = a.(*ir.Node)
			continue
		}
		env[n], err = g.CopyNode(n, func(x *ir.Node) ir.Arg { return env[x] })
		require.NoError(t, err)
	}
	gm, err := ir.NewGraphModule(nil, g)
	sameCase(t, gm, err)
}

func TestTrace_doc_replace_op_target(t *testing.T) {
	gm, err := trace(func(x, y *torch.Tensor) *torch.Tensor { return torch.Add(x, y) }, "x, y")
	require.NoError(t, err)
	for _, n := range gm.Graph().Find(ir.CallFunction, torch.FnAdd) {
		require.NoError(t, n.SetTarget(torch.FnMul))
	}
	sameCase(t, gm, nil)
}

type staticControlFlow struct {
	nn.Base      `forward:"x"`
	DoActivation bool
	Linear       *nn.Linear
}

func (m *staticControlFlow) Forward(x *torch.Tensor) *torch.Tensor {
	x = m.Linear.Forward(x)
	if m.DoActivation {
		x = torch.Relu(x)
	}
	return x
}

func TestTrace_doc_static_control_flow(t *testing.T) {
	testenv.Libtorch(t)
	gm, err := tracer.SymbolicTrace(&staticControlFlow{DoActivation: true, Linear: nn.NewLinear(6, 6)})
	sameCase(t, gm, err)
	gm, err = tracer.SymbolicTrace(&staticControlFlow{Linear: nn.NewLinear(6, 6)})
	assert.NotContains(t, code(t, gm, err), "relu")
}

type topk struct {
	nn.Base `forward:"x"`
	Linear  *nn.Linear
}

func (m *topk) Forward(x *torch.Tensor) any {
	y := m.Linear.Forward(operator.Add(x, m.Linear.Weight)).Relu()
	return fn("torch.topk", fn("torch.sum", y, torch.Kw("dim", -1)), 3)
}

func TestTrace_doc_topk(t *testing.T) {
	testenv.Libtorch(t)
	gm, err := tracer.SymbolicTrace(&topk{Linear: nn.NewLinear(4, 5)})
	sameCase(t, gm, err)
}

func TestTrace_doc_tracer_ones(t *testing.T) {
	testenv.Libtorch(t)
	gm, err := tracer.SymbolicTrace(func(x *torch.Tensor) *torch.Tensor {
		return operator.Add(torch.Relu(x), torch.Ones(3, 4))
	})
	sameCase(t, gm, err)
}

type swapTransformer struct{ transformer.Default }

func (s swapTransformer) CallFunction(r *interpreter.Run, f *ir.Func, args []any, kw []torch.Kwarg) (any, error) {
	if f == torch.FnSigmoid {
		return torch.Neg(args[0].(V).Tensor()), nil
	}
	return s.Default.CallFunction(r, f, args, kw)
}

func (s swapTransformer) CallMethod(r *interpreter.Run, name string, args []any, kw []torch.Kwarg) (any, error) {
	if name == "neg" {
		return args[0].(V).Method("sigmoid", args[1:], kw...), nil
	}
	return s.Default.CallMethod(r, name, args, kw)
}

func TestTrace_doc_transformer_swap(t *testing.T) {
	gm, err := tracer.SymbolicTrace(sigmoidThenNeg)
	require.NoError(t, err)
	gm, err = transformer.Transform(context.Background(), gm, func(d transformer.Default) interpreter.Handler { return swapTransformer{d} })
	sameCase(t, gm, err)
}

var myCustomFunction = torch.Wrap("program.my_custom_function", func(x, y *torch.Tensor) *torch.Tensor {
	return torch.Add(torch.Mul(x, x), torch.Mul(y, y))
})

// upstream: test_fx.TestFX.test_wrap
// upstream: test_fx.TestFX.test_wrap_fn_directly
// upstream: test_fx.TestFX.test_wrapped_via_decorator
func TestTrace_doc_wrap_function(t *testing.T) {
	gm, err := trace(func(x, y *torch.Tensor) *torch.Tensor { return myCustomFunction(x, y) }, "x, y")
	sameCase(t, gm, err)
}

var (
	length = torch.WrapNamed[func(x any) any]("len")
	sqrt   = torch.WrapNamed[func(x any) any]("math.sqrt")
)

// upstream: test_fx.TestFX.test_torch_fx_len
func TestTrace_doc_wrap_len_sqrt(t *testing.T) {
	testenv.Libtorch(t)
	gm, err := tracer.SymbolicTrace(func(x *torch.Tensor) *torch.Tensor { return operator.TrueDiv(x, sqrt(length(x))) })
	sameCase(t, gm, err)
	out, err := interpreter.New(gm).Run(context.Background(), tensor(t, []float32{2, 4, 6, 8}, 4))
	require.NoError(t, err)
	first, err := out.(*torch.Tensor).Select(0, 0).Item()
	require.NoError(t, err)
	assert.EqualValues(t, 1, first)
}
