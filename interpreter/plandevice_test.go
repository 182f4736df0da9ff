package interpreter_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
)

// What of plans on devices needs none; the rest is in internal/devicetest.
func TestPlanDeviceSaysWhatItCannot(t *testing.T) {
	needLibtorch(t)
	gm := rectifier(t)
	cuda := ir.NewDevice(ir.DeviceCUDA, -1)
	tests := []struct {
		name  string
		opts  []interpreter.PlanOption
		class *ir.Class
		want  string
	}{
		{"captures without a device", []interpreter.PlanOption{interpreter.PlanCaptures(1)}, ir.ErrValue, "compile: PlanHostResults and PlanCaptures: expected PlanDevice beside them"},
		{"host results without a device", []interpreter.PlanOption{interpreter.PlanHostResults()}, ir.ErrValue, "compile: PlanHostResults and PlanCaptures: expected PlanDevice beside them"},
		{"fewer than no captures", []interpreter.PlanOption{interpreter.PlanDevice(cuda), interpreter.PlanCaptures(-1)}, ir.ErrValue, "compile: expected 0 to 256 captures, got -1"},
		{"too many captures", []interpreter.PlanOption{interpreter.PlanDevice(cuda), interpreter.PlanCaptures(257)}, ir.ErrValue, "compile: expected 0 to 256 captures, got 257"},
		{"meta", []interpreter.PlanOption{interpreter.PlanDevice(ir.NewDevice(ir.DeviceMeta, -1))}, ir.ErrValue, "compile: expected a device that computes, got meta"},
		{"gradients", []interpreter.PlanOption{interpreter.PlanDevice(cuda), interpreter.WithMode(libtorch.Mode{Grad: true})}, ir.ErrUnsupported, "compile: expected no gradients of a plan on cuda"},
		{"a stream", []interpreter.PlanOption{interpreter.PlanDevice(cuda), interpreter.WithMode(libtorch.Mode{Stream: new(libtorch.Stream)})}, ir.ErrValue,
			"compile: expected a mode without a stream: a plan on a device chooses its own"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			_, err := interpreter.Compile(gm, tc.opts...)
			require.ErrorIs(t, err, tc.class)
			require.EqualError(t, err, tc.want)
		})
	}
	t.Run("no device", func(t *testing.T) {
		n, err := libtorch.DeviceCount(ir.DeviceCUDA)
		require.NoError(t, err)
		if n > 0 {
			t.Skip("there is a CUDA device")
		}
		_, err = interpreter.Compile(gm, interpreter.PlanDevice(cuda))
		require.ErrorIs(t, err, ir.ErrMissing)
		require.ErrorContains(t, err, "device cuda:0: no CUDA: ")
	})
}

// The CPU is where plans run without a device.
func TestPlanDeviceOfTheCPU(t *testing.T) {
	needLibtorch(t)
	p := compile(t, rectifier(t), interpreter.PlanDevice(ir.Device{}), interpreter.PlanHostResults(), interpreter.PlanCaptures(2))
	x := tensor(t, []float32{-1, 2}, 2)
	leavesNothing(t, func() any {
		require.NoError(t, p.Warmup(t.Context(), x))
		return nil
	})
	out, err := p.Run(t.Context(), x)
	require.NoError(t, err)
	assert.Equal(t, []float32{0, 2}, elements(t, out))
	closeResult(out)
	classes, why, err := p.Captures(t.Context())
	require.NoError(t, err)
	assert.Empty(t, classes)
	assert.Equal(t, "the plan is not on a device", why)
}

func rectifier(t *testing.T) *ir.GraphModule {
	t.Helper()
	g, err := ir.ParseCode("def forward(self, x):\n    relu = torch.ops.aten.relu.default(x)\n    return relu\n")
	require.NoError(t, err)
	return module(t, g, nil)
}
