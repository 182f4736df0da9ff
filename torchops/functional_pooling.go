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
		stride := f.strideOrNone()
		if op == "max_pool3d_with_indices" {
			f.t("input", "is_cuda")
		}
		return f.op(op, f.arg("input"), f.arg("kernel_size"), stride, f.arg("padding"), f.arg("dilation"), f.arg("ceil_mode"))
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
	shape, given := f.t("input").Shape(), f.arg("output_size")
	if k := kindOf(given); k == intKind || k == boolKind {
		return given
	}
	if n := f.length(given); len(shape) <= n {
		f.fail(ir.ErrValue, "Input dimension should be at least %d", n+1)
	}
	size := append([]any(nil), f.iterate(given)...)
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
		both := f.tuple(op, f.arg("input"), size)
		if indices {
			return ir.PyTuple(both)
		}
		return both[0]
	}
}

func maxUnpool(n int) func(f *frame) any {
	return func(f *frame) any {
		kernel := f.ntuple("kernel_size", n)
		stride := kernel
		if f.given("stride") {
			stride = f.ntuple("stride", n)
		}
		padding := f.ntuple("padding", n)
		out := f.unpoolSize(kernel, stride, padding)
		switch n {
		case 1:
			out = f.py("add", out, rewrap([]any{int64(1)}, kindOfList(out)))
			y := f.tensor("max_unpool2d", f.tensor("unsqueeze", f.t("input"), -1), f.tensor("unsqueeze", f.t("indices"), -1), out)
			return f.op("squeeze", y, -1)
		case 2:
			return f.op("max_unpool2d", f.arg("input"), f.arg("indices"), out)
		}
		return f.op("max_unpool3d", f.arg("input"), f.arg("indices"), out, ir.PyTuple(stride), ir.PyTuple(padding))
	}
}

// unpoolSize is the output size that is asked for, or the one that the pooling before
// had.
func (f *frame) unpoolSize(kernel, stride, padding []any) any {
	n, shape := len(kernel), intList(f.t("input").Shape())
	size := make([]any, n)
	for i := range size {
		size[i] = f.py("sub", f.py("add", f.py("mul", f.py("sub", f.at("tuple", shape, i-n), 1), f.at("tuple", stride, i)), kernel[i]), f.py("mul", 2, f.at("tuple", padding, i)))
	}
	out := any(size)
	if f.given("output_size") {
		out = f.arg("output_size")
		if f.length(out) == n+2 {
			out = f.py("getitem", out, ir.Slice{Start: ir.Int(2), Stop: ir.None{}, Step: ir.None{}})
		}
		if got := f.length(out); got != n {
			f.fail(ir.ErrValue, "output_size should be a sequence containing %d or %d elements, but it has a length of '%d'", n, n+2, got)
		}
		for i := range size {
			low, high := f.py("sub", size[i], f.at("tuple", stride, i)), f.py("add", size[i], f.at("tuple", stride, i))
			if given := f.py("getitem", out, i); !f.holds(low, "lt", given) || !f.holds(given, "lt", high) {
				f.fail(ir.ErrValue, "invalid output_size \"%s\" (dim %d must be between %s and %s)", textOf(out), i, textOf(low), textOf(high))
			}
		}
	}
	for i := range size {
		// torch._check wants a bool, which no tensor is
		holds := f.py("ge", f.py("getitem", out, i), 0)
		if _, isTensor := holds.(*Tensor); isTensor {
			f.fail(ir.ErrType, "cond must be a bool, but got a Tensor. For tensor conditions, use torch._check_tensor_all() to assert that all elements are true.")
		}
		if !f.truth(holds) {
			f.fail(ir.ErrValue, "max_unpooling: output_size must contain non-negative spatial dimensions, but got output_size[%d]=%s", i, textOf(f.py("getitem", out, i)))
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
		norm, window := f.arg("norm_type"), f.arg("kernel_size")
		if n > 1 {
			window = any(nil)
			for _, k := range f.unpack(f.ntuple("kernel_size", n), n) {
				if window == nil {
					window = k
				} else {
					window = f.py("mul", window, k)
				}
			}
		}
		if plainNumber(norm) && asFloat(norm) == 0 {
			f.fail(ir.ErrValue, "norm_type must be a non-zero value, but got %s", textOf(norm))
		}
		if plainNumber(norm) && math.IsInf(asFloat(norm), 0) {
			pooled := func(x any) any {
				return f.invoke(fmt.Sprintf("torch.nn.functional.max_pool%dd", n), x, f.arg("kernel_size"), f.arg("stride"), 0, 1, f.arg("ceil_mode"))
			}
			x := f.op("abs", f.t("input", "abs"))
			if asFloat(norm) > 0 {
				return pooled(x)
			}
			return f.py("neg", pooled(f.py("neg", x)))
		}
		args := []any{f.op("pow", f.t("input"), norm), f.arg("kernel_size")}
		if f.given("stride") {
			args = append(args, f.arg("stride"))
		}
		y := f.tensor(fmt.Sprintf("avg_pool%dd", n), append(args, Kw("padding", 0), Kw("ceil_mode", f.arg("ceil_mode")))...)
		y = f.tensor("mul", f.tensor("sign", y), f.tensor("relu", f.tensor("abs", y)))
		return f.op("pow", f.tensor("mul", y, window), f.py("truediv", 1.0, norm))
	}
}

func fractionalMaxPool(n int, indices bool) func(f *frame) any {
	op := fmt.Sprintf("fractional_max_pool%dd", n)
	return func(f *frame) any {
		size := f.arg("output_size")
		if size == nil {
			size = f.ratioSize(n)
		}
		samples := f.arg("_random_samples")
		if samples == nil {
			x, batch := f.t("input", "dim"), 1
			if x.Dim() != n+1 {
				batch = f.sizeAt(x, 0)
			}
			samples = f.op("rand", []int{batch, f.sizeAt(x, -n-1), n}, Kw("dtype", x.DType()), Kw("device", x.Device()))
		}
		both := f.tuple(op, f.arg("input"), f.arg("kernel_size"), size, samples)
		if indices {
			return ir.PyTuple(both)
		}
		return both[0]
	}
}

// ratioSize returns the output size that output_ratio gives.
func (f *frame) ratioSize(n int) []any {
	if !f.given("output_ratio") {
		f.fail(ir.ErrValue, "fractional_max_pool%dd requires specifying either an output_size or an output_ratio", n)
	}
	if n == 2 && f.length(f.arg("output_ratio")) > 2 {
		f.fail(ir.ErrValue, "fractional_max_pool2d requires output_ratio to either be a single Int or tuple of Ints.")
	}
	ratios, size := f.ntuple("output_ratio", n), make([]any, n)
	for i := range size {
		size[i] = f.invoke("builtins.int", f.py("mul", f.sizeAt(f.t("input", "size"), i-n), f.at("tuple", ratios, i)))
	}
	return size
}
