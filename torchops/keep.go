package torchops

import (
	"reflect"
	"slices"
	"strings"
	"unsafe"

	"github.com/torchfx-go/torchfx/ir"
)

// hidden returns args as a slice of which the compiler does not know where it came from.
// It takes arguments of typed functions for ones that do not outlive the call then,
// and leaves numbers, keywords and lists on the stack of whoever wrote them. So nothing
// that is found in hidden arguments may be kept, but what [kept] makes of it.
func hidden(args []any) []any {
	at := uintptr(unsafe.Pointer(unsafe.SliceData(args)))
	return unsafe.Slice(*(**any)(unsafe.Pointer(&at)), len(args)) // as vet cannot see either
}

// keptArgs are hidden arguments of a call, in memory of their own; see kept.
func keptArgs(name string, args []any) []any {
	if tooDeep(args, 0) {
		mustNot(name, failed(name, nil, nil, ErrNesting))
	}
	return keptAll(args)
}

func keptAll(args []any) []any { return listOf(args, kept) }

// kept is a hidden argument, or a part of one, in memory that it shares with nobody's
// stack. What no operator and no trace takes is made the zero value of its type, which
// is all that an error says of it.
func kept(v any) any {
	switch v := v.(type) {
	case nil:
		return nil
	case *Tensor:
		return v.onHeap()
	case int:
		return v
	case float64:
		return v
	case string:
		return strings.Clone(v)
	case Kwarg:
		return Kwarg{strings.Clone(v.Name), kept(v.Value)}
	case inScope:
		return v // In has let it escape
	case SymInt:
		return v // what is traced has gone through a Recorder, an interface
	case SymBool:
		return v
	case Value:
		return v
	case []SymInt:
		return slices.Clone(v)
	case []Value:
		return slices.Clone(v)
	case []int:
		return slices.Clone(v)
	case []int64:
		return slices.Clone(v)
	case []float64:
		return slices.Clone(v)
	case []bool:
		return slices.Clone(v)
	case []string:
		return each(v, strings.Clone)
	case []any:
		return keptAll(v)
	case ir.PyTuple:
		return ir.PyTuple(keptAll(v))
	case []*Tensor:
		return each(v, (*Tensor).onHeap)
	case List:
		return each(v, (*Tensor).onHeap)
	case Tuple:
		return each(v, (*Tensor).onHeap)
	case Tensors:
		return Tensors{each(v.list, (*Tensor).onHeap), v.value}
	case *Generator:
		if v == nil {
			return v
		}
		g := *v // its copies are one generator
		return &g
	case *ir.Func:
		return v // there is one of a name, for ever
	case *ir.PyDict:
		if v == nil {
			return v
		}
		d := &ir.PyDict{}
		for key, item := range v.All() {
			d.Set(kept(key), kept(item))
		}
		return d
	case *ir.PyObject:
		if v == nil {
			return v
		}
		typ, fields, values := strings.Clone(v.Type), each(v.Fields, strings.Clone), keptAll(v.Values)
		return &ir.PyObject{Type: typ, Fields: fields, Values: values}
	case ir.Slice:
		return ir.Slice{Start: keptArg(v.Start), Stop: keptArg(v.Stop), Step: keptArg(v.Step)}
	case ir.Opaque:
		if v.Value == nil {
			return ir.None{}
		}
		return ir.Opaque{Value: kept(v.Value)}
	}
	r := reflect.ValueOf(v)
	c := reflect.New(r.Type()).Elem()
	switch {
	case c.Kind() == reflect.String:
		c.SetString(strings.Clone(r.String()))
	case flat(c.Type()):
		c.Set(r)
	}
	return c.Interface()
}

func keptArg(a ir.Arg) ir.Arg {
	k, _ := kept(a).(ir.Arg)
	return k
}

// flat reports whether values of a type refer to no others.
func flat(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Array:
		return flat(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if !flat(t.Field(i).Type) {
				return false
			}
		}
		return true
	}
	return t.Kind() <= reflect.Complex128 && t.Kind() != reflect.Invalid
}

func each[S ~[]E, E any](list S, f func(E) E) S {
	if list == nil {
		return nil
	}
	made := make(S, len(list))
	for i, item := range list {
		made[i] = f(item)
	}
	return made
}

// newTensor makes all tensors: not inlined, so that what it makes is on the heap.
//
//go:noinline
func newTensor() *Tensor {
	t := new(Tensor)
	t.made = t
	return t
}

// onHeap is t, or where it was not made by this package, and so may lie on a stack,
// another handle that is it in all respects.
func (t *Tensor) onHeap() *Tensor {
	if t == nil || t.made == t {
		return t
	}
	made := newTensor()
	made.handle, made.value = t.handle, t.value
	made.scope.Store(t.scope.Load())
	return made
}
