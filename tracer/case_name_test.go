package tracer_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	F "github.com/torchfx-go/torchfx/nn/functional"
	"github.com/torchfx-go/torchfx/operator"
	torch "github.com/torchfx-go/torchfx/torchops"
	"github.com/torchfx-go/torchfx/tracer"
)

func TestTrace_name_params_builtins(t *testing.T) {
	gm, err := trace(func(x, input, length, typ, id, str, integer V) V {
		return op("add", op("add", op("sub", op("add", x, op("mul", input, length)), op("truediv", typ, id)), str), integer)
	}, "x, input, len, type, id, str=1, int=2.5")
	sameCase(t, gm, err)
}

func TestTrace_name_params_camel(t *testing.T) {
	gm, err := trace(func(ids, mask, xy, x V) V { return op("sub", op("add", ids, op("mul", mask, xy)), x) },
		"inputIds, AttentionMask, xY, X")
	sameCase(t, gm, err)
}

func TestTrace_name_params_torch_words(t *testing.T) {
	gm, err := trace(func(torch_, device, inf, nan, pytree, fxPytree, none V) V {
		return op("add", op("add", op("sub", op("add", device, inf), op("truediv", op("mul", nan, pytree), fxPytree)), none), torch_)
	}, "torch_, device, inf, nan, pytree, fx_pytree, NoneType")
	sameCase(t, gm, err)
}

func TestTrace_name_rename(t *testing.T) {
	gm, err := trace(func(x, y *torch.Tensor) *torch.Tensor { return operator.Add(torch.Relu(operator.Add(x, y)), x) }, "x, y")
	require.NoError(t, err)
	nodes := map[string]*ir.Node{}
	for n := range gm.Graph().Nodes() {
		nodes[n.Name()] = n
	}
	nodes["relu"].Rename("add")
	nodes["add"].Rename("sum")
	nodes["x"].Rename("relu")
	nodes["y"].Rename("y")
	sameCase(t, gm, nil)
}

type digits struct {
	nn.Base `forward:"x"`
	Layers  *nn.Sequential
	Heads   *nn.ModuleList
	Named   *nn.ModuleDict
}

func (m *digits) Forward(x *torch.Tensor) *torch.Tensor {
	x = m.Layers.Forward(x)
	for _, h := range m.Heads.All() {
		x = nn.Call(h.(nn.Layer), x)
	}
	named := func(name string) nn.Layer { return m.Named.Get(name).(nn.Layer) }
	return nn.Call(named("x-y"), nn.Call(named("a_1"), x))
}

// upstream: test_fx.TestFX.test_symbolic_trace_sequential
func TestTrace_name_sequential_digits(t *testing.T) {
	testenv.Libtorch(t)
	gm, err := tracer.SymbolicTrace(&digits{
		Layers: nn.NewSequential(nn.NewLinear(3, 3), nn.NewReLU(), nn.NewSequential(nn.NewLinear(3, 2), nn.NewTanh())),
		Heads:  nn.NewModuleList(nn.NewLinear(2, 2), nn.NewLinear(2, 1)),
		Named: nn.NewModuleDict(nn.Child{Name: "a_1", Module: nn.NewReLU()}, nn.Child{Name: "in", Module: nn.NewSigmoid()},
			nn.Child{Name: "x-y", Module: nn.NewTanh()}),
	})
	sameCase(t, gm, err)
}

type keywordName struct {
	nn.Base `forward:"x"`
	Named   *nn.ModuleDict
}

func (m *keywordName) Forward(x *torch.Tensor) *torch.Tensor {
	return nn.Call(m.Named.Get("in").(nn.Layer), x)
}

func TestKeywordAsModuleName(t *testing.T) {
	testenv.Libtorch(t)
	gm, err := tracer.SymbolicTrace(&keywordName{Named: nn.NewModuleDict(nn.Child{Name: "in", Module: nn.NewSigmoid()})})
	assert.Contains(t, code(t, gm, err), `getattr(self.named, "in")(x)`)
}

type scaled struct {
	nn.Base `forward:"x"`
	Bias    *torch.Tensor
	Scale   *torch.Tensor `nn:"scale,buffer"`
}

func (m *scaled) Forward(x *torch.Tensor) *torch.Tensor {
	return operator.Add(operator.Mul(x, m.Scale), m.Bias)
}

type allKinds struct {
	nn.Base `forward:"x, y=None"`
	Lin     *nn.Linear
	Sub     *scaled
	W       *torch.Tensor
}

func (m *allKinds) Forward(x, y *torch.Tensor) any {
	z := operator.Add(nn.Call(m.Sub, m.Lin.Forward(x)), m.W)
	z = torch.Relu(z).View(-1, 4)
	return ir.PyTuple{z, y, map[string]any{"mean": z.Value().Method("mean", nil, torch.Kw("dim", 0), torch.Kw("keepdim", true))}}
}

func TestTrace_op_all_kinds(t *testing.T) {
	testenv.Libtorch(t)
	four := []float32{1, 2, 3, 4}
	gm, err := tracer.SymbolicTrace(&allKinds{Lin: nn.NewLinear(4, 4), W: tensor(t, four, 4),
		Sub: &scaled{Bias: tensor(t, four, 4), Scale: tensor(t, []float32{2}, 1)}})
	sameCase(t, gm, err)
}

// upstream: test_fx.TestFX.test_dict
// upstream: test_fx.TestFX.test_string_literal_return
func TestTrace_op_constant_output(t *testing.T) {
	gm, err := tracer.SymbolicTrace(func(x *torch.Tensor) any {
		return ir.PyTuple{3, "text", nil, []any{1.5, ir.PyTuple{true}}, dict("k", x, "s", torch.Slice(0, 2, nil))}
	})
	sameCase(t, gm, err)
}

// upstream: test_fx.TestFX.test_trace_fn_constant
func TestTrace_op_function_constants(t *testing.T) {
	table := tensor(t, []float32{1, 2}, 2)
	gm, err := tracer.SymbolicTrace(func(x *torch.Tensor) *torch.Tensor {
		return operator.Add(operator.Mul(operator.Add(x, table), table), torch.Full([]int{2}, 3.0))
	})
	sameCase(t, gm, err)
}

var applyIt = torch.Wrap("program.apply_it", func(m any, x *torch.Tensor) *torch.Tensor {
	return m.(nn.Layer).Forward(x)
})

type moduleAsValue struct {
	nn.Base `forward:"x"`
	Lin     *nn.Linear
}

func (m *moduleAsValue) Forward(x *torch.Tensor) *torch.Tensor { return applyIt(m.Lin, x) }

func TestTrace_op_module_as_value(t *testing.T) {
	testenv.Libtorch(t)
	gm, err := tracer.SymbolicTrace(&moduleAsValue{Lin: nn.NewLinear(2, 2)})
	sameCase(t, gm, err)
}

type sharedAndTied struct {
	nn.Base `forward:"x"`
	A, B, C *nn.Linear
}

func (m *sharedAndTied) Forward(x *torch.Tensor) *torch.Tensor {
	y := operator.Add(m.B.Forward(m.A.Forward(x)), m.C.Forward(x))
	return operator.Add(y, F.Call("linear", []any{x, m.C.Weight, m.C.Bias}, nil))
}

func TestTrace_op_shared_and_tied(t *testing.T) {
	testenv.Libtorch(t)
	a, c := nn.NewLinear(3, 3), nn.NewLinear(3, 3)
	c.Weight = a.Weight
	gm, err := tracer.SymbolicTrace(&sharedAndTied{A: a, B: a, C: c})
	sameCase(t, gm, err)
}

type tensorConstants struct {
	nn.Base `forward:"x"`
	Plain   *torch.Tensor `nn:"plain,transient"`
	Buf     *torch.Tensor `nn:"buf,buffer"`
	Tmp     *torch.Tensor `nn:"tmp,transient"`
	K       func() *torch.Tensor
}

func (m *tensorConstants) Forward(x *torch.Tensor) (*torch.Tensor, *torch.Tensor) {
	k := m.K()
	sum := operator.Add(operator.Add(operator.Add(operator.Add(x, m.Plain), operator.Mul(m.Buf, k)), m.Tmp), k)
	return sum, operator.Add(torch.Ones(3), x)
}

// upstream: test_fx.TestFX.test_tensor_attribute
// upstream: test_fx.TestFX.test_tensor_attribute_coalseced
// upstream: test_fx.TestFX.test_tensor_constant
func TestTrace_op_tensor_constants(t *testing.T) {
	three := []float32{1, 1, 1}
	gm, err := tracer.SymbolicTrace(&tensorConstants{Plain: tensor(t, three, 3), Buf: tensor(t, three, 3), Tmp: tensor(t, three, 3),
		K: func() *torch.Tensor { return tensor(t, []float32{5, 6, 7}, 3) }})
	sameCase(t, gm, err)
}

func TestTrace_op_unused_value(t *testing.T) {
	gm, err := trace(func(x, y *torch.Tensor) *torch.Tensor {
		x.Value().Method("copy_", []any{y})
		torch.Add(x, y)
		return x
	}, "x, y")
	sameCase(t, gm, err)
}
