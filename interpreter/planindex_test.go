package interpreter_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/ir"
)

// Memory is planned behind an index of integers, whose sizes do not depend on elements,
// and not behind a mask.
func TestPlanBehindAnIndex(t *testing.T) {
	needLibtorch(t)
	op := ir.OverloadOf
	list := func(items ...ir.Arg) ir.Arg { return ir.ListOf(items...) }
	for name, c := range map[string]struct {
		index   func(g *ir.Graph, like *ir.Node) ir.Arg
		planned bool
	}{
		"a constant": {func(g *ir.Graph, _ *ir.Node) ir.Arg { return g.GetAttr("numbers") }, true},
		"a range": {func(g *ir.Graph, _ *ir.Node) ir.Arg {
			return g.CallFunction(op("aten::arange"), []ir.Arg{ir.Int(2)})
		}, true},
		"a range, seen otherwise": {func(g *ir.Graph, _ *ir.Node) ir.Arg {
			r := g.CallFunction(op("aten::arange.start"), []ir.Arg{ir.Int(1), ir.Int(3)})
			v := g.CallFunction(op("aten::unsqueeze"), []ir.Arg{r, ir.Int(0)})
			return g.CallFunction(op("aten::sub.Tensor"), []ir.Arg{v, ir.Int(1)})
		}, true},
		"a range as long as an input": {func(g *ir.Graph, like *ir.Node) ir.Arg {
			n := g.CallFunction(op("aten::sym_size.int"), []ir.Arg{like, ir.Int(0)})
			return g.CallFunction(op("aten::arange"), []ir.Arg{n})
		}, true},
		"a range of small integers": {func(g *ir.Graph, _ *ir.Node) ir.Arg {
			return g.CallFunction(op("aten::arange"), []ir.Arg{ir.Int(2)}, ir.Kwargs(ir.Kw("dtype", ir.UInt8)))
		}, false},
		"a range of bytes seen as numbers": {func(g *ir.Graph, _ *ir.Node) ir.Arg {
			r := g.CallFunction(op("aten::arange"), []ir.Arg{ir.Int(2)}, ir.Kwargs(ir.Kw("dtype", ir.Bool8)))
			return g.CallFunction(op("aten::unsqueeze"), []ir.Arg{r, ir.Int(0)})
		}, false},
		"an attribute that is a mask": {func(g *ir.Graph, _ *ir.Node) ir.Arg { return g.GetAttr("mask") }, false},
		"a mask": {func(g *ir.Graph, like *ir.Node) ir.Arg {
			first := g.CallFunction(op("aten::select.int"), []ir.Arg{like, ir.Int(1), ir.Int(0)})
			return g.CallFunction(op("aten::gt.Scalar"), []ir.Arg{first, ir.Int(0)})
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := ir.NewGraph()
			x := g.Placeholder("x")
			v := g.CallFunction(op("aten::index.Tensor"), []ir.Arg{x, list(c.index(g, x))})
			v = g.CallFunction(op("aten::exp"), []ir.Arg{v})
			v = g.CallFunction(op("aten::cumsum"), []ir.Arg{v, ir.Int(-1)})
			g.Output(g.CallFunction(op("aten::neg"), []ir.Arg{v}))
			gm := module(t, g, map[string]any{
				"numbers": called(t, "aten::to.dtype", tensor(t, []float32{1, 0, 1}, 3), ir.Int64),
				"mask":    called(t, "aten::to.dtype", tensor(t, []float32{1, 0}, 2), ir.Bool8),
			})
			p := compile(t, gm)
			for _, data := range [][]float32{{1, 2, 3, 4, 5, 6}, {-1, 2, 3, 4, 5, 6}, {1, 2, 3, -4, 5, 6}, {1, 2, 3, 4, 5, 7}} {
				agreePlan(t, gm, p, tensor(t, data, 2, 3))
			}
			text, err := p.Dump()
			require.NoError(t, err)
			want := require.NotContains
			if c.planned {
				want = require.Contains
			}
			want(t, text, "aten::cumsum (out)")
		})
	}
}
