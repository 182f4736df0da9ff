// Package passes holds transformations of graph modules.
//
// Cutting a graph into submodules: [Split] by a number for each call, [SplitByTags]
// by names, [Partitioner] by what a backend supports, [FusePartitions] for sets of
// nodes given, [ExtractSubgraph] for one, [SplitSimple] where parts follow each
// other, [AcceleratorSplitter] by turns on an accelerator and the host.
//
// Making a graph smaller: [CSE] merges what is computed twice, [ConstFold] takes out
// what depends on attributes alone, [FoldBatchNorm] folds batch norms of exported
// programs into the layers before them, [FuseConvBN] those of modules, [RemoveDropout] and [MergeMatmul] do what
// their names say.
//
// Making a graph fast: [Freeze], see below.
//
// Making graphs comparable: [Canonicalize] orders and names, [NormalizeOperators]
// spells calls alike, [NormalizeArgs] writes all arguments by keyword, [Sort] and
// [Legalize] restore an order that can be run.
//
// Finding out: [ShapeProp] notes shapes, [AnnotateTypes] and [AnnotateGetItem] note
// types, [SourcePartitions] what nodes came from, [SizeOfNode] what they take,
// [Minimizer] which of them a backend gets wrong, [Observe] what a pass did, [Dot]
// draws. [Manager] runs passes in an order that their constraints allow.
//
// # Freezing for inference
//
// [Freeze] makes a module that takes and returns the same and runs faster: by packed
// weights, fused layers, and regions that a oneDNN of its own computes. torchfx.Program.Freeze
// does it to a program, and closes what it replaced.
//
//	frozen, err := passes.Freeze(ctx, module, passes.KeepChoices("model.choices"))
//	fmt.Print(frozen.Report)                           // a line for each place: rewritten, or left and why
//	plan, err := interpreter.Compile(frozen.Module)
//
// What to know of it:
//
//   - It is a list of rewrites, [Rewrites], each with a name and the tolerance that it
//     keeps when it is made alone; [OnlyRewrites], [WithoutRewrites] and [WithRewrites] switch them.
//     [FreezeReport.Tolerance] bounds the results of all that were made, relative to
//     the largest magnitude of a result; 0 promises equal bits.
//   - Which layers are packed, merged or given to oneDNN is measured, a few runs of each
//     on this machine. [KeepChoices] keeps that in a file, so that the next start measures
//     nothing. [FreezeReport.Regions] tells what became a region, both times, and the
//     kernels with their layouts.
//   - Sizes may be dynamic: batches of any size, none too, run on packed weights, in
//     convolutions of one to three dimensions, transposed ones, linear layers and LSTMs.
//   - Graphs of ATen operators, saved programs that is, are frozen as they are; others are
//     lowered first, on the values of [FreezeArgs].
//   - A frozen module belongs to who froze it: [Frozen.Close] frees what was packed. A plan
//     of it keeps what it needs.
//
// A part of a graph may be computed by other kernels than libtorch's: a [Delegate] says
// which operators it has, and compiles regions of them; [OneDNN] is one, [FreezeDelegate] takes
// another, or none. [DelegateRegions] does that alone, [InlineRegions] takes it back.
//
// # A pass of your own
//
// A pass is a function of a graph module: it walks Graph().Nodes(), changes nodes by SetTarget,
// SetOperands and ReplaceAllUsesWith, removes what is dead by EliminateDeadCode, and ends with
// Lint. [ReplaceTargets] and package rewriter, or torchfx.ReplacePattern, do the usual ones.
// Graphs of saved programs call ATen overloads, torch.ops.aten.relu.default say and not
// torch.relu, and patterns for them must, too. That the numbers stay is asked by running
// both on the same arguments: torchops.Equal compares element by element,
// aten::allclose within a tolerance.
//
// # What holds for all
//
// Unless it says that it makes a new module, a pass changes the module it is given,
// leaves a graph that lints, and returns what it did. A pass that would change the
// numbers in a way that its documentation does not state leaves the graph alone
// instead. When one fails, the module is as if the last finished step had been the
// last: steps are all or nothing. Some passes replace the graph by a copy, and say
// so: nodes from before are then no longer part of the module.
//
// A module must not be run or changed by others while a pass works on it. What needs
// no tensors, all but ConstFold's Run, DelegateRegions, FoldBatchNorm, Freeze, FuseConvBN, ShapeProp and what
// runs it, AcceleratorSplitter and Minimizer, works without libtorch being set up.
package passes
