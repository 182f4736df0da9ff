package rewriter

import (
	"slices"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// writers lists the nodes that write a value, for each value that is written.
// What is written through a view of it is not known.
type writers map[*ir.Node][]*ir.Node

func (w writers) add(n *ir.Node) {
	for _, a := range written(n) {
		if x, ok := a.(*ir.Node); ok && !slices.Contains(w[x], n) {
			w[x] = append(w[x], n)
		}
	}
}

// written returns the arguments that a call writes: by the schema of an overload,
// by Python's and torch's naming for other calls (x.mul_, x += y, x[i] = y, out=).
func written(n *ir.Node) (out []ir.Arg) {
	if n.Op() != ir.CallFunction && n.Op() != ir.CallMethod {
		return nil
	}
	name := n.Target().String()
	if f := n.Func(); f != nil {
		if f.Kind() == ir.Overload {
			s := ir.Operators().Lookup(f.Op())
			if s == nil {
				return n.Args() // nobody knows
			}
			all := completed(n, s)
			for _, i := range s.Effects().Settle(func(i int) ir.Arg { return all[i] }).Writes {
				out = append(out, all[i])
			}
			return out
		}
		name = f.Base()
		if f.Kind() == ir.Operator && (strings.HasPrefix(name, "i") && n.IsImpure() || name == "setitem") {
			return n.Args()[:min(1, len(n.Args()))]
		}
	}
	special := strings.HasSuffix(name, "__")
	if special && (name == "__setitem__" || strings.HasPrefix(name, "__i") && n.IsImpure()) || !special && strings.HasSuffix(name, "_") {
		out = append(out, n.Arg(0))
	}
	if a, ok := n.Kwarg("out"); ok {
		ir.Walk(a, func(leaf ir.Arg) { out = append(out, leaf) })
	}
	return out
}

// overwritten returns an input of the replacement that the match reads before,
// and the copy would read after, a node outside of the match writes it; nil where
// there is none.
func (p *patch) overwritten() (input, writer *ir.Node) {
	for q, a := range p.copied {
		x, ok := a.(*ir.Node)
		if !ok || q.NumUsers() == 0 || p.writers[x] == nil {
			continue
		}
		for _, n := range p.writers[x] {
			if n.Graph() != p.graph || p.computed[n] || !n.Before(p.at) {
				continue
			}
			for u := range x.Users() {
				if p.computed[u] && u.Before(n) {
					return x, n
				}
			}
		}
	}
	return nil, nil
}
