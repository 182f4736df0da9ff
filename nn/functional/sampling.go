package functional

import (
	"fmt"
	"maps"

	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

func samplers() {
	maps.Copy(bodies, map[string]func(c *call) any{
		"pad":         func(c *call) any { return c.op("aten::pad", c.args("input", "pad", "mode", "value")...) },
		"interpolate": interpolate,
		"grid_sample": gridSample,
		"affine_grid": affineGrid,
		"fold": func(c *call) any {
			return c.op("aten::col2im", c.t("input"), c.dims("output_size", 2), c.dims("kernel_size", 2), c.dims("dilation", 2), c.dims("padding", 2), c.dims("stride", 2))
		},
		"unfold": func(c *call) any {
			return c.op("aten::im2col", c.t("input"), c.dims("kernel_size", 2), c.dims("dilation", 2), c.dims("padding", 2), c.dims("stride", 2))
		},
	})
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

func interpolate(c *call) any {
	x, mode := c.t("input"), c.string("mode")
	kind, known := upsampling[mode]
	corners := c.arg("align_corners")
	if known && !kind.corners {
		if corners != nil {
			c.fail(ir.ErrValue, "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear")
		}
	} else if corners == nil {
		corners = false
	}
	shape := x.Shape()
	n := len(shape) - 2
	size, factors := c.target(shape, mode)
	if c.bool("antialias") && (n != 2 || mode != "bilinear" && mode != "bicubic" && mode != "lanczos") {
		c.fail(ir.ErrValue, "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D tensor as input")
	}
	if mode == "lanczos" && n == 2 {
		if corners == true {
			c.fail(ir.ErrValue, "Lanczos mode does not support align_corners=True")
		}
		if !c.bool("antialias") {
			c.fail(ir.ErrValue, "Lanczos mode requires antialias=True")
		}
	}
	op := ""
	if known && n >= 1 && n <= 3 {
		op = kind.ops[n]
	}
	if op == "" {
		if want, one := dimensionsOf[mode]; one && n >= 1 && n <= 3 {
			c.fail(ir.ErrNotImplemented, "Got %dD input, but %s mode needs %dD input", n+2, mode, want)
		}
		c.fail(ir.ErrNotImplemented, "Input Error: Only 3D, 4D and 5D input Tensors supported (got %dD) for the modes: nearest | linear | bilinear | bicubic | trilinear | lanczos | area | nearest-exact (got %s)", n+2, mode)
	}
	switch {
	case mode == "area":
		return c.op("aten::"+op, x, size)
	case c.bool("antialias"):
		if op[0] != '_' {
			op = "_" + op
		}
		return c.op("aten::"+op+"_aa.vec", x, size, corners, factors)
	case kind.corners:
		return c.op("aten::"+op+".vec", x, size, corners, factors)
	}
	return c.op("aten::"+op+".vec", x, size, factors)
}

// target returns the size or the factors that an interpolation goes to; the
// other is nil.
func (c *call) target(shape []int, mode string) (size, factors any) {
	n := max(len(shape)-2, 0)
	recompute := c.arg("recompute_scale_factor") == true
	switch {
	case c.given("size") && c.given("scale_factor"):
		c.fail(ir.ErrValue, "only one of size or scale_factor should be defined")
	case c.given("size"):
		dims := c.dims("size", n)
		if len(dims) != n {
			c.fail(ir.ErrValue, "Input and output must have the same number of spatial dimensions, but got input with spatial dimensions of %v and output size of %v. Please provide input tensor in (N, C, d1, d2, ...,dK) format and output size in (o1, o2, ...,oK) format.", shape[min(2, len(shape)):], dims)
		}
		if recompute {
			c.fail(ir.ErrValue, "recompute_scale_factor is not meaningful with an explicit size.")
		}
		return dims, nil
	case !c.given("scale_factor"):
		c.fail(ir.ErrValue, "either size or scale_factor should be defined")
	}
	items := c.items("scale_factor", n)
	if len(items) != n {
		c.fail(ir.ErrValue, "Input and scale_factor must have the same number of spatial dimensions, but got input with spatial dimensions of %v and scale_factor of shape %v. Please provide input tensor in (N, C, d1, d2, ...,dK) format and scale_factor in (s1, s2, ...,sK) format.", shape[min(2, len(shape)):], items)
	}
	scale := make([]float64, n)
	for i, item := range items {
		switch v := item.(type) {
		case float64:
			scale[i] = v
		case int64:
			scale[i] = float64(v)
		default:
			c.fail(ir.ErrType, "interpolate(): argument 'scale_factor' must be float or tuple of floats, not %s", torch.Describe(item))
		}
	}
	if mode != "area" && !recompute {
		return nil, scale
	}
	dims := make([]int, n)
	for i := range dims {
		dims[i] = int(float64(shape[i+2]) * scale[i])
	}
	return dims, nil
}

func gridSample(c *call) any {
	mode, ok := map[string]int{"bilinear": 0, "nearest": 1, "bicubic": 2}[c.string("mode")]
	if !ok {
		c.fail(ir.ErrValue, "nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '%s'", c.string("mode"))
	}
	padding, ok := map[string]int{"zeros": 0, "border": 1, "reflection": 2}[c.string("padding_mode")]
	if !ok {
		c.fail(ir.ErrValue, "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', but got: '%s'", c.string("padding_mode"))
	}
	return c.op("aten::grid_sampler", c.t("input"), c.t("grid"), mode, padding, c.bool("align_corners"))
}

func affineGrid(c *call) any {
	theta, size := c.t("theta"), c.dims("size", 1)
	if !theta.DType().IsFloat() {
		c.fail(ir.ErrValue, "Expected theta to have floating point type, but got %s", theta.DType())
	}
	if len(size) != 4 && len(size) != 5 {
		c.fail(ir.ErrNotImplemented, "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. Got size %v.", size)
	}
	n := len(size) - 2
	if t := theta.Shape(); len(t) != 3 || t[1] != n || t[2] != n+1 {
		c.fail(ir.ErrValue, "Expected a batch of %dD affine matrices of shape Nx%dx%d for size %v. Got %s.", n, n, n+1, size, fmt.Sprint(t))
	}
	for _, k := range size {
		if k <= 0 {
			c.fail(ir.ErrValue, "Expected non-zero, positive output size. Got %v", size)
		}
	}
	return c.op("aten::affine_grid_generator", theta, size, c.bool("align_corners"))
}
