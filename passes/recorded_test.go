package passes_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/ir"
)

// A recording is one case of the shared fixtures: a folder with the graph that
// torch.fx made, as code and in its other texts, and mostly with the graph before.
type recording string

// recorded finds a case.
func recorded(t *testing.T, name string) recording {
	root := os.Getenv("TORCHFX_FIXTURES")
	if root == "" {
		root = filepath.Join("..", "..", "shared", "fixtures")
	}
	dir := filepath.Join(root, "fx", name)
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("no recorded case at %s; set TORCHFX_FIXTURES to where the shared fixtures are", dir)
	}
	return recording(dir)
}

func (r recording) text(t *testing.T, name string) string {
	data, err := os.ReadFile(filepath.Join(string(r), name))
	require.NoError(t, err)
	return string(data)
}

// result decodes what the recorded program returned beside the graph.
func (r recording) result(t *testing.T, into any) {
	require.NoError(t, json.Unmarshal([]byte(r.text(t, "result.json")), into))
}

// before returns the module that the case starts from.
func (r recording) before(t *testing.T) *ir.GraphModule {
	var facts struct {
		Class string `json:"class_name"`
	}
	require.NoError(t, json.Unmarshal([]byte(r.text(t, "before/nodes.json")), &facts))
	m := module(t, r.text(t, "before/code.py"), ir.ClassName(facts.Class))
	// the code has other names than the graph where it had to rename
	require.Equal(t, r.text(t, "before/graph.txt"), m.Graph().String())
	return m
}

// fails compares an error with the recorded one.
func (r recording) fails(t *testing.T, err error) {
	var want struct{ Type, Message string }
	require.NoError(t, json.Unmarshal([]byte(r.text(t, "error.json")), &want))
	require.ErrorContains(t, err, want.Message)
	classes := map[string]*ir.Class{"AssertionError": ir.ErrAssertion, "RuntimeError": ir.ErrRuntime}
	require.ErrorIs(t, err, classes[want.Type])
}

// requireTexts compares the texts of a module, and of its submodules, with the
// recorded ones.
func (r recording) requireTexts(t *testing.T, m *ir.GraphModule) {
	require.NoError(t, m.Graph().Lint())
	code, err := m.Code()
	require.NoError(t, err)
	require.Equal(t, r.text(t, "code.py"), code)
	require.Equal(t, r.text(t, "graph.txt"), m.Graph().String())
	require.Equal(t, r.text(t, "tabular.txt"), m.Graph().Tabular())
	readable, err := m.Readable()
	require.NoError(t, err)
	require.Equal(t, r.text(t, "readable.txt"), readable)
	subs, _ := os.ReadDir(filepath.Join(string(r), "submodules"))
	for _, s := range subs {
		v, ok := m.Attr(s.Name())
		require.True(t, ok, s.Name())
		require.IsType(t, m, v)
		recording(filepath.Join(string(r), "submodules", s.Name())).requireTexts(t, v.(*ir.GraphModule))
	}
}

// A submodule and a parameter of a program of which only the graph matters.
type (
	submodule struct{ class string }
	parameter struct{ path string }
)

func (s *submodule) Type() string  { return s.class }
func (*parameter) DType() ir.DType { return ir.Float32 }

// module reads a graph from code; its attributes are stand-ins.
func module(t testing.TB, code string, opts ...ir.ModuleOption) *ir.GraphModule {
	g, err := ir.ParseCode(code)
	require.NoError(t, err)
	return moduleOf(t, g, opts...)
}

func moduleOf(t require.TestingT, g *ir.Graph, opts ...ir.ModuleOption) *ir.GraphModule {
	attrs := map[string]any{}
	for n := range g.Nodes() {
		path := n.Target().String()
		switch n.Op() {
		case ir.CallModule:
			attrs[path] = &submodule{"test." + path}
		case ir.GetAttr:
			attrs[path] = &parameter{path}
		}
	}
	m, err := ir.NewGraphModule(attrs, g, opts...)
	require.NoError(t, err)
	return m
}

// nodesNamed finds nodes by name.
func nodesNamed(t testing.TB, m *ir.GraphModule, names ...string) []*ir.Node {
	var nodes []*ir.Node
	for _, name := range names {
		n := m.Graph().Lookup(name)
		require.NotNil(t, n, name)
		nodes = append(nodes, n)
	}
	return nodes
}

func namesOf(nodes []*ir.Node) []string {
	names := []string{}
	for _, n := range nodes {
		names = append(names, n.Name())
	}
	return names
}

func graphNames(m *ir.GraphModule) []string {
	names := []string{}
	for n := range m.Graph().Nodes() {
		names = append(names, n.Name())
	}
	return names
}

// codeOf returns a module's code.
func codeOf(t testing.TB, m *ir.GraphModule) string {
	code, err := m.Code()
	require.NoError(t, err)
	return code
}

// requireCode compares code without its blank lines and indentation.
func requireCode(t testing.TB, want string, m *ir.GraphModule) {
	strip := func(s string) string {
		var lines []string
		for _, l := range strings.Split(s, "\n") {
			if l = strings.TrimSpace(l); l != "" {
				lines = append(lines, l)
			}
		}
		return strings.Join(lines, "\n")
	}
	assert.Equal(t, strip(want), strip(codeOf(t, m)))
}

// bodyModule reads a function of x and y from its lines.
func bodyModule(t testing.TB, body, result string) *ir.GraphModule {
	return module(t, "def forward(self, x, y):\n    "+strings.ReplaceAll(body, "\n", "\n    ")+"\n    return "+result)
}

// asNew returns a module of the same attributes and graph under the class that a
// new one has; torch.fx makes one where a pass here changes the one given.
func asNew(t testing.TB, m *ir.GraphModule) *ir.GraphModule {
	attrs := map[string]any{}
	for path, v := range m.Attrs() {
		attrs[path] = v
	}
	made, err := ir.NewGraphModule(attrs, m.Graph())
	require.NoError(t, err)
	return made
}
