package torchops

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
)

// A frame is one call of a composed function on real values. Its methods panic
// with an *Error.
type frame struct {
	mode   *libtorch.Mode
	of     *composed
	values []any     // of the parameters
	made   []*Tensor // by operators of this call, closed unless returned

	// how the arguments were given, for the one function that asks
	positional int
	keywords   map[string]bool
}

// compute runs the body on real values; it panics with an *Error. A failed call
// leaves nothing open.
func (c *composed) compute(f *frame, scope *Scope) any {
	done := false
	defer func() {
		if !done {
			f.finish(nil)
		}
	}()
	result := c.body(f)
	f.finish(result)
	if scope != nil {
		eachTensor(result, func(t *Tensor) {
			if t.scope.Load() == nil && !f.isArgument(t) {
				scope.Add(t)
			}
		})
	}
	done = true
	return result
}

func (f *frame) isArgument(t *Tensor) bool {
	found := false
	for _, v := range f.values {
		eachTensor(v, func(a *Tensor) { found = found || a == t })
	}
	return found
}

// finish closes what the call made and does not return.
func (f *frame) finish(result any) {
	keep := map[*Tensor]bool{}
	eachTensor(result, func(t *Tensor) { keep[t] = true })
	for _, t := range f.made {
		if !keep[t] {
			_ = t.Close() // an error here means that it is closed already
		}
	}
}

func eachTensor(v any, f func(*Tensor)) {
	switch v := v.(type) {
	case *Tensor:
		if v != nil {
			f(v)
		}
	case ir.PyTuple:
		for _, item := range v {
			eachTensor(item, f)
		}
	case []any:
		for _, item := range v {
			eachTensor(item, f)
		}
	}
}

// op calls what Python's code calls for an operator: the function or method that is
// bound to it, whose parser chooses among the overloads and says what it does not
// take. What has no such binding is called by the dispatcher. The last arguments may
// be Kw.
func (f *frame) op(name string, args ...any) any {
	args, kw := splitKwargs(args)
	var v any
	var err error
	if p := boundTo(name); p != nil {
		v, err = p.call(f.mode, args, kw)
	} else {
		v, err = CallMode(f.mode, "aten::"+name, args, kw)
	}
	if err != nil {
		panic(failed("aten::"+name, args, kw, err))
	}
	f.own(v)
	return v
}

// boundOperators are those that were looked for by [boundTo].
var boundOperators sync.Map // string -> *public

// boundTo returns what Python binds to an operator of ATen, as a function where there
// is one; nil for none.
func boundTo(operator string) *public {
	if p, ok := boundOperators.Load(operator); ok {
		return p.(*public)
	}
	base, _, _ := strings.Cut(operator, ".")
	var p *public
	for _, module := range []string{"torch.", "torch._C._nn.", "torch._C._linalg.", tensorMethod} {
		if lines, ok := signatureIndex()[module+base]; ok {
			if list, err := readSignatures(module+base, lines); err == nil { // the table is tested
				p = newPublic(module+base, module == tensorMethod, list)
			}
			break
		}
	}
	kept, _ := boundOperators.LoadOrStore(operator, p)
	return kept.(*public)
}

// invoke calls another function of torch.
func (f *frame) invoke(name string, args ...any) any {
	args, kw := splitKwargs(args)
	v, err := Invoke(f.mode, ir.FuncOf(name), args, kw)
	mustNot(name, err)
	eachTensor(v, func(t *Tensor) {
		isArgument := false
		for _, a := range args {
			eachTensor(a, func(u *Tensor) { isArgument = isArgument || t == u })
		}
		if !isArgument {
			f.own(t)
		}
	})
	return v
}

// own closes tensors with the frame unless they are returned.
func (f *frame) own(v any) {
	eachTensor(v, func(t *Tensor) { f.made = append(f.made, t) })
}

// tensor calls an operator that returns one tensor.
func (f *frame) tensor(name string, args ...any) *Tensor { return As[*Tensor](f.op(name, args...)) }

// tuple calls an operator that returns several values.
func (f *frame) tuple(name string, args ...any) []any {
	list, _ := items(f.op(name, args...))
	return list
}

// item reads the one element of a tensor.
func (f *frame) item(t *Tensor) any { return f.op("item", t) }

func (f *frame) fail(class *ir.Class, format string, args ...any) {
	panic(&Error{Op: f.of.target.Name(), Err: ir.Errorf(class, format, args...)})
}

// The arguments by name. What cannot be read as asked for is a TypeError.

func (f *frame) arg(name string) any { return f.values[f.of.param(name)] }

// args returns several arguments in order.
func (f *frame) args(names ...string) []any {
	out := make([]any, len(names))
	for i, name := range names {
		out[i] = f.arg(name)
	}
	return out
}

func (f *frame) given(name string) bool { return f.arg(name) != nil }

// t returns a tensor, of which Python's code asks an attribute now; nil for None where
// that is allowed. What is only handed to an operator is left to its parser, by arg.
func (f *frame) t(name string, attribute ...string) *Tensor {
	i := f.of.param(name)
	if t, ok := f.values[i].(*Tensor); ok {
		return t
	}
	if p := &f.of.params[i]; f.values[i] != nil || !strings.HasSuffix(p.annotation, "| None") && !(p.hasDefault && p.def == nil) {
		f.misused(i, attribute...)
	}
	return nil
}

func (f *frame) wrongType(name, want string, v any) {
	f.fail(ir.ErrType, "%s(): argument '%s' must be %s, not %s", f.of.name, name, want, typeName(v))
}

// bool returns the truth of an argument, as Python's if does.
func (f *frame) bool(name string) bool {
	v := f.arg(name)
	if b, ok := v.(bool); ok {
		return b
	}
	b, err := truthOf(f.mode, v)
	mustNot(f.of.name, err)
	return b
}

func (f *frame) string(name string) string {
	s, ok := f.arg(name).(string)
	if !ok {
		f.wrongType(name, "str", f.arg(name))
	}
	return s
}

func (f *frame) int(name string) int { return f.asInt(name, f.arg(name)) }

func (f *frame) asInt(name string, v any) int {
	switch v := v.(type) {
	case int64:
		return int(v)
	case bool:
		return int(asInt(v))
	case *Tensor:
		if n, err := indexNumber(f.mode, v); err == nil {
			return int(n)
		}
	}
	f.wrongType(name, "int", v)
	return 0
}

// float returns a number.
func (f *frame) float(name string) float64 {
	v := f.arg(name)
	if t, ok := v.(*Tensor); ok {
		v = f.item(t)
	}
	if k := kindOf(v); k == notNumber || k == complexKind {
		f.wrongType(name, "float", v)
	}
	return asFloat(v)
}

// items returns a list or tuple, or one value n times.
func (f *frame) items(name string, n int) []any {
	v := f.arg(name)
	if x, kind := items(v); kind != "" {
		return x
	}
	return slices.Repeat([]any{v}, n)
}

// inplace returns the name of an operator or of its form that writes its input.
func (f *frame) inplace(op string) string {
	if f.bool("inplace") {
		return op + "_"
	}
	return op
}

// textOf writes a value as an f-string does: a tensor without dimensions as its number.
func textOf(v any) string {
	switch x := v.(type) {
	case string:
		return x
	case *Tensor:
		if info, err := x.info(); err == nil && len(info.Sizes) == 0 {
			if n, err := item(nil, x); err == nil {
				return reprOf(n)
			}
		}
	}
	return reprOf(v)
}

// repr writes an argument as an f-string does.
func (f *frame) repr(name string) string { return textOf(f.arg(name)) }

func reprOf(v any) string {
	if x, kind := items(v); kind != "" {
		parts := make([]string, len(x))
		for i, item := range x {
			parts[i] = reprOf(item)
		}
		text := strings.Join(parts, ", ")
		switch {
		case kind == "list":
			return "[" + text + "]"
		case len(x) == 1:
			return "(" + text + ",)"
		}
		return "(" + text + ")"
	}
	switch v := v.(type) {
	case int64:
		return ir.Repr(ir.Int(v))
	case float64:
		return ir.Repr(ir.Float(v))
	case complex128:
		return ir.Repr(ir.Complex(v))
	case string:
		return ir.Repr(ir.Str(v))
	case ir.Ellipsis:
		return "Ellipsis"
	case ir.Slice:
		return "slice(" + reprOf(v.Start) + ", " + reprOf(v.Stop) + ", " + reprOf(v.Step) + ")"
	case fmt.Stringer:
		return v.String()
	}
	return Describe(v)
}

func sameShape(x, y *Tensor) bool { return slices.Equal(x.Shape(), y.Shape()) }

// sizeText writes sizes as Python prints torch.Size.
func sizeText(shape []int) string {
	return "torch.Size(" + reprOf(intList(shape)) + ")"
}

func intList(x []int) []any { return listOf(x, func(n int) any { return int64(n) }) }
