package interpreter_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	libtorch "github.com/torchfx-go/torchfx/cgo"
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
		"through a view that no schema tells of": func(g *ir.Graph, x *ir.Node) ir.Arg {
			return g.CallFunction(ir.OverloadOf("aten::einsum"), []ir.Arg{ir.Str("ij->ji"), ir.ListOf(x)})
		},
		"through a sum that is none": func(g *ir.Graph, x *ir.Node) ir.Arg {
			return g.CallFunction(ir.OverloadOf("aten::sum_to_size"), []ir.Arg{x, ir.ListOf(ir.Int(2), ir.Int(2))})
		},
		"through one of several views": func(g *ir.Graph, x *ir.Node) ir.Arg {
			all := g.CallFunction(ir.OverloadOf("aten::broadcast_tensors"), []ir.Arg{ir.ListOf(x, x)})
			return g.CallFunction(getitem, []ir.Arg{all, ir.Int(1)})
		},
		"through the same tensor": func(g *ir.Graph, x *ir.Node) ir.Arg {
			return g.CallFunction(ir.OverloadOf("aten::type_as"), []ir.Arg{x, x})
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

// Composite operators choose by what requires gradients, a weight or a view of one, how
// they compute: as one product, say, of an input that is not dense. Plans choose as the
// Interpreter does, with gradients switched on and off, also where weights begin or cease
// to require them between runs.
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
	op := func(name string) *ir.Func { return ir.OverloadOf(name) }
	layers := map[string]func(g *ir.Graph, x, w, b *ir.Node) *ir.Node{
		"linear": func(g *ir.Graph, x, w, b *ir.Node) *ir.Node {
			return g.CallFunction(op("aten::linear"), []ir.Arg{x, w, b})
		},
		"matmul by a view": func(g *ir.Graph, x, w, b *ir.Node) *ir.Node {
			return g.CallFunction(op("aten::matmul"), []ir.Arg{x, g.CallFunction(op("aten::t"), []ir.Arg{w})})
		},
		"matmul of a view": func(g *ir.Graph, x, w, b *ir.Node) *ir.Node {
			half := g.CallFunction(op("aten::slice.Tensor"), []ir.Arg{w, ir.Int(0), ir.Int(0), ir.Int(out), ir.Int(2)})
			return g.CallFunction(op("aten::matmul"), []ir.Arg{half, g.CallFunction(op("aten::transpose.int"), []ir.Arg{x, ir.Int(1), ir.Int(2)})})
		},
		"matmul by a detached view": func(g *ir.Graph, x, w, b *ir.Node) *ir.Node {
			return g.CallFunction(op("aten::matmul"), []ir.Arg{x, g.CallFunction(op("aten::t"), []ir.Arg{g.CallFunction(op("aten::detach"), []ir.Arg{w})})})
		},
		"einsum": func(g *ir.Graph, x, w, b *ir.Node) *ir.Node {
			return g.CallFunction(op("aten::einsum"), []ir.Arg{ir.Str("bri,oi->bro"), ir.ListOf(x, w)})
		},
	}
	modes := map[string]libtorch.Mode{"no gradients": {}, "gradients": {Grad: true}, "inference": {Inference: true}}
	for name, layer := range layers {
		for mode, m := range modes {
			t.Run(name+", "+mode, func(t *testing.T) {
				m.Threads = 1
				weight := tensor(t, numbers(out*in), out, in)
				g := ir.NewGraph()
				x := g.CallFunction(op("aten::transpose.int"), []ir.Arg{g.Placeholder("x"), ir.Int(0), ir.Int(1)})
				g.Output(layer(g, x, g.GetAttr("weight"), g.GetAttr("bias")))
				gm := module(t, g, map[string]any{"weight": weight, "bias": tensor(t, numbers(out), out)})
				arg := tensor(t, numbers(batch*rows*in), batch, rows, in)
				interpret, p := interpreter.New(gm, interpreter.WithMode(m)), compile(t, gm, interpreter.WithMode(m))
				for run, grad := range []bool{false, false, true, true, false, true} {
					weight.RequiresGradInPlace(grad)
					want, err := interpret.Run(t.Context(), arg)
					require.NoError(t, err)
					got, err := p.Run(t.Context(), arg)
					require.NoError(t, err)
					assert.True(t, alike(t, ir.PyTuple{want}, ir.PyTuple{got}), "run %d: bits differ", run)
					assert.Equal(t, want.(*torch.Tensor).RequiresGrad(), got.(*torch.Tensor).RequiresGrad())
					closeResult(want)
					closeResult(got)
				}
			})
		}
	}
}
