package ir

import (
	"archive/zip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// eachModelJSON calls f with every JSON record of every archive.
func eachModelJSON(t *testing.T, f func(name string, doc any)) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(fixtures(t, "pt2"), "*", "*", "model.pt2"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		z, err := zip.OpenReader(file)
		require.NoError(t, err)
		for _, entry := range z.File {
			if !strings.HasSuffix(entry.Name, ".json") {
				continue
			}
			r, err := entry.Open()
			require.NoError(t, err)
			data, err := io.ReadAll(r)
			require.NoError(t, err)
			var doc any
			if json.Unmarshal(data, &doc) == nil {
				f(file+"/"+entry.Name, doc)
			}
		}
		require.NoError(t, z.Close())
	}
}

// eachField calls f with every value under key, at any depth.
func eachField(doc any, key string, f func(any)) {
	switch d := doc.(type) {
	case map[string]any:
		for k, v := range d {
			if k == key {
				f(v)
			}
			eachField(v, key, f)
		}
	case []any:
		for _, v := range d {
			eachField(v, key, f)
		}
	}
}

// What PyTorch wrote comes out byte for byte, also when the context is made
// anew, and every tree takes apart what it puts together.
func TestTreeSpecsOfRecordedPrograms(t *testing.T) {
	seen := map[string]bool{}
	eachModelJSON(t, func(name string, doc any) {
		fields := map[string][]string{}
		eachField(doc, "treespec_namedtuple_fields", func(v any) {
			for class, def := range v.(map[string]any) {
				for _, f := range def.(map[string]any)["field_names"].([]any) {
					fields[class] = append(fields[class], f.(string))
				}
			}
		})
		check := func(v any) {
			text := v.(string)
			seen[text] = true
			spec, err := ParseTreeSpec(text, fields)
			require.NoError(t, err, name)
			got, err := spec.JSON()
			require.NoError(t, err)
			assert.Equal(t, text, got)
			forgetContext(spec)
			got, err = spec.JSON()
			require.NoError(t, err)
			assert.Equal(t, text, got, "with a new context")
			checkFlattens(t, spec)
		}
		eachField(doc, "in_spec", check)
		eachField(doc, "out_spec", check)
	})
	assert.Greater(t, len(seen), 25)
}

func forgetContext(t *TreeSpec) {
	t.Context = ""
	for _, c := range t.Children {
		forgetContext(c)
	}
}

func checkFlattens(t require.TestingT, spec *TreeSpec) {
	leaves := make([]any, spec.NumLeaves())
	for i := range leaves {
		leaves[i] = i
	}
	v, err := spec.Unflatten(leaves)
	require.NoError(t, err)
	got, err := spec.Flatten(v)
	require.NoError(t, err)
	require.Equal(t, leaves, got)
}

func TestTreeSpecsOfPython(t *testing.T) {
	data, err := os.ReadFile("testdata/tree/specs.json")
	require.NoError(t, err)
	var cases [][3]any
	require.NoError(t, json.Unmarshal(data, &cases))
	require.NotEmpty(t, cases)
	for _, c := range cases {
		text := c[0].(string)
		spec, err := ParseTreeSpec(text, map[string][]string{"fixtures.Point": {"left", "right"}})
		require.NoError(t, err)
		got, err := spec.JSON()
		require.NoError(t, err)
		assert.Equal(t, text, got)
		assert.Equal(t, strings.ReplaceAll(c[1].(string), "<Color.RED: 1>", "<Color.RED>"), spec.String(), "the value of an enum is not in the file")
		assert.Equal(t, int(c[2].(float64)), spec.NumLeaves())
		checkFlattens(t, spec)
		if !strings.Contains(text, "deque") { // whose bound is in the context alone
			forgetContext(spec)
			got, err = spec.JSON()
			require.NoError(t, err)
			assert.Equal(t, text, got, "with a new context")
		}
	}
}

const leafText = `{"type": null, "context": null, "children_spec": []}`

func TestTreeSpecErrors(t *testing.T) {
	node := func(typ, context string, children ...string) string {
		return `[1, {"type": ` + typ + `, "context": ` + context + `, "children_spec": [` + strings.Join(children, ", ") + `]}]`
	}
	deep := strings.Repeat(`{"type": "builtins.tuple", "context": "null", "children_spec": [`, 300) + strings.Repeat("]}", 300)
	tests := []struct{ name, text, want string }{
		{"empty", "", "tree spec: expected [protocol, tree]: unexpected end of JSON input"},
		{"protocol", "[2, " + leafText + "]", "tree spec: expected [1, tree], got 2 values and protocol 2"},
		{"no tree", "[1]", "tree spec: expected [1, tree], got 1 values and protocol 1"},
		{"nothing", "[]", "tree spec: expected [1, tree], got 0 values and protocol none"},
		{"no node", "[1, 2]", "tree spec: json: cannot unmarshal number into Go value of type ir.treeJSON"},
		{"leaf with children", node("null", "null", leafText), "tree spec: expected a leaf without context and children, got 1 children and context null"},
		{"nameless type", node(`""`, "null"), "tree spec: expected the name of a type, got an empty one"},
		{"keys", node(`"builtins.dict"`, `"[\"a\"]"`), "tree spec: builtins.dict: expected 0 keys for as many values, got 1"},
		{"no keys", node(`"builtins.dict"`, `"null"`, leafText), "tree spec: builtins.dict: expected 1 keys for as many values, got 0"},
		{"key twice", node(`"builtins.dict"`, `"[\"a\", \"a\"]"`, leafText, leafText), "tree spec: builtins.dict: expected different keys, got a twice"},
		{"tuple as key", node(`"builtins.dict"`, `"[[1, 2]]"`, leafText), "tree spec: expected a string, number, truth value, None or enum as key, got [1, 2]"},
		{"long key", node(`"builtins.dict"`, `"[99999999999999999999]"`, leafText), "tree spec: expected a string, number, truth value, None or enum as key, got 99999999999999999999"},
		{"no list of keys", node(`"builtins.dict"`, `"{}"`), `tree spec: builtins.dict: expected a list of keys, got "{}"`},
		{"defaultdict", node(`"collections.defaultdict"`, `"null"`), "tree spec: defaultdict: expected an object with dict_context: json: cannot unmarshal string into Go value of type struct { Keys []json.RawMessage \"json:\\\"dict_context\\\"\" }"},
		{"namedtuple", node(`"collections.namedtuple"`, `null`), "tree spec: namedtuple: expected the name of its class, got null"},
		{"fields", node(`"collections.namedtuple"`, `"fixtures.Point"`, leafText), "tree spec: namedtuple fixtures.Point: expected a value for each of its 2 fields, got 1"},
		{"deep", "[1, " + deep + "]", "tree spec: expected at most 200 levels, got more"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			_, err := ParseTreeSpec(tc.text, map[string][]string{"fixtures.Point": {"left", "right"}})
			assert.EqualError(t, err, tc.want)
			assert.ErrorIs(t, err, ErrFormat)
		})
	}
}

func pointSpec() *TreeSpec {
	return &TreeSpec{Type: treeNamedTuple, Class: "fixtures.Point", Fields: []string{"left_hand", "right"}, Children: []*TreeSpec{Leaf(), Leaf()}}
}

func pairSpec() *TreeSpec {
	return &TreeSpec{Type: "fixtures.Pair", Fields: []string{"a", "c"}, Absent: []string{"b"}, Children: []*TreeSpec{Leaf(), Leaf()}}
}

func TestFlattenAccepts(t *testing.T) {
	type goPoint struct {
		LeftHand, Right int
		hidden          int //nolint:unused // not exported: no field of the tuple
	}
	type tagged struct {
		L       int    `pytree:"left_hand"`
		R       int    `pytree:"right"`
		Comment string `pytree:"-"`
	}
	type goPair struct {
		A, C int
		B    *int
	}
	type kind string
	tests := []struct {
		name string
		spec *TreeSpec
		v    any
		want []any
	}{
		{"leaf", Leaf(), 7, []any{7}},
		{"None as leaf", Leaf(), nil, []any{nil}},
		{"slice as leaf", Leaf(), []int64{1, 2}, []any{[]int64{1, 2}}},
		{"tuple", TupleSpec(Leaf(), Leaf()), PyTuple{1, 2}, []any{1, 2}},
		{"list for a tuple", TupleSpec(Leaf(), Leaf()), []any{1, 2}, []any{1, 2}},
		{"tuple for a list", ListSpec(Leaf(), Leaf()), PyTuple{1, 2}, []any{1, 2}},
		{"slice", ListSpec(Leaf(), Leaf()), []int{1, 2}, []any{1, 2}},
		{"array", ListSpec(Leaf(), Leaf()), [2]string{"a", "b"}, []any{"a", "b"}},
		{"dict in another order", DictSpec([]string{"a", "b"}, Leaf(), Leaf()), NewPyDict([]any{"b", "a"}, []any{2, 1}), []any{1, 2}},
		{"map", DictSpec([]string{"b", "a"}, Leaf(), Leaf()), map[string]any{"a": 1, "b": 2}, []any{2, 1}},
		{"map of ints", DictSpec([]string{"b", "a"}, Leaf(), Leaf()), map[string]int{"a": 1, "b": 2}, []any{2, 1}},
		{"map with a key type", DictSpec([]string{"a"}, Leaf()), map[kind]int{"a": 1}, []any{1}},
		{"int keys", &TreeSpec{Type: treeDict, Keys: []any{int64(3), int64(1)}, Children: []*TreeSpec{Leaf(), Leaf()}}, map[int]int{1: 10, 3: 30}, []any{30, 10}},
		{"object", pointSpec(), &PyObject{"fixtures.Point", []string{"right", "left_hand"}, []any{2, 1}}, []any{1, 2}},
		{"object of no class", pointSpec(), &PyObject{"", nil, []any{1, 2}}, []any{1, 2}},
		{"struct", pointSpec(), goPoint{LeftHand: 1, Right: 2}, []any{1, 2}},
		{"pointer to a struct", pointSpec(), &goPoint{LeftHand: 1, Right: 2}, []any{1, 2}},
		{"tags", pointSpec(), tagged{1, 2, "not a field"}, []any{1, 2}},
		{"map for a namedtuple", pointSpec(), map[string]any{"right": 2, "left_hand": 1}, []any{1, 2}},
		{"values in order for a namedtuple", pointSpec(), PyTuple{1, 2}, []any{1, 2}},
		{"absent field", pairSpec(), goPair{A: 1, C: 2}, []any{1, 2}},
		{"absent field left out", pairSpec(), map[string]any{"a": 1, "c": 2}, []any{1, 2}},
		{"absent field as None", pairSpec(), &PyObject{"fixtures.Pair", []string{"a", "b", "c"}, []any{1, nil, 2}}, []any{1, 2}},
		{"unknown class", &TreeSpec{Type: "their.Class", Children: []*TreeSpec{Leaf(), Leaf()}}, []any{1, 2}, []any{1, 2}},
		{"torch.return_types", &TreeSpec{Type: "torch.return_types.max", Children: []*TreeSpec{Leaf(), Leaf()}}, PyTuple{1, 2}, []any{1, 2}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			got, err := tc.spec.Flatten(tc.v)
			require.NoError(t, err)
			assert.Equal(t, tc.want, got)
		})
	}
}

// upstream: test_graph_pickler.TestGraphPickler.debug_paths
func TestFlattenRefuses(t *testing.T) {
	type stranger struct{ LeftHand, Right, Extra int }
	tests := []struct {
		name string
		spec *TreeSpec
		v    any
		want string
	}{
		{"container for a leaf", TupleSpec(Leaf()), PyTuple{[]any{1}}, "value[0]: expected a single value, got a list of 1"},
		{"wrong length", TupleSpec(Leaf(), Leaf()), PyTuple{1}, "value: expected a tuple of 2, got a tuple of 1"},
		{"None for a tuple", TupleSpec(Leaf()), nil, "value: expected a tuple of 1, got None"},
		{"number for a list", ListSpec(Leaf()), 3, "value: expected a list of 1, got a value of Go type int"},
		{"string for a list", ListSpec(Leaf()), "x", "value: expected a list of 1, got a value of Go type string"},
		{"deep inside", DictSpec([]string{"a"}, ListSpec(Leaf(), TupleSpec(Leaf()))), map[string]any{"a": []any{1, 2}},
			"value['a'][1]: expected a tuple of 1, got a value of Go type int"},
		{"keys", DictSpec([]string{"a", "b"}, Leaf(), Leaf()), map[string]any{"a": 1, "z": 2, "y": 3},
			"value: expected a dict with the keys ['a', 'b']: missing key 'b', unexpected key 'y', 'z'"},
		{"list for a dict", DictSpec([]string{"a"}, Leaf()), []any{1}, "value: expected a dict with the keys ['a'], got a list of 1"},
		{"another class", pointSpec(), &PyObject{"other.Class", []string{"left_hand", "right"}, []any{1, 2}},
			"value: expected fixtures.Point with the fields left_hand, right, got an instance of other.Class"},
		{"field of a struct", pointSpec(), stranger{}, "value: expected fixtures.Point with the fields left_hand, right: unexpected field 'Extra'"},
		{"nil pointer", pointSpec(), (*stranger)(nil), "value: expected fixtures.Point with the fields left_hand, right, got a value of Go type *ir.stranger"},
		{"nil object", pointSpec(), (*PyObject)(nil), "value: expected fixtures.Point with the fields left_hand, right, got None"},
		{"nil dict", DictSpec([]string{"a"}, Leaf()), (*PyDict)(nil), "value: expected a dict with the keys ['a']: missing key 'a'"},
		{"missing field", pairSpec(), map[string]any{"a": 1}, "value: expected fixtures.Pair with the fields a, c: missing field 'c'"},
		{"absent field given", pairSpec(), map[string]any{"a": 1, "b": 5, "c": 1}, "value.b: expected None, as when the program was exported"},
		{"values in order for a dataclass", pairSpec(), PyTuple{1, 2}, "value: expected fixtures.Pair with the fields a, c, got a tuple of 2"},
		{"map for an unknown class", &TreeSpec{Type: "their.Class", Children: []*TreeSpec{Leaf()}}, map[string]any{"x": 1},
			"value: expected their.Class of 1 values, got a map of 1"},
		{"crooked object", pointSpec(), &PyObject{"fixtures.Point", []string{"left_hand"}, []any{1, 2}},
			"value: expected fixtures.Point with the fields left_hand, right, got an instance of fixtures.Point"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			_, err := tc.spec.Flatten(tc.v)
			assert.EqualError(t, err, tc.want)
			assert.ErrorIs(t, err, ErrInput)
		})
	}
}

func TestUnflatten(t *testing.T) {
	spec := TupleSpec(ListSpec(Leaf()), DictSpec([]string{"k"}, Leaf()), pointSpec(), pairSpec(),
		&TreeSpec{Type: treeDeque, Children: []*TreeSpec{Leaf()}}, TupleSpec())
	v, err := spec.Unflatten([]any{1, 2, 3, 4, 5, 6, 7})
	require.NoError(t, err)
	assert.Equal(t, PyTuple{
		[]any{1}, NewPyDict([]any{"k"}, []any{2}),
		&PyObject{"fixtures.Point", []string{"left_hand", "right"}, []any{3, 4}},
		&PyObject{"fixtures.Pair", []string{"a", "c", "b"}, []any{5, 6, nil}},
		[]any{7}, PyTuple{},
	}, v)
	_, err = spec.Unflatten([]any{1})
	assert.EqualError(t, err, "unflatten: expected 7 leaves, got 1")
}

func TestFlattenCall(t *testing.T) {
	in := TupleSpec(TupleSpec(Leaf(), ListSpec(Leaf(), DictSpec([]string{"k"}, Leaf()))), DictSpec([]string{"bias", "scale"}, Leaf(), Leaf()))
	names := []string{"x", "xs", "bias", "scale"}
	assert.Equal(t, []string{"x", "xs[0]", "xs[1]['k']", "bias", "scale"}, in.CallNames(names))
	assert.Equal(t, []string{"args[0]", "args[1][0]", "args[1][1]['k']", "bias", "scale"}, in.CallNames(nil))

	xs := []any{2, map[string]any{"k": 3}}
	leaves, err := in.FlattenCall([]any{1, xs}, map[string]any{"scale": 5, "bias": 4}, names)
	require.NoError(t, err)
	assert.Equal(t, []any{1, 2, 3, 4, 5}, leaves)

	tests := []struct {
		name   string
		args   []any
		kwargs map[string]any
		names  []string
		want   string
	}{
		{"too few", []any{1}, map[string]any{"scale": 5, "bias": 4}, names, "call: expected 2 positional arguments (x, xs), got 1"},
		{"too many", []any{1, xs, 3}, nil, nil, "call: expected 2 positional arguments, got 3"},
		{"by keyword", []any{1}, map[string]any{"xs": xs, "scale": 5, "bias": 4}, names,
			"call: expected 2 positional arguments (x, xs), got 1; xs is positional in the exported call"},
		{"no keywords", []any{1, xs}, nil, names, "keyword arguments: expected a dict with the keys ['bias', 'scale']: missing keyword 'bias', 'scale'"},
		{"other keywords", []any{1, xs}, map[string]any{"bias": 1, "shift": 2}, names,
			"keyword arguments: expected a dict with the keys ['bias', 'scale']: missing keyword 'scale', unexpected keyword 'shift'"},
		{"inside", []any{1, []any{2, 3}}, map[string]any{"scale": 5, "bias": 4}, names, "xs[1]: expected a dict with the keys ['k'], got a value of Go type int"},
		{"inside a keyword", []any{1, xs}, map[string]any{"scale": PyTuple{}, "bias": 4}, names, "scale: expected a single value, got a tuple of 0"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			_, err := in.FlattenCall(tc.args, tc.kwargs, tc.names)
			assert.EqualError(t, err, tc.want)
			assert.ErrorIs(t, err, ErrInput)
		})
	}
	_, err = ListSpec(Leaf()).FlattenCall(nil, nil, nil)
	assert.ErrorIs(t, err, ErrFormat)
}

func TestPyDict(t *testing.T) {
	var d PyDict
	_, ok := d.Get("a")
	assert.False(t, ok)
	d.Set("b", 1)
	d.Set(2, 2)
	d.Set("b", 3)
	assert.Equal(t, 2, d.Len())
	v, ok := d.Get(int64(2))
	assert.True(t, ok)
	assert.Equal(t, 2, v)
	_, ok = d.Get([]any{1})
	assert.False(t, ok, "a list is no key")
	_, ok = d.Get([1]any{[]any{1}})
	assert.False(t, ok, "nor is what holds one")
	var none *PyDict
	assert.Zero(t, none.Len())
	_, ok = none.Get("a")
	assert.False(t, ok)
	for range none.All() {
		t.Error("a nil dict has no entries")
	}
	var keys []any
	for k, v := range d.All() {
		keys = append(keys, k, v)
	}
	assert.Equal(t, []any{"b", 3, int64(2), 2}, keys)
}

func FuzzParseTreeSpec(f *testing.F) {
	data, err := os.ReadFile("testdata/tree/specs.json")
	require.NoError(f, err)
	var cases [][3]any
	require.NoError(f, json.Unmarshal(data, &cases))
	for _, c := range cases {
		f.Add(c[0].(string))
	}
	f.Fuzz(func(t *testing.T, text string) {
		spec, err := ParseTreeSpec(text, map[string][]string{"fixtures.Point": {"left", "right"}})
		if err != nil {
			return
		}
		_ = spec.String()
		checkFlattens(t, spec)
		for range 2 { // as it was, and with a new context
			printed, err := spec.JSON()
			require.NoError(t, err)
			back, err := ParseTreeSpec(printed, map[string][]string{"fixtures.Point": {"left", "right"}})
			require.NoError(t, err, printed)
			require.Equal(t, spec.NumLeaves(), back.NumLeaves())
			again, err := back.JSON()
			require.NoError(t, err)
			require.Equal(t, printed, again)
			forgetContext(spec)
		}
	})
}
