package passes_test

import (
	"context"
	"fmt"
	"log"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/passes"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// upstream: test_fx_experimental.TestFXExperimental.test_replace_target_nodes_with
func TestRecordedReplaceTargetNodes(t *testing.T) {
	r := recorded(t, "replace_target_nodes")
	m := r.before(t)
	g := m.Graph()
	changed, err := passes.ReplaceTargets(g, ir.CallFunction, ir.FuncOf("torch.add"), ir.CallFunction, ir.FuncOf("torch.mul"))
	require.NoError(t, err)
	require.Equal(t, []string{"add", "add_1"}, namesOf(changed))
	_, err = passes.ReplaceTargets(g, ir.CallMethod, ir.Path("relu"), ir.CallMethod, ir.Path("sigmoid"))
	require.NoError(t, err)
	r.requireTexts(t, m)

	_, err = passes.ReplaceTargets(g, ir.CallMethod, ir.Path("sigmoid"), ir.CallFunction, ir.Path("sigmoid"))
	require.Error(t, err)
	r.requireTexts(t, m)
}

func TestRecordedOptExtractSubgraph(t *testing.T) {
	r := recorded(t, "opt_extract_subgraph")
	m := r.before(t)
	nodes := nodesNamed(t, m, "relu", "add")
	sub, err := passes.ExtractSubgraph(m, nodes, nodesNamed(t, m, "lin", "y"), nodes)
	require.NoError(t, err)
	r.requireTexts(t, sub)

	_, err = passes.ExtractSubgraph(m, nodes, nodesNamed(t, m, "y"), nodes)
	require.ErrorIs(t, err, ir.ErrKey)
	require.ErrorContains(t, err, "operand lin")
	_, err = passes.ExtractSubgraph(m, nil, nil, nodes)
	require.ErrorIs(t, err, ir.ErrKey)
}

// upstream: test_fx_experimental.TestFXExperimental.test_optimize_for_inference_cpu
func TestRecordedOptRemoveDropout(t *testing.T) {
	r := recorded(t, "opt_remove_dropout")
	m := r.before(t)
	for path, class := range map[string]string{"seq.0": "linear.Linear", "seq.1": "dropout.Dropout", "seq.2": "activation.ReLU", "seq.3": "dropout.Dropout2d"} {
		m.SetAttr(path, &submodule{"torch.nn.modules." + class})
	}
	gone, err := passes.RemoveDropout(m)
	require.NoError(t, err)
	require.Equal(t, []string{"seq_1"}, gone)
	_, there := m.Attr("seq.1")
	require.False(t, there)
	r.requireTexts(t, asNew(t, m))
}

// upstream: test_fx_experimental.TestFXExperimental.test_annotate_getitem_node
func TestRecordedAnnotateGetitem(t *testing.T) {
	r := recorded(t, "annotate_getitem")
	g := ir.NewGraph()
	types := []string{"typing.Tuple[int, torch.Tensor]", "typing.List[torch.Tensor]", "program.Named", "typing.Tuple[float, ...]", "list[str]", "tuple[int, str]"}
	var sequences, items []ir.Arg
	for i, name := range []string{"x", "y", "z", "w", "v", "u"} {
		sequences = append(sequences, g.Placeholder(name, ir.WithType(types[i])))
	}
	for i, index := range []int{1, 0, 1, 3, 0, 1} {
		items = append(items, g.CallFunction(ir.FuncOf("operator.getitem"), []ir.Arg{sequences[i], ir.Int(index)}))
	}
	g.Output(ir.TupleOf(items...))
	fields := map[string][]string{"program.Named": {"torch.Tensor", "int"}}
	require.NoError(t, passes.AnnotateGetItem(g, fields))
	r.requireTexts(t, moduleOf(t, g, ir.ClassName("f")))
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

// upstream: test_fx_experimental.TestFXExperimental.test_merge_matmuls
func TestRecordedMergeMatmul(t *testing.T) {
	r := recorded(t, "merge_matmul")
	m := r.before(t)
	merged, err := passes.MergeMatmul(m)
	require.NoError(t, err)
	require.Equal(t, 2, merged)
	r.requireTexts(t, m)
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

func TestRecordedCanonicalize(t *testing.T) {
	r := recorded(t, "canonicalize")
	var want struct{ Renamed map[string]string }
	r.result(t, &want)
	m := r.before(t)
	renamed, err := passes.Canonicalize(m, passes.GroupGetItems(), passes.MayMove(func(*ir.Node) bool { return true }))
	require.NoError(t, err)
	require.Equal(t, want.Renamed, renamed)
	r.requireTexts(t, m)
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
