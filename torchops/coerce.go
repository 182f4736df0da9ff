package torchops

import (
	"maps"
	"math"
	"slices"
	"strings"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
)

// encode turns a value of a run into what the bridge takes for an argument of
// type t. ok is false where Python would not take it either.
func (c *call) encode(v any, t *ir.Type) (encoded any, ok bool, err error) {
	switch t.Kind {
	case ir.TypeOptional:
		if v == nil {
			return nil, true, nil
		}
		return c.encode(v, t.Elem)
	case ir.TypeTensor:
		return c.tensor(v)
	case ir.TypeInt, ir.TypeSymInt:
		n, ok, err := c.integer(v)
		return n, ok, err
	case ir.TypeFloat, ir.TypeSymFloat:
		x, ok, err := c.float(v)
		return x, ok, err
	case ir.TypeBool, ir.TypeSymBool:
		return c.boolean(v)
	case ir.TypeScalar, ir.TypeComplex:
		if x, isTensor := v.(*Tensor); isTensor && !c.strict { // torch.ops takes none
			v, err = c.number(x)
		}
		_, large := v.(uint64)
		return v, large || kindOf(v) != notNumber, err
	case ir.TypeStr, ir.TypeDimname:
		_, ok = v.(string)
		return v, ok, nil
	case ir.TypeDType:
		return codeOrSelf(c, v, ir.DTypeFromC10)
	case ir.TypeLayout:
		return codeOrSelf(c, v, ir.LayoutFromC10)
	case ir.TypeMemoryFormat:
		return codeOrSelf(c, v, ir.MemoryFormatFromC10)
	case ir.TypeDevice:
		if name, isName := v.(string); isName {
			v, err = ir.ParseDevice(name)
		}
		_, ok = v.(ir.Device)
		return v, ok, err
	case ir.TypeList:
		return c.list(v, t)
	case ir.TypeNone:
		return nil, v == nil, nil
	case ir.TypeTuple:
		x, kind := items(v)
		if kind == "" || len(x) != len(t.Elems) {
			return nil, false, nil
		}
		return c.each(x, func(i int) *ir.Type { return &t.Elems[i] })
	case ir.TypeDict:
		if m, isMap := v.(map[string]any); isMap {
			d := &ir.PyDict{}
			for _, key := range slices.Sorted(maps.Keys(m)) {
				d.Set(key, m[key])
			}
			v = d
		}
		if d, isDict := v.(*ir.PyDict); isDict && len(t.Elems) == 2 {
			return c.dict(d, t)
		}
		return nil, false, nil
	}
	if t.Kind == ir.TypeGenerator || t.Kind == ir.TypeStorage || t.Kind == ir.TypeStream {
		if _, kind := items(v); kind != "" || isTensor(v) || kindOf(v) != notNumber || isText(v) {
			return nil, false, nil
		}
	}
	// the rest of generators and storages, custom objects and Any: the bridge knows
	return c.opaque(v), true, nil
}

// dict takes a dict apart into the pairs that the bridge carries.
func (c *call) dict(d *ir.PyDict, t *ir.Type) (any, bool, error) {
	var pairs []any
	for key, value := range d.All() {
		k, ok, err := c.encode(key, &t.Elems[0])
		if !ok || err != nil {
			return nil, false, err
		}
		x, ok, err := c.encode(value, &t.Elems[1])
		if !ok || err != nil {
			return nil, false, err
		}
		pairs = append(pairs, []any{k, x})
	}
	if pairs == nil {
		pairs = []any{}
	}
	return pairs, true, nil
}

// opaque hands a value of any type to the bridge, tensors as their handles.
func (c *call) opaque(v any) any {
	if t, ok := v.(*Tensor); ok {
		return &t.handle
	}
	if x, kind := items(v); kind != "" {
		return listOf(x, c.opaque)
	}
	return v
}

// codeOrSelf takes a dtype and the like, or its number in c10 as Python's
// torch.ops does; for torch.Tensor.view an int is a size and no dtype.
func codeOrSelf[T any](c *call, v any, fromCode func(int) (T, error)) (any, bool, error) {
	switch v := v.(type) {
	case T:
		return v, true, nil
	case int64:
		if !c.public {
			code, err := fromCode(int(v))
			return code, true, err
		}
	}
	return nil, false, nil
}

// takesNumbers reports whether torch.ops takes a number for a tensor of the operator
// (should_allow_numbers_as_tensors in torch/csrc/utils/python_arg_parser.cpp).
func (c *call) takesNumbers() bool {
	name, _, _ := strings.Cut(strings.TrimPrefix(c.schema.Op, "aten::"), ".")
	return takesNumbers[strings.TrimSuffix(name, "_")]
}

// tensor takes a tensor, or a number as a wrapped one.
func (c *call) tensor(v any) (any, bool, error) {
	if t, ok := v.(*Tensor); ok {
		return &t.handle, true, nil
	}
	if kindOf(v) == notNumber || c.strict && !c.takesNumbers() {
		return nil, false, nil
	}
	h, err := libtorch.WrappedNumber(v)
	if err != nil {
		return nil, false, err
	}
	c.made = append(c.made, h)
	return h, true, nil
}

// number reads a tensor of one element where a number is expected.
func (c *call) number(t *Tensor) (any, error) {
	info, err := t.info()
	if err != nil || info.Numel != 1 || c.public && len(info.Sizes) > 0 {
		return nil, err
	}
	return item(c.mode, t)
}

func (c *call) integer(v any) (int64, bool, error) {
	if t, isTensor := v.(*Tensor); isTensor && c.public {
		return c.symbolicInt(t)
	} else if isTensor { // torch.ops asks for int(t)
		var err error
		if v, err = c.number(t); err != nil {
			return 0, false, err
		}
		if z, isComplex := v.(complex128); isComplex && imag(z) == 0 {
			v = real(z)
		}
		if x, isFloat := v.(float64); isFloat {
			if v, err = floatToInt(math.Trunc(x)); err != nil {
				return 0, false, nil
			}
		}
	}
	switch v := v.(type) {
	case int64:
		return v, true, nil
	case bool:
		return asInt(v), !c.public, nil
	}
	return 0, false, nil
}

// symbolicInt reads what stands for a SymInt: an int, a bool, or an integer tensor of one
// element. A tensor of bools is taken for one, and fails where it is read.
func (c *call) symbolicInt(v any) (int64, bool, error) {
	n, ok, err := c.index(v)
	if t, isTensor := v.(*Tensor); ok && isTensor && t.DType() == ir.Bool8 {
		return 0, false, ir.Errorf(ir.ErrRuntime, "expected scalar.isIntegral( false) to be true, got a tensor of bools")
	}
	return n, ok, err
}

func (c *call) float(v any) (float64, bool, error) {
	t, fromTensor := v.(*Tensor)
	if fromTensor {
		var err error
		if v, err = c.number(t); err != nil {
			return 0, false, err
		}
	}
	if z, isComplex := v.(complex128); isComplex && (!c.public || fromTensor) {
		if imag(z) == 0 {
			v = real(z)
		} else if fromTensor && c.public {
			return 0, false, ir.Errorf(ir.ErrRuntime, "value cannot be converted to type double without overflow")
		}
	}
	k := kindOf(v)
	return asFloat(v), k != notNumber && k != complexKind, nil
}

// boolean takes what torch.ops does: anything that has a truth value.
func (c *call) boolean(v any) (any, bool, error) {
	if b, ok := v.(bool); ok {
		return b, true, nil
	}
	if t, isTensor := v.(*Tensor); isTensor {
		var err error
		if v, err = c.number(t); err != nil || v == nil {
			return nil, false, err
		}
	}
	return truth(v), !c.public && (kindOf(v) != notNumber || v == nil), nil
}

// list takes a list or tuple; and for a list of a fixed length one value, which
// stands for all.
func (c *call) list(v any, t *ir.Type) (any, bool, error) {
	x, kind := items(v)
	symbolic := t.Elem.Required().Kind == ir.TypeSymInt
	if rows, isTensor := v.(*Tensor); isTensor && symbolic && rows.Dim() > 0 {
		var err error // its rows are the sizes
		if x, err = iterate(c.mode, rows); err != nil {
			return nil, false, err
		}
		defer closeRows(v, x, nil)
		kind = "list"
	}
	if kind == "" {
		if t.Len == 0 || symbolic && c.strict || kindOf(v) == notNumber {
			return nil, false, nil
		}
		x = slices.Repeat([]any{v}, t.Len)
	}
	switch elem := t.Elem.Required(); elem.Kind {
	case ir.TypeTensor:
		list := make([]*libtorch.Tensor, len(x))
		for i, item := range x {
			h, ok, err := c.encode(item, t.Elem)
			if !ok || err != nil {
				return nil, false, err
			}
			list[i], _ = h.(*libtorch.Tensor)
		}
		return list, true, nil
	case ir.TypeInt, ir.TypeSymInt:
		if symbolic {
			return encodeAll(x, c.symbolicInt)
		}
		return encodeAll(x, c.integer)
	case ir.TypeFloat, ir.TypeSymFloat:
		return encodeAll(x, c.float)
	case ir.TypeBool, ir.TypeSymBool:
		return encodeAll(x, func(v any) (bool, bool, error) { b, ok := v.(bool); return b, ok, nil })
	case ir.TypeStr, ir.TypeDimname:
		return encodeAll(x, func(v any) (string, bool, error) { s, ok := v.(string); return s, ok, nil })
	}
	return c.each(x, func(int) *ir.Type { return t.Elem })
}

// encodeAll makes the typed slice of a list.
func encodeAll[T any](x []any, one func(v any) (T, bool, error)) (any, bool, error) {
	list := make([]T, len(x))
	for i, item := range x {
		v, ok, err := one(item)
		if !ok || err != nil {
			return nil, false, err
		}
		list[i] = v
	}
	return list, true, nil
}

// each encodes a list whose items the bridge takes one by one.
func (c *call) each(x []any, typeOf func(i int) *ir.Type) (any, bool, error) {
	list := make([]any, len(x))
	for i, item := range x {
		v, ok, err := c.encode(item, typeOf(i))
		if !ok || err != nil {
			return nil, false, err
		}
		list[i] = v
	}
	return list, true, nil
}
