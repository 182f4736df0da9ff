package passes

import "github.com/torchfx-go/torchfx/ir"

// given refuses a module that is nil, and options that are.
func given[O any](what string, m *ir.GraphModule, opts []O) error {
	if m == nil {
		return ir.Errorf(ir.ErrInput, "%s: expected a graph module, got nil", what)
	}
	return ir.CheckOptions(what, opts)
}
