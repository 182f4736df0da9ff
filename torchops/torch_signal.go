package torchops

import (
	"math"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// windowBodies are torch.signal.windows.
func windowBodies() map[string]func(f *frame) any {
	hamming := func(alpha float64) func(f *frame) any {
		return func(f *frame) any { return f.cosines("general_cosine", []any{alpha, 1 - alpha}) }
	}
	return map[string]func(f *frame) any{
		"exponential": exponentialWindow,
		"cosine":      cosineWindow,
		"gaussian":    gaussianWindow,
		"kaiser":      kaiserWindow,
		"bartlett":    bartlettWindow,
		"hamming":     hamming(0.54),
		"hann":        hamming(0.5),
		"blackman": func(f *frame) any {
			f.checkWindow("blackman")
			return f.cosines("general_cosine", []any{0.42, 0.5, 0.08})
		},
		"nuttall": func(f *frame) any {
			return f.cosines("general_cosine", []any{0.3635819, 0.4891775, 0.1365995, 0.0106411})
		},
		"general_cosine": func(f *frame) any { return f.cosines("general_cosine", f.arg("a")) },
		"general_hamming": func(f *frame) any {
			alpha := f.float("alpha")
			return f.cosines("general_cosine", []any{f.arg("alpha"), 1 - alpha})
		},
	}
}

// checkWindow checks what all windows ask for and returns the length.
func (f *frame) checkWindow(name string) int {
	m, dtype := f.windowLength(), f.windowDType()
	switch {
	case m < 0:
		f.fail(ir.ErrValue, "%s requires non-negative window length, got M=%s", name, f.repr("M"))
	case f.arg("layout") != Strided:
		f.fail(ir.ErrValue, "%s is implemented for strided tensors only, got: %v", name, f.arg("layout"))
	case dtype != Float32 && dtype != Float64:
		f.fail(ir.ErrValue, "%s expects float32 or float64 dtypes, got: %v", name, dtype)
	}
	return m
}

// windowLength is M. What is no int is a length as long as it is compared alone, with
// 0 and 1; -1 stands for all that is negative.
func (f *frame) windowLength() int {
	v := f.arg("M")
	if t, isTensor := v.(*Tensor); isTensor {
		f.bool("M") // Python asks for the truth of M < 0
		v = f.item(t)
	}
	switch k := kindOf(v); {
	case k == notNumber || k == complexKind:
		f.fail(ir.ErrType, "'<' not supported between instances of '%s' and 'int'", typeName(v))
	case asFloat(v) < 0:
		return -1
	}
	if x := asFloat(v); x == math.Trunc(x) && x < math.MaxInt32 {
		return int(x)
	}
	return 2 // some length that checkSteps refuses
}

// checkSteps refuses an M that is no number of steps.
func (f *frame) checkSteps() {
	if v := f.arg("M"); !isPlainScalar(v, true) && kindOf(v) != intKind {
		f.fail(ir.ErrType, "linspace(): argument 'steps' must be int, not %s", typeName(v))
	}
}

func (f *frame) windowDType() any {
	if f.given("dtype") {
		return f.arg("dtype")
	}
	return Float32 // the default dtype of a libtorch that nobody changed
}

// window calls a factory with the options of a window.
func (f *frame) window(op string, args ...any) *Tensor {
	if strings.HasPrefix(op, "linspace") {
		f.checkSteps()
	}
	options := []any{Kw("dtype", f.windowDType()), Kw("layout", f.arg("layout")), Kw("device", f.arg("device")), Kw("pin_memory", false)}
	return f.tensor(op, append(args, options...)...)
}

// finished sets whether the window takes part in gradients.
func (f *frame) finished(t *Tensor) any {
	if f.bool("requires_grad") {
		f.fail(ir.ErrUnsupported, "%s: a window that requires gradients is not there", f.of.name)
	}
	return t
}

// span is M where the window is periodic and M-1 where it is symmetric.
func (f *frame) span(m int, alsoOne bool) float64 {
	if !f.bool("sym") && (alsoOne || m > 1) {
		return float64(m)
	}
	return float64(m - 1)
}

func exponentialWindow(f *frame) any {
	m := f.checkWindow("exponential")
	tau := f.float("tau")
	if tau <= 0 {
		f.fail(ir.ErrValue, "Tau must be positive, got: %s instead.", f.repr("tau"))
	}
	if f.bool("sym") && f.given("center") {
		f.fail(ir.ErrValue, "Center must be None for symmetric windows")
	}
	if m == 0 {
		return f.finished(f.window("empty.memory_format", []int{0}))
	}
	center := f.span(m, false) / 2
	if f.given("center") {
		center = f.float("center")
	}
	constant := 1 / tau
	k := f.window("linspace", -center*constant, (-center+float64(m-1))*constant, m)
	return f.finished(f.tensor("exp", f.tensor("neg", f.tensor("abs", k))))
}

func cosineWindow(f *frame) any {
	m := f.checkWindow("cosine")
	if m == 0 {
		return f.finished(f.window("empty.memory_format", []int{0}))
	}
	start, of := 0.5, m
	if !f.bool("sym") && m > 1 {
		of++
	}
	constant := math.Pi / float64(of)
	return f.finished(f.tensor("sin", f.window("linspace", start*constant, (start+float64(m-1))*constant, m)))
}

func gaussianWindow(f *frame) any {
	m := f.checkWindow("gaussian")
	std := f.float("std")
	if std <= 0 {
		f.fail(ir.ErrValue, "Standard deviation must be positive, got: %s instead.", f.repr("std"))
	}
	if m == 0 {
		return f.finished(f.window("empty.memory_format", []int{0}))
	}
	start := -f.span(m, false) / 2
	constant := 1 / (std * math.Sqrt(2))
	k := f.window("linspace", start*constant, (start+float64(m-1))*constant, m)
	return f.finished(f.tensor("exp", f.tensor("neg", f.tensor("pow.Tensor_Scalar", k, 2))))
}

func kaiserWindow(f *frame) any {
	m := f.checkWindow("kaiser")
	if f.float("beta") < 0 {
		f.fail(ir.ErrValue, "beta must be non-negative, got: %s instead.", f.repr("beta"))
	}
	switch m {
	case 0:
		return f.finished(f.window("empty.memory_format", []int{0}))
	case 1:
		return f.finished(f.window("ones", []int{1}))
	}
	beta := f.tensor("scalar_tensor", f.arg("beta"), Kw("dtype", f.windowDType()), Kw("device", f.arg("device")))
	start := f.tensor("neg", beta)
	constant := f.tensor("div.Tensor", f.tensor("mul.Tensor", beta, 2.0), int(f.span(m, true)))
	end := f.tensor("minimum", beta, f.tensor("add.Tensor", start, f.tensor("mul.Tensor", constant, m-1)))
	k := f.window("linspace.Tensor_Tensor", start, end, m)
	root := f.tensor("sqrt", f.tensor("sub.Tensor", f.tensor("mul.Tensor", beta, beta), f.tensor("pow.Tensor_Scalar", k, 2)))
	return f.finished(f.tensor("div.Tensor", f.tensor("i0", root), f.tensor("i0", beta)))
}

func bartlettWindow(f *frame) any {
	m := f.checkWindow("bartlett")
	switch m {
	case 0:
		return f.finished(f.window("empty.memory_format", []int{0}))
	case 1:
		return f.finished(f.window("ones", []int{1}))
	}
	constant := 2 / f.span(m, true)
	k := f.window("linspace", -1, -1+float64(float64(m-1)*constant), m) // rounded twice, on every machine
	return f.finished(f.tensor("rsub.Scalar", f.tensor("abs", k), 1))
}

// cosines is the sum of cosines with coefficients, their signs in turn.
func (f *frame) cosines(name string, coefficients any) any {
	m := f.checkWindow(name)
	switch m {
	case 0:
		return f.finished(f.window("empty.memory_format", []int{0}))
	case 1:
		return f.finished(f.window("ones", []int{1}))
	}
	list, kind := items(coefficients)
	if kind == "" {
		f.fail(ir.ErrType, "Coefficients must be a list/tuple")
	}
	if len(list) == 0 {
		f.fail(ir.ErrValue, "Coefficients cannot be empty")
	}
	constant := 2 * math.Pi / f.span(m, true)
	k := f.window("linspace", 0, float64(m-1)*constant, m)
	signed := make([]float64, len(list))
	for i, c := range list {
		if n := kindOf(c); n == notNumber || n == complexKind {
			f.fail(ir.ErrType, "must be real number, not %s", typeName(c))
		}
		if signed[i] = asFloat(c); i%2 == 1 {
			signed[i] = -signed[i]
		}
	}
	a, err := From(signed, len(signed))
	mustNot(f.of.name, err)
	f.own(a)
	to := []any{Kw("dtype", f.windowDType()), Kw("device", f.arg("device"))}
	a = f.tensor("to.dtype_layout", append([]any{a}, to...)...)
	i := f.tensor("arange", append([]any{len(signed)}, append(to, Kw("pin_memory", false))...)...)
	waves := f.tensor("cos", f.tensor("mul.Tensor", f.tensor("unsqueeze", i, -1), k))
	return f.finished(f.tensor("sum.dim_IntList", f.tensor("mul.Tensor", f.tensor("unsqueeze", a, -1), waves), []int{0}))
}
