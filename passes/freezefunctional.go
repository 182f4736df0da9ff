package passes

import (
	"fmt"
	"strings"

	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

var detachInPlace = ir.OverloadOf("aten::detach_")

// functional replaces calls that write their first operand by the operators that
// return the result, relu_ by relu, where the operand is a value of the graph's own of
// which nobody reads an older state, or a view, later. A Plan decides by itself
// which results are written over an operand.
func (f *freezer) functional() error {
	m := newMemoryMap(f.module) // of the nodes so far
	for n := range f.graph.Nodes() {
		if self, isNode := n.Arg(0).(*ir.Node); isNode && n.Func() == detachInPlace && !m.is(m.outside, self) {
			if err := f.pass(n, self, "aten::detach_ of a value of the graph's own"); err != nil {
				return err
			}
			continue
		}
		target, ok := functionalForm(n)
		if !ok {
			m.add(n)
			continue
		}
		self := n.Arg(0).(*ir.Node)
		if why := f.freshOperand(m, n, self, target); why != "" {
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

// freshOperand says why self, which n writes, cannot be left as it was, and target be
// called instead.
func (f *freezer) freshOperand(m *memoryMap, n, self *ir.Node, target *ir.Func) string {
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
		if promotes := other.DType.IsFloat() || other.DType.IsComplex(); !known || promotes && other.DType != mine.DType || len(other.Sizes) > len(mine.Sizes) {
			return in.Name() + " has another dtype or more dimensions"
		}
	}
	if !mine.DType.IsFloat() {
		return "it is not of floating point"
	}
	returned, err := f.returns(n, target)
	switch {
	case err != nil:
		return err.Error()
	case returned.DType != mine.DType:
		return fmt.Sprintf("%s returns %s", target.Op(), returned.DType)
	case !liesAs(hintsOf(mine), returned):
		return target.Op() + " returns what lies otherwise"
	}
	return ""
}

// returns says what n would return with another operator in its place, at the sizes noted.
func (f *freezer) returns(n *ir.Node, target *ir.Func) (ir.TensorMeta, error) {
	g := ir.NewGraph()
	var args []any
	defer func() { closeAll(ir.PyTuple(args)) }()
	env := map[*ir.Node]*ir.Node{}
	for _, in := range n.Inputs() {
		meta, _ := valueOf(in)
		t, err := argument(hintsOf(meta), nil)
		if err != nil {
			return ir.TensorMeta{}, err
		}
		env[in], args = g.Placeholder(in.Name()), append(args, t)
	}
	call, err := g.CopyNode(n, lookup(env))
	if err != nil {
		return ir.TensorMeta{}, err
	}
	if err := call.SetTarget(target); err != nil {
		return ir.TensorMeta{}, err
	}
	g.Output(call)
	out, err := interpreter.New(f.module, interpreter.WithGraph(g)).Run(f.ctx, args...)
	if err != nil {
		return ir.TensorMeta{}, err
	}
	defer closeAll(out)
	t, ok := out.(*torch.Tensor)
	if !ok {
		return ir.TensorMeta{}, ir.Errorf(ir.ErrType, "%s: expected a tensor, got %s", target.Op(), torch.Describe(out))
	}
	return metaOf(t)
}

// hintsOf is what is noted of a tensor at the sizes noted.
func hintsOf(m ir.TensorMeta) ir.TensorMeta {
	known := func(sizes []ir.Size) []ir.Size {
		out := make([]ir.Size, len(sizes))
		for i, s := range sizes {
			out[i] = ir.SizeOf(s.Hint())
		}
		return out
	}
	m.Sizes, m.Strides = known(m.Sizes), known(m.Strides)
	return m
}

// liesAs reports whether tensors of known sizes have the same, and the same strides
// along what has more than one element.
func liesAs(a, b ir.TensorMeta) bool {
	if !sameSizes(a.Sizes, b.Sizes) || len(a.Strides) != len(b.Strides) {
		return false
	}
	for i, s := range a.Sizes {
		if s.Hint() > 1 && !sameSize(a.Strides[i], b.Strides[i]) {
			return false
		}
	}
	return true
}
