package interpreter_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// modeModel is a model's own code, whose calls say nothing of modes.
type modeModel struct {
	nn.Base
	Fc *nn.Linear
}

func (m *modeModel) Forward(x *torch.Tensor) *torch.Tensor { return torch.MatMul(m.Fc.Forward(x), x) }

var _ = torch.Wrap("interpreter_test.product", func(x *torch.Tensor) *torch.Tensor { return torch.MatMul(x, x) })

// closing closes a module's tensors with the test.
func closing[M nn.Module](t *testing.T, m M) M {
	t.Cleanup(func() {
		for _, p := range nn.StateDict(m) {
			_ = p.Close()
		}
	})
	return m
}

// firstOf returns the first tensor of a result, which is closed with the test.
func firstOf(t *testing.T, out any) *torch.Tensor {
	var first *torch.Tensor
	var visit func(v any)
	visit = func(v any) {
		switch v := v.(type) {
		case *torch.Tensor:
			if first == nil {
				first = v
			}
			t.Cleanup(func() { _ = v.Close() })
		case ir.PyTuple:
			for _, item := range v {
				visit(item)
			}
		}
	}
	visit(out)
	require.NotNil(t, first)
	return first
}

// calls returns a graph that calls m with its placeholder.
func calls(t *testing.T, m any) *ir.GraphModule {
	t.Helper()
	g := ir.NewGraph()
	x := g.Placeholder("x")
	g.Output(g.CallModule("m", []ir.Arg{x}))
	return module(t, g, map[string]any{"m": m})
}

// TestModulesRunInTheModeOfTheRun holds what PyTorch's modules return under
// torch.autocast("cpu", torch.bfloat16): the dtype of the first result.
func TestModulesRunInTheModeOfTheRun(t *testing.T) {
	needLibtorch(t)
	encoder := closing(t, nn.NewTransformerEncoderLayer(4, 2, torch.Kw("dim_feedforward", 6), torch.Kw("batch_first", true)))
	training := closing(t, nn.NewTransformerEncoderLayer(4, 2, torch.Kw("dim_feedforward", 6), torch.Kw("batch_first", true), torch.Kw("dropout", 0)))
	nn.Train(encoder, false)
	batchNorm := closing(t, nn.NewBatchNorm1d(4))
	product := func(t *testing.T) *ir.GraphModule {
		g := ir.NewGraph()
		g.Output(g.CallFunction(ir.FuncOf("interpreter_test.product"), []ir.Arg{g.Placeholder("x")}))
		return module(t, g, nil)
	}
	linear := closing(t, nn.NewLinear(4, 4))
	tests := []struct {
		name string
		m    any
		want torch.DType
	}{
		{"linear", linear, torch.BFloat16},
		{"batch norm", batchNorm, torch.Float32},
		{"layer norm", closing(t, nn.NewLayerNorm([]int{4})), torch.Float32},
		{"lstm", closing(t, nn.NewLSTM(4, 3)), torch.BFloat16},
		{"the fused layer", encoder, torch.BFloat16},
		{"the layer of operators", training, torch.Float32},
		{"sequential", closing(t, nn.NewSequential(nn.NewLinear(4, 4), nn.NewReLU())), torch.BFloat16},
		{"a model's own code", &modeModel{Fc: linear}, torch.BFloat16},
		{"a graph module", calls(t, linear), torch.BFloat16},
		{"a graph module as a module", interpreter.AsModule(calls(t, linear)), torch.BFloat16},
		{"a wrapped function", product(t), torch.BFloat16},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			x := tensor(t, make([]float32, 64), 4, 4, 4)
			if tc.m == any(batchNorm) {
				x = tensor(t, make([]float32, 16), 4, 4)
			}
			gm := calls(t, tc.m)
			autocast := libtorch.Mode{Autocast: &libtorch.Autocast{Device: ir.DeviceCPU}}
			first := func(mode libtorch.Mode) *torch.Tensor {
				var observed int
				mode.Observe = func(*libtorch.Operator) { observed++ }
				out, err := interpreter.New(gm, interpreter.WithMode(mode)).Run(t.Context(), x)
				require.NoError(t, err)
				assert.Positive(t, observed, "operators are told of")
				return firstOf(t, out)
			}
			assert.Equal(t, tc.want, first(autocast).DType())
			autocast.Threads = 2
			assert.Equal(t, tc.want, first(autocast).DType(), "on a thread of its own")
			assert.Equal(t, torch.Float32, first(libtorch.Mode{}).DType(), "and no mode is left behind")
			inference, err := torch.Call("aten::is_inference", first(libtorch.Mode{Inference: true}))
			require.NoError(t, err)
			assert.Equal(t, true, inference)
			assert.False(t, first(libtorch.Mode{}).RequiresGrad())
			assert.Nil(t, libtorch.CurrentMode())

			plan, err := interpreter.Compile(gm, interpreter.WithMode(libtorch.Mode{Autocast: autocast.Autocast}))
			require.NoError(t, err)
			defer plan.Close()
			out, err := plan.Run(t.Context(), x)
			require.NoError(t, err)
			assert.Equal(t, tc.want, firstOf(t, out).DType(), "in a plan")
		})
	}
}

// TestGradOfModulesInARun holds that layers keep away from fused kernels where
// gradients of their parameters are recorded, as PyTorch's.
func TestGradOfModulesInARun(t *testing.T) {
	needLibtorch(t)
	m := closing(t, nn.NewTransformerEncoderLayer(4, 2, torch.Kw("dim_feedforward", 6), torch.Kw("batch_first", true)))
	nn.Train(m, false)
	x := tensor(t, make([]float32, 24), 2, 3, 4)
	for _, grad := range []bool{false, true} {
		var ops []string
		mode := libtorch.Mode{Grad: grad, Observe: func(o *libtorch.Operator) { ops = append(ops, o.Schema().Op) }}
		out, err := interpreter.New(calls(t, m), interpreter.WithMode(mode)).Run(t.Context(), x)
		require.NoError(t, err)
		assert.Equal(t, grad, firstOf(t, out).RequiresGrad())
		assert.Equal(t, !grad, len(ops) == 1 && ops[0] == "aten::_transformer_encoder_layer_fwd", "%v", ops)
	}
}

// TestModulesInAVmap calls a layer between the functions of an exported vmap.
func TestModulesInAVmap(t *testing.T) {
	needLibtorch(t)
	fn := func(name string) *ir.Func { return ir.FuncOf("torch._functorch.predispatch." + name) }
	g := ir.NewGraph()
	x := g.Placeholder("x")
	g.CallFunction(fn("_vmap_increment_nesting"), []ir.Arg{ir.Int(3), ir.Str("error")})
	in := g.CallFunction(fn("_add_batch_dim"), []ir.Arg{x, ir.Int(1), ir.Int(1)})
	out := g.CallModule("m", []ir.Arg{in})
	back := g.CallFunction(fn("_remove_batch_dim"), []ir.Arg{out, ir.Int(1), ir.Int(3), ir.Int(0)})
	g.CallFunction(fn("_vmap_decrement_nesting"), nil)
	g.Output(back)
	m := nn.NewFlatten(torch.Kw("start_dim", 0)) // of [2], which is [3, 2] with the batch
	got, err := interpreter.New(module(t, g, map[string]any{"m": m})).Run(t.Context(), tensor(t, []float32{1, 2, 3, 4, 5, 6}, 2, 3))
	require.NoError(t, err)
	assert.Equal(t, []int{3, 2}, firstOf(t, got).Shape())
	assert.Equal(t, []float32{1, 4, 2, 5, 3, 6}, elements(t, got))
}
