package functional

import (
	"maps"

	"github.com/torchfx-go/torchfx/ir"
)

func dropouts() {
	maps.Copy(bodies, map[string]func(c *call) any{
		"dropout":               drop("aten::dropout"),
		"alpha_dropout":         drop("aten::alpha_dropout"),
		"feature_alpha_dropout": drop("aten::feature_alpha_dropout"),
		"dropout2d":             drop("aten::feature_dropout"),
		"dropout1d": func(c *call) any {
			if n := c.t("input").Dim(); n != 2 && n != 3 {
				c.fail(ir.ErrRuntime, "dropout1d: Expected 2D or 3D input, but received a %dD input", n)
			}
			return c.dropUnbatched(3)
		},
		"dropout3d": func(c *call) any { return c.dropUnbatched(5) },
	})
}

func drop(op string) func(c *call) any {
	return func(c *call) any {
		c.checkProbability()
		return c.op(c.inplace(op), c.args("input", "p", "training")...)
	}
}

func (c *call) checkProbability() {
	if p := c.float("p"); p < 0 || p > 1 {
		c.fail(ir.ErrValue, "dropout probability has to be between 0 and 1, but got %s", ir.Repr(ir.Float(p)))
	}
}

// dropUnbatched drops whole channels; an input without batch gets one for it.
func (c *call) dropUnbatched(batched int) any {
	c.checkProbability()
	x := c.t("input")
	alone := x.Dim() != batched
	if alone {
		x = c.tensor(c.inplace("aten::unsqueeze"), x, 0)
	}
	out := c.tensor(c.inplace("aten::feature_dropout"), x, c.arg("p"), c.arg("training"))
	if !alone {
		return out
	}
	if c.bool("inplace") {
		return c.op("aten::squeeze_.dim", out, 0)
	}
	return c.op("aten::squeeze.dim", out, 0)
}
