package passes

import (
	"slices"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// A tensorSet holds the attributes that a graph writes.
type tensorSet []*torch.Tensor

// writtenTensors finds the attributes that the graph of gm writes, directly or
// through views. What could do anything, a call of a submodule or of a
// higher-order operator, counts as writing all that it is given.
func writtenTensors(gm *ir.GraphModule) tensorSet {
	w := &writes{module: gm, roots: map[*ir.Node][]*ir.Node{}}
	for n := range gm.Graph().Nodes() {
		switch n.Op() {
		case ir.GetAttr:
			w.roots[n] = []*ir.Node{n}
		case ir.CallFunction:
			w.call(n)
		case ir.CallMethod:
			w.writeAll(n)
		case ir.CallModule:
			if !onlyReads(gm, n) {
				w.writeAll(n)
			}
		}
	}
	return w.set
}

// writes walks a graph forward and follows what shares memory.
type writes struct {
	module *ir.GraphModule
	roots  map[*ir.Node][]*ir.Node // the reads of attributes that a node may share memory with
	set    tensorSet
}

func (w *writes) call(n *ir.Node) {
	schema := ir.Operators().Lookup(n.Func().Op())
	switch {
	case n.Func().Kind() == ir.Operator:
		// arithmetic of numbers, or an item of what an operator returned
		for _, in := range n.Inputs() {
			w.roots[n] = append(w.roots[n], w.roots[in]...)
		}
	case schema == nil:
		w.writeAll(n)
	default:
		effects := schema.Effects().Settle(func(i int) ir.Arg { return operandOrDefault(n, schema, i) })
		for _, i := range append(slices.Clone(effects.Writes), effects.Updates...) {
			if !w.readsStatistics(n) {
				w.write(w.reads(operand(n, i, schema.Args[i].Name)))
			}
		}
		_, norm := normOf(n) // whose tag is for the statistics
		for i, p := range schema.Args {
			if p.Alias != nil || effects.MayAlias && !norm || dropouts[n.Func()] {
				w.roots[n] = append(w.roots[n], w.reads(operand(n, i, p.Name))...)
			}
		}
	}
}

// readsStatistics reports whether n is a batch norm that evaluates: schemas name the
// statistics as written, which is so in training.
func (w *writes) readsStatistics(n *ir.Node) bool {
	if _, norm := normOf(n); !norm {
		return false
	}
	args, err := bind(n)
	return err == nil && evaluates(args)
}

func (w *writes) writeAll(n *ir.Node) {
	for _, in := range n.Inputs() {
		w.write(w.roots[in])
	}
}

// reads lists the reads of attributes behind an argument.
func (w *writes) reads(a ir.Arg) (found []*ir.Node) {
	ir.Walk(a, func(leaf ir.Arg) {
		if n, ok := leaf.(*ir.Node); ok {
			found = append(found, w.roots[n]...)
		}
	})
	return found
}

func (w *writes) write(reads []*ir.Node) {
	for _, r := range reads {
		v, _ := w.module.Attr(r.Target().String())
		if t, ok := v.(*torch.Tensor); ok {
			w.set = append(w.set, t)
		}
	}
}

// shares reports whether t lies in a storage that the graph writes.
func (set tensorSet) shares(t *torch.Tensor) (bool, error) {
	mine, err := t.Handle()
	if err != nil {
		return false, err
	}
	for _, s := range set {
		theirs, err := s.Handle()
		if err != nil {
			return false, err
		}
		if libtorch.IsAlias(mine, theirs) {
			return true, nil
		}
	}
	return false, nil
}
