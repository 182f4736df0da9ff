package parity

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"github.com/torchfx-go/torchfx/ir"
)

// A Kind is a layout of recorded cases.
type Kind string

// The kinds.
const (
	Program    Kind = "pt2"     // a program with inputs and what it computed
	BadFile    Kind = "pt2-bad" // an archive that must be refused, or must load
	Unreadable Kind = ""        // a meta.json that cannot be read or is of no known layout
)

// A Case is a folder that holds one recorded case.
type Case struct {
	Dir  string // the folder
	Name string // how reports call it: the path below what the caller gave, with its last element
	Kind Kind

	meta  *caseMeta
	calls *callGroup // of Operators
	err   error      // why the kind is not known
}

// Find returns the cases in and below each path, in lexical order, without
// repetitions. only, where it is not nil, picks the cases whose name it matches.
//
// A path that does not exist, one that holds no case at all, and an expression
// that picks none is an error, lest nothing replayed look like success; a case
// that cannot be read is returned with its error inside, to be reported by [Run]
// as failed.
func Find(paths []string, only *regexp.Regexp) ([]*Case, error) {
	var cases []*Case
	seen := map[string]bool{}
	for _, root := range paths {
		n := 0
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			dir := filepath.Dir(path)
			if !d.IsDir() && isCalls(d.Name()) {
				n++
				if first(seen, path) {
					more, err := readCalls(root, path, only)
					cases = append(cases, more...)
					return err
				}
				return nil
			}
			if d.IsDir() || d.Name() != "meta.json" && (d.Name() != "program.py" || !isFX(dir)) {
				return nil
			}
			n++
			if !first(seen, dir) {
				return nil
			}
			c := readCase(root, dir)
			if only == nil || only.MatchString(c.Name) {
				cases = append(cases, c)
			}
			return nil
		})
		if err != nil {
			return nil, ir.Errorf(ir.ErrValue, "find cases: %w", err)
		}
		if n == 0 {
			return nil, ir.Errorf(ir.ErrValue, "find cases: expected folders with a meta.json below %s, found none, nor files of calls", root)
		}
	}
	if len(cases) == 0 {
		return nil, ir.Errorf(ir.ErrValue, "find cases: no case of these paths matches %s", only)
	}
	return cases, nil
}

// first reports whether a path was not seen before, and notes it.
func first(seen map[string]bool, path string) bool {
	abs := absolute(path)
	if seen[abs] {
		return false
	}
	seen[abs] = true
	return true
}

// readCase tells the kind of the case in dir.
func readCase(root, dir string) *Case {
	c := &Case{Dir: dir, Name: caseName(root, dir)}
	if isFX(dir) {
		c.Kind = FX
		return c
	}
	if c.meta, c.err = readMeta(dir); c.err != nil {
		return c
	}
	switch {
	case c.meta.Must != "" && c.meta.File != "":
		c.Kind = BadFile
	case c.meta.Sets != nil && fileExists(filepath.Join(dir, "model.pt2")):
		c.Kind = Program
	default:
		c.err = ir.Errorf(ir.ErrUnsupported, "layout: expected a program with input sets or a broken archive with what must happen, found neither in %s", dir)
	}
	return c
}

// caseName is the path of dir from the folder that holds root, so that a line
// tells pt2/2.15.0/linear_relu from pt2/2.9.1/linear_relu when both are replayed
// by their own paths.
func caseName(root, dir string) string {
	abs, err := filepath.Abs(root)
	if err != nil {
		return dir
	}
	name, err := filepath.Rel(filepath.Dir(abs), absolute(dir))
	if err != nil {
		return dir
	}
	return filepath.ToSlash(name)
}

func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

func fileExists(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}
