package functional

import (
	"maps"

	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

func embeddings() {
	maps.Copy(bodies, map[string]func(c *call) any{"embedding": embedding, "embedding_bag": embeddingBag})
}

func embedding(c *call) any {
	x, w, padding := c.t("input"), c.t("weight"), -1
	if c.given("padding_idx") {
		padding = c.int("padding_idx")
		if n := w.Shape()[0]; padding >= n || padding < -n {
			c.fail(ir.ErrAssertion, "Padding_idx must be within num_embeddings")
		} else if padding < 0 {
			padding += n
		}
	}
	if c.given("max_norm") {
		x = c.tensor("aten::contiguous", x)
		c.renormalize(w, x)
	}
	return c.op("aten::embedding", w, x, padding, c.arg("scale_grad_by_freq"), c.arg("sparse"))
}

// renormalize brings the rows of w that x names to max_norm, in place.
func (c *call) renormalize(w, x *torch.Tensor) {
	c.op("aten::embedding_renorm_", c.tensor("aten::detach", w), x, c.arg("max_norm"), c.arg("norm_type"))
}

func embeddingBag(c *call) any {
	x, w, offsets, samples := c.t("input"), c.t("weight"), c.t("offsets"), c.t("per_sample_weights")
	includeLast := c.bool("include_last_offset")
	if samples != nil && !sameShape(x, samples) {
		c.fail(ir.ErrValue, "embedding_bag: If per_sample_weights (%s) is not None, then it must have the same shape as the input (%s)", size(samples), size(x))
	}
	if w.Dim() != 2 {
		c.fail(ir.ErrValue, "weight has to be a 2D Tensor, but got Tensor of dimension %d", w.Dim())
	}
	switch x.Dim() {
	case 2:
		if offsets != nil {
			c.fail(ir.ErrValue, "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length sequences. However, found offsets of type <class 'torch.Tensor'>")
		}
		offsets = c.tensor("aten::arange.start_step", 0, x.Numel(), x.Shape()[1], torch.Kw("dtype", x.DType()), torch.Kw("device", x.Device()))
		includeLast = false
		x = c.tensor("aten::reshape", x, []int{-1})
		if samples != nil {
			samples = c.tensor("aten::reshape", samples, []int{-1})
		}
	case 1:
		if offsets == nil {
			c.fail(ir.ErrValue, "offsets has to be a 1D Tensor but got None")
		}
		if offsets.Dim() != 1 {
			c.fail(ir.ErrValue, "offsets has to be a 1D Tensor")
		}
	default:
		c.fail(ir.ErrValue, "input has to be 1D or 2D Tensor, but got Tensor of dimension %d", x.Dim())
	}
	mode, ok := map[string]int{"sum": 0, "mean": 1, "max": 2}[c.string("mode")]
	switch {
	case !ok:
		c.fail(ir.ErrValue, "mode has to be one of sum, mean or max")
	case mode == 2 && c.bool("scale_grad_by_freq"):
		c.fail(ir.ErrValue, "max mode does not support scaling the gradient by the frequency")
	case mode == 2 && c.bool("sparse"):
		c.fail(ir.ErrValue, "max mode does not support sparse weights")
	case samples != nil && mode != 0:
		c.fail(ir.ErrNotImplemented, "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' (got mode='%s'). Please open a feature request on GitHub.", c.string("mode"))
	}
	if c.given("max_norm") {
		c.renormalize(w, x)
	}
	return c.tuple("aten::embedding_bag.padding_idx", w, x, offsets, c.arg("scale_grad_by_freq"), mode, c.arg("sparse"), samples, includeLast, c.arg("padding_idx"))[0]
}
