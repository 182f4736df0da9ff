// Package tracer turns Go models and Go functions into graphs by running them on
// values that stand for nodes.
//
//	gm, err := tracer.SymbolicTrace(model)            // an nn.Module
//	gm, err = tracer.SymbolicTrace(func(x *torch.Tensor) *torch.Tensor {
//		return torch.Relu(x).Add(x)
//	})
//
// A model is traced by running the Forward of a shadow: a copy of its structs,
// not of its tensors, with values that stand for the parameters in the
// parameters' places. The model itself is not touched, so it may run, and be
// traced, in other goroutines meanwhile. What a Forward assigns to fields is lost
// with the shadow.
//
// Parameters may be tensors, sizes (torch.SymInt), values of unknown type
// (torch.Value), structs of these, and, with [Concrete], anything else: an
// argument that is fixed is checked by the graph, and the leaves of slices, maps
// and structs are placeholders of their own, which an ir.PyTreeCodeGen finds in a
// caller's containers.
//
// Functions that torch.Wrap was given are one node each. [IsLeaf] decides which
// modules are. The options On… override single steps of a trace: the creation of
// nodes, module calls, the lowering of arguments, and what loops and conditions
// on traced values get, which otherwise is an error.
//
// Where a function of package torchops is itself what is traced, its options are
// none: they become a parameter, variadic as they are, only by a name in a [Signature].
//
// What a trace cannot see: a branch on the number in a size is refused by the
// compiler, since a size is a torch.SymInt; Bool, Len, Shape and the like of a
// traced tensor panic with a *torch.Error, which Trace returns as an [*Error] with
// torch.fx's text and the Go source line. A parameter becomes a get_attr node
// where it is used first, while in Python it does where it is read first; nn.Read
// reads it.
//
// # Recording
//
// A trace sees the calls that Go code makes. [Record] sees what any code makes
// libtorch compute: it runs a model or function on real tensors, or on tensors
// without elements, and notes the operators below libtorch's dispatcher, as make_fx
// does in Python:
//
//	gm, err := tracer.Record(model, x)                       // conv2d, linear: as they were called
//	gm, err = tracer.Recording{Leaf: true}.Record(model, x)  // convolution, addmm: what they bottom out in
//
// The graph has ATen operators alone, which is what .pt2 files hold. [Recording] says
// what happens to writes, to values that are read, and to sizes. To do the same to a
// graph, see passes.Lower.
//
// A Tracer traces one root at a time. Traces by different tracers are
// independent of each other.
package tracer
