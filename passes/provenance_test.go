package passes_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/fxcase"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/operator"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// The target's text, an address in Python, is the function's name here.
//
// upstream: test_fx_traceback.TestFXNodeSource.test_node_source
func TestRecordedProvenance(t *testing.T) {
	c := fxcase.Open(t, "provenance")
	m := traced(t, func(x *torch.Tensor) *torch.Tensor { return operator.Add(torch.Relu(x), 1) }, parameters("x"))
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
	c.Recorded(&want)
	require.Equal(t, want.Text, second.Readable())
	require.Equal(t, []string{want.Dict.Name, want.Dict.Pass, want.Dict.Action, want.Dict.From[0].Pass},
		[]string{second.Name, second.Pass, second.Action(), second.From[0].Pass})
	relu.Meta().Delete(ir.MetaFromNode)
	c.Same(m, nil)
}
