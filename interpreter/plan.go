package interpreter

import (
	"context"

	"github.com/torchfx-go/torchfx/ir"
)

// A Plan is a graph module compiled for production: everything resolved once, one
// crossing a run. It is to be immutable and shared by goroutines. An [Interpreter]
// computes the same and is there now.
//
// State: the signatures stand; [Compile] answers with an error wrapping
// [ir.ErrUnsupported].
type Plan struct{}

// A PlanOption changes how [Compile] plans.
type PlanOption func(*planConfig)

type planConfig struct{}

// Compile plans m, resolving every operator and constant.
func Compile(m *ir.GraphModule, opts ...PlanOption) (*Plan, error) {
	return nil, ir.Errorf(ir.ErrUnsupported, "compile: plans are not built yet; interpreter.New runs the module")
}

// Run executes the plan on one value per placeholder.
func (p *Plan) Run(ctx context.Context, inputs ...any) (any, error) {
	return nil, ir.Errorf(ir.ErrUnsupported, "run: plans are not built yet; interpreter.New runs the module")
}
