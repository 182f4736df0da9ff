package passes_test

import (
	"fmt"
	"log"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/torchfx-go/torchfx/internal/fxcase"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/operator"
	"github.com/torchfx-go/torchfx/passes"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// bannedOperators are those of torch.fx's get_CSE_banned_ops.
func bannedOperators() []*ir.Func {
	var funcs []*ir.Func
	for _, name := range strings.Fields(`dropout _fused_dropout _standard_gamma bernoulli multinomial native_dropout normal poisson
binomial rrelu rand_like rand randint randn randperm add_ sub_ mul_ div_ pow_ lerp_ relu_ sigmoid_ tanh_`) {
		funcs = append(funcs, ir.FuncOf("torch.ops.aten."+name))
	}
	return funcs
}

// upstream: test_cse_pass.TestCSEPass.test_simple
// upstream: test_cse_pass.TestCSEPass.test_simple_multiple_same_ops
// upstream: test_cse_pass.TestCSEPass.test_kwarg
// upstream: test_cse_pass.TestCSEPass.test_banned_list
func TestRecordedCSEBasic(t *testing.T) {
	c := fxcase.Open(t, "cse_basic")
	before := func() *ir.GraphModule {
		return c.Before(traced(t, duplicates, parameters("x, y")), nil)
	}
	upstream := []passes.CSEOption{passes.MergeAny(), passes.EqualNumbers()}
	banned := append(upstream, passes.KeepFunctions(bannedOperators()...))
	m := before()
	merges, err := passes.CSE(m, banned...)
	require.NoError(t, err)
	c.Same(m, nil)
	again, err := passes.CSE(m, banned...)
	require.NoError(t, err)
	without := before()
	_, err = passes.CSE(without, upstream...)
	require.NoError(t, err)
	c.Result(map[string]any{"modified": []bool{len(merges) > 0, len(again) > 0}, "without_banned": without.Graph().Len()})

	// by default random operators stay by themselves, and 1, 1.0 and True differ
	merges, err = passes.CSE(before())
	require.NoError(t, err)
	require.Equal(t, []passes.Merge{{"cos_default_1", "cos_default"}, {"sum_dim_int_list_1", "sum_dim_int_list"}, {"cos_default_3", "cos_default_2"},
		{"mul_tensor_1", "mul_tensor"}, {"neg_1", "neg"}, {"add_1", "add"}}, merges)
}

// duplicates calls operators of ATen, some of them twice.
func duplicates(x, y *torch.Tensor) any {
	aten := func(name string, args ...any) torch.Value { return fn("torch.ops.aten."+name, args...) }
	a, b := aten("cos.default", x), aten("cos.default", x)
	c := aten("add.Tensor", a, b)
	d, e := aten("sum.dim_IntList", x, []any{0, 1}), aten("sum.dim_IntList", x, []any{0, 1})
	r1, r2 := aten("rand_like.default", x), aten("rand_like.default", x)
	k1 := aten("add.Tensor", x, y, torch.Kw("alpha", 1))
	k2 := aten("add.Tensor", x, y, torch.Kw("alpha", 1.0))
	k3 := aten("add.Tensor", x, y, torch.Kw("alpha", true))
	k4 := aten("add.Tensor", x, y)
	k5, k6 := aten("cos.default", y), aten("cos.default", y)
	z, z2 := aten("mul.Tensor", k5, k6), aten("mul.Tensor", k5, k5)
	return ir.PyTuple{c, d, e, r1, r2, k1, k2, k3, k4, z, z2, x.Neg(), x.Neg(), operator.Add(x, 1), operator.Add(x, 1)}
}

func TestCSE(t *testing.T) {
	tests := []struct {
		name, body, result string
		want               int // merges
	}{
		{"list and tuple differ", "a = torch.sum(x, [0, 1])\nb = torch.sum(x, (0, 1))", "(a, b)", 0},
		{"nested lists", "a = torch.cat([x, [x, 1]])\nb = torch.cat([x, [x, 1]])", "(a, b)", 1},
		{"keywords", "a = torch.sum(x, dim = 0)\nb = torch.sum(x, dim = 1)\nc = torch.sum(x, dim = 0)", "(a, b, c)", 1},
		{"method and function differ", "a = x.neg()\nb = torch.neg(x)", "(a, b)", 0},
		{"random", "a = torch.rand_like(x)\nb = torch.rand_like(x)", "(a, b)", 0},
		{"random operator", "a = torch.ops.aten.rand_like.default(x)\nb = torch.ops.aten.rand_like.default(x)", "(a, b)", 0},
		{"chain", "a = torch.neg(x)\nb = torch.neg(x)\nc = torch.neg(a)\nd = torch.neg(b)", "(c, d)", 2},
		{"attributes stay", "a = self.w\nb = self.w\nc = x + a\nd = x + b", "(c, d)", 0},
		{"not across a write", "a = torch.ops.aten.neg.default(x)\nw = x.mul_(2)\nb = torch.ops.aten.neg.default(x)", "(a, b, w)", 0},
		{"not where written", "a = torch.ops.aten.neg.default(x)\nb = torch.ops.aten.neg.default(x)\nw = a.mul_(2)", "(a, b, w)", 0},
		{"not through a view", "a = torch.ops.aten.neg.default(x)\nb = torch.ops.aten.neg.default(x)\nv = torch.ops.aten.view.default(a, [-1])\nw = v.mul_(2)", "(a, b, w)", 0},
		{"beside a write", "a = torch.ops.aten.neg.default(x)\nb = torch.ops.aten.neg.default(x)\nw = y.mul_(2)", "(a, b, w)", 1},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			m := module(t, "def forward(self, x, y):\n    "+strings.ReplaceAll(tc.body, "\n", "\n    ")+"\n    return "+tc.result)
			merges, err := passes.CSE(m)
			require.NoError(t, err)
			require.Len(t, merges, tc.want)
			require.NoError(t, m.Graph().Lint())
		})
	}
}

// CSE keeps what a graph computes and leaves nothing to merge.
//
// upstream: test_common_passes.TestCommonPass.test_correctness
func TestCSEKeepsMeaning(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawModule(t)
		want := meaning(t, m)
		_, err := passes.CSE(m)
		require.NoError(t, err)
		require.NoError(t, m.Graph().Lint())
		require.Equal(t, want, meaning(t, m))
		again, err := passes.CSE(m)
		require.NoError(t, err)
		require.Empty(t, again)
	})
}

func ExampleCSE() {
	g, err := ir.ParseCode(`def forward(self, x):
    cos = torch.cos(x)
    cos_1 = torch.cos(x);  x = None
    add = cos + cos_1;  cos = cos_1 = None
    return add`)
	if err != nil {
		log.Fatal(err)
	}
	m, err := ir.NewGraphModule(nil, g)
	if err != nil {
		log.Fatal(err)
	}
	merges, err := passes.CSE(m)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(merges)
	fmt.Println(m.Graph())
	// Output:
	// [{cos_1 cos}]
	// graph():
	//     %x : [num_users=1] = placeholder[target=x]
	//     %cos : [num_users=1] = call_function[target=torch.cos](args = (%x,), kwargs = {})
	//     %add : [num_users=1] = call_function[target=operator.add](args = (%cos, %cos), kwargs = {})
	//     return add
}
