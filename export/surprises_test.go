package export

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/ir"
)

// This file holds what surprises people about programs in files.

func format(t *testing.T, g *ir.Graph, name string) string {
	t.Helper()
	n := g.Lookup(name)
	require.NotNil(t, n, "no node %s in\n%s", name, g)
	return n.Format()
}

// Operators of TRAINING programs change buffers with no mutation in the
// signature: state is writable, and aliased as in the file.
func TestTrainingProgramsChangeStateInside(t *testing.T) {
	p := openProgram(t, "state.pt2")
	assert.True(t, p.Training())
	for _, out := range p.Signature.Outputs {
		assert.False(t, out.Kind.mutates())
	}
	m, err := p.Module()
	require.NoError(t, err)
	assert.Contains(t, m.Graph().String(), "torch.ops.aten.add_.Tensor](args = (%count, 1)")
	count, _ := m.Attr("count")
	assert.Same(t, p.Tensor("count"), count)
}

// After run_decompositions changes are outputs, which the module copies back.
func TestFunctionalProgramsCopyBack(t *testing.T) {
	p := openProgram(t, "state_core.pt2")
	assert.False(t, p.Training())
	assert.Equal(t, BufferMutation, p.Signature.Outputs[0].Kind)
	assert.Equal(t, "count", p.Signature.Outputs[0].Target)
	m, err := p.Module()
	require.NoError(t, err)
	assert.Len(t, m.Graph().Find(ir.CallFunction, copyInPlace), 2)
	out, err := m.Graph().OutputNode()
	require.NoError(t, err)
	assert.Equal(t, 2, out.Arg(0).(ir.Tuple).Len())
}

// A positional argument after an omitted one slips into its place in Python's
// loader: clamp(x, max=9) became clamp(x, min=9). Here it goes by keyword.
func TestArgumentsAreBoundByName(t *testing.T) {
	build := func(inputs ...any) *Program {
		a := takeApart(t, "linear.pt2")
		a.program(func(o object) {
			o.node(0)["target"], o.node(0)["inputs"] = "torch.ops.aten.clamp.default", inputs
		})
		p, err := a.open()
		require.NoError(t, err)
		return p
	}
	x := named("self", "as_tensor", object{"name": "x"}, 1)
	p := build(x, named("max", "as_int", 9, 1))
	assert.Equal(t, "%linear : [num_users=1] = call_function[target=torch.ops.aten.clamp.default](args = (%x,), kwargs = {max: 9})", format(t, p.Graph, "linear"))
	p = build(named("max", "as_int", 9, 1), named("min", "as_int", 0, 1), x)
	assert.Equal(t, "%linear : [num_users=1] = call_function[target=torch.ops.aten.clamp.default](args = (%x, 0, 9), kwargs = {})", format(t, p.Graph, "linear"), "in any order")
	p = build(x, named("min", "as_int", 0, 2), named("max", "as_int", 9, 2))
	assert.Equal(t, "%linear : [num_users=1] = call_function[target=torch.ops.aten.clamp.default](args = (%x,), kwargs = {min: 0, max: 9})", format(t, p.Graph, "linear"))
	noKind := named("min", "as_int", 0, 0)
	delete(noKind, "kind")
	p = build(x, noKind)
	assert.Equal(t, "%linear : [num_users=1] = call_function[target=torch.ops.aten.clamp.default](args = (%x,), kwargs = {min: 0})", format(t, p.Graph, "linear"), "files without kinds: by the schema")
}

// Texts that Python compiles and runs are data here, and cost their check.
func TestHostileTextsAreData(t *testing.T) {
	a := takeApart(t, "linear.pt2")
	a.program(func(o object) {
		size := object{"as_expr": object{"expr_str": "__import__('os').system('true')", "hint": object{"as_int": 4}}}
		o.graph().at("tensor_values", "linear")["sizes"].(list)[0] = size
		o.at("range_constraints")["open('x')"] = object{"min_val": 1, "max_val": nil}
		o["guards_code"] = list{"exec('raise')"}
	})
	a.put("data/sample_inputs/model.pt", []byte("cos\nsystem\n(S'false'\ntR."))
	p, err := a.open()
	require.NoError(t, err)
	assert.Len(t, p.Warnings, 3)
	meta := p.Graph.Lookup("linear").Meta().Get(ir.MetaVal).(ir.TensorMeta)
	_, known := meta.Sizes[0].Known()
	assert.False(t, known)
	assert.Equal(t, int64(4), meta.Sizes[0].Hint())
	assert.NoError(t, p.Guards.Check([]any{tensor(ir.Float32, 9, 3)}))
}

// A higher-order node has a name of its own, and subgraphs repeat names of the
// graph around them.
func TestNamesRepeatAcrossScopes(t *testing.T) {
	p := openFixture(t, "no_grad_region")
	found := false
	for n := range p.Graph.Nodes() {
		if f := n.Func(); f != nil && f.Kind() == ir.HigherOrder {
			found = true
			sub, ok := p.GraphModule().Attr(n.Arg(1).(*ir.Node).Target().String())
			require.True(t, ok)
			inner := sub.(*ir.GraphModule).Graph()
			for m := range inner.Nodes() {
				if outer := p.Graph.Lookup(m.Name()); outer != nil {
					assert.NotSame(t, outer, m)
				}
			}
			for user := range n.Users() {
				assert.Equal(t, getitem, user.Func(), "a one-tuple is taken apart")
			}
		}
	}
	assert.True(t, found)
}

// Two different subgraphs under one name, which Python lets overwrite each other.
func TestSubgraphsWithOneName(t *testing.T) {
	sub := func(op string) object {
		in := object{"as_tensor": object{"name": "x"}}
		return object{
			"inputs": list{in}, "outputs": list{object{"as_tensor": object{"name": "y"}}}, "is_single_tensor_return": true,
			"sym_int_values": object{}, "sym_bool_values": object{},
			"nodes": list{object{"target": "torch.ops.aten." + op + ".default", "metadata": object{}, "outputs": list{object{"as_tensor": object{"name": "y"}}},
				"inputs": list{named("self", "as_tensor", object{"name": "x"}, 1)}}},
		}
	}
	for _, tc := range []struct {
		second string
		attrs  int
	}{{"relu", 1}, {"sigmoid", 2}} {
		a := takeApart(t, "linear.pt2")
		a.program(func(o object) {
			values := o.graph().at("tensor_values")
			for _, g := range []object{sub("relu"), sub(tc.second)} {
				g["tensor_values"] = object{"x": values["x"], "y": values["x"]}
				g = object{"name": "body", "graph": g}
				o.node(0)["inputs"] = append(list{}, named("", "as_bool", true, 1), named("", "as_graph", g, 1))
				if o.node(0)["target"] == "torch.ops.higher_order.cond" {
					o.node(0)["inputs"] = append(list{}, named("", "as_bool", true, 1), named("", "as_graph", object{"name": "body", "graph": object{
						"inputs": sub("relu")["inputs"], "outputs": sub("relu")["outputs"], "nodes": sub("relu")["nodes"], "is_single_tensor_return": true,
						"sym_int_values": object{}, "sym_bool_values": object{}, "tensor_values": object{"x": values["x"], "y": values["x"]},
					}}, 1), named("", "as_graph", g, 1), named("", "as_tensors", list{object{"name": "x"}}, 1))
				}
				o.node(0)["target"] = "torch.ops.higher_order.cond"
			}
			o.node(0)["is_hop_single_tensor_return"] = true
		})
		p, err := a.open()
		require.NoError(t, err)
		n := 0
		for range p.GraphModule().Attrs() {
			n++
		}
		assert.Equal(t, tc.attrs, n, tc.second)
		assert.Equal(t, tc.attrs == 2, anyContains(p.Warnings, "two different subgraphs are called body"))
		require.NoError(t, p.Graph.Lint())
	}
}

// A one-tuple of a higher-order operator written as a list, as torch 2.6 did and
// as 2.15 fails to read.
func TestOneTuplesWrittenAsLists(t *testing.T) {
	a := takeApart(t, "linear.pt2")
	a.program(func(o object) {
		o.node(0)["target"], o.node(0)["inputs"] = "torch.ops.higher_order.map_impl", list{named("", "as_tensors", list{object{"name": "x"}}, 1)}
		o.node(0)["outputs"] = list{object{"as_tensors": list{object{"name": "linear"}}}}
		delete(o.node(0), "name")
	})
	p, err := a.open()
	require.NoError(t, err)
	assert.Equal(t, "%linear : [num_users=1] = call_function[target=operator.getitem](args = (%map_impl, 0), kwargs = {})", format(t, p.Graph, "linear"))
}

// index.Tensor without a None has a plain tensor list for a Tensor?[] argument,
// and numbers stand in tensor slots everywhere.
func TestListsOfOptionalTensorsAndNumbersForTensors(t *testing.T) {
	for _, name := range []string{"indexing", "scalar_promotion", "gather_scatter"} {
		openFixture(t, name)
	}
	a := takeApart(t, "linear.pt2")
	a.program(func(o object) {
		o.node(0)["target"] = "torch.ops.aten.index.Tensor"
		o.node(0)["inputs"] = list{named("self", "as_tensor", object{"name": "x"}, 1), named("indices", "as_tensors", list{object{"name": "x"}}, 1)}
	})
	_, err := a.open()
	require.NoError(t, err)
	a.program(func(o object) {
		o.node(0)["target"] = "torch.ops.aten.add.Tensor"
		o.node(0)["inputs"] = list{named("self", "as_tensor", object{"name": "x"}, 1), named("other", "as_float", 2.5, 1)}
	})
	_, err = a.open()
	require.NoError(t, err)
}

// Targets may be plain Python functions.
func TestPythonFunctionsAsTargets(t *testing.T) {
	p := openFixture(t, "associative_scan_op")
	assert.NotEmpty(t, p.Graph.Find(ir.CallFunction, ir.FuncOf("torch._functorch.predispatch._vmap_increment_nesting")))
}

// String outputs are savable, and Python cannot load them.
func TestStringOutputs(t *testing.T) {
	a := takeApart(t, "linear.pt2")
	a.program(func(o object) {
		o.graph()["outputs"] = list{object{"as_string": "done"}}
		o.signature()["output_specs"] = list{object{"user_output": object{"arg": object{"as_string": "done"}}}}
	})
	p, err := a.open()
	require.NoError(t, err)
	assert.Equal(t, ir.Str("done"), p.Signature.Outputs[0].Constant)
}

// Value names of all kinds load as inner values.
func TestOddValueNames(t *testing.T) {
	for _, name := range []string{"self", "a.b", "1st", "class", "with space", "überall"} {
		a := takeApart(t, "linear.pt2")
		a.program(func(o object) {
			values := o.graph().at("tensor_values")
			values[name] = values["linear"]
			value := object{"as_tensor": object{"name": name}}
			o.node(0)["outputs"], o.graph()["outputs"] = list{value}, list{value}
			o.signature()["output_specs"] = list{object{"user_output": object{"arg": value}}}
		})
		p, err := a.open()
		require.NoError(t, err, name)
		assert.NotNil(t, p.Graph.Lookup(name))
		m, err := p.Module()
		require.NoError(t, err, name)
		_, err = m.Code()
		require.NoError(t, err, name)
	}
}

// Floats that JSON does not have are strings in the file, and integers are whole
// up to 64 bits.
func TestNumbers(t *testing.T) {
	a := takeApart(t, "linear.pt2")
	a.program(func(o object) {
		o.node(0)["target"] = "torch.ops.aten.clamp.default"
		o.node(0)["inputs"] = list{named("self", "as_tensor", object{"name": "x"}, 1),
			named("min", "as_float", "-Infinity", 1), named("max", "as_int", int64(1)<<62+1, 1)}
	})
	p, err := a.open()
	require.NoError(t, err)
	n := p.Graph.Lookup("linear")
	assert.Equal(t, ir.Float(math.Inf(-1)), n.Arg(1))
	assert.Equal(t, ir.Int(1<<62+1), n.Arg(2))
}
