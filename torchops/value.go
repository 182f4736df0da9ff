package torchops

import (
	"github.com/torchfx-go/torchfx/ir"
)

// A Recorder notes calls instead of computing them; a tracer is one. It travels
// in the values: a call goes to the recorder that its arguments came from.
type Recorder interface {
	// Record notes a call and returns what stands for its result. target is a
	// *ir.Func for call_function and a string for everything else. args and kw
	// hold tensors, SymInts and Values of this trace, real tensors, and literals,
	// also in lists. A failure is a panic with an *Error.
	Record(op ir.Op, target any, args []any, kw []Kwarg) Value
}

// A Value stands for a node, or for an attribute that becomes a node when it is
// used first. What Go type it has is not known: the methods say what it is
// taken for. The zero Value stands for nothing.
type Value struct {
	recorder Recorder
	ref      any
}

// NewValue returns a value of a trace. ref is the recorder's own and comparable.
func NewValue(r Recorder, ref any) Value {
	escape(r)
	escape(ref)
	return Value{r, ref}
}

// Recorder returns where calls on v are noted, nil for the zero Value.
func (v Value) Recorder() Recorder { return v.recorder }

// Ref returns what the recorder put into v. An attribute that [Value.Attr] named
// is recorded by this, the first time.
func (v Value) Ref() any {
	if a, ok := v.ref.(*attribute); ok {
		return a.value().ref
	}
	return v.ref
}

// Tensor takes v for a tensor.
func (v Value) Tensor() *Tensor {
	t := newTensor()
	t.value = v
	return t
}

// Int takes v for an integer.
func (v Value) Int() SymInt { return SymInt{value: v} }

// Tensors takes v for a list of tensors.
func (v Value) Tensors() Tensors { return Tensors{value: v} }

// ValueOf returns what a traced v stands for: a Value, a *Tensor, SymInt,
// SymBool or Tensors. ok is false where v is real.
func ValueOf(v any) (value Value, ok bool) {
	switch v := v.(type) {
	case Value:
		value = v
	case *Tensor:
		if v != nil {
			value = v.value
		}
	case SymInt:
		value = v.value
	case SymBool:
		value = v.value
	case Tensors:
		value = v.value
	}
	return value, value.recorder != nil
}

// recorderOf returns the recorder that the arguments came from, nil where none
// is traced. It panics with ErrTracers where there are two.
func recorderOf(args []any, kw []Kwarg) Recorder {
	var found Recorder
	for _, a := range args {
		found = joinRecorders(found, findRecorder(a))
	}
	for _, k := range kw {
		found = joinRecorders(found, findRecorder(k.Value))
	}
	return found
}

func joinRecorders(a, b Recorder) Recorder {
	if a != nil && b != nil && a != b {
		panic(&Error{Op: "trace", Err: ErrTracers})
	}
	if a == nil {
		return b
	}
	return a
}

func findRecorder(v any) Recorder { return recorderAt(v, 0) }

func recorderOfAll(items []any, depth int) (found Recorder) {
	for _, item := range items {
		found = joinRecorders(found, recorderAt(item, depth))
	}
	return found
}

func recorderAt(v any, depth int) (found Recorder) {
	if value, ok := ValueOf(v); ok {
		return value.recorder
	}
	if depth > MaxNesting {
		panic(&Error{Op: "trace", Err: ErrNesting})
	}
	switch v := v.(type) {
	case []any:
		return recorderOfAll(v, depth+1)
	case ir.PyTuple:
		return recorderOfAll(v, depth+1)
	case []*Tensor:
		return recorderAt(List(v), depth+1)
	case Tuple:
		return recorderAt(List(v), depth+1)
	case List:
		for _, t := range v {
			found = joinRecorders(found, recorderAt(t, depth+1))
		}
	case []SymInt:
		for _, n := range v {
			found = joinRecorders(found, recorderAt(n, depth+1))
		}
	case []Value:
		for _, item := range v {
			found = joinRecorders(found, item.recorder)
		}
	case *ir.PyDict:
		for key, item := range v.All() {
			found = joinRecorders(joinRecorders(found, recorderAt(key, depth+1)), recorderAt(item, depth+1))
		}
	case *ir.PyObject:
		if v != nil {
			return recorderOfAll(v.Values, depth+1)
		}
	case map[string]any:
		for _, item := range v {
			found = joinRecorders(found, recorderAt(item, depth+1))
		}
	case map[string]*Tensor:
		for _, item := range v {
			found = joinRecorders(found, recorderAt(item, depth+1))
		}
	default:
		if d, ok := ir.PyDictOf(v); ok {
			return recorderAt(d, depth)
		}
	case ir.Slice:
		for _, part := range []ir.Arg{v.Start, v.Stop, v.Step} {
			if o, ok := part.(ir.Opaque); ok {
				found = joinRecorders(found, recorderAt(o.Value, depth+1))
			}
		}
	}
	return found
}

// Dispatch records a call if any argument is traced, and computes it otherwise.
// target is a *ir.Func for ir.CallFunction and a method's name, as a string, for
// ir.CallMethod, whose receiver is args[0]. It panics with an *[Error].
//
// Operators are recorded as Python's operands decide: a comparison whose left
// side is no traced value as the mirrored one, and an operator whose left side is
// a real tensor as a method of that tensor. A function that is Python code in
// PyTorch is recorded as it hands itself to torch.fx: every parameter, each in
// its place or by its keyword.
func Dispatch(op ir.Op, target any, args []any, kw []Kwarg) any {
	f, _ := target.(*ir.Func)
	if r := recorderOf(args, kw); r != nil {
		if c := composedFunctions[f]; c != nil && op == ir.CallFunction {
			return c.record(r, withoutScopes(args), kw)
		}
		if c := symbolicFunctions[f]; c != nil && op == ir.CallFunction {
			return c.recordNumbers(r, withoutScopes(args), kw)
		}
		if name, ok := target.(string); ok && op == ir.CallMethod && len(args) > 0 && isNothing(args[0]) {
			panic(&Error{Op: name, Err: ir.Errorf(ir.ErrAttribute, "'NoneType' object has no attribute '%s'", name)})
		}
		op, target, args = asPython(op, target, withoutScopes(args))
		if f == fnSegmentReduce {
			target = fnPrivateSegmentReduce
		}
		if f != nil && op == ir.CallFunction {
			checkTraced(f, args, kw)
		}
		return r.Record(op, target, args, kw)
	}
	if name, ok := target.(string); ok && op == ir.CallMethod {
		v, err := InvokeMethod(nil, name, args, kw)
		mustNot(name, err)
		return v
	}
	if f == nil {
		panic(&Error{Op: op.String(), Err: ir.Errorf(ir.ErrValue, "dispatch: expected a function or a method to compute, got %v", target)})
	}
	v, err := Invoke(nil, f, args, kw)
	mustNot(f.Name(), err)
	return v
}

// As views a result as an R: as it is where it is one; a [Value] as a *Tensor,
// SymInt, SymBool, Tensors, Seq or any; an int as a SymInt; a list of tensors as Tensors
// or List. It panics with an *[Error] where R cannot stand for a node, or v is no R.
func As[R any](v any) R {
	var r R
	if as, ok := v.(R); ok {
		return as
	}
	traced, isTraced := ValueOf(v)
	ok := false
	switch p := any(&r).(type) {
	case **Tensor:
		if ok = isTraced; ok {
			*p = traced.Tensor()
		} else {
			ok = v == nil
		}
	case *SymInt:
		n, isInt := v.(int64)
		switch {
		case isTraced:
			*p, ok = traced.Int(), true
		case isInt:
			*p, ok = N(n), true
		}
	case *SymBool:
		b, isBool := v.(bool)
		switch {
		case isTraced:
			p.value, ok = traced, true
		case isBool:
			p.b, ok = b, true
		}
	case *Tensors:
		if ok = isTraced; ok {
			*p = traced.Tensors()
		} else {
			p.list, ok = tensorList(v)
		}
	case *List:
		*p, ok = tensorList(v)
	case *Seq:
		if ok = isTraced; ok {
			*p = traced.Tensors()
		} else if list, isList := tensorList(v); isList {
			*p, ok = List(list), true
		}
	}
	if !ok {
		what := "a result of type " + typeName(v)
		if isTraced {
			what = "a value that stands for a node"
		} else if _, kind := items(v); kind == "tuple" {
			what += ", which a function of several results returns (MaxDim beside Max)"
		}
		panic(&Error{Op: "convert", Err: ir.Errorf(ir.ErrType, "%s: expected one that can be a %T", what, r)})
	}
	return r
}

// tensorList returns a list or tuple of tensors.
func tensorList(v any) ([]*Tensor, bool) {
	switch v := v.(type) {
	case List:
		return v, true
	case Tuple:
		return v, true
	case Tensors:
		return v.list, v.value.recorder == nil
	}
	x, kind := items(v)
	list := make([]*Tensor, len(x))
	for i, item := range x {
		t, ok := item.(*Tensor)
		if !ok {
			return nil, false
		}
		list[i] = t
	}
	return list, kind != ""
}

// isNothing reports whether a value is Python's None.
func isNothing(v any) bool {
	switch v := v.(type) {
	case nil, ir.None:
		return true
	case *Tensor:
		return v == nil
	}
	return false
}
