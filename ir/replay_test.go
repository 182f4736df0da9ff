package ir

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A recorded graph with the texts that torch.fx made of it. The shared fixtures
// keep it in a folder (nodes.json with the texts beside it), scripts/record_fx.py
// writes it in one file.
type recording struct {
	dir     string
	Class   string                `json:"class_name"`
	Globals map[string]string     `json:"globals"`
	Imports []string              `json:"imports"`
	Lines   map[string]*int       `json:"lineno_map"`
	Start   int                   `json:"prologue_start"`
	CodeGen string                `json:"codegen"`
	PyTree  *recordedPyTree       `json:"pytree"`
	Nodes   []recordedNode        `json:"nodes"`
	Texts   map[string]string     `json:"texts"`
	Subs    map[string]*recording `json:"submodules"`
}

type recordedPyTree struct {
	Args []string `json:"orig_args"`
	In   string   `json:"in_spec"`
	Out  string   `json:"out_spec"`
}

type recordedNode struct {
	Op     string                     `json:"op"`
	Name   string                     `json:"name"`
	Target string                     `json:"target"`
	Pretty string                     `json:"pretty_target"`
	Args   []any                      `json:"args"`
	Kwargs [][2]any                   `json:"kwargs"`
	Type   *string                    `json:"type"`
	Users  []string                   `json:"users"`
	Inputs []string                   `json:"inputs"`
	Key    []int                      `json:"sort_key"`
	Meta   map[string]json.RawMessage `json:"meta"`
	Format string                     `json:"format_meta"` // format_node with tensor metadata
}

// readRecording reads the graph in a folder, nil where there is none.
func readRecording(t *testing.T, dir string) *recording {
	data, err := os.ReadFile(filepath.Join(dir, "nodes.json"))
	if os.IsNotExist(err) {
		return nil
	}
	require.NoError(t, err)
	r := &recording{dir: dir, Texts: map[string]string{}, Subs: map[string]*recording{}}
	d := json.NewDecoder(strings.NewReader(string(data)))
	require.NoError(t, d.Decode(r), dir)
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, f := range files {
		if ext := filepath.Ext(f.Name()); ext == ".txt" || ext == ".py" {
			text, err := os.ReadFile(filepath.Join(dir, f.Name()))
			require.NoError(t, err)
			r.Texts[f.Name()] = string(text)
		}
	}
	subs, _ := os.ReadDir(filepath.Join(dir, "submodules"))
	for _, s := range subs {
		if sub := readRecording(t, filepath.Join(dir, "submodules", s.Name())); sub != nil {
			r.Subs[s.Name()] = sub
		}
	}
	return r
}

// graph builds the recorded graph again from its nodes.
func (r *recording) graph(t *testing.T) *Graph {
	g := NewGraph()
	nodes := map[string]*Node{}
	for _, row := range r.Nodes {
		op, err := ParseOp(row.Op)
		require.NoError(t, err)
		var target Target = Path(row.Target)
		if op == CallFunction {
			target = FuncOf(row.Target)
		}
		var args []Arg
		for _, a := range row.Args {
			args = append(args, decodeArg(t, a, nodes))
		}
		opts := []NodeOption{ExactName(row.Name)}
		var kwargs []Keyword
		for _, k := range row.Kwargs {
			kwargs = append(kwargs, Kw(k[0].(string), decodeArg(t, k[1], nodes)))
		}
		opts = append(opts, Kwargs(kwargs...))
		if row.Type != nil {
			opts = append(opts, WithType(*row.Type))
		}
		n, err := g.CreateNode(op, target, args, opts...)
		require.NoError(t, err, "%s: %s", r.dir, row.Name)
		nodes[row.Name] = n
		for key, raw := range row.Meta {
			setRecordedMeta(t, n, key, raw, nodes)
		}
	}
	if r.PyTree != nil {
		g.SetCodeGen(r.PyTree.codegen(t))
	} else if r.CodeGen == "_BoxedCodeGen" {
		g.SetCodeGen(BoxedCodeGen{})
	}
	return g
}

// codegen reads the specs: JSON in our recordings, Python's str in the shared ones.
func (p *recordedPyTree) codegen(t *testing.T) CodeGen {
	spec := func(text string) *TreeSpec {
		if text == "" || text == "None" {
			return nil
		}
		if text == "*" {
			return Leaf()
		}
		if s, ok := strings.CutPrefix(text, "TreeSpec("); ok {
			// only the kind of the outermost container shows in code
			kind, _, _ := strings.Cut(s, ",")
			return &TreeSpec{Type: "builtins." + kind}
		}
		s, err := ParseTreeSpec(text, nil)
		require.NoError(t, err)
		return s
	}
	return PyTreeCodeGen{Args: p.Args, In: spec(p.In), Out: spec(p.Out)}
}

func setRecordedMeta(t *testing.T, n *Node, key string, raw json.RawMessage, nodes map[string]*Node) {
	switch key {
	case MetaTensorMeta:
		var m struct {
			Shape  []int64 `json:"shape"`
			DType  string  `json:"dtype"`
			Stride []int64 `json:"stride"`
		}
		if json.Unmarshal(raw, &m) != nil || m.DType == "" {
			return // several results
		}
		d, err := ParseDType(m.DType)
		require.NoError(t, err)
		meta := TensorMeta{DType: d}
		for i := range m.Shape {
			meta.Sizes = append(meta.Sizes, SizeOf(m.Shape[i]))
			meta.Strides = append(meta.Strides, SizeOf(m.Stride[i]))
		}
		n.Meta().Set(key, meta)
	case MetaVal, MetaExampleValue:
		n.Meta().Set(key, decodeValue(t, raw))
	case MetaStackTrace, MetaCustom, MetaDesc:
		var v any
		require.NoError(t, json.Unmarshal(raw, &v))
		switch v := v.(type) {
		case string:
			n.Meta().Set(key, v)
		case []any:
			descs := []string{}
			for _, d := range v {
				descs = append(descs, d.(string))
			}
			n.Meta().Set(key, descs)
		case map[string]any:
			n.Meta().Set(key, decodeArg(t, v, nodes))
		}
	case MetaBoxedArgs:
		var indices []int
		require.NoError(t, json.Unmarshal(raw, &indices))
		n.Meta().Set(key, indices)
	case MetaIsWrapped, MetaAutogradBackward:
		var b bool
		require.NoError(t, json.Unmarshal(raw, &b))
		n.Meta().Set(key, b)
	}
}

// decodeValue reads what is known of a node's value.
func decodeValue(t *testing.T, raw json.RawMessage) any {
	var v struct {
		Sym    *string `json:"sym"`
		DType  string  `json:"dtype"`
		Shape  []any   `json:"shape"`
		Stride []any   `json:"stride"`
		Device string  `json:"device"`
		Layout string  `json:"layout"`
	}
	require.NoError(t, json.Unmarshal(raw, &v))
	expr := func(text string) *Expr {
		e, err := ParseExpr(text)
		require.NoError(t, err)
		return e
	}
	if v.Sym != nil {
		return SymScalar{Kind: TypeSymInt, Expr: expr(*v.Sym)}
	}
	sizes := func(items []any) (out []Size) {
		for _, s := range items {
			switch s := s.(type) {
			case float64:
				out = append(out, SizeOf(int64(s)))
			case string:
				out = append(out, SymbolicSize(expr(s), 0))
			}
		}
		return out
	}
	m := TensorMeta{Sizes: sizes(v.Shape), Strides: sizes(v.Stride)}
	var err error
	m.DType, err = ParseDType(v.DType)
	require.NoError(t, err)
	m.Device, err = ParseDevice(v.Device)
	require.NoError(t, err)
	m.Layout, err = ParseLayout(v.Layout)
	require.NoError(t, err)
	return m
}

// enumMembers are the enums of the recorded programs, whose values the files do
// not hold.
var enumMembers = map[string]Enum{
	"program.Color.RED":   {Value: Int(1)},
	"program.Color.GREEN": {Value: Int(2)},
	"program.Color.BLUE":  {Value: Int(2)},
	"program.Level.LOW":   {Value: Int(1), IsInt: true},
}

// decodeArg reads a tagged value.
func decodeArg(t *testing.T, v any, nodes map[string]*Node) Arg {
	switch v := v.(type) {
	case nil:
		return None{}
	case bool:
		return Bool(v)
	case map[string]any:
		if class, ok := v["namedtuple"]; ok {
			var fields []string
			var items []Arg
			for _, f := range v["fields"].([]any) {
				fields = append(fields, f.([]any)[0].(string))
				items = append(items, decodeArg(t, f.([]any)[1], nodes))
			}
			return NamedTupleOf(FuncOf(class.(string)), fields, items...)
		}
		require.Len(t, v, 1)
		for tag, x := range v {
			return decodeTagged(t, tag, x, nodes)
		}
	}
	require.Fail(t, "unknown value", "%v", v)
	return nil
}

func decodeTagged(t *testing.T, tag string, x any, nodes map[string]*Node) Arg {
	items := func() (out []Arg) {
		for _, item := range x.([]any) {
			out = append(out, decodeArg(t, item, nodes))
		}
		return out
	}
	float := func(x any) float64 {
		f, err := strconv.ParseFloat(x.(string), 64)
		require.NoError(t, err)
		return f
	}
	ints := func() (out []int64) {
		for _, item := range x.([]any) {
			out = append(out, int64(item.(float64)))
		}
		return out
	}
	switch tag {
	case "node":
		require.Contains(t, nodes, x)
		return nodes[x.(string)]
	case "int":
		if i, err := strconv.ParseInt(x.(string), 10, 64); err == nil {
			return Int(i)
		}
		return BigInt(x.(string))
	case "float":
		return Float(float(x))
	case "complex":
		c := x.([]any)
		return Complex(complex(float(c[0]), float(c[1])))
	case "str":
		return Str(x.(string))
	case "tuple":
		return TupleOf(items()...)
	case "size":
		var out []Arg
		for _, i := range ints() {
			out = append(out, Int(i))
		}
		return TupleOf(out...)
	case "list":
		return ListOf(items()...)
	case "dict":
		var pairs []Pair
		for _, p := range x.([]any) {
			kv := p.([]any)
			pairs = append(pairs, Pair{decodeArg(t, kv[0], nodes), decodeArg(t, kv[1], nodes)})
		}
		return DictOf(pairs...)
	case "slice":
		s := items()
		return Slice{s[0], s[1], s[2]}
	case "range":
		r := ints()
		return Range{r[0], r[1], r[2]}
	case "ellipsis":
		return Ellipsis{}
	case "dtype":
		d, err := ParseDType(x.(string))
		require.NoError(t, err)
		return d
	case "device":
		d, err := ParseDevice(x.(string))
		require.NoError(t, err)
		return d
	case "layout":
		l, err := ParseLayout(x.(string))
		require.NoError(t, err)
		return l
	case "memory_format":
		m, err := ParseMemoryFormat(x.(string))
		require.NoError(t, err)
		return m
	case "function", "type":
		return FuncOf(x.(string))
	case "enum":
		e, ok := enumMembers[x.(string)]
		require.True(t, ok, x)
		dot := strings.LastIndexByte(x.(string), '.')
		e.Class, e.Member = FuncOf(x.(string)[:dot]), x.(string)[dot+1:]
		return e
	}
	require.Fail(t, "unknown tag", "%s", tag)
	return nil
}

// stub stands for a module or tensor of the recorded program.
type stub struct{}

// module builds the recorded graph module again, its attributes stubs except
// for recorded graph modules.
func (r *recording) module(t *testing.T) *GraphModule {
	g := r.graph(t)
	attrs := map[string]any{}
	for n := range g.Nodes() {
		if n.Op() == GetAttr || n.Op() == CallModule {
			attrs[n.Target().String()] = &stub{}
		}
	}
	for path, sub := range r.Subs {
		for p := range attrs {
			if strings.HasPrefix(p, path+".") {
				delete(attrs, p)
			}
		}
		attrs[path] = sub.module(t)
	}
	gm, err := NewGraphModule(attrs, g, ClassName(r.Class))
	require.NoError(t, err)
	// the order of children is not in the graph
	var rows []struct {
		Path string `json:"path"`
	}
	if data, err := os.ReadFile(filepath.Join(r.dir, "modules.json")); err == nil {
		require.NoError(t, json.Unmarshal(data, &rows))
	}
	for _, row := range rows {
		if _, ok := r.Subs[row.Path]; ok {
			gm.DeleteAttr(row.Path)
			gm.SetAttr(row.Path, attrs[row.Path])
		}
	}
	return gm
}

// check compares what the rebuilt graph says with what was recorded.
func (r *recording) check(t *testing.T) {
	gm := r.module(t)
	g := gm.Graph()
	require.NoError(t, g.Lint())
	recount := &linter{graph: g}
	recount.users()
	require.Empty(t, recount.faults)
	code, err := g.PythonCode("self")
	require.NoError(t, err)
	require.Equal(t, r.Texts["code.py"], code.Source)
	require.Equal(t, r.Start, code.PrologueStart)
	if r.Lines != nil {
		want := map[int]int{}
		for line, node := range r.Lines {
			l, err := strconv.Atoi(line)
			require.NoError(t, err)
			want[l] = -1
			if node != nil {
				want[l] = *node
			}
		}
		require.Equal(t, want, code.Lines)
	}
	for i, line := range r.Imports {
		if _, method, ok := strings.Cut(line, "import TensorBase."); ok { // no Python
			method, name, _ := strings.Cut(method, " as ")
			r.Imports[i] = name + " = torch.Tensor." + method
		}
	}
	slices.Sort(r.Imports)
	if !strings.HasPrefix(r.Imports[0], "<AttributeError") { // torch.fx fails to import an int
		require.Equal(t, r.Imports, code.Imports())
	}
	globals := map[string]string{}
	for _, gl := range code.Globals {
		if !slices.ContainsFunc(standardGlobals, func(s struct{ name, object, statement string }) bool { return s.name == gl.Name }) {
			globals[gl.Name] = gl.Object
			// objects of which the recorder finds no module
			if gl.Object == "builtins.Ellipsis" {
				globals[gl.Name] = "?.Ellipsis"
			} else if gl.Name == "_"+gl.Object {
				globals[gl.Name] = "?." + gl.Object
			}
		}
	}
	require.Equal(t, r.Globals, globals)
	if text, ok := r.Texts["graph.txt"]; ok {
		require.Equal(t, text, g.String())
	}
	if text, ok := r.Texts["tabular.txt"]; ok {
		require.Equal(t, text, g.Tabular())
	}
	both := []CodeOption{IncludeStride(), IncludeDevice()}
	for name, opts := range map[string][]CodeOption{
		"readable.txt": nil, "readable_both.txt": both, "readable_expanded.txt": {Expanded()},
		"readable_colored.txt": {Colored(), both[0], both[1]},
	} {
		if text, ok := r.Texts[name]; ok {
			got, err := gm.Readable(opts...)
			require.NoError(t, err)
			require.Equal(t, text, got, name)
		}
	}
	if text, ok := r.Texts["code_record.py"]; ok {
		code, err := g.PythonCode("self", RecordFunc())
		require.NoError(t, err)
		require.Equal(t, text, code.Source)
	}
	i := 0
	for n := range g.Nodes() {
		row := r.Nodes[i]
		require.Equal(t, row.Pretty, n.Target().String())
		if row.Format != "" {
			require.Equal(t, row.Format, n.Format(WithTensorMeta()))
		}
		inputs := []string{}
		for _, m := range n.Inputs() {
			inputs = append(inputs, m.Name())
		}
		require.Equal(t, row.Inputs, inputs, n.Name())
		users := []string{}
		for m := range n.Users() {
			users = append(users, m.Name())
		}
		require.ElementsMatch(t, row.Users, users, n.Name())
		i++
	}
	require.NoError(t, Equal(g, g.Clone()))
}

// fixtures returns a folder of the shared recorded cases, as testenv.Fixtures does,
// which imports this package.
func fixtures(t *testing.T, sub string) string {
	t.Helper()
	root := os.Getenv("TORCHFX_FIXTURES")
	if root == "" {
		root = filepath.Join("..", "..", "shared", "fixtures")
	}
	dir := filepath.Join(root, sub)
	if _, err := os.Stat(dir); err != nil {
		miss := t.Skipf
		if os.Getenv("TORCHFX_REQUIRE_FIXTURES") == "1" {
			miss = t.Fatalf
		}
		miss("no recorded cases at %s; set TORCHFX_FIXTURES to where they are", dir)
	}
	return dir
}

// notInFiles are the shared cases whose texts their files do not determine, each
// with the test that covers what it shows.
var notInFiles = map[string]string{
	"codegen_boxed_arg":    "TestReplayCommitted/boxed_argument",
	"codegen_lineno_map":   "TestBodyFunc",
	"codegen_custom_list":  "TestOwnCodeGen",
	"doc_on_generate_code": "TestBodyFunc",
	"readable_metadata":    "TestReplayCommitted/verbose",
}

func TestReplayShared(t *testing.T) { replay(t, fixtures(t, "fx")) }

func TestReplayCommitted(t *testing.T) { replayFiles(t, filepath.Join("testdata", "fx")) }

// TestReplayRandom replays what scripts/record_random_fx.py wrote.
func TestReplayRandom(t *testing.T) {
	dir := os.Getenv("TORCHFX_RECORDINGS")
	if dir == "" {
		t.Skip("TORCHFX_RECORDINGS names no folder of random recordings")
	}
	replayFiles(t, dir)
}

func replayFiles(t *testing.T, dir string) {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			r := &recording{dir: file}
			require.NoError(t, json.Unmarshal(data, r))
			r.check(t)
			for path, sub := range r.Subs {
				t.Run(path, sub.check)
			}
		})
	}
}

func replay(t *testing.T, root string) {
	cases, err := os.ReadDir(root)
	require.NoError(t, err)
	graphs := 0
	for _, c := range cases {
		if !c.IsDir() {
			continue
		}
		for _, sub := range []string{"", "before"} {
			r := readRecording(t, filepath.Join(root, c.Name(), sub))
			if r == nil {
				continue
			}
			t.Run(filepath.Join(c.Name(), sub), func(t *testing.T) {
				if test, ok := notInFiles[c.Name()]; ok {
					t.Skip("not in the files: " + test)
				}
				r.check(t)
				for _, path := range slices.Sorted(maps.Keys(r.Subs)) {
					t.Run(path, r.Subs[path].check)
				}
			})
			graphs += 1 + len(r.Subs)
		}
	}
	require.Greater(t, graphs, 20, fmt.Sprintf("graphs below %s", root))
}
