package passes_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/passes"
)

// functions supports the calls of functions.
func functions(names ...string) passes.OperatorSupport {
	return passes.SupportFunc(func(_ *ir.GraphModule, n *ir.Node) bool {
		return n.Func() != nil && slices.Contains(names, n.Func().Name())
	})
}

func partitionNames(parts []*passes.Partition) [][]string {
	names := [][]string{}
	for _, p := range parts {
		names = append(names, namesOf(p.Nodes))
	}
	return names
}

func TestRecordedPartitionPropose(t *testing.T) {
	r := recorded(t, "partition_propose")
	support := functions("operator.add", "operator.getitem", "torch.functional.split")
	var want struct {
		Partitions [][]string
		Vertical   [][]string `json:"skip_horizontal"`
	}
	r.result(t, &want)
	m := r.before(t)
	p := passes.NewPartitioner(m, support, passes.AllowSingleNodes())
	parts := p.Propose()
	require.Equal(t, want.Partitions, partitionNames(parts))
	require.Equal(t, want.Vertical, partitionNames(passes.NewPartitioner(r.before(t), support, passes.NoHorizontalFusion()).Propose()))

	fused, err := passes.FusePartitions(m, parts)
	require.NoError(t, err)
	r.requireTexts(t, m)
	require.Equal(t, want.Partitions[0], fused[0].Nodes)
	require.Equal(t, "fused_0", fused[0].Name)
}

// upstream: test_fx_passes.TestFXGraphPasses.test_fuser_util
func TestRecordedPartitionFuseExplicit(t *testing.T) {
	r := recorded(t, "partition_fuse_explicit")
	m := r.before(t)
	var want struct {
		Valid  []bool
		Sorted []string
	}
	r.result(t, &want)
	require.Equal(t, want.Valid, []bool{passes.ValidPartition(nodesNamed(t, m, "add", "add_3")), passes.ValidPartition(nodesNamed(t, m, "add_1", "add_2"))})
	sorted, err := passes.SortNodes(nodesNamed(t, m, "add_4", "add_1", "add_3", "add_2"))
	require.NoError(t, err)
	require.Equal(t, want.Sorted, namesOf(sorted))
	_, err = passes.FusePartitions(m, []*passes.Partition{
		{Nodes: nodesNamed(t, m, "add", "linear", "add_1")}, {Nodes: nodesNamed(t, m, "add_2", "add_3", "add_4")}})
	require.NoError(t, err)
	r.requireTexts(t, m)
}

// upstream: test_fx_passes.TestFXGraphPasses.test_fuser_util_xfail
func TestRecordedPartitionFuseCycle(t *testing.T) {
	r := recorded(t, "partition_fuse_cycle")
	m := module(t, `def forward(self, x):
    sin = torch.sin(x);  x = None
    neg = torch.neg(sin);  sin = None
    relu = torch.relu(neg);  neg = None
    return relu`)
	_, err := passes.FusePartitions(m, []*passes.Partition{{Nodes: nodesNamed(t, m, "sin", "relu")}})
	r.fails(t, err)
	require.Equal(t, []string{"x", "sin", "neg", "relu", "output"}, graphNames(m))
}

func TestFuseRefuses(t *testing.T) {
	m := module(t, reluNeg)
	other := module(t, reluNeg)
	_, err := passes.FusePartitions(m, []*passes.Partition{{}})
	require.ErrorIs(t, err, ir.ErrAssertion)
	require.ErrorContains(t, err, "expected nodes in the partition, got none")
	_, err = passes.FusePartitions(m, []*passes.Partition{{Nodes: nodesNamed(t, other, "relu")}})
	require.ErrorIs(t, err, ir.ErrAssertion)
	require.ErrorContains(t, err, "relu doesn't belong to passed in graph module")

	relu := nodesNamed(t, m, "relu")
	_, err = passes.FusePartitions(m, []*passes.Partition{{Nodes: relu}, {Nodes: relu}})
	require.ErrorContains(t, err, "has been removed")
	require.NoError(t, m.Graph().Lint())
	require.Equal(t, []string{"x", "fused_0", "neg", "output"}, graphNames(m))
}

// A second fusion leaves the submodules of the first alone; torch.fx overwrites
// them.
func TestFuseTwice(t *testing.T) {
	m := module(t, reluNeg)
	want := meaning(t, m)
	for _, name := range []string{"relu", "neg"} {
		_, err := passes.FusePartitions(m, []*passes.Partition{{Nodes: nodesNamed(t, m, name)}}, passes.FuseToTuples())
		require.NoError(t, err)
	}
	require.Equal(t, want, meaning(t, m))
	requireCode(t, `def forward(self, x):
    fused_0 = self.fused_0(x);  x = None
    getitem = fused_0[0];  fused_0 = None
    fused_1 = self.fused_1(getitem);  getitem = None
    getitem_1 = fused_1[0];  fused_1 = None
    return getitem_1`, m)
}

// The cases of test_fx_passes.py's TestFXGraphPasses.test_partitioner: additions
// are supported.
func TestPartitionerUpstream(t *testing.T) {
	tests := []struct {
		name, code string
		want       [][]string
		trim       bool
	}{
		{"forward1", `def forward(self, a, b, c):
    add = a + b
    linear = self.linear(add)
    add_1 = linear + c
    relu = add_1.relu()
    return relu`, [][]string{{"add_1"}, {"add"}}, false},
		{"forward2", `def forward(self, a, b, c):
    add = a + b
    add_1 = add + c
    linear = self.linear(add)
    add_2 = add_1 + linear
    relu = linear.relu()
    add_3 = relu + c
    return (add_2, add_3)`, nil, false},
		{"forward8: independent", `def forward(self, a, b, c):
    add = a + b
    add_1 = b + c
    add_2 = add_1 + c
    return (add, add_1, add_2)`, [][]string{{"add", "add_1", "add_2"}}, false},
		{"trimmed", `def forward(self, a, b, c):
    permute = torch.ops.aten.permute.default(a, [0])
    add = permute + b
    add_1 = add + c
    permute_1 = torch.ops.aten.permute.default(add_1, [0])
    return permute_1`, [][]string{{"add", "add_1"}}, true},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			m := module(t, tc.code)
			before := meaning(t, m)
			p := passes.NewPartitioner(m, functions("operator.add", "torch.ops.aten.permute.default"), passes.AllowSingleNodes(),
				passes.NonComputeOps("torch.ops.aten.permute.default"))
			parts := p.Propose()
			if tc.trim {
				p.TrimNonCompute(parts)
			}
			if tc.want != nil {
				require.Equal(t, tc.want, partitionNames(parts))
			}
			_, err := passes.FusePartitions(m, parts)
			require.NoError(t, err)
			require.Equal(t, before, meaning(t, m))
		})
	}
}

// Whatever is supported, the partitions can be fused and the module computes the
// same afterwards; fusing the same again gives the same partitions.
func TestPartitionAndFuseKeepsMeaning(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawModule(t)
		supported := map[string]bool{}
		for n := range m.Graph().Nodes() {
			supported[n.Name()] = rapid.Bool().Draw(t, n.Name())
		}
		support := passes.SupportFunc(func(_ *ir.GraphModule, n *ir.Node) bool { return supported[n.Name()] })
		var opts []passes.PartitionOption
		if rapid.Bool().Draw(t, "single") {
			opts = append(opts, passes.AllowSingleNodes())
		}
		if rapid.Bool().Draw(t, "vertical") {
			opts = append(opts, passes.NoHorizontalFusion())
		}
		p := passes.NewPartitioner(m, support, opts...)
		want, names := meaning(t, m), partitionNames(p.Propose())
		require.Equal(t, names, partitionNames(p.Propose()))
		_, err := p.PartitionAndFuse()
		require.NoError(t, err)
		require.NoError(t, m.Graph().Lint())
		require.Equal(t, want, meaning(t, m))
	})
}

func TestSupport(t *testing.T) {
	m := module(t, `def forward(self, x, y):
    linear = self.linear(x);  x = None
    add = torch.add(linear, y, alpha = y);  linear = y = None
    relu = add.relu();  add = None
    return relu`)
	m.Graph().Lookup("linear").Meta().Set(ir.MetaTensorMeta, ir.TensorMeta{DType: ir.Float32})
	m.Graph().Lookup("y").Meta().Set(ir.MetaVal, ir.TensorMeta{DType: ir.Int64})
	floats := []ir.DType{ir.Float32}
	tests := []struct {
		name    string
		support passes.OperatorSupport
		want    []string
	}{
		{"any dtype", passes.Targets{"torch.add": nil, "relu": nil}, []string{"add", "relu"}},
		{"class of a module", passes.Targets{"test.linear": nil}, []string{"linear"}},
		{"dtype of an argument", passes.Targets{"torch.add": {Args: [][]ir.DType{floats, nil}}}, []string{"add"}},
		{"dtype of an argument refused", passes.Targets{"torch.add": {Args: [][]ir.DType{nil, floats}}}, nil},
		{"dtype of a keyword refused", passes.Targets{"torch.add": {Kwargs: map[string][]ir.DType{"alpha": floats}}}, nil},
		{"all", passes.AllOf(passes.Targets{"torch.add": nil, "relu": nil}, passes.DeclineNames("relu")), []string{"add"}},
		{"any", passes.AnyOf(passes.Targets{"torch.add": nil}, passes.Targets{"relu": nil}), []string{"add", "relu"}},
		{"no int64", passes.AllOf(passes.Targets{"torch.add": nil, "relu": nil}, passes.DeclineInputDType(ir.Int64)), []string{"relu"}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			var got []string
			for n := range m.Graph().Nodes() {
				if tc.support.Supported(m, n) {
					got = append(got, n.Name())
				}
			}
			require.Equal(t, tc.want, got)
		})
	}
}
