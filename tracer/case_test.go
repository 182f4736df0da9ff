package tracer_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/fxcase"
	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/operator"
	torch "github.com/torchfx-go/torchfx/torchops"
	"github.com/torchfx-go/torchfx/tracer"
)

// The tests TestTrace_<case> build the program of a recorded case through the Go
// API and get what torch.fx recorded. parity/fxtests.txt lists them with those of
// other packages.

// caseDir is the folder of the recorded case that the running test is named
// after: one kept in testdata, or a shared one.
func caseDir(t *testing.T) string {
	t.Helper()
	name := strings.TrimPrefix(t.Name(), "TestTrace_")
	if kept := filepath.Join("testdata", "cases", name); dirExists(kept) {
		return kept
	}
	return testenv.Fixtures(t, "fx", name)
}

func dirExists(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// sameCase compares a graph module with the recorded one.
func sameCase(t *testing.T, gm *ir.GraphModule, err error) *ir.GraphModule {
	t.Helper()
	require.NoError(t, err)
	require.NoError(t, gm.Graph().Lint())
	return fxcase.OpenDir(t, caseDir(t)).Same(gm, nil)
}

// failsAs compares an error with the recorded one: its text is part of err's.
// class is err's own where it is not that of Python's.
func failsAs(t *testing.T, err error, class *ir.Class) {
	t.Helper()
	if class == nil {
		fxcase.OpenDir(t, caseDir(t)).Fails(err)
		return
	}
	require.ErrorIs(t, err, class)
	data, readErr := os.ReadFile(filepath.Join(caseDir(t), "error.json"))
	require.NoError(t, readErr)
	var recorded struct{ Type, Message string }
	require.NoError(t, json.Unmarshal(data, &recorded))
	assert.Contains(t, err.Error(), recorded.Message)
}

// V is what a parameter of unknown type stands for.
type V = torch.Value

// op applies Python's operator to values one of which is traced.
func op(name string, args ...any) V { return operator.Call(name, args...).(V) }

// fn calls a function by name on values one of which is traced.
func fn(name string, args ...any) V {
	args, kw := torch.SplitKwargs(args)
	return torch.Dispatch(ir.CallFunction, ir.FuncOf(name), args, kw).(V)
}

func trace(root any, params string, opts ...tracer.Option) (*ir.GraphModule, error) {
	return tracer.SymbolicTrace(root, append([]tracer.Option{tracer.Signature(params)}, opts...)...)
}

func tensor(t *testing.T, values []float32, shape ...int) *torch.Tensor {
	t.Helper()
	testenv.Libtorch(t)
	x, err := torch.From(values, shape...)
	require.NoError(t, err)
	t.Cleanup(func() { _ = x.Close() })
	return x
}

func concrete(pairs ...any) tracer.Option {
	args := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		args[pairs[i].(string)] = pairs[i+1]
	}
	return tracer.Concrete(args)
}

// dict is a Python dict in the order of its entries.
func dict(pairs ...any) *ir.PyDict {
	d := &ir.PyDict{}
	for i := 0; i < len(pairs); i += 2 {
		d.Set(pairs[i], pairs[i+1])
	}
	return d
}
