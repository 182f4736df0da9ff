package parity

import (
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

func record(t *testing.T) recording { return recording{read()} }
func read() *ir.Graph               { g, _ := ir.ParseCode(""); return g }
func (r recording) before(t *testing.T) { open("code.py") }
func same(t *testing.T, g *ir.Graph) { same(t, g) }
`), 0o600))
	f := readTestFunctions(t, dir)
	for test, text := range map[string]string{
		"TestBuilt": "", "TestParsed": "ParseCode", "TestNodes": "before/nodes.json", "TestText": "def forward(self, x): return x", "TestMethod": "code.py",
	} {
		assert.Equal(t, text, f.text(test), test)
	}
}

// testFunctions are the functions and methods of a package's tests, by name.
type testFunctions map[string][]ast.Node

func readTestFunctions(t *testing.T, dir string) testFunctions {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	require.NoError(t, err)
	all := testFunctions{}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
				all[f.Name.Name] = append(all[f.Name.Name], f.Body)
			}
		}
	}
	return all
}

// text returns what of a recorded program's text a function may come to read,
// by itself or by what it mentions of its package's tests; "" if nothing.
func (all testFunctions) text(name string) (found string) {
	seen := map[string]bool{name: true}
	for queue := []string{name}; len(queue) > 0 && found == ""; queue = queue[1:] {
		for _, body := range all[queue[0]] {
			ast.Inspect(body, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.Ident:
					if n.Name == "ParseCode" {
						found = n.Name
					}
					if all[n.Name] != nil && !seen[n.Name] {
						seen[n.Name] = true
						queue = append(queue, n.Name)
					}
				case *ast.BasicLit:
					if s, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING && isProgramText(s) {
						found = s
					}
				}
				return found == ""
			})
		}
	}
	return found
}

// isProgramText tells a program's text, and a file of it.
func isProgramText(s string) bool {
	return strings.HasSuffix(s, "code.py") || strings.HasSuffix(s, "nodes.json") || strings.Contains(s, "def forward(")
}
