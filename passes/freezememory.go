package passes

import (
	"slices"

	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
)

// A memoryMap tells which values of a graph may share memory, from the schemas of the
// operators: each value has roots, the nodes in whose memory it may lie.
type memoryMap struct {
	module   *ir.GraphModule
	roots    map[*ir.Node][]*ir.Node
	members  map[*ir.Node][]*ir.Node // by root, in order of the graph
	outside  map[*ir.Node]bool       // roots that others hold: placeholders, attributes, what is unknown
	written  map[*ir.Node]bool       // roots that some node writes
	returned map[*ir.Node]bool       // roots that the output may hold
}

func newMemoryMap(gm *ir.GraphModule) *memoryMap {
	return &memoryMap{gm, map[*ir.Node][]*ir.Node{}, map[*ir.Node][]*ir.Node{}, map[*ir.Node]bool{}, map[*ir.Node]bool{}, map[*ir.Node]bool{}}
}

func mapMemory(gm *ir.GraphModule) *memoryMap {
	m := newMemoryMap(gm)
	for n := range gm.Graph().Nodes() {
		m.add(n)
	}
	return m
}

// add notes what n, of which all operands are noted, does with memory.
func (m *memoryMap) add(n *ir.Node) {
	var shared []*ir.Node
	switch n.Op() {
	case ir.Placeholder, ir.GetAttr:
		m.outside[n] = true
	case ir.Output:
		for _, in := range n.Inputs() {
			m.mark(m.returned, in)
		}
		return
	case ir.CallFunction:
		shared = m.call(n)
	case ir.CallModule:
		if !onlyReads(m.module, n) {
			shared = m.unknown(n)
		}
	default:
		shared = m.unknown(n)
	}
	roots := []*ir.Node{n}
	for _, in := range shared {
		for _, r := range m.roots[in] {
			if !slices.Contains(roots, r) {
				roots = append(roots, r)
			}
		}
	}
	m.roots[n] = roots
	for _, r := range roots {
		m.members[r] = append(m.members[r], n)
	}
}

// onlyReads reports whether a node calls a module that writes nothing and whose results
// are new: a region of a delegate, or guards, which look at what they are given.
func onlyReads(m *ir.GraphModule, n *ir.Node) bool {
	v, _ := m.Attr(n.Target().String())
	switch v.(type) {
	case *interpreter.Delegated, interface{ Check(leaves []any) error }:
		return true
	}
	return false
}

// unknown takes a call for one that may write its operands, keep them, and return
// them.
func (m *memoryMap) unknown(n *ir.Node) []*ir.Node {
	m.outside[n] = true
	for _, in := range n.Inputs() {
		m.mark(m.written, in)
		m.mark(m.outside, in)
	}
	return n.Inputs()
}

// call returns the operands whose memory the result of a call may share.
func (m *memoryMap) call(n *ir.Node) (shared []*ir.Node) {
	if n.Func().Kind() == ir.Operator || plainFunctions[n.Func()] {
		return n.Inputs() // arithmetic of numbers, or an item of several results
	}
	s := ir.Operators().Lookup(n.Func().Op())
	if s == nil {
		return m.unknown(n)
	}
	effects := s.Effects().Settle(func(i int) ir.Arg { return operandOrDefault(n, s, i) })
	for _, i := range append(slices.Clone(effects.Writes), effects.Updates...) {
		for _, in := range nodesIn(operand(n, i, s.Args[i].Name)) {
			m.mark(m.written, in)
		}
	}
	if effects.Opaque {
		return m.unknown(n)
	}
	if _, norm := normOf(n); norm {
		return nil // the tag is for the statistics
	}
	if effects.MayAlias || dropouts[n.Func()] {
		return n.Inputs()
	}
	for i := range s.Returns {
		for _, at := range s.Aliases(i) {
			shared = append(shared, nodesIn(operand(n, at, s.Args[at].Name))...)
		}
	}
	return shared
}

func operandOrDefault(n *ir.Node, s *ir.Schema, i int) ir.Arg {
	if a := operand(n, i, s.Args[i].Name); a != nil {
		return a
	}
	return s.Args[i].Default
}

func nodesIn(a ir.Arg) (found []*ir.Node) {
	if a == nil {
		return nil
	}
	ir.Walk(a, func(leaf ir.Arg) {
		if n, ok := leaf.(*ir.Node); ok {
			found = append(found, n)
		}
	})
	return found
}

func (m *memoryMap) mark(set map[*ir.Node]bool, n *ir.Node) {
	for _, r := range m.roots[n] {
		set[r] = true
	}
}

func (m *memoryMap) is(set map[*ir.Node]bool, n *ir.Node) bool {
	return slices.ContainsFunc(m.roots[n], func(r *ir.Node) bool { return set[r] })
}

// mayStandFor reports whether what reads n, a copy of x, may read x itself: nobody
// writes either, and no result becomes the memory of somebody else or of another
// result.
func (m *memoryMap) mayStandFor(x, n *ir.Node) bool {
	if m.is(m.written, n) || m.is(m.written, x) {
		return false
	}
	return !m.is(m.returned, n) || !m.is(m.outside, x) && !m.is(m.returned, x)
}

// lastUse reports whether no value in the memory of x is read behind at, nor x
// elsewhere, nor the memory anybody else's: at may then write there.
func (m *memoryMap) lastUse(x, at *ir.Node) bool {
	if m.is(m.outside, x) {
		return false
	}
	for _, r := range m.roots[x] {
		for _, member := range m.members[r] {
			for u := range member.Users() {
				if u != at && !u.Before(at) {
					return false
				}
			}
		}
	}
	return true
}
