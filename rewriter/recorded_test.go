package rewriter

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/ir"
)

// One test for each recorded case of the rewriter, named after the case: the
// program of the case in Go, with patterns as code text.

// tensor and layer stand for attributes of a module.
type tensor struct{ dtype ir.DType }

func (t *tensor) TensorMeta() ir.TensorMeta { return ir.TensorMeta{DType: t.dtype} }

type layer struct{ name string }

type fact = map[string]any

func TestRwAnchorReused(t *testing.T) {
	r := record(t, "rw_anchor_reused", nil)
	done := r.replace(def("x", "y = torch.relu(x)", "neg = torch.neg(y)", "return (y, neg)"),
		def("x", "sin = torch.sin(x)", "cos = torch.cos(x)", "return (sin, cos)"))
	r.texts(fact{"matches": len(done)})
}

func TestRwArgumentOrder(t *testing.T) {
	r := record(t, "rw_argument_order", nil)
	r.replace(def("x, y", "mm = torch.mm(x, y)", "return mm"), def("x, y", "mm = torch.mm(y, x)", "return mm"))
	r.texts(nil)
}

func TestRwBacktrackingAnchors(t *testing.T) {
	r := record(t, "rw_backtracking_anchors", nil)
	done := r.replace(def("a", "relu = torch.relu(a)", "sigmoid = torch.sigmoid(a)", "return (relu, sigmoid)"),
		def("a", "sin = torch.sin(a)", "cos = torch.cos(a)", "return (sin, cos)"))
	var pairs [][][2]string
	for i := range done {
		pairs = append(pairs, pairsOf(&done[i].Match))
	}
	r.texts(fact{"matches": pairs})
}

func TestRwCallMethod(t *testing.T) {
	r := record(t, "rw_call_method", nil)
	done := r.replace(
		def("a", "dequantize = a.dequantize()", "sigmoid = dequantize.sigmoid()", "to = sigmoid.to(torch.float16)", "return to"),
		def("a", "tanh = a.tanh()", "return tanh"))
	r.texts(fact{"matches": len(done)})
}

// upstream: test_subgraph_rewriter.TestSubgraphRewriter.test_subgraph_rewriter_replace_pattern_with_callback
func TestRwCallback(t *testing.T) {
	r := record(t, "rw_callback", nil)
	chain := func(m *Match, graph, pattern *ir.Graph) (*ir.Graph, error) {
		assert.Same(t, r.module.Graph(), graph)
		assert.Equal(t, "add", m.Anchor.Name())
		assert.Same(t, m.Anchor.Graph(), pattern)
		g := ir.NewGraph()
		cur := g.Placeholder("a")
		g.Placeholder("b")
		for range m.Inputs[1].(ir.Int) {
			cur = g.CallMethod("sin", []ir.Arg{cur})
		}
		g.Output(cur)
		return g, nil
	}
	done, err := Replace(r.module, def("a, b", "add = torch.add(a, b)", "return add"), WithFunc(chain))
	require.NoError(t, err)
	r.texts(fact{"matches": madeBy(done)})
}

// madeBy lists the anchors of replaced matches with the nodes that were made.
func madeBy(done []Replaced) (out [][]any) {
	for _, d := range done {
		out = append(out, []any{d.Anchor.Name(), names(d.Made)})
	}
	return out
}

func TestRwConsecutive(t *testing.T) {
	r := record(t, "rw_consecutive", nil)
	done := r.replace(def("a", "sigmoid = torch.sigmoid(a)", "return sigmoid"),
		def("a", "exp = torch.exp(a)", "add = exp + 1", "return add"))
	r.texts(fact{"matches": len(done)})
}

func TestRwCycleRejected(t *testing.T) {
	r := record(t, "rw_cycle_rejected", nil)
	one := r.match(def("x, y", "a = torch.relu(x)", "add = torch.add(a, y)", "return (a, add)"))
	two := r.match(def("x, y", "relu = torch.relu(x)", "add = torch.add(y, y)", "return (relu, add)"))
	r.texts(fact{"matches": []int{len(one), len(two)}})
}

// torch.fx finds out by a KeyError while it matches; here the pattern is refused.
func TestRwDeadPattern(t *testing.T) {
	g, err := ir.ParseCode(def("x", "relu = torch.relu(x)", "return relu"))
	require.NoError(t, err)
	_, err = ReplacePattern(module(t, g), def("a, b", "relu = torch.relu(a)", "return relu"), def("a, b", "return a"))
	assert.Equal(t, recordedError{"KeyError", "b"}, errorOf(t, "rw_dead_pattern"))
	require.ErrorIs(t, err, ir.ErrAssertion)
	assert.EqualError(t, err,
		"pattern: SubgraphMatcher cannot be initialized with a pattern with dead code: no result depends on b")
}

func TestRwDuplicatedOutputs(t *testing.T) {
	r := record(t, "rw_duplicated_outputs", nil)
	done := r.replace(def("a, b", "mm = torch.mm(a, b)", "add = torch.add(mm, 1)", "return add"),
		def("a, b", "matmul = torch.matmul(a, b)", "return matmul"))
	r.texts(fact{"matches": len(done)})
}

// upstream: test_subgraph_rewriter.TestSubgraphRewriter.test_subgraph_rewriter_replace_pattern_with_filters
func TestRwFilters(t *testing.T) {
	r := record(t, "rw_filters", nil)
	secondIsScalar := func(m *Match, _, pattern *ir.Graph) bool {
		second := pattern.Find(ir.Placeholder, nil)[1]
		_, isNode := m.Nodes[second].(*ir.Node)
		return !isNode
	}
	small := func(m *Match, _, _ *ir.Graph) bool { return m.Inputs[1].(ir.Float) < 0.3 }
	done := r.replace(def("a, s", "relu = torch.relu(a)", "mul = torch.mul(relu, s)", "return mul"),
		def("a, s", "neg = torch.neg(a)", "mul = neg * s", "return mul"), FilterBy(secondIsScalar), FilterBy(small))
	r.texts(fact{"matches": madeBy(done)})
}

func TestRwGetAttr(t *testing.T) {
	r := record(t, "rw_get_attr", fact{"w": &tensor{}, "v": &tensor{}})
	g, err := ir.ParseCode(def("x", "k = self.k", "mul = x * k", "return mul"))
	require.NoError(t, err)
	pattern, err := ir.NewGraphModule(fact{"k": &tensor{}}, g)
	require.NoError(t, err)
	done := r.replace(pattern, def("x", "add = x + 1", "return add"))
	r.texts(fact{"matches": len(done)})
}

func TestRwGraphPattern(t *testing.T) {
	r := record(t, "rw_graph_pattern", nil)
	p := ir.NewGraph()
	p.Output(p.CallFunction(relu, []ir.Arg{p.Placeholder("a")}))
	g := ir.NewGraph()
	c := g.CallFunction(ir.FuncOf("torch.exp"), []ir.Arg{g.Placeholder("b")}, ir.Name("special"))
	c.Meta().Set("mark", 7)
	g.Output(g.CallMethod("log1p", []ir.Arg{c}))
	r.replace(p, g)
	var marks []any
	for n := range r.module.Graph().Nodes() {
		marks = append(marks, n.Meta().Get("mark"))
	}
	r.texts(fact{"marks": marks})
}

func TestRwIdentityPattern(t *testing.T) {
	r := record(t, "rw_identity_pattern", nil)
	same := def("x", "neg = torch.neg(x)", "relu = torch.relu(x)", "add = neg + relu", "return add")
	done := r.replace(same, same)
	var matches [][]any
	for i := range done {
		matches = append(matches, []any{done[i].Anchor.Name(), pairsOf(&done[i].Match)})
	}
	r.texts(fact{"matches": matches})
}

func TestRwIdentityReplacement(t *testing.T) {
	r := record(t, "rw_identity_replacement", nil)
	done := r.replace(def("a", "relu = torch.relu(a)", "return relu"), def("a", "return a"))
	r.texts(fact{"matches": len(done)})
}

func TestRwIgnoreLiterals(t *testing.T) {
	r := record(t, "rw_ignore_literals", nil)
	done := r.replace(def("a", "add = torch.add(a, 5)", "return add"), def("a", "mul = a * 10", "return mul"), IgnoreLiterals())
	r.texts(fact{"matches": len(done)})
}

func TestRwInjective(t *testing.T) {
	r := record(t, "rw_injective", nil)
	done := r.replace(def("a, b", "add = torch.add(a, b)", "return add"), def("a, b", "mul = torch.mul(a, b)", "return mul"))
	r.texts(fact{"matches": len(done)})
}

func TestRwInternalNodeWithOtherUsers(t *testing.T) {
	r := record(t, "rw_internal_node_with_other_users", nil)
	done := r.replace(
		def("x, w1, w2, b1, b2", "cat = torch.cat([w1, w2])", "cat_1 = torch.cat([x, b2])", "t = cat_1.t()",
			"addmm = torch.addmm(b1, cat, t)", "return addmm"),
		def("x, w1, w2, b1, b2", "cat = torch.cat([x, w1, w2])", "return cat"))
	r.texts(fact{"matches": len(done)})
}

func TestRwKwargs(t *testing.T) {
	r := record(t, "rw_kwargs", nil)
	done := r.replace(def("a", "sum_1 = torch.sum(a, dim = 1, keepdim = True)", "return sum_1"),
		def("a", "mean = torch.mean(a, dim = 1, keepdim = True)", "return mean"))
	r.texts(fact{"matches": len(done)})
}

func TestRwListArgument(t *testing.T) {
	r := record(t, "rw_list_argument", nil)
	done := r.replace(def("a, b", "cat = torch.cat([a, b])", "return cat"), def("a, b", "stack = torch.stack([a, b])", "return stack"))
	r.texts(fact{"matches": len(done)})
}

// upstream: test_subgraph_rewriter.TestSubgraphRewriter.test_subgraph_rewriter_replace_adjacent_aggregate_matches
func TestRwListPlaceholderAdjacent(t *testing.T) {
	r := record(t, "rw_list_placeholder_adjacent", nil)
	m := r.replace(def("l", "cat = torch.cat(l)", "return cat"), def("l", "hstack = torch.hstack(l)", "return hstack"))
	n := r.replace(def("q", "relu = torch.relu(q)", "return relu"), def("q", "sigmoid = torch.sigmoid(q)", "return sigmoid"))
	r.texts(fact{"matches": []int{len(m), len(n)}})
}

func TestRwLiterals(t *testing.T) {
	r := record(t, "rw_literals", nil)
	done := r.replace(def("a", "add = torch.add(a, 1)", "return add"), def("a", "mul = a * 10", "return mul"))
	r.texts(fact{"matches": len(done)})
}

func TestRwMatcherOptions(t *testing.T) {
	r := record(t, "rw_matcher_options", nil)
	patterns := []string{
		def("x", "relu = torch.relu(x)", "relu_1 = torch.relu(relu)", "return relu_1"),
		def("x, y", "relu = torch.relu(x)", "relu_1 = torch.relu(relu)", "relu_2 = torch.relu(relu_1)", "add = relu_2 + y", "return add"),
	}
	var rows [][]any
	for i, p := range patterns {
		for bits := range 8 {
			var opts []Option
			output, placeholder, remove := bits&4 != 0, bits&2 != 0, bits&1 != 0
			if output {
				opts = append(opts, MatchOutput())
			}
			if placeholder {
				opts = append(opts, MatchPlaceholders())
			}
			if !remove {
				opts = append(opts, Overlapping())
			}
			found := [][][2]string{}
			for _, m := range r.match(p, opts...) {
				found = append(found, pairsOf(&m))
			}
			rows = append(rows, []any{[]string{"p1", "p2"}[i], output, placeholder, remove, found})
		}
	}
	r.texts(fact{"rows": rows})
}

func TestRwMissingAttribute(t *testing.T) {
	g, err := ir.ParseCode(def("x", "neg = torch.neg(x)", "return neg"))
	require.NoError(t, err)
	m := module(t, g)
	g, err = ir.ParseCode(def("x", "lin = self.lin(x)", "return lin"))
	require.NoError(t, err)
	r, err := ir.NewGraphModule(fact{"lin": &layer{"Linear"}}, g)
	require.NoError(t, err)
	require.NoError(t, g.Find(ir.CallModule, nil)[0].SetTarget(ir.Path("nope")))
	_, err = ReplacePattern(m, def("x", "neg = torch.neg(x)", "return neg"), r)
	raised(t, "rw_missing_attribute", err)
	assert.Len(t, m.Graph().Find(ir.CallFunction, neg), 1, "nothing was changed")
}

func TestRwMultipleMatches(t *testing.T) {
	r := record(t, "rw_multiple_matches", nil)
	done := r.replace(def("a, b", "cat = torch.cat([a, b])", "sum_1 = cat.sum()", "return sum_1"),
		def("a, b", "stack = torch.stack([a, b])", "mean = stack.mean()", "return mean"))
	r.texts(fact{"matches": len(done)})
}

func TestRwMultipleOutputs(t *testing.T) {
	r := record(t, "rw_multiple_outputs", nil)
	done := r.replace(def("a", "sigmoid = torch.sigmoid(a)", "relu = torch.relu(a)", "return (sigmoid, relu)"),
		def("a", "exp = torch.exp(a)", "abs_1 = torch.abs(a)", "return (exp, abs_1)"))
	r.texts(fact{"matches": len(done), "anchor": done[0].Anchor.Name()})
}

func TestRwNameNodeMap(t *testing.T) {
	r := record(t, "rw_name_node_map", nil)
	pattern, err := ir.ParseCode(def("x, w", "m = torch.mm(x, w)", "r = torch.relu(m)", "return (r, {'mm': m, 'relu': r})"))
	require.NoError(t, err)
	leaf := ir.Leaf()
	flat := pattern.Clone()
	r0, m0 := flat.Find(ir.CallFunction, relu)[0], flat.Find(ir.CallFunction, ir.FuncOf("torch.mm"))[0]
	flat.Last().SetArgs(ir.ListOf(r0, m0, r0))
	flat.SetCodeGen(ir.PyTreeCodeGen{
		Args: []string{"x", "w"},
		In:   &ir.TreeSpec{Type: "builtins.tuple", Children: []*ir.TreeSpec{leaf, leaf}},
		Out: &ir.TreeSpec{Type: "builtins.tuple", Children: []*ir.TreeSpec{leaf,
			{Type: "builtins.dict", Keys: []any{"mm", "relu"}, Children: []*ir.TreeSpec{leaf, leaf}}}},
	})
	for name, p := range map[string]*ir.Graph{"returned as it is": pattern, "flattened by pytree code": flat} {
		t.Run(name, func(t *testing.T) {
			m, err := NewMatcher(p, NameNodes())
			require.NoError(t, err)
			matches, err := m.Match(r.module.Graph())
			require.NoError(t, err)
			maps := []map[string]string{}
			for _, match := range matches {
				by := map[string]string{}
				for key, n := range match.Names {
					by[key] = n.Name()
				}
				maps = append(maps, by)
			}
			r.texts(fact{"maps": maps})
		})
	}
}

func TestRwNoAnchor(t *testing.T) {
	r := record(t, "rw_no_anchor", nil)
	r.texts(fact{"matches": len(r.match(def("x", "y = torch.relu(x)", "return (y, y)")))})
}

func TestRwNoReplacement(t *testing.T) {
	g, err := ir.ParseCode(def("x", "relu = torch.relu(x)", "return relu"))
	require.NoError(t, err)
	_, err = Replace(module(t, g), def("a", "relu = torch.relu(a)", "return relu"))
	raised(t, "rw_no_replacement", err)
}

func TestRwNodeNameMatch(t *testing.T) {
	r := record(t, "rw_node_name_match", nil)
	done := r.replace(def("a", "relu = torch.relu(a)", "return relu"), def("a", "tanh = torch.tanh(a)", "return tanh"), NameMatch("exp"))
	var anchors []string
	for _, d := range done {
		anchors = append(anchors, d.Anchor.Name())
	}
	r.texts(fact{"matches": anchors})
}

func TestRwOneliner(t *testing.T) {
	r := record(t, "rw_oneliner", nil)
	done := r.replace(def("x", "neg = torch.neg(x)", "relu = torch.relu(x)", "add = neg + relu", "return add"),
		def("x", "relu = torch.relu(x)", "return relu"))
	r.texts(fact{"matches": len(done)})
}

func TestRwOpOverloadDefaults(t *testing.T) {
	r := record(t, "rw_op_overload_defaults", nil)
	m := r.replace(def("a, b", "add = torch.ops.aten.add.Tensor(a, b, alpha = 1)", "return add"),
		def("a, b", "mul_tensor = torch.ops.aten.mul.Tensor(a, b)", "return mul_tensor"))
	n := r.replace(def("a", "clamp = torch.ops.aten.clamp.default(a, min = 1)", "return clamp"),
		def("a", "relu_default = torch.ops.aten.relu.default(a)", "return relu_default"))
	r.texts(fact{"matches": []int{len(m), len(n)}})
}

func TestRwOutputCountMismatch(t *testing.T) {
	g, err := ir.ParseCode(def("x", "sigmoid = torch.sigmoid(x)", "relu = torch.relu(x)", "add = sigmoid + relu", "return add"))
	require.NoError(t, err)
	before := g.String()
	_, err = ReplacePattern(module(t, g), def("a", "sigmoid = torch.sigmoid(a)", "relu = torch.relu(a)", "return (sigmoid, relu)"),
		def("a", "exp = torch.exp(a)", "return exp"))
	raised(t, "rw_output_count_mismatch", err)
	assert.Equal(t, before, g.String(), "nothing was changed")
}

func TestRwOverlapFirstWins(t *testing.T) {
	r := record(t, "rw_overlap_first_wins", nil)
	done := r.replace(def("a", "sigmoid = torch.sigmoid(a)", "sigmoid_1 = torch.sigmoid(sigmoid)", "return sigmoid_1"),
		def("a", "exp = torch.exp(a)", "return exp"))
	var anchors []string
	for _, d := range done {
		anchors = append(anchors, d.Anchor.Name())
	}
	r.texts(fact{"matches": anchors})
}

func TestRwPlaceholderIsDeepValue(t *testing.T) {
	r := record(t, "rw_placeholder_is_deep_value", nil)
	r.replace(def("a", "neg = torch.neg(a)", "relu = torch.relu(neg)", "return relu"), def("a", "sub = a - 5", "return sub"))
	r.texts(nil)
}

func TestRwPlaceholderMatchesLiteral(t *testing.T) {
	r := record(t, "rw_placeholder_matches_literal", fact{"_tensor_constant0": &tensor{}})
	done := r.replace(def("a, b", "add = torch.add(a, b)", "return add"), def("a, b", "sub = torch.sub(a, b)", "return sub"))
	var pairs [][2]string
	for i := range done {
		pairs = append(pairs, pairsOf(&done[i].Match)...)
	}
	r.texts(fact{"matches": pairs})
}

func TestRwRepeatedPlaceholder(t *testing.T) {
	r := record(t, "rw_repeated_placeholder", nil)
	done := r.replace(def("a", "add = torch.add(a, a)", "return add"), def("a", "mul = a * 2", "return mul"))
	r.texts(fact{"matches": len(done)})
}

// The recorded list of the state is that of the modules' parameters; here the
// attributes are looked at, which hold those.
func TestRwReplacementAttribute(t *testing.T) {
	r := record(t, "rw_replacement_attribute", nil)
	w, lin := &tensor{}, &layer{"Linear"}
	g, err := ir.ParseCode(def("x", "inner_lin = self.inner.lin(x)", "w = self.w", "mul = inner_lin * w", "return mul"))
	require.NoError(t, err)
	replacement, err := ir.NewGraphModule(fact{"w": w, "inner.lin": lin}, g)
	require.NoError(t, err)
	r.replace(def("x", "neg = torch.neg(x)", "return neg"), replacement)
	r.texts(nil)
	assert.Equal(t, []string{"inner.lin", "w"}, attrs(r.module))
	v, _ := r.module.Attr("inner.lin")
	assert.Same(t, lin, v)
}

func attrs(m *ir.GraphModule) (paths []string) {
	for path := range m.Attrs() {
		paths = append(paths, path)
	}
	return paths
}

func TestRwReturningNodeWithOtherUsers(t *testing.T) {
	r := record(t, "rw_returning_node_with_other_users", nil)
	done := r.replace(def("x", "relu = torch.relu(x)", "return relu"), def("x", "sigmoid = torch.sigmoid(x)", "return sigmoid"))
	r.texts(fact{"matches": len(done)})
}

func TestRwSubmodules(t *testing.T) {
	r := record(t, "rw_submodules", fact{"sigmoid": &layer{"Sigmoid"}, "submod": &layer{"ReLU"}})
	g, err := ir.ParseCode(def("x", "sigmoid = self.sigmoid(x)", "submod = self.submod(sigmoid)", "return submod"))
	require.NoError(t, err)
	pattern, err := ir.NewGraphModule(fact{"sigmoid": &layer{"Sigmoid"}, "submod": &layer{"ReLU"}}, g)
	require.NoError(t, err)
	g, err = ir.ParseCode(def("x", "sigmoid = self.sigmoid(x)", "lin = self.lin(sigmoid)", "tanh = self.tanh(lin)", "return tanh"))
	require.NoError(t, err)
	replacement, err := ir.NewGraphModule(
		fact{"tanh": &layer{"Tanh"}, "lin": &layer{"Linear"}, "sigmoid": &layer{"Softmax"}}, g)
	require.NoError(t, err)
	r.replace(pattern, replacement)
	modules := [][]string{{"", "M"}}
	for path, v := range r.module.Attrs() {
		modules = append(modules, []string{path, v.(*layer).name})
	}
	r.texts(fact{"modules": modules})
}

func TestRwUnusedResult(t *testing.T) {
	r := record(t, "rw_unused_result", nil)
	done := r.replace(def("p, q", "abs_1 = torch.abs(p)", "copy_ = q.copy_(abs_1)", "return copy_"),
		def("p, q", "neg = torch.neg(p)", "fill_ = q.fill_(neg)", "return fill_"))
	r.texts(fact{"matches": len(done)})
}

func TestRwWholeGraph(t *testing.T) {
	r := record(t, "rw_whole_graph", nil)
	r.replace(def("x", "neg = torch.neg(x)", "add = torch.add(neg, neg)", "return add"), def("x", "sigmoid = torch.sigmoid(x)", "return sigmoid"))
	r.texts(nil)
}

func TestDocReplacePattern(t *testing.T) {
	r := record(t, "doc_replace_pattern", nil)
	done := r.replace(def("w1, w2", "cat = torch.cat([w1, w2])", "sum_1 = cat.sum()", "return sum_1"),
		def("w1, w2", "stack = torch.stack([w1, w2])", "return stack"))
	var matches [][]any
	for i := range done {
		matches = append(matches, []any{done[i].Anchor.Name(), pairsOf(&done[i].Match)})
	}
	r.texts(fact{"matches": matches})
}

func TestDocReplacePatternTooFewParams(t *testing.T) {
	g, err := ir.ParseCode(def("x, y", "neg = torch.neg(x)", "relu = torch.relu(y)", "add = neg + relu", "return add"))
	require.NoError(t, err)
	_, err = ReplacePattern(module(t, g), g.Clone(), def("x", "relu = torch.relu(x)", "return relu"))
	raised(t, "doc_replace_pattern_too_few_params", err)
}

func TestDocReplacePatternUnusedParam(t *testing.T) {
	r := record(t, "doc_replace_pattern_unused_param", nil)
	r.replace(def("x, y", "neg = torch.neg(x)", "relu = torch.relu(y)", "add = neg + relu", "return add"),
		def("x, y", "relu = torch.relu(x)", "return relu"))
	r.texts(nil)
}
