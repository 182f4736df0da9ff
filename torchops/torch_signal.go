package torchops

import (
	"math"

	"github.com/torchfx-go/torchfx/ir"
)

// windowBodies are torch.signal.windows. The length M and the other numbers may be
// whatever Python's arithmetic takes, tensors of one element as well.
func windowBodies() map[string]func(f *frame) any {
	hamming := func(alpha float64) func(f *frame) any {
		return func(f *frame) any { return f.cosines([]any{alpha, 1 - alpha}) }
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
			return f.cosines([]any{0.42, 0.5, 0.08})
		},
		"nuttall": func(f *frame) any {
			return f.cosines([]any{0.3635819, 0.4891775, 0.1365995, 0.0106411})
		},
		"general_cosine": func(f *frame) any { return f.cosines(f.arg("a")) },
		"general_hamming": func(f *frame) any {
			return f.cosines([]any{f.arg("alpha"), f.py("sub", 1.0, f.arg("alpha"))})
		},
	}
}

// checkWindow checks what all windows ask for and returns the length.
func (f *frame) checkWindow(name string) any {
	m, dtype := f.arg("M"), f.windowDType()
	switch {
	case f.holds(m, "lt", 0):
		f.fail(ir.ErrValue, "%s requires non-negative window length, got M=%s", name, f.repr("M"))
	case f.arg("layout") != Strided:
		f.fail(ir.ErrValue, "%s is implemented for strided tensors only, got: %s", name, f.repr("layout"))
	case dtype != Float32 && dtype != Float64:
		f.fail(ir.ErrValue, "%s expects float32 or float64 dtypes, got: %s", name, textOf(dtype))
	}
	return m
}

func (f *frame) windowDType() any {
	if f.given("dtype") {
		return f.arg("dtype")
	}
	return Float32 // the default dtype of a libtorch that nobody changed
}

// window calls a factory with the options of a window.
func (f *frame) window(op string, args ...any) *Tensor {
	options := []any{Kw("dtype", f.windowDType()), Kw("layout", f.arg("layout")), Kw("device", f.arg("device")), Kw("requires_grad", f.arg("requires_grad"))}
	return f.tensor(op, append(args, options...)...)
}

// alone is the window of a length that is 0, or 1 where that is looked for; nil for
// others.
func (f *frame) alone(m any, orOne bool) *Tensor {
	switch {
	case f.holds(m, "eq", 0):
		return f.window("empty", []int{0})
	case orOne && f.holds(m, "eq", 1):
		return f.window("ones", []int{1})
	}
	return nil
}

// periodic is M where the window is periodic and longer than one, else M-1.
func (f *frame) periodic(m any) any {
	if !f.bool("sym") && f.holds(m, "gt", 1) {
		return m
	}
	return f.py("sub", m, 1)
}

// span is M where the window is periodic, else M-1.
func (f *frame) span(m any) any {
	if !f.bool("sym") {
		return m
	}
	return f.py("sub", m, 1)
}

func exponentialWindow(f *frame) any {
	m, tau := f.checkWindow("exponential"), f.arg("tau")
	if f.holds(tau, "le", 0) {
		f.fail(ir.ErrValue, "Tau must be positive, got: %s instead.", f.repr("tau"))
	}
	if f.bool("sym") && f.given("center") {
		f.fail(ir.ErrValue, "Center must be None for symmetric windows")
	}
	if w := f.alone(m, false); w != nil {
		return w
	}
	center := f.arg("center")
	if center == nil {
		center = f.py("truediv", f.periodic(m), 2.0)
	}
	constant := f.py("truediv", 1, tau)
	k := f.steps(m, f.py("neg", center), constant)
	return f.op("exp", f.tensor("neg", f.tensor("abs", k)))
}

// steps is what a window is computed of: m numbers from start on, one apart, times a
// constant.
func (f *frame) steps(m, start, constant any) *Tensor {
	first := f.py("mul", start, constant)
	last := f.py("mul", f.py("add", start, f.py("sub", m, 1)), constant)
	return f.window("linspace", Kw("start", first), Kw("end", last), Kw("steps", m))
}

func cosineWindow(f *frame) any {
	m := f.checkWindow("cosine")
	if w := f.alone(m, false); w != nil {
		return w
	}
	of := m
	if !f.bool("sym") && f.holds(m, "gt", 1) {
		of = f.py("add", m, 1)
	}
	return f.op("sin", f.steps(m, 0.5, f.py("truediv", math.Pi, of)))
}

func gaussianWindow(f *frame) any {
	m, std := f.checkWindow("gaussian"), f.arg("std")
	if f.holds(std, "le", 0) {
		f.fail(ir.ErrValue, "Standard deviation must be positive, got: %s instead.", f.repr("std"))
	}
	if w := f.alone(m, false); w != nil {
		return w
	}
	start := f.py("truediv", f.py("neg", f.periodic(m)), 2.0)
	k := f.steps(m, start, f.py("truediv", 1, f.py("mul", std, math.Sqrt2)))
	return f.op("exp", f.tensor("neg", f.tensor("pow", k, 2)))
}

func kaiserWindow(f *frame) any {
	m := f.checkWindow("kaiser")
	if f.holds(f.arg("beta"), "lt", 0) {
		f.fail(ir.ErrValue, "beta must be non-negative, got: %s instead.", f.repr("beta"))
	}
	if w := f.alone(m, true); w != nil {
		return w
	}
	beta := As[*Tensor](f.invoke("torch.tensor", f.arg("beta"), Kw("dtype", f.windowDType()), Kw("device", f.arg("device"))))
	start := f.tensor("neg", beta)
	constant := f.py("truediv", f.py("mul", 2.0, beta), f.span(m))
	end := f.op("minimum", beta, f.py("add", start, f.py("mul", f.py("sub", m, 1), constant)))
	k := f.window("linspace", Kw("start", start), Kw("end", end), Kw("steps", m))
	root := f.tensor("sqrt", f.tensor("sub", f.tensor("mul", beta, beta), f.tensor("pow", k, 2)))
	return f.op("div", f.tensor("i0", root), f.tensor("i0", beta))
}

func bartlettWindow(f *frame) any {
	m := f.checkWindow("bartlett")
	if w := f.alone(m, true); w != nil {
		return w
	}
	constant := f.py("truediv", 2, f.span(m))
	last := f.py("add", -1, f.py("mul", f.py("sub", m, 1), constant))
	k := f.window("linspace", Kw("start", -1), Kw("end", last), Kw("steps", m))
	return f.op("rsub", f.tensor("abs", k), 1)
}

// cosines is the sum of cosines with coefficients, their signs in turn.
func (f *frame) cosines(coefficients any) any {
	m := f.checkWindow("general_cosine")
	if w := f.alone(m, true); w != nil {
		return w
	}
	if !iterable(coefficients) {
		f.fail(ir.ErrType, "Coefficients must be a list/tuple")
	}
	if !f.truth(coefficients) {
		f.fail(ir.ErrValue, "Coefficients cannot be empty")
	}
	constant := f.py("truediv", 2*math.Pi, f.span(m))
	k := f.window("linspace", Kw("start", 0), Kw("end", f.py("mul", f.py("sub", m, 1), constant)), Kw("steps", m))
	var signed []any
	for i, c := range f.iterate(coefficients) {
		signed = append(signed, f.py("mul", 1-2*(i%2), c))
	}
	grad := Kw("requires_grad", f.arg("requires_grad"))
	a := As[*Tensor](f.invoke("torch.tensor", signed, Kw("device", f.arg("device")), Kw("dtype", f.windowDType()), grad))
	i := f.tensor("arange", len(signed), Kw("dtype", a.DType()), Kw("device", a.Device()), grad)
	waves := f.tensor("cos", f.tensor("mul", f.tensor("unsqueeze", i, -1), k))
	return f.op("sum", f.tensor("mul", f.tensor("unsqueeze", a, -1), waves), 0)
}
