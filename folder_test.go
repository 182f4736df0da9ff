package torchfx_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx"
	"github.com/torchfx-go/torchfx/export"
	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	"github.com/torchfx-go/torchfx/operator"
	torch "github.com/torchfx-go/torchfx/torchops"
	"github.com/torchfx-go/torchfx/tracer"
)

// inner is traced by itself and called as a graph module.
type inner struct {
	nn.Base `forward:"x"`
	Lin     *nn.Linear
	Shift   *torch.Tensor `nn:",buffer"`
}

func (m *inner) Forward(x *torch.Tensor) *torch.Tensor {
	return operator.Add(m.Lin.Forward(x), m.Shift)
}

type outer struct {
	nn.Base `forward:"x"`
	Gain    *torch.Tensor
	Body    *nn.Sequential
	Attend  *nn.MultiheadAttention
	Drop    *nn.Dropout
	Head    *nn.Linear
}

func (m *outer) Forward(x *torch.Tensor) *torch.Tensor {
	x = m.Body.Forward(operator.Mul(x, m.Gain))
	x, _ = m.Attend.Forward(x, x, x)
	return m.Head.Forward(m.Drop.Forward(x))
}

// nested is a graph module with parameters, a buffer, layers at several depths,
// one whose repr does not tell how it is made, and a graph module as a child.
func nested(t *testing.T) *ir.GraphModule {
	t.Helper()
	require.NoError(t, torch.ManualSeed(3))
	gain, err := nn.NewParameter(torch.Rand(1, 4))
	require.NoError(t, err)
	gm, err := torchfx.SymbolicTrace(&outer{
		Gain: gain, Body: nn.NewSequential(nn.NewLinear(4, 4), nn.NewSequential(nn.NewLayerNorm(4), nn.NewGELU(nn.WithApproximate("tanh")))),
		Attend: nn.NewMultiheadAttention(4, 2), Drop: nn.NewDropout(nn.WithP(0.25)), Head: nn.NewLinear(4, 3),
	})
	require.NoError(t, err)
	sub, err := torchfx.SymbolicTrace(&inner{Lin: nn.NewLinear(3, 3), Shift: torch.Rand(3)})
	require.NoError(t, err)
	require.True(t, gm.AddSubmodule("after", sub))
	g := gm.Graph()
	out, err := g.OutputNode()
	require.NoError(t, err)
	restore, err := g.InsertBefore(out)
	require.NoError(t, err)
	call := g.CallModule("after", []ir.Arg{out.Arg(0)})
	restore()
	out.SetArgs(call)
	require.NoError(t, g.Lint())
	nn.Train(must(gm.Attr("drop")).(nn.Module), false)
	return gm
}

func must(v any, ok bool) any {
	if !ok {
		panic("no such attribute")
	}
	return v
}

func run(t *testing.T, gm *ir.GraphModule, args ...any) []byte {
	t.Helper()
	out, err := interpreter.New(gm).Run(t.Context(), args...)
	require.NoError(t, err)
	data, err := out.(*torch.Tensor).Bytes()
	require.NoError(t, err)
	return data
}

// A graph module with live tensors and layers goes to a folder and comes back: it
// has the same code and computes the same bits.
func TestFolderOfLiveModules(t *testing.T) {
	testenv.Libtorch(t)
	gm := nested(t)
	x := torch.Rand(2, 5, 4)
	want := run(t, gm, x)
	t.Chdir(t.TempDir())
	require.NoError(t, torchfx.ToFolder(gm, "saved", "Saved"))
	assert.Same(t, gm, gm.Graph().Owner(), "the module keeps its graph")
	for round := range 2 {
		again, warnings, err := torchfx.LoadFolder("saved")
		require.NoError(t, err)
		assert.Empty(t, warnings)
		assert.Equal(t, "Saved", again.ClassName())
		code, err := again.Code()
		require.NoError(t, err)
		wantCode, err := gm.Code()
		require.NoError(t, err)
		assert.Equal(t, wantCode, code)
		assert.Equal(t, want, run(t, again, x), "round %d", round)
		assert.IsType(t, (*ir.GraphModule)(nil), must(again.Attr("after")))
		assert.True(t, must(again.Attr("gain")).(*torch.Tensor).RequiresGrad())
		assert.False(t, must(must(again.Attr("after")).(*ir.GraphModule).Attr("shift")).(*torch.Tensor).RequiresGrad())
		assert.False(t, must(again.Attr("drop")).(*nn.Dropout).Training())
		require.NoError(t, torchfx.ToFolder(again, "saved", "Saved"))
	}
}

// Parameters in lists and dicts go to a folder and come back.
func TestFolderOfParameters(t *testing.T) {
	testenv.Libtorch(t)
	item := func(g *ir.Graph, v *ir.Node, key ir.Arg) *ir.Node {
		return g.CallFunction(ir.FuncOf("operator.getitem"), []ir.Arg{v, key})
	}
	g := ir.NewGraph()
	x := g.Placeholder("x")
	sum := g.CallFunction(ir.FuncOf("torch.add"), []ir.Arg{x, item(g, g.GetAttr("ws"), ir.Int(-1))})
	g.Output(g.CallFunction(ir.FuncOf("torch.mul"), []ir.Arg{sum, item(g, g.GetAttr("box.named"), ir.Str("b"))}))
	named := &nn.ParameterDict{}
	named.Set("b", torch.Full([]int{2}, 3.0))
	gm, err := ir.NewGraphModule(map[string]any{
		"ws":        nn.NewParameterList(torch.Ones(1), torch.Full([]int{2}, 2.0, torch.Kw("dtype", torch.Float64))),
		"box.named": named, "none": nn.NewParameterList(),
	}, g)
	require.NoError(t, err)
	in := torch.Ones(2)
	want := run(t, gm, in)
	t.Chdir(t.TempDir())
	for range 2 {
		require.NoError(t, torchfx.ToFolder(gm, "saved", "Saved"))
		again, warnings, err := torchfx.LoadFolder("saved")
		require.NoError(t, err)
		assert.Empty(t, warnings)
		assert.Equal(t, want, run(t, again, in))
		assert.Equal(t, 2, must(again.Attr("ws")).(*nn.ParameterList).Len())
		assert.True(t, must(again.Attr("box.named")).(*nn.ParameterDict).Get("b").RequiresGrad())
		plan, err := interpreter.Compile(again)
		require.NoError(t, err)
		out, err := plan.Run(t.Context(), in)
		require.NoError(t, err)
		data, err := out.(*torch.Tensor).Bytes()
		require.NoError(t, err)
		assert.Equal(t, want, data)
		require.NoError(t, plan.Close())
		gm = again
	}
}

func TestToFolderRefusesParametersOfInts(t *testing.T) {
	testenv.Libtorch(t)
	g := ir.NewGraph()
	g.Output(g.GetAttr("ws"))
	gm, err := ir.NewGraphModule(map[string]any{"ws": nn.NewParameterList(torch.Full([]int{2}, 3))}, g)
	require.NoError(t, err)
	err = torchfx.ToFolder(gm, filepath.Join(t.TempDir(), "saved"), "Saved")
	require.ErrorIs(t, err, ir.ErrValue)
	assert.ErrorContains(t, err, "attribute ws: 0: expected a parameter of numbers that have gradients, got torch.int64")
}

// What Python wrote runs here and gives Python's result.
func TestFoldersOfPythonRun(t *testing.T) {
	testenv.Libtorch(t)
	dir := filepath.Join(testenv.Fixtures(t, "fx"), "fold_folder_nested", "folder")
	gm, warnings, err := torchfx.LoadFolder(dir)
	require.NoError(t, err)
	assert.Empty(t, warnings)
	_, ok := gm.Attr("features.0")
	assert.True(t, ok)
	x := torch.Ones(2, 2)
	first := run(t, gm, x)
	t.Chdir(t.TempDir())
	require.NoError(t, torchfx.ToFolder(gm, "again", "Nested"))
	gm, _, err = torchfx.LoadFolder("again")
	require.NoError(t, err)
	assert.Equal(t, first, run(t, gm, x))
}

type leafNet struct {
	nn.Base `forward:"x"`
	Inner   *inner
}

func (m *leafNet) Forward(x *torch.Tensor) *torch.Tensor { return nn.Call(m.Inner, x) }

func TestToFolderRefusesGoModules(t *testing.T) {
	testenv.Libtorch(t)
	gm, err := torchfx.SymbolicTrace(&leafNet{Inner: &inner{Lin: nn.NewLinear(3, 3), Shift: torch.Rand(3)}},
		tracer.IsLeaf(func(nn.Module, string) bool { return true }))
	require.NoError(t, err)
	dir := filepath.Join(t.TempDir(), "d")
	err = torchfx.ToFolder(gm, dir, "M")
	require.ErrorIs(t, err, ir.ErrUnsupported)
	require.ErrorContains(t, err, "attribute inner: expected a module of package nn, got github.com/torchfx-go/torchfx_test.inner, which is Go code: trace through it")
	require.NoDirExists(t, dir)
}

func TestStateFiles(t *testing.T) {
	testenv.Libtorch(t)
	dir := t.TempDir()
	from := nn.NewSequential(nn.NewLinear(2, 3), nn.NewBatchNorm1d(3))
	for _, name := range []string{"state.safetensors", "state.pt"} {
		path := filepath.Join(dir, name)
		require.NoError(t, torchfx.SaveState(path, from))
		to := nn.NewSequential(nn.NewLinear(2, 3), nn.NewBatchNorm1d(3))
		missed, err := torchfx.LoadState(to, path)
		require.NoError(t, err)
		assert.Empty(t, missed)
		for key, x := range nn.StateDict(from) {
			y, _ := nn.Lookup(to, key)
			a, err := x.Bytes()
			require.NoError(t, err)
			b, err := y.(*torch.Tensor).Bytes()
			require.NoError(t, err)
			assert.Equal(t, a, b, key)
		}
		_, err = torchfx.LoadState(nn.NewLinear(2, 3), path)
		require.ErrorContains(t, err, `Missing key(s) in state_dict: "weight", "bias". `)
	}
	two := nn.NewModuleDict()
	_, err := torchfx.LoadState(two, filepath.Join("export", "testdata", "torchsave", "legacy_state_dict.pt"))
	require.ErrorContains(t, err, "Unexpected key(s) in state_dict: ", "files from before torch 1.6 are read, too")
	_, err = torchfx.LoadState(from, filepath.Join(dir, "none.pt"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

// Whole modules that Python pickled run here.
func TestLoadModule(t *testing.T) {
	testenv.Libtorch(t)
	saved := filepath.Join("export", "testdata", "torchsave")
	m, err := torchfx.LoadModule(filepath.Join(saved, "graph_module_nested.pt"))
	require.NoError(t, err)
	assert.IsType(t, (*ir.GraphModule)(nil), m)
	require.NoError(t, interpreter.Check(m.(*ir.GraphModule)))
	m, err = torchfx.LoadModule(filepath.Join(saved, "layers.pt"))
	require.ErrorContains(t, err, "2: expected a module of one tensor and one result in a Sequential, got LSTM")
	assert.Nil(t, m)
}

// Weights that layers share in Python are one tensor here, and in what is written.
func TestLoadModuleKeepsTies(t *testing.T) {
	testenv.Libtorch(t)
	v, err := torchfx.LoadModule(filepath.Join("export", "testdata", "torchsave", "tied.pt"))
	require.NoError(t, err)
	m := v.(nn.Module)
	first, _ := nn.Lookup(m, "0.weight")
	second, _ := nn.Lookup(m, "2.weight")
	assert.Same(t, first, second)
	bias, _ := nn.Lookup(m, "0.bias")
	other, _ := nn.Lookup(m, "2.bias")
	assert.NotSame(t, bias, other)

	path := filepath.Join(t.TempDir(), "state.pt")
	require.NoError(t, torchfx.SaveState(path, m))
	f, err := export.OpenState(path)
	require.NoError(t, err)
	defer f.Close()
	assert.Same(t, f.Tensors["0.weight"].Storage, f.Tensors["2.weight"].Storage)
	assert.NotSame(t, f.Tensors["0.bias"].Storage, f.Tensors["2.bias"].Storage)
}
