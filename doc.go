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
// This package is the front door; each room behind it can be used alone:
//
//	ir           graphs, nodes, arguments, operator schemas, text in and out
//	export       .pt2 files and state files, read without libtorch
//	torchops     tensors and operators
//	interpreter  running a graph node by node, every step overridable
//
// What runs kernels needs libtorch; the command `torchfx setup` installs it.
//
// A [Program] may be run by many goroutines at once. Tensors belong to who made
// them: inputs are never closed by a run, outputs are the caller's to close.
package torchfx
