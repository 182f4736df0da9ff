package functional

import (
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// Distance is the type of what triplet_margin_with_distance_loss takes as
// distance_function; a module with such a Forward will do as well.
type Distance = func(x, y *torch.Tensor) *torch.Tensor

// functionOf returns what graphs call for torch.nn.functional.<name>.
func functionOf(name string) *ir.Func {
	if b, ok := builtins[name]; ok {
		return ir.FuncOf(b.target)
	}
	return ir.FuncOf("torch.nn.functional." + name)
}

// Call calls torch.nn.functional.<name> with arguments in Python's order: it
// computes on real tensors, and records the call where one is traced, in the
// form that torch.fx gives it. It panics with a *torch.Error.
func Call(name string, args []any, kw []torch.Kwarg) any {
	if !Has(name) {
		panic(&torch.Error{Op: name, Err: ir.Errorf(ir.ErrUnsupported, "no function torch.nn.functional.%s", name)})
	}
	return torch.Dispatch(ir.CallFunction, functionOf(name), args, kw)
}

// Has reports whether name is a function of torch.nn.functional that [Call]
// knows.
func Has(name string) bool { return torch.Implemented(functionOf(name)) }

// Plain returns v, a value of model code or a literal of a graph, as a run has
// it: int64, float64, bool, string, nil, []any, ir.PyTuple, *torch.Tensor.
func Plain(v any) any {
	switch v := v.(type) {
	case int:
		return int64(v)
	case float32:
		return float64(v)
	case torch.SymInt:
		return int64(v.Int())
	case *torch.Tensor:
		if v == nil {
			return nil
		}
	case []int:
		list := make([]any, len(v))
		for i, n := range v {
			list[i] = int64(n)
		}
		return list
	case []float64:
		list := make([]any, len(v))
		for i, x := range v {
			list[i] = x
		}
		return list
	case ir.PyTuple:
		return ir.PyTuple(plainItems(v))
	case []any:
		return plainItems(v)
	case ir.Tuple:
		list := make(ir.PyTuple, v.Len())
		for i := range list {
			list[i] = Plain(v.At(i))
		}
		return list
	case ir.List:
		list := make([]any, v.Len())
		for i := range list {
			list[i] = Plain(v.At(i))
		}
		return list
	case ir.Arg:
		return torch.FromArg(v)
	}
	return v
}

func plainItems(items []any) []any {
	list := make([]any, len(items))
	for i, item := range items {
		list[i] = Plain(item)
	}
	return list
}

// one takes a result for a tensor.
func one(v any) *torch.Tensor { return torch.As[*torch.Tensor](v) }

// two takes a result for a pair of tensors; the second may be None.
func two(v any) (a, b *torch.Tensor) {
	if traced, ok := torch.ValueOf(v); ok {
		return traced.Index(int64(0)).Tensor(), traced.Index(int64(1)).Tensor()
	}
	pair, ok := v.(ir.PyTuple)
	if !ok || len(pair) != 2 {
		panic(&torch.Error{Op: "unpack", Err: ir.Errorf(ir.ErrType, "expected two results, got %s", torch.Describe(v))})
	}
	return one(pair[0]), one(pair[1])
}
