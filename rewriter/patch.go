package rewriter

import (
	"slices"

	"github.com/torchfx-go/torchfx/ir"
)

// A patch is the replacement of one match, checked and placed while nothing in
// the graph has changed yet.
type patch struct {
	graph    *ir.Graph
	pattern  *ir.Graph
	match    *Match
	with     *ir.Graph
	writers  writers
	copied   map[*ir.Node]ir.Arg // node of with -> what stands for it in graph
	spliced  map[*ir.Node]bool   // placeholders of with whose items go into the list that they stand in
	results  []ir.Arg            // what takes the place of the match's results, once the patch is applied
	computed map[*ir.Node]bool   // nodes of the match
	at       *ir.Node            // the copy goes before it
	late     []*ir.Node          // users of the results that have to move, in order
	behind   *ir.Node            // before which they go
}

// newPatch finds the place for a replacement.
func newPatch(e *edit, m *Match, with *ir.Graph) (*patch, error) {
	p := &patch{
		graph: e.module.Graph(), pattern: e.pattern, match: m, with: with, writers: e.writers,
		copied: map[*ir.Node]ir.Arg{}, spliced: map[*ir.Node]bool{}, computed: map[*ir.Node]bool{},
	}
	for n := range m.computed() {
		p.computed[n] = true
	}
	pattern := placeholders(e.pattern)
	for i, n := range placeholders(with) {
		p.copied[n] = m.Inputs[i]
		p.spliced[n] = e.config.loose && isRest(pattern[i])
	}
	return p, p.place()
}

// place decides where the copy goes, and what has to move.
func (p *patch) place() error {
	if p.at = p.upstream(); p.at == nil {
		return ir.Errorf(ir.ErrAssertion, "replace at %s: The insert point can't be None", p.match.At().Name())
	}
	if x, _ := p.overwritten(); x != nil {
		// a first user far below is no reason to read what was written meanwhile
		var last *ir.Node
		for n := range p.computed {
			if last == nil || last.Before(n) {
				last = n
			}
		}
		if last.Before(p.at) {
			p.at = last.Next()
		}
	}
	read := p.lastRead()
	moves := read != nil && !read.Before(p.at) // the copy, from torch.fx's place
	if moves {
		p.at = read.Next()
	}
	late := map[*ir.Node]bool{} // results that not all users can read where they are
	end := read                 // what those have to come after
	for i, a := range returned(p.with) {
		old := p.match.Result[i]
		if p.result(i) == ir.Arg(old) {
			continue
		}
		last := p.lastInput(a)
		before := func(u *ir.Node) bool { return !p.computed[u] && last != nil && !last.Before(u) }
		if moves && p.isMade(a) || slices.ContainsFunc(slices.Collect(old.Users()), before) {
			late[old] = true
			if last != nil && (end == nil || end.Before(last)) {
				end = last
			}
		}
	}
	if len(late) == 0 {
		return nil
	}
	p.behind = end.Next()
	return p.moveBehind(end, late)
}

// upstream is torch.fx's place: the first user of a result, else the node after
// the last result.
func (p *patch) upstream() *ir.Node {
	var first, last *ir.Node
	for _, n := range p.match.Result {
		if last == nil || last.Before(n) {
			last = n
		}
		for u := range n.Users() {
			if first == nil || u.Before(first) {
				first = u
			}
		}
	}
	if first == nil {
		return last.Next()
	}
	return first
}

// lastRead is the last input that a node of the copy reads.
func (p *patch) lastRead() (last *ir.Node) {
	for n := range p.with.Nodes() {
		if n.Op() == ir.Output {
			return last
		}
		n.Operands(func(m *ir.Node) {
			if x := p.lastInput(m); x != nil && (last == nil || last.Before(x)) {
				last = x
			}
		})
	}
	return last
}

// lastInput is the last node among the inputs in an argument of the replacement.
func (p *patch) lastInput(a ir.Arg) (last *ir.Node) {
	ir.Walk(a, func(leaf ir.Arg) {
		n, ok := leaf.(*ir.Node)
		if !ok {
			return
		}
		ir.Walk(p.copied[n], func(leaf ir.Arg) {
			if x, ok := leaf.(*ir.Node); ok && (last == nil || last.Before(x)) {
				last = x
			}
		})
	})
	return last
}

// isMade reports whether an argument of the replacement has a node of the copy
// in it.
func (p *patch) isMade(a ir.Arg) (made bool) {
	ir.Walk(a, func(leaf ir.Arg) {
		n, ok := leaf.(*ir.Node)
		made = made || ok && n.Op() != ir.Placeholder
	})
	return made
}

// moveBehind notes the nodes up to end that depend on a late result and so have
// to come after end. Only nodes without effects move, and only past such.
func (p *patch) moveBehind(end *ir.Node, results map[*ir.Node]bool) error {
	inputs := map[*ir.Node]bool{}
	for q, a := range p.copied {
		ir.Walk(a, func(leaf ir.Arg) {
			if n, ok := leaf.(*ir.Node); ok && q.NumUsers() > 0 {
				inputs[n] = true
			}
		})
	}
	var n *ir.Node // the first user outside of the match
	for old := range results {
		for u := range old.Users() {
			if !p.computed[u] && (n == nil || u.Before(n)) {
				n = u
			}
		}
	}
	if n == nil || end.Before(n) {
		return nil
	}
	late := map[*ir.Node]bool{}
	var impure *ir.Node
	for ; n != end.Next(); n = n.Next() {
		n.Operands(func(m *ir.Node) { late[n] = late[n] || !p.computed[n] && (results[m] || late[m]) })
		if late[n] {
			p.late = append(p.late, n)
		}
		if late[n] && inputs[n] {
			return ir.Errorf(ir.ErrRuntime, "replace at %s: expected inputs that do not depend on a result, got %s",
				p.match.At().Name(), n.Name())
		}
		if impure == nil && n.IsImpure() {
			impure = n
		}
	}
	if impure != nil {
		return ir.Errorf(ir.ErrRuntime, "replace at %s: expected the input %s before the first user %s of a result, "+
			"or nothing with an effect between them, got %s", p.match.At().Name(), end.Name(), p.late[0].Name(), impure.Name())
	}
	return nil
}

// result returns what takes the place of result i: as far as known before the
// copy is made, nil where it is a new node.
func (p *patch) result(i int) ir.Arg {
	return ir.MapNodes(returned(p.with)[i], func(n *ir.Node) ir.Arg { return p.copied[n] })
}

// apply makes the copy, has the users of the results read it, and takes the
// match out.
func (p *patch) apply() (Replaced, error) {
	r := Replaced{Match: *p.match}
	if err := p.copy(&r); err != nil {
		return r, err
	}
	for _, n := range p.late {
		if err := p.behind.Prepend(n); err != nil {
			return r, err
		}
	}
	for i := range p.match.Result {
		p.results = append(p.results, p.result(i))
	}
	p.redirect(r.Made)
	for q := range p.pattern.Backward() {
		n, ok := p.match.Nodes[q].(*ir.Node)
		if !ok || !computes(q) {
			continue
		}
		if err := p.graph.Erase(n); err != nil {
			return r, err
		}
		r.Removed = append(r.Removed, n)
	}
	return r, nil
}

// copy puts the replacement's nodes in.
func (p *patch) copy(r *Replaced) error {
	restore, err := p.graph.InsertBefore(p.at)
	if err != nil {
		return err
	}
	defer restore()
	lookup := func(n *ir.Node) ir.Arg { return p.copied[n] }
	for n := range p.with.Nodes() {
		if n.Op() == ir.Output {
			break
		}
		if n.Op() == ir.Placeholder {
			continue
		}
		c, err := p.graph.CopyNode(n, lookup)
		if err != nil {
			return err
		}
		if args, changed := p.splice(n); changed {
			c.SetArgs(args...)
		}
		p.copied[n] = c
		r.Made = append(r.Made, c)
	}
	return nil
}

// splice returns the positional arguments of a copy of n with the items of
// spliced placeholders in their places.
func (p *patch) splice(n *ir.Node) (args []ir.Arg, changed bool) {
	n.Operands(func(m *ir.Node) { changed = changed || p.spliced[m] })
	if !changed {
		return nil, false
	}
	return p.spliceItems(n.Args()), true
}

func (p *patch) spliceItems(all []ir.Arg) []ir.Arg {
	var out []ir.Arg
	for _, a := range all {
		switch a := a.(type) {
		case *ir.Node:
			if rest, ok := p.copied[a].(ir.Tuple); ok && p.spliced[a] {
				out = append(out, items(rest)...)
				continue
			}
			out = append(out, p.copied[a])
		case ir.List:
			out = append(out, ir.ListOf(p.spliceItems(items(a))...))
		case ir.Tuple:
			out = append(out, ir.TupleOf(p.spliceItems(items(a))...))
		default:
			out = append(out, ir.MapNodes(a, func(m *ir.Node) ir.Arg { return p.copied[m] }))
		}
	}
	return out
}

// redirect has the users of the results read what takes their place, all at
// once: an input that is returned too may take the place of another result. The
// new nodes read the inputs as they are.
func (p *patch) redirect(made []*ir.Node) {
	to := map[*ir.Node]ir.Arg{}
	simple := true
	for i, old := range p.match.Result {
		if p.results[i] == ir.Arg(old) {
			continue
		}
		_, isNode := p.results[i].(*ir.Node)
		to[old] = p.results[i]
		simple = simple && isNode && !slices.Contains(p.match.Inputs, ir.Arg(old))
	}
	for _, old := range p.match.Result {
		if now, ok := to[old].(*ir.Node); ok && simple {
			old.ReplaceAllUsesWith(now)
		}
	}
	if simple {
		return
	}
	isNew := map[*ir.Node]bool{}
	for _, n := range made {
		isNew[n] = true
	}
	swap := func(m *ir.Node) ir.Arg {
		if now, ok := to[m]; ok {
			return now
		}
		return m
	}
	done := map[*ir.Node]bool{}
	for _, old := range p.match.Result {
		for u := range old.Users() {
			if isNew[u] || done[u] {
				continue
			}
			done[u] = true
			args, kwargs := slices.Clone(u.Args()), slices.Clone(u.Kwargs())
			for i := range args {
				args[i] = ir.MapNodes(args[i], swap)
			}
			for i := range kwargs {
				kwargs[i].Value = ir.MapNodes(kwargs[i].Value, swap)
			}
			u.SetOperands(args, kwargs)
		}
	}
}
