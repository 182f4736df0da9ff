package passes

import (
	"fmt"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// fold carries out a match. The new tensors are computed before anything of the
// module changes.
func (p *batchNormFolder) fold(m *batchNormMatch) error {
	weight, bias, err := m.parameters()
	if err != nil {
		return err
	}
	old := m.weightNode.Target().String()
	weightPath := p.freePath(old + "_folded")
	p.module.SetAttr(weightPath, weight)
	biasPath := p.freePath(strings.TrimSuffix(old, "weight") + "bias_folded")
	p.module.SetAttr(biasPath, bias)

	reads := append(p.parameterReads(m.layer), p.parameterReads(m.norm)...)
	weightNode, err := p.read(m.weightNode, weightPath, weight)
	if err != nil {
		return err
	}
	biasNode, err := p.read(weightNode, biasPath, bias)
	if err != nil {
		return err
	}
	if err := rebind(m.layer, "weight", weightNode); err != nil {
		return err
	}
	if err := rebind(m.layer, "bias", biasNode); err != nil {
		return err
	}
	for _, result := range m.results {
		result.ReplaceAllUsesWith(m.layer)
	}
	gone := m.spare
	if m.results != nil && m.results[0] != m.norm {
		gone = append(gone, m.results...)
	}
	gone = append(gone, m.norm)
	for _, n := range append(gone, reads...) {
		if n.NumUsers() == 0 && n.Graph() != nil {
			if err := p.erase(n); err != nil {
				return err
			}
		}
	}
	p.report.Folds = append(p.report.Folds, Fold{m.norm.Name(), m.layer.Name(), weightPath, biasPath})
	return nil
}

// parameters computes the layer's new weight and bias, in float64.
func (m *batchNormMatch) parameters() (weight, bias *torch.Tensor, err error) {
	c := calculator{}
	defer c.close()
	wide := func(t *torch.Tensor) *torch.Tensor {
		if t == nil {
			return nil
		}
		return c.call("aten::to.dtype", t, torch.Float64)
	}
	scale := c.call("aten::rsqrt", c.call("aten::add.Scalar", wide(m.variance), m.eps))
	if m.gamma != nil {
		scale = c.call("aten::mul.Tensor", scale, wide(m.gamma))
	}

	shape := m.weight.Shape()
	split, factor := splitShapes(shape, m.axis, m.groups)
	// scaled in place, since two copies of twice the weight's size would be the most memory of all
	w := c.call("aten::_to_copy", m.weight, torch.Kw("dtype", torch.Float64))
	w = c.call("aten::mul_.Tensor", c.call("aten::reshape", w, split), c.call("aten::reshape", scale, factor))
	w = c.call("aten::reshape", w, sizes(shape))

	b := c.call("aten::neg", wide(m.mean))
	if m.bias != nil {
		b = c.call("aten::add.Tensor", b, wide(m.bias))
	}
	b = c.call("aten::mul.Tensor", b, scale)
	if m.beta != nil {
		b = c.call("aten::add.Tensor", b, wide(m.beta))
	}
	// copies, so that the results share memory with nothing: to.dtype of a float64
	// weight would return it itself
	weight = c.keep("aten::_to_copy", w, torch.Kw("dtype", m.weight.DType()))
	bias = c.keep("aten::_to_copy", b, torch.Kw("dtype", m.weight.DType()))
	if c.err != nil {
		weight.Close()
		return nil, nil, c.err
	}
	return weight, bias, nil
}

// splitShapes returns the shape in which the weight's output channels lie along
// axes of their own, and the one that spreads a vector of them over it. The
// output channels of a transposed convolution are [groups, out / groups], with
// the groups along the weight's first axis.
func splitShapes(shape []int, axis, groups int) (split, factor []int64) {
	for i, n := range shape {
		if i == 0 && axis == 1 {
			split, factor = append(split, int64(groups), int64(n/groups)), append(factor, int64(groups), 1)
			continue
		}
		split = append(split, int64(n))
		if i == axis {
			factor = append(factor, int64(n))
		} else {
			factor = append(factor, 1)
		}
	}
	return split, factor
}

func sizes(shape []int) []int64 {
	out := make([]int64, len(shape))
	for i, n := range shape {
		out[i] = int64(n)
	}
	return out
}

// A calculator calls operators until one fails, and closes the temporaries.
type calculator struct {
	temporaries []*torch.Tensor
	err         error
}

// call returns the result of an operator, a temporary.
func (c *calculator) call(op string, args ...any) *torch.Tensor {
	t := c.keep(op, args...)
	if t != nil {
		c.temporaries = append(c.temporaries, t)
	}
	return t
}

// keep returns the result of an operator, to be closed by the caller when
// nothing failed.
func (c *calculator) keep(op string, args ...any) *torch.Tensor {
	if c.err != nil {
		return nil
	}
	v, err := torch.Call(op, args...)
	if err != nil {
		c.err = err
		return nil
	}
	t, ok := v.(*torch.Tensor)
	if !ok {
		c.err = ir.Errorf(ir.ErrType, "%s: expected a tensor, got %T", op, v)
	}
	return t
}

func (c *calculator) close() {
	for _, t := range c.temporaries {
		t.Close()
	}
}

// parameterReads lists the attributes that n reads.
func (p *batchNormFolder) parameterReads(n *ir.Node) []*ir.Node {
	var reads []*ir.Node
	for _, in := range n.Inputs() {
		if in.Op() == ir.GetAttr {
			reads = append(reads, in)
		}
	}
	return reads
}

// freePath returns path, or path with the first number that makes it free.
func (p *batchNormFolder) freePath(path string) string {
	for i, name := 0, path; ; i++ {
		if _, taken := p.module.Attr(name); !taken {
			return name
		}
		name = fmt.Sprintf("%s_%d", path, i+1)
	}
}

// read puts a read of the attribute at path, which is t, behind the node after.
func (p *batchNormFolder) read(after *ir.Node, path string, t *torch.Tensor) (*ir.Node, error) {
	restore, err := p.graph.InsertAfter(after)
	if err != nil {
		return nil, err
	}
	defer restore()
	n := p.graph.GetAttr(path)
	n.Meta().Set(ir.MetaVal, ir.TensorMeta{DType: t.DType(), Sizes: knownSizes(t.Shape()), Strides: knownSizes(t.Strides()), Device: t.Device()})
	p.report.Made = append(p.report.Made, n.Name())
	return n, nil
}

func knownSizes(n []int) []ir.Size {
	known := make([]ir.Size, len(n))
	for i, v := range n {
		known[i] = ir.SizeOf(int64(v))
	}
	return known
}

// erase takes a node out, and with the last read of an attribute the attribute.
func (p *batchNormFolder) erase(n *ir.Node) error {
	path := n.Target().String()
	if err := p.graph.Erase(n); err != nil {
		return err
	}
	p.report.Removed = append(p.report.Removed, n.Name())
	if n.Op() != ir.GetAttr {
		return nil
	}
	for m := range p.graph.Nodes() {
		if m.Op() == ir.GetAttr && m.Target().String() == path {
			return nil
		}
	}
	if p.dropped != nil {
		p.dropped(path)
	} else {
		p.module.DeleteAttr(path)
	}
	p.report.Dropped = append(p.report.Dropped, path)
	return nil
}
