package parity

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/export"
	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
)

func TestRecordedCases(t *testing.T) {
	testenv.Libtorch(t)
	for _, part := range []string{"pt2/2.15.0", "pt2-bad"} {
		t.Run(part, func(t *testing.T) {
			report, err := Run(t.Context(), []string{testenv.Fixtures(t, part)}, Options{})
			require.NoError(t, err)
			var text strings.Builder
			for _, r := range report.Results {
				if r.Status == Failed {
					require.NoError(t, WriteResult(&text, r))
				}
			}
			require.NoError(t, WriteReport(&text, report))
			assert.Zero(t, report.Count(Failed), text.String())
			assert.Zero(t, report.Count(Skipped), text.String())
			assert.NotZero(t, report.Count(Passed))
		})
	}
}

// A digitsCase is a case over the demo's program, with the first rows of its
// images, as a recorder would have written it.
type digitsCase struct {
	meta     map[string]any
	inputs   map[string]*export.Tensor
	expected map[string]*export.Tensor
}

const rows = 3

func newDigitsCase(t *testing.T) *digitsCase {
	testenv.Libtorch(t)
	f, err := export.OpenSafetensors(filepath.Join("..", "examples", "digits", "testdata", "digits.safetensors"))
	require.NoError(t, err)
	defer f.Close()
	first := func(key string, width int, sizes ...int64) *export.Tensor {
		whole, err := f.Tensor(key)
		require.NoError(t, err)
		data, err := whole.Bytes()
		require.NoError(t, err)
		return tensorOf(append([]byte(nil), data[:rows*width*4]...), append([]int64{rows}, sizes...)...)
	}
	c := &digitsCase{
		inputs:   map[string]*export.Tensor{"i0": first("images", 64, 1, 8, 8)},
		expected: map[string]*export.Tensor{"o0": first("outputs", 10, 10)},
	}
	c.meta = map[string]any{
		"case": "digits", "rtol": 1e-4, "atol": 1e-5, "compare": "allclose",
		"sets": []any{c.set()}, "reject": []any{},
	}
	return c
}

func (c *digitsCase) set() map[string]any {
	return map[string]any{
		"inputs":        []any{map[string]any{"kind": "tensor", "key": "i0", "dtype": "float32", "shape": []int{rows, 1, 8, 8}}},
		"outputs":       []any{map[string]any{"kind": "tensor", "key": "o0", "dtype": "float32", "shape": []int{rows, 10}}},
		"changed_state": []string{}, "changed_inputs": []int{},
		"files": map[string]string{"inputs": "inputs.0.safetensors", "expected": "expected.0.safetensors"},
	}
}

// tensorOf returns a float32 tensor of contiguous bytes.
func tensorOf(data []byte, sizes ...int64) *export.Tensor {
	t := &export.Tensor{Storage: export.NewStorage(data), DType: ir.Float32, Sizes: sizes, Strides: make([]int64, len(sizes))}
	step := int64(1)
	for i := len(sizes) - 1; i >= 0; i-- {
		t.Strides[i], step = step, step*sizes[i]
	}
	return t
}

// replay writes the case and replays it.
func (c *digitsCase) replay(t *testing.T) Result {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "digits")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	program, err := os.ReadFile(filepath.Join("..", "examples", "digits", "testdata", "digits.pt2"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "model.pt2"), program, 0o644))
	meta, err := json.Marshal(c.meta)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "meta.json"), meta, 0o644))
	writeTensors(t, filepath.Join(dir, "inputs.0.safetensors"), c.inputs, nil)
	writeTensors(t, filepath.Join(dir, "expected.0.safetensors"), c.expected, nil)
	report, err := Run(t.Context(), []string{dir}, Options{})
	require.NoError(t, err)
	require.Len(t, report.Results, 1)
	return report.Results[0]
}

func writeTensors(t *testing.T, name string, tensors map[string]*export.Tensor, metadata map[string]string) {
	t.Helper()
	f, err := os.Create(name)
	require.NoError(t, err)
	require.NoError(t, export.WriteSafetensors(f, tensors, metadata))
	require.NoError(t, f.Close())
}

func TestReplayPasses(t *testing.T) {
	c := newDigitsCase(t)
	r := c.replay(t)
	assert.Equal(t, Passed, r.Status, "%+v", r)
	assert.Equal(t, "1 set", r.Note)
}

// What is wrong with a case must be found, each kind of fault by its own check.
func TestReplayFindsFaults(t *testing.T) {
	output := func(c *digitsCase) map[string]any {
		return c.meta["sets"].([]any)[0].(map[string]any)["outputs"].([]any)[0].(map[string]any)
	}
	set := func(c *digitsCase) map[string]any { return c.meta["sets"].([]any)[0].(map[string]any) }
	tests := []struct {
		name   string
		change func(c *digitsCase)
		diffs  []string // value and problem
		faults string
	}{
		{"another value", func(c *digitsCase) {
			data := c.expected["o0"].Storage.Bytes()
			data[3] ^= 0x80 // the sign of the first output
		}, []string{"output 0: 1 of 30"}, ""},
		{"another dtype", func(c *digitsCase) { output(c)["dtype"] = "float64" },
			[]string{"output 0: dtype: expected float64, got float32"}, ""},
		{"other strides", func(c *digitsCase) { output(c)["strides"] = []int{1, rows} },
			[]string{"output 0: strides: expected [1 3], got [10 1]"}, ""},
		{"another kind", func(c *digitsCase) { set(c)["outputs"] = []any{map[string]any{"kind": "int", "value": 3}} },
			[]string{"output 0: expected int 3, got tensor"}, ""},
		{"too few outputs", func(c *digitsCase) { set(c)["outputs"] = []any{} },
			[]string{"outputs: expected 0 values, got 1"}, ""},
		{"a state that does not change", func(c *digitsCase) {
			set(c)["changed_state"] = []string{"bn1.running_mean"}
			c.expected["state:bn1.running_mean"] = tensorOf(make([]byte, 16*4), 16)
		}, []string{"state bn1.running_mean: 16 of 16"}, ""},
		{"an input that does not change", func(c *digitsCase) {
			set(c)["changed_inputs"] = []int{0}
			c.expected["input:0"] = tensorOf(make([]byte, rows*64*4), rows, 1, 8, 8)
		}, []string{"input 0: "}, ""},
		{"a set that is not refused", func(c *digitsCase) {
			c.meta["reject"] = []any{map[string]any{"why": "no reason", "file": "inputs.0.safetensors", "inputs": set(c)["inputs"]}}
		}, nil, "reject set 0: expected a refusal (no reason), but it ran"},
		{"a file that is not there", func(c *digitsCase) { set(c)["files"].(map[string]string)["inputs"] = "absent.safetensors" },
			nil, "set 0: absent.safetensors: "},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			c := newDigitsCase(t)
			tc.change(c)
			r := c.replay(t)
			assert.Equal(t, Failed, r.Status)
			require.Len(t, r.Diffs, len(tc.diffs), "%+v", r)
			for i, d := range r.Diffs {
				assert.Contains(t, d.Value+": "+d.elements(), tc.diffs[i])
			}
			assert.Contains(t, strings.Join(r.Faults, "\n"), tc.faults)
			if tc.faults == "" {
				assert.Empty(t, r.Faults)
			}
		})
	}
}

// The node behind an output is named, and the first one that differs where the
// values of nodes were recorded.
func TestReplayNamesNodes(t *testing.T) {
	c := newDigitsCase(t)
	c.expected["o0"].Storage.Bytes()[3] ^= 0x80
	r := c.replay(t)
	require.Len(t, r.Diffs, 1)
	assert.Equal(t, "linear_1 (torch.ops.aten.linear.default)", r.Diffs[0].Node)
	assert.Empty(t, r.Diffs[0].First)
}

func TestReplayOfBits(t *testing.T) {
	c := newDigitsCase(t)
	c.meta["compare"] = "bits"
	data := c.expected["o0"].Storage.Bytes()
	r := c.replay(t)
	if r.Status != Passed {
		t.Logf("this processor rounds otherwise than the one that recorded the outputs: %+v", r.Diffs)
	}
	data[0] ^= 1
	r = c.replay(t)
	require.Len(t, r.Diffs, 1)
	assert.NotZero(t, r.Diffs[0].ULPs)
}
