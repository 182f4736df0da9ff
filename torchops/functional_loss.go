package torchops

import (
	"maps"

	"github.com/torchfx-go/torchfx/ir"
)

func losses() map[string]func(f *frame) any {
	all := map[string]func(f *frame) any{
		"soft_margin_loss":       reduced("soft_margin_loss", "input", "target"),
		"multilabel_margin_loss": reduced("multilabel_margin_loss", "input", "target"),
		"cosine_embedding_loss":  reduced("cosine_embedding_loss", "input1", "input2", "target", "margin"),
		"hinge_embedding_loss":   reduced("hinge_embedding_loss", "input", "target", "margin"),
		"binary_cross_entropy_with_logits": func(f *frame) any {
			reduction := f.reduction()
			f.wantSize("Target size (%s) must be the same as input size (%s)")
			return f.op("binary_cross_entropy_with_logits", append(f.args("input", "target", "weight", "pos_weight"), reduction)...)
		},
		"binary_cross_entropy": binaryCrossEntropy,
		"nll_loss": func(f *frame) any {
			return f.op("nll_loss_nd", append(f.args("input", "target", "weight"), f.reduction(), f.arg("ignore_index"))...)
		},
		"cross_entropy": func(f *frame) any {
			return f.op("cross_entropy_loss", append(f.args("input", "target", "weight"), f.reduction(), f.arg("ignore_index"), f.arg("label_smoothing"))...)
		},
		"ctc_loss": func(f *frame) any {
			op := "ctc_loss.IntList"
			if _, tensors := f.arg("input_lengths").(*Tensor); tensors {
				op = "ctc_loss.Tensor"
			}
			return f.op(op, append(f.args("log_probs", "targets", "input_lengths", "target_lengths", "blank"), f.reduction(), f.arg("zero_infinity"))...)
		},
		"poisson_nll_loss": func(f *frame) any {
			f.namedReduction(" is not a valid value for reduction")
			return f.op("poisson_nll_loss", append(f.args("input", "target", "log_input", "full", "eps"), f.reduction())...)
		},
		"triplet_margin_loss": func(f *frame) any {
			reduction := f.reduction()
			f.positiveMargin()
			return f.op("triplet_margin_loss", append(f.args("anchor", "positive", "negative", "margin", "p", "eps", "swap"), reduction)...)
		},
		"margin_ranking_loss": func(f *frame) any {
			reduction := f.reduction()
			a, b, y := f.t("input1"), f.t("input2"), f.t("target")
			if a.Dim() != b.Dim() || a.Dim() != y.Dim() {
				f.fail(ir.ErrRuntime, "margin_ranking_loss : All input tensors should have same dimension but got sizes: input1: %s, input2: %s, target: %s ", sizeText(a.Shape()), sizeText(b.Shape()), sizeText(y.Shape()))
			}
			return f.op("margin_ranking_loss", a, b, y, f.arg("margin"), reduction)
		},
		"multi_margin_loss": func(f *frame) any {
			reduction := f.reduction()
			if p := f.arg("p"); f.holds(p, "ne", 1) && f.holds(p, "ne", 2) {
				f.fail(ir.ErrValue, "only p == 1 and p == 2 supported")
			}
			if w := f.t("weight"); w != nil && w.Dim() != 1 {
				f.fail(ir.ErrValue, "weight must be one-dimensional")
			}
			return f.op("multi_margin_loss", append(f.args("input", "target", "p", "margin", "weight"), reduction)...)
		},
		"kl_div": klDiv,
	}
	maps.Copy(all, regressionLosses())
	maps.Copy(all, composedLosses())
	return all
}

// reduced is op(names..., reduction), the reduction after the named arguments.
func reduced(op string, names ...string) func(f *frame) any {
	return func(f *frame) any { return f.op(op, append(f.args(names...), f.reduction())...) }
}

// reduction returns the number of the reduction, as torch.nn._reduction has it.
func (f *frame) reduction() int {
	name := f.reductionName()
	switch name {
	case "none":
		return 0
	case "mean", "elementwise_mean":
		return 1
	case "sum":
		return 2
	}
	f.fail(ir.ErrValue, "%s is not a valid value for reduction", textOf(name))
	return 0
}

// reductionName returns the name of the reduction; size_average and reduce, where
// one of them is given, take its place.
func (f *frame) reductionName() any {
	if f.of.param("reduce") < 0 || !f.given("size_average") && !f.given("reduce") {
		return f.arg("reduction")
	}
	switch {
	case f.given("reduce") && !f.bool("reduce"):
		return "none"
	case f.given("size_average") && !f.bool("size_average"):
		return "sum"
	}
	return "mean"
}

// knownReduction refuses other reductions than the three.
func (f *frame) knownReduction(format string) {
	switch name := f.reductionName(); name {
	case "none", "mean", "sum":
	default:
		f.fail(ir.ErrValue, format, textOf(name))
	}
}

// namedReduction is knownReduction where Python adds the message to the name, whatever
// that is.
func (f *frame) namedReduction(message string) {
	switch name := f.reductionName(); name {
	case "none", "mean", "sum":
	default:
		f.fail(ir.ErrValue, "%s", textOf(f.py("add", name, message)))
	}
}

// reduce applies the reduction to a loss per element.
func (f *frame) reduce(loss *Tensor) any {
	switch f.reduction() {
	case 1:
		return f.op("mean", loss)
	case 2:
		return f.op("sum", loss)
	}
	return loss
}

func (f *frame) wantSize(format string) {
	if x, y := f.t("input"), f.t("target"); !sameShape(x, y) {
		f.fail(ir.ErrValue, format, sizeText(y.Shape()), sizeText(x.Shape()))
	}
}

func (f *frame) positiveMargin() {
	if f.holds(f.arg("margin"), "le", 0) {
		f.fail(ir.ErrValue, "margin must be greater than 0, got %s", f.repr("margin"))
	}
}

func binaryCrossEntropy(f *frame) any {
	reduction := f.reduction()
	f.wantSize("Using a target size (%s) that is different to the input size (%s) is deprecated. Please ensure they have the same size.")
	w := f.t("weight")
	if w != nil {
		shapes := [][]int{f.t("target").Shape(), w.Shape()}
		shape, err := broadcastShapes(shapes, func(i int) string { return sizeText(shapes[i]) })
		mustNot(f.of.target.Name(), err)
		w = f.tensor("expand", w, shape)
	}
	return f.op("binary_cross_entropy", f.t("input"), f.t("target"), w, reduction)
}

// klDiv divides by the size of the batch where reduction says batchmean, also
// where the older flags have the say over the rest.
func klDiv(f *frame) any {
	batch := f.arg("reduction") == "batchmean"
	reduction := 2
	if !batch || f.reductionName() != "batchmean" {
		reduction = f.reduction()
	}
	loss := f.tensor("kl_div", f.t("input"), f.t("target"), reduction, Kw("log_target", f.arg("log_target")))
	if shape := f.t("input").Shape(); batch && len(shape) > 0 {
		return f.op("div.Tensor", loss, shape[0])
	}
	return loss
}

// regressionLosses broadcast input and target, and may have a weight.
func regressionLosses() map[string]func(f *frame) any {
	return map[string]func(f *frame) any{
		"smooth_l1_loss": func(f *frame) any {
			x, y := f.broadcast()
			if f.holds(f.arg("beta"), "eq", 0.0) {
				return f.op("l1_loss", x, y, f.reduction())
			}
			return f.op("smooth_l1_loss", x, y, f.reduction(), f.arg("beta"))
		},
		"huber_loss": func(f *frame) any {
			x, y := f.broadcast()
			w := f.lossWeight()
			if w == nil {
				return f.op("huber_loss", x, y, f.reduction(), f.arg("delta"))
			}
			loss := f.tensor("mul.Tensor", f.tensor("huber_loss", x, y, 0, f.arg("delta")), w)
			f.knownReduction(invalidReduction)
			return f.reduce(loss)
		},
		"l1_loss": func(f *frame) any {
			x, y := f.broadcast()
			w := f.lossWeight()
			if w == nil {
				return f.op("l1_loss", x, y, f.reduction())
			}
			return f.weighted(f.tensor("abs", f.tensor("sub.Tensor", x, y)), w)
		},
		"mse_loss": func(f *frame) any {
			x, y := f.broadcast()
			w := f.lossWeight()
			if w == nil {
				return f.op("mse_loss", x, y, f.reduction())
			}
			return f.weighted(f.tensor("pow.Tensor_Scalar", f.tensor("sub.Tensor", x, y), 2), w)
		},
	}
}

const invalidReduction = "Invalid reduction mode: %s. Expected one of 'none', 'mean', 'sum'."

func (f *frame) broadcast() (x, y *Tensor) {
	both := f.tuple("broadcast_tensors", []any{f.t("input"), f.t("target")})
	return both[0].(*Tensor), both[1].(*Tensor)
}

func (f *frame) lossWeight() *Tensor {
	w := f.t("weight")
	if w != nil && !sameShape(w, f.t("input")) {
		f.fail(ir.ErrValue, "Weights and input must have the same size.")
	}
	return w
}

// weighted reduces errors times w; the mean is over the sum of w.
func (f *frame) weighted(errors, w *Tensor) any {
	errors = f.tensor("mul.Tensor", errors, w)
	f.knownReduction(invalidReduction)
	switch f.reduction() {
	case 1:
		return f.op("div.Tensor", f.tensor("sum", errors), f.tensor("sum", w))
	case 2:
		return f.op("sum", errors)
	}
	return errors
}
