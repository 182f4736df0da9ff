package torchops

import (
	"fmt"
	"math"

	"github.com/torchfx-go/torchfx/ir"
)

func pools() map[string]func(f *frame) any {
	all := map[string]func(f *frame) any{}
	for n := 1; n <= 3; n++ {
		all[fmt.Sprintf("max_pool%dd", n)] = maxPool(fmt.Sprintf("max_pool%dd", n))
		all[fmt.Sprintf("max_pool%dd_with_indices", n)] = maxPool(fmt.Sprintf("max_pool%dd_with_indices", n))
		all[fmt.Sprintf("adaptive_max_pool%dd", n)] = adaptiveMaxPool(n, false)
		all[fmt.Sprintf("adaptive_max_pool%dd_with_indices", n)] = adaptiveMaxPool(n, true)
		all[fmt.Sprintf("max_unpool%dd", n)] = maxUnpool(n)
		all[fmt.Sprintf("lp_pool%dd", n)] = lpPool(n)
	}
	for n := 2; n <= 3; n++ {
		op := fmt.Sprintf("adaptive_avg_pool%dd", n)
		all[op] = func(f *frame) any { return f.op(op, f.t("input"), f.outputSize()) }
		all[fmt.Sprintf("fractional_max_pool%dd", n)] = fractionalMaxPool(n, false)
		all[fmt.Sprintf("fractional_max_pool%dd_with_indices", n)] = fractionalMaxPool(n, true)
	}
	return all
}

func maxPool(op string) func(f *frame) any {
	return func(f *frame) any {
		return f.op(op, f.t("input"), f.arg("kernel_size"), f.strideOrNone(), f.arg("padding"), f.arg("dilation"), f.arg("ceil_mode"))
	}
}

// strideOrNone returns stride, an empty list for None: that of the kernel.
func (f *frame) strideOrNone() any {
	if f.given("stride") {
		return f.arg("stride")
	}
	return []any{}
}

// outputSize returns output_size with the input's sizes where it holds None.
func (f *frame) outputSize() any {
	given, kind := items(f.arg("output_size"))
	if kind == "" {
		return f.arg("output_size")
	}
	shape := f.t("input").Shape()
	if len(shape) <= len(given) {
		f.fail(ir.ErrValue, "Input dimension should be at least %d", len(given)+1)
	}
	size := append([]any(nil), given...)
	for i, item := range size {
		if item == nil {
			size[i] = int64(shape[len(shape)-len(size)+i])
		}
	}
	return size
}

func adaptiveMaxPool(n int, indices bool) func(f *frame) any {
	op := fmt.Sprintf("adaptive_max_pool%dd", n)
	return func(f *frame) any {
		size := f.arg("output_size")
		if n > 1 {
			size = f.outputSize()
		}
		both := f.tuple(op, f.t("input"), size)
		if indices {
			return ir.PyTuple(both)
		}
		return both[0]
	}
}

func maxUnpool(n int) func(f *frame) any {
	return func(f *frame) any {
		x, indices := f.t("input"), f.t("indices")
		kernel, padding := f.dims("kernel_size", n), f.dims("padding", n)
		stride := kernel
		if f.given("stride") {
			stride = f.dims("stride", n)
		}
		out := f.unpoolSize(x, kernel, stride, padding)
		switch n {
		case 1:
			y := f.tensor("max_unpool2d", f.tensor("unsqueeze", x, -1), f.tensor("unsqueeze", indices, -1), append(out, 1))
			return f.op("squeeze.dim", y, -1)
		case 2:
			return f.op("max_unpool2d", x, indices, out)
		}
		return f.op("max_unpool3d", x, indices, out, stride, padding)
	}
}

func (f *frame) unpoolSize(x *Tensor, kernel, stride, padding []int) []int {
	n, shape := len(kernel), x.Shape()
	if len(shape) < n || len(stride) < n || len(padding) < n {
		f.fail(ir.ErrIndex, "tuple index out of range")
	}
	out := make([]int, n)
	for i := range out {
		out[i] = (shape[len(shape)-n+i]-1)*stride[i] + kernel[i] - 2*padding[i]
	}
	if f.given("output_size") {
		given := f.dims("output_size", n)
		text := f.repr("output_size")
		if len(given) == n+2 {
			given = given[2:]
			text = reprOf(rewrap(intList(given), kindOfList(f.arg("output_size"))))
		}
		if len(given) != n {
			f.fail(ir.ErrValue, "output_size should be a sequence containing %d or %d elements, but it has a length of '%d'", n, n+2, len(given))
		}
		for i, g := range given {
			if low, high := out[i]-stride[i], out[i]+stride[i]; g <= low || g >= high {
				f.fail(ir.ErrValue, "invalid output_size \"%s\" (dim %d must be between %d and %d)", text, i, low, high)
			}
		}
		out = given
	}
	for i, size := range out {
		if size < 0 {
			f.fail(ir.ErrValue, "max_unpooling: output_size must contain non-negative spatial dimensions, but got output_size[%d]=%d", i, size)
		}
	}
	return out
}

func kindOfList(v any) string {
	_, kind := items(v)
	return kind
}

func lpPool(n int) func(f *frame) any {
	return func(f *frame) any {
		x, norm := f.t("input"), f.float("norm_type")
		window := f.arg("kernel_size")
		if n > 1 {
			window = product(f.dims("kernel_size", n))
		}
		switch {
		case norm == 0:
			f.fail(ir.ErrValue, "norm_type must be a non-zero value, but got %s", f.repr("norm_type"))
		case math.IsInf(norm, 0):
			x = f.tensor("abs", x)
			if norm < 0 {
				x = f.tensor("neg", x)
			}
			y := f.tensor(fmt.Sprintf("max_pool%dd", n), x, f.arg("kernel_size"), f.strideOrNone(), 0, 1, f.arg("ceil_mode"))
			if norm < 0 {
				y = f.tensor("neg", y)
			}
			return y
		}
		args := []any{f.tensor("pow.Tensor_Scalar", x, f.arg("norm_type")), f.arg("kernel_size")}
		if f.given("stride") {
			args = append(args, f.arg("stride"))
		}
		y := f.tensor(fmt.Sprintf("avg_pool%dd", n), append(args, Kw("padding", 0), Kw("ceil_mode", f.arg("ceil_mode")))...)
		y = f.tensor("mul.Tensor", f.tensor("sign", y), f.tensor("relu", f.tensor("abs", y)))
		return f.op("pow.Tensor_Scalar", f.tensor("mul.Tensor", y, window), 1/norm)
	}
}

func fractionalMaxPool(n int, indices bool) func(f *frame) any {
	op := fmt.Sprintf("fractional_max_pool%dd", n)
	return func(f *frame) any {
		x := f.t("input")
		size := f.arg("output_size")
		if size == nil {
			size = f.ratioSize(x, n)
		}
		samples := f.t("_random_samples")
		if samples == nil {
			batch := 1
			if x.Dim() != n+1 {
				batch = f.sizeAt(x, 0)
			}
			samples = f.tensor("rand", []int{batch, f.sizeAt(x, -n-1), n}, Kw("dtype", x.DType()), Kw("device", x.Device()), Kw("pin_memory", false))
		}
		both := f.tuple(op, x, f.arg("kernel_size"), size, samples)
		if indices {
			return ir.PyTuple(both)
		}
		return both[0]
	}
}

// ratioSize returns the output size that output_ratio gives.
func (f *frame) ratioSize(x *Tensor, n int) []any {
	if !f.given("output_ratio") {
		f.fail(ir.ErrValue, "fractional_max_pool%dd requires specifying either an output_size or an output_ratio", n)
	}
	if ratio := f.arg("output_ratio"); n == 2 { // Python asks for its length
		list, kind := items(ratio)
		if kind == "" {
			f.fail(ir.ErrType, "object of type '%s' has no len()", typeName(ratio))
		}
		if len(list) > 2 {
			f.fail(ir.ErrValue, "fractional_max_pool2d requires output_ratio to either be a single Int or tuple of Ints.")
		}
	}
	ratios := f.items("output_ratio", n)
	if len(ratios) < n {
		f.fail(ir.ErrIndex, "%s index out of range", kindOfList(f.arg("output_ratio")))
	}
	size := make([]any, n)
	for i := range size {
		if k := kindOf(ratios[i]); k == notNumber || k == complexKind {
			f.wrongType("output_ratio", "float", ratios[i])
		}
		whole, err := floatToInt(math.Trunc(float64(f.sizeAt(x, i-n)) * asFloat(ratios[i])))
		mustNot(f.of.name, err)
		size[i] = whole
	}
	return size
}
