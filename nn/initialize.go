package nn

import (
	"math"

	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// initializers make the tensors of the classes as PyTorch's constructors do, in
// the same order, so that the same seed gives the same bits; others check.
var initializers map[string]func(b *builder)

func init() {
	initializers = map[string]func(b *builder){
		"linear":    initLinear,
		"conv":      initConv,
		"norm":      initNorm,
		"affine":    initAffine,
		"embedding": initEmbedding,
		"prelu": func(b *builder) {
			b.set("weight", b.full(number(b.attr("init")), b.int("num_parameters")))
		},
		"dropout": func(b *builder) {
			if p := number(b.attr("p")); p < 0 || p > 1 {
				b.fail(ir.ErrValue, "dropout probability has to be between 0 and 1, but got %s", ir.Repr(b.attr("p").(ir.Arg)))
			}
		},
		"hardtanh": func(b *builder) {
			if number(b.attr("max_val")) <= number(b.attr("min_val")) {
				b.fail(ir.ErrAssertion, "max_val must be greater than min_val")
			}
		},
		"upsample":     initUpsample,
		"recurrent":    initRecurrent,
		"cell":         initCell,
		"attention":    initAttention,
		"encoderlayer": initEncoderLayer,
		"decoderlayer": initDecoderLayer,
		"encoder":      initStack("encoder_layer"),
		"decoder":      initStack("decoder_layer"),
		"transformer":  initTransformer,
		"distance":     initDistance,
		"adaptive":     initAdaptive,
		"linearloss":   initLinearLoss,
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// call calls an operator; a result that is one tensor is returned.
func call(op string, args ...any) *torch.Tensor {
	t, _ := must(torch.Call(op, args...)).(*torch.Tensor)
	return t
}

// inplace calls an operator that writes its first argument.
func inplace(op string, t *torch.Tensor, args ...any) {
	_ = call(op, append([]any{t}, args...)...).Close()
}

func (b *builder) empty(shape ...int) *torch.Tensor {
	return call("aten::empty.memory_format", append([]any{shape}, kwargs(b.factory)...)...)
}

func (b *builder) full(value float64, shape ...int) *torch.Tensor {
	t := b.empty(shape...)
	inplace("aten::fill_.Scalar", t, value)
	return t
}

func kwargs(kw []torch.Kwarg) []any {
	out := make([]any, len(kw))
	for i, k := range kw {
		out[i] = k
	}
	return out
}

func uniform(t *torch.Tensor, bound float64) {
	if t != nil && t.Numel() > 0 {
		inplace("aten::uniform_", t, -bound, bound)
	}
}

// kaimingUniform is torch.nn.init.kaiming_uniform_ with a = sqrt(5), what
// linear and convolutional layers start from.
func kaimingUniform(t *torch.Tensor, fanIn int) {
	a := math.Sqrt(5)
	std := math.Sqrt(2/(1+a*a)) / math.Sqrt(float64(fanIn))
	uniform(t, math.Sqrt(3)*std)
}

func product(shape []int) int {
	n := 1
	for _, k := range shape {
		n *= k
	}
	return n
}

func initLinear(b *builder) {
	out := b.int("out_features")
	if b.c.Name == "Bilinear" {
		in := b.int("in1_features")
		if in <= 0 {
			b.fail(ir.ErrValue, "in1_features must be > 0, but got %d", in)
		}
		b.set("weight", b.empty(out, in, b.int("in2_features")))
		bound := 1 / math.Sqrt(float64(in))
		uniform(b.tensor("weight"), bound)
		if b.bool("bias") {
			b.set("bias", b.empty(out))
			uniform(b.tensor("bias"), bound)
		}
		return
	}
	in := b.int("in_features")
	b.set("weight", b.empty(out, in))
	kaimingUniform(b.tensor("weight"), in)
	if b.bool("bias") {
		b.set("bias", b.empty(out))
		if in > 0 {
			uniform(b.tensor("bias"), 1/math.Sqrt(float64(in)))
		}
	}
}

func (b *builder) tensor(name string) *torch.Tensor {
	t, _ := b.c.get(b.m, name).(*torch.Tensor)
	return t
}

func initConv(b *builder) {
	in, out, groups, kernel := b.int("in_channels"), b.int("out_channels"), b.int("groups"), b.ints("kernel_size")
	switch {
	case groups <= 0:
		b.fail(ir.ErrValue, "groups must be a positive integer")
	case in%groups != 0:
		b.fail(ir.ErrValue, "in_channels must be divisible by groups")
	case out%groups != 0:
		b.fail(ir.ErrValue, "out_channels must be divisible by groups")
	}
	mode := b.string("padding_mode")
	switch mode {
	case "zeros", "reflect", "replicate", "circular":
	default:
		b.fail(ir.ErrValue, "padding_mode must be one of {'zeros', 'reflect', 'replicate', 'circular'}, but got padding_mode='%s'", mode)
	}
	if padding, named := b.attr("padding").(ir.Str); named {
		if padding != "same" && padding != "valid" {
			b.fail(ir.ErrValue, "Invalid padding string '%s', should be one of {'valid', 'same'}", string(padding))
		}
		for _, s := range b.ints("stride") {
			if padding == "same" && s != 1 {
				b.fail(ir.ErrValue, "padding='same' is not supported for strided convolutions")
			}
		}
	}
	rows, columns := out, in/groups
	if b.c.get(b.m, "transposed") == ir.Arg(ir.Bool(true)) {
		if mode != "zeros" {
			b.fail(ir.ErrValue, "Only \"zeros\" padding mode is supported for %s", b.c.Name)
		}
		rows, columns = in, out/groups
	}
	b.set("weight", b.empty(append([]int{rows, columns}, kernel...)...))
	fan := columns * product(kernel)
	kaimingUniform(b.tensor("weight"), fan)
	if b.bool("bias") {
		b.set("bias", b.empty(out))
		if fan != 0 {
			uniform(b.tensor("bias"), 1/math.Sqrt(float64(fan)))
		}
	}
}

func initNorm(b *builder) {
	n := b.int("num_features")
	b.put("bias", ir.Bool(b.bool("affine") && b.bool("bias")))
	if b.bool("affine") {
		b.set("weight", b.full(1, n))
		if b.bool("bias") {
			b.set("bias", b.full(0, n))
		}
	}
	if b.bool("track_running_stats") {
		b.set("running_mean", b.full(0, n))
		b.set("running_var", b.full(1, n))
		b.set("num_batches_tracked", call("aten::zeros", []int{}, torch.Kw("dtype", torch.Int64)))
	}
}

func initAffine(b *builder) {
	affine := "affine"
	if b.c.param(affine) == nil {
		affine = "elementwise_affine"
	}
	if b.c.Name == "GroupNorm" && (b.int("num_groups") == 0 || b.int("num_channels")%b.int("num_groups") != 0) {
		b.fail(ir.ErrValue, "num_channels (%d) must be divisible by num_groups (%d)", b.int("num_channels"), b.int("num_groups"))
	}
	shape := b.ints(b.c.Init[1])
	if b.c.param("bias") != nil {
		b.put("bias", ir.Bool(b.bool(affine) && b.bool("bias")))
	}
	if !b.bool(affine) {
		return
	}
	b.set("weight", b.full(1, shape...))
	if b.bool("bias") {
		b.set("bias", b.full(0, shape...))
	}
}

func initEmbedding(b *builder) {
	n := b.int("num_embeddings")
	b.set("weight", b.empty(n, b.int("embedding_dim")))
	padding, given := b.attr("padding_idx").(ir.Int)
	if given {
		if int(padding) >= n || int(padding) < -n {
			b.fail(ir.ErrAssertion, "Padding_idx must be within num_embeddings")
		}
		if padding < 0 {
			padding += ir.Int(n)
			b.put("padding_idx", padding)
		}
	}
	w := b.tensor("weight")
	if w.Numel() > 0 {
		inplace("aten::normal_", w, 0.0, 1.0)
	}
	if given {
		row := call("aten::select.int", w, 0, int(padding))
		inplace("aten::fill_.Scalar", row, 0.0)
		_ = row.Close()
	}
}

// initUpsample makes scale factors floats, as Python's constructor does.
func initUpsample(b *builder) {
	switch v := b.attr("scale_factor").(type) {
	case ir.Int:
		b.put("scale_factor", ir.Float(v))
	case ir.Tuple:
		items := make([]ir.Arg, v.Len())
		for i := range items {
			items[i] = ir.Float(number(v.At(i)))
		}
		b.put("scale_factor", ir.TupleOf(items...))
	}
}
