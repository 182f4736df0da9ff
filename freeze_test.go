package torchfx_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx"
	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/passes"
	torch "github.com/torchfx-go/torchfx/torchops"
)

const digits = "examples/digits/testdata/digits.pt2"

// A frozen program computes the same within its tolerance, also after Reset, and keeps
// the state that it reads, no other.
func TestProgramFreeze(t *testing.T) {
	t.Run("by libtorch", func(t *testing.T) {
		testenv.Libtorch(t)
		programFreezes(t, "pack-convolutions", passes.FreezeDelegate(nil))
	})
	t.Run("by oneDNN", func(t *testing.T) {
		testenv.Delegate(t)
		programFreezes(t, "delegate")
	})
}

func programFreezes(t *testing.T, rewrite string, opts ...passes.FreezeOption) {
	p, err := torchfx.Load(filepath.FromSlash(digits))
	require.NoError(t, err)
	defer p.Close()
	x := torch.Ones([]int{2, 1, 8, 8})
	defer x.Close()
	run := func() *torch.Tensor {
		y, err := p.Run(t.Context(), x)
		require.NoError(t, err)
		return y.(*torch.Tensor)
	}
	want := run()
	defer want.Close()
	states := 0
	for range p.State() {
		states++
	}
	report, err := p.Freeze(t.Context(), append(opts, passes.WithChoices(passes.Unmeasured()))...)
	require.NoError(t, err)
	require.Positive(t, report.Count(rewrite), "%s", report)
	same := func(y *torch.Tensor) {
		defer y.Close()
		ok, err := torch.Call("aten::allclose", y, want, report.Tolerance(), report.Tolerance())
		require.NoError(t, err)
		assert.Equal(t, true, ok)
	}
	same(run())
	left := 0
	for name, s := range p.State() {
		left++
		assert.NotEmpty(t, s.Shape(), name)
	}
	assert.Less(t, left, states)

	require.NoError(t, p.Reset())
	same(run())
	_, err = p.Freeze(t.Context(), opts...)
	require.NoError(t, err, "a second time")
	plan, err := p.Compile()
	require.NoError(t, err)
	defer plan.Close()
	require.NoError(t, p.Close())
	y, err := plan.Run(t.Context(), x)
	require.NoError(t, err, "a plan has handles of its own")
	same(y.(*torch.Tensor))
	none := torch.Ones([]int{0, 1, 8, 8}) // which a region has no kernels for
	defer none.Close()
	y, err = plan.Run(t.Context(), none)
	require.NoError(t, err, "what Go runs included")
	assert.Equal(t, []int{0, 10}, y.(*torch.Tensor).Shape())
	require.NoError(t, y.(*torch.Tensor).Close())

	_, err = p.Freeze(t.Context())
	require.ErrorIs(t, err, ir.ErrClosed)
	shown, err := torchfx.Load(filepath.FromSlash(digits), torchfx.GraphOnly())
	require.NoError(t, err)
	defer shown.Close()
	_, err = shown.Freeze(t.Context())
	require.ErrorIs(t, err, ir.ErrUnsupported)
}

// A program of which oneDNN computes regions is saved as what it was, and loads again.
func TestSaveDelegated(t *testing.T) {
	testenv.Delegate(t)
	p, err := torchfx.Load(filepath.FromSlash(digits))
	require.NoError(t, err)
	defer p.Close()
	x := torch.Ones([]int{2, 1, 8, 8})
	defer x.Close()
	want, err := p.Run(t.Context(), x)
	require.NoError(t, err)
	defer want.(*torch.Tensor).Close()
	report, err := p.Freeze(t.Context(), passes.WithChoices(passes.Unmeasured()))
	require.NoError(t, err)
	require.Positive(t, report.Count("delegate"))
	require.Zero(t, report.Count("pack-convolutions")+report.Count("pack-linears"), "%s", report)
	path := filepath.Join(t.TempDir(), "saved.pt2")
	require.NoError(t, p.Save(path))
	again, err := torchfx.Load(path)
	require.NoError(t, err)
	defer again.Close()
	got, err := again.Run(t.Context(), x)
	require.NoError(t, err)
	defer got.(*torch.Tensor).Close()
	same, err := torch.Call("aten::allclose", got, want, 1e-6, 1e-6)
	require.NoError(t, err)
	assert.Equal(t, true, same)
}

func ExampleProgram_Freeze() {
	p, err := torchfx.Load(filepath.FromSlash(digits))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.Close()
	report, err := p.Freeze(context.Background(), passes.OnlyRewrites("fold-batch-norm"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(report)
	// Output:
	// fold-batch-norm: conv2d: batch_norm folded into it
	// fold-batch-norm: conv2d_1: batch_norm_1 folded into it
	// fold-batch-norm: conv2d_2: batch_norm_2 folded into it
	// fold-batch-norm: linear: batch_norm_3 folded into it
	// rewritten: 4, attributes dropped: 25, tolerance: 0.0001
}

// A deep copy of a frozen module outlives it, regions of a delegate included; the module
// itself, once it is closed, is refused by name.
func TestDeepCopyOutlivesFrozen(t *testing.T) {
	t.Run("by libtorch", func(t *testing.T) {
		testenv.Libtorch(t)
		copyOutlives(t, "convolution_pointwise", passes.FreezeDelegate(nil))
	})
	t.Run("by oneDNN", func(t *testing.T) {
		testenv.Delegate(t)
		copyOutlives(t, "onednn_0")
	})
}

func copyOutlives(t *testing.T, node string, opts ...passes.FreezeOption) {
	p, err := torchfx.Load(filepath.FromSlash(digits))
	require.NoError(t, err)
	defer p.Close()
	x := torch.Rand(2, 1, 8, 8)
	defer x.Close()
	frozen, err := passes.Freeze(t.Context(), p.Module(), append(opts, passes.WithChoices(passes.Unmeasured()))...)
	require.NoError(t, err)
	outcome, err := interpreter.New(frozen.Module).Run(t.Context(), x)
	require.NoError(t, err)
	want := outcome.(*torch.Tensor)
	defer want.Close()
	before := interpreter.New(frozen.Module)
	copied, err := torchfx.DeepCopy(frozen.Module)
	require.NoError(t, err)
	require.NoError(t, frozen.Close())

	for _, in := range []*interpreter.Interpreter{before, interpreter.New(frozen.Module)} {
		_, err = in.Run(t.Context(), x)
		require.ErrorIs(t, err, ir.ErrClosed)
		require.ErrorContains(t, err, node)
	}
	_, err = torchfx.DeepCopy(frozen.Module)
	require.ErrorIs(t, err, ir.ErrClosed)
	_, err = interpreter.Compile(frozen.Module)
	require.ErrorIs(t, err, ir.ErrClosed)

	require.NoError(t, p.Close())
	plan, err := interpreter.Compile(copied)
	require.NoError(t, err)
	defer plan.Close()
	none := torch.Ones([]int{0, 1, 8, 8}) // which the twin computes
	defer none.Close()
	for _, r := range []interface {
		Run(context.Context, ...any) (any, error)
	}{plan, plan, interpreter.New(copied)} {
		got, err := r.Run(t.Context(), x)
		require.NoError(t, err)
		same, err := torch.Equal(want, got.(*torch.Tensor))
		require.NoError(t, err)
		assert.True(t, same)
		require.NoError(t, got.(*torch.Tensor).Close())
		got, err = r.Run(t.Context(), none)
		require.NoError(t, err)
		assert.Equal(t, []int{0, 10}, got.(*torch.Tensor).Shape())
		require.NoError(t, got.(*torch.Tensor).Close())
	}
}

// A program may be asked for its module, run and compiled by others while it is frozen.
func TestProgramFreezesBesideOthers(t *testing.T) {
	testenv.Libtorch(t)
	p, err := torchfx.Load(filepath.FromSlash(digits))
	require.NoError(t, err)
	defer p.Close()
	x := torch.Ones([]int{2, 1, 8, 8})
	defer x.Close()
	before := p.Module()
	done := make(chan struct{})
	var others sync.WaitGroup
	for k := range 4 {
		others.Go(func() {
			for stop := false; !stop; {
				select {
				case <-done:
					stop = true
				default:
				}
				var out any
				var err error
				switch k {
				case 0:
					assert.NotNil(t, p.Module())
				case 1:
					var plan *interpreter.Plan
					if plan, err = p.Compile(); err == nil {
						out, err = plan.Run(t.Context(), x)
						assert.NoError(t, plan.Close())
					}
				default:
					out, err = p.Run(t.Context(), x)
				}
				if assert.NoError(t, err) && out != nil {
					assert.NoError(t, out.(*torch.Tensor).Close())
				}
			}
		})
	}
	_, err = p.Freeze(t.Context(), passes.WithChoices(passes.Unmeasured()))
	close(done)
	others.Wait()
	require.NoError(t, err)
	assert.NotSame(t, before, p.Module())
}
