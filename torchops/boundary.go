package torchops

import (
	"github.com/torchfx-go/torchfx/ir"
)

// ToType turns a value into what package libtorch takes for a value of a type: numbers
// of any Go kind, lists, tuples and dicts of these, tensors. release closes what was
// made for it and is called when the value is not needed any more. A value that does
// not fit is an error of class ir.ErrType.
func ToType(v any, t *ir.Type) (carried any, release func(), err error) {
	c := &call{}
	v, err = normalize(v)
	if err != nil {
		return nil, nil, err
	}
	carried, ok, err := c.encode(v, t)
	if err == nil && !ok {
		err = ir.Errorf(ir.ErrType, "expected %s, got %s", t, typeName(v))
	}
	if err != nil {
		c.release()
		return nil, nil, err
	}
	return carried, c.release, nil
}

// FromType turns a value that package libtorch returned for a type into one of a run.
// t is nil where the type is not known: then a tuple is a list, and a dict a list of
// pairs.
func FromType(v any, t *ir.Type) any {
	if t != nil && t.Kind == ir.TypeOptional {
		t = t.Elem
	}
	x, isList := v.([]any)
	if t == nil || !isList {
		return FromBridge(v)
	}
	switch {
	case t.Kind == ir.TypeTuple && len(t.Elems) == len(x):
		tuple := make(ir.PyTuple, len(x))
		for i := range x {
			tuple[i] = FromType(x[i], &t.Elems[i])
		}
		return tuple
	case t.Kind == ir.TypeDict && len(t.Elems) == 2:
		d := &ir.PyDict{}
		for _, item := range x {
			pair := item.([]any)
			d.Set(FromType(pair[0], &t.Elems[0]), FromType(pair[1], &t.Elems[1]))
		}
		return d
	case t.Kind == ir.TypeList:
		return listOf(x, func(item any) any { return FromType(item, t.Elem) })
	}
	return FromBridge(v)
}
