package torchfx

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/torchfx-go/torchfx/export"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/passes"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// A Program is a saved program with its weights, ready to run. It may be run by
// any number of goroutines at once; its graph may be changed only while no run
// is going on.
//
// Parameters and buffers are the program's own memory. A program in training
// mode, or one that counts or caches, changes them, and each run sees what the
// one before left. Runs of such a program should not overlap: they would write
// the same buffers at the same time, as threads of Python would.
type Program struct {
	path     string
	config   loadConfig
	module   atomic.Pointer[ir.GraphModule] // Freeze sets another while others ask for it
	interp   *interpreter.Interpreter
	guards   *export.Guards // checked here where the graph does not call them itself
	elements bool           // the state has some: it is not on the device meta
	notes    []string
	frozen   []*passes.Frozen // what Freeze made, the last one is the module

	mu     sync.RWMutex // held for reading by runs, for writing by Close and Reset
	closed bool
	state  *state
}

// Module returns the program's graph and attributes, as `ep.module()` does in
// Python: state is read by get_attr nodes, changes of state are calls of copy_
// before the output, and the guards on inputs are the call of _guards_fn. It is
// the program's own: what is changed in it, the next run does. With [SignatureOnly]
// there is none: it is nil. So it is of a nil program, which has no file, no state and
// no warnings either, and whose other methods return an error of class ir.ErrInput.
func (p *Program) Module() *ir.GraphModule {
	if p == nil {
		return nil
	}
	return p.module.Load()
}

// Exported returns what the file says beside the graph: signature, calling
// convention, ranges of dynamic sizes, extra files. Its graph is the lifted one
// and does not run here.
func (p *Program) Exported() *export.Program {
	if p == nil {
		return nil
	}
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.state.file
}

// Warnings returns what is odd about the file without being wrong, and what
// loading changed, the devices of creation operators for instance.
func (p *Program) Warnings() []string {
	if p == nil {
		return nil
	}
	return slices.Clone(p.notes)
}

// State yields parameters, buffers and constants by qualified name, in the order
// of the file. The tensors are the program's: writing into one changes what the
// next run sees, and [Program.Close] and [Program.Reset] close them.
func (p *Program) State() iter.Seq2[string, *torch.Tensor] {
	return func(yield func(string, *torch.Tensor) bool) {
		if p == nil {
			return
		}
		p.mu.RLock()
		named, gone := p.state.named, p.state.gone
		p.mu.RUnlock()
		for _, s := range named {
			if !gone[s.tensor] && !yield(s.name, s.tensor) {
				return
			}
		}
	}
}

// Run calls the program as Python calls `ep.module()(*args)`. Arguments may be
// tensors, numbers, nil for None, and containers of these as the program's
// calling convention has them: slices for lists and tuples, maps or *ir.PyDict
// for dicts, structs or *ir.PyObject for classes.
//
//   - A result belongs to the caller, each tensor of it to be closed by itself.
//     There is none on an error.
//   - Arguments are never closed. A program that writes its inputs writes into
//     the caller's tensors.
//   - Inputs that the program's guards refuse are an error of class ir.ErrInput,
//     which names the argument and the dimension, and so are tensors on the device meta
//     beside parameters that are elsewhere; a failing operator is an
//     *interpreter.NodeError; a program that is closed is of class ir.ErrClosed.
//   - ctx is looked at between operators: see [interpreter.Interpreter.Run].
func (p *Program) Run(ctx context.Context, args ...any) (any, error) {
	return p.Call(ctx, args, nil)
}

// Call is [Program.Run] with keyword arguments.
func (p *Program) Call(ctx context.Context, args []any, kwargs map[string]any) (any, error) {
	if err := p.enterRun("Call"); err != nil {
		return nil, err
	}
	defer p.mu.RUnlock()
	if p.guards == nil && !p.elements {
		return p.interp.Call(ctx, args, kwargs)
	}
	leaves, err := p.module.Load().Graph().ProcessInputs(args, kwargs)
	if err != nil {
		return nil, err
	}
	if err := p.check(leaves); err != nil {
		return nil, err
	}
	return p.interp.Call(ctx, args, kwargs)
}

// RunFlat calls the program on its flat inputs, the leaves of its arguments in
// order, and returns the leaves of its result. Ownership and errors are those of
// [Program.Run]; another number of leaves is of class ir.ErrInput.
func (p *Program) RunFlat(ctx context.Context, leaves []any) ([]any, error) {
	if err := p.enterRun("RunFlat"); err != nil {
		return nil, err
	}
	defer p.mu.RUnlock()
	if err := p.check(leaves); err != nil {
		return nil, err
	}
	return p.interp.RunFlat(ctx, leaves)
}

// Compile plans the program for production; see [interpreter.Compile]. The plan
// computes what [Program.Run] does, takes what that takes and checks the same
// guards. It keeps the tensors of the state that the program has now, also after
// [Program.Close]; after [Program.Reset] the program has others.
func (p *Program) Compile(opts ...interpreter.PlanOption) (*interpreter.Plan, error) {
	if err := p.enter("Compile"); err != nil {
		return nil, err
	}
	defer p.mu.RUnlock()
	if p.guards != nil || p.elements {
		opts = append(opts[:len(opts):len(opts)], interpreter.PlanCheck(p.check))
	}
	return interpreter.Compile(p.module.Load(), opts...)
}

// check asks the guards, and refuses inputs without elements beside state that has them; a
// tensor that is closed is an error, too.
func (p *Program) check(leaves []any) error {
	if p.guards != nil {
		refused, err := torch.Try(func() error { return p.guards.Check(leaves) })
		if err = cmp.Or(err, refused); err != nil {
			return err
		}
	}
	if !p.elements {
		return nil
	}
	for i, leaf := range leaves {
		t, ok := leaf.(*torch.Tensor)
		if !ok || !onMeta(t) {
			continue
		}
		name := fmt.Sprint("input ", i)
		if inputs := p.module.Load().Graph().Find(ir.Placeholder, nil); i < len(inputs) {
			name = inputs[i].Target().String()
		}
		return ir.Errorf(ir.ErrInput, "%s: expected a tensor with elements, as the program's state has them, got one on device meta", name)
	}
	return nil
}

// onMeta reports whether t is known to be on the device meta, where no address is one.
func onMeta(t *torch.Tensor) bool {
	h, err := t.Handle()
	if err != nil {
		return false
	}
	if at, err := h.DataPtr(); err != nil || at != nil {
		return false
	}
	info, err := h.Info()
	return err == nil && info.Device.Kind() == ir.DeviceMeta
}

// enter begins a run, which ends with p.mu.RUnlock unless there is an error.
func (p *Program) enter(method string) error {
	if p == nil {
		return noProgram(method)
	}
	p.mu.RLock()
	if p.closed {
		p.mu.RUnlock()
		return ir.Errorf(ir.ErrClosed, "%s: expected an open program, got one that is closed", method)
	}
	return nil
}

func noProgram(method string) error {
	return ir.Errorf(ir.ErrInput, "%s: expected a program, got nil", method)
}

// enterRun is enter for a method that needs the weights.
func (p *Program) enterRun(method string) error {
	if err := p.enter(method); err != nil {
		return err
	}
	if p.interp == nil {
		p.mu.RUnlock()
		return ir.Errorf(ir.ErrUnsupported, "%s: expected a program with its weights, got one that was opened to be looked at", method)
	}
	return nil
}

// Reset gives the program its state anew, as it is in the file: it waits for
// runs that are going on, maps the file again and closes the tensors of the old
// state. Attributes that were replaced stay replaced. Only the pages that the
// program has written cost anything.
func (p *Program) Reset() error {
	if p == nil {
		return noProgram("Reset")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return ir.Errorf(ir.ErrClosed, "Reset: expected an open program, got one that is closed")
	}
	if p.interp == nil {
		return nil // it has no state
	}
	file, err := export.Open(p.path, p.config.export...)
	if err != nil {
		return err
	}
	fresh, err := bind(file, p.config.stateDevice())
	if err != nil {
		_ = file.Close()
		return err
	}
	old := p.state
	p.state = fresh
	fresh.replace(p.module.Load(), old)
	if p.frozen != nil {
		fresh.prune(p.module.Load())
	}
	return old.close()
}

// Close frees the program's tensors and unmaps its file. It waits for runs that
// are going on; later ones fail. Tensors that runs returned stay valid, also
// where they share memory with the state. A second Close does nothing.
func (p *Program) Close() error {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil
	}
	return p.close()
}

// close is Close with the lock held.
func (p *Program) close() error {
	p.closed = true
	var faults []error
	for _, f := range p.frozen {
		faults = append(faults, f.Close())
	}
	return errors.Join(append(faults, p.state.close())...)
}
