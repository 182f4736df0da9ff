package passes

import (
	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

var (
	matmul       = ir.FuncOf("torch.matmul")
	cat          = ir.FuncOf("torch.cat")
	splitResults = ir.FuncOf("torch.fx.experimental.merge_matmul.split_result_tensors")
)

// Graphs that MergeMatmul made run by this: the merged result [m1 + m2 + …, r] is
// split after the first sizes of the left operands, [m1, k], [m2, k] and so on.
func init() {
	torch.Define(splitResults.Name(), func(m *libtorch.Mode, args []any, _ []torch.Kwarg) (any, error) {
		if len(args) != 2 {
			return nil, ir.Errorf(ir.ErrType, "split_result_tensors: expected a result and a list of inputs, got %d arguments", len(args))
		}
		inputs, ok := args[1].([]any)
		if !ok {
			return nil, ir.Errorf(ir.ErrType, "split_result_tensors: expected a list of inputs, got %T", args[1])
		}
		sizes := make([]int64, len(inputs))
		for i, in := range inputs {
			t, ok := in.(*torch.Tensor)
			if !ok || len(t.Shape()) == 0 {
				return nil, ir.Errorf(ir.ErrType, "split_result_tensors: expected tensors with a first dimension as inputs, got %T", in)
			}
			sizes[i] = int64(t.Shape()[0])
		}
		out, err := torch.CallMode(m, "aten::split_with_sizes", []any{args[0], sizes, int64(0)}, nil)
		if list, ok := out.([]any); ok {
			return ir.PyTuple(list), err
		}
		return out, err
	})
}

// MergeMatmul merges the calls of torch.matmul that share their right operand,
// and do not depend on each other, into one on the concatenated left operands,
// whose result is split again. Left operands must have equal sizes but for the
// first. It returns how many calls were merged. The graph is put in order and
// replaced by a copy, see [Legalize]; reads of attributes that lost their users
// stay. Follows torch.fx.experimental.merge_matmul: dependence is looked for
// through six nodes, and assumed beyond.
func MergeMatmul(m *ir.GraphModule) (int, error) {
	if m == nil {
		return 0, ir.Errorf(ir.ErrInput, "merge matmul: expected a graph module, got nil")
	}
	g := m.Graph()
	type group struct{ calls []*ir.Node }
	var groups []*group
	by := map[ir.Arg]*group{} // right operand, attributes by path
	for _, n := range g.Find(ir.CallFunction, matmul) {
		if len(n.Args()) != 2 || len(n.Kwargs()) > 0 {
			continue
		}
		_, left := n.Arg(0).(*ir.Node)
		right, ok := n.Arg(1).(*ir.Node)
		if !left || !ok {
			continue
		}
		key := ir.Arg(right)
		if right.Op() == ir.GetAttr {
			key = ir.Str(right.Target().String())
		}
		if by[key] == nil {
			by[key] = &group{}
			groups = append(groups, by[key])
		}
		by[key].calls = append(by[key].calls, n)
	}
	merged := 0
	for _, group := range groups {
		if len(group.calls) > 1 && independent(group.calls) {
			if err := mergeCalls(g, group.calls); err != nil {
				return merged, err
			}
			merged += len(group.calls)
		}
	}
	if merged == 0 {
		return 0, nil
	}
	// new nodes stand at the end, behind their users
	return merged, Legalize(m)
}

// mergeCalls appends one call for several, with attributes read anew.
func mergeCalls(g *ir.Graph, calls []*ir.Node) error {
	read := func(a ir.Arg) ir.Arg {
		if n := a.(*ir.Node); n.Op() == ir.GetAttr {
			return g.GetAttr(n.Target().String())
		}
		return a
	}
	left := make([]ir.Arg, len(calls))
	for i, n := range calls {
		left[i] = read(n.Arg(0))
	}
	right := read(calls[0].Arg(1))
	all := g.CallFunction(cat, []ir.Arg{ir.ListOf(left...)})
	product := g.CallFunction(matmul, []ir.Arg{all, right})
	parts := g.CallFunction(splitResults, []ir.Arg{product, ir.ListOf(left...)})
	results := make([]*ir.Node, len(calls))
	for i := range calls {
		results[i] = g.CallFunction(getitem, []ir.Arg{parts, ir.Int(i)})
	}
	for i, n := range calls {
		n.ReplaceAllUsesWith(results[i])
		if err := g.Erase(n); err != nil {
			return err
		}
	}
	return nil
}

// independent reports whether no node may depend on another.
func independent(nodes []*ir.Node) bool {
	for i, a := range nodes {
		for _, b := range nodes[i+1:] {
			if mayDepend(a, b, 6) || mayDepend(b, a, 6) {
				return false
			}
		}
	}
	return true
}

// mayDepend reports whether a reads b through at most depth nodes, or may do so
// through more.
func mayDepend(a, b *ir.Node, depth int) bool {
	if a == b {
		return true
	}
	inputs := a.Inputs()
	if len(inputs) == 0 {
		return false
	}
	if depth == 0 {
		return true
	}
	for _, in := range inputs {
		if mayDepend(in, b, depth-1) {
			return true
		}
	}
	return false
}
