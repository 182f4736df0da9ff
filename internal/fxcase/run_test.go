package fxcase_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/fxcase"
	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/operator"
	torch "github.com/torchfx-go/torchfx/torchops"
	"github.com/torchfx-go/torchfx/tracer"
)

// The programs about running a graph.

var background = context.Background()

func full(value float64, n int) *torch.Tensor { return torch.Full([]int{n}, value) }

// floats are the elements of a tensor of one dimension.
func floats(t *testing.T, v any) []float64 {
	t.Helper()
	x, ok := v.(*torch.Tensor)
	require.True(t, ok, "expected a tensor, got %T", v)
	data, err := torch.Data[float32](x)
	require.NoError(t, err)
	out := make([]float64, len(data))
	for i, f := range data {
		out[i] = float64(f)
	}
	return out
}

// Values that nobody reads are freed here after their node, there at the end: relu
// is in none of the environments, unless all values are kept.
func TestInterpEnvAndGc(t *testing.T) {
	c := fxcase.Open(t, "interp_env_and_gc")
	testenv.Libtorch(t)
	gm := c.Same(trace(func(x, y *torch.Tensor) *torch.Tensor {
		a := add(x, y)
		b := mul(a, 2)
		torch.Relu(b)
		return sub(b, a)
	}, "x, y=3"))
	g := gm.Graph()
	type event = []any
	run := func(env map[*ir.Node]any, args ...any) (events []event, result []float64) {
		log := interpreter.Around(interpreter.Default{}, func(r *interpreter.Run, n *ir.Node, run func() (any, error)) (any, error) {
			there := []string{}
			for m := range g.Nodes() {
				if _, ok := r.Value(m); ok {
					there = append(there, m.Name())
				}
			}
			v, err := run()
			events = append(events, event{n.Name(), there})
			return v, err
		})
		out, err := interpreter.New(gm, interpreter.WithHandler(log)).RunWith(background, interpreter.Options{Env: env}, args...)
		require.NoError(t, err)
		return events, floats(t, out)
	}
	var want struct {
		Result, Partial []float64
		Events          []event
		PartialEvents   []event  `json:"partial_events"`
		KeepEnv         []string `json:"keep_env"`
	}
	c.Recorded(&want)
	without := func(events []event, names ...string) (out []event) {
		for _, e := range events {
			there := []string{}
			for _, name := range e[1].([]any) {
				if !slices.Contains(names, name.(string)) {
					there = append(there, name.(string))
				}
			}
			slices.Sort(there)
			out = append(out, event{e[0], there})
		}
		return out
	}
	sorted := func(events []event) []event {
		for _, e := range events {
			slices.Sort(e[1].([]string))
		}
		return events
	}
	events, result := run(nil, full(1, 2))
	assert.Equal(t, without(want.Events, "relu"), sorted(events))
	assert.Equal(t, want.Result, result)
	events, result = run(map[*ir.Node]any{g.Lookup("mul"): full(10, 2)}, full(1, 2))
	// what was given is there from its place in the graph on
	for i := range 3 {
		want.PartialEvents[i][1] = slices.DeleteFunc(want.PartialEvents[i][1].([]any), func(v any) bool { return v == "mul" })
	}
	assert.Equal(t, without(want.PartialEvents, "relu"), sorted(events))
	assert.Equal(t, want.Partial, result)

	kept := map[*ir.Node]any{}
	_, err := interpreter.New(gm, interpreter.KeepValues()).RunWith(background, interpreter.Options{Env: kept}, full(1, 2), full(1, 2))
	require.NoError(t, err)
	var names []string
	for n := range g.Nodes() {
		if _, ok := kept[n]; ok {
			names = append(names, n.Name())
		}
	}
	assert.Equal(t, want.KeepEnv, names)
}

// The hint of upstream's errors at a tool of its own is left out, and beside what
// it says the errors tell the arguments.
func TestInterpErrors(t *testing.T) {
	c := fxcase.Open(t, "interp_errors")
	testenv.Libtorch(t)
	gm := c.Same(trace(func(x, y *torch.Tensor) *torch.Tensor { return add(torch.Relu(x).View(7), y) }, "x, y"))
	run := func(args ...any) error {
		_, err := interpreter.New(gm).RunWith(background, interpreter.Options{RawIO: true}, args...)
		return err
	}
	boxed := func(args ...any) error {
		_, err := interpreter.New(gm).RunBoxed(background, &args)
		return err
	}
	var want struct{ Errors []step }
	c.Recorded(&want)
	check := func(i int, err error) {
		t.Helper()
		text, _, _ := strings.Cut(want.Errors[i][1].(string), "\nUse tlparse")
		for _, part := range strings.SplitAfterN(text, "\n\nWhile", 2) {
			fxcase.SameError(t, want.Errors[i][0].(string), strings.TrimSuffix(part, "While"), err)
		}
	}
	check(0, run(full(1, 2)))
	check(1, run(full(1, 2), 1))
	check(2, boxed(1))
	check(3, boxed(1, 2, 3))
	// the frames are those of the node at hand: upstream prints None here
	gm.Graph().Lookup("relu").Meta().Set(ir.MetaStackTrace, "File \"model.py\", line 3, in forward\n    y = torch.relu(x)")
	err := run("text", 1)
	fxcase.SameError(t, "TypeError", want.Errors[5][1].(string), err)
	assert.ErrorContains(t, err, "While executing %relu : [num_users=1] = call_function[target=torch.relu](args = (%x,), kwargs = {})\nOriginal traceback:\nFile")
	_, err = interpreter.New(gm, interpreter.WithHandler(interpreter.Around(interpreter.Default{},
		func(r *interpreter.Run, _ *ir.Node, _ func() (any, error)) (any, error) { return r.Attr("a.b") }))).Run(background, 1, 2)
	fxcase.SameError(t, want.Errors[6][0].(string), want.Errors[6][1].(string), err)
}

func TestInterpStarAndDefaults(t *testing.T) {
	c := fxcase.Open(t, "interp_star_and_defaults")
	testenv.Libtorch(t)
	stars, err := trace(func(x *torch.Tensor, args, kw torch.Value) any {
		return sub(add(x, args.Index(1).Tensor()), kw.Index(0).Tensor())
	}, "x, *args, **kw")
	require.NoError(t, err)
	var want struct {
		Star              []string
		Defaults, Surplus []float64
	}
	c.Recorded(&want)
	raw := func(gm *ir.GraphModule, args ...any) (any, error) {
		return interpreter.New(gm).RunWith(background, interpreter.Options{RawIO: true}, args...)
	}
	_, err = raw(stars, full(1, 1), full(1, 1), full(4, 1))
	for _, part := range strings.SplitAfterN(strings.SplitN(want.Star[1], "\nUse tlparse", 2)[0], "\n\nWhile", 2) {
		fxcase.SameError(t, want.Star[0], strings.TrimSuffix(part, "While"), err)
	}
	gm := c.Same(trace(func(a, b, c *torch.Tensor) *torch.Tensor { return mul(a, b) }, "a, b=2, c=None"))
	out, err := raw(gm, full(1, 1))
	require.NoError(t, err)
	assert.Equal(t, want.Defaults, floats(t, out))
	out, err = raw(gm, full(1, 1), 3, 4, 5, 6)
	require.NoError(t, err)
	assert.Equal(t, want.Surplus, floats(t, out))
}

func TestInterpPytree(t *testing.T) {
	c := fxcase.Open(t, "interp_pytree")
	testenv.Libtorch(t)
	gm := c.Same(trace(func(x map[string]*torch.Tensor) any {
		d := &ir.PyDict{}
		d.Set("s", operator.Add(x["a"], x["b"]))
		d.Set("l", []any{x["a"]})
		return d
	}, "x", tracer.Concrete(map[string]any{"x": map[string]any{"a": tracer.PH, "b": tracer.PH}})))
	a, b := full(1, 1), full(1, 1)
	d := &ir.PyDict{}
	d.Set("a", a)
	d.Set("b", b)
	in := interpreter.New(gm)
	out, err := in.Run(background, d)
	require.NoError(t, err)
	raw, err := in.RunWith(background, interpreter.Options{RawIO: true}, a, b)
	require.NoError(t, err)
	boxedArgs := []any{full(1, 1), full(1, 1)}
	boxed, err := in.RunBoxed(background, &boxedArgs)
	require.NoError(t, err)
	texts := func(v any) map[string]any {
		out := map[string]any{}
		for key, item := range v.(*ir.PyDict).All() {
			out[key.(string)] = text(item)
		}
		return out
	}
	var rawTexts []string
	for _, item := range raw.([]any) {
		rawTexts = append(rawTexts, text(item))
	}
	c.Result(map[string]any{"run": texts(out), "raw": rawTexts, "boxed": texts(boxed)})
}

// text is Python's str of a tensor, or of a list of one.
func text(v any) string {
	if items, ok := v.([]any); ok {
		return "[" + text(items[0]) + "]"
	}
	return fmt.Sprint(v)
}
