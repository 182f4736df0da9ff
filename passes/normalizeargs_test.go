package passes_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	"github.com/torchfx-go/torchfx/passes"
)

// section decodes what torch.fx made of the programs of one section of
// testdata/passes.json, which scripts/record_passes.py writes.
func section(t testing.TB, name string, into any) {
	data, err := os.ReadFile("testdata/passes.json")
	require.NoError(t, err)
	var all map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(data, &all))
	require.Contains(t, all, name)
	require.NoError(t, json.Unmarshal(all[name], into))
}

// Every call as normalize_function of torch.fx writes it, or refuses to.
//
// upstream: test_fx.TestOperatorSignatures.test_get_torch_func_signature_exhaustive
// upstream: test_fx.TestFX.test_get_torch_func_signature
// upstream: test_fx_experimental.TestFXExperimental.test_normalize_args_op_overload
// upstream: test_fx_experimental.TestNormalizeOperators.test_normalize_operator_exhaustive
// upstream: test_fx_experimental.TestFXExperimental.test_normalize_quantized_eb
func TestNormalizeFunction(t *testing.T) {
	var cases []map[string]*string
	section(t, "normalize_function_cases", &cases)
	require.NotEmpty(t, cases)
	for _, tc := range cases {
		g, err := ir.ParseCode(*tc["code"])
		require.NoError(t, err)
		call := g.Last().Arg(0).(*ir.Node)
		t.Run(strings.TrimSpace(strings.Split(strings.TrimSpace(*tc["code"]), "\n")[1]), func(t *testing.T) {
			for _, flag := range []string{"positional", "positional typed", "kwargs", "kwargs typed"} {
				var opts []passes.NormalizeOption
				if strings.HasPrefix(flag, "kwargs") {
					opts = append(opts, passes.OnlyKwargs())
				}
				if strings.HasSuffix(flag, "typed") {
					opts = append(opts, typesOf(call))
				}
				args, kwargs, ok, err := passes.NormalizeFunction(call.Func(), call.Args(), call.Kwargs(), opts...)
				want := tc[flag]
				switch {
				case want == nil:
					require.NoError(t, err, flag)
					require.False(t, ok, flag)
				case !strings.Contains(*want, "def forward"):
					classes := map[string]*ir.Class{"RuntimeError": ir.ErrRuntime, "TypeError": ir.ErrType}
					require.ErrorIs(t, err, classes[*want], flag)
				default:
					require.NoError(t, err, flag)
					require.True(t, ok, flag)
					again, err := ir.ParseCode(strings.Replace(*want, " from = ", " from_ = ", 1))
					require.NoError(t, err)
					made := again.Last().Arg(0).(*ir.Node)
					requireOperands(t, made, args, kwargs, flag)
				}
			}
		})
	}
}

// typesOf gives every node of a call for a tensor.
func typesOf(call *ir.Node) passes.NormalizeOption {
	typeOf := func(a ir.Arg) passes.PyType {
		switch a.(type) {
		case *ir.Node:
			return "torch.Tensor"
		case ir.List:
			return "list" // type(v), as the script has it
		case ir.Tuple:
			return "tuple"
		}
		return passes.TypeOf(a)
	}
	var args []passes.PyType
	for _, a := range call.Args() {
		args = append(args, typeOf(a))
	}
	kwargs := map[string]passes.PyType{}
	for _, k := range call.Kwargs() {
		kwargs[k.Name] = typeOf(k.Value)
	}
	return passes.ArgTypes(args, kwargs)
}

// requireOperands compares operands with those of a node of another graph.
func requireOperands(t testing.TB, want *ir.Node, args []ir.Arg, kwargs []ir.Keyword, what string) {
	byName := func(a ir.Arg) string {
		return ir.Repr(ir.MapNodes(a, func(n *ir.Node) ir.Arg { return ir.Str("%" + n.Name()) }))
	}
	var wanted, got []string
	for _, a := range want.Args() {
		wanted = append(wanted, byName(a))
	}
	for _, k := range want.Kwargs() {
		wanted = append(wanted, strings.Replace(k.Name, "from_", "from", 1)+"="+byName(k.Value))
	}
	for _, a := range args {
		got = append(got, byName(a))
	}
	for _, k := range kwargs {
		got = append(got, k.Name+"="+byName(k.Value))
	}
	require.Equal(t, wanted, got, what)
}

// layersOf makes the modules of a recorded program.
func layersModule(t testing.TB, code string, types map[string]string, layers map[string]nn.Module) *ir.GraphModule {
	m := module(t, code)
	for path, l := range layers {
		m.SetAttr(path, l)
	}
	for name, typ := range types {
		m.Graph().Lookup(name).Meta().Set(passes.MetaType, typ)
	}
	return m
}

// A traced network: layers, functions of torch.nn.functional, and overloads that
// the types of their arguments tell apart.
//
// upstream: test_fx_experimental.TestFXExperimental.test_normalize_args
// upstream: test_fx_experimental.TestFXExperimental.test_normalize_args_preserve_meta
// upstream: test_fx_experimental.TestFXExperimental.test_normalize_args_perserve_type
func TestNormalizeArgs(t *testing.T) {
	testenv.Libtorch(t)
	var want struct {
		Code, Kwargs, Positional string
		Types                    map[string]string
	}
	section(t, "normalize_args", &want)
	layers := map[string]nn.Module{"conv": nn.NewConv2d(2, 3, 3), "bn": nn.NewBatchNorm2d(3), "lin": nn.NewLinear(3, 4),
		"pool": nn.NewMaxPool2d(2), "attn": nn.NewEmbeddingBag(10, 3), "seq.0": nn.NewReLU(), "seq.1": nn.NewDropout()}

	m := layersModule(t, want.Code, want.Types, layers)
	conv := m.Graph().Lookup("conv")
	conv.Meta().Set("my_key", 7)
	conv.SetType("torch.Tensor")
	changed, err := passes.NormalizeArgs(m)
	require.NoError(t, err)
	require.NotEmpty(t, changed)
	require.Equal(t, 7, conv.Meta().Get("my_key"))
	require.Equal(t, "torch.Tensor", conv.Type())
	conv.SetType("")
	require.NoError(t, m.Graph().Lint())
	requireCode(t, want.Kwargs, m)

	m = layersModule(t, want.Code, want.Types, layers)
	_, err = passes.NormalizeArgs(m, passes.KeepPositional())
	require.NoError(t, err)
	requireCode(t, want.Positional, m)

	// a second time nothing is left to do
	before := codeOf(t, m)
	_, err = passes.NormalizeArgs(m, passes.KeepPositional())
	require.NoError(t, err)
	require.Equal(t, before, codeOf(t, m))
}

// Every layer of torch.nn that has a constructor here: its forward is known, and a
// call that gives the first argument by position becomes one by keywords.
//
// upstream: test_fx_experimental.TestFXExperimental.test_normalize_modules_exhaustive
func TestNormalizeModules(t *testing.T) {
	testenv.Libtorch(t)
	layers := []nn.Module{nn.NewLinear(2, 3), nn.NewBilinear(2, 3, 4), nn.NewConv1d(1, 1, 1), nn.NewConvTranspose2d(1, 1, 1), nn.NewLayerNorm([]int{3}),
		nn.NewEmbedding(3, 4), nn.NewCrossEntropyLoss(), nn.NewGELU(), nn.NewMaxPool2d(2), nn.NewUnflatten(1, []int{1, 1}), nn.NewMultiheadAttention(4, 2)}
	firsts := []string{"input", "input1", "input", "input", "input", "input", "input", "input", "input", "input", "query"}
	for i, layer := range layers {
		m := module(t, "def forward(self, x, y):\n    a = self.layer(x, y)\n    return a")
		m.SetAttr("layer", layer)
		n := m.Graph().Lookup("a")
		args, kwargs := n.Args(), []ir.Keyword(nil)
		if needs := map[int]int{1: 2, 6: 2}[i]; needs == 0 {
			args = args[:1]
		}
		if firsts[i] == "query" {
			kwargs = []ir.Keyword{ir.Kw("value", args[0]), ir.Kw("key", args[0])}
		}
		_, got, ok, err := passes.NormalizeModule(m, "layer", args, kwargs, passes.OnlyKwargs())
		require.NoError(t, err, "%T", layer)
		require.True(t, ok, "%T", layer)
		require.Equal(t, firsts[i], got[0].Name, "%T", layer)
		if firsts[i] == "query" {
			require.Equal(t, []string{"query", "key", "value"}, []string{got[0].Name, got[1].Name, got[2].Name})
		}
	}
	m := module(t, "def forward(self, x):\n    a = self.other(x)\n    return a")
	_, _, ok, err := passes.NormalizedArguments(m, m.Graph().Lookup("a"))
	require.NoError(t, err)
	require.False(t, ok)
	_, _, _, err = passes.NormalizeModule(m, "missing", nil, nil)
	require.ErrorIs(t, err, ir.ErrRuntime)
	require.ErrorContains(t, err, "Tried to normalize node with target missing but root did not have that target!")
}
