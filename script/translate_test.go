package script_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/script"
	torch "github.com/torchfx-go/torchfx/torchops"
)

func open(t *testing.T, name string) *script.Module {
	testenv.Libtorch(t)
	m, err := script.Open(filepath.Join("testdata", name+".pt"), ir.Device{})
	require.NoError(t, err)
	t.Cleanup(func() { m.Close() })
	return m
}

func matrix(t *testing.T, rows ...float32) *torch.Tensor {
	x, err := torch.From(rows, len(rows)/3, 3)
	require.NoError(t, err)
	return x
}

// counts is how often a graph and those inside of it call each higher-order operator.
func counts(gm *ir.GraphModule, into map[string]int) map[string]int {
	for n := range gm.Graph().Nodes() {
		if f := n.Func(); f != nil && f.Kind() == ir.HigherOrder {
			into[f.Base()]++
		}
	}
	for _, v := range gm.Attrs() {
		if inner, ok := v.(*ir.GraphModule); ok {
			counts(inner, into)
		}
	}
	return into
}

// uniqueParameters checks what Python asks of a function.
func uniqueParameters(t *testing.T, gm *ir.GraphModule) {
	t.Helper()
	names := map[string]bool{}
	for _, n := range gm.Graph().Find(ir.Placeholder, nil) {
		assert.False(t, names[n.Target().String()], n.Target())
		names[n.Target().String()] = true
	}
	for _, v := range gm.Attrs() {
		if inner, ok := v.(*ir.GraphModule); ok {
			uniqueParameters(t, inner)
		}
	}
}

// equal compares results, whatever they are made of.
func equal(t *testing.T, want, got any) {
	t.Helper()
	switch want := want.(type) {
	case *torch.Tensor:
		x, ok := got.(*torch.Tensor)
		require.True(t, ok, "%T", got)
		assert.Equal(t, want.DType(), x.DType())
		assert.Equal(t, want.Shape(), x.Shape())
		same, err := torch.Call("aten::equal", want, x)
		require.NoError(t, err)
		assert.Equal(t, true, same, "want %v, got %v", want, x)
	case ir.PyTuple:
		items, ok := got.(ir.PyTuple)
		require.True(t, ok, "%T", got)
		require.Len(t, items, len(want))
		for i := range want {
			equal(t, want[i], items[i])
		}
	case *ir.PyDict:
		d, ok := got.(*ir.PyDict)
		require.True(t, ok, "%T", got)
		assert.Equal(t, want.Len(), d.Len())
		for k, v := range want.All() {
			x, ok := d.Get(k)
			require.True(t, ok, "%v", k)
			equal(t, v, x)
		}
	default:
		assert.Equal(t, want, got)
	}
}

// Graphs compute what the programs do, also where these take another way than before.
func TestTranslate(t *testing.T) {
	testenv.Libtorch(t)
	up, down := matrix(t, 1, 2, 3, 0.5, -1, 2), matrix(t, -1, -2, -3, -0.5, 1, -2)
	long := matrix(t, 1, 0, -2, 3, 1, 1, -4, 0, 0, 1, 1, 1, 0, 0, -1)
	some := [][]any{{up}, {down}, {long}, {matrix(t, 9, 9, 9)}}
	image := func(sizes ...int) []any {
		v, err := torch.Call("aten::randn", sizes)
		require.NoError(t, err)
		return []any{v}
	}
	for _, c := range []struct {
		file, method string
		flow         map[string]int
		inputs       [][]any
	}{
		{"traced", "forward", map[string]int{}, [][]any{{up}, {long}}},
		{"convolutions", "forward", map[string]int{}, [][]any{image(2, 2, 4, 4), image(5, 2, 4, 4)}},
		{"choice", "forward", map[string]int{"cond": 1}, some},
		{"loop", "forward", map[string]int{"while_loop": 1, "cond": 4}, [][]any{image(5, 2, 3), image(2, 4, 3), image(101, 1, 3)}},
		{"flow", "forward", map[string]int{"cond": 1}, some},
		{"flow", "counted", map[string]int{"while_loop": 1}, [][]any{{up, 3}, {down, 0}, {long, 7}}},
		{"flow", "whiled", map[string]int{"while_loop": 1}, some},
		{"flow", "nested", map[string]int{"while_loop": 2, "cond": 1}, some},
		{"flow", "early", nil, some},
		{"flow", "lists", map[string]int{}, some},
		{"flow", "named", map[string]int{}, some},
		{"flow", "inplace", map[string]int{}, some},
		{"flow", "broken", nil, some},
		{"flow", "optional", map[string]int{"cond": 1}, [][]any{{up}, {up, down}, {long, nil}}},
	} {
		t.Run(c.file+"."+c.method, func(t *testing.T) {
			m := open(t, c.file)
			gm, err := m.Translate(c.method)
			require.NoError(t, err)
			require.NoError(t, gm.Graph().Lint())
			if c.flow != nil {
				assert.Equal(t, c.flow, counts(gm, map[string]int{}))
			}
			uniqueParameters(t, gm)
			for _, in := range c.inputs {
				want, err := m.Run(context.Background(), c.method, in...)
				require.NoError(t, err)
				got, err := interpreter.New(gm).Run(context.Background(), in...)
				require.NoError(t, err, "%v", gm.Graph())
				equal(t, want, got)
			}
		})
	}
}

// What is fixed is known: loops unroll, conditions are decided.
func TestTranslateFixed(t *testing.T) {
	m := open(t, "flow")
	x := matrix(t, 1, 2, 3)
	gm, err := m.Translate("counted", torch.Kw("n", 4))
	require.NoError(t, err)
	assert.Empty(t, counts(gm, map[string]int{}))
	want, err := m.Run(context.Background(), "counted", x, 4)
	require.NoError(t, err)
	got, err := interpreter.New(gm).Run(context.Background(), x)
	require.NoError(t, err)
	equal(t, want, got)

	gm, err = m.Translate("optional", torch.Kw("y", nil))
	require.NoError(t, err)
	assert.Empty(t, counts(gm, map[string]int{}))
	_, err = m.Translate("optional", torch.Kw("z", nil))
	require.ErrorIs(t, err, ir.ErrType)
}

// Parameters keep their names, and the program stays as it is.
func TestTranslateNames(t *testing.T) {
	m := open(t, "convolutions")
	gm, err := m.Translate("forward")
	require.NoError(t, err)
	var names []string
	for name := range gm.Attrs() {
		names = append(names, name)
	}
	assert.ElementsMatch(t, []string{
		"conv.weight", "conv.bias", "norm.weight", "norm.bias", "norm.running_mean", "norm.running_var",
		"fc.weight", "fc.bias", "blocks.0.weight", "blocks.0.bias", "blocks.1.weight", "blocks.1.bias",
	}, names)
}

// A check that raises is one of the graph.
func TestTranslateRaises(t *testing.T) {
	m := open(t, "flow")
	gm, err := m.Translate("early")
	require.NoError(t, err)
	_, err = interpreter.New(gm).Run(context.Background(), torch.Ones(3))
	require.ErrorContains(t, err, "expected a matrix, got {} dimensions")
}

func TestTranslateRefuses(t *testing.T) {
	m := open(t, "refused")
	for method, want := range map[string][]string{
		"forward":  {"prim::SetAttr: the code sets the attribute state"},
		"prints":   {"prim::Print at ", "record_script.py:", "a graph does not print"},
		"grows":    {"aten::append.t at ", "it changes a list or dict that was made outside of the condition or loop"},
		"backward": {"expected one of the methods"},
	} {
		t.Run(method, func(t *testing.T) {
			_, err := m.Translate(method)
			require.Error(t, err)
			for _, text := range want {
				require.ErrorContains(t, err, text)
			}
			if method != "backward" {
				require.ErrorIs(t, err, ir.ErrUnsupported)
				require.ErrorContains(t, err, "record a run instead, or export the model with torch.export")
			}
		})
	}
}

func ExampleModule_Translate() {
	m, err := script.Open("testdata/choice.pt", ir.Device{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer m.Close()
	gm, err := m.Translate("forward")
	if err != nil {
		fmt.Println(err)
		return
	}
	for n := range gm.Graph().Nodes() {
		if n.Op() == ir.CallFunction {
			fmt.Println(strings.TrimPrefix(n.Func().Name(), "torch.ops."))
		}
	}
	// Output:
	// aten.sum.default
	// aten.gt.Scalar
	// higher_order.cond
	// operator.getitem
}
