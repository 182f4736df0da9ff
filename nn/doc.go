// Package nn holds modules: Go structs whose fields are parameters, buffers and
// child modules, as PyTorch's torch.nn does with classes.
//
//	type Block struct {
//		nn.Base `forward:"x"` // Python's parameter list of forward
//		Fc1     *nn.Linear
//		Gain    *torch.Tensor               // a parameter called "gain"
//		Seen    *torch.Tensor `nn:",buffer"` // a persistent buffer called "seen"
//	}
//
//	func (b *Block) Forward(x *torch.Tensor) *torch.Tensor { … }
//
// A module embeds [Base]; its exported fields, in order, are its state, named
// after the field in snake case or by the tag nn:"name". A module is called
// through [Call] or [Bind], which are what __call__ is in Python: a tracer sees
// the call there. Outside a trace they cost one indirection.
//
// Modules may be run by many goroutines as long as none changes them.
//
// State: modules, their tree and names, and calling are here; the layers, their
// initialisation and the state dict with Python's messages are not yet.
package nn
