package rewriter

import "github.com/torchfx-go/torchfx/ir"

// takeAttributes gives m what the new nodes name and m lacks, from the module
// that they were copied from.
func takeAttributes(m *ir.GraphModule, made []*ir.Node, source *ir.GraphModule) error {
	if source == nil || source == m {
		return nil
	}
	for _, n := range made {
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
