package interpreter_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

func called(t testing.TB, op string, args ...any) *torch.Tensor {
	t.Helper()
	v, err := torch.Call(op, args...)
	require.NoError(t, err)
	x := v.(*torch.Tensor)
	t.Cleanup(func() { x.Close() }) // or the collector closes it while others count
	return x
}

// A planned result is computed by the CPU's kernel alone, which takes no notice of
// an operand's outstanding conjugation or sign.
func TestPlanOfConjugatedOperands(t *testing.T) {
	x := called(t, "aten::complex", tensor(t, []float32{1, 2, 3, 4}, 2, 2), tensor(t, []float32{5, -6, 7, -8}, 2, 2))
	for _, name := range []string{"aten::add.Tensor", "aten::mul.Tensor", "aten::div.Tensor", "aten::mm"} {
		t.Run(name, func(t *testing.T) {
			g := ir.NewGraph()
			call := func(name string, args ...ir.Arg) *ir.Node { return g.CallFunction(ir.OverloadOf(name), args) }
			conj := call("aten::_conj", call("aten::tanh", g.Placeholder("x")))
			imag := call("aten::imag", conj)
			g.Output(ir.TupleOf(call("aten::tanh", call(name, conj, conj)), call("aten::neg", call(name, imag, imag))))
			agree(t, module(t, g, nil), x)
		})
	}
}

// A composite operator gives a view of a conjugated tensor, not of a copy that
// was made to resolve it, so that what is written is written into the input.
func TestPlanWritesThroughLazyViews(t *testing.T) {
	for _, lazy := range []string{"aten::_neg_view", "aten::alias"} {
		t.Run(lazy, func(t *testing.T) {
			g := ir.NewGraph()
			x := g.Placeholder("x")
			view := g.CallMethod("type_as", []ir.Arg{g.CallFunction(ir.OverloadOf(lazy), []ir.Arg{x}), x})
			half := g.CallFunction(getitem, []ir.Arg{g.CallMethod("chunk", []ir.Arg{g.CallMethod("reshape", []ir.Arg{view, ir.Int(-1)}), ir.Int(2)}), ir.Int(0)})
			g.Output(g.CallMethod("fill_", []ir.Arg{half, ir.Int(7)}))
			gm := module(t, g, nil)
			a, b := called(t, "aten::clone", tensor(t, []float32{1, 2, 3, 4}, 2, 2)), called(t, "aten::clone", tensor(t, []float32{1, 2, 3, 4}, 2, 2))
			want, err := interpreter.New(gm).Run(t.Context(), a)
			require.NoError(t, err)
			got, err := compile(t, gm).Run(t.Context(), b)
			require.NoError(t, err)
			sameBits(t, want, got)
			sameBits(t, a, b)
			closeResult(want)
			closeResult(got)
		})
	}
}

// What autograd's layer refuses is refused by a plan, too.
func TestPlanRefusesToDetachViews(t *testing.T) {
	g := ir.NewGraph()
	g.Output(g.CallFunction(ir.OverloadOf("aten::detach_"), []ir.Arg{g.Placeholder("x")}))
	gm := module(t, g, nil)
	view := called(t, "aten::select.int", tensor(t, []float32{1, 2, 3, 4}, 2, 2), 0, 0)
	_, want := interpreter.New(gm).Run(t.Context(), view)
	require.ErrorContains(t, want, "Can't detach views in-place")
	_, err := compile(t, gm).Run(t.Context(), view)
	assert.EqualError(t, err, want.Error())
}
