package torchops

import "github.com/torchfx-go/torchfx/ir"

// The properties of tensors that are tensors. A trace records them as Python's
// does: getattr(x, "T"). [Tensor.Transposed] is the method t.

// property reads a property that is a tensor.
func (x *Tensor) property(name string) *Tensor {
	return As[*Tensor](Dispatch(ir.CallFunction, fnGetAttr, []any{x, name}, nil))
}

// T returns a view with the dimensions in reverse order.
func (x *Tensor) T() *Tensor { return x.property("T") }

// H returns the conjugate transpose of a matrix.
func (x *Tensor) H() *Tensor { return x.property("H") }

// MT returns a view with the last two dimensions exchanged.
func (x *Tensor) MT() *Tensor { return x.property("mT") }

// MH returns the conjugate transpose of each matrix of the last two dimensions.
func (x *Tensor) MH() *Tensor { return x.property("mH") }

// Real returns the real parts, a view of a complex tensor.
func (x *Tensor) Real() *Tensor { return x.property("real") }

// Imag returns the imaginary parts, a view of a complex tensor.
func (x *Tensor) Imag() *Tensor { return x.property("imag") }

// Grad returns the gradient, of which there is none in Go: nil. A trace records the
// attribute.
func (x *Tensor) Grad() *Tensor { return x.property("grad") }

// Transposed returns a view of a matrix with its dimensions exchanged: the method t.
func (x *Tensor) Transposed() *Tensor { return CallTensor("torch.Tensor.t", nil, x) }

// Transposed returns a view of a matrix with its dimensions exchanged: torch.t.
func Transposed(input *Tensor) *Tensor { return CallTensor("torch.t", nil, input) }
