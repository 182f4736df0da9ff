package interpreter_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// aten makes a call of an operator of ATen.
func aten(g *ir.Graph, name string, args ...ir.Arg) *ir.Node {
	return g.CallFunction(ir.OverloadOf("aten::"+name), args)
}

// A group does not reach out of a branch, which another run of the same shapes may
// not take.
func TestGroupsEndWithTheirBranch(t *testing.T) {
	needLibtorch(t)
	yes := ir.NewGraph()
	yes.Output(aten(yes, "sum", yes.Placeholder("x")))
	no := ir.NewGraph()
	x := no.Placeholder("x")
	aten(no, "add.Tensor", x, ir.Int(1)) // nobody reads it
	no.Output(aten(no, "sum", x))
	g := ir.NewGraph()
	pred, x := g.Placeholder("pred"), g.Placeholder("x")
	either := g.CallFunction(ir.FuncOf("torch.ops.higher_order.cond"), []ir.Arg{pred, g.GetAttr("yes"), g.GetAttr("no"), ir.ListOf(x)})
	y := aten(g, "mul.Tensor", aten(g, "sub.Tensor", x, ir.Int(3)), ir.Int(2))
	g.Output(ir.TupleOf(either, y))
	gm := module(t, g, map[string]any{"yes": module(t, yes, nil), "no": module(t, no, nil)})
	p := compile(t, gm, interpreter.PlanFuseAll())
	large := uniform(t, 64, 64)
	for _, taken := range []bool{false, true, false} {
		condition, err := torch.Scalar(taken, ir.Bool8)
		require.NoError(t, err)
		agreePlan(t, gm, p, condition, large)
		condition.Close()
	}
}

// A tensor of one element may be of any dtype.
func TestFusedWithOneElementOfAnyDType(t *testing.T) {
	needLibtorch(t)
	gm := chain(t, "add", "mul", "relu", "sub", "maximum")
	x := uniform(t, 40, 40)
	for _, d := range []ir.DType{ir.Float32, ir.Float64, ir.Int64, ir.Int32, ir.Int16, ir.Int8, ir.UInt8, ir.UInt16, ir.UInt32, ir.UInt64, ir.Bool8, ir.Float16, ir.BFloat16} {
		t.Run(d.String(), func(t *testing.T) {
			y, err := torch.Scalar(1, d)
			require.NoError(t, err)
			defer y.Close()
			p := compile(t, gm, interpreter.PlanFuseAll())
			agreePlan(t, gm, p, x, y)
		})
	}
}

// The NaN that one element becomes in the dtype of the others is the one of
// libtorch's conversion, which of a half has other bits than the processor's.
func TestFusedWithOneElementThatIsNaN(t *testing.T) {
	needLibtorch(t)
	gm := chain(t, "add", "sub", "add")
	x := uniform(t, 40, 40)
	for _, d := range []ir.DType{ir.Float16, ir.BFloat16, ir.Float32, ir.Float64} {
		for _, sign := range []float64{1, -1} {
			t.Run(fmt.Sprintf("%v %v", d, sign), func(t *testing.T) {
				y, err := torch.Scalar(math.Copysign(math.NaN(), sign), d)
				require.NoError(t, err)
				defer y.Close()
				want, err := interpreter.New(gm).Run(t.Context(), x, y)
				require.NoError(t, err)
				defer closeResult(want)
				p := compile(t, gm, interpreter.PlanFuseAll())
				for range 3 {
					got, err := p.Run(t.Context(), x, y)
					require.NoError(t, err)
					equalBits(t, gm, want.(*torch.Tensor), got.(*torch.Tensor))
					closeResult(got)
				}
			})
		}
	}
}

// Between runs a plan holds no argument.
func TestPlansHoldNoArguments(t *testing.T) {
	needLibtorch(t)
	g := ir.NewGraph()
	a, b := g.Placeholder("a"), g.Placeholder("b")
	g.Output(aten(g, "neg", aten(g, "relu", aten(g, "sub.Tensor", aten(g, "exp", aten(g, "pow.Tensor_Tensor", aten(g, "relu", a), b)), b))))
	gm := module(t, g, nil)
	p := compile(t, gm, interpreter.PlanFuseAll())
	x := uniform(t, 40, 40)
	for range 4 {
		released := false
		y, err := torch.FromMemory(make([]byte, 64), ir.Float32, []int{1}, nil, 4, func() { released = true })
		require.NoError(t, err)
		out, err := p.Run(t.Context(), x, y)
		require.NoError(t, err)
		closeResult(out)
		require.NoError(t, y.Close())
		assert.True(t, released)
	}
	text, err := p.Dump()
	require.NoError(t, err)
	assert.Contains(t, text, "kernel")
}

// Where a run turns a constant round, the shapes of the arguments do not say how large
// results are.
func TestConstantsThatARunTurnsRound(t *testing.T) {
	needLibtorch(t)
	g := ir.NewGraph()
	x, a := g.Placeholder("x"), g.GetAttr("a")
	turned := aten(g, "t_", a)
	y := aten(g, "neg", aten(g, "relu", aten(g, "mul.Tensor", turned, turned)))
	g.Output(ir.TupleOf(y, aten(g, "mul.Tensor", aten(g, "sum.dim_IntList", a, ir.IntList(0)), ir.Int(2)), aten(g, "neg", x)))
	want, got := module(t, g, map[string]any{"a": uniform(t, 30, 20)}), module(t, g, map[string]any{"a": uniform(t, 30, 20)})
	copied, _ := want.Attr("a")
	into, _ := got.Attr("a")
	_, err := torch.Call("aten::copy_", into, copied)
	require.NoError(t, err)
	arg := uniform(t, 3)
	p := compile(t, got, interpreter.PlanFuseAll())
	for range 5 {
		w, err := interpreter.New(want).Run(t.Context(), arg)
		require.NoError(t, err)
		v, err := p.Run(t.Context(), arg)
		require.NoError(t, err)
		sameBits(t, w, v)
		closeResult([]any{w, v})
	}
}

// A group is closed by what may see or change its operands: writes into them,
// other operators, results that are needed early, other shapes.
func TestGroupsEndWhereTheyHaveTo(t *testing.T) {
	needLibtorch(t)
	x, y := uniform(t, 64, 33), uniform(t, 64, 33)
	call := func(g *ir.Graph, name string, args ...ir.Arg) *ir.Node {
		return g.CallFunction(ir.OverloadOf("aten::"+name), args)
	}
	t.Run("a write between", func(t *testing.T) {
		g := ir.NewGraph()
		a, b := g.Placeholder("a"), g.Placeholder("b")
		copied := call(g, "clone", a)
		sum := call(g, "add.Tensor", copied, b)
		product := call(g, "mul.Tensor", sum, b)
		call(g, "fill_.Scalar", copied, ir.Int(7))
		late := call(g, "add.Tensor", copied, product)
		g.Output(call(g, "neg", late))
		gm, err := ir.NewGraphModule(nil, g)
		require.NoError(t, err)
		agree(t, gm, x, y)
	})
	t.Run("an operand that is freed between", func(t *testing.T) {
		g := ir.NewGraph()
		a, b := g.Placeholder("a"), g.Placeholder("b")
		first := call(g, "mm", a, call(g, "t", b))
		sum := call(g, "add.Tensor", first, ir.Float(1))
		other := call(g, "mm", first, first) // the last reader of first
		g.Output(ir.TupleOf(call(g, "mul.Tensor", call(g, "neg", sum), sum), other))
		gm, err := ir.NewGraphModule(nil, g)
		require.NoError(t, err)
		p := compile(t, gm)
		agreePlan(t, gm, p, x, y)
		text, err := p.Dump()
		require.NoError(t, err)
		assert.Contains(t, text, "fused at")
	})
}
