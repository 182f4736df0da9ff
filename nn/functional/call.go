package functional

import (
	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// A call is one call of a [form] on real values. Its methods panic with a
// *torch.Error.
type call struct {
	mode   *libtorch.Mode
	form   *form
	values map[string]any
	made   []*torch.Tensor // by operators of this call, closed unless returned
}

// op calls an operator of the dispatcher; the last arguments may be torch.Kw.
func (c *call) op(name string, args ...any) any {
	var kw []torch.Kwarg
	for len(args) > 0 {
		k, ok := args[len(args)-1].(torch.Kwarg)
		if !ok {
			break
		}
		kw = append(kw, k)
		args = args[:len(args)-1]
	}
	v, err := torch.CallMode(c.mode, name, args, kw)
	if err != nil {
		panic(err)
	}
	eachTensor(v, func(t *torch.Tensor) { c.made = append(c.made, t) })
	return v
}

// tensor calls an operator that returns one tensor.
func (c *call) tensor(name string, args ...any) *torch.Tensor {
	return torch.As[*torch.Tensor](c.op(name, args...))
}

// tuple calls an operator that returns several values.
func (c *call) tuple(name string, args ...any) []any {
	switch v := c.op(name, args...).(type) {
	case ir.PyTuple:
		return v
	case []any:
		return v
	}
	return nil
}

// finish closes what the call made and does not return.
func (c *call) finish(result any) any {
	keep := map[*torch.Tensor]bool{}
	eachTensor(result, func(t *torch.Tensor) { keep[t] = true })
	for _, t := range c.made {
		if !keep[t] {
			_ = t.Close() // an error here means that it is closed already
		}
	}
	return result
}

func eachTensor(v any, f func(*torch.Tensor)) {
	switch v := v.(type) {
	case *torch.Tensor:
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

func (c *call) fail(class *ir.Class, format string, args ...any) {
	panic(&torch.Error{Op: c.form.target.Name(), Err: ir.Errorf(class, format, args...)})
}

// The arguments by name. What cannot be read as asked for is a TypeError.

func (c *call) arg(name string) any { return c.values[name] }

// args returns several arguments in order.
func (c *call) args(names ...string) []any {
	out := make([]any, len(names))
	for i, name := range names {
		out[i] = c.values[name]
	}
	return out
}

func (c *call) given(name string) bool { return c.values[name] != nil }

// t returns a tensor, nil for None.
func (c *call) t(name string) *torch.Tensor { return get[*torch.Tensor](c, name) }

func (c *call) bool(name string) bool { return get[bool](c, name) }

func (c *call) string(name string) string { return get[string](c, name) }

func (c *call) int(name string) int {
	return int(get[int64](c, name))
}

// float returns a number.
func (c *call) float(name string) float64 {
	if n, ok := c.values[name].(int64); ok {
		return float64(n)
	}
	return get[float64](c, name)
}

func get[T any](c *call, name string) (t T) {
	v := c.values[name]
	t, ok := v.(T)
	if !ok && v != nil {
		c.fail(ir.ErrType, "%s(): argument '%s' must be %T, not %s", c.form.name, name, t, torch.Describe(v))
	}
	return t
}

// items returns a list or tuple, or one value n times.
func (c *call) items(name string, n int) []any {
	switch v := c.values[name].(type) {
	case []any:
		return v
	case ir.PyTuple:
		return v
	default:
		items := make([]any, n)
		for i := range items {
			items[i] = v
		}
		return items
	}
}

// dims returns n numbers; one stands for all.
func (c *call) dims(name string, n int) []int {
	items := c.items(name, n)
	out := make([]int, len(items))
	for i, item := range items {
		k, ok := item.(int64)
		if !ok {
			c.fail(ir.ErrType, "%s(): argument '%s' must be int or tuple of ints, not %s", c.form.name, name, torch.Describe(item))
		}
		out[i] = int(k)
	}
	return out
}

// inplace returns the name of an operator or of its form that writes its input.
func (c *call) inplace(op string) string {
	if c.bool("inplace") {
		return op + "_"
	}
	return op
}

// reduction returns the number of the reduction, size_average and reduce first,
// as torch.nn._reduction has it.
func (c *call) reduction() int {
	name := c.reductionName()
	switch name {
	case "none":
		return 0
	case "mean", "elementwise_mean":
		return 1
	case "sum":
		return 2
	}
	c.fail(ir.ErrValue, "%s is not a valid value for reduction", name)
	return 0
}

func (c *call) reductionName() string {
	average, reduce := c.values["size_average"], c.values["reduce"]
	if average == nil && reduce == nil {
		return c.string("reduction")
	}
	switch {
	case reduce == false:
		return "none"
	case average == false:
		return "sum"
	}
	return "mean"
}

// reduce applies the reduction to a loss per element.
func (c *call) reduce(loss *torch.Tensor) *torch.Tensor {
	switch c.reduction() {
	case 1:
		return c.tensor("aten::mean", loss)
	case 2:
		return c.tensor("aten::sum", loss)
	}
	return loss
}

func sameShape(x, y *torch.Tensor) bool {
	a, b := x.Shape(), y.Shape()
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// size writes sizes as Python prints torch.Size.
func size(t *torch.Tensor) string {
	items := make([]ir.Arg, 0, 4)
	for _, n := range t.Shape() {
		items = append(items, ir.Int(n))
	}
	return "torch.Size(" + ir.Repr(ir.ListOf(items...)) + ")"
}
