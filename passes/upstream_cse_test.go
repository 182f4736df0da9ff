package passes_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/passes"
)

// The programs of test/fx/test_cse_pass.py as the operators that make_fx records of
// them: how many calls are merged, and that the module computes the same.
func TestUpstreamCSE(t *testing.T) {
	tests := []struct {
		name, body, result string
		want               int
	}{
		// upstream: test_cse_pass.TestCSEPass.test_nochange
		{"nochange", "a = torch.ops.aten.add.Tensor(x, 1)\nb = torch.ops.aten.add.Tensor(x, a)\nd = torch.ops.aten.add.Tensor(a, b)", "d", 0},
		// upstream: test_cse_pass.TestCSEPass.test_empty
		{"empty", "", "None", 0},
		// upstream: test_cse_pass.TestCSEPass.test_rand_like
		{"rand_like", "a = torch.ops.aten.rand_like.default(x)\nb = torch.ops.aten.rand_like.default(x)\nc = torch.ops.aten.add.Tensor(a, b)", "c", 0},
		// upstream: test_cse_pass.TestCSEPass.test_rand_n
		{"rand_n", "a = torch.ops.aten.randn.default([4])\nb = torch.ops.aten.randn.default([4])\nc = torch.ops.aten.add.Tensor(a, b)", "c", 0},
		// upstream: test_cse_pass.TestCSEPass.test_random
		{"random", `a = torch.ops.aten.normal_functional.default(x)
b = torch.ops.aten.normal_functional.default(x)
c = torch.ops.aten.bernoulli.default(x)
d = torch.ops.aten.bernoulli.default(x)
e = torch.ops.aten.add.Tensor(a, b)
f = torch.ops.aten.add.Tensor(c, d)`, "(e, f)", 0},
		// upstream: test_cse_pass.TestCSEPass.test_immutable_list_type
		{"immutable_list_type", `a = torch.ops.aten.sum.dim_IntList(x, [1])
b = torch.ops.aten.sum.dim_IntList(x, [1])
c = torch.ops.aten.sum.dim_IntList(x, [0])
d = torch.ops.aten.sum.dim_IntList(x, [1, 0])`, "(a, b, c, d)", 1},
		// upstream: test_cse_pass.TestCSEPass.test_immutable_list_multiple_entries
		{"immutable_list_multiple_entries", "a = torch.ops.aten.sum.dim_IntList(x, [0, 1])\nb = torch.ops.aten.sum.dim_IntList(x, [0, 1])", "(a, b)", 1},
		// upstream: test_cse_pass.TestCSEPass.test_nested_immutable_list_type
		{"nested_immutable_list_type", "a = torch.ops.aten.cat.default([x, x])\nb = torch.ops.aten.cat.default([x, x])", "(a, b)", 1},
		// upstream: test_cse_pass.TestCSEPass.test_simple
		{"simple", "a = torch.ops.aten.cos.default(x)\nb = torch.ops.aten.cos.default(x)\nc = torch.ops.aten.add.Tensor(a, a)\nd = torch.ops.aten.add.Tensor(b, b)\ne = torch.ops.aten.add.Tensor(c, d)", "e", 2},
		// upstream: test_cse_pass.TestCSEPass.test_simple_2
		{"simple_2", `a = torch.ops.aten.cos.default(x)
a_1 = torch.ops.aten.sin.default(a)
b = torch.ops.aten.cos.default(x)
b_1 = torch.ops.aten.sin.default(b)
c = torch.ops.aten.cos.default(a_1)
d = torch.ops.aten.cos.default(b_1)
e = torch.ops.aten.add.Tensor(c, d)`, "e", 3},
		// upstream: test_cse_pass.TestCSEPass.test_simple_multiple_same_ops
		{"simple_multiple_same_ops", `a = torch.ops.aten.sum.default(x)
b = torch.ops.aten.sum.default(x)
c = torch.ops.aten.sum.default(x)
d = torch.ops.aten.sum.default(x)
e = torch.ops.aten.add.Tensor(a, b)
f = torch.ops.aten.add.Tensor(c, d)
g = torch.ops.aten.add.Tensor(e, f)`, "g", 4},
		// upstream: test_cse_pass.TestCSEPass.test_two_args
		{"two_args", "a = torch.ops.aten.sum.dim_IntList(x, [1])\nb = torch.ops.aten.sum.dim_IntList(x, [1], True)\nc = torch.ops.aten.sum.dim_IntList(x, [1], True)", "(a, b, c)", 1},
		// upstream: test_cse_pass.TestCSEPass.test_two_args_default
		{"two_args_default", "a = torch.ops.aten.sum.dim_IntList(x, [1])\nb = torch.ops.aten.sum.dim_IntList(x, [1], False)\nc = torch.ops.aten.sum.dim_IntList(x, [1])\nd = torch.ops.aten.sum.dim_IntList(x, [1], False)", "(a, b, c, d)", 2},
		// upstream: test_cse_pass.TestCSEPass.test_kwarg
		{"kwarg", "a = torch.ops.aten.ones_like.default(x, dtype = torch.float32)\nb = torch.ops.aten.ones_like.default(x, dtype = torch.float32)\nc = torch.ops.aten.ones_like.default(x, dtype = torch.float64)", "(a, b, c)", 1},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			m := bodyModule(t, tc.body, tc.result)
			before := meaning(t, m)
			merged, err := passes.CSE(m)
			require.NoError(t, err)
			require.Len(t, merged, tc.want)
			require.Equal(t, before, meaning(t, m))
			require.NoError(t, m.Graph().Lint())
			merged, err = passes.CSE(m)
			require.NoError(t, err)
			require.Empty(t, merged, "nothing is left")
		})
	}
}

// upstream: test_cse_pass.TestCSEPass.test_banned_list
func TestUpstreamCSEBanned(t *testing.T) {
	const body = "a = torch.ops.aten.add.Tensor(x, 1)\nb = torch.ops.aten.add.Tensor(x, 1)\nc = torch.ops.aten.mul.Tensor(a, 2)\nd = torch.ops.aten.mul.Tensor(a, 2)"
	m := bodyModule(t, body, "(b, c, d)")
	merged, err := passes.CSE(m, passes.KeepFunctions(ir.FuncOf("torch.ops.aten.add")))
	require.NoError(t, err)
	require.Equal(t, []passes.Merge{{Node: "d", Into: "c"}}, merged)
}

// Programs with writes and with factories: what they give does not change.
//
// upstream: test_common_passes.TestCommonPass.test_correctness
// upstream: test_common_passes.TestCommonPass.test_correctness_factory
func TestUpstreamCSECorrectness(t *testing.T) {
	tests := []struct{ name, body, result string }{
		{"take mutation", "a = torch.ops.aten.add_.Tensor(x, 1)\nb = torch.ops.aten.add.Tensor(a, 1)\nc = torch.ops.aten.add_.Tensor(x, 1)\nd = torch.ops.aten.add.Tensor(c, 1)", "(b, d)"},
		{"return mutation", "a = torch.ops.aten.add.Tensor(x, 1)\nb = torch.ops.aten.add_.Tensor(x, 1)\nc = torch.ops.aten.add.Tensor(x, 1)", "(a, b, c)"},
		{"mutation of a copy", "a = torch.ops.aten.clone.default(x)\nb = torch.ops.aten.clone.default(x)\nc = torch.ops.aten.add_.Tensor(a, 1)", "(a, b)"},
		{"factory", "a = torch.ops.aten.zeros.default([2])\nb = torch.ops.aten.zeros.default([2])\nc = torch.ops.aten.add_.Tensor(a, x)", "(a, b)"},
		{"factory, read only", "a = torch.ops.aten.ones.default([2])\nb = torch.ops.aten.ones.default([2])\nc = torch.ops.aten.add.Tensor(a, b)", "c"},
		{"view", "a = torch.ops.aten.view.default(x, [-1])\nb = torch.ops.aten.add_.Tensor(x, 1)\nc = torch.ops.aten.view.default(x, [-1])", "(a, c)"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			m := bodyModule(t, tc.body, tc.result)
			// each call by its name: merging two that are a write apart would show here
			written := map[string]bool{}
			for n := range m.Graph().Nodes() {
				written[n.Name()] = n.IsImpure()
			}
			merged, err := passes.CSE(m)
			require.NoError(t, err)
			for _, c := range merged {
				require.False(t, written[c.Node], c.Node)
				require.Equal(t, "factory, read only", tc.name, "%v", merged)
			}
			require.NoError(t, m.Graph().Lint())
		})
	}
}
