package ir

// EliminateDeadCode erases the nodes that nobody reads and that have no effect,
// from the end of the graph to its start, and the same in the graph modules that
// get_attr nodes name; it reports whether it erased any. Placeholders stay. What
// counts as an effect, [Node.IsImpure] says. It fails, having changed nothing,
// when [Graph.Lint] finds a fault.
func (g *Graph) EliminateDeadCode(opts ...PurityOption) (changed bool, err error) {
	if err := CheckOptions("eliminate dead code", opts); err != nil {
		return false, err
	}
	if err := g.Lint(); err != nil {
		return false, err
	}
	var c purityConfig
	for _, o := range opts {
		o(&c)
	}
	for n := range g.Backward() {
		if n.NumUsers() > 0 || c.impure(n) {
			continue
		}
		if err := g.Erase(n); err != nil {
			return changed, err
		}
		changed = true
	}
	if g.owner == nil {
		return changed, nil
	}
	if c.own != nil {
		opts = nil // a predicate of the caller is about this graph's nodes
	}
	done := map[*GraphModule]bool{}
	for _, n := range g.Find(GetAttr, nil) {
		v, _ := g.owner.Attr(n.target.String())
		sub, ok := v.(*GraphModule)
		if !ok || done[sub] || sub.graph == g {
			continue
		}
		done[sub] = true
		below, err := sub.graph.EliminateDeadCode(opts...)
		if err != nil {
			return changed, err
		}
		changed = changed || below
	}
	return changed, nil
}
