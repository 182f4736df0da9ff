// Package interpreter runs graphs. There are three executors, each of which takes and
// returns the same by Run, Call and RunFlat:
//
//	executor       made by           for
//	[Interpreter]  [New]             looking inside: every step can be overridden, every value be looked at
//	[Plan]         [Compile]         production: one crossing to libtorch a run, memory planned
//	[Compiled]     [OpenAOTI]        packages that AOTInductor compiled
//
// The first two have the same bits. A service freezes a program first, by package
// passes, and runs a Plan of it from its goroutines:
//
//	plan, err := interpreter.Compile(gm)    // or torchfx.Program.Compile, which checks inputs by the program's guards
//	err = plan.Warmup(ctx, example)         // the first run of a size plans its memory
//	out, err := plan.Run(ctx, x, y)
//
// # Arguments and results
//
// Run takes the arguments of the module's forward by position, Call by keyword too,
// RunFlat the leaves of both in order. A leaf is a *torchops.Tensor, int64 or int,
// float64, bool, complex128, string or nil for None; a container is what the program's
// calling convention says: slices for lists and tuples, maps or *ir.PyDict for dicts,
// structs or *ir.PyObject for classes. A slice of numbers is a list of numbers, never a
// tensor: torchops.From makes one.
//
// A result is a *torchops.Tensor where forward returns one, a number, ir.PyTuple for a
// tuple, []any for a list, *ir.PyDict for a dict. It belongs to the caller, every tensor
// of it to be closed by itself; arguments are lent and never closed.
//
// # Errors
//
// Ask for the class with errors.Is; classes are those of package ir.
//
//	ir.ErrInput      arguments are too few or too many, guards refuse them, or what is run, its context or an option is nil: the caller's fault
//	ir.ErrCancelled  the context was over, before or between two steps; errors.Is finds the context's own error as well
//	ir.ErrClosed     the plan, the program or a tensor was closed before
//	ir.ErrMissing    libtorch is not set up, or the device is not there
//	ir.ErrRuntime    an operator failed, with libtorch's text; other classes are those of Python's exceptions
//
// RunFlat takes as many leaves as the placeholders do. In Run of a graph with a plain
// signature, a placeholder that gets no argument fails, of class ir.ErrRuntime; arguments that
// are too many a Plan refuses, as a call of Python's module does, and an Interpreter does not
// look at, as torch.fx's does not.
//
// What fails in a node is a [*NodeError]: its text names the node, shows its arguments,
// and ends with the line of Python that the node came from. Nothing panics over this
// package's boundary, and after an error no tensor of the run is left open.
//
// A step that is inside libtorch is not interrupted: a context that ends stops a run
// before the next step. One crossing of a Plan looks between its steps, too.
//
// # Threads
//
// A run uses one thread, that of its goroutine, unless [WithThreads] says more, and at
// most as many runs as there are processors are inside libtorch (libtorch.SetSlots).
// [WithWorkers] bounds the runs of one plan or package. Others wait in Go, until their
// context is over. docs/performance.md has what more threads bring.
//
// # The Interpreter
//
// It runs graphs node by node, as torch.fx's Interpreter does.
//
//	in := interpreter.New(gm)
//	out, err := in.Run(ctx, x, y)
//
// # Steps
//
// A [Handler] executes nodes. [Default] is torch.fx's behaviour; embed it and
// override a step to change it. Go's embedding has no virtual calls, so every
// step is given the [Run] and goes on through [Run.Handler], the outermost
// handler. Hooks are decorators made by [Around]. Nothing is paid for hooks that
// are not there.
//
//	type swap struct{ interpreter.Default }
//
//	func (s swap) CallFunction(r *interpreter.Run, fn *ir.Func, args []any, kwargs []torch.Kwarg) (any, error) {
//		if fn == neg {
//			fn = sigmoid
//		}
//		return s.Default.CallFunction(r, fn, args, kwargs)
//	}
//
// # Values and memory
//
// A run computes with *torchops.Tensor, int64, float64, bool, complex128,
// string, nil for None, []any, ir.PyTuple, *ir.PyDict, *ir.PyObject and the
// literal types of package ir. Each value is freed right after the last node
// that reads it, a value that nobody reads at once; [KeepValues] waits for the
// end. Attributes are lent, as arguments are: where a result is one of them, the
// caller gets a further handle of it, and what is written into it is seen there.
//
// # Higher-order operators
//
// cond, while_loop, map, scan, associative_scan and their kin run here, on the
// graphs that are attributes of the module, with the kernels of PyTorch's dense
// implementations in their order. The functions that torch.vmap leaves in
// exported programs run here, too. [Check] lists what does not.
//
// # Plans
//
// A [Plan] resolves operators, defaults, constants and inner graphs once. It has no
// handlers; what it cannot give to libtorch is a step in Go between two crossings.
// [Plan.Dump] shows both, and for every shape class that was met where its intermediate
// results lie, in bytes, and how long each lives:
//
//	plan of GraphModule: 3 steps, 0 of them in Go, 4 slots, 2 inputs
//	step  node    by   kernel               reads  writes  frees
//	0     add     C++  aten::add.Tensor     %0 %1  %2      %0 %1
//	…
//	shape class 0: 1 results in a block of 256 bytes
//	step  node    slot  value   offset  bytes  taken
//	0     add     %2    f32[64] 0       256    0–1
//
// A shape class is one combination of sizes, strides and dtypes of the inputs. Its first
// run takes memory as eager code does and is watched, the second writes into a block
// that was planned from that, and pointwise operators that follow each other are one
// pass from then on ([PlanFusion]). 64 classes are kept: a service pads inputs of many
// sizes to a few, and makes each once before it says that it is ready ([Plan.Warmup]).
//
// A Plan has handles of the module's tensors: it goes on working when the program that
// it was made of is closed, and does not see later changes of the graph. Close frees it
// once the runs that are going on have ended; results stay valid.
//
// A service that changes its model while it runs keeps the plan in an
// atomic.Pointer: it makes and warms the next one, swaps them, and closes the old one.
// Who took the old one just before gets an error of class ir.ErrClosed, without having
// run anything, and takes the pointer's plan anew.
//
// # Devices
//
// [PlanDevice] puts a Plan on a GPU: weights move there once, arguments and results of
// each run as they are needed. Where there is none, Compile fails with a word on what
// is missing. docs/cuda.md has the rules.
//
// # Packages of AOTInductor
//
// [OpenAOTI] loads machine code that torch._inductor.aoti_compile_and_package made, for
// the processor, the libtorch, the sizes and the number of threads that it was made for.
// Trust a package as you trust a program. One run goes on at a time unless [WithWorkers]
// says more; a run that has begun does not look at its context.
//
// # Delegates
//
// A [Delegated] is a part of a graph that a delegate has compiled, see
// passes.DelegateRegions: an attribute that a call_module calls. A Plan does it in the
// crossing of the run, on planned memory; the Interpreter calls the same, so that both
// have its bits. Where the delegate cannot compute it, in a mode that records gradients
// say, its twin of ordinary operators runs.
//
// # Concurrency
//
// An [Interpreter], a [Plan] and a [Compiled] may be shared by any number of goroutines;
// a [Run], which a handler is given, may not.
// What a graph writes in place, buffers of a program in training mode say, is
// shared by all runs of its module.
package interpreter
