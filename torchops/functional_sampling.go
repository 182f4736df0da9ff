package torchops

import (
	"math"

	"github.com/torchfx-go/torchfx/ir"
)

func samplers() map[string]func(f *frame) any {
	return map[string]func(f *frame) any{
		"pad":         func(f *frame) any { return f.op("pad", f.args("input", "pad", "mode", "value")...) },
		"interpolate": interpolate,
		"upsample": func(f *frame) any {
			return f.invoke("torch.nn.functional.interpolate", f.args("input", "size", "scale_factor", "mode", "align_corners")...)
		},
		"upsample_nearest": func(f *frame) any {
			return f.invoke("torch.nn.functional.interpolate", append(f.args("input", "size", "scale_factor"), "nearest")...)
		},
		"upsample_bilinear": func(f *frame) any {
			return f.invoke("torch.nn.functional.interpolate", append(f.args("input", "size", "scale_factor"), "bilinear", true)...)
		},
		"grid_sample": gridSample,
		"affine_grid": affineGrid,
		"fold": func(f *frame) any {
			return f.op("col2im", f.arg("input"), f.ntuple("output_size", 2), f.ntuple("kernel_size", 2), f.ntuple("dilation", 2), f.ntuple("padding", 2), f.ntuple("stride", 2))
		},
		"unfold": func(f *frame) any {
			return f.op("im2col", f.arg("input"), f.ntuple("kernel_size", 2), f.ntuple("dilation", 2), f.ntuple("padding", 2), f.ntuple("stride", 2))
		},
	}
}

// upsampling names the operator of a mode by the number of spatial dimensions,
// and whether it takes align_corners.
var upsampling = map[string]struct {
	ops     [4]string
	corners bool
}{
	"nearest":       {[4]string{1: "upsample_nearest1d", 2: "upsample_nearest2d", 3: "upsample_nearest3d"}, false},
	"nearest-exact": {[4]string{1: "_upsample_nearest_exact1d", 2: "_upsample_nearest_exact2d", 3: "_upsample_nearest_exact3d"}, false},
	"linear":        {[4]string{1: "upsample_linear1d"}, true},
	"bilinear":      {[4]string{2: "upsample_bilinear2d"}, true},
	"bicubic":       {[4]string{2: "upsample_bicubic2d"}, true},
	"trilinear":     {[4]string{3: "upsample_trilinear3d"}, true},
	"lanczos":       {[4]string{2: "_upsample_lanczos2d"}, true},
	"area":          {[4]string{1: "adaptive_avg_pool1d", 2: "adaptive_avg_pool2d", 3: "adaptive_avg_pool3d"}, false},
}

// dimensionsOf says which input the modes that fit one alone need.
var dimensionsOf = map[string]int{"linear": 3, "bilinear": 4, "trilinear": 5}

func interpolate(f *frame) any {
	x, mode := f.t("input"), textOf(f.arg("mode"))
	kind, known := upsampling[mode]
	corners := f.arg("align_corners")
	if known && !kind.corners {
		if corners != nil {
			f.fail(ir.ErrValue, "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear")
		}
	} else if corners == nil {
		corners = false
	}
	shape := x.Shape()
	n := len(shape) - 2
	size, factors := f.interpolatedSize(shape, mode)
	antialias := f.bool("antialias")
	if antialias && (n != 2 || mode != "bilinear" && mode != "bicubic" && mode != "lanczos") {
		f.fail(ir.ErrValue, "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D tensor as input")
	}
	if mode == "lanczos" && n == 2 {
		if corners == true {
			f.fail(ir.ErrValue, "Lanczos mode does not support align_corners=True")
		}
		if !antialias {
			f.fail(ir.ErrValue, "Lanczos mode requires antialias=True")
		}
	}
	op := ""
	if known && n >= 1 && n <= 3 {
		op = kind.ops[n]
	}
	if op == "" {
		if want, one := dimensionsOf[mode]; one && n >= 1 && n <= 3 {
			f.fail(ir.ErrNotImplemented, "Got %dD input, but %s mode needs %dD input", n+2, mode, want)
		}
		f.fail(ir.ErrNotImplemented, "Input Error: Only 3D, 4D and 5D input Tensors supported (got %dD) for the modes: nearest | linear | bilinear | bicubic | trilinear | lanczos | area | nearest-exact (got %s)", n+2, mode)
	}
	switch {
	case mode == "area":
		return f.op(op, x, size)
	case antialias:
		if op[0] != '_' {
			op = "_" + op
		}
		return f.op(op+"_aa.vec", x, size, corners, factors)
	case kind.corners:
		return f.op(op+".vec", x, size, corners, factors)
	}
	return f.op(op+".vec", x, size, factors)
}

// interpolatedSize returns the size or the factors that an interpolation goes
// to; the other is nil.
func (f *frame) interpolatedSize(shape []int, mode string) (size, factors any) {
	n := len(shape) - 2
	spatial := reprOf(intList(shape[min(2, len(shape)):]))
	recompute := f.given("recompute_scale_factor") && f.bool("recompute_scale_factor")
	list := func(name string) []any { return f.items(name, max(n, 0)) }
	switch {
	case f.given("size") && f.given("scale_factor"):
		f.fail(ir.ErrValue, "only one of size or scale_factor should be defined")
	case f.given("size"):
		dims := list("size")
		if kindOfList(f.arg("size")) != "" && len(dims) != n {
			f.fail(ir.ErrValue, "Input and output must have the same number of spatial dimensions, but got input with spatial dimensions of %s and output size of %s. Please provide input tensor in (N, C, d1, d2, ...,dK) format and output size in (o1, o2, ...,oK) format.", spatial, f.repr("size"))
		}
		for _, d := range dims {
			if k := kindOf(d); k != intKind && k != boolKind && kindOfList(f.arg("size")) != "" {
				if t, ok := d.(*Tensor); !ok || t.DType().IsFloat() {
					f.fail(ir.ErrType, "expected size to be one of int or Tuple[int] or Tuple[int, int] or Tuple[int, int, int], but got size with types %s", typeNames(dims))
				}
			}
		}
		if recompute {
			f.fail(ir.ErrValue, "recompute_scale_factor is not meaningful with an explicit size.")
		}
		return dims, nil
	case !f.given("scale_factor"):
		f.fail(ir.ErrValue, "either size or scale_factor should be defined")
	}
	scale := list("scale_factor")
	if kindOfList(f.arg("scale_factor")) != "" && len(scale) != n {
		f.fail(ir.ErrValue, "Input and scale_factor must have the same number of spatial dimensions, but got input with spatial dimensions of %s and scale_factor of shape %s. Please provide input tensor in (N, C, d1, d2, ...,dK) format and scale_factor in (s1, s2, ...,sK) format.", spatial, f.repr("scale_factor"))
	}
	if mode != "area" && !recompute {
		return nil, scale
	}
	dims := make([]any, len(scale))
	for i, s := range scale {
		if k := kindOf(s); k == notNumber || k == complexKind {
			f.wrongType("scale_factor", "float", s)
		}
		whole, err := floatToInt(math.Trunc(float64(shape[i+2]) * asFloat(s)))
		mustNot(f.of.name, err)
		dims[i] = whole
	}
	return dims, nil
}

// typeNames writes the types of a list as Python prints them.
func typeNames(list []any) string {
	text := "["
	for i, v := range list {
		if i > 0 {
			text += ", "
		}
		text += "<class '" + className(v) + "'>"
	}
	return text + "]"
}

func gridSample(f *frame) any {
	mode := f.oneOf("mode", "bilinear", "nearest", "bicubic")
	if mode < 0 {
		f.fail(ir.ErrValue, "nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '%s'", textOf(f.arg("mode")))
	}
	padding := f.oneOf("padding_mode", "zeros", "border", "reflection")
	if padding < 0 {
		f.fail(ir.ErrValue, "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', but got: '%s'", textOf(f.arg("padding_mode")))
	}
	corners := f.arg("align_corners")
	if corners == nil {
		corners = false
	}
	return f.op("grid_sampler", f.arg("input"), f.arg("grid"), mode, padding, corners)
}

func affineGrid(f *frame) any {
	theta, size, corners := f.t("theta"), f.arg("size"), f.arg("align_corners")
	if corners == nil {
		corners = false
	}
	if !theta.DType().IsFloat() {
		f.fail(ir.ErrValue, "Expected theta to have floating point type, but got %s", theta.DType())
	}
	n := f.length(size) - 2
	if n != 2 && n != 3 {
		f.fail(ir.ErrNotImplemented, "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. Got size %s.", textOf(size))
	}
	if t := theta.Shape(); len(t) != 3 || t[1] != n || t[2] != n+1 {
		f.fail(ir.ErrValue, "Expected a batch of %dD affine matrices of shape Nx%dx%d for size %s. Got %s.", n, n, n+1, textOf(size), sizeText(t))
	}
	spatial := f.py("getitem", size, ir.Slice{Start: ir.Int(-n), Stop: ir.None{}, Step: ir.None{}})
	unit := f.truth(corners) && f.holds(f.invoke("builtins.min", spatial), "eq", 1)
	if !unit && f.holds(f.invoke("builtins.min", size), "le", 0) {
		f.fail(ir.ErrValue, "Expected non-zero, positive output size. Got %s", textOf(size))
	}
	return f.op("affine_grid_generator", theta, size, corners)
}
