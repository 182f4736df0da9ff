package export

import (
	"slices"

	"github.com/torchfx-go/torchfx/ir"
)

var (
	withEffects    = ir.FuncOf("torch.ops.higher_order.with_effects")
	invokeSubgraph = ir.FuncOf("torch.ops.higher_order.invoke_subgraph")
)

// removeTokens takes effect tokens out of the graph, its subgraphs and the
// signature: with_effects(token, op, args…) becomes op(args…). Dead code goes
// with them, as in Python. Follows torch/export/_remove_effect_tokens_pass.py.
func (u *unlifter) removeTokens() error {
	top := &detokener{p: u.p, graph: u.graph, attrs: u.attrs}
	if err := top.run(); err != nil {
		return err
	}
	isToken := func(in InputSpec) bool { return in.Kind == TokenInput }
	u.in = slices.DeleteFunc(slices.Clone(u.in), isToken)
	u.out = slices.DeleteFunc(slices.Clone(u.out), func(out OutputSpec) bool { return out.Kind == TokenOutput })
	return nil
}

// A detokener removes the tokens of one graph.
type detokener struct {
	p      *Program
	graph  *ir.Graph
	attrs  map[string]any // of the graph's module
	inputs map[*ir.Node]bool
	tokens int // that the output node returns first
}

func (d *detokener) run() error {
	d.inputs = map[*ir.Node]bool{}
	hadEffects := map[string]bool{}
	for name, v := range d.attrs {
		if sub, ok := v.(*ir.GraphModule); ok {
			hadEffects[name] = len(sub.Graph().Find(ir.CallFunction, withEffects)) > 0
		}
	}
	for n := range d.graph.Nodes() {
		var err error
		switch n.Func() {
		case withEffects:
			err = d.withEffects(n)
		case invokeSubgraph:
			if g, ok := n.Arg(0).(*ir.Node); ok && hadEffects[g.Target().String()] {
				d.invoke(n)
			}
		}
		if err != nil {
			return err
		}
	}
	if d.tokens > 0 {
		if err := d.dropOutputs(); err != nil {
			return err
		}
	}
	if _, err := d.graph.EliminateDeadCode(); err != nil {
		return err
	}
	for n := range d.inputs {
		if err := d.graph.Erase(n); err != nil {
			return err
		}
	}
	for _, v := range d.attrs {
		if sub, ok := v.(*ir.GraphModule); ok {
			if err := d.sub(sub); err != nil {
				return err
			}
		}
	}
	return nil
}

func (d *detokener) sub(m *ir.GraphModule) error {
	attrs := map[string]any{}
	for path, v := range m.Attrs() {
		attrs[path] = v
	}
	return (&detokener{p: d.p, graph: m.Graph(), attrs: attrs}).run()
}

// withEffects replaces one node by the call that it wraps.
func (d *detokener) withEffects(n *ir.Node) error {
	fn, ok := n.Arg(1).(*ir.Func)
	schema := d.p.catalogue.Lookup(opOf(fn))
	if !ok || schema == nil {
		return ir.Errorf(ir.ErrUnsupported, "module: %s wraps %s, whose schema is not known", n.Name(), ir.Repr(n.Arg(1)))
	}
	if token, ok := n.Arg(0).(*ir.Node); ok && token.Op() == ir.Placeholder {
		d.inputs[token] = true
	}
	restore, err := d.graph.InsertBefore(n)
	if err != nil {
		return err
	}
	call := d.graph.CallFunction(fn, n.Args()[2:], ir.Kwargs(n.Kwargs()...))
	restore()
	call.Meta().CopyFrom(n.Meta())
	vals, _ := n.Meta().Get(ir.MetaVal).([]any)
	for user := range n.Users() {
		i, ok := user.Arg(1).(ir.Int)
		if user.Func() != getitem || !ok {
			return ir.Errorf(ir.ErrUnsupported, "module: expected getitem of %s, got %s", n.Name(), user.Name())
		}
		switch {
		case i == 0:
			d.countToken(user)
		case len(schema.Returns) == 1 && i == 1:
			user.ReplaceAllUsesWith(call)
		case len(schema.Returns) > 1:
			user.SetArgs(call, i-1)
		}
	}
	switch {
	case len(vals) == 0:
	case len(schema.Returns) == 0:
		call.Meta().Set(ir.MetaVal, ir.None{})
	case len(schema.Returns) == 1 && len(vals) > 1:
		call.Meta().Set(ir.MetaVal, vals[1])
	default:
		call.Meta().Set(ir.MetaVal, vals[1:])
	}
	return nil
}

func opOf(fn *ir.Func) string {
	if fn == nil {
		return ""
	}
	return fn.Op()
}

// countToken notes a token that the graph returns.
func (d *detokener) countToken(token *ir.Node) {
	for user := range token.Users() {
		if user.Op() == ir.Output {
			d.tokens++
		}
	}
}

// invoke takes the token out of a call of a subgraph that had effects.
func (d *detokener) invoke(n *ir.Node) {
	args := slices.Clone(n.Args())
	if len(args) < 3 {
		return
	}
	if token, ok := args[2].(*ir.Node); ok && token.Op() == ir.Placeholder {
		d.inputs[token] = true
	}
	n.SetArgs(slices.Delete(args, 2, 3)...)
	for user := range n.Users() {
		i, ok := user.Arg(1).(ir.Int)
		switch {
		case !ok:
		case i == 0:
			d.countToken(user)
		default:
			user.SetArgs(n, i-1)
		}
	}
}

// dropOutputs removes the tokens from the front of the output.
func (d *detokener) dropOutputs() error {
	output, err := d.graph.OutputNode()
	if err != nil {
		return err
	}
	outs, ok := output.Arg(0).(ir.Tuple)
	if !ok || outs.Len() < d.tokens {
		return ir.Errorf(ir.ErrAssertion, "module: expected %d tokens at the front of the output, got %s", d.tokens, ir.Repr(output.Arg(0)))
	}
	var rest []ir.Arg
	for i, a := range outs.All() {
		if i >= d.tokens {
			rest = append(rest, a)
		}
	}
	output.SetArgs(ir.TupleOf(rest...))
	return nil
}
