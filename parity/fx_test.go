package parity

import (
	"archive/tar"
	"cmp"
	"compress/gzip"
	"context"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
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
	for c, g := range goTests() {
		if g.test == "" {
			continue
		}
		path, function, ok := strings.Cut(g.test, ".")
		require.True(t, ok, "%s: expected package.Test, got %s", c, g.test)
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

// TestEveryFXCaseHasATest has the list name every recorded case, in order, each
// with the test that builds its program or with why no Go program can be it.
func TestEveryFXCaseHasATest(t *testing.T) {
	root := testenv.Fixtures(t, "fx")
	entries, err := os.ReadDir(root)
	require.NoError(t, err)
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		g, ok := goTests()[e.Name()]
		assert.True(t, ok, "%s: expected a Go test, or a reason why there can be none, in fxtests.txt", e.Name())
		assert.True(t, !ok || g.test != "" && g.reason == "" || len(g.reason) >= 20, "%s: expected a test or a reason, got %q", e.Name(), g)
	}
	var cases []string
	for line := range strings.Lines(fxTests) {
		if !strings.HasPrefix(line, "#") {
			cases = append(cases, strings.Fields(line)[0])
			assert.DirExists(t, filepath.Join(root, cases[len(cases)-1]))
		}
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
		for c, test := range found {
			assert.Equal(t, test, goTests()[c].test, "%s: go test ./parity -run TestFXTestsListed -update", c)
		}
		return
	}
	lines := map[string]string{}
	for c, g := range goTests() { // those that are called otherwise were put there by hand
		lines[c] = cmp.Or(found[c], g.test)
		if g.reason != "" {
			lines[c] = strings.TrimSpace(lines[c] + " - " + g.reason)
		}
	}
	for c, test := range found {
		if _, known := lines[c]; !known {
			lines[c] = test
		}
	}
	var b strings.Builder
	for line := range strings.Lines(fxTests) {
		if strings.HasPrefix(line, "#") {
			b.WriteString(line)
		}
	}
	for _, c := range slices.Sorted(maps.Keys(lines)) {
		b.WriteString(c + " " + lines[c] + "\n")
	}
	require.NoError(t, os.WriteFile("fxtests.txt", []byte(b.String()), 0o644))
}

// testsOfCases maps cases to the test that is called after them: TestTrace_ and
// the name, or a name that ends in theirs of a test that mentions them.
func testsOfCases(t *testing.T, root string) map[string]string {
	byEnd, isCase := map[string]string{}, map[string]bool{}
	cases, err := os.ReadDir(root)
	require.NoError(t, err)
	for _, c := range cases {
		isCase[c.Name()] = c.IsDir()
		byEnd[strings.ReplaceAll(c.Name(), "_", "")] = c.Name()
	}
	found := map[string]string{}
	file := func(pkg, name string) {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv != nil || f.Body == nil || !strings.HasPrefix(f.Name.Name, "Test") {
				continue
			}
			if c, ok := strings.CutPrefix(f.Name.Name, "TestTrace_"); ok && isCase[c] {
				found[c] = pkg + "." + f.Name.Name
				continue
			}
			ast.Inspect(f.Body, func(n ast.Node) bool {
				lit, ok := n.(*ast.BasicLit)
				if !ok || lit.Kind != token.STRING {
					return true
				}
				c, err := strconv.Unquote(lit.Value)
				end := strings.ReplaceAll(c, "_", "")
				if err == nil && isCase[c] && byEnd[end] == c && strings.HasSuffix(strings.ToLower(f.Name.Name), strings.ToLower(end)) {
					found[c] = pkg + "." + f.Name.Name
				}
				return true
			})
		}
	}
	err = filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); path != ".." && (name == "testdata" || name == "third_party" || name == "parity" || name[0] == '.') {
				return fs.SkipDir
			}
			return nil
		}
		if strings.HasSuffix(path, "_test.go") {
			pkg := strings.TrimPrefix(filepath.ToSlash(filepath.Dir(path)), "../")
			if pkg == ".." {
				pkg = "torchfx"
			}
			file(pkg, path)
		}
		return nil
	})
	require.NoError(t, err)
	return found
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

// TestReplayFXCommitted replays the cases that scripts/record_fxcases.py made.
func TestReplayFXCommitted(t *testing.T) {
	testenv.Libtorch(t)
	f, err := os.Open(filepath.Join("testdata", "fx.tar.gz"))
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	dir := t.TempDir()
	cases := map[string]bool{}
	for archive := tar.NewReader(z); ; {
		h, err := archive.Next()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		require.True(t, filepath.IsLocal(h.Name), h.Name)
		name := filepath.Join(dir, h.Name)
		cases[strings.SplitN(h.Name, "/", 2)[0]] = true
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o700))
		data, err := io.ReadAll(archive)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(name, data, 0o600))
	}
	report, err := Run(context.Background(), []string{dir}, Options{})
	require.NoError(t, err)
	require.Len(t, report.Results, len(cases))
	require.Greater(t, len(cases), 20)
	for _, r := range report.Results {
		assert.Equal(t, Passed, r.Status, "%s: %v %v %s", r.Case, r.Faults, r.Diffs, r.Note)
		assert.NotContains(t, r.Note, "no run", r.Case)
	}
}
