package rewriter

import "github.com/torchfx-go/torchfx/ir"

// A pattern is a graph prepared for matching.
type pattern struct {
	graph        *ir.Graph
	placeholders []*ir.Node // in order
	returning    []*ir.Node // the values returned, in order; repeats stay
	anchors      []*ir.Node // returned nodes that nothing else in the pattern uses
}

// newPattern checks g as torch.fx's SubgraphMatcher does: not empty, an output,
// no dead code.
func newPattern(g *ir.Graph) (*pattern, error) {
	if g.Len() == 0 {
		return nil, ir.Errorf(ir.ErrValue, "pattern: SubgraphMatcher cannot be initialized with an empty pattern")
	}
	out, err := g.OutputNode()
	if err != nil {
		return nil, err
	}
	p := &pattern{graph: g}
	for n := range g.Nodes() {
		if n.Op() == ir.Placeholder {
			p.placeholders = append(p.placeholders, n)
		}
		if n.NumUsers() == 0 && n != out {
			return nil, ir.Errorf(ir.ErrAssertion,
				"pattern: SubgraphMatcher cannot be initialized with a pattern with dead code: nothing uses %s", n.Name())
		}
	}
	seen := map[*ir.Node]bool{}
	for _, a := range results(out) {
		n, ok := a.(*ir.Node)
		if !ok {
			return nil, ir.Errorf(ir.ErrAssertion, "pattern: expected only nodes in its result, got %v", a)
		}
		p.returning = append(p.returning, n)
		if n.NumUsers() == 1 && !seen[n] {
			p.anchors = append(p.anchors, n)
		}
		seen[n] = true
	}
	return p, nil
}

// results returns the values that an output node returns: the items of a tuple
// or list, else the one value.
func results(out *ir.Node) []ir.Arg {
	switch a := out.Arg(0).(type) {
	case ir.Tuple:
		return items(a)
	case ir.List:
		return items(a)
	case ir.None:
		return nil
	default:
		return []ir.Arg{a}
	}
}

// sequence is what tuples and lists share; patterns take one for the other.
type sequence interface {
	Len() int
	At(int) ir.Arg
}

func items(s sequence) []ir.Arg {
	out := make([]ir.Arg, s.Len())
	for i := range out {
		out[i] = s.At(i)
	}
	return out
}
