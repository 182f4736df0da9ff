package passes_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	"github.com/torchfx-go/torchfx/nn/functional"
	"github.com/torchfx-go/torchfx/passes"
	torch "github.com/torchfx-go/torchfx/torchops"
	"github.com/torchfx-go/torchfx/tracer"
)

type lowerNet struct {
	nn.Base
	Conv *nn.Conv2d
	Norm *nn.BatchNorm2d
	Head *nn.Linear
	Gain *torch.Tensor
}

func (m *lowerNet) Forward(x *torch.Tensor) *torch.Tensor {
	x = functional.Relu(m.Norm.Forward(m.Conv.Forward(x)))
	x = torch.Flatten(functional.AdaptiveAvgPool2d(x, []int{1, 1}), 1, -1)
	return torch.Mul(m.Head.Forward(x), m.Gain).Softmax(-1)
}

func newLowerNet(t *testing.T) (*lowerNet, *torch.Tensor) {
	testenv.Libtorch(t)
	gain, err := torch.From([]float32{2}, 1)
	require.NoError(t, err)
	m := &lowerNet{Conv: nn.NewConv2d(3, 4, 3), Norm: nn.NewBatchNorm2d(4), Head: nn.NewLinear(4, 5), Gain: gain}
	nn.Train(m, false)
	return m, torch.Randn(2, 3, 8, 8)
}

func TestLower(t *testing.T) {
	m, x := newLowerNet(t)
	gm, err := tracer.SymbolicTrace(m)
	require.NoError(t, err)
	want, err := interpreter.New(gm).Run(context.Background(), x)
	require.NoError(t, err)
	meta, err := torch.Call("aten::empty.memory_format", []int{2, 3, 8, 8}, torch.Kw("device", "meta"))
	require.NoError(t, err)
	for _, c := range []struct {
		name string
		arg  any
		opts []passes.LowerOption
		want string
	}{
		{"computing", x, nil, "conv2d batch_norm relu adaptive_avg_pool2d flatten linear mul softmax"},
		{"without elements", meta, nil, "conv2d batch_norm relu adaptive_avg_pool2d flatten linear mul softmax"},
		{"leaves", x, []passes.LowerOption{passes.ToLeaves()}, "convolution empty native_batch_norm relu mean view t addmm mul _softmax"},
		{"leaves without elements", meta, []passes.LowerOption{passes.ToLeaves()}, "convolution empty native_batch_norm relu mean view t addmm mul _softmax"},
	} {
		t.Run(c.name, func(t *testing.T) {
			low, err := passes.Lower(context.Background(), gm, []any{c.arg}, c.opts...)
			require.NoError(t, err)
			require.NoError(t, low.Graph().Lint())
			var ops []string
			for n := range low.Graph().Nodes() {
				if f := n.Func(); f != nil && f.Op() != "" {
					name, _, _ := strings.Cut(strings.TrimPrefix(f.Op(), "aten::"), ".")
					ops = append(ops, name)
				}
			}
			assert.Equal(t, c.want, strings.Join(ops, " "))
			got, err := interpreter.New(low).Run(context.Background(), x)
			require.NoError(t, err)
			a, err := want.(*torch.Tensor).Bytes()
			require.NoError(t, err)
			b, err := got.(*torch.Tensor).Bytes()
			require.NoError(t, err)
			assert.Equal(t, a, b)
			for n := range low.Graph().Nodes() {
				if n.Op() == ir.CallFunction {
					from, _ := n.Meta().Get(ir.MetaFromNode).([]ir.NodeSource)
					require.Len(t, from, 1, n.Name())
					assert.NotNil(t, gm.Graph().Lookup(from[0].Name))
				}
				if n.Op() != ir.Output {
					assert.True(t, n.Meta().Has(ir.MetaVal), n.Name())
				}
			}
		})
	}
}

func TestLowerRefuses(t *testing.T) {
	m, _ := newLowerNet(t)
	gm, err := tracer.SymbolicTrace(m)
	require.NoError(t, err)
	_, err = passes.Lower(context.Background(), gm, nil)
	require.ErrorContains(t, err, "lower: placeholder x: expected meta that describes a tensor, got none; give the arguments")
	require.ErrorIs(t, err, ir.ErrMissing)
	_, err = passes.Lower(context.Background(), gm, []any{})
	require.ErrorContains(t, err, "expected 1 values, one for each placeholder, got 0")

	read, err := tracer.SymbolicTrace(func(x *torch.Tensor) *torch.Tensor {
		return torch.Mul(x, torch.As[*torch.Tensor](torch.Dispatch(ir.CallMethod, "item", []any{x.Sum()}, nil)))
	})
	require.NoError(t, err)
	_, err = passes.Lower(context.Background(), read, []any{torch.Randn(3)})
	require.ErrorContains(t, err, "aten::item: expected no value to be read while recording, got one that depends on the inputs")
	require.ErrorContains(t, err, "item")
}

// Arguments that are left out are as the meta of the placeholders says.
func TestLowerByMeta(t *testing.T) {
	m, x := newLowerNet(t)
	gm, err := tracer.SymbolicTrace(m)
	require.NoError(t, err)
	out, err := passes.ShapeProp(context.Background(), gm, []any{x})
	require.NoError(t, err)
	low, err := passes.Lower(context.Background(), gm, nil)
	require.NoError(t, err)
	got, err := interpreter.New(low).Run(context.Background(), x)
	require.NoError(t, err)
	equal, err := torch.Call("aten::equal", out, got)
	require.NoError(t, err)
	assert.Equal(t, true, equal)
	weight, _ := low.Attr("conv.weight")
	assert.Same(t, m.Conv.Weight, weight, "tensors are shared")
}

// Sizes that are asked for stay symbols, wherever the code takes them from.
func TestLowerDynamic(t *testing.T) {
	testenv.Libtorch(t)
	gm, err := tracer.SymbolicTrace(func(x *torch.Tensor) *torch.Tensor {
		n, length := x.Size(0), x.Size(1)
		y := x.View(n.Mul(length), -1)
		return torch.Cat(torch.List{y, y}, 0).Reshape(2, n, -1)
	})
	require.NoError(t, err)
	low, err := passes.Lower(context.Background(), gm, []any{torch.Randn(4, 6, 2)},
		passes.Dynamic(tracer.Dim{Symbol: "n"}, tracer.Dim{Dim: 1, Symbol: "length"}))
	require.NoError(t, err)
	code, err := low.Code()
	require.NoError(t, err)
	assert.Equal(t, `


def forward(self, x):
    sym_size_int = torch.ops.aten.sym_size.int(x, 0)
    sym_size_int_1 = torch.ops.aten.sym_size.int(x, 1)
    mul = sym_size_int * sym_size_int_1;  sym_size_int_1 = None
    view = torch.ops.aten.view.default(x, [mul, -1]);  x = mul = None
    cat = torch.ops.aten.cat.default([view, view]);  view = None
    reshape = torch.ops.aten.reshape.default(cat, [2, sym_size_int, -1]);  cat = sym_size_int = None
    return reshape
    `, code)
	assert.Equal(t, "f32[2, s_n, 2*s_length]", low.Graph().Lookup("reshape").Meta().Get(ir.MetaVal).(ir.TensorMeta).Text(false, false))
	x := torch.Randn(3, 5, 2)
	want, err := interpreter.New(gm).Run(context.Background(), x)
	require.NoError(t, err)
	got, err := interpreter.New(low).Run(context.Background(), x)
	require.NoError(t, err)
	equal, err := torch.Call("aten::equal", want, got)
	require.NoError(t, err)
	assert.Equal(t, true, equal)
}

// What fixes a size says where.
func TestLowerDynamicFixed(t *testing.T) {
	testenv.Libtorch(t)
	for _, c := range []struct {
		name string
		f    any
		want string
	}{
		{"by a number", func(x *torch.Tensor) *torch.Tensor { return x.View(4, -1) }, "record with s_n=5: run node view (view): shape '[4, -1]' is invalid for input of size 15"},
		{"by a decision", func(x *torch.Tensor) *torch.Tensor { return torch.Relu(x) }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			gm, err := tracer.SymbolicTrace(c.f)
			require.NoError(t, err)
			_, err = passes.Lower(context.Background(), gm, []any{torch.Randn(4, 3)}, passes.Dynamic(tracer.Dim{Symbol: "n"}))
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.want)
		})
	}
	_, err := tracer.Recording{Dynamic: []tracer.Dim{{Symbol: "n"}}}.Record(func(x *torch.Tensor) *torch.Tensor {
		if x.Shape()[0] > 8 {
			x = torch.Neg(x)
		}
		return torch.Relu(x)
	}, torch.Randn(4, 3))
	require.ErrorIs(t, err, ir.ErrTrace)
	require.ErrorContains(t, err, "operator 0: expected the same for all sizes, got aten::relu with s_n=4 and aten::neg with s_n=9: the code decides by a size")
}

// A traced graph, with a layer and a method in it, becomes one of ATen operators.
func ExampleLower() {
	gm, err := tracer.SymbolicTrace(nn.NewSequential(nn.NewLinear(3, 4), nn.NewGELU()))
	if err != nil {
		fmt.Println(err)
		return
	}
	lowered, err := passes.Lower(context.Background(), gm, []any{torch.Ones(2, 3)}, passes.Dynamic(tracer.Dim{Symbol: "batch"}))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(lowered.Graph())
	// Output:
	// graph():
	//     %input_1 : [num_users=1] = placeholder[target=input]
	//     %_0_weight : [num_users=1] = get_attr[target=0.weight]
	//     %_0_bias : [num_users=1] = get_attr[target=0.bias]
	//     %linear : [num_users=1] = call_function[target=torch.ops.aten.linear.default](args = (%input_1, %_0_weight, %_0_bias), kwargs = {})
	//     %gelu : [num_users=1] = call_function[target=torch.ops.aten.gelu.default](args = (%linear,), kwargs = {})
	//     return gelu
}
