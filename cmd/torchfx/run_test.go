package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/export"
	"github.com/torchfx-go/torchfx/internal/testenv"
)

// recorded returns the folder of a recorded program and skips the test where it
// or libtorch is not there.
func recorded(t *testing.T, name string) string {
	t.Helper()
	testenv.Libtorch(t)
	return testenv.Fixtures(t, "pt2", "2.15.0", name)
}

// invoke runs a command line in this process.
func invoke(stdin io.Reader, args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = run(args, stdin, &out, &errs)
	return code, out.String(), errs.String()
}

func TestRunWritesWhatPyTorchComputed(t *testing.T) {
	dir := recorded(t, "linear_relu")
	model, inputs := filepath.Join(dir, "model.pt2"), filepath.Join(dir, "inputs.0.safetensors")
	want, err := export.OpenSafetensors(filepath.Join(dir, "expected.0.safetensors"))
	require.NoError(t, err)
	defer want.Close()
	expected, err := want.Tensor("o0")
	require.NoError(t, err)
	bytes, err := expected.Bytes()
	require.NoError(t, err)

	check := func(name string, got interface {
		Tensor(string) (*export.Tensor, error)
	}, err error) {
		require.NoError(t, err, name)
		x, err := got.Tensor("o0")
		require.NoError(t, err, name)
		assert.Equal(t, expected.Sizes, x.Sizes, name)
		data, err := x.Bytes()
		require.NoError(t, err, name)
		assert.Equal(t, bytes, data, name) // a product of 2x4 and 4x3: the same on every machine
	}
	t.Run("files", func(t *testing.T) {
		for _, ext := range []string{".safetensors", ".npz"} {
			out := filepath.Join(t.TempDir(), "out"+ext)
			code, stdout, stderr := invoke(nil, "run", model, "--inputs", inputs, "--outputs", out)
			require.Zero(t, code, stderr)
			assert.Empty(t, stdout)
			if ext == ".npz" {
				f, err := export.OpenNpz(out)
				check(ext, f, err)
				continue
			}
			f, err := export.OpenSafetensors(out)
			check(ext, f, err)
		}
	})
	t.Run("standard streams", func(t *testing.T) {
		in, err := os.Open(inputs)
		require.NoError(t, err)
		defer in.Close()
		code, stdout, stderr := invoke(in, "run", model, "-i", "-", "-o", "-")
		require.Zero(t, code, stderr)
		f, err := export.ReadSafetensors(strings.NewReader(stdout), int64(len(stdout)))
		check("-", f, err)
	})
	t.Run("program on standard input", func(t *testing.T) {
		in, err := os.Open(model)
		require.NoError(t, err)
		defer in.Close()
		temporary := t.TempDir()
		t.Setenv("TMPDIR", temporary)
		code, stdout, stderr := invoke(in, "run", "-", "-i", inputs, "-o", "-")
		require.Zero(t, code, stderr)
		f, err := export.ReadSafetensors(strings.NewReader(stdout), int64(len(stdout)))
		check("-", f, err)
		left, err := os.ReadDir(temporary)
		require.NoError(t, err)
		assert.Empty(t, left)
	})
	t.Run("npy by name", func(t *testing.T) {
		first, second := filepath.Join(t.TempDir(), "x.npz"), filepath.Join(t.TempDir(), "y.npy")
		given, err := export.OpenSafetensors(inputs)
		require.NoError(t, err)
		defer given.Close()
		x, err := given.Tensor("i0")
		require.NoError(t, err)
		var file strings.Builder
		require.NoError(t, export.WriteNpy(&file, x))
		require.NoError(t, os.WriteFile(first, []byte(file.String()), 0o600)) // the content tells, not the name
		code, _, stderr := invoke(nil, "run", model, "-i", "input="+first, "-o", second)
		require.Zero(t, code, stderr)
		f, err := os.Open(second)
		require.NoError(t, err)
		defer f.Close()
		y, err := export.ReadNpy(f)
		check("npy", one{y}, err)
	})
}

// one is a file of one array.
type one struct{ t *export.Tensor }

func (o one) Tensor(string) (*export.Tensor, error) { return o.t, nil }

func TestRunListsNames(t *testing.T) {
	dir := recorded(t, "pytree_inputs")
	code, stdout, stderr := invoke(nil, "run", "--list", filepath.Join(dir, "model.pt2"))
	require.Zero(t, code, stderr)
	assert.Contains(t, stdout, "i1  d['q']    f32[2] cpu\n")
	assert.Contains(t, stdout, "o4            f32[2] cpu\n")
}

func TestLibrary(t *testing.T) {
	dir := recorded(t, "custom_op_mutating") // y = x + 1; bump_(y, 2); y * 2
	lib := testenv.FixtureOperators(t)
	model, inputs := filepath.Join(dir, "model.pt2"), filepath.Join(dir, "inputs.0.safetensors")
	for _, args := range [][]string{{"check"}, {"graph", "--format", "graph"}, {"run", "--inputs", inputs}} {
		code, stdout, stderr := invoke(nil, append(args, "--library", lib, model)...)
		assert.Zero(t, code, stderr)
		if args[0] != "run" {
			assert.Contains(t, stdout, "fixtures", args[0])
		}
	}
	code, stdout, stderr := invoke(nil, "parity", "--library", lib, dir)
	assert.Zero(t, code, stderr)
	assert.Contains(t, stdout, "custom_op_mutating: 1 set\n")
}

func TestRunTakesScalars(t *testing.T) {
	dir := recorded(t, "symint_input")
	model, inputs := filepath.Join(dir, "model.pt2"), filepath.Join(dir, "inputs.0.safetensors")
	code, fromFlag, stderr := invoke(nil, "run", model, "-i", inputs, "--set", "n=3")
	require.Zero(t, code, stderr)
	assert.True(t, strings.HasPrefix(fromFlag, "o0 = tensor("), fromFlag)
	sidecar := filepath.Join(t.TempDir(), "scalars.json")
	require.NoError(t, os.WriteFile(sidecar, []byte(`{"i1": 3}`), 0o600))
	code, fromFile, stderr := invoke(nil, "run", model, "-i", inputs, "--scalars", sidecar)
	require.Zero(t, code, stderr)
	assert.Equal(t, fromFlag, fromFile)
}

func TestRunPrintsWhatIsNoTensor(t *testing.T) {
	dir := recorded(t, "odd_outputs")
	out := filepath.Join(t.TempDir(), "out.safetensors")
	code, stdout, stderr := invoke(nil, "run", filepath.Join(dir, "model.pt2"), "-i", filepath.Join(dir, "inputs.0.safetensors"), "-o", out)
	require.Zero(t, code, stderr)
	assert.Equal(t, "o1 = None\no2 = 7\no3 = True\no4 = 2.5\n", stdout)
}

func TestRunRefusals(t *testing.T) {
	dir := recorded(t, "linear_relu")
	model, inputs := filepath.Join(dir, "model.pt2"), filepath.Join(dir, "inputs.0.safetensors")
	wrong := filepath.Join(t.TempDir(), "wrong.safetensors")
	x, err := os.Open(filepath.Join(recorded(t, "losses"), "inputs.0.safetensors"))
	require.NoError(t, err)
	defer x.Close()
	data, err := io.ReadAll(x)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(wrong, data, 0o600))
	tests := []struct {
		name string
		args []string
		code int
		want string
	}{
		{"no inputs", nil, 1, "input i0 (input): expected f32[2, 4] cpu, got nothing"},
		{"unknown name", []string{"-i", "y=" + inputs}, 1, `input "y": expected one of i0 (input)`},
		{"twice", []string{"-i", inputs, "-i", inputs}, 1, "given twice"},
		{"names of the file", []string{"-i", wrong}, 1, `input "i1": expected one of i0 (input)`},
		{"no such file", []string{"-i", "nowhere.npz"}, 1, "nowhere.npz"},
		{"number for a tensor", []string{"--set", "i0=3"}, 1, "input"},
		{"not JSON", []string{"--set", "i0=x"}, 1, "expected a JSON value"},
		{"no value", []string{"--set", "i0"}, 2, "expected NAME=VALUE"},
		{"threads", []string{"--threads", "0"}, 2, "at least 1"},
		{"device", []string{"--device", "abacus"}, 2, "--device"},
		{"standard input twice", []string{"-i", "-", "--scalars", "-"}, 2, "standard input: expected one of"},
		{"no such library", []string{"-i", inputs, "--library", "nowhere.so"}, 1, "nowhere.so"},
		{"output name", []string{"-i", inputs, "-o", "out.txt"}, 2, "expected a name in .safetensors"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			code, stdout, stderr := invoke(nil, append([]string{"run", model}, tc.args...)...)
			assert.Equal(t, tc.code, code, stderr)
			assert.Contains(t, stderr, tc.want)
			assert.Empty(t, stdout)
		})
	}
}

// How far a run is stands on standard error, where somebody asked, and results
// are what they were.
func TestRunShowsProgress(t *testing.T) {
	dir := recorded(t, "tiny_resnet")
	args := []string{"run", filepath.Join(dir, "model.pt2"), "--inputs", filepath.Join(dir, "inputs.0.safetensors"), "--outputs"}
	out := filepath.Join(t.TempDir(), "out.safetensors")
	code, _, silent := invoke(nil, append(args, out)...)
	require.Zero(t, code)
	assert.NotContains(t, silent, "nodes")
	want, err := os.ReadFile(out)
	require.NoError(t, err)

	code, stdout, stderr := invoke(nil, append(args, out, "--progress")...)
	require.Zero(t, code)
	assert.Empty(t, stdout)
	lines := strings.Split(strings.TrimSpace(strings.TrimPrefix(stderr, silent)), "\n")
	require.Len(t, lines, 10, stderr)
	var done, total int
	_, err = fmt.Sscanf(lines[9], "%d of %d nodes", &done, &total)
	require.NoError(t, err)
	assert.Equal(t, total, done)
	assert.Greater(t, total, 20)
	got, err := os.ReadFile(out)
	require.NoError(t, err)
	assert.Equal(t, want, got)

	code, _, stderr = invoke(nil, append(args, out, "--progress", "--quiet")...)
	require.Zero(t, code)
	assert.Empty(t, stderr)
}

// A frozen program says what was rewritten and gives results of the same names.
func TestRunFrozen(t *testing.T) {
	dir := recorded(t, "tiny_resnet")
	out := filepath.Join(t.TempDir(), "out.safetensors")
	code, _, stderr := invoke(nil, "run", filepath.Join(dir, "model.pt2"), "--inputs", filepath.Join(dir, "inputs.0.safetensors"), "--outputs", out, "--freeze")
	require.Zero(t, code, stderr)
	assert.Regexp(t, `(?m)^(fold-batch-norm|delegate): `, stderr)
	assert.Contains(t, stderr, "tolerance: 0.0001\n")
	assert.FileExists(t, out)
}

// The second start of a program finds in the file of choices what the first one measured,
// and says so.
func TestRunKeepsChoices(t *testing.T) {
	dir := recorded(t, "tiny_resnet")
	choices := filepath.Join(t.TempDir(), "choices.json")
	args := []string{"run", filepath.Join(dir, "model.pt2"), "--inputs", filepath.Join(dir, "inputs.0.safetensors"), "--outputs", filepath.Join(t.TempDir(), "out.npz"), "--freeze", "--choices", choices}
	code, _, first := invoke(nil, args...)
	require.Zero(t, code, first)
	assert.Regexp(t, `(?m)^choices: \d+, measured: [1-9]\d*$`, first)
	assert.Regexp(t, ` [µm]s against .* [µm]s, measured`, first)
	code, _, second := invoke(nil, args...)
	require.Zero(t, code, second)
	assert.Regexp(t, `(?m)^choices: \d+, measured: 0$`, second)
	assert.Regexp(t, ` [µm]s against .* [µm]s, from the file`, second)
	code, _, quiet := invoke(nil, append(args, "--quiet")...)
	require.Zero(t, code)
	assert.Empty(t, quiet)
}

// What is no file of choices ends the command with code 1 and a line, before anything is
// measured, and stays as it is.
func TestRunRefusesFilesOfChoices(t *testing.T) {
	dir := recorded(t, "tiny_resnet")
	model := filepath.Join(dir, "model.pt2")
	in := t.TempDir()
	text := func(name, content string) string {
		path := filepath.Join(in, name)
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	copied, err := os.ReadFile(model)
	require.NoError(t, err)
	tests := []struct{ name, path, want string }{
		{"a folder", in, "expected a file, got a folder"},
		{"below a file", filepath.Join(text("file", "x"), "choices.json"), "not a directory"},
		{"in no folder", filepath.Join(in, "none", "choices.json"), "no such file or directory"},
		{"garbage", text("garbage", "no choices"), "expected measured choices, got invalid character 'o' in literal null (expecting 'u')"},
		{"the model itself", text("model", string(copied)), "expected measured choices, got invalid character 'P' looking for beginning of value"},
		{"cut short", text("short", `{"version": 2, "machine"`), "expected measured choices, got unexpected EOF"},
		{"a later version", text("later", `{"version": 3}`), "expected version 2 at most, got 3, which a later release wrote"},
		{"a device", os.DevNull, "expected a file, got what is none"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			before, _ := os.ReadFile(tc.path)
			code, stdout, stderr := invoke(nil, "run", model, "--inputs", filepath.Join(dir, "inputs.0.safetensors"), "--freeze", "--choices", tc.path, "--quiet")
			assert.Equal(t, exitFailed, code)
			assert.Empty(t, stdout)
			assert.True(t, strings.HasPrefix(stderr, "torchfx: choices "+tc.path+": "), stderr)
			assert.Contains(t, stderr, tc.want)
			assert.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
			after, _ := os.ReadFile(tc.path)
			assert.Equal(t, before, after)
		})
	}
}

// The bar of a terminal counts nodes and is wiped at the end, also of a run that
// failed on its way.
func TestNodesAreDrawn(t *testing.T) {
	for name, last := range map[string]int{"whole": 4, "stopped": 2} {
		t.Run(name, func(t *testing.T) {
			var w bytes.Buffer
			report, end := drawNodes(&w)
			for done := range last + 1 {
				report(done, 4)
			}
			end()
			text := w.String()
			assert.Contains(t, text, "nodes")
			assert.Contains(t, text, "(0/4)")
			assert.True(t, strings.HasSuffix(strings.TrimRight(text, " "), "\r"), "%q", text)
		})
	}
	_, end := drawNodes(io.Discard)
	end() // nothing had begun
}
