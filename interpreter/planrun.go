package interpreter

import (
	"context"
	"errors"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// A planFrame is the Go half of one run of a plan: the inputs, the steps that Go
// does, the result. It is reused.
type planFrame struct {
	plan   *Plan
	mode   libtorch.Mode // of its runs: the plan's, and the stream
	native *libtorch.Frame
	cells  []cell // by slot: the inputs, and what Go is given or keeps
	owners owners
	r      Run // of the steps that Go does
	lent   bool
	state  libtorch.PlanRun
	slots  []int
	values []any
}

// run runs the plan on one value per placeholder.
func (f *planFrame) run(ctx context.Context, args []any) (out any, err error) {
	p := f.plan
	f.r.ctx, f.r.args = ctx, args
	ended := false
	defer func() {
		if !ended {
			f.native.Clear()
		}
		f.reset()
	}()
	if err := f.take(args); err != nil {
		return nil, err
	}
	f.state = libtorch.PlanRun{At: p.first}
	state := &f.state
	if done := ctx.Done(); done != nil {
		if ctx.Err() != nil {
			return nil, f.stopped(0)
		}
		joined := make(chan struct{})
		unwatch := context.AfterFunc(ctx, func() { f.native.Stop(); close(joined) })
		defer func() {
			if !unwatch() {
				<-joined // or it would stop the next run
				ended = false
			}
		}()
	}
	for i := range p.first {
		v, err := f.goStep(i, nil)
		if err != nil {
			return nil, err
		}
		if err := f.settle(i, v); err != nil {
			return nil, err
		}
	}
	for i := range p.inputs {
		if p.inputs[i].crosses {
			f.carry(i, f.cells[i].value)
		}
	}
	handed, err := f.native.Run(&f.mode, state, f.slots, f.values)
	f.clearCarried()
	for {
		switch {
		case err != nil:
			return nil, f.failed(state, err)
		case state.Stop == libtorch.PlanFinished:
			ended = true
			return f.result(handed)
		case state.Stop == libtorch.PlanCancelled:
			return nil, f.stopped(state.At)
		}
		if ctx.Err() != nil {
			closeHanded(handed)
			return nil, f.stopped(state.At)
		}
		v, stepErr := f.goStep(state.At, handed)
		if stepErr != nil {
			return nil, stepErr
		}
		if err := f.settle(state.At, v); err != nil {
			return nil, err
		}
		err = f.native.Put(f.slots, f.values)
		f.clearCarried()
		f.drop(state.At)
		if err == nil {
			state.Resume = true
			handed, err = f.native.Run(&f.mode, state, nil, nil)
		}
	}
}

// take gives each placeholder its value, as Default.Placeholder does.
func (f *planFrame) take(args []any) error {
	next := 0
	for i := range f.plan.inputs {
		in := &f.plan.inputs[i]
		switch {
		case in.starred:
			f.cells[i] = cell{value: append([]any{}, args[min(next, len(args)):]...), set: true}
			next = len(args)
			continue
		case next < len(args) && args[next] != (ir.Absent{}):
			f.cells[i] = cell{value: args[next], set: true}
		case in.optional:
			f.cells[i] = cell{value: in.fallback, set: true}
		default:
			at := &site{in.node, f.plan.module, nil}
			return at.error(ir.Errorf(ir.ErrRuntime, "Expected positional argument for parameter %s, but one was not passed in!", in.node.Target()))
		}
		next++
	}
	return nil
}

// carry notes a value for a slot of the bridge.
func (f *planFrame) carry(slot int, v any) {
	carried, ok := torch.ToBridge(v)
	if !ok {
		carried = libtorch.Absent{}
	}
	f.slots = append(f.slots, slot)
	f.values = append(f.values, carried)
}

func (f *planFrame) clearCarried() {
	clear(f.values)
	f.slots, f.values = f.slots[:0], f.values[:0]
}

// lend notes what is not the run's own, before it can come out of a step that Go does.
func (f *planFrame) lend() {
	if f.lent {
		return
	}
	f.lent, f.r.mode = true, f.mode
	for i := range f.plan.inputs {
		f.owners.lend(f.cells[i].value)
	}
	for _, v := range f.plan.literal {
		f.owners.lend(v)
	}
}

// fill puts values that the bridge has handed over into cells.
func (f *planFrame) fill(slots []int, handed []any) {
	for k, slot := range slots {
		if _, kept := handed[k].(libtorch.Absent); kept {
			continue
		}
		f.r.frame.empty(slot)
		f.r.frame.store(slot, torch.FromBridge(handed[k]))
	}
}

// goStep does a step in Go. On a device, what it calls goes to the stream of the run.
func (f *planFrame) goStep(i int, handed []any) (v any, err error) {
	if f.mode.Stream == nil {
		return f.goStepHere(i, handed)
	}
	f.mode.Within(func() { v, err = f.goStepHere(i, handed) })
	return v, err
}

func (f *planFrame) goStepHere(i int, handed []any) (v any, err error) {
	p := f.plan
	s := &p.steps[i]
	f.lend()
	if s.Code != libtorch.PlanGo { // the bridge did not take the operands
		if handed, err = f.native.Values(s.reads); err != nil {
			return nil, err
		}
	}
	if handed != nil {
		f.fill(s.reads, handed)
	}
	r := &f.r
	r.module, r.graph, r.node = s.site.module, s.site.module.Graph(), s.site.node
	if !p.vmap {
		r.mode = p.modes[s.mode]
		r.mode.Stream = f.mode.Stream
	}
	args, kwargs, err := s.operands(r)
	if err != nil {
		return nil, s.site.error(err)
	}
	defer func() {
		if e := recover(); e != nil {
			failure, ok := e.(*torch.Error)
			if !ok {
				panic(e)
			}
			err = s.site.failure(failure, args, kwargs)
		}
	}()
	switch n := s.site.node; {
	case s.call != nil:
		v, err = s.call(r, args, kwargs)
	case n != nil && n.Op() == ir.CallMethod:
		v, err = torch.InvokeMethod(&r.mode, n.Target().String(), args, kwargs)
	default:
		v, err = r.invoke(s.fn, args, kwargs)
	}
	if err != nil {
		return nil, s.site.failure(err, args, kwargs)
	}
	return v, nil
}

// settle gives the value of a step to its slots: the bridge's, where that can
// carry it, and otherwise a cell of this side.
func (f *planFrame) settle(i int, v any) error {
	s := &f.plan.steps[i]
	if len(s.Results) == 0 {
		f.owners.retain(v)
		f.owners.drop(v)
		return nil
	}
	values := []any{v}
	if len(s.Results) > 1 {
		items, ok := list(v)
		if !ok || len(items) != len(s.Results) {
			return s.site.error(ir.Errorf(ir.ErrRuntime, "expected %d results, got %s", len(s.Results), torch.Describe(v)))
		}
		values = items
	}
	for k, slot := range s.Results {
		f.r.frame.empty(slot)
		f.r.frame.store(slot, values[k])
		f.carry(slot, values[k])
	}
	return nil
}

// drop frees what a step was given and has made, except what only this side can
// hold.
func (f *planFrame) drop(i int) {
	s := &f.plan.steps[i]
	for _, slot := range s.reads {
		if f.crosses(slot) {
			f.r.frame.empty(slot)
		}
	}
	for _, slot := range s.Results {
		if f.crosses(slot) {
			f.r.frame.empty(slot)
		}
	}
}

func (f *planFrame) crosses(slot int) bool {
	_, ok := torch.ToBridge(f.cells[slot].value)
	return ok
}

// result builds what the output node gives.
func (f *planFrame) result(handed []any) (any, error) {
	p := f.plan
	if p.simple && !f.lent { // nothing was Go's: every tensor is a new handle
		for k, slot := range p.results {
			f.cells[slot] = cell{value: torch.FromBridge(handed[k]), set: true}
		}
		return p.output.value(&f.r)
	}
	f.lend()
	f.fill(p.results, handed)
	out, err := p.output.value(&f.r)
	if err != nil {
		return nil, err
	}
	return f.owners.handOver(out)
}

// failed is the error of a step that the bridge ran.
func (f *planFrame) failed(state *libtorch.PlanRun, cause error) error {
	var reported *libtorch.Error
	if !errors.As(cause, &reported) || state.At < 0 || state.At >= len(f.plan.steps) {
		return cause
	}
	s := &f.plan.steps[state.At]
	if s.fn == nil {
		return s.site.error(cause)
	}
	f.lend()
	if handed, err := f.native.Values(s.reads); err == nil {
		f.fill(s.reads, handed)
	}
	f.r.node = s.site.node
	args, kwargs, err := s.operands(&f.r)
	if err != nil {
		return s.site.error(cause)
	}
	if state.Call < len(s.candidates) {
		cause = s.candidates[state.Call].Failure(args, kwargs, cause)
	}
	return s.site.failure(cause, args, kwargs)
}

// stopped is the error of a run that was cancelled before step i.
func (f *planFrame) stopped(i int) error {
	node := f.plan.graph.First()
	if i < len(f.plan.steps) && f.plan.steps[i].site != nil {
		node = f.plan.steps[i].site.node
	}
	return ir.Errorf(ir.ErrCancelled, "run: stopped before node %s: %w", node, f.r.ctx.Err())
}

func (f *planFrame) reset() {
	if f.lent { // or nothing was ever held
		f.owners.close()
		f.lent, f.r.mode = false, libtorch.Mode{}
		clear(f.cells)
	} else {
		clear(f.cells[:len(f.plan.inputs)])
		for _, slot := range f.plan.results {
			f.cells[slot] = cell{}
		}
	}
	f.clearCarried()
	f.r.ctx, f.r.args, f.r.node, f.r.module, f.r.graph = nil, nil, nil, nil, nil
}

// operands returns the arguments of a step with the values of slots in their
// places.
func (s *planStep) operands(r *Run) ([]any, []torch.Kwarg, error) {
	args, err := values(r, s.args)
	if err != nil || len(s.kwargs) == 0 {
		return args, nil, err
	}
	kwargs := make([]torch.Kwarg, len(s.kwargs))
	for k, kw := range s.kwargs {
		v, err := kw.value.value(r)
		if err != nil {
			return nil, nil, err
		}
		kwargs[k] = torch.Kwarg{Name: kw.name, Value: v}
	}
	return args, kwargs, nil
}

// error says at which node err happened, and by which nodes that one was run.
func (s *site) error(err error) error { return s.failure(err, nil, nil) }

func (s *site) failure(err error, args []any, kwargs []torch.Kwarg) error {
	if refused, ok := err.(refusal); ok {
		return refused.error
	}
	if ir.ClassOf(err) == ir.ErrCancelled {
		return err
	}
	err = newNodeError(s.node, err, args, kwargs)
	for up := s.parent; up != nil; up = up.parent {
		err = newNodeError(up.node, err, nil, nil)
	}
	return err
}

func closeHanded(values []any) {
	for _, v := range values {
		closeAll(torch.FromBridge(v))
	}
}
