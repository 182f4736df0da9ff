package torchops

import "github.com/torchfx-go/torchfx/ir"

func unique(f *frame) any {
	flags := []any{Kw("sorted", f.arg("sorted")), Kw("return_inverse", f.arg("return_inverse")), Kw("return_counts", f.arg("return_counts"))}
	var result []any
	if f.given("dim") {
		result = f.tuple("unique_dim", append([]any{f.t("input"), f.arg("dim")}, flags...)...)
	} else {
		result = f.tuple("_unique2", append([]any{f.t("input")}, flags...)...)
	}
	return chosenOf(result, f.bool("return_inverse"), f.bool("return_counts"))
}

// uniqueConsecutive chooses what it returns as Python does: by keywords, and for
// positional flags by the place after the one that they stand in.
func uniqueConsecutive(f *frame) any {
	inverse, counts := f.bool("return_inverse"), f.bool("return_counts")
	result := f.tuple("unique_consecutive", f.t("input"), Kw("return_inverse", f.arg("return_inverse")), Kw("return_counts", f.arg("return_counts")), Kw("dim", f.arg("dim")))
	switch f.positional {
	case 0, 1:
	case 2:
		if !f.keywords["return_counts"] {
			counts = inverse
		}
		inverse = false
	default:
		inverse, counts = counts, inverse
	}
	return chosenOf(result, inverse, counts)
}

// chosenOf returns the values, and with them their places and counts where asked
// for.
func chosenOf(result []any, inverse, counts bool) any {
	switch {
	case inverse && counts:
		return ir.PyTuple(result)
	case inverse:
		return ir.PyTuple(result[:2])
	case counts:
		return ir.PyTuple{result[0], result[2]}
	}
	return result[0]
}

func unravelIndex(f *frame) any {
	x := f.t("indices")
	if dt := x.DType(); !dt.IsInt() {
		f.fail(ir.ErrType, "expected 'indices' to be integer dtype, but got %s", dt)
	}
	list, kind := items(f.arg("shape"))
	if isText(f.arg("shape")) { // which is a sequence as well
		list, kind = f.iterate(f.arg("shape")), "str"
	}
	if kind == "" {
		if k := kindOf(f.arg("shape")); k != intKind && k != boolKind {
			f.fail(ir.ErrType, "expected 'shape' to be int or sequence of ints, but got <class '%s'>", typeName(f.arg("shape")))
		}
		list = []any{f.arg("shape")}
	}
	shape := make([]int, len(list))
	for i, item := range list {
		if k := kindOf(item); k != intKind && k != boolKind {
			f.fail(ir.ErrType, "expected 'shape' sequence to only contain ints, but got <class '%s'>", typeName(item))
		}
		shape[i] = int(asInt(item))
	}
	for _, n := range shape {
		if n < 0 {
			f.fail(ir.ErrValue, "'shape' cannot have negative values, but got %s", tupleText(shape))
		}
	}
	for _, n := range shape {
		if n == 0 && x.Numel() > 0 {
			f.fail(ir.ErrValue, "'shape' cannot have zero dimensions when 'indices' is non-empty, but got %s", tupleText(shape))
		}
	}
	steps := make([]int, len(shape))
	step := 1
	for i := len(shape) - 1; i >= 0; i-- {
		steps[i] = step
		step *= shape[i]
	}
	if len(shape) == 0 { // Python's product over no sizes is one step
		steps = []int{1}
	}
	parts := f.tensor("unsqueeze", x, -1)
	parts = f.tensor("floor_divide", parts, f.intTensor(steps, x.Device()))
	parts = f.tensor("remainder.Tensor", parts, f.intTensor(shape, x.Device()))
	return ir.PyTuple(f.tuple("unbind.int", parts, -1))
}
