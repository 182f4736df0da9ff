package passes_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/passes"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// upstream: test_fx_const_fold.TestConstFold.test_const_fold_basic_one_attr_no_name_collision
func TestRecordedConstfoldOne(t *testing.T) {
	r := recorded(t, "constfold_one")
	var want struct {
		Const string `json:"const_code"`
		Attr  string
	}
	r.result(t, &want)
	m := r.before(t)
	text := m.Graph().String()
	f, err := passes.ConstFold(m)
	require.NoError(t, err)
	r.requireTexts(t, f.Module)
	require.Equal(t, want.Const, codeOf(t, f.Const))
	require.Equal(t, want.Attr, f.Attr)
	require.Equal(t, text, m.Graph().String())
}

// upstream: test_fx_const_fold.TestConstFold.test_const_fold_multi_const_folded_attrs
// upstream: test_fx_const_fold.TestConstFold.test_const_fold_basic_two_attr
func TestRecordedConstfoldMulti(t *testing.T) {
	r := recorded(t, "constfold_multi")
	var want struct {
		Const string `json:"const_code"`
		Attr  string
	}
	r.result(t, &want)
	f, err := passes.ConstFold(r.before(t))
	require.NoError(t, err)
	r.requireTexts(t, f.Module)
	require.Equal(t, want.Const, codeOf(t, f.Const))
	require.Equal(t, want.Attr, f.Attr)
}

// upstream: test_fx_const_fold.TestConstFold.test_const_fold_noop
// upstream: test_fx_const_fold.TestConstFold.test_check_skip_folding_quant_dequant_pattern
func TestRecordedConstfoldNoopAndSkip(t *testing.T) {
	r := recorded(t, "constfold_noop_and_skip")
	var want struct {
		Noop  string
		Const string `json:"const_code"`
	}
	r.result(t, &want)
	noop := module(t, "def forward(self, x):\n    add = x + 1;  x = None\n    return add")
	f, err := passes.ConstFold(noop)
	require.NoError(t, err)
	require.Equal(t, want.Noop, codeOf(t, f.Module))
	require.Nil(t, f.Const)
	require.NoError(t, f.Run(context.Background()))

	relu := ir.FuncOf("torch.relu")
	f, err = passes.ConstFold(r.before(t), passes.SkipFolding(func(n *ir.Node) bool { return n.Func() == relu }))
	require.NoError(t, err)
	r.requireTexts(t, f.Module)
	require.Equal(t, want.Const, codeOf(t, f.Const))
}

func TestConstFoldRuns(t *testing.T) {
	testenv.Libtorch(t)
	g, err := ir.ParseCode(`def forward(self, x):
    a = self.a
    b = self.b
    add = a + b
    t = a.t();  a = None
    size = b.numel();  b = None
    mul = x * add;  x = add = None
    return (mul, t, size)`)
	require.NoError(t, err)
	tensor := func(values ...float32) *torch.Tensor {
		v, err := torch.From(values, len(values))
		require.NoError(t, err)
		return v
	}
	a, b, x := tensor(1, 2), tensor(10, 20), tensor(3, 4)
	m, err := ir.NewGraphModule(map[string]any{"a": a, "b": b}, g)
	require.NoError(t, err)
	f, err := passes.ConstFold(m)
	require.NoError(t, err)
	ctx := context.Background()
	_, err = interpreter.New(f.Module).Run(ctx, x)
	require.Error(t, err, "not folded yet")
	require.NoError(t, f.Run(ctx))
	require.ErrorContains(t, f.Run(ctx), "Folding has already been run")

	out, err := interpreter.New(f.Module).Run(ctx, x)
	require.NoError(t, err)
	var got [][]float32
	for _, v := range out.(ir.PyTuple) {
		values, err := torch.Data[float32](v.(*torch.Tensor))
		require.NoError(t, err)
		got = append(got, values)
		v.(*torch.Tensor).Close()
	}
	require.Equal(t, [][]float32{{33, 88}, {1, 2}, {2}}, got)
	require.NoError(t, f.Close())
	_, err = torch.Data[float32](a)
	require.NoError(t, err, "the attributes are the caller's")
	for _, v := range []*torch.Tensor{a, b, x} {
		v.Close()
	}
}

// A called graph module is folded as a whole, unless something inside it is
// skipped or has an effect, however deep.
//
// upstream: test_fx_const_fold.TestConstFold.test_do_not_fold_impure_subgraph
// upstream: test_fx_const_fold.TestConstFold.test_fold_pure_subgraph
// upstream: test_fx_const_fold.TestConstFold.test_skip_folding_in_subgraph
func TestConstFoldSubmodules(t *testing.T) {
	wrap := func(inner *ir.GraphModule) *ir.GraphModule {
		g, err := ir.ParseCode("def forward(self, x):\n    inner = self.inner(x);  x = None\n    return inner")
		require.NoError(t, err)
		m, err := ir.NewGraphModule(map[string]any{"inner": inner}, g)
		require.NoError(t, err)
		return m
	}
	build := func(sub *ir.GraphModule) *ir.GraphModule {
		g, err := ir.ParseCode("def forward(self, x):\n    w = self.w\n    sub = self.deep.sub(w);  w = None\n    add = x + sub;  x = sub = None\n    return add")
		require.NoError(t, err)
		m, err := ir.NewGraphModule(map[string]any{"w": &parameter{"w"}, "deep.sub": sub}, g)
		require.NoError(t, err)
		return m
	}
	pure := module(t, reluNeg)
	random := module(t, "def forward(self, x):\n    r = torch.rand_like(x);  x = None\n    return r")
	neg := ir.FuncOf("torch.neg")
	skip := passes.SkipFolding(func(n *ir.Node) bool { return n.Func() == neg })
	tests := []struct {
		name  string
		sub   *ir.GraphModule
		opts  []passes.FoldOption
		folds bool
	}{
		{"pure", wrap(wrap(pure)), nil, true},
		{"skipped inside", wrap(wrap(pure)), []passes.FoldOption{skip}, false},
		{"random inside", wrap(wrap(random)), nil, false},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			m := build(tc.sub)
			f, err := passes.ConstFold(m, tc.opts...)
			require.NoError(t, err)
			require.Equal(t, tc.folds, f.Const != nil)
			if tc.folds {
				requireCode(t, "def forward(self):\n    w_1 = self.w\n    deep_sub = self.deep_sub(w_1);  w_1 = None\n    return deep_sub", f.Const)
			} else {
				require.Same(t, m, f.Module)
			}
		})
	}
}

// With the constant part put back, the folded module computes the same.
func TestConstFoldKeepsMeaning(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawModule(t)
		want := meaning(t, m)
		f, err := passes.ConstFold(m)
		require.NoError(t, err)
		require.Equal(t, want, meaning(t, m))
		if f.Const == nil {
			return
		}
		require.NoError(t, f.Const.Graph().Lint())
		require.NoError(t, f.Module.Graph().Lint())
		reads := f.Module.Graph().Find(ir.GetAttr, ir.Path(f.Attr))
		if len(reads) == 0 {
			return // nothing that counts was constant
		}
		for _, read := range reads {
			require.NoError(t, read.SetOp(ir.CallModule, ir.Path("const_subgraph_module")))
		}
		require.Equal(t, want, meaning(t, f.Module))
	})
}
