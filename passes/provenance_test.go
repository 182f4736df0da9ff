package passes_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/ir"
)

// The target's text, an address in Python, is the function's name here.
//
// upstream: test_fx_traceback.TestFXNodeSource.test_node_source
func TestRecordedProvenance(t *testing.T) {
	r := recorded(t, "provenance")
	m := module(t, "def forward(self, x):\n    relu = torch.relu(x);  x = None\n    add = relu + 1;  relu = None\n    return add", ir.ClassName("<lambda>"))
	relu := m.Graph().Lookup("relu")
	first := ir.NewNodeSource(relu, "ID", "first", ir.SourceCreate)
	relu.Meta().Set(ir.MetaFromNode, []ir.NodeSource{first})
	second := ir.NewNodeSource(relu, "ID", "second", ir.SourceReplace, ir.SourceCreate)
	var want struct {
		Text string
		Dict struct {
			Name   string
			Pass   string `json:"pass_name"`
			Action string
			From   []struct {
				Pass string `json:"pass_name"`
			} `json:"from_node"`
		}
	}
	r.result(t, &want)
	require.Equal(t, want.Text, second.Readable())
	require.Equal(t, []string{want.Dict.Name, want.Dict.Pass, want.Dict.Action, want.Dict.From[0].Pass},
		[]string{second.Name, second.Pass, second.Action(), second.From[0].Pass})
	relu.Meta().Delete(ir.MetaFromNode)
	r.requireTexts(t, m)
}
