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
// What a trace cannot see: a branch on the number in a size is refused by the
// compiler, since a size is a torch.SymInt; Item, Shape and the like of a traced
// tensor panic with a *torch.Error, which Trace returns as an [*Error] with the
// Go source line. A parameter becomes a get_attr node where it is used first,
// while in Python it does where it is read first.
//
// A Tracer traces one root at a time. Traces by different tracers are
// independent of each other.
package tracer
