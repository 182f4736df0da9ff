package parity

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// An fxGraph is a recorded graph, built again from its nodes.
type fxGraph struct {
	dir     string
	program *fxProgram
	file    fxNodes
	module  *ir.GraphModule
	subs    []fxSub
}

// An fxSub is a child that is a graph module.
type fxSub struct {
	path  string
	graph *fxGraph
}

// fxNodes is a nodes.json.
type fxNodes struct {
	Class   string            `json:"class_name"`
	Globals map[string]string `json:"globals"`
	Imports []string          `json:"imports"`
	Lines   map[string]*int   `json:"lineno_map"`
	Start   int               `json:"prologue_start"`
	CodeGen string            `json:"codegen"`
	PyTree  *struct {
		Args []string `json:"orig_args"`
		In   string   `json:"in_spec"`
		Out  string   `json:"out_spec"`
	} `json:"pytree"`
	Nodes []fxNode `json:"nodes"`
}

type fxNode struct {
	Op     string                     `json:"op"`
	Name   string                     `json:"name"`
	Target string                     `json:"target"`
	Pretty string                     `json:"pretty_target"`
	Args   []json.RawMessage          `json:"args"`
	Kwargs [][2]json.RawMessage       `json:"kwargs"`
	Type   *string                    `json:"type"`
	Users  []string                   `json:"users"`
	Inputs []string                   `json:"inputs"`
	Meta   map[string]json.RawMessage `json:"meta"`
}

// fxModule is a row of modules.json.
type fxModule struct {
	Path     string                     `json:"path"`
	Type     string                     `json:"type"`
	Repr     string                     `json:"repr"`
	Training bool                       `json:"training"`
	Params   map[string]json.RawMessage `json:"parameters"`
	Buffers  map[string]json.RawMessage `json:"buffers"`
}

// readFXGraph reads the graph in dir and those below it. program is the folder
// of the case.
func readFXGraph(dir, program string) (*fxGraph, error) {
	g := &fxGraph{dir: dir, program: readProgram(filepath.Join(program, "program.py"))}
	if err := readJSON(filepath.Join(dir, "nodes.json"), &g.file); err != nil {
		return nil, err
	}
	subs, err := os.ReadDir(filepath.Join(dir, "submodules"))
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	for _, s := range subs {
		below := filepath.Join(dir, "submodules", s.Name())
		if !fileExists(filepath.Join(below, "nodes.json")) {
			continue
		}
		sub, err := readFXGraph(below, program)
		if err != nil {
			return nil, err
		}
		g.subs = append(g.subs, fxSub{s.Name(), sub})
	}
	graph, err := g.build()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, "nodes.json"), err)
	}
	rows, err := g.modules()
	if err != nil {
		return nil, err
	}
	g.nest(rows)
	return g, g.own(graph, rows)
}

// nest gives graph modules that stand inside others to these. All are recorded
// side by side, under their whole paths.
func (g *fxGraph) nest(rows []fxModule) {
	flat := g.subs
	g.subs = nil
	for _, s := range flat { // in order of the paths: a module comes before what is in it
		in, path := g, s.path
		for k := 0; k < len(in.subs); k++ {
			if rest, ok := strings.CutPrefix(path, in.subs[k].path+"."); ok {
				in, path, k = in.subs[k].graph, rest, -1
			}
		}
		in.subs = append(in.subs, fxSub{path, s.graph})
		if in != g {
			in.module.SetAttr(path, s.graph.module)
			in.order(rows, strings.TrimSuffix(s.path, path))
		}
	}
}

// order puts the children of the module at a path, which ends in a dot, into the
// order of the rows; nodes do not tell it.
func (g *fxGraph) order(rows []fxModule, prefix string) {
	for _, row := range rows {
		path, inside := strings.CutPrefix(row.Path, prefix)
		if inside && slices.ContainsFunc(g.subs, func(s fxSub) bool { return s.path == path }) {
			v, _ := g.module.Attr(path)
			g.module.DeleteAttr(path)
			g.module.SetAttr(path, v)
		}
	}
}

// modules returns the rows of modules.json, none where it is not there.
func (g *fxGraph) modules() ([]fxModule, error) {
	var rows []fxModule
	err := readJSON(filepath.Join(g.dir, "modules.json"), &rows)
	if os.IsNotExist(err) {
		return nil, nil
	}
	return rows, err
}

// build makes the graph of the nodes.
func (g *fxGraph) build() (*ir.Graph, error) {
	graph := ir.NewGraph()
	values := fxValues{program: g.program, nodes: map[string]*ir.Node{}}
	for _, row := range g.file.Nodes {
		n, err := g.node(graph, values, row)
		if err != nil {
			return nil, fmt.Errorf("node %s: %w", row.Name, err)
		}
		values.nodes[row.Name] = n
	}
	switch p := g.file.PyTree; {
	case p != nil:
		in, err := parseSpec(p.In)
		if err != nil {
			return nil, err
		}
		out, err := parseSpec(p.Out)
		if err != nil {
			return nil, err
		}
		graph.SetCodeGen(ir.PyTreeCodeGen{Args: p.Args, In: in, Out: out})
	case g.file.CodeGen == "_BoxedCodeGen":
		graph.SetCodeGen(ir.BoxedCodeGen{})
	}
	return graph, nil
}

func (g *fxGraph) node(graph *ir.Graph, values fxValues, row fxNode) (*ir.Node, error) {
	op, err := ir.ParseOp(row.Op)
	if err != nil {
		return nil, err
	}
	var target ir.Target = ir.Path(row.Target)
	if op == ir.CallFunction {
		target = ir.FuncOf(row.Target)
	}
	args, err := values.list(row.Args)
	if err != nil {
		return nil, err
	}
	var kwargs []ir.Keyword
	for _, k := range row.Kwargs {
		var name string
		if err := json.Unmarshal(k[0], &name); err != nil {
			return nil, err
		}
		v, err := values.arg(k[1])
		if err != nil {
			return nil, err
		}
		kwargs = append(kwargs, ir.Kw(name, v))
	}
	opts := []ir.NodeOption{ir.ExactName(row.Name), ir.Kwargs(kwargs...)}
	if row.Type != nil {
		opts = append(opts, ir.WithType(*row.Type))
	}
	n, err := graph.CreateNode(op, target, args, opts...)
	if err != nil {
		return nil, err
	}
	for key, raw := range row.Meta {
		if err := values.meta(n, key, raw); err != nil {
			return nil, fmt.Errorf("meta %s: %w", key, err)
		}
	}
	return n, nil
}

// absentModule stands for a module of the program.
type absentModule struct{}

// own gives the graph to a module. Its attributes are the graph modules below it
// and, for all else, nothing.
func (g *fxGraph) own(graph *ir.Graph, rows []fxModule) error {
	attrs := map[string]any{}
	for n := range graph.Nodes() {
		path := n.Target().String()
		below := func(s fxSub) bool { return strings.HasPrefix(path, s.path+".") }
		if (n.Op() == ir.GetAttr || n.Op() == ir.CallModule) && !slices.ContainsFunc(g.subs, below) {
			attrs[path] = &absentModule{}
		}
	}
	for _, s := range g.subs {
		attrs[s.path] = s.graph.module
	}
	m, err := ir.NewGraphModule(attrs, graph, ir.ClassName(g.file.Class))
	if err != nil {
		return err
	}
	g.module = m
	g.order(rows, "")
	return nil
}
