package script

import (
	"fmt"
	"strings"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// An operation is one node of the program with the values that it reads.
type operation struct {
	*translator
	f  *frame
	n  *libtorch.ScriptNode
	in []any
}

// A handler translates operations of one kind; of those that it leaves to others it says
// that they are not done.
type handler func(o *operation) (out any, done bool, err error)

// several are the values of an operation with another number of them than one.
type several []any

// node translates one operation of the program.
func (t *translator) node(f *frame, n *libtorch.ScriptNode) error {
	o := &operation{t, f, n, make([]any, len(n.Inputs))}
	for i, id := range n.Inputs {
		o.in[i] = t.values[id]
	}
	switch n.Kind {
	case "prim::If":
		values, err := t.branches(f, n, func(f *frame, which int) ([]any, error) { return t.block(f, n.Blocks[which]) })
		return o.set(several(values), err)
	case "prim::Loop":
		return t.loop(f, n)
	}
	for _, h := range []handler{structural[n.Kind], (*operation).scalar, (*operation).operator} {
		if h == nil {
			continue
		}
		out, done, err := h(o)
		if err != nil {
			return about(n, err)
		}
		if done {
			return o.set(out, nil)
		}
	}
	return t.refuse(n, "a graph has no such operation")
}

func (o *operation) set(out any, err error) error {
	if err != nil {
		return err
	}
	values, ok := out.(several)
	if !ok {
		values = several{out}
	}
	if len(values) < len(o.n.Outputs) {
		return o.refuse(o.n, "expected %d values, got %d", len(o.n.Outputs), len(values))
	}
	for i, v := range o.n.Outputs {
		o.values[v.ID] = values[i]
	}
	return nil
}

// typeIn is the type of an input, as TorchScript writes it.
func (o *operation) typeIn(i int) string { return o.types[o.n.Inputs[i]] }

// arg is an input as an argument.
func (o *operation) arg(i int) (ir.Arg, error) { return o.translator.arg(o.f, o.in[i]) }

// call appends a call on the inputs as they are.
func (o *operation) call(name string) (any, bool, error) {
	args, err := o.args(o.f, o.in)
	if err != nil {
		return nil, false, err
	}
	return o.f.call(name, args...), true, nil
}

// operator translates a call of an operator of the dispatcher.
func (o *operation) operator() (any, bool, error) {
	s := ir.Operators().Lookup(operatorName(o.n))
	if s == nil || len(s.Args) != len(o.in) {
		return nil, false, nil
	}
	var args []ir.Arg
	var kw []ir.Keyword
	keep := 0 // up to the last that is not its default
	for i, p := range s.Args {
		a, err := o.arg(i)
		if err == nil {
			a, err = typed(a, p.Type)
		}
		if err != nil {
			return nil, false, fmt.Errorf("argument %s: %w", p.Name, err)
		}
		standard := p.Default != nil && ir.EqualArgs(a, p.Default)
		switch {
		case p.KeywordOnly && !standard:
			kw = append(kw, ir.Kw(p.Name, a))
		case !p.KeywordOnly:
			if args = append(args, a); !standard {
				keep = len(args)
			}
		}
	}
	call := o.f.callKw(ir.OverloadOf(s.Op), args[:keep], kw)
	if len(s.Returns) == 1 {
		return call, true, nil
	}
	out := several{}
	for i := range s.Returns {
		out = append(out, o.f.call("operator.getitem", call, ir.Int(i)))
	}
	return out, true, nil
}

// typed gives a number the meaning that a parameter's type says.
func typed(a ir.Arg, t ir.Type) (ir.Arg, error) {
	n, ok := a.(ir.Int)
	if !ok {
		return a, nil
	}
	switch t.Required().Kind {
	case ir.TypeDType:
		return ir.DTypeFromC10(int(n))
	case ir.TypeLayout:
		return ir.LayoutFromC10(int(n))
	case ir.TypeMemoryFormat:
		return ir.MemoryFormatFromC10(int(n))
	}
	return a, nil
}

// scalars are what TorchScript's operators on numbers are in Python.
var scalars = map[string]string{
	"aten::add": "operator.add", "aten::sub": "operator.sub", "aten::mul": "operator.mul",
	"aten::div": "operator.truediv", "aten::floordiv": "operator.floordiv", "aten::remainder": "operator.mod",
	"aten::neg": "operator.neg", "aten::eq": "operator.eq", "aten::ne": "operator.ne",
	"aten::lt": "operator.lt", "aten::le": "operator.le", "aten::gt": "operator.gt", "aten::ge": "operator.ge",
	"aten::__and__": "operator.and_", "aten::__or__": "operator.or_", "aten::__xor__": "operator.xor",
	"aten::__lshift__": "operator.lshift", "aten::__rshift__": "operator.rshift",
	"aten::__not__": "operator.not_", "aten::Int": "int", "aten::Float": "float", "aten::Bool": "bool",
	"aten::pow": "operator.pow", "aten::floor": "math.floor", "aten::ceil": "math.ceil", "aten::sqrt": "math.sqrt",
	"aten::log": "math.log", "aten::exp": "math.exp", "aten::round": "builtins.round",
	"prim::min": "builtins.min", "prim::max": "builtins.max", "prim::abs": "builtins.abs",
}

// scalar translates an operator on numbers, and computes it where they are known.
func (o *operation) scalar() (any, bool, error) {
	name, ok := scalars[o.n.Kind]
	if !ok {
		return nil, false, nil
	}
	args := make([]ir.Arg, len(o.in))
	known := true
	for i, v := range o.in {
		if strings.Contains(o.typeIn(i), "Tensor") {
			return nil, false, nil
		}
		a, err := o.arg(i)
		if err != nil {
			return nil, false, err
		}
		args[i] = a
		_, isLiteral := literal(v)
		known = known && isLiteral
	}
	if o.n.Kind == "aten::pow" && o.typeIn(0) == "int" && o.n.Outputs[0].Type == "float" {
		if args[0], ok = args[0].(ir.Int); ok {
			args[0] = ir.Float(args[0].(ir.Int))
		} else {
			a, err := o.arg(0)
			if err != nil {
				return nil, false, err
			}
			args[0] = o.f.call("float", a)
		}
	}
	if len(args) == 2 { // a dtype is a number in TorchScript
		for i, a := range args {
			if n, ok := a.(*ir.Node); ok && o.dtypes[n] {
				other, err := typed(args[1-i], ir.Type{Kind: ir.TypeDType})
				if err != nil {
					return nil, false, err
				}
				args[1-i] = other
			}
		}
	}
	if !known {
		return o.f.call(name, args...), true, nil
	}
	values := make([]any, len(args))
	for i, a := range args {
		values[i] = torch.FromArg(a)
	}
	v, err := torch.Invoke(nil, ir.FuncOf(name), values, nil)
	if err != nil {
		return nil, false, err
	}
	c, err := constant(v, o.n.Outputs[0].Type)
	return c, true, err
}
