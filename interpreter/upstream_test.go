package interpreter_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// What torch.fx's Interpreter says of itself, member by member; runs over time and
// errors are in torchfx_test.go.

// pytree is lambda x: {"s": x["a"] + x["b"]}, traced with both keys symbolic.
func pytree(t *testing.T) *ir.GraphModule {
	g := ir.NewGraph()
	a, b := g.Placeholder("x_1"), g.Placeholder("x_2")
	g.Output(ir.ListOf(g.CallFunction(add, []ir.Arg{a, b})))
	dict := func(keys ...any) *ir.TreeSpec {
		s := &ir.TreeSpec{Type: "builtins.dict", Keys: keys}
		for range keys {
			s.Children = append(s.Children, ir.Leaf())
		}
		return s
	}
	g.SetCodeGen(ir.PyTreeCodeGen{Args: []string{"x"}, In: ir.TupleSpec(dict("a", "b")), Out: dict("s")})
	return module(t, g, nil)
}

// enable_io_processing: the code generator sees arguments and result, or neither;
// of a boxed run it sees the result.
func TestInputsAndOutputsAreProcessed(t *testing.T) {
	in := interpreter.New(pytree(t))
	out, err := in.Run(t.Context(), map[string]any{"a": int64(1), "b": int64(2)})
	require.NoError(t, err)
	sum, _ := out.(*ir.PyDict).Get("s")
	assert.Equal(t, int64(3), sum)

	out, err = in.RunWith(t.Context(), interpreter.Options{RawIO: true}, int64(1), int64(2))
	require.NoError(t, err)
	assert.Equal(t, []any{int64(3)}, out)

	args := []any{int64(1), int64(2)}
	out, err = in.RunBoxed(t.Context(), &args)
	require.NoError(t, err)
	sum, _ = out.(*ir.PyDict).Get("s")
	assert.Equal(t, int64(3), sum)
	assert.Nil(t, args)
}

// initial_env: a placeholder that is known takes no argument.
func TestGivenPlaceholderTakesNoArgument(t *testing.T) {
	gm := polynomial(t)
	env := map[*ir.Node]any{gm.Graph().Lookup("x"): int64(10)}
	out, err := interpreter.New(gm).RunWith(t.Context(), interpreter.Options{Env: env}, int64(4))
	require.NoError(t, err)
	assert.Equal(t, int64(141), out)
}

// A values handler looks at a run from the node that it stands at.
type values struct {
	interpreter.Default
	see func(r *interpreter.Run)
}

func (v values) Output(r *interpreter.Run, target string, args []any, kwargs []torch.Kwarg) (any, error) {
	v.see(r)
	return v.Default.Output(r, target, args, kwargs)
}

// map_nodes_to_values, fetch_args_kwargs_from_env: values in the places of nodes,
// at any depth; a node without a value is named with the one that asks.
func TestMapNodesToValues(t *testing.T) {
	gm := polynomial(t)
	g := gm.Graph()
	last, freed := g.Lookup("add_1"), g.Lookup("x")
	look := func(r *interpreter.Run) {
		v, err := r.Resolve(ir.TupleOf(last, ir.DictOf(ir.Pair{Key: ir.Str("k"), Value: ir.ListOf(last, ir.Int(2))}), ir.Slice{Start: last, Stop: ir.None{}, Step: ir.None{}}))
		require.NoError(t, err)
		tuple := v.(ir.PyTuple)
		assert.Equal(t, int64(22), tuple[0])
		inside, _ := tuple[1].(*ir.PyDict).Get("k")
		assert.Equal(t, []any{int64(22), int64(2)}, inside)
		assert.Equal(t, ir.Slice{Start: ir.Int(22), Stop: ir.None{}, Step: ir.None{}}, tuple[2])
		args, kwargs, err := r.Args(r.Node())
		require.NoError(t, err)
		assert.Equal(t, []any{int64(22)}, args)
		assert.Empty(t, kwargs)
		for _, n := range []*ir.Node{freed, ir.NewGraph().Placeholder("x")} {
			_, err = r.Resolve(ir.ListOf(n))
			assert.EqualError(t, err, "Node output referenced nonexistent value x! Run Graph.lint() to diagnose such issues")
			assert.ErrorIs(t, err, ir.ErrRuntime)
		}
	}
	_, err := interpreter.New(gm, interpreter.WithHandler(values{see: look})).Run(t.Context(), int64(3), int64(4))
	require.NoError(t, err)
}

// fetch_attr: the error names the path up to the first piece that is not there.
func TestFetchAttr(t *testing.T) {
	g := ir.NewGraph()
	g.Output(g.GetAttr("a.w"))
	gm := module(t, g, map[string]any{"a.w": int64(7)})
	look := func(r *interpreter.Run) {
		v, err := r.Attr("a.w")
		require.NoError(t, err)
		assert.Equal(t, int64(7), v)
		for path, missing := range map[string]string{"a.b.c": "a.b", "b": "b", "a.w.q": "a.w.q", "b.c": "b"} {
			_, err = r.Attr(path)
			assert.EqualError(t, err, "Node referenced nonexistent target "+missing)
			assert.ErrorIs(t, err, ir.ErrRuntime)
		}
	}
	_, err := interpreter.New(gm, interpreter.WithHandler(values{see: look})).Run(t.Context())
	require.NoError(t, err)
}

// The progress bar is the caller's: a run tells how far it is, also where values
// are given, and nodes of graphs inside do not count.
func TestOnProgress(t *testing.T) {
	gm := polynomial(t)
	type step struct{ done, total int }
	var seen []step
	in := interpreter.New(gm, interpreter.OnProgress(func(done, total int) { seen = append(seen, step{done, total}) }))
	_, err := in.Run(t.Context(), int64(3), int64(4))
	require.NoError(t, err)
	assert.Equal(t, []step{{0, 6}, {1, 6}, {2, 6}, {3, 6}, {4, 6}, {5, 6}, {6, 6}}, seen)

	g := ir.NewGraph()
	x := g.Placeholder("x")
	g.Output(g.CallModule("inner", []ir.Arg{x, x}))
	outer := module(t, g, map[string]any{"inner": gm})
	seen = nil
	in = interpreter.New(outer, interpreter.OnProgress(func(done, total int) { seen = append(seen, step{done, total}) }))
	_, err = in.Run(t.Context(), int64(3))
	require.NoError(t, err)
	assert.Equal(t, []step{{0, 3}, {1, 3}, {2, 3}, {3, 3}}, seen)
}
