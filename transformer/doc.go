// Package transformer makes a graph from a graph by interpreting it on values
// that stand for the nodes of the new one.
//
// A handler overrides the steps whose result should differ, as
// torch.fx.Transformer's methods do, and embeds [Default] for the rest:
//
//	type negToSigmoid struct{ transformer.Default }
//
//	func (s negToSigmoid) CallFunction(r *interpreter.Run, fn *ir.Func, a []any, kw []torch.Kwarg) (any, error) {
//		…
//		return s.Default.CallFunction(r, fn, a, kw)
//	}
//
// State: the types and signatures stand; [Transform] answers with an error
// wrapping [ir.ErrUnsupported].
package transformer

import (
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
)

// Default copies each node as it is. It is what overrides fall back on.
type Default struct{ interpreter.Default }

// Transform runs m through the handler that make builds and returns the graph
// that this records, with the attributes of m that it names.
func Transform(m *ir.GraphModule, make func(Default) interpreter.Handler) (*ir.GraphModule, error) {
	return nil, ir.Errorf(ir.ErrUnsupported, "transform: transformers are not built yet")
}
