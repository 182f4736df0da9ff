package torchops

import (
	"math"
	"strings"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
)

// A Kwarg is a keyword argument; see [Kw].
type Kwarg struct {
	Name  string
	Value any
}

// Kw makes a keyword argument. It stands after the positional ones, among the
// arguments of [Call] and of methods that take options: x.Clamp(torch.Kw("min", 0)).
func Kw(name string, v any) Kwarg { return Kwarg{name, v} }

// Call calls a dispatcher operator without gradients and on one thread. op is
// "aten::add.Tensor" or "torch.ops.aten.add.Tensor"; no overload name means the
// default overload. The last arguments may be [Kw] and [In].
//
// Arguments are matched with the schema of the libtorch that runs: what is
// missing takes its default there, and values are converted as Python does it
// (an int to a float, a number to a Scalar of its kind, one int to an int[2]),
// and a number where a Tensor is expected to a wrapped one, whose dtype gives
// way. Any Go integer is an int, any slice of values a list; see [Tensor],
// [List], [SymInt], and the constants of dtypes and layouts.
//
// The result is nil for none, the value for one, and an [ir.PyTuple] for
// several; a list is a []any, a dtype an [ir.DType]. Tensors belong to the caller or to the scope that
// they join, each by itself, also where an operator returns its argument. Errors
// are *[Error], of the class that Python would raise.
func Call(op string, args ...any) (any, error) {
	args, kw := splitKwargs(args)
	return CallMode(nil, op, args, kw)
}

// SplitKwargs takes the keywords off the end of args.
func SplitKwargs(args []any) (positional []any, kw []Kwarg) { return splitKwargs(args) }

// splitKwargs takes the keywords off the end of args.
func splitKwargs(args []any) (positional []any, kw []Kwarg) {
	n := 0
	for n < len(args) {
		if _, ok := args[n].(Kwarg); ok {
			break
		}
		n++
	}
	positional = args[:n]
	for _, a := range args[n:] {
		if k, ok := a.(Kwarg); ok {
			kw = append(kw, k)
		} else {
			// a scope, or a positional argument after a keyword, which then
			// counts as one too many
			positional = append(positional[:len(positional):len(positional)], a)
		}
	}
	return positional, kw
}

// CallMode is [Call] under modes of libtorch, nil for none, with the keywords
// apart.
func CallMode(m *libtorch.Mode, op string, args []any, kw []Kwarg) (any, error) {
	return callNamed(m, op, args, kw, false)
}

// callNamed is CallMode; strict as torch.ops is: see call.
func callNamed(m *libtorch.Mode, op string, args []any, kw []Kwarg, strict bool) (any, error) {
	o, err := find(op)
	if err == nil {
		err = checkCall(args, kw)
	}
	if err != nil {
		return nil, failed(op, nil, nil, err)
	}
	c := call{mode: m, schema: o.Schema(), scope: scopeOf(args, kw), strict: strict}
	v, err := c.run(o, args, kw)
	if err != nil {
		return nil, operatorError(o.Schema(), args, kw, err)
	}
	return v, nil
}

// find resolves an operator by either spelling.
func find(op string) (*libtorch.Operator, error) {
	if strings.HasPrefix(op, "torch.ops.") {
		f := ir.FuncOf(op)
		if f.Op() == "" {
			return nil, ir.Errorf(ir.ErrUnsupported, "%s: expected an overload of an operator, torch.ops.<namespace>.<name>.<overload>", op)
		}
		op = f.Op()
	}
	o, err := libtorch.Find(op)
	if err != nil && !strings.Contains(op, "::") {
		if f := ir.FuncOf(op); implementationOf(f) != nil {
			return nil, ir.Errorf(ir.ErrUnsupported, `expected an operator, as "aten::add.Tensor"; %s is a function, which Invoke calls`, op)
		}
	}
	return o, err
}

func (c *call) run(o *libtorch.Operator, args []any, kw []Kwarg) (any, error) {
	defer c.release()
	encoded, err := c.bind(args, kw)
	if err != nil {
		return nil, err
	}
	results, err := o.Call(c.mode, encoded)
	if err != nil {
		return nil, err
	}
	return c.results(results), nil
}

// operatorError describes the arguments by their names in the schema.
func operatorError(s *ir.Schema, args []any, kw []Kwarg, cause error) error {
	cause = whereKernelsAre(s.Op, cause)
	err := failed(s.Op, args, kw, cause)
	if e, ok := err.(*Error); ok && e.Err == cause {
		for i := range e.Args {
			if i < len(args) && i < len(s.Args) {
				e.Args[i] = s.Args[i].Name + ": " + e.Args[i]
			}
		}
	}
	return err
}

// A call is one call of an operator while its arguments are made ready.
type call struct {
	mode   *libtorch.Mode
	schema *ir.Schema
	public bool               // what a signature accepted is converted, as torch.add does it; else as torch.ops.aten.add.Tensor does, with numbers let in for tensors
	strict bool               // a number is no tensor, but for the operators where torch.ops takes one
	scope  *Scope             // that the results join
	made   []*libtorch.Tensor // temporaries, closed after the call
}

func (c *call) release() {
	for _, h := range c.made {
		_ = h.Close()
	}
}

// result turns a value of the bridge into one of a run.
func (c *call) result(v any) any {
	switch v := v.(type) {
	case *libtorch.Tensor:
		if v == nil {
			return nil
		}
		t := FromHandle(v)
		if c.scope != nil {
			c.scope.Add(t)
		}
		return t
	case []*libtorch.Tensor:
		return listOf(v, func(h *libtorch.Tensor) any { return c.result(h) })
	case []int64:
		return listOf(v, func(n int64) any { return n })
	case []float64:
		return listOf(v, func(x float64) any { return x })
	case []bool:
		return listOf(v, func(b bool) any { return b })
	case []string:
		return listOf(v, func(s string) any { return s })
	case []complex128:
		return listOf(v, func(z complex128) any { return z })
	case []any:
		return listOf(v, c.result)
	case uint64:
		if v <= math.MaxInt64 {
			return int64(v)
		}
	}
	return v
}
