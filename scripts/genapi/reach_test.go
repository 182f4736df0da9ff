package main

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/testenv"
)

// goParams are the parameters of the functions and methods that Go code calls, by the
// names that goName gives them.
func goParams(t *testing.T, root string) map[string][]param {
	t.Helper()
	all := map[string][]param{}
	for _, dir := range []string{"torchops", "torchops/linalg", "torchops/fft", "torchops/special"} {
		paths, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
		require.NoError(t, err)
		prefix := strings.TrimPrefix(strings.TrimPrefix(dir, "torchops"), "/")
		if prefix != "" {
			prefix += "."
		}
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			require.NoError(t, err)
			for _, d := range file.Decls {
				f, isFunc := d.(*ast.FuncDecl)
				if !isFunc || !f.Name.IsExported() {
					continue
				}
				name := prefix + f.Name.Name
				if f.Recv != nil {
					if types.ExprString(f.Recv.List[0].Type) != "*Tensor" {
						continue
					}
					name = "Tensor." + f.Name.Name
				}
				var params []param
				for _, field := range f.Type.Params.List {
					typ := types.ExprString(field.Type)
					rest := strings.HasPrefix(typ, "...")
					typ = strings.ReplaceAll(strings.TrimPrefix(typ, "..."), "torch.", "")
					for range max(1, len(field.Names)) {
						params = append(params, param{typ: typ, rest: rest})
					}
				}
				all[name] = params
			}
		}
	}
	return all
}

// unreached says which parameter of a signature a Go function cannot be given, "" for
// none.
func unreached(s signature, have []param) string {
	open := len(have) > 0 && have[len(have)-1].rest
	fixed := have
	if open {
		fixed = have[:len(have)-1]
	}
	for i, p := range s.params {
		switch {
		case i >= len(fixed) && open:
		case i >= len(fixed):
			return p.name + ": no option takes it"
		case p.keyword:
			return p.name + ": a place, where Python wants a keyword"
		case !slices.Contains([]string{"any", "Int", "Ints", p.typ}, fixed[i].typ):
			return p.name + ": " + p.typ + " is no " + fixed[i].typ
		}
	}
	if len(fixed) > len(s.params) {
		return "more is demanded than it has"
	}
	return ""
}

// Every parameter of every overload is reached by a typed Go function, generated or
// written by hand: in its place, or as an option.
func TestEveryParameterIsReached(t *testing.T) {
	root := testenv.Root(t)
	tables, err := readTables(root)
	require.NoError(t, err)
	names, err := publicNames(root)
	require.NoError(t, err)
	have := goParams(t, root)
	list, _ := functions(names, tables)
	made := map[string]function{}
	for _, f := range list {
		made[f.python] = f
	}
	overloads := 0
	for _, name := range names {
		d := tables.decided[name]
		if d.reason != "" {
			continue
		}
		h := homeOf(name)
		f := function{python: name, base: name[len(h.prefix):], home: h, method: h.prefix == "torch.Tensor."}
		signatures := tables.bound[h.bound+f.base]
		if params := tables.composed[name]; params != "" && len(signatures) == 0 {
			signatures = []signature{pythonSignature(params, f.method)}
		}
		if g, generated := made[name]; generated {
			f = g
			if len(signatures) == 0 || d.given {
				signatures = f.signatures
			}
		}
		goNames := []string{f.goName("")}
		if d.goName != "" {
			goNames = []string{d.goName}
		}
		if f.signatures != nil {
			for _, g := range f.groups() {
				goNames = append(goNames, f.goName(g.suffix))
			}
		}
		goNames = append(goNames, goNames[0]+"Tuple") // the other kind of result, by hand
		for _, s := range signatures {
			overloads++
			var why []string
			reached := slices.ContainsFunc(goNames, func(n string) bool {
				if h.pkg != "" {
					n = h.pkg + "." + n
				}
				params, ok := have[n]
				if !ok {
					return false
				}
				reason := unreached(s, params)
				why = append(why, n+": "+reason)
				return reason == ""
			})
			assert.True(t, reached, "%s(%s): %v", name, s.text, why)
		}
	}
	assert.Greater(t, overloads, 1600)
	t.Logf("%d overloads of %d names", overloads, len(names))
}

// The table of signatures that the API is made from is PyTorch's whole one.
func TestSignaturesAreComplete(t *testing.T) {
	root := testenv.Root(t)
	text, err := os.ReadFile(filepath.Join(testenv.Fixtures(t), "py_signatures.json"))
	require.NoError(t, err)
	var recorded struct {
		Names map[string][]struct {
			Sig        string
			Deprecated bool
		}
	}
	require.NoError(t, json.Unmarshal(text, &recorded))
	bound, err := readBound(root)
	require.NoError(t, err)
	for name, list := range recorded.Names {
		n := 0
		for _, s := range list {
			if !s.Deprecated {
				n++
			}
		}
		assert.Len(t, bound[name], n, name)
	}
}
