package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
)

// A decision is what names.txt says of a Python name.
type decision struct {
	goName string   // of what is written by hand, "" otherwise
	reason string   // why there is no Go name, "" where there is
	params string   // Python's parameters, where no table has them
	forms  []form   // what it returns, one Go function each
	given  bool     // params and forms are given
	_      struct{} // by name
}

// A form is one way in which a function returns.
type form struct {
	suffix  string   // of the Go name
	results []string // Go types
	names   []string // of the results, where there are several
	fixed   []string // keyword arguments that make it return so: "return_inverse=true"
}

// readDecisions reads names.txt; its head describes it.
func readDecisions(root string) (map[string]decision, error) {
	text, err := os.ReadFile(filepath.Join(root, "scripts/genapi/names.txt"))
	if err != nil {
		return nil, err
	}
	all, reason := map[string]decision{}, ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\n")
		switch {
		case line == "" || line[0] == '#':
		case line[0] == '=':
			reason = strings.TrimSpace(line[1:])
		case strings.Contains(line, "\t"):
			columns := strings.Split(line, "\t")
			if len(columns) == 2 {
				all[columns[0]] = decision{goName: columns[1]}
				continue
			}
			d := decision{params: columns[1], given: true}
			for _, column := range columns[2:] {
				d.forms = append(d.forms, readForm(column))
			}
			all[columns[0]] = d
		case reason == "":
			return nil, fmt.Errorf("names.txt: expected a reason before %q", line)
		default:
			for _, name := range strings.Fields(line) {
				all[name] = decision{reason: reason}
			}
		}
	}
	return all, nil
}

// readForm reads "All: output Tensor, counts Tensor; return_counts=true".
func readForm(text string) (f form) {
	text, fixed, _ := strings.Cut(text, "; ")
	if fixed != "" {
		f.fixed = strings.Split(fixed, ", ")
	}
	if suffix, rest, ok := strings.Cut(text, ": "); ok {
		f.suffix, text = suffix, rest
	}
	if text == "none" {
		return f
	}
	for part := range strings.SplitSeq(text, ", ") {
		name, typ, named := strings.Cut(part, " ")
		if !named {
			name, typ = "", part
		}
		f.names = append(f.names, name)
		f.results = append(f.results, typ)
	}
	return f
}

// readDocs reads what the functions do.
func readDocs(root string) (map[string]string, error) {
	text, err := os.ReadFile(filepath.Join(root, "scripts/genapi/docs.txt"))
	docs := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if name, doc, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			docs[name] = doc
		}
	}
	return docs, err
}

// written lists what package torchops declares by hand: functions, types, variables
// and constants by their names, methods of tensors as "Tensor.Name".
func written(root string) (map[string]bool, error) {
	names := map[string]bool{}
	paths, err := filepath.Glob(filepath.Join(root, "torchops/*.go"))
	if err != nil {
		return nil, err
	}
	for _, path := range paths {
		base := filepath.Base(path)
		if strings.HasPrefix(base, "api_") || strings.HasSuffix(base, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, d := range file.Decls {
			declared(d, names)
		}
	}
	return names, nil
}

func declared(d ast.Decl, names map[string]bool) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			names[d.Name.Name] = true
		} else if star, ok := d.Recv.List[0].Type.(*ast.StarExpr); ok && fmt.Sprint(star.X) == "Tensor" {
			names["Tensor."+d.Name.Name] = true
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				names[s.Name.Name] = true
			case *ast.ValueSpec:
				for _, n := range s.Names {
					names[n.Name] = true
				}
			}
		}
	}
}

// upper is the Go name of a Python one: index_add_ is IndexAddInPlace.
func upper(name string) string {
	if base, inPlace := strings.CutSuffix(name, "_"); inPlace {
		return upper(base) + "InPlace"
	}
	var b strings.Builder
	for part := range strings.SplitSeq(name, "_") {
		if part != "" {
			b.WriteString(strings.ToUpper(part[:1]) + part[1:])
		}
	}
	return b.String()
}

// lower is the Go name of a parameter; words of Go are written out of its way.
func lower(name string) string {
	s := upper(name)
	if strings.ToUpper(s) == s {
		s = strings.ToLower(s)
	}
	s = strings.ToLower(s[:1]) + s[1:]
	switch {
	case s == "var":
		return "variance"
	case token.IsKeyword(s), s == "any", s == "options", s == "with", s == "call", s == "string", s == "x":
		return s + "Arg"
	}
	return s
}
