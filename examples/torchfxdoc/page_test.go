package torchfxdoc_test

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/testenv"
)

func page(t *testing.T) string {
	text, err := os.ReadFile(filepath.Join(testenv.Root(t), "docs", "torch-fx.md"))
	require.NoError(t, err)
	return string(text)
}

// Every member that torch.fx documents has a row; testdata/members.txt lists them.
func TestPageHasEveryMember(t *testing.T) {
	rows := map[string]bool{}
	for line := range strings.Lines(page(t)) {
		if name, ok := strings.CutPrefix(line, "| `"); ok {
			name, _, _ = strings.Cut(name, "`")
			name, _, _ = strings.Cut(name, "(")
			rows[name] = true
		}
	}
	list, err := os.ReadFile("testdata/members.txt")
	require.NoError(t, err)
	count := 0
	for line := range strings.Lines(string(list)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		count++
		assert.True(t, rows[line], "torch-fx.md has no row for %s", line)
	}
	assert.Greater(t, count, 100)
}

// Every Go name on the page is there.
func TestPageNamesExist(t *testing.T) {
	packages := map[string]string{
		"torchfx": ".", "torch": "torchops", "ir": "ir", "tracer": "tracer", "interpreter": "interpreter", "transformer": "transformer",
		"rewriter": "rewriter", "passes": "passes", "placement": "passes/placement", "nn": "nn", "export": "export", "operator": "operator", "gosource": "gosource",
	}
	known := map[string]map[string]bool{}
	count := 0
	for _, m := range regexp.MustCompile("`([a-z]+)\\.([A-Z]\\w*(?:\\.[A-Z]\\w*)?)`").FindAllStringSubmatch(page(t), -1) {
		dir, ok := packages[m[1]]
		if !ok {
			continue
		}
		if known[dir] == nil {
			known[dir] = exported(t, filepath.Join(testenv.Root(t), dir))
		}
		count++
		assert.True(t, known[dir][m[2]], "torch-fx.md: %s.%s is not in package %s", m[1], m[2], dir)
	}
	assert.Greater(t, count, 200)
}

// exported lists the exported names of a package: "Graph", "Graph.Lint",
// "Match.Anchor".
func exported(t *testing.T, dir string) map[string]bool {
	files := token.NewFileSet()
	var parsed []*ast.File
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".go") && !strings.HasSuffix(e.Name(), "_test.go") {
			f, err := parser.ParseFile(files, filepath.Join(dir, e.Name()), nil, parser.SkipObjectResolution)
			require.NoError(t, err)
			parsed = append(parsed, f)
		}
	}
	p, err := doc.NewFromFiles(files, parsed, "x")
	require.NoError(t, err)
	names := map[string]bool{}
	values := func(vs []*doc.Value) {
		for _, v := range vs {
			for _, name := range v.Names {
				names[name] = true
			}
		}
	}
	values(p.Consts)
	values(p.Vars)
	for _, f := range p.Funcs {
		names[f.Name] = true
	}
	for _, typ := range p.Types {
		names[typ.Name] = true
		values(typ.Consts)
		values(typ.Vars)
		for _, f := range typ.Funcs {
			names[f.Name] = true
		}
		for _, f := range typ.Methods {
			names[typ.Name+"."+f.Name] = true
		}
		for _, spec := range typ.Decl.Specs {
			ast.Inspect(spec, func(n ast.Node) bool {
				if f, ok := n.(*ast.Field); ok {
					for _, name := range f.Names {
						names[typ.Name+"."+name.Name] = true
					}
				}
				return true
			})
		}
	}
	return names
}

// Every example is linked, in the order of the page, and has an output.
func TestPageLinksEveryExample(t *testing.T) {
	files := token.NewFileSet()
	paths, err := filepath.Glob("doc*_test.go")
	require.NoError(t, err)
	var want []string
	for _, path := range paths {
		f, err := parser.ParseFile(files, path, nil, parser.ParseComments)
		require.NoError(t, err)
		for _, e := range doc.Examples(f) {
			assert.NotEmpty(t, e.Output, e.Name)
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && strings.HasPrefix(fn.Name.Name, "Example_") {
				want = append(want, fn.Name.Name+"../examples/torchfxdoc/"+path)
			}
		}
	}
	var got []string
	for _, m := range regexp.MustCompile(`\[(Example_\w+)\]\(([^)]+)\)`).FindAllStringSubmatch(page(t), -1) {
		got = append(got, m[1]+m[2])
	}
	assert.Equal(t, want, got)
}
