package torchops

import "github.com/torchfx-go/torchfx/ir"

func embeddings() map[string]func(f *frame) any {
	return map[string]func(f *frame) any{"embedding": embedding, "embedding_bag": embeddingBag}
}

func embedding(f *frame) any {
	x, w, padding := f.arg("input"), f.arg("weight"), any(int64(-1))
	if f.given("padding_idx") {
		padding = f.arg("padding_idx")
		rows := func() int { return f.sizeAt(f.t("weight", "size"), 0) }
		if f.holds(padding, "gt", 0) {
			if f.holds(padding, "ge", rows()) {
				f.fail(ir.ErrAssertion, "Padding_idx must be within num_embeddings")
			}
		} else if f.holds(padding, "lt", 0) {
			if f.holds(padding, "lt", -rows()) {
				f.fail(ir.ErrAssertion, "Padding_idx must be within num_embeddings")
			}
			padding = f.py("add", rows(), padding)
		}
	}
	if f.given("max_norm") {
		x = f.invoke("torch.Tensor.contiguous", f.t("input", "contiguous"))
		f.renormalize(f.t("weight", "detach"), x)
	}
	return f.op("embedding", w, x, padding, f.arg("scale_grad_by_freq"), f.arg("sparse"))
}

// renormalize brings the rows of w that x names to max_norm, in place.
func (f *frame) renormalize(w, x any) {
	// a gradient would be recorded: Python calls it without
	f.op("embedding_renorm_", f.tensor("detach", w), x, f.arg("max_norm"), f.arg("norm_type"))
}

func embeddingBag(f *frame) any {
	w, x, samples := f.t("weight", "dtype"), f.t("input", "dim"), f.t("per_sample_weights", "size")
	offsets := f.arg("offsets")
	includeLast := f.arg("include_last_offset")
	if w.DType() == Int64 && x.DType().IsFloat() {
		w, x = x, w // the order of arguments that was
	}
	if samples != nil && !sameShape(x, samples) {
		f.fail(ir.ErrValue, "embedding_bag: If per_sample_weights (%s) is not None, then it must have the same shape as the input (%s)", sizeText(samples.Shape()), sizeText(x.Shape()))
	}
	if w.Dim() != 2 {
		f.fail(ir.ErrValue, "weight has to be a 2D Tensor, but got Tensor of dimension %d", w.Dim())
	}
	switch x.Dim() {
	case 2:
		if offsets != nil {
			f.fail(ir.ErrValue, "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length sequences. However, found offsets of type <class '%s'>", className(offsets))
		}
		offsets = f.op("arange", 0, x.Numel(), x.Shape()[1], Kw("dtype", x.DType()), Kw("device", x.Device()))
		includeLast = false
		x = f.tensor("reshape", x, []int{-1})
		if samples != nil {
			samples = f.tensor("reshape", samples, []int{-1})
		}
	case 1:
		if offsets == nil {
			f.fail(ir.ErrValue, "offsets has to be a 1D Tensor but got None")
		}
		if f.t("offsets", "dim").Dim() != 1 {
			f.fail(ir.ErrValue, "offsets has to be a 1D Tensor")
		}
	default:
		f.fail(ir.ErrValue, "input has to be 1D or 2D Tensor, but got Tensor of dimension %d", x.Dim())
	}
	mode := f.oneOf("mode", "sum", "mean", "max")
	switch {
	case mode < 0:
		f.fail(ir.ErrValue, "mode has to be one of sum, mean or max")
	case mode == 2 && f.bool("scale_grad_by_freq"):
		f.fail(ir.ErrValue, "max mode does not support scaling the gradient by the frequency")
	case mode == 2 && f.bool("sparse"):
		f.fail(ir.ErrValue, "max mode does not support sparse weights")
	}
	if f.given("max_norm") {
		f.renormalize(w, x)
	}
	if samples != nil && mode != 0 {
		f.fail(ir.ErrNotImplemented, "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' (got mode='%s'). Please open a feature request on GitHub.", textOf(f.arg("mode")))
	}
	return f.tuple("embedding_bag.padding_idx", w, x, offsets, f.arg("scale_grad_by_freq"), mode, f.arg("sparse"), samples, includeLast, f.arg("padding_idx"))[0]
}
