package nn

import (
	"fmt"
	"reflect"

	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn/functional"
	"github.com/torchfx-go/torchfx/operator"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// TransformerEncoderLayer is torch.nn.TransformerEncoderLayer(d_model, nhead,
// dim_feedforward=2048, dropout=0.1, activation='relu', layer_norm_eps=1e-05,
// batch_first=False, norm_first=False, bias=True). activation is 'relu', 'gelu',
// or a func(*torch.Tensor) *torch.Tensor.
//
// As PyTorch without gradients, it runs the fused operator where that applies and
// nothing records it (see torchops.IsRecording): in evaluation mode, batch first, with relu or gelu.
type TransformerEncoderLayer struct {
	leaf
	SelfAttn *MultiheadAttention
	Linear1  *Linear
	Dropout  *Dropout
	Linear2  *Linear
	Norm1    *LayerNorm
	Norm2    *LayerNorm
	Dropout1 *Dropout
	Dropout2 *Dropout
}

// NewTransformerEncoderLayer makes a TransformerEncoderLayer.
func NewTransformerEncoderLayer(dModel, nhead int, options ...Option) *TransformerEncoderLayer {
	return build(new(TransformerEncoderLayer), []any{dModel, nhead}, options)
}

// Forward returns src, [L, N, E] or as the attention takes it, encoded. The
// options are src_mask, src_key_padding_mask and is_causal.
func (m *TransformerEncoderLayer) Forward(src *torch.Tensor, options ...Option) *torch.Tensor {
	return one(run(m, options, src))
}

// TransformerDecoderLayer is torch.nn.TransformerDecoderLayer; see
// [TransformerEncoderLayer] for its arguments.
type TransformerDecoderLayer struct {
	leaf
	SelfAttn      *MultiheadAttention
	MultiheadAttn *MultiheadAttention
	Linear1       *Linear
	Dropout       *Dropout
	Linear2       *Linear
	Norm1         *LayerNorm
	Norm2         *LayerNorm
	Norm3         *LayerNorm
	Dropout1      *Dropout
	Dropout2      *Dropout
	Dropout3      *Dropout
}

// NewTransformerDecoderLayer makes a TransformerDecoderLayer.
func NewTransformerDecoderLayer(dModel, nhead int, options ...Option) *TransformerDecoderLayer {
	return build(new(TransformerDecoderLayer), []any{dModel, nhead}, options)
}

// Forward decodes tgt with the encoder's memory. The options are tgt_mask,
// memory_mask, tgt_key_padding_mask, memory_key_padding_mask, tgt_is_causal and
// memory_is_causal.
func (m *TransformerDecoderLayer) Forward(tgt, memory *torch.Tensor, options ...Option) *torch.Tensor {
	return one(run(m, options, tgt, memory))
}

// TransformerEncoder is torch.nn.TransformerEncoder(encoder_layer, num_layers,
// norm=None, enable_nested_tensor=True, mask_check=True). As in PyTorch, the result is
// zero where src_key_padding_mask is set, if padding stands at the end of each sequence and
// the layers run fused; see [TransformerEncoderLayer].
type TransformerEncoder struct {
	leaf
	Layers *ModuleList
	Norm   Module // nil for none
}

// NewTransformerEncoder makes num copies of layer.
func NewTransformerEncoder(layer *TransformerEncoderLayer, num int, options ...Option) *TransformerEncoder {
	return build(new(TransformerEncoder), []any{layer, num}, options)
}

// Forward runs the layers. The options are mask, src_key_padding_mask and
// is_causal.
func (m *TransformerEncoder) Forward(src *torch.Tensor, options ...Option) *torch.Tensor {
	return one(run(m, options, src))
}

// TransformerDecoder is torch.nn.TransformerDecoder(decoder_layer, num_layers,
// norm=None).
type TransformerDecoder struct {
	leaf
	Layers *ModuleList
	Norm   Module // nil for none
}

// NewTransformerDecoder makes num copies of layer.
func NewTransformerDecoder(layer *TransformerDecoderLayer, num int, options ...Option) *TransformerDecoder {
	return build(new(TransformerDecoder), []any{layer, num}, options)
}

// Forward runs the layers; see [TransformerDecoderLayer.Forward] for options.
func (m *TransformerDecoder) Forward(tgt, memory *torch.Tensor, options ...Option) *torch.Tensor {
	return one(run(m, options, tgt, memory))
}

// Transformer is torch.nn.Transformer: an encoder and a decoder.
type Transformer struct {
	leaf
	Encoder Module
	Decoder Module
}

// NewTransformer makes a Transformer; all its arguments are options.
func NewTransformer(options ...Option) *Transformer { return build(new(Transformer), nil, options) }

// Forward encodes src and decodes tgt with it.
func (m *Transformer) Forward(src, tgt *torch.Tensor, options ...Option) *torch.Tensor {
	return one(run(m, options, src, tgt))
}

// layerOptions are the arguments that a transformer's layers share.
func (b *builder) layerOptions(names ...string) []Option {
	options := append([]Option(nil), b.factory...)
	for _, name := range names {
		options = append(options, Option{Name: name, Value: b.attr(name)})
	}
	return options
}

func initEncoderLayer(b *builder) {
	m := b.m.(*TransformerEncoderLayer)
	m.SelfAttn, m.Linear1, m.Dropout, m.Linear2 = b.attention(), b.linear("d_model", "dim_feedforward"), b.dropout(), b.linear("dim_feedforward", "d_model")
	m.Norm1, m.Norm2 = b.norm(), b.norm()
	m.Dropout1, m.Dropout2 = b.dropout(), b.dropout()
	b.checkActivation()
}

func initDecoderLayer(b *builder) {
	m := b.m.(*TransformerDecoderLayer)
	m.SelfAttn, m.MultiheadAttn = b.attention(), b.attention()
	m.Linear1, m.Dropout, m.Linear2 = b.linear("d_model", "dim_feedforward"), b.dropout(), b.linear("dim_feedforward", "d_model")
	m.Norm1, m.Norm2, m.Norm3 = b.norm(), b.norm(), b.norm()
	m.Dropout1, m.Dropout2, m.Dropout3 = b.dropout(), b.dropout(), b.dropout()
	b.checkActivation()
}

func (b *builder) attention() *MultiheadAttention {
	return NewMultiheadAttention(b.int("d_model"), b.int("nhead"), b.layerOptions("dropout", "bias", "batch_first")...)
}

func (b *builder) linear(in, out string) *Linear {
	return NewLinear(b.int(in), b.int(out), b.layerOptions("bias")...)
}

func (b *builder) dropout() *Dropout { return NewDropout(Option{Name: "p", Value: b.attr("dropout")}) }

func (b *builder) norm() *LayerNorm {
	return NewLayerNorm(b.int("d_model"), append(b.layerOptions("bias"), Option{Name: "eps", Value: b.attr("layer_norm_eps")})...)
}

func (b *builder) checkActivation() {
	switch a := b.attr("activation").(type) {
	case ir.Str:
		if a != "relu" && a != "gelu" {
			b.fail(ir.ErrRuntime, "activation should be relu/gelu, not %s", string(a))
		}
	case func(*torch.Tensor) *torch.Tensor:
	default:
		b.fail(ir.ErrType, "activation: expected 'relu', 'gelu' or a func(*torch.Tensor) *torch.Tensor, got %T", a)
	}
}

// initStack makes the layers of an encoder or decoder, copies of the one given.
func initStack(first string) func(b *builder) {
	return func(b *builder) {
		model, ok := b.attr(first).(layer)
		if !ok {
			b.fail(ir.ErrType, "%s: expected a layer, got %T", first, b.attr(first))
		}
		list := NewModuleList()
		for range b.int("num_layers") {
			list.Append(must(Copy(model)))
		}
		norm, _ := b.attr("norm").(Module)
		switch m := b.m.(type) {
		case *TransformerEncoder:
			m.Layers, m.Norm = list, norm
		case *TransformerDecoder:
			m.Layers, m.Norm = list, norm
		}
	}
}

func initTransformer(b *builder) {
	m := b.m.(*Transformer)
	options := b.layerOptions("dim_feedforward", "dropout", "activation", "layer_norm_eps", "batch_first", "norm_first", "bias")
	size, heads := b.int("d_model"), b.int("nhead")
	if custom, ok := b.attr("custom_encoder").(Module); ok {
		m.Encoder = custom
	} else {
		one := NewTransformerEncoderLayer(size, heads, options...)
		m.Encoder = NewTransformerEncoder(one, b.int("num_encoder_layers"), Option{Name: "norm", Value: b.norm()})
	}
	if custom, ok := b.attr("custom_decoder").(Module); ok {
		m.Decoder = custom
	} else {
		one := NewTransformerDecoderLayer(size, heads, options...)
		m.Decoder = NewTransformerDecoder(one, b.int("num_decoder_layers"), Option{Name: "norm", Value: b.norm()})
	}
	for t := range Tensors(m) {
		if t.Kind == Parameter && t.Tensor != nil && t.Tensor.Dim() > 1 {
			xavierUniform(t.Tensor)
		}
	}
}

// activate applies the activation, recorded as Python's function is.
func (f *frame) activate(x *torch.Tensor) *torch.Tensor {
	if own, ok := f.self("activation").(func(*torch.Tensor) *torch.Tensor); ok {
		return own(x)
	}
	return one(functional.Call(f.string("activation"), []any{x}, nil))
}

// attendTo calls an attention without weights, and drops out.
func (f *frame) attendTo(m *MultiheadAttention, drop *Dropout, x, memory *torch.Tensor, made *temporaries, mask, padding, causal string) *torch.Tensor {
	options := []Option{{Name: "attn_mask", Value: f.arg(mask)}, {Name: "key_padding_mask", Value: f.arg(padding)}}
	weights, is := Option{Name: "need_weights", Value: false}, Option{Name: "is_causal", Value: f.arg(causal)}
	if f.c.Name == "TransformerEncoderLayer" { // Python's order of keywords differs
		options = append(options, weights, is)
	} else {
		options = append(options, is, weights)
	}
	var out *torch.Tensor
	result := run(m, options, x, memory, memory)
	if traced, ok := torch.ValueOf(result); ok {
		out = traced.Index(int64(0)).Tensor()
	} else {
		out = one(result.(ir.PyTuple)[0])
	}
	return made.add(drop.Forward(made.add(out)))
}

func encodeLayer(f *frame) any {
	m := f.m.(*TransformerEncoderLayer)
	x := f.in("src")
	var made temporaries
	defer made.close()
	f.put("src_key_padding_mask", f.floatMask(f.in("src_key_padding_mask"), "src_key_padding_mask", x, &made))
	f.put("src_mask", f.floatMask(f.in("src_mask"), "src_mask", x, &made))
	if m.fuses(x) {
		mask, kind := mergeMasks(f.in("src_mask"), f.in("src_key_padding_mask"), x, f.int("nhead"), &made)
		return m.fused(x, mask, kind)
	}
	self := func(x *torch.Tensor) *torch.Tensor {
		return f.attendTo(m.SelfAttn, m.Dropout1, x, x, &made, "src_mask", "src_key_padding_mask", "is_causal")
	}
	feed := func(x *torch.Tensor) *torch.Tensor {
		return f.feedForward(m.Linear1, m.Dropout, m.Linear2, m.Dropout2, x, &made)
	}
	if f.bool("norm_first") {
		x = made.add(operator.Add(x, self(made.add(m.Norm1.Forward(x)))))
		return operator.Add(x, feed(made.add(m.Norm2.Forward(x))))
	}
	x = made.add(m.Norm1.Forward(made.add(operator.Add(x, self(x)))))
	return m.Norm2.Forward(made.add(operator.Add(x, feed(x))))
}

// feedForward is linear2(dropout(activation(linear1(x)))), dropped out.
func (f *frame) feedForward(in *Linear, middle *Dropout, out *Linear, last *Dropout, x *torch.Tensor, made *temporaries) *torch.Tensor {
	x = made.add(f.activate(made.add(in.Forward(x))))
	return made.add(last.Forward(made.add(out.Forward(made.add(middle.Forward(x))))))
}

// fuses reports whether PyTorch's fused operator computes the layer for x.
func (m *TransformerEncoderLayer) fuses(x *torch.Tensor) bool {
	a, c := m.SelfAttn, classOf(m)
	_, named := c.get(m, "activation").(ir.Str)
	heads, _ := c.get(m, "nhead").(ir.Int)
	return x.Dim() == 3 && !torch.Traced(a.InProjWeight) && !m.Training() && truth(c.get(m, "batch_first")) && a.InProjBias != nil && a.sameWidth() &&
		named && classOf(m.Norm1).get(m.Norm1, "eps") == classOf(m.Norm2).get(m.Norm2, "eps") && heads%2 == 0 &&
		torch.MayFuse(x, a.InProjWeight, a.InProjBias, a.OutProj.Weight, a.OutProj.Bias, m.Norm1.Weight, m.Norm1.Bias, m.Norm2.Weight, m.Norm2.Bias,
			m.Linear1.Weight, m.Linear1.Bias, m.Linear2.Weight, m.Linear2.Bias)
}

// fused runs the fused operator, with a mask that mergeMasks made or none.
func (m *TransformerEncoderLayer) fused(x, mask *torch.Tensor, maskKind any) *torch.Tensor {
	a, c := m.SelfAttn, classOf(m)
	heads, _ := c.get(m, "nhead").(ir.Int)
	width, _ := c.get(m, "d_model").(ir.Int)
	return call("aten::_transformer_encoder_layer_fwd", x, int(width), int(heads), a.InProjWeight, a.InProjBias, a.OutProj.Weight, a.OutProj.Bias,
		c.get(m, "activation") == ir.Arg(ir.Str("gelu")), truth(c.get(m, "norm_first")), number(classOf(m.Norm1).get(m.Norm1, "eps")),
		m.Norm1.Weight, m.Norm1.Bias, m.Norm2.Weight, m.Norm2.Bias, m.Linear1.Weight, m.Linear1.Bias, m.Linear2.Weight, m.Linear2.Bias, mask, maskKind)
}

func decodeLayer(f *frame) any {
	m := f.m.(*TransformerDecoderLayer)
	x, memory := f.in("tgt"), f.in("memory")
	var made temporaries
	defer made.close()
	self := func(x *torch.Tensor) *torch.Tensor {
		return f.attendTo(m.SelfAttn, m.Dropout1, x, x, &made, "tgt_mask", "tgt_key_padding_mask", "tgt_is_causal")
	}
	cross := func(x *torch.Tensor) *torch.Tensor {
		return f.attendTo(m.MultiheadAttn, m.Dropout2, x, memory, &made, "memory_mask", "memory_key_padding_mask", "memory_is_causal")
	}
	feed := func(x *torch.Tensor) *torch.Tensor {
		return f.feedForward(m.Linear1, m.Dropout, m.Linear2, m.Dropout3, x, &made)
	}
	if f.bool("norm_first") {
		x = made.add(operator.Add(x, self(made.add(m.Norm1.Forward(x)))))
		x = made.add(operator.Add(x, cross(made.add(m.Norm2.Forward(x)))))
		return operator.Add(x, feed(made.add(m.Norm3.Forward(x))))
	}
	x = made.add(m.Norm1.Forward(made.add(operator.Add(x, self(x)))))
	x = made.add(m.Norm2.Forward(made.add(operator.Add(x, cross(x)))))
	return m.Norm3.Forward(made.add(operator.Add(x, feed(x))))
}

func encode(f *frame) any {
	m := f.m.(*TransformerEncoder)
	x := f.in("src")
	var made temporaries
	defer made.close()
	padding := f.floatMask(f.in("src_key_padding_mask"), "src_key_padding_mask", x, &made)
	mask := f.floatMask(f.in("mask"), "mask", x, &made)
	causal := f.causal(mask, "is_causal", x, m.Layers)
	if mask == nil && f.nests(m, x, padding, &made) {
		size := x.Shape()
		x = made.add(call("aten::_nested_tensor_from_mask", x, made.add(padding.LogicalNot()), torch.Kw("mask_check", false)))
		for _, l := range m.Layers.All() {
			x = made.add(l.(*TransformerEncoderLayer).fused(x, nil, nil))
		}
		return made.keep(normalized(m.Norm, made.add(call("aten::to_padded_tensor", x, 0.0, size))))
	}
	for _, l := range m.Layers.All() {
		x = made.add(l.(*TransformerEncoderLayer).Forward(x, WithSrcMask(mask), WithIsCausal(causal), WithSrcKeyPaddingMask(padding)))
	}
	return made.keep(normalized(m.Norm, x))
}

// nests reports whether the layers get the sequences without their padding, as a nested
// tensor, so that the result is zero where padding was: where all of them take the
// fused operator, and padding is at the end of each sequence.
func (f *frame) nests(m *TransformerEncoder, x, padding *torch.Tensor, made *temporaries) bool {
	first, ok := m.Layers.At(0).(*TransformerEncoderLayer)
	if !ok || padding == nil || !f.bool("enable_nested_tensor") || truth(classOf(first).get(first, "norm_first")) || !first.fuses(x) {
		return false
	}
	return !f.bool("mask_check") || must(torch.Call("aten::_nested_tensor_from_mask_left_aligned", x, made.add(padding.LogicalNot()))).(bool)
}

func decode(f *frame) any {
	m := f.m.(*TransformerDecoder)
	x, memory := f.in("tgt"), f.in("memory")
	causal := f.causal(f.in("tgt_mask"), "tgt_is_causal", x, m.Layers)
	var made temporaries
	defer made.close()
	for _, l := range m.Layers.All() {
		x = made.add(l.(*TransformerDecoderLayer).Forward(x, memory, WithTgtMask(f.arg("tgt_mask")), WithMemoryMask(f.arg("memory_mask")),
			WithTgtKeyPaddingMask(f.arg("tgt_key_padding_mask")), WithMemoryKeyPaddingMask(f.arg("memory_key_padding_mask")),
			WithTgtIsCausal(causal), WithMemoryIsCausal(f.arg("memory_is_causal"))))
	}
	return made.keep(normalized(m.Norm, x))
}

func normalized(norm Module, x *torch.Tensor) *torch.Tensor {
	if norm == nil || reflect.ValueOf(norm).IsNil() {
		return x
	}
	return Call(norm.(Layer), x)
}

// causal is _detect_is_causal_mask: what the caller says, or whether the mask is
// the causal one.
func (f *frame) causal(mask *torch.Tensor, name string, x *torch.Tensor, stack *ModuleList) bool {
	said := functional.Plain(f.arg(name))
	if said != nil || mask == nil {
		return said == true
	}
	n := x.Shape()[0]
	if first, ok := stack.At(0).(layer); ok && x.Dim() == 3 {
		if given, _ := Attribute(first, "batch_first"); given == ir.Arg(ir.Bool(true)) {
			n = x.Shape()[1]
		}
	}
	want, err := CausalMask(n, torch.Kw("dtype", mask.DType()), torch.Kw("device", mask.Device()))
	if err != nil {
		panic(err)
	}
	defer func() { _ = want.Close() }()
	return must(torch.Equal(mask, want))
}

// CausalMask returns the [n, n] mask that lets a position see itself and what is
// before it: Transformer.generate_square_subsequent_mask. The options are dtype
// and device.
func CausalMask(n int, options ...torch.Kwarg) (*torch.Tensor, error) {
	return torch.Try(func() *torch.Tensor {
		full := call("aten::full", append([]any{[]int{n, n}, negativeInfinity}, kwargs(options)...)...)
		defer func() { _ = full.Close() }()
		return call("aten::triu", full, 1)
	})
}

func transform(f *frame) any {
	m := f.m.(*Transformer)
	src, tgt := f.in("src"), f.in("tgt")
	batch := 1
	if f.bool("batch_first") {
		batch = 0
	}
	a, b, size := src.Shape(), tgt.Shape(), f.int("d_model")
	if len(a) == 3 && len(b) == 3 && a[batch] != b[batch] {
		f.fail(ir.ErrRuntime, "the batch number of src and tgt must be equal")
	}
	if a[len(a)-1] != size || b[len(b)-1] != size {
		f.fail(ir.ErrRuntime, "the feature number of src and tgt must be equal to d_model")
	}
	encoder, ok := m.Encoder.(interface {
		Forward(*torch.Tensor, ...Option) *torch.Tensor
	})
	decoder, okToo := m.Decoder.(interface {
		Forward(*torch.Tensor, *torch.Tensor, ...Option) *torch.Tensor
	})
	if !ok || !okToo {
		f.fail(ir.ErrType, "%s", fmt.Sprintf("expected an encoder and a decoder with the methods of ours, got %T and %T", m.Encoder, m.Decoder))
	}
	memory := encoder.Forward(src, WithMask(f.arg("src_mask")), WithSrcKeyPaddingMask(f.arg("src_key_padding_mask")), WithIsCausal(f.arg("src_is_causal")))
	defer func() {
		if memory != src {
			_ = memory.Close()
		}
	}()
	return decoder.Forward(tgt, memory, WithTgtMask(f.arg("tgt_mask")), WithMemoryMask(f.arg("memory_mask")),
		WithTgtKeyPaddingMask(f.arg("tgt_key_padding_mask")), WithMemoryKeyPaddingMask(f.arg("memory_key_padding_mask")),
		WithTgtIsCausal(f.arg("tgt_is_causal")), WithMemoryIsCausal(f.arg("memory_is_causal")))
}
