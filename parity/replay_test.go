package parity

import (
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	torchfx "github.com/torchfx-go/torchfx"
	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/export"
	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

func TestRecordedCases(t *testing.T) {
	testenv.Libtorch(t)
	for _, part := range []string{"pt2/2.5.1", "pt2/2.6.0", "pt2/2.7.1", "pt2/2.8.0", "pt2/2.9.1", "pt2/2.12.1", "pt2/2.15.0", "pt2-bad", "ops"} {
		t.Run(part, func(t *testing.T) {
			before, _ := libtorch.LiveTensors()
			report, err := Run(t.Context(), []string{testenv.Fixtures(t, part)}, Options{})
			require.NoError(t, err)
			after, _ := libtorch.LiveTensors()
			assert.LessOrEqual(t, after, before, "tensors are left open") // the collector may close some of earlier tests
			var text strings.Builder
			failed := 0
			for _, r := range report.Results {
				if r.Status == Failed && testenv.Otherwise(t, path.Base(r.Case)) == "" {
					failed++
					require.NoError(t, WriteResult(&text, r))
				}
			}
			require.NoError(t, WriteReport(&text, report))
			assert.Zero(t, failed, text.String())
			assert.Zero(t, report.Count(Skipped), text.String())
			assert.NotZero(t, report.Count(Passed))
		})
	}
}

// Programs of older releases run whose operators were replaced or called otherwise
// since; scripts/record_releases.py made them.
func TestProgramsOfOlderReleases(t *testing.T) {
	testenv.Libtorch(t)
	report, err := Run(t.Context(), []string{"testdata/releases"}, Options{})
	require.NoError(t, err)
	assert.NotEmpty(t, report.Results)
	for _, r := range report.Results {
		assert.Equal(t, Passed, r.Status, "%+v", r)
	}
}

// The programs of custom operators, which TestRecordedCases sees refused, run
// where the library is there.
func TestReplayWithLibrary(t *testing.T) {
	lib := testenv.FixtureOperators(t)
	names := regexp.MustCompile(`/(custom_op|custom_op_mutating|auto_functionalized|effect_token)$`)
	report, err := Run(t.Context(), []string{testenv.Fixtures(t, "pt2/2.15.0")}, Options{Only: names, Libraries: []string{lib}})
	require.NoError(t, err)
	require.Len(t, report.Results, 4)
	for _, r := range report.Results {
		assert.Equal(t, Passed, r.Status, "%+v", r)
		assert.Equal(t, "1 set", r.Note, r.Case)
	}

	_, err = Run(t.Context(), []string{testenv.Fixtures(t, "pt2/2.15.0")}, Options{Only: names, Libraries: []string{lib, "none.so"}})
	require.ErrorIs(t, err, ir.ErrMissing)
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

// write makes the folder of the case.
func (c *digitsCase) write(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "digits")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	program, err := os.ReadFile(filepath.Join("..", "examples", "digits", "testdata", "digits.pt2"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "model.pt2"), program, 0o644))
	writeTensors(t, filepath.Join(dir, "inputs.0.safetensors"), c.inputs)
	writeTensors(t, filepath.Join(dir, "expected.0.safetensors"), c.expected)
	return dir
}

// replay writes the meta data and replays the case.
func (c *digitsCase) replay(t *testing.T, dir string) Result {
	t.Helper()
	meta, err := json.Marshal(c.meta)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "meta.json"), meta, 0o644))
	report, err := Run(t.Context(), []string{dir}, Options{})
	require.NoError(t, err)
	require.Len(t, report.Results, 1)
	return report.Results[0]
}

func writeTensors(t *testing.T, name string, tensors map[string]*export.Tensor) {
	t.Helper()
	f, err := os.Create(name)
	require.NoError(t, err)
	require.NoError(t, export.WriteSafetensors(f, tensors, nil))
	require.NoError(t, f.Close())
}

func TestReplayPasses(t *testing.T) {
	c := newDigitsCase(t)
	r := c.replay(t, c.write(t))
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
			r := c.replay(t, c.write(t))
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
	r := c.replay(t, c.write(t))
	require.Len(t, r.Diffs, 1)
	assert.Equal(t, "linear_1 (torch.ops.aten.linear.default)", r.Diffs[0].Node)
	assert.Empty(t, r.Diffs[0].First)
}

func TestReplayNamesTheFirstNodeThatDiffers(t *testing.T) {
	c := newDigitsCase(t)
	c.expected["o0"].Storage.Bytes()[3] ^= 0x80
	dir := c.write(t)
	zeros := tensorOf(make([]byte, rows*16*64*4), rows, 16, 8, 8)
	nodes := map[string]*export.Tensor{"batch_norm": zeros, "relu": zeros, "image": c.inputs["i0"]}
	writeTensors(t, filepath.Join(dir, "nodes.0.safetensors"), nodes)
	c.meta["sets"].([]any)[0].(map[string]any)["files"].(map[string]string)["nodes"] = "nodes.0.safetensors"
	r := c.replay(t, dir)
	require.Len(t, r.Diffs, 1, "%+v", r)
	assert.Regexp(t, `^batch_norm \(torch\.ops\.aten\.batch_norm\.default\): \d+ of 3072 elements, max abs `, r.Diffs[0].First)
}

func TestRefusedLoad(t *testing.T) {
	unknown := ir.Errorf(ir.ErrUnsupported, "node f: unknown operator fixtures::f; node g: unknown operator fixtures::g")
	old := ir.Errorf(ir.ErrVersion, "produced by torch 2.5: unsupported program format")
	tests := []struct {
		name   string
		meta   *caseMeta
		err    error
		status Status // "" where nothing is wrong
		note   string
	}{
		{"custom operators, all named", &caseMeta{Note: "f(x) = x; g(x, y): x += y"}, unknown, "", "refused, as it must be without the library of fixtures::f and fixtures::g"},
		{"one of them not named", &caseMeta{Note: "f(x) = x; h(x) = x"}, unknown, Failed, ""},
		{"no custom operators at all", &caseMeta{Note: "models/second.json is f(x)"}, unknown, Failed, ""},
		{"named, but another failure", &caseMeta{Note: "f(x) = x"}, ir.Errorf(ir.ErrFormat, "fixtures::f is broken"), Failed, ""},
		{"by its version", &caseMeta{Torch: "2.5.1"}, old, Failed, ""},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			var r Result
			(&Case{meta: tc.meta}).refusedLoad(&r, tc.err)
			if len(r.Faults) > 0 {
				r.Status = Failed
			}
			assert.Equal(t, tc.status, r.Status, "%+v", r)
			assert.Equal(t, tc.note, r.Note)
		})
	}
}

func TestReplayOfBits(t *testing.T) {
	c := newDigitsCase(t)
	c.meta["compare"] = "bits"
	// what this processor computes, whatever that is
	p, err := torchfx.Load(filepath.Join("..", "examples", "digits", "testdata", "digits.pt2"))
	require.NoError(t, err)
	defer p.Close()
	images, err := c.inputs["i0"].Bytes()
	require.NoError(t, err)
	x, err := torch.FromBytes(torch.Float32, []int{rows, 1, 8, 8}, images)
	require.NoError(t, err)
	defer x.Close()
	y, err := p.Run(t.Context(), x)
	require.NoError(t, err)
	data, err := y.(*torch.Tensor).Bytes()
	require.NoError(t, err)
	require.NoError(t, y.(*torch.Tensor).Close())

	c.expected["o0"] = tensorOf(data, rows, 10)
	r := c.replay(t, c.write(t))
	assert.Equal(t, Passed, r.Status, "%+v", r.Diffs)
	assert.Equal(t, "1 set, bit-equal", r.Note)

	data[0] ^= 1 // one step of one element: nothing that a tolerance would see
	r = c.replay(t, c.write(t))
	require.Len(t, r.Diffs, 1)
	assert.Equal(t, Distance{MaxAbs: r.Diffs[0].MaxAbs, MaxRel: r.Diffs[0].MaxRel, ULPs: 1, Outside: 1, Total: 30}, r.Diffs[0].Distance)
}
