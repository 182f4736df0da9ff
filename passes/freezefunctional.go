package passes

import (
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// functional replaces calls that write their first operand by the operators that
// return the result, relu_ by relu, where the operand is a value of the graph's own of
// which nobody reads an older state, or a view, later. A Plan decides by itself
// which results are written over an operand.
func (f *freezer) functional() error {
	m := newMemoryMap(f.module) // of the nodes so far
	for n := range f.graph.Nodes() {
		target, ok := functionalForm(n)
		if !ok {
			m.add(n)
			continue
		}
		self := n.Arg(0).(*ir.Node)
		if why := f.freshOperand(m, n, self); why != "" {
			f.kept(n, "%s", why)
			m.add(n)
			continue
		}
		was := n.Func()
		if err := n.SetTarget(target); err != nil {
			return err
		}
		self.ReplaceAllUsesWith(n, ir.OnlyUsers(func(u *ir.Node) bool { return n.Before(u) }))
		f.applied(n, "%s instead of %s", target.Op(), was.Op())
		m.add(n)
	}
	return nil
}

// functionalForm returns the operator that computes what n writes into its first
// operand.
func functionalForm(n *ir.Node) (*ir.Func, bool) {
	if n.Op() != ir.CallFunction || n.Func().Kind() != ir.Overload {
		return nil, false
	}
	s := ir.Operators().Lookup(n.Func().Op())
	if s == nil || !strings.HasSuffix(s.Name(), "_") || strings.HasSuffix(s.Name(), "__") || s.Tags.Has(ir.TagInplaceView) || s.Effects().Random && !dropouts[n.Func()] {
		return nil, false
	}
	if _, ok := n.Arg(0).(*ir.Node); !ok {
		return nil, false
	}
	op := strings.TrimSuffix(strings.TrimSuffix(s.Name(), "_")+"."+s.Overload(), ".")
	plain := ir.Operators().Lookup(op)
	if plain == nil || len(plain.Args) != len(s.Args) || len(plain.Returns) != 1 || plain.Returns[0].Alias != nil {
		return nil, false
	}
	for i := range s.Args {
		if s.Args[i].Name != plain.Args[i].Name || s.Args[i].Type.Kind != plain.Args[i].Type.Kind {
			return nil, false
		}
	}
	return ir.OverloadOf(op), true
}

// freshOperand says why self, which n writes, cannot be left as it was.
func (f *freezer) freshOperand(m *memoryMap, n, self *ir.Node) string {
	if m.is(m.outside, self) {
		return "it writes what others hold"
	}
	for _, r := range m.roots[self] {
		for _, member := range m.members[r] {
			if member == self {
				continue
			}
			for u := range member.Users() {
				if u != n && !u.Before(n) {
					return u.Name() + " reads a view of what it writes"
				}
			}
		}
	}
	// the functional form promotes and broadcasts, the other keeps what it writes
	mine, known := valueOf(self)
	if !known {
		return "what it writes is not noted"
	}
	for _, in := range n.Inputs() {
		if in == self {
			continue
		}
		other, known := valueOf(in)
		if !known || other.DType != mine.DType || len(other.Sizes) > len(mine.Sizes) {
			return in.Name() + " has another dtype or more dimensions"
		}
	}
	if !mine.DType.IsFloat() {
		return "it is not of floating point"
	}
	return ""
}
