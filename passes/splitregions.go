package passes

import (
	"slices"

	"github.com/torchfx-go/torchfx/ir"
)

// The functions that change how everything behind them is computed.
var (
	setGradEnabled = ir.FuncOf("torch._C._set_grad_enabled")
	enterAutocast  = ir.FuncOf("torch.amp.autocast_mode._enter_autocast")
	exitAutocast   = ir.FuncOf("torch.amp.autocast_mode._exit_autocast")
)

func changesRegion(n *ir.Node) bool {
	f := n.Func()
	return f != nil && (f == setGradEnabled || f == enterAutocast || f == exitAutocast)
}

// A region is what lies between the entry and the exit of a mode. A gradient
// mode ends where the next begins.
type region struct {
	enter, exit *ir.Node // exit is nil for gradient modes
	parts       []*splitPart
}

func (r *region) reach(p *splitPart) {
	if !slices.Contains(r.parts, p) {
		r.parts = append(r.parts, p)
	}
}

// findRegions finds the parts that each mode reaches into, and checks that the
// parts follow each other where there are modes.
func (s *splitter) findRegions() error {
	var casts, grads, open []*region
	var grad *region
	for n := range s.module.Graph().Nodes() {
		p := s.of[n]
		if p == nil {
			continue
		}
		switch n.Func() {
		case nil:
		case setGradEnabled:
			if _, ok := n.Arg(0).(ir.Bool); !ok || len(n.Args()) != 1 {
				return ir.Errorf(ir.ErrAssertion, "split at %s: expected one bool as argument, got %s", n, n.Format())
			}
			grad = &region{enter: n}
			grads = append(grads, grad)
		case enterAutocast:
			if len(n.Inputs()) > 0 {
				return ir.Errorf(ir.ErrAssertion, "split at %s: expected constants as arguments, got %s", n, n.Format())
			}
			r := &region{enter: n}
			casts, open = append(casts, r), append(open, r)
		case exitAutocast:
			i := slices.IndexFunc(open, func(r *region) bool { return n.Arg(0) == ir.Arg(r.enter) })
			if i < 0 {
				return ir.Errorf(ir.ErrAssertion, "split at %s: expected an open autocast region as argument, got %s", n, n.Format())
			}
			open[i].exit = n
			open[i].reach(p)
			open = slices.Delete(open, i, i+1)
		}
		if grad != nil {
			grad.reach(p)
		}
		for _, r := range open {
			r.reach(p)
		}
	}
	if len(open) > 0 {
		return ir.Errorf(ir.ErrAssertion, "split: autocast must exit, got no exit for %s", open[0].enter)
	}
	s.regions = append(casts, grads...)
	if s.regions == nil {
		return nil
	}
	var highest *splitPart
	for n := range s.module.Graph().Nodes() {
		if p := s.of[n]; p != nil {
			if highest != nil && highest.number > p.number {
				return ir.Errorf(ir.ErrAssertion, "split at %s: autocast or set_grad_enabled require monotonically increasing partitions: highest: %d, this node's: %d",
					n, highest.number, p.number)
			}
			highest = p
		}
	}
	return nil
}

// enterRegions opens each mode in the parts that it reaches into, except for the
// first, where it is opened by its own node.
func (s *splitter) enterRegions() {
	for _, r := range s.regions {
		for _, p := range r.parts[1:] {
			c := p.graph.CallFunction(r.enter.Func(), r.enter.Args(), ir.WithType(r.enter.Type()))
			p.env[r.enter] = copyMeta(c, r.enter)
		}
	}
}

// leaveRegions closes autocast in the parts that it reaches into, innermost
// first, except for the last, where its own node does.
func (s *splitter) leaveRegions() {
	for _, r := range slices.Backward(s.regions) {
		if r.exit == nil {
			continue
		}
		for _, p := range r.parts[:len(r.parts)-1] {
			c := p.graph.CallFunction(r.exit.Func(), []ir.Arg{p.env[r.enter]}, ir.WithType(r.exit.Type()))
			copyMeta(c, r.exit)
		}
	}
}
