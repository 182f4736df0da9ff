package passes_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/passes"
)

// A randomCase is what scripts/record_random_passes.py has of a graph.
type randomCase struct {
	Code, Graph, CSE string
	Split            struct {
		Parts   map[string]int
		Options map[string]bool
		Made    map[string]string
	}
	Tags struct {
		Tags  map[string]string
		Order []string
		Made  map[string]string
	}
	Partition struct {
		Options    map[string]bool
		Partitions [][]string
		Made       map[string]string
	}
	Sort struct {
		Moves             [][2]string
		Stable, Legalized []string
	}
	Canonical struct {
		Group   bool
		Renamed map[string]string
		Code    string
	}
}

// What the passes make of random graphs is what those of torch.fx make, names and
// order included. TORCHFX_RANDOM_PASSES names a file of other graphs.
func TestPassesOfRandomGraphs(t *testing.T) {
	data, err := os.ReadFile(cmp.Or(os.Getenv("TORCHFX_RANDOM_PASSES"), "testdata/random.json"))
	require.NoError(t, err)
	var cases []randomCase
	require.NoError(t, json.Unmarshal(data, &cases))
	require.NotEmpty(t, cases)
	for i, c := range cases {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			require.Equal(t, c.Graph, module(t, c.Code).Graph().String())
			t.Run("split", c.split)
			t.Run("tags", c.tags)
			t.Run("partition", c.partition)
			t.Run("sort", c.sort)
			t.Run("cse", func(t *testing.T) {
				m := module(t, c.Code)
				_, err := passes.CSE(m, passes.MergeAny(), passes.EqualNumbers())
				require.NoError(t, err)
				assert.Equal(t, c.CSE, codeOf(t, m))
			})
			t.Run("canonical", c.canonical)
		})
	}
}

// fails compares the error of a pass with that of torch.fx, and reports whether
// there is one. A KeyError there is a fault of split_module, which loses values
// that the graph returns; here the module is made.
func (c randomCase) fails(t *testing.T, made map[string]string, err error) bool {
	want := made["error"]
	if want == "" || strings.HasPrefix(want, "'") {
		require.NoError(t, err)
		return want != ""
	}
	require.ErrorContains(t, err, want)
	return true
}

// sameCodes compares the code of a module and of the graph modules in it.
func sameCodes(t *testing.T, want map[string]string, m *ir.GraphModule) {
	got := map[string]string{"": codeOf(t, m)}
	for path, v := range m.Attrs() {
		if sub, ok := v.(*ir.GraphModule); ok {
			got[path] = codeOf(t, sub)
		}
	}
	assert.Equal(t, want, got)
}

func (c randomCase) split(t *testing.T) {
	var opts []passes.SplitOption
	for name, o := range map[string]passes.SplitOption{"keep_original_order": passes.KeepOrder(), "keep_original_node_name": passes.KeepNodeNames(),
		"tuple_return": passes.ReturnTuples()} {
		if c.Split.Options[name] {
			opts = append(opts, o)
		}
	}
	if !c.Split.Options["keep_original_input_name"] {
		opts = append(opts, passes.NumberInputs())
	}
	s, err := passes.Split(module(t, c.Code), byName(c.Split.Parts), opts...)
	if c.fails(t, c.Split.Made, err) {
		return
	}
	sameCodes(t, c.Split.Made, s.Module)
}

func (c randomCase) tags(t *testing.T) {
	s, err := passes.SplitByTags(module(t, c.Code), c.Tags.Order, func(n *ir.Node) string { return c.Tags.Tags[n.Name()] })
	if c.fails(t, c.Tags.Made, err) {
		return
	}
	for n := range s.Module.Graph().Nodes() { // torch.fx drops the default
		if n.Op() == ir.Placeholder {
			n.SetArgs()
		}
	}
	sameCodes(t, c.Tags.Made, s.Module)
}

func (c randomCase) partition(t *testing.T) {
	var opts []passes.PartitionOption
	if c.Partition.Options["allows_single_node_partition"] {
		opts = append(opts, passes.AllowSingleNodes())
	}
	if c.Partition.Options["skip_horizontal_fusion"] {
		opts = append(opts, passes.NoHorizontalFusion())
	}
	m := module(t, c.Code)
	p := passes.NewPartitioner(m, functions("operator.add", "operator.mul", "operator.getitem", "torch.relu", "torch.functional.split"), opts...)
	parts := p.Propose()
	require.Equal(t, c.Partition.Partitions, partitionNames(parts))
	_, err := passes.FusePartitions(m, parts)
	if c.fails(t, c.Partition.Made, err) {
		return
	}
	sameCodes(t, c.Partition.Made, m)
}

func (c randomCase) sort(t *testing.T) {
	moved := func() *ir.GraphModule {
		m := module(t, c.Code)
		for _, move := range c.Sort.Moves {
			nodes := nodesNamed(t, m, move[0], move[1])
			require.NoError(t, nodes[0].Append(nodes[1]))
		}
		return m
	}
	stable, legalized := moved(), moved()
	require.NoError(t, passes.Sort(stable))
	require.NoError(t, passes.Legalize(legalized))
	assert.Equal(t, c.Sort.Stable, graphNames(stable))
	assert.Equal(t, c.Sort.Legalized, graphNames(legalized))
}

// The key is torch.fx's: no literal tells nodes apart.
func (c randomCase) canonical(t *testing.T) {
	opts := []passes.CanonicalOption{passes.MayMove(func(*ir.Node) bool { return true }), passes.ByKey(func(n *ir.Node, placed map[*ir.Node]int) passes.NodeKey {
		key := passes.CanonicalKey(n, placed)
		key.Tie = ""
		return key
	})}
	if c.Canonical.Group {
		opts = append(opts, passes.GroupGetItems())
	}
	m := module(t, c.Code)
	renamed, err := passes.Canonicalize(m, opts...)
	require.NoError(t, err)
	assert.Equal(t, c.Canonical.Renamed, renamed)
	assert.Equal(t, c.Canonical.Code, codeOf(t, m))
}
