package export

import (
	"math"

	"github.com/torchfx-go/torchfx/ir"
)

// fill puts items into a list or dict.
func (u *unpickler) fill(op byte) error {
	var items []any
	var err error
	switch op {
	case opAppends, opSetItems:
		items, err = u.popMark()
	default:
		n := 1
		if op == opSetItem {
			n = 2
		}
		if len(u.stack)-n < u.floor() {
			return ir.Errorf(ir.ErrFormat, "expected %d values on the stack, got %d", n, len(u.stack)-u.floor())
		}
		items = u.stack[len(u.stack)-n:]
		u.stack = u.stack[:len(u.stack)-n]
	}
	if err != nil {
		return err
	}
	to, err := u.top()
	if err != nil {
		return err
	}
	if op == opAppend || op == opAppends {
		list, ok := to.(*pyList)
		if !ok {
			return ir.Errorf(ir.ErrUnsupported, "expected a list to append to, got %s", pyTypeName(to))
		}
		list.items = append(list.items, items...)
		return nil
	}
	dict, ok := to.(*ir.PyDict)
	if !ok {
		return ir.Errorf(ir.ErrUnsupported, "expected a dict to store items in, got %s", pyTypeName(to))
	}
	return setItems(dict, items)
}

// setItems stores keys and values in turn.
func setItems(dict *ir.PyDict, items []any) error {
	if len(items)%2 != 0 {
		return ir.Errorf(ir.ErrFormat, "expected a value for each key of a dict, got %d items", len(items))
	}
	for i := 0; i < len(items); i += 2 {
		switch k := items[i].(type) {
		case nil, bool, int64, string, complex128, ir.DType, ir.Device, ir.Layout, PyGlobal, *Tensor:
		case float64:
			if math.IsNaN(k) {
				return ir.Errorf(ir.ErrUnsupported, "expected a key of a dict that equals itself, got nan")
			}
		default:
			return ir.Errorf(ir.ErrUnsupported, "expected a number, string or dtype as the key of a dict, got %s", pyTypeName(k))
		}
		dict.Set(items[i], items[i+1])
	}
	return nil
}

// A finisher turns lists under construction into slices. What is shared stays
// shared.
type finisher struct{ seen map[any]bool }

func (f *finisher) finish(v any, depth int) (any, error) {
	if depth > maxPickleNesting {
		return nil, ir.Errorf(ir.ErrFormat, "expected containers nested at most %d deep", maxPickleNesting)
	}
	each := func(items []any) (err error) {
		for i := range items {
			if items[i], err = f.finish(items[i], depth+1); err != nil {
				return err
			}
		}
		return nil
	}
	switch v := v.(type) {
	case *pyList:
		if v.done == nil {
			v.done = append(make([]any, 0, max(len(v.items), 1)), v.items...)
			return v.done, each(v.done)
		}
		return v.done, nil
	case ir.PyTuple:
		if len(v) == 0 || f.seen[&v[0]] {
			return v, nil
		}
		f.seen[&v[0]] = true
		return v, each(v)
	case PySet:
		if len(v) == 0 || f.seen[&v[0]] {
			return v, nil
		}
		f.seen[&v[0]] = true
		return v, each(v)
	case *ir.PyDict:
		if f.seen[v] {
			return v, nil
		}
		f.seen[v] = true
		for key, item := range v.All() {
			done, err := f.finish(item, depth+1)
			if err != nil {
				return nil, err
			}
			v.Set(key, done)
		}
		return v, nil
	case *Instance:
		if f.seen[v] {
			return v, nil
		}
		f.seen[v] = true
		if err := each(v.Args); err != nil {
			return nil, err
		}
		var err error
		v.State, err = f.finish(v.State, depth+1)
		return v, err
	case *storageRef:
		return v.tensor(), nil
	case *pickleFunc:
		return PyGlobal(v.name), nil
	}
	return v, nil
}
