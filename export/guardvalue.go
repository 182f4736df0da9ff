package export

import (
	"fmt"
	"math"
	"strconv"

	"github.com/torchfx-go/torchfx/ir"
)

// asInteger takes the Go types that stand for Python's int, and bool as Python
// does.
func asInteger(v any) (int64, bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case int:
		return int64(v), true
	case int32:
		return int64(v), true
	case bool:
		if v {
			return 1, true
		}
		return 0, true
	}
	return 0, false
}

// equalConstant compares a caller's value with an exported one as Python's ==
// does. A NaN equals a NaN.
func equalConstant(want ir.Arg, got any) bool {
	var w float64
	switch want := want.(type) {
	case ir.Str:
		s, ok := got.(string)
		return ok && s == string(want)
	case ir.Int:
		if n, ok := asInteger(got); ok {
			return n == int64(want)
		}
		w = float64(want)
	case ir.Bool:
		if want {
			w = 1
		}
	case ir.Float:
		w = float64(want)
	default:
		return false
	}
	g, ok := got.(float64)
	if f32, is := got.(float32); is {
		g, ok = float64(f32), true
	}
	if n, is := asInteger(got); is {
		g, ok = float64(n), true
	}
	return ok && (g == w || math.IsNaN(g) && math.IsNaN(w))
}

// typeName names a value's type for a message.
func typeName(v any) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case shaped:
		return "a tensor"
	case string:
		return "a string"
	case []any:
		return "a list"
	default:
		return fmt.Sprintf("%T", v)
	}
}

// valueText shows a plain value, and the type of any other.
func valueText(v any) string {
	switch v := v.(type) {
	case bool:
		return ir.Repr(ir.Bool(v))
	case float64:
		return ir.Repr(ir.Float(v))
	case string:
		return strconv.Quote(clip(v))
	}
	if n, ok := asInteger(v); ok {
		return strconv.FormatInt(n, 10)
	}
	return typeName(v)
}
