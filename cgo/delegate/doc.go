// Package delegate describes regions: pieces of a graph that a second native
// library runs as a whole, with kernels made once for a shape, activations and
// residual sums inside them, weights packed once, and values in the layouts that the
// kernels like best.
//
// This package has no C in it. It makes programs; package libtorch compiles and
// runs them through the interface that tfx_delegate.h defines, which is also where
// the words of a program are documented. The C++ behind that interface, on oneDNN, is in
// the folder onednn; `torchfx setup` builds it. Where it is not there, everything runs
// by libtorch.
//
// A program says what is computed and nothing about how:
//
//	var p delegate.Program
//	x, weight := p.Input(), p.Constant()
//	y := p.Convolution(x, weight, delegate.None, delegate.Convolution{Padding: []int64{1, 1}, Stride: []int64{1, 1}})
//	p.Output(p.Activation(p.Add(y, x), delegate.ReLU), delegate.Contiguous)
//
// A Program is built by one goroutine; what it gives out may be shared.
package delegate
