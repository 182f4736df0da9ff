package tracer_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	torch "github.com/torchfx-go/torchfx/torchops"
	"github.com/torchfx-go/torchfx/tracer"
)

type twoLayers struct {
	nn.Base
	Fc1, Fc2 *nn.Linear
	Scale    *torch.Tensor `nn:"scale,buffer"`
}

func (m *twoLayers) Forward(x *torch.Tensor) *torch.Tensor {
	return torch.Mul(m.Fc2.Forward(torch.Relu(m.Fc1.Forward(x))), m.Scale).Add(2)
}

func floats(t *testing.T, v []float32, shape ...int) *torch.Tensor {
	testenv.Libtorch(t)
	x, err := torch.From(v, shape...)
	require.NoError(t, err)
	return x
}

func codeOf(t *testing.T, gm *ir.GraphModule) string {
	t.Helper()
	require.NoError(t, gm.Graph().Lint())
	code, err := gm.Code()
	require.NoError(t, err)
	return code
}

func TestRecordModule(t *testing.T) {
	m := &twoLayers{Fc1: nil, Scale: floats(t, []float32{3}, 1)}
	m.Fc1, m.Fc2 = nn.NewLinear(4, 8), nn.NewLinear(8, 2)
	gm, err := tracer.Recording{Leaf: true, Names: []string{"x"}}.Record(m, floats(t, make([]float32, 12), 3, 4))
	require.NoError(t, err)
	assert.Equal(t, `


def forward(self, x):
    fc1_weight = self.fc1.weight
    t = torch.ops.aten.t.default(fc1_weight);  fc1_weight = None
    fc1_bias = self.fc1.bias
    addmm = torch.ops.aten.addmm.default(fc1_bias, x, t);  fc1_bias = x = t = None
    relu = torch.ops.aten.relu.default(addmm);  addmm = None
    fc2_weight = self.fc2.weight
    t_1 = torch.ops.aten.t.default(fc2_weight);  fc2_weight = None
    fc2_bias = self.fc2.bias
    addmm_1 = torch.ops.aten.addmm.default(fc2_bias, relu, t_1);  fc2_bias = relu = t_1 = None
    scale = self.scale
    mul = torch.ops.aten.mul.Tensor(addmm_1, scale);  addmm_1 = scale = None
    add = torch.ops.aten.add.Tensor(mul, 2);  mul = None
    return add
    `, codeOf(t, gm))
	weight, ok := gm.Attr("fc1.weight")
	require.True(t, ok)
	assert.Same(t, m.Fc1.Weight, weight)
	assert.Equal(t, "twoLayers", gm.ClassName())
}

// What stands for a tensor is the last operator that wrote it, also by a view.
func TestRecordWrites(t *testing.T) {
	x := floats(t, []float32{1, 2, 3, 4}, 2, 2)
	gm, err := tracer.Record(func(x *torch.Tensor) (*torch.Tensor, *torch.Tensor) {
		y := torch.Neg(x)
		row := torch.As[*torch.Tensor](torch.Dispatch(ir.CallMethod, "select", []any{y, 0, 1}, nil))
		torch.Dispatch(ir.CallMethod, "add_", []any{row, 10}, nil)
		return y, row
	}, x)
	require.NoError(t, err)
	assert.Equal(t, `


def forward(self, arg0_1):
    neg = torch.ops.aten.neg.default(arg0_1);  arg0_1 = None
    select = torch.ops.aten.select.int(neg, 0, 1)
    add_ = torch.ops.aten.add_.Tensor(select, 10);  select = None
    return (neg, add_)
    `, codeOf(t, gm))
}

// Structured inputs and results have a code generator that takes them apart.
func TestRecordStructures(t *testing.T) {
	x, y := floats(t, []float32{1}, 1), floats(t, []float32{2}, 1)
	gm, err := tracer.Record(func(pair []*torch.Tensor, scale float64) map[string]*torch.Tensor {
		return map[string]*torch.Tensor{"sum": torch.Add(pair[0], pair[1]), "scaled": pair[0].Mul(scale)}
	}, []*torch.Tensor{x, y}, 3.0)
	require.NoError(t, err)
	assert.Equal(t, `


def forward(self, arg0, arg1):
    arg0_1, arg1_1, arg2_1, = fx_pytree.tree_flatten_spec(([arg0, arg1], {}), self._in_spec)
    add = torch.ops.aten.add.Tensor(arg0_1, arg1_1);  arg1_1 = None
    mul = torch.ops.aten.mul.Tensor(arg0_1, 3.0);  arg0_1 = None
    return pytree.tree_unflatten([mul, add], self._out_spec)
    `, codeOf(t, gm))
	out, err := interpreter.New(gm).Run(context.Background(), []any{y, y}, 3.0)
	require.NoError(t, err)
	sum, ok := out.(*ir.PyDict).Get("sum")
	require.True(t, ok)
	got, err := torch.Data[float32](sum.(*torch.Tensor))
	require.NoError(t, err)
	assert.Equal(t, []float32{4}, got)
}

// Tensors that are neither inputs nor named are constants of the graph.
func TestRecordConstants(t *testing.T) {
	x, hidden, known := floats(t, []float32{1}, 1), floats(t, []float32{2}, 1), floats(t, []float32{3}, 1)
	f := func(x *torch.Tensor) *torch.Tensor { return torch.Add(torch.Add(x, hidden), known) }
	gm, err := tracer.Recording{State: map[string]*torch.Tensor{"known": known}}.Record(f, x)
	require.NoError(t, err)
	assert.Contains(t, codeOf(t, gm), "_tensor_constant0 = self._tensor_constant0\n")
	assert.Contains(t, codeOf(t, gm), "known = self.known\n")
	kept, ok := gm.Attr("known")
	require.True(t, ok)
	assert.Same(t, known, kept)
}

func TestRecordReadsValues(t *testing.T) {
	x := floats(t, []float32{5}, 1)
	f := func(x *torch.Tensor) (*torch.Tensor, error) {
		v, err := x.Item()
		if err != nil {
			return nil, err
		}
		return x.Mul(v), nil
	}
	_, err := tracer.Record(f, x)
	require.ErrorIs(t, err, ir.ErrType)
	require.ErrorContains(t, err, "expected no value to be read while recording, got one that depends on the inputs")

	gm, err := tracer.Recording{GuardReads: true}.Record(f, x)
	require.NoError(t, err)
	assert.Equal(t, `


def forward(self, arg0_1):
    item = torch.ops.aten.item.default(arg0_1)
    eq = item == 5.0;  item = None
    _assert_scalar = torch.ops.aten._assert_scalar.default(eq, 'aten::item: expected 5, with which the graph was recorded');  eq = _assert_scalar = None
    mul = torch.ops.aten.mul.Tensor(arg0_1, 5.0);  arg0_1 = None
    return mul
    `, codeOf(t, gm))
}

func TestRecordErrors(t *testing.T) {
	x := floats(t, []float32{1, 2}, 2)
	for _, c := range []struct {
		name   string
		root   any
		inputs []any
		want   string
	}{
		{"no function", 3, nil, "record: expected an nn.Module or a function, got int"},
		{"too few inputs", func(a, b *torch.Tensor) *torch.Tensor { return a }, []any{x}, "record: expected 2 inputs, which the function takes, got 1"},
		{"an input of another type", func(a *torch.Tensor) *torch.Tensor { return a }, []any{"x"}, "record: input 0: expected a *torchops.Tensor, got a string"},
		{"a failing operator", func(a *torch.Tensor) *torch.Tensor { return torch.MatMul(a, torch.Ones(3)) }, []any{x}, "below_test.go:"},
		{"an input that holds itself", func(a []any) *torch.Tensor { return nil }, []any{endless()}, "nest"},
		{"a closed input", func(a *torch.Tensor) *torch.Tensor { return a }, []any{closed(t)}, "closed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := tracer.Record(c.root, c.inputs...)
			require.ErrorContains(t, err, c.want)
			assert.False(t, torch.IsRecording())
			y, err := torch.Try(func() *torch.Tensor { return torch.Neg(x) }) // nothing is left on
			require.NoError(t, err)
			got, err := torch.Data[float32](y)
			require.NoError(t, err)
			assert.Equal(t, []float32{-1, -2}, got)
		})
	}
	assert.PanicsWithValue(t, "bug", func() { _, _ = tracer.Record(func() *torch.Tensor { panic("bug") }) })
	assert.False(t, torch.IsRecording())
}

func endless() []any {
	list := make([]any, 1)
	list[0] = list
	return list
}

func closed(t *testing.T) *torch.Tensor {
	x := floats(t, []float32{1}, 1)
	require.NoError(t, x.Close())
	return x
}

// Goroutines record different models at once and get the graphs that they get alone.
func TestRecordConcurrently(t *testing.T) {
	x := floats(t, make([]float32, 12), 3, 4)
	model := func(i int) nn.Module { // another one for each i below 128
		layers := []nn.Layer{nn.NewLinear(4, 4)}
		for bit := range 7 {
			if i>>bit&1 == 0 {
				layers = append(layers, nn.NewReLU())
			} else {
				layers = append(layers, nn.NewSigmoid(), nn.NewLinear(4, 4))
			}
		}
		return nn.NewSequential(layers...)
	}
	record := func(i int) (string, error) {
		gm, err := tracer.Recording{Leaf: i%2 == 0}.Record(model(i), x)
		if err != nil {
			return "", err
		}
		return gm.Code()
	}
	alone := make([]string, 100)
	for i := range alone {
		var err error
		alone[i], err = record(i)
		require.NoError(t, err)
	}
	var wg sync.WaitGroup
	for i := range alone {
		wg.Go(func() {
			code, err := record(i)
			assert.NoError(t, err)
			assert.Equal(t, alone[i], code, fmt.Sprint(i))
		})
	}
	wg.Wait()
}

type counter struct {
	nn.Base
	Count *torch.Tensor `nn:"count,buffer"`
}

func (m *counter) Forward(x *torch.Tensor) *torch.Tensor {
	torch.Dispatch(ir.CallMethod, "add_", []any{m.Count, 1}, nil)
	row := torch.As[*torch.Tensor](torch.Dispatch(ir.CallMethod, "select", []any{x, 0, 1}, nil))
	torch.Dispatch(ir.CallMethod, "mul_", []any{row, m.Count}, nil)
	return torch.Neg(x)
}

// As torch.func.functionalize: writes are new values, copied back at the end.
func TestRecordFunctional(t *testing.T) {
	x := floats(t, []float32{1, 2, 3, 4}, 2, 2)
	m := &counter{Count: floats(t, []float32{6}, 1)}
	gm, err := tracer.Recording{Leaf: true, Functional: true, Names: []string{"x"}}.Record(m, x)
	require.NoError(t, err)
	assert.Equal(t, `


def forward(self, x):
    count = self.count
    add = torch.ops.aten.add.Tensor(count, 1)
    select = torch.ops.aten.select.int(x, 0, 1)
    mul = torch.ops.aten.mul.Tensor(select, add);  select = None
    select_scatter = torch.ops.aten.select_scatter.default(x, mul, 0, 1);  mul = None
    select_1 = torch.ops.aten.select.int(select_scatter, 0, 1);  select_1 = None
    neg = torch.ops.aten.neg.default(select_scatter)
    copy_ = torch.ops.aten.copy_.default(x, select_scatter);  x = select_scatter = copy_ = None
    copy__1 = torch.ops.aten.copy_.default(count, add);  count = add = copy__1 = None
    return neg
    `, codeOf(t, gm))
	before, err := torch.Data[float32](x)
	require.NoError(t, err)
	assert.Equal(t, []float32{1, 2, 3, 4}, before)
	out, err := interpreter.New(gm).Run(context.Background(), x)
	require.NoError(t, err)
	for _, c := range []struct {
		got  *torch.Tensor
		want []float32
	}{{out.(*torch.Tensor), []float32{-1, -2, -21, -28}}, {x, []float32{1, 2, 21, 28}}, {m.Count, []float32{7}}} {
		got, err := torch.Data[float32](c.got)
		require.NoError(t, err)
		assert.Equal(t, c.want, got)
	}
	_, err = tracer.Recording{Functional: true}.Record(m, x)
	require.ErrorIs(t, err, ir.ErrValue)
}
