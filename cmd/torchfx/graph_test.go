package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// runGraph runs a graph command line in this process.
func runGraph(t *testing.T, stdin []byte, args ...string) (string, error) {
	t.Helper()
	cmd := newRootCommand()
	var out bytes.Buffer
	cmd.SetArgs(append([]string{"graph"}, args...))
	cmd.SetIn(bytes.NewReader(stdin))
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	err := cmd.Execute()
	return out.String(), err
}

func TestGraphFormats(t *testing.T) {
	file := filepath.Join("..", "..", "export", "testdata", "programs", "linear.pt2")
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	for _, tc := range []struct {
		name string
		args []string
		want string
	}{
		{"graph", []string{"--format", "graph"}, `graph():
    %l_weight : [num_users=1] = get_attr[target=l.weight]
    %l_bias : [num_users=1] = get_attr[target=l.bias]
    %x : [num_users=2] = placeholder[target=x]
    %_guards_fn : [num_users=0] = call_module[target=_guards_fn](args = (%x,), kwargs = {})
    %linear : [num_users=1] = call_function[target=torch.ops.aten.linear.default](args = (%x, %l_weight, %l_bias), kwargs = {})
    return (linear,)
`},
		{"code", []string{"-f", "code", "--lifted"}, `def forward(self, p_l_weight, p_l_bias, x):
    linear = torch.ops.aten.linear.default(x, p_l_weight, p_l_bias);  x = p_l_weight = p_l_bias = None
    return (linear,)
`},
		{"readable", []string{"--lifted", "--stride", "--device"}, `class GraphModule(torch.nn.Module):
    def forward(self, p_l_weight: "f32[2, 3][3, 1]cpu", p_l_bias: "f32[2][1]cpu", x: "f32[s77, 3][3, 1]cpu"):
        # File: torch/nn/modules/linear.py:134 in forward, code: return F.linear(input, self.weight, self.bias)
        linear: "f32[s77, 2][2, 1]cpu" = torch.ops.aten.linear.default(x, p_l_weight, p_l_bias);  x = p_l_weight = p_l_bias = None
        return (linear,)
`},
		{"tabular", []string{"-f", "tabular", "--lifted"}, `opcode         name        target               args                       kwargs
-------------  ----------  -------------------  -------------------------  --------
placeholder    p_l_weight  p_l_weight           ()                         {}
placeholder    p_l_bias    p_l_bias             ()                         {}
placeholder    x           x                    ()                         {}
call_function  linear      aten.linear.default  (x, p_l_weight, p_l_bias)  {}
output         output      output               ((linear,),)               {}
`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := runGraph(t, nil, append(tc.args, file)...)
			require.NoError(t, err)
			assert.Equal(t, tc.want, got)
			got, err = runGraph(t, data, append(tc.args, "-")...)
			require.NoError(t, err)
			assert.Equal(t, tc.want, got, "from standard input")
		})
	}
	t.Run("json to a file", func(t *testing.T) {
		out := filepath.Join(t.TempDir(), "graph.json")
		printed, err := runGraph(t, nil, file, "-f", "json", "-o", out)
		require.NoError(t, err)
		assert.Empty(t, printed)
		text, err := os.ReadFile(out)
		require.NoError(t, err)
		var graph struct {
			Format string           `json:"format"`
			Nodes  []map[string]any `json:"nodes"`
		}
		require.NoError(t, json.Unmarshal(text, &graph))
		assert.Equal(t, "torchfx.graph", graph.Format)
		assert.Len(t, graph.Nodes, 6)
	})
}

func TestGraphRefuses(t *testing.T) {
	_, err := runGraph(t, nil, "x.pt2", "--format", "dot")
	require.EqualError(t, err, `format: expected one of readable, code, graph, tabular, json, go, got "dot"`)
	_, err = runGraph(t, nil)
	require.ErrorContains(t, err, "accepts 1 arg(s)")
	_, err = runGraph(t, nil, filepath.Join(t.TempDir(), "missing.pt2"))
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = runGraph(t, []byte("not a program"), "-")
	require.Error(t, err)
	assert.True(t, strings.TrimSpace(err.Error()) != "")
}
