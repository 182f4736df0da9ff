package passes

import (
	"slices"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// connect finds what goes from part to part, in order of first use.
func (s *splitter) connect() {
	s.symbols = map[string]*ir.Node{}
	for n := range s.module.Graph().Nodes() {
		if v, ok := n.Meta().Get(ir.MetaExampleValue).(ir.SymScalar); ok && v.Expr != nil && v.Kind != ir.TypeSymBool {
			// placeholders come first, so they are preferred
			if name := v.Expr.String(); slices.Equal(v.Expr.Symbols(), []string{name}) && s.symbols[name] == nil {
				s.symbols[name] = n
			}
		}
	}
	for n := range s.module.Graph().Nodes() {
		if n.Op() == ir.Placeholder || n.Op() == ir.GetAttr || changesRegion(n) {
			// regions are opened and closed inside each part
			continue
		}
		n.Operands(func(def *ir.Node) { s.use(def, s.of[n]) })
	}
}

// use notes that a part, nil for the graph's output, reads a node.
func (s *splitter) use(def *ir.Node, user *splitPart) {
	owner := s.of[def]
	if owner == user {
		return
	}
	if owner != nil {
		owner.outputs.add(def)
	}
	if user == nil {
		return
	}
	user.inputs.add(def)
	s.wait(user, owner)
	for _, symbol := range freeSymbols(def.Meta().Get(ir.MetaExampleValue)) {
		n := s.symbols[symbol]
		if n == nil || s.of[n] == user {
			continue
		}
		user.inputs.add(n)
		if from := s.of[n]; from != nil {
			from.outputs.add(n)
			s.wait(user, from)
		}
	}
}

// wait makes a part wait for another, nil for the arguments of the module.
func (s *splitter) wait(p, other *splitPart) {
	if other != nil && !p.needs[other] {
		p.needs[other] = true
		p.waits = append(p.waits, other)
		other.next = append(other.next, p)
	}
}

// freeSymbols lists the symbols in what is known of a value, sorted.
func freeSymbols(v any) []string {
	var found []string
	size := func(n ir.Size) {
		if n.Expr() != nil {
			found = append(found, n.Expr().Symbols()...)
		}
	}
	switch v := v.(type) {
	case ir.TensorMeta:
		for _, n := range v.Sizes {
			size(n)
		}
		for _, n := range v.Strides {
			size(n)
		}
		size(v.StorageOffset)
	case ir.SymScalar:
		if v.Expr != nil {
			found = v.Expr.Symbols()
		}
	case []any:
		for _, item := range v {
			found = append(found, freeSymbols(item)...)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// sort orders the parts so that none is called before what it needs: from a stack
// of those that wait for nothing, as torch.fx does it.
func (s *splitter) sort() ([]*splitPart, error) {
	var ready, sorted []*splitPart
	missing := make(map[*splitPart]int, len(s.seen))
	for _, p := range s.seen {
		if missing[p] = len(p.waits); missing[p] == 0 {
			ready = append(ready, p)
		}
	}
	for len(ready) > 0 {
		p := ready[len(ready)-1]
		ready = ready[:len(ready)-1]
		sorted = append(sorted, p)
		for _, q := range p.next {
			if missing[q]--; missing[q] == 0 {
				ready = append(ready, q)
			}
		}
	}
	if len(sorted) == len(s.seen) {
		return sorted, nil
	}
	var stuck []string
	for _, p := range s.seen {
		if missing[p] > 0 {
			stuck = append(stuck, p.name)
		}
	}
	return nil, ir.Errorf(ir.ErrRuntime, "split: cycle exists between partitions! In it or behind it: %s", strings.Join(stuck, ", "))
}

// inOrder lists the parts in order of their first nodes, each after those that it
// needs.
func (s *splitter) inOrder() []*splitPart {
	var list []*splitPart
	done := map[*splitPart]bool{}
	var visit func(p *splitPart)
	visit = func(p *splitPart) {
		if done[p] {
			return
		}
		done[p] = true
		for _, q := range p.waits {
			visit(q)
		}
		list = append(list, p)
	}
	for _, p := range s.seen {
		visit(p)
	}
	return list
}
