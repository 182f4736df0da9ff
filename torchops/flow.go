package torchops

import (
	"fmt"
	"iter"
	"sync"

	"github.com/torchfx-go/torchfx/ir"
)

// Flow is what a [Recorder] has that answers questions about values which a
// trace cannot know. Without it, and where ok is false, the question is an
// *[Error] of class ir.ErrTrace.
type Flow interface {
	Bool(v Value) (truth, ok bool)
	Len(v Value) (n int, ok bool)
	Keys(v Value) (keys []string, ok bool)
}

// Shapes is what a [Recorder] has that knows the shapes of some values: those of
// the parameters of a model, which a trace may take for constants.
type Shapes interface {
	// ShapeOf returns the tensor that has v's shape.
	ShapeOf(v Value) (t *Tensor, ok bool)
}

// known returns the tensor to ask for the shape of t: t, unless t stands for a
// node and the trace knows better.
func (t *Tensor) known() *Tensor {
	if t.Traced() {
		if s, ok := t.value.recorder.(Shapes); ok {
			if real, ok := s.ShapeOf(t.value); ok {
				return real
			}
		}
	}
	return t
}

// The texts of torch.fx for what it cannot trace.
const (
	noControlFlow = "symbolically traced variables cannot be used as inputs to control flow"
	noLen         = "'len' is not supported in symbolic tracing by default. If you want this call to be recorded, please call torch.fx.wrap('len') at module scope"
	noIteration   = "Proxy object cannot be iterated. This can be attempted when the Proxy is used in a loop or as a *args or **kwargs function argument. See the torch.fx docs on pytorch.org for a more detailed explanation of what types of control flow can be traced, and check out the Proxy docstring for help troubleshooting Proxy iteration errors"
)

// record notes a call; the zero Value has nowhere to note it.
func (v Value) record(op ir.Op, target any, args []any, kw []Kwarg) Value {
	if v.recorder == nil {
		mustNot("Value", ir.Errorf(ir.ErrValue, "expected a value of a trace, got the zero Value"))
	}
	op, target, args = asPython(op, target, args)
	return v.recorder.Record(op, target, args, kw)
}

// String names what v stands for, as Python's text of a proxy does: Proxy(x).
func (v Value) String() string {
	if a, ok := v.ref.(*attribute); ok {
		return a.of.String() + "." + a.name
	}
	return fmt.Sprintf("Proxy(%v)", v.ref)
}

// Op records Python's operator of the name with v on the left: v.Op("add", 1) is
// v + 1 and v.Op("neg") is -v. For v on the right see [Value.ROp].
func (v Value) Op(name string, operands ...any) Value {
	return v.record(ir.CallFunction, ir.FuncOf("operator."+name), append([]any{v}, operands...), nil)
}

// ROp records Python's operator of the name with v on the right: v.ROp("sub", 1)
// is 1 - v.
func (v Value) ROp(name string, left any) Value {
	return v.record(ir.CallFunction, ir.FuncOf("operator."+name), []any{left, v}, nil)
}

// Index records v[i].
func (v Value) Index(i any) Value { return v.Op("getitem", i) }

// Method records v.name(args...).
func (v Value) Method(name string, args []any, kw ...Kwarg) Value {
	return v.record(ir.CallMethod, name, append([]any{v}, args...), kw)
}

// Call records v(args...).
func (v Value) Call(args []any, kw ...Kwarg) Value { return v.Method("__call__", args, kw...) }

// Unpack records v[0] to v[n-1], as Python does for "a, b = v".
func (v Value) Unpack(n int) []Value {
	items := make([]Value, n)
	for i := range items {
		items[i] = v.Index(int64(i))
	}
	return items
}

// An attribute is v.name before it is known whether it is a value or a method.
type attribute struct {
	of    Value
	name  string
	value func() Value // records it, once
}

// Attr is v.name. It is recorded where it is used first, as getattr(v, "name").
func (v Value) Attr(name string) Value {
	if v.recorder == nil {
		mustNot("Attr", ir.Errorf(ir.ErrValue, "expected a value of a trace, got the zero Value"))
	}
	return NewValue(v.recorder, &attribute{v, name, sync.OnceValue(func() Value {
		return v.recorder.Record(ir.CallFunction, fnGetAttr, []any{v, name}, nil)
	})})
}

// Bool is the truth of v, which no trace knows: it panics with an *[Error]
// unless the tracer answers; see [Flow].
func (v Value) Bool() bool {
	if f, ok := v.recorder.(Flow); ok {
		if truth, ok := f.Bool(v); ok {
			return truth
		}
	}
	mustNot("bool", ir.Errorf(ir.ErrTrace, noControlFlow))
	return false
}

// Len is the length of v, which no trace knows: it panics with an *[Error]
// unless the tracer answers; see [Flow].
func (v Value) Len() int {
	if f, ok := v.recorder.(Flow); ok {
		if n, ok := f.Len(v); ok {
			return n
		}
	}
	mustNot("len", ir.Errorf(ir.ErrTrace, noLen))
	return 0
}

// All yields the items of v. It panics with an *[Error] unless the tracer says
// how many there are; see [Flow], and [Value.Unpack] for a number that the model
// knows.
func (v Value) All() iter.Seq2[int, Value] {
	return func(yield func(int, Value) bool) {
		f, ok := v.recorder.(Flow)
		n := 0
		if ok {
			n, ok = f.Len(v)
		}
		if !ok {
			mustNot("iterate", ir.Errorf(ir.ErrTrace, noIteration))
		}
		for i, item := range v.Unpack(n) {
			if !yield(i, item) {
				return
			}
		}
	}
}

// Items yields the entries of the dict v, as Python's **v does. It panics with
// an *[Error] unless the tracer knows the keys; see [Flow].
func (v Value) Items() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		f, ok := v.recorder.(Flow)
		var keys []string
		if ok {
			keys, ok = f.Keys(v)
		}
		if !ok {
			mustNot("iterate", ir.Errorf(ir.ErrTrace, noIteration))
		}
		for _, key := range keys {
			if !yield(key, v.Index(key)) {
				return
			}
		}
	}
}

// Bool returns the truth of a tensor of one element. It panics with an *[Error]
// where there are more, or where x stands for a node: a trace cannot follow
// control flow.
func (t *Tensor) Bool() bool {
	if t.Traced() {
		return t.value.Bool()
	}
	truth, err := truthOf(nil, t)
	mustNot("bool", err)
	return truth
}

// Len returns the size of the first dimension, as Python's len does. It panics
// with an *[Error] where x has none or stands for a node.
func (t *Tensor) Len() int {
	if t.Traced() {
		return t.value.Len()
	}
	shape := t.Shape()
	if len(shape) == 0 {
		mustNot("len", ir.Errorf(ir.ErrType, "len() of a 0-d tensor"))
	}
	return shape[0]
}

// mirrored are the comparisons as Python asks the right operand.
var mirrored = map[string]string{"eq": "eq", "ne": "ne", "lt": "gt", "gt": "lt", "le": "ge", "ge": "le"}

// tensorMethods are the methods that Python records for an operator with a real
// tensor on the left; measured on 2.15.
var tensorMethods = map[string]string{
	"add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "floordiv": "__floordiv__", "mod": "remainder", "pow": "pow",
	"lshift": "__lshift__", "rshift": "__rshift__", "and_": "__and__", "or_": "__or__", "xor": "__xor__", "matmul": "matmul",
	"eq": "eq", "ne": "ne", "lt": "lt", "gt": "gt", "le": "le", "ge": "ge", "getitem": "__getitem__",
}

// unrecorded are the operators that Python does not leave to a proxy on their
// left, with what it raises.
var unrecorded = map[string]error{
	"contains": ir.Errorf(ir.ErrTrace, noIteration),
	"not_":     ir.Errorf(ir.ErrTrace, noControlFlow),
	"truth":    ir.Errorf(ir.ErrTrace, noControlFlow),
	"setitem":  ir.Errorf(ir.ErrType, "'Proxy' object does not support item assignment"),
	"delitem":  ir.Errorf(ir.ErrType, "'Proxy' object doesn't support item deletion"),
}

// asPython returns the call that Python's operands turn a traced operator into.
// It panics with an *[Error] where they record none.
func asPython(op ir.Op, target any, args []any) (ir.Op, any, []any) {
	f, ok := target.(*ir.Func)
	if !ok || op != ir.CallFunction || len(args) == 0 || f.Kind() != ir.Operator {
		return op, target, args
	}
	if err, ok := unrecorded[f.Base()]; ok {
		if _, traced := ValueOf(args[0]); traced {
			mustNot("trace", err)
		}
	}
	checkOperands(f, len(args))
	if plain := plainOperators[f.Base()]; plain != "" {
		if left, ok := args[0].(*Tensor); !ok || left.Traced() {
			f = ir.FuncOf("operator." + plain)
			target = f
		}
	}
	if len(args) != 2 {
		return op, target, args
	}
	if _, traced := ValueOf(args[0]); traced {
		return op, target, args
	}
	if left, ok := args[0].(*Tensor); ok && left != nil {
		if name, ok := tensorMethods[f.Base()]; ok {
			return ir.CallMethod, name, args
		}
	}
	if f == fnGetItem && !isTensor(args[0]) {
		mustNot(f.Name(), typeErrorf("'%s' object has no item of a traced value", typeName(args[0])))
	}
	if name, ok := mirrored[f.Base()]; ok {
		if _, traced := ValueOf(args[1]); traced {
			return op, ir.FuncOf("operator." + name), []any{args[1], args[0]}
		}
	}
	return op, target, args
}
