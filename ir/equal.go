package ir

import "fmt"

// Equal reports whether two graphs are the same program: the same steps in the
// same order, over the same operands, with the same targets, literals and type
// annotations. Names, meta and identities do not count, and neither does how an
// annotation is spelled: Optional[int] is int | None. The error explains the
// first difference; nil means equal.
func Equal(a, b *Graph) error {
	pair := make(map[*Node]*Node, a.Len()) // node of a -> the one in its place in b
	m := b.First()
	for n := a.First(); n != nil && m != nil; n, m = n.Next(), m.Next() {
		pair[n] = m
	}
	m, i := b.First(), 0
	for n := range a.Nodes() {
		if m == nil {
			return difference(i, n, nil, "expected an end, got %s", n.Format())
		}
		if err := equalNodes(i, n, m, pair); err != nil {
			return err
		}
		m, i = m.Next(), i+1
	}
	if m != nil {
		return difference(i, nil, m, "expected %s, got an end", m.Format())
	}
	return nil
}

func equalNodes(i int, n, m *Node, pair map[*Node]*Node) error {
	switch {
	case n.op != m.op:
		return difference(i, n, m, "op: expected %s, got %s", m.op, n.op)
	case n.target != m.target && n.op != Output:
		return difference(i, n, m, "target: expected %s, got %s", m.target, n.target)
	case !sameType(n.typ, m.typ):
		return difference(i, n, m, "type: expected %q, got %q", m.typ, n.typ)
	case len(n.args) != len(m.args):
		return difference(i, n, m, "expected %d arguments, got %d", len(m.args), len(n.args))
	case len(n.kwargs) != len(m.kwargs):
		return difference(i, n, m, "expected %d keyword arguments, got %d", len(m.kwargs), len(n.kwargs))
	}
	mapped := func(a Arg) Arg {
		return MapNodes(a, func(x *Node) Arg {
			if y, ok := pair[x]; ok {
				return y
			}
			return x
		})
	}
	for j, a := range n.args {
		if !EqualArgs(mapped(a), m.args[j]) {
			return difference(i, n, m, "argument %d: expected %s, got %s", j, Repr(m.args[j]), Repr(a))
		}
	}
	for j, k := range n.kwargs {
		if k.Name != m.kwargs[j].Name {
			return difference(i, n, m, "keyword %d: expected %s, got %s", j, m.kwargs[j].Name, k.Name)
		}
		if !EqualArgs(mapped(k.Value), m.kwargs[j].Value) {
			return difference(i, n, m, "keyword %s: expected %s, got %s", k.Name, Repr(m.kwargs[j].Value), Repr(k.Value))
		}
	}
	return nil
}

// difference names the pair of nodes that differ.
func difference(i int, n, m *Node, format string, args ...any) error {
	where := fmt.Sprintf("node %d", i)
	switch {
	case n != nil && m != nil && n.name != m.name:
		where += fmt.Sprintf(" (%s, against %s)", n.name, m.name)
	case n != nil:
		where += " (" + n.name + ")"
	case m != nil:
		where += " (" + m.name + ")"
	}
	return Errorf(ErrAssertion, "graphs differ at %s: %s", where, fmt.Sprintf(format, args...))
}

// sameType reports whether generated code writes two annotations alike.
func sameType(a, b string) bool {
	same := func(qualified string) string { return qualified }
	return a == b || annotation(a, same) == annotation(b, same)
}
