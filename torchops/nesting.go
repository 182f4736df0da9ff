package torchops

import (
	"reflect"
	"unsafe"

	"github.com/torchfx-go/torchfx/ir"
)

// MaxNesting is how deep containers may lie in each other that code gives to a call, a
// trace or a run, or returns, so that one which holds itself ends in an error.
const MaxNesting = 1000

// ErrNesting is the error of deeper ones.
var ErrNesting = ir.Errorf(ir.ErrValue, "expected containers nested at most %d deep; does one hold itself?", MaxNesting)

// CheckNesting returns ErrNesting where one of the values is nested deeper than
// [MaxNesting]. What walks values relies on it.
func CheckNesting(values ...any) error {
	if tooDeep(values, 0) {
		return ErrNesting
	}
	return nil
}

// checkCall is CheckNesting of what a call gets.
func checkCall(args []any, kw []Kwarg) error {
	if tooDeep(args, 0) {
		return ErrNesting
	}
	for _, k := range kw {
		if tooDeepIn(k.Value, 1) {
			return ErrNesting
		}
	}
	return nil
}

func tooDeep(items []any, depth int) bool {
	if depth > MaxNesting {
		return true
	}
	for _, v := range items {
		if tooDeepIn(v, depth+1) {
			return true
		}
	}
	return false
}

func tooDeepIn(v any, depth int) bool {
	switch v := v.(type) {
	case nil, *Tensor, bool, int, int64, float64, string, complex128, ir.DType, ir.Device, ir.Layout, ir.MemoryFormat, []int, []int64, []*Tensor, List, Tuple, SymInt, *Scope:
		return false
	case Kwarg:
		return tooDeepIn(v.Value, depth)
	case []any:
		return tooDeep(v, depth)
	case ir.PyTuple:
		return tooDeep(v, depth)
	case *ir.PyObject:
		return v != nil && tooDeep(v.Values, depth)
	case ir.Opaque:
		return depth > MaxNesting || tooDeepIn(v.Value, depth+1)
	case *ir.PyDict:
		if depth > MaxNesting {
			return true
		}
		for _, item := range v.All() {
			if tooDeepIn(item, depth+1) {
				return true
			}
		}
		return false
	}
	// other lists and maps of Go may hold anything
	r := reflect.ValueOf(v)
	switch k := r.Kind(); {
	case k != reflect.Map && k != reflect.Slice || r.Type().Elem().Kind() != reflect.Interface && r.Type().Elem().Kind() != reflect.Slice && r.Type().Elem().Kind() != reflect.Map:
		return false
	case depth > MaxNesting:
		return true
	case k == reflect.Map:
		for it := r.MapRange(); it.Next(); {
			if tooDeepIn(it.Value().Interface(), depth+1) {
				return true
			}
		}
	default:
		for i := range r.Len() {
			if tooDeepIn(r.Index(i).Interface(), depth+1) {
				return true
			}
		}
	}
	return false
}

// holds reports whether the list or dict of lies in v, or is v. v holds not itself.
func holds(v, of any) bool {
	inOne := func(items []any) bool {
		for _, item := range items {
			if holds(item, of) {
				return true
			}
		}
		return false
	}
	switch v := v.(type) {
	case []any:
		list, ok := of.([]any)
		return ok && len(v) > 0 && len(list) > 0 && unsafe.SliceData(v) == unsafe.SliceData(list) || inOne(v)
	case ir.PyTuple:
		return inOne(v)
	case *ir.PyObject:
		return v != nil && inOne(v.Values)
	case *ir.PyDict:
		if d, ok := of.(*ir.PyDict); ok && d == v {
			return true
		}
		for _, item := range v.All() {
			if holds(item, of) {
				return true
			}
		}
	}
	return false
}
