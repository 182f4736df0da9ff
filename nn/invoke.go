package nn

import (
	"reflect"
	"slices"

	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// Invoke calls Forward of m with values whose types are known at run time only:
// those of a graph. Keywords are bound by the forward tag of m. Several results
// come as an ir.PyTuple.
func Invoke(m Module, args []any, kwargs []torch.Kwarg) (any, error) {
	if l, ok := m.(layer); ok && classOf(m) != nil {
		return torch.Try(func() any { return run(l, kwargs, args...) })
	}
	forward := reflect.ValueOf(m).MethodByName("Forward")
	if !forward.IsValid() {
		return nil, ir.Errorf(ir.ErrAttribute, "call %s: it has no method Forward", typeName(m))
	}
	signature, err := SignatureOf(m)
	if err != nil {
		return nil, err
	}
	args, err = bindKeywords(typeName(m), signature.Params, args, kwargs)
	if err != nil {
		return nil, err
	}
	ft := forward.Type()
	fixed := ft.NumIn()
	if ft.IsVariadic() {
		fixed--
	}
	if len(args) < fixed || len(args) > fixed && !ft.IsVariadic() {
		return nil, ir.Errorf(ir.ErrType, "call %s: Forward takes %d arguments, got %d", typeName(m), fixed, len(args))
	}
	var failed error
	result, err := torch.Try(func() (out any) {
		in := make([]reflect.Value, len(args))
		for i, a := range args {
			t := ft.In(min(i, ft.NumIn()-1))
			if ft.IsVariadic() && i >= fixed {
				t = t.Elem()
			}
			in[i] = torch.Convert(a, t)
		}
		out, failed = Results(forward.Call(in))
		return out
	})
	if err == nil {
		err = failed
	}
	return result, err
}

// ForwardOf returns what m's forward is as a function of the parameters that
// [SignatureOf] names: of a layer a func(any, ...) any, as Python's takes more than
// Go's in some, otherwise the method Forward, the zero Value where there is none.
// Calling it is no call of m that a trace is told of, where m is the root of one.
func ForwardOf(m Module) reflect.Value {
	l, ok := m.(layer)
	if !ok || classOf(m) == nil {
		return reflect.ValueOf(m).MethodByName("Forward")
	}
	in := slices.Repeat([]reflect.Type{anyType}, len(classOf(m).Forward))
	return reflect.MakeFunc(reflect.FuncOf(in, []reflect.Type{anyType}, false), func(values []reflect.Value) []reflect.Value {
		args := make([]any, len(values))
		for i, v := range values {
			args[i] = v.Interface()
		}
		out := reflect.New(anyType).Elem()
		if v := run(l, nil, args...); v != nil {
			out.Set(reflect.ValueOf(v))
		}
		return []reflect.Value{out}
	})
}

var anyType = reflect.TypeFor[any]()

// bindKeywords puts keywords and defaults to their positions.
func bindKeywords(name string, params []Param, args []any, kwargs []torch.Kwarg) ([]any, error) {
	bound := append([]any(nil), args...)
	given := make([]bool, max(len(params), len(args)))
	for i := range args {
		given[i] = true
	}
	for _, kw := range kwargs {
		at := -1
		for i, p := range params {
			if p.Name == kw.Name {
				at = i
			}
		}
		if at < 0 {
			return nil, ir.Errorf(ir.ErrType, "call %s: unexpected keyword argument %q; its forward tag names %v", name, kw.Name, params)
		}
		if given[at] {
			return nil, ir.Errorf(ir.ErrType, "call %s: argument %q given twice", name, kw.Name)
		}
		for len(bound) <= at {
			bound = append(bound, nil)
		}
		bound[at], given[at] = kw.Value, true
	}
	for i, p := range params {
		if given[i] || p.Default == nil {
			continue
		}
		for len(bound) <= i {
			bound = append(bound, nil)
		}
		bound[i] = torch.FromArg(p.Default)
	}
	return bound, nil
}
