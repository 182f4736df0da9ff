// Package rewriter finds patterns in graphs and replaces them.
//
// A pattern is a small graph: its placeholders match anything, its other nodes
// match nodes of the same kind, and the values that it returns are what a
// replacement must return too. Patterns are graphs and graph modules, never Go
// functions: the front door (package torchfx) traces those first.
//
//	pattern := ir.NewGraph()                  // x + 0
//	x := pattern.Placeholder("x")
//	pattern.Output(pattern.CallFunction(add, []ir.Arg{x, ir.Int(0)}))
//	identity := ir.NewGraph()                 // x
//	identity.Output(identity.Placeholder("x"))
//	matches, err := rewriter.ReplacePattern(module, pattern, identity)
//
// The package is pure Go and knows no tensors. A match is data; a replacement
// reports the nodes that it made and removed. A Matcher may be shared by
// goroutines, the module being rewritten may not.
//
// Not here yet: code text as patterns, the reason of a failed match, name maps,
// commutative and variadic patterns.
package rewriter
