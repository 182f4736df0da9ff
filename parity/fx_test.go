package parity

import (
	"context"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/testenv"
)

func TestReplayFX(t *testing.T) {
	root := testenv.Fixtures(t, "fx")
	testenv.Libtorch(t)
	report, err := Run(context.Background(), []string{root}, Options{})
	require.NoError(t, err)
	require.Greater(t, len(report.Results), 200)
	for _, r := range report.Results {
		assert.NotEqual(t, Failed, r.Status, "%s: %v %v", r.Case, r.Faults, r.Diffs)
		assert.NotEmpty(t, r.Note, r.Case)
	}
	assert.Greater(t, report.Count(Passed), 80)
}

// TestReplayFXFinds changes one thing at a time in a recorded case, which must
// then fail and say so.
func TestReplayFXFinds(t *testing.T) {
	source := filepath.Join(testenv.Fixtures(t, "fx"), "literal_containers")
	for _, tc := range []struct{ name, file, old, new, says string }{
		{"code", "code.py", "[y, (x,)]", "[y, (y,)]", "code.py, line 5"},
		{"graph", "graph.txt", "num_users=1", "num_users=3", "graph.txt, line"},
		{"table", "tabular.txt", "call_function", "call_method", "tabular.txt, line"},
		{"readable", "readable.txt", "def forward", "def backward", "readable.txt, line 2"},
		{"inputs", "nodes.json", `"inputs": ["x", "y"]`, `"inputs": ["y"]`, "expected inputs [y], got [x y]"},
		{"users", "nodes.json", `"users": ["output"]`, `"users": []`, "expected users [], got [output]"},
		{"target", "nodes.json", `"pretty_target": "torch.cat"`, `"pretty_target": "torch.stack"`, "expected target torch.stack, got torch.cat"},
		{"start", "nodes.json", `"prologue_start": 4`, `"prologue_start": 5`, "start of the function: expected line 5"},
		{"lines", "nodes.json", `"lineno_map": {`, `"lineno_map": {"99": 1,`, "line 99 of the code"},
		{"imports", "nodes.json", `"from math import inf",`, "", "imports: expected"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "case")
			require.NoError(t, os.CopyFS(dir, os.DirFS(source)))
			name := filepath.Join(dir, tc.file)
			data, err := os.ReadFile(name)
			require.NoError(t, err)
			require.Contains(t, string(data), tc.old)
			require.NoError(t, os.Remove(name))
			require.NoError(t, os.WriteFile(name, []byte(strings.Replace(string(data), tc.old, tc.new, 1)), 0o600))
			report, err := Run(context.Background(), []string{dir}, Options{})
			require.NoError(t, err)
			require.Len(t, report.Results, 1)
			assert.Equal(t, Failed, report.Results[0].Status)
			assert.Contains(t, strings.Join(report.Results[0].Faults, "\n"), tc.says)
		})
	}
}

// TestFXTestsExist finds every test that a note may name in the sources.
func TestFXTestsExist(t *testing.T) {
	named := map[string]string{}
	for c, test := range goTests() {
		named[c] = test
	}
	for c, test := range notInFiles {
		named[c] = test
	}
	for c, test := range named {
		path, rest, ok := strings.Cut(test, ".")
		require.True(t, ok, "%s: expected package.Test, got %s", c, test)
		function, _, _ := strings.Cut(rest, "/")
		if path == "torchfx" {
			path = "."
		}
		files, err := filepath.Glob(filepath.Join("..", path, "*_test.go"))
		require.NoError(t, err)
		declared := regexp.MustCompile(`(?m)^func ` + regexp.QuoteMeta(function) + `\(`)
		assert.True(t, slices.ContainsFunc(files, func(name string) bool {
			data, err := os.ReadFile(name)
			return err == nil && declared.Match(data)
		}), "%s: no %s in %s", c, function, path)
	}
}

// TestFXTestsAreCases has every line of the list name a recorded case, in order.
func TestFXTestsAreCases(t *testing.T) {
	root := testenv.Fixtures(t, "fx")
	var cases []string
	for line := range strings.Lines(fxTests) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		f := strings.Fields(line)
		require.Len(t, f, 2, line)
		assert.DirExists(t, filepath.Join(root, f[0]))
		cases = append(cases, f[0])
	}
	assert.True(t, slices.IsSorted(cases), "expected the cases in order")
	assert.Len(t, slices.Compact(cases), len(cases), "expected each case once")
}

var update = flag.Bool("update", false, "write fxtests.txt anew from the tests that name a case")

// TestFXTestsListed finds the tests that are called after a recorded case, which
// must be listed; with -update they are added.
func TestFXTestsListed(t *testing.T) {
	root := testenv.Fixtures(t, "fx")
	found := testsOfCases(t, root)
	if !*update {
		for c := range found {
			assert.Contains(t, goTests(), c, "%s: go test ./parity -run TestFXTestsListed -update", found[c])
		}
		return
	}
	for c, test := range goTests() {
		found[c] = test // those that are called otherwise were put there by hand
	}
	var b strings.Builder
	for line := range strings.Lines(fxTests) {
		if strings.HasPrefix(line, "#") {
			b.WriteString(line)
		}
	}
	for _, c := range slices.Sorted(maps.Keys(found)) {
		b.WriteString(c + " " + found[c] + "\n")
	}
	require.NoError(t, os.WriteFile("fxtests.txt", []byte(b.String()), 0o644))
}

// testsOfCases maps the cases that need a Go test to a test whose name ends in
// theirs and that mentions them.
func testsOfCases(t *testing.T, root string) map[string]string {
	needs := map[string]string{} // by the end of a test's name
	cases, err := os.ReadDir(root)
	require.NoError(t, err)
	for _, c := range cases {
		if c.IsDir() && needsGoTest(t, filepath.Join(root, c.Name())) {
			needs[strings.ReplaceAll(c.Name(), "_", "")] = c.Name()
		}
	}
	files, err := filepath.Glob(filepath.Join("..", "*", "*_test.go"))
	require.NoError(t, err)
	front, err := filepath.Glob(filepath.Join("..", "*_test.go"))
	require.NoError(t, err)
	found := map[string]string{}
	for _, name := range append(files, front...) {
		pkg := filepath.Base(filepath.Dir(name))
		if pkg == "parity" {
			continue
		} else if pkg == ".." {
			pkg = "torchfx"
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv != nil || f.Body == nil || !strings.HasPrefix(f.Name.Name, "Test") {
				continue
			}
			ast.Inspect(f.Body, func(n ast.Node) bool {
				lit, ok := n.(*ast.BasicLit)
				if !ok || lit.Kind != token.STRING {
					return true
				}
				c, err := strconv.Unquote(lit.Value)
				end := strings.ReplaceAll(c, "_", "")
				if err == nil && needs[end] == c && c != "" && strings.HasSuffix(strings.ToLower(f.Name.Name), end) {
					found[c] = pkg + "." + f.Name.Name
				}
				return true
			})
		}
	}
	return found
}

// needsGoTest reports whether the files of a case leave something to a Go test.
func needsGoTest(t *testing.T, dir string) bool {
	name := filepath.Base(dir)
	if tables[name] != nil || notInFiles[name] != "" {
		return false
	}
	for _, part := range []string{"error.json", "result.json", filepath.Join("before", "nodes.json")} {
		if fileExists(filepath.Join(dir, part)) {
			return true
		}
	}
	if !fileExists(filepath.Join(dir, "io.json")) {
		return false
	}
	g, err := readFXGraph(dir, dir)
	require.NoError(t, err, name)
	return len(g.programFunctions()) > 0
}

func TestParseSpec(t *testing.T) {
	s, err := parseSpec("TreeSpec(tuple, None, [TreeSpec(dict, ['a', 'b'], [*,\n  *]),\n  TreeSpec(list, None, []),\n  *])")
	require.NoError(t, err)
	assert.Equal(t, 3, s.NumLeaves())
	assert.Equal(t, "TreeSpec(tuple, None, [TreeSpec(dict, ['a', 'b'], [*,\n    *]),\n  TreeSpec(list, None, []),\n  *])", s.String())
	for _, text := range []string{
		"TreeSpec(", "TreeSpec(tuple", "TreeSpec(tuple, None, [*", "TreeSpec(deque, 3, [])", "* *", "TreeSpec(dict, ['a, [*])",
		strings.Repeat("TreeSpec(list, None, [", 100),
	} {
		_, err := parseSpec(text)
		assert.ErrorContains(t, err, "structure", text)
	}
}
