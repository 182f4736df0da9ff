package interpreter

import (
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// An operand is an argument of a node made ready for runs: constants are
// converted once, and a node is the number of the cell that holds its value.
type operand interface {
	value(r *Run) (any, error)
}

type (
	constant struct{ v any }
	cellOf   struct {
		cell int
		node *ir.Node
	}
	stranger struct{ node *ir.Node } // a node of another graph
	unusable struct{ err error }
	sequence struct {
		items []operand
		tuple bool
	}
	mapping struct {
		keys   []any
		values []operand
	}
	slicing  struct{ start, stop, step operand }
	instance struct {
		typ    string
		fields []string
		items  []operand
	}
)

func (c constant) value(*Run) (any, error) { return c.v, nil }

func (c cellOf) value(r *Run) (any, error) {
	if cell := &r.cells[c.cell]; cell.set {
		return cell.value, nil
	}
	return nil, noValue(r.node, c.node)
}

func (s stranger) value(r *Run) (any, error) { return nil, noValue(r.node, s.node) }

func (u unusable) value(*Run) (any, error) { return nil, u.err }

// noValue says that a node reads a value that is not there (any more).
func noValue(reader, n *ir.Node) error {
	return ir.Errorf(ir.ErrRuntime, "Node %s referenced nonexistent value %s! Run Graph.lint() to diagnose such issues", reader, n)
}

func (s sequence) value(r *Run) (any, error) {
	items, err := values(r, s.items)
	if s.tuple {
		return ir.PyTuple(items), err
	}
	return items, err
}

func (m mapping) value(r *Run) (any, error) {
	d := &ir.PyDict{}
	for i, key := range m.keys {
		v, err := m.values[i].value(r)
		if err != nil {
			return nil, err
		}
		d.Set(key, v)
	}
	return d, nil
}

func (s slicing) value(r *Run) (any, error) {
	parts, err := values(r, []operand{s.start, s.stop, s.step})
	if err != nil {
		return nil, err
	}
	return ir.Slice{Start: index(parts[0]), Stop: index(parts[1]), Step: index(parts[2])}, nil
}

// index returns a part of a slice, computed or literal, as an argument again.
func index(v any) ir.Arg {
	switch v := v.(type) {
	case nil:
		return ir.None{}
	case int64:
		return ir.Int(v)
	}
	return ir.Opaque{Value: v}
}

func (t instance) value(r *Run) (any, error) {
	items, err := values(r, t.items)
	if err != nil {
		return nil, err
	}
	return &ir.PyObject{Type: t.typ, Fields: t.fields, Values: items}, nil
}

func values(r *Run, operands []operand) ([]any, error) {
	out := make([]any, len(operands))
	for i, o := range operands {
		v, err := o.value(r)
		if err != nil {
			return nil, err
		}
		out[i] = v
	}
	return out, nil
}

// compile makes a ready for runs of the graph whose nodes have these cells.
func compile(a ir.Arg, cells map[*ir.Node]int) operand {
	switch a := a.(type) {
	case *ir.Node:
		if i, ok := cells[a]; ok {
			return cellOf{i, a}
		}
		return stranger{a}
	case ir.List:
		return fold(sequence{compileAll(a.All(), cells), false})
	case ir.Tuple:
		return fold(sequence{compileAll(a.All(), cells), true})
	case ir.Dict:
		var m mapping
		for k, v := range a.All() {
			key, ok := torch.KeyFromArg(k)
			if !ok {
				return unusable{ir.Errorf(ir.ErrUnsupported, "key %s of a dict: expected a plain value", ir.Repr(k))}
			}
			m.keys = append(m.keys, key)
			m.values = append(m.values, compile(v, cells))
		}
		return m
	case ir.Slice:
		return fold(slicing{compile(a.Start, cells), compile(a.Stop, cells), compile(a.Step, cells)})
	case ir.NamedTuple:
		return instance{a.Type.Name(), a.Fields, compileAll(a.All(), cells)}
	}
	return constant{torch.FromArg(a)}
}

func compileAll(items func(func(int, ir.Arg) bool), cells map[*ir.Node]int) []operand {
	var out []operand
	for _, item := range items {
		out = append(out, compile(item, cells))
	}
	return out
}

// fold turns a container of constants into one constant, which all runs share:
// nothing that a node calls changes a list that it is given.
func fold(o operand) operand {
	var parts []operand
	switch o := o.(type) {
	case sequence:
		parts = o.items
	case slicing:
		parts = []operand{o.start, o.stop, o.step}
	}
	for _, p := range parts {
		if _, ok := p.(constant); !ok {
			return o
		}
	}
	v, _ := o.value(nil)
	return constant{v}
}

// A resource is a value that holds memory outside Go's heap: a tensor, a
// generator, an opaque object.
type resource interface{ Close() error }

// eachResource calls f with every resource in v, with repetitions.
func eachResource(v any, f func(resource)) {
	switch v := v.(type) {
	case nil, int64, float64, bool, string, complex128:
	case *torch.Tensor:
		if v != nil {
			f(v)
		}
	case resource:
		f(v)
	case []any:
		for _, item := range v {
			eachResource(item, f)
		}
	case ir.PyTuple:
		for _, item := range v {
			eachResource(item, f)
		}
	case *ir.PyDict:
		for _, item := range v.All() {
			eachResource(item, f)
		}
	case *ir.PyObject:
		if v == nil {
			return
		}
		for _, item := range v.Values {
			eachResource(item, f)
		}
	}
}

// mapResources returns v with f applied to every resource in it. Containers are
// rebuilt, so that the caller may change what it gets.
func mapResources(v any, f func(resource) (any, error)) (any, error) {
	switch v := v.(type) {
	case *torch.Tensor:
		if v == nil {
			return nil, nil
		}
		return f(v)
	case resource:
		return f(v)
	case []any:
		return mapItems(v, f)
	case ir.PyTuple:
		items, err := mapItems(v, f)
		return ir.PyTuple(items), err
	case *ir.PyDict:
		d := &ir.PyDict{}
		for key, item := range v.All() {
			mapped, err := mapResources(item, f)
			if err != nil {
				return nil, err
			}
			d.Set(key, mapped)
		}
		return d, nil
	case *ir.PyObject:
		if v == nil {
			return nil, nil
		}
		items, err := mapItems(v.Values, f)
		return &ir.PyObject{Type: v.Type, Fields: v.Fields, Values: items}, err
	}
	return v, nil
}

func mapItems(items []any, f func(resource) (any, error)) ([]any, error) {
	out := make([]any, len(items))
	for i, item := range items {
		mapped, err := mapResources(item, f)
		if err != nil {
			return nil, err
		}
		out[i] = mapped
	}
	return out, nil
}

// list returns the items of a list or tuple.
func list(v any) ([]any, bool) {
	switch v := v.(type) {
	case []any:
		return v, true
	case ir.PyTuple:
		return v, true
	}
	return nil, false
}

// another returns a second handle of what x stands for, to be closed by itself.
// What cannot be shared, a symbolic tensor say, is returned as it is.
func another(x resource) (any, error) {
	if t, ok := x.(*torch.Tensor); ok {
		return t.Ref()
	}
	return x, nil
}
