package ir

import (
	"errors"
	"hash/maphash"
	"math/bits"
	"strings"
)

// A LintOption changes what [Graph.Lint] checks.
type LintOption func(*lintConfig)

type lintConfig struct{ strict bool }

// Strict adds the checks that torch.fx leaves out: placeholders come first and
// have different targets, exactly one output ends the graph, placeholders and
// outputs have as many arguments as they must, users agree with the operands.
func Strict() LintOption { return func(c *lintConfig) { c.strict = true } }

// Lint checks the invariants of g and returns all faults joined, or nil, each in
// the words of torch.fx; it changes nothing. A graph that belongs to a
// [GraphModule] must name attributes that are there, and call only modules.
func (g *Graph) Lint(opts ...LintOption) error {
	if err := CheckOptions("lint", opts); err != nil {
		return err
	}
	var c lintConfig
	for _, o := range opts {
		o(&c)
	}
	l := &linter{graph: g, names: make([]uint64, 0, g.length), seed: maphash.MakeSeed()}
	l.nodes()
	if mayRepeat(l.names) {
		if second := repeatedNames(g); len(second) > 0 {
			l = &linter{graph: g, seed: l.seed, second: second}
			l.nodes()
		}
	}
	if g.owner != nil {
		for n := range g.Nodes() {
			l.target(n)
		}
	}
	if c.strict {
		l.strict()
	}
	return errors.Join(l.faults...)
}

type linter struct {
	graph  *Graph
	shown  bool // the text of the graph, in a fault
	seed   maphash.Seed
	names  []uint64                         // hashes of the names
	second map[*Node]bool                   // nodes with the name of an earlier one
	below  map[*GraphModule]map[string]bool // places in attribute paths that hold something further below
	faults []error
}

func (l *linter) fault(class *Class, format string, args ...any) {
	l.faults = append(l.faults, Errorf(class, format, args...))
}

// graphText is the graph behind a fault, as torch.fx adds it: to the first one
// alone, since a large graph may have many.
func (l *linter) graphText() string {
	if l.shown {
		return ""
	}
	l.shown = true
	return "\n" + l.graph.String()
}

func (l *linter) nodes() {
	for n := range l.graph.Nodes() {
		l.node(n)
	}
}

func (l *linter) node(n *Node) {
	if int(n.op) >= len(opNames) {
		l.fault(ErrRuntime, "Node %s had unknown opcode %s!", n.name, n.op)
	}
	if n.graph != l.graph {
		l.fault(ErrRuntime, "Node '%s' does not belong to this Graph!", n.name)
	}
	if !l.sound(n) {
		l.operands(n)
	}
	l.names = append(l.names, maphash.String(l.seed, n.name))
	if l.second[n] {
		l.fault(ErrRuntime, "Node redefined name %s!", n.name)
	}
	if err := checkTarget(n.op, n.target); err != nil {
		l.fault(ErrValue, "Node %s %w", n.name, err)
	}
}

// sound reports whether all that n reads is defined. Most of it is nodes.
func (l *linter) sound(n *Node) bool {
	ok := true
	leaf := func(a Arg) {
		if m, isNode := a.(*Node); isNode {
			ok = ok && l.defined(m, n)
		}
	}
	for _, a := range n.args {
		if m, isNode := a.(*Node); isNode {
			ok = ok && l.defined(m, n)
		} else {
			Walk(a, leaf)
		}
	}
	for _, k := range n.kwargs {
		Walk(k.Value, leaf)
	}
	return ok
}

// defined reports whether m is a node of the graph before n.
func (l *linter) defined(m, n *Node) bool { return m.graph == l.graph && m.Before(n) }

// operands says which of the nodes that n reads are not before it.
func (l *linter) operands(n *Node) {
	for _, m := range n.Inputs() {
		switch {
		case m.graph != l.graph:
			l.fault(ErrRuntime, "Argument '%s' of Node '%s' does not belong to this Graph, but was used as an argument! "+
				"If you are copying nodes from another graph, make sure to use ``arg_transform`` on node_copy() to remap values%s",
				m.name, n.name, l.graphText())
		case !l.defined(m, n):
			l.fault(ErrRuntime, "Argument '%s' of Node '%s' was used before it has been defined! "+
				"Please check that Nodes in the graph are topologically ordered%s", m.name, n.name, l.graphText())
		}
	}
}

// repeatedNames returns the nodes that have the name of an earlier one.
func repeatedNames(g *Graph) map[*Node]bool {
	second, seen := map[*Node]bool{}, make(map[string]bool, g.length)
	for n := range g.Nodes() {
		if seen[n.name] {
			second[n] = true
		}
		seen[n.name] = true
	}
	return second
}

// mayRepeat reports whether two of the hashes are equal, in all but their lowest
// bits. It takes a tenth of a map of the names: nothing waits for anything here.
func mayRepeat(hashes []uint64) bool {
	table := make([]uint32, 1<<bits.Len(uint(2*len(hashes)))) // 0 is free
	mask := uint64(len(table) - 1)
	for _, h := range hashes {
		mark := uint32(h>>32) | 1
		i := h & mask
		for table[i] != 0 {
			if table[i] == mark {
				return true
			}
			i = (i + 1) & mask
		}
		table[i] = mark
	}
	return false
}

// target walks the path of n through the owner's attributes.
func (l *linter) target(n *Node) {
	if n.op != GetAttr && n.op != CallModule {
		return
	}
	path := n.target.String()
	pieces := strings.Split(path, ".")
	var at any = l.graph.owner
	for i, piece := range pieces {
		above := strings.Join(pieces[:i], ".")
		next, there := l.lookup(at, piece)
		if !there {
			l.fault(ErrRuntime, "Node %s target %s references nonexistent attribute %s of %s", n.name, path, piece, above)
			return
		}
		if _, inside := next.(container); n.op == CallModule && !inside && !isModule(next) {
			l.fault(ErrRuntime, "Node %s target %s %s of %s does not reference an nn.Module", n.name, path, piece, above)
			return
		}
		at = next
	}
}

// A container is a place in a module's attribute paths that holds nothing but
// what lies below it.
type container struct {
	module *GraphModule
	path   string
}

// lookup finds one piece of a path. Values that say nothing of their attributes
// are taken to have them all.
func (l *linter) lookup(at any, piece string) (any, bool) {
	var m *GraphModule
	path := piece
	switch at := at.(type) {
	case *GraphModule:
		m = at
	case container:
		m, path = at.module, at.path+"."+piece
	case attrHolder:
		if v, ok := at.Attr(piece); ok {
			return v, true
		}
		return unknown{}, true
	default:
		return unknown{}, isModule(at)
	}
	if v, ok := m.values[path]; ok {
		return v, true
	}
	return container{m, path}, l.containers(m)[path]
}

// containers lists the places above the attributes of m, once.
func (l *linter) containers(m *GraphModule) map[string]bool {
	if set, ok := l.below[m]; ok {
		return set
	}
	set := map[string]bool{}
	for _, p := range m.paths {
		for i := range len(p) {
			if p[i] == '.' {
				set[p[:i]] = true
			}
		}
	}
	if l.below == nil {
		l.below = map[*GraphModule]map[string]bool{}
	}
	l.below[m] = set
	return set
}

// unknown is an attribute of a value that cannot be asked.
type unknown struct{}

func (l *linter) strict() {
	body, outputs := "", 0
	targets := map[string]string{}
	for n := range l.graph.Nodes() {
		switch n.op {
		case Placeholder:
			if body != "" {
				l.fault(ErrRuntime, "Node %s: placeholders come first, but this one follows %s", n.name, body)
			}
			bare := strings.TrimLeft(n.target.String(), "*")
			if first, twice := targets[bare]; twice {
				l.fault(ErrRuntime, "Node %s: expected a parameter of its own, got %s, which is %s", n.name, bare, first)
			}
			targets[bare] = n.name
			if len(n.args) > 1 || len(n.kwargs) > 0 {
				l.fault(ErrRuntime, "Node %s: expected a default at most, got %d arguments", n.name, len(n.args)+len(n.kwargs))
			}
		case Output:
			outputs++
			if len(n.args) != 1 || len(n.kwargs) > 0 {
				l.fault(ErrRuntime, "Node %s: expected one argument, got %d", n.name, len(n.args)+len(n.kwargs))
			}
		}
		if n.op != Placeholder && body == "" {
			body = n.name
		}
	}
	if last := l.graph.Last(); outputs != 1 || last.op != Output {
		l.fault(ErrRuntime, "expected exactly one output, as the last node; got %d, the last node is %v", outputs, last)
	}
	l.users()
}

// users compares who reads whom with the users of each.
func (l *linter) users() {
	read, used, sound := 0, 0, true
	for n := range l.graph.Nodes() {
		used += n.users.live
		for _, m := range n.Inputs() {
			read++
			sound = sound && m.graph == l.graph && m.users.has(n)
		}
	}
	if !sound || read != used {
		l.wrongUsers()
	}
}

// wrongUsers recounts who reads whom.
func (l *linter) wrongUsers() {
	readers := map[*Node]map[*Node]bool{}
	for n := range l.graph.Nodes() {
		n.Operands(func(m *Node) {
			if readers[m] == nil {
				readers[m] = map[*Node]bool{}
			}
			readers[m][n] = true
		})
	}
	for n := range l.graph.Nodes() {
		for u := range n.Users() {
			if !readers[n][u] {
				l.fault(ErrRuntime, "Node %s: user %s does not read it", n.name, u.name)
			}
			delete(readers[n], u)
		}
		for u := range readers[n] {
			l.fault(ErrRuntime, "Node %s: %s reads it and is no user", n.name, u.name)
		}
	}
}
