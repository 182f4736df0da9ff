package passes

import (
	"math"

	"github.com/torchfx-go/torchfx/cgo/delegate"
	"github.com/torchfx-go/torchfx/ir"
)

// readBinary is for arithmetic of two tensors, or of a tensor and a number.
func readBinary(kind delegate.BinaryKind) callReader {
	return func(c *regionCall) func(*regionWriter) delegate.Value {
		a, _ := c.args["self"].(*ir.Node)
		b, _ := c.args["other"].(*ir.Node)
		if alpha, has := c.args["alpha"]; has && !isOne(alpha) || a == nil {
			return nil
		}
		if b == nil && a.Op() == ir.GetAttr {
			return nil
		}
		if b == nil {
			number, ok := c.number("other")
			scale, shift := 1.0, 0.0
			switch kind {
			case delegate.Add:
				shift = number
			case delegate.Sub:
				shift = -number
			case delegate.Mul:
				scale = number
			case delegate.Div:
				scale = 1 / number
			default:
				ok = false
			}
			if !ok || math.IsInf(scale, 0) || math.IsNaN(scale) || math.IsNaN(shift) {
				return nil
			}
			return func(w *regionWriter) delegate.Value {
				return w.program.Eltwise(delegate.Affine, w.value(a), scale, shift)
			}
		}
		x, _ := valueOf(a)
		y, _ := valueOf(b)
		z, _ := valueOf(c.node)
		if a == b || !sameSizes(x.Sizes, z.Sizes) && !sameSizes(y.Sizes, z.Sizes) {
			return nil
		}
		if a.Op() == ir.GetAttr && b.Op() == ir.GetAttr {
			return nil
		}
		return func(w *regionWriter) delegate.Value { return w.program.Binary(kind, w.value(a), w.value(b)) }
	}
}

// readEltwise is for functions of a tensor; alpha names their parameter.
func readEltwise(kind delegate.EltwiseKind, alpha ...string) callReader {
	return func(c *regionCall) func(*regionWriter) delegate.Value {
		x := c.tensor("self")
		var parameter float64
		ok := x != nil
		for _, name := range alpha {
			var isNumber bool
			parameter, isNumber = c.number(name)
			ok = ok && isNumber
		}
		if !ok {
			return nil
		}
		return func(w *regionWriter) delegate.Value { return w.program.Eltwise(kind, w.value(x), parameter, 0) }
	}
}

func readClip(low, high float64) callReader {
	return func(c *regionCall) func(*regionWriter) delegate.Value {
		x := c.tensor("self")
		if x == nil {
			return nil
		}
		return func(w *regionWriter) delegate.Value { return w.program.Eltwise(delegate.Clip, w.value(x), low, high) }
	}
}

// readClipped is readClip with bounds that are arguments, each of which may be None.
func readClipped(low, high string) callReader {
	return func(c *regionCall) func(*regionWriter) delegate.Value {
		bound := func(name string, none float64) (float64, bool) {
			if a := c.args[name]; a == nil || a == (ir.None{}) {
				return none, true
			}
			return c.number(name)
		}
		a, ok := bound(low, -math.MaxFloat32)
		b, ok2 := bound(high, math.MaxFloat32)
		if !ok || !ok2 || !(a <= b) {
			return nil
		}
		return readClip(a, b)(c)
	}
}

func readGELU(c *regionCall) func(*regionWriter) delegate.Value {
	switch c.args["approximate"] {
	case ir.Str("none"):
		return readEltwise(delegate.GELU)(c)
	case ir.Str("tanh"):
		return readEltwise(delegate.GELUTanh)(c)
	}
	return nil
}

func readELU(c *regionCall) func(*regionWriter) delegate.Value {
	if !isOne(c.args["scale"]) || !isOne(c.args["input_scale"]) {
		return nil
	}
	return readEltwise(delegate.ELU, "alpha")(c)
}
