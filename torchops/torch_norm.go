package torchops

import "github.com/torchfx-go/torchfx/ir"

// norm is torch.norm: a vector norm, or the matrix norm of a name.
func norm(f *frame) any {
	x, p, dim := f.t("input"), f.arg("p"), f.arg("dim")
	if x == nil {
		f.fail(ir.ErrAttribute, "'NoneType' object has no attribute 'layout'")
	}
	_, oneDim := dim.(int64)
	if oneDim {
		dim = []any{dim}
	}
	name, named := p.(string)
	if x.Layout() != Strided || !hasLinearAlgebra(x.Device()) {
		return f.sparseNorm(x, p, dim)
	}
	keep, dtype := f.arg("keepdim"), Kw("dtype", f.arg("dtype"))
	dims, _ := items(dim)
	switch {
	case named && name == "fro" && (dim == nil || oneDim || len(dims) <= 2):
		return f.out("linalg_vector_norm", "linalg_vector_norm.out", x, 2, dim, keep, dtype)
	case named:
		if dim == nil {
			dim = counting(x.Dim())
		}
		return f.out("linalg_matrix_norm.str_ord", "linalg_matrix_norm.str_ord_out", x, name, dim, keep, dtype)
	case p == nil:
		p = 2.0
	}
	return f.out("linalg_vector_norm", "linalg_vector_norm.out", x, p, dim, keep, dtype)
}

func hasLinearAlgebra(d Device) bool {
	switch d.Kind() {
	case ir.DeviceCPU, ir.DeviceCUDA, ir.DeviceMeta, ir.DeviceXPU:
		return true
	}
	return false
}

// counting returns 0 to n-1.
func counting(n int) []any {
	list := make([]any, n)
	for i := range list {
		list[i] = int64(i)
	}
	return list
}

// sparseNorm is the norm by the older operators.
func (f *frame) sparseNorm(x *Tensor, p, dim any) any {
	keep := Kw("keepdim", f.arg("keepdim"))
	dtype := f.arg("dtype")
	name, named := p.(string)
	if !f.given("dim") && !f.given("out") && dtype == nil && p != nil {
		if name == "fro" {
			return f.op("frobenius_norm.dim", x, []any{}, keep)
		}
		if !named {
			return f.op("norm.ScalarOpt_dim", x, p, counting(x.Dim()), keep)
		}
	}
	if named && dtype != nil && (name == "fro" || name == "nuc") {
		f.fail(ir.ErrValue, "dtype argument is not supported in %s norm", map[string]string{"fro": "frobenius", "nuc": "nuclear"}[name])
	}
	all := func() any {
		if dim == nil {
			return counting(x.Dim())
		}
		return dim
	}
	switch {
	case name == "fro":
		return f.out("frobenius_norm.dim", "frobenius_norm.out", x, all(), keep)
	case name == "nuc" && dim == nil:
		return f.out("nuclear_norm", "nuclear_norm.out", x, keep)
	case name == "nuc":
		return f.out("nuclear_norm.dim", "nuclear_norm.dim_out", x, dim, keep)
	case named:
		f.fail(ir.ErrRuntime, "only valid string values are 'fro' and 'nuc', found %s", name)
	case dtype == nil:
		return f.out("norm.ScalarOpt_dim", "norm.out", x, p, all(), keep)
	}
	return f.out("norm.ScalarOpt_dim_dtype", "norm.dtype_out", x, p, all(), keep, Kw("dtype", dtype))
}

// stft pads the signal at both ends where it is to be centered, and transforms.
func stft(f *frame) any {
	x := f.arg("input")
	if f.bool("center") {
		if f.given("align_to_window") {
			f.fail(ir.ErrRuntime, "stft align_to_window should only be set when center = false")
		}
		x = f.centered()
	}
	return f.op("stft", append([]any{x}, f.args("n_fft", "hop_length", "win_length", "window", "normalized", "onesided", "return_complex", "align_to_window")...)...)
}

// centered is the signal padded by half a window on both sides.
func (f *frame) centered() *Tensor {
	x := f.t("input")
	shape := x.Shape()
	n := len(shape)
	extended := append([]int{1, 1, 1}[:max(0, 3-n)], shape...)
	pad := f.invoke("builtins.int", f.py("floordiv", f.arg("n_fft"), 2))
	x = f.tensor("pad", f.tensor("view", x, extended), []any{pad, pad}, f.arg("pad_mode"))
	shape = x.Shape()
	if n > 0 {
		shape = shape[len(shape)-n:]
	}
	return f.tensor("view", x, shape)
}

// lu is the factorization with its pivots, and with what went wrong where
// get_infos asks for it.
func lu(f *frame) any {
	infos := f.bool("get_infos")
	result := f.tuple("_lu_with_info", f.arg("A"), Kw("pivot", f.arg("pivot")), Kw("check_errors", !infos))
	if !f.given("out") {
		if infos {
			return ir.PyTuple(result)
		}
		return ir.PyTuple(result[:2])
	}
	out, kind := items(f.arg("out"))
	want := 2
	if infos {
		want = 3
	}
	if kind == "" {
		f.fail(ir.ErrType, "argument 'out' must be tuple of Tensors, not %s", typeName(f.arg("out")))
	}
	if len(out) != want {
		f.fail(ir.ErrType, "expected tuple of %d elements but got %d", want, len(out))
	}
	for i, t := range out {
		f.op("copy_", f.tensor("resize_as_", t, result[i]), result[i])
	}
	return f.arg("out")
}
