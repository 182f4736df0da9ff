package passes_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/passes"
	torch "github.com/torchfx-go/torchfx/torchops"
)

func runPart(ctx context.Context, part *ir.GraphModule, args []any) (any, error) {
	return interpreter.New(part).Run(ctx, args...)
}

// failsWith runs parts, but for those that have all of the named calls.
func failsWith(names ...string) passes.RunFunc {
	return func(ctx context.Context, part *ir.GraphModule, args []any) (any, error) {
		absent := func(name string) bool {
			n := part.Graph().Lookup(name)
			return n == nil || n.Op() == ir.Placeholder
		}
		if len(names) > 0 && !slices.ContainsFunc(names, absent) {
			return nil, errors.New("all of them are here")
		}
		return runPart(ctx, part, args)
	}
}

func sameSums(a, b any, _ []string) (float64, bool, error) {
	var total func(v any) float64
	total = func(v any) (sum float64) {
		if items, ok := v.(ir.PyTuple); ok {
			for _, item := range items {
				sum += total(item)
			}
		}
		if t, ok := v.(*torch.Tensor); ok {
			values, err := torch.Data[float32](t)
			if err != nil {
				return 0
			}
			for _, x := range values {
				sum += float64(x)
			}
		}
		return sum
	}
	d := total(a) - total(b)
	return d, d == 0, nil
}

const threeSteps = `def forward(self, x):
    linear = torch.tanh(x);  x = None
    linear2 = torch.sigmoid(linear);  linear = None
    relu = torch.relu(linear2);  linear2 = None
    return relu`

func minimizer(t *testing.T, code string, b passes.RunFunc, opts ...passes.MinimizeOption) *passes.Minimizer {
	testenv.Libtorch(t)
	m := module(t, code)
	var sample []any
	for range m.Graph().Find(ir.Placeholder, nil) {
		sample = append(sample, tensorOf(t, false, 2, 3))
	}
	z, err := passes.NewMinimizer(t.Context(), m, sample, runPart, b, sameSums, opts...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, z.Close()) })
	return z
}

// The shortest run of calls that is wrong as a whole.
func TestMinimizeBlock(t *testing.T) {
	tests := []struct {
		name string
		want []string
	}{
		// upstream: test_net_min_base.TestNetMinBaseBlock.test_no_discrepancy
		{"no discrepancy", nil},
		// upstream: test_net_min_base.TestNetMinBaseBlock.test_all_nodes_discrepancy
		{"all nodes", []string{"linear", "linear2", "relu"}},
		// upstream: test_net_min_base.TestNetMinBaseBlock.test_first_node_discrepancy
		{"first node", []string{"linear"}},
		// upstream: test_net_min_base.TestNetMinBaseBlock.test_last_node_discrepancy
		{"last node", []string{"relu"}},
		// upstream: test_net_min_base.TestNetMinBaseBlock.test_middle_node_discrepancy
		{"middle node", []string{"linear2"}},
		// upstream: test_net_min_base.TestNetMinBaseBlock.test_contiguous_partial_discrepancy_end
		{"end", []string{"linear2", "relu"}},
		// upstream: test_net_min_base.TestNetMinBaseBlock.test_continugous_partial_discrepancy_beginning
		{"beginning", []string{"linear", "linear2"}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			z := minimizer(t, threeSteps, failsWith(tc.want...), passes.Traverse(passes.Block))
			culprits, err := z.Minimize(t.Context())
			require.NoError(t, err)
			require.Equal(t, append([]string{}, tc.want...), namesOf(culprits), z.Report())
		})
	}
}

// wrongly computes one function as another.
func wrongly(function, other string) passes.RunFunc {
	return func(ctx context.Context, part *ir.GraphModule, args []any) (any, error) {
		changed := part.Clone()
		for n := range changed.Graph().Nodes() {
			if n.Func() == ir.FuncOf(function) {
				if err := n.SetTarget(ir.FuncOf(other)); err != nil {
					return nil, err
				}
			}
		}
		return runPart(ctx, changed, args)
	}
}

func TestMinimizeOrders(t *testing.T) {
	const code = `def forward(self, x, y):
    a = torch.tanh(x);  x = None
    b = torch.neg(y);  y = None
    c = torch.add(a, b);  a = b = None
    d = torch.neg(c)
    e = torch.tanh(d);  d = None
    return (e, c)`
	tests := []struct {
		name string
		opts []passes.MinimizeOption
		want []string
	}{
		{"sequential", nil, []string{"b"}},
		{"all", []passes.MinimizeOption{passes.FindAll()}, []string{"b", "d"}},
		{"binary", []passes.MinimizeOption{passes.Traverse(passes.Binary), passes.FindAll()}, []string{"b", "d"}},
		{"binary, first", []passes.MinimizeOption{passes.Traverse(passes.Binary)}, []string{"b"}},
		{"accumulate", []passes.MinimizeOption{passes.Traverse(passes.Accumulate)}, []string{"b"}},
		{"defined", []passes.MinimizeOption{passes.Traverse(passes.Defined), passes.Between("c", "d")}, []string{"c", "d"}},
		{"skip", []passes.MinimizeOption{passes.Traverse(passes.Skip), passes.SkipNodes("c")}, []string{"a", "b", "d", "e"}},
		{"between", []passes.MinimizeOption{passes.Between("c", "")}, []string{"d"}},
		{"excluded", []passes.MinimizeOption{passes.FindAll(), passes.Exclude(func(nodes []*ir.Node) []*ir.Node {
			return slices.DeleteFunc(nodes, func(n *ir.Node) bool { return n.Name() == "b" })
		})}, []string{"d"}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			z := minimizer(t, code, wrongly("torch.neg", "torch.relu"), tc.opts...)
			culprits, err := z.Minimize(t.Context())
			require.NoError(t, err)
			require.Equal(t, tc.want, namesOf(culprits), z.Report())
			require.NotEmpty(t, z.Results())
		})
	}
}

// With errors accumulating the second run reads what it gave before, so that what
// follows a culprit is wrong as well.
func TestMinimizeAccumulatesErrors(t *testing.T) {
	for _, on := range []bool{false, true} {
		opts, want := []passes.MinimizeOption{passes.FindAll()}, []string{"linear"}
		if on {
			opts, want = append(opts, passes.AccumulateError()), []string{"linear", "linear2", "relu"}
		}
		z := minimizer(t, threeSteps, wrongly("torch.tanh", "torch.exp"), opts...)
		culprits, err := z.Minimize(t.Context())
		require.NoError(t, err)
		require.Equal(t, want, namesOf(culprits), z.Report())
	}
}

func TestMinimizeRefuses(t *testing.T) {
	testenv.Libtorch(t)
	m := module(t, threeSteps)
	_, err := passes.NewMinimizer(t.Context(), m, nil, runPart, runPart, sameSums)
	require.ErrorIs(t, err, ir.ErrAssertion)
	require.ErrorContains(t, err, "Placeholder count (1) does not match sample_input count (0)")
	for _, opt := range []passes.MinimizeOption{passes.Traverse("sideways"), passes.Traverse(passes.Skip)} {
		_, err := minimizer(t, threeSteps, runPart, opt).Minimize(t.Context())
		require.ErrorIs(t, err, ir.ErrRuntime)
	}
	z := minimizer(t, threeSteps, failsWith("relu"), passes.Between("linear2", "relu"))
	require.ErrorIs(t, z.RunNodes(t.Context()), passes.ErrPartRun)
}

func ExampleMinimizer() {
	g, err := ir.ParseCode(`def forward(self, x):
    neg = torch.neg(x);  x = None
    tanh = torch.tanh(neg);  neg = None
    exp = torch.exp(tanh);  tanh = None
    return exp`)
	if err != nil {
		log.Fatal(err)
	}
	m, err := ir.NewGraphModule(nil, g)
	if err != nil {
		log.Fatal(err)
	}
	x, err := torch.From([]float32{1, 2}, 2)
	if err != nil {
		log.Fatal(err)
	}
	defer x.Close()
	ctx := context.Background()
	// a backend whose tanh is a sigmoid
	z, err := passes.NewMinimizer(ctx, m, []any{x}, runPart, wrongly("torch.tanh", "torch.sigmoid"), sameSums, passes.Traverse(passes.Block))
	if err != nil {
		log.Fatal(err)
	}
	defer z.Close()
	culprits, err := z.Minimize(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(culprits)
	// Output: [tanh]
}
