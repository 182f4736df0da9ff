package tracer

import (
	"reflect"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// retrace traces a graph by walking it: modules that are no leaves are entered,
// and calls of wrapped functions stay wrapped.
func (t *Tracer) retrace(gm *ir.GraphModule) error {
	signature, method := graphSignature(gm)
	params := signature.Params
	values, tree, err := t.placeholders(make([]reflect.Type, len(params)), params, method)
	if err != nil {
		return err
	}
	for path := range gm.Attrs() {
		t.taken[path] = true
	}
	var out any
	if err := t.protect(func() { out = t.inline(gm, "", values) }); err != nil {
		return err
	}
	return t.output(out, signature.Returns, tree)
}

// graphSignature returns the signature of a graph's code, without self, and
// whether it had one. The code of a pytree signature has no annotations.
func graphSignature(gm *ir.GraphModule) (signature nn.Signature, method bool) {
	tree, isTree := gm.Graph().CodeGen().(ir.PyTreeCodeGen)
	defaults := map[string]ir.Arg{}
	for n := range gm.Graph().Nodes() {
		switch n.Op() {
		case ir.Placeholder:
			p := nn.Param{Name: n.Target().String(), Type: n.Type()}
			if len(n.Args()) > 0 {
				p.Default = n.Arg(0)
			}
			signature.Params = append(signature.Params, p)
			defaults[p.Name] = p.Default
		case ir.Output:
			signature.Returns = n.Type()
		}
	}
	if !isTree {
		return signature, false
	}
	signature = nn.Signature{}
	for _, name := range tree.Args {
		if name == "self" {
			method = true
			continue
		}
		signature.Params = append(signature.Params, nn.Param{Name: name, Default: defaults[name]})
	}
	return signature, method
}

// Inline records the nodes of a graph as calls of the trace and returns what
// stands for its result. path is where gm stands in the root; a call of its
// modules and a read of its attributes go through it. It panics with a
// *torch.Error.
func (t *Tracer) Inline(gm *ir.GraphModule, path string, args []any) any {
	return t.inline(gm, path, args)
}

func (t *Tracer) inline(gm *ir.GraphModule, path string, args []any) any {
	g := gm.Graph()
	if c := g.CodeGen(); c != nil {
		leaves, err := c.ProcessInputs(args, nil)
		if err != nil {
			panic(&torch.Error{Op: "trace", Err: err})
		}
		args = leaves
	}
	values := map[*ir.Node]any{}
	var out any
	for n := range g.Nodes() {
		operands := make([]any, len(n.Args()))
		for i, a := range n.Args() {
			operands[i] = valueOf(a, values)
		}
		keywords := make([]torch.Kwarg, len(n.Kwargs()))
		for i, k := range n.Kwargs() {
			keywords[i] = torch.Kw(k.Name, valueOf(k.Value, values))
		}
		switch n.Op() {
		case ir.Placeholder:
			values[n], args = bindPlaceholder(n, operands, args)
		case ir.GetAttr:
			values[n] = t.readAttr(gm, join(path, n.Target().String()), n.Target().String())
		case ir.CallFunction, ir.CallMethod:
			values[n] = t.recall(n, operands, keywords)
		case ir.CallModule:
			values[n] = t.callChild(gm, join(path, n.Target().String()), n.Target().String(), operands, keywords)
		case ir.Output:
			out = operands[0]
		}
	}
	if c := g.CodeGen(); c != nil {
		result, err := c.ProcessOutputs(out)
		if err != nil {
			panic(&torch.Error{Op: "trace", Err: err})
		}
		out = result
	}
	return out
}

func bindPlaceholder(n *ir.Node, defaults, args []any) (value any, rest []any) {
	name := n.Target().String()
	switch {
	case strings.HasPrefix(name, "*") && len(args) == 1:
		if v, traced := torch.ValueOf(args[0]); traced {
			return v, nil
		}
		return ir.PyTuple(args), nil
	case strings.HasPrefix(name, "*"):
		return ir.PyTuple(args), nil
	case len(args) > 0 && args[0] != any(ir.Absent{}):
		return args[0], args[1:]
	case len(defaults) > 0:
		return defaults[0], args[min(len(args), 1):]
	}
	panic(&torch.Error{Op: "trace", Err: ir.Errorf(ir.ErrRuntime, "Expected positional argument for parameter %s, but one was not passed in!", name)})
}

// readAttr returns what stands for an attribute. A graph does not tell
// parameters from buffers: constants of a trace are real tensors, all others
// stand for their node.
func (t *Tracer) readAttr(gm *ir.GraphModule, path, target string) any {
	v, ok := gm.Attr(target)
	if !ok {
		panic(&torch.Error{Op: "trace", Err: ir.Errorf(ir.ErrAttribute, "the graph reads %s, which its module does not have", target)})
	}
	x, isTensor := v.(*torch.Tensor)
	t.mu.Lock()
	if isTensor && strings.HasPrefix(target, "_tensor_constant") {
		if _, known := t.tensors[x]; !known {
			t.tensors[x] = path
		}
		t.mu.Unlock()
		return x
	}
	t.attrs[path] = v
	t.mu.Unlock()
	return torch.NewValue(t, parameter{path})
}

// recall records a call of a graph, or computes it where nothing is traced.
func (t *Tracer) recall(n *ir.Node, args []any, kw []torch.Kwarg) any {
	var target any = n.Target()
	if p, ok := target.(ir.Path); ok {
		target = string(p)
	}
	all := args
	for _, k := range kw {
		all = append(all[:len(all):len(all)], k.Value)
	}
	if !torch.Traced(all...) {
		return torch.Dispatch(n.Op(), target, args, kw)
	}
	wrapped, _ := n.Meta().Get(ir.MetaIsWrapped).(bool)
	return t.record(n.Op(), target, args, kw, wrapped)
}

// callChild records or enters a module that a graph calls.
func (t *Tracer) callChild(gm *ir.GraphModule, path, target string, args []any, kw []torch.Kwarg) any {
	child, ok := gm.Attr(target)
	if !ok {
		panic(&torch.Error{Op: "trace", Err: ir.Errorf(ir.ErrAttribute, "the graph calls %s, which its module does not have", target)})
	}
	switch child := child.(type) {
	case *ir.GraphModule:
		if len(kw) == 0 {
			t.enter(path, ir.GraphModuleClass)
			out := t.inline(child, path, args)
			t.leave()
			return out
		}
	case nn.Module:
		if !t.config.leaf(child, path) {
			return t.enterChild(child, path, args, kw)
		}
		t.enter(path, nn.ClassName(child))
		defer t.leave()
	}
	for _, k := range kw {
		args = append(args[:len(args):len(args)], k)
	}
	return t.leafCall(path, child, args)
}

// enterChild runs the shadow of a module that a graph calls.
func (t *Tracer) enterChild(m nn.Module, path string, args []any, kw []torch.Kwarg) any {
	c := &caster{t: t, modules: map[nn.Module]nn.Module{}, values: map[*torch.Tensor]*torch.Tensor{}}
	shadow := c.cast(m, path)
	if c.err != nil {
		panic(&torch.Error{Op: "trace", Err: c.err})
	}
	t.enter(path, nn.ClassName(m))
	out, err := nn.Invoke(shadow, args, kw)
	if err != nil {
		panic(err)
	}
	t.leave()
	return out
}

// valueOf returns an argument of a graph as model code would give it.
func valueOf(a ir.Arg, values map[*ir.Node]any) any {
	items := func(n int, at func(int) ir.Arg) []any {
		out := make([]any, n)
		for i := range out {
			out[i] = valueOf(at(i), values)
		}
		return out
	}
	switch a := a.(type) {
	case *ir.Node:
		return values[a]
	case ir.List:
		return items(a.Len(), a.At)
	case ir.Tuple:
		return ir.PyTuple(items(a.Len(), a.At))
	case ir.Dict:
		d := &ir.PyDict{}
		for key, item := range a.All() {
			k, ok := torch.KeyFromArg(key)
			if !ok {
				fail(ir.ErrNotImplemented, "a dict with the key %s cannot be traced again", ir.Repr(key))
			}
			d.Set(k, valueOf(item, values))
		}
		return d
	case ir.Slice:
		part := func(a ir.Arg) ir.Arg {
			v := valueOf(a, values)
			if literal, ok := v.(ir.Arg); ok {
				return literal
			}
			if v == nil {
				return ir.None{}
			}
			return ir.Opaque{Value: v}
		}
		return ir.Slice{Start: part(a.Start), Stop: part(a.Stop), Step: part(a.Step)}
	}
	return torch.FromArg(a)
}
