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
	torch "github.com/torchfx-go/torchfx/torchops"
	"github.com/torchfx-go/torchfx/tracer"
)

// bare makes a tensor without elements.
func bare(t *testing.T, shape ...int) *torch.Tensor {
	t.Helper()
	testenv.Libtorch(t)
	v, err := torch.Call("aten::empty.memory_format", shape, torch.Kw("device", ir.NewDevice(ir.DeviceMeta, -1)))
	require.NoError(t, err)
	return v.(*torch.Tensor)
}

// A module is recorded without elements as with them: its own tensors are taken
// without, and are those of the graph.
func TestRecordOnMeta(t *testing.T) {
	m := nn.NewSequential(nn.NewConv2d(3, 8, 3), nn.NewBatchNorm2d(8), nn.NewReLU(), nn.NewMaxPool2d(2), nn.NewFlatten(), nn.NewLinear(8*3*3, 5))
	x, err := torch.Call("aten::randn", []int{2, 3, 8, 8})
	require.NoError(t, err)
	for _, r := range []tracer.Recording{{}, {Leaf: true}, {Leaf: true, Functional: true}} {
		want, err := r.Record(m, x)
		require.NoError(t, err)
		got, err := r.Record(m, bare(t, 2, 3, 8, 8))
		require.NoError(t, err)
		assert.Equal(t, codeOf(t, want), codeOf(t, got))
		weight, ok := got.Attr("0.weight")
		require.True(t, ok)
		assert.Same(t, m.At(0).(*nn.Conv2d).Weight, weight)
		for a := range want.Graph().Nodes() {
			before, of := a.Meta().Get(ir.MetaVal).(ir.TensorMeta)
			after, _ := got.Graph().Lookup(a.Name()).Meta().Get(ir.MetaVal).(ir.TensorMeta)
			if of {
				assert.Equal(t, before, after, a.Name())
			}
		}
	}
}

// What is recorded of a huge input has not been computed.
func TestRecordHuge(t *testing.T) {
	const n = 100_000 // 2.6 terabytes of input
	conv := nn.NewConv2d(64, 128, 3)
	gm, err := tracer.Recording{Leaf: true}.Record(conv, bare(t, 1, 64, n, n))
	require.NoError(t, err)
	meta := gm.Graph().Lookup("convolution").Meta().Get(ir.MetaVal).(ir.TensorMeta)
	assert.Equal(t, "f32[1, 128, 99998, 99998]", meta.Text(false, false))
}

// Values are not there to be read, nor sizes that follow from them.
func TestRecordOnMetaRefusesElements(t *testing.T) {
	x := bare(t, 3)
	for _, c := range []struct {
		name string
		f    func(x *torch.Tensor) (*torch.Tensor, error)
		want string
	}{
		{"item", func(x *torch.Tensor) (*torch.Tensor, error) {
			v, err := torch.Call("aten::item", torch.Sum(x))
			if err != nil {
				return nil, err
			}
			return x.Mul(v), nil
		}, "Tensor.item() cannot be called on meta tensors"},
		{"nonzero", func(x *torch.Tensor) (*torch.Tensor, error) {
			v, err := torch.Call("aten::nonzero", x)
			y, _ := v.(*torch.Tensor)
			return y, err
		}, "aten::nonzero: expected tensors with elements, got some on the device meta: its result depends on elements"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := tracer.Recording{GuardReads: true}.Record(c.f, x)
			require.ErrorContains(t, err, c.want)
			assert.False(t, torch.IsRecording())
		})
	}
}

// A square matrix that is transposed in place is no copy of its transpose onto itself.
func TestRecordFunctionalTranspose(t *testing.T) {
	x := floats(t, []float32{1, 2, 3, 4}, 2, 2)
	gm, err := tracer.Recording{Leaf: true, Functional: true}.Record(func(x *torch.Tensor) *torch.Tensor {
		torch.Dispatch(ir.CallMethod, "t_", []any{x}, nil)
		return torch.Add(x, 1)
	}, x)
	require.NoError(t, err)
	assert.Equal(t, `


def forward(self, arg0_1):
    t = torch.ops.aten.t.default(arg0_1)
    add = torch.ops.aten.add.Tensor(t, 1)
    as_strided_ = torch.ops.aten.as_strided_.default(arg0_1, [2, 2], [1, 2]);  arg0_1 = None
    copy_ = torch.ops.aten.copy_.default(as_strided_, t);  as_strided_ = t = copy_ = None
    return add
    `, codeOf(t, gm))
	out, err := interpreter.New(gm).Run(context.Background(), x)
	require.NoError(t, err)
	for _, c := range []struct {
		got  *torch.Tensor
		want []float32
	}{{out.(*torch.Tensor), []float32{2, 4, 3, 5}}, {x, []float32{1, 3, 2, 4}}} {
		got, err := torch.Data[float32](c.got.Contiguous())
		require.NoError(t, err)
		assert.Equal(t, c.want, got)
	}
}
