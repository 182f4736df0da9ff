// Package gotorch is the way in for Go code that exists on
// github.com/wangkuiyi/gotorch: its tensors become ours and back without a copy,
// and its modules become graphs that run, are rewritten and are saved like every
// other.
//
// It is built with the tag gotorch and a native step of its own; without the tag
// nothing of it is built or linked, and this text is all that the package has.
//
//	torchfx setup                                  # libtorch and our bridge, once
//	export CGO_LDFLAGS="$(go run github.com/torchfx-go/torchfx/scripts/gotorch)"
//	go run -tags gotorch .
//
// In a checkout that is `make gotorch`, and `make gotorch-test` runs the tests. The
// step compiles gotorch's C++ from the module cache, unchanged, against the libtorch
// that set-up found, into gotorch/<key> of the home folder (TORCHFX_HOME). It takes
// a minute or two and is not repeated until something of it changes.
//
// # From a module to a file
//
//	net := models.Resnet18()                     // gotorch's
//	net.Train(false)
//	gm, err := gotorch.Trace(net, torch.Randn(1, 3, 224, 224))
//	report, err := passes.FoldBatchNorm(ctx, gm) // twenty batch norms go
//	err = torchfx.Save("resnet18.pt2", gm)       // torch.export.load reads it
//
// [Trace] records below libtorch's dispatcher (package tracer, Recording): what is
// seen is what gotorch called, such as aten.conv2d, or in place aten.relu_. The
// parameters keep their names, in Python's manner: L1.Modules[0].BN1.RunningMean is
// l1.0.bn1.running_mean. [TraceBy] chooses more: the operators' parts, sizes that
// stay symbols, names of the inputs.
//
// # Tensors and state
//
// [FromGotorch] and [ToGotorch] give the same tensor to the other side, with a
// reference of its own: ours is closed by Close, gotorch's by the collector, and
// either may go first. [StateDict] is a module's tensors by path, [LoadStateDict]
// copies values into them; both fit nn.StateDict and nn.LoadStateDict, so layers of
// the two packages can be put on the same weights and compared.
//
// # What gotorch asks of a program
//
//   - Its operators do not keep their operands alive: a collection at the wrong
//     moment frees what C++ reads. Trace contains that; a Forward that the program
//     runs itself should be inside [Do].
//   - Its errors are panics. Do and Trace return them as errors of class
//     ir.ErrRuntime, with libtorch's message.
//   - Its Backward and its optimizers let C++ exceptions through, which end the
//     process. Nothing here can change that.
//   - As it starts it locks the main goroutine to its thread and sets libtorch's
//     default number of threads to half of the cores, unless OMP_NUM_THREADS is set;
//     calls of torchfx carry their own number. On one core gotorch alone would end
//     the process there; with this package imported it does not.
//   - Its GC and FinishGC wait for finalizers: never inside Do, and from one
//     goroutine only.
//   - It and torchfx must use one libtorch: the native step sees to that.
//
// Its packages vision/imageloader and vision/transforms need OpenCV (gocv), which
// is not set up here; vision/models does not.
//
// # Concurrency
//
// All functions may be called from any number of goroutines, also on one module as
// long as nothing changes it. While one of them runs Trace or Do, no finalizer of
// the process runs.
package gotorch
