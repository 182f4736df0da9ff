package functional_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn/functional"
	torch "github.com/torchfx-go/torchfx/torchops"
	"github.com/torchfx-go/torchfx/tracer"
)

// A function computes on tensors and is recorded where one is traced: Python
// code in the form of torch.fx, what is bound to C++ as it was called.
func ExampleRelu() {
	x, err := torch.From([]float32{-1, 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(functional.Relu(x))
	gm, err := tracer.SymbolicTrace(func(x *torch.Tensor) *torch.Tensor {
		return functional.Gelu(functional.Relu(x), torch.Kw("approximate", "tanh"))
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(gm.Graph())
	// Output:
	// tensor([0., 2.])
	// graph():
	//     %x : [num_users=1] = placeholder[target=x]
	//     %relu : [num_users=1] = call_function[target=torch.nn.functional.relu](args = (%x,), kwargs = {inplace: False})
	//     %gelu : [num_users=1] = call_function[target=torch._C._nn.gelu](args = (%relu,), kwargs = {approximate: tanh})
	//     return gelu
}

// Functions with two results are unpacked as Python does it, traced or not.
func TestTwoResults(t *testing.T) {
	testenv.Libtorch(t)
	f := func(x *torch.Tensor) *torch.Tensor {
		y, where := functional.MaxPool1dWithIndices(x, 2)
		return functional.MaxUnpool1d(y, where, 2)
	}
	gm, err := tracer.SymbolicTrace(f)
	require.NoError(t, err)
	code, err := gm.Code()
	require.NoError(t, err)
	assert.Contains(t, code, "max_pool1d_with_indices = torch.nn.functional.max_pool1d_with_indices(x, 2, stride = None, padding = 0, dilation = 1, ceil_mode = False, return_indices = False)")
	x := torch.Rand(1, 1, 6)
	want, err := torch.Try(func() *torch.Tensor { return f(x) })
	require.NoError(t, err)
	have, err := interpreter.New(gm).Run(t.Context(), x)
	require.NoError(t, err)
	same, err := torch.Equal(want, have.(*torch.Tensor))
	require.NoError(t, err)
	assert.True(t, same)
}

func TestCallsRefuse(t *testing.T) {
	testenv.Libtorch(t)
	x := torch.Ones(2, 2)
	tests := []struct {
		name     string
		function string
		args     []any
		kw       []torch.Kwarg
		is       error
		want     string
	}{
		{"no such function", "reloo", []any{x}, nil, ir.ErrUnsupported, "no function torch.nn.functional.reloo"},
		{"missing", "threshold", []any{x}, nil, ir.ErrType, "missing 2 required positional arguments: 'threshold' and 'value'"},
		{"unknown keyword", "relu", []any{x}, []torch.Kwarg{torch.Kw("inplac", true)}, ir.ErrType, "unexpected keyword argument 'inplac'"},
		{"given twice", "relu", []any{x, true}, []torch.Kwarg{torch.Kw("inplace", true)}, ir.ErrType, "multiple values for argument 'inplace'"},
		{"too many", "tanhshrink", []any{x, 1}, nil, ir.ErrType, "takes 1 positional argument but 2 were given"},
		{"type", "relu", []any{3}, nil, ir.ErrType, "argument 'input' (position 1) must be Tensor, not int"},
		{"kind of tensor", "dropout1d", []any{"x"}, nil, ir.ErrAttribute, "'str' object has no attribute 'dim'"},
		{"probability", "dropout", []any{x, 2.0}, nil, ir.ErrValue, "dropout probability has to be between 0 and 1, but got 2.0"},
		{"interpolate mode", "interpolate", []any{x.Unsqueeze(0)}, []torch.Kwarg{torch.Kw("size", 3), torch.Kw("mode", "bilinear")}, ir.ErrNotImplemented, "Got 3D input, but bilinear mode needs 4D input"},
		{"unpool size", "max_unpool1d", []any{x.Unsqueeze(0), x.Unsqueeze(0), 2}, []torch.Kwarg{torch.Kw("output_size", []int{9})}, ir.ErrValue, "invalid output_size"},
		{"heads", "multi_head_attention_forward", []any{x, x, x, 2, 3, x, nil, nil, nil, false, 0.0, x, nil}, nil, ir.ErrAssertion, "embed_dim 2 not divisible by num_heads 3"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			before, _ := torch.LiveTensors()
			_, err := torch.Try(func() any { return functional.Call(tc.function, tc.args, tc.kw) })
			require.ErrorIs(t, err, tc.is)
			assert.ErrorContains(t, err, tc.want)
			after, _ := torch.LiveTensors()
			assert.LessOrEqual(t, after, before, "a failed call leaves nothing open")
		})
	}
}
