package ir

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What test_fx.py holds about graphs and nodes and is not held by a test beside the
// code in question.

// upstream: test_fx.TestFX.test_graph_unique_names
// upstream: test_fx.TestFX.test_graph_unique_names_manual
func TestUpstreamUniqueNames(t *testing.T) {
	unique := func(g *Graph) {
		seen := map[string]bool{}
		for n := range g.Nodes() {
			assert.False(t, seen[n.Name()], n.Name())
			seen[n.Name()] = true
		}
	}
	g, nodes := chain(2)
	copied := NewGraph()
	for range 2 {
		_, _, err := copied.CopyFrom(g, map[*Node]Arg{})
		require.NoError(t, err)
	}
	unique(copied)
	assert.Equal(t, []string{"x", "relu", "relu_1", "x_1", "relu_2", "relu_3"}, names(copied))

	manual := NewGraph()
	a := manual.Placeholder("x")
	manual.CallModule("linear_mod", []Arg{a}, Name("foo_1_1"))
	manual.CallFunction(FuncOf("operator.add"), []Arg{a, a}, Name("foo_1"))
	manual.CallFunction(FuncOf("operator.add"), []Arg{a, a}, Name("foo_1"))
	manual.CallFunction(FuncOf("operator.add"), []Arg{a, a}, Name("foo"))
	unique(manual)
	into := NewGraph()
	_, _, err := into.CopyFrom(manual, map[*Node]Arg{})
	require.NoError(t, err)
	_, _, err = into.CopyFrom(manual, map[*Node]Arg{})
	require.NoError(t, err)
	unique(into)
	_ = nodes
}

// upstream: test_fx.TestFX.test_remove_uses
func TestUpstreamRemoveUses(t *testing.T) {
	g := NewGraph()
	x := g.Placeholder("x")
	relu := g.CallFunction(FuncOf("torch.relu"), []Arg{x})
	neg := g.CallFunction(FuncOf("torch.neg"), []Arg{relu})
	g.Output(neg)
	neg.ReplaceAllUsesWith(relu)
	require.NoError(t, g.Erase(neg))
	assert.False(t, relu.HasUser(neg))
	assert.Equal(t, []string{"output"}, userNames(relu))
}

// upstream: test_fx.TestFX.test_copy_it
func TestUpstreamCopyIt(t *testing.T) {
	g := NewGraph()
	x := g.Placeholder("x")
	relu := g.CallFunction(FuncOf("torch.relu"), []Arg{x})
	g.Output(TupleOf(relu, x))
	copied := NewGraph()
	out, output, err := copied.CopyFrom(g, map[*Node]Arg{})
	require.NoError(t, err)
	copied.Output(out, WithType(output.Type()))
	require.NoError(t, copied.Lint())
	require.Equal(t, g.String(), copied.String())
}

// upstream: test_fx.TestFX.test_copy_no_remap
// upstream: test_fx.TestFX.test_wrong_topo
// upstream: test_fx.TestFX.test_wrong_target_type
func TestUpstreamLint(t *testing.T) {
	g, nodes := chain(2)
	copied := NewGraph()
	for _, n := range nodes {
		_, err := copied.CopyNode(n, nil)
		require.NoError(t, err)
	}
	require.ErrorContains(t, copied.Lint(), "does not belong to this Graph")
	require.NoError(t, nodes[0].Prepend(nodes[2]))
	require.ErrorContains(t, g.Lint(), "was used before it has been defined")
	_, err := g.CreateNode(CallFunction, Path("foo"), nil)
	require.ErrorIs(t, err, ErrValue)
	require.ErrorContains(t, err, "but a Callable is expected")
}

// upstream: test_fx.TestFX.test_replace_input
// upstream: test_fx.TestFX.test_find_uses
func TestUpstreamReplaceInput(t *testing.T) {
	g := NewGraph()
	x, y := g.Placeholder("x"), g.Placeholder("y")
	b := g.CallFunction(FuncOf("torch.relu"), []Arg{x})
	c := g.CallFunction(FuncOf("torch.add"), []Arg{x, ListOf(x)}, Kwargs(Kw("k", x)))
	assert.Equal(t, []string{"relu", "add"}, userNames(x))
	c.ReplaceInputWith(x, y)
	assert.Equal(t, "%add : [num_users=0] = call_function[target=torch.add](args = (%y, [%y]), kwargs = {k: %y})", c.Format())
	assert.Equal(t, []string{"relu"}, userNames(x))
	assert.Equal(t, []string{"add"}, userNames(y))
	assert.Equal(t, []string{"x"}, inputNames(b))
}

// Arguments are values: what a node has is not changed by the caller's slices, and
// containers have nothing that changes them.
//
// upstream: test_fx.TestFX.test_update_args_kwargs_yells_at_you
// upstream: test_fx.TestFX.test_no_mutation
func TestUpstreamArgumentsAreValues(t *testing.T) {
	g := NewGraph()
	x, y := g.Placeholder("x"), g.Placeholder("y")
	args, items := []Arg{x, Int(1)}, []Arg{x, x}
	list := ListOf(items...)
	n := g.CallFunction(FuncOf("torch.cat"), append(args, list))
	before := n.Format()
	args[0], items[0] = y, y
	assert.Equal(t, before, n.Format())
	got := n.Args()
	assert.Equal(t, before, n.Format(), "nor by what was read: %v", got)
	assert.Equal(t, []string{"cat"}, userNames(x))
	assert.Empty(t, userNames(y))
}

// upstream: test_fx.TestFX.test_immutable_list_pytree_ops
// upstream: test_fx.TestFX.test_immutable_dict_pytree_ops
func TestUpstreamContainersAreRebuilt(t *testing.T) {
	g := NewGraph()
	x := g.Placeholder("x")
	twice := func(a Arg) Arg {
		if i, ok := a.(Int); ok {
			return i * 2
		}
		return a
	}
	for _, tc := range []struct{ a, want Arg }{
		{ListOf(Int(3), ListOf(Int(4), x)), ListOf(Int(6), ListOf(Int(8), x))},
		{DictOf(Pair{Str("a"), Int(3)}, Pair{Str("b"), ListOf(Int(4), x)}), DictOf(Pair{Str("a"), Int(6)}, Pair{Str("b"), ListOf(Int(8), x)})},
	} {
		var leaves []Arg
		Walk(tc.a, func(leaf Arg) { leaves = append(leaves, leaf) })
		assert.Equal(t, []Arg{Int(3), Int(4), x}, leaves)
		assert.True(t, EqualArgs(tc.want, MapArg(tc.a, twice)))
		assert.True(t, EqualArgs(tc.a, MapArg(tc.a, func(a Arg) Arg { return a })))
	}
}

func codeText(t *testing.T, g *Graph) string {
	c, err := g.PythonCode("self")
	require.NoError(t, err)
	return c.Source
}

func TestUpstreamCode(t *testing.T) {
	build := func(f func(g *Graph, x *Node)) *Graph {
		g := NewGraph()
		f(g, g.Placeholder("x"))
		return g
	}
	tests := []struct {
		name  string
		graph *Graph
		want  []string
	}{
		// upstream: test_fx.TestFX.test_return_tuple
		{"return tuple", build(func(g *Graph, x *Node) { g.Output(TupleOf(x, g.CallFunction(FuncOf("operator.add"), []Arg{x, x}))) }), []string{"return (x, add)"}},
		// upstream: test_fx.TestFX.test_empty_graph_codegen
		{"empty graph", NewGraph(), []string{"def forward(self):\n    pass\n"}},
		// upstream: test_fx.TestFX.test_imul_code_print
		{"imul", build(func(g *Graph, x *Node) { g.Output(g.CallFunction(FuncOf("operator.imul"), []Arg{x, Int(2)})) }), []string{"x *= 2;  imul = x"}},
		// upstream: test_fx.TestFX.test_delete_unused_values
		{"unused value", build(func(g *Graph, x *Node) { g.CallMethod("copy_", []Arg{x, x}); g.Output(x) }), []string{"copy_ = x.copy_(x);  copy_ = None"}},
		// upstream: test_fx.TestFX.test_inf_nan
		{"inf and nan", build(func(g *Graph, x *Node) {
			a := g.CallFunction(FuncOf("operator.add"), []Arg{x, Float(math.Inf(1))})
			b := g.CallFunction(FuncOf("operator.add"), []Arg{a, Float(math.Inf(-1))})
			g.Output(g.CallFunction(FuncOf("operator.add"), []Arg{b, Float(math.NaN())}))
		}), []string{"x + inf", "add + -inf", "add_1 + nan"}},
		// upstream: test_fx.TestFX.test_inf_nan_kwds
		{"names inf and nan", build(func(g *Graph, x *Node) {
			b := g.CallFunction(FuncOf("operator.add"), []Arg{x, Float(math.Inf(1))}, Name("inf"))
			g.Output(TupleOf(b, g.CallFunction(FuncOf("operator.add"), []Arg{x, Float(math.NaN())}, Name("nan"))))
		}), []string{"inf_1 = x + inf", "nan_1 = x + nan", "return (inf_1, nan_1)"}},
		// upstream: test_fx.TestFX.test_layout
		{"layout", build(func(g *Graph, x *Node) {
			g.Output(g.CallFunction(FuncOf("torch.empty_like"), []Arg{x}, Kwargs(Kw("layout", Strided))))
		}), []string{"torch.empty_like(x, layout = torch.strided)"}},
		// upstream: test_fx.TestFX.test_ellipsis
		{"ellipsis", build(func(g *Graph, x *Node) {
			g.Output(g.CallFunction(FuncOf("operator.getitem"), []Arg{x, TupleOf(Ellipsis{}, Int(1))}))
		}), []string{"x[(Ellipsis, 1)]"}},
		// upstream: test_fx.TestFX.test_tuple_no_subscript
		{"tuple", build(func(g *Graph, x *Node) {
			g.Output(g.CallFunction(FuncOf("torch.cat"), []Arg{TupleOf(x, x)}))
		}), []string{"torch.cat((x, x))"}},
		// upstream: test_fx.TestFX.test_named_tuple_inlined
		{"namedtuple", build(func(g *Graph, x *Node) {
			g.Output(g.CallFunction(FuncOf("program.use"), []Arg{NamedTupleOf(FuncOf("program.Pair"), []string{"x", "y"}, x, Int(2))}))
		}), []string{"program_use(program_Pair(x, 2))"}},
		// upstream: test_fx.TestFX.test_torch_op_overloads
		// upstream: test_fx.TestFX.test_torch_custom_ops
		{"operators", build(func(g *Graph, x *Node) {
			b := g.CallFunction(FuncOf("torch.ops.aten.add.Tensor"), []Arg{x, x})
			g.Output(g.CallFunction(FuncOf("torch.ops.aten.sigmoid"), []Arg{b}))
		}), []string{"torch.ops.aten.add.Tensor(x, x)", "torch.ops.aten.sigmoid(add_tensor)"}},
		// upstream: test_fx.TestFX.test_custom_import
		{"custom import", build(func(g *Graph, x *Node) {
			g.Output(g.CallFunction(FuncOf("mymodule.a_non_torch_leaf"), []Arg{x, Int(3)}))
		}),
			[]string{"mymodule_a_non_torch_leaf(x, 3)"}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			src := codeText(t, tc.graph)
			for _, want := range tc.want {
				assert.Contains(t, src, want)
			}
		})
	}
	custom, err := tests[len(tests)-1].graph.PythonCode("self")
	require.NoError(t, err)
	assert.Contains(t, custom.Imports(), "from mymodule import a_non_torch_leaf as mymodule_a_non_torch_leaf")
}

func TestUpstreamAnnotations(t *testing.T) {
	tests := []struct{ name, typ, want string }{
		// upstream: test_fx.TestFX.test_annotations_with_no_forward_references
		{"plain", "torch.Tensor", "x : torch.Tensor"},
		// upstream: test_fx.TestFX.test_annotations_with_forward_references
		// upstream: test_fx.TestFX.test_annotation_with_future
		{"string", "'A'", "x : _A_"},
		// upstream: test_fx.TestFX.test_annotations_with_non_torch_reference_and_no_internal_forward_references
		{"list of a class", "typing.List[program.A]", "x : typing_List[program_A]"},
		// upstream: test_fx.TestFX.test_annotations_with_non_torch_reference_and_internal_forward_references
		{"nested", "typing.List[typing.Dict[str, program.A]]", "x : typing_List[typing_Dict[str,program_A]]"},
		// upstream: test_fx.TestFX.test_annotations_empty_tuple
		// upstream: test_fx.TestFX.test_fn_type_annotation_empty
		{"empty tuple", "typing.Tuple[()]", "x : typing_Tuple"},
		// upstream: test_fx.TestFX.test_typename_print
		{"generic", "list[torch.Tensor]", "x : list[torch.Tensor]"},
		{"optional", "typing.Optional[int]", "x : typing_Union[int,NoneType]"},
		// upstream: test_gradual_type.type_annotations
		{"tensor type", "TensorType(torch.fx.tensor_type.TensorType, ((1, 2, Dyn),))", ""},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			if tc.want == "" {
				// as its code text has it: TensorType prints its dimensions as globals
				src := "def forward(self, x : torch.fx.tensor_type.TensorType[_1,_2,torch.fx.tensor_type._DynType]):\n    return x"
				g, err := ParseCode(src)
				require.NoError(t, err)
				require.Contains(t, codeText(t, g), "x : torch.fx.tensor_type.TensorType[_1,_2,torch.fx.tensor_type._DynType]")
				return
			}
			g := NewGraph()
			g.Output(g.Placeholder("x", WithType(tc.typ)))
			src := codeText(t, g)
			require.Contains(t, src, "("+"self, "+tc.want+")")
		})
	}
}

// upstream: test_fx.TestFX.test_pickle_nonetype_annotation
func TestUpstreamNoneTypeIsReadAgain(t *testing.T) {
	src := "def forward(self, x : NoneType, y : typing_Union[int,NoneType]):\n    add = x + y;  x = y = None\n    return add\n"
	g, err := ParseCode(src)
	require.NoError(t, err)
	again, err := ParseCode(codeText(t, g))
	require.NoError(t, err)
	require.NoError(t, Equal(g, again))
	require.Contains(t, codeText(t, again), "(self, x : NoneType, y : typing_Union[int,NoneType])")
}

// upstream: test_fx.TestFX.test_pretty_print_graph
// upstream: test_fx.TestFX.test_pretty_print_targets
// upstream: test_fx.TestFX.test_pretty_print_node
func TestUpstreamPrinting(t *testing.T) {
	g := NewGraph()
	x, y := g.Placeholder("x"), g.Placeholder("y", Default(Int(2)))
	w := g.GetAttr("self_param")
	a := g.CallFunction(FuncOf("operator.add"), []Arg{x, w})
	b := g.CallModule("linear", []Arg{a})
	c := g.CallMethod("clamp", []Arg{b}, Kwargs(Kw("min", Float(0)), Kw("max", Float(1))))
	d := g.CallFunction(FuncOf("getattr"), []Arg{c, Str("shape")})
	e := g.CallFunction(FuncOf("operator.getitem"), []Arg{y, Slice{Start: d, Stop: Int(1)}})
	g.Output(e)
	for n, want := range map[*Node]string{
		x: "%x : [num_users=1] = placeholder[target=x]",
		y: "%y : [num_users=1] = placeholder[target=y](default=2)",
		w: "%self_param : [num_users=1] = get_attr[target=self_param]",
		a: "%add : [num_users=1] = call_function[target=operator.add](args = (%x, %self_param), kwargs = {})",
		b: "%linear : [num_users=1] = call_module[target=linear](args = (%add,), kwargs = {})",
		c: "%clamp : [num_users=1] = call_method[target=clamp](args = (%linear,), kwargs = {min: 0.0, max: 1.0})",
		d: "%getattr_1 : [num_users=1] = call_function[target=builtins.getattr](args = (%clamp, shape), kwargs = {})",
		e: "%getitem : [num_users=1] = call_function[target=operator.getitem](args = (%y, slice(getattr_1, 1, None)), kwargs = {})",
	} {
		assert.Equal(t, want, n.Format())
		assert.Contains(t, g.String(), want)
	}
	assert.Contains(t, g.String(), "return getitem")
}

// upstream: test_fx.TestFX.test_lineno_map
func TestUpstreamLineMap(t *testing.T) {
	g := NewGraph()
	a, b := g.Placeholder("a"), g.Placeholder("b")
	c := g.CallFunction(FuncOf("torch.sin"), []Arg{a})
	d := g.CallFunction(FuncOf("torch.cos"), []Arg{b})
	g.Output(g.CallFunction(FuncOf("operator.add"), []Arg{c, d}))
	code, err := g.PythonCode("self")
	require.NoError(t, err)
	lines := strings.Split(code.Source, "\n")
	nodes := slices.Collect(g.Nodes())
	found := 0
	for line, i := range code.Lines {
		if i < 0 {
			continue
		}
		text := lines[code.PrologueStart-1+line]
		n := nodes[i]
		if n.Op() == CallFunction {
			found++
			assert.Contains(t, text, n.Name()+" = ", "line %d", line)
		}
	}
	assert.Equal(t, 3, found)
}

// upstream: test_fx.TestFX.test_deepcopy_recursion_depth
// upstream: test_fx.TestFX.test_deepcopy_graph_with_tracer_cls
// upstream: test_fx.TestFX.test_deepcopy_tracer
func TestUpstreamCloneOfALongGraph(t *testing.T) {
	g, nodes := chain(50_000)
	g.SetCodeGen(BoxedCodeGen{})
	nodes[1].Meta().Set("tracer", "kept")
	c := g.Clone()
	require.Equal(t, g.Len(), c.Len())
	for a, b := g.First(), c.First(); a != nil; a, b = a.Next(), b.Next() {
		require.Equal(t, a.NumUsers(), b.NumUsers())
		require.Equal(t, a.Name(), b.Name())
	}
	require.Equal(t, g.CodeGen(), c.CodeGen())
	require.Equal(t, "kept", c.Lookup("relu").Meta().Get("tracer"))
}

// upstream: test_fx.TestFX.test_module_deepcopy_edit_nodes
// upstream: test_fx.TestFX.test_deepcopy_graphmodule_with_transform
// upstream: test_fx.TestFX.test_deepcopy_with_submods_params
func TestUpstreamCloneOfAModule(t *testing.T) {
	m := nested(t)
	c := m.Clone()
	require.Equal(t, attrPaths(m), attrPaths(c))
	before := m.String()
	for n := range c.Graph().Nodes() {
		if n.Op() == CallModule {
			require.NoError(t, n.SetOp(CallFunction, FuncOf("torch.relu")))
		}
	}
	require.NoError(t, c.Graph().Lint())
	require.Equal(t, before, m.String())
	require.NotEqual(t, before, c.String())
	again := c.Clone()
	require.Equal(t, c.String(), again.String())
}

// What a called module has below it is kept, though no node names it.
//
// upstream: test_fx.TestFX.test_delete_unused_submodules_leaf
func TestUpstreamUnusedBelowALeaf(t *testing.T) {
	g := NewGraph()
	g.Output(g.CallModule("submod", []Arg{g.Placeholder("x")}))
	m, err := NewGraphModule(map[string]any{"submod": &linear{}, "submod.linear": &linear{}, "other": &linear{}, "other.linear": &linear{}}, g)
	require.NoError(t, err)
	m.DeleteUnusedSubmodules()
	require.Equal(t, []string{"submod", "submod.linear"}, attrPaths(m))
}

// Parameters and buffers are taken over as they are, from a map as from a module.
//
// upstream: test_fx.TestFX.test_graph_module_init_buffer_param_copied_dict_init
// upstream: test_fx.TestFX.test_graph_module_init_buffer_param_copied_mod_init
func TestUpstreamModulesShareTheirTensors(t *testing.T) {
	type named struct{ TensorLike }
	param, buffer := &named{tensor{}}, &named{tensor{}}
	g := NewGraph()
	x := g.Placeholder("x")
	a := g.CallFunction(FuncOf("operator.add"), []Arg{x, g.GetAttr("my_param")})
	g.Output(g.CallFunction(FuncOf("operator.add"), []Arg{a, g.GetAttr("my_buff")}))
	m, err := NewGraphModule(map[string]any{"my_param": param, "my_buff": buffer}, g)
	require.NoError(t, err)
	attrs := map[string]any{}
	for path, v := range m.Attrs() {
		attrs[path] = v
	}
	again, err := NewGraphModule(attrs, m.Graph().Clone())
	require.NoError(t, err)
	for _, made := range []*GraphModule{m, again} {
		p, _ := made.Attr("my_param")
		b, _ := made.Attr("my_buff")
		require.Same(t, param, p)
		require.Same(t, buffer, b)
	}
}

func TestUpstreamDeadCode(t *testing.T) {
	tests := []struct {
		name, code string
		opts       []PurityOption
		left       string
	}{
		// upstream: test_dce_pass.TestDCE.test_simple
		{"simple", "a = x + 1\nreturn x + y", nil, "x y add output"},
		// upstream: test_dce_pass.TestDCE.test_dead_chain
		{"chain", "a = x + 1\nb = a * 7\nreturn x + y", nil, "x y add output"},
		// upstream: test_dce_pass.TestDCE.test_dead_getattr
		{"getattr", "a = self.attr_1\nb = a * 7\nreturn x + 11", nil, "x y add output"},
		// upstream: test_dce_pass.TestDCE.test_dead_placeholder
		{"placeholder", "return x + 7", nil, "x y add output"},
		// upstream: test_dce_pass.TestDCE.test_dead_placeholder_with_user
		{"placeholder with user", "a = y + 2\nreturn x + 7", nil, "x y add output"},
		// upstream: test_dce_pass.TestDCE.test_keep_torch_assert
		{"assert", "eq = x == y\n_assert = torch._assert(eq, 'm')\nreturn x + y", nil, "x y eq _assert add output"},
		// upstream: test_dce_pass.TestDCE.test_impure_nodes_args
		{"impure args", "add_ = torch.ops.aten.add_.Tensor(x, y)\nadd_1 = torch.ops.aten.add_.Tensor(x, 1)\nreturn None", nil, "x y add_ add_1 output"},
		// upstream: test_dce_pass.TestDCE.test_impure_kwargs
		{"impure kwargs", "a = x + 1\nout = torch.ops.aten.add.out(x, y, out = a)\nreturn y", nil, "x y a out output"},
		// upstream: test_dce_pass.TestDCE.test_keep_setitem
		{"setitem", "x[0] = y;  setitem = x\nreturn x", nil, "x y setitem output"},
		// upstream: test_fx.TestFX.test_profiler_ranges_side_effect
		{"profiler", "_record_function_enter_new = torch.ops.profiler._record_function_enter_new.default('foo', 'bar')\n_record_function_exit = torch.ops.profiler._record_function_exit._RecordFunction(_record_function_enter_new)\nreturn x",
			nil, "x y _record_function_enter_new _record_function_exit output"},
		// upstream: test_fx.TestFXAPIBackwardCompatibility.test_adding_side_effect_function
		{"declared", "a = program.side_effect(x)\nreturn x", []PurityOption{AlsoImpure(FuncOf("program.side_effect"))}, "x y a output"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			lines := strings.Split(tc.code, "\n")
			if last := lines[len(lines)-1]; strings.Contains(last, "+") {
				lines = append(lines[:len(lines)-1], "add = "+strings.TrimPrefix(last, "return "), "return add")
			}
			g, err := ParseCode("def forward(self, x, y):\n    "+strings.Join(lines, "\n    "), WithGlobals(Global{Name: "program", Object: "program"}))
			require.NoError(t, err)
			attrs := map[string]any{"attr_1": tensor{}}
			_, err = NewGraphModule(attrs, g)
			require.NoError(t, err)
			_, err = g.EliminateDeadCode(tc.opts...)
			require.NoError(t, err)
			require.Equal(t, tc.left, strings.Join(names(g), " "))
		})
	}
}

// Code is made when it is asked for, of the graph as it is then.
func TestUpstreamLazyModules(t *testing.T) {
	g, nodes := chain(1)
	m, err := NewGraphModule(nil, g)
	require.NoError(t, err)
	code := func() string {
		c, err := m.Code()
		require.NoError(t, err)
		return c
	}
	// upstream: test_lazy_graph_module.TestLazyGraphModule.test_make_graph_module
	// upstream: test_lazy_graph_module.TestLazyGraphModule.test_needs_recompile
	require.Contains(t, code(), "torch.relu(x)")
	for _, name := range []string{"torch.sin", "torch.tan", "torch.cos"} {
		// upstream: test_lazy_graph_module.TestLazyGraphModule.test_multi_recompile
		require.NoError(t, nodes[1].SetTarget(FuncOf(name)))
	}
	// upstream: test_lazy_graph_module.TestLazyGraphModule.test_accessing_code_cause_recompiling
	require.Contains(t, code(), "relu = torch.cos(x)")
	require.NoError(t, nodes[1].SetTarget(FuncOf("torch.exp")))
	// upstream: test_lazy_graph_module.TestLazyGraphModule.test_graph_module_str
	require.Contains(t, m.String(), "relu = torch.exp(x)")
	// upstream: test_lazy_graph_module.TestLazyGraphModule.test_pickle
	again, err := ParseCode(code())
	require.NoError(t, err)
	require.NoError(t, Equal(g, again))
}

// An attribute without users stays in a module that is saved as code and data.
//
// upstream: test_fx.TestFXAPIBackwardCompatibility.test_preserve_unused_attr_after_unpickle
func TestUpstreamUnusedAttributesStay(t *testing.T) {
	g, _ := chain(1)
	m, err := NewGraphModule(map[string]any{"foo": &linear{}, "dummy_buffer": tensor{}}, g)
	require.NoError(t, err)
	src, err := m.Code()
	require.NoError(t, err)
	again, err := ParseCode(src)
	require.NoError(t, err)
	attrs := map[string]any{}
	for path, v := range m.Attrs() {
		attrs[path] = v
	}
	read, err := NewGraphModule(attrs, again)
	require.NoError(t, err)
	require.Equal(t, attrPaths(m), attrPaths(read))
}

// A copy that runs on other tensors leaves the module alone.
//
// upstream: test_fx.TestFX.test_fx_stateless
func TestUpstreamOtherParameters(t *testing.T) {
	g := NewGraph()
	g.Output(g.CallFunction(FuncOf("operator.add"), []Arg{g.Placeholder("x"), g.GetAttr("l1.weight")}))
	type named struct{ name string }
	m, err := NewGraphModule(map[string]any{"l1.weight": named{"own"}}, g)
	require.NoError(t, err)
	c := m.Clone()
	c.SetAttr("l1.weight", named{"other"})
	own, _ := m.Attr("l1.weight")
	other, _ := c.Attr("l1.weight")
	require.Equal(t, named{"own"}, own)
	require.Equal(t, named{"other"}, other)
}

// A graph with functions of the user's module, and with operators of a library, is
// read again from its code and the list of what its names stand for.
//
// upstream: test_fx.TestFX.test_pickle_custom_import
// upstream: test_fx.TestFX.test_pickle_torch_custom_ops
func TestUpstreamForeignFunctionsAreReadAgain(t *testing.T) {
	g := NewGraph()
	x := g.Placeholder("x")
	a := g.CallFunction(FuncOf("mymodule.a_non_torch_leaf"), []Arg{x, Int(3)})
	b := g.CallFunction(FuncOf("torch.ops.my_library.my_op"), []Arg{a})
	g.Output(g.CallFunction(FuncOf("torch.ops.my_library.my_op.default"), []Arg{b}))
	code, err := g.PythonCode("self")
	require.NoError(t, err)
	again, err := ParseCode(code.Source, WithGlobals(code.Globals...))
	require.NoError(t, err)
	require.NoError(t, Equal(g, again))
	byImports, err := ParseCode(strings.Join(code.Imports(), "\n") + "\n" + code.Source)
	require.NoError(t, err)
	require.NoError(t, Equal(g, byImports))
}
