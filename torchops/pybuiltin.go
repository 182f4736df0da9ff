package torchops

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
)

// Python's builtins on types, ranges and iterables, and the rest of the operator
// module.

func init() {
	define("builtins.isinstance", "obj, classinfo", func(_ *libtorch.Mode, a []any) (any, error) { return isInstance(a[0], a[1]) })
	define("builtins.hasattr", "obj, name", func(m *libtorch.Mode, a []any) (any, error) {
		name, ok := a[1].(string)
		if !ok {
			return nil, typeErrorf("attribute name must be string, not '%s'", typeName(a[1]))
		}
		return hasAttr(a[0], name), nil
	})
	define("builtins.slice", "*args", func(_ *libtorch.Mode, a []any) (any, error) {
		switch args := a[0].([]any); len(args) {
		case 1:
			return Slice(nil, args[0], nil), nil
		case 2:
			return Slice(args[0], args[1], nil), nil
		case 3:
			return Slice(args[0], args[1], args[2]), nil
		default:
			return nil, typeErrorf("slice expected 1 to 3 arguments, got %d", len(args))
		}
	})
	define("builtins.range", "*args", func(m *libtorch.Mode, a []any) (any, error) { return pyRange(m, a[0].([]any)) })
	define("builtins.sorted", "*iterable, key?, reverse?", func(m *libtorch.Mode, a []any) (any, error) {
		over := a[0].([]any)
		if len(over) != 1 {
			return nil, typeErrorf("sorted expected 1 argument, got %d", len(over))
		}
		return sorted(m, over[0], a[1], truth(a[2]))
	})
	define("builtins.reversed", "sequence", func(m *libtorch.Mode, a []any) (any, error) {
		if t, ok := a[0].(*Tensor); ok {
			return Invoke(m, ir.FuncOf(tensorMethod+"__reversed__"), []any{t}, nil)
		}
		x, err := iterate(m, a[0])
		slices.Reverse(x)
		return x, err
	})
	define("builtins.any", "iterable", func(m *libtorch.Mode, a []any) (any, error) { return quantify(m, a[0], true) })
	define("builtins.all", "iterable", func(m *libtorch.Mode, a []any) (any, error) { return quantify(m, a[0], false) })
	define("builtins.enumerate", "iterable, start?", func(m *libtorch.Mode, a []any) (any, error) {
		start := int64(0)
		if a[1] != nil {
			var err error
			if start, err = indexNumber(m, a[1]); err != nil {
				return nil, err
			}
		}
		x, err := iterate(m, a[0])
		if err != nil {
			return nil, err
		}
		pairs := make([]any, len(x))
		for i, item := range x {
			pairs[i] = ir.PyTuple{start + int64(i), item}
		}
		return pairs, nil
	})
	define("builtins.zip", "*iterables", func(m *libtorch.Mode, a []any) (any, error) { return zip(m, a[0].([]any)) })
	define("builtins.complex", "*parts, real?, imag?", func(m *libtorch.Mode, a []any) (any, error) {
		given := a[0].([]any)
		if len(given) > 2 {
			return nil, typeErrorf("complex() takes at most 2 arguments (%d given)", len(given))
		}
		if len(given) > 0 && given[0] == nil {
			return nil, typeErrorf("complex() first argument must be a string or a number, not 'NoneType'")
		}
		a = a[1:]
		for i, v := range given {
			if a[i] != nil {
				return nil, typeErrorf("argument for complex() given by name ('%s') and position (%d)", [...]string{"real", "imag"}[i], i+1)
			}
			a[i] = v
		}
		if isText(a[1]) && !isText(a[0]) {
			return nil, typeErrorf("complex() second arg can't be a string")
		}
		var parts [2]complex128
		for i, v := range a {
			if t, ok := v.(*Tensor); ok {
				if t.Numel() != 1 {
					return nil, ir.Errorf(ir.ErrValue, "only one element tensors can be converted to Python scalars")
				}
				var err error
				if v, err = item(m, t); err != nil {
					return nil, err
				}
			}
			if s, isString := v.(string); isString && i == 0 && a[1] == nil {
				z, err := strconv.ParseComplex(strings.ReplaceAll(strings.TrimSpace(s), "j", "i"), 128)
				if err != nil {
					return nil, ir.Errorf(ir.ErrValue, "complex() arg is a malformed string")
				}
				v = z
			} else if isString && i == 1 {
				return nil, typeErrorf("complex() second arg can't be a string")
			}
			if v != nil && kindOf(v) == notNumber {
				return nil, typeErrorf("complex() argument must be a number, not '%s'", typeName(v))
			}
			parts[i] = asComplex(v)
		}
		// not a product with i, of which an infinity would make NaNs
		return complex(real(parts[0])-imag(parts[1]), imag(parts[0])+real(parts[1])), nil
	})

	define("operator.countOf", "a, b", func(m *libtorch.Mode, a []any) (any, error) {
		x, err := iterate(m, a[0])
		n := int64(0)
		defer closeRows(a[0], x, nil)
		for _, item := range x {
			same, err := isOrEquals(m, item, a[1])
			if err != nil {
				return nil, err
			}
			if same {
				n++
			}
		}
		return n, err
	})
	define("operator.indexOf", "a, b", func(m *libtorch.Mode, a []any) (any, error) {
		x, err := iterate(m, a[0])
		if err != nil {
			return nil, err
		}
		defer closeRows(a[0], x, nil)
		for i, item := range x {
			if same, err := isOrEquals(m, item, a[1]); same || err != nil {
				return int64(i), err
			}
		}
		return nil, ir.Errorf(ir.ErrValue, "sequence.index(x): x not in sequence")
	})
	define("operator.iconcat", "a, b", func(m *libtorch.Mode, a []any) (any, error) {
		if list, ok, err := extended(m, a[0], a[1]); ok {
			return list, err
		}
		return Invoke(m, ir.FuncOf("operator.concat"), a, nil)
	})
	define("operator.length_hint", "*args", func(m *libtorch.Mode, a []any) (any, error) {
		a = a[0].([]any)
		if len(a) < 1 || len(a) > 2 {
			return nil, typeErrorf("length_hint expected 1 or 2 arguments, got %d", len(a))
		}
		absent := int64(0)
		if len(a) == 2 {
			var err error
			if absent, err = indexNumber(m, a[1]); err != nil {
				return nil, err
			}
		}
		n, err := Invoke(m, ir.FuncOf("builtins.len"), a[:1], nil)
		if errors.Is(err, ir.ErrType) {
			return absent, nil
		}
		return n, err
	})

	define("torch._assert", "condition, message", func(m *libtorch.Mode, a []any) (any, error) {
		holds, err := truthOf(m, a[0])
		if err == nil && !holds {
			err = ir.Errorf(ir.ErrAssertion, "%v", a[1])
		}
		return nil, err
	})
	for name, class := range map[string]*ir.Class{
		"_check": ir.ErrRuntime, "_check_index": ir.ErrIndex, "_check_value": ir.ErrValue, "_check_type": ir.ErrType,
		"_check_not_implemented": ir.ErrNotImplemented,
	} {
		define("torch."+name, "cond, message?", func(_ *libtorch.Mode, a []any) (any, error) {
			holds, ok := a[0].(bool)
			if !ok {
				return nil, typeErrorf("cond must be a bool, but got %s", typeName(a[0]))
			}
			if holds {
				return nil, nil
			}
			if text, ok := a[1].(string); ok {
				return nil, ir.Errorf(class, "%s", text)
			}
			return nil, ir.Errorf(class, "Expected cond to be True, but got False. (Could this error message be improved? If so, please report an enhancement request to PyTorch.)")
		})
	}
	define("torch._check_is_size", "i, message?, max?", func(m *libtorch.Mode, a []any) (any, error) {
		n, err := indexNumber(m, a[0])
		if err == nil && (n < 0 || a[2] != nil && n > asInt(a[2])) {
			err = ir.Errorf(ir.ErrRuntime, "expected a size, got %d", n)
		}
		return nil, err
	})
	define("torch.typename", "obj", func(_ *libtorch.Mode, a []any) (any, error) {
		if t, ok := a[0].(*Tensor); ok {
			info, err := t.info()
			return typeText(info.DType, info.Device, info.Layout), err
		}
		return typeName(a[0]), nil
	})
}

// classNames are the types of Python that a value here can be an instance of.
var classNames = map[string]func(v any) bool{
	"builtins.int":         func(v any) bool { k := kindOf(v); return k == intKind || k == boolKind || isInteger64(v) },
	"builtins.bool":        func(v any) bool { return kindOf(v) == boolKind },
	"builtins.float":       func(v any) bool { return kindOf(v) == floatKind },
	"builtins.complex":     func(v any) bool { return kindOf(v) == complexKind },
	"builtins.str":         isText,
	"builtins.list":        func(v any) bool { _, kind := items(v); return kind == "list" },
	"builtins.tuple":       func(v any) bool { _, kind := items(v); return kind == "tuple" },
	"builtins.dict":        func(v any) bool { _, is := v.(*ir.PyDict); return is },
	"builtins.slice":       func(v any) bool { _, is := v.(ir.Slice); return is },
	"builtins.object":      func(any) bool { return true },
	"types.NoneType":       func(v any) bool { return v == nil },
	"torch.Tensor":         isTensor,
	"torch._tensor.Tensor": isTensor,
	"torch.Size":           func(v any) bool { _, kind := items(v); return kind == "tuple" },
	"torch.dtype":          func(v any) bool { _, is := v.(DType); return is },
	"torch.device":         func(v any) bool { _, is := v.(Device); return is },
	"torch.layout":         func(v any) bool { _, is := v.(Layout); return is },
	"torch.memory_format":  func(v any) bool { _, is := v.(MemoryFormat); return is },
	"torch.SymInt":         func(any) bool { return false }, // in a run they are plain numbers
	"torch.SymFloat":       func(any) bool { return false },
	"torch.SymBool":        func(any) bool { return false },
	"numbers.Number":       func(v any) bool { return kindOf(v) != notNumber },
}

func isTensor(v any) bool { _, is := v.(*Tensor); return is }

// isInstance is isinstance(v, class) for the types above and tuples of them.
func isInstance(v, class any) (bool, error) {
	if list, kind := items(class); kind == "tuple" {
		for _, c := range list {
			if is, err := isInstance(v, c); is || err != nil {
				return is, err
			}
		}
		return false, nil
	}
	f, ok := class.(*ir.Func)
	if !ok {
		return false, typeErrorf("isinstance() arg 2 must be a type, a tuple of types, or a union")
	}
	if of, known := classNames[f.Name()]; known {
		return of(v), nil
	}
	o, isObject := v.(*ir.PyObject)
	if !isObject {
		return false, ir.Errorf(ir.ErrUnsupported, "isinstance: expected a type that is known here, got %s", f.Name())
	}
	return o.Type == f.Name() || strings.HasSuffix(o.Type, "."+f.Base()), nil
}

// hasAttr is hasattr(v, name), which calls no operator.
func hasAttr(v any, name string) bool {
	if _, is := v.(*Tensor); is {
		return Implemented(ir.FuncOf(tensorMethod+name+".__get__")) || Implemented(ir.FuncOf(tensorMethod+name))
	}
	_, err := getAttr(nil, v, name)
	return err == nil
}

// pyRange is the numbers of range(...), as a list.
func pyRange(m *libtorch.Mode, args []any) (any, error) {
	bounds := []int64{0, 0, 1}
	switch n := len(args); {
	case n == 0:
		return nil, typeErrorf("range expected at least 1 argument, got 0")
	case n > 3:
		return nil, typeErrorf("range expected at most 3 arguments, got %d", n)
	}
	for i, v := range args {
		n, err := indexNumber(m, v)
		if err != nil {
			return nil, err
		}
		if len(args) == 1 {
			i = 1
		}
		bounds[i] = n
	}
	start, stop, step := bounds[0], bounds[1], bounds[2]
	if step == 0 {
		return nil, ir.Errorf(ir.ErrValue, "range() arg 3 must not be zero")
	}
	list := []any{}
	for n := start; step > 0 && n < stop || step < 0 && n > stop; n += step {
		if len(list) >= maxRepeated {
			return nil, ir.Errorf(ir.ErrUnsupported, "range: expected at most %d numbers", maxRepeated)
		}
		list = append(list, n)
		if step > 0 && n > math.MaxInt64-step || step < 0 && n < math.MinInt64-step {
			break
		}
	}
	return list, nil
}

// sorted sorts what Python can order, by keys; equal items keep their order, also
// reversed.
func sorted(m *libtorch.Mode, v, key any, reverse bool) (any, error) {
	x, err := iterate(m, v)
	if err != nil {
		return nil, err
	}
	keys, err := keysOf(m, key, x)
	if err != nil {
		return nil, err
	}
	order := make([]int, len(x))
	for i := range order {
		order[i] = i
	}
	less := func(c int) bool { return c < 0 }
	slices.SortStableFunc(order, func(i, j int) int {
		if err != nil {
			return 0
		}
		a, b := keys[i], keys[j]
		if reverse {
			a, b = b, a
		}
		for sign, pair := range [][2]any{{a, b}, {b, a}} {
			var r any
			if r, err = compare(m, "lt", "<", "gt", less, pair[0], pair[1]); err != nil {
				return 0
			}
			var before bool
			before, err = truthOf(m, r)
			_, _ = discard(r, nil)
			if before {
				return 2*sign - 1
			}
		}
		return 0
	})
	sorted := make([]any, len(x))
	for i, from := range order {
		sorted[i] = x[from]
	}
	return sorted, err
}

// quantify is any(v), or all(v) for a counterexample.
func quantify(m *libtorch.Mode, v any, until bool) (bool, error) {
	x, err := iterate(m, v)
	if err != nil {
		return false, err
	}
	defer closeRows(v, x, nil)
	for _, item := range x {
		if t, err := truthOf(m, item); t == until || err != nil {
			return until, err
		}
	}
	return !until, nil
}

func zip(m *libtorch.Mode, over []any) (any, error) {
	var columns [][]any
	rows := math.MaxInt
	for _, v := range over {
		x, err := iterate(m, v)
		if err != nil {
			return nil, err
		}
		columns = append(columns, x)
		rows = min(rows, len(x))
	}
	list := []any{}
	for i := range rows {
		if len(columns) == 0 {
			break
		}
		row := make(ir.PyTuple, len(columns))
		for j := range columns {
			row[j] = columns[j][i]
		}
		list = append(list, row)
	}
	return list, nil
}
