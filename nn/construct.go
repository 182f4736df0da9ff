package nn

import (
	"reflect"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// New makes a layer of torch.nn by its class, "Linear" or
// "torch.nn.modules.linear.Linear", with Python's arguments.
func New(class string, args []any, options ...Option) (Module, error) {
	name := class[strings.LastIndexByte(class, '.')+1:]
	empty, ok := types[name]
	c := classes()[name]
	if !ok || class != name && class != c.Module+"."+name && class != "torch.nn."+name {
		return nil, ir.Errorf(ir.ErrUnsupported, "no layer of class %s", class)
	}
	m := empty().(layer)
	return torch.Try(func() Module { construct(m, args, options); return m })
}

// Constructor returns the qualified name of a layer's class, "Linear", and the
// parameters of its constructor in Python's terms; ok is false where [New] makes
// no such layer.
func Constructor(class string) (qualified string, params []Param, ok bool) {
	c, ok := classes()[class]
	if !ok {
		return "", nil, false
	}
	for _, p := range c.Params {
		params = append(params, Param{Name: p.Name, Default: p.Default})
	}
	return c.Module + "." + c.Name, params, true
}

// build is a constructor of package nn. A mistake in its arguments is a panic
// with a *torch.Error, as in every function that model code calls.
func build[M layer](m M, args []any, options []Option) M {
	construct(m, args, options)
	return m
}

// construct binds the arguments, keeps them as attributes and makes the tensors.
func construct(m layer, args []any, options []Option) {
	c := classOf(m)
	b := &builder{m: m, c: c}
	if err := b.bind(args, options); err != nil {
		panic(&torch.Error{Op: c.Name, Err: err})
	}
	for _, pair := range c.Default {
		if _, none := b.attr(pair[0]).(ir.None); none {
			b.put(pair[0], b.attr(pair[1]))
		}
	}
	for _, name := range c.Tuples {
		b.put(name, tuple(b.attr(name), c.Dims))
	}
	for _, name := range c.Buffers {
		if t, ok := b.attr(name).(*torch.Tensor); ok {
			b.set(name, t)
		}
	}
	if len(c.Init) > 0 {
		initializers[c.Init[0]](b)
	}
	for field, t := range state(m) {
		if field.Kind == Parameter {
			requireGrad(t)
		}
	}
}

// NewParameter marks t as trained and returns it, as torch.nn.Parameter. No
// gradient is recorded, but libtorch chooses kernels by the mark, and rounds
// otherwise without it; a model's own parameters should have it.
func NewParameter(t *torch.Tensor) (*torch.Tensor, error) {
	return torch.Try(func() *torch.Tensor {
		requireGrad(t)
		return t
	})
}

func requireGrad(t *torch.Tensor) {
	if t != nil && (t.DType().IsFloat() || t.DType().IsComplex()) {
		inplace("aten::requires_grad_", t, true)
	}
}

// A builder makes one layer.
type builder struct {
	m       layer
	c       *class
	factory []torch.Kwarg // dtype and device
}

func (b *builder) bind(args []any, options []Option) error {
	c, l := b.c, b.m.core()
	if len(args) > len(c.Params) {
		return ir.Errorf(ir.ErrType, "%s.__init__() takes at most %d positional arguments but %d were given", c.Name, len(c.Params)+1, len(args)+1)
	}
	l.attrs = make([]attribute, len(c.Params))
	for i, p := range c.Params {
		l.attrs[i].name = p.Name
		if i < len(args) {
			l.attrs[i].value = argument(args[i])
		}
	}
	for _, o := range options {
		if o.Name == "dtype" || o.Name == "device" {
			if o.Value != nil {
				b.factory = append(b.factory, o)
			}
			continue
		}
		at := -1
		for i, p := range c.Params {
			if p.Name == o.Name {
				at = i
			}
		}
		if at < 0 {
			return ir.Errorf(ir.ErrType, "%s.__init__() got an unexpected keyword argument '%s'", c.Name, o.Name)
		}
		if l.attrs[at].value != nil {
			return ir.Errorf(ir.ErrType, "%s.__init__() got multiple values for argument '%s'", c.Name, o.Name)
		}
		l.attrs[at].value = argument(o.Value)
	}
	for i, p := range c.Params {
		if l.attrs[i].value != nil {
			continue
		}
		if p.Default == nil {
			return ir.Errorf(ir.ErrType, "%s.__init__() missing 1 required positional argument: '%s'", c.Name, p.Name)
		}
		l.attrs[i].value = p.Default
	}
	return nil
}

// argument returns what a constructor was given as Python would hold it: a
// slice is a tuple. What is no literal stays as it is.
func argument(v any) any {
	switch v := v.(type) {
	case nil:
		return ir.None{}
	case ir.List:
		return v
	case ir.Arg:
		return v
	case *torch.Tensor:
		if v == nil {
			return ir.None{}
		}
		return v
	case bool:
		return ir.Bool(v)
	case string:
		return ir.Str(v)
	}
	switch r := reflect.ValueOf(v); {
	case r.CanInt():
		return ir.Int(r.Int())
	case r.CanUint() && r.Uint() < 1<<63:
		return ir.Int(r.Uint())
	case r.CanFloat():
		return ir.Float(r.Float())
	case r.Kind() == reflect.Slice || r.Kind() == reflect.Array:
		items := make([]ir.Arg, r.Len())
		for i := range items {
			item, ok := argument(r.Index(i).Interface()).(ir.Arg)
			if !ok {
				return v
			}
			items[i] = item
		}
		return ir.TupleOf(items...)
	}
	return v
}

// tuple makes a number a tuple of n; lists become tuples, the rest stays.
func tuple(v any, n int) any {
	switch v := v.(type) {
	case ir.Int, ir.Float:
		items := make([]ir.Arg, n)
		for i := range items {
			items[i] = v.(ir.Arg)
		}
		return ir.TupleOf(items...)
	case ir.List:
		items := make([]ir.Arg, v.Len())
		for i := range items {
			items[i] = v.At(i)
		}
		return ir.TupleOf(items...)
	}
	return v
}

func (b *builder) attr(name string) any { return b.c.given(b.m, name) }

// given is get for what the constructor was given, where a tensor of the same
// name stands beside it.
func (c *class) given(m layer, name string) any {
	for _, a := range m.core().attrs {
		if a.name == name {
			return a.value
		}
	}
	return c.get(m, name)
}

// put replaces an attribute.
func (b *builder) put(name string, value any) {
	attrs := b.m.core().attrs
	for i := range attrs {
		if attrs[i].name == name {
			attrs[i].value = value
			return
		}
	}
	b.m.core().attrs = append(attrs, attribute{name, value})
}

// set fills a tensor field.
func (b *builder) set(name string, t *torch.Tensor) {
	reflect.ValueOf(b.m).Elem().Field(b.c.fields[name]).Set(reflect.ValueOf(t))
}

// The attributes by type; what is of another is an error of the caller.

func (b *builder) int(name string) int {
	n, ok := b.attr(name).(ir.Int)
	if !ok {
		b.fail(ir.ErrType, "%s(): argument '%s' must be int, not %s", b.c.Name, name, torch.Describe(b.attr(name)))
	}
	return int(n)
}

func (b *builder) bool(name string) bool { v, _ := b.attr(name).(ir.Bool); return bool(v) }

func (b *builder) string(name string) string { s, _ := b.attr(name).(ir.Str); return string(s) }

func (b *builder) ints(name string) []int { return ints(b.attr(name)) }

func (b *builder) fail(class *ir.Class, format string, args ...any) {
	panic(&torch.Error{Op: b.c.Name, Err: ir.Errorf(class, format, args...)})
}
