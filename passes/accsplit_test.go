package passes_test

import (
	"context"
	"fmt"
	"log"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/passes"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// byPrefix supports the calls of functions and methods whose names begin so.
func byPrefix(prefixes ...string) passes.OperatorSupport {
	return passes.SupportFunc(func(_ *ir.GraphModule, n *ir.Node) bool {
		return n.Op() != ir.CallModule && slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(n.Name(), p) })
	})
}

type recordedSplit struct {
	Name, Code, Preview string
	Types               map[string]string
	Prefixes, Support   []string
	Options             struct {
		Min   int  `json:"min_acc_module_size"`
		Free  bool `json:"allow_non_tensor"`
		Apart bool `json:"skip_fusion"`
		Move  bool `json:"move_non_tensor_nodes_on_boundary"`
	}
	Events  map[string][]string
	Modules map[string]string
	Map     map[string]string
}

func (r recordedSplit) options() (opts []passes.AcceleratorOption) {
	if r.Options.Min > 0 {
		opts = append(opts, passes.MinAcceleratorSize(r.Options.Min))
	}
	if r.Options.Free {
		opts = append(opts, passes.AllowNonTensor())
	}
	if r.Options.Apart {
		opts = append(opts, passes.SkipFusion())
	}
	if r.Options.Move {
		opts = append(opts, passes.MoveNonTensors())
	}
	return opts
}

// requireModules compares the codes of a module and of its submodules.
func requireModules(t testing.TB, want map[string]string, m *ir.GraphModule) {
	requireCode(t, want[""], m)
	var names, wanted []string
	for path, v := range m.Attrs() {
		if sub, ok := v.(*ir.GraphModule); ok {
			names = append(names, path)
			requireCode(t, want[path], sub)
		}
	}
	for path := range want {
		if path != "" {
			wanted = append(wanted, path)
		}
	}
	require.ElementsMatch(t, wanted, names)
}

// Programs cut between an accelerator and the host as torch.fx cuts them.
//
// upstream: test_fx_split_node_finder.TestFxSplitNodeFinder.testFinder
func TestAcceleratorSplit(t *testing.T) {
	testenv.Libtorch(t)
	var cases []recordedSplit
	section(t, "accelerator_splits", &cases)
	for _, tc := range cases {
		t.Run(tc.Name, func(t *testing.T) {
			m := module(t, tc.Code)
			var sample []any
			for range m.Graph().Find(ir.Placeholder, nil) {
				sample = append(sample, tensorOf(t, false, 2, 3))
			}
			s, err := passes.NewAcceleratorSplitter(t.Context(), m, sample, byPrefix(tc.Prefixes...), tc.options()...)
			require.NoError(t, err)
			for n := range m.Graph().Nodes() {
				var got []string
				for _, e := range s.Events().Of(n) {
					got = append(got, e.String())
				}
				require.Equal(t, tc.Events[n.Name()], got)
				if n.Op() != ir.Output {
					want := strings.Replace(tc.Types[n.Name()], "torch.Size", "tuple", 1) // sizes are tuples here
					require.Equal(t, passes.PyType(want), passes.TypeOf(n), n.Name())
				}
			}
			if tc.Preview != "" {
				preview, err := s.Preview(t.Context())
				require.NoError(t, err)
				require.Equal(t, tc.Preview, preview)
			}
			support := strings.Split(strings.ReplaceAll(strings.ReplaceAll(s.SupportPreview(), "operator.", "_operator."), "builtins.", ""), "\n")
			sort.Strings(support)
			require.Equal(t, tc.Support, support)
			before := codeOf(t, m)
			split, err := s.Split()
			require.NoError(t, err)
			require.Equal(t, before, codeOf(t, m))
			requireModules(t, tc.Modules, split.Module)
			require.Equal(t, tc.Map, s.Submodules())
			require.Equal(t, meaning(t, m), meaning(t, split.Module))
			require.NoError(t, split.Module.Graph().Lint())
		})
	}
}

func TestAcceleratorSplitLimitsParts(t *testing.T) {
	testenv.Libtorch(t)
	m := bodyModule(t, "a = torch.relu(x)\nb = torch.neg(a)\nc = torch.relu(b)\nd = c + y", "d")
	s, err := passes.NewAcceleratorSplitter(t.Context(), m, []any{tensorOf(t, false, 2), tensorOf(t, false, 2)}, byPrefix("a", "c"), passes.MaxAcceleratorParts(3),
		passes.HostPrefix("_host_"))
	require.NoError(t, err)
	_, err = s.Split()
	require.ErrorIs(t, err, ir.ErrValue)
	require.ErrorContains(t, err, "Cannot fulfill max_acc_splits limit.")
	require.Equal(t, "_host_1", s.Submodules()["b"])
}

// A call before a part of the accelerator that nothing else needs moves into it.
func TestAcceleratorSplitExtends(t *testing.T) {
	testenv.Libtorch(t)
	m := bodyModule(t, "a = torch.relu(x)\nb = torch.neg(y)\nc = a + b\nd = torch.relu(c)", "d")
	s, err := passes.NewAcceleratorSplitter(t.Context(), m, []any{tensorOf(t, false, 2), tensorOf(t, false, 2)}, byPrefix("a", "d", "c"))
	require.NoError(t, err)
	split, err := s.Split()
	require.NoError(t, err)
	require.Equal(t, map[string]string{"b": "_run_on_cpu_0", "a": "_run_on_acc_1", "c": "_run_on_acc_1", "d": "_run_on_acc_1"}, s.Submodules())
	_, err = s.Extend("_run_on_acc_1")
	require.NoError(t, err)
	_, err = s.Extend("nothing")
	require.ErrorIs(t, err, ir.ErrValue)
	require.Equal(t, meaning(t, m), meaning(t, split.Module))
}

// What a value that is no tensor does to the nodes of the accelerator.
//
// upstream: test_fx_split_node_finder.TestFxSplitNodeFinder.testFinder
// upstream: test_fx_split_node_finder.event_dumps
func TestAcceleratorNodes(t *testing.T) {
	m := module(t, `def forward(self, x, y):
    sup_f = program.sup_f(x)
    sup_f_1 = program.sup_f(y)
    add = sup_f + sup_f_1
    sup_f_2 = program.sup_f(add)
    return sup_f_2`)
	for name, typ := range map[string]string{"x": "torch.Tensor", "y": "builtins.int", "sup_f": "torch.Tensor", "sup_f_1": "builtins.int", "add": "torch.Tensor", "sup_f_2": "torch.Tensor"} {
		m.Graph().Lookup(name).Meta().Set(passes.MetaType, typ)
	}
	nodes, events := passes.AcceleratorNodes(m, byPrefix("sup_"), false)
	require.Equal(t, []string{"sup_f", "sup_f_2"}, namesOf(nodes))
	var texts []string
	for _, e := range events.Of(m.Graph().Lookup("sup_f_1")) {
		texts = append(texts, e.String())
	}
	require.Equal(t, []string{"sup_f_1: init_acc|callable_and_operator_supported #", "sup_f_1: acc_del|non_tensor_output_with_cpu_user add"}, texts)
	require.Len(t, events.Of(m.Graph().Lookup("sup_f")), 1)
	require.Equal(t, `===== Tracking node sup_f_1 =====
|-sup_f_1: init_acc|callable_and_operator_supported #
|-sup_f_1: acc_del|non_tensor_output_with_cpu_user add
| |-add: init_cpu|operator_support #
===== End of tracking node sup_f_1 =====
`, events.Trace())
	require.Contains(t, events.String(), "Node: add:\n  add: init_cpu|operator_support #\n")
	all, _ := passes.AcceleratorNodes(m, byPrefix("sup_"), true)
	require.Equal(t, []string{"sup_f", "sup_f_1", "sup_f_2"}, namesOf(all))
}

func ExampleAcceleratorSplitter() {
	g, err := ir.ParseCode(`def forward(self, a):
    tanh = torch.tanh(a)
    sigmoid = torch.sigmoid(a);  a = None
    add = tanh + sigmoid;  tanh = sigmoid = None
    return add`)
	if err != nil {
		log.Fatal(err)
	}
	m, err := ir.NewGraphModule(nil, g)
	if err != nil {
		log.Fatal(err)
	}
	a, err := torch.From([]float32{0, 1}, 2)
	if err != nil {
		log.Fatal(err)
	}
	defer a.Close()
	support := passes.Targets{"torch.tanh": nil, "torch.sigmoid": nil}
	s, err := passes.NewAcceleratorSplitter(context.Background(), m, []any{a}, support)
	if err != nil {
		log.Fatal(err)
	}
	split, err := s.Split()
	if err != nil {
		log.Fatal(err)
	}
	for _, p := range split.Parts {
		fmt.Println(p.Name, p.Nodes)
	}
	// Output:
	// _run_on_acc_0 [tanh sigmoid]
	// _run_on_cpu_1 [add]
}
