package tracer_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	"github.com/torchfx-go/torchfx/operator"
	torch "github.com/torchfx-go/torchfx/torchops"
	"github.com/torchfx-go/torchfx/tracer"
)

type gain struct {
	nn.Base `forward:"x"`
	Gain    *torch.Tensor
	Seen    *torch.Tensor `nn:",buffer"`
}

func (g *gain) Forward(x *torch.Tensor) *torch.Tensor { return operator.Mul(x, g.Gain) }

type net struct {
	nn.Base `forward:"x, scale=2"`
	First   *gain
	Second  *gain
}

func (n *net) Forward(x *torch.Tensor, scale torch.SymInt) *torch.Tensor {
	y := nn.Call(n.First, torch.Relu(x))
	y = nn.Call(n.Second, y)
	return operator.Mul(y, scale)
}

func code(t *testing.T, gm *ir.GraphModule, err error) string {
	t.Helper()
	require.NoError(t, err)
	require.NoError(t, gm.Graph().Lint())
	s, err := gm.Code()
	require.NoError(t, err)
	return s
}

func param(t *testing.T) *torch.Tensor {
	t.Helper()
	p, err := torch.From([]float32{1, 2}, 2)
	require.NoError(t, err)
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// upstream: test_fx.TestFX.test_direct_param_use
func TestModuleIsTracedThroughItsShadow(t *testing.T) {
	testenv.Libtorch(t)
	p := param(t)
	m := &net{First: &gain{Gain: p}, Second: &gain{Gain: p}}
	gm, err := tracer.SymbolicTrace(m)
	assert.Equal(t, `


def forward(self, x, scale = 2):
    relu = torch.relu(x);  x = None
    first_gain = self.first.gain
    mul = relu * first_gain;  relu = None
    mul_1 = mul * first_gain;  mul = first_gain = None
    mul_2 = mul_1 * scale;  mul_1 = scale = None
    return mul_2
    `, code(t, gm, err))
	assert.Equal(t, "net", gm.ClassName())
	v, ok := gm.Attr("first.gain")
	assert.True(t, ok)
	assert.Same(t, p, v)
	assert.Same(t, p, m.First.Gain, "the model itself is not touched")

	var paths []string
	for n := range gm.Graph().Nodes() {
		if stack, ok := n.Meta().Get(ir.MetaNNModuleStack).([]ir.ModuleCall); ok && n.Op() == ir.CallFunction {
			paths = append(paths, stack[len(stack)-1].Path)
		}
	}
	assert.Equal(t, []string{"first", "second"}, paths)
}

// upstream: test_fx.TestFX.test_leaf_module
func TestLeafModulesStayOneNode(t *testing.T) {
	testenv.Libtorch(t)
	m := &net{First: &gain{Gain: param(t)}, Second: &gain{Gain: param(t)}}
	gm, err := tracer.SymbolicTrace(m, tracer.IsLeaf(func(_ nn.Module, path string) bool { return path == "second" }))
	assert.Contains(t, code(t, gm, err), "second = self.second(mul);  mul = None")
	v, _ := gm.Attr("second")
	assert.Same(t, m.Second, v)
}

// upstream: test_fx.TestFX.test_trace_function
// upstream: test_fx_experimental.TestFXExperimental.test_traceable_function_with_nonstandard_name
func TestFunctionsAndConstants(t *testing.T) {
	testenv.Libtorch(t)
	one := param(t)
	gm, err := tracer.SymbolicTrace(func(x, y *torch.Tensor) (*torch.Tensor, *torch.Tensor) {
		return torch.Add(x, one), x.Sub(y)
	}, tracer.Signature("x, y"))
	assert.Equal(t, `


def forward(self, x, y):
    _tensor_constant0 = self._tensor_constant0
    add = torch.add(x, _tensor_constant0);  _tensor_constant0 = None
    sub = x.sub(y);  x = y = None
    return (add, sub)
    `, code(t, gm, err))
	assert.Equal(t, "<lambda>", gm.ClassName())
}

// upstream: test_fx.TestFX.test_partial_trace
func TestConcreteArguments(t *testing.T) {
	f := func(x *torch.Tensor, flag bool) *torch.Tensor {
		if flag {
			return torch.Relu(x)
		}
		return x
	}
	gm, err := tracer.SymbolicTrace(f, tracer.Signature("x, flag"), tracer.Concrete(map[string]any{"flag": true}))
	assert.Equal(t, `


def forward(self, x, flag_1):
    eq = flag_1 == True;  flag_1 = None
    _assert = torch._assert(eq, 'flag has been specialized to have value True but got another value');  eq = _assert = None
    relu = torch.relu(x);  x = None
    return relu
    `, code(t, gm, err))

	_, err = tracer.SymbolicTrace(f, tracer.Signature("x, flag"))
	require.Error(t, err)
	assert.Contains(t, err.Error(), "parameter flag: a bool cannot stand for a node; give it by Concrete")

	_, err = tracer.SymbolicTrace(f, tracer.Signature("x, flag"), tracer.Concrete(map[string]any{"flags": true}))
	require.ErrorIs(t, err, ir.ErrTrace)
}

func TestErrorsNameTheSourceLine(t *testing.T) {
	_, err := tracer.SymbolicTrace(func(x *torch.Tensor) *torch.Tensor {
		if x.Size(0).Int() > 3 { // the line that the error names
			return x
		}
		return torch.Relu(x)
	})
	var e *tracer.Error
	require.ErrorAs(t, err, &e)
	assert.Regexp(t, `^tracer_test\.go:\d+$`, e.Source)
	assert.ErrorIs(t, err, ir.ErrTrace)
}

func TestForeignModulesAreRefused(t *testing.T) {
	testenv.Libtorch(t)
	m := &gain{Gain: param(t)}
	_, err := tracer.SymbolicTrace(func(x *torch.Tensor) *torch.Tensor { return nn.Call(m, x) })
	assert.ErrorIs(t, err, nn.ErrForeign)
}

func TestValuesDieWithTheirTrace(t *testing.T) {
	var kept *torch.Tensor
	_, err := tracer.SymbolicTrace(func(x *torch.Tensor) *torch.Tensor { kept = x; return x })
	require.NoError(t, err)
	_, err = torch.Try(func() *torch.Tensor { return torch.Relu(kept) })
	assert.ErrorIs(t, err, tracer.ErrEnded)

	_, err = tracer.SymbolicTrace(func(x *torch.Tensor) *torch.Tensor { return torch.Add(x, kept) })
	assert.ErrorIs(t, err, torch.ErrTracers)
}

type hidden struct {
	nn.Base
	weight *torch.Tensor
}

func (h *hidden) Forward(x *torch.Tensor) *torch.Tensor { return torch.Add(x, h.weight) }

func TestUnexportedTensorsAreRefused(t *testing.T) {
	testenv.Libtorch(t)
	_, err := tracer.SymbolicTrace(&hidden{weight: param(t)})
	require.ErrorIs(t, err, ir.ErrTrace)
	assert.Contains(t, err.Error(), "hidden.weight")
}

func TestConcurrentTracesAreIndependent(t *testing.T) {
	testenv.Libtorch(t)
	m := &net{First: &gain{Gain: param(t)}, Second: &gain{Gain: param(t)}}
	first, err := tracer.SymbolicTrace(m)
	want := code(t, first, err)
	var wg sync.WaitGroup
	got := make([]string, 16)
	for i := range got {
		wg.Go(func() {
			gm, err := tracer.SymbolicTrace(m)
			if err == nil {
				got[i], _ = gm.Code()
			}
		})
	}
	wg.Wait()
	for i := range got {
		assert.Equal(t, want, got[i])
	}
}

// The options of a function of torch are none where the function itself is traced,
// unless they have a name.
func TestOptionsAreNoParameters(t *testing.T) {
	for _, tc := range []struct {
		name string
		root any
		opts []tracer.Option
		want string
	}{
		{"a function", torch.Sigmoid, nil, "graph():\n    %x : [num_users=1] = placeholder[target=x]\n" +
			"    %sigmoid : [num_users=1] = call_function[target=torch.sigmoid](args = (%x,), kwargs = {})\n    return sigmoid"},
		{"names of the others", torch.Add, []tracer.Option{tracer.Signature("a, b")}, "graph():\n    %a : [num_users=1] = placeholder[target=a]\n" +
			"    %b : [num_users=1] = placeholder[target=b]\n" +
			"    %add : [num_users=1] = call_function[target=torch.add](args = (%a, %b), kwargs = {})\n    return add"},
		{"a method", (*torch.Tensor).Tanh, nil, "graph():\n    %x : [num_users=1] = placeholder[target=x]\n" +
			"    %tanh : [num_users=1] = call_method[target=tanh](args = (%x,), kwargs = {})\n    return tanh"},
		{"given", torch.Sum, []tracer.Option{tracer.Signature("x, dim"), tracer.Concrete(map[string]any{"dim": []any{1}})}, "graph():\n" +
			"    %x : [num_users=1] = placeholder[target=x]\n    %dim_1 : [num_users=1] = placeholder[target=dim_1]\n" +
			"    %eq : [num_users=1] = call_function[target=operator.eq](args = (%dim_1, 1), kwargs = {})\n" +
			"    %_assert : [num_users=0] = call_function[target=torch._assert](args = (%eq, dim has been specialized to have value 1 but got another value), kwargs = {})\n" +
			"    %sum_1 : [num_users=1] = call_function[target=torch.sum](args = (%x, 1), kwargs = {})\n    return [sum_1]"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			gm, err := tracer.SymbolicTrace(tc.root, tc.opts...)
			require.NoError(t, err)
			assert.Equal(t, tc.want, gm.Graph().String())
		})
	}
	_, err := tracer.SymbolicTrace(func(all ...any) any { return all }, tracer.Signature("a, b"))
	assert.ErrorContains(t, err, "expected a name for each of 1 parameters, got 2")
}

// What stands for a tuple in Go stays one, wherever it stands.
func TestTuplesOfTensors(t *testing.T) {
	gm, err := trace(func(x, y *torch.Tensor) any {
		cat := torch.Cat(torch.Tuple{x, y}, torch.Kw("dim", 1))
		fn("torch.stack", torch.Tuple{x, y})
		return []any{torch.Tuple{cat, x}, torch.List{y}}
	}, "x, y")
	require.Equal(t, `


def forward(self, x, y):
    cat = torch.cat((x, y), dim = 1)
    stack = torch.stack((x, y));  stack = None
    return [(cat, x), [y]]
    `, code(t, gm, err))
	gm, err = trace(func(x torch.Tuple) *torch.Tensor { return torch.Add(x[0], x[1]) }, "x", concrete("x", ir.PyTuple{tracer.PH, tracer.PH}))
	require.NoError(t, err)
	assert.Equal(t, 2, len(gm.Graph().Find(ir.Placeholder, nil)))
}
