package parity

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/internal/devicetest"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// Recorded programs compute on a device what they compute on the CPU: step by step,
// and captured where they can be.
func TestPlansOfRecordedProgramsOnADevice(t *testing.T) {
	if devicetest.Apart(t) {
		return
	}
	d := devicetest.Open(t)
	captured := 0
	eachProgram(t, func(t *testing.T, c *Case) { captured += compareOnDevice(t, c, d) })
	if d.Graphs {
		t.Logf("%d of them captured", captured)
		assert.Positive(t, captured, "programs that are captured")
	}
}

func compareOnDevice(t *testing.T, c *Case, d devicetest.Device) (captured int) {
	onCPU, err := c.load()
	if err != nil {
		require.ErrorIs(t, err, ir.ErrUnsupported)
		return 0
	}
	defer onCPU.Close()
	if why := notOnDevice(c, d); why != "" {
		t.Skip(why)
	}
	loaded, err := c.load()
	require.NoError(t, err)
	defer loaded.Close()
	plan, err := loaded.Compile(interpreter.PlanDevice(d.Device), interpreter.PlanHostResults(), interpreter.PlanCaptures(4))
	require.NoError(t, err)
	defer plan.Close()
	tolerance := deviceTolerance
	if d.Standin {
		// Its kernels are the CPU's; only attention and norms, which PyTorch takes apart for
		// an unknown device, round in another order.
		tolerance = 2e-6
	}
	for _, set := range c.meta.Sets {
		// All runs on one worker, whose random numbers and buffers go on.
		for again := range 6 {
			want, wantInputs, wantErr := c.runOnce(t, set, onCPU.RunFlat)
			got, gotInputs, gotErr := c.runOnce(t, set, plan.RunFlat)
			if wantErr != nil {
				require.Error(t, gotErr)
				continue
			}
			if d.Standin && gotErr != nil && strings.Contains(gotErr.Error(), "Autocast") {
				t.Skip("the stand-in knows no autocast")
			}
			require.NoError(t, gotErr, "run %d", again)
			near(t, tolerance, dense(t, want), dense(t, got))
			near(t, tolerance, dense(t, wantInputs), dense(t, gotInputs))
			for _, v := range [][]any{want, got, wantInputs, gotInputs} {
				closeValues(v)
			}
			if t.Failed() {
				t.FailNow()
			}
		}
	}
	classes, _, err := plan.Captures(context.Background())
	require.NoError(t, err)
	for _, class := range classes {
		if class.State == libtorch.GraphCaptured {
			return 1
		}
		t.Logf("not captured: %s", class.Why)
	}
	return 0
}

// deviceTolerance is how far a GPU may be from the CPU, relative to the largest element
// of a result: PyTorch lets cuDNN round the factors of convolutions to TF32, ten bits,
// and kernels add in other orders, over some hundred layers.
const deviceTolerance = 5e-3

// dense is a value whose tensors lie without gaps, as a result does that was copied to
// the host.
func dense(t *testing.T, v any) any {
	t.Helper()
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = dense(t, v[i])
		}
		return out
	case *torch.Tensor:
		x, err := torch.Try(func() *torch.Tensor { return v.Contiguous() })
		require.NoError(t, err)
		t.Cleanup(func() { _ = x.Close() })
		return x
	}
	return v
}

// notOnDevice says why the results of a program on a device say nothing.
func notOnDevice(c *Case, d devicetest.Device) string {
	if strings.Contains(c.meta.Note, "fixtures::") {
		return "its operators are a library's, for the CPU"
	}
	if strings.Contains(filepath.Base(c.Dir), "autocast") && !d.Standin {
		return "autocast computes in another dtype there"
	}
	for _, set := range c.meta.Sets {
		if set.Seed != nil && !d.Standin {
			return "its random numbers are the device's own"
		}
	}
	return ""
}
