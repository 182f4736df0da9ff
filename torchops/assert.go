package torchops

import (
	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
)

// The checks that a trace writes into a graph for its concrete arguments.

func init() {
	define("torch._assert", "condition, message", func(m *libtorch.Mode, a []any) (any, error) {
		truth, err := truthOf(m, a[0])
		if err == nil && !truth {
			err = ir.Errorf(ir.ErrAssertion, "%v", a[1])
		}
		return nil, err
	})
	define("torch.fx._symbolic_trace._assert_is_none", "value, msg", func(_ *libtorch.Mode, a []any) (any, error) {
		if a[0] != nil {
			return nil, ir.Errorf(ir.ErrAssertion, "%v", a[1])
		}
		return nil, nil
	})
}
