package passes

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// A Pass is a transformation that a [Manager] runs. Its pointer is its identity.
type Pass struct {
	Name string
	Run  func(context.Context, *ir.GraphModule) (PassResult, error)
}

// A PassResult is what a pass made: the module that goes on, which may be another
// than the one given, and whether it differs from it.
type PassResult struct {
	Module   *ir.GraphModule
	Modified bool
}

// InPlace makes a pass of a function that changes the module it is given. The
// module counts as modified each time.
func InPlace(name string, f func(context.Context, *ir.GraphModule) error) *Pass {
	return &Pass{name, func(ctx context.Context, m *ir.GraphModule) (PassResult, error) {
		return PassResult{m, true}, f(ctx, m)
	}}
}

// A Constraint reports whether pass a may run before pass b.
type Constraint func(a, b *Pass) bool

// Before demands that this runs before that.
func Before(this, that *Pass) Constraint {
	return func(a, b *Pass) bool { return a != that || b != this }
}

// A ManagerOption changes how a [Manager] runs its passes.
type ManagerOption func(*Manager)

// WithConstraints orders the passes so that all of these hold. Default: passes
// run in the order given.
func WithConstraints(constraints ...Constraint) ManagerOption {
	return func(m *Manager) { m.constraints = append(m.constraints, constraints...) }
}

// Steps sets how often the passes are run at most; they are not run again once
// none of them modified anything. n is at least 1. Default: 1.
func Steps(n int) ManagerOption { return func(m *Manager) { m.steps = max(n, 1) } }

// WithCheck has check look at the module before the first pass. Default: no
// check.
func WithCheck(check func(*ir.GraphModule) error) ManagerOption {
	return func(m *Manager) { m.checks = append(m.checks, check) }
}

// CheckEachPass runs the checks, and lints the graph, after each pass, too.
// Default: off.
func CheckEachPass() ManagerOption { return func(m *Manager) { m.each = true } }

// A Manager runs passes over a module. Use [NewManager]. It must not be used by
// several goroutines at once. Follows torch.fx.passes.infra.pass_manager.
type Manager struct {
	passes      []*Pass
	constraints []Constraint
	steps       int
	checks      []func(*ir.GraphModule) error
	each        bool
	solved      bool
	fault       error // of its options
}

// NewManager returns a manager of passes. An option that is nil is an error of its runs.
func NewManager(passes []*Pass, opts ...ManagerOption) *Manager {
	m := &Manager{passes: slices.Clone(passes), steps: 1}
	if err := ir.CheckOptions("pass manager", opts); err != nil {
		m.fault = err
		return m
	}
	for _, o := range opts {
		o(m)
	}
	return m
}

// Add appends a pass.
func (m *Manager) Add(p *Pass) { m.passes, m.solved = append(m.passes, p), false }

// AddConstraint adds a constraint.
func (m *Manager) AddConstraint(c Constraint) {
	m.constraints, m.solved = append(m.constraints, c), false
}

// Passes returns the passes in the order in which they are run.
func (m *Manager) Passes() []*Pass { return slices.Clone(m.passes) }

// Validate reports whether the passes are in an order that all constraints allow;
// an error of class ir.ErrRuntime names the first pair that is not.
func (m *Manager) Validate() error {
	for _, c := range m.constraints {
		for i, a := range m.passes {
			for j, b := range m.passes[i+1:] {
				if !c(a, b) {
					return ir.Errorf(ir.ErrRuntime, "pass manager: pass schedule constraint violated. Expected %s before %s but found %s at index %d and %s at index %d in pass list.",
						b.Name, a.Name, a.Name, i, b.Name, i+1+j)
				}
			}
		}
	}
	return nil
}

// Solve orders the passes so that all constraints hold; without constraints the
// order stays. It fails with class ir.ErrRuntime when there is no such order.
// Run calls it when passes or constraints are new.
func (m *Manager) Solve() error {
	if len(m.constraints) == 0 || m.solved {
		m.solved = true
		return nil
	}
	later := map[*Pass][]*Pass{} // who waits for a pass
	missing := map[*Pass]int{}
	var ready, sorted []*Pass
	for _, a := range m.passes {
		for _, b := range m.passes {
			for _, c := range m.constraints {
				if a != b && !c(a, b) {
					later[b] = append(later[b], a)
					missing[a]++
				}
			}
		}
		if missing[a] == 0 {
			ready = append(ready, a)
		}
	}
	for len(ready) > 0 {
		p := ready[0]
		ready = ready[1:]
		sorted = append(sorted, p)
		for _, q := range later[p] {
			if missing[q]--; missing[q] == 0 {
				ready = append(ready, q)
			}
		}
	}
	var stuck []string
	for _, p := range m.passes {
		if missing[p] > 0 {
			stuck = append(stuck, p.Name)
		}
	}
	if stuck != nil {
		return ir.Errorf(ir.ErrRuntime, "pass manager: Circular dependency detected within the following passes: [%s]", strings.Join(stuck, ", "))
	}
	m.passes, m.solved = sorted, true
	return nil
}

// A PassError reports a pass that failed.
type PassError struct {
	Pass  string   // the one that failed
	After []string // those that ran before it in this round
	Err   error
}

// Error returns torch.fx's text and the cause.
func (e *PassError) Error() string {
	quoted := make([]string, len(e.After))
	for i, name := range e.After {
		quoted[i] = ir.Repr(ir.Str(name))
	}
	return fmt.Sprintf("An error occurred when running the '%s' pass after the following passes: [%s]: %v", e.Pass, strings.Join(quoted, ", "), e.Err)
}

// Unwrap returns the cause.
func (e *PassError) Unwrap() error { return e.Err }

// Run runs the passes over a module, in an order that the constraints allow, up
// to [Steps] times as long as something is modified. ctx is looked at between
// passes. The error of a pass, or of a check after it, is a *[PassError]; the
// module is then as that pass left it.
func (m *Manager) Run(ctx context.Context, module *ir.GraphModule) (PassResult, error) {
	switch {
	case m.fault != nil:
		return PassResult{}, m.fault
	case ctx == nil:
		return PassResult{}, ir.Errorf(ir.ErrInput, "pass manager: expected a context, got nil")
	case module == nil:
		return PassResult{}, ir.Errorf(ir.ErrInput, "pass manager: expected a graph module, got nil")
	}
	if err := m.Solve(); err != nil {
		return PassResult{}, err
	}
	if err := m.check(module); err != nil {
		return PassResult{}, err
	}
	total := PassResult{Module: module}
	for range m.steps {
		modified := false
		for i, p := range m.passes {
			res, err := m.runPass(ctx, p, total.Module)
			if err != nil {
				done := make([]string, i)
				for j, q := range m.passes[:i] {
					done[j] = q.Name
				}
				return total, &PassError{p.Name, done, err}
			}
			total.Module = res.Module
			modified = modified || res.Modified
		}
		if !modified {
			break
		}
		total.Modified = true
	}
	return total, nil
}

func (m *Manager) runPass(ctx context.Context, p *Pass, module *ir.GraphModule) (PassResult, error) {
	if err := ctx.Err(); err != nil {
		return PassResult{}, ir.Errorf(ir.ErrCancelled, "stopped: %w", err)
	}
	res, err := p.Run(ctx, module)
	if err != nil {
		return res, err
	}
	if res.Module == nil {
		return res, ir.Errorf(ir.ErrType, "The result of the pass %s should be type PassResult with a module, got none", p.Name)
	}
	if m.each {
		if err := res.Module.Graph().Lint(); err != nil {
			return res, err
		}
		return res, m.check(res.Module)
	}
	return res, nil
}

func (m *Manager) check(module *ir.GraphModule) error {
	for _, check := range m.checks {
		if err := check(module); err != nil {
			return err
		}
	}
	return nil
}
