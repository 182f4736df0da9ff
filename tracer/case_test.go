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
// API and get what torch.fx recorded, code and graph texts byte for byte. A case
// that no Go program can be, or that another package's test makes, is in notHere.

// notHere are the recorded cases of the families of this package that have no
// test here, with the reason.
var notHere = map[string]string{
	"args_no_self":                       "a Go method always has a receiver",
	"attr_getattr_forms":                 "built node by node, no trace: parity replays it",
	"doc_insert_after_self_loop":         "an edit of a graph: see ir",
	"doc_on_generate_code":               "a text of a graph: ir.TestBodyFunc",
	"doc_replace_pattern":                "rewriting: see the root package",
	"doc_replace_pattern_too_few_params": "rewriting: see the root package",
	"doc_replace_pattern_unused_param":   "rewriting: see the root package",
	"functions_factory_two_sizes":        "an error of Python's argument parser alone; here the call is recorded (TestSeveralTracedSizes)",
	"functions_tensor_method_unbound":    "an unbound method does not compile: a Value is no Tensor",
	"literal_call_args":                  "built node by node, no trace: parity replays it",
	"literal_complex":                    "built node by node, no trace: parity replays it",
	"literal_containers":                 "built node by node, no trace: parity replays it",
	"literal_in_output":                  "built node by node, no trace: parity replays it",
	"literal_namedtuple_graph":           "built node by node, no trace: parity replays it",
	"name_copy_twice":                    "built node by node, no trace: parity replays it",
	"name_explicit_create":               "built node by node, no trace: parity replays it",
	"name_keyword_module":                "upstream's defect 20: here the code is written with getattr (TestKeywordAsModuleName)",
	"name_local_vs_global":               "built node by node, no trace: parity replays it",
	"op_empty_graph":                     "built node by node, no trace: parity replays it",
	"op_no_output":                       "built node by node, no trace: parity replays it",
	"op_only_placeholder":                "built node by node, no trace: parity replays it",
	"ops_contains_error":                 "Go has no operator in that could be asked",
	"ops_inplace_graph":                  "built node by node, no trace: parity replays it",
	"ops_operator_module_others":         "built node by node, no trace: parity replays it",
	"ops_setitem_error":                  "x[0] = 1 does not compile on a Tensor",
	"tracer_foreign_parameter":           "a Go tensor does not know whether it is a parameter: one that is in no module is a constant",
	"tracer_param_shapes_constant":       "the shape of a parameter is asked of the model, not of its shadow",
	"unpack_double_star_error":           "Go has no ** for maps; Items is TestTrace_unpack_loop_error's twin",
	"wrap_bad_type":                      "wrapping what is no function is a panic when the program starts (TestWrapRefuses in torchops)",
	"wrap_not_top_level":                 "Go's Wrap may be called anywhere, once a name",
}

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

// The families of recorded cases that this package answers for.
var families = []string{
	"doc_", "name_", "op_", "default_", "args_", "literal_", "ops_", "index_", "attr_", "call_", "method_", "functions_", "wrap_",
	"concrete_", "unpack_", "tracer_",
}

// TestEveryCaseIsBuilt finds a test or a reason for each recorded case.
func TestEveryCaseIsBuilt(t *testing.T) {
	entries, err := os.ReadDir(testenv.Fixtures(t, "fx"))
	require.NoError(t, err)
	files, err := filepath.Glob("*_test.go")
	require.NoError(t, err)
	var sources strings.Builder
	for _, name := range files {
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		sources.Write(data)
	}
	for _, e := range entries {
		for _, family := range families {
			if !strings.HasPrefix(e.Name(), family) {
				continue
			}
			_, excused := notHere[e.Name()]
			built := strings.Contains(sources.String(), "func TestTrace_"+e.Name()+"(")
			assert.True(t, built != excused, "%s: expected a test or a reason", e.Name())
		}
	}
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
