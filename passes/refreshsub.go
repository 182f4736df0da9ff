package passes

import (
	"context"
	"slices"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// passing lists the higher-order operators whose graphs get its last operands as they
// are, and whether it returns what its first graph returns.
var passing = map[string]bool{
	"cond": true, "invoke_subgraph": true, "wrap_with_set_grad_enabled": true, "wrap": true,
	"wrap_with_autocast": true, "tag_activation_checkpoint": true, "strict_mode": true, "while_loop": false,
}

// subgraphs refreshes the graphs that a higher-order operator calls, and what is noted
// of its result where that follows from them; changed says whether it became another.
func (r *refresher) subgraphs(ctx context.Context, m *ir.GraphModule, call *ir.Node) (stale []*ir.Node, changed bool) {
	region := r.region
	if call.Func() == autocast {
		var ok bool
		if region, ok = regionOf(call); !ok {
			return nil, false
		}
	}
	var graphs []*ir.GraphModule
	var operands []ir.Arg
	for _, a := range call.Args() {
		if n, ok := a.(*ir.Node); ok && n.Op() == ir.GetAttr {
			v, _ := m.Attr(n.Target().String())
			if sub, ok := v.(*ir.GraphModule); ok {
				graphs = append(graphs, sub)
				continue
			}
		}
		operands = appendLeaves(operands, a)
	}
	returns, direct := passing[strings.TrimPrefix(call.Func().Name(), "torch.ops.higher_order.")]
	for _, sub := range graphs {
		if direct {
			r.pass(operands, sub)
		}
		stale = append(stale, refresh(ctx, sub, r.bound, r.first, region)...)
	}
	if !returns || len(graphs) == 0 {
		return stale, false
	}
	result, ok := resultOf(graphs[0])
	if noted := call.Meta().Get(ir.MetaVal); ok && sameForm(noted, result) && !alike(noted, result) {
		call.Meta().Set(ir.MetaVal, result)
		return append(stale, call), true
	}
	return stale, false
}

func appendLeaves(to []ir.Arg, a ir.Arg) []ir.Arg {
	switch v := a.(type) {
	case ir.List:
		for _, item := range v.All() {
			to = appendLeaves(to, item)
		}
		return to
	case ir.Tuple:
		for _, item := range v.All() {
			to = appendLeaves(to, item)
		}
		return to
	}
	return append(to, a)
}

// pass notes with the inputs of a graph what is known of the operands.
func (r *refresher) pass(operands []ir.Arg, sub *ir.GraphModule) {
	inputs := sub.Graph().Find(ir.Placeholder, nil)
	if len(inputs) > len(operands) {
		return
	}
	for i, in := range inputs {
		n, ok := operands[len(operands)-len(inputs)+i].(*ir.Node)
		if !ok {
			continue
		}
		if val := n.Meta().Get(ir.MetaVal); val != nil && !alike(in.Meta().Get(ir.MetaVal), val) {
			in.Meta().Set(ir.MetaVal, val)
		}
	}
}

// resultOf returns what is known of the value of a graph.
func resultOf(m *ir.GraphModule) (any, bool) {
	out, err := m.Graph().OutputNode()
	if err != nil || len(out.Args()) != 1 {
		return nil, false
	}
	return noted(out.Arg(0))
}

func noted(a ir.Arg) (any, bool) {
	list := func(items []ir.Arg) (any, bool) {
		vals := make([]any, len(items))
		for i, item := range items {
			var ok bool
			if vals[i], ok = noted(item); !ok {
				return nil, false
			}
		}
		return vals, true
	}
	switch v := a.(type) {
	case *ir.Node:
		val := v.Meta().Get(ir.MetaVal)
		return val, val != nil
	case ir.List:
		return list(slices.Collect(values(v.All())))
	case ir.Tuple:
		return list(slices.Collect(values(v.All())))
	case ir.None:
		return v, true
	}
	return nil, false
}

func values[K, V any](seq func(func(K, V) bool)) func(func(V) bool) {
	return func(yield func(V) bool) {
		seq(func(_ K, v V) bool { return yield(v) })
	}
}

// sameForm reports whether two values are both tensors, or as many values.
func sameForm(a, b any) bool {
	switch b := b.(type) {
	case ir.TensorMeta:
		_, ok := a.(ir.TensorMeta)
		return ok
	case []any:
		a, ok := a.([]any)
		return ok && slices.EqualFunc(a, b, sameForm)
	}
	return a != nil
}

// alike reports whether two values are noted with the same dtypes and sizes. Strides
// are not asked: the branches of a condition may differ in them.
func alike(a, b any) bool {
	switch b := b.(type) {
	case ir.TensorMeta:
		a, ok := a.(ir.TensorMeta)
		return ok && a.DType == b.DType && slices.EqualFunc(a.Sizes, b.Sizes, func(x, y ir.Size) bool {
			return x.Hint() == y.Hint() && (x.Expr() == nil) == (y.Expr() == nil)
		})
	case []any:
		a, ok := a.([]any)
		return ok && slices.EqualFunc(a, b, alike)
	}
	return a != nil // numbers: what stands for them in a subgraph is its own
}
