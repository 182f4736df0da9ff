package tracer_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	"github.com/torchfx-go/torchfx/operator"
	"github.com/torchfx-go/torchfx/passes"
	torch "github.com/torchfx-go/torchfx/torchops"
	"github.com/torchfx-go/torchfx/tracer"
	"github.com/torchfx-go/torchfx/transformer"
)

// What test_fx.py holds about tracing and is not held by the recorded cases.

// sameRun compares what a traced module gives with what the model gives.
func sameRun(t *testing.T, gm *ir.GraphModule, want *torch.Tensor, args ...any) {
	t.Helper()
	out, err := interpreter.New(gm).Run(context.Background(), args...)
	require.NoError(t, err)
	got := out.(*torch.Tensor)
	require.Equal(t, want.String(), got.String())
	got.Close()
}

type linearRelu struct {
	nn.Base `forward:"x"`
	Linear  *nn.Linear
	W       *torch.Tensor
}

func (m *linearRelu) Forward(x *torch.Tensor) *torch.Tensor {
	return torch.Relu(operator.Add(m.Linear.Forward(x), m.W))
}

// upstream: test_fx.TestFX.test_graph_module
func TestUpstreamGraphModule(t *testing.T) {
	testenv.Libtorch(t)
	m := &linearRelu{Linear: nn.NewLinear(2, 2), W: param(t)}
	gm, err := tracer.SymbolicTrace(m)
	src := code(t, gm, err)
	for _, want := range []string{"self.linear(x)", "self.w", "linear + w", "torch.relu(add)"} {
		assert.Contains(t, src, want)
	}
	x := tensor(t, []float32{1, -2, 3, 4}, 2, 2)
	want := m.Forward(x)
	defer want.Close()
	sameRun(t, gm, want, x)
}

// upstream: test_fx.TestFX.test_sequential
func TestUpstreamSequential(t *testing.T) {
	testenv.Libtorch(t)
	m := nn.NewSequential(nn.NewLinear(2, 3), nn.NewReLU(), nn.NewLinear(3, 1))
	gm, err := tracer.SymbolicTrace(m)
	src := code(t, gm, err)
	assert.Contains(t, src, `getattr(self, "0")(input_1)`, "traced through")
	x := tensor(t, []float32{1, -2}, 1, 2)
	out, err := nn.Invoke(m, []any{x}, nil)
	require.NoError(t, err)
	want := out.(*torch.Tensor)
	defer want.Close()
	sameRun(t, gm, want, x)
}

// upstream: test_fx.TestFX.test_disallow_override
func TestUpstreamDisallowOverride(t *testing.T) {
	testenv.Libtorch(t)
	refused := errors.New("in-place calls are not allowed")
	option := tracer.OnCreateNode(func(s tracer.NodeSpec, create func(tracer.NodeSpec) (*ir.Node, error)) (*ir.Node, error) {
		name := s.Target.String()
		if s.Op == ir.CallModule {
			name = "module"
		}
		if name[len(name)-1] == '_' || name == "module" {
			return nil, refused
		}
		return create(s)
	})
	for name, f := range map[string]any{
		"method":   func(x *torch.Tensor) any { return x.Value().Method("relu_", nil) },
		"function": func(x *torch.Tensor) any { return fn("torch.relu_", x) },
		"module":   &noLeaf{Lin: nn.NewLinear(3, 4), Norm: nn.NewLayerNorm(4), Act: nn.NewGELU()},
	} {
		_, err := tracer.SymbolicTrace(f, option)
		require.ErrorIs(t, err, refused, name)
	}
	_, err := tracer.SymbolicTrace(func(x *torch.Tensor) *torch.Tensor { return torch.Relu(x) }, option)
	require.NoError(t, err)
}

// upstream: test_fx.TestFX.test_wrapped_via_decorator_and_transformed
// upstream: test_lazy_graph_module.TestLazyGraphModule.test_recapture_with_symbolic_trace
func TestUpstreamWrappedAndTransformed(t *testing.T) {
	gm, err := tracer.SymbolicTrace(func(x V) V { return op("add", helper(x), 1) })
	require.Contains(t, code(t, gm, err), "helper = program_helper(x)")
	out, err := transformer.Transform(t.Context(), gm, func(d transformer.Default) interpreter.Handler { return d })
	require.Contains(t, code(t, out, err), "helper = program_helper(x)")
	again, err := tracer.SymbolicTrace(out)
	require.Equal(t, code(t, out, nil), code(t, again, err))
	// a call outside of any trace runs the function
	require.Equal(t, 7, helper(7))
}

type wrapsSubmodule struct {
	nn.Base `forward:"x"`
	Norm    *nn.BatchNorm1d
}

func (m *wrapsSubmodule) Forward(x *torch.Tensor) any { return helper(m.Norm.Forward(x)) }

// upstream: test_fx.TestFX.test_wrap_with_submodule
func TestUpstreamWrapWithSubmodule(t *testing.T) {
	testenv.Libtorch(t)
	gm, err := tracer.SymbolicTrace(&wrapsSubmodule{Norm: nn.NewBatchNorm1d(2)})
	require.Contains(t, code(t, gm, err), "norm = self.norm(x);  x = None\n    helper = program_helper(norm)")
}

// upstream: test_fx.TestFX.test_wrapped_method
func TestUpstreamWrappedMethod(t *testing.T) {
	scale := torch.Wrap("program.Scaler.scale", func(self float64, x any) any { return x })
	gm, err := tracer.SymbolicTrace(func(x V) any { return scale(2.0, x) })
	require.Contains(t, code(t, gm, err), "scale = program_Scaler_scale(2.0, x)")
}

type slicesBuffer struct {
	nn.Base `forward:"x"`
	Buf     *torch.Tensor `nn:",buffer"`
}

func (m *slicesBuffer) Forward(x *torch.Tensor) V {
	return op("getitem", m.Buf, op("getitem", x.Value().Attr("shape"), 0))
}

// upstream: test_fx.TestFX.test_trace_buffer_slice
func TestUpstreamBufferSlice(t *testing.T) {
	gm, err := tracer.SymbolicTrace(&slicesBuffer{Buf: tensor(t, []float32{1, 2, 3}, 3)})
	src := code(t, gm, err)
	assert.Contains(t, src, "self.buf")
	assert.Contains(t, src, "buf.__getitem__(getitem)", "a tensor indexed by a value")
}

// upstream: test_fx.TestFX.test_unpack_dict_better_error
func TestUpstreamUnpackDictError(t *testing.T) {
	_, err := tracer.SymbolicTrace(func(x V) V {
		for range x.Items() {
			return x
		}
		return x
	})
	var e *tracer.Error
	require.ErrorAs(t, err, &e)
	assert.Regexp(t, `^upstream_test\.go:\d+$`, e.Source)
	gm, err := tracer.SymbolicTrace(func(x V) V {
		sum := V{}
		for _, item := range x.Items() {
			sum = item
		}
		return sum
	}, tracer.OnKeys(func(V) ([]string, bool) { return []string{"a", "b"}, true }))
	require.Contains(t, code(t, gm, err), "x['b']")
}

// A value class of one's own: its constructor is wrapped.
var newPair = torch.Wrap("program.ZeroTensor", func(inner any, _ ...torch.Kwarg) any { return inner })

// upstream: test_fx.TestFX.test_custom_proxy_type
// upstream: test_fx.TestFX.test_custom_proxy_type_literal
// upstream: test_fx.TestFX.test_custom_proxy_dynamic_value
// upstream: test_fx.TestFX.test_custom_proxy_input_dependent_control_flow
func TestUpstreamValueClasses(t *testing.T) {
	gm, err := trace(func(x, y V) any { return newPair(op("add", x, y)) }, "x, y")
	require.Contains(t, code(t, gm, err), "zero_tensor = program_ZeroTensor(add)")
	gm, err = tracer.SymbolicTrace(func(x V) any { return op("add", newPair(x, torch.Kw("size", 5)), 1) })
	require.Contains(t, code(t, gm, err), "program_ZeroTensor(x, size = 5)")
	// control flow inside the constructor is not looked into; around it the trace decides
	gm, err = tracer.SymbolicTrace(func(x V) any {
		if op("gt", x, 0).Bool() {
			return newPair(x)
		}
		return newPair(op("neg", x))
	}, tracer.OnBool(func(V) (bool, bool) { return false, true }))
	src := code(t, gm, err)
	require.Contains(t, src, "neg = -x")
	require.Contains(t, src, "program_ZeroTensor(neg)")
}

// upstream: test_fx.TestFX.test_symbolic_trace_assert
func TestUpstreamAssert(t *testing.T) {
	assertThat := func(c V, message string) { fn("torch._assert", c, message) }
	gm, err := tracer.SymbolicTrace(func(x V) V {
		assertThat(op("gt", x, 0), "msg")
		return op("add", x, 1)
	})
	require.Contains(t, code(t, gm, err), "_assert = torch._assert(gt, 'msg')")
	changed, err := gm.Graph().EliminateDeadCode()
	require.NoError(t, err)
	require.False(t, changed, "an assertion is no dead code")
}

// upstream: test_fx.TestFX.test_single_default_arg
// upstream: test_fx.TestFX.test_multiple_default_args
// upstream: test_fx.TestFX.test_regular_and_default_args
func TestUpstreamDefaults(t *testing.T) {
	for _, tc := range []struct {
		params string
		f      any
		args   []any
		want   int64
	}{
		{"y=1", func(y V) V { return op("add", y, 0) }, nil, 1},
		{"y=1, z=2", func(y, z V) V { return op("add", y, z) }, nil, 3},
		{"y=1, z=2", func(y, z V) V { return op("add", y, z) }, []any{int64(5)}, 7},
		{"x, y=1", func(x, y V) V { return op("add", x, y) }, []any{int64(4)}, 5},
	} {
		gm, err := trace(tc.f, tc.params)
		src := code(t, gm, err)
		require.Contains(t, src, "y = 1")
		out, err := interpreter.New(gm).Run(t.Context(), tc.args...)
		require.NoError(t, err)
		require.Equal(t, tc.want, out)
	}
}

// What brackets a part of forward and computes nothing leaves no node.
//
// upstream: test_fx.TestFX.test_ctx_mgr
func TestUpstreamContextManager(t *testing.T) {
	entered, left := 0, 0
	scope := func() (leave func()) { entered++; return func() { left++ } }
	gm, err := tracer.SymbolicTrace(func(x *torch.Tensor) *torch.Tensor {
		defer scope()()
		return torch.Relu(x)
	})
	require.Equal(t, "\n\n\ndef forward(self, x):\n    relu = torch.relu(x);  x = None\n    return relu\n    ", code(t, gm, err))
	require.Equal(t, []int{1, 1}, []int{entered, left})
}

// A value is a node and what records: a copy is as good.
//
// upstream: test_fx.TestFX.test_proxy_deepcopy_without_tracer
// upstream: test_fx.TestFX.test_proxy_deepcopy_with_tracer
// upstream: test_fx.TestFX.test_graph_edit_with_proxy
func TestUpstreamValuesAreCopied(t *testing.T) {
	g := ir.NewGraph()
	a, b := g.Placeholder("a"), g.Placeholder("b")
	tr := tracer.Append(g)
	x := tr.Value(a)
	y := x
	g.Output(op("add", y, tr.Value(b)).Ref().(*ir.Node))
	require.Same(t, x.Ref(), y.Ref())
	require.NoError(t, g.Lint())
	require.Equal(t, []string{"a", "b"}, []string{g.Lookup("add").Arg(0).(*ir.Node).Name(), g.Lookup("add").Arg(1).(*ir.Node).Name()})
}

// upstream: test_fx.TestFX.test_graph_fns
func TestUpstreamGraphFunctions(t *testing.T) {
	testenv.Libtorch(t)
	g := ir.NewGraph()
	a := g.Placeholder("a")
	b := g.CallModule("linear", []ir.Arg{a})
	d := g.CallFunction(ir.FuncOf("operator.add"), []ir.Arg{b, g.GetAttr("bias")})
	e := g.CallMethod("relu", []ir.Arg{d})
	g.Output(e)
	lin, w := nn.NewLinear(2, 2), param(t)
	gm, err := ir.NewGraphModule(map[string]any{"linear": lin, "bias": w}, g)
	require.NoError(t, err)
	x := tensor(t, []float32{1, -1}, 1, 2)
	want := torch.Relu(operator.Add(lin.Forward(x), w))
	defer want.Close()
	sameRun(t, gm, want, x)
}

type shapeDecides struct {
	nn.Base `forward:"x"`
	Param   *torch.Tensor
	decide  func(p *torch.Tensor) bool
}

func (m *shapeDecides) Forward(x *torch.Tensor) *torch.Tensor {
	y := operator.Add(x, m.Param)
	if m.decide(m.Param) {
		return operator.Mul(y, 2)
	}
	return operator.Sub(y, 2)
}

// The shape of a parameter may decide while tracing.
func TestUpstreamParameterShapes(t *testing.T) {
	for _, tc := range []struct {
		name   string
		decide func(p *torch.Tensor) bool
	}{
		// upstream: test_fx_param_shape_control_flow.TestConstParamShapeInControlFlow.test_param_shape_const
		{"shape", func(p *torch.Tensor) bool { return p.Shape()[0] == 2 }},
		// upstream: test_fx_param_shape_control_flow.TestConstParamShapeInControlFlow.test_param_size_const
		{"size", func(p *torch.Tensor) bool { return p.Size(0).Int() == 2 }},
		// upstream: test_fx_param_shape_control_flow.TestConstParamShapeInControlFlow.test_param_dim_const
		{"dim", func(p *torch.Tensor) bool { return p.Dim() == 1 }},
		// upstream: test_fx_param_shape_control_flow.TestConstParamShapeInControlFlow.test_param_ndim_const
		{"ndim", func(p *torch.Tensor) bool { return len(p.Shape()) == 1 }},
		// upstream: test_fx_param_shape_control_flow.TestConstParamShapeInControlFlow.test_param_numel_const
		{"numel", func(p *torch.Tensor) bool { return p.Numel() == 2 }},
		// upstream: test_fx_param_shape_control_flow.TestConstParamShapeInControlFlow.test_param_nelement_const
		{"nelement", func(p *torch.Tensor) bool { return 3 > p.Numel() }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := &shapeDecides{Param: param(t), decide: tc.decide}
			gm, err := tracer.SymbolicTrace(m, tracer.ConstantParamShapes())
			src := code(t, gm, err)
			assert.Contains(t, src, "mul = add * 2")
			assert.NotContains(t, src, "sub")
			_, err = tracer.SymbolicTrace(m)
			assert.ErrorIs(t, err, ir.ErrTrace, "not without the option")
		})
	}
}

// Shapes of a traced graph without running it on data.
//
// upstream: test_fx_experimental.TestFXExperimental.test_meta_tracer
func TestUpstreamShapesWithoutData(t *testing.T) {
	testenv.Libtorch(t)
	gm, err := tracer.SymbolicTrace(func(x *torch.Tensor) *torch.Tensor { return torch.Flatten(torch.Relu(x), 1, -1) })
	require.NoError(t, err)
	x := tensor(t, make([]float32, 24), 2, 3, 4)
	out, err := passes.ShapeProp(t.Context(), gm, []any{x}, passes.OnMeta())
	require.NoError(t, err)
	require.Equal(t, []int{2, 12}, out.(*torch.Tensor).Shape())
	out.(*torch.Tensor).Close()
	meta, err := passes.NodeTensorMeta(gm.Graph().Lookup("flatten"))
	require.NoError(t, err)
	require.Equal(t, "f32[2, 12]", meta.Text(false, false))
}

// A Go function over dispatcher operators records those operators, with factories,
// variadic arguments and constants.
//
// upstream: test_proxy_tensor.real_mode
func TestUpstreamOperatorsAreRecorded(t *testing.T) {
	testenv.Libtorch(t)
	aten := func(name string, args ...any) any {
		args, kw := torch.SplitKwargs(args)
		return torch.Dispatch(ir.CallFunction, ir.FuncOf("torch.ops.aten."+name), args, kw)
	}
	one := tensor(t, []float32{1}, 1)
	gm, err := tracer.SymbolicTrace(func(x V) any {
		a := aten("add.Tensor", x, aten("full.default", []any{aten("sym_size.int", x, 0)}, 1.0))
		b := aten("cat.default", []any{a, x})
		return []any{aten("mul.Tensor", b, one), aten("max.dim", b, 0).(V).Unpack(2)[1]}
	})
	require.Equal(t, `


def forward(self, x):
    sym_size_int = torch.ops.aten.sym_size.int(x, 0)
    full_default = torch.ops.aten.full.default([sym_size_int], 1.0);  sym_size_int = None
    add_tensor = torch.ops.aten.add.Tensor(x, full_default);  full_default = None
    cat_default = torch.ops.aten.cat.default([add_tensor, x]);  add_tensor = x = None
    _tensor_constant0 = self._tensor_constant0
    mul_tensor = torch.ops.aten.mul.Tensor(cat_default, _tensor_constant0);  _tensor_constant0 = None
    max_dim = torch.ops.aten.max.dim(cat_default, 0);  cat_default = None
    getitem = max_dim[0];  getitem = None
    getitem_1 = max_dim[1];  max_dim = None
    return [mul_tensor, getitem_1]
    `, code(t, gm, err))
	x := tensor(t, []float32{1, 2}, 2)
	out, err := interpreter.New(gm).Run(t.Context(), x)
	require.NoError(t, err)
	got := out.([]any)
	require.Equal(t, []int{4}, got[0].(*torch.Tensor).Shape())
	for _, v := range got {
		v.(*torch.Tensor).Close()
	}
}

// A transformed graph: swaps, several results, meta of reads.
//
// upstream: test_fx.TestFX.test_stack_traces_with_transformer
func TestUpstreamTransformKeepsStackTraces(t *testing.T) {
	gm, err := tracer.SymbolicTrace(&inner{}, tracer.RecordStackTraces())
	require.NoError(t, err)
	out, err := transformer.Transform(t.Context(), gm, func(d transformer.Default) interpreter.Handler { return d })
	require.NoError(t, err)
	for _, name := range []string{"relu", "add"} {
		require.NotEmpty(t, gm.Graph().Lookup(name).StackTrace())
		require.Equal(t, gm.Graph().Lookup(name).StackTrace(), out.Graph().Lookup(name).StackTrace())
	}
}

// upstream: test_fx.TestFX.test_concrete_arg_none_assert
func TestUpstreamNoneIsChecked(t *testing.T) {
	gm, err := trace(func(x, val V) V { return op("add", x, 1) }, "x, val=None", concrete("val", nil))
	require.NoError(t, err)
	out, err := interpreter.New(gm).Run(t.Context(), int64(1), nil)
	require.NoError(t, err)
	require.Equal(t, int64(2), out)
	_, err = interpreter.New(gm).Run(t.Context(), int64(1), int64(7))
	require.ErrorIs(t, err, ir.ErrAssertion)
	require.ErrorContains(t, err, "val has been specialized to have value None but got another value")
}
