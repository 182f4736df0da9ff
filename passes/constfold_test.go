package passes_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/torchfx-go/torchfx/internal/fxcase"
	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	"github.com/torchfx-go/torchfx/operator"
	"github.com/torchfx-go/torchfx/passes"
	torch "github.com/torchfx-go/torchfx/torchops"
)

type foldOne struct {
	nn.Base `forward:"x, y"`
	Attr1   *torch.Tensor `nn:"attr_1"`
	Attr2   *torch.Tensor `nn:"attr_2"`
}

func (m *foldOne) Forward(x, y *torch.Tensor) *torch.Tensor {
	a := operator.Add(m.Attr1, m.Attr1)
	x = operator.Sub(x, a)
	return operator.Add(operator.Mul(x, y), m.Attr2)
}

// upstream: test_fx_const_fold.TestConstFold.test_const_fold_basic_one_attr_no_name_collision
func TestRecordedConstfoldOne(t *testing.T) {
	c := fxcase.Open(t, "constfold_one")
	testenv.Libtorch(t)
	m := c.Before(traced(t, &foldOne{Attr1: parameterOf(t, torch.Full([]int{1, 1}, -0.9)), Attr2: parameterOf(t, torch.Full([]int{1, 1}, 17.1))}), nil)
	text := m.Graph().String()
	f := folded(t, m)
	c.Runs(c.Same(f.Module, nil))
	value, _ := f.Module.Attr(f.Attr)
	item, err := value.(*torch.Tensor).Item()
	require.NoError(t, err)
	c.Result(map[string]any{"const_code": codeOf(t, f.Const), "attr": f.Attr, "value": [][]any{{item}}})
	require.Equal(t, text, m.Graph().String())
}

// folded folds the constant part of a module and computes it.
func folded(t *testing.T, m *ir.GraphModule, opts ...passes.FoldOption) *passes.Folding {
	f, err := passes.ConstFold(m, opts...)
	require.NoError(t, err)
	require.NoError(t, f.Run(context.Background()))
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	return f
}

type foldMulti struct {
	nn.Base `forward:"x"`
	A, B    *torch.Tensor
	Taken   *torch.Tensor `nn:"_FX_CONST_FOLDED_ATTRS"`
}

func (m *foldMulti) Forward(x *torch.Tensor) any {
	s := operator.Add(m.A, m.B)
	d := operator.Sub(m.A, m.B).Relu()
	result := &ir.PyDict{}
	result.Set("o", operator.Add(x, s))
	result.Set("p", d)
	result.Set("q", operator.Mul(m.Taken, x))
	return result
}

// upstream: test_fx_const_fold.TestConstFold.test_const_fold_multi_const_folded_attrs
// upstream: test_fx_const_fold.TestConstFold.test_const_fold_basic_two_attr
func TestRecordedConstfoldMulti(t *testing.T) {
	c := fxcase.Open(t, "constfold_multi")
	testenv.Libtorch(t)
	c.Seed()
	f := folded(t, c.Before(traced(t, &foldMulti{A: randn(t, 2), B: randn(t, 2), Taken: ones(t, 2)}), nil))
	c.Runs(c.Same(f.Module, nil))
	c.Result(map[string]any{"const_code": codeOf(t, f.Const), "attr": f.Attr})
}

type foldSkip struct {
	nn.Base `forward:"x"`
	A       *torch.Tensor
}

func (m *foldSkip) Forward(x *torch.Tensor) *torch.Tensor {
	s := torch.Relu(m.A)
	r := torch.Rand(2)
	operator.Add(torch.Ones(2), 1)
	return operator.Add(operator.Add(operator.Add(operator.Add(x, s), r), torch.ZerosLike(m.A)), torch.Neg(s))
}

// upstream: test_fx_const_fold.TestConstFold.test_const_fold_noop
// upstream: test_fx_const_fold.TestConstFold.test_check_skip_folding_quant_dequant_pattern
func TestRecordedConstfoldNoopAndSkip(t *testing.T) {
	c := fxcase.Open(t, "constfold_noop_and_skip")
	testenv.Libtorch(t)
	c.Seed()
	m := c.Before(traced(t, &foldSkip{A: randn(t, 2)}), nil)
	noop := folded(t, traced(t, func(x *torch.Tensor) *torch.Tensor { return operator.Add(x, 1) }, parameters("x")))
	relu := ir.FuncOf("torch.relu")
	f := folded(t, m, passes.SkipFolding(func(n *ir.Node) bool { return n.Func() == relu }))
	c.Same(f.Module, nil)
	c.Result(map[string]any{"noop": codeOf(t, noop.Module), "noop_const": noop.Const == nil, "const_code": codeOf(t, f.Const)})
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
