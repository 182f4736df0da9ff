package torchops

import "github.com/torchfx-go/torchfx/ir"

// cudnn is the last argument of the normalisations: whether cuDNN may be used.
const cudnn = true

func norms() map[string]func(f *frame) any {
	return map[string]func(f *frame) any{
		"batch_norm": func(f *frame) any {
			eps, training := f.arg("eps"), f.bool("training")
			if training {
				shape := f.t("input").Shape()
				f.checkBatch(shape, sizeText(shape))
			}
			switch {
			case training && f.holds(eps, "le", 0.0):
				f.fail(ir.ErrValue, "batch_norm eps must be positive during training, but got %s", f.repr("eps"))
			case f.holds(eps, "lt", 0.0):
				f.fail(ir.ErrValue, "batch_norm eps must be non-negative, but got %s", f.repr("eps"))
			}
			return f.op("batch_norm", append(f.args("input", "weight", "bias", "running_mean", "running_var", "training", "momentum", "eps"), cudnn)...)
		},
		"instance_norm": func(f *frame) any {
			if f.bool("use_input_stats") {
				shape := f.t("input").Shape()
				if product(shape[min(2, len(shape)):]) == 1 {
					f.fail(ir.ErrValue, "Expected more than 1 spatial element when training, got input size %s", sizeText(shape))
				}
			}
			return f.op("instance_norm", append(f.args("input", "weight", "bias", "running_mean", "running_var", "use_input_stats", "momentum", "eps"), cudnn)...)
		},
		"layer_norm": func(f *frame) any {
			return f.op("layer_norm", append(f.args("input", "normalized_shape", "weight", "bias", "eps"), cudnn)...)
		},
		"rms_norm": func(f *frame) any {
			return f.op("rms_norm", f.args("input", "normalized_shape", "weight", "eps")...)
		},
		"group_norm": func(f *frame) any {
			shape := f.t("input").Shape()
			if len(shape) < 2 {
				f.fail(ir.ErrRuntime, "Expected at least 2 dimensions for input tensor but received %d", len(shape))
			}
			groups := f.int("num_groups")
			if groups == 0 {
				f.fail(ir.ErrZeroDivision, "integer division or modulo by zero")
			}
			q, _ := floorDivMod(int64(shape[0]*shape[1]), int64(groups))
			grouped := append([]int{int(q), groups}, shape[2:]...)
			f.checkBatch(grouped, reprOf(intList(grouped)))
			return f.op("group_norm", append(f.args("input", "num_groups", "weight", "bias", "eps"), cudnn)...)
		},
		"local_response_norm": localResponseNorm,
		"normalize": func(f *frame) any {
			x := f.t("input")
			norm := f.invoke("torch.Tensor.norm", f.t("input"), f.arg("p"), f.arg("dim"), Kw("keepdim", true))
			if out := f.t("out"); out != nil {
				f.op("div.out", x, f.tensor("expand_as", f.tensor("clamp_min_", norm, f.arg("eps")), x), Kw("out", out))
				return out
			}
			return f.op("div.Tensor", x, f.tensor("expand_as", f.tensor("clamp_min", norm, f.arg("eps")), x))
		},
	}
}

// checkBatch refuses batches whose statistics are those of one value.
func (f *frame) checkBatch(shape []int, text string) {
	if len(shape) == 0 {
		f.fail(ir.ErrIndex, "tuple index out of range")
	}
	if shape[0]*product(shape[min(2, len(shape)):]) == 1 {
		f.fail(ir.ErrValue, "Expected more than 1 value per channel when training, got input size %s", text)
	}
}

func product(x []int) int {
	p := 1
	for _, n := range x {
		p *= n
	}
	return p
}

func localResponseNorm(f *frame) any {
	x, n := f.t("input"), f.arg("size")
	shape := x.Shape()
	if len(shape) < 3 {
		f.fail(ir.ErrValue, "Expected 3D or higher dimensionality                          input (got %d dimensions)", len(shape))
	}
	if x.Numel() == 0 {
		return x
	}
	padding := func(before ...any) []any {
		return append(before, f.py("floordiv", n, 2), f.py("floordiv", f.py("sub", n, 1), 2))
	}
	zero, div := int64(0), f.tensor("mul", x, x)
	if len(shape) == 3 {
		div = f.tensor("unsqueeze", div, 1)
		div = f.tensor("pad", div, padding(zero, zero))
		div = f.tensor("squeeze", f.tensor("avg_pool2d", div, ir.PyTuple{n, int64(1)}, Kw("stride", 1)), 1)
	} else {
		div = f.tensor("view", div, []int{shape[0], 1, shape[1], shape[2], -1})
		div = f.tensor("pad", div, padding(zero, zero, zero, zero))
		div = f.tensor("squeeze", f.tensor("avg_pool3d", div, ir.PyTuple{n, int64(1), int64(1)}, Kw("stride", 1)), 1)
		div = f.tensor("view", div, shape)
	}
	div = f.tensor("add", f.tensor("mul", div, f.arg("alpha")), f.arg("k"))
	return f.op("div", x, f.tensor("pow", div, f.arg("beta")))
}
