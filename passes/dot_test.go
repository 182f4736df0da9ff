package passes_test

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/passes"
)

// Labels, colours and edges are those that scripts/record_dot.py recorded.
func TestDotLabels(t *testing.T) {
	data, err := os.ReadFile("testdata/dot.json")
	require.NoError(t, err)
	var want struct {
		Code     string
		Drawings map[string]struct {
			Nodes [][3]string
			Edges [][2]string
		}
		Meta map[string][4]any
	}
	require.NoError(t, json.Unmarshal(data, &want))
	m := module(t, want.Code)
	sizes := func(v any) (out []ir.Size) {
		for _, n := range v.([]any) {
			out = append(out, ir.SizeOf(int64(n.(float64))))
		}
		return out
	}
	for name, meta := range want.Meta {
		d, err := ir.ParseDType(meta[0].(string))
		require.NoError(t, err)
		m.Graph().Lookup(name).Meta().Set(ir.MetaTensorMeta, ir.TensorMeta{DType: d, Sizes: sizes(meta[1]), Strides: sizes(meta[2]), RequiresGrad: meta[3].(bool)})
	}
	options := map[string][]passes.DotOption{"plain": nil, "names": {passes.WithNodeNames()}, "no get_attr": {passes.WithoutGetAttr()}}
	for label, w := range want.Drawings {
		t.Run(label, func(t *testing.T) {
			dot := passes.Dot(m, "m", options[label]...)
			for _, n := range w.Nodes {
				if n[0] == "output" {
					continue // its label lists what shape propagation found in the result
				}
				require.Contains(t, dot, fmt.Sprintf("%q [fillcolor=%q, fontcolor=\"#000000\", label=\"%s\", shape=record, style=\"filled,rounded\"];\n", n[0], n[2], n[1]))
			}
			for _, e := range w.Edges {
				require.Contains(t, dot, fmt.Sprintf("%q -> %q;\n", e[0], e[1]))
			}
		})
	}
}
