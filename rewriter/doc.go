// Package rewriter finds patterns in graphs and replaces them.
//
// A pattern is a small graph: its placeholders match anything, its other nodes
// match nodes of the same kind, and the values it returns are what a
// replacement must return too. Patterns are graphs, graph modules or code text,
// never Go functions: the front door (package torchfx) traces those first.
//
// The package is pure Go and knows no tensors. A match is data, and a
// replacement reports the nodes it removed and made.
//
// State: the types and signatures stand, as api.md of the design lists them;
// matching and replacing answer with an error wrapping [ir.ErrUnsupported]. Until
// they are there, edit graphs with the methods of [ir.Graph] and [ir.Node], as
// passes.FoldBatchNorm does.
package rewriter
