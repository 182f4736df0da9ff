package interpreter_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// A plan leaves out the layer that counts what is written where nobody sees it, and
// there alone: inputs that are written count, themselves and through views, and so do
// views that are written after the run.
func TestPlanCountsWhatIsWritten(t *testing.T) {
	for name, build := range map[string]func(g *ir.Graph, x *ir.Node) ir.Arg{
		"in place": func(g *ir.Graph, x *ir.Node) ir.Arg {
			return g.CallMethod("add_", []ir.Arg{x, ir.Int(1)})
		},
		"through a view": func(g *ir.Graph, x *ir.Node) ir.Arg {
			v := g.CallMethod("t", []ir.Arg{x})
			return g.CallMethod("mul_", []ir.Arg{v, ir.Int(2)})
		},
		"through what a composite operator returns": func(g *ir.Graph, x *ir.Node) ir.Arg {
			v := g.CallMethod("reshape", []ir.Arg{x, ir.Int(-1)})
			return g.CallMethod("zero_", []ir.Arg{v})
		},
		"a view that is read": func(g *ir.Graph, x *ir.Node) ir.Arg {
			return g.CallMethod("transpose", []ir.Arg{x, ir.Int(0), ir.Int(1)})
		},
		"by an out argument": func(g *ir.Graph, x *ir.Node) ir.Arg {
			y := g.CallFunction(ir.FuncOf("torch.relu"), []ir.Arg{x})
			return g.CallFunction(ir.OverloadOf("aten::add.out"), []ir.Arg{y, y}, ir.Kwargs(ir.Kw("out", x)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := ir.NewGraph()
			g.Output(build(g, g.Placeholder("x")))
			gm := module(t, g, nil)
			p := compile(t, gm)
			counts := func(run func(x any) (any, error)) (all []int64) {
				x := called(t, "aten::clone", tensor(t, []float32{1, 2, 3, 4}, 2, 2))
				for range 3 {
					out, err := run(x)
					require.NoError(t, err)
					_, err = torch.Call("aten::add_.Scalar", out, 1)
					require.NoError(t, err)
					for _, v := range []any{x, out} {
						n, err := torch.Call("aten::_version", v)
						require.NoError(t, err)
						all = append(all, n.(int64))
					}
					closeResult(out)
				}
				return all
			}
			in := interpreter.New(gm)
			want := counts(func(x any) (any, error) { return in.Run(t.Context(), x) })
			assert.Positive(t, want[0])
			assert.Equal(t, want, counts(func(x any) (any, error) { return p.Run(t.Context(), x) }))
		})
	}
}

// A linear layer of an input that is not dense multiplies by a view of its weight, and as one
// product only where that view requires gradients, as the parameter does.
func TestPlanMultipliesByParametersAsTheInterpreterDoes(t *testing.T) {
	needLibtorch(t)
	const batch, rows, in, out = 2, 4, 8, 24
	numbers := func(n int) []float32 {
		data := make([]float32, n)
		for i := range data {
			data[i] = float32(math.Sin(float64(i * i)))
		}
		return data
	}
	weight := tensor(t, numbers(out*in), out, in).RequiresGradInPlace()
	t.Cleanup(func() { _ = weight.Close() })
	g := ir.NewGraph()
	x := g.CallFunction(ir.OverloadOf("aten::transpose.int"), []ir.Arg{g.Placeholder("x"), ir.Int(0), ir.Int(1)})
	w, b := g.GetAttr("weight"), g.GetAttr("bias")
	g.Output(g.CallFunction(ir.OverloadOf("aten::linear"), []ir.Arg{x, w, b}))
	gm := module(t, g, map[string]any{"weight": weight, "bias": tensor(t, numbers(out), out)})
	arg := tensor(t, numbers(batch*rows*in), batch, rows, in)
	want, err := interpreter.New(gm).Run(t.Context(), arg)
	require.NoError(t, err)
	defer closeResult(want)
	p := compile(t, gm)
	for range 3 {
		got, err := p.Run(t.Context(), arg)
		require.NoError(t, err)
		assert.True(t, alike(t, ir.PyTuple{want}, ir.PyTuple{got}), "bits differ")
		closeResult(got)
	}
}
