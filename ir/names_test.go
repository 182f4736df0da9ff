package ir

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// What torch.fx 2.15's _Namespace made of these candidates, in this order.
func TestNamespace(t *testing.T) {
	for _, tc := range []struct{ candidates, want string }{
		{"add add add", "add add_1 add_2"},
		{"foo_1 foo foo foo_1 foo_1", "foo_1 foo foo_2 foo_3 foo_4"},
		{"sum sum sum_1 sum", "sum_1 sum_2 sum_3 sum_4"},
		{"a_5 a a a_2 a_2", "a_5 a a_6 a_2 a_3"},
		{"b_3 b_3 b_3 b b", "b_3 b_4 b_5 b b_6"},
		{"relu_10 relu relu_9 relu_9 relu", "relu_10 relu relu_9 relu_11 relu_12"},
		{"id id_2 id id", "id_1 id_2 id_3 id_4"},
		{"_1 _1 _1", "_1 _1_1 _1_2"},
		{"_ _", "_ __1"},
		{". ..", "_ __1"},
		{"x_ x_ x__1 x__", "x_ x__1 x__2 x__"},
		{"conv2d_2_1 conv2d_2 conv2d_2 conv2d", "conv2d_2_1 conv2d_2 conv2d_3 conv2d"},
		{"9 9 9a", "_9 _9_1 _9a"},
		{"*args **kwargs 0 1.weight", "_args _kwargs _0 _1_weight"},
		{"x_01 x_01 x", "x_01 x_2 x"},
		{"é a-b--c", "_ a_b_c"},
		{"x_99999999999999999999 x", "x_99999999999999999999 x"},
	} {
		s := newNamespace()
		var got []string
		for _, c := range strings.Fields(tc.candidates) {
			got = append(got, s.create(c))
		}
		assert.Equal(t, tc.want, strings.Join(got, " "), tc.candidates)
	}
	assert.Equal(t, "_unnamed", newNamespace().create(""))
}

func TestNamespaceLaws(t *testing.T) {
	words := rapid.SampledFrom([]string{"a", "a_1", "a_2", "a_01", "len", "len_1", "x.y", "", "_", "_1", "9", "É", "a b"})
	rapid.Check(t, func(t *rapid.T) {
		s := newNamespace()
		seen := map[string]bool{}
		for range rapid.IntRange(1, 40).Draw(t, "n") {
			c := rapid.OneOf(words, rapid.String()).Draw(t, "candidate")
			free := isASCIIIdentifier(c) && !seen[c] && !illegalName(c)
			name := s.create(c)
			require.False(t, seen[name], "given twice: %s", name)
			require.True(t, isASCIIIdentifier(name), name)
			require.False(t, illegalName(name), name)
			if free {
				require.Equal(t, c, name, "a free and legal name is given as it is")
			}
			require.False(t, s.reserve(name), "taken")
			seen[name] = true
		}
	})
}

func TestSnakeCase(t *testing.T) {
	for in, want := range map[string]string{
		"ReLU6": "re_lu6", "conv2D": "conv2d", "HTTPServer": "httpserver", "aBC": "a_bc", "x1Y": "x1y", "add": "add", "": "",
	} {
		assert.Equal(t, want, snakeCase(in), in)
	}
}

func TestNodeNamesFromTargets(t *testing.T) {
	g := NewGraph()
	x := g.Placeholder("X")
	for _, n := range []*Node{
		x, g.Placeholder("input"), g.Placeholder("*args"), g.CallMethod("__call__", []Arg{x}), g.CallMethod("__iadd__", []Arg{x}),
		g.CallModule("Features.0", []Arg{x}), g.CallFunction(FuncOf("torch.ops.aten.add.Tensor"), nil),
		g.CallFunction(FuncOf("program.__add__"), nil), g.CallFunction(FuncOf("getattr"), nil), g.GetAttr("a", Name("Given")),
		g.GetAttr("__x__"),
	} {
		t.Log(n.Name())
	}
	assert.Equal(t, []string{"x", "input_1", "_args", "call", "iadd", "features_0", "add_tensor", "__add__", "getattr_1", "Given", "x_1"},
		names(g))
	_, err := g.CreateNode(GetAttr, Path("w"), nil, ExactName("x"))
	require.ErrorIs(t, err, ErrValue)
	_, err = g.CreateNode(Op(9), Path("w"), nil)
	require.ErrorContains(t, err, "is not in _legal_ops")
	n, err := g.CreateNode(GetAttr, Path("w"), nil, ExactName("input"))
	require.NoError(t, err)
	assert.Equal(t, "input", n.Name(), "a file's own name may be one of Python's")
}

// readTable reads a recorded table of the shared fixtures.
func readTable(t *testing.T, name string, into any) {
	data, err := os.ReadFile(filepath.Join(fixtures(t, "fx"), name, "result.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, into))
}
