package passes

import (
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// A ConvBNOption changes what [FuseConvBN] folds.
type ConvBNOption func(*convBN)

// FuseSharedLayers folds into a layer that is called elsewhere, too, as torch.fx
// does: those calls then give other values. Default: such a layer stays.
func FuseSharedLayers() ConvBNOption { return func(c *convBN) { c.shared = true } }

type convBN struct{ shared bool }

// convBNPairs are the layers that take in which norms, in the order of torch.fx.
var convBNPairs = [][2]string{{"conv.Conv1d", "batchnorm.BatchNorm1d"}, {"conv.Conv2d", "batchnorm.BatchNorm2d"},
	{"conv.Conv3d", "batchnorm.BatchNorm3d"}, {"linear.Linear", "batchnorm.BatchNorm1d"}}

// FuseConvBN folds the batch norms that follow a convolution or a linear layer, as
// modules of package nn, into new layers under the paths of the old, which stay as
// they are: bn(conv(x)) becomes conv(x). It returns the names of the nodes that are
// gone. The modules must be in evaluation, and then give the same up to rounding:
// weights are scaled by weight / sqrt(running_var + eps).
//
// A layer that several nodes read, a norm without running statistics, and a layer
// that is called more than once stay, the last unless [FuseSharedLayers] is given.
// It fails with class ir.ErrAssertion, at a module in training and at a linear layer
// with another number of features than the norm; what was folded before it stays
// folded. [FoldBatchNorm] is for exported programs. Follows
// torch.fx.experimental.optimization.fuse.
func FuseConvBN(m *ir.GraphModule, opts ...ConvBNOption) ([]string, error) {
	if err := given("fuse conv bn", m, opts); err != nil {
		return nil, err
	}
	c := &convBN{}
	for _, o := range opts {
		o(c)
	}
	var gone []string
	for _, pair := range convBNPairs {
		for n := range m.Graph().Nodes() {
			first, ok := n.Arg(0).(*ir.Node)
			if !ok || !calls(m, first, pair[0]) || !calls(m, n, pair[1]) || first.NumUsers() > 1 {
				continue
			}
			path, normPath := first.Target().String(), n.Target().String()
			if !c.shared && len(m.Graph().Find(ir.CallModule, first.Target())) > 1 {
				continue
			}
			v, _ := m.Attr(path)
			b, _ := m.Attr(normPath)
			made, err := fusedLayer(v.(nn.Module), b.(nn.Module))
			if err != nil {
				return gone, err
			}
			if made == nil {
				continue
			}
			m.SetAttr(path, made)
			n.ReplaceAllUsesWith(first)
			if err := m.Graph().Erase(n); err != nil {
				return gone, err
			}
			gone = append(gone, n.Name())
			dropUnnamed(m, normPath)
		}
	}
	return gone, nil
}

// calls reports whether n calls a layer of a class of torch.nn.modules.
func calls(m *ir.GraphModule, n *ir.Node, class string) bool {
	if n.Op() != ir.CallModule {
		return false
	}
	v, _ := m.Attr(n.Target().String())
	_, ok := v.(nn.Module)
	return ok && moduleClass(v) == "torch.nn.modules."+class
}

// fusedLayer returns a copy of a layer with the norm behind it folded in, nil
// where the norm has no statistics.
func fusedLayer(layer, norm nn.Module) (nn.Module, error) {
	if layer.(interface{ Training() bool }).Training() || norm.(interface{ Training() bool }).Training() {
		return nil, ir.Errorf(ir.ErrAssertion, "fuse conv and bn: Fusion only for eval!")
	}
	state := map[string]*torch.Tensor{}
	for t := range nn.Tensors(norm) {
		state[t.Name] = t.Tensor
	}
	if state["running_mean"] == nil || state["running_var"] == nil {
		return nil, nil
	}
	made, err := nn.Copy(layer)
	if err != nil {
		return nil, err
	}
	eps, _ := nn.Attribute(norm, "eps")
	c := calculator{}
	defer c.close()
	var weight, bias **torch.Tensor
	switch l := made.(type) {
	case *nn.Conv1d:
		weight, bias = &l.Weight, &l.Bias
	case *nn.Conv2d:
		weight, bias = &l.Weight, &l.Bias
	case *nn.Conv3d:
		weight, bias = &l.Weight, &l.Bias
	case *nn.Linear:
		weight, bias = &l.Weight, &l.Bias
	default:
		return nil, ir.Errorf(ir.ErrType, "fuse conv and bn: expected a convolution or a linear layer, got %T", layer)
	}
	mean := state["running_mean"]
	features, dtype := (*weight).Shape()[0], (*weight).DType()
	if _, linear := made.(*nn.Linear); linear && mean.Shape()[0] != features && mean.Shape()[0] != 1 {
		return nil, ir.Errorf(ir.ErrAssertion, "To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got linear.out_features=%d and bn.num_features=%d",
			features, mean.Shape()[0])
	}
	e, _ := eps.(ir.Float)
	factors := []*torch.Tensor{c.call("aten::rsqrt", c.call("aten::add.Scalar", state["running_var"], float64(e)))}
	scale := factors[0]
	if w := state["weight"]; w != nil {
		scale, factors = c.call("aten::mul.Tensor", w, scale), append(factors, w)
	}
	// the order of torch.fx, which is another one for each kind of layer: the bits are its
	b, biasDType := c.call("aten::zeros_like", mean), dtype
	if *bias != nil {
		b, biasDType = *bias, (*bias).DType()
	}
	b = c.call("aten::sub.Tensor", b, mean)
	shape := []int64{-1}
	for range (*weight).Shape()[1:] {
		shape = append(shape, 1)
	}
	scaled := c.call("aten::reshape", scale, shape)
	if _, linear := made.(*nn.Linear); linear {
		factors = []*torch.Tensor{scale}
		scaled = c.call("aten::_to_copy", scaled, torch.Kw("dtype", dtype))
	}
	for _, f := range factors {
		b = c.call("aten::mul.Tensor", b, f)
	}
	if state["bias"] != nil {
		b = c.call("aten::add.Tensor", b, state["bias"])
	}
	w := c.keep("aten::_to_copy", c.call("aten::mul.Tensor", *weight, scaled), torch.Kw("dtype", dtype))
	b = c.keep("aten::_to_copy", b, torch.Kw("dtype", biasDType))
	if c.err != nil {
		return nil, c.err
	}
	if err = replaceParameter(weight, w, (*weight).RequiresGrad()); err == nil {
		err = replaceParameter(bias, b, *bias != nil && (*bias).RequiresGrad())
	}
	return made, err
}

// replaceParameter puts t in the place of a parameter of a copied layer. A bias
// that was not there is not trained, as in torch.fx.
func replaceParameter(at **torch.Tensor, t *torch.Tensor, trained bool) error {
	if *at != nil {
		(*at).Close()
	}
	*at = t
	return setTrained(t, trained)
}
