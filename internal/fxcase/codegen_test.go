package fxcase_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/fxcase"
	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	"github.com/torchfx-go/torchfx/operator"
	torch "github.com/torchfx-go/torchfx/torchops"
	"github.com/torchfx-go/torchfx/tracer"
)

// The programs about generated code and readable texts.

// listArgs takes one list for all parameters.
type listArgs struct{ ir.PlainCodeGen }

func (listArgs) FuncDef(params []ir.CodeParam, returns string, _ bool) string {
	var names []string
	for _, p := range params {
		names = append(names, p.Name)
	}
	return "def forward(self, args_list: list)" + returns + ":\n    " + strings.Join(names, ", ") + " = args_list"
}

func (listArgs) ExtraGlobals() []ir.Global {
	return []ir.Global{{Name: "Extra", Object: "collections.namedtuple"}}
}

func (listArgs) ProcessInputs(args []any, _ map[string]any) ([]any, error) {
	return args[0].([]any), nil
}

// Upstream's own definition starts with a newline, which shows in its texts.
func TestCodegenCustomList(t *testing.T) {
	c := fxcase.Open(t, "codegen_custom_list")
	testenv.Libtorch(t)
	gm, err := trace(func(a, b value) any { return operator.Call("add", a, b) }, "a, b")
	require.NoError(t, err)
	gm.Graph().SetCodeGen(newline{})
	c.Same(gm, nil)
	sum, err := interpreter.New(gm).Run(background, []any{1, 2})
	require.NoError(t, err)
	c.Result(map[string]any{"interp": sum})
}

// newline is listArgs with the newline that the recorded program has.
type newline struct{ listArgs }

func (n newline) FuncDef(params []ir.CodeParam, returns string, expanded bool) string {
	return "\n" + n.listArgs.FuncDef(params, returns, expanded)
}

func TestCodegenBoxed(t *testing.T) {
	c := fxcase.Open(t, "codegen_boxed")
	gm, err := trace(func(a *torch.Tensor, b value) any { return add(torch.Relu(a), b) }, "a: torch.Tensor, b=2")
	require.NoError(t, err)
	gm.Graph().SetCodeGen(ir.BoxedCodeGen{})
	c.Same(gm, nil)
	_, boxed := gm.Graph().CodeGen().(ir.BoxedCodeGen)
	c.Result(map[string]any{"boxed": boxed})
}

type recorded struct {
	nn.Base `forward:"x"`
	Lin     *nn.Linear
	W       *torch.Tensor
}

func (m *recorded) Forward(x *torch.Tensor) *torch.Tensor { return add(m.Lin.Forward(x).Relu(), m.W) }

func TestCodegenRecordFunc(t *testing.T) {
	c := fxcase.Open(t, "codegen_record_func")
	testenv.Libtorch(t)
	c.Same(tracer.SymbolicTrace(&recorded{Lin: nn.NewLinear(2, 2), W: torch.Ones(2)}))
}

func TestCodegenLinenoMap(t *testing.T) {
	c := fxcase.Open(t, "codegen_lineno_map")
	gm, err := trace(func(x, y value) any {
		m := torch.WrapNamed[func(a, b any) any]("max")(x.Method("sin", nil), y.Method("cos", nil))
		return operator.Call("add", m, x)
	}, "x, y")
	require.NoError(t, err)
	g := gm.Graph()
	var maps []any
	note := func() {
		code, err := g.PythonCode("self")
		require.NoError(t, err)
		lines := map[string]any{}
		for line, node := range code.Lines {
			lines[strconv.Itoa(line)] = node
			if node < 0 {
				lines[strconv.Itoa(line)] = nil
			}
		}
		maps = append(maps, []any{lines, code.PrologueStart})
	}
	note()
	g.OnGenerateCode(func(ir.BodyFunc) ir.BodyFunc {
		return func(body []string) []string { return append([]string{"pass\n"}, body...) }
	})
	note()
	g.OnGenerateCode(func(ir.BodyFunc) ir.BodyFunc {
		return func(body []string) []string {
			return append(append([]string{"a = 1\nb = 2\n"}, body...), "c = 3\n")
		}
	})
	note()
	c.Same(gm, nil)
	c.Result(map[string]any{"maps": maps})
}

func TestDocOnGenerateCode(t *testing.T) {
	c := fxcase.Open(t, "doc_on_generate_code")
	gm, err := trace(func(x value) any { return operator.Call("add", x, 1) }, "x")
	require.NoError(t, err)
	code := func() string {
		text, err := gm.Code()
		require.NoError(t, err)
		return text
	}
	gm.Graph().OnGenerateCode(func(ir.BodyFunc) ir.BodyFunc {
		return func(body []string) []string { return append([]string{"print('hello')\n"}, body...) }
	})
	first := code()
	restore := gm.Graph().OnGenerateCode(func(current ir.BodyFunc) ir.BodyFunc {
		return func(body []string) []string { return append([]string{"pass\n"}, current(body)...) }
	})
	chained := code()
	restore()
	c.Same(gm, nil)
	c.Result(map[string]any{"first": first, "chained": chained, "restored_equal": code() == first})
}

type readableModel struct {
	nn.Base `forward:"x, y: int = 1"`
	Lin     *nn.Linear
	B       *torch.Tensor `nn:"b,buffer"`
}

func (m *readableModel) Forward(x *torch.Tensor, _ value) any {
	z := m.Lin.Forward(x)
	return ir.PyTuple{add(torch.Relu(z), m.B), z.Sum()}
}

// meta describes a tensor without its elements.
func meta(d ir.DType, device string, layout ir.Layout, strides []int64, sizes ...int64) ir.TensorMeta {
	dev, err := ir.ParseDevice(device)
	if err != nil {
		panic(err)
	}
	m := ir.TensorMeta{DType: d, Device: dev, Layout: layout}
	for _, s := range sizes {
		m.Sizes = append(m.Sizes, ir.SizeOf(s))
	}
	for _, s := range strides {
		m.Strides = append(m.Strides, ir.SizeOf(s))
	}
	return m
}

func TestReadableMetadata(t *testing.T) {
	c := fxcase.Open(t, "readable_metadata")
	testenv.Libtorch(t)
	gm, err := tracer.SymbolicTrace(&readableModel{Lin: nn.NewLinear(4, 3), B: torch.Ones(3)})
	require.NoError(t, err)
	set := func(name, key string, value any) { gm.Graph().Lookup(name).Meta().Set(key, value) }
	set("x", ir.MetaVal, meta(ir.Float32, "cpu", ir.Strided, []int64{4, 1}, 2, 4))
	set("x", ir.MetaDesc, "the input")
	set("lin", ir.MetaVal, meta(ir.Float16, "cpu", ir.Strided, []int64{1, 2}, 2, 3))
	set("relu", ir.MetaExampleValue, meta(ir.BFloat16, "meta", ir.Strided, []int64{3, 1}, 2, 3))
	set("add", ir.MetaVal, meta(ir.Float32, "cpu", ir.SparseCSR, nil, 2, 3))
	set("sum_1", ir.MetaVal, meta(ir.Complex64, "cpu", ir.Strided, nil))
	set("output", ir.MetaDesc, []string{"first", "second"})
	stack := "File \"model.py\", line 10, in forward\n    z = self.lin(x)\n  File \"inner.py\", line 3, in go\n    return a + b\n"
	set("lin", ir.MetaStackTrace, stack)
	set("relu", ir.MetaStackTrace, stack)
	set("relu", "extra", "E1")
	set("add", ir.MetaCustom, ir.DictOf(ir.Pair{Key: str("stage"), Value: ir.Int(1)}, ir.Pair{Key: str("long"), Value: ir.Str(strings.Repeat("x", 60))}))
	set("sum_1", ir.MetaAutogradBackward, true)
	set("sum_1", ir.MetaStackTrace, "File \"model.py\", line 12, in forward\n    return z.sum()")
	c.Same(gm, nil)
	var format []string
	for n := range gm.Graph().Nodes() {
		format = append(format, n.Format(ir.WithTensorMeta()))
	}
	c.Result(map[string]any{"format_meta": format})
}

type nested struct {
	nn.Base `forward:"x"`
	First   *interpreter.Module
	Block   *nestedBlock
}

type nestedBlock struct {
	nn.Base
	Second *interpreter.Module
}

func (m *nested) Forward(x *torch.Tensor) any { return m.Block.Second.Forward(m.First.Forward(x), x) }

func TestReadableNestedChildren(t *testing.T) {
	c := fxcase.Open(t, "readable_nested_children")
	inner, err := trace(func(a *torch.Tensor) *torch.Tensor { return add(torch.Relu(a), 1) }, "a")
	require.NoError(t, err)
	inner2, err := trace(func(a, b *torch.Tensor) *torch.Tensor { return mul(a, b) }, "a, b")
	require.NoError(t, err)
	root := &nested{First: interpreter.AsModule(inner), Block: &nestedBlock{Second: interpreter.AsModule(inner2)}}
	tr := tracer.New(tracer.IsLeaf(func(m nn.Module, path string) bool {
		_, graph := m.(*interpreter.Module)
		return graph || tracer.DefaultIsLeaf(m, path)
	}))
	g, err := tr.Trace(root)
	require.NoError(t, err)
	gm, err := ir.NewGraphModule(tr.Attrs(), g, ir.ClassName("Outer"))
	c.Same(gm, err)
	first, _ := gm.Attr("first")
	assert.IsType(t, &ir.GraphModule{}, first)
}
