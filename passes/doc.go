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
// Making a graph fast: [Freeze] makes a module for inference, by rewrites that
// [Rewrites] lists and that are switched one by one, each with the tolerance that it
// keeps when it is made alone. Sizes may be dynamic: batches of any size, none too, run
// on packed weights, in convolutions of one to three dimensions, transposed ones,
// linear layers and LSTMs. One of the rewrites gives regions to a
// [Delegate], which computes them by kernels of its own: [OneDNN], or another, by
// [FreezeDelegate]. [DelegateRegions] does that alone, [InlineRegions] takes it back.
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
