package gosource_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/export"
	"github.com/torchfx-go/torchfx/gosource"
	"github.com/torchfx-go/torchfx/gosource/internal/compare"
	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
)

func TestMain(m *testing.M) { testenv.MainWithExamples(m) }

// notInGo are the recorded programs that Go source cannot hold, with the words of
// the error.
var notInGo = map[string]string{
	"associative_scan_op": "_vmap_increment_nesting): expected a function of values, got one that changes how others are run",
	"autocast_region":     "wrap_with_autocast): expected cond",
	"map_op":              "map_impl): expected cond",
	"scan_op":             "scan): expected cond",
}

// The generated code compiles, and computes what the graph does, bit by bit.
func TestGeneratedCodeComputesTheSame(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program")
	}
	testenv.Libtorch(t)
	dir := scratch(t)
	var imports, programs, models strings.Builder
	add := func(list *strings.Builder, key string, m *ir.GraphModule) {
		pkg := fmt.Sprintf("case%d", strings.Count(imports.String(), "\n"))
		text, err := gosource.Generate(m, gosource.Package(pkg), gosource.Type("Model"))
		require.NoError(t, err, key)
		write(t, filepath.Join(dir, pkg, pkg+".go"), string(text))
		fmt.Fprintf(&imports, "\t%q\n", "github.com/torchfx-go/torchfx/gosource/testdata/"+filepath.Base(dir)+"/"+pkg)
		fmt.Fprintf(list, "\t\t%q: func(attr func(string) (any, bool)) (any, error) { return %s.NewModel(attr) },\n", key, pkg)
	}
	for _, name := range compare.Models() {
		m, _, err := compare.Model(name)
		require.NoError(t, err)
		add(&models, name, m)
	}
	for _, c := range recorded(t) {
		if why, ok := notInGo[filepath.Base(c.dir)]; ok {
			_, err := gosource.Generate(c.module)
			require.ErrorIs(t, err, ir.ErrUnsupported)
			assert.ErrorContains(t, err, why)
			continue
		}
		add(&programs, c.dir, c.module)
	}
	forms, err := gosource.Generate(everyForm(t), gosource.Package("forms"))
	require.NoError(t, err)
	write(t, filepath.Join(dir, "forms", "forms.go"), string(forms))
	imports.WriteString("\t_ \"github.com/torchfx-go/torchfx/gosource/testdata/" + filepath.Base(dir) + "/forms\"\n")
	write(t, filepath.Join(dir, "main.go"), "package main\n\nimport (\n\t\"github.com/torchfx-go/torchfx/gosource/internal/compare\"\n"+imports.String()+
		")\n\nfunc main() {\n\tcompare.Main(map[string]compare.New{\n"+programs.String()+"\t}, map[string]compare.New{\n"+models.String()+"\t})\n}\n")
	cmd := exec.Command("go", "run", ".")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// everyForm is a graph with a call of each function and method that the
// generated code calls by a Go function.
func everyForm(t *testing.T) *ir.GraphModule {
	g := ir.NewGraph()
	x := g.CallFunction(ir.FuncOf("torch.relu"), []ir.Arg{g.Placeholder("x")})
	for name, params := range gosource.Forms() {
		var args []ir.Arg
		for _, p := range params {
			switch p {
			case 'i':
				args = append(args, ir.Int(1))
			case 'l':
				args = append(args, ir.ListOf(x, x))
			default:
				args = append(args, x)
			}
		}
		if method, ok := strings.CutPrefix(name, "."); ok {
			g.CallMethod(method, append([]ir.Arg{x}, args...))
		} else {
			g.CallFunction(ir.FuncOf(name), args)
		}
	}
	g.Output(x)
	m, err := ir.NewGraphModule(nil, g)
	require.NoError(t, err)
	return m
}

// What cannot be written is listed as a whole.
func TestFaultsAreListed(t *testing.T) {
	g := ir.NewGraph()
	x := g.Placeholder("x")
	unknown := g.CallFunction(ir.FuncOf("program.helper"), []ir.Arg{x})
	missing := g.CallModule("fc", []ir.Arg{unknown})
	opaque := g.CallFunction(ir.FuncOf("torch.relu"), []ir.Arg{missing, ir.Opaque{Value: struct{}{}}})
	g.Output(g.CallMethod("no_such_method", []ir.Arg{opaque}))
	m, err := ir.NewGraphModule(map[string]any{"fc": 1}, g)
	require.NoError(t, err)
	_, err = gosource.Generate(m)
	require.ErrorIs(t, err, ir.ErrUnsupported)
	for _, want := range []string{
		"go source of fc (call_module fc): expected a module of package nn, a graph module or guards, got a int",
		"go source of helper (call_function program.helper): expected a function that has an implementation here",
		"go source of relu (call_function torch.relu): argument {}: expected a value that Go can write, got a ir.Opaque",
		"go source of no_such_method (call_method no_such_method): expected a method that has an implementation here",
	} {
		assert.ErrorContains(t, err, want)
	}
	for _, opt := range []gosource.Option{gosource.Package("two words"), gosource.Package("func"), gosource.Type("lower"), gosource.Type("")} {
		_, err := gosource.Generate(m, opt)
		require.ErrorIs(t, err, ir.ErrValue)
	}
}

// Names that a file brings stay names.
func TestHostileNames(t *testing.T) {
	g := ir.NewGraph()
	x := g.Placeholder("func")
	const path = "a\"b\n}; func init() { panic(1) }"
	w := g.GetAttr(path)
	y := g.CallFunction(ir.FuncOf("torch.add"), []ir.Arg{x, w}, ir.Name("torch"))
	g.Output(g.CallFunction(ir.FuncOf("operator.mul"), []ir.Arg{y, ir.Str("\n*/ \"")}, ir.Name("m")))
	m, err := ir.NewGraphModule(map[string]any{path: 1}, g)
	require.NoError(t, err)
	text, err := gosource.Generate(m)
	require.NoError(t, err)
	parsed, err := parser.ParseFile(token.NewFileSet(), "", text, 0)
	require.NoError(t, err)
	for _, d := range parsed.Decls {
		if f, ok := d.(*ast.FuncDecl); ok {
			assert.NotEqual(t, "init", f.Name.Name)
		}
	}
}

func ExampleGenerate() {
	g := ir.NewGraph()
	x, y := g.Placeholder("x"), g.Placeholder("y")
	relu := g.CallFunction(ir.FuncOf("torch.relu"), []ir.Arg{x})
	add := g.CallFunction(ir.FuncOf("operator.add"), []ir.Arg{relu, y})
	g.Output(g.CallFunction(ir.FuncOf("torch.sum"), []ir.Arg{add}, ir.Kwargs(ir.Kw("dim", ir.Int(-1)))))
	gm, err := ir.NewGraphModule(nil, g, ir.ClassName("Best"))
	if err != nil {
		fmt.Println(err)
		return
	}
	text, err := gosource.Generate(gm, gosource.Package("best"))
	if err != nil {
		fmt.Println(err)
		return
	}
	_, forward, _ := strings.Cut(string(text), "// Forward")
	forward, _, _ = strings.Cut(forward, "\n\n")
	fmt.Println("// Forward" + forward)
	// Output:
	// // Forward computes the graph. It panics with a *torchops.Error; torchops.Try returns it.
	// func (m *Best) Forward(x *torch.Tensor, y any) any {
	// 	relu := torch.Relu(x)
	// 	add := operator.Add(relu, y)
	// 	sum1 := call(torchSum, add, torch.Kw("dim", -1))
	// 	return sum1
	// }
}

type program struct {
	dir    string
	module *ir.GraphModule
}

// recorded returns the recorded programs of torch 2.15 that run here.
func recorded(t *testing.T) []program {
	root, err := filepath.Abs(testenv.Fixtures(t, "pt2", "2.15.0"))
	require.NoError(t, err)
	entries, err := os.ReadDir(root)
	require.NoError(t, err)
	var all []program
	for _, e := range entries {
		dir := filepath.Join(root, e.Name())
		meta, err := os.ReadFile(filepath.Join(dir, "meta.json"))
		require.NoError(t, err)
		p, err := export.Open(filepath.Join(dir, "model.pt2"))
		if err != nil || !strings.Contains(string(meta), `"inputs.0.safetensors"`) {
			continue // a graph without inputs, or one that needs another library
		}
		m, err := p.Module()
		require.NoError(t, err, e.Name())
		all = append(all, program{dir, m})
	}
	return all
}

// scratch is a folder inside of the module, so that its packages find the others.
func scratch(t *testing.T) string {
	require.NoError(t, os.MkdirAll("testdata", 0o755))
	dir, err := os.MkdirTemp("testdata", "run")
	require.NoError(t, err)
	t.Cleanup(func() {
		if !t.Failed() {
			assert.NoError(t, os.RemoveAll(dir))
		}
	})
	return dir
}

func write(t *testing.T, name, text string) {
	require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
	require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
}
