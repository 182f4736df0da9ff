package interpreter

import libtorch "github.com/torchfx-go/torchfx/cgo"

// PlanFuseAll fuses all that can be, also where nothing is gained by it.
func PlanFuseAll() PlanOption {
	return planOption(func(c *planConfig) { c.fusion = libtorch.PlanFuseAll })
}
