package nn

import "github.com/torchfx-go/torchfx/ir"

// ErrForeign is the cause of an error where a module is called that the trace
// did not copy: through a closure over a model, or a model that is no child of
// the traced one.
var ErrForeign = ir.Errorf(ir.ErrTrace, "a module that is not below the traced one")
