package interpreter

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// A Plan is a graph module compiled for production: operators, defaults, constants
// and the graphs of higher-order operators are resolved once, and a run is one
// crossing to libtorch, in which each value is freed after its last use and
// intermediate results are written to memory that was planned for the shapes of
// the inputs. It computes what an [Interpreter] of the module computes, to the
// last bit. [Plan.Dump] tells what runs where.
//
// A Plan is immutable and may be run by any number of goroutines at once. It
// keeps the module's tensors as they were when it was compiled, and shares their
// elements: what a graph writes into a buffer the next run sees, as with the
// Interpreter. Changes of the graph or of which tensor an attribute is have no
// effect.
//
// Memory: each run that is going on has a block for its intermediate results, kept
// for the next run, as large as the largest shape class that it has met. Results
// never lie in it.
type Plan struct {
	module  *ir.GraphModule
	graph   *ir.Graph
	in      *Interpreter // of the graphs that Go runs
	mode    libtorch.Mode
	native  *libtorch.Plan
	steps   []planStep
	slots   []slotInfo
	modes   []libtorch.Mode
	keeper  *keeper
	inputs  []planInput
	takes   leafCount
	output  operand
	results []int // slots that the output reads
	literal []any
	simple  bool                      // the output is slots of the bridge, each once
	first   int                       // steps before it look at the inputs alone and are Go's
	vmap    bool                      // Go's steps change the mode for those after them
	idle    atomic.Pointer[planFrame] // the frame that a run takes first, nil for none
	frames  chan *planFrame           // more of them
	workers chan struct{}             // one taken by each run; nil for no bound
	check   func(leaves []any) error  // nil for none
	device  *deviceSide               // nil where the plan runs where its tensors are

	mu     sync.RWMutex // held for reading by runs, for writing by Close
	closed bool
}

// A planInput is one placeholder.
type planInput struct {
	node     *ir.Node
	starred  bool // takes what is left
	fallback any
	optional bool // fallback is there
	crosses  bool // the bridge reads it
}

type planConfig struct {
	graph   *ir.Graph
	mode    libtorch.Mode
	fusion  libtorch.PlanFusion
	workers int
	check   func(leaves []any) error
	device  deviceConfig
}

// PlanFusion switches fusion on or off. With it, pointwise operators that follow
// each other on tensors of one shape are done together, block by block, so that
// what goes from one to the next stays in cache or in registers; the bits are the
// same. It begins with the second run of a shape class. Default: on.
func PlanFusion(on bool) PlanOption {
	return planOption(func(c *planConfig) {
		c.fusion = libtorch.PlanApart
		if on {
			c.fusion = libtorch.PlanFuse
		}
	})
}

// PlanCheck makes every run ask check about its arguments, one for each
// placeholder, before anything else. A run that it refuses fails with its error.
func PlanCheck(check func(leaves []any) error) PlanOption {
	return planOption(func(c *planConfig) { c.check = check })
}

// Compile plans m, resolving every operator and constant. All that is certain to
// fail in a run, an operator that libtorch lacks or an attribute that is missing,
// is reported at once. It needs libtorch.
func Compile(m *ir.GraphModule, opts ...PlanOption) (*Plan, error) {
	if m == nil {
		return nil, ir.Errorf(ir.ErrInput, "compile: expected a graph module, got nil")
	}
	if err := ir.CheckOptions("compile", opts); err != nil {
		return nil, err
	}
	c := planConfig{fusion: libtorch.PlanFuse}
	c.mode.Threads = 1
	for _, o := range opts {
		o.plan(&c)
	}
	if err := c.mode.Check(); err != nil {
		return nil, fmt.Errorf("compile: %w", err)
	}
	if c.mode.Observe != nil {
		return nil, ir.Errorf(ir.ErrUnsupported, "compile: expected a mode that observes no operators: a plan calls them without telling; use an Interpreter")
	}
	if err := libtorch.Open(); err != nil {
		return nil, err
	}
	device, m, err := c.onDevice(m)
	if err != nil {
		return nil, err
	}
	p, err := c.compile(m, device)
	if err != nil {
		device.close()
		return nil, err
	}
	return p, nil
}

func (c *planConfig) compile(m *ir.GraphModule, device *deviceSide) (*Plan, error) {
	if c.graph == nil {
		c.graph = m.Graph()
	}
	p := &Plan{module: m, device: device, graph: c.graph, takes: leafCountOf(c.graph), mode: c.mode, check: c.check, in: New(m, WithMode(c.mode)), frames: make(chan *planFrame, 2*runtime.GOMAXPROCS(0))}
	p.vmap = changesMode(m, map[*ir.GraphModule]bool{})
	lw := &lowerer{keeper: newKeeper(), regions: []region{{parent: -1}}, modes: []libtorch.Mode{c.mode}, goOnly: p.vmap, staged: device != nil}
	defer lw.close()
	program := p.lower(lw)
	if err := errors.Join(lw.faults...); err != nil {
		lw.keeper.close()
		return nil, err
	}
	program.Fusion = c.fusion
	if device != nil {
		program.Device = device.program(lw.steps[p.first:])
	}
	native, err := libtorch.NewPlan(program)
	if err != nil {
		lw.keeper.close()
		return nil, err
	}
	if c.workers > 0 {
		p.workers = make(chan struct{}, c.workers)
	}
	p.native, p.steps, p.slots, p.modes, p.literal, p.keeper = native, lw.steps, lw.slots, lw.modes, lw.literal, lw.keeper
	return p, nil
}

// lower fills lw with the steps of the graph.
func (p *Plan) lower(lw *lowerer) *libtorch.PlanProgram {
	var args []operand
	for _, n := range p.graph.Find(ir.Placeholder, nil) {
		in := planInput{node: n, starred: strings.HasPrefix(n.Target().String(), "*")}
		lw.at = &site{n, p.module, nil}
		if len(n.Args()) > 0 {
			if c, ok := lw.operand(n.Args()[0], nil).(constant); ok {
				in.fallback, in.optional = c.v, true
			}
		}
		args = append(args, lw.cell(lw.slot(torch.UnknownAny, false)))
		p.inputs = append(p.inputs, in)
	}
	lw.at, lw.given = nil, len(args)
	p.output = lw.graphOf(p.graph, p.module, args, nil)
	if out, err := p.graph.OutputNode(); err == nil && p.device != nil && p.device.hostResults {
		lw.at = &site{out, p.module, nil}
		p.output = lw.computed(p.output)
		lw.at = nil
	}
	seen := map[int]bool{}
	eachCell(p.output, func(c int) {
		if (c >= len(p.inputs) || lw.staged) && !seen[c] {
			seen[c] = true
			p.results = append(p.results, c)
		}
	})
	p.simple = simple(p.output, len(p.inputs), map[int]bool{})
	program := lw.finish(p.results)
	for p.first < len(lw.steps) && p.beforeTheRun(&lw.steps[p.first]) {
		p.first++
	}
	for i := range p.inputs {
		if p.inputs[i].crosses = lw.slots[i].last >= p.first; p.inputs[i].crosses {
			program.Inputs = append(program.Inputs, i)
		}
	}
	return program
}

// simple reports whether a value consists of slots that are no inputs, each once,
// in lists and tuples.
func simple(o operand, inputs int, seen map[int]bool) bool {
	switch o := o.(type) {
	case cellOf:
		if o.cell < inputs || seen[o.cell] {
			return false
		}
		seen[o.cell] = true
		return true
	case sequence:
		for _, item := range o.items {
			if !simple(item, inputs, seen) {
				return false
			}
		}
		return true
	}
	return false
}

// beforeTheRun reports whether Go can do a step before the bridge is entered: the
// guards of an exported program, say.
func (p *Plan) beforeTheRun(s *planStep) bool {
	if s.Code != libtorch.PlanGo {
		return false
	}
	return len(s.reads) == 0
}

// changesMode reports whether a graph calls functions that change the mode of the
// steps behind them, which the Interpreter keeps in the run.
func changesMode(m *ir.GraphModule, seen map[*ir.GraphModule]bool) bool {
	if seen[m] {
		return false
	}
	seen[m] = true
	for n := range m.Graph().Nodes() {
		if f := n.Func(); f != nil && strings.HasPrefix(f.Name(), "torch._functorch.predispatch.") {
			return true
		}
	}
	for _, v := range m.Attrs() {
		if sub, ok := v.(*ir.GraphModule); ok && changesMode(sub, seen) {
			return true
		}
	}
	return false
}

// Run runs the plan on args, which the graph's code generator fits to the
// placeholders, and returns what it makes of the result. Arguments, results,
// errors and ownership are those of [Interpreter.Run], but that surplus arguments are
// an error of class ir.ErrInput; ctx is looked at between operators.
func (p *Plan) Run(ctx context.Context, args ...any) (any, error) { return p.Call(ctx, args, nil) }

// Call is [Plan.Run] with keyword arguments.
func (p *Plan) Call(ctx context.Context, args []any, kwargs map[string]any) (any, error) {
	if err := p.given(ctx); err != nil {
		return nil, err
	}
	leaves, err := p.graph.ProcessInputs(args, kwargs)
	if err != nil {
		return nil, err
	}
	out, err := p.run(ctx, leaves)
	if err != nil {
		return nil, err
	}
	return processOutputs(p.graph, out)
}

// RunFlat gives one leaf to each placeholder, past the code generator, and returns
// the leaves of the result; see [Interpreter.RunFlat].
func (p *Plan) RunFlat(ctx context.Context, leaves []any) ([]any, error) {
	if err := p.given(ctx); err != nil {
		return nil, err
	}
	if err := p.takes.check(len(leaves)); err != nil {
		return nil, err
	}
	out, err := p.run(ctx, leaves)
	if err != nil {
		return nil, err
	}
	if items, ok := list(out); ok {
		return items, nil
	}
	return []any{out}, nil
}

// Close frees the plan's memory once the runs that are going on have ended; later
// ones fail with an error of class ir.ErrClosed. Results stay valid. A second Close
// does nothing, nor does one of a nil plan. The error is always nil. A plan that is lost without it is freed by
// the collector.
func (p *Plan) Close() error {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil
	}
	p.closed = true
	p.device.close()
	p.keeper.close()
	if f := p.idle.Swap(nil); f != nil {
		_ = f.native.Close()
	}
	for {
		select {
		case f := <-p.frames:
			_ = f.native.Close()
		default:
			return p.native.Close()
		}
	}
}

// given refuses a run of no plan, or with a nil context.
func (p *Plan) given(ctx context.Context) error {
	if p == nil {
		return ir.Errorf(ir.ErrInput, "run: expected a plan, got nil")
	}
	return given(ctx)
}

// run runs the plan on one value per placeholder.
func (p *Plan) run(ctx context.Context, args []any) (any, error) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if err := p.admit(args); err != nil {
		return nil, err
	}
	args, err := pyValues(args)
	if err != nil {
		return nil, err
	}
	if p.workers != nil {
		select {
		case p.workers <- struct{}{}:
			defer func() { <-p.workers }()
		case <-ctx.Done():
			return nil, ir.Errorf(ir.ErrCancelled, "run: stopped while it waited for other runs of the plan: %w", ctx.Err())
		}
	}
	if p.device != nil {
		return p.runOnDevice(ctx, args)
	}
	f, err := p.frame()
	if err != nil {
		return nil, err
	}
	defer p.put(f)
	return f.run(ctx, args)
}

// admit says what is wrong with a run on args before it begins.
func (p *Plan) admit(args []any) error {
	if p.closed {
		return ir.Errorf(ir.ErrClosed, "run: expected an open plan, got one that is closed")
	}
	if p.check != nil {
		if err := p.check(args); err != nil {
			return err
		}
	}
	return p.takes.checkMost(len(args))
}

// frame takes a frame that is idle, or makes one.
func (p *Plan) frame() (*planFrame, error) {
	if f := p.idle.Swap(nil); f != nil {
		return f, nil
	}
	select {
	case f := <-p.frames:
		return f, nil
	default:
	}
	return p.newFrame(nil)
}

// newFrame makes a frame for runs whose work goes to a stream, nil for none.
func (p *Plan) newFrame(s *libtorch.Stream) (*planFrame, error) {
	native, err := p.native.NewFrame()
	if err != nil {
		return nil, err
	}
	f := &planFrame{plan: p, mode: p.mode, native: native, cells: make([]cell, len(p.slots)), owners: owners{}}
	f.mode.Stream = s
	f.r = Run{in: p.in, frame: &frame{cells: f.cells, owners: f.owners}, handler: Default{}}
	return f, nil
}

func (p *Plan) put(f *planFrame) {
	if p.idle.CompareAndSwap(nil, f) {
		return
	}
	select {
	case p.frames <- f:
	default:
		_ = f.native.Close()
	}
}

// close frees what compiling made.
func (lw *lowerer) close() {
	for _, c := range lw.temps {
		c.Close()
	}
}
