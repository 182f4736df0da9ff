package nn

import (
	"reflect"

	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// Of1 is a module whose Forward takes one argument.
type Of1[A, R any] interface {
	Module
	Forward(A) R
}

// Of2 is a module whose Forward takes two arguments.
type Of2[A, B, R any] interface {
	Module
	Forward(A, B) R
}

// Of3 is a module whose Forward takes three arguments.
type Of3[A, B, C, R any] interface {
	Module
	Forward(A, B, C) R
}

// A Layer maps one tensor to one tensor; it is what Sequential holds.
type Layer = Of1[*torch.Tensor, *torch.Tensor]

// Call calls m as Python's m(a) does. That "A and R cannot be inferred" means
// that Forward of m does not take exactly one argument and return one result.
func Call[A, R any](m Of1[A, R], a A) R {
	if isLayer(m) {
		return m.Forward(a)
	}
	return enter(m, func() R { return m.Forward(a) }, a)
}

// Call2 calls m as Python's m(a, b) does.
func Call2[A, B, R any](m Of2[A, B, R], a A, b B) R {
	if isLayer(m) {
		return m.Forward(a, b)
	}
	return enter(m, func() R { return m.Forward(a, b) }, a, b)
}

// Call3 calls m as Python's m(a, b, c) does.
func Call3[A, B, C, R any](m Of3[A, B, C, R], a A, b B, c C) R {
	if isLayer(m) {
		return m.Forward(a, b, c)
	}
	return enter(m, func() R { return m.Forward(a, b, c) }, a, b, c)
}

// enter runs the body of a module call, or tells the trace of it.
func enter[R any](m Module, body func() R, args ...any) R {
	s := m.base().shadow
	if s == nil {
		refuseForeign(m, args...)
	}
	if s == nil || s.Path == "" {
		return body()
	}
	return torch.As[R](s.Caller.CallModule(s, args, func() any { return body() }))
}

// refuseForeign panics where a module that the trace did not copy gets a value
// of it.
func refuseForeign(m Module, args ...any) {
	if torch.Traced(args...) {
		panic(&torch.Error{Op: typeName(m), Err: ir.Errorf(ir.ErrTrace,
			"%w; trace the module that holds it, and reach it through the fields", ErrForeign)})
	}
}

// Bind returns f, a method value of m such as m.Forward, so that calling it is
// calling m. It is for signatures that [Call] does not cover; several results
// are unpacked from the one that Python's module returns.
//
//	y, h := nn.Bind(r.Cell, r.Cell.Forward)(x, nil)
//
// Bind panics when f is no function, as that is a mistake no input causes.
func Bind[F any](m Module, f F) F {
	s := m.base().shadow
	if s == nil || s.Path == "" || isLayer(m) {
		return f
	}
	fv := reflect.ValueOf(f)
	ft := fv.Type()
	bound := reflect.MakeFunc(ft, func(in []reflect.Value) []reflect.Value {
		var args []any
		for i, v := range in {
			if ft.IsVariadic() && i == len(in)-1 {
				for k := range v.Len() {
					args = append(args, v.Index(k).Interface())
				}
				continue
			}
			args = append(args, v.Interface())
		}
		result := s.Caller.CallModule(s, args, func() any {
			if ft.IsVariadic() {
				return pack(fv.CallSlice(in))
			}
			return pack(fv.Call(in))
		})
		return unpack(result, ft)
	})
	return bound.Interface().(F)
}

// Results makes one value of what a function of a model returned: none is None, several
// are a tuple. A last result of type error is no value but the error of the call.
func Results(out []reflect.Value) (any, error) {
	if n := len(out); n > 0 && out[n-1].Type() == errorType {
		if err, _ := out[n-1].Interface().(error); err != nil {
			return nil, err
		}
		out = out[:n-1]
	}
	switch len(out) {
	case 0:
		return nil, nil
	case 1:
		return out[0].Interface(), nil
	}
	tuple := make(ir.PyTuple, len(out))
	for i, v := range out {
		tuple[i] = v.Interface()
	}
	return tuple, nil
}

// pack is Results inside a model, where an error is a panic.
func pack(out []reflect.Value) any {
	v, err := Results(out)
	if err != nil {
		panic(&torch.Error{Op: "forward", Err: err})
	}
	return v
}

var errorType = reflect.TypeFor[error]()

// unpack gives a module's result the types of a function's results.
func unpack(result any, ft reflect.Type) []reflect.Value {
	n := ft.NumOut()
	out := make([]reflect.Value, n)
	if n > 0 && ft.Out(n-1) == errorType {
		n--
		out[n] = reflect.Zero(errorType)
	}
	if n == 1 {
		out[0] = torch.Convert(result, ft.Out(0))
	}
	if n <= 1 {
		return out
	}
	tuple, isTuple := result.(ir.PyTuple)
	for i := range n {
		var item any
		if v, traced := torch.ValueOf(result); traced {
			item = v.Index(int64(i))
		} else if isTuple && i < len(tuple) {
			item = tuple[i]
		} else {
			panic(&torch.Error{Op: "Bind", Err: ir.Errorf(ir.ErrType, "bind: expected %d results, got %T", n, result)})
		}
		out[i] = torch.Convert(item, ft.Out(i))
	}
	return out
}

// Read returns t, a parameter, and in a trace makes its get_attr node here, as
// reading the attribute does in Python. Without it the node stands where the
// parameter is used first; the graph means the same.
func Read(t *torch.Tensor) *torch.Tensor {
	if v, traced := torch.ValueOf(t); traced {
		if r, ok := v.Recorder().(interface{ Read(torch.Value) }); ok {
			r.Read(v)
		}
	}
	return t
}

func typeName(m Module) string { return reflect.TypeOf(m).Elem().Name() }
