package export

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Fields that a later minor version of the schema added are in a file that is
// written of the program where they were, whatever is in them.
func TestFurtherFieldsAreKept(t *testing.T) {
	value := object{"a \"b\"": list{1.5, nil, object{"ü\n": "\u2028"}}}
	a := takeApartFile(t, filepath.Join(fixtures(t, "pt2"), "2.15.0", "cond_symbolic", "model.pt2"))
	places := 0
	mark := func(o map[string]any) {
		places++
		o["a_later_field"], o["another"] = value, places
	}
	var graph func(g map[string]any)
	graph = func(g map[string]any) {
		mark(g)
		for _, meta := range g["tensor_values"].(map[string]any) {
			mark(meta.(map[string]any))
		}
		for _, n := range g["nodes"].([]any) {
			mark(n.(map[string]any))
			for _, in := range n.(map[string]any)["inputs"].([]any) {
				in := in.(map[string]any)
				if in["name"] != "" {
					mark(in)
				}
				if sub, ok := in["arg"].(map[string]any)["as_graph"]; ok {
					graph(sub.(map[string]any)["graph"].(map[string]any))
				}
			}
		}
	}
	a.program(func(o object) {
		o.at("schema_version")["minor"] = 99
		mark(o)
		m := o.at("graph_module")
		mark(m)
		mark(m.at("signature"))
		for _, c := range m["module_call_graph"].([]any) {
			c := c.(map[string]any)
			mark(c)
			if s, ok := c["signature"].(map[string]any); ok {
				mark(s)
			}
		}
		for _, specs := range []string{"input_specs", "output_specs"} {
			for _, s := range m.at("signature")[specs].([]any) {
				for _, s := range s.(map[string]any) {
					mark(s.(map[string]any))
				}
			}
		}
		for _, r := range o.at("range_constraints") {
			mark(r.(map[string]any))
		}
		graph(o.graph())
	})
	p, err := a.open()
	require.NoError(t, err)
	assert.Contains(t, p.Warnings, `models/model.json: unknown field "a_later_field" of Node means nothing here`)

	marks := func(p *Program) (n int) {
		var b bytes.Buffer
		require.NoError(t, Write(&b, []*Program{p}))
		z := takeApartBytes(t, b.Bytes())
		var walk func(v any)
		want, err := json.Marshal(value)
		require.NoError(t, err)
		walk = func(v any) {
			switch v := v.(type) {
			case map[string]any:
				if got, ok := v["a_later_field"]; ok {
					n++
					text, err := json.Marshal(got)
					require.NoError(t, err)
					assert.JSONEq(t, string(want), string(text))
					assert.Contains(t, v, "another")
				}
				for _, item := range v {
					walk(item)
				}
			case []any:
				for _, item := range v {
					walk(item)
				}
			}
		}
		var v any
		require.NoError(t, json.Unmarshal(z.records["models/model.json"], &v))
		walk(v)
		return n
	}
	assert.Equal(t, places, marks(p))

	m, err := p.Module()
	require.NoError(t, err)
	lifted, err := Lift(m, LiftFrom(p))
	require.NoError(t, err)
	// the root of the module calls is made anew, with the calling convention of the graph
	assert.Equal(t, places, marks(lifted))
}
