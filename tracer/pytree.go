package tracer

import (
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// flatten takes containers apart: slices and arrays are lists, maps are dicts in
// the order of their keys, see [ir.PyDictOf], structs are objects of their type.
// Everything else is a leaf.
func flatten(v any) (*ir.TreeSpec, []any) { return flattenAt(v, 0) }

func flattenAt(v any, depth int) (*ir.TreeSpec, []any) {
	if depth > torch.MaxNesting {
		fail(ir.ErrValue, "%w", torch.ErrNesting)
	}
	switch v := v.(type) {
	case nil, *torch.Tensor, torch.Value, torch.SymInt, torch.SymBool, torch.Tensors, nn.Module, ir.Arg,
		placeholderMark, PHWithMeta, ArgCreator:
		return ir.Leaf(), []any{v}
	case torch.Tuple:
		return flattenAt(v.PyTuple(), depth)
	case ir.PyTuple:
		specs, leaves := flattenAll(v, depth+1)
		return ir.TupleSpec(specs...), leaves
	case *ir.PyDict:
		var keys, values []any
		for key, value := range v.All() {
			keys, values = append(keys, key), append(values, value)
		}
		specs, leaves := flattenAll(values, depth+1)
		return &ir.TreeSpec{Type: "builtins.dict", Keys: keys, Children: specs}, leaves
	case *ir.PyObject:
		specs, leaves := flattenAll(v.Values, depth+1)
		return &ir.TreeSpec{Type: v.Type, Fields: v.Fields, Children: specs}, leaves
	}
	r := reflect.ValueOf(v)
	switch {
	case r.Kind() == reflect.Slice || r.Kind() == reflect.Array:
		items := make([]any, r.Len())
		for i := range items {
			items[i] = r.Index(i).Interface()
		}
		specs, leaves := flattenAll(items, depth+1)
		return ir.ListSpec(specs...), leaves
	case r.Kind() == reflect.Map:
		if d, ok := ir.PyDictOf(v); ok {
			return flattenAt(d, depth)
		}
	case isStruct(r.Type()):
		return flattenAt(objectOf(r), depth)
	}
	return ir.Leaf(), []any{v}
}

func flattenAll(items []any, depth int) (specs []*ir.TreeSpec, leaves []any) {
	for _, item := range items {
		spec, below := flattenAt(item, depth)
		specs, leaves = append(specs, spec), append(leaves, below...)
	}
	return specs, leaves
}

// isStruct reports whether values of t are structs of the model's, plain or
// behind a pointer.
func isStruct(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || reflect.PointerTo(t).Implements(moduleType) {
		return false
	}
	switch t {
	case tensorType.Elem(), reflect.TypeFor[torch.Value](), reflect.TypeFor[torch.SymInt](), reflect.TypeFor[torch.SymBool](),
		reflect.TypeFor[torch.Tensors](), reflect.TypeFor[ir.PyDict](), reflect.TypeFor[ir.PyObject](), reflect.TypeFor[placeholderMark]():
		return false
	}
	return !t.Implements(reflect.TypeFor[ir.Arg]()) && !reflect.PointerTo(t).Implements(reflect.TypeFor[ir.Arg]())
}

// fieldsOf yields the exported fields of a struct type by Python's names.
func fieldsOf(t reflect.Type, yield func(i int, name string)) {
	for i := range t.NumField() {
		f := t.Field(i)
		tag := f.Tag.Get("pytree")
		switch {
		case !f.IsExported() || tag == "-":
		case tag != "":
			yield(i, tag)
		default:
			yield(i, nn.Describe(f).Name)
		}
	}
}

// objectOf is a struct as an object; nil is None.
func objectOf(r reflect.Value) any {
	if r.Kind() == reflect.Pointer {
		if r.IsNil() {
			return nil
		}
		r = r.Elem()
	}
	o := &ir.PyObject{Type: structName(r.Type())}
	fieldsOf(r.Type(), func(i int, name string) {
		o.Fields = append(o.Fields, name)
		o.Values = append(o.Values, plainNil(r.Field(i)))
	})
	return o
}

// plainNil returns the value of r, nil where it is a nil pointer or the like.
func plainNil(r reflect.Value) any {
	switch r.Kind() {
	case reflect.Pointer, reflect.Interface, reflect.Slice, reflect.Map:
		if r.IsNil() {
			return nil
		}
	}
	return r.Interface()
}

// structName is the name of a struct's type as a Python class: package and type,
// with the arguments of a generic one; of a type without a name go.struct.
func structName(t reflect.Type) string {
	if t.Name() == "" {
		return "go.struct"
	}
	pkg := t.PkgPath()
	pkg = strings.TrimSuffix(pkg[strings.LastIndexByte(pkg, '/')+1:], "_test")
	return pkg + "." + strings.Trim(notInName.ReplaceAllString(t.Name(), "_"), "_")
}

var notInName = regexp.MustCompile(`\W+`)

// structPattern returns the concrete argument of a parameter that is a struct:
// each of its fields stays symbolic.
func structPattern(t reflect.Type) (pattern any, ok bool) {
	if t == nil || !isStruct(t) {
		return nil, false
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	o := &ir.PyObject{Type: structName(t)}
	fieldsOf(t, func(i int, name string) {
		o.Fields = append(o.Fields, name)
		below, ok := structPattern(t.Field(i).Type)
		if !ok {
			below = PH
		}
		o.Values = append(o.Values, below)
	})
	return o, true
}

// fit makes a Go value of type want of a value with containers; name is the
// parameter's, for errors. It panics with a *torch.Error.
func fit(v any, want reflect.Type, name string) reflect.Value {
	if v == nil {
		return torch.Convert(nil, want)
	}
	if r := reflect.ValueOf(v); r.Type().AssignableTo(want) {
		return r
	}
	items, isList := v.([]any)
	if tuple, ok := v.(ir.PyTuple); ok {
		items, isList = tuple, true
	}
	switch {
	case want.Kind() == reflect.Pointer && isStruct(want):
		p := reflect.New(want.Elem())
		p.Elem().Set(fit(v, want.Elem(), name))
		return p
	case want.Kind() == reflect.Struct && isStruct(want):
		return fitStruct(v, want, name)
	case isList && want.Kind() == reflect.Slice:
		out := reflect.MakeSlice(want, len(items), len(items))
		for i, item := range items {
			out.Index(i).Set(fit(item, want.Elem(), fmt.Sprintf("%s[%d]", name, i)))
		}
		return out
	case isList && want.Kind() == reflect.Array && want.Len() == len(items):
		out := reflect.New(want).Elem()
		for i, item := range items {
			out.Index(i).Set(fit(item, want.Elem(), fmt.Sprintf("%s[%d]", name, i)))
		}
		return out
	}
	if d, ok := asDict(v); ok && want.Kind() == reflect.Map {
		out := reflect.MakeMap(want)
		for key, item := range d.All() {
			k, err := torch.Try(func() reflect.Value { return torch.Convert(key, want.Key()) })
			if err != nil {
				fail(ir.ErrTrace, "parameter %s: expected keys of the type %s, got %T", name, want.Key(), key)
			}
			out.SetMapIndex(k, fit(item, want.Elem(), fmt.Sprintf("%s[%s]", name, keyText(key))))
		}
		return out
	}
	if _, traced := torch.ValueOf(v); traced && !stands(want) {
		fail(ir.ErrTrace, "parameter %s: a %s cannot stand for a node; give it by Concrete", name, want)
	}
	return torch.Convert(v, want)
}

// asDict returns a dict, or a map of Go as one.
func asDict(v any) (*ir.PyDict, bool) {
	if d, ok := v.(*ir.PyDict); ok {
		return d, true
	}
	return ir.PyDictOf(v)
}

// keyText is a key in an error's text.
func keyText(key any) string {
	if s, ok := key.(string); ok {
		return strconv.Quote(s)
	}
	return fmt.Sprint(key)
}

// stands reports whether a value of the type can stand for a node.
func stands(t reflect.Type) bool {
	switch t {
	case tensorType, reflect.TypeFor[torch.SymInt](), reflect.TypeFor[torch.SymBool](), reflect.TypeFor[torch.Tensors](),
		reflect.TypeFor[torch.Seq](), reflect.TypeFor[torch.Value](), reflect.TypeFor[any]():
		return true
	}
	return false
}

func fitStruct(v any, want reflect.Type, name string) reflect.Value {
	get := func(string) (any, bool) { return nil, false }
	switch v := v.(type) {
	case *ir.PyObject:
		get = v.Get
	case *ir.PyDict:
		get = func(field string) (any, bool) { return v.Get(field) }
	default:
		fail(ir.ErrTrace, "parameter %s: expected an object or a dict for %s, got %T", name, want, v)
	}
	out := reflect.New(want).Elem()
	fieldsOf(want, func(i int, field string) {
		if item, ok := get(field); ok {
			out.Field(i).Set(fit(item, want.Field(i).Type, name+"."+field))
		}
	})
	return out
}
