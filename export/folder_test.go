package export

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/ir"
)

// TestLoadFolder opens every folder that Python saved: the graph is that of the
// module's own code, and all attributes are there.
//
// upstream: test_fx.TestFX.test_pickle_graphmodule
func TestLoadFolder(t *testing.T) {
	for _, dir := range savedFolders(t) {
		t.Run(filepath.Base(filepath.Dir(dir)), func(t *testing.T) {
			f, err := LoadFolder(dir)
			require.NoError(t, err)
			defer func() { require.NoError(t, f.Close()) }()
			code, err := os.ReadFile(filepath.Join(filepath.Dir(dir), "code.py"))
			require.NoError(t, err)
			got, err := f.Module.Code()
			require.NoError(t, err)
			assert.Equal(t, string(code), got)
			require.NoError(t, f.Module.Graph().Lint())
			state, err := OpenState(filepath.Join(dir, "state_dict.safetensors"))
			require.NoError(t, err)
			defer func() { require.NoError(t, state.Close()) }()
			for name, want := range state.Tensors {
				v, ok := f.Module.Attr(name)
				require.True(t, ok, name)
				assert.Equal(t, bytesOf(t, want), bytesOf(t, v.(*Tensor)), name)
			}
		})
	}
}

func TestLoadFolderModules(t *testing.T) {
	f, err := LoadFolder(filepath.Join(fixtures(t, "fx"), "fold_folder_modules", "folder"))
	require.NoError(t, err)
	defer f.Close()
	assert.Equal(t, "Saved", f.Module.ClassName())
	v, ok := f.Module.Attr("c2")
	require.True(t, ok)
	c2 := v.(*SavedModule)
	assert.Equal(t, "Conv2d", c2.Class)
	require.Len(t, c2.Args, 6)
	assert.Equal(t, SavedArg{Text: "1", Value: ir.Int(1)}, c2.Args[0])
	assert.Equal(t, SavedArg{Name: "kernel_size", Text: "(3, 1)", Value: ir.TupleOf(ir.Int(3), ir.Int(1))}, c2.Args[2])
	assert.Equal(t, SavedArg{Name: "padding_mode", Text: "reflect"}, c2.Args[5], "Python forgets the quotes")
	v, _ = f.Module.Attr("act")
	assert.True(t, v.(*SavedModule).Pickled)
	v, _ = f.Module.Attr("scale")
	assert.True(t, v.(*Tensor).Parameter)
	v, _ = f.Module.Attr("idx")
	assert.False(t, v.(*Tensor).Parameter)
	v, _ = f.Module.Attr("b1.running_mean")
	assert.False(t, v.(*Tensor).Parameter)
	v, _ = f.Module.Attr("b1.weight")
	assert.True(t, v.(*Tensor).Parameter)
	var order []string
	for path := range f.Module.Attrs() {
		order = append(order, path)
	}
	assert.Equal(t, "c1 b1 c2 b2 c3 b3 lin act _tensor_constant0 idx scale", strings.Join(order, " "))
}

// TestToFolder writes again what it read. The text is Python's, except where
// Python pickles a child or forgets quotes; and all reads back.
//
// upstream: test_fx_experimental.TestFXExperimental.test_to_folder
// upstream: test_lazy_graph_module.TestLazyGraphModule.test_package_fx_simple
func TestToFolder(t *testing.T) {
	for _, dir := range savedFolders(t) {
		name := filepath.Base(filepath.Dir(dir))
		t.Run(name, func(t *testing.T) {
			dir, err := filepath.Abs(dir)
			require.NoError(t, err)
			f, err := LoadFolder(dir)
			require.NoError(t, err)
			defer func() { require.NoError(t, f.Close()) }()
			t.Chdir(t.TempDir())
			require.NoError(t, ToFolder(f.Module, "folder", f.Module.ClassName()))
			want, err := os.ReadFile(filepath.Join(dir, "module.py"))
			require.NoError(t, err)
			got, err := os.ReadFile(filepath.Join("folder", "module.py"))
			require.NoError(t, err)
			if !strings.Contains(string(want), "weights_only=False") {
				assert.Equal(t, string(want), string(got))
			}
			init, err := os.ReadFile(filepath.Join("folder", "__init__.py"))
			require.NoError(t, err)
			assert.Equal(t, "from .module import *", string(init))
			again, err := LoadFolder("folder")
			require.NoError(t, err)
			defer func() { require.NoError(t, again.Close()) }()
			require.NoError(t, ir.Equal(f.Module.Graph(), again.Module.Graph()))
			assert.Equal(t, strings.ReplaceAll(f.Module.Repr(), "=reflect", "='reflect'"), again.Module.Repr())
			assert.ElementsMatch(t, f.state.Names, again.state.Names)
			for name, x := range f.state.Tensors {
				assert.Equal(t, bytesOf(t, x), bytesOf(t, again.state.Tensors[name]), name)
			}
		})
	}
}

func TestToFolderRefuses(t *testing.T) {
	scalar := &Tensor{Storage: NewStorage(make([]byte, 4)), DType: ir.Float32}
	for _, tc := range []struct {
		name, class, dir string
		path             string
		attr             any
		says             string
	}{
		{"class", "no name", "d", "w", scalar, "expected a name for the class"},
		{"path", "M", "it's", "w", scalar, "expected a path without quotes"},
		{"attribute", "M", "d", "w", 3, "attribute w: expected a tensor or a layer of torch.nn, got int"},
		{"name", "M", "d", "it's", scalar, "attribute it's: expected a name without quotes"},
		{"class of module", "M", "d", "m", &SavedModule{Class: "os.system"}, "module m: expected a layer of torch.nn"},
		{"children", "M", "d", "m", parseRepr("MultiheadAttention(\n  (out_proj): Linear()\n)"), "module m: expected a layer of torch.nn"},
		{"argument", "M", "d", "m", parseRepr("ReLU(inplace=__import__('os'))"), "module m: expected literals as arguments"},
		{"keyword", "M", "d", "m", parseRepr("ReLU(inplace=True, x(y)=1)"), "module m: expected literals as arguments"},
		{"injection", "M", "d", "m", parseRepr("ReLU(__import__('os').system('x'))"), "module m: expected literals as arguments"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			g := ir.NewGraph()
			g.Output(ir.None{})
			m, err := ir.NewGraphModule(map[string]any{tc.path: tc.attr}, g)
			require.NoError(t, err)
			require.ErrorContains(t, ToFolder(m, tc.dir, tc.class), tc.says)
			assert.NoDirExists(t, tc.dir, "nothing is written")
		})
	}
}

// TestComplete writes what module.py alone needs to be imported.
func TestComplete(t *testing.T) {
	g := ir.NewGraph()
	x := g.Placeholder("x")
	n := g.CallFunction(ir.FuncOf("program.helper"), []ir.Arg{x})
	n.Meta().Set(ir.MetaIsWrapped, true)
	g.Output(ir.ListOf(n))
	g.SetCodeGen(ir.PyTreeCodeGen{Args: []string{"x"}, In: ir.TupleSpec(ir.Leaf()), Out: ir.ListSpec(ir.Leaf())})
	m, err := ir.NewGraphModule(nil, g)
	require.NoError(t, err)
	t.Chdir(t.TempDir())
	require.NoError(t, ToFolder(m, "f", "M", Complete()))
	text, err := os.ReadFile("f/module.py")
	require.NoError(t, err)
	head, class, ok := strings.Cut(string(text), "class M")
	require.True(t, ok)
	assert.Contains(t, head, "from program import helper as program_helper\n")
	assert.Contains(t, head, "torch.fx._symbolic_trace.wrap(\"program_helper\")\n")
	assert.NotContains(t, class, "wrap")
	assert.Contains(t, class, "self._in_spec = pytree.treespec_loads('[1, ")
	f, err := LoadFolder("f")
	require.NoError(t, err)
	require.NoError(t, ir.Equal(f.Module.Graph(), g))
	c := f.Module.Graph().CodeGen().(ir.PyTreeCodeGen)
	assert.Equal(t, ir.TupleSpec(ir.Leaf()).String(), c.In.String())
	assert.Equal(t, ir.ListSpec(ir.Leaf()).String(), c.Out.String())
	require.NoError(t, f.Close())
	require.NoError(t, f.Close())
}

func TestLoadFolderRefuses(t *testing.T) {
	source := filepath.Join(fixtures(t, "fx"), "doc_first_example", "folder")
	for _, tc := range []struct{ name, old, new, says string }{
		{"statement", "super().__init__()", "__import__('os').system('true')", "module.py, line 14: expected a statement that to_folder writes, got __import__"},
		{"expression", "Linear(in_features=4, out_features=5, bias=True)", "Linear(4, 5)); print(1", ""},
		{"no class", "class MyModule", "klass MyModule", "expected a class of torch.nn.Module"},
		{"no function", "def forward", "fed forward", "expected a statement that to_folder writes"},
		{"code", "self.linear(add)", "self.linear(sub)", "module.py: code, line 24"},
		{"shape", "torch.empty([3, 4]", "torch.empty([3, 5]", "state param: expected float32 of [3, 5], as line 16 of module.py declares, got float32 of [3, 4]"},
		{"dtype", "dtype=torch.float32", "dtype=torch.float64", "state param: expected float64"},
		{"parameter", "setattr(self, 'param'", "setattr(self, 'other'", "expected the parameter other in the state"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, os.CopyFS(dir, os.DirFS(source)))
			name := filepath.Join(dir, "module.py")
			data, err := os.ReadFile(name)
			require.NoError(t, err)
			require.Contains(t, string(data), tc.old)
			require.NoError(t, os.Remove(name))
			require.NoError(t, os.WriteFile(name, []byte(strings.Replace(string(data), tc.old, tc.new, 1)), 0o600))
			f, err := LoadFolder(dir)
			if tc.says == "" { // kept as text, and made by nobody
				require.NoError(t, err)
				require.NoError(t, f.Close())
				return
			}
			require.ErrorContains(t, err, tc.says)
			require.Nil(t, f)
		})
	}
	_, err := LoadFolder(t.TempDir())
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestParseRepr(t *testing.T) {
	for _, text := range []string{
		"ReLU()", "Linear(in_features=2, out_features=3, bias=True)", "LayerNorm((3,), eps=1e-05, elementwise_affine=True)",
		"Sequential(\n  (0): ReLU()\n  (x-y): Sequential(\n    (a): Tanh()\n  )\n)", "Upsample(scale_factor=2.0, mode='nearest')",
	} {
		m := parseRepr(text)
		assert.Empty(t, m.line, text)
		assert.Equal(t, text, m.Repr())
		one := parseRepr(strings.ReplaceAll(text, "\n", " "))
		assert.Equal(t, text, one.Repr())
	}
	list := parseRepr("ModuleList(\n  (0-2): 3 x Linear(in_features=2, out_features=2, bias=True)\n)")
	assert.Equal(t, []string{"0", "1", "2"}, list.Names)
	for _, text := range []string{"", "ReLU", "ReLU(", "A(x)y", "A(b(c)", "A((0): )", strings.Repeat("A((x): ", 200)} {
		assert.Equal(t, text, parseRepr(text).line, text)
	}
}

func FuzzParseRepr(f *testing.F) {
	f.Add("Module(   (0): Linear(in_features=2, out_features=3, bias=True)   (1): ReLU() )")
	f.Add("ModuleList(  (0-2): 3 x Dropout(p=0.5, inplace=False)\n)")
	f.Add("0((0): 0(= =0))")
	f.Add("0(\t(000): 0(0))")
	f.Add("0((000): 0('\n'))")
	f.Add("0((000): 0([\n]))")
	f.Fuzz(func(t *testing.T, text string) {
		m := parseRepr(text)
		again := parseRepr(m.Repr())
		if m.line == "" && again.line == "" && again.Repr() != m.Repr() {
			t.Fatalf("%q, then %q", m.Repr(), again.Repr())
		}
	})
}
