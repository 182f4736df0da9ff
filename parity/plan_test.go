package parity

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	torchfx "github.com/torchfx-go/torchfx"
	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// A compiled program gives the bits of the interpreted one, in the first run of
// its shapes, in those that write to planned memory, and after a change of shapes.
func TestPlansOfRecordedProgramsGiveTheSameBits(t *testing.T) {
	eachProgram(t, comparePlan)
}

// eachProgram is for all recorded programs, with the library of their operators.
func eachProgram(t *testing.T, compare func(*testing.T, *Case)) {
	testenv.Libtorch(t)
	require.NoError(t, libtorch.OpenLibrary(testenv.FixtureOperators(t)))
	root := testenv.Fixtures(t, "pt2")
	dirs, err := filepath.Glob(filepath.Join(root, "*", "*"))
	require.NoError(t, err)
	require.NotEmpty(t, dirs)
	for _, dir := range dirs {
		if _, err := os.Stat(filepath.Join(dir, "model.pt2")); err != nil {
			continue
		}
		name, err := filepath.Rel(root, dir)
		require.NoError(t, err)
		t.Run(name, func(t *testing.T) {
			meta, err := readMeta(dir)
			require.NoError(t, err)
			compare(t, &Case{Dir: dir, meta: meta})
		})
	}
}

func comparePlan(t *testing.T, c *Case) {
	interpreted, err := c.load()
	if err != nil {
		require.ErrorIs(t, err, ir.ErrUnsupported)
		require.NotNil(t, customOperators(c.meta.Note, err.Error()), "refused for no operator of a library: %v", err)
		return
	}
	defer interpreted.Close()
	compiled, err := c.load()
	require.NoError(t, err)
	defer compiled.Close()
	plan, err := compiled.Compile()
	require.NoError(t, err)
	defer plan.Close()
	for round := range 3 {
		for k, set := range c.meta.Sets {
			for again := range 2 {
				want, wantInputs, wantErr := c.runOnce(t, set, interpreted.RunFlat)
				got, gotInputs, gotErr := c.runOnce(t, set, plan.RunFlat)
				if wantErr != nil {
					require.Error(t, gotErr)
					assert.Equal(t, wantErr.Error(), gotErr.Error())
					continue
				}
				require.NoError(t, gotErr, "set %d", k)
				sameBits(t, want, got)
				sameBits(t, wantInputs, gotInputs)
				sameState(t, interpreted, compiled)
				closeValues(want)
				closeValues(got)
				closeValues(wantInputs)
				closeValues(gotInputs)
				if t.Failed() {
					t.Fatalf("set %d, round %d, run %d", k, round, again)
				}
			}
		}
	}
}

func (c *Case) runOnce(t *testing.T, set inputSet, run func(context.Context, []any) ([]any, error)) (out, inputs []any, err error) {
	t.Helper()
	inputs, err = c.inputs(set.Files.Inputs, set.Inputs)
	require.NoError(t, err)
	seed := uint64(0)
	if set.Seed != nil {
		seed = *set.Seed
	}
	unlock, err := seeded(&seed)
	require.NoError(t, err)
	defer unlock()
	out, err = run(t.Context(), inputs)
	return out, inputs, err
}

func sameState(t *testing.T, a, b *torchfx.Program) {
	t.Helper()
	sameBits(t, stateOf(a), stateOf(b))
}

func stateOf(p *torchfx.Program) (tensors []any) {
	for _, s := range p.State() {
		tensors = append(tensors, s)
	}
	return tensors
}

// sameBits compares values: types, dtypes, shapes, strides and bytes.
func sameBits(t *testing.T, want, got any) {
	t.Helper()
	switch want := want.(type) {
	case []any:
		list, ok := got.([]any)
		require.True(t, ok && len(list) == len(want), "expected %d values, got %v", len(want), got)
		for i := range want {
			sameBits(t, want[i], list[i])
		}
	case *torch.Tensor:
		x, ok := got.(*torch.Tensor)
		require.True(t, ok, "expected a tensor, got %T", got)
		require.Equal(t, torch.Describe(want), torch.Describe(x))
		require.Equal(t, want.Strides(), x.Strides())
		a, errA := want.Bytes()
		b, errB := x.Bytes()
		require.Equal(t, errA, errB)
		require.Equal(t, a, b)
	case float64:
		x, ok := got.(float64)
		require.True(t, ok)
		require.Equal(t, math.Float64bits(want), math.Float64bits(x))
	default:
		require.Equal(t, want, got)
	}
}
