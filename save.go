package torchfx

import (
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
)

// Save is to write m as a .pt2 file that torch.export.load accepts.
//
// State: the signature stands; it answers with an error wrapping
// [ir.ErrUnsupported] before a byte is written.
func Save(path string, m *ir.GraphModule) error {
	return ir.Errorf(ir.ErrUnsupported, "save %s: writing .pt2 files is not built yet", path)
}

// Compile plans m for production; see interpreter.Compile.
func Compile(m *ir.GraphModule, opts ...interpreter.PlanOption) (*interpreter.Plan, error) {
	return interpreter.Compile(m, opts...)
}
