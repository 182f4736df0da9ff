package torchfx

import (
	"context"

	"github.com/torchfx-go/torchfx/export"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/passes"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// Freeze rewrites the program for inference, see [passes.Freeze], and returns what was
// rewritten where and how far results may be from those before. Runs and plans from
// here on are of the frozen program, so Freeze comes before [Program.Compile].
//
// Weights are in memory once: those that were packed or folded are closed, and the
// memory of the file that they lay in is given back. [Program.State] yields the others.
// [Program.Reset] gives the state its values anew as far as it is still there. Weights of
// regions that a delegate computes stay, for their twins, as pages of the file that are
// read when they are needed. A frozen program cannot be saved where libtorch's operators
// have packed weights; regions are saved as their twins.
//
// It waits for runs that are going on. After an error the program is closed, but for those
// that [passes.CheckFreeze] gives: then nothing was rewritten.
func (p *Program) Freeze(ctx context.Context, opts ...passes.FreezeOption) (*passes.FreezeReport, error) {
	if p == nil {
		return nil, noProgram("Freeze")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, ir.Errorf(ir.ErrClosed, "Freeze: expected an open program, got one that is closed")
	}
	if p.interp == nil {
		return nil, ir.Errorf(ir.ErrUnsupported, "Freeze: expected a program with its weights, got one that was opened to be looked at")
	}
	if err := passes.CheckFreeze(ctx, p.module.Load(), opts...); err != nil {
		return nil, err
	}
	frozen, err := passes.Freeze(ctx, p.module.Load(), append(opts[:len(opts):len(opts)], passes.ReleaseOriginals(), passes.Idle(p.state.pager()))...)
	if err != nil {
		_ = p.close()
		return nil, err
	}
	p.module.Store(frozen.Module)
	p.frozen = append(p.frozen, frozen)
	p.interp = interpreter.New(frozen.Module, p.config.running...)
	p.state.prune(frozen.Module)
	return frozen.Report, nil
}

// pager returns what leaves the memory of a tensor to the system until it is read again.
func (s *state) pager() func(*torch.Tensor) {
	storages := map[*torch.Tensor]*export.Storage{}
	for from, t := range s.tensors {
		storages[t] = from.Storage
	}
	return func(t *torch.Tensor) {
		if s, ok := storages[t]; ok {
			s.PageOut()
		}
	}
}

// prune closes the tensors that a module does not have any more, and gives the memory
// back of those that only twins of regions have.
func (s *state) prune(module *ir.GraphModule) {
	used, twins, isTwin := map[*torch.Tensor]bool{}, map[*torch.Tensor]bool{}, map[*ir.GraphModule]bool{}
	for _, v := range module.Attrs() {
		if d, ok := v.(*interpreter.Delegated); ok {
			isTwin[d.Twin()] = true
		}
	}
	eachAttr(module, func(m *ir.GraphModule, _ string, v any) {
		if t, ok := v.(*torch.Tensor); ok && isTwin[m] {
			twins[t] = true
		} else if ok {
			used[t] = true
		}
	})
	s.gone = map[*torch.Tensor]bool{}
	for from, t := range s.tensors {
		if used[t] {
			continue
		}
		if !twins[t] {
			s.gone[t] = true
			_ = t.Close()
		}
		from.Storage.PageOut()
	}
}
