package export

import (
	"fmt"

	"github.com/torchfx-go/torchfx/ir"
)

// guardsName is the attribute and the node under which Python's `.module()`
// keeps the checks of inputs.
const guardsName = "_guards_fn"

// Module returns the program as something to call, as ep.module() of torch 2.15
// makes it: parameters, buffers and constants are get_attr nodes under their
// qualified names, what the program changes is copied back by copy_ before the
// output, a call of _guards_fn checks the inputs, and arguments and results have
// the structure that was exported. Node names and code are Python's.
//
// The attributes are [*Tensor], [*Object], [*ir.GraphModule] and, under
// "_guards_fn", [*Guards]. As in Python, that call is there only for a program
// with inputs whose file holds sample inputs ([Program.Samples]); without it the
// caller checks [Program.Guards].
//
// The module is a new one with each call; its tensors are the program's.
func (p *Program) Module() (*ir.GraphModule, error) {
	if p.outputs != nil {
		return nil, ir.Errorf(ir.ErrUnsupported, "module of program %s: only its signature was read", p.Name)
	}
	u := &unlifter{p: p, in: p.Signature.Inputs, out: p.Signature.Outputs, attrs: map[string]any{}}
	var err error
	if u.graph, err = copyGraph(p.Graph, false); err != nil {
		return nil, err
	}
	for path, v := range p.module.Attrs() {
		if u.attrs[path], err = copyAttr(v); err != nil {
			return nil, err
		}
	}
	if !p.Training() {
		if err := u.removeTokens(); err != nil {
			return nil, err
		}
	}
	if err := u.unlift(); err != nil {
		return nil, err
	}
	names := p.ArgNames
	if len(names) == 0 {
		names = defaultArgNames(p.InSpec)
	}
	u.graph.SetCodeGen(ir.PyTreeCodeGen{Args: names, In: p.InSpec, Out: p.OutSpec})
	if err := u.callGuards(); err != nil {
		return nil, err
	}
	m, err := ir.NewGraphModule(u.attrs, u.graph, ir.AttrOrder(u.attrOrder()...))
	if err != nil {
		return nil, fmt.Errorf("module of program %s: %w", p.Name, err)
	}
	m.Meta().CopyFrom(p.module.Meta())
	return m, nil
}

// attrOrder lists the attributes in the order in which Python's module has them:
// as the graph reads them. The guards, which are called and not read, follow.
func (u *unlifter) attrOrder() []string {
	var order []string
	for _, n := range u.graph.Find(ir.GetAttr, nil) {
		order = append(order, n.Target().String())
	}
	return order
}

// An unlifter turns a lifted graph into one with state. Follows
// torch/export/_unlift.py.
type unlifter struct {
	p     *Program
	graph *ir.Graph
	in    []InputSpec
	out   []OutputSpec
	attrs map[string]any
}

// unlift replaces lifted inputs by get_attr nodes and copies changes back.
func (u *unlifter) unlift() error {
	state := map[string]*ir.Node{} // by qualified name
	users := map[string]*ir.Node{} // by the name in the signature
	ins := u.graph.Find(ir.Placeholder, nil)
	if len(ins) != len(u.in) {
		return ir.Errorf(ir.ErrAssertion, "module: expected %d placeholders, got %d", len(u.in), len(ins))
	}
	for i, n := range ins {
		spec := &u.in[i]
		switch spec.Kind {
		case UserInput, TokenInput:
			users[spec.Name] = n
			continue
		case CustomObjectInput:
			u.attrs[spec.Target] = u.p.Object(spec.Target)
		default:
			u.attrs[spec.Target] = u.p.Tensor(spec.Target)
			if u.p.Tensor(spec.Target) == nil {
				u.attrs[spec.Target] = described(n, spec.Kind)
			}
		}
		attr, err := u.replace(n, spec.Target)
		if err != nil {
			return err
		}
		state[spec.Target] = attr
	}
	return u.copyBack(state, users)
}

// replace puts a get_attr node in the place of a placeholder.
func (u *unlifter) replace(n *ir.Node, target string) (*ir.Node, error) {
	restore, err := u.graph.InsertAfter(n)
	if err != nil {
		return nil, err
	}
	attr := u.graph.GetAttr(target)
	restore()
	n.ReplaceAllUsesWith(attr)
	attr.Meta().CopyFrom(n.Meta())
	return attr, u.graph.Erase(n)
}

// described makes a tensor without elements of what the graph says about a
// placeholder, for a program that was opened without its weights.
func described(n *ir.Node, kind InputKind) *Tensor {
	t := &Tensor{Parameter: kind == ParameterInput}
	if val, ok := n.Meta().Get(ir.MetaVal).(ir.TensorMeta); ok {
		t.DType, t.Device, t.RequiresGrad, t.Offset = val.DType, val.Device, val.RequiresGrad, val.StorageOffset.Hint()
		for i := range val.Sizes {
			t.Sizes, t.Strides = append(t.Sizes, val.Sizes[i].Hint()), append(t.Strides, val.Strides[i].Hint())
		}
	}
	return t
}

var copyInPlace = ir.OverloadOf("aten::copy_")

// copyBack writes what the signature calls mutations into state and inputs, and
// leaves the user's outputs alone in the output.
func (u *unlifter) copyBack(state, users map[string]*ir.Node) error {
	output, err := u.graph.OutputNode()
	if err != nil {
		return err
	}
	outs, ok := output.Arg(0).(ir.Tuple)
	if !ok || outs.Len() != len(u.out) {
		return ir.Errorf(ir.ErrAssertion, "module: expected %d outputs in a tuple, got %s", len(u.out), ir.Repr(output.Arg(0)))
	}
	restore, err := u.graph.InsertBefore(output)
	if err != nil {
		return err
	}
	defer restore()
	var rest []ir.Arg
	copies := map[*ir.Node]*ir.Node{}
	for i, value := range outs.All() {
		spec := &u.out[i]
		if !spec.Kind.mutates() {
			rest = append(rest, value)
			continue
		}
		to := state[spec.Target]
		if spec.Kind == UserInputMutation {
			to = users[spec.Target]
		}
		if to == nil {
			return ir.Errorf(ir.ErrRuntime, "module: could not find %s in either buffer or input nodes", spec.Target)
		}
		made := u.graph.CallFunction(copyInPlace, []ir.Arg{to, value})
		if n, ok := value.(*ir.Node); ok {
			copies[n] = made
		}
	}
	for i, value := range rest {
		if n, ok := value.(*ir.Node); ok && copies[n] != nil {
			rest[i] = copies[n]
		}
	}
	output.SetArgs(ir.TupleOf(rest...))
	return nil
}

// callGuards inserts the call that checks the inputs.
func (u *unlifter) callGuards() error {
	ins := u.graph.Find(ir.Placeholder, nil)
	if len(ins) == 0 || !u.p.Samples {
		return nil
	}
	restore, err := u.graph.InsertAfter(ins[len(ins)-1])
	if err != nil {
		return err
	}
	defer restore()
	args := make([]ir.Arg, len(ins))
	for i, n := range ins {
		args[i] = n
	}
	n := u.graph.CallModule(guardsName, args)
	u.attrs[guardsName] = u.p.Guards
	for m := range u.graph.Nodes() {
		if m.Op() == ir.CallFunction && m.Meta().Has(ir.MetaNNModuleStack) {
			n.Meta().Set(ir.MetaNNModuleStack, m.Meta().Get(ir.MetaNNModuleStack))
			break
		}
	}
	return nil
}

// defaultArgNames are the names of arguments where the file has none.
func defaultArgNames(in *ir.TreeSpec) []string {
	var names []string
	if in == nil || len(in.Children) != 2 {
		return nil
	}
	for i := range in.Children[0].Children {
		names = append(names, fmt.Sprintf("arg_%d", i))
	}
	for _, key := range in.Children[1].Keys {
		names = append(names, fmt.Sprint(key))
	}
	return names
}

// copyGraph copies a graph. Names are made anew from the old ones, as Python's
// deepcopy does, which renames what Python reserves; or kept where exact is set.
func copyGraph(g *ir.Graph, exact bool) (*ir.Graph, error) {
	to := ir.NewGraph()
	nodes := make(map[*ir.Node]*ir.Node, g.Len())
	find := func(n *ir.Node) ir.Arg { return nodes[n] }
	for n := range g.Nodes() {
		args := make([]ir.Arg, len(n.Args()))
		for i, a := range n.Args() {
			args[i] = ir.MapNodes(a, find)
		}
		kwargs := make([]ir.Keyword, len(n.Kwargs()))
		for i, k := range n.Kwargs() {
			kwargs[i] = ir.Kw(k.Name, ir.MapNodes(k.Value, find))
		}
		name := ir.Name(n.Name())
		if exact {
			name = ir.ExactName(n.Name())
		}
		c, err := to.CreateNode(n.Op(), n.Target(), args, name, ir.Kwargs(kwargs...), ir.WithType(n.Type()))
		if err != nil {
			return nil, err
		}
		c.Meta().CopyFrom(n.Meta())
		nodes[n] = c
	}
	to.TakeCodeGen(g)
	return to, nil
}

// copyAttr copies an attribute that is a graph module, with all below it.
func copyAttr(v any) (any, error) {
	m, ok := v.(*ir.GraphModule)
	if !ok {
		return v, nil
	}
	g, err := copyGraph(m.Graph(), true)
	if err != nil {
		return nil, err
	}
	attrs := map[string]any{}
	for path, v := range m.Attrs() {
		if attrs[path], err = copyAttr(v); err != nil {
			return nil, err
		}
	}
	c, err := ir.NewGraphModule(attrs, g, ir.ClassName(m.ClassName()))
	if err != nil {
		return nil, err
	}
	c.Meta().CopyFrom(m.Meta())
	return c, nil
}
