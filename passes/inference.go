package passes

import "github.com/torchfx-go/torchfx/ir"

// OptimizeForInference folds the batch norms of a module in evaluation into the layers
// before them, see [FuseConvBN], and takes dropout out, see [RemoveDropout], and
// returns the names of the nodes that are gone. Results stay the same up to rounding.
//
// torch.fx.experimental.optimization.optimize_for_inference also keeps runs of layers
// in MKLDNN's layout; libtorch chooses oneDNN's kernels by itself here, without a
// layout that other operators cannot read.
func OptimizeForInference(m *ir.GraphModule, opts ...ConvBNOption) ([]string, error) {
	gone, err := FuseConvBN(m, opts...)
	if err != nil {
		return gone, err
	}
	more, err := RemoveDropout(m)
	return append(gone, more...), err
}
