// Package gosource writes a graph as a Go file, for those who want it compiled
// into their program:
//
//	text, err := gosource.Generate(gm, gosource.Package("digits"))
//
// The file declares a struct with one field for each attribute that the graph's
// targets name, a constructor that fills it, and a method Forward with one
// statement a node:
//
//	type GraphModule struct {
//		Linear *nn.Linear    // linear
//		Param  *torch.Tensor // param
//	}
//
//	func NewGraphModule(attr func(path string) (any, bool)) (*GraphModule, error)
//
//	func (m *GraphModule) Forward(x any) *torch.Tensor {
//		add := operator.Add(x, m.Param)
//		linear := m.Linear.Forward(add)
//		return linear.Clamp(torch.Kw("min", 0.0), torch.Kw("max", 1.0))
//	}
//
// attr is the method Attr of an ir.GraphModule, whose graph is not needed any
// more, or any other function that knows the tensors. Forward computes what the
// graph does, with the same kernels in the same order, and so the same bits. It
// is model code: it panics with a *torchops.Error, which torchops.Try returns,
// and it can be traced again.
//
//   - The functions of torchops, operator and nn/functional are called where their
//     signatures have room for the call; everything else goes through
//     torchops.Dispatch by its name.
//   - A graph module below is a struct of its own. The higher-order operators cond,
//     while_loop, invoke_subgraph and those that only wrap a call become statements.
//   - The parameters are the graph's placeholders, in order: the leaves of what a
//     pytree signature takes. Go has no default values; the comment names them.
//   - Values are freed by the collector or, much earlier, with the torchops.Scope
//     that the arguments are in.
//
// What cannot be expressed is one joined error that lists every such node.
package gosource
