package torchops

import (
	"math"
	"slices"

	"github.com/torchfx-go/torchfx/ir"
)

// attention is multi_head_attention_forward: inputs [L, N, E] or [L, E], masks
// bool or float; the result is the output and the weights, or None for them.
func attention(f *frame) any {
	q, k, v := f.t("query"), f.t("key"), f.t("value")
	heads := f.int("num_heads")
	batched := f.checkAttention(q, k, v)
	same, sameKV := q.is(k), k.is(v)
	padMask, mask := f.t("key_padding_mask"), f.t("attn_mask")
	if !batched {
		q0 := f.tensor("unsqueeze", q, 1)
		k0, v0 := f.tensor("unsqueeze", k, 1), f.tensor("unsqueeze", v, 1)
		// Python compares the objects after unsqueeze, which are three.
		q, k, v, same, sameKV = q0, k0, v0, false, false
		if padMask != nil {
			padMask = f.tensor("unsqueeze", padMask, 0)
		}
	}
	shape := q.Shape()
	length, batch, width := shape[0], shape[1], shape[2]
	source := k.Shape()[0]
	padMask = f.floatMask(padMask, "key_padding_mask", q)
	causal, needWeights := f.bool("is_causal"), f.bool("need_weights")
	if causal && mask == nil {
		f.fail(ir.ErrRuntime, "Need attn_mask if specifying the is_causal hint. You may use the Transformer module method `generate_square_subsequent_mask` to create this mask.")
	}
	if causal && padMask == nil && !needWeights {
		mask = nil
	} else {
		mask = f.floatMask(mask, "attn_mask", q)
		if padMask != nil {
			causal = false
		}
	}
	if want := f.arg("embed_dim_to_check"); !f.holds(width, "eq", want) {
		f.fail(ir.ErrAssertion, "was expecting embedding dimension of %s, but got %d", textOf(want), width)
	}
	if heads == 0 {
		f.fail(ir.ErrZeroDivision, "integer division or modulo by zero")
	}
	if width%heads != 0 {
		f.fail(ir.ErrAssertion, "embed_dim %d not divisible by num_heads %d", width, heads)
	}
	head := width / heads
	f.checkKeyAndValue(k, v)
	q, k, v = f.project(q, k, v, same, sameKV)
	mask = f.maskShape(mask, length, source, batch*heads)
	if f.given("bias_k") && f.given("bias_v") {
		bk, bv := f.t("bias_k", "repeat"), f.t("bias_v", "repeat")
		f.assert(!f.given("static_k"), "bias cannot be added to static key.")
		f.assert(!f.given("static_v"), "bias cannot be added to static value.")
		k = f.tensor("cat", []any{k, f.tensor("repeat", bk, []int{1, batch, 1})})
		v = f.tensor("cat", []any{v, f.tensor("repeat", bv, []int{1, batch, 1})})
		mask, padMask = f.widen(mask), f.widen(padMask)
	} else {
		f.assert(!f.given("bias_k"), "bias_k is set but bias_v is None")
		f.assert(!f.given("bias_v"), "bias_v is set but bias_k is None")
	}
	split := func(x *Tensor) *Tensor {
		return f.tensor("transpose.int", f.tensor("view", x, []int{f.sizeAt(x, 0), batch * heads, head}), 0, 1)
	}
	static := func(name string, x *Tensor) *Tensor {
		t := f.t(name)
		if t == nil {
			return split(x)
		}
		f.assert(f.sizeAt(t, 0) == batch*heads, "expecting %s.size(0) of %d, but got %d", name, batch*heads, f.sizeAt(t, 0))
		f.assert(f.sizeAt(t, 2) == head, "expecting %s.size(2) of %d, but got %d", name, head, f.sizeAt(t, 2))
		return t
	}
	q = split(q)
	k, v = static("static_k", k), static("static_v", v)
	if f.bool("add_zero_attn") {
		zeros := func(x *Tensor) *Tensor {
			z := f.tensor("zeros", []int{batch * heads, 1, head}, Kw("dtype", x.DType()), Kw("device", x.Device()), Kw("pin_memory", false))
			return f.tensor("cat", []any{x, z}, 1)
		}
		k, v = zeros(k), zeros(v)
		mask, padMask = f.widen(mask), f.widen(padMask)
	}
	source = f.sizeAt(k, 1)
	if padMask != nil {
		f.assert(f.sizeAt(padMask, 0) == batch, "Expected key_padded_mask.shape[0] to be %d, but got %d", batch, f.sizeAt(padMask, 0))
		f.assert(f.sizeAt(padMask, 1) == source, "Expected key_padded_mask.shape[1] to be %d, but got %d", source, f.sizeAt(padMask, 1))
		padMask = f.tensor("expand", f.tensor("view", padMask, []int{batch, 1, 1, source}), []int{-1, heads, -1, -1})
		padMask = f.tensor("reshape", padMask, []int{batch * heads, 1, source})
		if mask == nil {
			mask = padMask
		} else {
			mask = f.tensor("add.Tensor", mask, padMask)
		}
	}
	dropout := f.arg("dropout_p")
	if !f.bool("training") {
		dropout = 0.0
	}
	project := func(x *Tensor) *Tensor {
		x = f.tensor("linear", x, f.t("out_proj_weight"), f.t("out_proj_bias"))
		return f.tensor("view", x, []int{length, batch, f.sizeAt(x, 1)})
	}
	alone := func(x *Tensor, dim int) *Tensor {
		if batched {
			return x
		}
		return f.tensor("squeeze.dim", x, dim)
	}
	if !needWeights {
		if mask != nil {
			if s := mask.Shape(); s[0] == 1 && len(s) == 3 {
				mask = f.tensor("unsqueeze", mask, 0)
			} else {
				mask = f.tensor("view", mask, []int{batch, heads, -1, source})
			}
		}
		four := func(x *Tensor, n int) *Tensor {
			return f.tensor("view", x, []int{batch, heads, n, head})
		}
		out := f.tensor("scaled_dot_product_attention", four(q, length), four(k, source), four(v, source), mask, dropout, causal)
		out = f.tensor("reshape", f.tensor("permute", out, []int{2, 0, 1, 3}), []int{batch * length, width})
		return ir.PyTuple{alone(project(out), 1), nil}
	}
	if head == 0 {
		f.fail(ir.ErrZeroDivision, "float division by zero")
	}
	scaled := f.tensor("mul.Tensor", q, math.Sqrt(1/float64(head)))
	f.assert(!causal || mask != nil, "FIXME: is_causal not implemented for need_weights")
	var weights *Tensor
	if transposed := f.tensor("transpose.int", k, -2, -1); mask != nil {
		weights = f.tensor("baddbmm", mask, scaled, transposed)
	} else {
		weights = f.tensor("bmm", scaled, transposed)
	}
	weights = f.tensor("softmax.int", weights, -1)
	if f.holds(dropout, "gt", 0.0) {
		weights = As[*Tensor](f.invoke("torch.nn.functional.dropout", weights, dropout))
	}
	out := f.tensor("transpose.int", f.tensor("bmm", weights, v), 0, 1)
	out = project(f.tensor("reshape", out, []int{length * batch, width}))
	weights = f.tensor("view", weights, []int{batch, heads, length, source})
	if f.bool("average_attn_weights") {
		weights = f.tensor("mean.dim", weights, []int{1})
	}
	return ir.PyTuple{alone(out, 1), alone(weights, 0)}
}

// checkAttention checks the ranks and reports whether there is a batch.
func (f *frame) checkAttention(q, k, v *Tensor) bool {
	n := q.Dim()
	if n != 2 && n != 3 {
		f.fail(ir.ErrAssertion, "query should be unbatched 2D or batched 3D tensor but received %d-D query tensor", n)
	}
	kind := map[int]string{2: "unbatched (2-D)", 3: "batched (3-D)"}[n]
	if k.Dim() != n || v.Dim() != n {
		f.fail(ir.ErrAssertion, "For %s `query`, expected `key` and `value` to be %d-D but found %d-D and %d-D tensors respectively", kind, n, k.Dim(), v.Dim())
	}
	if m := f.t("key_padding_mask"); m != nil && m.Dim() != n-1 {
		f.fail(ir.ErrAssertion, "For %s `query`, expected `key_padding_mask` to be `None` or %d-D but found %d-D tensor instead", kind, n-1, m.Dim())
	}
	if m := f.t("attn_mask"); m != nil && m.Dim() != 2 && m.Dim() != 3 {
		f.fail(ir.ErrAssertion, "For %s `query`, expected `attn_mask` to be `None`, 2-D or 3-D but found %d-D tensor instead", kind, m.Dim())
	}
	if m := f.t("attn_mask"); m != nil && n == 2 && m.Dim() == 3 {
		want := []int{f.int("num_heads"), q.Shape()[0], k.Shape()[0]}
		f.assert(slices.Equal(m.Shape(), want), "Expected `attn_mask` shape to be %s but got %s", tupleText(want), sizeText(m.Shape()))
	}
	return n == 3
}

func (f *frame) assert(holds bool, format string, args ...any) {
	if !holds {
		f.fail(ir.ErrAssertion, format, args...)
	}
}

func (f *frame) checkKeyAndValue(k, v *Tensor) {
	a, b := k.Shape(), v.Shape()
	if f.bool("use_separate_proj_weight") {
		f.assert(slices.Equal(a[:2], b[:2]), "key's sequence and batch dims %s do not match value's %s", sizeText(a[:2]), sizeText(b[:2]))
	} else {
		f.assert(slices.Equal(a, b), "key shape %s does not match value shape %s", sizeText(a), sizeText(b))
	}
}

// floatMask turns a mask of bools into one to be added: -inf where it is set.
func (f *frame) floatMask(mask *Tensor, name string, like *Tensor) *Tensor {
	if mask == nil || mask.DType().IsFloat() {
		return mask
	}
	if mask.DType() != Bool8 {
		f.fail(ir.ErrAssertion, "only bool and floating types of %s are supported", name)
	}
	zeros := f.tensor("zeros_like", mask, Kw("dtype", like.DType()))
	return f.tensor("masked_fill_.Scalar", zeros, mask, math.Inf(-1))
}

func (f *frame) maskShape(mask *Tensor, length, source, all int) *Tensor {
	if mask == nil {
		return nil
	}
	s := mask.Shape()
	if len(s) == 2 {
		if s[0] != length || s[1] != source {
			f.fail(ir.ErrRuntime, "The shape of the 2D attn_mask is %s, but should be (%d, %d).", sizeText(mask.Shape()), length, source)
		}
		return f.tensor("unsqueeze", mask, 0)
	}
	if s[0] != all || s[1] != length || s[2] != source {
		f.fail(ir.ErrRuntime, "The shape of the 3D attn_mask is %s, but should be (%d, %d, %d).", sizeText(mask.Shape()), all, length, source)
	}
	return mask
}

// widen adds a column of zeros to a mask.
func (f *frame) widen(mask *Tensor) *Tensor {
	if mask == nil {
		return nil
	}
	return f.tensor("pad", mask, []int{0, 1})
}

// project is the in-projection. Which of the inputs are one object decides how
// it is computed, as in Python.
func (f *frame) project(q, k, v *Tensor, same, sameKV bool) (_, _, _ *Tensor) {
	w, b := f.t("in_proj_weight"), f.t("in_proj_bias")
	parts := func(op string, x *Tensor, how any, n int) []*Tensor {
		out := make([]*Tensor, n)
		if x == nil {
			return out
		}
		list := f.tuple(op, x, how)
		if len(list) != n {
			f.fail(ir.ErrValue, "not enough values to unpack (expected %d, got %d)", n, len(list))
		}
		for i, part := range list {
			out[i] = part.(*Tensor)
		}
		return out
	}
	linear := func(x, w, b *Tensor) *Tensor { return f.tensor("linear", x, w, b) }
	width := q.Shape()[q.Dim()-1]
	unpack := func(x *Tensor, n int) *Tensor {
		x = f.tensor("unsqueeze", f.tensor("unflatten.int", x, -1, []int{n, width}), 0)
		return f.tensor("contiguous", f.tensor("squeeze.dim", f.tensor("transpose.int", x, 0, -2), -2))
	}
	at := func(x *Tensor, i int) *Tensor { return f.tensor("select.int", x, 0, i) }
	switch {
	case f.bool("use_separate_proj_weight"):
		for _, name := range []string{"q_proj_weight", "k_proj_weight", "v_proj_weight"} {
			f.assert(f.given(name), "use_separate_proj_weight is True but %s is None", name)
		}
		return f.projectApart(q, k, v, parts("chunk", b, 3, 3))
	case w == nil:
		f.fail(ir.ErrAssertion, "use_separate_proj_weight is False but in_proj_weight is None")
	case sameKV && same:
		all := unpack(linear(q, w, b), 3)
		return at(all, 0), at(all, 1), at(all, 2)
	case sameKV:
		how := []int{width, 2 * width}
		ws, bs := parts("split_with_sizes", w, how, 2), parts("split_with_sizes", b, how, 2)
		qp, both := linear(q, ws[0], bs[0]), unpack(linear(k, ws[1], bs[1]), 2)
		return qp, at(both, 0), at(both, 1)
	}
	ws, bs := parts("chunk", w, 3, 3), parts("chunk", b, 3, 3)
	return linear(q, ws[0], bs[0]), linear(k, ws[1], bs[1]), linear(v, ws[2], bs[2])
}

// projectApart projects with three weights.
func (f *frame) projectApart(q, k, v *Tensor, biases []*Tensor) (_, _, _ *Tensor) {
	var out [3]*Tensor
	width := f.sizeAt(q, -1)
	inputs := [3]*Tensor{q, k, v}
	weights := [3]*Tensor{f.t("q_proj_weight"), f.t("k_proj_weight"), f.t("v_proj_weight")}
	names := [3]string{"query", "key", "value"}
	for i, w := range weights {
		want := []int{width, f.sizeAt(inputs[i], -1)}
		f.assert(slices.Equal(w.Shape(), want), "expecting %s weights shape of %s, but got %s", names[i], tupleText(want), sizeText(w.Shape()))
	}
	for i, b := range biases {
		f.assert(b == nil || slices.Equal(b.Shape(), []int{width}), "expecting %s bias shape of %s, but got %s", names[i], tupleText([]int{width}), describeShape(b))
	}
	for i := range out {
		out[i] = f.tensor("linear", inputs[i], weights[i], biases[i])
	}
	return out[0], out[1], out[2]
}

func describeShape(t *Tensor) string {
	if t == nil {
		return "None"
	}
	return sizeText(t.Shape())
}
