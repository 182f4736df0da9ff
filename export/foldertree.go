package export

import (
	"slices"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// tree puts the attributes of a graph module into a tree of modules. path is where
// it stands in the module that is saved.
func (w *folderWriter) tree(m *ir.GraphModule, path string) *SavedModule {
	t := &treeBuilder{w: w, path: path, root: &SavedModule{Class: m.ClassName(), graph: m.Graph()}, made: map[*SavedModule]bool{}}
	t.made[t.root] = true
	var paths []string
	for p := range m.Attrs() {
		paths = append(paths, p)
	}
	// what lies above comes first
	slices.SortStableFunc(paths, func(a, b string) int { return strings.Count(a, ".") - strings.Count(b, ".") })
	for _, p := range paths {
		v, _ := m.Attr(p)
		t.put(p, v)
	}
	return t.root
}

// A treeBuilder makes the tree of one graph module.
type treeBuilder struct {
	w    *folderWriter
	path string
	root *SavedModule
	made map[*SavedModule]bool // modules that are made here, and hold what is put into them
}

// put gives an attribute its place. One that lies in a module which is an
// attribute itself must be what is there.
func (t *treeBuilder) put(path string, v any) {
	fail := func(class *ir.Class, format string, args ...any) {
		t.w.faults.add(class, "to folder: attribute %s: "+format, append([]any{joinPath(t.path, path)}, args...)...)
	}
	at, name := t.root, path
	for t.made[at] {
		first, below, deeper := strings.Cut(name, ".")
		if !deeper {
			break
		}
		c := at.Child(first)
		if c == nil {
			c = &SavedModule{Class: "Module"}
			t.made[c] = true
			at.add(first, c)
		}
		at, name = c, below
	}
	if !t.made[at] {
		if there, _ := at.Attr(name); there != v {
			fail(ir.ErrValue, "expected what is there in its module, got another %T", v)
		}
		return
	}
	if at.Child(name) != nil {
		fail(ir.ErrValue, "expected no other below it")
		return
	}
	switch v := v.(type) {
	case *Tensor:
		at.setTensor(name, v)
	case *SavedModule:
		at.add(name, v)
	case *ir.GraphModule:
		at.add(name, t.w.tree(v, joinPath(t.path, path)))
	case FolderModule:
		c := parseRepr(v.Repr())
		t.w.fill(joinPath(t.path, path), c, v)
		at.add(name, c)
	default:
		fail(ir.ErrUnsupported, "expected a tensor or a layer of torch.nn, got %T", v)
	}
}

// fill gives the tensors of v to the modules that its repr shows. Alike children
// that a repr counts are told apart first.
func (w *folderWriter) fill(path string, c *SavedModule, v FolderModule) {
	if left := maxModules; !c.split(&left) {
		w.faults.add(ir.ErrValue, "to folder: module %s: expected at most %d modules", path, maxModules)
		return
	}
	for name, t := range v.State() {
		m := c
		parts := strings.Split(name, ".")
		for _, piece := range parts[:len(parts)-1] {
			if m = m.Child(piece); m == nil {
				w.faults.add(ir.ErrValue, "to folder: tensor %s: expected its module in the repr, got %s", path+"."+name, c.Repr())
				return
			}
		}
		m.setTensor(parts[len(parts)-1], t)
	}
}

// split makes modules of their own of alike children that a repr counts. It
// reports false where there are more modules than left.
func (m *SavedModule) split(left *int) bool {
	for i, c := range m.Children {
		if *left--; *left < 0 {
			return false
		}
		own := *c
		own.params, own.buffers = nil, nil
		own.Names, own.Children = slices.Clone(c.Names), slices.Clone(c.Children)
		m.Children[i] = &own
		if !own.split(left) {
			return false
		}
	}
	return true
}

func joinPath(path, name string) string {
	if path == "" || name == "" {
		return path + name
	}
	return path + "." + name
}
