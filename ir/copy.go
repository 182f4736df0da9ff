package ir

// CopyNode appends a copy of n, from this graph or another, at the insertion
// point. f gives the argument in this graph for each node that n reads; nil
// leaves them as they are. The copy's name is made from n's name; meta is copied
// shallowly. It fails with [ErrKey], and makes nothing, when f has no argument
// for a node and returns nil.
func (g *Graph) CopyNode(n *Node, f func(*Node) Arg) (*Node, error) {
	args, kwargs := n.args, n.kwargs
	if f != nil {
		var missing *Node
		find := func(m *Node) Arg {
			a := f(m)
			if a == nil && missing == nil {
				missing = m
			}
			return a
		}
		args, kwargs = mapOperands(n, find)
		if missing != nil {
			return nil, Errorf(ErrKey, "copy %s: expected a value for its operand %s, got none", n.name, missing.name)
		}
	}
	c := g.create(n.op, n.target, args, nodeConfig{name: n.name, typ: n.typ, kwargs: kwargs})
	c.meta.CopyFrom(&n.meta)
	return c, nil
}

// mapOperands returns the operands of n with f applied to the nodes in them.
func mapOperands(n *Node, f func(*Node) Arg) ([]Arg, []Keyword) {
	args, kwargs := make([]Arg, len(n.args)), make([]Keyword, len(n.kwargs))
	for i, a := range n.args {
		args[i] = MapNodes(a, f)
	}
	for i, k := range n.kwargs {
		kwargs[i] = Keyword{k.Name, MapNodes(k.Value, f)}
	}
	return args, kwargs
}

// CopyFrom appends copies of the nodes of src that mapping does not have yet, up
// to its output, and adds them to mapping. An entry that is there already stands
// for its node, which is how a graph is inlined: map its placeholders to values
// of g. A nil mapping is an empty one that the caller does not want to see.
//
// out is what src returns, in terms of g, and output src's output node; both are
// nil where src has none. It fails with [ErrKey], having copied some nodes, when
// a node reads one that is not in mapping.
func (g *Graph) CopyFrom(src *Graph, mapping map[*Node]Arg) (out Arg, output *Node, err error) {
	if mapping == nil {
		mapping = map[*Node]Arg{}
	}
	for n := range src.Nodes() {
		if _, done := mapping[n]; done {
			continue
		}
		find := func(m *Node) Arg { return mapping[m] }
		if n.op == Output {
			var missing *Node
			out = MapNodes(n.Arg(0), func(m *Node) Arg {
				a := find(m)
				if a == nil {
					missing = m
				}
				return a
			})
			if missing != nil {
				return nil, nil, Errorf(ErrKey, "copy %s: expected a value for its operand %s, got none", n.name, missing.name)
			}
			return out, n, nil
		}
		c, err := g.CopyNode(n, find)
		if err != nil {
			return nil, nil, err
		}
		mapping[n] = c
	}
	return nil, nil, nil
}

// Clone returns a copy of g, with its code generator, that belongs to no module.
// Unlike torch.fx's deep copy it keeps nodes that follow the output, and names
// that a file brought and Python reserves.
func (g *Graph) Clone() *Graph {
	c := NewGraph()
	c.TakeCodeGen(g)
	c.names.grow(g.Len())
	copies := newNodeTable[*Node](g)
	for n := range g.Nodes() {
		// free in the copy, unless somebody broke the rule that names are unique
		exact := c.names.reserve(n.name)
		m := c.create(n.op, n.target, nil, nodeConfig{name: n.name, exact: exact, typ: n.typ})
		m.meta.CopyFrom(&n.meta)
		copies.set(n, m)
	}
	// in a second walk, so that a graph in a wrong order is copied as it is
	swap := func(n *Node) Arg {
		if m := copies.get(n); m != nil {
			return m
		}
		return n
	}
	for n := range g.Nodes() {
		args, kwargs := mapOperands(n, swap)
		copies.get(n).setOperands(args, kwargs)
	}
	return c
}
