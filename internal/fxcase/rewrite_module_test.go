package fxcase_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx"
	"github.com/torchfx-go/torchfx/internal/fxcase"
	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// The programs that replace in modules, with patterns and replacements that are
// modules or graphs.

type twoWeights struct {
	nn.Base `forward:"x"`
	W, V    *torch.Tensor
}

func (m *twoWeights) Forward(x *torch.Tensor) any { return ir.PyTuple{mul(x, m.W), mul(x, m.V)} }

type oneWeight struct {
	nn.Base `forward:"x"`
	K       *torch.Tensor
}

func (m *oneWeight) Forward(x *torch.Tensor) *torch.Tensor { return mul(x, m.K) }

func TestRwGetAttr(t *testing.T) {
	testenv.Libtorch(t)
	r := rewriteOf(t, "rw_get_attr", &twoWeights{W: torch.Ones(2), V: torch.Zeros(3)}, "")
	r.counts(r.replace(&oneWeight{K: torch.Ones(1)}, func(x *torch.Tensor) *torch.Tensor { return add(x, 1) }))
	r.State(r.gm)
}

func TestRwGraphPattern(t *testing.T) {
	r := rewriteOf(t, "rw_graph_pattern", func(x *torch.Tensor) *torch.Tensor { return torch.Relu(add(x, 1)) }, "x")
	p := ir.NewGraph()
	p.Output(p.CallFunction(torch.FnRelu, args(p.Placeholder("a"))))
	g := ir.NewGraph()
	c := g.CallFunction(torch.FnExp, args(g.Placeholder("b")), ir.Name("special"))
	c.Meta().Set("mark", 7)
	g.Output(g.CallMethod("log1p", args(c)))
	r.replace(p, g)
	var marks []any
	for n := range r.gm.Graph().Nodes() {
		marks = append(marks, n.Meta().Get("mark"))
	}
	r.same(map[string]any{"marks": marks})
}

type inner struct {
	nn.Base
	Lin *nn.Linear
}

type brings struct {
	nn.Base `forward:"x"`
	W       *torch.Tensor
	Inner   *inner
}

func (m *brings) Forward(x *torch.Tensor) *torch.Tensor { return mul(m.Inner.Lin.Forward(x), m.W) }

type negPlusOne struct {
	nn.Base `forward:"x"`
}

func (*negPlusOne) Forward(x *torch.Tensor) *torch.Tensor { return add(torch.Neg(x), 1) }

func TestRwReplacementAttribute(t *testing.T) {
	testenv.Libtorch(t)
	r := rewriteOf(t, "rw_replacement_attribute", &negPlusOne{}, "")
	r.Seed()
	m := &brings{W: torch.Full([]int{1}, 3.0), Inner: &inner{Lin: nn.NewLinear(1, 1)}}
	replacement, err := torchfx.SymbolicTrace(m)
	require.NoError(t, err)
	r.replace(torch.Neg, replacement)
	r.same(map[string]any{"state": state(r.gm)})
	v, _ := r.gm.Attr("inner.lin")
	assert.Same(t, m.Inner.Lin, v)
	r.Runs(r.gm)
}

type sigmoidReLU struct {
	nn.Base `forward:"x"`
	Sigmoid *nn.Sigmoid
	Submod  *nn.ReLU
	plus    int
}

func (m *sigmoidReLU) Forward(x *torch.Tensor) *torch.Tensor {
	if m.plus != 0 {
		x = add(x, m.plus)
	}
	return m.Submod.Forward(m.Sigmoid.Forward(x))
}

type softmaxTanh struct {
	nn.Base `forward:"x"`
	Tanh    *nn.Tanh
	Lin     *nn.Linear
	Sigmoid *nn.Softmax
}

func (m *softmaxTanh) Forward(x *torch.Tensor) *torch.Tensor {
	return m.Tanh.Forward(m.Lin.Forward(m.Sigmoid.Forward(x)))
}

func TestRwSubmodules(t *testing.T) {
	testenv.Libtorch(t)
	r := rewriteOf(t, "rw_submodules", &sigmoidReLU{Sigmoid: nn.NewSigmoid(), Submod: nn.NewReLU(), plus: 1}, "")
	r.Seed()
	r.replace(&sigmoidReLU{Sigmoid: nn.NewSigmoid(), Submod: nn.NewReLU()},
		&softmaxTanh{Tanh: nn.NewTanh(), Lin: nn.NewLinear(2, 2), Sigmoid: nn.NewSoftmax(nn.WithDim(0))})
	modules := [][]string{{"", "M"}}
	for path, v := range r.gm.Attrs() {
		class := nn.ClassName(v.(nn.Module))
		modules = append(modules, []string{path, class[strings.LastIndexByte(class, '.')+1:]})
	}
	r.same(map[string]any{"modules": modules})
	r.State(r.gm)
}

func TestRwMissingAttribute(t *testing.T) {
	c := fxcase.Open(t, "rw_missing_attribute")
	testenv.Libtorch(t)
	gm, err := trace(torch.Neg, "x")
	require.NoError(t, err)
	r, err := torchfx.SymbolicTrace(&oneLinear{Lin: nn.NewLinear(1, 1)})
	require.NoError(t, err)
	require.NoError(t, r.Graph().Find(ir.CallModule, nil)[0].SetTarget(ir.Path("nope")))
	_, err = torchfx.ReplacePattern(gm, torch.Neg, r)
	c.Fails(err)
	assert.NotNil(t, gm.Graph().Lookup("neg"), "nothing was changed")
}

type docModel struct {
	nn.Base `forward:"x, w1, w2"`
}

func (*docModel) Forward(x, w1, w2 *torch.Tensor) *torch.Tensor {
	m1 := torch.Cat(torch.List{w1, w2}).Sum()
	m2 := torch.Cat(torch.List{w1, w2}).Sum()
	return add(add(x, torch.Max(m1)), torch.Max(m2))
}

func TestDocReplacePattern(t *testing.T) {
	r := rewriteOf(t, "doc_replace_pattern", &docModel{}, "")
	done := r.replace(named(t, "w1, w2", func(w1, w2 *torch.Tensor) *torch.Tensor { return torch.Cat(torch.List{w1, w2}).Sum() }),
		func(w1, w2 *torch.Tensor) *torch.Tensor { return torch.Stack(torch.List{w1, w2}) })
	r.same(map[string]any{"matches": anchorsAndPairs(done)})
}

type negPlusReluOf struct {
	nn.Base `forward:"x, y"`
}

func (*negPlusReluOf) Forward(x, y *torch.Tensor) *torch.Tensor { return negXPlusReluY(x, y) }

func negXPlusReluY(x, y *torch.Tensor) *torch.Tensor { return add(torch.Neg(x), torch.Relu(y)) }

func TestDocReplacePatternTooFewParams(t *testing.T) {
	c := fxcase.Open(t, "doc_replace_pattern_too_few_params")
	gm, err := torchfx.SymbolicTrace(&negPlusReluOf{})
	require.NoError(t, err)
	_, err = torchfx.ReplacePattern(gm, negXPlusReluY, torch.Relu)
	c.Fails(err)
}

func TestDocReplacePatternUnusedParam(t *testing.T) {
	testenv.Libtorch(t)
	r := rewriteOf(t, "doc_replace_pattern_unused_param", &negPlusReluOf{}, "")
	r.replace(negXPlusReluY, func(x, y *torch.Tensor) *torch.Tensor { return torch.Relu(x) })
	r.same(nil)
	r.Runs(r.gm)
}
