package passes

import (
	"slices"

	"github.com/torchfx-go/torchfx/cgo/delegate"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// callReaders holds the operators that programs of regions have nodes for.
var callReaders map[string]callReader

func init() {
	callReaders = map[string]callReader{
		"aten::linear":              readLinear("input", "weight", "bias", false),
		"aten::addmm":               readLinear("mat1", "mat2", "self", true),
		"aten::mm":                  readLinear("self", "mat2", "", true),
		"aten::matmul":              readLinear("self", "other", "", true),
		"aten::batch_norm":          readBatchNorm,
		"aten::layer_norm":          readLayerNorm,
		"aten::softmax.int":         readSoftmax,
		"aten::max_pool1d":          readPool(1, delegate.MaxPool),
		"aten::max_pool2d":          readPool(2, delegate.MaxPool),
		"aten::max_pool3d":          readPool(3, delegate.MaxPool),
		"aten::avg_pool1d":          readPool(1, delegate.AveragePool),
		"aten::avg_pool2d":          readPool(2, delegate.AveragePool),
		"aten::avg_pool3d":          readPool(3, delegate.AveragePool),
		"aten::adaptive_avg_pool1d": readAdaptivePool(1),
		"aten::adaptive_avg_pool2d": readAdaptivePool(2),
		"aten::adaptive_avg_pool3d": readAdaptivePool(3),
		"aten::mean.dim":            readMean,
		"aten::flatten.using_ints":  readFlatten,
		"aten::view":                readReshape,
		"aten::reshape":             readReshape,
		"aten::_unsafe_view":        readReshape,
		"aten::permute":             readPermute,
		"aten::transpose.int":       readTranspose,
		"aten::cat":                 readConcat,
		"aten::add.Tensor":          readBinary(delegate.Add),
		"aten::sub.Tensor":          readBinary(delegate.Sub),
		"aten::mul.Tensor":          readBinary(delegate.Mul),
		"aten::div.Tensor":          readBinary(delegate.Div),
		"aten::maximum":             readBinary(delegate.Maximum),
		"aten::minimum":             readBinary(delegate.Minimum),
		"aten::add.Scalar":          readBinary(delegate.Add),
		"aten::sub.Scalar":          readBinary(delegate.Sub),
		"aten::mul.Scalar":          readBinary(delegate.Mul),
		"aten::div.Scalar":          readBinary(delegate.Div),
		"aten::relu":                readEltwise(delegate.ReLU),
		"aten::relu6":               readClip(0, 6),
		"aten::hardtanh":            readClipped("min_val", "max_val"),
		"aten::clamp":               readClipped("min", "max"),
		"aten::clamp_min":           readClipped("min", ""),
		"aten::clamp_max":           readClipped("", "max"),
		"aten::hardswish":           readEltwise(delegate.HardSwish),
		"aten::hardsigmoid":         readEltwise(delegate.HardSigmoid),
		"aten::sigmoid":             readEltwise(delegate.Sigmoid),
		"aten::silu":                readEltwise(delegate.SiLU),
		"aten::tanh":                readEltwise(delegate.Tanh),
		"aten::gelu":                readGELU,
		"aten::leaky_relu":          readEltwise(delegate.LeakyReLU, "negative_slope"),
		"aten::elu":                 readELU,
		"aten::mish":                readEltwise(delegate.Mish),
		"aten::abs":                 readEltwise(delegate.Abs),
		"aten::sqrt":                readEltwise(delegate.Sqrt),
		"aten::square":              readEltwise(delegate.Square),
		"aten::exp":                 readEltwise(delegate.Exp),
		"aten::log":                 readEltwise(delegate.Log),
	}
	for fn, kind := range layerKinds {
		if kind != linear {
			callReaders[fn.Op()] = readConvolution
		}
	}
}

func readConvolution(c *regionCall) func(*regionWriter) delegate.Value {
	kind := layerKinds[c.node.Func()]
	x := c.tensor("input")
	weight, ok := c.constant("weight")
	bias, okBias := c.constant("bias")
	if x == nil || !ok || weight == nil || !okBias {
		return nil
	}
	dims := len(weight.Shape()) - 2
	if dims < 1 || dims > 3 || rank(x) != dims+2 {
		return nil
	}
	groups, isInt := c.args["groups"].(ir.Int)
	g := delegate.Convolution{Groups: int64(groups)}
	var oks [4]bool
	g.Stride, oks[0] = numbers(c.args["stride"], dims)
	g.Dilation, oks[1] = numbers(c.args["dilation"], dims)
	switch c.args["padding"] {
	case ir.Str("valid"):
		g.Padding, oks[2] = make([]int64, dims), true
	case ir.Str("same"):
		if oks[2] = oks[1]; oks[1] {
			for i := range dims {
				total := g.Dilation[i] * int64(weight.Shape()[2+i]-1)
				g.Padding = append(g.Padding, total/2)
				g.PaddingAfter = append(g.PaddingAfter, total-total/2)
			}
		}
	default:
		g.Padding, oks[2] = numbers(c.args["padding"], dims)
	}
	transposed := kind.transposed(c.args)
	if oks[3] = true; transposed {
		g.OutputPadding, oks[3] = numbers(c.args["output_padding"], dims)
	}
	if !isInt || slices.Contains(oks[:], false) {
		return nil
	}
	return func(w *regionWriter) delegate.Value {
		if transposed {
			return w.program.Transposed(w.value(x), w.constant(weight), w.constant(bias), g)
		}
		return w.program.Convolution(w.value(x), w.constant(weight), w.constant(bias), g)
	}
}

// readLinear is for products with a constant matrix, which is [in, out] where it is
// transposed.
func readLinear(input, weight, bias string, transposed bool) callReader {
	return func(c *regionCall) func(*regionWriter) delegate.Value {
		x := c.tensor(input)
		m, ok := c.constant(weight)
		b, okBias := c.constant(bias)
		if x == nil || !ok || m == nil || !okBias || len(m.Shape()) != 2 || rank(x) < 2 || b != nil && len(b.Shape()) != 1 {
			return nil
		}
		out := m.Shape()[0]
		if transposed {
			out = m.Shape()[1]
		}
		if b != nil && b.Shape()[0] != out {
			return nil // it is broadcast
		}
		if alpha, scaled := c.args["alpha"]; scaled && (!isOne(alpha) || !isOne(c.args["beta"])) {
			return nil
		}
		return func(w *regionWriter) delegate.Value {
			rows := m
			if transposed {
				rows = w.call("aten::t", m)
			}
			return w.program.Linear(w.value(x), w.constant(rows), w.constant(b))
		}
	}
}

// readBatchNorm is for one that is not part of a layer: what it does to a channel is
// x · scale + shift.
func readBatchNorm(c *regionCall) func(*regionWriter) delegate.Value {
	x := c.tensor("input")
	gamma, ok1 := c.constant("weight")
	beta, ok2 := c.constant("bias")
	mean, ok3 := c.constant("running_mean")
	variance, ok4 := c.constant("running_var")
	eps, ok5 := c.number("eps")
	if x == nil || !ok1 || !ok2 || !ok3 || !ok4 || !ok5 || mean == nil || variance == nil || !evaluates(c.args) || rank(x) < 2 {
		return nil
	}
	return func(w *regionWriter) delegate.Value {
		wide := func(t *torch.Tensor) *torch.Tensor { return w.call("aten::to.dtype", t, torch.Float64) }
		scale := w.call("aten::rsqrt", w.call("aten::add.Scalar", wide(variance), eps))
		if gamma != nil {
			scale = w.call("aten::mul.Tensor", scale, wide(gamma))
		}
		shift := w.call("aten::neg", w.call("aten::mul.Tensor", wide(mean), scale))
		if beta != nil {
			shift = w.call("aten::add.Tensor", shift, wide(beta))
		}
		shape := make([]int64, rank(x)-1)
		for i := range shape {
			shape[i] = 1
		}
		shape[0] = -1
		per := func(t *torch.Tensor) delegate.Value {
			return w.constant(w.call("aten::reshape", w.call("aten::to.dtype", t, torch.Float32), shape))
		}
		if w.err != nil {
			return delegate.None
		}
		return w.program.Add(w.program.Binary(delegate.Mul, w.value(x), per(scale)), per(shift))
	}
}

func readLayerNorm(c *regionCall) func(*regionWriter) delegate.Value {
	x := c.tensor("input")
	shape, ok := c.integers("normalized_shape")
	weight, ok1 := c.constant("weight")
	bias, ok2 := c.constant("bias")
	eps, ok3 := c.number("eps")
	if x == nil || !ok || len(shape) != 1 || !ok1 || !ok2 || !ok3 {
		return nil
	}
	return func(w *regionWriter) delegate.Value {
		return w.program.LayerNorm(w.value(x), w.constant(weight), w.constant(bias), eps)
	}
}

func readSoftmax(c *regionCall) func(*regionWriter) delegate.Value {
	x := c.tensor("self")
	dim, ok := c.args["dim"].(ir.Int)
	if x == nil || !ok || c.args["dtype"] != (ir.None{}) {
		return nil
	}
	return func(w *regionWriter) delegate.Value { return w.program.Softmax(w.value(x), int64(dim)) }
}

func readPool(dims int, kind delegate.PoolKind) callReader {
	return func(c *regionCall) func(*regionWriter) delegate.Value {
		x := c.tensor("self")
		if x == nil || rank(x) != dims+2 {
			return nil
		}
		var p delegate.Window
		var oks [4]bool
		p.Kernel, oks[0] = numbers(c.args["kernel_size"], dims)
		p.Stride, oks[1] = c.list("stride", dims, p.Kernel)
		p.Padding, oks[2] = numbers(c.args["padding"], dims)
		oks[3] = true
		if dilation, has := c.args["dilation"]; has {
			p.Dilation, oks[3] = numbers(dilation, dims)
		}
		ceil, isBool := c.args["ceil_mode"].(ir.Bool)
		p.CeilMode = bool(ceil)
		kind := kind
		if kind == delegate.AveragePool {
			if divisor, has := c.args["divisor_override"]; has && divisor != (ir.None{}) || p.CeilMode {
				return nil // what a window that reaches out is divided by differs
			}
			if c.args["count_include_pad"] != ir.Bool(true) {
				kind = delegate.AveragePoolWithoutPadding
			}
		}
		if !isBool || slices.Contains(oks[:], false) {
			return nil
		}
		return func(w *regionWriter) delegate.Value { return w.program.Pool(w.value(x), kind, p) }
	}
}

func readAdaptivePool(dims int) callReader {
	return func(c *regionCall) func(*regionWriter) delegate.Value {
		x := c.tensor("self")
		sizes, ok := numbers(c.args["output_size"], dims)
		if x == nil || rank(x) != dims+2 || !ok || !divides(x, sizes) {
			return nil
		}
		return func(w *regionWriter) delegate.Value {
			return w.program.AdaptivePool(w.value(x), delegate.AveragePool, sizes...)
		}
	}
}

// divides reports whether sizes divide the last ones of x, so that windows are alike.
func divides(x *ir.Node, sizes []int64) bool {
	meta, _ := valueOf(x)
	for i, s := range sizes {
		if s < 1 || meta.Sizes[2+i].Hint()%s != 0 {
			return false
		}
	}
	return true
}

// readMean is for the mean of all that lies behind the channels.
func readMean(c *regionCall) func(*regionWriter) delegate.Value {
	x := c.tensor("self")
	over, ok := c.integers("dim")
	keep, isBool := c.args["keepdim"].(ir.Bool)
	if x == nil || !ok || !isBool || c.args["dtype"] != (ir.None{}) {
		return nil
	}
	dims := rank(x) - 2
	seen := map[int64]bool{}
	for _, d := range over {
		if d < 0 {
			d += int64(rank(x))
		}
		seen[d] = true
	}
	if dims < 1 || dims > 3 || len(seen) != dims || seen[0] || seen[1] {
		return nil
	}
	return func(w *regionWriter) delegate.Value {
		v := w.program.AdaptivePool(w.value(x), delegate.AveragePool, slices.Repeat([]int64{1}, dims)...)
		if !keep {
			v = w.program.Flatten(v, 1, -1)
		}
		return v
	}
}

func readFlatten(c *regionCall) func(*regionWriter) delegate.Value {
	x := c.tensor("self")
	first, ok := c.args["start_dim"].(ir.Int)
	last, ok2 := c.args["end_dim"].(ir.Int)
	if x == nil || !ok || !ok2 || rank(x) == 0 {
		return nil
	}
	return func(w *regionWriter) delegate.Value {
		return w.program.Flatten(w.value(x), int64(first), int64(last))
	}
}

func readReshape(c *regionCall) func(*regionWriter) delegate.Value {
	x := c.tensor("self")
	sizes, ok := c.integers("size")
	if !ok {
		sizes, ok = c.integers("shape")
	}
	if x == nil || !ok || len(sizes) == 0 {
		return nil
	}
	return func(w *regionWriter) delegate.Value { return w.program.Reshape(w.value(x), sizes...) }
}

func readPermute(c *regionCall) func(*regionWriter) delegate.Value {
	x := c.tensor("self")
	dims, ok := c.integers("dims")
	if x == nil || !ok || len(dims) != rank(x) {
		return nil
	}
	for i := range dims {
		if dims[i] < 0 {
			dims[i] += int64(len(dims))
		}
	}
	return func(w *regionWriter) delegate.Value { return w.program.Permute(w.value(x), dims...) }
}

func readTranspose(c *regionCall) func(*regionWriter) delegate.Value {
	x := c.tensor("self")
	a, ok := c.args["dim0"].(ir.Int)
	b, ok2 := c.args["dim1"].(ir.Int)
	if x == nil || !ok || !ok2 || rank(x) == 0 {
		return nil
	}
	dims := make([]int64, rank(x))
	for i := range dims {
		dims[i] = int64(i)
	}
	n := ir.Int(len(dims))
	a, b = (a+n)%n, (b+n)%n
	dims[a], dims[b] = dims[b], dims[a]
	return func(w *regionWriter) delegate.Value { return w.program.Permute(w.value(x), dims...) }
}

func readConcat(c *regionCall) func(*regionWriter) delegate.Value {
	list, ok := c.args["tensors"].(ir.List)
	dim, isInt := c.args["dim"].(ir.Int)
	if !ok || !isInt {
		return nil
	}
	var nodes []*ir.Node
	for _, a := range list.All() {
		n, isNode := a.(*ir.Node)
		if !isNode || n.Op() == ir.GetAttr || rank(n) != rank(c.node) {
			return nil
		}
		nodes = append(nodes, n)
	}
	return func(w *regionWriter) delegate.Value {
		values := make([]delegate.Value, len(nodes))
		for i, n := range nodes {
			values[i] = w.value(n)
		}
		return w.program.Concat(int64(dim), values...)
	}
}
