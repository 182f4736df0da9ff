// Package torchfx is torch.fx for Go on libtorch: programs enter as graphs that
// Go code can read, change and run with PyTorch's own kernels, without Python.
//
//	program, err := torchfx.Load("model.pt2")
//	if err != nil {
//		return err
//	}
//	defer program.Close()
//
//	graph := program.Module().Graph() // rewrite it as you like
//	scores, err := program.Run(ctx, images)
//
// A model written in Go becomes a graph by [SymbolicTrace], and [ReplacePattern]
// rewrites graphs by patterns that may be Go functions too.
//
// This package is the front door; each room behind it can be used alone:
//
//	ir           graphs, nodes, arguments, operator schemas, text in and out
//	export       .pt2 files, state files and saved fx folders, read without libtorch
//	torchops     tensors and operators
//	nn           modules and layers; tracer makes graphs of them
//	interpreter  running a graph node by node, every step overridable
//	transformer  a graph from a graph, through values that stand for nodes
//	rewriter     patterns, matches, replacements
//	passes       folding, splitting, partitioning, sorting and the like
//
// What runs kernels needs libtorch; the command `torchfx setup` installs it.
//
// A [Program] may be run by many goroutines at once. Tensors belong to who made
// them: inputs are never closed by a run, outputs are the caller's to close.
package torchfx
