package libtorch

// #include "trampoline.h"
import "C"

import (
	"fmt"
	"math"

	"github.com/torchfx-go/torchfx/ir"
)

// list writes a list, which may be given as a slice of its elements' Go type or
// as []any.
func (e *encoder) list(t *ir.Type, v any, free int) error {
	n, ok := listLen(v)
	if !ok {
		return errKind
	}
	// int[1] says only that one number may stand for the list, as dim in sum. A
	// longer fixed length is a promise to the kernel, which does not check it: a
	// short one ends the process in oneDNN. The kernels that do look raise a
	// RuntimeError.
	if t.Len > 1 && n != t.Len && n != free {
		return &fault{ir.ErrRuntime, fmt.Sprintf("%v of %d", t, t.Len), fmt.Sprintf("%d elements", n)}
	}
	elem := t.Elem
	nullable := elem.Kind == ir.TypeOptional
	if nullable && elem.Elem.Kind != ir.TypeTensor {
		return e.items(elem, v)
	}
	switch elem.Kind {
	case ir.TypeInt, ir.TypeSymInt:
		switch v := v.(type) {
		case []int64:
			e.head(C.TFX_INTS, n)
			for _, x := range v {
				e.w = append(e.w, uint64(x))
			}
			return nil
		case []int:
			e.head(C.TFX_INTS, n)
			for _, x := range v {
				e.w = append(e.w, uint64(x))
			}
			return nil
		}
		return e.packed(C.TFX_INTS, elem, v)
	case ir.TypeFloat, ir.TypeSymFloat:
		if v, ok := v.([]float64); ok {
			e.head(C.TFX_FLOATS, n)
			for _, x := range v {
				e.w = append(e.w, math.Float64bits(x))
			}
			return nil
		}
		return e.packed(C.TFX_FLOATS, elem, v)
	case ir.TypeBool, ir.TypeSymBool:
		if v, ok := v.([]bool); ok {
			e.head(C.TFX_BOOLS, n)
			for _, x := range v {
				e.w = append(e.w, uint64(bit(x)))
			}
			return nil
		}
		return e.packed(C.TFX_BOOLS, elem, v)
	case ir.TypeTensor, ir.TypeOptional:
		return e.tensors(v, n, nullable)
	}
	return e.items(elem, v)
}

// packed writes the []any of numbers of one kind as their list.
func (e *encoder) packed(kind int, elem *ir.Type, v any) error {
	items, ok := v.([]any)
	if !ok {
		return errKind
	}
	e.head(kind, len(items))
	for i, x := range items {
		at := len(e.w)
		if err := e.value(elem, x, -1); err != nil {
			return element(i, elem, x, err)
		}
		// Keep the payload alone: the word after the head, or a bool's count.
		if kind == C.TFX_BOOLS {
			e.w[at] >>= 8
		} else {
			e.w[at] = e.w[at+1]
		}
		e.w = e.w[:at+1]
	}
	return nil
}

func (e *encoder) tensors(v any, n int, nullable bool) error {
	e.head(C.TFX_TENSORS, n)
	one := func(i int, t *Tensor) error {
		if t == nil {
			if nullable {
				e.w = append(e.w, 0)
				return nil
			}
			return &fault{ir.ErrType, "", fmt.Sprintf("None as element %d", i)}
		}
		p, err := e.tensor(t)
		if err != nil {
			return &fault{ir.ErrClosed, "open tensors", fmt.Sprintf("a closed one as element %d", i)}
		}
		e.w = append(e.w, p)
		return nil
	}
	switch v := v.(type) {
	case []*Tensor:
		for i, t := range v {
			if err := one(i, t); err != nil {
				return err
			}
		}
		return nil
	case []any:
		for i, x := range v {
			t, ok := x.(*Tensor)
			if !ok && x != nil {
				return &fault{ir.ErrType, "", fmt.Sprintf("%s as element %d", kindOf(x), i)}
			}
			if err := one(i, t); err != nil {
				return err
			}
		}
		return nil
	}
	return errKind
}

// items writes a list whose elements carry their kinds.
func (e *encoder) items(elem *ir.Type, v any) error {
	n, _ := listLen(v)
	e.head(C.TFX_LIST, n)
	for i := range n {
		x := listAt(v, i)
		if err := e.value(elem, x, -1); err != nil {
			return element(i, elem, x, err)
		}
	}
	return nil
}

// element says which element of a list is wrong.
func element(i int, elem *ir.Type, v any, err error) error {
	f := *err.(*fault)
	if f.got == "" {
		f.got = kindOf(v)
	}
	if f.expected == "" {
		f.expected = elem.String()
	}
	f.got = fmt.Sprintf("%s as element %d", f.got, i)
	return &f
}

func (e *encoder) dict(t *ir.Type, entries []any) error {
	e.head(C.TFX_DICT, len(entries))
	for i, x := range entries {
		kv, ok := x.([]any)
		if !ok || len(kv) != 2 {
			return &fault{ir.ErrType, "", fmt.Sprintf("%s as entry %d", kindOf(x), i)}
		}
		for j := range kv {
			if err := e.value(&t.Elems[j], kv[j], -1); err != nil {
				return element(i, &t.Elems[j], kv[j], err)
			}
		}
	}
	return nil
}

// any writes a value for an argument that takes all, by its Go type.
func (e *encoder) any(v any) error {
	switch v := v.(type) {
	case nil:
		e.head(C.TFX_NONE, 0)
	case *Tensor:
		return e.value(&tensorType, v, -1)
	case string:
		e.str(v)
	case ir.DType:
		return e.value(&ir.Type{Kind: ir.TypeDType}, v, -1)
	case ir.Layout, ir.MemoryFormat:
		e.w = append(e.w, C.TFX_INT, uint64(v.(interface{ C10() int }).C10()))
	case ir.Device:
		e.device(v)
	case *Generator:
		return e.generator(v)
	case *Object:
		return e.object(v)
	case []int64, []int:
		return e.list(&intsType, v, -1)
	case []float64:
		return e.list(&floatsType, v, -1)
	case []bool:
		return e.list(&boolsType, v, -1)
	case []*Tensor:
		return e.tensors(v, len(v), false)
	case []string, []complex128, []any:
		return e.items(&anyType, v)
	default:
		if !e.scalar(v) {
			return errKind
		}
	}
	return nil
}

// The types that any writes values as, made once.
var (
	anyType    = ir.Type{Kind: ir.TypeAny}
	tensorType = ir.Type{Kind: ir.TypeTensor}
	intsType   = ir.Type{Kind: ir.TypeList, Elem: &ir.Type{Kind: ir.TypeInt}}
	floatsType = ir.Type{Kind: ir.TypeList, Elem: &ir.Type{Kind: ir.TypeFloat}}
	boolsType  = ir.Type{Kind: ir.TypeList, Elem: &ir.Type{Kind: ir.TypeBool}}
)

// listLen returns the length of a value that may stand for a list.
func listLen(v any) (int, bool) {
	switch v := v.(type) {
	case []int64:
		return len(v), true
	case []int:
		return len(v), true
	case []*Tensor:
		return len(v), true
	case []float64:
		return len(v), true
	case []bool:
		return len(v), true
	case []string:
		return len(v), true
	case []complex128:
		return len(v), true
	case []any:
		return len(v), true
	}
	return 0, false
}

func listAt(v any, i int) any {
	switch v := v.(type) {
	case []int64:
		return v[i]
	case []int:
		return v[i]
	case []*Tensor:
		return v[i]
	case []float64:
		return v[i]
	case []bool:
		return v[i]
	case []string:
		return v[i]
	case []complex128:
		return v[i]
	case []any:
		return v[i]
	}
	return nil
}

// kindOf names the kind of a value in an error.
func kindOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case *Tensor:
		if v == nil {
			return "a nil tensor"
		}
		return "Tensor"
	case ir.DType:
		return v.String()
	case *Generator:
		return "Generator"
	case *Object:
		return "an object"
	case []*Tensor:
		return "a list of tensors"
	}
	return fmt.Sprintf("%T", v)
}
