package rewriter

import (
	"fmt"

	"github.com/torchfx-go/torchfx/ir"
)

// A pattern is a graph prepared for matching.
type pattern struct {
	graph        *ir.Graph
	placeholders []*ir.Node        // in order
	results      []*ir.Node        // the nodes returned, in order, once each
	returned     map[*ir.Node]bool // the same as a set
	anchors      []anchor          // where the search starts
	names        []named           // with NameNodes
	nodes        int               // how many a match stands for
	twins        map[*ir.Node]bool // calls whose first two operands are the same tree twice
}

// An anchor is a returned node that nothing else in the pattern uses.
type anchor struct {
	node *ir.Node
	// path leads from a node that the search knows once the anchors before this
	// one are matched, over a user of it and so on, to this one; nil for an anchor
	// that shares nothing with those before.
	path []*ir.Node
}

type named struct {
	name string
	node *ir.Node
}

// newPattern checks g as torch.fx's SubgraphMatcher does, and beyond it: a
// placeholder or an effect that no result depends on would never be found, and
// is refused as dead code.
func newPattern(g *ir.Graph, c *config) (*pattern, error) {
	if g.Len() == 0 {
		return nil, ir.Errorf(ir.ErrValue, "pattern: SubgraphMatcher cannot be initialized with an empty pattern")
	}
	out, err := g.OutputNode()
	if err != nil {
		return nil, err
	}
	p := &pattern{graph: g, returned: map[*ir.Node]bool{}}
	returned := out.Arg(0)
	if c.nameNodes {
		if returned, err = p.splitNames(out); err != nil {
			return nil, err
		}
	}
	ir.Walk(returned, func(a ir.Arg) {
		if n, ok := a.(*ir.Node); ok && !p.returned[n] {
			p.results, p.returned[n] = append(p.results, n), true
		}
	})
	p.placeholders = placeholders(g)
	if c.matchOutput {
		p.anchors = []anchor{{node: out}}
	} else {
		for _, n := range p.results {
			if n.NumUsers() == 1 {
				p.anchors = append(p.anchors, anchor{node: n})
			}
		}
	}
	p.nodes = g.Len()
	if !c.matchOutput {
		p.nodes--
	}
	p.findTwins()
	return p, p.connect(out)
}

// findTwins finds the calls whose first two operands are equal trees that nothing
// else in the pattern reads. Whatever matches with such operands swapped also
// matches as written, with the trees in each other's places, so that one order is
// enough; of a sum of sums every call is one.
func (p *pattern) findTwins() {
	p.twins = map[*ir.Node]bool{}
	numbers := map[string]int{} // of a tree as text, with its operands by number
	trees := map[*ir.Node]int{}
	for n := range p.graph.Nodes() {
		text, private := n.Op().String()+" "+n.Target().String(), true
		if n.Op() == ir.Placeholder {
			text = n.Op().String()
			private = !isRest(n)
		}
		part := func(name string, a ir.Arg) {
			m, isNode := a.(*ir.Node)
			switch {
			case isNode:
				number, known := trees[m]
				private = private && known && m.NumUsers() == 1 && mentions(n, m) == 1
				text += fmt.Sprintf(", %s#%d", name, number)
			case hasNode(a):
				private = false
			default:
				text += fmt.Sprintf(", %s%q", name, ir.Repr(a))
			}
		}
		for _, a := range n.Args() {
			part("", a)
		}
		for _, k := range n.Kwargs() {
			part(k.Name+"=", k.Value)
		}
		if !private {
			continue
		}
		if _, known := numbers[text]; !known {
			numbers[text] = len(numbers)
		}
		trees[n] = numbers[text]
	}
	for n := range p.graph.Nodes() {
		if len(n.Args()) < 2 {
			continue
		}
		a, aok := n.Arg(0).(*ir.Node)
		b, bok := n.Arg(1).(*ir.Node)
		if !aok || !bok || mentions(n, a) != 1 || mentions(n, b) != 1 || a.NumUsers() != 1 || b.NumUsers() != 1 {
			continue
		}
		x, xok := trees[a]
		y, yok := trees[b]
		p.twins[n] = xok && yok && x == y
	}
}

// mentions counts how often n reads m.
func mentions(n, m *ir.Node) (count int) {
	n.Operands(func(x *ir.Node) {
		if x == m {
			count++
		}
	})
	return count
}

// connect finds the paths of the anchors, and what no anchor leads to.
func (p *pattern) connect(out *ir.Node) error {
	known := map[*ir.Node]bool{}
	for i := range p.anchors {
		a := &p.anchors[i]
		from := map[*ir.Node]*ir.Node{a.node: nil} // operand -> the user it was met from
		for queue := []*ir.Node{a.node}; len(queue) > 0; queue = queue[1:] {
			n := queue[0]
			if known[n] && a.path == nil {
				for m := n; m != nil; m = from[m] {
					a.path = append(a.path, m)
				}
			}
			for _, m := range n.Inputs() {
				if _, met := from[m]; !met && n.Op() != ir.Placeholder {
					from[m] = n
					queue = append(queue, m)
				}
			}
		}
		for n := range from {
			known[n] = true
		}
	}
	for n := range p.graph.Nodes() {
		if !known[n] && n != out && (n.NumUsers() == 0 || len(p.anchors) > 0) {
			return ir.Errorf(ir.ErrAssertion,
				"pattern: SubgraphMatcher cannot be initialized with a pattern with dead code: no result depends on %s", n.Name())
		}
	}
	return nil
}

// splitNames takes the dict off the end of what the pattern returns.
func (p *pattern) splitNames(out *ir.Node) (rest ir.Arg, err error) {
	returned := out.Arg(0)
	if gen, ok := p.graph.CodeGen().(ir.PyTreeCodeGen); ok && gen.Out != nil {
		if returned, err = unflatten(returned, gen.Out); err != nil {
			return nil, err
		}
	}
	t, ok := returned.(ir.Tuple)
	if !ok {
		return nil, ir.Errorf(ir.ErrAssertion, "pattern: Expecting the pattern graph to return a tuple, got %s", ir.Repr(returned))
	}
	if t.Len() < 2 {
		return nil, ir.Errorf(ir.ErrAssertion, "pattern: Expecting the pattern graph to have at least two outputs, got %d", t.Len())
	}
	all := items(t)
	d, ok := all[len(all)-1].(ir.Dict)
	if !ok {
		return nil, ir.Errorf(ir.ErrAssertion, "pattern: Expecting the input graph to have a dict output as the last element, got %s",
			ir.Repr(all[len(all)-1]))
	}
	for key, v := range d.All() {
		name, isStr := key.(ir.Str)
		n, isNode := v.(*ir.Node)
		if !isStr || !isNode {
			return nil, ir.Errorf(ir.ErrAssertion, "pattern: expected a dict from names to nodes, got %s: %s", ir.Repr(key), ir.Repr(v))
		}
		p.names = append(p.names, named{string(name), n})
	}
	return ir.TupleOf(all[:len(all)-1]...), nil
}

// unflatten gives the leaves that a graph with pytree code returns the structure
// that its caller sees.
func unflatten(leaves ir.Arg, spec *ir.TreeSpec) (ir.Arg, error) {
	flat := []any{leaves}
	if s, ok := leaves.(sequence); ok {
		flat = flat[:0]
		for i := range s.Len() {
			flat = append(flat, s.At(i))
		}
	}
	v, err := spec.Unflatten(flat)
	if err != nil {
		return nil, err
	}
	return treeArg(v), nil
}

func treeArg(v any) ir.Arg {
	var all []ir.Arg
	switch v := v.(type) {
	case ir.Arg:
		return v
	case ir.PyTuple:
		for _, item := range v {
			all = append(all, treeArg(item))
		}
		return ir.TupleOf(all...)
	case []any:
		for _, item := range v {
			all = append(all, treeArg(item))
		}
		return ir.ListOf(all...)
	case *ir.PyDict:
		var pairs []ir.Pair
		for key, item := range v.All() {
			k, _ := key.(string)
			pairs = append(pairs, ir.Pair{Key: ir.Str(k), Value: treeArg(item)})
		}
		return ir.DictOf(pairs...)
	case nil:
		return ir.None{}
	}
	return ir.Opaque{Value: v}
}

func placeholders(g *ir.Graph) (all []*ir.Node) {
	for n := range g.Nodes() {
		if n.Op() == ir.Placeholder {
			all = append(all, n)
		}
	}
	return all
}

// graphOf reads one of the forms that a pattern may have.
func graphOf(what string, v any) (*ir.Graph, error) {
	switch v := v.(type) {
	case *ir.Graph:
		if v != nil {
			return v, nil
		}
	case *ir.GraphModule:
		if v != nil {
			return v.Graph(), nil
		}
	case string:
		g, err := ir.ParseCode(v)
		if err != nil {
			return nil, ir.Errorf(ir.ErrSyntax, "%s: %w", what, err)
		}
		return g, nil
	}
	return nil, ir.Errorf(ir.ErrType, "%s: expected a *ir.Graph, a *ir.GraphModule or Python code, got %T", what, v)
}

// sequence is what tuples, named tuples and lists share; a pattern takes one for
// the other.
type sequence interface {
	Len() int
	At(int) ir.Arg
}

func asSequence(a ir.Arg) (sequence, bool) {
	switch a := a.(type) {
	case ir.List:
		return a, true
	case ir.Tuple:
		return a, true
	case ir.NamedTuple:
		return a, true
	}
	return nil, false
}

func items(s sequence) []ir.Arg {
	out := make([]ir.Arg, s.Len())
	for i := range out {
		out[i] = s.At(i)
	}
	return out
}

// isRest reports whether p is a placeholder for any number of arguments.
func isRest(a ir.Arg) bool {
	p, ok := a.(*ir.Node)
	if !ok || p.Op() != ir.Placeholder {
		return false
	}
	t := p.Target().String()
	return len(t) > 1 && t[0] == '*' && t[1] != '*'
}
