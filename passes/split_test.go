package passes_test

import (
	"errors"
	"strconv"
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

// byName gives each node the number under its name.
func byName(numbers map[string]int) func(*ir.Node) int {
	return func(n *ir.Node) int { return numbers[n.Name()] }
}

type splitBasic struct {
	nn.Base `forward:"x, y"`
	Param   *torch.Tensor
	Linear  *nn.Linear
}

func (m *splitBasic) Forward(x, y *torch.Tensor) *torch.Tensor {
	between := []any{torch.Kw("min", 0.0), torch.Kw("max", 1.0)}
	z := m.Linear.Forward(operator.Add(x, m.Param)).Clamp(between...)
	w := m.Linear.Forward(y).Clamp(between...)
	return operator.Add(z, w)
}

// upstream: test_fx_experimental.TestFXExperimental.test_subgraph_creation
// upstream: test_fx_experimental.TestFXExperimental.test_split_qualname_mapping
func TestRecordedSplitBasic(t *testing.T) {
	c := fxcase.Open(t, "split_basic")
	testenv.Libtorch(t)
	c.Seed()
	m := c.Before(traced(t, &splitBasic{Param: parameterOf(t, torch.Rand(3, 4)), Linear: nn.NewLinear(4, 5)}), nil)
	count := -1
	s, err := passes.Split(m, func(*ir.Node) int { count++; return count % 3 })
	require.NoError(t, err)
	c.Runs(c.Same(s.Module, nil))
	c.Result(map[string]any{"partition_names": s.Module.Meta().Get(passes.MetaPartitionNames)})
}

type splitOptions struct {
	nn.Base `forward:"x, input=1"`
	Block   *nn.ModuleDict
	W       *torch.Tensor
}

func (m *splitOptions) Forward(x *torch.Tensor, input torch.Value) any {
	a := m.Block.Get("lin").(*nn.Linear).Forward(x)
	b := operator.Mul(torch.Relu(a), m.W)
	return ir.PyTuple{operator.Add(b, input), a}
}

func TestRecordedSplitOptions(t *testing.T) {
	c := fxcase.Open(t, "split_options")
	testenv.Libtorch(t)
	c.Seed()
	m := c.Before(traced(t, &splitOptions{Block: nn.NewModuleDict(nn.Child{Name: "lin", Module: nn.NewLinear(2, 2)}), W: ones(t, 2)}), nil)
	number := byName(map[string]int{"mul": 1, "add": 1})
	s, err := passes.Split(m, number)
	require.NoError(t, err)
	c.Runs(c.Same(s.Module, nil))

	texts := map[string]any{}
	for label, option := range map[string]passes.SplitOption{"order": passes.KeepOrder(), "names": passes.KeepNodeNames(),
		"args": passes.NumberInputs(), "affix": passes.PartAffix("p"), "tuple": passes.ReturnTuples()} {
		s, err := passes.Split(m, number, option)
		require.NoError(t, err)
		children := map[string]string{}
		for _, p := range s.Parts {
			children[p.Name] = codeOf(t, p.Module)
		}
		texts[label] = map[string]any{"main": codeOf(t, s.Module), "children": children, "qualnames": s.Qualnames}
	}
	c.Result(texts)
}

func TestRecordedSplitOrderAndPassthrough(t *testing.T) {
	c := fxcase.Open(t, "split_order_and_passthrough")
	testenv.Libtorch(t)
	m := c.Before(traced(t, func(x, y, z *torch.Tensor) any {
		a, b := torch.Relu(x), torch.Sigmoid(y)
		return ir.PyTuple{operator.Add(a, b), torch.Neg(b), x, z}
	}, parameters("x, y, z")), nil)
	s, err := passes.Split(m, byName(map[string]int{"relu": 5, "sigmoid": 7, "add": 2, "neg": 2}))
	require.NoError(t, err)
	c.Runs(c.Same(s.Module, nil))
}

func TestRecordedSplitCycle(t *testing.T) {
	c := fxcase.Open(t, "split_cycle")
	m := traced(t, func(x *torch.Tensor) *torch.Tensor { return torch.Neg(torch.Sigmoid(torch.Relu(x))) }, parameters("x"))
	_, err := passes.Split(m, byName(map[string]int{"sigmoid": 1}))
	c.Fails(err)
}

// upstream: test_fx_experimental.TestFXExperimental.test_split_module_keep_original_order_and_noop_graph
func TestRecordedSplitNoCompute(t *testing.T) {
	c := fxcase.Open(t, "split_no_compute")
	m := traced(t, func(x, y *torch.Tensor) any { return ir.PyTuple{y, x} }, parameters("x, y"))
	s, err := passes.Split(m, byName(nil), passes.KeepOrder())
	require.NoError(t, err)
	c.Same(s.Module, nil)
}

type splitByTags struct {
	nn.Base `forward:"x1, x2"`
	Linear1 *nn.Linear `nn:"linear1"`
	Block   *splitBlock
	K       *torch.Tensor
}

type splitBlock struct {
	nn.Base
	Linear2 *nn.Linear `nn:"linear2"`
}

func (m *splitByTags) Forward(x1, x2 *torch.Tensor) any {
	a, b := torch.Relu(m.Linear1.Forward(x1)), torch.Relu(m.Block.Linear2.Forward(x2))
	return ir.PyTuple{fn("torch.cat", []any{operator.Mul(a, m.K), b}), a, m.K}
}

// upstream: test_fx_split.TestSplitByTags.test_split_by_tags
func TestRecordedSplitByTags(t *testing.T) {
	c := fxcase.Open(t, "split_by_tags")
	testenv.Libtorch(t)
	c.Seed()
	m := c.Before(traced(t, &splitByTags{Linear1: nn.NewLinear(2, 3), Block: &splitBlock{Linear2: nn.NewLinear(2, 3)}, K: ones(t, 3)}), nil)
	tags := map[string]string{"linear1": "left", "relu": "left", "block_linear2": "right", "relu_1": "right", "mul": "main", "cat": "main"}
	tag := func(n *ir.Node) string { return tags[n.Name()] }
	order := []string{"left", "right", "main"}
	s, err := passes.SplitByTags(m, order, tag)
	require.NoError(t, err)
	c.Runs(c.Same(s.Module, nil))
	paths := map[string]string{}
	for split, path := range s.Qualnames {
		paths[path] = split
		old, _ := m.Attr(path)
		shared, _ := s.Module.Attr(split)
		require.Same(t, old, shared)
	}
	tuples, err := passes.SplitByTags(m, order, tag, passes.TupleParts())
	require.NoError(t, err)
	c.Result(map[string]any{"fqn": paths, "tuple_code": codeOf(t, tuples.Module)})
}

func TestRecordedSplitByTagsOrderError(t *testing.T) {
	c := fxcase.Open(t, "split_by_tags_order_error")
	m := traced(t, func(x *torch.Tensor) *torch.Tensor { return torch.Neg(torch.Relu(x)) }, parameters("x"))
	tags := map[string]string{"relu": "b", "neg": "a"}
	_, err := passes.SplitByTags(m, []string{"a", "b"}, func(n *ir.Node) string { return tags[n.Name()] })
	c.Fails(err)
}

const reluNeg = `def forward(self, x):
    relu = torch.relu(x);  x = None
    neg = torch.neg(relu);  relu = None
    return neg`

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
