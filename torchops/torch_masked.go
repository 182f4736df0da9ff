package torchops

import (
	"math"
	"slices"

	"github.com/torchfx-go/torchfx/ir"
)

// maskedBodies are torch.masked on strided tensors: an operation on the elements
// that a mask lets through. Sparse inputs are errors of class ir.ErrUnsupported.
func maskedBodies() map[string]func(f *frame) any {
	extreme := func(op string) func(f *frame) any {
		return func(f *frame) any {
			x := f.maskedInput(op, nil)
			return f.to(f.tensor(op, x, f.canonicalDims(x.Dim()), f.keepdim()), f.maskedDType())
		}
	}
	argument := func(op string) func(f *frame) any {
		return func(f *frame) any {
			x := f.maskedInput(op, nil)
			return f.to(f.tensor(op, x, f.arg("dim"), f.keepdim()), f.maskedDType())
		}
	}
	along := func(op, identity string) func(f *frame) any {
		return func(f *frame) any {
			dim := f.firstDim(f.t("input").Dim())
			x := f.maskedInput(identity, nil)
			return f.op(op, x, dim, Kw("dtype", f.maskedDType()))
		}
	}
	return map[string]func(f *frame) any{
		"sum": func(f *frame) any {
			return f.maskedSum(f.t("input"), f.arg("dim"), f.keepdim(), f.arg("dtype"), f.t("mask"))
		},
		"prod":   maskedProd,
		"amax":   extreme("amax"),
		"amin":   extreme("amin"),
		"argmax": argument("argmax"),
		"argmin": argument("argmin"),
		"cumsum": func(f *frame) any { return f.to(As[*Tensor](along("cumsum", "sum")(f)), f.maskedDType()) },
		"cumprod": func(f *frame) any {
			return f.to(As[*Tensor](along("cumprod", "prod")(f)), f.maskedDType())
		},
		"softmax":     func(f *frame) any { return f.maskedSoftmax("softmax", "amax") },
		"log_softmax": func(f *frame) any { return f.maskedSoftmax("log_softmax", "amax") },
		"softmin":     func(f *frame) any { return f.maskedSoftmax("softmin", "amin") },
		"mean":        maskedMean,
		"median":      maskedMedian,
		"var":         func(f *frame) any { return f.maskedVariance() },
		"std":         func(f *frame) any { return f.op("sqrt", f.maskedVariance()) },
		"norm": func(f *frame) any {
			return f.maskedNorm(f.arg("dim"), f.keepdim())
		},
		"normalize": func(f *frame) any {
			x := f.maskedInput("sum", nil)
			norm := f.maskedNorm(f.arg("dim"), true)
			least := f.tensor("new_full", norm, []int{}, f.arg("eps"), Kw("pin_memory", false))
			return f.op("divide.Tensor", x, f.tensor("maximum", norm, least))
		},
		"logsumexp": func(f *frame) any {
			dims := f.canonicalDims(f.t("input").Dim())
			x := f.maskedInput("logsumexp", nil)
			return f.to(f.tensor("logsumexp", x, dims, f.arg("keepdim")), f.maskedDType())
		},
		"logaddexp": func(f *frame) any {
			x := f.combined("logaddexp", f.t("input"), f.t("input_mask"), nil)
			y := f.combined("logaddexp", f.t("other"), f.t("other_mask"), nil)
			return f.to(f.tensor("logaddexp", x, y), f.maskedDType())
		},
	}
}

func (f *frame) keepdim() bool { return f.bool("keepdim") }

// maskedDType is the dtype asked for, that of the input where none is.
func (f *frame) maskedDType() DType {
	v := f.arg("dtype")
	if v == nil {
		return f.t("input").DType()
	}
	dt, ok := dtypeOf(v)
	if !ok {
		f.wrongType("dtype", "torch.dtype", v)
	}
	return dt
}

// to is Tensor.to(dtype).
func (f *frame) to(t *Tensor, dt DType) *Tensor { return f.tensor("to.dtype", t, dt) }

// canonicalDims returns the argument dim as sorted numbers from 0 on; none stands
// for all.
func (f *frame) canonicalDims(n int) []int { return f.canonical(f.arg("dim"), n) }

func (f *frame) canonical(dim any, n int) []int {
	list, kind := items(dim)
	if dim == nil || kind == "tuple" && len(list) == 0 { // an empty list is no dimension
		all := make([]int, n)
		for i := range all {
			all[i] = i
		}
		return all
	}
	if t, isTensor := dim.(*Tensor); isTensor {
		list = f.rowNumbers(t)
	} else if kind == "" {
		list = []any{dim}
	}
	n = max(n, 1)
	dims := make([]int, 0, len(list))
	for _, v := range list {
		if _, isTensor := v.(*Tensor); isTensor {
			f.holds(v, "ge", n) // whose truth Python asks for
		}
		d := f.asInt("dim", v)
		if slices.Contains(dims, d) {
			f.fail(ir.ErrRuntime, "dim=%s appears multiple times in the list of dims", textOf(v))
		}
		if d >= n || d < -n {
			f.fail(ir.ErrIndex, "Dimension out of range (expected to be in range of [%d, %d], but got %d)", -n, n-1, d)
		}
		dims = append(dims, (d+n)%n)
	}
	slices.Sort(dims)
	return dims
}

// rowNumbers are the rows of a tensor that stands for a list of dimensions.
func (f *frame) rowNumbers(t *Tensor) []any {
	rows, err := iterate(f.mode, t)
	mustNot(f.of.target.Name(), err)
	f.own(rows)
	for _, row := range rows {
		if row.(*Tensor).Numel() != 1 {
			f.fail(ir.ErrRuntime, "Boolean value of Tensor with more than one value is ambiguous")
		}
	}
	return rows
}

// maskedInput is the input with the identity of an operation where the mask
// hides an element.
func (f *frame) maskedInput(op string, order any) *Tensor {
	return f.combined(op, f.t("input"), f.t("mask"), order)
}

func (f *frame) combined(op string, x, mask *Tensor, order any) *Tensor {
	if x.Layout() != Strided {
		f.fail(ir.ErrUnsupported, "%s: masked operations on %s tensors are not there", f.of.target.Name(), x.Layout())
	}
	if mask == nil {
		return x
	}
	mask = f.inputMask(x, mask)
	return f.tensor("where.self", mask, x, f.identity(op, x, order))
}

// inputMask brings a mask to the shape of the input and to bool.
func (f *frame) inputMask(x, mask *Tensor) *Tensor {
	if !sameShape(x, mask) {
		if mask.Dim() > x.Dim() {
			f.fail(ir.ErrIndex, "_input_mask expected broadcastable mask (got mask dimensionality higher than of the input)")
		}
		mask = f.to(f.tensor("broadcast_to", f.tensor("clone", mask), x.Shape()), Bool8)
	}
	if mask.Layout() != Strided {
		mask = f.tensor("to_dense", mask)
	}
	return f.to(mask, Bool8)
}

// identity is the value that an operation takes no notice of.
func (f *frame) identity(op string, x *Tensor, order any) *Tensor {
	dt := x.DType()
	var value any
	least, most := intRange(dt)
	switch op {
	case "sum", "cumsum":
		value = 0
	case "prod", "cumprod":
		value = 1
	case "norm":
		value = 0
		if f.holds(order, "eq", math.Inf(-1)) {
			f.assert(dt.IsFloat(), "input must be floating point, got %v", dt)
			value = math.Inf(1)
		}
	case "median":
		value = math.Float64frombits(0x7ff8000000000000) // Python's
		if !dt.IsFloat() {
			dt = Float32
		}
	case "amax", "argmax", "logaddexp", "logsumexp":
		switch {
		case dt.IsFloat():
			value = math.Inf(-1)
		case dt.IsComplex() && op == "logsumexp":
			value = complex(math.Inf(-1), 0)
		case dt.IsComplex():
			f.fail(ir.ErrType, "torch.iinfo() requires an integer input type. Use torch.finfo to handle 'torch.iinfo'")
		case least != nil:
			value = least
		}
	case "amin", "argmin":
		switch {
		case dt.IsFloat():
			value = math.Inf(1)
		case dt.IsComplex():
			f.fail(ir.ErrType, "torch.iinfo() requires an integer input type. Use torch.finfo to handle 'torch.iinfo'")
		case most != nil:
			value = most
		}
	}
	if value == nil {
		f.fail(ir.ErrNotImplemented, "identity of %s on %v input", op, dt)
	}
	return As[*Tensor](f.invoke("torch.tensor", value, Kw("dtype", dt), Kw("device", x.Device())))
}

// intRange returns the least and the greatest number of a signed dtype or of
// uint8, nil for the others.
func intRange(dt DType) (least, most any) {
	switch {
	case dt == UInt8:
		return int64(0), int64(math.MaxUint8)
	case !dt.IsInt() || dt.IsUnsigned():
		return nil, nil
	}
	bits := 8 * dt.Size()
	return int64(-1) << (bits - 1), int64(uint64(1)<<(bits-1) - 1)
}

// sumDType is the dtype of a sum or product: short integers become long ones.
func sumDType(dtype any, x *Tensor) any {
	if dtype != nil {
		return dtype
	}
	switch dt := x.DType(); dt {
	case UInt8, Bool8, Int8, Int16, Int32:
		return Int64
	default:
		return dt
	}
}

func (f *frame) maskedSum(x *Tensor, dim any, keep bool, dtype any, mask *Tensor) *Tensor {
	dtype = sumDType(dtype, x)
	dims := f.canonical(dim, x.Dim())
	return f.tensor("sum.dim_IntList", f.combined("sum", x, mask, nil), dims, keep, Kw("dtype", dtype))
}

func maskedProd(f *frame) any {
	dtype := sumDType(f.arg("dtype"), f.t("input"))
	dims := f.canonicalDims(f.t("input").Dim())
	x := f.tensor("to.dtype", f.maskedInput("prod", nil), dtype)
	for _, d := range slices.Backward(dims) {
		x = f.tensor("prod.dim_int", x, d, f.keepdim())
	}
	return x
}

func (f *frame) maskedSoftmax(name, identity string) any {
	dim := f.firstDim(f.t("input").Dim())
	x := f.maskedInput(identity, nil)
	return f.invoke("torch.nn.functional."+name, x, dim, Kw("dtype", f.maskedDType()))
}

func (f *frame) maskedNorm(dim any, keep bool) *Tensor {
	x := f.maskedInput("norm", f.arg("ord"))
	return f.tensor("linalg_vector_norm", x, f.arg("ord"), f.canonical(dim, f.t("input").Dim()), keep, Kw("dtype", f.maskedDType()))
}

// maskedCount returns how many elements each sum has, the mask that hides the
// others, nil for none, and the sum.
func (f *frame) maskedCount(keep bool, dtype any) (count, mask, total *Tensor) {
	x, dim := f.t("input"), f.arg("dim")
	if f.t("mask") == nil {
		ones := f.tensor("ones", x.Shape(), Kw("dtype", Int64), Kw("device", x.Device()), Kw("pin_memory", false))
		count = f.maskedSum(ones, dim, keep, nil, nil)
	} else {
		mask = f.inputMask(x, f.t("mask"))
		count = f.tensor("sum.dim_IntList", mask, dimsOrNone(dim), keep)
	}
	return count, mask, f.maskedSum(x, dim, keep, dtype, mask)
}

// dimsOrNone returns dim as the dimensions of a sum.
func dimsOrNone(dim any) any {
	if dim == nil || isSequence(dim) || isTensor(dim) {
		return dim
	}
	return []any{dim}
}

func maskedMean(f *frame) any {
	source, dtype := "Optional", f.maskedDType()
	if !f.given("dtype") {
		source = "Input"
	}
	if !dtype.IsFloat() && !dtype.IsComplex() {
		f.fail(ir.ErrValue, "mean(): Could not infer output dtype. %s dtype must be either a floating point or complex dtype. Got: %v", source, dtype)
	}
	f.combined("mean", f.t("input"), nil, nil) // refuses sparse ones
	count, _, total := f.maskedCount(f.keepdim(), dtype)
	return f.op("div.Tensor", total, count)
}

// firstDim is the first of the dimensions that dim names.
func (f *frame) firstDim(n int) int {
	dims := f.canonicalDims(n)
	if len(dims) == 0 {
		f.fail(ir.ErrIndex, "tuple index out of range")
	}
	return dims[0]
}

func maskedMedian(f *frame) any {
	x := f.t("input")
	isFloat := x.DType().IsFloat()
	dim := f.firstDim(x.Dim())
	if !isFloat {
		x = f.to(x, Float32)
	}
	median := f.tuple("nanmedian.dim", f.combined("median", x, f.t("mask"), nil), dim, f.arg("keepdim"))[0].(*Tensor)
	if isFloat {
		return median
	}
	hidden, err := truthOf(f.mode, f.tensor("any", f.tensor("isnan", median)))
	mustNot(f.of.name, err)
	if hidden {
		f.fail(ir.ErrValue, "masked median expects no fully masked out rows if dtype is not floating point")
	}
	return f.to(median, f.maskedDType())
}

func (f *frame) maskedVariance() *Tensor {
	x := f.t("input")
	f.assert(!f.given("unbiased") || !f.given("correction"), "Only one of unbiased and correction may be given")
	correction := 1.0
	if f.given("unbiased") && !f.bool("unbiased") {
		correction = 0
	}
	if f.given("correction") {
		correction = f.float("correction")
	}
	dtype := f.maskedDType()
	if !f.given("dtype") && !dtype.IsFloat() && !dtype.IsComplex() {
		dtype = Float32
	}
	computed := dtype
	if !computed.IsFloat() && !computed.IsComplex() {
		computed = Float32
	}
	f.combined("var", x, nil, nil) // refuses sparse ones
	count, mask, total := f.maskedCount(true, dtype)
	deviation := f.tensor("subtract.Tensor", x, f.tensor("divide.Tensor", total, count))
	square := f.tensor("mul.Tensor", deviation, f.invoke("torch.conj", deviation))
	total = f.maskedSum(square, f.arg("dim"), f.keepdim(), computed, mask)
	if !f.keepdim() {
		count = f.tensor("reshape", count, total.Shape())
	}
	if correction != 0 {
		count = f.to(count, realDType(computed))
		count = f.tensor("subtract.Tensor", count, correction)
		count = f.tensor("maximum", count, f.tensor("new_zeros", count, []int{}, Kw("pin_memory", false)))
	}
	return f.to(f.tensor("divide.Tensor", total, count), dtype)
}

// realDType is the dtype of the parts of complex numbers.
func realDType(dt DType) DType {
	switch dt {
	case Complex32:
		return Float16
	case Complex64:
		return Float32
	case Complex128:
		return Float64
	}
	return dt
}
