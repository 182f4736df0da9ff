package placement_test

import (
	"encoding/json"
	"fmt"
	"log"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	"github.com/torchfx-go/torchfx/passes"
	"github.com/torchfx-go/torchfx/passes/placement"
	torch "github.com/torchfx-go/torchfx/torchops"
)

type recordedGroup struct {
	ID      int
	Nodes   []string
	Bytes   int64
	Devices []int
}

type recordedPart struct {
	Call            string
	Inputs, Outputs []string
	Devices         []int
	Bytes           int64
}

type recordedPlacement struct {
	Program, Code, Mode, Error string
	Inputs                     [][2]any
	Memory                     []int64
	Options                    struct {
		Rate     float64
		Numbers  map[string]int
		Devices  map[string][]int
		Saturate bool
	}
	Groups  []recordedGroup
	Parts   []recordedPart
	Modules map[string]string
	Latency [][3]float64
	Total   float64
}

// weight is a parameter of which only the path matters.
type weight struct{}

func (weight) DType() ir.DType { return ir.Float32 }

// program builds the module of a case and notes what its nodes yield.
func program(t *testing.T, tc recordedPlacement) *ir.GraphModule {
	g, err := ir.ParseCode(tc.Code)
	require.NoError(t, err)
	c, err := torch.From(make([]float32, 4), 4)
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	attrs := map[string]any{"linear": nn.NewLinear(4, 4), "c": c}
	if tc.Program == "Sparse" {
		attrs = map[string]any{"emb0": nn.NewEmbeddingBag(40, 4), "emb1": nn.NewEmbeddingBag(40, 4), "lin": nn.NewLinear(4, 4)}
	}
	m, err := ir.NewGraphModule(attrs, g)
	require.NoError(t, err)
	var inputs []any
	for _, in := range tc.Inputs {
		var shape []int
		n := 1
		for _, d := range in[0].([]any) {
			shape = append(shape, int(d.(float64)))
			n *= shape[len(shape)-1]
		}
		var x *torch.Tensor
		if in[1] == "torch.int64" {
			values := make([]int64, n)
			values[n-1] = 1
			x, err = torch.From(values, shape...)
		} else {
			x, err = torch.From(make([]float32, n), shape...)
		}
		require.NoError(t, err)
		t.Cleanup(func() { x.Close() })
		inputs = append(inputs, x)
	}
	out, err := passes.ShapeProp(t.Context(), m, inputs)
	require.NoError(t, err)
	results, several := out.(ir.PyTuple)
	if !several {
		results = ir.PyTuple{out}
	}
	for _, v := range results {
		v.(*torch.Tensor).Close()
	}
	return m
}

func devices(memory []int64) []placement.Device {
	var list []placement.Device
	for i, size := range memory {
		list = append(list, placement.Device{Name: fmt.Sprint("dev_", i), Memory: size, ID: i})
	}
	return list
}

func latencies(m *ir.GraphModule) map[*ir.Node]placement.Latency {
	of := map[*ir.Node]placement.Latency{}
	for n := range m.Graph().Nodes() {
		of[n] = placement.Latency{Memory: 1, Compute: 0.5}
		if n.Op() == ir.CallModule {
			of[n] = placement.Latency{Memory: 1, Compute: 2}
		}
	}
	return of
}

func sorted(nodes []*ir.Node) []string {
	names := []string{}
	for _, n := range nodes {
		names = append(names, n.Name())
	}
	slices.Sort(names)
	return names
}

// Programs distributed as the partitioner of torch.fx distributes them.
//
// upstream: test_fx_experimental.TestFXExperimental.test_find_single_partition
// upstream: test_fx_experimental.TestFXExperimental.test_lack_of_devices
// upstream: test_fx_experimental.TestFXExperimental.test_large_node_error
// upstream: test_fx_experimental.TestFXExperimental.test_size_based_partition
// upstream: test_fx_experimental.TestFXExperimental.test_partition_device_mapping
// upstream: test_fx_experimental.TestFXExperimental.test_sparse_nn_partition
// upstream: test_fx_experimental.TestFXExperimental.test_partition_latency
// upstream: test_fx_experimental.TestFXExperimental.test_cost_aware_partition
// upstream: test_fx_experimental.TestFXExperimental.test_aot_based_partition
// upstream: test_fx_experimental.TestFXExperimental.test_saturate_host
func TestPartition(t *testing.T) {
	testenv.Libtorch(t)
	data, err := os.ReadFile("../testdata/passes.json")
	require.NoError(t, err)
	var all struct{ Placements []recordedPlacement }
	require.NoError(t, json.Unmarshal(data, &all))
	require.NotEmpty(t, all.Placements)
	for _, tc := range all.Placements {
		t.Run(fmt.Sprint(tc.Program, tc.Mode, tc.Memory), func(t *testing.T) {
			m := program(t, tc)
			var opts []placement.Option
			of := latencies(m)
			switch tc.Mode {
			case "sparse_nn":
				opts = append(opts, placement.SparseNN())
			case "cost_aware":
				opts = append(opts, placement.CostAware(tc.Options.Rate, of))
			case "aot_based":
				number, given := map[*ir.Node]int{}, map[int][]int{}
				for name, v := range tc.Options.Numbers {
					number[m.Graph().Lookup(name)] = v
				}
				for key, v := range tc.Options.Devices {
					id, err := strconv.Atoi(key)
					require.NoError(t, err)
					given[id] = v
				}
				opts = append(opts, placement.Fixed(number, given))
			default:
				opts = append(opts, placement.BySize())
			}
			if tc.Options.Saturate {
				opts = append(opts, placement.SaturateHost())
			}
			r, err := placement.Partition(m, devices(tc.Memory), opts...)
			if tc.Error != "" {
				require.ErrorIs(t, err, ir.ErrRuntime)
				require.ErrorContains(t, err, tc.Error)
				return
			}
			require.NoError(t, err)
			var groups []recordedGroup
			for _, g := range r.Groups {
				groups = append(groups, recordedGroup{g.ID(), sorted(g.Nodes()), g.Bytes(), g.Devices})
			}
			require.Equal(t, tc.Groups, groups)
			var parts []recordedPart
			for _, p := range r.Parts {
				inputs := []string{}
				for _, n := range p.Inputs {
					inputs = append(inputs, n.Name())
				}
				parts = append(parts, recordedPart{p.Call.Name(), inputs, sorted(p.Outputs), p.Devices, p.Bytes})
			}
			require.Equal(t, tc.Parts, parts)
			for path, code := range tc.Modules {
				sub := r.Splitting.Module
				if path != "" {
					v, _ := sub.Attr(path)
					sub = v.(*ir.GraphModule)
				}
				got, err := sub.Code()
				require.NoError(t, err)
				require.Equal(t, strings.TrimSpace(code), strings.TrimSpace(got))
			}
			for i, want := range tc.Latency {
				l := placement.LatencyOf(r.Groups[i], of)
				require.Equal(t, want, [3]float64{l.Memory, l.Compute, l.Overall})
			}
			if tc.Total > 0 {
				require.InDelta(t, tc.Total, placement.TotalLatency(r.Groups, of, tc.Options.Rate), 1e-12)
			}
		})
	}
}

// additions is a program of additions alone; each value has 16 bytes.
func additions(t testing.TB) *ir.GraphModule {
	g, err := ir.ParseCode(`def forward(self, a, b):
    add = a + b;  a = b = None
    c0 = self.c0
    add_1 = add + c0;  add = c0 = None
    c1 = self.c1
    add_2 = add_1 + c1;  add_1 = c1 = None
    return add_2`)
	require.NoError(t, err)
	m, err := ir.NewGraphModule(map[string]any{"c0": weight{}, "c1": weight{}}, g)
	require.NoError(t, err)
	for n := range g.Nodes() {
		n.Meta().Set(ir.MetaTensorMeta, ir.TensorMeta{DType: ir.Float32, Sizes: []ir.Size{ir.SizeOf(4)}})
	}
	return m
}

// upstream: test_fx_experimental.TestFXExperimental.test_partition_node_manipulation
func TestGroupRemove(t *testing.T) {
	m := additions(t)
	r, err := placement.Partition(m, devices([]int64{1000}))
	require.NoError(t, err)
	require.EqualValues(t, 112, r.Groups[0].Bytes())
	r.Groups[0].Remove(m.Graph().Lookup("add_2"))
	require.EqualValues(t, 80, r.Groups[0].Bytes())
	r.Groups[0].Remove(m.Graph().Lookup("add_2"))
	require.EqualValues(t, 80, r.Groups[0].Bytes())
}

// Swaps never make it slower, and every call has exactly one group.
func TestKernighanLin(t *testing.T) {
	m := additions(t)
	of := latencies(m)
	list := devices([]int64{90, 90, 90})
	bySize, err := placement.Partition(m, list)
	require.NoError(t, err)
	swapped, err := placement.Partition(m, list, placement.KernighanLin(1, of))
	require.NoError(t, err)
	require.LessOrEqual(t, placement.TotalLatency(swapped.Groups, of, 1), placement.TotalLatency(bySize.Groups, of, 1))
	count := map[string]int{}
	for _, g := range swapped.Groups {
		for _, n := range g.Nodes() {
			count[n.Name()]++
		}
	}
	for _, name := range []string{"add", "add_1", "add_2"} {
		require.Equal(t, 1, count[name])
	}
	require.NoError(t, swapped.Splitting.Module.Graph().Lint())
}

func ExamplePartition() {
	g, err := ir.ParseCode(`def forward(self, x):
    relu = torch.relu(x);  x = None
    neg = torch.neg(relu);  relu = None
    abs_1 = torch.abs(neg);  neg = None
    return abs_1`)
	if err != nil {
		log.Fatal(err)
	}
	m, err := ir.NewGraphModule(nil, g)
	if err != nil {
		log.Fatal(err)
	}
	for n := range g.Nodes() { // as passes.ShapeProp notes it
		n.Meta().Set(ir.MetaTensorMeta, ir.TensorMeta{DType: ir.Float32, Sizes: []ir.Size{ir.SizeOf(10)}})
	}
	list := []placement.Device{{Name: "small", Memory: 80, ID: 0}, {Name: "large", Memory: 130, ID: 1}}
	r, err := placement.Partition(m, list)
	if err != nil {
		log.Fatal(err)
	}
	for _, p := range r.Parts {
		fmt.Println(p.Call, "on", p.Devices, "takes", p.Bytes)
	}
	// Output:
	// submod_0 on [0] takes 80
	// submod_1 on [1] takes 120
}
