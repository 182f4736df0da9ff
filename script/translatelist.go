package script

import (
	"slices"

	"github.com/torchfx-go/torchfx/ir"
)

func (o *operation) dict() (any, bool, error) {
	d := &dictValue{home: o.f}
	for i := 0; i+1 < len(o.in); i += 2 {
		key, ok := literal(o.in[i])
		if !ok {
			return nil, false, o.refuse(o.n, "a key is known to a run alone")
		}
		d.set(key, o.in[i+1])
	}
	return d, true, nil
}

func (d *dictValue) find(key ir.Arg) int {
	return slices.IndexFunc(d.keys, func(k ir.Arg) bool { return ir.EqualArgs(k, key) })
}

func (d *dictValue) set(key ir.Arg, v any) {
	if i := d.find(key); i >= 0 {
		d.values[i] = v
		return
	}
	d.keys, d.values = append(d.keys, key), append(d.values, v)
}

func (o *operation) unpack() (any, bool, error) {
	out := several{}
	for i := range o.n.Outputs {
		v, err := o.item(o.in[0], ir.Int(i))
		if err != nil {
			return nil, false, err
		}
		out = append(out, v)
	}
	return out, true, nil
}

func (o *operation) getItem() (any, bool, error) {
	v, err := o.item(o.in[0], o.in[1])
	return v, true, err
}

// item is what container[key] is.
func (o *operation) item(container, key any) (any, error) {
	items, i, known := []any(nil), -1, false
	if n, ok := key.(ir.Int); ok {
		i, known = int(n), true
	}
	switch c := container.(type) {
	case *listValue:
		items = c.items
	case tupleValue:
		items = c
	case shapeValue:
		if known {
			return o.f.graph.SizeNode(o.f.local(c.of), i), nil
		}
		a, err := o.translator.arg(o.f, key)
		return o.f.call("torch.ops.aten.sym_size.int", c.of, a), err
	case *dictValue:
		if k, ok := literal(key); ok {
			if at := c.find(k); at >= 0 {
				return c.values[at], nil
			}
			return nil, ir.Errorf(ir.ErrKey, "expected a key of the dict, got %s", ir.Repr(k))
		}
		return nil, o.refuse(o.n, "a key is known to a run alone")
	}
	if items != nil && known {
		if i < 0 {
			i += len(items)
		}
		if i < 0 || i >= len(items) {
			return nil, ir.Errorf(ir.ErrIndex, "list index out of range")
		}
		return items[i], nil
	}
	a, err := o.translator.arg(o.f, container)
	if err != nil {
		return nil, err
	}
	k, err := o.translator.arg(o.f, key)
	if err != nil {
		return nil, err
	}
	return o.f.call("operator.getitem", a, k), nil
}

// changes checks that what a frame made is changed in it: what a branch or a round does
// to a list outside depends on a run.
func (o *operation) changes(home *frame) error {
	if home != o.f {
		return o.refuse(o.n, "it changes a list or dict that was made outside of the condition or loop, or is part of the program")
	}
	return nil
}

func (o *operation) setItem() (any, bool, error) {
	switch c := o.in[0].(type) {
	case *listValue:
		i, ok := o.in[1].(ir.Int)
		if i < 0 {
			i += ir.Int(len(c.items))
		}
		if !ok || i < 0 || int(i) >= len(c.items) {
			return nil, false, o.refuse(o.n, "the index is not one of a list that is known")
		}
		c.items[i] = o.in[2]
		return several{o.in[0]}, true, o.changes(c.home)
	case *dictValue:
		key, ok := literal(o.in[1])
		if !ok {
			return nil, false, o.refuse(o.n, "a key is known to a run alone")
		}
		if err := o.changes(c.home); err != nil {
			return nil, false, err
		}
		c.set(key, o.in[2])
		return several{}, true, nil
	}
	return nil, false, o.refuse(o.n, "the items of the list are known to a run alone")
}

func (o *operation) grow() (any, bool, error) {
	if o.n.Kind == "aten::add_" && o.n.Overload != "t" {
		return nil, false, nil // of tensors
	}
	c, ok := o.in[0].(*listValue)
	if !ok {
		return nil, false, o.refuse(o.n, "the items of the list are known to a run alone")
	}
	if err := o.changes(c.home); err != nil {
		return nil, false, err
	}
	if o.n.Kind == "aten::append" {
		c.items = append(c.items, o.in[1])
		return c, true, nil
	}
	more, ok := o.in[1].(*listValue)
	if !ok {
		return nil, false, o.refuse(o.n, "the items of the list are known to a run alone")
	}
	c.items = append(c.items, more.items...)
	return c, true, nil
}

func (o *operation) listOf() (any, bool, error) {
	if c, ok := o.in[0].(*listValue); ok {
		return &listValue{slices.Clone(c.items), o.f}, true, nil
	}
	return o.in[0], true, nil // a new one each time it becomes an argument
}

// slice is of a list; that of a tensor is an operator.
func (o *operation) slice() (any, bool, error) {
	if o.n.Overload == "Tensor" {
		return nil, false, nil
	}
	c, ok := o.in[0].(*listValue)
	bounds := [3]int{0, 0, 1}
	for i := range bounds {
		n, literal := o.in[i+1].(ir.Int)
		_, absent := o.in[i+1].(ir.None)
		switch {
		case literal:
			bounds[i] = int(max(min(n, 1<<31), -1<<31))
		case absent && ok && i == 1:
			bounds[i] = len(c.items)
		case !absent:
			ok = false
		}
	}
	if !ok || bounds[2] <= 0 {
		args, err := o.args(o.f, o.in)
		if err != nil {
			return nil, false, err
		}
		if args[2] == ir.Arg(ir.Int(1<<63-1)) {
			args[2] = ir.None{}
		}
		return o.f.call("operator.getitem", args[0], ir.Slice{Start: args[1], Stop: args[2], Step: args[3]}), true, nil
	}
	for i, b := range bounds[:2] {
		if b < 0 {
			b += len(c.items)
		}
		bounds[i] = max(0, min(b, len(c.items)))
	}
	out := &listValue{home: o.f}
	for i := bounds[0]; i < bounds[1]; i += bounds[2] {
		out.items = append(out.items, c.items[i])
	}
	return out, true, nil
}

func (o *operation) length() (any, bool, error) {
	switch c := o.in[0].(type) {
	case *listValue:
		return ir.Int(len(c.items)), true, nil
	case tupleValue:
		return ir.Int(len(c)), true, nil
	case *dictValue:
		return ir.Int(len(c.keys)), true, nil
	case ir.Str:
		return ir.Int(len(c)), true, nil
	case shapeValue:
		return o.f.call("torch.ops.aten.dim.default", c.of), true, nil
	case *ir.Node:
		if o.typeIn(0) == "Tensor" {
			return o.f.graph.SizeNode(o.f.local(c), 0), true, nil
		}
	}
	return o.call("builtins.len")
}

func (o *operation) size() (any, bool, error) {
	x, ok := o.in[0].(*ir.Node)
	if !ok {
		return nil, false, nil
	}
	if len(o.in) == 1 {
		return shapeValue{x}, true, nil
	}
	v, err := o.item(shapeValue{x}, o.in[1])
	return v, true, err
}

func (o *operation) entries() (any, bool, error) {
	d, ok := o.in[0].(*dictValue)
	if !ok {
		return nil, false, o.refuse(o.n, "the keys of the dict are known to a run alone")
	}
	out := &listValue{home: o.f}
	for i, k := range d.keys {
		switch o.n.Kind {
		case "aten::keys":
			out.items = append(out.items, k)
		case "aten::values":
			out.items = append(out.items, d.values[i])
		default:
			out.items = append(out.items, tupleValue{k, d.values[i]})
		}
	}
	return out, true, nil
}

func (o *operation) contains() (any, bool, error) {
	items := []any{}
	switch c := o.in[0].(type) {
	case *dictValue:
		for _, k := range c.keys {
			items = append(items, k)
		}
	case *listValue:
		items = c.items
	default:
		return o.call("operator.contains")
	}
	want, known := literal(o.in[1])
	for _, item := range items {
		k, ok := literal(item)
		if ok && known && ir.EqualArgs(k, want) {
			return ir.Bool(true), true, nil
		}
		known = known && ok
	}
	if known {
		return ir.Bool(false), true, nil
	}
	// comparisons, which code of a graph can name, unlike contains
	key, err := o.arg(1)
	if err != nil {
		return nil, false, err
	}
	found := ir.Arg(ir.Bool(false))
	for i, item := range items {
		a, err := o.translator.arg(o.f, item)
		if err != nil {
			return nil, false, err
		}
		if equal := o.f.call("operator.eq", a, key); i > 0 {
			found = o.f.call("operator.or_", found, equal)
		} else {
			found = equal
		}
	}
	return found, true, nil
}

// concat is of lists or texts.
func (o *operation) concat() (any, bool, error) {
	if o.n.Overload == "str" {
		text := ""
		for _, v := range o.in {
			switch v := v.(type) {
			case ir.Str:
				text += string(v)
			case textValue:
				text += string(v)
			}
		}
		for _, v := range o.in {
			if _, known := v.(ir.Str); !known {
				return textValue(text), true, nil
			}
		}
		return ir.Str(text), true, nil
	}
	a, ok1 := o.in[0].(*listValue)
	b, ok2 := o.in[1].(*listValue)
	switch {
	case o.n.Overload != "t":
		return nil, false, nil
	case ok1 && ok2:
		return &listValue{slices.Concat(a.items, b.items), o.f}, true, nil
	}
	args, err := o.args(o.f, o.in)
	if err != nil {
		return nil, false, err
	}
	for i, a := range args { // sizes are a tuple
		args[i] = o.f.call("list", a)
	}
	return o.f.call("operator.add", args...), true, nil
}

// repeat is list * n.
func (o *operation) repeat() (any, bool, error) {
	if o.n.Overload != "left_t" && o.n.Overload != "right_" {
		return nil, false, nil
	}
	for i := range 2 {
		c, ok1 := o.in[i].(*listValue)
		n, ok2 := o.in[1-i].(ir.Int)
		if ok1 && ok2 && n <= 1<<12 {
			return &listValue{slices.Repeat(c.items, int(max(0, n))), o.f}, true, nil
		}
	}
	return o.call("operator.mul")
}
