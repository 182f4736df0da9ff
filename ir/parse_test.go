package ir

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// checkParse reads the code of a recorded graph and compares with the graph
// that its nodes make.
func (r *recording) checkParse(t *testing.T) {
	if strings.HasSuffix(r.dir, "own_self.json") {
		t.Skip("an unused placeholder called self is not in the code")
	}
	g := r.graph(t)
	if n := unwritten(g); n != nil {
		t.Skipf("code leaves out operands of %s", n.Format())
	}
	code, err := g.PythonCode("self")
	require.NoError(t, err)
	opts := []ParseOption{WithGlobals(code.Globals...)}
	for n := range g.Nodes() {
		walkFields(n, func(class string, fields []string) { opts = append(opts, WithFields(class, fields...)) })
	}
	text := r.Texts["code.py"]
	got, err := ParseCode(text, opts...)
	require.NoError(t, err)
	want := hoisted(t, lossy(g))
	require.NoError(t, Equal(hoisted(t, got), want))
	require.NoError(t, got.Lint())
	again, err := got.PythonCode("self")
	require.NoError(t, err)
	require.Equal(t, text, again.Source)
	if _, ok := g.CodeGen().(PyTreeCodeGen); !ok {
		require.IsType(t, g.CodeGen(), got.CodeGen())
	}
	for n, m := want.First(), hoisted(t, got).First(); n != nil; n, m = n.Next(), m.Next() {
		// a global may take the name of a node
		if n.op != Output && !slices.ContainsFunc(code.Globals, func(gl Global) bool { return sameBase(gl.Name, n.name) }) {
			require.Equal(t, n.name, m.name)
		}
	}
	r.checkParseReadable(t, g, opts)
	// the import statements say the same as the globals
	if !strings.Contains(strings.Join(r.Imports, ""), "<") {
		whole := strings.Join(code.Imports(), "\n") + "\n" + text
		got, err = ParseCode(whole, opts[1:]...)
		require.NoError(t, err)
		require.NoError(t, Equal(hoisted(t, got), want))
	}
}

// sameBase reports whether two names may have been in each other's way.
func sameBase(a, b string) bool {
	a, _, _ = splitNumber(a)
	b, _, _ = splitNumber(b)
	return a == b || a == "_" && strings.Trim(b, "_") == ""
}

// unwritten returns a node of which an operator's form leaves operands out.
func unwritten(g *Graph) *Node {
	for n := range g.Nodes() {
		f := n.Func()
		if f == nil {
			continue
		}
		form := ""
		if f.kind == Operator {
			form = infixForms[f.Base()] + inplaceForms[f.Base()]
		}
		attr, isAttr := n.Arg(1).(Str)
		isAttr = isAttr && f == getattrFunc && isIdentifier(string(attr)) && len(n.args) == 2
		if (form != "" || isAttr) && len(n.kwargs) > 0 || form != "" && len(n.args) > strings.Count(form, "{}") {
			return n
		}
	}
	return nil
}

// hoisted returns g with its placeholders first: code does not tell their place.
func hoisted(t *testing.T, g *Graph) *Graph {
	c := g.Clone()
	var last *Node
	for _, n := range slices.Collect(c.Nodes()) {
		if n.op != Placeholder {
			continue
		}
		if last != nil {
			require.NoError(t, last.Append(n))
		} else if first := c.First(); first != n {
			require.NoError(t, first.Prepend(n))
		}
		last = n
	}
	return c
}

// lossy returns g without what its kind of code leaves out.
func lossy(g *Graph) *Graph {
	if _, ok := g.CodeGen().(BoxedCodeGen); ok {
		g = g.Clone()
		for n := range g.Nodes() {
			if n.op == Placeholder {
				n.typ, n.args = "", nil
			}
		}
	}
	return g
}

// checkParseReadable reads the verbose forms, whose graphs and texts must be the
// same again, except for what they only hint at: annotations and recomputation.
func (r *recording) checkParseReadable(t *testing.T, g *Graph, opts []ParseOption) {
	gm := r.module(t)
	for name, code := range map[string][]CodeOption{
		"readable.txt": nil, "readable_expanded.txt": {Expanded()},
		"readable_both.txt": {IncludeStride(), IncludeDevice()}, "readable_colored.txt": {Colored(), IncludeStride(), IncludeDevice()},
	} {
		text, ok := r.Texts[name]
		if !ok {
			continue
		}
		c, err := ParseClass(text, opts...)
		require.NoError(t, err, name)
		require.Equal(t, gm.ClassName(), c.Name)
		if strings.Contains(text, "Annotation:") || strings.Contains(text, "recompute") || len(c.Children) > 0 || name == "readable_expanded.txt" && strings.Contains(text, ": \"") {
			continue
		}
		m, err := NewGraphModule(moduleAttrs(c), c.Graph, ClassName(c.Name))
		require.NoError(t, err)
		again, err := m.Readable(code...)
		require.NoError(t, err)
		require.Equal(t, text, again, name)
	}
}

// moduleAttrs has a stub for each attribute of a graph.
func moduleAttrs(c *CodeClass) map[string]any {
	attrs := map[string]any{}
	for n := range c.Graph.Nodes() {
		if n.op == GetAttr || n.op == CallModule {
			attrs[n.target.String()] = &stub{}
		}
	}
	return attrs
}

// walkFields calls f with the namedtuple classes in the operands of n.
func walkFields(n *Node, f func(class string, fields []string)) {
	var walk func(a Arg)
	walk = func(a Arg) {
		switch a := a.(type) {
		case NamedTuple:
			f(a.Type.Name(), a.Fields)
			for _, x := range a.items {
				walk(x)
			}
		case Tuple:
			for _, x := range a.items {
				walk(x)
			}
		case List:
			for _, x := range a.items {
				walk(x)
			}
		case Dict:
			for _, p := range a.pairs {
				walk(p.Value)
			}
		}
	}
	for _, a := range n.args {
		walk(a)
	}
	for _, k := range n.kwargs {
		walk(k.Value)
	}
}

func TestParseCommitted(t *testing.T) { parseFiles(t, filepath.Join("testdata", "fx")) }

// TestParseRandom reads what scripts/record_random_fx.py wrote.
func TestParseRandom(t *testing.T) {
	dir := os.Getenv("TORCHFX_RECORDINGS")
	if dir == "" {
		t.Skip("TORCHFX_RECORDINGS names no folder of random recordings")
	}
	parseFiles(t, dir)
}

func parseFiles(t *testing.T, dir string) {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			r := &recording{dir: file}
			require.NoError(t, json.Unmarshal(data, r))
			r.checkParse(t)
			for path, sub := range r.Subs {
				t.Run(path, sub.checkParse)
			}
		})
	}
}

func TestParseShared(t *testing.T) {
	root := fixtures(t, "fx")
	cases, err := os.ReadDir(root)
	require.NoError(t, err)
	for _, c := range cases {
		for _, sub := range []string{"", "before"} {
			if !c.IsDir() {
				continue
			}
			r := readRecording(t, filepath.Join(root, c.Name(), sub))
			if r == nil {
				continue
			}
			t.Run(filepath.Join(c.Name(), sub), func(t *testing.T) {
				if test, ok := notInFiles[c.Name()]; ok {
					t.Skip("not in the files: " + test)
				}
				r.checkParse(t)
				for path, s := range r.Subs {
					t.Run(path, s.checkParse)
				}
			})
		}
	}
}

// Of calls of one wrapped function only some may be marked; the wrap lines stand in the
// order of the first that are.
func TestParseWrapLines(t *testing.T) {
	const body = "\ndef forward(self, x):\n    f = program_f(x);  x = None\n    g = program_g(f);  f = None\n    f_1 = program_f(g);  g = None\n    return f_1\n    "
	line := func(name string) string { return `torch.fx._symbolic_trace.wrap("` + name + "\")\n" }
	for _, names := range [][2]string{{"program_f", "program_g"}, {"program_g", "program_f"}} {
		text := "\n" + line(names[0]) + line(names[1]) + body
		g, err := ParseCode(text)
		require.NoError(t, err)
		again, err := g.PythonCode("self")
		require.NoError(t, err)
		require.Equal(t, text, again.Source)
	}
}
