package passes

import (
	"fmt"
	"slices"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// foldBatchNorm folds batch norms as [FoldBatchNorm] does.
func (f *freezer) foldBatchNorm() error {
	p := &batchNormFolder{module: f.module, graph: f.graph, report: &BatchNormReport{}, dropped: f.forget}
	err := p.run(f.ctx)
	for _, fold := range p.report.Folds {
		for _, path := range []string{fold.Weight, fold.Bias} {
			if v, ok := f.module.Attr(path); ok {
				f.owned = append(f.owned, v.(*torch.Tensor))
			}
		}
		if layer := f.graph.Lookup(fold.Layer); layer != nil {
			f.applied(layer, "%s folded into it", fold.Norm)
		}
	}
	for _, kept := range p.report.Kept {
		if n := f.graph.Lookup(kept.Norm); n != nil {
			f.kept(n, "%s", kept.Why)
		}
	}
	if err != nil {
		return err
	}
	return f.foldNormsBefore()
}

// foldNormsBefore folds batch norms that evaluate into the layer behind them:
//
//	weight' = weight · s    s = γ / sqrt(running_var + eps), one per input channel
//	bias'   = bias + Σ weight · (β - running_mean · s), over what an output is summed of
//
// That is right where each output is summed of the same inputs: not with padding,
// whose zeros the norm has not seen.
func (f *freezer) foldNormsBefore() error {
	for _, n := range nodesOf(f.graph) {
		form, ok := normOf(n)
		if !ok || form.several || n.NumUsers() != 1 {
			continue
		}
		m, why := f.normBefore(n)
		if why == "" && !f.delays(n, m.layer) {
			why = "what it reads is written before " + m.layer.Name()
		}
		if why != "" {
			f.kept(n, "%s", why)
			continue
		}
		if err := f.foldNormBefore(m); err != nil {
			return fmt.Errorf("%s: %w", n, err)
		}
	}
	return nil
}

// normBefore reads a batch norm and the layer that is all that reads it.
func (f *freezer) normBefore(n *ir.Node) (m *batchNormMatch, why string) {
	m = &batchNormMatch{norm: n, layer: slices.Collect(n.Users())[0], groups: 1}
	kind, ok := layerOf(m.layer)
	if !ok {
		return nil, "it is before " + describeCall(m.layer)
	}
	norm, err := bind(n)
	if err != nil {
		return nil, err.Error()
	}
	layer, err := bind(m.layer)
	if err != nil {
		return nil, err.Error()
	}
	eps, isNumber := literal(norm["eps"])
	if !evaluates(norm) || !isNumber {
		return nil, "it trains"
	}
	m.eps = eps
	if layer["input"] != ir.Arg(n) {
		return nil, "it is no input of " + m.layer.Name()
	}
	var oks [6]bool
	m.weight, oks[0] = f.constant(layer["weight"])
	m.bias, oks[1] = f.constantOrNone(layer["bias"])
	m.gamma, oks[2] = f.constantOrNone(norm["weight"])
	m.beta, oks[3] = f.constantOrNone(norm["bias"])
	m.mean, oks[4] = f.constant(norm["running_mean"])
	m.variance, oks[5] = f.constant(norm["running_var"])
	for _, ok := range oks {
		if !ok {
			return nil, "a parameter is no constant"
		}
	}
	m.weightNode = layer["weight"].(*ir.Node)
	meta, known := valueOf(n)
	if !known || len(meta.Sizes) != kind.rank(m.weight.Shape()) {
		return nil, "its channels are not those of " + m.layer.Name()
	}
	if kind != linear {
		padding, isList := numbers(layer["padding"], len(m.weight.Shape())-2)
		isList = isList || layer["padding"] == ir.Str("valid")
		for _, p := range padding {
			isList = isList && p == 0
		}
		groups, isNumber := layer["groups"].(ir.Int)
		if kind.transposed(layer) || !isList || !isNumber {
			return nil, m.layer.Name() + " pads, or is transposed"
		}
		m.groups = int(groups)
	}
	shape := m.weight.Shape()
	channels := shape[1] * m.groups
	for _, t := range []*torch.Tensor{m.gamma, m.beta, m.mean, m.variance} {
		if t != nil && (len(t.Shape()) != 1 || t.Shape()[0] != channels) {
			return nil, fmt.Sprintf("expected parameters of %d channels", channels)
		}
	}
	if !m.weight.DType().IsFloat() || m.weight.DType().Size() < 2 {
		return nil, "the weight is not of floating point"
	}
	return m, ""
}

func (f *freezer) foldNormBefore(m *batchNormMatch) error {
	c := calculator{}
	defer c.close()
	wide := func(t *torch.Tensor) *torch.Tensor { return c.call("aten::to.dtype", t, torch.Float64) }
	scale := c.call("aten::rsqrt", c.call("aten::add.Scalar", wide(m.variance), m.eps))
	if m.gamma != nil {
		scale = c.call("aten::mul.Tensor", scale, wide(m.gamma))
	}
	shift := c.call("aten::neg", c.call("aten::mul.Tensor", wide(m.mean), scale))
	if m.beta != nil {
		shift = c.call("aten::add.Tensor", shift, wide(m.beta))
	}
	// the weight as [groups, out / groups, in / groups, rest], a channel's numbers as [groups, 1, in / groups, 1]
	shape, groups := m.weight.Shape(), int64(m.groups)
	split := c.call("aten::reshape", wide(m.weight), []int64{groups, int64(shape[0]) / groups, int64(shape[1]), -1})
	channels := []int64{groups, 1, int64(shape[1]), 1}
	w := c.call("aten::reshape", c.call("aten::mul.Tensor", split, c.call("aten::reshape", scale, channels)), sizes(shape))
	b := c.call("aten::sum.dim_IntList", c.call("aten::mul.Tensor", split, c.call("aten::reshape", shift, channels)), []int64{2, 3})
	b = c.call("aten::reshape", b, []int64{int64(shape[0])})
	if m.bias != nil {
		b = c.call("aten::add.Tensor", b, wide(m.bias))
	}
	weight := c.keep("aten::_to_copy", w, torch.Kw("dtype", m.weight.DType()))
	bias := c.keep("aten::_to_copy", b, torch.Kw("dtype", m.weight.DType()))
	if c.err != nil {
		weight.Close()
		return c.err
	}
	path := pathOf(m.weightNode)
	read, err := f.attribute(m.layer, path+"_folded", weight)
	if err != nil {
		return err
	}
	biasRead, err := f.attribute(m.layer, strings.TrimSuffix(path, "weight")+"bias_folded", bias)
	if err != nil {
		return err
	}
	old := m.layer.Inputs()
	for name, v := range map[string]ir.Arg{"weight": read, "bias": biasRead} {
		if err := rebind(m.layer, name, v); err != nil {
			return err
		}
	}
	input := m.norm.Arg(0)
	if input == nil {
		input, _ = m.norm.Kwarg("input")
	}
	f.applied(m.layer, "%s folded into it from before", m.norm)
	m.layer.ReplaceInputWith(m.norm, input.(*ir.Node))
	return f.erase(append(old, m.norm)...)
}
