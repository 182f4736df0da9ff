package nn

import (
	"reflect"
	"sync"

	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn/functional"
	"github.com/torchfx-go/torchfx/nn/internal/layers"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// An Option is an argument of a layer by its Python name: the functions With…
// of this package make them, and torch.Kw does. Numbers may be any Go number,
// tuples are []int, []float64 or []any.
type Option = torch.Kwarg

// WithDType is the argument dtype of every layer that makes tensors.
func WithDType(dt torch.DType) Option { return Option{Name: "dtype", Value: dt} }

// WithDevice is the argument device of every layer that makes tensors.
func WithDevice(d torch.Device) Option { return Option{Name: "device", Value: d} }

// leaf is embedded by the layers of this package. Their Forward is the call
// itself, so that a model which calls a layer's Forward is traced rightly.
type leaf struct {
	Base
	attrs []attribute // what the constructor was given, defaults too; never changed
}

type attribute struct {
	name  string
	value any // an ir.Arg, a tensor, or what else was given
}

func (*leaf) layer() {}

func (l *leaf) core() *leaf { return l }

// A layer is a module of the table.
type layer interface {
	Module
	layer()
	core() *leaf
}

// A class is what the table says, ready for use.
type class struct {
	*layers.Class
	fields map[string]int // of the tensors, in the Go struct
}

var classes = sync.OnceValue(func() map[string]*class {
	all := map[string]*class{}
	for _, c := range layers.Table() {
		made := types[c.Name]()
		fields := map[string]int{}
		v := reflect.TypeOf(made).Elem()
		for i := range v.NumField() {
			if f := v.Field(i); f.Type == tensorType {
				fields[Describe(f).Name] = i
			}
		}
		all[c.Name] = &class{c, fields}
	}
	return all
})

// classOf returns the class of a layer, nil for any other module.
func classOf(m Module) *class {
	if !isLayer(m) {
		return nil
	}
	return classes()[typeName(m)]
}

// param returns the class's parameter of a name, nil where it has none.
func (c *class) param(name string) *layers.Param {
	for i := range c.Params {
		if c.Params[i].Name == name {
			return &c.Params[i]
		}
	}
	return nil
}

// get returns an attribute of a layer: a tensor, an argument of its constructor.
func (c *class) get(m layer, name string) any {
	if i, ok := c.fields[name]; ok {
		return reflect.ValueOf(m).Elem().Field(i).Interface()
	}
	if name == "training" {
		return m.base().Training()
	}
	for _, a := range m.core().attrs {
		if a.name == name {
			return a.value
		}
	}
	for _, a := range c.Set {
		if a.Name == name {
			return a.Value
		}
	}
	if p := c.param(name); p != nil && p.Default != nil {
		return p.Default // of a layer that no constructor made
	}
	return nil
}

// Attribute returns an argument of a layer's constructor by its Python name, as
// PyTorch keeps it: the stride of a Conv2d is a tuple. ok is false where the
// layer has none of that name.
func Attribute(m Module, name string) (value ir.Arg, ok bool) {
	c := classOf(m)
	if c == nil {
		return nil, false
	}
	value, ok = c.get(m.(layer), name).(ir.Arg)
	return value, ok
}

// Arguments returns all arguments of a layer's constructor by their Python names,
// in Python's order and as PyTorch keeps them: [New] makes the same layer of them,
// but for its dtype and device. Values are an ir.Arg, a *torch.Tensor, a [Module] or
// a function. ok is false where m is no layer.
func Arguments(m Module) (args []Option, ok bool) {
	c := classOf(m)
	if c == nil {
		return nil, false
	}
	for _, p := range c.Params {
		if p.Name == "proj_size" && c.Name != "LSTM" {
			continue // a parameter there too, but to be refused
		}
		args = append(args, Option{Name: p.Name, Value: c.given(m.(layer), p.Name)})
	}
	return args, true
}

// run calls a layer: a trace is told of it.
func run(m layer, options []Option, args ...any) any {
	if s := m.base().shadow; s != nil && s.Path != "" && reflect.TypeOf(s.Of) == reflect.TypeOf(m) { // not of a struct that embeds the layer
		given := args
		for _, o := range options {
			given = append(given[:len(given):len(given)], o)
		}
		return s.Caller.CallModule(s, given, func() any { return forward(m, args, options) })
	} else if s == nil {
		refuseForeign(m, args...)
		for _, o := range options {
			refuseForeign(m, o.Value)
		}
	}
	return forward(m, args, options)
}

// A frame is one run of a layer's forward.
type frame struct {
	m    layer
	c    *class
	args []any // by the parameters of forward
}

// forward computes what Python's forward does.
func forward(m layer, args []any, kw []Option) any {
	c := classOf(m)
	f := &frame{m: m, c: c, args: make([]any, len(c.Forward))}
	if err := f.bind(args, kw); err != nil {
		panic(&torch.Error{Op: c.Name, Err: err})
	}
	if c.Call == nil {
		return bodies[c.Name](f)
	}
	return f.call(c.Call)
}

func (f *frame) bind(args []any, kw []Option) error {
	params := f.c.Forward
	if len(args) > len(params) {
		return ir.Errorf(ir.ErrType, "%s.forward() takes %d positional arguments but %d were given", f.c.Name, len(params)+1, len(args)+1)
	}
	given := make([]bool, len(params))
	for i, a := range args {
		f.args[i], given[i] = a, true
	}
keywords:
	for _, k := range kw {
		for i, p := range params {
			if p.Name != k.Name {
				continue
			}
			if given[i] {
				return ir.Errorf(ir.ErrType, "%s.forward() got multiple values for argument '%s'", f.c.Name, k.Name)
			}
			f.args[i], given[i] = k.Value, true
			continue keywords
		}
		return ir.Errorf(ir.ErrType, "%s.forward() got an unexpected keyword argument '%s'", f.c.Name, k.Name)
	}
	for i, p := range params {
		if given[i] {
			continue
		}
		if p.Default == nil {
			return ir.Errorf(ir.ErrType, "%s.forward() missing 1 required positional argument: '%s'", f.c.Name, p.Name)
		}
		f.args[i] = torch.FromArg(p.Default)
	}
	return nil
}

// arg returns an argument of forward.
func (f *frame) arg(name string) any {
	for i, p := range f.c.Forward {
		if p.Name == name {
			return f.args[i]
		}
	}
	return nil
}

// put replaces an argument of forward.
func (f *frame) put(name string, t *torch.Tensor) {
	for i, p := range f.c.Forward {
		if p.Name == name {
			f.args[i] = t
		}
	}
}

// in returns a tensor argument of forward, nil for None.
func (f *frame) in(name string) *torch.Tensor {
	v := f.arg(name)
	if v == nil {
		return nil
	}
	if _, none := v.(ir.None); none {
		return nil
	}
	return torch.As[*torch.Tensor](v)
}

// self returns an attribute of the layer, as a literal or a tensor.
func (f *frame) self(name string) any {
	v := f.c.get(f.m, name)
	if t, ok := v.(*torch.Tensor); ok {
		Read(t)
	}
	return v
}

// t returns a tensor of the layer.
func (f *frame) t(name string) *torch.Tensor { t, _ := f.self(name).(*torch.Tensor); return t }

func (f *frame) bool(name string) bool { return truth(f.self(name)) }

func truth(v any) bool {
	switch v := v.(type) {
	case bool:
		return v
	case ir.Bool:
		return bool(v)
	}
	return false
}

func (f *frame) int(name string) int { n, _ := f.self(name).(ir.Int); return int(n) }

func (f *frame) string(name string) string { s, _ := f.self(name).(ir.Str); return string(s) }

// float returns a number, which may be an int in Python.
func (f *frame) float(name string) float64 { return number(f.self(name)) }

func number(v any) float64 {
	switch v := v.(type) {
	case ir.Int:
		return float64(v)
	case ir.Float:
		return float64(v)
	}
	return 0
}

// ints returns a tuple of the layer as numbers.
func (f *frame) ints(name string) []int { return ints(f.self(name)) }

func ints(v any) []int {
	var out []int
	switch v := v.(type) {
	case ir.Int:
		out = append(out, int(v))
	case ir.Tuple:
		for i := range v.Len() {
			n, _ := v.At(i).(ir.Int)
			out = append(out, int(n))
		}
	}
	return out
}

func (f *frame) fail(class *ir.Class, format string, args ...any) {
	panic(&torch.Error{Op: f.c.Name, Err: ir.Errorf(class, format, args...)})
}

// call makes the call that a class's forward is.
func (f *frame) call(c *layers.Call) any {
	if c.Func == "" {
		return f.arg(c.On)
	}
	args := make([]any, 0, len(c.Args)+1)
	var kw []torch.Kwarg
	if c.On != "F" && c.On != "torch" {
		args = append(args, f.arg(c.On))
	}
	for i := range c.Args {
		v := f.operand(&c.Args[i])
		if k := c.Args[i].Keyword; k != "" {
			kw = append(kw, torch.Kw(k, v))
		} else {
			args = append(args, v)
		}
	}
	switch c.On {
	case "F":
		return functional.Call(c.Func, args, kw)
	case "torch":
		return torch.Dispatch(ir.CallFunction, ir.FuncOf("torch."+c.Func), args, kw)
	}
	return torch.Dispatch(ir.CallMethod, c.Func, args, kw)
}

func (f *frame) operand(o *layers.Operand) any {
	switch {
	case o.Self != "":
		v := f.self(o.Self)
		if n, isInt := v.(ir.Int); isInt && o.Float {
			return ir.Float(n)
		}
		return v
	case o.Arg != "":
		return f.arg(o.Arg)
	}
	return o.Literal
}

// one takes a layer's result for a tensor.
func one(v any) *torch.Tensor { return torch.As[*torch.Tensor](v) }

// two takes a layer's result for a pair of tensors.
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
