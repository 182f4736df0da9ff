package ir

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestJSON(t *testing.T) {
	g := NewGraph()
	x := g.Placeholder("x", WithType("torch.Tensor"), Default(nil))
	n := g.CallFunction(FuncOf("torch.add"), []Arg{x, Int(3), Float(math.NaN()), Complex(complex(1, -2)), Str("<&>"), BigInt("9223372036854775808")},
		Kwargs(Kw("a", ListOf(Bool(true), nil)), Kw("b", Slice{Stop: x}), Kw("c", DictOf(Pair{Str("k"), TupleOf(Float32, Device{}, Strided, ChannelsLast)})),
			Kw("d", Range{0, 3, 1}), Kw("e", Ellipsis{}), Kw("f", FuncOf("len")), Kw("g", Enum{FuncOf("m.Color"), "RED", Int(1), false}),
			Kw("h", NamedTupleOf(FuncOf("m.Pair"), []string{"a"}, x)), Kw("i", Opaque{tensor{}})))
	e, err := ParseExpr("2*s27")
	require.NoError(t, err)
	n.Meta().Set(MetaVal, []any{TensorMeta{DType: Float32, Sizes: []Size{SizeOf(2), SymbolicSize(e, 4)}, Strides: []Size{SymbolicSize(e, 4), SizeOf(1)}},
		SymScalar{Kind: TypeSymInt, Expr: e}})
	n.Meta().Set(MetaStackTrace, "here")
	n.Meta().Set(MetaNNModuleStack, []ModuleCall{{"k", "a.b", "m.B"}})
	n.Meta().Set("private", struct{}{})
	g.Output(n)
	text, err := g.JSON()
	require.NoError(t, err)
	assert.Equal(t, `{
 "format": "torchfx.graph",
 "version": 1,
 "nodes": [
  {"op":"placeholder","name":"x","target":"x","args":[null],"kwargs":[],"type":"torch.Tensor","users":["add"],"inputs":[]},
  {"op":"call_function","name":"add","target":"torch.add","args":[{"node":"x"},{"int":"3"},{"float":"nan"},{"complex":["1.0","-2.0"]},{"str":"<&>"},{"int":"9223372036854775808"}],"kwargs":[["a",{"list":[true,null]}],["b",{"slice":[null,{"node":"x"},null]}],["c",{"dict":[[{"str":"k"},{"tuple":[{"dtype":"torch.float32"},{"device":"cpu"},{"layout":"torch.strided"},{"memory_format":"torch.channels_last"}]}]]}],["d",{"range":[0,3,1]}],["e",{"ellipsis":true}],["f",{"function":"builtins.len"}],["g",{"enum":"m.Color.RED"}],["h",{"fields":[["a",{"node":"x"}]],"namedtuple":"m.Pair"}],["i",{"repr":"torch.Tensor(size=[2, 3], dtype=float32)"}]],"type":null,"users":["output"],"inputs":["x"],"meta":{"nn_module_stack":[["k","a.b","m.B"]],"stack_trace":"here","val":[{"device":"cpu","dtype":"torch.float32","layout":"torch.strided","requires_grad":false,"shape":[2,"2*s27"],"stride":["2*s27",1]},{"sym":"2*s27"}]}},
  {"op":"output","name":"output","target":"output","args":[{"node":"add"}],"kwargs":[],"type":null,"users":[],"inputs":["add"]}
 ]
}
`, string(text))
	empty, err := NewGraph().JSON()
	require.NoError(t, err)
	require.True(t, json.Valid(empty), string(empty))
}

func TestModuleJSON(t *testing.T) {
	text, err := nested(t).JSON()
	require.NoError(t, err)
	var got struct {
		Class      string   `json:"class"`
		Attributes []string `json:"attributes"`
		Graphs     map[string]struct {
			Class string           `json:"class"`
			Nodes []map[string]any `json:"nodes"`
		} `json:"graphs"`
	}
	require.NoError(t, json.Unmarshal(text, &got), string(text))
	assert.Equal(t, "M", got.Class)
	assert.Contains(t, got.Attributes, "a.b.w")
	assert.Equal(t, "Sub", got.Graphs["sub"].Class)
	assert.Len(t, got.Graphs["sub"].Nodes, 3)
}

// What JSON writes of a recorded graph, the reader of recordings reads back to
// the same graph.
//
// upstream: test_fx.TestFX.test_node_pickle_type_preservation
// upstream: test_graph_pickler.TestGraphPickler.graph_round_trip
func TestJSONKeepsTheGraph(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "fx", "*.json"))
	require.NoError(t, err)
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		r := &recording{dir: file}
		require.NoError(t, json.Unmarshal(data, r))
		g := r.graph(t)
		text, err := g.JSON()
		require.NoError(t, err)
		var back recording
		require.NoError(t, json.Unmarshal(text, &back))
		require.NoError(t, Equal(g, back.graph(t)), file)
		require.Equal(t, g.String(), back.graph(t).String())
	}
}

func TestPureImports(t *testing.T) {
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		imports, _, _ := strings.Cut(string(data), "\nfunc ")
		for _, banned := range []string{`"C"`, `"github.com/`, `"log"`, `"log/slog"`} {
			assert.NotContains(t, imports, "\t"+banned, file)
		}
	}
}
