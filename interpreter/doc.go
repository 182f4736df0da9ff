// Package interpreter runs graphs node by node, as torch.fx's Interpreter does:
// every step can be overridden, every value be looked at.
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
// end. Arguments and attributes are lent and never closed. A result belongs to
// the caller, every tensor of it by itself: where it is an argument or an
// attribute, the caller gets a further handle of it. On an error everything that
// the run made is closed.
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
// A [Plan] computes the same for production: [Compile] resolves everything once,
// a run is one crossing, intermediate results lie in planned memory. A Plan has no
// handlers; what it cannot give to libtorch is a step in Go between two crossings.
// [Plan.Dump] shows both.
//
//	plan, err := interpreter.Compile(gm)
//	out, err := plan.Run(ctx, x, y)
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
// An [Interpreter] may be shared by any number of goroutines; a [Run] may not.
// What a graph writes in place, buffers of a program in training mode say, is
// shared by all runs of its module.
package interpreter
