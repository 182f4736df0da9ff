package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/testenv"
)

// linearProgram is a program of a linear layer, with a batch of 2 to 64.
var linearProgram = filepath.Join("..", "..", "export", "testdata", "programs", "linear.pt2")

func TestCheckTellsWhatAProgramIs(t *testing.T) {
	code, stdout, stderr := invoke(nil, "check", linearProgram)
	require.Zero(t, code, stderr)
	assert.Empty(t, stderr)
	assert.Equal(t, linearProgram+`: ok
  program    "model" of torch 2.15.0+cu132, schema 8.20, TRAINING
  inputs     x: f32[s77, 3]
  outputs    linear: f32[s77, 2]
  dynamic    2 <= s77 <= 64
  weights    2 parameters, 0 buffers, 0 constants: 8 elements, 32 bytes
  operators  1, called once: aten::linear ×1
`, stdout)
}

func TestCheckReadsStandardInput(t *testing.T) {
	f, err := os.Open(linearProgram)
	require.NoError(t, err)
	defer f.Close()
	code, stdout, _ := invoke(f, "check", "--no-checksums", "-")
	assert.Zero(t, code)
	assert.Contains(t, stdout, "-: ok\n")
}

func TestCheckAsJSON(t *testing.T) {
	other := filepath.Join(t.TempDir(), "other")
	require.NoError(t, os.WriteFile(other, []byte("GGUF"), 0o600))
	code, stdout, stderr := invoke(nil, "check", "--json", linearProgram, other)
	assert.Equal(t, exitFailed, code)
	assert.Empty(t, stderr, "the report tells it")
	var reports []checkReport
	require.NoError(t, json.Unmarshal([]byte(stdout), &reports))
	require.Len(t, reports, 2)
	assert.True(t, reports[0].OK)
	assert.Equal(t, map[string]int{"aten::linear": 1}, reports[0].Operators)
	assert.Equal(t, []checkValue{{"x", "f32[s77, 3]"}}, reports[0].Inputs)
	assert.Equal(t, int64(32), reports[0].State.Bytes)
	assert.False(t, reports[1].OK)
	assert.Equal(t, []string{"not a zip archive: looks like a GGUF file; a .pt2 file that torch.export.save wrote is one"}, reports[1].Errors)
}

func TestCheckUsage(t *testing.T) {
	code, _, stderr := invoke(nil, "check")
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, stderr, "torchfx check --help")
	code, stdout, _ := invoke(nil, "check", "missing.pt2")
	assert.Equal(t, exitFailed, code)
	assert.Contains(t, stdout, "missing.pt2: refused\n  error      open missing.pt2: no such file")
	code, stdout, _ = invoke(nil, "check", "--model", "other", linearProgram)
	assert.Equal(t, exitFailed, code)
	assert.Contains(t, stdout, `model "other": expected one of "model"`)
}

// TestCheckOnBadFiles: every broken or hostile file is refused or taken as its
// description says, each by a process of its own in less than a second of the
// processor and 200 MB.
func TestCheckOnBadFiles(t *testing.T) {
	dir := testenv.Fixtures(t, "pt2-bad")
	files, err := filepath.Glob(filepath.Join(dir, "*", "model.pt2"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		data, err := os.ReadFile(filepath.Join(filepath.Dir(file), "meta.json"))
		require.NoError(t, err)
		var meta struct{ Case, Must string }
		require.NoError(t, json.Unmarshal(data, &meta))
		want := exitFailed
		if meta.Must == "load" {
			want = exitOK
		}
		var stdout, stderr bytes.Buffer
		cmd := exec.Command("torchfx-measured", "check", file)
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		err = cmd.Run()
		if exit, ok := errors.AsType[*exec.ExitError](err); !ok {
			require.NoError(t, err, meta.Case)
		} else {
			require.True(t, exit.Exited(), "%s: %v", meta.Case, err)
		}
		used := cmd.ProcessState
		assert.Equal(t, want, used.ExitCode(), "%s: %s", meta.Case, &stdout)
		assert.Less(t, used.UserTime()+used.SystemTime(), time.Second, meta.Case)
		peak, err := strconv.Atoi(strings.TrimSpace(stderr.String()))
		require.NoError(t, err, "%s: %s", meta.Case, &stderr)
		assert.Less(t, peak, 200<<10, "%s: KiB", meta.Case)
	}
}

func TestCheckLive(t *testing.T) {
	testenv.Libtorch(t)
	code, stdout, stderr := invoke(nil, "check", "--live", linearProgram)
	require.Zero(t, code, stderr)
	assert.Contains(t, stdout, ": ok\n")
}
