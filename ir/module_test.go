package ir

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// linear is a module that says what it is.
type linear struct{ impure bool }

func (linear) Repr() string     { return "Linear(in_features=2, out_features=2)" }
func (l linear) IsImpure() bool { return l.impure }
func (linear) Attr(p string) (any, bool) {
	return tensor{}, p == "weight"
}

func attrPaths(m *GraphModule) []string {
	out := []string{}
	for p := range m.Attrs() {
		out = append(out, p)
	}
	return out
}

// nested returns a module that calls lin and a.lin, reads w and a.b.w, and holds
// a graph module sub that it reads.
func nested(t *testing.T) *GraphModule {
	inner, _ := chain(1)
	sub, err := NewGraphModule(nil, inner, ClassName("Sub"))
	require.NoError(t, err)
	g := NewGraph()
	x := g.Placeholder("x")
	y := g.CallModule("a.lin", []Arg{x})
	z := g.CallModule("lin", []Arg{y})
	w := g.GetAttr("a.b.w")
	v := g.GetAttr("w")
	u := g.GetAttr("lin.weight")
	s := g.GetAttr("sub")
	g.Output(TupleOf(z, w, v, u, s))
	m, err := NewGraphModule(map[string]any{
		"w": tensor{}, "lin": &linear{}, "a.b.w": tensor{}, "a.lin": &linear{}, "sub": sub, "unused": &linear{}, "c.t": tensor{}, "t": tensor{},
	}, g, ClassName("M"))
	require.NoError(t, err)
	return m
}

// upstream: test_fx.TestFX.test_construct_root_dict
func TestModuleAttributes(t *testing.T) {
	m := nested(t)
	assert.Equal(t, []string{"lin", "w", "sub", "a.lin", "a.b.w", "c.t", "t", "unused"}, attrPaths(m),
		"those that are named, shallow ones first, then the rest")
	require.NoError(t, m.Graph().Lint(Strict()))
	v, ok := m.Attr("lin.weight")
	assert.True(t, ok, "the attribute answers for what is below it")
	assert.Equal(t, tensor{}, v)
	_, ok = m.Attr("lin.bias")
	assert.False(t, ok)
	_, ok = m.Attr("a")
	assert.False(t, ok)
	_, ok = m.Attr("t.x")
	assert.False(t, ok)
	assert.Same(t, m, m.Graph().Owner())

	ordered, err := NewGraphModule(map[string]any{"a": 1, "b": 2, "c": 3}, NewGraph(), AttrOrder("c", "z", "a"))
	require.NoError(t, err)
	assert.Equal(t, []string{"c", "a", "b"}, attrPaths(ordered))

	_, err = NewGraphModule(map[string]any{"w": 1}, m.Graph())
	require.ErrorIs(t, err, ErrRuntime)
	require.ErrorContains(t, err, "Node lin referenced target lin but that target was not provided in ``root``!")
	require.ErrorContains(t, err, "Node sub referenced target sub", "all of them are named")
	assert.Same(t, m, m.Graph().Owner(), "a module that was not made owns nothing")
	_, err = NewGraphModule(nil, nil)
	require.ErrorIs(t, err, ErrAssertion)
	require.ErrorIs(t, m.SetGraph(nil), ErrAssertion)
}

// upstream: test_fx.TestFX.test_pretty_print
func TestModuleText(t *testing.T) {
	m := nested(t)
	assert.Equal(t, `M(
  (lin): Linear(in_features=2, out_features=2)
  (sub): Sub()
  (a): Module(
    (lin): Linear(in_features=2, out_features=2)
    (b): Module()
  )
  (c): Module()
  (unused): Linear(in_features=2, out_features=2)
)



def forward(self, x):
    a_lin = self.a.lin(x);  x = None
    lin = self.lin(a_lin);  a_lin = None
    a_b_w = self.a.b.w
    w = self.w
    lin_weight = self.lin.weight
    sub = self.sub
    return (lin, a_b_w, w, lin_weight, sub)
    
# To see more debug info, please use `+"`graph_module.print_readable()`", m.String())
	text, err := m.Readable()
	require.NoError(t, err)
	assert.Contains(t, text, "\n    class sub(torch.nn.Module):\n        def forward(self, x):\n")
}

// upstream: test_fx.TestFX.test_submodule_manipulation_API
func TestSubmodules(t *testing.T) {
	m := nested(t)
	assert.True(t, m.AddSubmodule("a.new.deep", &linear{}))
	assert.True(t, m.AddSubmodule("sub.child", &linear{}), "into the graph module that is there")
	sub, _ := m.Attr("sub")
	assert.Equal(t, []string{"child"}, attrPaths(sub.(*GraphModule)))
	assert.False(t, m.AddSubmodule("w.x", &linear{}), "a tensor has no submodules")
	assert.False(t, m.AddSubmodule("w", &linear{}))

	assert.True(t, m.DeleteSubmodule("a.new"), "a place that holds nothing but what is below")
	assert.False(t, m.DeleteSubmodule("a.new"))
	assert.False(t, m.DeleteSubmodule("w"), "no module")
	assert.True(t, m.DeleteSubmodule("sub.child"))
	assert.NotContains(t, attrPaths(m), "a.new.deep")

	m.DeleteUnusedSubmodules()
	assert.Equal(t, []string{"lin", "w", "sub", "a.lin", "a.b.w", "t"}, attrPaths(m), "the module's own tensors stay")
	m.DeleteAttr("t")
	m.DeleteAttr("t")
	assert.NotContains(t, attrPaths(m), "t")
	require.NoError(t, m.Graph().Lint())
}

// upstream: test_fx.TestFX.test_deepcopy_graphmodule
// upstream: test_fx.TestFX.test_module_deepcopy_edit_nodes
// upstream: test_fx.TestFX.test_deepcopy_no_recursion
func TestModuleClone(t *testing.T) {
	m := nested(t)
	m.Meta().Set("k", 1)
	created := 0
	m.OnCreate(func(*Node) { created++ })
	c := m.Clone()
	assert.Equal(t, m.String(), c.String())
	assert.Equal(t, 1, c.Meta().Get("k"))
	assert.Same(t, c, c.Graph().Owner())
	assert.Same(t, m, m.Graph().Owner())
	c.Graph().GetAttr("w")
	assert.Equal(t, 1, created, "hooks come along")
	mine, _ := m.Attr("sub")
	theirs, _ := c.Attr("sub")
	theirs.(*GraphModule).Graph().GetAttr("x")
	require.Error(t, Equal(mine.(*GraphModule).Graph(), theirs.(*GraphModule).Graph()), "graphs below are copies too")
	same, _ := m.Attr("lin")
	other, _ := c.Attr("lin")
	assert.Same(t, same, other, "other attributes are shared")
}

// upstream: test_fx.TestFX.test_wrong_topo
// upstream: test_fx.TestFX.test_copy_no_remap
func TestLintFaults(t *testing.T) {
	foreign, far := chain(1)
	_ = foreign
	for _, tc := range []struct {
		name   string
		break_ func(g *Graph, n []*Node)
		want   []string
		strict bool
	}{
		{"duplicate name", func(g *Graph, n []*Node) { n[1].name = "x" }, []string{"Node redefined name x!"}, false},
		{"nothing there", func(g *Graph, n []*Node) { require.NoError(t, n[1].SetOp(CallModule, Path("nope.x"))) },
			[]string{"Node relu target nope.x references nonexistent attribute nope of "}, false},
		{"nothing deeper", func(g *Graph, n []*Node) { require.NoError(t, n[1].SetOp(GetAttr, Path("box.y"))) },
			[]string{"Node relu target box.y references nonexistent attribute y of box"}, false},
		{"no module", func(g *Graph, n []*Node) { require.NoError(t, n[1].SetOp(CallModule, Path("val"))) },
			[]string{"Node relu target val val of  does not reference an nn.Module"}, false},
		{"no module on the way", func(g *Graph, n []*Node) { require.NoError(t, n[1].SetOp(CallModule, Path("box.t"))) },
			[]string{"Node relu target box.t t of box does not reference an nn.Module"}, false},
		{"another graph", func(g *Graph, n []*Node) { n[1].SetArgs(far[1]) },
			[]string{"Argument 'relu' of Node 'relu' does not belong to this Graph, but was used as an argument! If you are copying nodes from another graph, make sure to use ``arg_transform`` on node_copy() to remap values\ngraph():\n    %x"}, false},
		{"too early", func(g *Graph, n []*Node) { require.NoError(t, n[0].Prepend(n[1])) },
			[]string{"Argument 'x' of Node 'relu' was used before it has been defined! Please check that Nodes in the graph are topologically ordered\ngraph():\n    %relu"}, false},
		{"two at once", func(g *Graph, n []*Node) { n[1].name = "x"; require.NoError(t, n[0].Prepend(n[1])) },
			[]string{"was used before", "Node redefined name x!"}, false},
		{"late placeholder", func(g *Graph, n []*Node) { at, _ := g.InsertAfter(n[1]); g.Placeholder("x"); at() },
			[]string{"placeholders come first, but this one follows relu", "expected a parameter of its own"}, true},
		{"no output", func(g *Graph, n []*Node) { require.NoError(t, g.Erase(g.Last())) },
			[]string{"expected exactly one output, as the last node; got 0, the last node is relu"}, true},
		{"users", func(g *Graph, n []*Node) { n[0].users.remove(n[1]); n[1].users.add(n[0]) },
			[]string{"Node x: relu reads it and is no user", "Node relu: user x does not read it"}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g, n := chain(1)
			gm, err := NewGraphModule(map[string]any{"val": 3, "box.t": tensor{}}, g)
			require.NoError(t, err)
			require.NoError(t, g.Lint(Strict()))
			before := g.String()
			tc.break_(g, n)
			changed := g.String()
			if tc.strict {
				require.NoError(t, g.Lint(), "torch.fx does not look at this")
				err = g.Lint(Strict())
			} else {
				err = g.Lint()
			}
			require.Error(t, err)
			for _, want := range tc.want {
				require.ErrorContains(t, err, want)
			}
			require.Equal(t, changed, g.String(), "lint changes nothing")
			_ = before
			_ = gm
		})
	}
}

func TestLintShowsTheGraphOnce(t *testing.T) {
	g, n := chain(3)
	for _, m := range n[1:] {
		require.NoError(t, g.First().Prepend(m))
	}
	err := g.Lint()
	require.ErrorContains(t, err, "Argument 'relu' of Node 'relu_1'")
	require.ErrorContains(t, err, "Argument 'x' of Node 'relu'")
	require.Equal(t, 1, strings.Count(err.Error(), "graph():"))
}

func TestEqualExplains(t *testing.T) {
	build := func(change func(g *Graph, x, y *Node)) *Graph {
		g := NewGraph()
		x := g.Placeholder("x")
		y := g.CallFunction(FuncOf("torch.add"), []Arg{x, ListOf(x, Int(1))}, Kwargs(Kw("alpha", Float(0.5))))
		change(g, x, y)
		g.Output(y)
		return g
	}
	same := func(*Graph, *Node, *Node) {}
	for _, tc := range []struct {
		name   string
		change func(g *Graph, x, y *Node)
		want   string
	}{
		{"name", func(_ *Graph, x, y *Node) { x.Rename("z"); y.Rename("w") }, ""},
		{"literal type", func(_ *Graph, x, y *Node) { y.SetArgs(x, ListOf(x, Float(1))) },
			"graphs differ at node 1 (add): argument 1: expected [x, 1.0], got [x, 1]"},
		{"operand", func(_ *Graph, x, y *Node) { y.SetArgs(x, ListOf(x, x)) },
			"graphs differ at node 1 (add): argument 1: expected [x, x], got [x, 1]"},
		{"count", func(_ *Graph, x, y *Node) { y.SetArgs(x) }, "graphs differ at node 1 (add): expected 1 arguments, got 2"},
		{"keyword", func(_ *Graph, x, y *Node) { y.SetKwargs(Kw("beta", Float(0.5))) },
			"graphs differ at node 1 (add): keyword 0: expected beta, got alpha"},
		{"keyword value", func(_ *Graph, x, y *Node) { y.UpdateKwarg("alpha", None{}) },
			"graphs differ at node 1 (add): keyword alpha: expected None, got 0.5"},
		{"keywords", func(_ *Graph, x, y *Node) { y.SetKwargs() }, "graphs differ at node 1 (add): expected 0 keyword arguments, got 1"},
		{"target", func(_ *Graph, x, y *Node) { require.NoError(t, y.SetTarget(FuncOf("torch.sub"))) },
			"graphs differ at node 1 (add): target: expected torch.sub, got torch.add"},
		{"op", func(_ *Graph, x, y *Node) { require.NoError(t, y.SetOp(CallMethod, Path("add"))) },
			"graphs differ at node 1 (add): op: expected call_method, got call_function"},
		{"type", func(_ *Graph, x, y *Node) { y.SetType("int") }, `graphs differ at node 1 (add): type: expected "int", got ""`},
		{"longer", func(g *Graph, x, y *Node) { g.GetAttr("w") },
			"graphs differ at node 2 (output, against w): op: expected get_attr, got output"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := Equal(build(same), build(tc.change))
			if tc.want == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, tc.want)
			require.Error(t, Equal(build(tc.change), build(same)))
		})
	}
	short, _ := chain(1)
	require.NoError(t, short.Erase(short.Last()))
	long, _ := chain(1)
	require.ErrorContains(t, Equal(short, long), "node 2 (output): expected return relu, got an end")
	require.ErrorContains(t, Equal(long, short), "node 2 (output): expected an end, got return relu")
}

// upstream: test_fx.TestFX.test_inline_graph
func TestCopyFrom(t *testing.T) {
	src, n := chain(2)
	n[1].Meta().Set("k", 1)
	g := NewGraph()
	a := g.Placeholder("a")
	mapping := map[*Node]Arg{n[0]: a}
	out, output, err := g.CopyFrom(src, mapping)
	require.NoError(t, err)
	assert.Same(t, src.Last(), output)
	assert.Same(t, g.Last(), out)
	assert.Equal(t, []string{"a", "relu", "relu_1"}, names(g), "inlined at the value that stands for the placeholder")
	assert.Equal(t, 1, mapping[n[1]].(*Node).Meta().Get("k"))
	assert.Equal(t, []string{"x", "relu", "relu_1", "output"}, names(src))

	require.NoError(t, n[0].Prepend(n[1]))
	_, _, err = NewGraph().CopyFrom(src, map[*Node]Arg{})
	require.ErrorIs(t, err, ErrKey)
	require.EqualError(t, err, "copy relu: expected a value for its operand x, got none")
	require.Error(t, src.Lint())
	require.NoError(t, Equal(src.Clone(), src.Clone()), "a clone keeps even a wrong order")
	assert.Equal(t, src.String(), src.Clone().String())

	empty, _, err := NewGraph().CopyFrom(NewGraph(), nil)
	require.NoError(t, err)
	assert.Nil(t, empty)
}

func TestMeta(t *testing.T) {
	var m Meta
	m.Set("b", 1)
	m.Set("a", 2)
	m.Set("b", 3)
	keys := []string{}
	for k := range m.All() {
		keys = append(keys, k)
	}
	assert.Equal(t, []string{"b", "a"}, keys)
	var c Meta
	c.CopyFrom(&m)
	c.Delete("b")
	assert.True(t, m.Has("b"))
	assert.Equal(t, 1, c.Len())
	assert.Nil(t, c.Get("b"))
	assert.True(t, slices.Equal([]string{"a"}, c.keys))
}
