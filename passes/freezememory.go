package passes

import (
	"slices"

	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
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
	writes   map[*ir.Node][]*ir.Node // by node, the values that it writes
}

func newMemoryMap(gm *ir.GraphModule) *memoryMap {
	return &memoryMap{gm, map[*ir.Node][]*ir.Node{}, map[*ir.Node][]*ir.Node{}, map[*ir.Node]bool{}, map[*ir.Node]bool{}, map[*ir.Node]bool{}, map[*ir.Node][]*ir.Node{}}
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
		m.write(n, in)
		m.mark(m.outside, in)
	}
	return n.Inputs()
}

// write notes that n writes x.
func (m *memoryMap) write(n, x *ir.Node) {
	m.mark(m.written, x)
	m.writes[n] = append(m.writes[n], x)
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
			m.write(n, in)
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
	if m.changes(n) || m.changes(x) {
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

// mayShare reports whether two values may lie in the same memory. Arguments may be one
// tensor given twice, and attributes may have one storage.
func (m *memoryMap) mayShare(x, y *ir.Node) bool {
	for _, a := range m.roots[x] {
		for _, b := range m.roots[y] {
			if a == b || m.outside[a] && m.outside[b] && m.oneTensor(a, b) {
				return true
			}
		}
	}
	return false
}

// oneTensor reports whether what others hold under two names may be the same.
func (m *memoryMap) oneTensor(a, b *ir.Node) bool {
	if a.Op() != ir.GetAttr || b.Op() != ir.GetAttr {
		return a.Op() != ir.GetAttr && b.Op() != ir.GetAttr // an argument is no attribute
	}
	v, _ := m.module.Attr(a.Target().String())
	w, _ := m.module.Attr(b.Target().String())
	t, ok := v.(*torch.Tensor)
	u, ok2 := w.(*torch.Tensor)
	if !ok || !ok2 {
		return a.Target() == b.Target()
	}
	shares, err := tensorSet{t}.shares(u)
	return shares || err != nil
}

// changes reports whether some node writes the memory of x.
func (m *memoryMap) changes(x *ir.Node) bool { return m.writesBefore(x, nil) > 0 }

// writesBefore counts the nodes before at, nil for all, that may write the memory of x.
func (m *memoryMap) writesBefore(x, at *ir.Node) (count int) {
	for w, written := range m.writes {
		if (at == nil || w.Before(at)) && slices.ContainsFunc(written, func(y *ir.Node) bool { return m.mayShare(x, y) }) {
			count++
		}
	}
	return count
}

// delays reports whether n may be computed at a node behind it: no node from n to there
// writes what n reads.
func (f *freezer) delays(n, at *ir.Node) bool {
	var writers []*ir.Node
	for w := n.Next(); w != at; w = w.Next() {
		if hasEffects(f.module, w) {
			writers = append(writers, w)
		}
	}
	if len(writers) == 0 {
		return true
	}
	m := mapMemory(f.module)
	for _, w := range writers {
		for _, x := range m.writes[w] {
			if slices.ContainsFunc(n.Inputs(), func(in *ir.Node) bool { return m.mayShare(in, x) }) {
				return false
			}
		}
	}
	return true
}
