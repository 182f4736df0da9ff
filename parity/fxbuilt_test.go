package parity

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestFXCasesAreBuiltInGo looks at what the tests of the list call: a program
// that is read from recorded text, its code or its nodes, is not built through
// the Go API, and a pattern that is code text was not traced. Where a test has
// to do with text nevertheless, its line says why.
func TestFXCasesAreBuiltInGo(t *testing.T) {
	packages := map[string]testFunctions{}
	for c, g := range goTests() {
		if g.test == "" {
			continue
		}
		path, test, _ := strings.Cut(g.test, ".")
		if packages[path] == nil {
			packages[path] = readTestFunctions(t, filepath.Join("..", path))
		}
		text := packages[path].text(test)
		if g.reason == "" {
			assert.Empty(t, text, "%s: expected a program that %s builds, or the reason why not in fxtests.txt", c, g.test)
		} else {
			assert.NotEmpty(t, text, "%s: expected no reason, for %s reads no text", c, g.test)
		}
	}
}

// TestFXTextIsFound has the search see each way to text.
func TestFXTextIsFound(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a_test.go"), []byte(`package a

func TestBuilt(t *testing.T)  { same(t, trace(f)) }
func TestParsed(t *testing.T) { record(t).same() }
func TestNodes(t *testing.T)  { open("before/nodes.json") }
func TestText(t *testing.T)   { replace("def forward(self, x): return x") }
func TestMethod(t *testing.T) { var r recording; r.before(t) }
func TestLocal(t *testing.T)  { record := trace; same(t, record(f)) }

func record(t *testing.T) recording { return recording{read()} }
func read() *ir.Graph               { g, _ := ir.ParseCode(""); return g }
func (r recording) before(t *testing.T) { open("code.py") }
func same(t *testing.T, g *ir.Graph) { same(t, g) }
`), 0o600))
	f := readTestFunctions(t, dir)
	for test, text := range map[string]string{
		"TestBuilt": "", "TestLocal": "", "TestParsed": "ParseCode", "TestNodes": "before/nodes.json", "TestText": "def forward(self, x): return x", "TestMethod": "code.py",
	} {
		assert.Equal(t, text, f.text(test), test)
	}
}

// testFunctions are the declarations of a folder's tests: under the name of their
// package and their own, which for methods has a dot before it.
type testFunctions map[string][]*ast.FuncDecl

func readTestFunctions(t *testing.T, dir string) testFunctions {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	require.NoError(t, err)
	all := testFunctions{}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Body == nil {
				continue
			}
			key := file.Name.Name + " " + f.Name.Name
			if f.Recv != nil {
				key = file.Name.Name + " ." + f.Name.Name
			}
			all[key] = append(all[key], f)
		}
	}
	return all
}

// text returns what of a recorded program's text a test may come to read, by
// itself or by what it mentions of its package's tests; "" if nothing.
func (all testFunctions) text(test string) (found string) {
	for key := range all {
		pkg, name, _ := strings.Cut(key, " ")
		if name == test {
			found = cmp.Or(found, all.textFrom(pkg, name))
		}
	}
	return found
}

func (all testFunctions) textFrom(pkg, name string) (found string) {
	seen := map[string]bool{}
	var visit func(local map[string]bool) func(ast.Node) bool
	follow := func(name string) {
		if name == "ParseCode" {
			found = name
		}
		if !seen[name] {
			seen[name] = true
			for _, f := range all[pkg+" "+name] {
				ast.Inspect(f, visit(localNames(f)))
			}
		}
	}
	visit = func(local map[string]bool) func(ast.Node) bool {
		return func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if n.Sel.Name == "ParseCode" {
					found = n.Sel.Name
				}
				follow("." + n.Sel.Name)
				ast.Inspect(n.X, visit(local))
				return false
			case *ast.Ident:
				if !local[n.Name] {
					follow(n.Name)
				}
			case *ast.BasicLit:
				if s, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING && isProgramText(s) {
					found = s
				}
			}
			return found == ""
		}
	}
	follow(name)
	return found
}

// localNames are the names that a function declares, which mean no other function.
func localNames(f *ast.FuncDecl) map[string]bool {
	local := map[string]bool{}
	add := func(names ...*ast.Ident) {
		for _, n := range names {
			local[n.Name] = true
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			add(n.Names...)
		case *ast.ValueSpec:
			add(n.Names...)
		case *ast.AssignStmt:
			for _, left := range n.Lhs {
				if name, ok := left.(*ast.Ident); ok && n.Tok == token.DEFINE {
					add(name)
				}
			}
		}
		return true
	})
	return local
}

// isProgramText tells a program's text, and a file of it.
func isProgramText(s string) bool {
	return strings.HasSuffix(s, "code.py") || strings.HasSuffix(s, "nodes.json") || strings.Contains(s, "def forward(")
}
