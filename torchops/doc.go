// Package torchops holds tensors and everything that computes with them: it is
// imported as torch.
//
//	x, err := torch.From([]float32{1, 2, 3, 4}, 2, 2)
//	y := torch.Relu(x.Sub(2.5)).MatMul(x)  // model code: no errors, see Try
//	fmt.Println(y)                          // as print(y) in Python
//	z, err := torch.Call("aten::softmax.int", y, -1, torch.Kw("dtype", torch.Float64))
//
// There are four ways to an operator, from the most to the least convenient:
//
//   - functions and methods such as [Relu] and [Tensor.Add], for model code; they
//     panic with an *[Error], which [Try] and the other boundaries return. Each
//     public function of torch and method of its tensors has one: index_add_ is
//     [Tensor.IndexAddInPlace]. It takes what Python's has no default for, and
//     options behind it, x.Topk(5, torch.Kw("sorted", false)). Packages linalg, fft
//     and special hold those of torch.linalg and so on;
//   - [Call] by the dispatcher's name, for every operator that libtorch and the
//     custom libraries opened in it have;
//   - [Invoke] by an *ir.Func, for what a graph names: functions and methods of
//     torch by the signatures that Python tries, in any of their spellings,
//     operators, Python's operator and math modules and builtins; see [Check];
//   - package libtorch below, which converts nothing.
//
// # Real and traced
//
// A [Tensor] holds a tensor of libtorch or, during a trace, stands for a node;
// [SymInt] and [Tensors] likewise. Functions and methods look at their arguments:
// real ones are computed with, and one traced argument sends the call to the
// [Recorder] that it came from. There is no global state; traces are independent
// of each other and of what other goroutines compute. See [Dispatch], [Wrap], [As].
//
// # Values
//
// Arguments may be any Go number, slice, tensor or constant that has a meaning;
// results are of these kinds:
//
//	*Tensor  int64  float64  bool  complex128  string  nil (None)
//	[]any (list)  ir.PyTuple (tuple)  ir.DType  ir.Device  ir.Layout  ir.MemoryFormat
//
// Numbers follow Python: integers divide and shift as Python's do, and are errors
// where they would leave 64 bits; comparisons of ints and floats are exact.
//
// # Memory
//
// A real tensor keeps memory outside Go's heap. [Tensor.Close] frees it; a
// [Scope] closes what was made from its tensors; the collector frees the rest,
// and feels the real bytes. Each tensor is closed by itself: a view, and the new
// tensor that an operator returns for an argument that it wrote, keep the memory
// until they are closed too. Using a closed tensor is an error of class
// ir.ErrClosed.
//
// What is alive, and where it was made, is the profile torchfx.tensors of
// runtime/pprof; switch the stacks on with [ProfileTensors] and read it as any
// other profile, over HTTP for instance:
//
//	go tool pprof http://localhost:6060/debug/pprof/torchfx.tensors
//
// # Concurrency
//
// All functions may be called from any goroutine. Tensors may be read from many;
// writing one needs exclusive access, as in PyTorch.
package torchops
