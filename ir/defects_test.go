package ir

import (
	"fmt"
	"log"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Nodes made after another in the order of their creation.
func TestInsertFrom(t *testing.T) {
	g, n := chain(2)
	neg := func() *Node { return g.CallFunction(FuncOf("torch.neg"), []Arg{n[0]}) }
	restore, err := g.InsertFrom(n[1])
	require.NoError(t, err)
	neg()
	second := neg()
	assert.Equal(t, []string{"x", "relu", "neg", "neg_1", "relu_1", "output"}, names(g))
	require.NoError(t, n[2].Append(second), "the point goes with the node that was made last")
	neg()
	assert.Equal(t, []string{"x", "relu", "neg", "relu_1", "neg_1", "neg_2", "output"}, names(g))
	restore()
	start, err := g.InsertFrom(nil)
	require.NoError(t, err)
	g.GetAttr("a")
	g.GetAttr("b")
	start()
	assert.Equal(t, "a", g.First().Name())
	assert.Equal(t, "b", g.First().Next().Name())
	_, other := chain(1)
	_, err = g.InsertFrom(other[1])
	require.ErrorIs(t, err, ErrAssertion)
	require.NoError(t, g.Lint())
}

func ExampleGraph_InsertFrom() {
	g := NewGraph()
	x := g.Placeholder("x")
	g.Output(x)
	restore, err := g.InsertFrom(x)
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range []string{"torch.relu", "torch.neg", "torch.abs"} {
		x = g.CallFunction(FuncOf(f), []Arg{x})
	}
	restore()
	g.Last().SetArgs(x)
	fmt.Println(g)
	// Output:
	// graph():
	//     %x : [num_users=1] = placeholder[target=x]
	//     %relu : [num_users=1] = call_function[target=torch.relu](args = (%x,), kwargs = {})
	//     %neg : [num_users=1] = call_function[target=torch.neg](args = (%relu,), kwargs = {})
	//     %abs_1 : [num_users=1] = call_function[target=torch.abs](args = (%neg,), kwargs = {})
	//     return abs_1
}

// A copy keeps all attributes and notes; how deep it goes is the caller's choice.
func TestCloneDeepOrShallow(t *testing.T) {
	g, n := chain(1)
	n[1].Meta().Set("list", []int{1})
	unused := &linear{}
	m, err := NewGraphModule(map[string]any{"unused": unused}, g)
	require.NoError(t, err)
	shallow := m.Clone()
	v, _ := shallow.Attr("unused")
	require.Same(t, unused, v)
	deep := m.Clone(CopyAttrs(func(_ string, v any) any { c := *v.(*linear); return &c }),
		CopyMeta(func(_ string, v any) any { return append([]int{}, v.([]int)...) }))
	v, _ = deep.Attr("unused")
	require.NotSame(t, unused, v)
	deep.Graph().Lookup("relu").Meta().Get("list").([]int)[0] = 7
	require.Equal(t, []int{1}, n[1].Meta().Get("list"))
	shallow.Graph().Lookup("relu").Meta().Get("list").([]int)[0] = 8
	require.Equal(t, []int{8}, n[1].Meta().Get("list"))
}

// The name None is reserved with and without an object, which torch.fx forgets.
func TestNoneIsNoName(t *testing.T) {
	g := NewGraph()
	require.Equal(t, "None_1", g.CallFunction(FuncOf("torch.neg"), nil, Name("None")).Name())
}

// A callable in an annotation is one global, where torch.fx fails.
func TestCallableAnnotation(t *testing.T) {
	g := NewGraph()
	g.Output(g.Placeholder("f", WithType("typing.Callable[[int], str]")))
	code, err := g.PythonCode("self")
	require.NoError(t, err)
	again, err := ParseCode(code.Source, WithGlobals(code.Globals...))
	require.NoError(t, err)
	require.Equal(t, code.Source, func() string { c, err := again.PythonCode("self"); require.NoError(t, err); return c.Source }())
}
