package script

import (
	"slices"
	"strconv"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// structural are the operations that are none of the dispatcher: of values, lists,
// attributes and control.
var structural map[string]handler

func init() {
	pass := func(o *operation) (any, bool, error) { return o.in[0], true, nil }
	structural = map[string]handler{
		"prim::Constant":                  (*operation).constant,
		"prim::GetAttr":                   (*operation).getAttr,
		"prim::SetAttr":                   (*operation).setAttr,
		"prim::RaiseException":            (*operation).raise,
		"prim::Print":                     func(o *operation) (any, bool, error) { return nil, false, o.refuse(o.n, "a graph does not print") },
		"aten::warn":                      func(*operation) (any, bool, error) { return several{}, true, nil },
		"prim::Uninitialized":             func(*operation) (any, bool, error) { return unsetValue{}, true, nil },
		"prim::unchecked_cast":            pass,
		"prim::unchecked_unwrap_optional": pass,
		"aten::_unwrap_optional":          pass,
		"prim::ListConstruct":             func(o *operation) (any, bool, error) { return &listValue{slices.Clone(o.in), o.f}, true, nil },
		"prim::TupleConstruct":            func(o *operation) (any, bool, error) { return tupleValue(slices.Clone(o.in)), true, nil },
		"prim::DictConstruct":             (*operation).dict,
		"prim::ListUnpack":                (*operation).unpack,
		"prim::TupleUnpack":               (*operation).unpack,
		"prim::TupleIndex":                (*operation).getItem,
		"aten::__getitem__":               (*operation).getItem,
		"aten::_set_item":                 (*operation).setItem,
		"aten::append":                    (*operation).grow,
		"aten::extend":                    (*operation).grow,
		"aten::add_":                      (*operation).grow,
		"aten::list":                      (*operation).listOf,
		"aten::slice":                     (*operation).slice,
		"aten::len":                       (*operation).length,
		"aten::size":                      (*operation).size,
		"aten::numel":                     func(o *operation) (any, bool, error) { return o.call("torch.ops.aten.sym_numel.default") },
		"aten::keys":                      (*operation).entries,
		"aten::values":                    (*operation).entries,
		"aten::items":                     (*operation).entries,
		"aten::__contains__":              (*operation).contains,
		"aten::__range_length":            (*operation).rangeLength,
		"aten::__derive_index":            (*operation).deriveIndex,
		"aten::__is__":                    (*operation).is,
		"aten::__isnot__":                 (*operation).is,
		"aten::__not__":                   (*operation).negate,
		"aten::add":                       (*operation).concat,
		"aten::mul":                       (*operation).repeat,
		"aten::format":                    (*operation).format,
		"aten::percentFormat":             func(*operation) (any, bool, error) { return textValue("{}"), true, nil },
		"prim::NumToTensor":               (*operation).numToTensor,
		"aten::tensor":                    (*operation).makeTensor,
		"aten::Int":                       (*operation).number,
		"aten::Float":                     (*operation).number,
		"aten::Bool":                      (*operation).number,
		"aten::IntImplicit":               (*operation).number,
		"aten::FloatImplicit":             (*operation).number,
		"aten::ScalarImplicit":            (*operation).number,
		"aten::item":                      (*operation).number,
		"aten::to":                        (*operation).to,
	}
	for _, name := range []string{"dtype", "device", "layout", "is_cuda", "is_meta", "is_sparse", "is_quantized", "requires_grad", "data"} {
		structural["prim::"+name] = func(o *operation) (any, bool, error) { return o.property(name) }
	}
}

func (o *operation) constant() (any, bool, error) {
	if !o.n.Given {
		return moduleValue{}, true, nil // a function, of which only calls count
	}
	v, err := constant(o.n.Value, o.n.Outputs[0].Type)
	if err != nil {
		return nil, false, err
	}
	return o.named(v, "constant_"+strconv.FormatInt(o.n.Outputs[0].ID, 10)), true, nil
}

func (o *operation) getAttr() (any, bool, error) {
	if !o.n.Given {
		if o.n.Attr == "" {
			return nil, false, o.refuse(o.n, "a graph has no objects")
		}
		return moduleValue{}, true, nil
	}
	v, err := constant(o.n.Value, o.n.Outputs[0].Type)
	if err != nil {
		return nil, false, err
	}
	return o.named(v, o.n.Attr), true, nil
}

func (o *operation) setAttr() (any, bool, error) {
	return nil, false, o.refuse(o.n, "the code sets the attribute %s, and a graph has none to set", o.n.Attr)
}

func (o *operation) raise() (any, bool, error) {
	r := &raised{message: "the program raises an exception"}
	switch s := o.in[0].(type) {
	case ir.Str:
		r.message = string(s)
	case textValue:
		r.message = string(s)
	}
	return nil, false, r
}

// rangeLength is how many rounds range(start, stop, step) has.
func (o *operation) rangeLength() (any, bool, error) {
	start, ok1 := o.in[0].(ir.Int)
	stop, ok2 := o.in[1].(ir.Int)
	step, ok3 := o.in[2].(ir.Int)
	switch {
	case !ok3 || step == 0:
		return nil, false, o.refuse(o.n, "the step of the range is known to a run alone")
	case ok1 && ok2 && step > 0:
		return max(0, (stop-start+step-1)/step), true, nil
	case ok1 && ok2:
		return max(0, (start-stop-step-1)/-step), true, nil
	}
	args, err := o.args(o.f, o.in[:2])
	if err != nil {
		return nil, false, err
	}
	if step < 0 {
		args[0], args[1], step = args[1], args[0], -step
	}
	n := o.f.call("operator.sub", args[1], args[0])
	if step != 1 { // rounded up
		n = o.f.call("operator.floordiv", o.f.call("operator.add", n, step-1), step)
	}
	return o.f.call("builtins.max", n, ir.Int(0)), true, nil
}

// deriveIndex is start + round*step.
func (o *operation) deriveIndex() (any, bool, error) {
	round, ok1 := o.in[0].(ir.Int)
	start, ok2 := o.in[1].(ir.Int)
	step, ok3 := o.in[2].(ir.Int)
	if ok1 && ok2 && ok3 {
		return start + round*step, true, nil
	}
	args, err := o.args(o.f, o.in)
	if err != nil {
		return nil, false, err
	}
	return o.f.call("operator.add", args[1], o.f.call("operator.mul", args[0], args[2])), true, nil
}

// is compares with None, mostly.
func (o *operation) is() (any, bool, error) {
	yes := ir.Bool(o.n.Kind == "aten::__is__")
	for i, v := range o.in {
		if _, none := v.(ir.None); !none {
			continue
		}
		switch o.in[1-i].(type) {
		case ir.None:
			return yes, true, nil
		case *ir.Node:
			if !o.mayBeNone(o.in[1-i]) {
				return !yes, true, nil
			}
		case unsetValue:
		default:
			return !yes, true, nil
		}
	}
	if yes {
		return o.call("operator.is_")
	}
	return o.call("operator.is_not")
}

func (o *operation) negate() (any, bool, error) {
	v, err := o.not(o.f, o.in[0])
	return v, true, err
}

// not is not v.
func (t *translator) not(f *frame, v any) (any, error) {
	if b, known := boolean(v); known {
		return ir.Bool(!b), nil
	}
	if truth, ok := v.(truthValue); ok {
		return truthValue{f.call("torch.ops.aten.logical_not.default", truth.of)}, nil
	}
	a, err := t.arg(f, v)
	if err != nil {
		return nil, err
	}
	return f.call("operator.eq", a, ir.Bool(false)), nil // which code of a graph can name, unlike not_
}

// format fills in a text, as far as it is known.
func (o *operation) format() (any, bool, error) {
	text, ok := o.in[0].(ir.Str)
	if !ok {
		return textValue("{}"), true, nil
	}
	out, rest := "", string(text)
	for _, v := range o.in[1:] {
		before, after, found := strings.Cut(rest, "{}")
		if !found {
			break
		}
		part := "{}"
		switch v := v.(type) {
		case ir.Str:
			part = string(v)
		case ir.Int, ir.Bool:
			part = ir.Repr(v.(ir.Arg))
		default:
			ok = false
		}
		out, rest = out+before+part, after
	}
	if out += rest; !ok {
		return textValue(out), true, nil
	}
	return ir.Str(out), true, nil
}

// numToTensor makes a tensor of a number.
func (o *operation) numToTensor() (any, bool, error) {
	a, err := o.arg(0)
	if err != nil {
		return nil, false, err
	}
	dtype := map[string]ir.DType{"int": ir.Int64, "float": ir.Float64, "bool": ir.Bool8}[o.typeIn(0)]
	var kw []ir.Keyword
	if dtype != 0 {
		kw = append(kw, ir.Kw("dtype", dtype))
	}
	n := o.f.callKw(ir.OverloadOf("aten::scalar_tensor"), []ir.Arg{a}, kw)
	if o.typeIn(0) == "int" {
		o.numbers[n] = o.in[0]
	}
	return n, true, nil
}

// makeTensor is torch.tensor.
func (o *operation) makeTensor() (any, bool, error) {
	args, err := o.args(o.f, o.in)
	if err != nil {
		return nil, false, err
	}
	var kw []ir.Keyword
	if dtype, err := typed(args[1], ir.Type{Kind: ir.TypeDType}); err != nil {
		return nil, false, err
	} else if dtype != ir.Arg(ir.None{}) {
		kw = append(kw, ir.Kw("dtype", dtype))
	}
	if args[2] != ir.Arg(ir.None{}) {
		kw = append(kw, ir.Kw("device", args[2]))
	}
	return o.f.callKw(ir.FuncOf("torch.tensor"), args[:1], kw), true, nil
}

// predicates are operators whose results are boolean tensors.
var predicates = []string{
	"gt", "lt", "ge", "le", "eq", "ne", "logical_and", "logical_or", "logical_not", "logical_xor",
	"isnan", "isinf", "isfinite", "any", "all", "isclose",
}

// number reads a tensor as a number.
func (o *operation) number() (any, bool, error) {
	x, ok := o.in[0].(*ir.Node)
	if !ok || o.typeIn(0) != "Tensor" {
		if v, ok := o.in[0].(truthValue); ok && o.n.Kind == "aten::Bool" {
			return v, true, nil
		}
		return nil, false, nil
	}
	dtype := ir.DType(0)
	switch o.n.Kind {
	case "aten::Int", "aten::IntImplicit":
		if v, ok := o.numbers[x]; ok {
			return v, true, nil
		}
		dtype = ir.Int64
	case "aten::Float", "aten::FloatImplicit":
		dtype = ir.Float64
	case "aten::Bool":
		if f := x.Func(); f != nil && f.Kind() == ir.Overload && slices.Contains(predicates, f.Packet()) {
			return truthValue{x}, true, nil
		}
		return truthValue{o.f.call("torch.ops.aten.ne.Scalar", x, ir.Int(0))}, true, nil
	}
	if dtype != 0 {
		x = o.f.call("torch.ops.aten.to.dtype", x, dtype)
	}
	return o.f.call("torch.ops.aten.item.default", x), true, nil
}

// to translates the forms that TorchScript alone has.
func (o *operation) to() (any, bool, error) {
	args, err := o.args(o.f, o.in)
	if err != nil {
		return nil, false, err
	}
	var dtype int
	switch o.n.Overload {
	case "prim_dtype":
		dtype = 1
	case "prim_Device":
		dtype = 2
	case "prim_other":
		return o.in[0], true, nil
	default:
		return nil, false, nil
	}
	if args[dtype], err = typed(args[dtype], ir.Type{Kind: ir.TypeDType}); err != nil {
		return nil, false, err
	}
	var kw []ir.Keyword
	for i, name := range []string{"device", "dtype"} {
		if at := dtype - 1 + i; at >= 1 && at <= dtype && args[at] != ir.Arg(ir.None{}) {
			kw = append(kw, ir.Kw(name, args[at]))
		}
	}
	return o.f.graph.CallMethod("to", args[:1], ir.Kwargs(kw...)), true, nil
}

// property reads a property of a tensor.
func (o *operation) property(name string) (any, bool, error) {
	a, err := o.arg(0)
	if err != nil {
		return nil, false, err
	}
	n := o.f.call("getattr", a, ir.Str(name))
	if name == "dtype" {
		o.dtypes[n] = true
	}
	return n, true, nil
}
