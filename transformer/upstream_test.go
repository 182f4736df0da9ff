package transformer_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
	"github.com/torchfx-go/torchfx/transformer"
)

// What torch.fx's Transformer says of itself, sentence by sentence; the recorded
// cases are in case_test.go.

func parsed(t *testing.T, code string, attrs map[string]any) *ir.GraphModule {
	t.Helper()
	g, err := ir.ParseCode(code)
	require.NoError(t, err)
	gm, err := ir.NewGraphModule(attrs, g, ir.ClassName("Old"))
	require.NoError(t, err)
	return gm
}

func codeOf(t *testing.T, gm *ir.GraphModule) string {
	t.Helper()
	require.NoError(t, gm.Graph().Lint())
	code, err := gm.Code()
	require.NoError(t, err)
	return code
}

// The types of placeholders and of the output are lost, explicit names are made
// again, calls in place stay, and the result is called GraphModule.
func TestWhatIsMadeAnew(t *testing.T) {
	gm := parsed(t, "def forward(self, x : torch.Tensor, y : int = 3) -> torch.Tensor:\n"+
		"    mine = torch.relu(x)\n    mine += y;  other = mine\n    return other\n", nil)
	out := transform(t, gm, asIs)
	assert.Equal(t, `


def forward(self, x, y = 3):
    relu = torch.relu(x);  x = None
    relu += y;  iadd = relu;  relu = y = None
    return iadd
    `, codeOf(t, out))
	assert.Equal(t, "GraphModule", out.ClassName())
}

// The meta of a node is that of the node that it was made for, as far as it says
// where that came from; one that has any names that node. What torch.fx makes of
// the same meta.
func TestMetaIsCarriedOver(t *testing.T) {
	gm := parsed(t, "def forward(self, x):\n    relu = torch.relu(x)\n    add = relu + 1\n    neg = torch.neg(add)\n    return neg\n", nil)
	relu, add := gm.Graph().Lookup("relu"), gm.Graph().Lookup("add")
	carried := []string{ir.MetaNNModuleStack, ir.MetaTorchFn, ir.MetaSourceFnStack, "original_aten", "recompute", "ac_graph_id", "has_backward_hook",
		"quantization_tag", "_numeric_debug_handle", ir.MetaCustom, "partitioner_tag", ir.MetaStackTrace, "autograd_backward"}
	for _, key := range append(carried, ir.MetaVal, ir.MetaTensorMeta, ir.MetaExampleValue, "tag", "type") {
		for n := range gm.Graph().Nodes() {
			if n != gm.Graph().Lookup("neg") {
				n.Meta().Set(key, key+" of "+n.Name())
			}
		}
	}
	add.Meta().Set(ir.MetaFromNode, "what a file says")
	g := transform(t, gm, func(d transformer.Default) interpreter.Handler { return twice{d} }).Graph()
	for _, name := range []string{"neg", "abs_1"} { // both made for relu
		n := g.Lookup(name)
		require.NotNil(t, n, name)
		var keys []string
		for key, v := range n.Meta().All() {
			if key != ir.MetaFromNode {
				keys = append(keys, key)
				assert.Equal(t, key+" of relu", v)
			}
		}
		assert.ElementsMatch(t, carried, keys)
		from := n.Meta().Get(ir.MetaFromNode).([]ir.NodeSource)
		require.Len(t, from, 1)
		assert.Equal(t, ir.NewNodeSource(relu, from[0].Graph, "Interpreter_Transformer", ir.SourceCreate), from[0])
	}
	assert.Equal(t, "what a file says", g.Lookup("add").Meta().Get(ir.MetaFromNode))
	assert.Zero(t, g.Lookup("neg_1").Meta().Len(), "of no meta comes none")
	assert.Zero(t, g.Lookup("x").Meta().Len())
	assert.Equal(t, 18, g.Last().Meta().Len(), "the output keeps all")

	again := transform(t, transform(t, gm, asIs), asIs).Graph().Lookup("relu")
	from := again.Meta().Get(ir.MetaFromNode).([]ir.NodeSource)
	assert.Equal(t, 2, strings.Count(from[0].Readable(), "(name=relu, pass_name=Interpreter_Transformer, action=create, graph_id="))
}

// The new graph shares the old one's code generator, and nothing is processed on
// the way.
func TestTheCodeGeneratorIsShared(t *testing.T) {
	gm := parsed(t, "def forward(self, x_1, x_2):\n    add = x_1 + x_2\n    return [add]\n", nil)
	gen := ir.PyTreeCodeGen{Args: []string{"x"}, In: ir.TupleSpec(ir.ListSpec(ir.Leaf(), ir.Leaf())), Out: ir.ListSpec(ir.Leaf())}
	gm.Graph().SetCodeGen(gen)
	assert.Equal(t, gen, transform(t, gm, asIs).Graph().CodeGen())
}

// A graph without an output stays so; where the last node is no output, a result
// has no place.
func TestWithoutAnOutput(t *testing.T) {
	out := transform(t, parsed(t, "def forward(self, x):\n    return None\n", nil), asIs)
	assert.Contains(t, codeOf(t, out), "return None")
	out = transform(t, parsed(t, "def forward(self, x):\n    relu = torch.relu(x)\n", nil), asIs)
	assert.Equal(t, 2, out.Graph().Len())

	gm := parsed(t, "def forward(self, x):\n    return x\n    relu = torch.relu(x)\n", nil)
	_, err := transformer.Transform(t.Context(), gm, asIs)
	require.ErrorIs(t, err, ir.ErrAssertion)
	assert.ErrorContains(t, err, "expected the last node to be an output, got relu")
}

// twice records two calls for one, and drops another.
type twice struct{ transformer.Default }

func (s twice) CallFunction(r *interpreter.Run, fn *ir.Func, args []any, kw []torch.Kwarg) (any, error) {
	switch fn {
	case ir.FuncOf("torch.relu"):
		v, err := s.Default.CallFunction(r, ir.FuncOf("torch.neg"), args, kw)
		if err != nil {
			return nil, err
		}
		return s.Default.CallFunction(r, ir.FuncOf("torch.abs"), []any{v}, nil)
	case ir.FuncOf("torch.dropout"):
		return args[0], nil
	}
	return s.Default.CallFunction(r, fn, args, kw)
}

// An override may record several nodes, or return what it was given.
func TestOverridesMayReturnAnything(t *testing.T) {
	gm := parsed(t, "def forward(self, x):\n    relu = torch.relu(x)\n    drop = torch.dropout(relu, 0.5, True)\n    return (drop, x)\n", nil)
	out := transform(t, gm, func(d transformer.Default) interpreter.Handler { return twice{d} })
	assert.Equal(t, `


def forward(self, x):
    neg = torch.neg(x)
    abs_1 = torch.abs(neg);  neg = None
    return (abs_1, x)
    `, codeOf(t, out))
}

// Every module is a leaf, also one that a trace would go through; attributes are
// shared.
func TestModulesAreLeaves(t *testing.T) {
	inner := parsed(t, "def forward(self, x):\n    neg = torch.neg(x)\n    return neg\n", nil)
	gm := parsed(t, "def forward(self, x):\n    inner = self.inner(x)\n    return inner\n", map[string]any{"inner": inner})
	out := transform(t, gm, asIs)
	assert.Contains(t, codeOf(t, out), "inner = self.inner(x)")
	v, _ := out.Attr("inner")
	assert.Same(t, inner, v)
}
