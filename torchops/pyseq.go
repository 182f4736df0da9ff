package torchops

import (
	"strings"
	"unicode/utf8"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
)

// Python's lists, tuples, dicts and strings, as values of a run: []any,
// ir.PyTuple, *ir.PyDict and string.

// maxRepeated bounds what a sequence times a number may grow to, since both may
// come from a file.
const maxRepeated = 1 << 24

// items returns the elements of a list or tuple and which it is; kind is "" for
// anything else.
func items(v any) (elements []any, kind string) {
	switch v := v.(type) {
	case []any:
		return v, "list"
	case ir.PyTuple:
		return v, "tuple"
	}
	return nil, ""
}

// rewrap returns elements as a list or tuple, as kind says.
func rewrap(elements []any, kind string) any {
	if kind == "tuple" {
		return ir.PyTuple(elements)
	}
	return elements
}

// concat is + on sequences; ok is false where a is none.
func concat(a, b any) (v any, ok bool, err error) {
	if s, isString := a.(string); isString {
		if t, both := b.(string); both {
			return s + t, true, nil
		}
		return nil, true, ir.Errorf(ir.ErrType, "can only concatenate str (not \"%s\") to str", typeName(b))
	}
	x, kind := items(a)
	if kind == "" {
		return nil, false, nil
	}
	y, other := items(b)
	if kind != other {
		return nil, true, ir.Errorf(ir.ErrType, "can only concatenate %s (not \"%s\") to %s", kind, typeName(b), kind)
	}
	joined := make([]any, 0, len(x)+len(y))
	return rewrap(append(append(joined, x...), y...), kind), true, nil
}

// extended is += of a list, which takes any iterable; ok is false where a is none. The
// list itself stays as it is: values of a run may be shared.
func extended(m *libtorch.Mode, a, b any) (v any, ok bool, err error) {
	x, kind := items(a)
	if kind != "list" {
		return nil, false, nil
	}
	more, err := iterate(m, b)
	if err != nil {
		return nil, true, err
	}
	return append(append(make([]any, 0, len(x)+len(more)), x...), more...), true, nil
}

// repeat is * on a sequence and a number, in either order; ok is false where
// neither is a sequence.
func repeat(a, b any) (v any, ok bool, err error) {
	if !isSequence(a) {
		a, b = b, a
	}
	if !isSequence(a) {
		return nil, false, nil
	}
	if k := kindOf(b); k != intKind && k != boolKind {
		return nil, true, ir.Errorf(ir.ErrType, "can't multiply sequence by non-int of type '%s'", typeName(b))
	}
	n := max(0, asInt(b))
	length, _ := lengthOf(a)
	if length > 0 && n > maxRepeated/int64(length) {
		return nil, true, ir.Errorf(ir.ErrUnsupported, "repeat: expected at most %d items, got %d times %d", maxRepeated, n, length)
	}
	if s, isString := a.(string); isString {
		return strings.Repeat(s, int(n)), true, nil
	}
	x, kind := items(a)
	repeated := make([]any, 0, len(x)*int(n))
	for range n {
		repeated = append(repeated, x...)
	}
	return rewrap(repeated, kind), true, nil
}

func isSequence(v any) bool {
	_, kind := items(v)
	_, isString := v.(string)
	return isString || kind != ""
}

// lengthOf is len(v) of anything but a tensor.
func lengthOf(v any) (int, error) {
	switch v := v.(type) {
	case string:
		return utf8.RuneCountInString(v), nil
	case *ir.PyDict:
		return v.Len(), nil
	}
	if x, kind := items(v); kind != "" {
		return len(x), nil
	}
	return 0, ir.Errorf(ir.ErrType, "object of type '%s' has no len()", typeName(v))
}

// indexInto is v[index] of anything but a tensor.
func indexInto(v, index any) (any, error) {
	if d, ok := v.(*ir.PyDict); ok {
		if item, found := d.Get(index); found {
			return item, nil
		}
		return nil, ir.Errorf(ir.ErrKey, "%v", index)
	}
	if s, ok := v.(string); ok {
		var runes []any
		for _, r := range s {
			runes = append(runes, string(r))
		}
		item, err := indexItems(runes, "string", index)
		if parts, cut := item.([]any); cut {
			var b strings.Builder
			for _, p := range parts {
				b.WriteString(p.(string))
			}
			return b.String(), err
		}
		return item, err
	}
	x, kind := items(v)
	if kind == "" {
		return nil, ir.Errorf(ir.ErrType, "'%s' object is not subscriptable", typeName(v))
	}
	return indexItems(x, kind, index)
}

func indexItems(x []any, kind string, index any) (any, error) {
	if s, ok := index.(ir.Slice); ok {
		start, stop, step, err := sliceBounds(s, len(x))
		if err != nil {
			return nil, err
		}
		cut := []any{}
		for i := start; step > 0 && i < stop || step < 0 && i > stop; i += step {
			cut = append(cut, x[i])
		}
		return rewrap(cut, kind), nil
	}
	if k := kindOf(index); k != intKind && k != boolKind {
		return nil, ir.Errorf(ir.ErrType, "%s indices must be integers or slices, not %s", kind, typeName(index))
	}
	i := asInt(index)
	if i < 0 {
		i += int64(len(x))
	}
	if i < 0 || i >= int64(len(x)) {
		return nil, ir.Errorf(ir.ErrIndex, "%s index out of range", kind)
	}
	return x[i], nil
}

// sliceBounds is Python's slice.indices(n), with a step that cannot overflow.
func sliceBounds(s ir.Slice, n int) (start, stop, step int, err error) {
	part := func(a ir.Arg, absent int) (int, error) {
		v, err := normalize(a)
		if err != nil || v == nil {
			return absent, err
		}
		if k := kindOf(v); k != intKind && k != boolKind {
			return 0, ir.Errorf(ir.ErrType, "slice indices must be integers or None or have an __index__ method")
		}
		// beyond the ends all numbers mean the same
		return int(min(max(asInt(v), -int64(n)-1), int64(n)+1)), nil
	}
	if step, err = part(s.Step, 1); err != nil {
		return 0, 0, 0, err
	}
	if step == 0 {
		return 0, 0, 0, ir.Errorf(ir.ErrValue, "slice step cannot be zero")
	}
	low, high := 0, n
	first, last := low, high
	if step < 0 {
		low, high = -1, n-1
		first, last = high, low
	}
	place := func(a ir.Arg, absent int) (int, error) {
		const none = 1 << 62
		i, err := part(a, none)
		if err != nil || i == none {
			return absent, err
		}
		if i < 0 {
			i += n
		}
		return min(max(i, low), high), nil
	}
	if start, err = place(s.Start, first); err != nil {
		return 0, 0, 0, err
	}
	stop, err = place(s.Stop, last)
	return start, stop, step, err
}

// contains is "item in v" of anything but a tensor.
func contains(m *libtorch.Mode, v, item any) (bool, error) {
	switch v := v.(type) {
	case *ir.PyDict:
		_, found := v.Get(item)
		return found, nil
	case string:
		s, ok := item.(string)
		if !ok {
			return false, ir.Errorf(ir.ErrType, "'in <string>' requires string as left operand, not %s", typeName(item))
		}
		return strings.Contains(v, s), nil
	}
	x, kind := items(v)
	if kind == "" {
		return false, ir.Errorf(ir.ErrType, "argument of type '%s' is not iterable", typeName(v))
	}
	for _, y := range x {
		same, err := isOrEquals(m, y, item)
		if same || err != nil {
			return same, err
		}
	}
	return false, nil
}

// isOrEquals is what a list looks for an item by: identity, then the truth of ==.
func isOrEquals(m *libtorch.Mode, a, b any) (bool, error) {
	x, left := a.(*Tensor)
	y, right := b.(*Tensor)
	switch {
	case !left && !right:
		return equal(a, b), nil
	case left && right && x.is(y):
		return true, nil
	}
	v, err := Invoke(m, ir.FuncOf("operator.eq"), []any{a, b}, nil)
	if err != nil {
		return false, err
	}
	if t, ok := v.(*Tensor); ok {
		defer t.Close()
	}
	return truthOf(m, v)
}
