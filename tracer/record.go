package tracer

import (
	"fmt"
	"reflect"

	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// attribute is what a value refers to that is no node yet: a parameter, which
// becomes a get_attr node at its first use.
type attribute struct{ path string }

// Record appends a call; see torch.Recorder.
func (t *Tracer) Record(op ir.Op, target any, args []any, kw []torch.Kwarg) torch.Value {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		panic(&torch.Error{Op: fmt.Sprint(target), Err: ErrEnded})
	}
	lowered := make([]ir.Arg, len(args))
	for i, a := range args {
		lowered[i] = t.lower(a)
	}
	keywords := make([]ir.Keyword, len(kw))
	for i, k := range kw {
		keywords[i] = ir.Kw(k.Name, t.lower(k.Value))
	}
	var to ir.Target
	if f, ok := target.(*ir.Func); ok {
		to = f
	} else {
		to = ir.Path(fmt.Sprint(target))
	}
	n, err := t.graph.CreateNode(op, to, lowered, ir.Kwargs(keywords...))
	if err != nil {
		panic(&torch.Error{Op: fmt.Sprint(target), Err: err})
	}
	t.annotate(n)
	return torch.NewValue(t, n)
}

// annotate notes where a node was made.
func (t *Tracer) annotate(n *ir.Node) {
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
	key := m.Path
	if n := t.calls[m.Path]; n > 0 {
		key = fmt.Sprintf("%s@%d", m.Path, n)
	}
	t.calls[m.Path]++
	t.stack = append(t.stack, ir.ModuleCall{Key: key, Path: m.Path, Type: reflect.TypeOf(m.Of).Elem().String()})
	var out any
	if t.config.leaf(m.Of, m.Path) {
		t.attrs[m.Path] = m.Of
		args, kw := torch.SplitKwargs(args)
		out = t.Record(ir.CallModule, m.Path, args, kw)
	} else {
		out = forward()
	}
	t.stack = t.stack[:len(t.stack)-1]
	return out
}

// Read makes the node of a parameter that v stands for, as reading an attribute
// does in Python; without it the node is made at the parameter's first use.
func (t *Tracer) Read(v torch.Value) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.node(v)
}

// parameter returns the node of a parameter, made at its first use.
func (t *Tracer) parameter(path string) *ir.Node {
	n, ok := t.params[path]
	if !ok {
		n = t.graph.GetAttr(path)
		t.annotate(n)
		t.params[path], t.attrs[path] = n, t.values[path]
	}
	return n
}
