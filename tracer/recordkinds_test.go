package tracer_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	torch "github.com/torchfx-go/torchfx/torchops"
	"github.com/torchfx-go/torchfx/tracer"
)

func aten(name string, args ...any) *torch.Tensor {
	v, err := torch.Call("aten::"+name, args...)
	if err != nil {
		panic(&torch.Error{Op: name, Err: err})
	}
	return v.(*torch.Tensor)
}

// An input whose shape is changed in place is given the new one before it is
// written, as functionalize of PyTorch does it.
func TestRecordFunctionalShapes(t *testing.T) {
	f := func(x *torch.Tensor) *torch.Tensor { return aten("add_.Tensor", aten("transpose_", x, 0, 1), 1) }
	gm, err := tracer.Recording{Leaf: true, Functional: true}.Record(f, floats(t, make([]float32, 6), 2, 3))
	require.NoError(t, err)
	assert.Contains(t, codeOf(t, gm), `
    as_strided_ = torch.ops.aten.as_strided_.default(arg0_1, [3, 2], [1, 3]);  arg0_1 = None
    copy_ = torch.ops.aten.copy_.default(as_strided_, transpose_2);  as_strided_ = copy_ = None
    return transpose_2
`)
	x := floats(t, []float32{1, 2, 3, 4, 5, 6}, 2, 3)
	_, err = interpreter.New(gm).Run(context.Background(), x)
	require.NoError(t, err)
	got, err := torch.Data[float32](x)
	require.NoError(t, err)
	assert.Equal(t, []int{3, 2}, x.Shape())
	assert.Equal(t, []float32{2, 5, 3, 6, 4, 7}, got)
}

// Elements that are read by the whole cannot be checked by the graph, and those of
// a tensor that stands for another are not in its own memory.
func TestRecordRefusesElements(t *testing.T) {
	f := func(x *torch.Tensor) (*torch.Tensor, error) {
		v, err := torch.Data[float32](torch.Neg(x))
		if err != nil {
			return nil, err
		}
		return x.Mul(float64(v[0])), nil
	}
	for name, r := range map[string]tracer.Recording{
		"whole": {}, "leaves": {Leaf: true}, "functional": {Leaf: true, Functional: true}, "guarded": {GuardReads: true},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := r.Record(f, floats(t, []float32{1, 2}, 2))
			require.ErrorIs(t, err, ir.ErrType)
			require.ErrorContains(t, err, "reading elements: expected no value to be read while recording")
		})
	}
	constant := func(x *torch.Tensor) (*torch.Tensor, error) {
		v, err := torch.Data[float32](torch.Add(torch.Ones(1), 1))
		if err != nil {
			return nil, err
		}
		return x.Mul(float64(v[0])), nil
	}
	_, err := tracer.Recording{Leaf: true, Functional: true}.Record(constant, floats(t, []float32{1, 2}, 2))
	require.NoError(t, err, "what is the same in every run may be read")
}

// view.dtype makes a further tensor of its result, which make_fx sees as an alias.
func TestRecordViewDType(t *testing.T) {
	f := func(x *torch.Tensor) *torch.Tensor { return torch.Add(aten("view.dtype", x, ir.Int32), 1) }
	gm, err := tracer.Recording{Leaf: true}.Record(f, floats(t, make([]float32, 6), 2, 3))
	require.NoError(t, err)
	assert.Equal(t, `


def forward(self, arg0_1):
    view = torch.ops.aten.view.dtype(arg0_1, torch.int32);  arg0_1 = None
    alias = torch.ops.aten.alias.default(view);  view = None
    add = torch.ops.aten.add.Tensor(alias, 1);  alias = None
    return add
    `, codeOf(t, gm))
}

// PyTorch's literals are integers for Go, but not in a graph.
func TestRecordReturnsLiterals(t *testing.T) {
	f := func(x *torch.Tensor) (*torch.Tensor, ir.DType, ir.Layout) { return torch.Neg(x), x.DType(), x.Layout() }
	gm, err := tracer.Record(f, floats(t, []float32{1}, 1))
	require.NoError(t, err)
	assert.Contains(t, codeOf(t, gm), "return (neg, torch.float32, torch.strided)")
}

// Inputs that share memory are values of their own in a functional recording, so a
// write into one is refused.
func TestFunctionalInputsThatShareMemory(t *testing.T) {
	x := floats(t, []float32{1, 2, 3, 4}, 4)
	half, err := torch.Call("aten::slice.Tensor", x, 0, 0, 2)
	require.NoError(t, err)
	r := tracer.Recording{Leaf: true, Functional: true}
	write := func(a, b *torch.Tensor) *torch.Tensor {
		torch.Dispatch(ir.CallMethod, "mul_", []any{a, 2}, nil)
		return torch.Neg(b)
	}
	_, err = r.Record(write, x, half)
	require.ErrorIs(t, err, ir.ErrUnsupported)
	require.ErrorContains(t, err, "share its memory")
	_, err = r.Record(func(a, b *torch.Tensor) *torch.Tensor { return torch.Neg(b) }, x, half)
	require.NoError(t, err, "reading them is no matter")
	_, err = r.Record(write, x, floats(t, []float32{1}, 1))
	require.NoError(t, err)
}

type reader struct {
	nn.Base
	Fc *nn.Linear
}

func (m *reader) Forward(x *torch.Tensor) (*torch.Tensor, error) {
	v, err := torch.Sum(x).Item()
	if err != nil {
		return nil, err
	}
	return m.Fc.Forward(x).Mul(v), nil
}

// An error that a module's Forward returns is one of the recording, and no value
// where there is none.
func TestRecordModuleReturnsError(t *testing.T) {
	x := floats(t, make([]float32, 6), 2, 3)
	m := &reader{Fc: nn.NewLinear(3, 3)}
	_, err := tracer.Record(m, x)
	require.ErrorIs(t, err, ir.ErrType)
	require.ErrorContains(t, err, "expected no value to be read while recording, got one that depends on the inputs")
	gm, err := tracer.Recording{GuardReads: true}.Record(m, x)
	require.NoError(t, err)
	assert.Contains(t, codeOf(t, gm), "return mul\n")
	traced, err := tracer.SymbolicTrace(func(x *torch.Tensor) (*torch.Tensor, error) { return torch.Neg(x), nil })
	require.NoError(t, err)
	assert.Contains(t, codeOf(t, traced), "return neg\n")
}

// Sizes that a network halves again and again are found, where they go up in a step
// that it divides.
func TestRecordDynamicHalved(t *testing.T) {
	var layers []nn.Layer
	for range 4 {
		layers = append(layers, nn.NewConv2d(3, 3, 3, nn.WithStride(2), nn.WithPadding(1)))
	}
	m := nn.NewSequential(append(layers, nn.NewFlatten())...)
	floats(t, []float32{1}, 1)
	dims := []tracer.Dim{{Symbol: "n"}, {Dim: 2, Symbol: "h", Step: 16}}
	gm, err := tracer.Recording{Leaf: true, Dynamic: dims}.Record(m, torch.Randn(2, 3, 64, 32))
	require.NoError(t, err)
	x := torch.Randn(3, 3, 96, 32)
	got, err := interpreter.New(gm).Run(context.Background(), x)
	require.NoError(t, err)
	equal, err := torch.Call("aten::equal", got, m.Forward(x))
	require.NoError(t, err)
	assert.Equal(t, true, equal)
}
