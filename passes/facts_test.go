package passes_test

import (
	"fmt"
	"log"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	"github.com/torchfx-go/torchfx/passes"
	torch "github.com/torchfx-go/torchfx/torchops"
)

func TestNodeSizes(t *testing.T) {
	testenv.Libtorch(t)
	var want struct {
		Code  string
		Sizes map[string][2]int64
	}
	section(t, "node_sizes", &want)
	m := module(t, want.Code)
	m.SetAttr("lin", nn.NewLinear(4, 5))
	m.SetAttr("conv", nn.NewConv2d(1, 2, 3, torch.Kw("bias", false)))
	_, err := passes.SizeOfNode(m, m.Graph().First())
	require.ErrorIs(t, err, ir.ErrRuntime)
	require.ErrorContains(t, err, "Node x has no tensor metadata associated with it! Check that shape propagation has run.")
	out, err := passes.ShapeProp(t.Context(), m, []any{tensorOf(t, false, 3, 4), tensorOf(t, false, 1, 1, 5, 5)})
	require.NoError(t, err)
	closeTensors(out)
	got := map[string][2]int64{}
	for n, size := range passes.NodeSizes(m) {
		got[n.Name()] = [2]int64{size.Output, size.Total}
	}
	require.Equal(t, want.Sizes, got)
}

// upstream: test_fx_experimental.TestFXExperimental.test_fetch
func TestFetchAttrs(t *testing.T) {
	testenv.Libtorch(t)
	var want map[string]map[string]any
	section(t, "param_fetch_attrs", &want)
	layers := map[string]nn.Module{"linear": nn.NewLinear(2, 3), "linear, no bias": nn.NewLinear(2, 3, torch.Kw("bias", false)),
		"conv": nn.NewConv2d(2, 4, []int{3, 5}, torch.Kw("stride", 2), torch.Kw("padding", 1), torch.Kw("groups", 2)),
		"bn":   nn.NewBatchNorm2d(3, torch.Kw("eps", 0.01)), "avg": nn.NewAdaptiveAvgPool2d(1), "max": nn.NewMaxPool2d(3, torch.Kw("ceil_mode", true)),
		"relu": nn.NewReLU(torch.Kw("inplace", true))}
	require.Len(t, layers, len(want))
	m := module(t, "def forward(self, x):\n    a = self.conv(x)\n    b = self.inner(a)\n    return b")
	m.SetAttr("conv", layers["conv"])
	inner := module(t, "def forward(self, x):\n    a = self.relu(x)\n    return a")
	inner.SetAttr("relu", layers["relu"])
	m.SetAttr("inner", inner)
	for name, layer := range layers {
		a, err := passes.FetchAttrs(layer)
		require.NoError(t, err)
		got := map[string]any{"name": ir.Repr(ir.Str(a.Class))}
		for _, n := range a.Names {
			switch v := a.Attrs[n].(type) {
			case *torch.Tensor:
				var shape []any
				for _, d := range v.Shape() {
					shape = append(shape, float64(d))
				}
				got[n] = shape
			case nil:
				got[n] = "None"
			case ir.Arg:
				got[n] = ir.Repr(v)
			}
		}
		require.Equal(t, want[name], got, name)
	}
	all, err := passes.LiftAttrs(m)
	require.NoError(t, err)
	require.Equal(t, "torch.nn.modules.conv.Conv2d", all[m.Graph().Lookup("a")].Class)
	require.Equal(t, "torch.nn.modules.activation.ReLU", all[inner.Graph().Lookup("a")].Class)
	inner.SetAttr("relu", nn.NewGELU())
	_, err = passes.LiftAttrs(m)
	require.ErrorIs(t, err, ir.ErrRuntime)
	require.ErrorContains(t, err, "torch.nn.modules.activation.GELU is not in the module_fetch_book yet")
}

type sourceCase struct {
	Kind, Code string
	Wanted     []string
	Partitions []struct {
		Source                         string
		Nodes, Inputs, Outputs, Params []string
	}
	Meta map[string]struct {
		Stack   *string     `json:"source_fn_stack"`
		Fn      *string     `json:"torch_fn"`
		Modules [][3]string `json:"nn_module_stack"`
	}
}

// Graphs of torch.export, whose nodes say in two ways what they came from.
//
// upstream: test_source_matcher_utils.TestSourceMatcher.test_module_partitioner_linear_relu_linear
// upstream: test_source_matcher_utils.TestSourceMatcher.test_module_partitioner_conv_relu_maxpool
// upstream: test_source_matcher_utils.TestSourceMatcher.test_module_partitioner_functional_conv_relu_conv
// upstream: test_source_matcher_utils.TestSourceMatcher.test_module_partitioner_functional_linear_relu_linear
// upstream: test_source_matcher_utils.TestSourceMatcher.test_module_partitioner_weight_tied
// upstream: test_source_matcher_utils.TestSourceMatcher.test_module_partitioner_linear_relu_linear_torch_fn_export
// upstream: test_source_matcher_utils.TestSourceMatcher.test_module_partitioner_conv_relu_maxpool_torch_fn
// upstream: test_source_matcher_utils.TestSourceMatcher.test_module_partitioner_functional_conv_relu_conv_torch_fn
// upstream: test_source_matcher_utils.TestSourceMatcher.test_module_partitioner_functional_linear_relu_linear_torch_fn
func TestSourcePartitions(t *testing.T) {
	var cases []sourceCase
	section(t, "source_partitions", &cases)
	graphs := map[string]*ir.Graph{}
	for _, tc := range cases {
		if tc.Code == "" {
			continue
		}
		g, err := ir.ParseCode(tc.Code)
		require.NoError(t, err)
		for name, m := range tc.Meta {
			meta := g.Lookup(name).Meta()
			if m.Stack != nil {
				meta.Set(ir.MetaSourceFnStack, *m.Stack)
			}
			if m.Fn != nil {
				meta.Set(ir.MetaTorchFn, *m.Fn)
			}
			if m.Modules != nil {
				var stack []ir.ModuleCall
				for _, c := range m.Modules {
					stack = append(stack, ir.ModuleCall{Key: c[0], Path: c[1], Type: c[2]})
				}
				meta.Set(ir.MetaNNModuleStack, stack)
			}
		}
		graphs[tc.Kind] = g
	}
	list := func(nodes []*ir.Node) []string { return append([]string{}, namesOf(nodes)...) }
	found := 0
	for _, tc := range cases {
		if tc.Code != "" {
			continue
		}
		parts := passes.SourcePartitions(graphs[tc.Kind], tc.Wanted, nil)
		require.Len(t, parts, len(tc.Partitions), "%s %v", tc.Kind, tc.Wanted)
		for i, w := range tc.Partitions {
			p := parts[i]
			found++
			require.Equal(t, w.Source, p.Source)
			require.Equal(t, w.Nodes, list(p.Nodes))
			require.Equal(t, w.Inputs, list(p.Inputs))
			require.Equal(t, w.Outputs, list(p.Outputs))
			require.Equal(t, w.Params, list(p.Params))
		}
	}
	require.NotZero(t, found)

	// conv -> relu -> maxpool: each is connected to the next, not the other way
	parts := passes.SourcePartitions(graphs["strict"], []string{"torch.nn.modules.conv.Conv2d", "torch.nn.modules.activation.ReLU"}, nil)
	conv, relu := parts[0], parts[2]
	require.True(t, conv.Connected(relu))
	require.False(t, relu.Connected(conv))
	without := passes.SourcePartitions(graphs["strict"], []string{"torch.nn.modules.conv.Conv2d"}, func(n *ir.Node) bool { return n.Name() != "conv2d" })
	require.Len(t, without, 1)
	require.Equal(t, []string{"conv2d_1"}, list(without[0].Outputs))
}

func ExampleSourcePartitions() {
	g, err := ir.ParseCode(`def forward(self, x):
    t = torch.ops.aten.t.default(x);  x = None
    mm = torch.ops.aten.mm.default(t, t);  t = None
    relu = torch.ops.aten.relu.default(mm);  mm = None
    return relu`)
	if err != nil {
		log.Fatal(err)
	}
	for _, name := range []string{"t", "mm"} {
		g.Lookup(name).Meta().Set(ir.MetaSourceFnStack, "linear,torch.nn.modules.linear.Linear")
	}
	for _, p := range passes.SourcePartitions(g, []string{"torch.nn.modules.linear.Linear"}, nil) {
		fmt.Println(p.Nodes, "from", p.Inputs, "to", p.Outputs)
	}
	// Output: [t mm] from [x] to [mm]
}

func TestSplitSimple(t *testing.T) {
	var cases []struct {
		Code    string
		Numbers map[string]int
		Modules map[string]string
	}
	section(t, "split_simple", &cases)
	require.NotEmpty(t, cases)
	for _, tc := range cases {
		m := module(t, tc.Code)
		numbers := map[*ir.Node]int{}
		for name, n := range tc.Numbers {
			numbers[m.Graph().Lookup(name)] = n
		}
		split, err := passes.SplitSimple(m, numbers, passes.PartAffix("p"))
		require.NoError(t, err)
		requireModules(t, tc.Modules, split.Module)
		require.Equal(t, meaning(t, m), meaning(t, split.Module))
	}
	m := bodyModule(t, "a = torch.relu(x)\nb = torch.neg(a)\nc = a + b", "c")
	_, err := passes.SplitSimple(m, nil)
	require.ErrorIs(t, err, ir.ErrKey)
	at := func(a, b, c int) map[*ir.Node]int {
		return map[*ir.Node]int{m.Graph().Lookup("a"): a, m.Graph().Lookup("b"): b, m.Graph().Lookup("c"): c}
	}
	_, err = passes.SplitSimple(m, at(0, 1, 0))
	require.ErrorIs(t, err, ir.ErrKey)
	require.ErrorContains(t, err, "expected part 1 before submod_0, got it later")
}

func ExampleSplitSimple() {
	g, err := ir.ParseCode("def forward(self, x):\n    relu = torch.relu(x);  x = None\n    neg = torch.neg(relu);  relu = None\n    return neg")
	if err != nil {
		log.Fatal(err)
	}
	m, err := ir.NewGraphModule(nil, g)
	if err != nil {
		log.Fatal(err)
	}
	split, err := passes.SplitSimple(m, map[*ir.Node]int{g.Lookup("relu"): 0, g.Lookup("neg"): 1})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(split.Module.Graph())
	// Output:
	// graph():
	//     %x : [num_users=1] = placeholder[target=x]
	//     %submod_0 : [num_users=1] = call_module[target=submod_0](args = (%x,), kwargs = {})
	//     %submod_1 : [num_users=1] = call_module[target=submod_1](args = (%submod_0,), kwargs = {})
	//     return submod_1
}

// A pass is watched: what it makes and erases, and where nodes came from.
func TestObserver(t *testing.T) {
	m := bodyModule(t, "a = torch.relu(x)\nb = torch.neg(a)\nc = a + b", "c")
	replace := func(m *ir.GraphModule) error {
		a := m.Graph().Lookup("a")
		restore, err := m.Graph().InsertAfter(a)
		if err != nil {
			return err
		}
		defer restore()
		n := m.Graph().CallFunction(ir.FuncOf("torch.nn.functional.relu"), a.Args())
		a.ReplaceAllUsesWith(n)
		return m.Graph().Erase(a)
	}
	// upstream: test_fx_xform_observer.TestGraphTransformObserver.test_graph_transform_observer
	o, err := passes.Apply(m, "replace_relu", replace)
	require.NoError(t, err)
	require.Equal(t, []string{"relu"}, o.Created())
	require.Equal(t, []string{"a"}, o.Erased())
	before, after := o.Drawings()
	require.Contains(t, before, `"a" [fillcolor="yellow"`)
	require.Contains(t, before, `"b" [fillcolor="grey"`)
	require.Contains(t, after, `"relu" [fillcolor="yellow"`)
	require.NotContains(t, after, `"a" [`)

	// upstream: test_fx_xform_observer.TestGraphTransformObserver.test_graph_transform_observer_node_tracking
	from := m.Graph().Lookup("relu").Meta().Get(ir.MetaFromNode).([]ir.NodeSource)
	require.Len(t, from, 1)
	require.Equal(t, "a", from[0].Name)
	require.Equal(t, "torch.relu", from[0].Target)
	require.Equal(t, "replace_relu", from[0].Pass)
	require.Equal(t, "replace+create", from[0].Action())
	// a second pass keeps the chain
	_, err = passes.Apply(m, "again", func(m *ir.GraphModule) error {
		r := m.Graph().Lookup("relu")
		restore, err := m.Graph().InsertAfter(r)
		if err != nil {
			return err
		}
		defer restore()
		n := m.Graph().CallMethod("relu", r.Args(), ir.Name("third"))
		r.ReplaceAllUsesWith(n)
		return nil
	})
	require.NoError(t, err)
	from = m.Graph().Lookup("third").Meta().Get(ir.MetaFromNode).([]ir.NodeSource)
	require.Len(t, from, 1)
	require.Equal(t, []string{"relu", "a"}, []string{from[0].Name, from[0].From[0].Name})

	// upstream: test_fx_xform_observer.TestGraphTransformObserver.test_graph_transform_observer_deepcopy
	o = passes.Observe(m, "copy")
	c := m.Clone()
	c.Graph().CallFunction(ir.FuncOf("torch.neg"), []ir.Arg{c.Graph().First()}, ir.Name("in_copy"))
	o.Stop()
	m.Graph().CallFunction(ir.FuncOf("torch.neg"), []ir.Arg{m.Graph().First()}, ir.Name("too_late"))
	require.NotContains(t, o.Created(), "too_late")
	empty, _ := passes.Observe(m, "nothing").Drawings()
	require.Empty(t, empty)
}

func ExampleObserve() {
	g, err := ir.ParseCode("def forward(self, x):\n    relu = torch.relu(x);  x = None\n    return relu")
	if err != nil {
		log.Fatal(err)
	}
	m, err := ir.NewGraphModule(nil, g)
	if err != nil {
		log.Fatal(err)
	}
	o := passes.Observe(m, "my pass")
	relu := g.Lookup("relu")
	restore, err := g.InsertAfter(relu)
	if err != nil {
		log.Fatal(err)
	}
	relu.ReplaceAllUsesWith(g.CallMethod("relu", relu.Args(), ir.Name("made")))
	restore()
	if err := g.Erase(relu); err != nil {
		log.Fatal(err)
	}
	o.Stop()
	fmt.Println("made", o.Created(), "erased", o.Erased())
	source := g.Lookup("made").Meta().Get(ir.MetaFromNode).([]ir.NodeSource)[0]
	fmt.Println("made from", source.Name, "by", source.Pass)
	// Output:
	// made [made] erased [relu]
	// made from relu by my pass
}
