package ir

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// upstream: test_dce_pass.TestDCE.test_keep_torch_assert
// upstream: test_dce_pass.TestDCE.test_keep_setitem
func TestImpureFunctions(t *testing.T) {
	for _, tc := range []struct {
		target                     string
		impure, quiet, upstreamToo bool // by default, with IgnoreRandom, with UpstreamPurity
	}{
		{"torch.ops.aten.add.Tensor", false, false, false},
		{"torch.ops.aten.add_.Tensor", true, true, true},
		{"torch.ops.aten.add.out", true, true, true},
		{"torch.ops.aten.add", false, false, false},
		{"torch.ops.aten.rand.default", true, false, true},
		{"torch.ops.aten.dropout.default", true, false, true},
		{"torch.ops.aten._assert_async.msg", true, true, true},
		{"torch.ops.aten._native_batch_norm_legit.default", true, true, true},
		{"torch.ops.unheard.of.default", true, true, true},
		{"torch.ops.higher_order.cond", false, false, false},
		{"torch.ops.higher_order.print", true, true, true},
		{"operator.setitem", true, true, true},
		{"operator.iadd", true, true, false},
		{"operator.add", false, false, false},
		{"torch.add", false, false, false},
		{"torch.relu_", true, true, false},
		{"torch.rand", true, true, true},
		{"torch.bernoulli", true, true, true},
		{"torch.dropout", true, false, false},
		{"torch.nn.functional.dropout", true, false, false},
		{"torch._assert", true, true, true},
		{"math.sqrt", false, false, false},
		{"program.helper", false, false, false},
	} {
		g := NewGraph()
		n := g.CallFunction(FuncOf(tc.target), nil)
		assert.Equal(t, tc.impure, n.IsImpure(), tc.target)
		assert.Equal(t, tc.quiet, n.IsImpure(IgnoreRandom()), "without random: %s", tc.target)
		assert.Equal(t, tc.upstreamToo, n.IsImpure(UpstreamPurity()), "upstream: %s", tc.target)
		assert.True(t, n.IsImpure(AlsoImpure(n.Func())), tc.target)
	}
}

func TestImpureByItsArguments(t *testing.T) {
	g := NewGraph()
	x := g.Placeholder("x")
	relu := FuncOf("torch.nn.functional.relu")
	assert.False(t, g.CallFunction(relu, []Arg{x}, Kwargs(Kw("inplace", Bool(false)))).IsImpure())
	assert.True(t, g.CallFunction(relu, []Arg{x}, Kwargs(Kw("inplace", Bool(true)))).IsImpure())
	add := FuncOf("torch.add")
	assert.True(t, g.CallFunction(add, []Arg{x, x}, Kwargs(Kw("out", x))).IsImpure())
	assert.False(t, g.CallFunction(add, []Arg{x, x}, Kwargs(Kw("out", None{}))).IsImpure())
	for method, impure := range map[string]bool{"mul": false, "mul_": true, "__setitem__": true, "__getitem__": false, "__iadd__": true, "size": false} {
		n := g.CallMethod(method, []Arg{x})
		assert.Equal(t, impure, n.IsImpure(), method)
		assert.False(t, n.IsImpure(UpstreamPurity()), method)
	}
	norm := FuncOf("torch.ops.aten.batch_norm.default")
	call := func(training bool) *Node {
		return g.CallFunction(norm, []Arg{x, x, x, x, x, Bool(training), Float(0.1), Float(1e-5), Bool(false)})
	}
	assert.True(t, call(true).IsImpure(), "training changes the running statistics")
	assert.False(t, call(false).IsImpure())
	assert.True(t, x.IsImpure())
	assert.True(t, g.CallModule("m", nil).IsImpure(), "nobody can tell")
	assert.False(t, g.GetAttr("w").IsImpure())
}

// upstream: test_dce_pass.TestDCE.test_keep_module_with_side_effect
func TestImpureModules(t *testing.T) {
	body := func(target string) *GraphModule {
		g := NewGraph()
		x := g.Placeholder("x")
		g.CallFunction(FuncOf(target), []Arg{x})
		g.Output(x)
		m, err := NewGraphModule(nil, g)
		require.NoError(t, err)
		return m
	}
	g := NewGraph()
	x := g.Placeholder("x")
	pure, quiet := g.CallModule("pure", []Arg{x}), g.CallModule("impure", []Arg{x})
	sub, writes := g.CallModule("sub", []Arg{x}), g.CallModule("writes", []Arg{x})
	cond := func(branch string) *Node {
		return g.CallFunction(FuncOf("torch.ops.higher_order.cond"), []Arg{x, g.GetAttr("sub"), g.GetAttr(branch), TupleOf(x)})
	}
	both, one := cond("sub"), cond("writes")
	_, err := NewGraphModule(map[string]any{
		"pure": &linear{}, "impure": &linear{impure: true}, "sub": body("torch.relu"), "writes": body("torch.ops.aten.add_.Tensor"),
	}, g)
	require.NoError(t, err)
	for _, tc := range []struct {
		n                *Node
		impure, upstream bool
	}{{pure, false, false}, {quiet, true, true}, {sub, false, false}, {writes, true, false}, {both, false, false}, {one, true, false}} {
		assert.Equal(t, tc.impure, tc.n.IsImpure(), tc.n.Name())
		assert.Equal(t, tc.upstream, tc.n.IsImpure(UpstreamPurity()), tc.n.Name())
	}
}

// upstream: test_dce_pass.TestDCE.test_impure_custom
// upstream: test_dce_pass.TestDCE.test_dead_placeholder
func TestEliminateDeadCode(t *testing.T) {
	make := func() (*Graph, *GraphModule) {
		inner := NewGraph()
		x := inner.Placeholder("x")
		inner.CallFunction(FuncOf("torch.relu"), []Arg{x})
		inner.Output(x)
		sub, err := NewGraphModule(nil, inner)
		require.NoError(t, err)
		g := NewGraph()
		x, unused := g.Placeholder("x"), g.Placeholder("unused")
		_ = unused
		a := g.CallFunction(FuncOf("torch.relu"), []Arg{x})
		g.CallFunction(FuncOf("torch.abs"), []Arg{a})
		g.CallMethod("mul_", []Arg{x, Int(2)})
		g.CallFunction(FuncOf("torch.rand"), []Arg{Int(2)})
		b := g.GetAttr("branch")
		g.CallFunction(FuncOf("torch.ops.higher_order.cond"), []Arg{x, b, b})
		g.Output(TupleOf(x, b))
		_, err = NewGraphModule(map[string]any{"branch": sub}, g)
		require.NoError(t, err)
		return g, sub
	}
	for _, tc := range []struct {
		name      string
		opts      []PurityOption
		want, sub string
	}{
		{"default", nil, "x unused mul_ rand branch output", "x output"},
		{"upstream", []PurityOption{UpstreamPurity()}, "x unused rand branch output", "x output"},
		{"own", []PurityOption{ImpureFunc(func(n *Node) bool { return n.Op() == Output })}, "x branch output", "x output"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g, sub := make()
			changed, err := g.EliminateDeadCode(tc.opts...)
			require.NoError(t, err)
			assert.True(t, changed)
			assert.Equal(t, tc.want, strings.Join(names(g), " "))
			assert.Equal(t, tc.sub, strings.Join(names(sub.Graph()), " "))
			require.NoError(t, g.Lint())
			changed, err = g.EliminateDeadCode(tc.opts...)
			require.NoError(t, err)
			assert.False(t, changed, "nothing is left to do")
		})
	}
	g, n := chain(1)
	require.NoError(t, n[0].Prepend(n[1]))
	_, err := g.EliminateDeadCode()
	require.ErrorContains(t, err, "was used before it has been defined")
}

func TestRecordedEffects(t *testing.T) {
	var table struct {
		Effects []string `json:"side_effect_functions"`
		Random  []string `json:"random_functions"`
		Impure  [][3]any `json:"is_impure"`
	}
	readTable(t, "t_side_effects", &table)
	function := func(name string) *Func {
		if ns, _, _ := strings.Cut(name, "."); ns != "torch" && ns != "_operator" {
			name = "torch.ops." + name
		}
		return FuncOf(name)
	}
	for _, name := range table.Effects {
		assert.True(t, effectful()[function(name)], name)
	}
	assert.Len(t, randomFunctions(), len(table.Random))
	for _, name := range table.Random {
		assert.True(t, randomFunctions()[function(name)], name)
	}
	for _, row := range table.Impure {
		g := NewGraph()
		n := g.CallFunction(function(row[0].(string)), nil)
		assert.Equal(t, row[1], n.IsImpure(UpstreamPurity()), row[0])
		assert.Equal(t, row[2], n.IsImpure(UpstreamPurity(), IgnoreRandom()), row[0])
	}
}
