package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/testenv"
)

// What is committed is what the tables make, file by file.
func TestCommittedIsCurrent(t *testing.T) {
	root := testenv.Root(t)
	files, err := generate(root)
	require.NoError(t, err)
	committed, err := generated(root)
	require.NoError(t, err)
	for _, name := range committed {
		text, err := os.ReadFile(filepath.Join(root, name))
		require.NoError(t, err)
		assert.True(t, string(files[name]) == string(text), "%s: run go run ./scripts/genapi", name)
		delete(files, name)
	}
	for name := range files {
		t.Errorf("%s is missing: run go run ./scripts/genapi", name)
	}
}

// Each function of torch, of its tensors and of the modules below has a Go
// function or method, or is left out for a written reason.
func TestEveryPublicNameHasAGoName(t *testing.T) {
	root := testenv.Root(t)
	tables, err := readTables(root)
	require.NoError(t, err)
	names, err := publicNames(root)
	require.NoError(t, err)
	require.Greater(t, len(names), 1300)
	list, missing := functions(names, tables)
	assert.Empty(t, missing)
	made := map[string]bool{}
	for _, f := range list {
		made[f.python] = true
	}
	reasons := 0
	for _, name := range names {
		d, isDecided := tables.decided[name]
		h := homeOf(name)
		f := function{base: name[len(h.prefix):], home: h, method: h.prefix == "torch.Tensor."}
		switch {
		case made[name]:
		case d.reason != "":
			reasons++
		case isDecided:
			assert.True(t, tables.written[d.goName], "%s: names.txt says %s, which is not there", name, d.goName)
		default:
			assert.True(t, tables.written[f.goName("")], "%s has no Go name", name)
		}
	}
	for name := range tables.decided {
		assert.True(t, slices.Contains(names, name), "names.txt: %s is no public name", name)
	}
	t.Logf("%d names: %d generated, %d written by hand, %d left out", len(names), len(list), len(names)-len(list)-reasons, reasons)
}

// Each function of torch.nn.functional has one in package functional.
func TestEveryFunctionalHasAGoName(t *testing.T) {
	root := testenv.Root(t)
	text, err := os.ReadFile(filepath.Join(root, "torchops/testdata/public_names.txt"))
	require.NoError(t, err)
	left, err := os.ReadFile(filepath.Join(root, "torchops/excluded_names.txt"))
	require.NoError(t, err)
	excluded := strings.Fields(string(left))
	have := map[string]bool{}
	packages, err := filepath.Glob(filepath.Join(root, "nn/functional/*.go"))
	require.NoError(t, err)
	for _, path := range packages {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
				have[f.Name.Name] = true
			}
		}
	}
	for line := range strings.Lines(string(text)) {
		name, kind, _ := strings.Cut(strings.TrimSpace(line), "\t")
		base, ok := strings.CutPrefix(name, "torch.nn.functional.")
		if !ok || kind != "function" || strings.HasPrefix(base, "_") || slices.Contains(excluded, name) {
			continue
		}
		assert.True(t, have[upper(base)], "%s has no Go function", name)
	}
}

func TestNames(t *testing.T) {
	for python, want := range map[string]string{"add_": "AddInPlace", "index_add": "IndexAdd", "conv2d": "Conv2d", "T": "T"} {
		assert.Equal(t, want, upper(python))
	}
	for python, want := range map[string]string{"split_size": "splitSize", "LU": "lu", "var": "variance", "range": "rangeArg", "A": "a"} {
		assert.Equal(t, want, lower(python))
	}
}

func TestForms(t *testing.T) {
	assert.Equal(t, form{suffix: "All", results: []string{"Tensor", "Tensor"}, names: []string{"a", "b"}, fixed: []string{"x=true", "y=true"}},
		readForm("All: a Tensor, b Tensor; x=true, y=true"))
	assert.Equal(t, form{results: []string{"Tensor"}, names: []string{""}}, readForm("Tensor"))
	assert.Equal(t, form{}, readForm("none"))
}
