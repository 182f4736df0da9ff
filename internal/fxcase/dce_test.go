package fxcase_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/fxcase"
	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	torch "github.com/torchfx-go/torchfx/torchops"
	"github.com/torchfx-go/torchfx/tracer"
)

// The programs that remove dead code, judged by torch.fx's rules.

type impure struct {
	nn.Base `forward:"x"`
}

func (*impure) Forward(x *torch.Tensor) *torch.Tensor { return x }

func (*impure) IsImpure() bool { return true }

type withDeadCode struct {
	nn.Base `forward:"x, unused"`
	W       *torch.Tensor
	Imp     *impure
	Act     *nn.ReLU
}

func (m *withDeadCode) Forward(x, unused *torch.Tensor) *torch.Tensor {
	a := add(x, m.W)
	b := mul(a, 2)
	nn.Call(m.Imp, x)
	m.Act.Forward(b)
	call("torch._assert", x, "msg")
	x.MulInPlace(2)
	torch.Rand(2)
	torch.Rand(x.Size(0))
	torch.ReluInPlace(x)
	call("torch.ops.aten.add_.Tensor", x, 1)
	call("torch.ops.aten.add.Tensor", x, 1)
	torch.Dropout(x, 0.5, true)
	torch.Bernoulli(x)
	return x
}

func TestDceChainAndImpure(t *testing.T) {
	c := fxcase.Open(t, "dce_chain_and_impure")
	testenv.Libtorch(t)
	tr := tracer.New(tracer.IsLeaf(func(nn.Module, string) bool { return true }))
	g, err := tr.Trace(&withDeadCode{W: torch.Ones(2), Imp: &impure{}, Act: nn.NewReLU()})
	require.NoError(t, err)
	gm := c.Before(ir.NewGraphModule(tr.Attrs(), g))
	isImpure := map[string]bool{}
	for n := range g.Nodes() {
		isImpure[n.Name()] = n.IsImpure(ir.UpstreamPurity())
	}
	changed, err := g.EliminateDeadCode(ir.UpstreamPurity())
	require.NoError(t, err)
	c.Same(gm, nil)
	c.Result(map[string]any{"impure": isImpure, "changed": changed})
}

func TestDceCustom(t *testing.T) {
	c := fxcase.Open(t, "dce_custom")
	gm := c.Before(trace(func(x *torch.Tensor) *torch.Tensor {
		method(x, "add_", 1)
		torch.Relu(x)
		return x
	}, "x"))
	changed, err := gm.Graph().EliminateDeadCode(ir.UpstreamPurity(), ir.ImpureFunc(func(n *ir.Node) bool {
		name := n.Target().String()
		return n.IsImpure(ir.UpstreamPurity()) || n.Op() == ir.CallMethod && name[len(name)-1] == '_'
	}))
	require.NoError(t, err)
	c.Same(gm, nil)
	c.Result(map[string]any{"changed": changed})
}
