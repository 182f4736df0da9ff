package export

import "github.com/torchfx-go/torchfx/ir"

// TensorMeta returns what is known of t without its elements; it marks t as a
// tensor, and no module, among the attributes of an [ir.GraphModule].
func (t *Tensor) TensorMeta() ir.TensorMeta {
	return ir.TensorMeta{
		DType:         t.DType,
		Sizes:         knownSizes(t.Sizes),
		Strides:       knownSizes(t.Strides),
		StorageOffset: ir.SizeOf(t.Offset),
		Device:        t.Device,
		RequiresGrad:  t.RequiresGrad,
	}
}

// Repr returns what Python's repr of the guards' module is.
func (*Guards) Repr() string { return "GuardsFn()" }

func knownSizes(sizes []int64) []ir.Size {
	out := make([]ir.Size, len(sizes))
	for i, s := range sizes {
		out[i] = ir.SizeOf(s)
	}
	return out
}
