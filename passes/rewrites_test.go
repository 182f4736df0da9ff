package passes_test

import (
	"context"
	"fmt"
	"log"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/torchfx-go/torchfx/internal/fxcase"
	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	"github.com/torchfx-go/torchfx/operator"
	"github.com/torchfx-go/torchfx/passes"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// upstream: test_fx_experimental.TestFXExperimental.test_replace_target_nodes_with
func TestRecordedReplaceTargetNodes(t *testing.T) {
	c := fxcase.Open(t, "replace_target_nodes")
	m := c.Before(traced(t, func(x, y *torch.Tensor) *torch.Tensor {
		return operator.Add(torch.Add(x, y).Relu(), torch.Add(y, x).Relu())
	}, parameters("x, y")), nil)
	g := m.Graph()
	changed, err := passes.ReplaceTargets(g, ir.CallFunction, ir.FuncOf("torch.add"), ir.CallFunction, ir.FuncOf("torch.mul"))
	require.NoError(t, err)
	require.Equal(t, []string{"add", "add_1"}, namesOf(changed))
	_, err = passes.ReplaceTargets(g, ir.CallMethod, ir.Path("relu"), ir.CallMethod, ir.Path("sigmoid"))
	require.NoError(t, err)
	c.Same(m, nil)

	_, err = passes.ReplaceTargets(g, ir.CallMethod, ir.Path("sigmoid"), ir.CallFunction, ir.Path("sigmoid"))
	require.Error(t, err)
	c.Same(m, nil)
}

type extracted struct {
	nn.Base `forward:"x, y"`
	Lin     *nn.Linear
}

func (m *extracted) Forward(x, y *torch.Tensor) *torch.Tensor {
	return operator.Add(torch.Relu(m.Lin.Forward(x)), y)
}

func TestRecordedOptExtractSubgraph(t *testing.T) {
	c := fxcase.Open(t, "opt_extract_subgraph")
	testenv.Libtorch(t)
	c.Seed()
	m := c.Before(traced(t, &extracted{Lin: nn.NewLinear(2, 2)}), nil)
	nodes := nodesNamed(t, m, "relu", "add")
	sub, err := passes.ExtractSubgraph(m, nodes, nodesNamed(t, m, "lin", "y"), nodes)
	require.NoError(t, err)
	c.Runs(c.Same(sub, nil))

	_, err = passes.ExtractSubgraph(m, nodes, nodesNamed(t, m, "y"), nodes)
	require.ErrorIs(t, err, ir.ErrKey)
	require.ErrorContains(t, err, "operand lin")
	_, err = passes.ExtractSubgraph(m, nil, nil, nodes)
	require.ErrorIs(t, err, ir.ErrKey)
}

type droppedOut struct {
	nn.Base `forward:"x"`
	Seq     *nn.Sequential
}

func (m *droppedOut) Forward(x *torch.Tensor) *torch.Tensor { return m.Seq.Forward(x) }

// upstream: test_fx_experimental.TestFXExperimental.test_optimize_for_inference_cpu
func TestRecordedOptRemoveDropout(t *testing.T) {
	c := fxcase.Open(t, "opt_remove_dropout")
	testenv.Libtorch(t)
	c.Seed()
	root := &droppedOut{Seq: nn.NewSequential(nn.NewLinear(2, 2), nn.NewDropout(nn.WithP(0.5)), nn.NewReLU(), nn.NewDropout2d(nn.WithP(0.5)))}
	nn.Train(root, false)
	m := c.Before(traced(t, root), nil)
	gone, err := passes.RemoveDropout(m)
	require.NoError(t, err)
	require.Equal(t, []string{"seq_1"}, gone)
	_, there := m.Attr("seq.1")
	require.False(t, there)
	c.Runs(c.Same(m, nil))
}

// upstream: test_fx_experimental.TestFXExperimental.test_annotate_getitem_node
func TestRecordedAnnotateGetitem(t *testing.T) {
	c := fxcase.Open(t, "annotate_getitem")
	m := traced(t, func(x, y, z, w, v, u torch.Value) any {
		return ir.PyTuple{x.Index(1), y.Index(0), z.Index(1), w.Index(3), v.Index(0), u.Index(1)}
	}, parameters("x: typing.Tuple[int, torch.Tensor], y: typing.List[torch.Tensor], z: program.Named, w: typing.Tuple[float, ...], v: list[str], u: tuple[int, str]"))
	fields := map[string][]string{"program.Named": {"torch.Tensor", "int"}}
	require.NoError(t, passes.AnnotateGetItem(m.Graph(), fields))
	c.Same(m, nil)
}

func TestAnnotateGetItem(t *testing.T) {
	tests := []struct {
		sequence string
		index    int
		want     string
		err      string
	}{
		{"tuple[int, tuple[str, bool]]", 1, "tuple[str, bool]", ""},
		{"tuple[int, str]", -1, "str", ""},
		{"tuple[int, str]", 2, "", "Index 2 out of range for parameterized_types (len=2)"},
		{"list[int, str]", 0, "", "Expected 1 parameterized type, got 2"},
		{"dict[str, int]", 0, "", ""},
		{"torch.Tensor", 0, "", ""},
		{"list", 0, "", ""},
	}
	for _, tc := range tests {
		t.Run(fmt.Sprint(tc.sequence, tc.index), func(t *testing.T) {
			g := ir.NewGraph()
			n := g.CallFunction(ir.FuncOf("operator.getitem"), []ir.Arg{g.Placeholder("x", ir.WithType(tc.sequence)), ir.Int(tc.index)})
			err := passes.AnnotateGetItem(g, nil)
			if tc.err != "" {
				require.ErrorIs(t, err, ir.ErrAssertion)
				require.ErrorContains(t, err, tc.err)
			} else {
				require.NoError(t, err)
			}
			require.Equal(t, tc.want, n.Type())
		})
	}
}

type merged struct {
	nn.Base `forward:"x, y"`
	W       *torch.Tensor
}

func (m *merged) Forward(x, y *torch.Tensor) any {
	return ir.PyTuple{torch.MatMul(x, m.W), torch.MatMul(y, m.W)}
}

// upstream: test_fx_experimental.TestFXExperimental.test_merge_matmuls
func TestRecordedMergeMatmul(t *testing.T) {
	c := fxcase.Open(t, "merge_matmul")
	testenv.Libtorch(t)
	c.Seed()
	m := c.Before(traced(t, &merged{W: randn(t, 3, 2)}), nil)
	calls, err := passes.MergeMatmul(m)
	require.NoError(t, err)
	require.Equal(t, 2, calls)
	c.Runs(c.Same(m, nil))
}

func TestMergeMatmul(t *testing.T) {
	tests := []struct {
		name, code string
		want       int
	}{
		{"dependent", "a = torch.matmul(x, y)\nb = torch.matmul(a, y)", 0},
		{"dependent beyond six nodes", "a = torch.matmul(x, y)\nc = a.relu()\nd = c.relu()\ne = d.relu()\nf = e.relu()\ng = f.relu()\nh = g.relu()\nb = torch.matmul(h, y)", 0},
		{"one", "a = torch.matmul(x, y)\nb = torch.matmul(x, x)", 0},
		{"two groups", "a = torch.matmul(x, y)\nb = torch.matmul(x, y)\nc = torch.matmul(a, x)\nd = torch.matmul(y, x)", 4},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			m := bodyModule(t, tc.code, "(a, b)")
			merged, err := passes.MergeMatmul(m)
			require.NoError(t, err)
			require.Equal(t, tc.want, merged)
			require.NoError(t, m.Graph().Lint())
		})
	}
}

func TestMergeMatmulRuns(t *testing.T) {
	testenv.Libtorch(t)
	m := bodyModule(t, "a = torch.matmul(x, y)\nb = torch.matmul(y, y)", "(a, b)")
	_, err := passes.MergeMatmul(m)
	require.NoError(t, err)
	x, err := torch.From([]float32{1, 2}, 1, 2)
	require.NoError(t, err)
	defer x.Close()
	y, err := torch.From([]float32{1, 2, 3, 4}, 2, 2)
	require.NoError(t, err)
	defer y.Close()
	out, err := interpreter.New(m).Run(context.Background(), x, y)
	require.NoError(t, err)
	var got [][]float32
	for _, v := range out.(ir.PyTuple) {
		values, err := torch.Data[float32](v.(*torch.Tensor))
		require.NoError(t, err)
		got = append(got, values)
		v.(*torch.Tensor).Close()
	}
	require.Equal(t, [][]float32{{7, 10}, {7, 10, 15, 22}}, got)
}

type disorderedModel struct {
	nn.Base `forward:"x, y"`
	B, A    *torch.Tensor
}

func (m *disorderedModel) Forward(x, y *torch.Tensor) any {
	p := torch.Sin(y)
	q := torch.Cos(x)
	r := torch.Relu(operator.Add(p, m.B))
	s := torch.Split(operator.Mul(q, m.A), 1)
	return ir.PyTuple{r, s.At(1), s.At(0)}
}

func TestRecordedCanonicalize(t *testing.T) {
	c := fxcase.Open(t, "canonicalize")
	testenv.Libtorch(t)
	m := c.Before(traced(t, &disorderedModel{B: ones(t, 2), A: ones(t, 2)}), nil)
	renamed, err := passes.Canonicalize(m, passes.GroupGetItems(), passes.MayMove(func(*ir.Node) bool { return true }))
	require.NoError(t, err)
	c.Result(map[string]any{"renamed": renamed})
	c.State(c.Same(m, nil))
}

func TestCanonicalizeKeepsBarriers(t *testing.T) {
	m := bodyModule(t, "b = torch.neg(x)\nw = y.mul_(2)\na = torch.abs(x)", "(a, b, w)")
	_, err := passes.Canonicalize(m, passes.KeepNames(ir.CallFunction, ir.CallMethod))
	require.NoError(t, err)
	require.Equal(t, []string{"x", "y", "b", "w", "a", "output"}, graphNames(m))
	m = bodyModule(t, "b = torch.neg(x)\nw = y.mul(2)\na = torch.abs(x)", "(a, b, w)")
	renamed, err := passes.Canonicalize(m)
	require.NoError(t, err)
	require.Equal(t, []string{"x", "y", "abs_1", "mul", "neg", "output"}, graphNames(m))
	require.Equal(t, map[string]string{"b": "neg", "w": "mul", "a": "abs_1"}, renamed)
}

// Canonical graphs compute the same, are canonical, and do not depend on the order
// of recording.
func TestCanonicalizeLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawModule(t)
		first := map[ir.Target]*ir.Node{} // of reads of one attribute
		for _, n := range m.Graph().Find(ir.GetAttr, nil) {
			if of := first[n.Target()]; of != nil {
				n.ReplaceAllUsesWith(of)
				require.NoError(t, m.Graph().Erase(n))
			} else {
				first[n.Target()] = n
			}
		}
		_, err := passes.CSE(m)
		require.NoError(t, err)
		other := m.Clone()
		nodes := nodesIn(other)
		// another order that is as good
		for range rapid.IntRange(0, 10).Draw(t, "moves") {
			i := rapid.IntRange(0, len(nodes)-1).Draw(t, "node")
			n := nodes[i]
			next := n.Next()
			if n.Op() == ir.Placeholder || n.Op() == ir.GetAttr || next == nil || next.Op() == ir.Output || next.Op() == ir.Placeholder || next.Op() == ir.GetAttr || next.Inputs() != nil && contains(next.Inputs(), n) {
				continue
			}
			require.NoError(t, next.Append(n))
		}
		require.NoError(t, other.Graph().Lint())
		want := meaning(t, m)
		var opts []passes.CanonicalOption
		if rapid.Bool().Draw(t, "group") {
			opts = append(opts, passes.GroupGetItems())
		}
		for _, m := range []*ir.GraphModule{m, other} {
			_, err = passes.Canonicalize(m, opts...)
			require.NoError(t, err)
			require.NoError(t, m.Graph().Lint())
			require.Equal(t, want, meaning(t, m))
		}
		require.NoError(t, ir.Equal(m.Graph(), other.Graph()))
		text := m.Graph().String()
		renamed, err := passes.Canonicalize(m, opts...)
		require.NoError(t, err)
		require.Empty(t, renamed)
		require.Equal(t, text, m.Graph().String())
	})
}

func contains(nodes []*ir.Node, n *ir.Node) bool {
	for _, m := range nodes {
		if m == n {
			return true
		}
	}
	return false
}

func nodesIn(m *ir.GraphModule) (nodes []*ir.Node) {
	for n := range m.Graph().Nodes() {
		nodes = append(nodes, n)
	}
	return nodes
}

// Equal programs that were recorded in different orders get one text.
func ExampleCanonicalize() {
	for _, body := range []string{"b = torch.neg(x)\n    a = torch.abs(x)", "u = torch.abs(x)\n    v = torch.neg(x)"} {
		g, err := ir.ParseCode("def forward(self, x):\n    " + body + "\n    return x")
		if err != nil {
			log.Fatal(err)
		}
		m, err := ir.NewGraphModule(nil, g)
		if err != nil {
			log.Fatal(err)
		}
		if _, err := passes.Canonicalize(m); err != nil {
			log.Fatal(err)
		}
		fmt.Println(m.Graph())
	}
	// Output:
	// graph():
	//     %x : [num_users=3] = placeholder[target=x]
	//     %abs_1 : [num_users=0] = call_function[target=torch.abs](args = (%x,), kwargs = {})
	//     %neg : [num_users=0] = call_function[target=torch.neg](args = (%x,), kwargs = {})
	//     return x
	// graph():
	//     %x : [num_users=3] = placeholder[target=x]
	//     %abs_1 : [num_users=0] = call_function[target=torch.abs](args = (%x,), kwargs = {})
	//     %neg : [num_users=0] = call_function[target=torch.neg](args = (%x,), kwargs = {})
	//     return x
}
