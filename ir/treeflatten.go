package ir

import (
	"reflect"
	"strconv"
	"strings"
	"unicode"
)

// Flatten takes v apart and returns its leaves in order. What a node of the
// tree accepts:
//
//   - a tuple, list or deque: a [PyTuple], []any or any other slice of so many values;
//   - a dict: a [*PyDict] or a Go map with exactly its keys, in any order;
//   - a namedtuple, dataclass or other class: a [*PyObject], a Go struct or a
//     pointer to one with fields called exactly so, or in Go's way (left_hand is
//     LeftHand), or under a tag `pytree:"left_hand"`, or a map by field name; where
//     the fields are not known, or for a namedtuple, values in order;
//   - a leaf: anything but Python's containers.
//
// A value that does not fit is an error of class [ErrInput] that names the place,
// as in "value['a'][0]", what was expected and what was there.
func (t *TreeSpec) Flatten(v any) ([]any, error) {
	leaves := make([]any, 0, t.NumLeaves())
	return t.flatten(leaves, v, "value")
}

func (t *TreeSpec) flatten(leaves []any, v any, path string) ([]any, error) {
	if o, ok := v.(*PyObject); ok && o == nil {
		v = nil
	}
	if t.IsLeaf() {
		if kind := containerKind(v); kind != "" {
			return nil, Errorf(ErrInput, "%s: expected a single value, got %s", path, kind)
		}
		return append(leaves, v), nil
	}
	children, err := t.split(v, path)
	if err != nil {
		return nil, err
	}
	for i, c := range t.Children {
		if leaves, err = c.flatten(leaves, children[i], path+t.step(i)); err != nil {
			return nil, err
		}
	}
	return leaves, nil
}

// step is how child i is reached from its parent, as Python's keystr spells it.
func (t *TreeSpec) step(i int) string {
	switch {
	case i < len(t.Keys):
		return "[" + keyText(t.Keys[i]) + "]"
	case i < len(t.Fields):
		return "." + t.Fields[i]
	}
	return "[" + strconv.Itoa(i) + "]"
}

// containerKind names a value that is one of Python's containers.
func containerKind(v any) string {
	switch v := v.(type) {
	case PyTuple:
		return "a tuple of " + strconv.Itoa(len(v))
	case []any:
		return "a list of " + strconv.Itoa(len(v))
	case *PyDict:
		return "a dict of " + strconv.Itoa(v.Len())
	case *PyObject:
		return "an instance of " + v.Type
	case map[string]any:
		return "a map of " + strconv.Itoa(len(v))
	}
	return ""
}

// describe says what a node expects, for messages.
func (t *TreeSpec) describe() string {
	n := strconv.Itoa(len(t.Children))
	switch {
	case t.Type == treeTuple || t.Type == treeSize:
		return "a tuple of " + n
	case t.Type == treeDeque:
		return "a deque of " + n
	case t.Type == treeList || t.Type == treeImmutableList:
		return "a list of " + n
	case t.isDict():
		return "a dict with the keys " + keysText(t.Keys)
	}
	if t.Fields != nil {
		return t.className() + " with the fields " + strings.Join(t.Fields, ", ")
	}
	return t.className() + " of " + n + " values"
}

func (t *TreeSpec) mismatch(v any, path string) error {
	got := containerKind(v)
	if got == "" && v == nil {
		got = "None"
	} else if got == "" {
		got = "a value of Go type " + reflect.TypeOf(v).String()
	}
	return Errorf(ErrInput, "%s: expected %s, got %s", path, t.describe(), got)
}

// split returns the children of v in the order of t's.
func (t *TreeSpec) split(v any, path string) ([]any, error) {
	var children []any
	var ok bool
	switch {
	case t.isSequence():
		children, ok = sequence(v)
	case t.isDict():
		return t.splitDict(v, path)
	default:
		return t.splitObject(v, path)
	}
	if !ok || len(children) != len(t.Children) {
		return nil, t.mismatch(v, path)
	}
	return children, nil
}

// sequence returns the items of a tuple, a list or another slice.
func sequence(v any) ([]any, bool) {
	switch v := v.(type) {
	case nil:
		return nil, false
	case []any:
		return v, true
	case PyTuple:
		return v, true
	case *PyObject:
		return v.Values, true
	}
	r := reflect.ValueOf(v)
	if r.Kind() != reflect.Slice && r.Kind() != reflect.Array {
		return nil, false
	}
	items := make([]any, r.Len())
	for i := range items {
		items[i] = r.Index(i).Interface()
	}
	return items, true
}

func (t *TreeSpec) splitDict(v any, path string) ([]any, error) {
	d, ok := v.(*PyDict)
	if !ok {
		if d, ok = PyDictOf(v); !ok {
			return nil, t.mismatch(v, path)
		}
	}
	return t.pick(d, t.Keys, path, "key")
}

// pick takes the values of keys out of d, which must have these and no others.
func (t *TreeSpec) pick(d *PyDict, keys []any, path, noun string) ([]any, error) {
	children := make([]any, len(keys))
	var missing, unexpected []any
	for i, key := range keys {
		var ok bool
		if children[i], ok = d.Get(key); !ok {
			missing = append(missing, key)
		}
	}
	if d.Len() != len(keys)-len(missing) {
		expected := make(map[any]bool, len(keys))
		for _, key := range keys {
			expected[key] = true
		}
		for key := range d.All() {
			if !expected[key] {
				unexpected = append(unexpected, key)
			}
		}
	}
	var faults []string
	if len(missing) > 0 {
		faults = append(faults, "missing "+noun+" "+keyNames(missing))
	}
	if len(unexpected) > 0 {
		faults = append(faults, "unexpected "+noun+" "+keyNames(unexpected))
	}
	if faults != nil {
		return nil, Errorf(ErrInput, "%s: expected %s: %s", path, t.describe(), strings.Join(faults, ", "))
	}
	return children, nil
}

// keyNames lists keys for a message.
func keyNames(keys []any) string {
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = keyText(k)
	}
	if len(names) > 8 {
		names = append(names[:8], "and "+strconv.Itoa(len(keys)-8)+" more")
	}
	return strings.Join(names, ", ")
}

func (t *TreeSpec) splitObject(v any, path string) ([]any, error) {
	positional := t.Fields == nil || t.Type == treeNamedTuple
	if o, ok := v.(*PyObject); ok {
		if o.Type != "" && o.Type != t.className() || o.Fields != nil && len(o.Fields) != len(o.Values) {
			return nil, t.mismatch(v, path)
		}
		positional = t.Fields == nil || o.Fields == nil
	}
	if items, ok := sequence(v); ok && positional {
		if len(items) != len(t.Children) {
			return nil, t.mismatch(v, path)
		}
		return items, nil
	}
	d := t.dictOfObject(v)
	if d == nil || t.Fields == nil {
		return nil, t.mismatch(v, path)
	}
	for _, name := range t.Absent {
		if value, ok := d.Get(name); ok && value != nil {
			return nil, Errorf(ErrInput, "%s.%s: expected None, as when the program was exported", path, name)
		}
	}
	keys := make([]any, 0, len(t.Fields)+len(t.Absent))
	for _, name := range t.Fields {
		keys = append(keys, name)
	}
	for _, name := range t.Absent {
		if _, given := d.Get(name); given {
			keys = append(keys, name)
		}
	}
	return t.pick(d, keys, path, "field")
}

// dictOfObject returns the fields of v by Python's names.
func (t *TreeSpec) dictOfObject(v any) *PyDict {
	switch v := v.(type) {
	case *PyObject:
		keys := make([]any, len(v.Fields))
		for i, f := range v.Fields {
			keys[i] = f
		}
		return NewPyDict(keys, v.Values)
	case *PyDict:
		return v
	}
	r := reflect.ValueOf(v)
	if r.Kind() == reflect.Pointer && !r.IsNil() {
		r = r.Elem()
	}
	if r.Kind() != reflect.Struct {
		d, _ := PyDictOf(v)
		return d
	}
	names := make(map[string]string, len(t.Fields)+len(t.Absent)) // Go's spelling -> Python's
	for _, name := range append(t.Fields[:len(t.Fields):len(t.Fields)], t.Absent...) {
		names[name], names[goName(name)] = name, name
	}
	d := &PyDict{}
	for i := range r.NumField() {
		f := r.Type().Field(i)
		tag := f.Tag.Get("pytree")
		if !f.IsExported() || tag == "-" {
			continue
		}
		name := f.Name
		if tag != "" {
			name = tag
		} else if python, ok := names[name]; ok {
			name = python
		}
		value := r.Field(i).Interface()
		if k := f.Type.Kind(); (k == reflect.Pointer || k == reflect.Interface) && r.Field(i).IsNil() {
			value = nil
		}
		d.Set(name, value)
	}
	return d
}

// goName writes a Python name in Go's way: left_hand is LeftHand.
func goName(python string) string {
	var b strings.Builder
	for _, part := range strings.Split(python, "_") {
		for i, r := range part {
			if i == 0 {
				r = unicode.ToUpper(r)
			}
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Unflatten puts leaves together: a tuple is a [PyTuple], a list or deque []any, a
// dict a [*PyDict], an instance of a class a [*PyObject]. The number of leaves
// must be the tree's.
func (t *TreeSpec) Unflatten(leaves []any) (any, error) {
	if n := t.NumLeaves(); n != len(leaves) {
		return nil, Errorf(ErrValue, "unflatten: expected %d leaves, got %d", n, len(leaves))
	}
	v, _ := t.unflatten(leaves)
	return v, nil
}

func (t *TreeSpec) unflatten(leaves []any) (v any, rest []any) {
	if t.IsLeaf() {
		return leaves[0], leaves[1:]
	}
	children := make([]any, len(t.Children))
	for i, c := range t.Children {
		children[i], leaves = c.unflatten(leaves)
	}
	switch {
	case t.Type == treeList || t.Type == treeDeque || t.Type == treeImmutableList:
		return children, leaves
	case t.isSequence():
		return PyTuple(children), leaves
	case t.isDict():
		return NewPyDict(t.Keys, children), leaves
	}
	o := &PyObject{Type: t.className(), Values: children}
	if t.Fields != nil {
		o.Fields = append(t.Fields[:len(t.Fields):len(t.Fields)], t.Absent...)
		o.Values = append(o.Values, make([]any, len(t.Absent))...)
	}
	return o, leaves
}
