package torchfx_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx"
	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/passes"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// TestWrongArguments gives executors of one program what callers give by mistake. Each
// error names the input, has its class, and leaves no tensor.
func TestWrongArguments(t *testing.T) {
	testenv.Libtorch(t)
	p, err := torchfx.Load(filepath.FromSlash(digits))
	require.NoError(t, err)
	defer p.Close()
	plan, err := p.Compile()
	require.NoError(t, err)
	defer plan.Close()
	x, closed := torch.Ones([]int{2, 1, 8, 8}), torch.Ones([]int{2, 1, 8, 8})
	defer x.Close()
	require.NoError(t, closed.Close())
	var none *torch.Tensor
	runners := map[string]interface {
		Run(ctx context.Context, args ...any) (any, error)
	}{"Program": p, "Plan": plan, "Interpreter": interpreter.New(p.Module())}
	for name, r := range runners {
		t.Run(name, func(t *testing.T) {
			before, _ := libtorch.LiveTensors()
			_, err := r.Run(t.Context(), closed)
			require.ErrorIs(t, err, ir.ErrClosed)
			assert.EqualError(t, err, "image: expected an open tensor, got one that is closed")
			_, err = r.Run(t.Context(), none)
			require.ErrorIs(t, err, ir.ErrInput)
			assert.EqualError(t, err, "image: expected a tensor, got a nil *torchops.Tensor")
			_, err = r.Run(nil, x) //nolint:staticcheck // the mistake
			require.ErrorIs(t, err, ir.ErrInput)
			assert.EqualError(t, err, "run: expected a context, got nil")
			after, _ := libtorch.LiveTensors()
			assert.Equal(t, before, after)
		})
	}
}

// TestRefusedFreezeLeavesTheProgram freezes with what is refused before anything is rewritten.
func TestRefusedFreezeLeavesTheProgram(t *testing.T) {
	testenv.Libtorch(t)
	p, err := torchfx.Load(filepath.FromSlash(digits))
	require.NoError(t, err)
	defer p.Close()
	_, err = p.Freeze(nil) //nolint:staticcheck // the mistake
	require.ErrorIs(t, err, ir.ErrInput)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = p.Freeze(over)
	require.ErrorIs(t, err, ir.ErrCancelled)
	_, err = p.Freeze(t.Context(), passes.OnlyRewrites("nope"))
	require.ErrorIs(t, err, ir.ErrKey)
	plan, err := p.Compile()
	require.NoError(t, err)
	require.NoError(t, plan.Close())
}

// TestNothingInsteadOf gives nil for modules and contexts, and closes what was not made.
func TestNothingInsteadOf(t *testing.T) {
	_, err := torchfx.Compile(nil)
	require.ErrorIs(t, err, ir.ErrInput)
	assert.EqualError(t, err, "compile: expected a graph module, got nil")
	_, err = torchfx.ReplacePattern(nil, "def f(x):\n    return x", "def f(x):\n    return x")
	require.ErrorIs(t, err, ir.ErrInput)
	assert.EqualError(t, err, "replace: expected a graph module, got nil")
	_, err = passes.Freeze(t.Context(), nil)
	require.ErrorIs(t, err, ir.ErrInput)
	assert.EqualError(t, err, "freeze: expected a graph module, got nil")

	_, err = interpreter.New(nil).Run(t.Context())
	require.ErrorIs(t, err, ir.ErrInput)
	assert.EqualError(t, err, "run: expected a graph module, got nil")

	var program *torchfx.Program
	require.NoError(t, program.Close())
	var plan *interpreter.Plan
	require.NoError(t, plan.Close())

	testenv.Libtorch(t)
	gm, err := ir.NewGraphModule(nil, ir.NewGraph())
	require.NoError(t, err)
	_, err = torchfx.Compile(gm, interpreter.PlanDevice(ir.NewDevice(99, 0)))
	require.Error(t, err)
	assert.ErrorContains(t, err, "device kind 99:0")
}
