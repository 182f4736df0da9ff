package interpreter

import (
	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
)

// An Option changes how an [Interpreter] runs.
type Option interface{ interpreter(in *Interpreter) }

// A PlanOption changes how [Compile] plans.
type PlanOption interface{ plan(c *planConfig) }

// An AOTIOption changes how [OpenAOTI] opens a package.
type AOTIOption interface{ aoti(c *aotiConfig) }

type (
	interpreterOption func(*Interpreter)
	planOption        func(*planConfig)
	aotiOption        func(*aotiConfig)
)

func (f interpreterOption) interpreter(in *Interpreter) { f(in) }
func (f planOption) plan(c *planConfig)                 { f(c) }
func (f aotiOption) aoti(c *aotiConfig)                 { f(c) }

// WithThreads sets how many threads one kernel, or one group of fused operators, may use
// (intra-op), 1 to 1024; less is 1. Default: 1, since runs are parallel already and sums
// depend on the number.
func WithThreads(n int) interface {
	Option
	PlanOption
	AOTIOption
} {
	return threads(max(n, 1))
}

type threads int

func (n threads) interpreter(in *Interpreter) { in.mode.Threads = int(n) }
func (n threads) plan(c *planConfig)          { c.mode.Threads = int(n) }
func (n threads) aoti(c *aotiConfig)          { c.threads = int(n) }

// WithWorkers sets how many runs may go on at once; less than 1 is 1. Each has memory of
// its own for intermediate results, so that this bounds it. Others wait for their turn;
// those of a Plan until their context is over. Default: for a Plan no bound but the
// operators that may run at once in the process ([libtorch.SetSlots]), for a package of
// AOTInductor 1.
func WithWorkers(n int) interface {
	PlanOption
	AOTIOption
} {
	return workers(max(n, 1))
}

type workers int

func (n workers) plan(c *planConfig) { c.workers = int(n) }
func (n workers) aoti(c *aotiConfig) { c.runners = int(n) }

// WithMode sets libtorch's modes for every operator of a run. Default: no gradients, no
// inference mode, one thread. In inference mode results can be used in inference mode
// alone.
func WithMode(m libtorch.Mode) interface {
	Option
	PlanOption
} {
	return mode{m}
}

type mode struct{ libtorch.Mode }

func (m mode) interpreter(in *Interpreter) { in.mode = m.Mode }
func (m mode) plan(c *planConfig)          { c.mode = m.Mode }

// WithGraph runs g instead of the module's own graph, with the module's attributes.
// Default: the graph that the module has when a run starts, or a plan is compiled.
func WithGraph(g *ir.Graph) interface {
	Option
	PlanOption
} {
	return otherGraph{g}
}

type otherGraph struct{ *ir.Graph }

func (g otherGraph) interpreter(in *Interpreter) { in.graph = g.Graph }
func (g otherGraph) plan(c *planConfig)          { c.graph = g.Graph }
