package functional

import (
	"maps"

	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// bodies holds what the Python functions of torch.nn.functional compute: the
// operators that PyTorch 2.15 calls, in its order.
var bodies = map[string]func(c *call) any{}

// pointwise is op(input, names...), or op_ where inplace is asked for.
func pointwise(op string, names ...string) func(c *call) any {
	names = append([]string{"input"}, names...)
	return func(c *call) any { return c.op(c.inplace("aten::"+op), c.args(names...)...) }
}

func activations() {
	maps.Copy(bodies, map[string]func(c *call) any{
		"relu":        pointwise("relu"),
		"relu6":       pointwise("relu6"),
		"elu":         pointwise("elu", "alpha"),
		"selu":        pointwise("selu"),
		"celu":        pointwise("celu", "alpha"),
		"leaky_relu":  pointwise("leaky_relu", "negative_slope"),
		"rrelu":       pointwise("rrelu", "lower", "upper", "training"),
		"hardsigmoid": pointwise("hardsigmoid"),
		"hardswish":   pointwise("hardswish"),
		"silu":        pointwise("silu"),
		"mish":        pointwise("mish"),
		"threshold":   pointwise("threshold", "threshold", "value"),
		"hardtanh": func(c *call) any {
			if c.float("min_val") > c.float("max_val") {
				c.fail(ir.ErrValue, "min_val cannot be greater than max_val")
			}
			return c.op(c.inplace("aten::hardtanh"), c.args("input", "min_val", "max_val")...)
		},
		"glu": func(c *call) any {
			if c.t("input").Dim() == 0 {
				c.fail(ir.ErrRuntime, "glu does not support scalars because halving size must be even")
			}
			return c.op("aten::glu", c.args("input", "dim")...)
		},
		"tanhshrink": func(c *call) any {
			return c.op("aten::sub.Tensor", c.t("input"), c.tensor("aten::tanh", c.t("input")))
		},
		"softsign": func(c *call) any {
			return c.op("aten::div.Tensor", c.t("input"), c.tensor("aten::add.Tensor", c.tensor("aten::abs", c.t("input")), 1))
		},
		"softmax":        func(c *call) any { return c.softmax("aten::softmax.int", c.t("input")) },
		"log_softmax":    func(c *call) any { return c.softmax("aten::log_softmax.int", c.t("input")) },
		"softmin":        func(c *call) any { return c.softmax("aten::softmax.int", c.tensor("aten::neg", c.t("input"))) },
		"gumbel_softmax": gumbelSoftmax,
	})
}

func (c *call) softmax(op string, x *torch.Tensor) any {
	dim := c.arg("dim")
	if dim == nil { // the dimension that Python warns about and takes
		dim = 1
		if n := x.Dim(); n == 0 || n == 1 || n == 3 {
			dim = 0
		}
	}
	return c.op(op, x, dim, c.arg("dtype"))
}

func gumbelSoftmax(c *call) any {
	logits := c.t("logits")
	noise := c.tensor("aten::empty_like", logits, torch.Kw("memory_format", torch.ContiguousFormat))
	noise = c.tensor("aten::neg", c.tensor("aten::log", c.tensor("aten::exponential_", noise)))
	soft := c.tensor("aten::softmax.int", c.tensor("aten::div.Tensor", c.tensor("aten::add.Tensor", logits, noise), c.arg("tau")), c.arg("dim"))
	if !c.bool("hard") {
		return soft
	}
	index := c.tuple("aten::max.dim", soft, c.arg("dim"), true)[1]
	hard := c.tensor("aten::zeros_like", logits, torch.Kw("memory_format", torch.ContiguousFormat))
	hard = c.tensor("aten::scatter_.value", hard, c.arg("dim"), index, 1.0)
	return c.op("aten::add.Tensor", c.tensor("aten::sub.Tensor", hard, c.tensor("aten::detach", soft)), soft)
}
