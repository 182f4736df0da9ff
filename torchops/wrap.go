package torchops

import (
	"reflect"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
)

// Wrap makes a Go function one node of every trace that it is called in, as
// torch.fx.wrap does: with a traced argument the returned function records a
// call of name instead of running f. Variadic arguments are spread into the
// node. Graphs that call name run f.
//
// A name belongs to one function; wrap in package variables:
//
//	var scale = torch.Wrap("scale", func(x *torch.Tensor, by float64) *torch.Tensor { … })
//
// Wrap panics when the program starts if the name is taken, f is no function, or
// f does not return exactly one value that can stand for a node: a *Tensor,
// SymInt, SymBool, Tensors, Seq, Value or any.
//
// Keyword arguments are for functions whose last parameter is ...Kwarg.
func Wrap[F any](name string, f F) F {
	fv := reflect.ValueOf(f)
	if fv.Kind() != reflect.Func || fv.IsNil() {
		panic(ir.Errorf(ir.ErrRuntime, "torchops: wrap %s: Unsupported type for global function! Must be either a callable or string name, got %T", name, f))
	}
	ft := fv.Type()
	if ft.NumOut() != 1 || !canStand(ft.Out(0)) {
		panic("torchops: wrap " + name + ": expected one result that can stand for a node, got " + ft.String())
	}
	fn := ir.FuncOf(name)
	keywords := ft.IsVariadic() && ft.In(ft.NumIn()-1) == reflect.TypeFor[[]Kwarg]()
	impl := &implementation{name: name, wrapped: true, call: func(m *libtorch.Mode, args []any, kw []Kwarg) (v any, err error) {
		if len(kw) > 0 && !keywords {
			return nil, ir.Errorf(ir.ErrType, "%s() got an unexpected keyword argument '%s'", name, kw[0].Name)
		}
		for _, k := range kw {
			args = append(args[:len(args):len(args)], k)
		}
		m.Within(func() { v, err = callGo(name, fv, args) })
		return v, err
	}}
	if _, taken := implementations.LoadOrStore(fn, impl); taken {
		panic("torchops: wrap " + name + ": the name is taken")
	}
	return wrapper[F](fn, ft, func(in []reflect.Value) []reflect.Value {
		if ft.IsVariadic() {
			return fv.CallSlice(in)
		}
		return fv.Call(in)
	})
}

// WrapNamed makes a call of a function that there is already, such as "len" or
// "math.sqrt", one node of every trace that it is called in, in the form of a Go
// function: WrapNamed[func(x any) any]("math.sqrt"). Without traced arguments it
// is computed as in a run. It panics when the program starts if F is no function
// of one result that can stand for a node.
func WrapNamed[F any](name string) F {
	ft := reflect.TypeFor[F]()
	if ft.Kind() != reflect.Func || ft.NumOut() != 1 || !canStand(ft.Out(0)) {
		panic("torchops: wrap " + name + ": expected a function of one result that can stand for a node, got " + ft.String())
	}
	fn := ir.FuncOf(name)
	return wrapper[F](fn, ft, func(in []reflect.Value) []reflect.Value {
		args, kw := SplitKwargs(spread(ft, in))
		v, err := Invoke(nil, fn, args, kw)
		mustNot(name, err)
		return []reflect.Value{convertTo(v, ft.Out(0))}
	})
}

// A WrapRecorder is a [Recorder] that is told which calls are those of wrapped
// functions.
type WrapRecorder interface {
	RecordWrapped(f *ir.Func, args []any, kw []Kwarg) Value
}

// IsWrapped reports whether f is a Go function that [Wrap] was given.
func IsWrapped(f *ir.Func) bool {
	impl, ok := implementations.Load(f)
	return ok && impl.(*implementation).wrapped
}

// spread returns the arguments of a call with the variadic ones one by one.
func spread(ft reflect.Type, in []reflect.Value) []any {
	args := make([]any, 0, len(in))
	for i, v := range in {
		if ft.IsVariadic() && i == len(in)-1 {
			for k := range v.Len() {
				args = append(args, v.Index(k).Interface())
			}
			continue
		}
		args = append(args, v.Interface())
	}
	return args
}

// wrapper makes the function that records a call or runs it.
func wrapper[F any](fn *ir.Func, ft reflect.Type, run func(in []reflect.Value) []reflect.Value) F {
	wrapped := reflect.MakeFunc(ft, func(in []reflect.Value) []reflect.Value {
		args, kw := SplitKwargs(spread(ft, in))
		switch r := recorderOf(args, kw).(type) {
		case nil:
			return run(in)
		case WrapRecorder:
			return []reflect.Value{convertTo(r.RecordWrapped(fn, args, kw), ft.Out(0))}
		default:
			return []reflect.Value{convertTo(r.Record(ir.CallFunction, fn, args, kw), ft.Out(0))}
		}
	})
	return wrapped.Interface().(F)
}

var (
	anyType     = reflect.TypeFor[any]()
	tensorType  = reflect.TypeFor[*Tensor]()
	symIntType  = reflect.TypeFor[SymInt]()
	symBoolType = reflect.TypeFor[SymBool]()
	valueType   = reflect.TypeFor[Value]()
	tensorsType = reflect.TypeFor[Tensors]()
	seqType     = reflect.TypeFor[Seq]()
	listType    = reflect.TypeFor[List]()
)

func canStand(t reflect.Type) bool {
	return t == anyType || t == tensorType || t == symIntType || t == tensorsType || t == seqType ||
		t == symBoolType || t == valueType
}

// convertTo is [As] for a type that is known when the program runs.
func convertTo(v any, t reflect.Type) reflect.Value {
	switch t {
	case tensorType:
		return reflect.ValueOf(As[*Tensor](v))
	case symIntType:
		return reflect.ValueOf(As[SymInt](v))
	case symBoolType:
		return reflect.ValueOf(As[SymBool](v))
	case tensorsType:
		return reflect.ValueOf(As[Tensors](v))
	case listType:
		return reflect.ValueOf(As[List](v))
	case seqType:
		return reflect.ValueOf(As[Seq](v))
	}
	if v == nil {
		return reflect.Zero(t)
	}
	return reflect.ValueOf(v)
}

// callGo calls a Go function with the values of a run.
func callGo(name string, f reflect.Value, args []any) (result any, err error) {
	ft := f.Type()
	fixed := ft.NumIn()
	if ft.IsVariadic() {
		fixed--
	}
	if len(args) < fixed || len(args) > fixed && !ft.IsVariadic() {
		return nil, ir.Errorf(ir.ErrType, "%s() takes %d arguments but %d were given", name, fixed, len(args))
	}
	in := make([]reflect.Value, len(args))
	for i, a := range args {
		t := ft.In(min(i, ft.NumIn()-1))
		if ft.IsVariadic() && i >= fixed {
			t = t.Elem()
		}
		v, err := Try(func() reflect.Value { return Convert(a, t) })
		if err != nil {
			return nil, ir.Errorf(ir.ErrType, "%s() argument %d: expected %s, got %s", name, i+1, t, typeName(a))
		}
		in[i] = v
	}
	result, err = Try(func() any { return f.Call(in)[0].Interface() })
	if err != nil {
		return nil, err
	}
	return normalize(result)
}
