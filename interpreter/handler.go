package interpreter

import (
	"strings"

	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// A Handler executes nodes: RunNode one node, the others one opcode each. Embed
// [Default] and override what should differ; the embedded method is what Python
// calls super(). Since every step goes through [Run.Handler], the outermost
// handler, an override is reached wherever it sits.
//
// Arguments are lent, and their lists not to be changed. What a step returns
// belongs to the run, unless it is an argument or an attribute: a handler that
// returns a tensor which it keeps returns a Ref of it.
type Handler interface {
	RunNode(r *Run, n *ir.Node) (any, error)
	Placeholder(r *Run, target string, args []any, kwargs []torch.Kwarg) (any, error)
	GetAttr(r *Run, path string, args []any, kwargs []torch.Kwarg) (any, error)
	CallFunction(r *Run, fn *ir.Func, args []any, kwargs []torch.Kwarg) (any, error)
	CallMethod(r *Run, name string, args []any, kwargs []torch.Kwarg) (any, error)
	CallModule(r *Run, path string, args []any, kwargs []torch.Kwarg) (any, error)
	Output(r *Run, target string, args []any, kwargs []torch.Kwarg) (any, error)
}

// Default does what torch.fx's Interpreter does.
type Default struct{}

// RunNode fetches the arguments of n and dispatches on its opcode.
func (Default) RunNode(r *Run, n *ir.Node) (any, error) {
	args, kwargs, err := r.Args(n)
	if err != nil {
		return nil, err
	}
	switch h := r.handler; n.Op() {
	case ir.Placeholder:
		return h.Placeholder(r, n.Target().String(), args, kwargs)
	case ir.GetAttr:
		return h.GetAttr(r, n.Target().String(), args, kwargs)
	case ir.CallFunction:
		return h.CallFunction(r, n.Func(), args, kwargs)
	case ir.CallMethod:
		return h.CallMethod(r, n.Target().String(), args, kwargs)
	case ir.CallModule:
		return h.CallModule(r, n.Target().String(), args, kwargs)
	default:
		return h.Output(r, n.Target().String(), args, kwargs)
	}
}

// Placeholder returns the next argument of the run; a starred target takes all
// that are left, as a list.
func (Default) Placeholder(r *Run, target string, args []any, _ []torch.Kwarg) (any, error) {
	if strings.HasPrefix(target, "*") {
		return r.takeAll(), nil
	}
	if v, ok := r.take(); ok {
		return v, nil
	}
	if len(args) > 0 {
		return args[0], nil
	}
	return nil, ir.Errorf(ir.ErrRuntime, "Expected positional argument for parameter %s, but one was not passed in!", target)
}

// GetAttr returns the attribute at a dotted path; of a container of parameters
// the list or dict that a graph takes it for.
func (Default) GetAttr(r *Run, path string, _ []any, _ []torch.Kwarg) (any, error) {
	v, err := r.Attr(path)
	if held, ok := parametersOf(v); ok {
		r.owners.lend(held)
		return held, nil
	}
	return v, err
}

// parametersOf returns what graphs use of an nn.ParameterList or ParameterDict.
func parametersOf(v any) (held any, ok bool) {
	switch v := v.(type) {
	case *nn.ParameterList:
		list := []any{}
		for _, t := range v.Held() {
			list = append(list, t)
		}
		return list, true
	case *nn.ParameterDict:
		var names, values []any
		for name, t := range v.Held() {
			names, values = append(names, name), append(values, t)
		}
		return ir.NewPyDict(names, values), true
	}
	return nil, false
}

// CallFunction calls fn: a higher-order operator here, anything else in package
// torchops.
func (Default) CallFunction(r *Run, fn *ir.Func, args []any, kwargs []torch.Kwarg) (any, error) {
	return r.invoke(fn, args, kwargs)
}

// invoke calls fn under the modes of r.
func (r *Run) invoke(fn *ir.Func, args []any, kwargs []torch.Kwarg) (any, error) {
	if fn.Kind() == ir.HigherOrder {
		if h := hops[fn]; h != nil {
			return h(r, args, kwargs)
		}
		return nil, unsupportedHigherOrder(fn)
	}
	return torch.Invoke(&r.mode, fn, args, kwargs)
}

// CallMethod calls a method of args[0]; tensors have those of torch.Tensor.
func (Default) CallMethod(r *Run, name string, args []any, kwargs []torch.Kwarg) (any, error) {
	if len(args) == 0 {
		return nil, ir.Errorf(ir.ErrType, "method %s: expected a receiver, got no argument", name)
	}
	return torch.InvokeMethod(&r.mode, name, args, kwargs)
}

// method returns the function that a tensor's method is.
func method(name string) *ir.Func { return ir.FuncOf("torch.Tensor." + name) }

// CallModule calls the submodule at a dotted path: a graph module through its
// code generator, a region of a delegate, a module of package nn, or something that
// checks its arguments and returns nothing, as the guards of an exported program do.
func (Default) CallModule(r *Run, path string, args []any, kwargs []torch.Kwarg) (any, error) {
	v, err := r.Attr(path)
	if err != nil {
		return nil, err
	}
	return r.callModule(path, v, args, kwargs)
}

// callModule calls v, which stands at path.
func (r *Run) callModule(path string, v any, args []any, kwargs []torch.Kwarg) (out any, err error) {
	switch m := v.(type) {
	case *ir.GraphModule:
		named := make(map[string]any, len(kwargs))
		for _, k := range kwargs {
			named[k.Name] = k.Value
		}
		bound, err := m.Graph().ProcessInputs(args, named)
		if err != nil {
			return nil, err
		}
		out, err := r.Call(m, bound...)
		if err != nil {
			return nil, err
		}
		return processOutputs(m.Graph(), out)
	case *Delegated:
		return r.callDelegated(path, m, args, kwargs)
	case nn.Module:
		r.mode.Within(func() { out, err = nn.Invoke(m, args, kwargs) })
		return out, err
	case checker:
		if err := m.Check(args); err != nil {
			return nil, refusal{err}
		}
		return nil, nil
	}
	return nil, notCallable(path, v)
}

// A checker refuses arguments.
type checker interface{ Check(leaves []any) error }

func notCallable(path string, v any) error {
	return ir.Errorf(ir.ErrUnsupported, "call of module %s: expected a graph module, an nn.Module or guards, got %T", path, v)
}

// Output returns the argument of the output node.
func (Default) Output(_ *Run, _ string, args []any, _ []torch.Kwarg) (any, error) {
	if len(args) == 0 {
		return nil, nil
	}
	return args[0], nil
}

// Around returns a handler that calls f around each node; run executes the node
// by the handler inside. It is how hooks are made: timing, looking for NaN,
// recording what flows. Without one nothing is paid.
func Around(inside Handler, f func(r *Run, n *ir.Node, run func() (any, error)) (any, error)) Handler {
	return around{inside, f}
}

type around struct {
	Handler
	f func(*Run, *ir.Node, func() (any, error)) (any, error)
}

func (a around) RunNode(r *Run, n *ir.Node) (any, error) {
	return a.f(r, n, func() (any, error) { return a.Handler.RunNode(r, n) })
}
