// Package fxcase holds what a Go program made against what torch.fx recorded of
// the same program: the cases of the shared fixtures, and those that
// scripts/record_fxcases.py keeps in testdata. It is for tests alone.
//
// Its own tests build the recorded programs that take several rooms of the
// module; the others stand in the room that they are about. The list
// parity/fxtests.txt names the test of each case.
package fxcase

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/torchfx-go/torchfx/internal/testenv"
	"github.com/torchfx-go/torchfx/ir"
)

// A Case is one recorded program.
type Case struct {
	t   testing.TB
	dir string
}

// Open finds a case of the shared fixtures by name, and skips the test where they
// are not there.
func Open(t testing.TB, name string) *Case {
	t.Helper()
	return &Case{t, testenv.Fixtures(t, "fx", name)}
}

// OpenDir is [Open] for a case that is kept in dir.
func OpenDir(t testing.TB, dir string) *Case { return &Case{t, dir} }

// Text returns a file of the case.
func (c *Case) Text(name string) string {
	c.t.Helper()
	data, err := os.ReadFile(filepath.Join(c.dir, name))
	require.NoError(c.t, err)
	return string(data)
}

// Before compares a module with the one that the program starts from.
func (c *Case) Before(gm *ir.GraphModule, err error) *ir.GraphModule {
	c.t.Helper()
	require.NoError(c.t, err)
	c.same(gm, filepath.Join(c.dir, "before"), nil)
	return gm
}

// Same compares a module, and the graph modules below it, with what was recorded
// of them: the names, types and users of the nodes, what made them, and all texts
// byte for byte. Texts that the case tells otherwise stand in but.
func (c *Case) Same(gm *ir.GraphModule, err error, but ...string) *ir.GraphModule {
	c.t.Helper()
	require.NoError(c.t, err)
	c.same(gm, c.dir, but)
	return gm
}

func (c *Case) same(gm *ir.GraphModule, dir string, but []string) {
	c.t.Helper()
	for name, text := range texts(gm) {
		want, err := os.ReadFile(filepath.Join(dir, name))
		if os.IsNotExist(err) || slices.Contains(but, name) {
			continue
		}
		require.NoError(c.t, err)
		got, err := text()
		require.NoError(c.t, err, name)
		if rest, ok := strings.CutPrefix(got, "class "+gm.ClassName()+"("); ok {
			got = "class " + c.class(dir) + "(" + rest
		}
		assert.Equal(c.t, string(want), got, name)
	}
	c.nodes(gm, dir)
	subs, _ := os.ReadDir(filepath.Join(dir, "submodules"))
	for _, s := range subs {
		v, _ := gm.Attr(s.Name())
		child, ok := v.(*ir.GraphModule)
		if assert.True(c.t, ok, "expected a graph module %s, got %T", s.Name(), v) {
			c.same(child, filepath.Join(dir, "submodules", s.Name()), but)
		}
	}
}

// texts are the files that a case may hold, with what makes them.
func texts(gm *ir.GraphModule) map[string]func() (string, error) {
	plain := func(text string) func() (string, error) { return func() (string, error) { return text, nil } }
	readable := func(opts ...ir.CodeOption) func() (string, error) {
		return func() (string, error) { return gm.Readable(opts...) }
	}
	code := func(root string, opts ...ir.CodeOption) func() (string, error) {
		return func() (string, error) {
			c, err := gm.Graph().PythonCode(root, opts...)
			if err != nil {
				return "", err
			}
			return c.Source, nil
		}
	}
	stride, device := ir.IncludeStride(), ir.IncludeDevice()
	return map[string]func() (string, error){
		"code.py":               gm.Code,
		"code_root.py":          code("mod"),
		"code_verbose.py":       code("self", ir.Verbose()),
		"code_expanded.py":      code("self", ir.Expanded()),
		"code_record.py":        code("self", ir.RecordFunc()),
		"graph.txt":             plain(gm.Graph().String()),
		"tabular.txt":           plain(gm.Graph().Tabular()),
		"readable.txt":          readable(),
		"readable_stride.txt":   readable(stride),
		"readable_device.txt":   readable(device),
		"readable_both.txt":     readable(stride, device),
		"readable_colored.txt":  readable(ir.Colored(), stride, device),
		"readable_expanded.txt": readable(ir.Expanded()),
		"readable_meta.txt":     readable(ir.ShowMeta("extra", "none")),
	}
}

// class is the name of the traced class or function in Python, which in Go has
// another.
func (c *Case) class(dir string) string {
	c.t.Helper()
	var file struct {
		Class string `json:"class_name"`
	}
	data, err := os.ReadFile(filepath.Join(dir, "nodes.json"))
	require.NoError(c.t, err)
	require.NoError(c.t, json.Unmarshal(data, &file))
	return file.Class
}

// nodes compares what the texts do not tell.
func (c *Case) nodes(gm *ir.GraphModule, dir string) {
	c.t.Helper()
	var want struct {
		Nodes []struct {
			Name, Type string
			Users      []string
			Meta       struct {
				Stack [][3]string `json:"nn_module_stack"`
			}
		}
	}
	data, err := os.ReadFile(filepath.Join(dir, "nodes.json"))
	if os.IsNotExist(err) {
		return // a case that keeps texts alone
	}
	require.NoError(c.t, err)
	require.NoError(c.t, json.Unmarshal(data, &want))
	require.Equal(c.t, len(want.Nodes), gm.Graph().Len(), "number of nodes")
	i := 0
	for n := range gm.Graph().Nodes() {
		w := want.Nodes[i]
		i++
		if !assert.Equal(c.t, w.Name, n.Name(), "name of node %d", i-1) {
			continue
		}
		assert.Equal(c.t, w.Type, n.Type(), "type of %s", n.Name())
		users := []string{}
		for u := range n.Users() {
			users = append(users, u.Name())
		}
		assert.Equal(c.t, w.Users, users, "users of %s", n.Name())
		stack, _ := n.Meta().Get(ir.MetaNNModuleStack).([]ir.ModuleCall)
		if !assert.Len(c.t, stack, len(w.Meta.Stack), "modules around %s", n.Name()) {
			continue
		}
		for k, call := range stack {
			assert.Equal(c.t, w.Meta.Stack[k][:2], []string{call.Key, call.Path}, "module around %s", n.Name())
			if class := w.Meta.Stack[k][2]; strings.HasPrefix(class, "torch.") {
				assert.Equal(c.t, class, call.Type, "class of the module around %s", n.Name())
			}
		}
	}
}

// Result compares what the program returned beside the module.
func (c *Case) Result(facts any) {
	c.t.Helper()
	var want, got any
	require.NoError(c.t, json.Unmarshal([]byte(c.Text("result.json")), &want))
	data, err := json.Marshal(facts)
	require.NoError(c.t, err)
	require.NoError(c.t, json.Unmarshal(data, &got))
	assert.Equal(c.t, want, got)
}

// Recorded reads what the program returned beside the module.
func (c *Case) Recorded(into any) {
	c.t.Helper()
	require.NoError(c.t, json.Unmarshal([]byte(c.Text("result.json")), into))
}

// classes are Python's exceptions as the classes of errors here.
var classes = map[string]*ir.Class{
	"AssertionError": ir.ErrAssertion, "AttributeError": ir.ErrAttribute, "IndexError": ir.ErrIndex,
	"NameError": ir.ErrTrace, "NotImplementedError": ir.ErrNotImplemented, "RuntimeError": ir.ErrRuntime,
	"TraceError": ir.ErrTrace, "TypeError": ir.ErrType, "ValueError": ir.ErrValue,
}

// Fails compares an error with the one that the program raised: its class, and
// its text, which must be part of err's.
func (c *Case) Fails(err error) {
	c.t.Helper()
	var want struct{ Type, Message string }
	require.NoError(c.t, json.Unmarshal([]byte(c.Text("error.json")), &want))
	SameError(c.t, want.Type, want.Message, err)
}

// SameError compares an error with the type and text of Python's.
func SameError(t testing.TB, class, message string, err error) {
	t.Helper()
	require.Error(t, err)
	require.Contains(t, classes, class)
	assert.ErrorIs(t, err, classes[class])
	assert.Contains(t, err.Error(), message)
}
