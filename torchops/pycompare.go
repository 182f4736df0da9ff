package torchops

import (
	"cmp"
	"math"
	"math/big"
	"reflect"

	"github.com/torchfx-go/torchfx/ir"
)

// Python's comparisons and truth on the values of a run.

// equal is Python's ==, which never fails: values of kinds that do not compare
// are different. Tensors are compared elsewhere.
func equal(a, b any) bool {
	if c, ok := compareNumbers(a, b); ok {
		return c == 0
	}
	if kindOf(a) == complexKind || kindOf(b) == complexKind {
		if kindOf(a) == notNumber || kindOf(b) == notNumber {
			return false
		}
		return asComplex(a) == asComplex(b)
	}
	if kindOf(a) != notNumber && kindOf(b) != notNumber {
		return false // a NaN
	}
	if x, kind := items(a); kind != "" {
		y, other := items(b)
		if kind != other || len(x) != len(y) {
			return false
		}
		for i := range x {
			if !equal(x[i], y[i]) {
				return false
			}
		}
		return true
	}
	switch x := a.(type) {
	case ir.Slice:
		y, ok := b.(ir.Slice)
		return ok && equalArgs(x.Start, y.Start) && equalArgs(x.Stop, y.Stop) && equalArgs(x.Step, y.Step)
	case *ir.PyDict:
		y, ok := b.(*ir.PyDict)
		if !ok || x.Len() != y.Len() {
			return false
		}
		for key, v := range x.All() {
			if w, found := y.Get(key); !found || !equal(v, w) {
				return false
			}
		}
		return true
	}
	return same(a, b)
}

// equalArgs is equal for the parts of a slice.
func equalArgs(a, b ir.Arg) bool {
	x, errX := normalize(a)
	y, errY := normalize(b)
	return errX == nil && errY == nil && equal(x, y)
}

// same is Python's "is", as far as Go can tell: equal values of one type.
func same(a, b any) bool {
	if a == nil || b == nil {
		return a == b
	}
	ta, tb := reflect.TypeOf(a), reflect.TypeOf(b)
	return ta == tb && ta.Comparable() && a == b
}

// compareNumbers orders two real numbers exactly, ints and floats mixed. ok is
// false where one is none, or is NaN.
func compareNumbers(a, b any) (c int, ok bool) {
	ka, kb := kindOf(a), kindOf(b)
	switch {
	case ka == notNumber || kb == notNumber || max(ka, kb) == complexKind:
		return 0, false
	case max(ka, kb) <= intKind:
		return cmp.Compare(asInt(a), asInt(b)), true
	case ka == kb:
		x, y := a.(float64), b.(float64)
		return cmp.Compare(x, y), !math.IsNaN(x) && !math.IsNaN(y)
	case ka == floatKind:
		c, ok = compareNumbers(b, a)
		return -c, ok
	}
	n, f := asInt(a), b.(float64)
	if math.IsNaN(f) {
		return 0, false
	}
	if math.IsInf(f, 0) {
		return cmp.Compare(0, f), true
	}
	return new(big.Float).SetInt64(n).Cmp(new(big.Float).SetFloat64(f)), true
}

// order is Python's < <= > >=: holds says which results of a comparison make
// the operator true.
func order(sign string, a, b any, holds func(c int) bool) (any, error) {
	if c, ok := compareNumbers(a, b); ok {
		return holds(c), nil
	}
	if k := max(kindOf(a), kindOf(b)); k < complexKind && kindOf(a) != notNumber && kindOf(b) != notNumber {
		return false, nil // a NaN
	}
	x, isString := a.(string)
	y, bothStrings := b.(string)
	if isString && bothStrings {
		return holds(cmp.Compare(x, y)), nil
	}
	if x, kind := items(a); kind != "" {
		if y, other := items(b); kind == other {
			for i := range min(len(x), len(y)) {
				if !equal(x[i], y[i]) {
					return order(sign, x[i], y[i], holds)
				}
			}
			return holds(cmp.Compare(len(x), len(y))), nil
		}
	}
	return nil, ir.Errorf(ir.ErrType, "'%s' not supported between instances of '%s' and '%s'", sign, typeName(a), typeName(b))
}

// truth is Python's bool(v) of anything but a tensor.
func truth(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case bool:
		return v
	case int64:
		return v != 0
	case float64:
		return v != 0
	case complex128:
		return v != 0
	case string:
		return v != ""
	case *ir.PyDict:
		return v.Len() > 0
	}
	if x, kind := items(v); kind != "" {
		return len(x) > 0
	}
	return true
}

// typeName returns what Python calls the type of v.
func typeName(v any) string {
	switch v := v.(type) {
	case nil:
		return "NoneType"
	case bool:
		return "bool"
	case int64, uint64:
		return "int"
	case float64:
		return "float"
	case complex128:
		return "complex"
	case string:
		return "str"
	case *Tensor:
		return "Tensor"
	case []any:
		return "list"
	case ir.PyTuple:
		return "tuple"
	case *ir.PyDict:
		return "dict"
	case ir.Slice:
		return "slice"
	case ir.Ellipsis:
		return "ellipsis"
	case ir.DType:
		return "torch.dtype"
	case ir.Device:
		return "torch.device"
	case ir.Layout:
		return "torch.layout"
	case ir.MemoryFormat:
		return "torch.memory_format"
	case *ir.Func:
		return "function"
	case *ir.GraphModule:
		return "GraphModule"
	case *callable:
		return v.class
	case standIn:
		return "Proxy"
	}
	return reflect.TypeOf(v).String()
}
