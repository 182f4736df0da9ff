package export

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/ir"
)

// tablesOfData are the members whose keys are data and no fields.
var tablesOfData = []string{
	"opset_version", "range_constraints", "tensor_values", "sym_int_values", "sym_float_values", "sym_bool_values", "custom_obj_values",
	"treespec_namedtuple_fields", "config", "as_string_to_argument",
}

// onlyField are the fields of objects that have no other, and are no unions.
var onlyField = []string{"name", "field_names", "config", "custom"}

// eachObject calls f with every object of the schema in a JSON value.
func eachObject(v any, key string, f func(map[string]any)) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			eachObject(item, key, f)
		}
	case map[string]any:
		keys := sortedKeys(v)
		for _, k := range keys {
			eachObject(v[k], k, f)
		}
		union := len(keys) == 1 && !slices.Contains(onlyField, keys[0])
		if !union && !slices.Contains(tablesOfData, key) {
			f(v)
		}
	}
}

// fields adds random fields to about one in every objects of a text, and returns it with
// how many it added.
func addFields(t *testing.T, text []byte, r *rand.Rand, every int) ([]byte, int) {
	values := []any{nil, true, "ü\n\"\u2028", list{1, nil, object{"name": "x", "arg": list{}}}, object{}, list{}, "as_tensor", -1.5e300, json.Number("18446744073709551616")}
	v, added := decode(t, text), 0
	top := ""
	if m, ok := v.(map[string]any); ok && m["config"] != nil {
		top = "payload"
	}
	eachObject(v, top, func(o map[string]any) {
		for r.IntN(every) == 0 {
			o[fmt.Sprintf("later %d \"%c\\", r.IntN(100), 'a'+rune(r.IntN(26)))] = values[r.IntN(len(values))]
			added++
		}
	})
	out, err := json.Marshal(v)
	require.NoError(t, err)
	return out, added
}

func decode(t *testing.T, text []byte) any {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	require.NoError(t, d.Decode(&v))
	return v
}

// canonical is a program's text as torch 2.15 would have it: nodes have names, which
// torch 2.9 left out. Numbers are compared by value; payloads are numbered in order.
func canonical(t *testing.T, text []byte) any {
	v := decode(t, text)
	if m, ok := v.(map[string]any); ok && m["schema_version"] != nil {
		m["schema_version"].(map[string]any)["minor"] = json.Number("20")
	}
	var walk func(v any) any
	walk = func(v any) any {
		switch v := v.(type) {
		case []any:
			for i := range v {
				v[i] = walk(v[i])
			}
		case map[string]any:
			for k := range v {
				v[k] = walk(v[k])
			}
			if v["target"] != nil && v["outputs"] != nil {
				delete(v, "name")
			}
			delete(v, "path_name")
		case json.Number:
			if f, err := v.Float64(); err == nil {
				return f
			}
		}
		return v
	}
	return walk(v)
}

// withLibraries are programs of operators that the catalogue does not have.
var withLibraries = []string{"auto_functionalized", "custom_op", "custom_op_mutating", "effect_token"}

// A file that is written of a program that was read, or of its module, is the same JSON,
// with fields that are not known in every object that had some, whatever is in them.
func TestWrittenAsItWasRead(t *testing.T) {
	records := []string{"models/model.json", "data/weights/model_weights_config.json", "data/constants/model_constants_config.json"}
	programs, fields := 0, 0
	for _, release := range []string{"2.9.1", "2.12.1", "2.15.0"} {
		cases, err := filepath.Glob(filepath.Join(fixtures(t, "pt2"), release, "*", "model.pt2"))
		require.NoError(t, err)
		require.NotEmpty(t, cases)
		for k, path := range cases {
			name := filepath.Base(filepath.Dir(path))
			if slices.Contains(withLibraries, name) {
				continue
			}
			t.Run(release+"/"+name, func(t *testing.T) {
				programs++
				for round, every := range []int{1 << 30, 2, 20} {
					r := rand.New(rand.NewPCG(uint64(k), uint64(round)))
					a := takeApartFile(t, path)
					for _, record := range records {
						if text := a.records[record]; text != nil {
							text, added := addFields(t, text, r, every)
							a.put(record, text)
							fields += added
						}
					}
					p, err := a.open(Model("model"))
					require.NoError(t, err)
					if round > 0 && release != "2.9.1" { // where results that nobody reads are called after the operator
						m, err := p.Module()
						require.NoError(t, err)
						p, err = Lift(m, LiftFrom(p))
						require.NoError(t, err)
					}
					var b bytes.Buffer
					require.NoError(t, Write(&b, []*Program{p}))
					z := takeApartBytes(t, b.Bytes())
					for _, record := range records {
						if text := a.records[record]; text != nil {
							requireSame(t, canonical(t, text), canonical(t, z.records[record]), record)
						}
					}
				}
			})
		}
	}
	t.Logf("%d programs, %d fields", programs, fields)
	assert.Greater(t, fields, 10_000)
}

// requireSame says where two values differ, not what they are: they are long.
func requireSame(t *testing.T, want, got any, path string) {
	t.Helper()
	switch x := want.(type) {
	case map[string]any:
		y, ok := got.(map[string]any)
		require.True(t, ok, path)
		require.Equal(t, sortedKeys(x), sortedKeys(y), path)
		for k := range x {
			requireSame(t, x[k], y[k], path+"."+k)
		}
	case []any:
		y, ok := got.([]any)
		require.True(t, ok, path)
		require.Len(t, y, len(x), path)
		for i := range x {
			requireSame(t, x[i], y[i], fmt.Sprintf("%s[%d]", path, i))
		}
	default:
		require.Equal(t, want, got, path)
	}
}

// Fields that are not known stay with what they are of, in a graph that was rewritten.
func TestFurtherFieldsOfARewrittenGraph(t *testing.T) {
	a := takeApartFile(t, filepath.Join(fixtures(t, "pt2"), "2.15.0", "convolutions", "model.pt2"))
	nodes := 0
	a.program(func(o object) {
		o.at("schema_version")["minor"] = 99
		for _, n := range o.graph()["nodes"].([]any) {
			n := n.(map[string]any)
			nodes++
			n["later"] = n["name"]
			for _, out := range n["outputs"].([]any) {
				if of, ok := out.(map[string]any)["as_tensor"].(map[string]any); ok {
					of["later"] = of["name"]
					o.graph().at("tensor_values", of["name"])["later"] = of["name"]
				}
			}
		}
	})
	p, err := a.open()
	require.NoError(t, err)
	assert.Contains(t, p.Warnings, `models/model.json: unknown field "later" of Node means nothing here`)
	calls := p.Graph.Find(ir.CallFunction, nil)
	require.Len(t, calls, nodes)
	first, last := calls[0], calls[len(calls)-1]
	restore, err := p.Graph.InsertAfter(first)
	require.NoError(t, err)
	added := p.Graph.CallFunction(ir.OverloadOf("aten::neg"), []ir.Arg{first})
	restore()
	added.Meta().Set(ir.MetaVal, first.Meta().Get(ir.MetaVal))
	first.ReplaceAllUsesWith(added, ir.OnlyUsers(func(u *ir.Node) bool { return u != added }))
	last.ReplaceAllUsesWith(first)
	require.NoError(t, p.Graph.Erase(last))

	var b bytes.Buffer
	require.NoError(t, Write(&b, []*Program{p}))
	seen := 0
	for _, n := range decode(t, takeApartBytes(t, b.Bytes()).records["models/model.json"]).(map[string]any)["graph_module"].(map[string]any)["graph"].(map[string]any)["nodes"].([]any) {
		n := n.(map[string]any)
		out := n["outputs"].([]any)[0].(map[string]any)["as_tensor"].(map[string]any)
		if n["name"] == added.Name() {
			assert.NotContains(t, n, "later")
			assert.NotContains(t, out, "later")
			continue
		}
		seen++
		assert.Equal(t, n["name"], n["later"])
		assert.Equal(t, out["name"], out["later"])
	}
	assert.Equal(t, nodes-1, seen)
}
