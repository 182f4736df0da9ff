package functional

import (
	"fmt"
	"maps"
	"math"

	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

func pools() {
	for n := 1; n <= 3; n++ {
		maps.Copy(bodies, map[string]func(c *call) any{
			fmt.Sprintf("max_pool%dd", n):                       maxPool(fmt.Sprintf("aten::max_pool%dd", n)),
			fmt.Sprintf("max_pool%dd_with_indices", n):          maxPool(fmt.Sprintf("aten::max_pool%dd_with_indices", n)),
			fmt.Sprintf("adaptive_max_pool%dd", n):              adaptiveMaxPool(n, false),
			fmt.Sprintf("adaptive_max_pool%dd_with_indices", n): adaptiveMaxPool(n, true),
			fmt.Sprintf("max_unpool%dd", n):                     maxUnpool(n),
			fmt.Sprintf("lp_pool%dd", n):                        lpPool(n),
		})
	}
	for n := 2; n <= 3; n++ {
		op := fmt.Sprintf("aten::adaptive_avg_pool%dd", n)
		bodies[op[len("aten::"):]] = func(c *call) any { return c.op(op, c.t("input"), c.outputSize(n)) }
		bodies[fmt.Sprintf("fractional_max_pool%dd", n)] = fractionalMaxPool(n, false)
		bodies[fmt.Sprintf("fractional_max_pool%dd_with_indices", n)] = fractionalMaxPool(n, true)
	}
}

func maxPool(op string) func(c *call) any {
	return func(c *call) any {
		stride := c.arg("stride")
		if stride == nil {
			stride = []any{}
		}
		return c.op(op, c.t("input"), c.arg("kernel_size"), stride, c.arg("padding"), c.arg("dilation"), c.arg("ceil_mode"))
	}
}

// outputSize returns output_size with the input's sizes where it holds None.
func (c *call) outputSize(n int) any {
	items := append([]any(nil), c.items("output_size", n)...)
	shape := c.t("input").Shape()
	if len(shape) <= len(items) {
		c.fail(ir.ErrValue, "Input dimension should be at least %d", len(items)+1)
	}
	for i, item := range items {
		if item == nil {
			items[i] = int64(shape[len(shape)-len(items)+i])
		}
	}
	return items
}

func adaptiveMaxPool(n int, indices bool) func(c *call) any {
	op := fmt.Sprintf("aten::adaptive_max_pool%dd", n)
	return func(c *call) any {
		size := c.arg("output_size")
		if n > 1 {
			size = c.outputSize(n)
		}
		both := c.tuple(op, c.t("input"), size)
		if indices {
			return ir.PyTuple(both)
		}
		return both[0]
	}
}

func maxUnpool(n int) func(c *call) any {
	return func(c *call) any {
		x, indices := c.t("input"), c.t("indices")
		kernel, padding := c.dims("kernel_size", n), c.dims("padding", n)
		stride := kernel
		if c.given("stride") {
			stride = c.dims("stride", n)
		}
		out := c.unpoolSize(x.Shape(), kernel, stride, padding)
		switch n {
		case 1:
			y := c.tensor("aten::max_unpool2d", c.tensor("aten::unsqueeze", x, -1), c.tensor("aten::unsqueeze", indices, -1), append(out, 1))
			return c.op("aten::squeeze.dim", y, -1)
		case 2:
			return c.op("aten::max_unpool2d", x, indices, out)
		}
		return c.op("aten::max_unpool3d", x, indices, out, stride, padding)
	}
}

func (c *call) unpoolSize(shape, kernel, stride, padding []int) []int {
	n := len(kernel)
	out := make([]int, n)
	for i := range out {
		out[i] = (shape[len(shape)-n+i]-1)*stride[i] + kernel[i] - 2*padding[i]
	}
	if !c.given("output_size") {
		return out
	}
	given := c.dims("output_size", n)
	if len(given) == n+2 {
		given = given[2:]
	}
	if len(given) != n {
		c.fail(ir.ErrValue, "output_size should be a sequence containing %d or %d elements, but it has a length of '%d'", n, n+2, len(given))
	}
	for i, g := range given {
		if low, high := out[i]-stride[i], out[i]+stride[i]; g <= low || g >= high {
			c.fail(ir.ErrValue, "invalid output_size \"%v\" (dim %d must be between %d and %d)", given, i, low, high)
		}
	}
	return given
}

func lpPool(n int) func(c *call) any {
	return func(c *call) any {
		x, norm := c.t("input"), c.float("norm_type")
		switch {
		case norm == 0:
			c.fail(ir.ErrValue, "norm_type must be a non-zero value, but got %s", ir.Repr(ir.Float(norm)))
		case math.IsInf(norm, 0):
			x = c.tensor("aten::abs", x)
			if norm < 0 {
				x = c.tensor("aten::neg", x)
			}
			stride := c.arg("stride")
			if stride == nil {
				stride = []any{}
			}
			y := c.tensor(fmt.Sprintf("aten::max_pool%dd", n), x, c.arg("kernel_size"), stride, 0, 1, c.arg("ceil_mode"))
			if norm < 0 {
				y = c.tensor("aten::neg", y)
			}
			return y
		}
		args := []any{c.tensor("aten::pow.Tensor_Scalar", x, c.arg("norm_type")), c.arg("kernel_size")}
		if c.given("stride") {
			args = append(args, c.arg("stride"))
		}
		y := c.tensor(fmt.Sprintf("aten::avg_pool%dd", n), append(args, torch.Kw("padding", 0), torch.Kw("ceil_mode", c.arg("ceil_mode")))...)
		window := 1
		for _, k := range c.dims("kernel_size", n) {
			window *= k
		}
		y = c.tensor("aten::mul.Tensor", c.tensor("aten::sign", y), c.tensor("aten::relu", c.tensor("aten::abs", y)))
		return c.op("aten::pow.Tensor_Scalar", c.tensor("aten::mul.Tensor", y, window), 1/norm)
	}
}

func fractionalMaxPool(n int, indices bool) func(c *call) any {
	op := fmt.Sprintf("aten::fractional_max_pool%dd", n)
	return func(c *call) any {
		x := c.t("input")
		shape := x.Shape()
		size := c.arg("output_size")
		if size == nil {
			if !c.given("output_ratio") {
				c.fail(ir.ErrValue, "fractional_max_pool%dd requires specifying either an output_size or an output_ratio", n)
			}
			ratios := c.items("output_ratio", n)
			list := make([]any, n)
			for i := range list {
				ratio, _ := ratios[i].(float64)
				list[i] = int64(float64(shape[len(shape)-n+i]) * ratio)
			}
			size = list
		}
		samples := c.t("_random_samples")
		if samples == nil {
			batch := 1
			if len(shape) == n+2 {
				batch = shape[0]
			}
			samples = c.tensor("aten::rand", []int{batch, shape[len(shape)-n-1], n}, torch.Kw("dtype", x.DType()), torch.Kw("device", x.Device()))
		}
		both := c.tuple(op, x, c.arg("kernel_size"), size, samples)
		if indices {
			return ir.PyTuple(both)
		}
		return both[0]
	}
}
