package passes_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/passes"
)

// Programs like those of test_fx_passes.py, with the partitions that torch.fx
// proposes of them: by default, with single calls, and trimmed of what computes
// nothing.
//
// upstream: test_fx_passes.TestFXGraphPasses.test_partitioner
func TestUpstreamPartitioner(t *testing.T) {
	var cases []struct {
		Name, Code string
		Options    struct {
			Single     bool     `json:"allows_single_node_partition"`
			NonCompute []string `json:"non_compute_ops"`
		}
		Partitions, Trimmed [][]string
	}
	section(t, "partitioned", &cases)
	require.NotEmpty(t, cases)
	support := functions("operator.add", "operator.getitem", "torch.ops.aten.view", "torch.ops.aten.permute", "torch.ops.aten.std_mean", "torch.ops.aten.var_mean")
	sets := func(parts []*passes.Partition) [][]string {
		out := [][]string{}
		for _, p := range parts {
			out = append(out, sortedNames(p.Nodes))
		}
		return out
	}
	for _, tc := range cases {
		t.Run(fmt.Sprint(tc.Name, tc.Options), func(t *testing.T) {
			m := module(t, tc.Code)
			before := meaning(t, m)
			var opts []passes.PartitionOption
			if tc.Options.Single {
				opts = append(opts, passes.AllowSingleNodes())
			}
			if tc.Options.NonCompute != nil {
				opts = append(opts, passes.NonComputeOps("torch.ops.aten.view", "operator.getitem", "torch.ops.aten.permute"))
			}
			p := passes.NewPartitioner(m, support, opts...)
			parts := p.Propose()
			require.Equal(t, tc.Partitions, sets(parts))
			if tc.Options.NonCompute != nil {
				p.TrimNonCompute(parts)
				require.Equal(t, tc.Trimmed, sets(parts))
			}
			_, err := passes.FusePartitions(m, parts)
			require.NoError(t, err)
			require.NoError(t, m.Graph().Lint())
			require.Equal(t, before, meaning(t, m))
		})
	}
}

func sortedNames(nodes []*ir.Node) []string {
	names := namesOf(nodes)
	slices.Sort(names)
	return names
}

// upstream: test_fx_passes.TestFXGraphPasses.test_partitioner_independent_output
func TestUpstreamPartitionerIndependentOutput(t *testing.T) {
	m := bodyModule(t, "add = x + 1\nadd_1 = y + 1\nadd_2 = add + add_1\nadd_3 = y + 2", "(add, add_1, add_2, add_3)")
	before := meaning(t, m)
	fused, err := passes.NewPartitioner(m, functions("operator.add")).PartitionAndFuse()
	require.NoError(t, err)
	require.Len(t, fused, 1)
	require.Equal(t, []string{"add", "add_1", "add_2", "add_3"}, fused[0].Outputs)
	require.Equal(t, before, meaning(t, m))
}

// upstream: test_fx_passes.TestFXGraphPasses.test_fuser_util
func TestUpstreamFuserUtil(t *testing.T) {
	const code = `def forward(self, a, b, c):
    add = a + b
    add_1 = add + b
    linear = self.linear(add_1)
    add_2 = linear + c
    add_3 = add_1 + add_2
    add_4 = add + add_3
    relu = add_4.relu()
    add_5 = relu + add_3
    add_6 = add_5 + relu
    return (add_3, add_6)`
	for i, sets := range [][][]string{
		{{"add", "add_1"}, {"add_5", "add_6"}}, {{"add", "add_1", "add_2", "linear"}}, {{"add", "add_1", "add_2", "linear", "add_3", "add_4"}},
		{{"add_2", "add_3"}}, {{"add_3", "add_4"}}, {{"add_6", "add_5"}}, {{"add_4", "add_1", "add_3", "add_2", "linear"}},
		{{"add_5", "add_6"}, {"add_1", "add_2", "add_3", "add_4", "linear"}},
	} {
		m := module(t, code)
		before := meaning(t, m)
		var parts []*passes.Partition
		for _, names := range sets {
			parts = append(parts, &passes.Partition{Nodes: nodesNamed(t, m, names...)})
		}
		fused, err := passes.FusePartitions(m, parts)
		require.NoError(t, err, "%d", i)
		require.Len(t, fused, len(sets))
		require.NoError(t, m.Graph().Lint())
		require.Equal(t, before, meaning(t, m), "%d", i)
	}
	// upstream: test_fx_passes.TestFXGraphPasses.test_fuser_util_xfail
	for _, names := range [][]string{{"add", "add_1", "add_5", "add_6"}, {"add_4", "add_5"}, {"add_1", "add_2"}, {"add", "relu"}} {
		m := module(t, code)
		_, err := passes.FusePartitions(m, []*passes.Partition{{Nodes: nodesNamed(t, m, names...)}})
		require.ErrorIs(t, err, ir.ErrAssertion, "%v", names)
		require.ErrorContains(t, err, "found dependency cycles")
	}
}

// Attributes below other modules are reached from a fused part.
//
// upstream: test_fx_passes.TestFXGraphPasses.test_fuser_pass_deep_model
func TestUpstreamFuserDeepModel(t *testing.T) {
	m := module(t, `def forward(self, a):
    w = self.layers.block.w
    linear = self.layers.block.linear(a)
    add = linear + w
    relu = add.relu()
    return relu`)
	before := meaning(t, m)
	fused, err := passes.FusePartitions(m, []*passes.Partition{{Nodes: nodesNamed(t, m, "w", "linear", "add")}})
	require.NoError(t, err)
	v, ok := fused[0].Module.Attr("layers.block.linear")
	require.True(t, ok)
	own, _ := m.Attr("layers.block.linear")
	require.Same(t, own, v)
	require.Equal(t, before, meaning(t, m))
}

// The order of partitions does not change from run to run.
//
// upstream: test_partitioner_order.TestPartitionerOrder.test_partitioner_graph_node_order
func TestUpstreamPartitionerOrder(t *testing.T) {
	var want [][]string
	for i := range 20 {
		m := bodyModule(t, "a = torch.add(x, y)\nb = torch.relu(a)\nc = torch.add(b, y)\nd = torch.relu(c)\ne = torch.add(d, a)", "e")
		got := partitionNames(passes.NewPartitioner(m, functions("torch.add"), passes.AllowSingleNodes()).Propose())
		if i == 0 {
			want = got
		}
		require.Equal(t, want, got)
	}
	require.NotEmpty(t, want)
}

// upstream: test_fx_passes.TestFXGraphPasses.test_topo_sort_stability
func TestUpstreamTopoSortStability(t *testing.T) {
	m := bodyModule(t, "a = torch.neg(x)\nb = torch.abs(x)\nc = torch.relu(y)\nd = a + b", "d")
	for _, given := range [][]string{{"a", "b", "c", "d"}, {"c", "b", "a", "d"}, {"b", "c", "a", "d"}} {
		sorted, err := passes.SortNodes(nodesNamed(t, m, given...))
		require.NoError(t, err)
		require.Equal(t, given, namesOf(sorted))
	}
	sorted, err := passes.SortNodes(nodesNamed(t, m, "d", "c", "b", "a"))
	require.NoError(t, err)
	require.Equal(t, []string{"c", "b", "a", "d"}, namesOf(sorted))
}
