package tracer

import (
	"fmt"
	"reflect"

	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// An ArgCreator says itself what it is as an argument of a node, as Python's
// __fx_create_arg__ does. [Tracer.CreateArg] and [Tracer.CreateNode] help.
type ArgCreator interface{ CreateArg(t *Tracer) ir.Arg }

// CreateArg turns a value of model code into an argument of a node of the trace.
// It panics with a *torch.Error where the value has no place in a graph.
func (t *Tracer) CreateArg(v any) ir.Arg { return t.lower(v) }

// lower is CreateArg, by way of the caller's own rule.
func (t *Tracer) lower(v any) ir.Arg {
	defer t.depth.Add(-1)
	if t.depth.Add(1) > torch.MaxNesting {
		fail(ir.ErrValue, "%w", torch.ErrNesting)
	}
	if t.config.arg != nil {
		return t.config.arg(v, t.lowerValue)
	}
	return t.lowerValue(v)
}

// lowerValue follows torch.fx.Tracer.create_arg.
func (t *Tracer) lowerValue(v any) ir.Arg {
	if value, ok := torch.ValueOf(v); ok {
		return t.node(value)
	}
	switch v := v.(type) {
	case nil:
		return ir.None{}
	case ir.Slice:
		return ir.Slice{Start: t.lower(v.Start), Stop: t.lower(v.Stop), Step: t.lower(v.Step)}
	case ir.Opaque:
		return t.lower(v.Value)
	case ArgCreator:
		return v.CreateArg(t)
	case *ir.Node:
		fail(ir.ErrType, "a node is no value of a model: use what stands for it")
	case ir.Arg:
		return v
	case *torch.Tensor:
		if v == nil {
			return ir.None{}
		}
		return t.tensor(v)
	case torch.SymInt:
		return ir.Int(v.Int())
	case torch.Tensors:
		items := make([]ir.Arg, v.Len())
		for i, x := range v.All() {
			items[i] = t.lower(x)
		}
		return ir.TupleOf(items...)
	case torch.Tuple:
		return t.lower(v.PyTuple())
	case ir.PyTuple:
		return ir.TupleOf(t.lowerAll(v)...)
	case *ir.PyDict:
		var pairs []ir.Pair
		for key, item := range v.All() {
			if _, traced := torch.ValueOf(key); traced {
				fail(ir.ErrRuntime, "Keys for dictionaries used as an argument cannot contain a Node. Got key: %v", t.lower(key))
			}
			pairs = append(pairs, ir.Pair{Key: t.lower(key), Value: t.lower(item)})
		}
		return ir.DictOf(pairs...)
	case *ir.PyObject:
		return t.object(v)
	case nn.Module:
		return t.module(v)
	}
	if a, ok := number(v); ok {
		return a
	}
	return t.container(reflect.ValueOf(v))
}

// number turns numbers and texts of any Go type into literals.
func number(v any) (ir.Arg, bool) {
	switch r := reflect.ValueOf(v); {
	case r.Kind() == reflect.Bool:
		return ir.Bool(r.Bool()), true
	case r.Kind() == reflect.String:
		return ir.Str(r.String()), true
	case r.CanInt():
		return ir.Int(r.Int()), true
	case r.CanUint() && r.Uint() < 1<<63:
		return ir.Int(r.Uint()), true
	case r.CanFloat():
		return ir.Float(r.Float()), true
	case r.CanComplex():
		return ir.Complex(r.Complex()), true
	}
	return nil, false
}

func (t *Tracer) lowerAll(items []any) []ir.Arg {
	out := make([]ir.Arg, len(items))
	for i, item := range items {
		out[i] = t.lower(item)
	}
	return out
}

// container lowers slices, maps and structs of any Go type.
func (t *Tracer) container(r reflect.Value) ir.Arg {
	switch {
	case r.Kind() == reflect.Slice || r.Kind() == reflect.Array:
		items := make([]ir.Arg, r.Len())
		for i := range items {
			items[i] = t.lower(r.Index(i).Interface())
		}
		return ir.ListOf(items...)
	case r.Kind() == reflect.Map:
		if d, ok := ir.PyDictOf(r.Interface()); ok {
			return t.lower(d)
		}
	case isStruct(r.Type()):
		return t.lower(objectOf(r))
	}
	fail(ir.ErrNotImplemented, "argument of type: %s", r.Type())
	return nil
}

// object makes the call that builds an instance of a class: with its fields by
// name, or by position where they have none.
func (t *Tracer) object(o *ir.PyObject) ir.Arg {
	if o == nil {
		return ir.None{}
	}
	if o.Fields != nil {
		torch.DefineClass(o.Type, o.Fields...) // so that the graph runs
	}
	spec := NodeSpec{Op: ir.CallFunction, Target: ir.FuncOf(o.Type)}
	for i, v := range o.Values {
		if o.Fields == nil {
			spec.Args = append(spec.Args, t.lower(v))
		} else {
			spec.Kwargs = append(spec.Kwargs, ir.Kw(o.Fields[i], t.lower(v)))
		}
	}
	return t.create(spec)
}

// node returns the node that a traced value stands for.
func (t *Tracer) node(v torch.Value) *ir.Node {
	if v.Recorder() != torch.Recorder(t) {
		panic(&torch.Error{Op: "trace", Err: torch.ErrTracers})
	}
	switch ref := v.Ref().(type) {
	case *ir.Node:
		if ref.Graph() != t.graph {
			panic(&torch.Error{Op: "trace", Err: ErrEnded})
		}
		return ref
	case parameter:
		return t.readParameter(ref.path)
	}
	panic(&torch.Error{Op: "trace", Err: ir.Errorf(ir.ErrType, "value of another kind: %T", v.Ref())})
}

// tensor makes a get_attr of a real tensor: a buffer of the root, or a constant,
// which is kept under a name of its own. As in torch.fx, each use is a node.
func (t *Tracer) tensor(x *torch.Tensor) *ir.Node {
	t.mu.Lock()
	path, known := t.tensors[x]
	if !known {
		path = t.fresh("_tensor_constant")
		t.tensors[x] = path
	}
	t.attrs[path] = x
	t.mu.Unlock()
	return t.create(NodeSpec{Op: ir.GetAttr, Target: ir.Path(path)})
}

// fresh returns a name that no attribute of the root has.
func (t *Tracer) fresh(prefix string) string {
	for {
		name := fmt.Sprintf("%s%d", prefix, t.constants)
		t.constants++
		if _, used := t.attrs[name]; !used && !t.taken[name] {
			return name
		}
	}
}

// module makes a get_attr of a module that is used as a value.
func (t *Tracer) module(m nn.Module) *ir.Node {
	s := nn.ShadowOf(m)
	if s == nil || s.Path == "" {
		panic(&torch.Error{Op: "trace", Err: ir.Errorf(ir.ErrTrace, "%w", nn.ErrForeign)})
	}
	t.mu.Lock()
	t.attrs[s.Path] = s.Of
	t.mu.Unlock()
	return t.create(NodeSpec{Op: ir.GetAttr, Target: ir.Path(s.Path)})
}

func fail(class *ir.Class, format string, args ...any) {
	panic(&torch.Error{Op: "trace", Err: ir.Errorf(class, format, args...)})
}
