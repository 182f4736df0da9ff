package ir

import (
	"iter"
	"reflect"
)

// The values of Python's containers in Go. A list, and a deque, is []any.
type (
	// A PyTuple is Python's tuple.
	PyTuple []any

	// A PyDict is Python's dict, OrderedDict or defaultdict: it keeps the order
	// of insertion. Keys are compared with ==, an int of Go as an int64. The
	// zero value is empty, and a nil one reads as empty, like a nil map.
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

// Get returns the value under key. A key that Go cannot compare is not there.
func (d *PyDict) Get(key any) (value any, ok bool) {
	if d == nil || key != nil && !reflect.ValueOf(key).Comparable() {
		return nil, false
	}
	value, ok = d.values[pyKey(key)]
	return value, ok
}

// pyKey makes one type of Go's several for a key.
func pyKey(key any) any {
	if n, ok := key.(int); ok {
		return int64(n)
	}
	return key
}

// Set stores value under key, at the end where key is new. It panics, as a map
// does, where Go cannot compare key.
func (d *PyDict) Set(key, value any) {
	key = pyKey(key)
	if d.values == nil {
		d.values = map[any]any{}
	}
	if _, ok := d.values[key]; !ok {
		d.keys = append(d.keys, key)
	}
	d.values[key] = value
}

// All yields keys and values in order.
func (d *PyDict) All() iter.Seq2[any, any] {
	return func(yield func(any, any) bool) {
		if d == nil {
			return
		}
		for _, k := range d.keys {
			if !yield(k, d.values[k]) {
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
