package interpreter_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// What torch.fx's own Interpreter did, from the recorded cases interp_env_and_gc,
// interp_errors and doc_interpreter_swap.

// envGraph is of
//
//	def f(x, y=3):
//	    a = x + y
//	    b = a * 2
//	    torch.relu(b)
//	    return b - a
func envGraph(t *testing.T) *ir.GraphModule {
	g := ir.NewGraph()
	x, y := g.Placeholder("x"), g.Placeholder("y", ir.Default(ir.Int(3)))
	a := g.CallFunction(add, []ir.Arg{x, y})
	b := g.CallFunction(mul, []ir.Arg{a, ir.Int(2)})
	g.CallFunction(ir.FuncOf("torch.relu"), []ir.Arg{b})
	g.Output(g.CallFunction(ir.FuncOf("operator.sub"), []ir.Arg{b, a}))
	return module(t, g, nil)
}

// watched runs a graph and returns the names of the values that are there after
// each node was run and before what it used last is freed.
func watched(t *testing.T, gm *ir.GraphModule, o interpreter.Options, args []any, opts ...interpreter.Option) ([]float32, [][]string) {
	var events [][]string
	h := interpreter.Around(interpreter.Default{}, func(r *interpreter.Run, n *ir.Node, run func() (any, error)) (any, error) {
		v, err := run()
		event := []string{n.Name()}
		for m := range gm.Graph().Nodes() {
			if _, ok := r.Value(m); ok {
				event = append(event, m.Name())
			}
		}
		events = append(events, event)
		return v, err
	})
	out, err := interpreter.New(gm, append(opts, interpreter.WithHandler(h))...).RunWith(t.Context(), o, args...)
	require.NoError(t, err)
	t.Cleanup(func() { closeResult(out) })
	return elements(t, out), events
}

func TestValuesOverTimeAreThoseOfTorchFX(t *testing.T) {
	needLibtorch(t)
	gm := envGraph(t)
	ones := tensor(t, []float32{1, 1}, 2)

	out, events := watched(t, gm, interpreter.Options{}, []any{ones})
	assert.Equal(t, []float32{4, 4}, out)
	assert.Equal(t, [][]string{
		{"x"}, {"y", "x"}, {"add", "x", "y"}, {"mul", "add"}, {"relu", "add", "mul"},
		{"sub", "add", "mul"}, // torch.fx keeps relu, which nobody reads, to the end
		{"output", "sub"},
	}, events)

	_, events = watched(t, gm, interpreter.Options{}, []any{ones, ones}, interpreter.KeepValues())
	assert.Equal(t, []string{"output", "x", "y", "add", "mul", "relu", "sub"}, events[len(events)-1])

	tens := tensor(t, []float32{10, 10}, 2)
	env := map[*ir.Node]any{gm.Graph().Lookup("mul"): tens}
	out, events = watched(t, gm, interpreter.Options{Env: env}, []any{ones})
	assert.Equal(t, []float32{6, 6}, out)
	ran := make([]string, len(events))
	for i, e := range events {
		ran[i] = e[0]
	}
	assert.Equal(t, []string{"x", "y", "add", "relu", "sub", "output"}, ran)
	assert.Equal(t, []float32{10, 10}, elements(t, tens), "a given value is lent")
}

// negSigmSwap is the example of the documentation of torch.fx.
type negSigmSwap struct{ interpreter.Default }

func (s negSigmSwap) CallFunction(r *interpreter.Run, fn *ir.Func, args []any, kwargs []torch.Kwarg) (any, error) {
	if fn == ir.FuncOf("torch.sigmoid") {
		fn = ir.FuncOf("torch.neg")
	}
	return s.Default.CallFunction(r, fn, args, kwargs)
}

func (s negSigmSwap) CallMethod(r *interpreter.Run, name string, args []any, kwargs []torch.Kwarg) (any, error) {
	if name == "neg" {
		name = "sigmoid"
	}
	return s.Default.CallMethod(r, name, args, kwargs)
}

// upstream: test_fx.TestFX.test_interpreter_onthefly_swap
func TestSwapOfTheDocumentation(t *testing.T) {
	needLibtorch(t)
	g := ir.NewGraph()
	sigmoid := g.CallFunction(ir.FuncOf("torch.sigmoid"), []ir.Arg{g.Placeholder("x")})
	g.Output(g.CallMethod("neg", []ir.Arg{sigmoid}))
	gm := module(t, g, nil)
	x := tensor(t, []float32{-2, -1, 0, 1, 2}, 5)
	leavesNothing(t, func() any {
		out, err := interpreter.New(gm, interpreter.WithHandler(negSigmSwap{})).Run(t.Context(), x)
		require.NoError(t, err)
		want := []float32{0.8807970285415649, 0.7310585975646973, 0.5, 0.2689414322376251, 0.11920291930437088}
		assert.InDeltaSlice(t, want, elements(t, out), 1e-6) // sigmoid rounds differently by processor
		return out
	})
}

func TestErrorsTellWhatTorchFXTells(t *testing.T) {
	needLibtorch(t)
	g := ir.NewGraph()
	x, y := g.Placeholder("x"), g.Placeholder("y")
	view := g.CallFunction(ir.OverloadOf("aten::view"), []ir.Arg{g.CallFunction(ir.FuncOf("torch.relu"), []ir.Arg{x}), ir.IntList(7)})
	g.Output(g.CallFunction(add, []ir.Arg{view, y}))
	in := interpreter.New(module(t, g, nil))
	ones := tensor(t, []float32{1, 1}, 2)
	tests := []struct {
		name  string
		args  []any
		class *ir.Class
		text  string // of Python, without the line about an outside tool
	}{
		{"missing argument", []any{ones}, ir.ErrRuntime, "Expected positional argument for parameter y, but one was not passed in!\n\n" +
			"While executing %y : [num_users=1] = placeholder[target=y]\nOriginal traceback:\nNone"},
		{"bad shape", []any{ones, 1}, ir.ErrRuntime, "shape '[7]' is invalid for input of size 2\n\n" +
			"While executing %view_default : [num_users=1] = call_function[target=torch.ops.aten.view.default](args = (%relu, [7]), kwargs = {})\nOriginal traceback:\nNone"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			_, err := in.Run(t.Context(), tc.args...)
			var node *interpreter.NodeError
			require.ErrorAs(t, err, &node)
			assert.ErrorIs(t, err, tc.class)
			assert.Equal(t, tc.text, node.Err.Error()+"\n\nWhile executing "+node.Text+"\nOriginal traceback:\nNone")
		})
	}
}
