package script

import (
	"strconv"
	"strings"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// A value of the program, while it is translated, is an [ir.Arg], a literal or a node,
// or one of these.
type (
	// A listValue is a list whose items are known. It is shared, as lists are, and is
	// changed only in the frame that made it: what a branch does to it depends on a run.
	listValue struct {
		items []any
		home  *frame // nil of a constant
	}
	tupleValue []any
	// A dictValue is a dict with literal keys.
	dictValue struct {
		keys   []ir.Arg
		values []any
		home   *frame
	}
	shapeValue    struct{ of *ir.Node } // the sizes of a tensor, how many a run knows
	truthValue    struct{ of *ir.Node } // whether a boolean tensor of one element is true
	constantValue struct {              // a tensor that the code holds
		tensor *libtorch.Tensor
	}
	moduleValue struct{} // a module, of which only attributes count
	unsetValue  struct{} // what a branch that ends early leaves
	textValue   string   // a text with parts that a run knows, which stand in it as {}
)

// constant makes a value of one that libtorch or a caller gave; typ is in TorchScript's
// notation.
func constant(v any, typ string) (any, error) {
	switch v := v.(type) {
	case nil:
		return ir.None{}, nil
	case bool:
		return ir.Bool(v), nil
	case int:
		return ir.Int(v), nil
	case int64:
		return ir.Int(v), nil
	case float64:
		return ir.Float(v), nil
	case complex128:
		return ir.Complex(v), nil
	case string:
		return ir.Str(v), nil
	case ir.Device:
		return v, nil
	case *libtorch.Tensor:
		return constantValue{v}, nil
	case *torch.Tensor:
		h, err := v.Handle()
		return constantValue{h}, err
	case ir.PyTuple:
		items, err := constants(v, "")
		return tupleValue(items), err
	case []any:
		if dict := strings.TrimPrefix(typ, "Optional["); strings.HasPrefix(dict, "Dict") {
			d := &dictValue{}
			for _, entry := range v {
				pair, err := constants(entry.([]any), "")
				if err != nil {
					return nil, err
				}
				key, ok := pair[0].(ir.Arg)
				if !ok {
					return nil, ir.Errorf(ir.ErrUnsupported, "expected a dict with literal keys, got one of type %s", typ)
				}
				d.keys, d.values = append(d.keys, key), append(d.values, pair[1])
			}
			return d, nil
		}
		return list(v)
	case []int64:
		return list(v)
	case []int:
		return list(v)
	case []float64:
		return list(v)
	case []bool:
		return list(v)
	case []string:
		return list(v)
	case []*libtorch.Tensor:
		return list(v)
	}
	return nil, ir.Errorf(ir.ErrUnsupported, "expected a value that a graph holds, got one of type %s", typ)
}

func list[T any](items []T) (any, error) {
	values, err := constants(items, "")
	return &listValue{items: values}, err
}

func constants[T any](items []T, typ string) ([]any, error) {
	out := make([]any, len(items))
	for i, item := range items {
		var err error
		if out[i], err = constant(item, typ); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func indexed(path string, i int) string { return path + "_" + strconv.Itoa(i) }

// named puts nodes in the place of tensors that are constants, which get names from
// path.
func (t *translator) named(v any, path string) any {
	switch v := v.(type) {
	case constantValue:
		if v.tensor == nil {
			return ir.None{}
		}
		return t.tensor(path, v.tensor)
	case *listValue:
		for i, item := range v.items {
			v.items[i] = t.named(item, indexed(path, i))
		}
	case tupleValue:
		for i, item := range v {
			v[i] = t.named(item, indexed(path, i))
		}
	case *dictValue:
		for i, item := range v.values {
			v.values[i] = t.named(item, indexed(path, i))
		}
	}
	return v
}

// arg makes an argument of a value, in the graph of a frame.
func (t *translator) arg(f *frame, v any) (ir.Arg, error) {
	switch v := v.(type) {
	case ir.Arg:
		return f.localize(v), nil
	case *listValue:
		items, err := t.args(f, v.items)
		return ir.ListOf(items...), err
	case tupleValue:
		items, err := t.args(f, v)
		return ir.TupleOf(items...), err
	case *dictValue:
		items, err := t.args(f, v.values)
		if err != nil {
			return nil, err
		}
		pairs := make([]ir.Pair, len(items))
		for i, item := range items {
			pairs[i] = ir.Pair{Key: v.keys[i], Value: item}
		}
		return ir.DictOf(pairs...), nil
	case shapeValue:
		return f.graph.CallMethod("size", []ir.Arg{f.local(v.of)}), nil
	case truthValue:
		return f.call("torch.ops.aten.item.default", v.of), nil
	case moduleValue:
		return nil, ir.Errorf(ir.ErrUnsupported, "expected a value that a graph holds, got a module")
	case textValue:
		return nil, ir.Errorf(ir.ErrUnsupported, "expected a value that a graph holds, got a text that a run makes")
	case unsetValue:
		return nil, ir.Errorf(ir.ErrUnsupported, "expected a value, got one that a branch leaves unset")
	}
	return nil, ir.Errorf(ir.ErrUnsupported, "expected a value that a graph holds, got one of another kind")
}

func (t *translator) args(f *frame, values []any) ([]ir.Arg, error) {
	out := make([]ir.Arg, len(values))
	for i, v := range values {
		var err error
		if out[i], err = t.arg(f, v); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// literal returns a value that is known now.
func literal(v any) (ir.Arg, bool) {
	a, ok := v.(ir.Arg)
	if _, node := v.(*ir.Node); node || !ok {
		return nil, false
	}
	return a, true
}

// boolean returns a truth that is known now.
func boolean(v any) (value, known bool) {
	b, ok := v.(ir.Bool)
	return bool(b), ok
}

// same reports whether two values are the same one, whichever way they were reached.
func same(a, b any) bool {
	x, ok := a.(ir.Arg)
	y, also := b.(ir.Arg)
	if ok && also {
		return ir.EqualArgs(x, y)
	}
	switch a := a.(type) {
	case shapeValue, truthValue, moduleValue, unsetValue, textValue:
		return a == b
	}
	return false
}
