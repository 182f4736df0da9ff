package torchops

import (
	"math"
	"reflect"

	"github.com/torchfx-go/torchfx/ir"
)

// normalize brings a value that Go code, or an argument of a node, gives into
// the kinds that a run has:
//
//	*Tensor int64 float64 bool complex128 string nil []any ir.PyTuple *ir.PyDict
//	ir.Slice ir.Ellipsis ir.DType ir.Device ir.Layout ir.MemoryFormat *ir.Func
//
// and whatever it does not know, as it is. A value that is traced is an error:
// it has no place where something is computed.
func normalize(v any) (any, error) {
	switch v := v.(type) {
	case nil, bool, int64, float64, complex128, string, *ir.PyDict, ir.Slice, ir.Ellipsis,
		ir.DType, ir.Device, ir.Layout, ir.MemoryFormat, *ir.Func:
		return v, nil
	case *Tensor:
		if v == nil {
			return nil, nil
		}
		if v.value.recorder != nil {
			return nil, errTraced
		}
		return v, nil
	case []any:
		return normalizeItems(v)
	case ir.PyTuple:
		x, err := normalizeItems(v)
		return ir.PyTuple(x), err

	case int:
		return int64(v), nil
	case int8:
		return int64(v), nil
	case int16:
		return int64(v), nil
	case int32:
		return int64(v), nil
	case uint8:
		return int64(v), nil
	case uint16:
		return int64(v), nil
	case uint32:
		return int64(v), nil
	case uint64:
		if v > math.MaxInt64 {
			return v, nil // an element of a UInt64 tensor, which goes where a Scalar goes
		}
		return int64(v), nil
	case uint:
		return normalize(uint64(v))
	case float32:
		return float64(v), nil
	case F16:
		return float64(v.Float32()), nil
	case BF16:
		return float64(v.Float32()), nil
	case complex64:
		return complex128(v), nil

	case SymInt:
		if v.Traced() {
			return nil, errTraced
		}
		return v.n, nil
	case Value:
		return nil, errTraced
	case Seq:
		return normalize(v.sequence())
	case []*Tensor:
		return normalize(List(v).sequence())
	case []int:
		return listOf(v, func(n int) any { return int64(n) }), nil
	case []int64:
		return listOf(v, func(n int64) any { return n }), nil
	case []float64:
		return listOf(v, func(x float64) any { return x }), nil
	case []bool:
		return listOf(v, func(b bool) any { return b }), nil
	case []string:
		return listOf(v, func(s string) any { return s }), nil
	case []SymInt:
		return normalizeItems(listOf(v, func(n SymInt) any { return n }))

	case ir.None:
		return nil, nil
	case ir.Bool:
		return bool(v), nil
	case ir.Int:
		return int64(v), nil
	case ir.Float:
		return float64(v), nil
	case ir.Complex:
		return complex128(v), nil
	case ir.Str:
		return string(v), nil
	case ir.Opaque:
		return normalize(v.Value)
	case ir.List:
		return normalizeArgs(v.Len(), v.At)
	case ir.Tuple:
		x, err := normalizeArgs(v.Len(), v.At)
		return ir.PyTuple(x), err
	}
	if list := reflect.ValueOf(v); list.Kind() == reflect.Slice { // [][]int, []float32, ...
		x := make([]any, list.Len())
		for i := range x {
			var err error
			if x[i], err = normalize(list.Index(i).Interface()); err != nil {
				return nil, err
			}
		}
		return x, nil
	}
	return v, nil
}

// errRead is the error of asking a traced value for what only a run knows, as a
// condition of Go on x.Dim() does.
var errRead = ir.Errorf(ir.ErrTrace, noControlFlow+": what stands for a node has no sizes, dtype or elements before the graph runs; "+
	"x.Size(i), x.Value().Method and x.Value().Attr record the question")

var errTraced = ir.Errorf(ir.ErrTrace, "a value that stands for a node has no elements: it can only be recorded")

func listOf[T, U any](x []T, f func(T) U) []U {
	list := make([]U, len(x))
	for i, v := range x {
		list[i] = f(v)
	}
	return list
}

func normalizeArgs(n int, at func(i int) ir.Arg) ([]any, error) {
	list := make([]any, n)
	for i := range list {
		v, err := normalize(at(i))
		if err != nil {
			return nil, err
		}
		list[i] = v
	}
	return list, nil
}

// normalizeItems returns x itself where nothing in it has to change.
func normalizeItems(x []any) ([]any, error) {
	changed := x
	for i, item := range x {
		v, err := normalize(item)
		if err != nil {
			return nil, err
		}
		switch item.(type) {
		case int64, float64, bool, string, nil:
			continue
		case *Tensor:
			if v != nil {
				continue
			}
		}
		if len(x) > 0 && &changed[0] == &x[0] {
			changed = append([]any(nil), x...)
		}
		changed[i] = v
	}
	return changed, nil
}
