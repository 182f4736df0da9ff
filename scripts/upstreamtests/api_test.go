package main

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write api.txt anew")

// apiPackages are what stands for torch.fx here.
var apiPackages = []string{".", "interpreter", "ir", "passes", "passes/placement", "rewriter", "tracer", "transformer"}

// exported returns what the packages export, "ir.Graph.Lint", and what of it has no
// comment.
func exported(t *testing.T) (names, bare []string) {
	add := func(pkg, name string, doc *ast.CommentGroup) {
		names = append(names, pkg+"."+name)
		if doc.Text() == "" {
			bare = append(bare, pkg+"."+name)
		}
	}
	for _, pkg := range apiPackages {
		files, err := filepath.Glob(filepath.Join("../..", pkg, "*.go"))
		require.NoError(t, err)
		name := filepath.Base(pkg)
		if pkg == "." {
			name = "torchfx"
		}
		for _, path := range files {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
			require.NoError(t, err)
			for _, d := range f.Decls {
				switch d := d.(type) {
				case *ast.FuncDecl:
					full := d.Name.Name
					if d.Recv != nil {
						recv := receiver(d.Recv.List[0].Type)
						if !ast.IsExported(recv) {
							continue
						}
						full = recv + "." + full
					}
					if d.Name.IsExported() {
						add(name, full, d.Doc)
					}
				case *ast.GenDecl:
					for _, s := range d.Specs {
						switch s := s.(type) {
						case *ast.TypeSpec:
							if s.Name.IsExported() {
								add(name, s.Name.Name, first(s.Doc, s.Comment, d.Doc))
							}
						case *ast.ValueSpec:
							for _, n := range s.Names {
								if n.IsExported() {
									add(name, n.Name, first(s.Doc, s.Comment, d.Doc))
								}
							}
						}
					}
				}
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names), bare
}

func first(groups ...*ast.CommentGroup) *ast.CommentGroup {
	for _, g := range groups {
		if g.Text() != "" {
			return g
		}
	}
	return nil
}

func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// What stands for torch.fx does not go away: every name of api.txt is still there, and
// all that is exported says what it is. New names are put into the list by
//
//	go test ./scripts/upstreamtests -update
//
// upstream: test_fx.TestFXAPIBackwardCompatibility.test_function_back_compat
// upstream: test_fx.TestFXAPIBackwardCompatibility.test_class_member_back_compat
// upstream: test_fx.TestFXAPIBackwardCompatibility.test_public_api_surface
func TestAPIStays(t *testing.T) {
	names, bare := exported(t)
	if *update {
		require.NoError(t, os.WriteFile("api.txt", []byte(strings.Join(names, "\n")+"\n"), 0o644))
	}
	data, err := os.ReadFile("api.txt")
	require.NoError(t, err)
	have := map[string]bool{}
	for _, n := range names {
		have[n] = true
	}
	for _, n := range strings.Fields(string(data)) {
		require.True(t, have[n], "%s was there before", n)
	}
	require.Empty(t, bare, "exported without a comment")
}

// Every member of members.txt has a Go name that is there, or a reason why it has none.
func TestMembers(t *testing.T) {
	names, _ := exported(t)
	have := map[string]bool{}
	for _, n := range names {
		have[n] = true
	}
	data, err := os.ReadFile("members.txt")
	require.NoError(t, err)
	seen := map[string]bool{}
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		f := strings.Split(line, " | ")
		require.False(t, seen[f[0]], "%s stands there twice", f[0])
		seen[f[0]] = true
		if f[1] == "-" {
			require.Len(t, f, 3, "%s: a reason", f[0])
			require.NotEmpty(t, f[2])
			continue
		}
		require.Len(t, f, 2, f[0])
		for _, n := range strings.Split(f[1], ", ") {
			require.True(t, have[n], "%s: expected the Go name %s, got none", f[0], n)
		}
	}
	require.Greater(t, len(seen), 100)
}
