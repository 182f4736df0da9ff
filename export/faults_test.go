package export

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/ir"
)

type list = []any

// named is an argument of a node.
func named(name string, tag string, value any, kind int) object {
	return object{"name": name, "arg": object{tag: value}, "kind": kind}
}

// TestProgramFaults edits a good program and looks for the message.
func TestProgramFaults(t *testing.T) {
	tests := []struct {
		name  string
		class *ir.Class
		says  string
		edit  func(o object)
	}{
		{"no graph module", ir.ErrFormat, "required field graph_module of ExportedProgram is missing", func(o object) { delete(o, "graph_module") }},
		{"no schema version", ir.ErrFormat, "required field schema_version of ExportedProgram is missing", func(o object) { delete(o, "schema_version") }},
		{"no opset version", ir.ErrFormat, "required field opset_version", func(o object) { delete(o, "opset_version") }},
		{"a bare schema version", ir.ErrVersion, "schema version 1 is not supported (8 is)", func(o object) { o["schema_version"] = 1 }},
		{"no metadata", ir.ErrFormat, "node linear: required field metadata of Node is missing", func(o object) { delete(o.node(0), "metadata") }},
		{"no sym ints", ir.ErrFormat, "required field sym_int_values of Graph is missing", func(o object) { delete(o.graph(), "sym_int_values") }},
		{"two tags", ir.ErrFormat, "argument weight: expected an argument with exactly one key, got 2", func(o object) { o.node(0).at("inputs", 1, "arg")["as_none"] = nil }},
		{"no tag", ir.ErrFormat, "argument weight: expected an argument with exactly one key, got 0", func(o object) { o.node(0).at("inputs", 1)["arg"] = object{} }},
		{"a float for an int", ir.ErrFormat, "argument bias: expected as_int as a 64-bit integer, got a number", func(o object) { o.node(0).at("inputs", 2)["arg"] = object{"as_int": 1.5} }},
		{"a huge int", ir.ErrFormat, "as a 64-bit integer", func(o object) { o.node(0).at("inputs", 2)["arg"] = object{"as_int": uint64(1) << 63} }},
		{"an unknown dtype", ir.ErrUnsupported, "value linear: dtype: export schema number 99 is unknown", func(o object) { o.graph().at("tensor_values", "linear")["dtype"] = 99 }},
		{"an unknown device", ir.ErrRuntime, `unknown kind of device`, func(o object) { o.graph().at("tensor_values", "linear")["device"] = object{"type": "abacus"} }},
		{"strides too few", ir.ErrFormat, "value linear: expected as many strides as sizes, got 0 and 2", func(o object) { o.graph().at("tensor_values", "linear")["strides"] = list{} }},
		{"no entry", ir.ErrFormat, "node linear: value linear has no entry in the value tables", func(o object) { delete(o.graph().at("tensor_values"), "linear") }},
		{"an unknown argument", ir.ErrFormat, `node linear: aten::linear has no argument "wait"`, func(o object) { o.node(0).at("inputs", 1)["name"] = "wait" }},
		{"an argument twice", ir.ErrFormat, "node linear: argument input is given twice", func(o object) { o.node(0).at("inputs", 1)["name"] = "input" }},
		{"an argument missing", ir.ErrFormat, "node linear: argument weight of aten::linear is missing", func(o object) { o.node(0)["inputs"] = list{o.node(0).get("inputs", 0)} }},
		{"a string for a tensor", ir.ErrFormat, "argument weight of aten::linear: expected Tensor, got as_string", func(o object) { o.node(0).at("inputs", 1)["arg"] = object{"as_string": "w"} }},
		{"None for a tensor", ir.ErrFormat, "argument weight of aten::linear: expected Tensor, got as_none", func(o object) { o.node(0).at("inputs", 1)["arg"] = object{"as_none": true} }},
		{"a kind of 3", ir.ErrUnsupported, "argument weight: unknown kind 3", func(o object) { o.node(0).at("inputs", 1)["kind"] = 3 }},
		{"nothing defines it", ir.ErrFormat, "node linear: uses ghost, which nothing defines", func(o object) { o.node(0).at("inputs", 0)["arg"] = object{"as_tensor": object{"name": "ghost"}} }},
		{"two results", ir.ErrFormat, "node linear: aten::linear returns 1 values: expected as many outputs, got 2", func(o object) {
			o.node(0)["outputs"] = append(o.node(0)["outputs"].(list), object{"as_none": true})
		}},
		{"no overload", ir.ErrFormat, "target torch.ops.aten.linear names no overload: expected torch.ops.aten.linear.default", func(o object) { o.node(0)["target"] = "torch.ops.aten.linear" }},
		{"a Python function", ir.ErrUnsupported, "unknown target os.system", func(o object) { o.node(0)["target"] = "os.system" }},
		{"a dispatcher name", ir.ErrUnsupported, "unknown target aten::linear", func(o object) { o.node(0)["target"] = "aten::linear" }},
		{"an unknown higher-order operator", ir.ErrUnsupported, "unknown higher-order operator conda", func(o object) { o.node(0)["target"] = "torch.ops.higher_order.conda" }},
		{"a Triton kernel", ir.ErrUnsupported, "a Triton kernel needs Python", func(o object) { o.node(0)["target"] = "torch.ops.higher_order.triton_kernel_wrapper_functional" }},
		{"a symbolic operator of no arguments", ir.ErrFormat, "node linear: _operator.gt: expected arguments: 2, got 0", func(o object) {
			o.node(0)["target"], o.node(0)["inputs"] = "_operator.gt", list{}
		}},
		{"a symbolic negation of three", ir.ErrFormat, "node linear: _operator.neg: expected arguments: 1, got 3", func(o object) { o.node(0)["target"] = "_operator.neg" }},
		{"a single output", ir.ErrFormat, "expected a tuple as the graph's output, got a single tensor", func(o object) { o.graph()["is_single_tensor_return"] = true }},
		{"an extension", ir.ErrUnsupported, "belongs to an extension of torch.export", func(o object) { o.node(0)["target"] = "#ns:op" }},
		{"no specs", ir.ErrFormat, "signature and graph disagree: 1 outputs, 0 output specs", func(o object) { o.signature()["output_specs"] = list{} }},
		{"another name in the spec", ir.ErrFormat, "input 2: signature and graph disagree: x in the graph, y in the signature", func(o object) {
			o.signature().at("input_specs", 2, "user_input")["arg"] = object{"as_tensor": object{"name": "y"}}
		}},
		{"an unknown spec", ir.ErrUnsupported, "input spec 2: unknown kind weight of an input", func(o object) { o.signature()["input_specs"].(list)[2] = object{"weight": object{}} }},
		{"a mutation of nothing", ir.ErrFormat, "output linear is a buffer_mutation of ghost, which is no buffer", func(o object) {
			o.signature()["output_specs"] = list{object{"buffer_mutation": object{"arg": object{"name": "linear"}, "buffer_name": "ghost"}}}
		}},
		{"no call graph", ir.ErrFormat, "module_call_graph: expected the first entry to be the root with a signature", func(o object) { o.at("graph_module")["module_call_graph"] = list{} }},
		{"a broken spec", ir.ErrFormat, `module call "": in_spec: `, func(o object) { o.at("graph_module", "module_call_graph", 0, "signature")["in_spec"] = "[1, {" }},
		{"a spec of two inputs", ir.ErrFormat, "in_spec has 2 leaves, the signature 1 user inputs", func(o object) {
			s := o.at("graph_module", "module_call_graph", 0, "signature")
			leaf := `{"type": null, "context": null, "children_spec": []}`
			s["in_spec"] = strings.Replace(s["in_spec"].(string), leaf, leaf+","+leaf, 1)
		}},
		{"a kept module of nothing", ir.ErrFormat, `module call "l": names ghost, which is no value of the graph`, func(o object) {
			root := o.at("graph_module", "module_call_graph", 0, "signature")
			kept := object{"inputs": list{object{"as_tensor": object{"name": "x"}}}, "outputs": list{object{"as_tensor": object{"name": "ghost"}}},
				"in_spec": root["in_spec"], "out_spec": root["out_spec"], "forward_arg_names": nil}
			o.at("graph_module", "module_call_graph", 1)["signature"] = kept
		}},
		{"an escape sequence in a name", ir.ErrFormat, `uses \x1b[2J, which nothing defines`, func(o object) { o.node(0).at("inputs", 0)["arg"] = object{"as_tensor": object{"name": "\x1b[2J"}} }},
		{"a subgraph with a strange name", ir.ErrFormat, `subgraph name "a.b": expected an identifier`, func(o object) {
			o.node(0)["target"] = "torch.ops.higher_order.cond"
			empty := object{"inputs": list{}, "outputs": list{}, "nodes": list{}, "tensor_values": object{}, "sym_int_values": object{}, "sym_bool_values": object{}}
			o.node(0)["inputs"] = list{named("", "as_graph", object{"name": "a.b", "graph": empty}, 1)}
		}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			a := takeApart(t, "linear.pt2")
			a.program(tc.edit)
			_, err := a.open()
			require.ErrorIs(t, err, tc.class)
			assert.ErrorContains(t, err, tc.says)
		})
	}
}

func TestWeightFaults(t *testing.T) {
	meta := func(o object, name string) object { return o.at(name, "tensor_meta") }
	tests := []struct {
		name, says string
		edit       func(a *testArchive)
	}{
		{"another dtype", "weight l.bias: graph and config disagree: torch.float32 in the graph, torch.int32 in the config", func(a *testArchive) {
			a.weights(func(o object) { meta(o, "l.bias")["dtype"] = 4 })
		}},
		{"other sizes", "weight l.weight: graph and config disagree: sizes [2 3] in the graph, [3 2] in the config", func(a *testArchive) {
			a.weights(func(o object) {
				meta(o, "l.weight")["sizes"] = list{object{"as_int": 3}, object{"as_int": 2}}
				meta(o, "l.weight")["strides"] = list{object{"as_int": 2}, object{"as_int": 1}}
			})
		}},
		{"not a parameter", "weight l.weight is a parameter in the signature but not in the weights config", func(a *testArchive) {
			a.weights(func(o object) { o.at("l.weight")["is_param"] = false })
		}},
		{"too few elements", "l.weight: record data/weights/weight_0: expected at least 12 elements of torch.float32, got 6", func(a *testArchive) {
			a.weights(func(o object) { meta(o, "l.weight")["strides"] = list{object{"as_int": 9}, object{"as_int": 1}} })
		}},
		{"a negative stride", "l.weight: negative stride: -3", func(a *testArchive) {
			a.weights(func(o object) { meta(o, "l.weight")["strides"] = list{object{"as_int": -3}, object{"as_int": 1}} })
		}},
		{"a size that is an expression", "l.bias: expected a plain size, got the expression s0", func(a *testArchive) {
			a.weights(func(o object) {
				meta(o, "l.bias")["sizes"] = list{object{"as_expr": object{"expr_str": "s0", "hint": nil}}}
			})
		}},
		{"a size beyond all memory", "are too large for a tensor", func(a *testArchive) {
			a.weights(func(o object) {
				meta(o, "l.bias")["sizes"], meta(o, "l.bias")["strides"] = list{object{"as_int": 1 << 62}}, list{object{"as_int": 1 << 62}}
			})
		}},
		{"a payload elsewhere", `l.bias: payload record name "../../up": has .. in it`, func(a *testArchive) {
			a.weights(func(o object) { o.at("l.bias")["path_name"] = "../../up" })
		}},
		{"no payload", "l.bias: record missing: data/weights/weight_9", func(a *testArchive) {
			a.weights(func(o object) { o.at("l.bias")["path_name"] = "weight_9" })
		}},
		{"a pickle", "l.bias: its payload weight_1 is a Python pickle", func(a *testArchive) {
			a.weights(func(o object) { o.at("l.bias")["use_pickle"] = true })
		}},
		{"no meta", "l.bias: expected a tensor_meta for payload weight_1, got none", func(a *testArchive) {
			a.weights(func(o object) { o.at("l.bias")["tensor_meta"] = nil })
		}},
		{"a sparse one", "l.bias: expected a strided tensor, got layout torch.sparse_coo", func(a *testArchive) {
			a.weights(func(o object) { meta(o, "l.bias")["layout"] = 1 })
		}},
		{"a constant of an unknown kind", `constant c: expected a payload named tensor_, custom_obj_ or opaque_obj_, got "thing_0"`, func(a *testArchive) {
			a.edit("data/constants/model_constants_config.json", func(o object) {
				o.at("config")["c"] = object{"path_name": "thing_0", "is_param": false, "use_pickle": false, "tensor_meta": nil}
			})
		}},
		{"a broken config", "data/weights/model_weights_config.json: not valid JSON", func(a *testArchive) {
			a.put("data/weights/model_weights_config.json", []byte(`{"config": {`))
		}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			a := takeApart(t, "linear.pt2")
			tc.edit(a)
			_, err := a.open()
			require.Error(t, err)
			assert.ErrorContains(t, err, tc.says)
			assert.NotContains(t, err.Error(), "\n", "one fault, one message")
		})
	}
}

// TestNonPersistentBuffersAreConstants: a buffer that is not in the state dict
// may not stand among the weights.
func TestNonPersistentBuffersAreConstants(t *testing.T) {
	a := takeApart(t, "state.pt2")
	a.weights(func(o object) { o["scratch"] = o["count"] })
	_, err := a.open()
	assert.ErrorContains(t, err, "buffer scratch is not persistent but stands in the weights config")
}

// TestAllFaultsAtOnce: one opening tells of everything.
func TestAllFaultsAtOnce(t *testing.T) {
	a := takeApart(t, "linear.pt2")
	a.weights(func(o object) { delete(o, "l.bias") })
	a.put("data/weights/weight_0", append(a.records["data/weights/weight_0"], 'x'))
	a.program(func(o object) {
		o.node(0)["target"] = "torch.ops.aten.lineaar.default"
		o.node(0).at("inputs", 0)["arg"] = object{"as_tensor": object{"name": "ghost"}}
		o.node(0).at("inputs", 1)["arg"] = object{"as_quaternion": 1}
		o.signature().at("output_specs", 0)["user_output"] = object{"arg": object{"as_tensor": object{"name": "other"}}}
	})
	_, err := a.open()
	require.Error(t, err)
	for _, says := range []string{
		"record data/weights/weight_0: size 25", "weight l.bias is in the signature but not in the weights config",
		"unknown operator aten::lineaar.default", "uses ghost", "unknown argument kind as_quaternion",
		"output 0: signature and graph disagree: linear in the graph, other in the signature",
	} {
		assert.ErrorContains(t, err, says)
	}
	assert.Equal(t, 6, len(strings.Split(err.Error(), "\n")), err)
}

// TestReportsAreBounded: a file with a fault in every node does not fill the
// memory with messages.
func TestReportsAreBounded(t *testing.T) {
	a := takeApart(t, "linear.pt2")
	a.program(func(o object) {
		var nodes list
		for range 1000 {
			nodes = append(nodes, o.node(0))
		}
		o.graph()["nodes"] = nodes
	})
	_, err := a.open()
	require.Error(t, err)
	assert.Len(t, strings.Split(err.Error(), "\n"), maxFaults+1)
	assert.ErrorContains(t, err, "and 899 more faults")
}

// TestDeadEntriesAreCheap: value tables may hold what no node mentions, a
// hundred thousand times; Python needs more than 40 s for that.
func TestDeadEntriesAreCheap(t *testing.T) {
	a := takeApart(t, "linear.pt2")
	a.method = 8
	a.program(func(o object) {
		values := o.graph().at("tensor_values")
		for i := range 100_000 {
			values[fmt.Sprintf("dead_%d", i)] = values["x"]
		}
	})
	data := a.bytes()
	atMost(t, func() {
		p, err := Read(strings.NewReader(string(data)), int64(len(data)))
		require.NoError(t, err)
		require.NoError(t, p.Close())
	})
}

// TestNestingIsBounded: neither deep JSON nor deep subgraphs end the process.
func TestNestingIsBounded(t *testing.T) {
	a := takeApart(t, "linear.pt2")
	a.put("models/model.json", []byte(strings.Repeat("[", 1_000_000)))
	_, err := a.open()
	assert.ErrorContains(t, err, "expected at most 512 nested containers")

	a = takeApart(t, "linear.pt2")
	a.program(func(o object) {
		g := o.graph()
		for range 40 {
			node := object{"target": "torch.ops.higher_order.cond", "outputs": list{}, "metadata": object{}, "inputs": list{named("", "as_graph", object{"name": "g", "graph": g}, 1)}}
			g = object{"inputs": list{}, "outputs": list{}, "nodes": list{node}, "tensor_values": object{}, "sym_int_values": object{}, "sym_bool_values": object{}}
		}
		o.at("graph_module")["graph"] = g
	})
	_, err = a.open()
	assert.ErrorContains(t, err, "expected at most 32 nested graphs")
}

// What a small file can make the reader do is bounded.
func TestCostlyFaultsAreBounded(t *testing.T) {
	t.Run("unknown operators", func(t *testing.T) {
		a := takeApart(t, "linear.pt2")
		a.program(func(o object) {
			nodes := o.graph()["nodes"].(list)
			for i := range 2000 {
				nodes = append(nodes, object{"target": fmt.Sprintf("torch.ops.aten.nope%d.default", i), "inputs": list{}, "outputs": list{}, "metadata": object{}})
			}
			o.graph()["nodes"] = nodes
		})
		_, err := a.open()
		require.ErrorIs(t, err, ir.ErrUnsupported)
		assert.ErrorContains(t, err, "unknown operator aten::nope0.default in libtorch 2.15.0; the nearest one is ")
		assert.Equal(t, maxSearches, strings.Count(err.Error(), "; the nearest one is"))
	})
	t.Run("zip bomb", func(t *testing.T) {
		a := takeApart(t, "linear.pt2")
		a.method = 8
		a.put("models/model.json", make([]byte, bombSize+1))
		_, err := a.open()
		require.ErrorIs(t, err, ir.ErrFormat)
		assert.ErrorContains(t, err, "record models/model.json: declares 16777217 bytes in ")
		assert.ErrorContains(t, err, "as only a zip bomb does")
	})
}
