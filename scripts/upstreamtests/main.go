// Command upstreamtests prints what PyTorch's own tests of torch.fx hold, with the Go
// test that checks the same beside each, and fails when one is missing.
//
//	go run ./scripts/upstreamtests [-missing]
//
// tests.txt beside this file is the list. A Go test names what it checks in a comment
// above it, or above the subtest inside it:
//
//	// upstream: test_fx.TestFX.test_dict
package main

import (
	"bufio"
	_ "embed"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

//go:embed tests.txt
var listText string

// An entry is one line of the list.
type entry struct {
	name, mark, checks, note string
	section                  string
	tests                    []string // Go tests that name it
}

func main() {
	missing := flag.Bool("missing", false, "print only what no Go test names")
	flag.Parse()
	root, err := moduleRoot()
	if err == nil {
		err = run(os.Stdout, os.DirFS(root), listText, *missing)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "upstreamtests:", err)
		os.Exit(1)
	}
}

// moduleRoot is the folder of go.mod, from the current one up.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	for err == nil {
		if _, statErr := os.Stat(filepath.Join(dir, "go.mod")); statErr == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", fmt.Errorf("no go.mod here or above")
		}
		dir = parent
	}
	return "", err
}

// run prints the list and returns what is wrong with it.
func run(w io.Writer, tree fs.FS, list string, onlyMissing bool) error {
	entries, err := parseList(list)
	if err != nil {
		return err
	}
	byName := map[string]*entry{}
	for _, e := range entries {
		if byName[e.name] != nil {
			return fmt.Errorf("tests.txt: %s stands there twice", e.name)
		}
		byName[e.name] = e
	}
	found, err := scan(tree)
	if err != nil {
		return err
	}
	var faults []string
	for _, f := range found {
		e := byName[f.upstream]
		switch {
		case e == nil:
			faults = append(faults, fmt.Sprintf("%s names %s, which tests.txt does not have", f.test, f.upstream))
		case e.mark == "N":
			faults = append(faults, fmt.Sprintf("%s names %s, which tests.txt says does not apply", f.test, f.upstream))
		case !slices.Contains(e.tests, f.test):
			e.tests = append(e.tests, f.test)
		}
	}
	counts := map[string]int{}
	section := ""
	for _, e := range entries {
		lacks := e.mark != "N" && len(e.tests) == 0
		if lacks {
			faults = append(faults, "no Go test names "+e.name)
		}
		counts[e.mark]++
		if onlyMissing && !lacks {
			continue
		}
		if e.section != section {
			section = e.section
			fmt.Fprintf(w, "\n%s\n", section)
		}
		fmt.Fprintf(w, "%s %s: %s\n", e.mark, e.name, e.checks)
		if e.note != "" {
			fmt.Fprintf(w, "      not here: %s\n", e.note)
		}
		for _, t := range e.tests {
			fmt.Fprintf(w, "    %s\n", t)
		}
	}
	fmt.Fprintf(w, "\n%d checked as they are, %d in the part that applies, %d that do not apply\n", counts["Y"], counts["P"], counts["N"])
	if len(faults) > 0 {
		return fmt.Errorf("%d faults:\n  %s", len(faults), strings.Join(faults, "\n  "))
	}
	return nil
}

func parseList(text string) ([]*entry, error) {
	var entries []*entry
	section := ""
	s := bufio.NewScanner(strings.NewReader(text))
	for number := 1; s.Scan(); number++ {
		line := strings.TrimSpace(s.Text())
		if rest, ok := strings.CutPrefix(line, "## "); ok {
			section = rest
		}
		if line == "" || line[0] == '#' {
			continue
		}
		f := strings.Split(line, " | ")
		if len(f) < 3 || len(f) > 4 || !slices.Contains([]string{"Y", "P", "N"}, f[1]) || (f[1] == "Y") != (len(f) == 3) {
			return nil, fmt.Errorf("tests.txt:%d: expected a name, a mark and what it checks, and for P and N why it is not all here, got %q", number, line)
		}
		e := &entry{name: f[0], mark: f[1], checks: f[2], section: section}
		if len(f) == 4 {
			e.note = f[3]
		}
		entries = append(entries, e)
	}
	return entries, s.Err()
}

// A naming is a comment of a Go test.
type naming struct{ upstream, test string }

var (
	comment = regexp.MustCompile(`^// upstream: (\S+)$`)
	literal = regexp.MustCompile(`"((?:[^"\\]|\\.)*)"`)
)

// scan finds the comments in all Go tests below a folder.
func scan(tree fs.FS) (found []naming, err error) {
	err = fs.WalkDir(tree, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") && path != "." || d.Name() == "testdata" || d.Name() == "third_party") {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		data, err := fs.ReadFile(tree, path)
		if err != nil || !strings.Contains(string(data), "// upstream: ") {
			return err
		}
		more, err := scanFile(path, data)
		found = append(found, more...)
		return err
	})
	return found, err
}

func scanFile(path string, data []byte) ([]naming, error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, data, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	lines := strings.Split(string(data), "\n")
	var found []naming
	for _, group := range file.Comments {
		for _, c := range group.List {
			m := comment.FindStringSubmatch(c.Text)
			if m == nil {
				if strings.Contains(c.Text, "upstream:") {
					return nil, fmt.Errorf("%s: expected \"// upstream: name\", got %q", set.Position(c.Pos()), c.Text)
				}
				continue
			}
			f := around(file, c)
			if f == nil {
				return nil, fmt.Errorf("%s: expected the comment above or in a test", set.Position(c.Pos()))
			}
			test := filepath.ToSlash(filepath.Dir(path)) + "." + f.Name.Name
			if c.Pos() > f.Pos() && set.Position(group.End()).Line < len(lines) {
				// the subtest is named on the line below
				if sub := literal.FindStringSubmatch(lines[set.Position(group.End()).Line]); sub != nil {
					test += "/" + strings.ReplaceAll(sub[1], " ", "_")
				}
			}
			found = append(found, naming{m[1], test})
		}
	}
	return found, nil
}

// around returns the test that a comment stands in or above.
func around(file *ast.File, c *ast.Comment) *ast.FuncDecl {
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.End() < c.Pos() {
			continue
		}
		for _, prefix := range []string{"Test", "Example", "Fuzz"} {
			if strings.HasPrefix(f.Name.Name, prefix) && (f.Doc != nil && f.Doc.Pos() <= c.Pos() || f.Pos() <= c.Pos()) {
				return f
			}
		}
		return nil
	}
	return nil
}
