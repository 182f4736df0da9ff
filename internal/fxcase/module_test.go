package fxcase_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/fxcase"
	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	"github.com/torchfx-go/torchfx/operator"
	torch "github.com/torchfx-go/torchfx/torchops"
	"github.com/torchfx-go/torchfx/tracer"
)

// The programs about graph modules.

// A step is a row of a recorded log: "ok" and warnings, or an error's type and
// text.
type step = []any

// errorsIn compares errors with the rows of a log, one for each.
func errorsIn(t *testing.T, log []step, errs ...error) {
	t.Helper()
	require.Len(t, errs, len(log))
	for i, row := range log {
		fxcase.SameError(t, row[0].(string), row[1].(string), errs[i])
	}
}

// Python's checks of the types of args and kwargs are the compiler's here, and
// there are no lists that could be changed; a find without a target finds all.
func TestEditEraseErrors(t *testing.T) {
	c := fxcase.Open(t, "edit_erase_errors")
	gm, err := trace(reluPlusOne, "x")
	require.NoError(t, err)
	other, err := trace(reluPlusOne, "x")
	require.NoError(t, err)
	g, n := gm.Graph(), byName(gm.Graph())
	var recorded struct{ Log []step }
	c.Recorded(&recorded)
	log := recorded.Log
	_, foreign := g.InsertBefore(other.Graph().First())
	errorsIn(t, log[:4], g.Erase(n["relu"]), other.Graph().Erase(n["output"]), foreign, n["relu"].Append(other.Graph().First()))

	var dead *ir.Node
	before(t, g, n["output"], func() { dead = g.CallMethod("neg", args(n["add"])) })
	require.NoError(t, g.Erase(dead))
	// what is a warning there is an error here, in the same words
	require.EqualError(t, g.Erase(dead), log[5][1].([]any)[0].(string))
	assert.Equal(t, log[6], step{ir.Repr(ir.TupleOf(dead.Args()...)), dead.Graph() == nil, dead.Name()})

	_, noFunction := g.CreateNode(ir.CallFunction, ir.Path("add"), nil)
	errorsIn(t, log[7:8], noFunction)
	_, noText := g.CreateNode(ir.CallMethod, torch.FnAdd, nil)
	graph, _, _ := strings.Cut(log[8][1].(string), "target <")
	fxcase.SameError(t, "ValueError", graph, noText)
	assert.ErrorContains(t, noText, "but a str is expected")
	_, unknown := ir.ParseOp("bad_op")
	errorsIn(t, log[9:10], unknown)
	errorsIn(t, log[12:14], n["add"].UpdateArg(5, ir.Int(1)), n["add"].InsertArg(9, ir.Int(1)))
	assert.Len(t, g.Find(ir.CallFunction, nil), 2)
	c.Same(gm, nil)
}

type addsWeight struct {
	nn.Base `forward:"x -> torch.Tensor"`
	W       *torch.Tensor
}

func (m *addsWeight) Forward(x *torch.Tensor) *torch.Tensor { return torch.Relu(add(x, m.W)) }

// A copy shares the tensors of the module: they are values of a caller's, and
// copying them is the caller's decision.
func TestEditDeepcopy(t *testing.T) {
	c := fxcase.Open(t, "edit_deepcopy")
	testenv.Libtorch(t)
	gm := c.Before(tracer.SymbolicTrace(&addsWeight{W: torch.Ones(2)}))
	gm.Meta().Set("k", []int{1})
	for n := range gm.Graph().Nodes() {
		n.Meta().Set("tag", n.Name())
	}
	copied := c.Same(gm.Clone(), nil)
	assert.Equal(t, []int{1}, copied.Meta().Get("k"))
	for n := range copied.Graph().Nodes() {
		assert.Equal(t, n.Name(), n.Meta().Get("tag"))
		n.Meta().Set("tag", "changed")
	}
	assert.Equal(t, "x", gm.Graph().First().Meta().Get("tag"))
	assert.Same(t, gm.Graph().Owner(), gm)
	assert.Same(t, copied.Graph().Owner(), copied)
}

// paths lists the modules of a graph module, and the places above them.
func paths(gm *ir.GraphModule) []string {
	set := map[string]bool{"": true}
	for path, v := range gm.Attrs() {
		m, ok := v.(nn.Module)
		if _, tensor := v.(*torch.Tensor); ok {
			for below := range nn.Modules(m) {
				set[strings.TrimSuffix(path+"."+below, ".")] = true
			}
		} else if !tensor {
			set[path] = true
		}
		for i := range len(path) {
			if path[i] == '.' {
				set[path[:i]] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(set))
}

// There are no warnings here: a node that reads what is not there is a fault
// that Lint finds, and so is a call of a module that is not there.
func TestEditSubmoduleApi(t *testing.T) {
	c := fxcase.Open(t, "edit_submodule_api")
	testenv.Libtorch(t)
	var want struct{ Log []any }
	c.Recorded(&want)
	gm := module(t, ir.NewGraph())
	log := []any{gm.AddSubmodule("a.b.lin", nn.NewLinear(1, 1)), gm.AddSubmodule("a.act", nn.NewReLU())}
	gm.SetAttr("a.val", ir.Int(3))
	log = append(log, gm.AddSubmodule("a.val.x", nn.NewReLU()))
	for _, path := range []string{"a.nope", "a.val", "a.b.lin.weight", "zz.y"} {
		log = append(log, gm.DeleteSubmodule(path))
	}
	assert.Equal(t, want.Log[:7], log)
	all := paths(gm)
	all = slices.DeleteFunc(all, func(p string) bool { return p == "a.val" })
	assert.Equal(t, want.Log[7], anys(all))

	for _, path := range []string{"a.b.lin.weight", "a.missing", "q.missing", "a.val"} {
		gm.Graph().GetAttr(path)
	}
	gm.Graph().CallModule("a.act", args(ir.Int(1)))
	gm.Graph().CallModule("a.none", nil)
	err := gm.Graph().Lint()
	for _, says := range []string{"nonexistent attribute missing of a", "nonexistent attribute q of ", "nonexistent attribute none of a"} {
		assert.ErrorContains(t, err, says)
	}
	assert.NotContains(t, err.Error(), "weight")

	g := ir.NewGraph()
	g.Output(g.CallModule("a.b.lin", args(g.Placeholder("x"))))
	second, err := ir.NewGraphModule(attrs(gm), g)
	require.NoError(t, err)
	second.AddSubmodule("unused.inner", nn.NewReLU())
	second.DeleteUnusedSubmodules()
	second.DeleteAttr("a.val") // a value, which Python's module does not copy
	c.Same(second, nil)
	assert.Equal(t, want.Log[10], anys(paths(second)))
}

func anys(texts []string) []any {
	out := make([]any, len(texts))
	for i, text := range texts {
		out[i] = text
	}
	return out
}

// state lists the tensors of a graph module under their names in Python's state
// dict: its own first, then those of its modules.
func state(gm *ir.GraphModule) []string {
	own, below := []string{}, []string{}
	for path, v := range gm.Attrs() {
		switch v := v.(type) {
		case *torch.Tensor:
			if strings.Contains(path, ".") {
				below = append(below, path)
			} else {
				own = append(own, path)
			}
		case nn.Module:
			for name := range nn.StateDict(v) {
				below = append(below, path+"."+name)
			}
		}
	}
	return append(own, below...)
}

func TestModuleRootDict(t *testing.T) {
	c := fxcase.Open(t, "module_root_dict")
	testenv.Libtorch(t)
	g := ir.NewGraph()
	x := g.Placeholder("x")
	w := g.GetAttr("zip.zap.w")
	m := g.CallModule("zip.zap", args(x))
	g.GetAttr("buf")
	g.Output(g.CallFunction(torch.FnAdd, args(m, w)))
	gm, err := ir.NewGraphModule(map[string]any{"zip.zap": nn.NewLinear(2, 2), "zip.zap.w": torch.Ones(2), "buf": torch.Zeros(2)}, g,
		ir.ClassName("Dictish"))
	c.Same(gm, err)
	assert.Equal(t, "Dictish", gm.ClassName())
	// w is inside the module there, and beside it here
	c.Result(map[string]any{"modules": []string{"", "zip", "zip.zap"}, "state": state(gm)})
}

func TestModuleRootDictMissing(t *testing.T) {
	c := fxcase.Open(t, "module_root_dict_missing")
	testenv.Libtorch(t)
	g := ir.NewGraph()
	g.Output(g.GetAttr("foo.bar"))
	_, err := ir.NewGraphModule(map[string]any{"foo": torch.Ones(1)}, g)
	c.Fails(err)
}

type partlyUsed struct {
	nn.Base `forward:"x"`
	Used    *nn.Sequential
	Unused  *nn.Linear
	NP      *torch.Tensor `nn:"np,transient"`
	Note    string
}

func (m *partlyUsed) Forward(x *torch.Tensor) *torch.Tensor { return add(m.Used.Forward(x), m.NP) }

func TestModuleCopySharedAndUnused(t *testing.T) {
	c := fxcase.Open(t, "module_copy_shared_and_unused")
	testenv.Libtorch(t)
	root := &partlyUsed{Used: nn.NewSequential(nn.NewLinear(2, 2), nn.NewReLU()), Unused: nn.NewLinear(5, 5), NP: torch.Ones(2), Note: "x"}
	nn.Train(root, false)
	gm := c.Same(tracer.SymbolicTrace(root))
	linear, _ := gm.Attr("used.0")
	keys := slices.DeleteFunc(state(gm), func(name string) bool { return name == "np" }) // a graph module does not say what it saves
	c.Result(map[string]any{"modules": paths(gm), "state": keys, "training": linear.(*nn.Linear).Training(), "note": false})
}

type oneLinear struct {
	nn.Base `forward:"x"`
	Lin     *nn.Linear
}

func (m *oneLinear) Forward(x *torch.Tensor) *torch.Tensor { return m.Lin.Forward(x) }

func TestModuleStr(t *testing.T) {
	c := fxcase.Open(t, "module_str")
	testenv.Libtorch(t)
	traced, err := tracer.SymbolicTrace(&oneLinear{Lin: nn.NewLinear(2, 3, nn.WithBias(false))})
	require.NoError(t, err)
	gm, err := ir.NewGraphModule(attrs(traced), traced.Graph(), ir.ClassName("M"))
	c.Same(gm, err)
	c.Result(map[string]any{"str": gm.String(), "repr": gm.Repr()})
}

func TestLintErrors(t *testing.T) {
	c := fxcase.Open(t, "lint_errors")
	testenv.Libtorch(t)
	base := func() *ir.GraphModule {
		gm, err := tracer.SymbolicTrace(nn.NewSequential(nn.NewReLU()))
		require.NoError(t, err)
		return gm
	}
	target := func(path string) error {
		gm := base()
		gm.SetAttr("val", ir.Int(3))
		require.NoError(t, gm.Graph().First().Next().SetTarget(ir.Path(path)))
		return gm.Graph().Lint()
	}
	foreign := base()
	other, err := trace(func(q *torch.Tensor) *torch.Tensor { return operator.Add(q, 1) }, "q")
	require.NoError(t, err)
	foreign.Graph().First().Next().SetArgs(other.Graph().Last().Arg(0))
	disordered := base()
	require.NoError(t, disordered.Graph().First().Prepend(disordered.Graph().First().Next()))

	var want struct{ Errors []step }
	c.Recorded(&want)
	// names are unique by construction: the first error cannot be brought about
	errorsIn(t, want.Errors[1:], target("nope.x"), target("val"), foreign.Graph().Lint(), disordered.Graph().Lint())
	gm := base()
	require.NoError(t, gm.Graph().Lint())
	c.Same(gm, nil)
}
