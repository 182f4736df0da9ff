package ir

import (
	"slices"
	"strings"
)

// A Graph is a list of nodes in execution order. Use [NewGraph]. It may be read
// by many goroutines; changing it needs exclusive access.
type Graph struct {
	root    link // sentinel before the first and after the last node
	length  int
	numbers int   // that nodes were given so far, see nodeTable
	point   point // where new nodes go
	names   *namespace
	owner   *GraphModule
	codegen CodeGen  // nil is plain Python
	body    BodyFunc // nil where code stays as it is
}

// NewGraph returns an empty graph.
func NewGraph() *Graph {
	g := &Graph{names: newNamespace()}
	g.root.next, g.root.prev = &g.root, &g.root
	return g
}

// Owner returns the module whose attributes the graph's targets name, nil for a
// graph by itself.
func (g *Graph) Owner() *GraphModule { return g.owner }

// A NodeOption sets something that most nodes do without.
type NodeOption func(*nodeConfig)

type nodeConfig struct {
	name   string
	exact  bool
	typ    string
	kwargs []Keyword
	def    Arg
}

// Name proposes a name; without it the target gives one.
func Name(candidate string) NodeOption { return func(c *nodeConfig) { c.name = candidate } }

// ExactName demands this very name, as readers of files do that have their own
// names: [Graph.CreateNode] fails when it is taken in the graph. The other
// constructors, which cannot fail, take it as [Name] does.
func ExactName(name string) NodeOption {
	return func(c *nodeConfig) { c.name, c.exact = name, true }
}

// WithType sets the Python type annotation.
func WithType(t string) NodeOption { return func(c *nodeConfig) { c.typ = t } }

// Kwargs gives keyword operands.
func Kwargs(kwargs ...Keyword) NodeOption { return func(c *nodeConfig) { c.kwargs = kwargs } }

// Default gives a placeholder a default value.
func Default(a Arg) NodeOption {
	return func(c *nodeConfig) {
		if a == nil {
			a = None{}
		}
		c.def = a
	}
}

// CreateNode appends a node at the insertion point. It fails when the target
// does not fit the opcode, which as in torch.fx costs the node's name all the
// same, or when a name demanded by [ExactName] is taken.
func (g *Graph) CreateNode(op Op, target Target, args []Arg, opts ...NodeOption) (*Node, error) {
	if err := CheckOptions("create node", opts); err != nil {
		return nil, err
	}
	var c nodeConfig
	for _, o := range opts {
		o(&c)
	}
	if err := checkTarget(op, target); err != nil {
		if ClassOf(err) == ErrValue && target != nil && !c.exact {
			name := g.names.create(g.candidate(op, target, c.name))
			return nil, Errorf(ErrValue, "Node [graph = %s, name = '%s'] %w", g, name, err)
		}
		return nil, err
	}
	if c.exact && !g.names.reserve(c.name) {
		return nil, Errorf(ErrValue, "create node: name %q is taken", c.name)
	}
	return g.create(op, target, args, c), nil
}

func (g *Graph) create(op Op, target Target, args []Arg, c nodeConfig) *Node {
	if c.def != nil && op == Placeholder {
		args = []Arg{c.def}
	}
	made := &struct { // one allocation
		Node
		link
	}{}
	n := &made.Node
	n.graph, n.op, n.target, n.typ = g, op, target, c.typ
	if c.exact {
		n.name = c.name
		g.names.used[c.name] = n
	} else {
		n.name = g.names.createOwned(g.candidate(op, target, c.name), n)
	}
	g.number(n)
	n.setOperands(slices.Clone(args), slices.Clone(c.kwargs))
	if g.owner != nil {
		g.owner.created(n)
	}
	g.place(n, &made.link)
	return n
}

// candidate is the text that a node's name is made from.
func (g *Graph) candidate(op Op, target Target, name string) string {
	if name != "" {
		return name
	}
	if f, ok := target.(*Func); ok {
		return f.candidate
	}
	s := target.String()
	if strings.HasPrefix(s, "__") && strings.HasSuffix(s, "__") {
		s = s[min(2, len(s)):max(min(2, len(s)), len(s)-2)]
	}
	return snakeCase(s)
}

func (g *Graph) make(op Op, target Target, args []Arg, opts []NodeOption) *Node {
	var c nodeConfig
	for _, o := range opts {
		if o != nil {
			o(&c)
		}
	}
	c.exact = false
	return g.create(op, target, args, c)
}

// Placeholder appends an argument of the call; name may start with * or **.
func (g *Graph) Placeholder(name string, opts ...NodeOption) *Node {
	return g.make(Placeholder, Path(name), nil, opts)
}

// GetAttr appends a read of the attribute at a dotted path.
func (g *Graph) GetAttr(path string, opts ...NodeOption) *Node {
	return g.make(GetAttr, Path(path), nil, opts)
}

// CallFunction appends a call of f.
func (g *Graph) CallFunction(f *Func, args []Arg, opts ...NodeOption) *Node {
	return g.make(CallFunction, f, args, opts)
}

// CallMethod appends a call of a method; args[0] is the receiver.
func (g *Graph) CallMethod(name string, args []Arg, opts ...NodeOption) *Node {
	return g.make(CallMethod, Path(name), args, opts)
}

// CallModule appends a call of the submodule at a dotted path.
func (g *Graph) CallModule(path string, args []Arg, opts ...NodeOption) *Node {
	return g.make(CallModule, Path(path), args, opts)
}

// Output appends the result of the graph.
func (g *Graph) Output(result Arg, opts ...NodeOption) *Node {
	return g.make(Output, Path("output"), []Arg{result}, opts)
}

// OutputNode returns the last node, which must be an output.
func (g *Graph) OutputNode() (*Node, error) {
	n := g.Last()
	if n == nil || n.op != Output {
		return nil, Errorf(ErrAssertion, "output node: expected the last node to be an output, got %v", n)
	}
	return n, nil
}

// Find returns the nodes with an opcode and, where target is not nil, a target,
// in program order. It looks at every node.
func (g *Graph) Find(op Op, target Target) []*Node {
	var found []*Node
	for n := range g.Nodes() {
		if n.op == op && (target == nil || n.target == target) {
			found = append(found, n)
		}
	}
	return found
}

// Lookup returns the node with a name, nil where there is none.
func (g *Graph) Lookup(name string) *Node { return g.names.used[name] }

// InsertBefore makes new nodes appear before n, in the order of their creation.
// The point stays tied to n, also when n is moved, until restore sets the
// previous point again. nil means the very start of the graph, where, as in
// torch.fx, a newer node comes before an older one. It fails when n is not in
// the graph.
func (g *Graph) InsertBefore(n *Node) (restore func(), err error) {
	if n == nil {
		return g.setPoint(point{nil, true, false}), nil
	}
	if n.graph != g {
		return nil, Errorf(ErrAssertion, "insert before %s: Node to insert before is not in graph.", n.name)
	}
	return g.setPoint(point{n, false, false}), nil
}

// InsertAfter makes each new node appear directly after n, so that they end up
// in reverse order of their creation, as in torch.fx; nil means at the end, in
// order of their creation. See [Graph.InsertBefore] for restore and errors.
func (g *Graph) InsertAfter(n *Node) (restore func(), err error) {
	if n == nil {
		return g.setPoint(point{}), nil
	}
	if n.graph != g {
		return nil, Errorf(ErrAssertion, "insert after %s: Node to insert after is not in graph.", n.name)
	}
	return g.setPoint(point{n, true, false}), nil
}

// InsertFrom makes new nodes appear after n in the order of their creation: each
// goes behind the one made before it, wherever that stands by then. nil means from
// the very start of the graph. torch.fx has no such point; a program written for
// its inserting_after in a loop usually wants it. See [Graph.InsertBefore] for
// restore and errors.
func (g *Graph) InsertFrom(n *Node) (restore func(), err error) {
	if n != nil && n.graph != g {
		return nil, Errorf(ErrAssertion, "insert from %s: Node to insert after is not in graph.", n.name)
	}
	return g.setPoint(point{n, true, true}), nil
}

// A point is where new nodes go: before a node or directly after it. nil is the
// sentinel, before which the graph ends and after which it starts; the zero
// value is the end.
type point struct {
	node     *Node
	after    bool
	advances bool // to each node that is made
}

func (g *Graph) setPoint(p point) (restore func()) {
	old := g.point
	g.point = p
	return func() { g.point = old }
}

// place puts n at the insertion point, with k as its link. Where the point's
// node was erased, its place counts.
func (g *Graph) place(n *Node, k *link) {
	at := &g.root
	if g.point.node != nil {
		at = g.point.node.at
	}
	if g.point.after && (at == &g.root || at.node != nil) {
		g.insertAfter(at, n, k)
	} else {
		g.insertAfter(at.live(g).prev, n, k)
	}
	if g.point.advances {
		g.point.node = n
	}
}

// Erase takes n out of the graph; None stands for the nodes that it read. It
// fails while n has users, and when n belongs to another graph or was erased
// before, of which torch.fx only warns.
func (g *Graph) Erase(n *Node) error {
	if n.graph == nil {
		return Errorf(ErrRuntime, "erase_node(%s) on an already erased node", n.name)
	}
	if n.graph != g {
		return Errorf(ErrRuntime, "Attempting to remove %s from wrong graph!", n.name)
	}
	if n.users.live > 0 {
		return Errorf(ErrRuntime, "Tried to erase Node %s but it still had %d users in the graph: {%s: None}!",
			n.name, n.users.live, strings.ReplaceAll(nodeNames(n.users.snapshot()), ", ", ": None, "))
	}
	if g.owner != nil {
		g.owner.erased(n)
	}
	n.setOperands(mapOperands(n, func(*Node) Arg { return None{} }))
	g.unlink(n)
	g.names.used[n.name] = nil
	n.graph = nil
	return nil
}
