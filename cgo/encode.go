package libtorch

// #include "trampoline.h"
import "C"

import (
	"math"
	"unsafe"

	"github.com/torchfx-go/torchfx/ir"
)

// Room for the arguments of nearly every call, in words and in tensors, and the
// most words that are kept for the next one.
const (
	argWords   = 96
	argTensors = 16
	maxWords   = 1 << 14
)

// A param is what encoding needs of one argument of a schema.
type param struct {
	name     string
	typ      *ir.Type // without its Optional
	optional bool
	free     int // a length besides typ.Len that a fixed list may have, -1 for none
}

func params(s *ir.Schema) []param {
	ps := make([]param, len(s.Args))
	for i := range s.Args {
		p := &ps[i]
		p.name, p.typ, p.free = s.Args[i].Name, &s.Args[i].Type, -1
		if p.typ.Kind == ir.TypeOptional {
			p.typ, p.optional = p.typ.Elem, true
		}
		// int[2] stride=[] means that the kernel takes the kernel size.
		if list, ok := s.Args[i].Default.(ir.List); ok {
			p.free = list.Len()
		}
		// of oneDNN's operators that pack weights those of three dimensions, too, are for
		// int[2]; they look how many there are
		if p.typ.Len == 2 && s.Namespace() == "mkldnn" {
			p.free = 3
		}
	}
	return ps
}

// An encoder writes arguments as words and remembers the tensors in them, which
// stay in use until the call is over.
type encoder struct {
	w    []uint64
	used []*cell
}

func (e *encoder) unuse() {
	for _, c := range e.used {
		c.unuse()
	}
}

func (e *encoder) head(kind, count int) { e.w = append(e.w, uint64(kind)|uint64(count)<<8) }

// args writes one value for each argument of the schema.
func (e *encoder) args(o *Operator, args []any) error {
	if len(args) != len(o.params) {
		return ir.Errorf(ir.ErrType, "expected %d arguments, got %d", len(o.params), len(args))
	}
	for i, v := range args {
		if err := e.arg(&o.params[i], v); err != nil {
			return err
		}
	}
	return nil
}

// arg writes the value of one argument.
func (e *encoder) arg(p *param, v any) error {
	if v == nil && p.optional {
		e.head(C.TFX_NONE, 0)
		return nil
	}
	if err := e.value(p.typ, v, p.free); err != nil {
		return badArg(p, v, err)
	}
	return nil
}

// A fault is what is wrong with an argument; badArg adds its name.
type fault struct {
	class    *ir.Class
	expected string // "" stands for the argument's type
	got      string
}

func (f *fault) Error() string { return f.got }

var (
	errKind      = &fault{class: ir.ErrType} // a value of the wrong kind
	errClosedArg = &fault{ir.ErrClosed, "an open tensor", "a closed one"}
)

func badArg(p *param, v any, err error) error {
	f := err.(*fault)
	expected, got := f.expected, f.got
	if expected == "" {
		expected = p.typ.String()
		if p.optional {
			expected += " or None"
		}
	}
	if got == "" {
		got = kindOf(v)
	}
	return ir.Errorf(f.class, "argument %s: expected %s, got %s", p.name, expected, got)
}

func (e *encoder) tensor(t *Tensor) (uint64, error) {
	p, ok := t.ptr()
	if !ok {
		return 0, errClosedArg
	}
	e.used = append(e.used, t.cell)
	return p, nil
}

// value writes v for a type. free is a second allowed length of a fixed list.
func (e *encoder) value(t *ir.Type, v any, free int) error {
	switch t.Kind {
	case ir.TypeOptional:
		if v == nil {
			e.head(C.TFX_NONE, 0)
			return nil
		}
		return e.value(t.Elem, v, free)
	case ir.TypeTensor:
		switch v := v.(type) {
		case *Tensor:
			if v == nil {
				break
			}
			p, err := e.tensor(v)
			if err != nil {
				return err
			}
			e.w = append(e.w, C.TFX_TENSOR, p)
			return nil
		case nil:
			e.head(C.TFX_UNDEFINED, 0)
			return nil
		}
	case ir.TypeInt, ir.TypeSymInt, ir.TypeQScheme:
		switch v := v.(type) {
		case int64:
			e.w = append(e.w, C.TFX_INT, uint64(v))
			return nil
		case int:
			e.w = append(e.w, C.TFX_INT, uint64(v))
			return nil
		}
	case ir.TypeFloat, ir.TypeSymFloat:
		if v, ok := v.(float64); ok {
			e.w = append(e.w, C.TFX_FLOAT, math.Float64bits(v))
			return nil
		}
	case ir.TypeBool, ir.TypeSymBool:
		if v, ok := v.(bool); ok {
			e.head(C.TFX_BOOL, bit(v))
			return nil
		}
	case ir.TypeComplex:
		if v, ok := v.(complex128); ok {
			e.complex(v)
			return nil
		}
	case ir.TypeScalar:
		if e.scalar(v) {
			return nil
		}
	case ir.TypeStr, ir.TypeDimname:
		if v, ok := v.(string); ok {
			e.str(v)
			return nil
		}
	case ir.TypeDType:
		if v, ok := v.(ir.DType); ok && v.Valid() {
			if !hasDType(v.C10()) {
				return &fault{ir.ErrUnsupported, "a dtype of libtorch " + loaded.version, v.String()}
			}
			e.w = append(e.w, C.TFX_INT, uint64(v.C10()))
			return nil
		}
	case ir.TypeLayout:
		if v, ok := v.(ir.Layout); ok {
			e.w = append(e.w, C.TFX_INT, uint64(v.C10()))
			return nil
		}
	case ir.TypeMemoryFormat:
		if v, ok := v.(ir.MemoryFormat); ok {
			e.w = append(e.w, C.TFX_INT, uint64(v.C10()))
			return nil
		}
	case ir.TypeDevice:
		if v, ok := v.(ir.Device); ok {
			e.device(v)
			return nil
		}
	case ir.TypeGenerator:
		if v, ok := v.(*Generator); ok && v != nil {
			return e.generator(v)
		}
	case ir.TypeStorage, ir.TypeStream, ir.TypeClass, ir.TypeFuture:
		if v, ok := v.(*Object); ok && v != nil {
			return e.object(v)
		}
	case ir.TypeNone:
		if v == nil {
			e.head(C.TFX_NONE, 0)
			return nil
		}
	case ir.TypeList:
		return e.list(t, v, free)
	case ir.TypeTuple:
		if v, ok := v.([]any); ok && len(v) == len(t.Elems) {
			e.head(C.TFX_TUPLE, len(v))
			for i := range v {
				if err := e.value(&t.Elems[i], v[i], -1); err != nil {
					return err
				}
			}
			return nil
		}
	case ir.TypeDict:
		if v, ok := v.([]any); ok && len(t.Elems) == 2 {
			return e.dict(t, v)
		}
	case ir.TypeAny, ir.TypeVar:
		return e.any(v)
	}
	return errKind
}

func (e *encoder) scalar(v any) bool {
	switch v := v.(type) {
	case int64:
		e.w = append(e.w, C.TFX_INT, uint64(v))
	case int:
		e.w = append(e.w, C.TFX_INT, uint64(v))
	case float64:
		e.w = append(e.w, C.TFX_FLOAT, math.Float64bits(v))
	case bool:
		e.head(C.TFX_BOOL, bit(v))
	case complex128:
		e.complex(v)
	case uint64:
		e.w = append(e.w, C.TFX_UINT, v)
	default:
		return false
	}
	return true
}

func (e *encoder) complex(v complex128) {
	e.w = append(e.w, C.TFX_COMPLEX, math.Float64bits(real(v)), math.Float64bits(imag(v)))
}

func (e *encoder) str(s string) {
	e.head(C.TFX_STR, len(s))
	for len(s) > 0 {
		var w uint64
		n := copy(unsafe.Slice((*byte)(unsafe.Pointer(&w)), 8), s)
		e.w = append(e.w, w)
		s = s[n:]
	}
}

func (e *encoder) device(d ir.Device) {
	kind, index := d.C10()
	e.w = append(e.w, C.TFX_DEVICE, uint64(kind), uint64(index))
}

func (e *encoder) generator(g *Generator) error {
	p, ok := g.ptr()
	if !ok {
		return &fault{ir.ErrClosed, "an open generator", "a closed one"}
	}
	e.used = append(e.used, g.cell)
	e.w = append(e.w, C.TFX_GENERATOR, p)
	return nil
}

func (e *encoder) object(o *Object) error {
	p, ok := o.ptr()
	if !ok {
		return &fault{ir.ErrClosed, "an open object", "a closed one"}
	}
	e.used = append(e.used, o.cell)
	e.w = append(e.w, C.TFX_OBJECT, p)
	return nil
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}
