package passes

import (
	"strings"

	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// growth is how many bytes a computed constant may have beyond those that it was
// computed from: an attribute that is only expanded or repeated stays as it is.
const growth = 1 << 20

// foldConstants computes what depends on attributes and literals alone, and makes
// what others read of it attributes. Constants that a result or a write could reach
// stay computed, so that each run has its own; numbers stay, too.
func (f *freezer) foldConstants() error {
	m := mapMemory(f.module)
	known := map[*ir.Node]bool{}
	bytes := map[*ir.Node]int{} // of the attributes that a constant comes from
	var order, frontier []*ir.Node
	for n := range f.graph.Nodes() {
		switch n.Op() {
		case ir.GetAttr:
			if t, ok := f.constant(n); ok {
				known[n] = true
				order = append(order, n)
				bytes[n] = t.Numel() * t.DType().Size()
			}
		case ir.CallFunction:
			if f.isConstant(n, m, known) {
				known[n] = true
				order = append(order, n)
				for _, in := range n.Inputs() {
					bytes[n] += bytes[in]
				}
			}
		}
	}
	for _, n := range order {
		if n.Op() == ir.GetAttr {
			continue
		}
		if _, tensor := valueOf(n); !tensor {
			continue
		}
		for u := range n.Users() {
			if !known[u] {
				frontier = append(frontier, n)
				break
			}
		}
	}
	if len(frontier) == 0 {
		return nil
	}
	values, err := f.compute(order, frontier)
	if err != nil {
		return err
	}
	for i, n := range frontier {
		t := values[i]
		if size := t.Numel() * t.DType().Size(); size > bytes[n]+growth && !isView(n) {
			f.kept(n, "expected at most %d bytes, got a constant of %d", bytes[n]+growth, size)
			t.Close()
			continue
		}
		read, err := f.attribute(n, "_constant_"+n.Name(), t)
		if err != nil {
			return err
		}
		f.applied(n, "computed once: %s", read.Target())
		read.Meta().CopyFrom(n.Meta())
		if err := f.replace(n, read); err != nil {
			return err
		}
	}
	return nil
}

// isConstant reports whether n computes the same tensor each time, from what is known
// to be constant, and nobody can tell when it does.
func (f *freezer) isConstant(n *ir.Node, m *memoryMap, known map[*ir.Node]bool) bool {
	if n.IsImpure() || m.is(m.written, n) || m.is(m.returned, n) {
		return false
	}
	if n.Func().Kind() == ir.Overload {
		s := ir.Operators().Lookup(n.Func().Op())
		if s == nil || s.Tags.Has(ir.TagNondeterministicSeeded) || s.Tags.Has(ir.TagMaybeAliasingOrMutating) && !dropouts[n.Func()] {
			return false
		}
		if strings.Contains(s.Name(), "empty") || s.Namespace() != "aten" && s.Namespace() != "prims" {
			return false // elements that nobody has set, or an operator that may count its calls
		}
	} else if n.Func() != getitem {
		return false
	}
	for _, in := range n.Inputs() {
		if !known[in] {
			return false
		}
	}
	return true
}

// isView reports whether a call returns the memory of an operand.
func isView(n *ir.Node) bool {
	s := ir.Operators().Lookup(n.Func().Op())
	return s != nil && s.Effects().View
}

// compute runs the nodes in order and returns the values of results, which are the
// caller's.
func (f *freezer) compute(order, results []*ir.Node) ([]*torch.Tensor, error) {
	g := ir.NewGraph()
	env := map[*ir.Node]*ir.Node{}
	for _, n := range order {
		c, err := g.CopyNode(n, lookup(env))
		if err != nil {
			return nil, err
		}
		env[n] = c
	}
	out := make([]ir.Arg, len(results))
	for i, n := range results {
		out[i] = env[n]
	}
	g.Output(ir.TupleOf(out...))
	values, err := interpreter.New(f.module, interpreter.WithGraph(g)).Run(f.ctx)
	if err != nil {
		return nil, err
	}
	tensors := make([]*torch.Tensor, len(results))
	for i, v := range values.(ir.PyTuple) {
		t, ok := v.(*torch.Tensor)
		if !ok {
			return nil, ir.Errorf(ir.ErrType, "%s: expected a tensor, got %T", results[i], v)
		}
		tensors[i] = t
	}
	return tensors, nil
}
