package tracer

import (
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
)

// A Tracer runs models and functions and keeps what they call as a graph. It may
// be used for one trace at a time; traces by different tracers are independent.
type Tracer struct{ config config }

// An Option changes how a Tracer traces.
type Option func(*config)

type config struct {
	leaf      func(m nn.Module, path string) bool
	concrete  map[string]any
	signature string
}

// IsLeaf decides which modules stay one call_module node; without it those of
// package nn do, containers excepted.
func IsLeaf(f func(m nn.Module, path string) bool) Option {
	return func(c *config) { c.leaf = f }
}

// Concrete fixes arguments, by name, to values that the graph is specialised for.
func Concrete(args map[string]any) Option { return func(c *config) { c.concrete = args } }

// Signature gives the parameter list of a function in Python's notation:
// "x, y=None".
func Signature(params string) Option { return func(c *config) { c.signature = params } }

// New returns a tracer.
func New(opts ...Option) *Tracer {
	t := &Tracer{}
	for _, o := range opts {
		o(&t.config)
	}
	return t
}

// Trace runs root, an nn.Module or a Go function, and returns its graph.
func (t *Tracer) Trace(root any) (*ir.Graph, error) {
	return nil, ir.Errorf(ir.ErrUnsupported, "trace: symbolic tracing is not built yet")
}

// SymbolicTrace traces root and returns the graph with the attributes that it
// names. Follows torch.fx.symbolic_trace.
func SymbolicTrace(root any, opts ...Option) (*ir.GraphModule, error) {
	if _, err := New(opts...).Trace(root); err != nil {
		return nil, err
	}
	return nil, ir.Errorf(ir.ErrUnsupported, "symbolic trace: symbolic tracing is not built yet")
}
