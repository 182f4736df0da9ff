package rewriter

import "github.com/torchfx-go/torchfx/ir"

// takeAttributes gives m what the nodes of a replacement name and m lacks, from
// the module that the replacement belongs to. The targets of a graph by itself are
// not looked at: who made it may still set them.
func takeAttributes(m *ir.GraphModule, with *ir.Graph) error {
	source := with.Owner()
	if source == nil {
		return nil
	}
	for n := range with.Nodes() {
		if n.Op() != ir.GetAttr && n.Op() != ir.CallModule {
			continue
		}
		path := n.Target().String()
		if _, has := m.Attr(path); has {
			continue
		}
		v, ok := source.Attr(path)
		if !ok {
			return ir.Errorf(ir.ErrRuntime, "replace: Attempted to create a %q node during subgraph rewriting with target %s, "+
				"but the referenced attribute does not exist in the replacement GraphModule", n.Op(), path)
		}
		if sub, ok := v.(*ir.GraphModule); ok {
			v = sub.Clone()
		}
		if n.Op() == ir.GetAttr {
			setAttr(m, path, v)
		} else if !m.AddSubmodule(path, v) {
			return ir.Errorf(ir.ErrAttribute, "replace: expected a module above %s to take the replacement's, got another value", path)
		}
	}
	return nil
}

// setAttr sets an attribute where its path leads to, in a nested module too.
func setAttr(m *ir.GraphModule, path string, v any) {
	for i := range len(path) {
		if path[i] != '.' {
			continue
		}
		if inner, _ := m.Attr(path[:i]); inner != nil {
			if sub, ok := inner.(*ir.GraphModule); ok {
				setAttr(sub, path[i+1:], v)
				return
			}
		}
	}
	m.SetAttr(path, v)
}
