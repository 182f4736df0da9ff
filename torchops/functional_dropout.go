package torchops

import "github.com/torchfx-go/torchfx/ir"

func dropouts() map[string]func(f *frame) any {
	return map[string]func(f *frame) any{
		"dropout":               drop("dropout"),
		"alpha_dropout":         drop("alpha_dropout"),
		"feature_alpha_dropout": drop("feature_alpha_dropout"),
		"dropout2d": func(f *frame) any {
			f.checkProbability()
			return f.op(f.inplace("feature_dropout"), f.t("input", "dim"), f.arg("p"), f.arg("training"))
		},
		"dropout1d": func(f *frame) any {
			f.checkProbability()
			if n := f.t("input").Dim(); n != 2 && n != 3 {
				f.fail(ir.ErrRuntime, "dropout1d: Expected 2D or 3D input, but received a %dD input. Note that dropout1d exists to provide channel-wise dropout on inputs with 1 spatial dimension, a channel dimension, and an optional batch dimension (i.e. 2D or 3D inputs).", n)
			}
			return f.dropUnbatched(3)
		},
		"dropout3d": func(f *frame) any {
			f.checkProbability()
			return f.dropUnbatched(5)
		},
	}
}

func drop(op string) func(f *frame) any {
	return func(f *frame) any {
		f.checkProbability()
		return f.op(f.inplace(op), f.args("input", "p", "training")...)
	}
}

func (f *frame) checkProbability() {
	if p := f.arg("p"); f.holds(p, "lt", 0.0) || f.holds(p, "gt", 1.0) {
		f.fail(ir.ErrValue, "dropout probability has to be between 0 and 1, but got %s", f.repr("p"))
	}
}

// dropUnbatched drops whole channels; an input without batch gets one for it.
func (f *frame) dropUnbatched(batched int) any {
	x := f.t("input")
	alone := x.Dim() != batched
	if alone {
		x = f.tensor(f.inplace("unsqueeze"), x, 0)
	}
	out := f.tensor(f.inplace("feature_dropout"), x, f.arg("p"), f.arg("training"))
	if !alone {
		return out
	}
	return f.op(f.inplace("squeeze")+".dim", out, 0)
}
