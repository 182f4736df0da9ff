// Command genapi writes the typed functions and methods of package torchops, and
// the packages linalg, fft and special below it, from the tables of signatures.
//
//	go run ./scripts/genapi           # writes torchops/api_*.go and torchops/{linalg,fft,special}
//	go run ./scripts/genapi -dir DIR  # below another root
//
// What it reads: torchops/signatures.txt (functions that Python binds to C++, in the
// parser's order), torchops/composed.txt (those that are Python code), the schemas of
// package ir for what they return, docs.txt for what they do, shapes.txt for the rules of
// their shapes and dtypes, and names.txt for what is decided by hand. Names that torchops
// already has are left alone.
//
// A function takes what all overloads of a form take in the same places, typed,
// and the rest as options: further arguments in Python's order, then Kw. Overloads
// that return another number of results are a form of their own, MaxDim beside Max.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	dir := flag.String("dir", ".", "root of the module to write to")
	flag.Parse()
	files, err := generate(".")
	if err == nil {
		err = write(*dir, files)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "genapi:", err)
		os.Exit(1)
	}
}

func write(dir string, files map[string][]byte) error {
	old, err := generated(dir)
	if err != nil {
		return err
	}
	for _, name := range old {
		if _, kept := files[name]; !kept {
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				return err
			}
		}
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// generated lists the files below a root that this command has written.
func generated(root string) (names []string, err error) {
	for _, pattern := range []string{"torchops/api_*.go", "torchops/linalg/api.go", "torchops/fft/api.go", "torchops/special/api.go"} {
		paths, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			name, err := filepath.Rel(root, path)
			if err != nil {
				return nil, err
			}
			names = append(names, filepath.ToSlash(name))
		}
	}
	return names, nil
}
