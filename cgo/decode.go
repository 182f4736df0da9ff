package libtorch

// #include "trampoline.h"
import "C"

import (
	"math"

	"github.com/torchfx-go/torchfx/ir"
)

// decode appends the values of a schema's returns to dst, from the words of a
// reply. On an error, what was made so far is closed.
func decode(dst []any, w []uint64, returns []ir.Param) ([]any, error) {
	d := decoder{w: w}
	if len(returns) == 0 && len(w) == 0 {
		return dst, nil
	}
	results := dst
	if results == nil {
		results = make([]any, 0, len(returns))
	}
	for i := 0; len(d.w) > 0; i++ {
		var t *ir.Type
		if i < len(returns) {
			t = &returns[i].Type
		}
		results = append(results, d.value(t))
	}
	if d.err != nil {
		closeAll(results[len(dst):])
		return dst, d.err
	}
	return results, nil
}

// A decoder reads values. The first error sticks; reading goes on, so that every
// handle in the stream gets an owner.
type decoder struct {
	w      []uint64
	err    error
	tuples bool // a tuple is an ir.PyTuple, not a list
}

func (d *decoder) next() uint64 {
	w := d.w[0]
	d.w = d.w[1:]
	return w
}

func (d *decoder) tensor() *Tensor {
	impl, bytes := d.next(), d.next()
	if impl == 0 {
		return nil
	}
	return newTensor(impl, int64(bytes))
}

func (d *decoder) value(t *ir.Type) any {
	if t != nil && t.Kind == ir.TypeOptional {
		t = t.Elem
	}
	head := d.next()
	n := int(head >> 8)
	switch head & 0xff {
	case C.TFX_TENSOR:
		return d.tensor()
	case C.TFX_INT:
		return d.integer(t, int64(d.next()))
	case C.TFX_UINT:
		return d.next()
	case C.TFX_FLOAT:
		return math.Float64frombits(d.next())
	case C.TFX_BOOL:
		return n != 0
	case C.TFX_COMPLEX:
		re := math.Float64frombits(d.next())
		return complex(re, math.Float64frombits(d.next()))
	case C.TFX_STR:
		return d.str(n)
	case C.TFX_DEVICE:
		kind, index := int64(d.next()), int64(d.next())
		device, err := ir.DeviceFromC10(int(kind), int(index))
		d.keep(err)
		return device
	case C.TFX_GENERATOR:
		return newGenerator(d.next())
	case C.TFX_OBJECT:
		impl := d.next()
		name := d.next()
		return newObject(impl, d.str(int(name>>8)))
	case C.TFX_TENSORS:
		list := make([]*Tensor, n)
		for i := range list {
			list[i] = d.tensor()
		}
		return list
	case C.TFX_INTS:
		list := make([]int64, n)
		copy(list, words64(d.w[:n]))
		d.w = d.w[n:]
		return list
	case C.TFX_FLOATS:
		list := make([]float64, n)
		for i := range list {
			list[i] = math.Float64frombits(d.next())
		}
		return list
	case C.TFX_BOOLS:
		list := make([]bool, n)
		for i := range list {
			list[i] = d.next() != 0
		}
		return list
	case C.TFX_LIST:
		return d.list(n, t)
	case C.TFX_TUPLE:
		items := make([]any, n)
		for i := range items {
			var elem *ir.Type
			if t != nil && i < len(t.Elems) {
				elem = &t.Elems[i]
			}
			items[i] = d.value(elem)
		}
		if d.tuples {
			return ir.PyTuple(items)
		}
		return items
	case C.TFX_DICT:
		entries := make([]any, n)
		for i := range entries {
			var key, value *ir.Type
			if t != nil && len(t.Elems) == 2 {
				key, value = &t.Elems[0], &t.Elems[1]
			}
			k := d.value(key)
			entries[i] = []any{k, d.value(value)}
		}
		return entries
	}
	if head&0xff == C.TFX_ABSENT {
		return Absent{}
	}
	return nil // none and undefined
}

// integer gives a number the meaning that the schema says.
func (d *decoder) integer(t *ir.Type, n int64) any {
	if t == nil {
		return n
	}
	switch t.Kind {
	case ir.TypeDType:
		v, err := dtypeFromC10(int(n))
		d.keep(err)
		return v
	case ir.TypeLayout:
		v, err := ir.LayoutFromC10(int(n))
		d.keep(err)
		return v
	case ir.TypeMemoryFormat:
		v, err := ir.MemoryFormatFromC10(int(n))
		d.keep(err)
		return v
	}
	return n
}

func (d *decoder) list(n int, t *ir.Type) any {
	var elem *ir.Type
	if t != nil && t.Kind == ir.TypeList {
		elem = t.Elem
	}
	if elem != nil && elem.Kind == ir.TypeStr {
		list := make([]string, n)
		for i := range list {
			head := d.next()
			list[i] = d.str(int(head >> 8))
		}
		return list
	}
	if elem != nil && elem.Kind == ir.TypeOptional && elem.Elem.Kind == ir.TypeTensor {
		list := make([]*Tensor, n)
		for i := range list {
			list[i], _ = d.value(elem).(*Tensor)
		}
		return list
	}
	list := make([]any, n)
	for i := range list {
		list[i] = d.value(elem)
	}
	return list
}

func (d *decoder) str(n int) string {
	s, words := str(d.w, n)
	d.w = d.w[words:]
	return s
}

func (d *decoder) keep(err error) {
	if d.err == nil {
		d.err = err
	}
}

// closeAll closes every handle in values.
func closeAll(values []any) {
	for _, v := range values {
		switch v := v.(type) {
		case *Tensor:
			v.Close()
		case *Generator:
			v.Close()
		case *Object:
			v.Close()
		case []*Tensor:
			for _, t := range v {
				t.Close()
			}
		case []any:
			closeAll(v)
		case ir.PyTuple:
			closeAll(v)
		}
	}
}
