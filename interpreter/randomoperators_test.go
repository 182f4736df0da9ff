package interpreter_test

import (
	"fmt"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// The operators that random programs call, by the operands that they take: x and y are
// tensors, of any sizes and dtypes.
var (
	unaryOps = strings.Fields(`aten::relu aten::neg aten::abs aten::exp aten::sin aten::sqrt aten::rsqrt aten::reciprocal aten::sigmoid aten::tanh aten::log1p aten::floor
		aten::ceil aten::round aten::trunc aten::sign aten::logical_not aten::bitwise_not aten::isnan aten::square aten::clone aten::contiguous aten::t aten::numpy_T aten::sum aten::mean
		aten::max aten::min aten::amax aten::prod aten::any aten::all aten::argmax aten::alias aten::detach aten::view_as_real aten::view_as_complex aten::real aten::imag
		aten::_neg_view aten::conj aten::resolve_conj aten::resolve_neg aten::angle aten::gelu aten::silu aten::hardtanh aten::hardswish aten::leaky_relu aten::erf aten::frac
		aten::zeros_like aten::ones_like aten::rand_like aten::bernoulli aten::nonzero aten::isfinite aten::triu aten::tril aten::sgn aten::std aten::var
		aten::unique_consecutive aten::argwhere aten::nan_to_num aten::aminmax aten::frexp.Tensor aten::var_mean aten::std_mean aten::unbind.int
		aten::relu_ aten::neg_ aten::abs_ aten::sigmoid_ aten::zero_ aten::t_ aten::squeeze_ aten::exp_ aten::bernoulli_.float aten::uniform_ aten::normal_ aten::detach_
		torch.relu torch.neg torch.sum torch.mean torch.flatten torch.t torch.nonzero torch.abs torch.numel torch.isnan torch.std torch.max torch.min torch.unique torch.atleast_2d
		torch.squeeze operator.neg operator.pos operator.invert
		.size .dim .numel .t .contiguous .sum .mean .item .tolist .float .long .double .bool .int .clone .abs .neg .exp .stride .is_contiguous .max .any .nonzero .conj .adjoint
		.neg_ .zero_ .relu_ .squeeze_ .t_ .sigmoid_ .unbind`)
	binaryOps = strings.Fields(`aten::add.Tensor aten::sub.Tensor aten::mul.Tensor aten::div.Tensor aten::maximum aten::minimum aten::pow.Tensor_Tensor aten::eq.Tensor aten::lt.Tensor
		aten::ge.Tensor aten::logical_and aten::bitwise_and.Tensor aten::bitwise_xor.Tensor aten::remainder.Tensor aten::floor_divide aten::atan2 aten::fmod.Tensor aten::matmul
		aten::mm aten::bmm aten::dot aten::mv aten::outer aten::kron aten::copysign.Tensor aten::hypot aten::rsub.Tensor aten::expand_as aten::view_as aten::reshape_as
		aten::type_as aten::heaviside aten::nextafter aten::masked_select aten::take aten::equal aten::is_same_size aten::xlogy.Tensor aten::ldexp.Tensor aten::gcd aten::cross
		aten::vdot aten::inner aten::logaddexp aten::silu_backward aten::tanh_backward aten::sigmoid_backward aten::repeat_interleave.self_Tensor
		aten::add_.Tensor aten::mul_.Tensor aten::sub_.Tensor aten::copy_ aten::div_.Tensor aten::pow_.Tensor aten::eq_.Tensor aten::logical_and_ aten::bitwise_or_.Tensor
		torch.add torch.mul torch.sub torch.matmul torch.maximum torch.eq torch.pow torch.true_divide torch.floor_divide torch.equal torch.dot torch.bmm
		operator.add operator.sub operator.mul operator.truediv operator.matmul operator.eq operator.lt operator.and_ operator.or_ operator.pow operator.mod operator.floordiv
		operator.iadd operator.imul operator.isub operator.getitem .add .mul .add_ .mul_ .copy_ .eq .sub .matmul .expand_as .__rsub__ .div .type_as`)
	numberOps = strings.Fields(`operator.add operator.sub operator.mul operator.truediv operator.floordiv operator.pow operator.gt operator.mod torch.add torch.mul torch.pow torch.div
		torch.eq torch.clamp .add .sub_ .mul_ .clamp .fill_ aten::add.Scalar aten::mul_.Scalar aten::fill_.Scalar aten::clamp_min aten::pow.Tensor_Scalar aten::eq.Scalar
		aten::add.Tensor aten::mul.Tensor aten::leaky_relu aten::hardshrink aten::div.Tensor aten::add_.Tensor`)
	numberFirstOps = strings.Fields(`operator.add operator.sub operator.mul operator.truediv operator.floordiv operator.pow operator.lt operator.and_ torch.add torch.mul torch.sub torch.rsub`)
	dimensionsOps  = strings.Fields(`aten::sum.dim_IntList aten::mean.dim aten::amax aten::amin aten::logsumexp aten::all.dims aten::any.dims aten::var.dim torch.sum torch.amax .sum .mean`)
	dimensionOps   = strings.Fields(`aten::argmax aten::max.dim aten::min.dim aten::prod.dim_int aten::any.dim aten::all.dim aten::mode aten::cummax aten::cumsum
		aten::softmax.int aten::log_softmax.int aten::unbind.int aten::sort aten::cumprod aten::logcumsumexp aten::argsort aten::size.int aten::sym_size.int aten::squeeze.dim
		aten::unsqueeze aten::unsqueeze_ aten::squeeze_.dim aten::cumsum_ torch.max torch.min torch.argmin torch.cumsum torch.sort torch.unbind torch.softmax .max .size .unsqueeze .squeeze_`)
	twoDimensionOps = strings.Fields(`aten::transpose.int aten::transpose_ torch.transpose .transpose .swapaxes_ aten::select.int torch.select aten::movedim.int`)
	splitOps        = strings.Fields(`aten::split.Tensor aten::chunk torch.split torch.chunk .chunk aten::tensor_split.sections torch.tensor_split .split`)
	listOps         = strings.Fields(`aten::cat torch.cat aten::stack torch.stack aten::concat aten::hstack torch.hstack aten::block_diag aten::broadcast_tensors torch.broadcast_tensors
		aten::meshgrid aten::cartesian_prod aten::_foreach_neg aten::_foreach_abs aten::_foreach_exp`)
	ternaryOps = strings.Fields(`aten::where.self torch.where aten::addmm aten::baddbmm aten::addcmul aten::lerp.Tensor torch.addmm aten::masked_fill.Tensor aten::masked_fill_.Tensor
		aten::addcdiv aten::clamp.Tensor aten::addmv aten::addr aten::addcmul_ aten::masked_scatter aten::linear torch.nn.functional.linear`)
	shapeOps   = strings.Fields(`aten::view aten::reshape torch.reshape .view .reshape aten::expand .expand .repeat aten::repeat aten::new_zeros .new_ones aten::permute torch.permute aten::sum_to_size`)
	dtypeOps   = strings.Fields(`aten::to.dtype .to aten::view.dtype`)
	scalarOps  = strings.Fields(`operator.add operator.sub operator.mul operator.floordiv operator.truediv operator.mod operator.lt operator.eq operator.pow torch.sym_max operator.and_ builtins.max`)
	scalar1Ops = strings.Fields(`operator.neg torch.sym_float torch.sym_not math.ceil aten::scalar_tensor torch.tensor operator.not_ builtins.abs operator.pos`)
	makingOps  = strings.Fields(`aten::ones torch.zeros aten::randn torch.rand aten::rand`)
	attributes = strings.Fields(`shape ndim dtype T mT real imag H requires_grad is_leaf device`)
)

// step appends a call, or none where the operands that were drawn do not fit.
func (p *programmer) step() {
	x, ok := p.pick(isTensor)
	if !ok {
		return
	}
	y, _ := p.pick(isTensor)
	number := oneOf[any](p, 0, 1, 2, -1, 3, 0.5, -1.5, true, 2.0)
	if p.n(3) == 2 {
		if n, ok := p.pick(isNumber); ok {
			number = n
		}
	}
	dim := func() int {
		if t := p.values[x].(*torch.Tensor); t.Dim() > 0 {
			return p.n(2*t.Dim()) - t.Dim()
		}
		return p.n(2) - 1
	}
	switch k := p.n(34); {
	case k < 8:
		p.call(oneOf(p, unaryOps...), x)
	case k < 15:
		p.call(oneOf(p, binaryOps...), x, y)
	case k == 15:
		p.call(oneOf(p, numberOps...), x, number)
	case k == 16:
		p.call(oneOf(p, numberFirstOps...), number, x)
	case k == 17:
		p.call(oneOf(p, dimensionsOps...), x, []any{dim()}, p.coin())
	case k == 18:
		p.call(oneOf(p, dimensionOps...), x, dim())
	case k == 19:
		p.call(oneOf(p, twoDimensionOps...), x, dim(), dim())
	case k == 20:
		p.call("aten::slice.Tensor", x, dim(), p.n(3)-1, oneOf[any](p, nil, 1, 2, 5, -1), p.n(2)+1)
	case k == 21:
		p.call(oneOf(p, splitOps...), x, p.n(3)+1, dim())
	case k == 22:
		list := []any{x, y}
		if p.coin() {
			list = append(list, x)
		}
		p.call(oneOf(p, listOps...), list)
	case k == 23:
		if l, ok := p.pick(isSequence); ok {
			n := 0
			switch v := p.values[l].(type) {
			case []any:
				n = len(v)
			case ir.PyTuple:
				n = len(v)
			}
			p.call("operator.getitem", l, p.n(2*n)-n)
			p.call(oneOf(p, "aten::cat", "torch.cat", "torch.stack", "builtins.len"), l)
		}
	case k == 24:
		z, _ := p.pick(isTensor)
		p.call(oneOf(p, ternaryOps...), x, y, z)
	case k == 25:
		p.call(oneOf(p, shapeOps...), x, oneOf(p, []any{-1}, []any{1, -1}, []any{-1, 2}, []any{2, -1}, []any{-1, 1}, []any{0}))
	case k == 26:
		p.call(oneOf(p, dtypeOps...), x, oneOf(p, randomDTypes...))
	case k == 27:
		p.call("operator.getitem", x, oneOf[any](p, 0, -1, nil, 1, true, y))
		p.call(oneOf(p, "aten::index_select", "aten::gather", "torch.gather"), x, dim(), y)
		p.call("aten::index.Tensor", x, []any{y})
	case k == 28:
		p.call("builtins.getattr", x, oneOf(p, attributes...))
	case k == 29:
		if a, ok := p.pick(isNumber); ok {
			p.call(oneOf(p, scalarOps...), a, number)
			p.call(oneOf(p, scalar1Ops...), a)
			p.call(oneOf(p, makingOps...), []any{a})
			p.call(oneOf(p, ".view", ".reshape", ".expand"), x, []any{a, oneOf(p, -1, 1, 2)})
		}
	case k == 30:
		p.call(oneOf(p, "aten::native_dropout", "aten::dropout", "torch.dropout", "torch.nn.functional.dropout"), x, 0.5, true)
		p.call(oneOf(p, makingOps...), []any{2, 3})
		p.call(oneOf(p, "aten::topk", "torch.topk", "aten::kthvalue"), x, 1, dim())
		p.call("aten::layer_norm", x, []any{oneOf(p, 2, 3, 4)})
		p.call("aten::pad", x, []any{1, 0})
		p.call("aten::roll", x, []any{1}, []any{dim()})
		p.call("aten::flip", x, []any{dim()})
		p.call("aten::as_strided", x, []any{2}, []any{1})
		p.call("aten::linalg_vector_norm", x)
		p.call("aten::cdist", x, y)
	case k == 31:
		z, _ := p.pick(isTensor)
		p.call(oneOf(p, "aten::index_put_", "aten::index_put"), x, []any{y}, z)
		p.call(oneOf(p, "aten::scatter.value", "aten::scatter_.value", "aten::index_fill_.int_Scalar"), x, dim(), y, number)
		p.call("operator.setitem", x, oneOf[any](p, 0, y), oneOf[any](p, 1.5, y))
		p.call(oneOf(p, "aten::fill_.Tensor", "aten::swapdims_"), x, y)
	case k == 32:
		p.into(x, y)
	case k == 33:
		p.higherOrder()
	}
}

// into calls an out variant on a tensor of the program.
func (p *programmer) into(x, y reference) {
	z, _ := p.pick(isTensor)
	name := oneOf(p, "aten::add.out", "aten::mul.out", "aten::maximum.out", "aten::exp.out", "aten::matmul.out")
	args := []any{p.values[x], p.values[y]}
	operands := []ir.Arg{p.nodes[x], p.nodes[y]}
	switch name {
	case "aten::exp.out":
		args, operands = args[:1], operands[:1]
	case "aten::matmul.out": // which, into the memory of an operand, computes of what nobody has written
		if !p.call("aten::zeros_like", z) {
			return
		}
		z = p.last()
	}
	v, err := torch.Invoke(nil, ir.OverloadOf(name), append(args, torch.In(p.scope)), []torch.Kwarg{{Name: "out", Value: p.values[z]}})
	if err == nil {
		p.have(p.g.CallFunction(ir.OverloadOf(name), operands, ir.Kwargs(ir.Keyword{Name: "out", Value: p.nodes[z]})), v)
	}
}

// The operators of the graphs of higher-order operators keep sizes and dtype.
var (
	bodyUnary  = strings.Fields(`aten::relu aten::neg aten::tanh aten::sigmoid aten::abs aten::clone aten::exp aten::sin aten::zeros_like`)
	bodyBinary = strings.Fields(`aten::add.Tensor aten::mul.Tensor aten::sub.Tensor aten::maximum aten::minimum`)
)

// higherOrder appends a cond, a while_loop, a map or a scan on tensors of floats.
func (p *programmer) higherOrder() {
	x, ok := p.pick(isFloats)
	if !ok || p.depth > 0 {
		return
	}
	alike := func(v any) bool {
		t, ok := v.(*torch.Tensor)
		return ok && torch.Describe(t) == torch.Describe(p.values[x].(*torch.Tensor))
	}
	y, _ := p.pick(alike)
	name := fmt.Sprintf("b%d", len(p.program.bodies))
	attr := func(suffix string, body *ir.GraphModule) ir.Arg {
		p.program.bodies[name+suffix] = body
		return p.g.GetAttr(name + suffix)
	}
	operands := ir.ListOf(p.nodes[x], p.nodes[y])
	call := func(hop string, args ...ir.Arg) *ir.Node {
		return p.g.CallFunction(ir.FuncOf("torch.ops.higher_order."+hop), args)
	}
	item := func(of *ir.Node, i int, like any) {
		p.have(p.g.CallFunction(ir.FuncOf("operator.getitem"), []ir.Arg{of, ir.Int(i)}), like)
	}
	wide := p.values[x].(*torch.Tensor).Dim() > 0 && p.values[x].(*torch.Tensor).Shape()[0] > 0
	switch k := p.n(4); {
	case k == 0:
		pred := ir.Arg(ir.Bool(p.coin()))
		if isBool := func(v any) bool { _, ok := v.(bool); return ok }; p.coin() {
			if b, ok := p.pick(isBool); ok {
				pred = p.nodes[b]
			}
		}
		item(call("cond", pred, attr("yes", p.body(2, 1)), attr("no", p.body(2, 1)), operands), 0, p.values[x])
	case k == 1:
		loop := call("while_loop", attr("test", p.test()), attr("body", p.loopBody()), ir.ListOf(ir.Int(p.n(4)), p.nodes[x]), ir.ListOf(p.nodes[y]))
		item(loop, 1, p.values[x])
	case k == 2 && wide:
		item(call("map_impl", attr("body", p.body(2, 1)), ir.ListOf(p.nodes[x]), ir.ListOf(p.row(y))), 0, p.values[x])
	case k == 3 && wide:
		scan := call("scan", attr("body", p.body(2, 2)), ir.ListOf(p.row(x)), ir.ListOf(p.nodes[y]), ir.ListOf())
		item(scan, 1, p.values[x])
	}
}

// row appends the first row of a tensor.
func (p *programmer) row(x reference) *ir.Node {
	return p.g.CallFunction(ir.OverloadOf("aten::select.int"), []ir.Arg{p.nodes[x], ir.Int(0), ir.Int(0)})
}

// body draws a graph of some operators of one shape.
func (p *programmer) body(inputs, results int) *ir.GraphModule {
	g := ir.NewGraph()
	var values []*ir.Node
	for i := range inputs {
		values = append(values, g.Placeholder(fmt.Sprintf("p%d", i)))
	}
	return p.finishBody(g, values, nil, results)
}

func (p *programmer) finishBody(g *ir.Graph, values []*ir.Node, before []ir.Arg, results int) *ir.GraphModule {
	for range 1 + p.n(4) {
		v := values[p.n(len(values))]
		if p.coin() {
			v = g.CallFunction(ir.OverloadOf(oneOf(p, bodyUnary...)), []ir.Arg{v})
		} else {
			v = g.CallFunction(ir.OverloadOf(oneOf(p, bodyBinary...)), []ir.Arg{v, values[p.n(len(values))]})
		}
		values = append(values, v)
		if p.n(6) == 5 { // in place, of a value of the body's own
			g.CallFunction(ir.OverloadOf(oneOf(p, "aten::relu_", "aten::neg_", "aten::sigmoid_")), []ir.Arg{v})
		}
	}
	for i := range results {
		before = append(before, values[len(values)-1-i])
	}
	g.Output(ir.TupleOf(before...))
	return bodyModule(g)
}

// loopBody is the body of a loop over a number and a tensor, beside another.
func (p *programmer) loopBody() *ir.GraphModule {
	g := ir.NewGraph()
	i, x, y := g.Placeholder("i"), g.Placeholder("x"), g.Placeholder("y")
	next := g.CallFunction(ir.FuncOf("operator.add"), []ir.Arg{i, ir.Int(1)})
	return p.finishBody(g, []*ir.Node{x, y}, []ir.Arg{next}, 1)
}

func (p *programmer) test() *ir.GraphModule {
	g := ir.NewGraph()
	i := g.Placeholder("i")
	g.Placeholder("x")
	g.Placeholder("y")
	g.Output(g.CallFunction(ir.FuncOf("operator.lt"), []ir.Arg{i, ir.Int(3)}))
	return bodyModule(g)
}

func bodyModule(g *ir.Graph) *ir.GraphModule {
	gm, err := ir.NewGraphModule(nil, g)
	if err != nil {
		panic(err)
	}
	return gm
}
