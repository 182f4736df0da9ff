package passes_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	"github.com/torchfx-go/torchfx/passes"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// A norm in float32 goes into a convolution in bfloat16.
//
// upstream: test_fx_experimental.TestFXExperimental.test_conv_bn_fusion_mixed_dtype
func TestUpstreamConvBNMixedDtype(t *testing.T) {
	testenv.Libtorch(t)
	m := bodyModule(t, "a = self.conv(x)\nb = self.bn(a)", "b")
	conv, bn := nn.NewConv2d(3, 16, 3, torch.Kw("bias", false), torch.Kw("dtype", ir.BFloat16)), nn.NewBatchNorm2d(16)
	for path, layer := range map[string]nn.Module{"conv": conv, "bn": bn} {
		nn.Train(layer, false)
		m.SetAttr(path, layer)
	}
	gone, err := passes.FuseConvBN(m)
	require.NoError(t, err)
	require.Equal(t, []string{"b"}, gone)
	v, _ := m.Attr("conv")
	made := v.(*nn.Conv2d)
	require.Equal(t, ir.BFloat16, made.Weight.DType())
	require.Equal(t, ir.BFloat16, made.Bias.DType(), "of the layer's dtype, too")
}

func TestUpstreamSplitModule(t *testing.T) {
	tests := []struct {
		name, code string
		numbers    map[string]int
		opts       []passes.SplitOption
		want       string // code of the main module
	}{
		// upstream: test_fx_experimental.TestFXExperimental.test_split_module_dead_code
		{"dead code", `def forward(self, x):
    mul = x * 2
    mul_1 = mul * 3
    add = x + 4
    return add`, map[string]int{"mul": 0, "mul_1": 0, "add": 1}, nil, `def forward(self, x):
    submod_1 = self.submod_1(x)
    submod_0 = self.submod_0(x);  x = submod_0 = None
    return submod_1`},
		// upstream: test_fx_experimental.TestFXExperimental.test_split_module_return_node
		{"return node", "def forward(self, x):\n    relu = torch.relu(x)\n    return relu", map[string]int{"relu": 0}, nil,
			"def forward(self, x):\n    submod_0 = self.submod_0(x);  x = None\n    return submod_0"},
		// upstream: test_fx_experimental.TestFXExperimental.test_split_module_kwargs_expansion
		{"kwargs", "def forward(self, x, **kwargs):\n    _kwargs = kwargs\n    getitem = _kwargs['foo']\n    add = x + getitem\n    return add", map[string]int{"getitem": 0, "add": 1}, nil,
			`def forward(self, x, **kwargs):
    _kwargs = kwargs
    submod_0 = self.submod_0(_kwargs);  _kwargs = None
    submod_1 = self.submod_1(x, submod_0);  x = submod_0 = None
    return submod_1`},
		// upstream: test_fx_experimental.TestFXExperimental.test_split_module_default_arg
		{"default", "def forward(self, x, targets = None):\n    relu = torch.relu(x)\n    add = relu + 1\n    return add", map[string]int{"relu": 0, "add": 1}, nil,
			`def forward(self, x, targets = None):
    submod_0 = self.submod_0(x);  x = None
    submod_1 = self.submod_1(submod_0);  submod_0 = None
    return submod_1`},
		// upstream: test_fx_experimental.TestFXExperimental.test_split_module_keep_original_order_and_noop_graph
		{"no calls", "def forward(self, x):\n    return x", nil, []passes.SplitOption{passes.KeepOrder()}, "def forward(self, x):\n    return x"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			m := module(t, tc.code)
			split, err := passes.Split(m, byName(tc.numbers), tc.opts...)
			require.NoError(t, err)
			requireCode(t, tc.want, split.Module)
			require.Equal(t, meaning(t, m), meaning(t, split.Module))
		})
	}
}

// upstream: test_fx_experimental.TestFXExperimental.test_subgraph_creation
// upstream: test_fx_split.TestFXSplit.test_split_preserve_node_meta
func TestUpstreamSplitKeepsMeta(t *testing.T) {
	m := bodyModule(t, "w = self.w\na = x + w\nb = self.lin(a)\nc = b.clamp(min = 0.0)\nd = c + y\ne = torch.relu(d)", "(e, c)")
	for n := range m.Graph().Nodes() {
		n.Meta().Set("name", n.Name())
	}
	split, err := passes.Split(m, byName(map[string]int{"a": 0, "b": 0, "c": 1, "d": 2, "e": 2}))
	require.NoError(t, err)
	require.Len(t, split.Parts, 3)
	require.Equal(t, meaning(t, m), meaning(t, split.Module))
	seen := 0
	for _, p := range split.Parts {
		for n := range p.Module.Graph().Nodes() {
			if n.Op() != ir.Output {
				require.NotEmpty(t, n.Meta().Get("name"), n.Name())
				seen++
			}
		}
	}
	require.Equal(t, 5+5, seen, "calls and arguments")
	require.Equal(t, "w", split.Module.Graph().Lookup("w").Meta().Get("name"))
}

// upstream: test_fx_split.TestFXSplit.test_dataclass_as_graph_entry
// upstream: test_fx_split.TestSplitOutputType.test_split_outputs
func TestUpstreamSplitKeepsTrees(t *testing.T) {
	g := ir.NewGraph()
	a, b := g.Placeholder("inp_1"), g.Placeholder("inp_2")
	g.Output(ir.ListOf(g.CallFunction(ir.FuncOf("torch.add"), []ir.Arg{a, b}), a))
	in := ir.TupleSpec(ir.ListSpec(ir.Leaf(), ir.Leaf()))
	g.SetCodeGen(ir.PyTreeCodeGen{Args: []string{"inp"}, In: in, Out: ir.TupleSpec(ir.Leaf(), ir.Leaf())})
	m, err := ir.NewGraphModule(nil, g)
	require.NoError(t, err)
	split, err := passes.SplitByTags(m, []string{"cpu"}, func(*ir.Node) string { return "cpu" })
	require.NoError(t, err)
	leaves, err := split.Module.Graph().ProcessInputs([]any{[]any{int64(1), int64(2)}}, nil)
	require.NoError(t, err)
	require.Equal(t, []any{int64(1), int64(2)}, leaves)
	out, err := split.Module.Graph().ProcessOutputs([]any{int64(3), int64(1)})
	require.NoError(t, err)
	require.Equal(t, ir.PyTuple{int64(3), int64(1)}, out)
}

// The managers of the older module: passes added and replaced, constraints between
// two and between kinds.
func TestUpstreamOldPassManager(t *testing.T) {
	var ran []string
	pass := func(name string) *passes.Pass {
		return passes.InPlace(name, func(context.Context, *ir.GraphModule) error { ran = append(ran, name); return nil })
	}
	run := func(m *passes.Manager) []string {
		ran = nil
		_, err := m.Run(t.Context(), bodyModule(t, "a = torch.relu(x)", "a"))
		require.NoError(t, err)
		return ran
	}
	// upstream: test_pass_manager.TestPassManager.test_pass_manager_builder
	t.Run("builder", func(t *testing.T) {
		a, b := pass("a"), pass("b")
		m := passes.NewManager([]*passes.Pass{a, b})
		require.NoError(t, m.Validate())
		m.Add(pass("c"))
		require.Equal(t, []string{"a", "b", "c"}, run(m))
		require.Len(t, m.Passes(), 3)
	})
	// upstream: test_pass_manager.TestPassManager.test_this_before_that_pass_constraint
	t.Run("this before that", func(t *testing.T) {
		var list []*passes.Pass
		for i := range 10 {
			list = append(list, pass(string(rune('a'+i))))
		}
		m := passes.NewManager(list, passes.WithConstraints(passes.Before(list[9], list[0])))
		require.ErrorIs(t, m.Validate(), ir.ErrRuntime)
		require.NoError(t, m.Solve())
		require.NoError(t, m.Validate())
	})
	// upstream: test_pass_manager.TestPassManager.test_these_before_those_pass_constraint
	t.Run("these before those", func(t *testing.T) {
		wrap := func(p *passes.Pass) *passes.Pass { return &passes.Pass{Name: "wrapped " + p.Name, Run: p.Run} }
		early, late := wrap(pass("early")), wrap(pass("late"))
		kinds := passes.Constraint(func(a, b *passes.Pass) bool { return a.Name != "wrapped late" || b.Name != "wrapped early" })
		m := passes.NewManager([]*passes.Pass{late, early}, passes.WithConstraints(kinds))
		require.Error(t, m.Validate())
		require.Equal(t, []string{"early", "late"}, run(m))
	})
	// upstream: test_pass_manager.TestPassManager.test_two_pass_managers
	t.Run("two managers", func(t *testing.T) {
		one, two := passes.NewManager(nil), passes.NewManager(nil)
		one.Add(pass("a"))
		require.Len(t, one.Passes(), 1)
		require.Empty(t, two.Passes())
		require.Equal(t, []string{"a"}, run(one))
		require.Empty(t, run(two))
	})
	bad := errors.New("no")
	failing := passes.InPlace("failing", func(context.Context, *ir.GraphModule) error { return bad })
	_, err := passes.NewManager([]*passes.Pass{failing}).Run(t.Context(), bodyModule(t, "", "x"))
	require.ErrorIs(t, err, bad)
}

// Memory formats of four and of five dimensions go through a graph.
func TestUpstreamShapePropLayout(t *testing.T) {
	testenv.Libtorch(t)
	for _, tc := range []struct {
		name   string
		sizes  []int
		format ir.MemoryFormat
		layer  nn.Module
	}{
		// upstream: test_fx.TestFX.test_shape_prop_layout
		{"2d", []int{2, 5, 7, 5}, ir.ChannelsLast, nn.NewConv2d(5, 3, 3)},
		// upstream: test_fx.TestFX.test_shape_prop_layout_3d
		{"3d", []int{2, 5, 7, 5, 6}, ir.ChannelsLast3D, nn.NewConv3d(5, 3, 3)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			format := func(x *torch.Tensor) ir.MemoryFormat {
				m := bodyModule(t, "a = self.conv(x)\nb = torch.relu(a)", "b")
				m.SetAttr("conv", tc.layer)
				m.Graph().Lookup("y")
				g := m.Graph()
				require.NoError(t, g.Erase(g.Lookup("y")))
				out, err := passes.ShapeProp(t.Context(), m, []any{x})
				require.NoError(t, err)
				closeTensors(out)
				meta, err := passes.NodeTensorMeta(g.Lookup("x"))
				require.NoError(t, err)
				f, ok := passes.MemoryFormatOf(meta)
				require.True(t, ok)
				inner, err := passes.NodeTensorMeta(g.Lookup("b"))
				require.NoError(t, err)
				_, ok = passes.MemoryFormatOf(inner)
				require.True(t, ok)
				return f
			}
			x := tensorOf(t, false, tc.sizes...)
			require.Equal(t, ir.ContiguousFormat, format(x))
			v, err := torch.Call("aten::contiguous", x, torch.Kw("memory_format", tc.format))
			require.NoError(t, err)
			last := v.(*torch.Tensor)
			defer last.Close()
			require.Equal(t, tc.format, format(last))
		})
	}
}
