package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/export"
	"github.com/torchfx-go/torchfx/internal/testenv"
)

func testdataOf(parts ...string) string {
	return filepath.Join(append([]string{"..", "..", "export", "testdata"}, parts...)...)
}

func scriptProgram(name string) string {
	return filepath.Join("..", "..", "script", "testdata", name+".pt")
}

func TestInspectTellsWhatAFileIs(t *testing.T) {
	tests := []struct {
		name, path string
		says       []string
	}{
		{"a program", linearProgram, []string{": exported program, 7.6 kB\n", "written by torch 2.15.0", "inputs     x: f32[s77, 3]", "dynamic    2 <= s77 <= 64",
			"operators  1, called once: aten::linear ×1", "tensors    2, 8 elements, 32 bytes", "l.weight: float32[2, 3] parameter, 24 bytes"}},
		{"a checkpoint", testdataOf("torchsave", "checkpoint.pt"), []string{": torch.save, a dict, 6.6 kB\n", "written by torch 2.7 or later",
			"optimizer.state.0.exp_avg: float32[2, 3], 24 bytes", "values     ", "optimizer.param_groups.0.betas = (0.9, 0.999)"}},
		{"a checkpoint from before torch 1.6", testdataOf("torchsave", "legacy_checkpoint.pt"), []string{": torch.save, a dict", "written by torch before 1.6"}},
		{"a graph module", testdataOf("torchsave", "graph_module.pt"), []string{": torch.save, a whole torch.fx.GraphModule", "methods    forward(", "operators ", "modules    "}},
		{"tied weights", testdataOf("torchsave", "tied.pt"), []string{"tensors    4, 15 elements, 60 bytes, counting memory once that 1 share\n",
			"2.weight: float32[3, 3] parameter, 36 bytes, shares memory with 0.weight\n"}},
		{"views of one storage", testdataOf("torchsave", "views.pt"), []string{"share\n", "shares memory with"}},
		{"a tensor", testdataOf("torchsave", "tensor.pt"), []string{": torch.save, a tensor"}},
		{"a module of Python code", testdataOf("torchsave", "python_class.pt"), []string{": torch.save", "missing    module itself: is of class "}},
		{"TorchScript", scriptProgram("values"), []string{": TorchScript, 6.7 kB\n", "written by torch.jit.save, archive version 3",
			"methods    forward(x: Tensor, n: int=2, more: Optional[List[Tensor]]=None) -> Tuple[Tensor, int]\n", "label(i: int) -> str", "aten::mul ×3",
			"modules    Values\n               (fc): Linear\n", "warning    its code sets the attributes count", "fc.weight: float32[2, 3] parameter, 24 bytes", "count: float32[1] buffer"}},
		{"a folder", testdataOf("programs"), []string{": folder\n", "linear.pt2: exported program\n"}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			code, stdout, stderr := invoke(nil, "inspect", tc.path)
			require.Zero(t, code, stderr)
			for _, text := range tc.says {
				assert.Contains(t, stdout, text)
			}
		})
	}
	code, _, stderr := invoke(nil, "inspect", "inspect.go")
	assert.Equal(t, exitFailed, code)
	assert.Contains(t, stderr, "not a zip archive")
}

func TestInspectNamesWhatIsMissing(t *testing.T) {
	file := testenv.Fixtures(t, "pt2", "2.15.0", "custom_op", "model.pt2")
	code, stdout, stderr := invoke(nil, "inspect", "--json", file)
	require.Zero(t, code, stderr)
	var r inspectReport
	require.NoError(t, json.Unmarshal([]byte(stdout), &r))
	assert.Equal(t, "exported program", r.Format)
	require.Len(t, r.Missing, 3)
	assert.Contains(t, r.Missing[0], "unknown operator fixtures::halves.default")
	assert.Equal(t, []checkValue{{"x", "f32[4]"}}, r.Program.Inputs)
	assert.Equal(t, []checkValue{{"add", "f32[2]"}}, r.Program.Outputs)
}

// TestConvertAround takes weights through every format; they arrive as they were.
func TestConvertAround(t *testing.T) {
	dir := t.TempDir()
	want, err := export.OpenTensors(linearProgram)
	require.NoError(t, err)
	defer want.Close()
	require.Len(t, want.Names, 2)
	from := linearProgram
	for _, to := range []string{"a.safetensors", "b.pt", "c.safetensors.index.json", "d.npz", "e.pth"} {
		to = filepath.Join(dir, to)
		code, stdout, stderr := invoke(nil, "convert", "--shard-size", "16", from, to)
		require.Zero(t, code, stderr)
		assert.Empty(t, stdout+stderr)
		got, err := export.OpenTensors(to)
		require.NoError(t, err)
		require.Len(t, got.Names, 2)
		for name, w := range want.Tensors {
			x, err := w.Bytes()
			require.NoError(t, err)
			y, err := got.Tensors[name].Bytes()
			require.NoError(t, err)
			assert.Equal(t, x, y, "%s in %s", name, to)
		}
		require.NoError(t, got.Close())
		from = to
	}
}

func TestConvertPrograms(t *testing.T) {
	old := testenv.Fixtures(t, "pt2", "2.5.1", "linear_relu", "model.pt2")
	dir := t.TempDir()
	fresh, weights, both := filepath.Join(dir, "new.pt2"), filepath.Join(dir, "w.safetensors"), filepath.Join(dir, "both.pt2")
	for _, line := range [][]string{
		{"convert", old, fresh}, {"convert", fresh, weights}, {"convert", "--weights", weights, old, both},
	} {
		code, _, stderr := invoke(nil, line...)
		require.Zero(t, code, stderr)
	}
	p, err := export.Open(both)
	require.NoError(t, err)
	defer p.Close()
	assert.Equal(t, 8, p.SchemaMajor)
	assert.Equal(t, "2.5.1+cu124", p.TorchVersion)
	assert.Equal(t, "torchfx", p.Writer)

	two := filepath.Join(dir, "two.pt2")
	code, _, stderr := invoke(nil, "convert", testenv.Fixtures(t, "pt2", "2.15.0", "two_models", "model.pt2"), two)
	require.Zero(t, code, stderr)
	names, err := export.Models(two)
	require.NoError(t, err)
	assert.Len(t, names, 2)
}

// What is no .pt2 file becomes one by a run on inputs, and computes the same.
func TestConvertRecords(t *testing.T) {
	testenv.Libtorch(t)
	dir := t.TempDir()
	saved := testdataOf("torchsave", "graph_module.pt")
	folder := filepath.Join(dir, "folder") + "/"
	tests := []struct {
		name, in string
		flags    []string
		out      string
		inputs   []checkValue
		calls    string
	}{
		{"TorchScript, straight", scriptProgram("loop"), []string{"--input", "xs=f32[5,2,3]"}, "loop.pt2", []checkValue{{"xs", "f32[5, 2, 3]"}}, "aten::gru_cell"},
		{"TorchScript, a symbol", scriptProgram("loop"), []string{"--input", "i0=f32[5,2,3]", "--dynamic", "xs:1=batch"}, "dynamic.pt2", []checkValue{{"xs", "f32[5, s_batch, 3]"}}, "aten::gru_cell"},
		{"TorchScript, a choice", scriptProgram("choice"), []string{"--input", "x=float32[3]", "--guard-reads"}, "choice.pt2", []checkValue{{"x", "f32[3]"}}, "aten::_assert_scalar"},
		{"TorchScript, a number", scriptProgram("values"), []string{"--input", "x=f32[1,3]", "--set", "n=4"}, "values.pt2", []checkValue{{"x", "f32[1, 3]"}, {"n", "4"}}, "aten::linear"},
		{"a graph module, as a folder", saved, nil, "saved/", nil, ""},
		{"layers, as a folder", testdataOf("torchsave", "module.pt"), nil, "layers/", nil, ""},
		{"layers", testdataOf("torchsave", "module.pt"), []string{"--input", "input=f32[2,3]"}, "layers.pt2", []checkValue{{"input_1", "f32[2, 3]"}}, "aten::batch_norm"},
		{"a program, as a folder", linearProgram, nil, "folder/", nil, ""},
		{"a folder of it", folder, []string{"--input", "x=f32[2,3]"}, "folder.pt2", []checkValue{{"x", "f32[2, 3]"}}, "aten::linear"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			out := dir + "/" + tc.out
			code, _, stderr := invoke(nil, append(append([]string{"convert"}, tc.flags...), tc.in, out)...)
			require.Zero(t, code, stderr)
			code, stdout, stderr := invoke(nil, "inspect", "--json", out)
			require.Zero(t, code, stderr)
			var r inspectReport
			require.NoError(t, json.Unmarshal([]byte(stdout), &r))
			if tc.inputs == nil {
				assert.Equal(t, "saved fx module", r.Format)
				return
			}
			assert.Equal(t, tc.inputs, r.Program.Inputs)
			assert.Contains(t, r.Program.Operators, tc.calls)
			assert.Empty(t, r.Missing)
		})
	}
	for _, tc := range []struct {
		name string
		line []string
		says string
	}{
		{"no inputs", []string{scriptProgram("loop")}, "expected --input NAME=DTYPE[SIZES], --inputs FILE or --set for i0 (xs)"},
		{"another input", []string{"--input", "y=f32[2]", scriptProgram("loop")}, "expected one of i0 (xs)"},
		{"a dtype that is none", []string{"--input", "xs=f33[2]", scriptProgram("loop")}, "expected a dtype such as f32 or int64"},
		{"a size that is none", []string{"--input", "xs=f32[-2]", scriptProgram("loop")}, `expected a size, got "-2"`},
		{"a condition on elements", []string{"--input", "x=f32[3]", scriptProgram("choice")}, "with --guard-reads the program checks"},
		{"a result that no program has", []string{"--input", "x=f32[2,3]", saved}, "expected a value of the graph or a number, got torch.float16"},
		{"inputs that do not fit", []string{"--input", "xs=f32[5]", scriptProgram("loop")}, "loop.pt: "},
	} {
		t.Run(tc.name, func(t *testing.T) {
			code, _, stderr := invoke(nil, append(append([]string{"convert"}, tc.line...), filepath.Join(dir, "none.pt2"))...)
			assert.NotZero(t, code)
			assert.Contains(t, stderr, tc.says)
			assert.NoFileExists(t, filepath.Join(dir, "none.pt2"))
		})
	}
}

// What a program or a module holds becomes a file of tensors, without libtorch.
func TestConvertStates(t *testing.T) {
	dir := t.TempDir()
	for from, want := range map[string]string{
		scriptProgram("values"):                    "count fc.bias fc.weight",
		testdataOf("torchsave", "tensor.pt"):       "tensor",
		testdataOf("torchsave", "graph_module.pt"): "",
	} {
		out := filepath.Join(dir, filepath.Base(from)+".safetensors")
		code, _, stderr := invoke(nil, "convert", from, out)
		require.Zero(t, code, stderr)
		f, err := export.OpenTensors(out)
		require.NoError(t, err)
		names := slices.Sorted(slices.Values(f.Names))
		require.NotEmpty(t, names)
		if want != "" {
			assert.Equal(t, want, strings.Join(names, " "))
		}
		require.NoError(t, f.Close())
	}
}

func TestConvertRefuses(t *testing.T) {
	dir := t.TempDir()
	tests := []struct {
		name string
		line []string
		says string
	}{
		{"an unknown end", []string{linearProgram, filepath.Join(dir, "x.onnx")}, "expected a name that ends in .pt2, .pt"},
		{"several tensors as one array", []string{linearProgram, filepath.Join(dir, "x.npy")}, "expected one tensor, got 2"},
		{"tensors as a program", []string{testdataOf("torchsave", "checkpoint.pt"), filepath.Join(dir, "x.pt2")}, "is a torch.save file of tensors, not of a whole module"},
		{"tensors as a folder", []string{testdataOf("torchsave", "checkpoint.pt"), dir + "/x/"}, "is a torch.save file of tensors, not of a whole module"},
		{"Python code as a program", []string{testdataOf("torchsave", "python_class.pt"), filepath.Join(dir, "x.pt2")}, "which is Python code"},
		{"inputs for nothing", []string{"--input", "x=f32[2]", linearProgram, filepath.Join(dir, "x.pt2")}, "--input: is for what is run once"},
		{"a key where there are none", []string{"--key", "a", scriptProgram("values"), filepath.Join(dir, "x.pt")}, "keys lead into a file of torch.save"},
		{"weights for tensors", []string{"--weights", "w.pt", linearProgram, filepath.Join(dir, "x.pt")}, "--weights: expected a .pt2 file"},
		{"a key that is not there", []string{"--key", "nobody", testdataOf("torchsave", "checkpoint.pt"), filepath.Join(dir, "x.pt")}, `no key "nobody"`},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			code, _, stderr := invoke(nil, append([]string{"convert"}, tc.line...)...)
			assert.NotZero(t, code)
			assert.Contains(t, stderr, tc.says)
			left, err := filepath.Glob(filepath.Join(dir, "*"))
			require.NoError(t, err)
			assert.Empty(t, left)
		})
	}
}

// Without inputs a folder has TorchScript's code, with its conditions; what a graph does
// not hold is refused, and the flag that records a run named.
func TestConvertTranslates(t *testing.T) {
	testenv.Libtorch(t)
	dir := filepath.Join(t.TempDir(), "choice")
	code, _, stderr := invoke(nil, "convert", "../../script/testdata/choice.pt", dir+"/")
	require.Zero(t, code, stderr)
	text, err := os.ReadFile(filepath.Join(dir, "module.py"))
	require.NoError(t, err)
	assert.Contains(t, string(text), "torch.ops.higher_order.cond(")

	code, _, stderr = invoke(nil, "convert", "../../script/testdata/refused.pt", dir+"2/")
	assert.NotZero(t, code)
	assert.Contains(t, stderr, "the code sets the attribute state")
	assert.Contains(t, stderr, "--input NAME=DTYPE[SIZES] records one")
}
