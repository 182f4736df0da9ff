package ir

import (
	"fmt"
	"slices"
	"strings"
)

// Code returns the Python source of the graph, as GraphModule.code of torch.fx
// 2.15 has it.
func (m *GraphModule) Code() (string, error) {
	c, err := m.graph.PythonCode("self")
	if err != nil {
		return "", err
	}
	return c.Source, nil
}

// String returns the modules as Python's repr shows them, the code, and torch.fx's
// closing hint. Where there is no code, the reason stands in its place.
func (m *GraphModule) String() string {
	code, err := m.Code()
	if err != nil {
		code = "# " + err.Error()
	}
	return m.Repr() + "\n" + code + "\n# To see more debug info, please use `graph_module.print_readable()`"
}

// describeModule is what [DescribeModules] set.
var describeModule = func(any) (repr string, ok bool) { return "", false }

// DescribeModules makes f say what Python's repr of a module is that stands in a
// graph module and that this package knows nothing of; ok false leaves it the name
// of its Go type. It is for the package that has the modules, before main starts.
func DescribeModules(f func(v any) (repr string, ok bool)) { describeModule = f }

// Repr returns what Python's repr of the module is: its class and its
// submodules. A submodule that has a method Repr() string says what it is, others
// as [DescribeModules] has it.
func (m *GraphModule) Repr() string {
	root := &moduleTree{text: m.class}
	for p, v := range m.Attrs() {
		parts := strings.Split(p, ".")
		if !isModule(v) {
			parts = parts[:len(parts)-1]
			v = nil
		}
		root.add(parts, v)
	}
	return root.repr()
}

// A moduleTree is what repr shows of nested modules.
type moduleTree struct {
	text     string // class name, or the whole text of a module that has one
	whole    bool
	names    []string
	children map[string]*moduleTree
}

func (t *moduleTree) add(path []string, v any) {
	for _, name := range path {
		child := t.children[name]
		if child == nil {
			child = &moduleTree{text: "Module"}
			if t.children == nil {
				t.children = map[string]*moduleTree{}
			}
			t.children[name] = child
			t.names = append(t.names, name)
		}
		t = child
	}
	switch v := v.(type) {
	case nil:
	case interface{ Repr() string }:
		t.text, t.whole = v.Repr(), true
	default:
		if t.text, t.whole = describeModule(v); !t.whole {
			name := fmt.Sprintf("%T", v)
			t.text = name[strings.LastIndexAny(name, ".*")+1:]
		}
	}
}

func (t *moduleTree) repr() string {
	if t.whole {
		return t.text
	}
	if len(t.names) == 0 {
		return t.text + "()"
	}
	var b strings.Builder
	b.WriteString(t.text + "(")
	for _, name := range t.names {
		b.WriteString("\n  (" + name + "): " + indentRest(t.children[name].repr(), 2))
	}
	b.WriteString("\n)")
	return b.String()
}

// Readable returns the verbose code of the graph as a class, followed by that of
// each direct child that is a GraphModule. Same text as torch.fx
// GraphModule.print_readable.
func (m *GraphModule) Readable(opts ...CodeOption) (string, error) {
	return m.readable(m.class, opts)
}

func (m *GraphModule) readable(name string, opts []CodeOption) (string, error) {
	code, err := m.graph.PythonCode("self", append([]CodeOption{Verbose()}, opts...)...)
	if err != nil {
		return "", err
	}
	text := indentRest("class "+name+"(torch.nn.Module):\n"+strings.TrimLeft(code.Source, "\n"), 4)
	var below strings.Builder
	for p, v := range m.Attrs() {
		sub, ok := v.(*GraphModule)
		if !ok || strings.Contains(p, ".") {
			continue
		}
		s, err := sub.readable(p, append(slices.Clone(opts), func(c *codeConfig) { c.expanded = false }))
		if err != nil {
			return "", err
		}
		below.WriteString("\n" + s)
	}
	return text + indentRest(below.String(), 4), nil
}

// indentRest indents all lines of s but the first and empties blank ones, if
// there are several. Same as torch.nn.modules.module._addindent.
func indentRest(s string, spaces int) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines[1:] {
		if strings.TrimSpace(line) == "" {
			lines[i+1] = ""
		} else {
			lines[i+1] = strings.Repeat(" ", spaces) + line
		}
	}
	return strings.Join(lines, "\n")
}
