package passes_test

import (
	"errors"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/passes"
)

// byName gives each node the number under its name.
func byName(numbers map[string]int) func(*ir.Node) int {
	return func(n *ir.Node) int { return numbers[n.Name()] }
}

// upstream: test_fx_experimental.TestFXExperimental.test_subgraph_creation
// upstream: test_fx_experimental.TestFXExperimental.test_split_qualname_mapping
func TestRecordedSplitBasic(t *testing.T) {
	r := recorded(t, "split_basic")
	count := -1
	s, err := passes.Split(r.before(t), func(*ir.Node) int { count++; return count % 3 })
	require.NoError(t, err)
	r.requireTexts(t, s.Module)
	var want struct {
		Names []string `json:"partition_names"`
	}
	r.result(t, &want)
	require.Equal(t, want.Names, s.Module.Meta().Get(passes.MetaPartitionNames))
}

func TestRecordedSplitOptions(t *testing.T) {
	r := recorded(t, "split_options")
	number := byName(map[string]int{"mul": 1, "add": 1})
	s, err := passes.Split(r.before(t), number)
	require.NoError(t, err)
	r.requireTexts(t, s.Module)

	var want map[string]struct {
		Main      string
		Children  map[string]string
		Qualnames map[string]string
	}
	r.result(t, &want)
	options := map[string]passes.SplitOption{"order": passes.KeepOrder(), "names": passes.KeepNodeNames(),
		"args": passes.NumberInputs(), "affix": passes.PartAffix("p"), "tuple": passes.ReturnTuples()}
	for label, w := range want {
		t.Run(label, func(t *testing.T) {
			s, err := passes.Split(r.before(t), number, options[label])
			require.NoError(t, err)
			require.Equal(t, w.Main, codeOf(t, s.Module))
			require.Equal(t, w.Qualnames, s.Qualnames)
			require.Len(t, s.Parts, len(w.Children))
			for _, p := range s.Parts {
				require.Equal(t, w.Children[p.Name], codeOf(t, p.Module))
			}
		})
	}
}

func TestRecordedSplitOrderAndPassthrough(t *testing.T) {
	r := recorded(t, "split_order_and_passthrough")
	s, err := passes.Split(r.before(t), byName(map[string]int{"relu": 5, "sigmoid": 7, "add": 2, "neg": 2}))
	require.NoError(t, err)
	r.requireTexts(t, s.Module)
}

func TestRecordedSplitCycle(t *testing.T) {
	r := recorded(t, "split_cycle")
	m := module(t, `def forward(self, x):
    relu = torch.relu(x);  x = None
    sigmoid = torch.sigmoid(relu);  relu = None
    neg = torch.neg(sigmoid);  sigmoid = None
    return neg`)
	_, err := passes.Split(m, byName(map[string]int{"sigmoid": 1}))
	r.fails(t, err)
}

// upstream: test_fx_experimental.TestFXExperimental.test_split_module_keep_original_order_and_noop_graph
func TestRecordedSplitNoCompute(t *testing.T) {
	r := recorded(t, "split_no_compute")
	m := module(t, "def forward(self, x, y):\n    return (y, x)")
	s, err := passes.Split(m, byName(nil), passes.KeepOrder())
	require.NoError(t, err)
	r.requireTexts(t, s.Module)
}

// upstream: test_fx_split.TestSplitByTags.test_split_by_tags
func TestRecordedSplitByTags(t *testing.T) {
	r := recorded(t, "split_by_tags")
	tags := map[string]string{"linear1": "left", "relu": "left", "block_linear2": "right", "relu_1": "right", "mul": "main", "cat": "main"}
	tag := func(n *ir.Node) string { return tags[n.Name()] }
	order := []string{"left", "right", "main"}
	m := r.before(t)
	s, err := passes.SplitByTags(m, order, tag)
	require.NoError(t, err)
	r.requireTexts(t, s.Module)

	var want struct {
		Paths map[string]string `json:"fqn"`
		Tuple string            `json:"tuple_code"`
	}
	r.result(t, &want)
	for path, split := range want.Paths {
		require.Equal(t, path, s.Qualnames[split])
		old, _ := m.Attr(path)
		shared, _ := s.Module.Attr(split)
		require.Same(t, old, shared)
	}
	require.Len(t, s.Qualnames, len(want.Paths))

	s, err = passes.SplitByTags(r.before(t), order, tag, passes.TupleParts())
	require.NoError(t, err)
	require.Equal(t, want.Tuple, codeOf(t, s.Module))
}

const reluNeg = `def forward(self, x):
    relu = torch.relu(x);  x = None
    neg = torch.neg(relu);  relu = None
    return neg`

func TestRecordedSplitByTagsOrderError(t *testing.T) {
	r := recorded(t, "split_by_tags_order_error")
	tags := map[string]string{"relu": "b", "neg": "a"}
	_, err := passes.SplitByTags(module(t, reluNeg), []string{"a", "b"}, func(n *ir.Node) string { return tags[n.Name()] })
	r.fails(t, err)
}

func TestSplitByTagsRefuses(t *testing.T) {
	tests := []struct {
		name, code string
		tags       []string
		tag        string
		want       string
	}{
		{"no tag", reluNeg, []string{"a"}, "", "Node does not have tag: %relu : [num_users=1] = call_function[target=torch.relu](args = (%x,), kwargs = {})"},
		{"unknown tag", reluNeg, []string{"a"}, "b", `split by tags: expected one of the tags for relu, got "b"`},
		{"tag twice", reluNeg, []string{"a", "a"}, "a", `split by tags: expected each tag once, got "a" twice`},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			_, err := passes.SplitByTags(module(t, tc.code), tc.tags, func(*ir.Node) string { return tc.tag })
			require.ErrorContains(t, err, tc.want)
		})
	}
}

// torch.fx makes the path a_b of both, and calls one module twice.
//
// upstream: test_fx_experimental.TestFXExperimental.test_subgraph_uniquename
// upstream: test_fx_experimental.TestFXExperimental.test_split_qualname_mapping
func TestSplitKeepsCollidingPathsApart(t *testing.T) {
	m := module(t, `def forward(self, x):
    a_b = self.a.b(x);  x = None
    a_b_1 = self.a_b(a_b);  a_b = None
    return a_b_1`)
	s, err := passes.Split(m, byName(nil))
	require.NoError(t, err)
	require.Equal(t, map[string]string{"submod_0.a_b": "a.b", "submod_0.a_b_1": "a_b"}, s.Qualnames)
	for split, path := range s.Qualnames {
		old, _ := m.Attr(path)
		moved, _ := s.Module.Attr(split)
		require.Same(t, old, moved)
	}
}

// upstream: test_fx_experimental.TestFXExperimental.test_split_module_placeholders_before_get_attr
func TestSplitMovesReadsOfModules(t *testing.T) {
	sub := module(t, "def forward(self, x):\n    return x")
	g, err := ir.ParseCode(`def forward(self, x):
    w = self.w
    body = self.body
    f = torch.ops.higher_order.wrap(body, x, w);  body = x = w = None
    return f`)
	require.NoError(t, err)
	m, err := ir.NewGraphModule(map[string]any{"w": &parameter{"w"}, "body": sub}, g)
	require.NoError(t, err)
	s, err := passes.Split(m, byName(nil))
	require.NoError(t, err)
	require.Equal(t, []string{"x", "w"}, namesOf(s.Parts[0].Inputs))
	requireCode(t, `def forward(self, x, w):
    body = self.body
    wrap = torch.ops.higher_order.wrap(body, x, w);  body = x = w = None
    return wrap`, s.Parts[0].Module)
	moved, _ := s.Parts[0].Module.Attr("body")
	require.Same(t, sub, moved)
}

// An attribute that the graph returns is in no part; torch.fx fails to find it.
func TestSplitKeepOrderReturnsAttribute(t *testing.T) {
	m := module(t, `def forward(self, x):
    w = self.w
    relu = torch.relu(x);  x = None
    return (relu, w)`)
	s, err := passes.Split(m, byName(nil), passes.KeepOrder())
	require.NoError(t, err)
	requireCode(t, `def forward(self, x):
    submod_0 = self.submod_0(x);  x = None
    w = self.w
    return (submod_0, w)`, s.Module)
}

// Sizes that only the example values mention become arguments and results.
func TestSplitPassesSymbols(t *testing.T) {
	m := module(t, `def forward(self, s, x):
    item = x.item()
    y = torch.relu(x);  x = None
    z = torch.neg(y);  y = None
    return z`)
	nodes := nodesNamed(t, m, "s", "item", "y")
	nodes[0].Meta().Set(ir.MetaExampleValue, ir.SymScalar{Kind: ir.TypeSymInt, Expr: ir.SymbolExpr("s0")})
	nodes[1].Meta().Set(ir.MetaExampleValue, ir.SymScalar{Kind: ir.TypeSymInt, Expr: ir.SymbolExpr("u0")})
	size := ir.SymbolicSize(ir.SymbolExpr("s0"), 2)
	nodes[2].Meta().Set(ir.MetaExampleValue, ir.TensorMeta{Sizes: []ir.Size{size, ir.SymbolicSize(ir.SymbolExpr("u0"), 3)}})
	s, err := passes.Split(m, byName(map[string]int{"z": 1}))
	require.NoError(t, err)
	require.Equal(t, []string{"y", "item"}, namesOf(s.Parts[0].Outputs))
	require.Equal(t, []string{"y", "s", "item"}, namesOf(s.Parts[1].Inputs))
}

const autocast = `def forward(self, x):
    enter = torch.amp.autocast_mode._enter_autocast('cpu', None, True, None)
    relu = torch.relu(x);  x = None
    neg = torch.neg(relu);  relu = None
    exit_1 = torch.amp.autocast_mode._exit_autocast(enter);  enter = exit_1 = None
    grad = torch._C._set_grad_enabled(False);  grad = None
    abs_1 = torch.abs(neg);  neg = None
    sin = torch.sin(abs_1);  abs_1 = None
    return sin`

func TestSplitReopensRegions(t *testing.T) {
	m := module(t, autocast)
	s, err := passes.Split(m, byName(map[string]int{"neg": 1, "exit_1": 1, "grad": 1, "abs_1": 1, "sin": 2}), passes.PartAffix("r"))
	require.NoError(t, err)
	var codes []string
	for _, p := range s.Parts {
		codes = append(codes, codeOf(t, p.Module))
	}
	require.Equal(t, []string{`


def forward(self, x):
    _enter_autocast = torch.amp.autocast_mode._enter_autocast('cpu', None, True, None)
    relu = torch.relu(x);  x = None
    _exit_autocast = torch.amp.autocast_mode._exit_autocast(_enter_autocast);  _enter_autocast = _exit_autocast = None
    return relu
    `, `


def forward(self, relu):
    _enter_autocast = torch.amp.autocast_mode._enter_autocast('cpu', None, True, None)
    neg = torch.neg(relu);  relu = None
    _exit_autocast = torch.amp.autocast_mode._exit_autocast(_enter_autocast);  _enter_autocast = _exit_autocast = None
    _set_grad_enabled = torch._C._set_grad_enabled(False);  _set_grad_enabled = None
    abs_1 = torch.abs(neg);  neg = None
    return abs_1
    `, `


def forward(self, abs_1):
    _set_grad_enabled = torch._C._set_grad_enabled(False);  _set_grad_enabled = None
    sin = torch.sin(abs_1);  abs_1 = None
    return sin
    `}, codes)
}

func TestSplitRefusesRegions(t *testing.T) {
	decreasing := func(n *ir.Node) int {
		if n.Name() == "relu" {
			return 1
		}
		return 0
	}
	_, err := passes.Split(module(t, autocast), decreasing)
	require.ErrorIs(t, err, ir.ErrAssertion)
	require.ErrorContains(t, err, "autocast or set_grad_enabled require monotonically increasing partitions: highest: 1, this node's: 0")

	open := module(t, `def forward(self, x):
    enter = torch.amp.autocast_mode._enter_autocast('cpu', None, True, None);  enter = None
    return x`)
	_, err = passes.Split(open, byName(nil))
	require.ErrorIs(t, err, ir.ErrAssertion)
	require.ErrorContains(t, err, "autocast must exit")
}

// Whatever the parts, the split module computes the same, or they depend on each
// other in a circle.
func TestSplitKeepsMeaning(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawModule(t)
		numbers := map[*ir.Node]int{}
		for n := range m.Graph().Nodes() {
			numbers[n] = rapid.IntRange(0, 3).Draw(t, n.Name())
		}
		var opts []passes.SplitOption
		for i, o := range []passes.SplitOption{passes.KeepOrder(), passes.KeepNodeNames(), passes.NumberInputs(), passes.ReturnTuples()} {
			if rapid.Bool().Draw(t, "option "+strconv.Itoa(i)) {
				opts = append(opts, o)
			}
		}
		before := meaning(t, m)
		s, err := passes.Split(m, func(n *ir.Node) int { return numbers[n] }, opts...)
		if errors.Is(err, ir.ErrRuntime) {
			return // parts in a circle
		}
		require.NoError(t, err)
		for _, p := range s.Parts {
			require.NoError(t, p.Module.Graph().Lint())
		}
		require.Equal(t, before, meaning(t, m), "the module that was split has changed")
		require.NoError(t, s.Module.Graph().Lint())
		require.Equal(t, before, meaning(t, s.Module))
	})
}
