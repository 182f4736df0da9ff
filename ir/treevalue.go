package ir

import (
	"fmt"
	"iter"
	"reflect"
	"strings"
)

// The values of Python's containers in Go. A list, and a deque, is []any.
type (
	// A PyTuple is Python's tuple.
	PyTuple []any

	// A PyDict is Python's dict, OrderedDict or defaultdict: it keeps the order
	// of insertion. Keys are those that [Hashable] lets in, compared with ==, an int
	// of Go as an int64 and tuples item by item. The zero value is empty, and a nil
	// one reads as empty, like a nil map.
	PyDict struct {
		keys   []any
		values map[any]any
	}

	// A PyObject is an instance of a namedtuple, a dataclass or another class
	// that a program takes or returns: one value a field. A nil one is None.
	PyObject struct {
		Type   string   // as torch.export registered it; "" matches every class
		Fields []string // nil where only the order is known
		Values []any
	}

	// A PyEnum is a member of a Python enumeration as the key of a dict.
	PyEnum struct {
		Class string // "module:Class"
		Name  string
	}
)

// NewPyDict returns a dict with these keys and values, in order.
func NewPyDict(keys, values []any) *PyDict {
	d := &PyDict{}
	for i, k := range keys {
		d.Set(k, values[i])
	}
	return d
}

// Len returns the number of entries.
func (d *PyDict) Len() int {
	if d == nil {
		return 0
	}
	return len(d.keys)
}

// Get returns the value under key. A key that is not hashable is not there.
func (d *PyDict) Get(key any) (value any, ok bool) {
	if d == nil || !Hashable(key) {
		return nil, false
	}
	value, ok = d.values[pyKey(key)]
	return value, ok
}

// Hashable reports whether a value can be a key of a [PyDict]: what Go compares
// with ==, and tuples of numbers, texts, None and such tuples.
func Hashable(key any) bool {
	tuple, ok := key.(PyTuple)
	if !ok {
		return key == nil || reflect.ValueOf(key).Comparable()
	}
	for _, item := range tuple {
		switch item.(type) {
		case nil, bool, int, int64, float64, complex128, string:
		case PyTuple:
			if !Hashable(item) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// tupleKey stands for a tuple as a key of a map of Go.
type tupleKey string

// pyKey makes one type of Go's several for a key.
func pyKey(key any) any {
	switch key := key.(type) {
	case int:
		return int64(key)
	case PyTuple:
		var b strings.Builder
		for _, item := range key {
			item = pyKey(item)
			fmt.Fprintf(&b, "%T %q,", item, fmt.Sprint(item))
		}
		return tupleKey(b.String())
	}
	return key
}

// Set stores value under key, at the end where key is new. It panics, as a map
// does, where key is not hashable.
func (d *PyDict) Set(key, value any) {
	if n, ok := key.(int); ok {
		key = int64(n)
	}
	if d.values == nil {
		d.values = map[any]any{}
	}
	at := pyKey(key)
	if _, ok := d.values[at]; !ok {
		d.keys = append(d.keys, key)
	}
	d.values[at] = value
}

// All yields keys and values in order.
func (d *PyDict) All() iter.Seq2[any, any] {
	return func(yield func(any, any) bool) {
		if d == nil {
			return
		}
		for _, k := range d.keys {
			if !yield(k, d.values[pyKey(k)]) {
				return
			}
		}
	}
}

// Get returns the value of a field.
func (o *PyObject) Get(field string) (value any, ok bool) {
	if o == nil {
		return nil, false
	}
	for i, f := range o.Fields {
		if f == field && i < len(o.Values) {
			return o.Values[i], true
		}
	}
	return nil, false
}
