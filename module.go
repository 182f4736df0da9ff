package torchfx

import (
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	"github.com/torchfx-go/torchfx/rewriter"
	torch "github.com/torchfx-go/torchfx/torchops"
	"github.com/torchfx-go/torchfx/tracer"
)

// The names of torch.fx's own front page, for programs that import this package
// alone. Each is the type of the package behind it.
type (
	Graph       = ir.Graph                // torch.fx.Graph
	GraphModule = ir.GraphModule          // torch.fx.GraphModule
	Node        = ir.Node                 // torch.fx.Node
	Tracer      = tracer.Tracer           // torch.fx.Tracer
	Proxy       = torch.Value             // torch.fx.Proxy
	Interpreter = interpreter.Interpreter // torch.fx.Interpreter
	Match       = rewriter.Match          // torch.fx.subgraph_rewriter.Match
)

// PH keeps a leaf of a concrete argument symbolic. Follows torch.fx.PH.
var PH = tracer.PH

// Wrap makes a Go function one call_function node of traces, under a name that
// has a module in it: "mylib.scale". See torchops.Wrap. Follows torch.fx.wrap.
func Wrap[F any](name string, f F) F { return torch.Wrap(name, f) }

// NewGraphModule makes a module of a graph and what the graph's targets name in
// root: the modules and tensors of an nn.Module, the attributes of a
// *GraphModule, a map from paths, or all that a *Tracer met in its last trace,
// constants included. It fails, as Python does, where root has no attribute of
// that path. Follows torch.fx.GraphModule(root, graph).
func NewGraphModule(root any, g *ir.Graph, opts ...ir.ModuleOption) (*ir.GraphModule, error) {
	if g == nil {
		return nil, ir.Errorf(ir.ErrAssertion, "graph module: Expected a Graph instance, but got nil")
	}
	attrs := map[string]any{}
	switch root := root.(type) {
	case map[string]any:
		attrs = root
	case *ir.GraphModule:
		for path, v := range root.Attrs() {
			attrs[path] = v
		}
	case *tracer.Tracer:
		attrs = root.Attrs()
	case nn.Module:
		named := map[string]bool{}
		for n := range g.Nodes() {
			named[n.Target().String()] = n.Op() == ir.GetAttr || n.Op() == ir.CallModule || named[n.Target().String()]
		}
		for path, m := range nn.Modules(root) {
			if named[path] {
				attrs[path] = m
			}
		}
		for t := range nn.Tensors(root) {
			if named[t.Name] {
				attrs[t.Name] = t.Tensor
			}
		}
	default:
		return nil, ir.Errorf(ir.ErrRuntime, "graph module: expected an nn.Module, a *GraphModule, a *Tracer or a map as root, got %T", root)
	}
	return ir.NewGraphModule(attrs, g, opts...)
}
