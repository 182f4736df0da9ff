package ir

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
)

// PyDictOf returns a map of Go as a dict; ok is false where v is no map, is a set
// (a map to struct{}), or has keys that no dict here has. Integers of any type become int64 keys, other numbers
// float64. A map has no order: the keys come sorted, truth values and numbers by
// value before texts. What is inside stays as it is.
func PyDictOf(v any) (d *PyDict, ok bool) {
	r := reflect.ValueOf(v)
	if v == nil || r.Kind() != reflect.Map || r.Type().Elem() == reflect.TypeFor[struct{}]() {
		return nil, false
	}
	type entry struct{ key, value any }
	entries := make([]entry, 0, r.Len())
	for at := r.MapRange(); at.Next(); {
		key := plainOf(at.Key())
		if !Hashable(key) {
			return nil, false
		}
		entries = append(entries, entry{key, at.Value().Interface()})
	}
	slices.SortFunc(entries, func(a, b entry) int { return compareKeys(a.key, b.key) })
	d = &PyDict{}
	for _, e := range entries {
		d.Set(e.key, e.value)
	}
	return d, true
}

// plainOf is an item or a key of a container of Go, numbers and texts in the types
// that values of graphs have.
func plainOf(r reflect.Value) any {
	if r.Kind() == reflect.Interface {
		r = r.Elem()
	}
	switch {
	case !r.IsValid():
		return nil
	case r.Type().Implements(reflect.TypeFor[Arg]()):
	case r.CanInt():
		return r.Int()
	case r.CanUint() && r.Uint() < 1<<63:
		return int64(r.Uint())
	case r.CanFloat():
		return r.Float()
	case r.Kind() == reflect.Bool:
		return r.Bool()
	case r.Kind() == reflect.String:
		return r.String()
	}
	return r.Interface()
}

// compareKeys orders keys: numbers, then texts, then what only has a text.
func compareKeys(a, b any) int {
	rank := func(key any) (rank int, number float64) {
		switch k := key.(type) {
		case bool:
			if k {
				number = 1
			}
		case int64:
			number = float64(k)
		case float64:
			number = k
		case string:
			rank = 1
		default:
			rank = 2
		}
		return rank, number
	}
	i, x := rank(a)
	j, y := rank(b)
	if i == 1 && j == 1 {
		return cmp.Compare(a.(string), b.(string))
	}
	if n, isInt := a.(int64); isInt {
		if m, both := b.(int64); both {
			return cmp.Compare(n, m)
		}
	}
	return cmp.Or(cmp.Compare(i, j), cmp.Compare(x, y), cmp.Compare(keyText(a), keyText(b)))
}

// maxNesting is how deep [PyValueOf] looks into containers.
const maxNesting = 1000

// PyValueOf returns containers of Go as those of Python, and those inside them:
// slices as lists, maps as dicts, see [PyDictOf]. Everything else comes back as it
// is, as does a container that holds nothing to change.
func PyValueOf(v any) any {
	made, _ := pyValueOf(v, 0)
	return made
}

func pyValueOf(v any, depth int) (made any, changed bool) {
	if depth > maxNesting {
		return v, false
	}
	items := func(old []any) ([]any, bool) {
		var fresh []any
		for i, item := range old {
			if m, changed := pyValueOf(item, depth+1); changed {
				if fresh == nil {
					fresh = slices.Clone(old)
				}
				fresh[i] = m
			}
		}
		return fresh, fresh != nil
	}
	switch v := v.(type) {
	case nil, bool, int, int64, float64, complex128, string, Arg:
		return v, false
	case []any:
		if fresh, changed := items(v); changed {
			return fresh, true
		}
		return v, false
	case PyTuple:
		if fresh, changed := items(v); changed {
			return PyTuple(fresh), true
		}
		return v, false
	case *PyDict:
		var fresh *PyDict
		for key, item := range v.All() {
			if m, changed := pyValueOf(item, depth+1); changed {
				if fresh == nil {
					fresh = &PyDict{slices.Clone(v.keys), maps.Clone(v.values)}
				}
				fresh.Set(key, m)
			}
		}
		if fresh != nil {
			return fresh, true
		}
		return v, false
	}
	r := reflect.ValueOf(v)
	switch {
	case r.Type().Name() != "": // a type of its own says itself what it is
	case r.Kind() == reflect.Slice && r.Type().Elem().Kind() != reflect.Uint8:
		list := make([]any, r.Len())
		for i := range list {
			list[i], _ = pyValueOf(plainOf(r.Index(i)), depth+1)
		}
		return list, true
	case r.Kind() == reflect.Map:
		if d, ok := PyDictOf(v); ok {
			for key, item := range d.All() {
				m, _ := pyValueOf(item, depth+1)
				d.Set(key, m)
			}
			return d, true
		}
	}
	return v, false
}
