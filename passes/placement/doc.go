// Package placement distributes the calls of a graph over devices of limited memory:
// it groups them, gives each group a device, and cuts the graph into one submodule a
// group.
//
// How calls are grouped is an option of [Partition]: by size ([BySize], the default),
// embeddings apart from the rest ([SparseNN]), by estimated time ([CostAware],
// [KernighanLin]), or as the caller says ([Fixed]). Sizes are those that
// passes.ShapeProp notes; what calls take in time is told by the caller.
//
// Follows torch.fx.experimental.accelerator_partitioner. Where Python walks sets, whose
// order changes from run to run, this package goes in graph order, so its results do
// not change.
package placement
