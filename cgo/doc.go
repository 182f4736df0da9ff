// Package libtorch calls PyTorch's operators through libtorch. It is the one place
// with C in it: a C type never leaves it.
//
// libtorch is opened when it is first needed, not linked: a program builds, vets
// and starts without it. `torchfx setup` finds or fetches libtorch, compiles the
// bridge (the C++ in the folder bridge, embedded in this package) against it and
// writes down where both are; [Open] reads that and checks that all versions fit.
//
// # Operators
//
// Every operator of the dispatcher is reached the same way: [Find] resolves a name
// like "aten::add.Tensor" once, [Operator.Call] takes one value for each argument
// of its schema, in order, and returns the results. There are no functions for
// single operators here, no defaults, no conversions: package torchops has them.
// What is checked, always, is that the values are of the kinds and lengths that
// the schema says, since the kernels do not.
//
// The error of a call comes back in the crossing that made it, with the class of
// Python's exception, for errors.Is, and libtorch's message without its backtrace.
//
// # State
//
// libtorch keeps gradient mode, inference mode, autocast, the levels of vmap and
// the number of threads for each OS thread, and goroutines wander between those.
// So a call carries its [Mode], which is set inside the call and taken back before
// it returns. The default: no gradients, ordinary tensors, one thread.
//
// Any number of goroutines may call. At most [SetSlots] calls are inside libtorch
// at once, on the threads of their callers; those with more than one intra-op
// thread run on a few workers that are locked to theirs, so that neither threads
// nor memory grow with the number of goroutines.
//
// What is of the process and not of a call, and so shared by all: the default
// random generators ([ManualSeed]), deterministic algorithms ([SetDeterministic]),
// opened libraries ([OpenLibrary]).
//
// # Lifetimes
//
// A [Tensor] is a handle with one reference. Close it: idempotent, and safe while
// a call uses it. A lost handle is closed by the collector; since that sees a few
// bytes where libtorch holds many, this package counts libtorch's bytes and forces
// a collection when they grow by more than 64 MiB over what was live, less often
// where that frees nothing. [LiveTensors] counts open handles, [ProfileTensors]
// records where each was made, as the profile torchfx.tensors of runtime/pprof.
//
// Memory given by [FromMemory] is not copied; its release function runs when
// libtorch has dropped it. C keeps numbers for such things, never Go pointers.
//
// Built with -tags torchfx_debug, the collector runs before each use of a C
// pointer: tests find a handle that dies too early at once.
//
// # Concurrency
//
// Operator, Tensor, Generator, Object, Mode and all functions are safe for
// concurrent use. Whether two operators may read and write the elements of one
// tensor at once is up to the program, as in PyTorch.
//
// # Platforms
//
// Linux on x86-64 is tested. Linux on arm64 and macOS take the same route and are
// not. CUDA is the same program: libtorch's CUDA half is opened where it lies
// beside the CPU's and the driver sees a device; [GetInfo] says why not.
package libtorch
