package passes

import (
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// RemoveDropout takes the calls of Dropout modules out of m's graph, so that it
// computes what it does in evaluation, and returns the names of the nodes that are
// gone. The modules go, too, unless something else names them. Modules of other
// classes, Dropout2d among them, stay. It fails with class ir.ErrAssertion, and
// changes nothing, at a call that has not just one argument. Follows
// torch.fx.experimental.optimization.remove_dropout.
func RemoveDropout(m *ir.GraphModule) ([]string, error) {
	if m == nil {
		return nil, ir.Errorf(ir.ErrInput, "remove dropout: expected a graph module, got nil")
	}
	var calls []*ir.Node
	for _, n := range m.Graph().Find(ir.CallModule, nil) {
		v, _ := m.Attr(n.Target().String())
		if moduleClass(v) != "torch.nn.modules.dropout.Dropout" {
			continue
		}
		if _, ok := n.Arg(0).(*ir.Node); !ok || len(n.Args()) != 1 {
			return nil, ir.Errorf(ir.ErrAssertion, "remove dropout: Expected 1 arg for Dropout, got %d at %s", len(n.Args()), n.Format())
		}
		calls = append(calls, n)
	}
	var gone []string
	for _, n := range calls {
		n.ReplaceAllUsesWith(n.Arg(0).(*ir.Node))
		if err := m.Graph().Erase(n); err != nil {
			return gone, err
		}
		gone = append(gone, n.Name())
	}
	for _, n := range calls {
		dropUnnamed(m, n.Target().String())
	}
	return gone, nil
}

// dropUnnamed removes the module at a path unless a node names it, or something
// below or above it.
func dropUnnamed(m *ir.GraphModule, path string) {
	for n := range m.Graph().Nodes() {
		if n.Op() != ir.CallModule && n.Op() != ir.GetAttr {
			continue
		}
		p := n.Target().String()
		if p == path || strings.HasPrefix(p, path+".") || strings.HasPrefix(path, p+".") {
			return
		}
	}
	m.DeleteSubmodule(path)
}
