// Command tracevet is a check for go vet: it reports comparisons by == of tensors and
// other traced values, which compare handles and not elements, and which a trace does
// not see.
//
//	go build -o bin/tracevet ./scripts/tracevet
//	go vet -vettool=bin/tracevet ./...
//
// Comparisons with nil are fine. go vet calls the command once a package, with a file
// that says where its sources and the export data of its imports are.
package main

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"strings"
)

// traced are the types whose values may stand for nodes and that Go can compare; the
// compiler refuses it of SymInt and SymBool.
var traced = map[string]bool{
	"*github.com/torchfx-go/torchfx/torchops.Tensor": true,
	"github.com/torchfx-go/torchfx/torchops.Value":   true,
}

// A unit is what go vet tells of a package.
type unit struct {
	ID, Compiler, ImportPath  string
	GoFiles                   []string
	ImportMap                 map[string]string
	PackageFile               map[string]string
	VetxOnly                  bool
	VetxOutput, Stdout        string // files that are expected, or ""
	SucceedOnTypecheckFailure bool
}

func main() {
	code, err := run(os.Args[1:], os.Stdout, os.Stderr)
	if err != nil {
		fmt.Fprintln(os.Stderr, "tracevet:", err)
	}
	os.Exit(code)
}

func run(args []string, out, report io.Writer) (code int, err error) {
	switch {
	case len(args) == 1 && args[0] == "-V=full":
		fmt.Fprintln(out, "tracevet version devel buildID=tracevet-1")
		return 0, nil
	case len(args) == 1 && args[0] == "-flags":
		fmt.Fprintln(out, "[]")
		return 0, nil
	case len(args) == 0 || len(args) > 2 || !strings.HasSuffix(args[len(args)-1], ".cfg") || len(args) == 2 && args[0] != "-json":
		return 2, fmt.Errorf("expected to be called by go vet -vettool, got %q", args)
	}
	data, err := os.ReadFile(args[len(args)-1])
	if err != nil {
		return 1, err
	}
	var u unit
	if err := json.Unmarshal(data, &u); err != nil {
		return 1, err
	}
	if u.VetxOutput != "" { // nothing is told to packages that import this one
		if err := os.WriteFile(u.VetxOutput, nil, 0o666); err != nil {
			return 1, err
		}
	}
	if u.VetxOnly {
		return 0, nil
	}
	found, err := check(u)
	if err != nil {
		if u.SucceedOnTypecheckFailure {
			return 0, nil
		}
		return 1, err
	}
	if len(args) == 2 {
		tree := map[string]map[string][]finding{}
		if len(found) > 0 {
			tree[u.ID] = map[string][]finding{"tracevet": found}
		}
		data, err := json.Marshal(tree)
		if err == nil && u.Stdout != "" {
			return 0, os.WriteFile(u.Stdout, data, 0o666)
		}
		fmt.Fprintln(out, string(data))
		return 0, err
	}
	for _, f := range found {
		fmt.Fprintf(report, "%s: %s\n", f.Posn, f.Message)
	}
	if len(found) > 0 {
		return 2, nil
	}
	return 0, nil
}

// A finding is one comparison, as go vet reads it.
type finding struct {
	Posn    string `json:"posn"`
	Message string `json:"message"`
}

// check returns the comparisons in a package.
func check(u unit) (found []finding, err error) {
	set := token.NewFileSet()
	var files []*ast.File
	for _, name := range u.GoFiles {
		f, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	lookup := func(path string) (io.ReadCloser, error) {
		if mapped, ok := u.ImportMap[path]; ok {
			path = mapped
		}
		file, ok := u.PackageFile[path]
		if !ok {
			return nil, fmt.Errorf("expected export data of %s, got none", path)
		}
		return os.Open(file)
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	config := types.Config{Importer: importer.ForCompiler(set, u.Compiler, lookup), GoVersion: ""}
	if _, err := config.Check(u.ImportPath, set, files, info); err != nil {
		return nil, err
	}
	return comparisons(set, files, info), nil
}

func comparisons(set *token.FileSet, files []*ast.File, info *types.Info) (found []finding) {
	isTraced := func(e ast.Expr) bool {
		t := info.Types[e]
		return t.Type != nil && !t.IsNil() && traced[t.Type.String()]
	}
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			b, ok := n.(*ast.BinaryExpr)
			if ok && (b.Op == token.EQL || b.Op == token.NEQ) && isTraced(b.X) && isTraced(b.Y) {
				found = append(found, finding{set.Position(b.OpPos).String(), b.Op.String() + " compares handles, not elements, and no trace sees it: call Eq or Ne"})
			}
			return true
		})
	}
	return found
}
