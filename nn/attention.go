package nn

import (
	"math"

	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn/functional"
	"github.com/torchfx-go/torchfx/operator"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// MultiheadAttention is torch.nn.MultiheadAttention(embed_dim, num_heads,
// dropout=0.0, bias=True, add_bias_kv=False, add_zero_attn=False, kdim=None,
// vdim=None, batch_first=False).
//
// As PyTorch without gradients, it runs the fused operator where that applies and
// nothing records it (see torchops.IsRecording):
// in evaluation mode, on one batch-first tensor as query, key and value.
type MultiheadAttention struct {
	leaf
	InProjWeight, QProjWeight, KProjWeight, VProjWeight, InProjBias *torch.Tensor
	BiasK, BiasV                                                    *torch.Tensor
	OutProj                                                         *NonDynamicallyQuantizableLinear
}

// NewMultiheadAttention makes a MultiheadAttention.
func NewMultiheadAttention(embedDim, numHeads int, options ...Option) *MultiheadAttention {
	return build(new(MultiheadAttention), []any{embedDim, numHeads}, options)
}

// Forward returns the attention [L, N, E] ([N, L, E] with batch_first, [L, E]
// without batch) and its weights [N, L, S], nil with WithNeedWeights(false). The
// options are key_padding_mask, need_weights, attn_mask, average_attn_weights
// and is_causal.
func (m *MultiheadAttention) Forward(query, key, value *torch.Tensor, options ...Option) (output, weights *torch.Tensor) {
	result := run(m, options, query, key, value)
	if pair, ok := result.(ir.PyTuple); ok && len(pair) == 2 && pair[1] == nil {
		return one(pair[0]), nil
	}
	return two(result)
}

func (m *MultiheadAttention) sameWidth() bool { return m.QProjWeight == nil }

func initAttention(b *builder) {
	m := b.m.(*MultiheadAttention)
	embed, heads := b.int("embed_dim"), b.int("num_heads")
	if embed <= 0 || heads <= 0 {
		b.fail(ir.ErrValue, "embed_dim and num_heads must be greater than 0, got embed_dim=%d and num_heads=%d instead", embed, heads)
	}
	if embed%heads != 0 {
		b.fail(ir.ErrAssertion, "embed_dim must be divisible by num_heads")
	}
	width := func(name string) int {
		if _, none := b.attr(name).(ir.None); none {
			return embed
		}
		return b.int(name)
	}
	k, v := width("kdim"), width("vdim")
	if k == embed && v == embed {
		m.InProjWeight = b.empty(3*embed, embed)
	} else {
		m.QProjWeight, m.KProjWeight, m.VProjWeight = b.empty(embed, embed), b.empty(embed, k), b.empty(embed, v)
	}
	if b.bool("bias") {
		m.InProjBias = b.full(0, 3*embed)
	}
	options := append([]Option{{Name: "bias", Value: b.bool("bias")}}, b.factory...)
	m.OutProj = NewNonDynamicallyQuantizableLinear(embed, embed, options...)
	if b.bool("add_bias_kv") {
		m.BiasK, m.BiasV = b.empty(1, 1, embed), b.empty(1, 1, embed)
	}
	for _, w := range []*torch.Tensor{m.InProjWeight, m.QProjWeight, m.KProjWeight, m.VProjWeight} {
		xavierUniform(w)
	}
	if m.InProjBias != nil {
		inplace("aten::fill_.Scalar", m.OutProj.Bias, 0.0)
	}
	for _, w := range []*torch.Tensor{m.BiasK, m.BiasV} {
		if w != nil {
			inplace("aten::normal_", w, 0.0, math.Sqrt(2/float64(2*embed)))
		}
	}
}

// xavierUniform is torch.nn.init.xavier_uniform_ on [out, in].
func xavierUniform(t *torch.Tensor) {
	if t == nil {
		return
	}
	shape := t.Shape()
	field := product(shape[2:])
	uniform(t, math.Sqrt(3)*math.Sqrt(2/float64((shape[0]+shape[1])*field)))
}

// attentions adds the forward methods of attention and of the transformers.
func attentions(bodies map[string]func(f *frame) any) {
	bodies["MultiheadAttention"] = attend
	bodies["TransformerEncoderLayer"] = encodeLayer
	bodies["TransformerDecoderLayer"] = decodeLayer
	bodies["TransformerEncoder"] = encode
	bodies["TransformerDecoder"] = decode
	bodies["Transformer"] = transform
}

// isTrue reports whether an argument of forward is True.
func (f *frame) isTrue(name string) bool { return functional.Plain(f.arg(name)) == true }

func attend(f *frame) any {
	m := f.m.(*MultiheadAttention)
	q, k, v := f.in("query"), f.in("key"), f.in("value")
	padding, mask := f.in("key_padding_mask"), f.in("attn_mask")
	floating := isFloat(padding) || isFloat(mask)
	batched := q.Dim() == 3
	var made temporaries
	defer made.close()
	padding, mask = f.floatMask(padding, "key_padding_mask", q, &made), f.floatMask(mask, "attn_mask", q, &made)
	batchFirst := f.bool("batch_first")
	fused := !floating && batched && q == k && k == v && m.InProjBias != nil && q.DType() == m.InProjBias.DType() &&
		m.InProjWeight != nil && q.DType() == m.InProjWeight.DType() && !f.bool("training") && f.int("num_heads")%2 == 0 &&
		batchFirst && m.BiasK == nil && m.BiasV == nil && !f.bool("add_zero_attn") &&
		torch.MayFuse(q, m.InProjWeight, m.InProjBias, m.OutProj.Weight, m.OutProj.Bias)
	if fused {
		merged, kind := mergeMasks(mask, padding, q, f.int("num_heads"), &made)
		pair := must(torch.Call("aten::_native_multi_head_attention", q, k, v, f.int("embed_dim"), f.int("num_heads"), m.InProjWeight, m.InProjBias,
			m.OutProj.Weight, m.OutProj.Bias, merged, f.isTrue("need_weights"), f.isTrue("average_attn_weights"), kind)).(ir.PyTuple)
		if !f.isTrue("need_weights") {
			closeAll(pair[1])
			return ir.PyTuple{pair[0], nil}
		}
		return pair
	}
	if batchFirst && batched {
		q0, k0, v0 := q, k, v
		q = made.add(q0.Transpose(1, 0))
		switch { // one object must stay one object
		case k0 == v0 && q0 == k0:
			k, v = q, q
		case k0 == v0:
			k = made.add(k0.Transpose(1, 0))
			v = k
		default:
			k, v = made.add(k0.Transpose(1, 0)), made.add(v0.Transpose(1, 0))
		}
	}
	args := []any{q, k, v, f.self("embed_dim"), f.self("num_heads"), m.InProjWeight, m.InProjBias, m.BiasK, m.BiasV,
		f.self("add_zero_attn"), f.self("dropout"), m.OutProj.Weight, m.OutProj.Bias}
	kw := []torch.Kwarg{
		torch.Kw("training", f.bool("training")), torch.Kw("key_padding_mask", padding), torch.Kw("need_weights", f.arg("need_weights")),
		torch.Kw("attn_mask", mask), torch.Kw("average_attn_weights", f.arg("average_attn_weights")), torch.Kw("is_causal", f.arg("is_causal")),
	}
	if !m.sameWidth() {
		kw = append(kw, torch.Kw("use_separate_proj_weight", true), torch.Kw("q_proj_weight", m.QProjWeight),
			torch.Kw("k_proj_weight", m.KProjWeight), torch.Kw("v_proj_weight", m.VProjWeight))
	}
	pair := functional.Call("multi_head_attention_forward", args, kw).(ir.PyTuple)
	if batchFirst && batched {
		out := pair[0].(*torch.Tensor)
		pair[0] = out.Transpose(1, 0)
		_ = out.Close()
	}
	return pair
}

func closeAll(v any) {
	if t, ok := v.(*torch.Tensor); ok && t != nil {
		_ = t.Close()
	}
}

func isFloat(t *torch.Tensor) bool { return t != nil && t.DType().IsFloat() }

// floatMask is F._canonical_mask: a mask of bools becomes one to be added.
func (f *frame) floatMask(mask *torch.Tensor, name string, like *torch.Tensor, made *temporaries) *torch.Tensor {
	if mask == nil || isFloat(mask) {
		return mask
	}
	if mask.DType() != torch.Bool8 {
		f.fail(ir.ErrAssertion, "only bool and floating types of %s are supported", name)
	}
	zeros := made.add(call("aten::zeros_like", mask, torch.Kw("dtype", like.DType())))
	return made.add(call("aten::masked_fill_.Scalar", zeros, mask, math.Inf(-1)))
}

// mergeMasks is MultiheadAttention.merge_masks: the mask for the fused operators
// and what kind it is.
func mergeMasks(mask, padding, q *torch.Tensor, heads int, made *temporaries) (merged *torch.Tensor, kind any) {
	if padding != nil {
		merged, kind = padding, 1
	}
	if mask == nil {
		return merged, kind
	}
	batch, length := q.Shape()[0], q.Shape()[1]
	if mask.Dim() == 3 {
		merged = made.add(mask.View(batch, -1, length, length))
	} else {
		merged = made.add(made.add(mask.View(1, 1, length, length)).Expand(batch, heads, -1, -1))
	}
	if padding != nil {
		wide := made.add(made.add(padding.View(batch, 1, 1, length)).Expand(-1, heads, -1, -1))
		merged = made.add(operator.Add(merged, wide))
	}
	return merged, 2
}
