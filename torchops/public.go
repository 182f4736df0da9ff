package torchops

import (
	"errors"
	"strings"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
)

// publicFunctions are the functions and methods of torch that this package can
// call by their Python names, each with its overloads in the order in which
// Python's parser tries them. "n" marks those where a number may stand for a
// tensor. torch.X and torch.Tensor.X are entered both, "f" or "m" is for one of
// them alone.
const publicFunctions = `
abs         aten::abs
add       n aten::add.Tensor
allclose    aten::allclose
arange    f aten::arange aten::arange.start aten::arange.start_step
argmax      aten::argmax
as_strided  aten::as_strided
cat       f aten::cat
chunk       aten::chunk
clamp       aten::clamp.Tensor aten::clamp
clone       aten::clone
contiguous m aten::contiguous
conv2d    f aten::conv2d aten::conv2d.padding
detach      aten::detach
div       n aten::div.Tensor aten::div.Tensor_mode
empty     f aten::empty.memory_format
eq          aten::eq.Tensor aten::eq.Scalar
equal       aten::equal
exp         aten::exp
expand    m aten::expand
eye       f aten::eye aten::eye.m
flatten     aten::flatten.using_ints
full      f aten::full
ge          aten::ge.Tensor aten::ge.Scalar
gt          aten::gt.Tensor aten::gt.Scalar
le          aten::le.Tensor aten::le.Scalar
linspace  f aten::linspace
log         aten::log
lt          aten::lt.Tensor aten::lt.Scalar
matmul      aten::matmul
max         aten::max aten::max.other aten::max.dim
maximum     aten::maximum
mean        aten::mean aten::mean.dim
min         aten::min aten::min.other aten::min.dim
minimum     aten::minimum
mul       n aten::mul.Tensor
narrow      aten::narrow aten::narrow.Tensor
ne          aten::ne.Tensor aten::ne.Scalar
neg         aten::neg
ones      f aten::ones
permute     aten::permute
pow         aten::pow.Tensor_Tensor aten::pow.Scalar aten::pow.Tensor_Scalar
rand      f aten::rand aten::rand.generator
randn     f aten::randn aten::randn.generator
relu        aten::relu
repeat    m aten::repeat
reshape     aten::reshape
select      aten::select.int
sigmoid     aten::sigmoid
softmax     aten::softmax.int
split_with_sizes aten::split_with_sizes
sqrt        aten::sqrt
squeeze     aten::squeeze aten::squeeze.dim aten::squeeze.dims
stack     f aten::stack
sub       n aten::sub.Tensor
sum         aten::sum aten::sum.dim_IntList
t           aten::t
tanh        aten::tanh
transpose   aten::transpose.int
unbind      aten::unbind.int
unsqueeze   aten::unsqueeze
view      m aten::view.dtype aten::view
where     f aten::where aten::where.self aten::where.ScalarSelf aten::where.ScalarOther aten::where.Scalar
zeros     f aten::zeros
`

// A public is a function of torch or a method of its tensors.
type public struct {
	name      string
	overloads []string
	match     matching
	method    bool
}

func init() {
	for line := range strings.Lines(publicFunctions) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		name, flag, overloads := words[0], "", words[1:]
		if len(overloads[0]) == 1 {
			flag, overloads = overloads[0], overloads[1:]
		}
		match := matchPublic
		if flag == "n" {
			match = matchPublicNumbers
		}
		if flag != "m" {
			definePublic("torch."+name, overloads, match, false)
		}
		if flag != "f" {
			definePublic("torch.Tensor."+name, overloads, match, true)
		}
	}
	definePublic("torch._C._nn.linear", []string{"aten::linear"}, matchPublic, false)
	for _, name := range []string{"torch.split", "torch.functional.split", "torch.Tensor.split"} {
		define(name, "tensor, split_size, dim?", func(m *libtorch.Mode, a []any) (any, error) {
			op := "aten::split.Tensor"
			if isSequence(a[1]) {
				op = "aten::split_with_sizes"
			}
			if a[2] == nil {
				a = a[:2]
			}
			return CallMode(m, op, a, nil)
		})
	}
	implementations.Store(ir.FuncOf("torch.Tensor.to"), &implementation{name: "to", call: to})
	for name, dt := range map[string]DType{
		"float": ir.Float32, "double": ir.Float64, "half": ir.Float16, "bfloat16": ir.BFloat16, "long": ir.Int64, "int": ir.Int32,
		"short": ir.Int16, "char": ir.Int8, "byte": ir.UInt8, "bool": ir.Bool8, "cfloat": ir.Complex64, "cdouble": ir.Complex128,
	} {
		define("torch.Tensor."+name, "self, memory_format?", func(m *libtorch.Mode, a []any) (any, error) {
			return to(m, []any{a[0], dt}, []Kwarg{{"memory_format", a[1]}})
		})
	}
}

func definePublic(name string, overloads []string, match matching, method bool) {
	p := &public{name, overloads, match, method}
	implementations.Store(ir.FuncOf(name), &implementation{name: name, call: p.call})
}

// call tries the overloads in order; the first that takes the arguments is
// called. Nothing is called, and no number made a tensor, before one does.
func (p *public) call(m *libtorch.Mode, args []any, kw []Kwarg) (any, error) {
	var reasons []string
	for _, op := range p.overloads {
		o, err := libtorch.Find(op)
		if err != nil {
			return nil, err
		}
		v, err := callOperator(m, o, p.spread(o.Schema(), args), kw, p.match)
		var refused *mismatch
		if !errors.As(err, &refused) {
			if err != nil {
				err = operatorError(o.Schema(), args, kw, err)
			}
			return v, err
		}
		reasons = append(reasons, refused.text)
	}
	if len(reasons) == 1 {
		return nil, ir.Errorf(ir.ErrType, "%s", reasons[0])
	}
	return nil, ir.Errorf(ir.ErrType, "received an invalid combination of arguments; none of the overloads takes them:\n%s", strings.Join(reasons, "\n"))
}

// spread gathers the integers of x.view(2, -1) and torch.zeros(2, 3) into the
// list that the schema has as its only positional argument.
func (p *public) spread(s *ir.Schema, args []any) []any {
	first := 0
	if p.method {
		first = 1
	}
	if s.Positional() != first+1 || len(args) <= first {
		return args
	}
	t := s.Args[first].Type.Required()
	if t.Kind != ir.TypeList || t.Elem.Kind != ir.TypeInt && t.Elem.Kind != ir.TypeSymInt {
		return args
	}
	if v, err := normalize(args[first]); err != nil || kindOf(v) != intKind {
		return args
	}
	spread := append([]any{}, args[:first]...)
	list := []any{}
	for _, a := range args[first:] {
		if _, isScope := a.(inScope); isScope {
			spread = append(spread, a)
		} else {
			list = append(list, a)
		}
	}
	return append(spread, list)
}

// to is Tensor.to in its three forms: (device, dtype), (dtype) and (other), each
// followed by non_blocking and copy.
func to(m *libtorch.Mode, args []any, kw []Kwarg) (any, error) {
	args, err := normalizeItems(withoutScopes(args))
	if err != nil {
		return nil, err
	}
	names := []string{"non_blocking", "copy"}
	if len(args) > 1 {
		switch args[1].(type) {
		case ir.DType:
			names = append([]string{"self", "dtype"}, names...)
		case *Tensor:
			names = append([]string{"self", "other"}, names...)
		default:
			names = append([]string{"self", "device", "dtype"}, names...)
		}
	} else {
		names = []string{"self"}
	}
	if len(args) == 0 || len(args) > len(names) {
		return nil, ir.Errorf(ir.ErrType, "to() received an invalid combination of arguments: expected at most %d, got %d", len(names)-1, len(args)-1)
	}
	given := map[string]any{"non_blocking": false, "copy": false, "memory_format": nil, "device": nil, "dtype": nil, "other": nil}
	for i, v := range args {
		given[names[i]] = v
	}
	for _, k := range kw {
		if _, known := given[k.Name]; !known || k.Name == "self" {
			return nil, ir.Errorf(ir.ErrType, "to() got an unexpected keyword argument '%s'", k.Name)
		}
		if given[k.Name], err = normalize(k.Value); err != nil {
			return nil, err
		}
	}
	t, err := tensorArg(given["self"])
	if err != nil {
		return nil, err
	}
	if other, ok := given["other"].(*Tensor); ok {
		info, err := other.info()
		if err != nil {
			return nil, err
		}
		given["device"], given["dtype"] = info.Device, info.DType
	}
	rest := []Kwarg{{"non_blocking", given["non_blocking"]}, {"copy", given["copy"]}, {"memory_format", given["memory_format"]}}
	device, dtype := given["device"], given["dtype"]
	switch {
	case device != nil && dtype != nil:
		return CallMode(m, "aten::to.device", []any{t, device, dtype}, rest)
	case dtype != nil:
		return CallMode(m, "aten::to.dtype", []any{t, dtype}, rest)
	}
	info, err := t.info()
	if err != nil {
		return nil, err
	}
	if device == nil {
		device = info.Device
	}
	return CallMode(m, "aten::to.dtype_layout", []any{t}, append(rest, Kw("dtype", info.DType), Kw("layout", info.Layout), Kw("device", device)))
}
