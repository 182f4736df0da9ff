package functional

import (
	"maps"

	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// cudnn is the last argument of the normalisations: whether cuDNN may be used.
const cudnn = true

func norms() {
	maps.Copy(bodies, map[string]func(c *call) any{
		"batch_norm": func(c *call) any {
			if eps := c.float("eps"); c.bool("training") {
				c.checkBatch(c.t("input").Shape())
				if eps <= 0 {
					c.fail(ir.ErrValue, "batch_norm eps must be positive during training, but got %s", ir.Repr(ir.Float(eps)))
				}
			} else if eps < 0 {
				c.fail(ir.ErrValue, "batch_norm eps must be non-negative, but got %s", ir.Repr(ir.Float(eps)))
			}
			return c.op("aten::batch_norm", append(c.args("input", "weight", "bias", "running_mean", "running_var", "training", "momentum", "eps"), cudnn)...)
		},
		"instance_norm": func(c *call) any {
			if c.bool("use_input_stats") {
				spatial := 1
				for i, n := range c.t("input").Shape() {
					if i >= 2 {
						spatial *= n
					}
				}
				if spatial == 1 {
					c.fail(ir.ErrValue, "Expected more than 1 spatial element when training, got input size %s", size(c.t("input")))
				}
			}
			return c.op("aten::instance_norm", append(c.args("input", "weight", "bias", "running_mean", "running_var", "use_input_stats", "momentum", "eps"), cudnn)...)
		},
		"layer_norm": func(c *call) any {
			return c.op("aten::layer_norm", append(c.args("input", "normalized_shape", "weight", "bias", "eps"), cudnn)...)
		},
		"rms_norm": func(c *call) any {
			return c.op("aten::rms_norm", c.args("input", "normalized_shape", "weight", "eps")...)
		},
		"group_norm": func(c *call) any {
			shape := c.t("input").Shape()
			if len(shape) < 2 {
				c.fail(ir.ErrRuntime, "Expected at least 2 dimensions for input tensor but received %d", len(shape))
			}
			groups := c.int("num_groups")
			if groups == 0 {
				c.fail(ir.ErrZeroDivision, "integer division or modulo by zero")
			}
			c.checkBatch(append([]int{shape[0] * shape[1] / groups, groups}, shape[2:]...))
			return c.op("aten::group_norm", append(c.args("input", "num_groups", "weight", "bias", "eps"), cudnn)...)
		},
		"local_response_norm": localResponseNorm,
		"normalize": func(c *call) any {
			x := c.t("input")
			norm := c.tensor("aten::linalg_vector_norm", x, c.arg("p"), []any{c.arg("dim")}, true)
			if out := c.t("out"); out != nil {
				c.op("aten::div.out", x, c.tensor("aten::expand_as", c.tensor("aten::clamp_min_", norm, c.arg("eps")), x), torch.Kw("out", out))
				return out
			}
			return c.op("aten::div.Tensor", x, c.tensor("aten::expand_as", c.tensor("aten::clamp_min", norm, c.arg("eps")), x))
		},
	})
}

// checkBatch refuses batches whose statistics are those of one value.
func (c *call) checkBatch(shape []int) {
	count := 1
	for i, n := range shape {
		if i != 1 {
			count *= n
		}
	}
	if count == 1 {
		items := make([]ir.Arg, len(shape))
		for i, n := range shape {
			items[i] = ir.Int(n)
		}
		c.fail(ir.ErrValue, "Expected more than 1 value per channel when training, got input size torch.Size(%s)", ir.Repr(ir.ListOf(items...)))
	}
}

func localResponseNorm(c *call) any {
	x, n := c.t("input"), c.int("size")
	shape := x.Shape()
	if len(shape) < 3 {
		c.fail(ir.ErrValue, "Expected 3D or higher dimensionality                          input (got %d dimensions)", len(shape))
	}
	if x.Numel() == 0 {
		return x
	}
	div := c.tensor("aten::mul.Tensor", x, x)
	if len(shape) == 3 {
		div = c.tensor("aten::pad", c.tensor("aten::unsqueeze", div, 1), []int{0, 0, n / 2, (n - 1) / 2})
		div = c.tensor("aten::squeeze.dim", c.tensor("aten::avg_pool2d", div, []int{n, 1}, 1), 1)
	} else {
		div = c.tensor("aten::view", div, []int{shape[0], 1, shape[1], shape[2], -1})
		div = c.tensor("aten::pad", div, []int{0, 0, 0, 0, n / 2, (n - 1) / 2})
		div = c.tensor("aten::squeeze.dim", c.tensor("aten::avg_pool3d", div, []int{n, 1, 1}, 1), 1)
		div = c.tensor("aten::view", div, shape)
	}
	div = c.tensor("aten::add.Tensor", c.tensor("aten::mul.Tensor", div, c.arg("alpha")), c.arg("k"))
	return c.op("aten::div.Tensor", x, c.tensor("aten::pow.Tensor_Scalar", div, c.arg("beta")))
}
