package tracer_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	"github.com/torchfx-go/torchfx/operator"
	torch "github.com/torchfx-go/torchfx/torchops"
	"github.com/torchfx-go/torchfx/tracer"
)

var helper = torch.Wrap("program.helper", func(x any, _ ...torch.Kwarg) any { return x })

var (
	helper2  = torch.Wrap("program.helper2", func(a any, kw ...torch.Kwarg) any { return ir.PyTuple{a, kw[0].Value} })
	pyGetAt  = torch.WrapNamed[func(args ...any) any]("getattr")
	pyMax    = torch.WrapNamed[func(args ...any) any]("max")
	pyFloor  = torch.WrapNamed[func(x any) any]("math.floor")
	pyPow    = torch.WrapNamed[func(x, y any) any]("math.pow")
	notTrace = torch.Wrap("program.untraceable", func(x *torch.Tensor) *torch.Tensor {
		if x.Sum().Gt(0).Bool() {
			return x
		}
		return x.Neg()
	})
)

// upstream: test_fx.TestFX.test_autowrap_functions
func TestTrace_wrap_autowrap_functions(t *testing.T) {
	gm, err := tracer.SymbolicTrace(func(x *torch.Tensor) *torch.Tensor { return operator.Add(notTrace(x), 1) })
	sameCase(t, gm, err)
	out, err := run(gm, tensor(t, []float32{-2}, 1))
	require.NoError(t, err)
	item, err := out.(*torch.Tensor).Item()
	require.NoError(t, err)
	assert.EqualValues(t, 3, item)
}

// upstream: test_fx.TestFX.test_wrapped_via_decorator
// upstream: test_fx.TestFX.test_torch_fx_getattr
// upstream: test_fx.TestFX.test_wrap_decorated_function
func TestTrace_wrap_decorator_and_builtin(t *testing.T) {
	gm, err := trace(func(x, y V) any {
		ab := helper2(helper(x, torch.Kw("k", 3)), torch.Kw("b", y)).(V).Unpack(2)
		c := pyGetAt(x, "nope", 1)
		return ir.PyTuple{op("add", ab[0], ab[1]), helper(2), pyMax(x, y), c}
	}, "x, y")
	sameCase(t, gm, err)
}

// upstream: test_fx.TestFX.test_sqrt
func TestTrace_wrap_math_autowrap(t *testing.T) {
	gm, err := tracer.SymbolicTrace(func(x V) V {
		sum := op("add", op("add", sqrt(x), pyFloor(x)), pyPow(x, 2))
		return op("add", sum, sqrt(4))
	})
	sameCase(t, gm, err)
}

// upstream: test_fx.TestFX.test_wrapped_retrace
func TestTrace_wrap_retrace(t *testing.T) {
	gm, err := tracer.SymbolicTrace(func(x V) V { return op("add", helper(x), 1) })
	require.NoError(t, err)
	gm, err = tracer.SymbolicTrace(gm)
	sameCase(t, gm, err)
}

// upstream: test_fx.TestFX.test_node_tagging
func TestTrace_tracer_create_node_override(t *testing.T) {
	gm, err := tracer.SymbolicTrace(func(x *torch.Tensor) *torch.Tensor { return operator.Add(torch.Relu(x), x.Sigmoid()) },
		tracer.OnCreateNode(func(s tracer.NodeSpec, create func(tracer.NodeSpec) (*ir.Node, error)) (*ir.Node, error) {
			if name := s.Op.String(); strings.HasPrefix(name, "call") {
				s.Name = "n_" + name
			}
			n, err := create(s)
			if err == nil {
				n.Meta().Set("tag", "tag"+fmt.Sprint(n.Graph().Len()))
			}
			return n, err
		}))
	sameCase(t, gm, err)
	assert.Equal(t, "tag2", gm.Graph().Lookup("n_call_function").Meta().Get("tag"))
}

func TestTrace_tracer_foreign_module(t *testing.T) {
	testenv.Libtorch(t)
	other := nn.NewLinear(2, 2)
	_, err := tracer.SymbolicTrace(func(x *torch.Tensor) *torch.Tensor { return other.Forward(x) })
	require.ErrorIs(t, err, nn.ErrForeign)
}

type inner struct {
	nn.Base `forward:"x"`
}

func (*inner) Forward(x *torch.Tensor) *torch.Tensor { return operator.Add(torch.Relu(x), 1) }

type outer struct {
	nn.Base `forward:"x"`
	Inner   *interpreter.Module
}

func (m *outer) Forward(x *torch.Tensor) V { return op("mul", m.Inner.Forward(x), 2) }

// upstream: test_fx.TestFX.test_tracing_graphmodules_as_leaf_submodules
func TestTrace_tracer_graphmodule_child(t *testing.T) {
	child, err := tracer.SymbolicTrace(&inner{})
	require.NoError(t, err)
	gm, err := tracer.SymbolicTrace(&outer{Inner: interpreter.AsModule(child)})
	sameCase(t, gm, err)
	stack := gm.Graph().Lookup("relu").Meta().Get(ir.MetaNNModuleStack).([]ir.ModuleCall)
	assert.Equal(t, "inner", stack[0].Path)

	x := tensor(t, []float32{-3}, 1)
	item, err := interpreter.AsModule(child).Forward(x).(*torch.Tensor).Item()
	require.NoError(t, err)
	assert.EqualValues(t, 1, item)
	_, err = tracer.SymbolicTrace(func(x *torch.Tensor) any { return interpreter.AsModule(child).Forward(x) })
	assert.ErrorIs(t, err, nn.ErrForeign)
}

func TestChildrenOfGraphsAreInlined(t *testing.T) {
	testenv.Libtorch(t)
	child, err := tracer.SymbolicTrace(&leafAndTraced{Linear: nn.NewLinear(3, 4), Submod: &specialSubmodule{}})
	require.NoError(t, err)
	g := ir.NewGraph()
	g.Output(g.CallModule("sub", []ir.Arg{g.Placeholder("x")}))
	gm, err := ir.NewGraphModule(map[string]any{"sub": child}, g)
	require.NoError(t, err)
	gm, err = tracer.SymbolicTrace(gm)
	assert.Contains(t, code(t, gm, err), "sub_linear = self.sub.linear(x);  x = None\n    neg = torch.neg(sub_linear)")
}

type block struct {
	nn.Base `forward:"x"`
	Lin     *nn.Linear
	Act     *nn.ReLU
}

func (b *block) Forward(x *torch.Tensor) *torch.Tensor { return b.Act.Forward(b.Lin.Forward(x)) }

type blocks struct {
	nn.Base `forward:"x"`
	Blocks  *nn.ModuleList
}

func (m *blocks) Forward(x *torch.Tensor) *torch.Tensor {
	for _, b := range m.Blocks.All() {
		x = nn.Call(b.(nn.Layer), x)
	}
	return x
}

func TestTrace_tracer_leaf_choice(t *testing.T) {
	testenv.Libtorch(t)
	made := func() *block { return &block{Lin: nn.NewLinear(2, 2), Act: nn.NewReLU()} }
	tr := tracer.New(tracer.IsLeaf(func(m nn.Module, path string) bool { return path == "blocks.1" || tracer.DefaultIsLeaf(m, path) }))
	g, err := tr.Trace(&blocks{Blocks: nn.NewModuleList(made(), made())})
	require.NoError(t, err)
	scopes := map[string]string{}
	for name, scope := range tr.Scopes() {
		scopes[name] = scope.Path + " " + scope.Type[strings.LastIndexByte(scope.Type, '.')+1:]
	}
	assert.Equal(t, map[string]string{"x": " ", "blocks_0_lin": "blocks.0.lin Linear", "blocks_0_act": "blocks.0.act ReLU",
		"blocks_1": "blocks.1 block", "output": " "}, scopes)
	assert.Equal(t, map[string]int{"blocks.0": 1, "blocks.0.lin": 1, "blocks.0.act": 1, "blocks.1": 1}, tr.Calls())
	gm, err := ir.NewGraphModule(tr.Attrs(), g)
	sameCase(t, gm, err)
}

// upstream: test_fx.TestFX.test_args_kwargs_no_self
// upstream: test_fx.TestFX.test_trace_multiple_funcs
func TestTrace_tracer_missing_method(t *testing.T) {
	type M struct{ nn.Base }
	_, err := tracer.SymbolicTrace(&M{})
	require.ErrorIs(t, err, ir.ErrAssertion)
	require.ErrorContains(t, err, "traced_func_name=Forward doesn't exist in M")
}

type convAndAdd struct {
	nn.Base `forward:"x"`
	Conv    *nn.Conv1d
}

func (m *convAndAdd) Forward(x *torch.Tensor) *torch.Tensor {
	return operator.Add(m.Conv.Forward(x), x)
}

type twice struct {
	nn.Base `forward:"x"`
	Sub     *convAndAdd
	Act     *nn.ReLU
}

func (m *twice) Forward(x *torch.Tensor) *torch.Tensor {
	act := m.Act.Forward
	return operator.Add(act(nn.Call(m.Sub, act(nn.Call(m.Sub, x)))), act(x))
}

// upstream: test_fx.TestFX.test_nn_module_stack
func TestTrace_tracer_module_stack(t *testing.T) {
	testenv.Libtorch(t)
	gm, err := tracer.SymbolicTrace(&twice{Sub: &convAndAdd{Conv: nn.NewConv1d(1, 1, 1)}, Act: nn.NewReLU()})
	sameCase(t, gm, err)
	keys := map[string]string{}
	for n := range gm.Graph().Nodes() {
		stack, _ := n.Meta().Get(ir.MetaNNModuleStack).([]ir.ModuleCall)
		for _, call := range stack {
			keys[n.Name()] += call.Key + " "
		}
	}
	assert.Equal(t, map[string]string{"sub_conv": "sub sub.conv ", "add": "sub ", "act": "act ", "sub_conv_1": "sub@1 sub.conv@1 ",
		"add_1": "sub@1 ", "act_1": "act@1 ", "act_2": "act@2 "}, keys)
}

// upstream: test_fx.TestFX.test_throw_out_variant
func TestTrace_tracer_mutable_check(t *testing.T) {
	testenv.Libtorch(t)
	f := func(x *torch.Tensor) V { return fn("torch.sigmoid", x, torch.Kw("out", torch.Ones(2))) }
	_, err := tracer.SymbolicTrace(f, tracer.CheckMutable())
	failsAs(t, err, nil)
	_, err = tracer.SymbolicTrace(f)
	require.NoError(t, err)
}

type noLeaf struct {
	nn.Base `forward:"x"`
	Lin     *nn.Linear
	Norm    *nn.LayerNorm
	Act     *nn.GELU
}

func (m *noLeaf) Forward(x *torch.Tensor) *torch.Tensor {
	return operator.Add(m.Act.Forward(m.Norm.Forward(m.Lin.Forward(x))), m.Lin.Forward(x))
}

func TestTrace_tracer_no_leaf(t *testing.T) {
	testenv.Libtorch(t)
	gm, err := tracer.SymbolicTrace(&noLeaf{Lin: nn.NewLinear(3, 4), Norm: nn.NewLayerNorm(4), Act: nn.NewGELU()},
		tracer.IsLeaf(func(nn.Module, string) bool { return false }))
	sameCase(t, gm, err)
}

type otherMethod struct{ nn.Base }

func (*otherMethod) Other(a, b V) V { return op("mul", a, b) }

// upstream: test_fx.TestFX.test_trace_multiple_funcs
func TestTrace_tracer_other_method(t *testing.T) {
	gm, err := trace(&otherMethod{}, "a, b=2", tracer.Method((*otherMethod).Other))
	sameCase(t, gm, err)
}

type buffered struct {
	nn.Base `forward:"x"`
	B       *torch.Tensor `nn:"b,buffer"`
}

func (m *buffered) Forward(x *torch.Tensor) *torch.Tensor {
	return operator.Add(operator.Mul(operator.GetItem(m.B, 0), x), operator.Mul(m.B, m.B))
}

func TestTrace_tracer_proxy_buffers(t *testing.T) {
	gm, err := tracer.SymbolicTrace(&buffered{B: tensor(t, []float32{1, 1, 1}, 3)}, tracer.ProxyBuffers())
	sameCase(t, gm, err)
}

func TestHooksSeeModulesAndArguments(t *testing.T) {
	testenv.Libtorch(t)
	var called []string
	gm, err := tracer.SymbolicTrace(&noLeaf{Lin: nn.NewLinear(3, 4), Norm: nn.NewLayerNorm(4), Act: nn.NewGELU()},
		tracer.OnCallModule(func(m nn.Module, path string, args []any, call func() any) any {
			called = append(called, path)
			if path == "norm" {
				return args[0]
			}
			return call()
		}),
		tracer.OnCreateArg(func(v any, lower func(any) ir.Arg) ir.Arg {
			if reflect.TypeOf(v) == reflect.TypeFor[bool]() {
				return ir.Int(1)
			}
			return lower(v)
		}))
	assert.NotContains(t, code(t, gm, err), "norm")
	assert.Equal(t, []string{"lin", "norm", "act", "lin"}, called)
}

// upstream: test_fx.TestFX.test_stack_traces
func TestStackTracesAreGoFrames(t *testing.T) {
	gm, err := tracer.SymbolicTrace(&inner{}, tracer.RecordStackTraces())
	require.NoError(t, err)
	assert.Regexp(t, `File ".*case_tracer_test\.go", line \d+, in Forward`, gm.Graph().Lookup("relu").StackTrace())
}
