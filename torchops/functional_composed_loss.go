package torchops

import (
	"math"
	"slices"

	"github.com/torchfx-go/torchfx/ir"
)

// composedLosses are the losses that are more than one operator.
func composedLosses() map[string]func(f *frame) any {
	return map[string]func(f *frame) any{
		"gaussian_nll_loss":                 gaussianNLL,
		"multilabel_soft_margin_loss":       multilabelSoftMargin,
		"linear_cross_entropy":              linearCrossEntropy,
		"triplet_margin_with_distance_loss": tripletWithDistance,
	}
}

func gaussianNLL(f *frame) any {
	var variance *Tensor
	given := f.arg("var")
	number, isNumber := given.(float64)
	if isNumber && number < 0 || !isNumber && f.truth(f.op("any", f.py("lt", given, 0))) {
		f.fail(ir.ErrValue, "var has negative entry/entries")
	}
	if isNumber {
		variance = f.tensor("mul", f.tensor("ones_like", f.arg("input")), number)
	} else {
		variance = f.t("var", "size")
	}
	x, y := f.t("input", "size"), f.arg("target")
	if !sameShape(variance, x) {
		switch a, b := x.Shape(), variance.Shape(); {
		case len(b) == len(a)-1 && slices.Equal(a[:len(b)], b):
			variance = f.tensor("unsqueeze", variance, -1)
		case len(a) == len(b) && differing(a, b) == 1:
		default:
			f.fail(ir.ErrValue, "var is of incorrect size")
		}
	}
	f.namedReduction(" is not valid")
	variance = f.tensor("clamp_", f.tensor("clone", variance), Kw("min", f.arg("eps")))
	logarithm := f.op("log", variance)
	square := f.py("pow", f.py("sub", x, y), 2)
	loss := f.py("mul", 0.5, f.py("add", logarithm, f.py("truediv", square, variance)))
	if f.bool("full") {
		loss = f.py("iadd", loss, 0.5*math.Log(2*math.Pi))
	}
	return f.reduce(loss.(*Tensor))
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

func multilabelSoftMargin(f *frame) any {
	x, y := f.arg("input"), f.arg("target")
	hit := f.py("mul", y, f.op("log_sigmoid", x))
	miss := f.py("mul", f.py("sub", 1, y), f.op("log_sigmoid", f.py("neg", x)))
	loss := f.py("neg", f.py("add", hit, miss))
	if f.given("weight") {
		loss = f.py("mul", loss, f.arg("weight"))
	}
	input := f.t("input", "dim")
	dim := input.Dim() - 1
	loss = f.py("truediv", f.op("sum", loss, Kw("dim", dim)), f.sizeAt(input, dim))
	f.namedReduction(" is not valid")
	return f.reduce(loss.(*Tensor))
}

// linearCrossEntropy is the product and the loss. The form in chunks, which
// options ask for, computes the same in other orders and is not here.
func linearCrossEntropy(f *frame) any {
	x, w, b := f.t("input"), f.t("linear_weight"), f.t("linear_bias")
	in, weight := x.Shape(), w.Shape()
	if len(in) < 1 || len(in) > 2 {
		f.fail(ir.ErrRuntime, "expected input with dimensionality 1 or 2, got %d", len(in))
	}
	if len(weight) < 2 {
		f.fail(ir.ErrRuntime, "expected linear_weight with dimensionality at least 2, got %d", len(weight))
	}
	features := in[len(in)-1]
	if features != weight[len(weight)-1] {
		f.fail(ir.ErrRuntime, "expected equal input and linear_weight last dimensions (in_features), got %d and %d, respectively", features, weight[len(weight)-1])
	}
	classes := weight[:len(weight)-1]
	if b != nil && !slices.Equal(b.Shape(), classes) {
		f.fail(ir.ErrRuntime, "expected linear_bias shape %s, got %s", tupleText(classes), tupleText(b.Shape()))
	}
	if len(weight) > 2 && len(in) == 1 {
		f.fail(ir.ErrRuntime, "K-dimensional loss defined by linear_weight shape %s requires batched input, (N, %d), got unbatched input with shape %s", tupleText(weight), features, tupleText(in))
	}
	shape := slices.Concat(in[:len(in)-1], classes)
	ignore := f.arg("ignore_index")
	if slices.Equal(f.t("target").Shape(), shape) && ignore != nil {
		f.fail(ir.ErrRuntime, "ignore_index cannot be specified when target contains probabilities")
	}
	if ignore == nil {
		ignore = -100
	}
	if f.given("options") {
		f.fail(ir.ErrUnsupported, "linear_cross_entropy: the form in chunks that options select is not there")
	}
	if len(weight) > 2 {
		w = f.tensor("reshape", w, []int{product(classes), features})
		if b != nil {
			b = f.tensor("reshape", b, []int{product(classes)})
		}
	}
	logits := f.tensor("reshape", f.tensor("linear", x, w, b), shape)
	return f.op("cross_entropy_loss", logits, f.t("target"), f.t("weight"), f.reduction(), ignore, f.arg("label_smoothing"))
}

// distance is the type of what triplet_margin_with_distance_loss takes as
// distance_function; a module with such a Forward will do as well.
type distance = func(x, y *Tensor) *Tensor

func tripletWithDistance(f *frame) any {
	f.knownReduction("%s is not a valid value for reduction")
	f.positiveMargin()
	anchor, positive, negative := f.t("anchor"), f.t("positive"), f.t("negative")
	if a, p, n := anchor.Dim(), positive.Dim(), negative.Dim(); a != p || p != n {
		f.fail(ir.ErrRuntime, "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: anchor %dD, positive %dD, and negative %dD inputs", a, p, n)
	}
	between := func(x, y *Tensor) *Tensor { return f.tensor("pairwise_distance", x, y) }
	switch own := f.arg("distance_function").(type) {
	case nil:
	case distance:
		between = own
	case interface {
		Forward(x, y *Tensor) *Tensor
	}:
		between = own.Forward
	case *ir.Func:
		between = func(x, y *Tensor) *Tensor { return As[*Tensor](f.invoke(own.Name(), x, y)) }
	default:
		f.wrongType("distance_function", "func(x, y *Tensor) *Tensor", own)
	}
	measured := func(x, y *Tensor) *Tensor {
		d := between(x, y)
		if d != x && d != y {
			f.own(d)
		}
		return d
	}
	pos, neg := measured(anchor, positive), measured(anchor, negative)
	if f.bool("swap") {
		neg = f.tensor("minimum", neg, measured(positive, negative))
	}
	loss := f.tensor("sub.Tensor", f.tensor("add.Tensor", pos, f.arg("margin")), neg)
	return f.reduce(f.tensor("clamp_min", loss, 0))
}
