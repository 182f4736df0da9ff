package torchops

import (
	"maps"

	"github.com/torchfx-go/torchfx/ir"
)

// functionalBodies are what the Python functions of torch.nn.functional compute.
func functionalBodies() map[string]func(f *frame) any {
	all := map[string]func(f *frame) any{"multi_head_attention_forward": attention}
	for _, topic := range []func() map[string]func(f *frame) any{
		activations, dropouts, embeddings, losses, norms, pools, samplers, scaledProducts,
	} {
		maps.Copy(all, topic())
	}
	return all
}

// pointwise is op(input, names...), or op_ where inplace is asked for.
func pointwise(op string, names ...string) func(f *frame) any {
	names = append([]string{"input"}, names...)
	return func(f *frame) any { return f.op(f.inplace(op), f.args(names...)...) }
}

func activations() map[string]func(f *frame) any {
	return map[string]func(f *frame) any{
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
		"_threshold":  pointwise("threshold", "threshold", "value"),
		"hardtanh": func(f *frame) any {
			if f.holds(f.arg("min_val"), "gt", f.arg("max_val")) {
				f.fail(ir.ErrValue, "min_val cannot be greater than max_val")
			}
			return f.op(f.inplace("hardtanh"), f.args("input", "min_val", "max_val")...)
		},
		"glu": func(f *frame) any {
			if f.t("input").Dim() == 0 {
				f.fail(ir.ErrRuntime, "glu does not support scalars because halving size must be even")
			}
			return f.op("glu", f.args("input", "dim")...)
		},
		"sigmoid":    func(f *frame) any { return f.op("sigmoid", f.t("input")) },
		"tanh":       func(f *frame) any { return f.op("tanh", f.t("input")) },
		"tanhshrink": func(f *frame) any { return f.op("sub.Tensor", f.t("input"), f.tensor("tanh", f.t("input"))) },
		"softsign": func(f *frame) any {
			return f.op("div.Tensor", f.t("input"), f.tensor("add.Tensor", f.tensor("abs", f.t("input")), 1))
		},
		"softmax":        func(f *frame) any { return f.softmax("softmax", false) },
		"log_softmax":    func(f *frame) any { return f.softmax("log_softmax", false) },
		"softmin":        func(f *frame) any { return f.softmax("softmax", true) },
		"gumbel_softmax": gumbelSoftmax,
	}
}

func (f *frame) softmax(method string, negated bool) any {
	dim := f.arg("dim")
	if dim == nil { // the dimension that Python warns about and takes
		dim = 1
		if n := f.t("input", "dim").Dim(); n == 0 || n == 1 || n == 3 {
			dim = 0
		}
	}
	x := f.arg("input")
	if negated {
		x = f.py("neg", x)
	}
	if _, isTensor := x.(*Tensor); !isTensor {
		f.fail(ir.ErrAttribute, "'%s' object has no attribute '%s'", typeName(x), method)
	}
	return f.op(method, x, dim, f.arg("dtype"))
}

func gumbelSoftmax(f *frame) any {
	logits := f.t("logits")
	noise := f.tensor("empty_like", logits, Kw("memory_format", ContiguousFormat))
	noise = f.tensor("neg", f.tensor("log", f.tensor("exponential_", noise)))
	soft := f.tensor("softmax.int", f.tensor("div.Tensor", f.tensor("add.Tensor", logits, noise), f.arg("tau")), f.arg("dim"))
	if !f.bool("hard") {
		return soft
	}
	index := f.tuple("max.dim", soft, f.arg("dim"), true)[1]
	hard := f.tensor("zeros_like", logits, Kw("memory_format", ContiguousFormat))
	hard = f.tensor("scatter_.value", hard, f.arg("dim"), index, 1.0)
	return f.op("add.Tensor", f.tensor("sub.Tensor", hard, f.tensor("detach", soft)), soft)
}

// scaledProducts are the products of scaled matrices. Recipes and swizzles are
// the numbers of torch.nn.functional.ScalingType and SwizzleType.
func scaledProducts() map[string]func(f *frame) any {
	list := func(f *frame, name string) []any {
		if v := f.arg(name); v == nil {
			return []any{}
		} else if x, kind := items(v); kind == "list" {
			return x
		} else {
			return []any{v}
		}
	}
	scales := func(f *frame) []any {
		return []any{list(f, "scale_a"), list(f, "scale_recipe_a"), list(f, "swizzle_a"), list(f, "scale_b"), list(f, "scale_recipe_b"), list(f, "swizzle_b")}
	}
	add := func(op string) func(f *frame) any {
		return func(f *frame) any {
			args := append(append(f.args("input", "mat1", "mat2"), scales(f)...), f.arg("contraction_dim"))
			return f.op(op, append(args, Kw("beta", f.arg("beta")), Kw("alpha", f.arg("alpha")), Kw("use_fast_accum", f.arg("use_fast_accum")))...)
		}
	}
	return map[string]func(f *frame) any{
		"grouped_mm": func(f *frame) any {
			return f.op("_grouped_mm", f.args("mat_a", "mat_b", "offs", "bias", "out_dtype")...)
		},
		"scaled_mm": func(f *frame) any {
			return f.op("_scaled_mm_v2", append(append(f.args("mat_a", "mat_b"), scales(f)...), f.args("bias", "output_dtype", "contraction_dim", "use_fast_accum")...)...)
		},
		"scaled_grouped_mm": func(f *frame) any {
			args := append(f.args("mat_a", "mat_b"), scales(f)...)
			return f.op("_scaled_grouped_mm_v2", append(args, f.args("offs", "bias", "output_dtype", "contraction_dim", "use_fast_accum")...)...)
		},
		"scaled_addmm":  add("_scaled_addmm"),
		"scaled_addmm_": add("_scaled_addmm_"),
	}
}
