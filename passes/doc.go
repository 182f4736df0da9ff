// Package passes holds transformations of graph modules that need tensors or
// operators to do their work.
//
// A pass changes a module in place, leaves a graph that lints, and returns a
// report of what it removed and made, and of what it left alone with the reason.
// A pass that would change the numbers in a way that its documentation does not
// state leaves the graph alone instead. When it fails, the module is as if the
// last finished step had been the last: steps are all or nothing.
//
// Now here: [FoldBatchNorm]. A module must not be run or changed by others while
// a pass works on it.
package passes
