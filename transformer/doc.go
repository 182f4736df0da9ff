// Package transformer makes a graph from a graph by interpreting it on values
// that stand for the nodes of the new one.
//
// A handler overrides the steps whose result should differ, as
// torch.fx.Transformer's methods do, and embeds [Default] for the rest:
//
//	type negToSigmoid struct{ transformer.Default }
//
//	func (s negToSigmoid) CallFunction(r *interpreter.Run, fn *ir.Func, a []any, kw []torch.Kwarg) (any, error) {
//		if fn == ir.FuncOf("torch.neg") {
//			return torch.Sigmoid(a[0].(torch.Value).Tensor()), nil
//		}
//		return s.Default.CallFunction(r, fn, a, kw)
//	}
//
//	out, err := transformer.Transform(ctx, gm, func(d transformer.Default) interpreter.Handler { return negToSigmoid{d} })
//
// Values are torch.Values, since a graph does not say what type a placeholder
// has; an override may return a Value, a traced tensor, a literal or lists of
// these, and may record as many calls as it likes.
//
// Nodes are named anew after their targets. Of the old nodes' meta, provenance is
// carried over and shapes are not; a placeholder's type and meta and the output's
// type are lost, as in torch.fx. The old module is not changed; the new one
// shares its attributes.
package transformer
