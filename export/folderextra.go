package export

import (
	"encoding/json"
	"errors"
	"os"

	"github.com/torchfx-go/torchfx/ir"
)

// maxFolderExtra bounds a graph.json in bytes.
const maxFolderExtra = 16 << 20

// folderFacts is what the code of a folder does not say and its reader needs:
// what this project writes beside it as graph.json.
type folderFacts struct {
	Globals []ir.Global         `json:"globals,omitempty"`
	Fields  map[string][]string `json:"namedtuple_fields,omitempty"` // by class
	In      string              `json:"in_spec,omitempty"`           // as torch.utils._pytree.treespec_dumps writes
	Out     string              `json:"out_spec,omitempty"`

	Classes map[string]folderFacts `json:"classes,omitempty"` // of the children that are graph modules
}

// readFolderFacts reads a graph.json; a folder without one is Python's.
func readFolderFacts(name string) (f folderFacts, err error) {
	data, err := readFile(name, maxFolderExtra)
	if errors.Is(err, os.ErrNotExist) {
		return f, nil
	}
	if err != nil {
		return f, err
	}
	if err := json.Unmarshal(data, &f); err != nil {
		return f, ir.Errorf(ir.ErrFormat, "%s: %w", folderExtra, err)
	}
	return f, nil
}

// options tells the reader of a class's code what the code does not say.
func (f folderFacts) options(class string) ([]ir.ParseOption, error) {
	if below, ok := f.Classes[class]; ok {
		return below.options("")
	}
	opts := []ir.ParseOption{ir.WithGlobals(f.Globals...)}
	for class, fields := range f.Fields {
		opts = append(opts, ir.WithFields(class, fields...))
	}
	if f.In == "" && f.Out == "" {
		return opts, nil
	}
	in, err := specOf(f.In)
	if err != nil {
		return nil, err
	}
	out, err := specOf(f.Out)
	if err != nil {
		return nil, err
	}
	return append(opts, ir.WithSpecs(in, out)), nil
}

func specOf(text string) (*ir.TreeSpec, error) {
	if text == "" {
		return nil, nil
	}
	s, err := ir.ParseTreeSpec(text, nil)
	if err != nil {
		return nil, ir.Errorf(ir.ErrFormat, "%s: %w", folderExtra, err)
	}
	return s, nil
}

// factsOf collects what the code of g does not say.
func factsOf(g *ir.Graph, code *ir.PythonCode) (folderFacts, error) {
	f := folderFacts{Globals: code.Globals, Fields: map[string][]string{}}
	for n := range g.Nodes() {
		for _, a := range n.Args() {
			f.namedTuples(a)
		}
		for _, k := range n.Kwargs() {
			f.namedTuples(k.Value)
		}
	}
	c, ok := g.CodeGen().(ir.PyTreeCodeGen)
	if !ok {
		return f, nil
	}
	var err error
	if c.In != nil {
		if f.In, err = c.In.JSON(); err != nil {
			return f, err
		}
	}
	if c.Out != nil {
		f.Out, err = c.Out.JSON()
	}
	return f, err
}

func (f folderFacts) namedTuples(a ir.Arg) {
	items := func(all func(func(int, ir.Arg) bool)) {
		for _, item := range all {
			f.namedTuples(item)
		}
	}
	switch a := a.(type) {
	case ir.NamedTuple:
		f.Fields[a.Type.Name()] = a.Fields
		items(a.All())
	case ir.Tuple:
		items(a.All())
	case ir.List:
		items(a.All())
	case ir.Dict:
		for _, v := range a.All() {
			f.namedTuples(v)
		}
	}
}
