package tracer

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// lower turns a value of model code into an argument of a node, as
// torch.fx.Tracer.create_arg does. It panics with a *torch.Error where a value
// has no place in a graph.
func (t *Tracer) lower(v any) ir.Arg {
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
	case *ir.Node:
		fail("a node is no value of a model: use what stands for it")
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
	case ir.PyTuple:
		return ir.TupleOf(t.lowerAll(v)...)
	case *ir.PyDict:
		var pairs []ir.Pair
		for key, item := range v.All() {
			if _, traced := torch.ValueOf(key); traced {
				fail("Keys for dictionaries used as an argument cannot contain a Node. Got key: %v", key)
			}
			pairs = append(pairs, ir.Pair{Key: t.lower(key), Value: t.lower(item)})
		}
		return ir.DictOf(pairs...)
	case map[string]any:
		var pairs []ir.Pair
		for _, key := range slices.Sorted(maps.Keys(v)) {
			pairs = append(pairs, ir.Pair{Key: ir.Str(key), Value: t.lower(v[key])})
		}
		return ir.DictOf(pairs...)
	case nn.Module:
		return t.module(v)
	case bool:
		return ir.Bool(v)
	case string:
		return ir.Str(v)
	case complex64:
		return ir.Complex(v)
	case complex128:
		return ir.Complex(v)
	}
	return t.reflected(v)
}

func (t *Tracer) lowerAll(items []any) []ir.Arg {
	out := make([]ir.Arg, len(items))
	for i, item := range items {
		out[i] = t.lower(item)
	}
	return out
}

// reflected lowers numbers and slices of any Go type.
func (t *Tracer) reflected(v any) ir.Arg {
	switch r := reflect.ValueOf(v); {
	case r.CanInt():
		return ir.Int(r.Int())
	case r.CanUint() && r.Uint() < 1<<63:
		return ir.Int(r.Uint())
	case r.CanFloat():
		return ir.Float(r.Float())
	case r.Kind() == reflect.Slice || r.Kind() == reflect.Array:
		items := make([]ir.Arg, r.Len())
		for i := range items {
			items[i] = t.lower(r.Index(i).Interface())
		}
		return ir.ListOf(items...)
	}
	fail("argument of type: %T", v)
	return nil
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
	case attribute:
		return t.parameter(ref.path)
	}
	panic(&torch.Error{Op: "trace", Err: ir.Errorf(ir.ErrType, "value of another kind: %T", v.Ref())})
}

// tensor makes a get_attr of a real tensor: a buffer of the root, or a constant,
// which is kept under a name of its own. As in torch.fx, each use is a node.
func (t *Tracer) tensor(x *torch.Tensor) *ir.Node {
	path, known := t.tensors[x]
	if !known {
		for {
			path = fmt.Sprintf("_tensor_constant%d", t.constants)
			t.constants++
			if _, taken := t.attrs[path]; !taken {
				break
			}
		}
		t.tensors[x] = path
	}
	t.attrs[path] = x
	n := t.graph.GetAttr(path)
	t.annotate(n)
	return n
}

// module makes a get_attr of a module that is used as a value.
func (t *Tracer) module(m nn.Module) *ir.Node {
	s := nn.ShadowOf(m)
	if s == nil || s.Path == "" {
		panic(&torch.Error{Op: "trace", Err: ir.Errorf(ir.ErrTrace, "%w", nn.ErrForeign)})
	}
	t.attrs[s.Path] = s.Of
	return t.graph.GetAttr(s.Path)
}

func fail(format string, args ...any) {
	panic(&torch.Error{Op: "trace", Err: ir.Errorf(ir.ErrNotImplemented, format, args...)})
}
