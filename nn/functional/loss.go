package functional

import (
	"maps"
	"math"

	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// reduced is op(names..., reduction), the reduction after the named arguments.
func reduced(op string, names ...string) func(c *call) any {
	return func(c *call) any { return c.op(op, append(c.args(names...), c.reduction())...) }
}

func losses() {
	maps.Copy(bodies, map[string]func(c *call) any{
		"soft_margin_loss":       reduced("aten::soft_margin_loss", "input", "target"),
		"multilabel_margin_loss": reduced("aten::multilabel_margin_loss", "input", "target"),
		"cosine_embedding_loss":  reduced("aten::cosine_embedding_loss", "input1", "input2", "target", "margin"),
		"hinge_embedding_loss":   reduced("aten::hinge_embedding_loss", "input", "target", "margin"),
		"binary_cross_entropy_with_logits": func(c *call) any {
			c.wantSize("Target size (%s) must be the same as input size (%s)")
			return c.op("aten::binary_cross_entropy_with_logits", append(c.args("input", "target", "weight", "pos_weight"), c.reduction())...)
		},
		"nll_loss": func(c *call) any {
			return c.op("aten::nll_loss_nd", append(c.args("input", "target", "weight"), c.reduction(), c.arg("ignore_index"))...)
		},
		"cross_entropy": func(c *call) any {
			return c.op("aten::cross_entropy_loss", append(c.args("input", "target", "weight"), c.reduction(), c.arg("ignore_index"), c.arg("label_smoothing"))...)
		},
		"ctc_loss": func(c *call) any {
			op := "aten::ctc_loss.IntList"
			if _, tensors := c.arg("input_lengths").(*torch.Tensor); tensors {
				op = "aten::ctc_loss.Tensor"
			}
			return c.op(op, append(c.args("log_probs", "targets", "input_lengths", "target_lengths", "blank"), c.reduction(), c.arg("zero_infinity"))...)
		},
		"poisson_nll_loss": func(c *call) any {
			return c.op("aten::poisson_nll_loss", append(c.args("input", "target", "log_input", "full", "eps"), c.reduction())...)
		},
		"triplet_margin_loss": func(c *call) any {
			c.positiveMargin()
			return c.op("aten::triplet_margin_loss", append(c.args("anchor", "positive", "negative", "margin", "p", "eps", "swap"), c.reduction())...)
		},
		"margin_ranking_loss": func(c *call) any {
			a, b, y := c.t("input1"), c.t("input2"), c.t("target")
			if a.Dim() != b.Dim() || a.Dim() != y.Dim() {
				c.fail(ir.ErrRuntime, "margin_ranking_loss : All input tensors should have same dimension but got sizes: input1: %s, input2: %s, target: %s ", size(a), size(b), size(y))
			}
			return c.op("aten::margin_ranking_loss", a, b, y, c.arg("margin"), c.reduction())
		},
		"multi_margin_loss": func(c *call) any {
			if p := c.float("p"); p != 1 && p != 2 {
				c.fail(ir.ErrValue, "only p == 1 and p == 2 supported")
			}
			if w := c.t("weight"); w != nil && w.Dim() != 1 {
				c.fail(ir.ErrValue, "weight must be one-dimensional")
			}
			return c.op("aten::multi_margin_loss", append(c.args("input", "target", "p", "margin", "weight"), c.reduction())...)
		},
		"binary_cross_entropy": func(c *call) any {
			c.wantSize("Using a target size (%s) that is different to the input size (%s) is deprecated. Please ensure they have the same size.")
			w := c.t("weight")
			if w != nil {
				w = c.tensor("aten::expand", w, c.t("target").Shape())
			}
			return c.op("aten::binary_cross_entropy", c.t("input"), c.t("target"), w, c.reduction())
		},
		"smooth_l1_loss": func(c *call) any {
			x, y := c.broadcast()
			if c.float("beta") == 0 {
				return c.op("aten::l1_loss", x, y, c.reduction())
			}
			return c.op("aten::smooth_l1_loss", x, y, c.reduction(), c.arg("beta"))
		},
		"huber_loss": func(c *call) any {
			x, y := c.broadcast()
			w := c.lossWeight()
			if w == nil {
				return c.op("aten::huber_loss", x, y, c.reduction(), c.arg("delta"))
			}
			return c.reduce(c.tensor("aten::mul.Tensor", c.tensor("aten::huber_loss", x, y, 0, c.arg("delta")), w))
		},
		"l1_loss": func(c *call) any {
			x, y := c.broadcast()
			w := c.lossWeight()
			if w == nil {
				return c.op("aten::l1_loss", x, y, c.reduction())
			}
			return c.weighted(c.tensor("aten::abs", c.tensor("aten::sub.Tensor", x, y)), w)
		},
		"mse_loss": func(c *call) any {
			x, y := c.broadcast()
			w := c.lossWeight()
			if w == nil {
				return c.op("aten::mse_loss", x, y, c.reduction())
			}
			return c.weighted(c.tensor("aten::pow.Tensor_Scalar", c.tensor("aten::sub.Tensor", x, y), 2), w)
		},
		"kl_div":                            klDiv,
		"gaussian_nll_loss":                 gaussianNLL,
		"multilabel_soft_margin_loss":       multilabelSoftMargin,
		"linear_cross_entropy":              linearCrossEntropy,
		"triplet_margin_with_distance_loss": tripletWithDistance,
	})
}

func (c *call) wantSize(format string) {
	if x, y := c.t("input"), c.t("target"); !sameShape(x, y) {
		c.fail(ir.ErrValue, format, size(y), size(x))
	}
}

func (c *call) positiveMargin() {
	if m := c.float("margin"); m <= 0 {
		c.fail(ir.ErrValue, "margin must be greater than 0, got %v", c.arg("margin"))
	}
}

func (c *call) broadcast() (x, y *torch.Tensor) {
	both := c.tuple("aten::broadcast_tensors", []any{c.t("input"), c.t("target")})
	return both[0].(*torch.Tensor), both[1].(*torch.Tensor)
}

func (c *call) lossWeight() *torch.Tensor {
	w := c.t("weight")
	if w != nil && !sameShape(w, c.t("input")) {
		c.fail(ir.ErrValue, "Weights and input must have the same size.")
	}
	return w
}

// weighted reduces errors times w; the mean is over the sum of w.
func (c *call) weighted(errors, w *torch.Tensor) any {
	errors = c.tensor("aten::mul.Tensor", errors, w)
	switch c.reduction() {
	case 1:
		return c.op("aten::div.Tensor", c.tensor("aten::sum", errors), c.tensor("aten::sum", w))
	case 2:
		return c.op("aten::sum", errors)
	}
	return errors
}

func klDiv(c *call) any {
	batch := c.reductionName() == "batchmean"
	reduction := 2
	if !batch {
		reduction = c.reduction()
	}
	loss := c.tensor("aten::kl_div", c.t("input"), c.t("target"), reduction, torch.Kw("log_target", c.arg("log_target")))
	if shape := c.t("input").Shape(); batch && len(shape) > 0 {
		return c.op("aten::div.Tensor", loss, shape[0])
	}
	return loss
}

func gaussianNLL(c *call) any {
	x, y := c.t("input"), c.t("target")
	variance, isTensor := c.arg("var").(*torch.Tensor)
	if !isTensor {
		if c.float("var") < 0 {
			c.fail(ir.ErrValue, "var has negative entry/entries")
		}
		variance = c.tensor("aten::mul.Tensor", c.tensor("aten::ones_like", x), c.arg("var"))
	} else {
		negative, err := c.tensor("aten::any", c.tensor("aten::lt.Scalar", variance, 0)).Item()
		if err != nil {
			panic(err)
		}
		if negative == true {
			c.fail(ir.ErrValue, "var has negative entry/entries")
		}
	}
	if !sameShape(variance, x) {
		switch a, b := x.Shape(), variance.Shape(); {
		case len(b) == len(a)-1 && equalPrefix(a, b):
			variance = c.tensor("aten::unsqueeze", variance, -1)
		case len(a) == len(b) && differing(a, b) == 1:
		default:
			c.fail(ir.ErrValue, "var is of incorrect size")
		}
	}
	variance = c.tensor("aten::clamp_", c.tensor("aten::clone", variance), torch.Kw("min", c.arg("eps")))
	square := c.tensor("aten::pow.Tensor_Scalar", c.tensor("aten::sub.Tensor", x, y), 2)
	loss := c.tensor("aten::add.Tensor", c.tensor("aten::log", variance), c.tensor("aten::div.Tensor", square, variance))
	loss = c.tensor("aten::mul.Tensor", loss, 0.5)
	if c.bool("full") {
		loss = c.tensor("aten::add_.Tensor", loss, 0.5*math.Log(2*math.Pi))
	}
	return c.reduce(loss)
}

func equalPrefix(a, b []int) bool {
	for i := range b {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// differing adds up the sizes of b that differ from a's, as Python's check does.
func differing(a, b []int) (sum int) {
	for i := range a {
		if a[i] != b[i] {
			sum += b[i]
		}
	}
	return sum
}

func multilabelSoftMargin(c *call) any {
	x, y := c.t("input"), c.t("target")
	hit := c.tensor("aten::mul.Tensor", y, c.tensor("aten::log_sigmoid", x))
	miss := c.tensor("aten::mul.Tensor", c.tensor("aten::rsub.Scalar", y, 1), c.tensor("aten::log_sigmoid", c.tensor("aten::neg", x)))
	loss := c.tensor("aten::neg", c.tensor("aten::add.Tensor", hit, miss))
	if w := c.t("weight"); w != nil {
		loss = c.tensor("aten::mul.Tensor", loss, w)
	}
	shape := x.Shape()
	dim := len(shape) - 1
	if dim < 0 {
		c.fail(ir.ErrIndex, "Dimension specified as -1 but tensor has no dimensions")
	}
	loss = c.tensor("aten::div.Tensor", c.tensor("aten::sum.dim_IntList", loss, []int{dim}), shape[dim])
	return c.reduce(loss)
}

func linearCrossEntropy(c *call) any {
	x, w, b := c.t("input"), c.t("linear_weight"), c.t("linear_bias")
	in, weight := x.Shape(), w.Shape()
	if len(in) < 1 || len(in) > 2 {
		c.fail(ir.ErrRuntime, "expected input with dimensionality 1 or 2, got %d", len(in))
	}
	if len(weight) < 2 {
		c.fail(ir.ErrRuntime, "expected linear_weight with dimensionality at least 2, got %d", len(weight))
	}
	if c.given("options") {
		c.fail(ir.ErrUnsupported, "linear_cross_entropy: the chunked form that options select is not there")
	}
	features := in[len(in)-1]
	if features != weight[len(weight)-1] {
		c.fail(ir.ErrRuntime, "expected equal input and linear_weight last dimensions (in_features), got %d and %d, respectively", features, weight[len(weight)-1])
	}
	if len(weight) > 2 && len(in) == 1 {
		c.fail(ir.ErrRuntime, "K-dimensional loss requires batched input, (N, %d), got unbatched input with shape (%d,)", features, features)
	}
	out := append(append([]int(nil), in[:len(in)-1]...), weight[:len(weight)-1]...)
	if len(weight) > 2 {
		classes := 1
		for _, n := range weight[:len(weight)-1] {
			classes *= n
		}
		w = c.tensor("aten::reshape", w, []int{classes, features})
		if b != nil {
			b = c.tensor("aten::reshape", b, []int{classes})
		}
	}
	logits := c.tensor("aten::reshape", c.tensor("aten::linear", x, w, b), out)
	ignore := c.arg("ignore_index")
	if sameShape(c.t("target"), logits) && ignore != nil {
		c.fail(ir.ErrRuntime, "ignore_index cannot be specified when target contains probabilities")
	}
	if ignore == nil {
		ignore = -100
	}
	return c.op("aten::cross_entropy_loss", logits, c.t("target"), c.t("weight"), c.reduction(), ignore, c.arg("label_smoothing"))
}

// Distance is the type of what triplet_margin_with_distance_loss takes as
// distance_function; a module with such a Forward will do as well.
type Distance = func(x, y *torch.Tensor) *torch.Tensor

func tripletWithDistance(c *call) any {
	c.positiveMargin()
	anchor, positive, negative := c.t("anchor"), c.t("positive"), c.t("negative")
	if a, p, n := anchor.Dim(), positive.Dim(), negative.Dim(); a != p || p != n {
		c.fail(ir.ErrRuntime, "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: anchor %dD, positive %dD, and negative %dD inputs", a, p, n)
	}
	distance := func(x, y *torch.Tensor) *torch.Tensor { return c.tensor("aten::pairwise_distance", x, y) }
	if c.given("distance_function") {
		var own Distance
		if m, ok := c.arg("distance_function").(interface {
			Forward(x, y *torch.Tensor) *torch.Tensor
		}); ok {
			own = m.Forward
		} else {
			own = get[Distance](c, "distance_function")
		}
		distance = func(x, y *torch.Tensor) *torch.Tensor {
			d := own(x, y)
			c.made = append(c.made, d)
			return d
		}
	}
	pos, neg := distance(anchor, positive), distance(anchor, negative)
	if c.bool("swap") {
		neg = c.tensor("aten::minimum", neg, distance(positive, negative))
	}
	loss := c.tensor("aten::sub.Tensor", c.tensor("aten::add.Tensor", pos, c.arg("margin")), neg)
	return c.reduce(c.tensor("aten::clamp_min", loss, 0))
}
