package ir

import (
	"iter"
	"slices"
)

// A Node is one step of a Graph. It is made by the Graph's constructors, belongs
// to exactly one graph, and dies with [Graph.Erase]. A node is its pointer: names
// are for people. A nil *Node is no argument; Python's None is [None].
type Node struct {
	graph  *Graph
	at     *link     // place in the list; a move takes a new one, see Graph.Nodes
	op     Op        // one of the six opcodes
	target Target    // what is called, read or named; see Op
	args   []Arg     // positional operands; changed by setters only
	kwargs []Keyword // keyword operands in call order; changed by setters only
	inputs []*Node   // order of Inputs where it is not that of the operands; see InsertArg
	users  userSet   // who mentions this one, in order of first mention
	name   string    // unique in the graph
	number int       // unique in the graph, see nodeTable
	typ    string    // Python type annotation as text, "" for none
	meta   Meta      // shapes, source lines, ...; carried across copies
}

// A Keyword is one keyword argument.
type Keyword struct {
	Name  string
	Value Arg
}

// Kw makes a keyword argument.
func Kw(name string, value Arg) Keyword { return Keyword{name, value} }

// Graph returns the graph that n belongs to, nil once n is erased.
func (n *Node) Graph() *Graph { return n.graph }

// Op returns the opcode.
func (n *Node) Op() Op { return n.op }

// Target returns what n calls, reads or names.
func (n *Node) Target() Target { return n.target }

// Func returns the target of a call_function, nil for other nodes.
func (n *Node) Func() *Func { f, _ := n.target.(*Func); return f }

// Name returns the node's name, unique in its graph.
func (n *Node) Name() string { return n.name }

// String returns the name, as Python's str of a node does.
func (n *Node) String() string { return n.name }

// Type returns the Python type annotation, "" for none.
func (n *Node) Type() string { return n.typ }

// SetType sets the Python type annotation.
func (n *Node) SetType(t string) { n.typ = t }

// Meta returns the facts noted about n, to read and to write.
func (n *Node) Meta() *Meta { return &n.meta }

// Args returns the positional operands. The slice is the node's own: read it,
// and change it by [Node.SetArgs] only.
func (n *Node) Args() []Arg { return n.args }

// Arg returns positional operand i, or [None] where there is none.
func (n *Node) Arg(i int) Arg {
	if i < 0 || i >= len(n.args) {
		return None{}
	}
	return n.args[i]
}

// Kwargs returns the keyword operands in call order. The slice is the node's
// own: read it, and change it by [Node.SetKwargs] only.
func (n *Node) Kwargs() []Keyword { return n.kwargs }

// Kwarg returns the keyword operand called name.
func (n *Node) Kwarg(name string) (Arg, bool) {
	for _, k := range n.kwargs {
		if k.Name == name {
			return k.Value, true
		}
	}
	return nil, false
}

// Operands calls f with every node that n reads, in argument order, args before
// kwargs, with repetitions.
func (n *Node) Operands(f func(*Node)) {
	leaf := func(a Arg) {
		if m, ok := a.(*Node); ok {
			f(m)
		}
	}
	for _, a := range n.args {
		Walk(a, leaf)
	}
	for _, k := range n.kwargs {
		Walk(k.Value, leaf)
	}
}

// Inputs returns the nodes that n reads, in order of first mention, without
// repetitions. Same as torch.fx Node.all_input_nodes; see [Node.InsertArg].
func (n *Node) Inputs() []*Node {
	if n.inputs != nil {
		return slices.Clone(n.inputs)
	}
	var set userSet
	n.Operands(set.add)
	return set.snapshot()
}

// Users yields the nodes that mention n, in order of first mention. The walk is
// over the users of the moment it starts.
func (n *Node) Users() iter.Seq[*Node] { return slices.Values(n.users.snapshot()) }

// NumUsers returns how many nodes mention n.
func (n *Node) NumUsers() int { return n.users.live }

// HasUser reports whether user mentions n.
func (n *Node) HasUser(user *Node) bool { return n.users.has(user) }

// SetArgs replaces the positional operands; the slice is copied. As in torch.fx,
// n leaves the users of all its inputs and joins them again at their end, in
// order of args, then kwargs.
func (n *Node) SetArgs(args ...Arg) { n.setOperands(slices.Clone(args), n.kwargs) }

// SetKwargs replaces the keyword operands; the slice is copied. Users as in
// [Node.SetArgs].
func (n *Node) SetKwargs(kwargs ...Keyword) { n.setOperands(n.args, slices.Clone(kwargs)) }

// SetOperands replaces all operands at once; the slices are copied. Users as in
// [Node.SetArgs].
func (n *Node) SetOperands(args []Arg, kwargs []Keyword) {
	n.setOperands(slices.Clone(args), slices.Clone(kwargs))
}

// setOperands takes over the slices.
func (n *Node) setOperands(args []Arg, kwargs []Keyword) {
	n.Operands(func(m *Node) { m.users.remove(n) })
	noNil(args)
	for i, k := range kwargs {
		if k.Value == nil {
			kwargs[i].Value = None{}
		}
	}
	n.args, n.kwargs, n.inputs = args, kwargs, nil
	n.Operands(func(m *Node) { m.users.add(n) })
}

// UpdateArg replaces positional operand i; a negative i counts from the end.
func (n *Node) UpdateArg(i int, a Arg) error {
	j := i
	if j < 0 {
		j += len(n.args)
	}
	if j < 0 || j >= len(n.args) {
		return Errorf(ErrIndex, "update arg %d of %s, which has %d: list assignment index out of range", i, n.name, len(n.args))
	}
	args := slices.Clone(n.args)
	args[j] = a
	n.setOperands(args, n.kwargs)
	return nil
}

// InsertArg puts a before positional operand i, or at the end for i equal to
// their number. Unlike [Node.UpdateArg] it leaves n's place among the users of
// the other operands as it is, and a new input becomes the last of [Node.Inputs].
func (n *Node) InsertArg(i int, a Arg) error {
	if i < 0 || i > len(n.args) {
		return Errorf(ErrAssertion, "insert arg of %s, which has %d: insert_args index must be between 0 and len(self.args), got %d", n.name, len(n.args), i)
	}
	if a == nil {
		a = None{}
	}
	inputs := n.Inputs()
	n.args = slices.Insert(slices.Clone(n.args), i, a)
	Walk(a, func(leaf Arg) {
		if m, ok := leaf.(*Node); ok {
			if !m.users.has(n) {
				inputs = append(inputs, m)
			}
			m.users.add(n)
		}
	})
	n.inputs = inputs
	return nil
}

// UpdateKwarg sets or adds the keyword operand called name.
func (n *Node) UpdateKwarg(name string, a Arg) {
	kwargs := slices.Clone(n.kwargs)
	if i := slices.IndexFunc(kwargs, func(k Keyword) bool { return k.Name == name }); i >= 0 {
		kwargs[i].Value = a
	} else {
		kwargs = append(kwargs, Kw(name, a))
	}
	n.setOperands(n.args, kwargs)
}

// SetTarget changes what n calls, reads or names. It fails when the kind of
// target does not fit the opcode.
func (n *Node) SetTarget(t Target) error { return n.SetOp(n.op, t) }

// SetOp changes the opcode and the target together. It fails when they do not
// fit.
func (n *Node) SetOp(op Op, t Target) error {
	if err := checkTarget(op, t); err != nil {
		return err
	}
	n.op, n.target = op, t
	return nil
}

// Rename gives n a new name near candidate and returns it. The old name stays
// used.
func (n *Node) Rename(candidate string) string {
	if candidate == n.name {
		return n.name
	}
	g := n.mustLive("Rename")
	name := g.names.create(candidate)
	g.names.used[n.name] = nil
	g.names.used[name] = n
	n.setName(name)
	return name
}

// setName tells the owner's hooks of a new name and sets it.
func (n *Node) setName(name string) {
	if n.graph.owner != nil {
		for _, u := range n.users.snapshot() {
			n.graph.owner.replaced(n, name, u)
		}
	}
	n.name = name
}

// RenameAll names the nodes of g anew, in their order, as they would be named if
// they were created now: names of before do not count. Those that keep holds for
// keep theirs, and come first. It returns the names that changed, old to new.
// Follows torch.fx.passes.canonicalize.rename_nodes_to_canonical, which lets two
// nodes have one name where one of them keeps it.
func (g *Graph) RenameAll(keep func(*Node) bool) map[string]string {
	g.names = newNamespace()
	kept := map[*Node]bool{}
	for n := range g.Nodes() {
		if keep != nil && keep(n) {
			kept[n] = g.names.reserve(n.name)
			g.names.used[n.name] = n
		}
	}
	renamed := map[string]string{}
	for n := range g.Nodes() {
		if kept[n] {
			continue
		}
		name := g.names.createOwned(g.candidate(n.op, n.target, ""), n)
		if name != n.name {
			renamed[n.name] = name
			n.setName(name)
		}
	}
	return renamed
}

// mustLive returns the graph of n; a node that was erased has none, and using
// it so is a mistake of the caller that no type prevents.
func (n *Node) mustLive(method string) *Graph {
	if n.graph == nil {
		panic("ir: Node." + method + " of " + n.name + ", which was erased")
	}
	return n.graph
}

// StackTrace returns the source lines that made n, as meta has them.
func (n *Node) StackTrace() string {
	s, _ := n.meta.Get(MetaStackTrace).(string)
	return s
}

// Next returns the following node, nil at the end.
func (n *Node) Next() *Node { return n.at.nextNode() }

// Prev returns the preceding node, nil at the start.
func (n *Node) Prev() *Node { return n.at.prevNode() }

// Before reports whether n comes before m in the graph they share. It takes
// constant time.
func (n *Node) Before(m *Node) bool { return n.at.order < m.at.order }

// Append moves x, a node of the same graph, directly after n.
func (n *Node) Append(x *Node) error { return n.move(x, true) }

// Prepend moves x, a node of the same graph, directly before n.
func (n *Node) Prepend(x *Node) error { return n.move(x, false) }

func (n *Node) move(x *Node, after bool) error {
	if n.graph == nil || n.graph != x.graph {
		return Errorf(ErrAssertion, "move %s to %s: Attempting to move a Node into a different Graph", x.name, n.name)
	}
	if x == n {
		return nil
	}
	n.graph.unlink(x)
	if after {
		n.graph.insertAfter(n.at, x, new(link))
	} else {
		n.graph.insertAfter(n.at.prev, x, new(link))
	}
	return nil
}

// ReplaceAllUsesWith makes every user of n mention m instead and returns the
// users that it changed. A user that is m itself stays as it is, unlike in
// torch.fx, where `b = relu(a); a.replace_all_uses_with(b)` makes b its own input.
func (n *Node) ReplaceAllUsesWith(m *Node, opts ...ReplaceOption) []*Node {
	var c replaceConfig
	for _, o := range opts {
		if o != nil {
			o(&c)
		}
	}
	var changed []*Node
	for _, u := range n.users.snapshot() {
		if u == m || c.only != nil && !c.only(u) {
			continue
		}
		u.ReplaceInputWith(n, m)
		changed = append(changed, u)
	}
	if c.meta {
		for k, v := range n.meta.All() {
			if !m.meta.Has(k) {
				m.meta.Set(k, v)
			}
		}
	}
	return changed
}

// A ReplaceOption changes what [Node.ReplaceAllUsesWith] does.
type ReplaceOption func(*replaceConfig)

type replaceConfig struct {
	only func(*Node) bool
	meta bool
}

// OnlyUsers limits the replacement to the users that f accepts.
func OnlyUsers(f func(user *Node) bool) ReplaceOption {
	return func(c *replaceConfig) { c.only = f }
}

// PropagateMeta copies the replaced node's meta to the replacement, except for
// the keys that this has already.
func PropagateMeta() ReplaceOption { return func(c *replaceConfig) { c.meta = true } }

// ReplaceInputWith makes n mention new wherever it mentions old.
func (n *Node) ReplaceInputWith(old, new *Node) {
	if n.graph != nil && n.graph.owner != nil {
		n.graph.owner.replaced(old, new.name, n)
	}
	swap := func(m *Node) Arg {
		if m == old {
			return new
		}
		return m
	}
	n.setOperands(mapOperands(n, swap))
}

func checkTarget(op Op, t Target) error {
	f, isFunc := t.(*Func)
	switch {
	case op > Output:
		return Errorf(ErrAssertion, "op '%s' is not in _legal_ops", op)
	case op == CallFunction && (!isFunc || f == nil):
		return Errorf(ErrValue, "target %v has type %s but a Callable is expected", t, targetType(t))
	case op != CallFunction && (isFunc || t == nil):
		return Errorf(ErrValue, "target %v has type %s but a str is expected", t, targetType(t))
	}
	return nil
}

// targetType is the type of a target in Python's terms.
func targetType(t Target) string {
	switch t.(type) {
	case Path:
		return "str"
	case *Func:
		return "function"
	}
	return "NoneType"
}
