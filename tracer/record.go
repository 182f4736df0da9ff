package tracer

import (
	"fmt"

	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// parameter is what a value refers to that is no node yet: a parameter of the
// root, which becomes a get_attr node at its first use.
type parameter struct{ path string }

// String returns the path.
func (p parameter) String() string { return p.path }

// Record appends a call; see torch.Recorder.
func (t *Tracer) Record(op ir.Op, target any, args []any, kw []torch.Kwarg) torch.Value {
	f, _ := target.(*ir.Func)
	return t.record(op, target, args, kw, f != nil && torch.IsWrapped(f))
}

// RecordWrapped appends a call of a wrapped function; see torch.WrapRecorder.
func (t *Tracer) RecordWrapped(f *ir.Func, args []any, kw []torch.Kwarg) torch.Value {
	return t.record(ir.CallFunction, f, args, kw, true)
}

func (t *Tracer) record(op ir.Op, target any, args []any, kw []torch.Kwarg, wrapped bool) torch.Value {
	spec := NodeSpec{Op: op, Args: t.lowerAll(args), Kwargs: make([]ir.Keyword, len(kw))}
	for i, k := range kw {
		spec.Kwargs[i] = ir.Kw(k.Name, t.lower(k.Value))
	}
	if f, ok := target.(*ir.Func); ok {
		spec.Target = f
	} else {
		spec.Target = ir.Path(fmt.Sprint(target))
	}
	if t.config.mutable {
		refuseMutable(spec)
	}
	n := t.create(spec)
	if wrapped {
		n.Meta().Set(ir.MetaIsWrapped, true)
	}
	return torch.NewValue(t, n)
}

// CreateNode appends a node to the trace; it is for an [ArgCreator]. It panics
// with a *torch.Error.
func (t *Tracer) CreateNode(s NodeSpec) *ir.Node { return t.create(s) }

// create appends a node and notes where it was made.
func (t *Tracer) create(s NodeSpec) *ir.Node {
	build := t.build
	if t.config.create != nil {
		build = func(s NodeSpec) (*ir.Node, error) { return t.config.create(s, t.build) }
	}
	n, err := build(s)
	if err != nil {
		panic(&torch.Error{Op: fmt.Sprint(s.Target), Err: err})
	}
	return n
}

func (t *Tracer) build(s NodeSpec) (*ir.Node, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return nil, ErrEnded
	}
	opts := []ir.NodeOption{ir.Kwargs(s.Kwargs...)}
	if s.Name != "" {
		opts = append(opts, ir.Name(s.Name))
	}
	if s.Type != "" {
		opts = append(opts, ir.WithType(s.Type))
	}
	n, err := t.graph.CreateNode(s.Op, s.Target, s.Args, opts...)
	if err != nil {
		return nil, err
	}
	t.annotate(n)
	return n, nil
}

// annotate notes where a node was made.
func (t *Tracer) annotate(n *ir.Node) {
	var scope Scope
	if depth := len(t.stack); depth > 0 {
		scope = Scope{t.stack[depth-1].Path, t.stack[depth-1].Type}
	}
	t.scopes[n.Name()] = scope
	if t.following != nil {
		t.carry(n)
		return
	}
	if len(t.stack) > 0 {
		n.Meta().Set(ir.MetaNNModuleStack, append([]ir.ModuleCall(nil), t.stack...))
	}
	if t.config.stacks {
		n.Meta().Set(ir.MetaStackTrace, stackTrace())
	}
}

// CallModule records a call of a leaf, and runs the body of any other module;
// see nn.Caller.
func (t *Tracer) CallModule(m *nn.Shadow, args []any, forward func() any) any {
	t.enter(m.Path, nn.ClassName(m.Of))
	call := func() any {
		if t.config.leaf(m.Of, m.Path) {
			return t.leafCall(m.Path, m.Of, args)
		}
		return forward()
	}
	var out any
	if t.config.call != nil {
		out = t.config.call(m.Of, m.Path, args, call)
	} else {
		out = call()
	}
	t.leave()
	return out
}

// Read makes the node of a parameter that v stands for, as reading an attribute
// does in Python; without it the node is made at the parameter's first use.
func (t *Tracer) Read(v torch.Value) { t.node(v) }

func (t *Tracer) leafCall(path string, m any, args []any) any {
	if inside, ok := m.(interface{ GraphModule() *ir.GraphModule }); ok {
		m = inside.GraphModule() // so that texts show it
	}
	t.mu.Lock()
	t.attrs[path] = m
	t.mu.Unlock()
	args, kw := torch.SplitKwargs(args)
	return t.Record(ir.CallModule, path, args, kw)
}

// enter pushes a module call. Further calls of one module have keys of their own.
func (t *Tracer) enter(path, typ string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := path
	if n := t.calls[path]; n > 0 {
		key = fmt.Sprintf("%s@%d", path, n)
	}
	t.calls[path]++
	t.stack = append(t.stack, ir.ModuleCall{Key: key, Path: path, Type: typ})
}

func (t *Tracer) leave() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stack = t.stack[:len(t.stack)-1]
}

// readParameter returns the node of a parameter, made at its first use.
func (t *Tracer) readParameter(path string) *ir.Node {
	t.mu.Lock()
	n, ok := t.params[path]
	t.mu.Unlock()
	if ok {
		return n
	}
	n = t.create(NodeSpec{Op: ir.GetAttr, Target: ir.Path(path)})
	t.mu.Lock()
	defer t.mu.Unlock()
	t.params[path] = n
	if value, ok := t.values[path]; ok {
		t.attrs[path] = value
	}
	return n
}

// Bool answers for torch.Flow, by [OnBool].
func (t *Tracer) Bool(v torch.Value) (truth, ok bool) {
	if t.config.truth == nil {
		return false, false
	}
	return t.config.truth(v)
}

// Len answers for torch.Flow, by [OnLen].
func (t *Tracer) Len(v torch.Value) (n int, ok bool) {
	if t.config.length == nil {
		return 0, false
	}
	return t.config.length(v)
}

// Keys answers for torch.Flow, by [OnKeys].
func (t *Tracer) Keys(v torch.Value) (keys []string, ok bool) {
	if t.config.keys == nil {
		return nil, false
	}
	return t.config.keys(v)
}

// ShapeOf answers for torch.Shapes, by [ConstantParamShapes].
func (t *Tracer) ShapeOf(v torch.Value) (*torch.Tensor, bool) {
	p, ok := v.Ref().(parameter)
	if !ok || !t.config.shapes {
		return nil, false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	x, ok := t.values[p.path]
	return x, ok
}
