package passes_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/torchfx-go/torchfx/internal/fxcase"
	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	"github.com/torchfx-go/torchfx/operator"
	"github.com/torchfx-go/torchfx/passes"
	torch "github.com/torchfx-go/torchfx/torchops"
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
	c := fxcase.Open(t, "partition_propose")
	testenv.Libtorch(t)
	m := c.Before(traced(t, func(a, b, c *torch.Tensor) any {
		add := operator.Add(a, b)
		add1 := operator.Add(add, b)
		add2 := operator.Add(add1, c)
		relu := add1.Relu()
		add3 := operator.Add(add1, relu)
		add4 := operator.Add(add1, add2)
		s := torch.Split(add4, 1)
		return ir.PyTuple{add4, operator.Add(s.At(0), add3), s.At(1)}
	}, parameters("a, b, c")), nil)
	support := functions("operator.add", "operator.getitem", "torch.functional.split")
	vertical := passes.NewPartitioner(m, support, passes.NoHorizontalFusion()).Propose()
	p := passes.NewPartitioner(m, support, passes.AllowSingleNodes())
	parts := p.Propose()
	names := partitionNames(parts)
	c.Result(map[string]any{"partitions": names, "skip_horizontal": partitionNames(vertical)})

	fused, err := passes.FusePartitions(m, parts)
	require.NoError(t, err)
	c.Runs(c.Same(m, nil))
	require.Equal(t, names[0], fused[0].Nodes)
	require.Equal(t, "fused_0", fused[0].Name)
}

type partitioned struct {
	nn.Base `forward:"a, b, c"`
	Linear  *nn.Linear
	Param   *torch.Tensor
}

func (m *partitioned) Forward(a, b, c *torch.Tensor) any {
	add := operator.Add(a, b)
	linear := m.Linear.Forward(add)
	add1 := operator.Add(add, c)
	add2 := operator.Add(add1, m.Param)
	add3 := operator.Add(add1, linear)
	add4 := operator.Add(add2, add3)
	return ir.PyTuple{operator.Add(linear, add4), operator.Add(add4, add2), add4.Relu()}
}

// upstream: test_fx_passes.TestFXGraphPasses.test_fuser_util
func TestRecordedPartitionFuseExplicit(t *testing.T) {
	c := fxcase.Open(t, "partition_fuse_explicit")
	testenv.Libtorch(t)
	c.Seed()
	m := c.Before(traced(t, &partitioned{Linear: nn.NewLinear(4, 4), Param: parameterOf(t, torch.Rand(4, 4))}), nil)
	sorted, err := passes.SortNodes(nodesNamed(t, m, "add_4", "add_1", "add_3", "add_2"))
	require.NoError(t, err)
	c.Result(map[string]any{
		"valid":  []bool{passes.ValidPartition(nodesNamed(t, m, "add", "add_3")), passes.ValidPartition(nodesNamed(t, m, "add_1", "add_2"))},
		"sorted": namesOf(sorted),
	})
	_, err = passes.FusePartitions(m, []*passes.Partition{
		{Nodes: nodesNamed(t, m, "add", "linear", "add_1")}, {Nodes: nodesNamed(t, m, "add_2", "add_3", "add_4")}})
	require.NoError(t, err)
	c.Runs(c.Same(m, nil))
}

// upstream: test_fx_passes.TestFXGraphPasses.test_fuser_util_xfail
func TestRecordedPartitionFuseCycle(t *testing.T) {
	c := fxcase.Open(t, "partition_fuse_cycle")
	m := traced(t, func(x *torch.Tensor) *torch.Tensor { return torch.Relu(torch.Neg(torch.Sin(x))) }, parameters("x"))
	_, err := passes.FusePartitions(m, []*passes.Partition{{Nodes: nodesNamed(t, m, "sin", "relu")}})
	c.Fails(err)
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
