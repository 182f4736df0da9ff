// Package nn is torch.nn: modules, the layers, their initialisation, their state
// dicts and their text.
//
// A module is a pointer to a Go struct whose fields are parameters, buffers and
// child modules:
//
//	type Block struct {
//		nn.Base `forward:"x"` // Python's parameter list of forward
//		Fc1     *nn.Linear
//		Gain    *torch.Tensor               // a parameter called "gain"
//		Seen    *torch.Tensor `nn:",buffer"` // a persistent buffer called "seen"
//	}
//
//	func (b *Block) Forward(x *torch.Tensor) *torch.Tensor {
//		return torch.Mul(b.Fc1.Forward(x), b.Gain)
//	}
//
// It embeds [Base], or a container such as [ModuleDict], whose children are then
// its own; its exported fields, in order, are its state, named after the field in
// snake case or by the tag nn:"name". The tag of Base is Python's signature of
// forward, with annotations if the graph should have them. A module is called through
// [Call] or [Bind], which are what __call__ is in Python: a tracer sees the call
// there. A layer of this package is called by its Forward. Outside a trace a
// call costs one indirection.
//
// # Layers
//
// The layers have Python's names, arguments and defaults. What Python has no
// default for is a parameter of the constructor, the rest are options:
//
//	nn.NewConv2d(3, 64, 7, nn.WithStride(2), nn.WithPadding(3), nn.WithBias(false))
//
// Their tensors are made as PyTorch makes them, in the same order, so that
// torch.ManualSeed gives the same bits; given the same state they return
// PyTorch's bits. They are made from one table, internal/layers/layers.txt, which
// has the call that each forward is. [New] makes a layer by the name of its
// class and [FromRepr] from Python's repr. A mistake in a constructor's arguments
// is a panic with a *torch.Error, as in everything that model code calls;
// torch.Try turns it into an error.
//
// # State
//
// [StateDict] has Python's keys in Python's order, and [LoadStateDict] Python's
// messages. [Repr] is repr(module) byte for byte, [Attribute] an argument of a
// layer's constructor by its Python name. [Train] switches dropout and batch
// statistics; a module starts in training mode, as in Python, and Train(m, false) is eval().
//
// Package initialize is torch.nn.init. A model's own parameters should be marked by
// [NewParameter]: gradients are not
// recorded, but libtorch chooses kernels by the mark.
//
// # Tracing
//
// A layer is one call_module node of a trace. Where a trace goes through a layer
// (see tracer.IsLeaf) it records what torch.fx records of Python's forward, in
// the same form, and refuses where torch.fx does. A parameter becomes a node
// where it is used first; [Read] makes it where it is read.
//
// Modules may be run by many goroutines as long as none changes them: a batch
// norm in training mode does.
//
// # Not here
//
// Lazy modules, which take their sizes from the first input; SyncBatchNorm and
// DataParallel, which need several processes; hooks. An encoder does not turn
// padded batches into nested tensors.
package nn
