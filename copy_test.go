package torchfx_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx"
	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	"github.com/torchfx-go/torchfx/operator"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// tied uses one weight in two layers and by itself.
type tied struct {
	nn.Base `forward:"x"`
	A, B    *nn.Linear
	W       *torch.Tensor
}

func (m *tied) Forward(x *torch.Tensor) *torch.Tensor {
	return operator.Add(m.B.Forward(m.A.Forward(x)), m.W)
}

func newTied() *tied {
	m := &tied{A: nn.NewLinear(2, 2, nn.WithBias(false)), B: nn.NewLinear(2, 2, nn.WithBias(false))}
	m.B.Weight, m.W = m.A.Weight, m.A.Weight
	return m
}

// A deep copy computes the same, shares nothing, and ties what was tied.
func TestDeepCopy(t *testing.T) {
	testenv.Libtorch(t)
	gm, err := torchfx.SymbolicTrace(newTied())
	require.NoError(t, err)
	sub, err := torchfx.SymbolicTrace(newTied())
	require.NoError(t, err)
	gm.AddSubmodule("one", sub)
	gm.AddSubmodule("two", sub)
	gm.SetAttr("note", "kept")
	gm.Meta().Set("k", "v")
	created := 0
	gm.OnCreate(func(*ir.Node) { created++ })
	x := torch.Rand(2, 2)
	want := run(t, gm, x)

	c, err := torchfx.DeepCopy(gm)
	require.NoError(t, err)
	assert.Equal(t, want, run(t, c, x))
	require.NoError(t, ir.Equal(gm.Graph(), c.Graph()))
	weight := func(m *ir.GraphModule, path string) *torch.Tensor { return must(m.Attr(path)).(*nn.Linear).Weight }
	assert.NotSame(t, weight(gm, "a"), weight(c, "a"))
	assert.Same(t, weight(c, "a"), weight(c, "b"), "tied")
	assert.True(t, weight(c, "a").RequiresGrad())
	assert.Same(t, must(c.Attr("one")), must(c.Attr("two")), "one module in two places")
	assert.NotSame(t, sub, must(c.Attr("one")))
	assert.Equal(t, "kept", must(c.Attr("note")))
	assert.Equal(t, "v", c.Meta().Get("k"))

	_, err = torch.Call("aten::zero_", weight(c, "a"))
	require.NoError(t, err)
	assert.Equal(t, want, run(t, gm, x), "the original stays")
	before := created
	c.Graph().Placeholder("more")
	assert.Equal(t, before+1, created, "hooks come along")
	assert.Nil(t, gm.Graph().Lookup("more"))
}

// add_submodule, delete_submodule and delete_all_unused_submodules on live modules,
// as in fx.md: used are the prefixes of targets and all below a called module;
// tensors of the module itself stay.
func TestSubmodulesOfLiveModules(t *testing.T) {
	testenv.Libtorch(t)
	net := newTied()
	net.W = torch.Rand(2)
	gm, err := torchfx.SymbolicTrace(net)
	require.NoError(t, err)
	lin := nn.NewLinear(2, 2)
	assert.True(t, gm.AddSubmodule("deep.er.lin", lin))
	assert.True(t, gm.AddSubmodule("box", nn.NewSequential(nn.NewReLU())))
	assert.True(t, gm.AddSubmodule("box", nn.NewReLU()), "another in its place")
	assert.False(t, gm.AddSubmodule("w.sub", lin), "below a tensor")
	assert.False(t, gm.AddSubmodule("w", lin), "a tensor's name")
	gm.SetAttr("extra", torch.Rand(1))

	g := gm.Graph()
	out, err := g.OutputNode()
	require.NoError(t, err)
	restore, err := g.InsertBefore(out)
	require.NoError(t, err)
	out.SetArgs(g.CallModule("deep.er.lin", []ir.Arg{out.Arg(0)}))
	restore()
	require.NoError(t, g.Lint())

	gm.DeleteUnusedSubmodules()
	var paths []string
	for path := range gm.Attrs() {
		paths = append(paths, path)
	}
	assert.ElementsMatch(t, []string{"a", "b", "w", "deep.er.lin", "extra"}, paths)
	assert.True(t, gm.DeleteSubmodule("deep.er"), "with all below")
	_, ok := gm.Attr("deep.er.lin")
	assert.False(t, ok)
	assert.False(t, gm.DeleteSubmodule("deep.er"))
	assert.False(t, gm.DeleteSubmodule("w"), "a tensor is no module")
	require.Error(t, g.Lint(), "the call is left over")
}

func ExampleDeepCopy() {
	gm, err := torchfx.SymbolicTrace(func(x *torch.Tensor) *torch.Tensor { return torch.Relu(x) })
	if err != nil {
		fmt.Println(err)
		return
	}
	c, err := torchfx.DeepCopy(gm)
	if err != nil {
		fmt.Println(err)
		return
	}
	c.Graph().Lookup("relu").Rename("mine")
	fmt.Println(gm.Graph().Lookup("relu"), c.Graph().Lookup("mine"))
	// Output: relu mine
}
