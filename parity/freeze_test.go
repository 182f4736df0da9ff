package parity

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/passes"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// A frozen program computes what the recorded one does, to the bit where no rewrite
// with a tolerance was made and within the tolerance otherwise: results with their
// strides, what it writes into its inputs and its state, and what it refuses. Packed
// kernels are taken wherever there are some, measured to be faster or not.
func TestFrozenRecordedPrograms(t *testing.T) {
	applied := map[string]int{}
	eachProgram(t, func(t *testing.T, c *Case) { compareFrozen(t, c, applied, passes.FreezeDelegate(nil)) })
	for _, name := range []string{"functional", "fold-constants", "drop-identities", "fold-batch-norm", "pack-lstms", "pack-convolutions", "pack-linears"} {
		require.Positive(t, applied[name], "no recorded program is rewritten by %s", name)
	}
	for _, r := range passes.Rewrites() {
		t.Logf("%s: %d places", r.Name, applied[r.Name])
	}
}

// Regions that oneDNN computes give the results of all recorded programs, too.
func TestDelegatedPrograms(t *testing.T) {
	testenv.Delegate(t)
	applied := map[string]int{}
	eachProgram(t, func(t *testing.T, c *Case) { compareFrozen(t, c, applied) })
	t.Logf("delegate: %d regions", applied["delegate"])
	require.Positive(t, applied["delegate"])
}

func compareFrozen(t *testing.T, c *Case, applied map[string]int, opts ...passes.FreezeOption) {
	plain, err := c.load()
	if err != nil {
		require.ErrorIs(t, err, ir.ErrUnsupported)
		require.NotNil(t, customOperators(c.meta.Note, err.Error()), "refused for no operator of a library: %v", err)
		return
	}
	defer plain.Close()
	p, err := c.load()
	require.NoError(t, err)
	defer p.Close()
	frozen, err := passes.Freeze(t.Context(), p.Module(), append(opts, passes.WithChoices(passes.Unmeasured()))...)
	require.NoError(t, err)
	defer frozen.Close()
	for _, a := range frozen.Report.Applied {
		applied[a.Rewrite]++
	}
	plan, err := interpreter.Compile(frozen.Module)
	require.NoError(t, err)
	defer plan.Close()
	tolerance := frozen.Report.Tolerance()
	for k, set := range c.meta.Sets {
		for round := range 3 {
			want, wantInputs, wantErr := c.runOnce(t, set, plain.RunFlat)
			got, gotInputs, gotErr := c.runOnce(t, set, plan.RunFlat)
			if wantErr != nil {
				require.Error(t, gotErr)
				continue
			}
			require.NoError(t, gotErr, "set %d", k)
			near(t, tolerance, want, got)
			near(t, tolerance, wantInputs, gotInputs)
			for _, values := range [][]any{want, got, wantInputs, gotInputs} {
				closeValues(values)
			}
			if t.Failed() {
				t.Fatalf("set %d, round %d\n%s", k, round, frozen.Report)
			}
		}
	}
	near(t, tolerance, stateOf(plain), stateOf(p))
}

// near compares values: types, dtypes, shapes, strides, and elements within a part of
// the largest magnitude among them; to the bit for no tolerance.
func near(t *testing.T, tolerance float64, want, got any) {
	t.Helper()
	if tolerance == 0 {
		sameBits(t, want, got)
		return
	}
	switch want := want.(type) {
	case []any:
		list, ok := got.([]any)
		require.True(t, ok && len(list) == len(want), "expected %d values, got %v", len(want), got)
		for i := range want {
			near(t, tolerance, want[i], list[i])
		}
	case *torch.Tensor:
		x, ok := got.(*torch.Tensor)
		require.True(t, ok, "expected a tensor, got %T", got)
		require.Equal(t, torch.Describe(want), torch.Describe(x))
		require.Equal(t, want.Strides(), x.Strides())
		if !want.DType().IsFloat() {
			sameBits(t, want, got)
			return
		}
		scale := 0.0
		if want.Numel() > 0 {
			largest, err := torch.Max(torch.Abs(torch.NanToNum(want, 0, 0, 0))).Item()
			require.NoError(t, err)
			scale = largest.(float64)
		}
		close, err := torch.Call("aten::allclose", x, want, 0.0, tolerance*scale, true)
		require.NoError(t, err)
		require.Equal(t, true, close, "expected %s\ngot %s\nwithin %g of %g", want, x, tolerance, scale)
	default:
		require.Equal(t, want, got)
	}
}
