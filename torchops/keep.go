package torchops

import (
	"reflect"
	"strings"
	"unsafe"

	"github.com/torchfx-go/torchfx/ir"
)

// hidden returns args as a slice of which the compiler does not know where it came from.
// It takes arguments of typed functions for ones that do not outlive the call then,
// and leaves numbers, keywords and lists on the stack of whoever wrote them. So nothing
// that is found in hidden arguments may be kept, but what [keeping] makes of it.
//
// The checks of pointers that come with the race detector are calls, in which the stack
// may move from under the address.
//
//go:nocheckptr
func hidden(args []any) []any {
	at := uintptr(unsafe.Pointer(unsafe.SliceData(args)))
	return unsafe.Slice(*(**any)(unsafe.Pointer(&at)), len(args)) // as vet cannot see either
}

// keeping copies hidden arguments of a call into memory that is nobody's stack.
type keeping struct {
	call  string
	depth int
	lost  reflect.Type // of what has no copy, nil for none
}

// all copies arguments. What has no copy, since it is more than what can be seen of
// it, is made the zero value of its type, which is all that an error says of it.
func (k *keeping) all(args []any) []any { return listOf(args, k.one) }

// one is an argument, or a part of one.
func (k *keeping) one(v any) any {
	if k.depth++; k.depth > 2*MaxNesting { // the value in a list, or of a field, is a level too
		mustNot(k.call, failed(k.call, nil, nil, ErrNesting))
	}
	defer func() { k.depth-- }()
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
		return Kwarg{strings.Clone(v.Name), k.one(v.Value)}
	case inScope:
		return v // In has let it escape
	case SymInt:
		return v // NewValue has let what is traced escape
	case SymBool:
		return v
	case Value:
		return v
	case []any:
		if v == nil {
			return v
		}
		return k.all(v)
	case List:
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
	case *ir.Node:
		return v // of a graph
	case *ir.PyDict:
		if v == nil {
			return v
		}
		d := &ir.PyDict{}
		for key, item := range v.All() {
			d.Set(k.one(key), k.one(item))
		}
		return d
	case *ir.PyObject:
		if v == nil {
			return v
		}
		return &ir.PyObject{Type: strings.Clone(v.Type), Fields: each(v.Fields, strings.Clone), Values: k.all(v.Values)}
	case ir.Slice:
		return ir.Slice{Start: k.arg(v.Start), Stop: k.arg(v.Stop), Step: k.arg(v.Step)}
	case ir.Opaque:
		if v.Value == nil {
			return ir.None{}
		}
		return ir.Opaque{Value: k.one(v.Value)}
	case ir.List:
		return ir.ListOf(k.args(v.Len(), v.At)...)
	case ir.Tuple:
		return ir.TupleOf(k.args(v.Len(), v.At)...)
	case ir.NamedTuple:
		return ir.NamedTupleOf(v.Type, each(v.Fields, strings.Clone), k.args(v.Len(), v.At)...)
	case ir.Dict:
		var pairs []ir.Pair
		for key, item := range v.All() {
			pairs = append(pairs, ir.Pair{Key: k.arg(key), Value: k.arg(item)})
		}
		return ir.DictOf(pairs...)
	}
	return k.other(reflect.ValueOf(v)).Interface()
}

func (k *keeping) arg(a ir.Arg) ir.Arg {
	kept, _ := k.one(a).(ir.Arg)
	return kept
}

func (k *keeping) args(n int, at func(i int) ir.Arg) []ir.Arg {
	list := make([]ir.Arg, n)
	for i := range list {
		list[i] = k.arg(at(i))
	}
	return list
}

// other copies a value of any other type: a trace takes lists, maps and structs of Go.
func (k *keeping) other(r reflect.Value) reflect.Value {
	t := r.Type()
	made := reflect.New(t).Elem()
	switch kind := t.Kind(); {
	case flat(t):
		made.Set(r)
	case kind == reflect.String:
		made.SetString(strings.Clone(r.String()))
	case kind == reflect.Array:
		k.items(made, r)
	case kind == reflect.Struct:
		for i := range t.NumField() {
			if made.Field(i).CanSet() {
				k.item(made.Field(i), r.Field(i))
			} else if !flat(t.Field(i).Type) || !r.Field(i).IsZero() {
				k.lost = t
			}
		}
	case kind == reflect.Func || kind == reflect.Chan || kind == reflect.UnsafePointer:
		k.lost = t
	case r.IsNil():
	case kind == reflect.Slice:
		made.Set(reflect.MakeSlice(t, r.Len(), r.Len()))
		k.items(made, r)
	case kind == reflect.Map:
		made.Set(reflect.MakeMapWithSize(t, r.Len()))
		for it := r.MapRange(); it.Next(); {
			key, value := reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem()
			k.item(key, it.Key())
			k.item(value, it.Value())
			made.SetMapIndex(key, value)
		}
	case kind == reflect.Pointer && t.NumMethod() == 0 && t.Elem().Kind() == reflect.Struct:
		made.Set(reflect.New(t.Elem()))
		k.item(made.Elem(), r.Elem())
	default:
		k.lost = t
	}
	return made
}

func (k *keeping) items(made, r reflect.Value) {
	if flat(r.Type().Elem()) {
		reflect.Copy(made, r)
		return
	}
	for i := range r.Len() {
		k.item(made.Index(i), r.Index(i))
	}
}

// item sets made to the copy of a part.
func (k *keeping) item(made, r reflect.Value) {
	if v := k.one(r.Interface()); v != nil {
		made.Set(reflect.ValueOf(v))
	}
}

// refuseLost fails a call that is traced where something has no copy: it would be
// recorded as if it were nothing.
func (k *keeping) refuseLost(traced bool) {
	if traced && k.lost != nil {
		mustNot(k.call, failed(k.call, nil, nil, ir.Errorf(ir.ErrNotImplemented, "argument of type %s: expected one of Go's plain values, or a call by Dispatch", k.lost)))
	}
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
