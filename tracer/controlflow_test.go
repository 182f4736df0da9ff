package tracer_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/operator"
	torch "github.com/torchfx-go/torchfx/torchops"
	"github.com/torchfx-go/torchfx/tracer"
)

// Conditions of Go on what only a run knows are the control flow of Python's
// documentation, whatever the question; the error names the line.
func TestConditionsAreControlFlow(t *testing.T) {
	tests := map[string]func(x *torch.Tensor) bool{
		"comparison":      func(x *torch.Tensor) bool { return operator.Gt(x.Sum(), 0).Bool() },
		"dim":             func(x *torch.Tensor) bool { return x.Dim() == 2 },
		"shape":           func(x *torch.Tensor) bool { return x.Shape()[0] == 2 },
		"size":            func(x *torch.Tensor) bool { return x.Size(0).Int() == 2 },
		"numel":           func(x *torch.Tensor) bool { return x.Numel() > 1 },
		"strides":         func(x *torch.Tensor) bool { return x.Strides()[0] == 1 },
		"dtype":           func(x *torch.Tensor) bool { return x.DType() == ir.Float32 },
		"device":          func(x *torch.Tensor) bool { return x.Device().Kind() == ir.DeviceCUDA },
		"requires_grad":   func(x *torch.Tensor) bool { return x.RequiresGrad() },
		"of a result":     func(x *torch.Tensor) bool { return torch.Relu(x).Dim() == 2 },
		"of an attribute": func(x *torch.Tensor) bool { return x.Value().Attr("ndim").Bool() },
		"element": func(x *torch.Tensor) bool {
			v, err := x.Item()
			if err != nil {
				panic(err)
			}
			return v == 1.0
		},
	}
	for name, condition := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := tracer.SymbolicTrace(func(x *torch.Tensor) *torch.Tensor {
				if condition(x) {
					return torch.Neg(x)
				}
				return x
			})
			require.ErrorIs(t, err, ir.ErrTrace)
			require.ErrorContains(t, err, "symbolically traced variables cannot be used as inputs to control flow")
			var e *tracer.Error
			require.ErrorAs(t, err, &e)
			assert.Regexp(t, `^controlflow_test\.go:\d+$`, e.Source)
		})
	}
}
