package passes

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// A BatchNormReport tells what [FoldBatchNorm] did.
type BatchNormReport struct {
	Folds   []Fold   // in order of the graph
	Kept    []Kept   // batch norms that stay, with the reason
	Removed []string // names of the nodes taken out, in order
	Made    []string // names of the nodes put in, in order
	Dropped []string // attributes that no node names any more, taken out of the module; still their owner's to close
}

// A Fold is a batch norm that its layer took over.
type Fold struct {
	Norm   string // name of the batch norm node, which is gone
	Layer  string // name of the convolution or linear node, which stays
	Weight string // attribute made for the layer's weight
	Bias   string // attribute made for the layer's bias
}

// A Kept is a batch norm that stays where it is.
type Kept struct {
	Norm string // name of the node
	Why  string
}

// String returns the report as text, a line for each fold and each batch norm
// that stays.
func (r *BatchNormReport) String() string {
	if r == nil {
		return ""
	}
	var b strings.Builder
	for _, f := range r.Folds {
		fmt.Fprintf(&b, "%s folded into %s: %s, %s\n", f.Norm, f.Layer, f.Weight, f.Bias)
	}
	for _, k := range r.Kept {
		fmt.Fprintf(&b, "%s kept: %s\n", k.Norm, k.Why)
	}
	fmt.Fprintf(&b, "%d nodes removed, %d made, %d attributes dropped\n", len(r.Removed), len(r.Made), len(r.Dropped))
	return b.String()
}

// FoldBatchNorm merges batch norms that evaluate into the layer before them, so
// that they cost nothing:
//
//	weight' = weight · s    s = γ / sqrt(running_var + eps), one per output channel
//	bias'   = (bias - running_mean) · s + β
//
// Layers are the convolutions of one to three dimensions, transposed ones too,
// and linear on matrices. The layer keeps its node, its name and its meta and
// reads two new attributes beside the old weight, <module>.weight_folded and
// <module>.bias_folded; the batch norm, and reads of attributes that nothing
// uses any more, go.
//
// A batch norm stays when it trains, when its layer's result is used elsewhere,
// when a parameter is computed, written by some operator, or no tensor, or when
// the rank of the layer's result is not known to be the one folding is right
// for; the report has the reason. Results differ from the unfolded ones by
// rounding only: the new parameters are computed in float64 and rounded once to
// the dtype of the layer's weight.
//
// The module's attributes must be *torchops.Tensor, as package torchfx loads
// them. The new ones belong to the module's owner. The graphs of submodules are
// not looked into. An error is an operator that failed or a context that is
// over; folds done before it stay, and the report tells them.
//
// Does what torch.fx.experimental.optimization.fuse does for modules, for graphs
// of operators.
func FoldBatchNorm(ctx context.Context, gm *ir.GraphModule) (*BatchNormReport, error) {
	if gm == nil {
		return nil, ir.Errorf(ir.ErrInput, "fold batch norms: expected a graph module, got nil")
	}
	p := &batchNormFolder{module: gm, graph: gm.Graph(), report: &BatchNormReport{}}
	// reading a closed tensor panics, as all methods of tensors without an error do
	err, panicked := torch.Try(func() error { return p.run(ctx) })
	return p.report, cmp.Or(panicked, err)
}

func (p *batchNormFolder) run(ctx context.Context) error {
	p.written = writtenTensors(p.module)
	for n := range p.graph.Nodes() {
		form, ok := normOf(n)
		if !ok {
			continue
		}
		if err := ctx.Err(); err != nil {
			return ir.Errorf(ir.ErrCancelled, "fold batch norm: stopped before %s: %w", n, err)
		}
		m, why := p.match(n, form)
		if why != "" {
			p.report.Kept = append(p.report.Kept, Kept{n.Name(), why})
			continue
		}
		if err := p.fold(m); err != nil {
			return fmt.Errorf("fold batch norm %s into %s: %w", m.norm, m.layer, err)
		}
	}
	return nil
}

type batchNormFolder struct {
	module  *ir.GraphModule
	graph   *ir.Graph
	written tensorSet
	report  *BatchNormReport
	dropped func(path string) // does what taking an attribute out takes, nil for that alone
}

// A batchNormMatch is a batch norm that can be folded.
type batchNormMatch struct {
	norm, layer *ir.Node
	results     []*ir.Node // nodes that stand for the norm's first result
	spare       []*ir.Node // reads of its other results, without users
	weightNode  *ir.Node
	weight      *torch.Tensor
	bias        *torch.Tensor // nil: zero
	gamma       *torch.Tensor // nil: one
	beta        *torch.Tensor // nil: zero
	mean        *torch.Tensor
	variance    *torch.Tensor
	eps         float64
	axis        int // of the output channels in the weight
	groups      int // that the output channels are split into along axis
}

// match reports how n can be folded, or why it cannot.
func (p *batchNormFolder) match(n *ir.Node, form normForm) (m *batchNormMatch, why string) {
	m = &batchNormMatch{norm: n}
	norm, err := bind(n)
	if err != nil {
		return nil, err.Error()
	}
	if !evaluates(norm) {
		return nil, "it trains"
	}
	switch eps := norm["eps"].(type) {
	case ir.Float:
		m.eps = float64(eps)
	case ir.Int:
		m.eps = float64(eps)
	default:
		return nil, "eps is computed"
	}
	if m.layer, _ = norm["input"].(*ir.Node); m.layer == nil {
		return nil, "its input is no node"
	}
	kind, ok := layerOf(m.layer)
	if !ok {
		return nil, fmt.Sprintf("its input is %s, neither a convolution nor linear", describeCall(m.layer))
	}
	if m.layer.NumUsers() != 1 {
		return nil, fmt.Sprintf("the result of %s is used elsewhere too", m.layer)
	}
	layer, err := bind(m.layer)
	if err != nil {
		return nil, err.Error()
	}
	if why := m.resultsOf(form); why != "" {
		return nil, why
	}
	for _, operand := range []struct {
		name     string
		arg      ir.Arg
		into     **torch.Tensor
		required bool
	}{
		{"weight of " + m.layer.Name(), layer["weight"], &m.weight, true},
		{"bias of " + m.layer.Name(), layer["bias"], &m.bias, false},
		{"weight", norm["weight"], &m.gamma, false},
		{"bias", norm["bias"], &m.beta, false},
		{"running_mean", norm["running_mean"], &m.mean, true},
		{"running_var", norm["running_var"], &m.variance, true},
	} {
		if why := p.constant(operand.arg, operand.into, operand.required); why != "" {
			return nil, fmt.Sprintf("%s: %s", operand.name, why)
		}
	}
	m.weightNode = layer["weight"].(*ir.Node)
	return m, m.shapes(kind, layer)
}

// resultsOf finds the nodes that stand for the normalised tensor.
func (m *batchNormMatch) resultsOf(form normForm) (why string) {
	if !form.several {
		m.results = []*ir.Node{m.norm}
		return ""
	}
	for u := range m.norm.Users() {
		switch {
		case u.Func() != getItem || u.Arg(0) != ir.Arg(m.norm):
			return fmt.Sprintf("%s uses all its results", u)
		case u.Arg(1) == ir.Int(0):
			m.results = append(m.results, u)
		case u.NumUsers() > 0:
			return fmt.Sprintf("%s uses its saved statistics", u)
		default:
			m.spare = append(m.spare, u)
		}
	}
	return ""
}

// constant finds the tensor that a stands for: an attribute that nothing writes.
func (p *batchNormFolder) constant(a ir.Arg, into **torch.Tensor, required bool) (why string) {
	if a == (ir.None{}) || a == nil {
		if required {
			return "there is none"
		}
		return ""
	}
	n, ok := a.(*ir.Node)
	if !ok || n.Op() != ir.GetAttr {
		return fmt.Sprintf("expected an attribute, got %s", describeArg(a))
	}
	v, ok := p.module.Attr(n.Target().String())
	if !ok {
		return fmt.Sprintf("attribute %s is missing", n.Target())
	}
	t, ok := v.(*torch.Tensor)
	if !ok {
		return fmt.Sprintf("attribute %s: expected a tensor, got %T", n.Target(), v)
	}
	if shares, err := p.written.shares(t); err != nil {
		return fmt.Sprintf("attribute %s: %v", n.Target(), err)
	} else if shares {
		return fmt.Sprintf("attribute %s is written by the graph", n.Target())
	}
	*into = t
	return ""
}

// shapes finds the channel axis and checks that folding is right for the ranks
// and sizes at hand.
func (m *batchNormMatch) shapes(kind layerKind, layer map[string]ir.Arg) (why string) {
	shape := m.weight.Shape()
	meta, ok := m.layer.Meta().Get(ir.MetaVal).(ir.TensorMeta)
	if !ok {
		return fmt.Sprintf("the rank of %s is not noted", m.layer)
	}
	// batch norm takes dimension 1 for the channels: an unbatched convolution, or
	// linear on more than matrices, has them elsewhere
	if want := kind.rank(shape); len(meta.Sizes) != want {
		return fmt.Sprintf("%s: expected a result of %d dimensions, got %d", m.layer, want, len(meta.Sizes))
	}
	m.groups = 1
	if kind.transposed(layer) {
		groups, ok := layer["groups"].(ir.Int)
		if !ok || groups < 1 {
			return fmt.Sprintf("the groups of %s are computed", m.layer)
		}
		m.axis, m.groups = 1, int(groups)
	}
	channels := shape[m.axis] * m.groups
	for _, t := range []*torch.Tensor{m.bias, m.gamma, m.beta, m.mean, m.variance} {
		if t != nil && (len(t.Shape()) != 1 || t.Shape()[0] != channels) {
			return fmt.Sprintf("expected parameters of %d channels, got one of shape %v", channels, t.Shape())
		}
	}
	if !m.weight.DType().IsFloat() || m.weight.DType().Size() < 2 {
		return fmt.Sprintf("weight: expected a floating point dtype, got %s", m.weight.DType())
	}
	return ""
}
