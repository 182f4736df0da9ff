package interpreter

import (
	"context"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// A Module is a graph module as a module of a Go model: a field of this type is
// called by its Forward. In a trace its graph is inlined, as torch.fx does with a
// GraphModule. Its attributes stay the graph module's: package nn does not count
// them among the model's state.
type Module struct {
	nn.Base
	gm *ir.GraphModule
	in *Interpreter // of gm, with what it has made ready for one call and the next
}

// AsModule returns gm as a module.
func AsModule(gm *ir.GraphModule) *Module { return &Module{gm: gm, in: New(gm)} }

// GraphModule returns what m calls.
func (m *Module) GraphModule() *ir.GraphModule { return m.gm }

// inliner is a tracer that records the nodes of a graph.
type inliner interface {
	Inline(gm *ir.GraphModule, path string, args []any) any
}

// Forward runs the graph in the mode that the calling code runs in, or records it
// in a trace. The result is as [Interpreter.Run] has it, and a torch.Value or
// containers of these in a trace. It panics with a *torch.Error.
func (m *Module) Forward(args ...any) any {
	if m.gm == nil {
		panic(&torch.Error{Op: "GraphModule", Err: ir.Errorf(ir.ErrInput, "expected a graph module, got nil")})
	}
	if s := nn.ShadowOf(m); s != nil {
		if t, ok := s.Caller.(inliner); ok {
			inline := func() any { return t.Inline(m.gm, s.Path, args) }
			if s.Path == "" {
				return inline()
			}
			return s.Caller.CallModule(s, args, inline)
		}
	}
	if torch.Traced(args...) {
		panic(&torch.Error{Op: m.gm.ClassName(), Err: ir.Errorf(ir.ErrTrace, "%w", nn.ErrForeign)})
	}
	mode := m.in.mode
	if current := libtorch.CurrentMode(); current != nil {
		mode = *current
	}
	out, err := m.in.run(context.Background(), mode, m.in.currentGraph(), args, nil, Options{})
	if err != nil {
		panic(&torch.Error{Op: m.gm.ClassName(), Err: err})
	}
	return out
}

// ClassName returns the class that Python's graph modules have, whatever they
// are called.
func (*Module) ClassName() string { return ir.GraphModuleClass }
