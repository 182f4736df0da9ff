package export

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/ir"
)

func tensor(dtype ir.DType, shape ...int) fakeTensor { return fakeTensor{shape, dtype} }

func TestGuardMessages(t *testing.T) {
	f32, i64 := ir.Float32, ir.Int64
	tests := []struct {
		name, program string
		leaves        []any
		want          string // "" passes
	}{
		{"as exported", "linear.pt2", []any{tensor(f32, 4, 3)}, ""},
		{"one below the lower bound, as Python lets pass", "linear.pt2", []any{tensor(f32, 1, 3)}, ""},
		{"too large", "linear.pt2", []any{tensor(f32, 65, 3)}, "x: dimension 0 is 65, expected at most 64"},
		{"another static size", "linear.pt2", []any{tensor(f32, 4, 5)}, "x: dimension 1 is 5, expected 3"},
		{"another rank", "linear.pt2", []any{tensor(f32, 4)}, "x: expected 2 dimensions, got 1"},
		{"another dtype", "linear.pt2", []any{tensor(i64, 4, 3)}, "x: expected dtype torch.float32, got torch.int64"},
		{"no tensor", "linear.pt2", []any{3}, "x: expected a tensor, got int"},
		{"None", "linear.pt2", []any{nil}, "x: expected a tensor, got None"},
		{"a list", "linear.pt2", []any{[]any{1.0}}, "x: expected a tensor, got a list"},
		{"too many", "linear.pt2", []any{1, 2}, "inputs: expected 1 (x), got 2"},
		{"two faults", "linear.pt2", []any{tensor(i64, 65, 5)},
			"x: expected dtype torch.float32, got torch.int64\nx: dimension 0 is 65, expected at most 64\nx: dimension 1 is 5, expected 3"},

		{"hidden dimension", "derived.pt2", []any{tensor(f32, 8), tensor(i64, 5), int64(3), nil}, ""},
		{"another value of it", "derived.pt2", []any{tensor(f32, 12), tensor(i64, 7), 3, nil}, ""},
		{"not divisible", "derived.pt2", []any{tensor(f32, 9), tensor(i64, 5), 3, nil}, "d['p'][0]: dimension 0 is 9, expected a number of the form 2*s39"},
		{"they disagree", "derived.pt2", []any{tensor(f32, 8), tensor(i64, 6), 3, nil}, "d['q']: dimension 0 is 6, expected s39 + 1 = 5"},
		{"too small", "derived.pt2", []any{tensor(f32, 2), tensor(i64, 2), 3, nil},
			"d['p'][0]: dimension 0 is 2, expected at least 4\nd['q']: dimension 0 is 2, expected at least 3"},
		{"another number", "derived.pt2", []any{tensor(f32, 8), tensor(i64, 5), 4, nil}, "n: expected 3, as it was exported, got 4"},
		{"an equal float", "derived.pt2", []any{tensor(f32, 8), tensor(i64, 5), 3.0, nil}, ""},
		{"a bool", "derived.pt2", []any{tensor(f32, 8), tensor(i64, 5), true, nil}, "n: expected 3, as it was exported, got True"},
		{"a string", "derived.pt2", []any{tensor(f32, 8), tensor(i64, 5), "3", nil}, `n: expected 3, as it was exported, got "3"`},
		{"a tensor for None", "derived.pt2", []any{tensor(f32, 8), tensor(i64, 5), 3, tensor(f32)}, "nothing: expected None, as it was exported, got a tensor"},
	}
	for _, tc := range tests {
		t.Run(tc.program+", "+tc.name, func(t *testing.T) {
			err := openProgram(t, tc.program).Guards.Check(tc.leaves)
			if tc.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, ir.ErrInput)
			text := err.Error()
			if tc.program == "derived.pt2" { // the number in a symbol's name is PyTorch's hash
				for symbol := range openProgram(t, tc.program).Guards.symbols {
					text = strings.ReplaceAll(text, symbol, "s39")
				}
			}
			assert.Equal(t, tc.want, text)
		})
	}
}

// TestGuardsCanBeSwitched: the checks that Python does not make are a choice.
func TestGuardsCanBeSwitched(t *testing.T) {
	linear, derived := openProgram(t, "linear.pt2").Guards, openProgram(t, "derived.pt2").Guards
	f32, i64 := ir.Float32, ir.Int64
	tests := []struct {
		check  Checks
		guards *Guards
		leaves []any
	}{
		{CheckDTypes, linear, []any{tensor(i64, 4, 3)}},
		{CheckLowerBounds, linear, []any{tensor(f32, 1, 3)}},
		{CheckNone, derived, []any{tensor(f32, 8), tensor(i64, 5), 3, tensor(f32)}},
		{CheckDerived, derived, []any{tensor(f32, 9), tensor(i64, 5), 3, nil}},
	}
	for _, tc := range tests {
		assert.ErrorIs(t, tc.guards.With(tc.check).Check(tc.leaves), ir.ErrInput, tc.check)
		assert.NoError(t, tc.guards.Without(tc.check).Check(tc.leaves), tc.check)
	}
}

// TestGuardsCode: conditions that the file spells out.
func TestGuardsCode(t *testing.T) {
	a := takeApart(t, "derived.pt2")
	a.program(func(o object) {
		o["guards_code"] = list{
			"L['d']['p'][0].size()[0] % 4 == 0", "L['flat_args'][1].size()[0] >= 5 and L['n'] == 3",
			"__import__('os').system('true') == 0", "L['ghost'].size()[0] == 1", "L['d']['q'].stride()[0] == 1",
		}
	})
	p, err := a.open()
	require.NoError(t, err)
	assert.Len(t, p.Warnings, 3, p.Warnings)
	assert.Len(t, p.GuardsCode, 5)
	require.NoError(t, p.Guards.Check([]any{tensor(ir.Float32, 8), tensor(ir.Int64, 5), 3, nil}))
	err = p.Guards.Check([]any{tensor(ir.Float32, 10), tensor(ir.Int64, 6), 3, nil})
	require.ErrorIs(t, err, ir.ErrInput)
	assert.EqualError(t, err, "inputs: expected L['d']['p'][0].size()[0] % 4 == 0, got d['p'][0]: dimension 0 is 10")
}

// recordedInput is a flat input of a recorded case.
type recordedInput struct {
	Kind  string
	DType string
	Shape []int
	Value any
}

func (r recordedInput) value(t *testing.T) any {
	switch r.Kind {
	case "tensor":
		d, err := ir.ParseDType(r.DType)
		require.NoError(t, err)
		return tensor(d, r.Shape...)
	case "none":
		return nil
	case "int":
		return int64(r.Value.(float64))
	}
	return r.Value
}

// TestGuardsAgreeWithRecordedInputs: what PyTorch ran passes, what it refused is
// refused.
func TestGuardsAgreeWithRecordedInputs(t *testing.T) {
	dir := fixtures(t, "pt2/2.15.0")
	passed, refused := 0, 0
	for _, name := range cases(t, dir) {
		if missing[name] != nil {
			continue
		}
		var meta struct {
			Sets, Reject []struct{ Inputs []recordedInput }
		}
		readJSON(t, filepath.Join(dir, name, "meta.json"), &meta)
		p := openFixture(t, name)
		leaves := func(in []recordedInput) []any {
			out := make([]any, len(in))
			for i := range in {
				out[i] = in[i].value(t)
			}
			return out
		}
		for i, set := range meta.Sets {
			assert.NoError(t, p.Guards.Check(leaves(set.Inputs)), "%s, set %d", name, i)
			passed++
		}
		for i, set := range meta.Reject {
			assert.ErrorIs(t, p.Guards.Check(leaves(set.Inputs)), ir.ErrInput, "%s, reject %d", name, i)
			refused++
		}
	}
	t.Logf("%d input sets passed, %d refused", passed, refused)
	assert.Greater(t, passed, 90)
	assert.GreaterOrEqual(t, refused, 5)
}

func BenchmarkGuards(b *testing.B) {
	g := openProgram(b, "linear.pt2").Guards
	leaves := []any{tensor(ir.Float32, 4, 3)}
	b.ReportAllocs()
	for b.Loop() {
		if err := g.Check(leaves); err != nil {
			b.Fatal(err)
		}
	}
}
