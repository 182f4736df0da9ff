package functional

import (
	"math"

	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

func attentions() { bodies["multi_head_attention_forward"] = attention }

// attention is multi_head_attention_forward: inputs [L, N, E] or [L, E], masks
// bool or float; the result is the output and the weights, or None for them.
func attention(c *call) any {
	q, k, v := c.t("query"), c.t("key"), c.t("value")
	heads := c.int("num_heads")
	batched := c.checkAttention(q, k, v)
	same, sameKV := q == k, k == v
	padMask, mask := c.t("key_padding_mask"), c.t("attn_mask")
	if !batched {
		q0 := c.tensor("aten::unsqueeze", q, 1)
		k0, v0 := c.tensor("aten::unsqueeze", k, 1), c.tensor("aten::unsqueeze", v, 1)
		// Python compares the objects after unsqueeze, which are three.
		q, k, v, same, sameKV = q0, k0, v0, false, false
		if padMask != nil {
			padMask = c.tensor("aten::unsqueeze", padMask, 0)
		}
	}
	shape := q.Shape()
	length, batch, width := shape[0], shape[1], shape[2]
	source := k.Shape()[0]
	padMask = c.floatMask(padMask, "key_padding_mask", q)
	causal, needWeights := c.bool("is_causal"), c.bool("need_weights")
	if causal && mask == nil {
		c.fail(ir.ErrRuntime, "Need attn_mask if specifying the is_causal hint. You may use the Transformer module method `generate_square_subsequent_mask` to create this mask.")
	}
	if causal && padMask == nil && !needWeights {
		mask = nil
	} else {
		mask = c.floatMask(mask, "attn_mask", q)
		if padMask != nil {
			causal = false
		}
	}
	if want := c.int("embed_dim_to_check"); width != want {
		c.fail(ir.ErrAssertion, "was expecting embedding dimension of %d, but got %d", want, width)
	}
	if heads <= 0 || width%heads != 0 {
		c.fail(ir.ErrAssertion, "embed_dim %d not divisible by num_heads %d", width, heads)
	}
	head := width / heads
	q, k, v = c.project(q, k, v, same, sameKV)
	mask = c.maskShape(mask, length, source, batch*heads)
	if bk, bv := c.t("bias_k"), c.t("bias_v"); bk != nil && bv != nil {
		k = c.tensor("aten::cat", []any{k, c.tensor("aten::repeat", bk, []int{1, batch, 1})})
		v = c.tensor("aten::cat", []any{v, c.tensor("aten::repeat", bv, []int{1, batch, 1})})
		mask, padMask = c.widen(mask), c.widen(padMask)
	}
	split := func(x *torch.Tensor) *torch.Tensor {
		return c.tensor("aten::transpose.int", c.tensor("aten::view", x, []int{x.Shape()[0], batch * heads, head}), 0, 1)
	}
	q = split(q)
	if static := c.t("static_k"); static != nil {
		k = static
	} else {
		k = split(k)
	}
	if static := c.t("static_v"); static != nil {
		v = static
	} else {
		v = split(v)
	}
	if c.bool("add_zero_attn") {
		zeros := func(x *torch.Tensor) *torch.Tensor {
			z := c.tensor("aten::zeros", []int{batch * heads, 1, head}, torch.Kw("dtype", x.DType()), torch.Kw("device", x.Device()))
			return c.tensor("aten::cat", []any{x, z}, 1)
		}
		k, v = zeros(k), zeros(v)
		mask, padMask = c.widen(mask), c.widen(padMask)
	}
	source = k.Shape()[1]
	if padMask != nil {
		padMask = c.tensor("aten::expand", c.tensor("aten::view", padMask, []int{batch, 1, 1, source}), []int{-1, heads, -1, -1})
		padMask = c.tensor("aten::reshape", padMask, []int{batch * heads, 1, source})
		if mask == nil {
			mask = padMask
		} else {
			mask = c.tensor("aten::add.Tensor", mask, padMask)
		}
	}
	dropout := c.float("dropout_p")
	if !c.bool("training") {
		dropout = 0
	}
	project := func(x *torch.Tensor) *torch.Tensor {
		x = c.tensor("aten::linear", x, c.t("out_proj_weight"), c.t("out_proj_bias"))
		x = c.tensor("aten::view", x, []int{length, batch, x.Shape()[1]})
		if !batched {
			x = c.tensor("aten::squeeze.dim", x, 1)
		}
		return x
	}
	if !needWeights {
		if mask != nil {
			if s := mask.Shape(); s[0] == 1 && len(s) == 3 {
				mask = c.tensor("aten::unsqueeze", mask, 0)
			} else {
				mask = c.tensor("aten::view", mask, []int{batch, heads, -1, source})
			}
		}
		four := func(x *torch.Tensor, n int) *torch.Tensor {
			return c.tensor("aten::view", x, []int{batch, heads, n, head})
		}
		out := c.tensor("aten::scaled_dot_product_attention", four(q, length), four(k, source), four(v, source), mask, dropout, causal)
		out = c.tensor("aten::reshape", c.tensor("aten::permute", out, []int{2, 0, 1, 3}), []int{batch * length, width})
		return ir.PyTuple{project(out), nil}
	}
	if causal && mask == nil {
		c.fail(ir.ErrAssertion, "FIXME: is_causal not implemented for need_weights")
	}
	scaled := c.tensor("aten::mul.Tensor", q, math.Sqrt(1/float64(q.Shape()[2])))
	var weights *torch.Tensor
	if transposed := c.tensor("aten::transpose.int", k, -2, -1); mask != nil {
		weights = c.tensor("aten::baddbmm", mask, scaled, transposed)
	} else {
		weights = c.tensor("aten::bmm", scaled, transposed)
	}
	weights = c.tensor("aten::softmax.int", weights, -1)
	if dropout > 0 {
		weights = c.tensor("aten::dropout", weights, dropout, true)
	}
	out := c.tensor("aten::transpose.int", c.tensor("aten::bmm", weights, v), 0, 1)
	out = project(c.tensor("aten::reshape", out, []int{length * batch, width}))
	weights = c.tensor("aten::view", weights, []int{batch, heads, length, source})
	if c.bool("average_attn_weights") {
		weights = c.tensor("aten::mean.dim", weights, []int{1})
	}
	if !batched {
		weights = c.tensor("aten::squeeze.dim", weights, 0)
	}
	return ir.PyTuple{out, weights}
}

// checkAttention checks the ranks and reports whether there is a batch.
func (c *call) checkAttention(q, k, v *torch.Tensor) bool {
	n := q.Dim()
	if n != 2 && n != 3 {
		c.fail(ir.ErrAssertion, "query should be unbatched 2D or batched 3D tensor but received %d-D query tensor", n)
	}
	kind := map[int]string{2: "unbatched (2-D)", 3: "batched (3-D)"}[n]
	if k.Dim() != n || v.Dim() != n {
		c.fail(ir.ErrAssertion, "For %s `query`, expected `key` and `value` to be %d-D but found %d-D and %d-D tensors respectively", kind, n, k.Dim(), v.Dim())
	}
	if m := c.t("key_padding_mask"); m != nil && m.Dim() != n-1 {
		c.fail(ir.ErrAssertion, "For %s `query`, expected `key_padding_mask` to be `None` or %d-D but found %d-D tensor instead", kind, n-1, m.Dim())
	}
	if m := c.t("attn_mask"); m != nil && m.Dim() != 2 && m.Dim() != 3 {
		c.fail(ir.ErrAssertion, "For %s `query`, expected `attn_mask` to be `None`, 2-D or 3-D but found %d-D tensor instead", kind, m.Dim())
	}
	if !c.bool("use_separate_proj_weight") && !sameShape(k, v) {
		c.fail(ir.ErrAssertion, "key shape %s does not match value shape %s", size(k), size(v))
	}
	return n == 3
}

// floatMask turns a mask of bools into one to be added: -inf where it is set.
func (c *call) floatMask(mask *torch.Tensor, name string, like *torch.Tensor) *torch.Tensor {
	if mask == nil || mask.DType().IsFloat() {
		return mask
	}
	if mask.DType() != torch.Bool8 {
		c.fail(ir.ErrAssertion, "only bool and floating types of %s are supported", name)
	}
	zeros := c.tensor("aten::zeros_like", mask, torch.Kw("dtype", like.DType()))
	return c.tensor("aten::masked_fill_.Scalar", zeros, mask, math.Inf(-1))
}

func (c *call) maskShape(mask *torch.Tensor, length, source, all int) *torch.Tensor {
	if mask == nil {
		return nil
	}
	s := mask.Shape()
	if len(s) == 2 {
		if s[0] != length || s[1] != source {
			c.fail(ir.ErrRuntime, "The shape of the 2D attn_mask is %s, but should be (%d, %d).", size(mask), length, source)
		}
		return c.tensor("aten::unsqueeze", mask, 0)
	}
	if s[0] != all || s[1] != length || s[2] != source {
		c.fail(ir.ErrRuntime, "The shape of the 3D attn_mask is %s, but should be (%d, %d, %d).", size(mask), all, length, source)
	}
	return mask
}

// widen adds a column of zeros to a mask.
func (c *call) widen(mask *torch.Tensor) *torch.Tensor {
	if mask == nil {
		return nil
	}
	return c.tensor("aten::pad", mask, []int{0, 1})
}

// project is the in-projection. Which of the inputs are one object decides how
// it is computed, as in Python.
func (c *call) project(q, k, v *torch.Tensor, same, sameKV bool) (_, _, _ *torch.Tensor) {
	w, b := c.t("in_proj_weight"), c.t("in_proj_bias")
	parts := func(op string, x *torch.Tensor, how any, n int) []*torch.Tensor {
		out := make([]*torch.Tensor, n)
		if x == nil {
			return out
		}
		for i, part := range c.tuple(op, x, how) {
			out[i] = part.(*torch.Tensor)
		}
		return out
	}
	linear := func(x, w, b *torch.Tensor) *torch.Tensor { return c.tensor("aten::linear", x, w, b) }
	width := q.Shape()[q.Dim()-1]
	unpack := func(x *torch.Tensor, n int) *torch.Tensor {
		x = c.tensor("aten::unsqueeze", c.tensor("aten::unflatten.int", x, -1, []int{n, width}), 0)
		return c.tensor("aten::contiguous", c.tensor("aten::squeeze.dim", c.tensor("aten::transpose.int", x, 0, -2), -2))
	}
	at := func(x *torch.Tensor, i int) *torch.Tensor { return c.tensor("aten::select.int", x, 0, i) }
	switch {
	case c.bool("use_separate_proj_weight"):
		bs := parts("aten::chunk", b, 3, 3)
		return linear(q, c.t("q_proj_weight"), bs[0]), linear(k, c.t("k_proj_weight"), bs[1]), linear(v, c.t("v_proj_weight"), bs[2])
	case w == nil:
		c.fail(ir.ErrAssertion, "use_separate_proj_weight is False but in_proj_weight is None")
	case sameKV && same:
		all := unpack(linear(q, w, b), 3)
		return at(all, 0), at(all, 1), at(all, 2)
	case sameKV:
		how := []int{width, 2 * width}
		ws, bs := parts("aten::split_with_sizes", w, how, 2), parts("aten::split_with_sizes", b, how, 2)
		qp, both := linear(q, ws[0], bs[0]), unpack(linear(k, ws[1], bs[1]), 2)
		return qp, at(both, 0), at(both, 1)
	}
	ws, bs := parts("aten::chunk", w, 3, 3), parts("aten::chunk", b, 3, 3)
	return linear(q, ws[0], bs[0]), linear(k, ws[1], bs[1]), linear(v, ws[2], bs[2])
}
