package torchops

import (
	"reflect"

	"github.com/torchfx-go/torchfx/ir"
)

// Traced reports whether any of args, or an item of a list among them, stands
// for a node. It panics with an *[Error] where they belong to two traces.
func Traced(args ...any) bool { return recorderOf(args, nil) != nil }

// Convert is [As] for a type that is known when the program runs; numbers also
// change to Go's other numeric types where nothing is lost. It panics with an
// *[Error] where v cannot be a t.
func Convert(v any, t reflect.Type) reflect.Value {
	if v == nil {
		switch t.Kind() {
		case reflect.Pointer, reflect.Interface, reflect.Slice, reflect.Map, reflect.Func:
			return reflect.Zero(t)
		}
	}
	out := convertTo(v, t)
	if out.IsValid() && out.Type().AssignableTo(t) {
		return out
	}
	if out.IsValid() && (out.CanInt() || out.CanFloat()) && t.Kind() != reflect.String && out.CanConvert(t) {
		if c := out.Convert(t); c.Convert(out.Type()).Equal(out) {
			return c
		}
	}
	panic(&Error{Op: "convert", Err: ir.Errorf(ir.ErrType, "expected a value for %s, got %s", t, typeName(v))})
}

// KeyFromArg returns the value of a key of a graph's dict; ok is false where it
// is none of a Go value: see ir.Hashable.
func KeyFromArg(a ir.Arg) (key any, ok bool) {
	t, isTuple := a.(ir.Tuple)
	if !isTuple {
		key = FromArg(a)
		return key, ir.Hashable(key)
	}
	tuple := make(ir.PyTuple, t.Len())
	for i, item := range t.All() {
		if tuple[i], ok = KeyFromArg(item); !ok {
			return nil, false
		}
	}
	return tuple, ir.Hashable(tuple)
}

// FromArg returns the value of a literal of a graph in the types that this
// package computes with: int64 for ir.Int, nil for ir.None. Nodes and containers
// come back as they are.
func FromArg(a ir.Arg) any {
	switch a := a.(type) {
	case nil, ir.None:
		return nil
	case ir.Bool:
		return bool(a)
	case ir.Int:
		return int64(a)
	case ir.Float:
		return float64(a)
	case ir.Complex:
		return complex128(a)
	case ir.Str:
		return string(a)
	case ir.Opaque:
		return a.Value
	}
	return a
}
