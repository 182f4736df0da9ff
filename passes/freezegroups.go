package passes

import (
	"github.com/torchfx-go/torchfx/ir"
)

var attentionOp = ir.OverloadOf("aten::scaled_dot_product_attention")

// groupHeads gives attention the heads of key and value once that were repeated for
// groups of queries, as Llama, Mistral, Qwen and Gemma do it: the operator finds the head
// of a group by itself, without copies.
func (f *freezer) groupHeads() error {
	memory := mapMemory(f.module)
	for _, n := range f.graph.Find(ir.CallFunction, attentionOp) {
		args, err := bind(n)
		if err != nil {
			return err
		}
		k, timesK := repeatedHeads(args["key"])
		v, timesV := repeatedHeads(args["value"])
		if k == nil && v == nil {
			continue
		}
		if why := groups(args, k, v, timesK, timesV); why != "" {
			f.kept(n, "%s", why)
			continue
		}
		if memory.changes(k) || memory.changes(v) {
			f.kept(n, "its key or value is written")
			continue
		}
		restore, err := f.graph.InsertBefore(n)
		if err != nil {
			return err
		}
		call := f.graph.CallFunction(attentionOp, []ir.Arg{args["query"], k, v, args["attn_mask"], args["dropout_p"], args["is_causal"]},
			ir.Kwargs(ir.Kw("scale", args["scale"]), ir.Kw("enable_gqa", ir.Bool(true))), ir.Name("scaled_dot_product_attention"))
		restore()
		call.Meta().CopyFrom(n.Meta())
		f.applied(call, "%d queries to a head of %s and %s", timesK, k, v)
		if err := f.replace(n, call); err != nil {
			return err
		}
	}
	return nil
}

// groups says why an attention cannot take key and value of fewer heads.
func groups(args map[string]ir.Arg, k, v *ir.Node, timesK, timesV int64) string {
	if k == nil || v == nil || timesK != timesV {
		return "key and value are not repeated alike"
	}
	if args["enable_gqa"] != ir.Bool(false) {
		return "it groups its heads already"
	}
	q, _ := args["query"].(*ir.Node)
	if q == nil {
		return "its query is no node"
	}
	query, known := valueOf(q)
	key, _ := valueOf(k)
	value, _ := valueOf(v)
	if !known || len(query.Sizes) != 4 || query.DType != key.DType || query.DType != value.DType {
		return "its query is not noted as a tensor of four dimensions, of the dtype of key and value"
	}
	heads, known := query.Sizes[1].Known()
	of, knownToo := key.Sizes[1].Known()
	if !known || !knownToo || heads != of*timesK || !sameSize(key.Sizes[1], value.Sizes[1]) ||
		!sameSize(query.Sizes[0], key.Sizes[0]) || !sameSize(query.Sizes[0], value.Sizes[0]) {
		return "batch or heads are broadcast"
	}
	return ""
}

var (
	expandOp     = ir.OverloadOf("aten::expand")
	unsqueezeOp  = ir.OverloadOf("aten::unsqueeze")
	repeatHeads  = ir.OverloadOf("aten::repeat_interleave.self_int")
	joinsHeads   = overloads("aten::reshape aten::view aten::_unsafe_view")
	copiesOfHead = overloads("aten::clone aten::contiguous")
)

// repeatedHeads returns the tensor of four dimensions of which a has each head, of
// dimension 1, several times in a row, and how often: of repeat_interleave, or of a new
// dimension behind that of heads, which is expanded and joined with it.
func repeatedHeads(a ir.Arg) (*ir.Node, int64) {
	n, _ := a.(*ir.Node)
	if n == nil || n.Op() != ir.CallFunction {
		return nil, 0
	}
	if n.Func() == repeatHeads {
		args, err := bind(n)
		times, ok := args["repeats"].(ir.Int)
		dim, ok2 := args["dim"].(ir.Int)
		x, ok3 := args["self"].(*ir.Node)
		if err != nil || !ok || !ok2 || !ok3 || rank(x) != 4 || dim != 1 && dim != -3 || times < 2 {
			return nil, 0
		}
		return x, int64(times)
	}
	if !joinsHeads[n.Func()] {
		return nil, 0
	}
	joined, known := valueOf(n)
	e, _ := n.Arg(0).(*ir.Node)
	if e != nil && copiesOfHead[e.Func()] {
		e, _ = e.Arg(0).(*ir.Node)
	}
	if e == nil || e.Func() != expandOp {
		return nil, 0
	}
	u, _ := e.Arg(0).(*ir.Node)
	if u == nil || u.Func() != unsqueezeOp {
		return nil, 0
	}
	x, _ := u.Arg(0).(*ir.Node)
	expanded, knownToo := valueOf(e)
	single, knownUnit := valueOf(u)
	if x == nil || !known || !knownToo || !knownUnit || rank(x) != 4 || len(expanded.Sizes) != 5 || len(joined.Sizes) != 4 {
		return nil, 0
	}
	from, _ := valueOf(x)
	times, sure := expanded.Sizes[2].Known()
	heads, sureToo := from.Sizes[1].Known()
	all, sureOfAll := joined.Sizes[1].Known()
	if u.Arg(1) != ir.Arg(ir.Int(2)) && u.Arg(1) != ir.Arg(ir.Int(-3)) || !sure || !sureToo || !sureOfAll || times < 2 || all != heads*times {
		return nil, 0
	}
	for i, at := range []int{0, 1, 3, 4} { // nothing else is expanded or joined
		from, to := from.Sizes[i], expanded.Sizes[at]
		if !sameSize(from, to) || !sameSize(from, single.Sizes[at]) || i != 1 && !sameSize(from, joined.Sizes[i]) {
			return nil, 0
		}
	}
	return x, times
}
