package ir

import (
	"errors"
	"iter"
	"reflect"
	"slices"
	"strings"
)

// A GraphModule is a graph and the attributes that its targets name. Attributes
// are opaque here: tensors, modules, blobs of a file, or graph modules. Running
// one is the interpreter's, saving it the export package's. Its code is made
// when it is asked for, so nothing needs recompiling after an edit.
//
// A GraphModule may be read by many goroutines; changing it, or its graph, needs
// exclusive access.
type GraphModule struct {
	graph  *Graph
	paths  []string       // of the attributes, in the order in which they were set
	values map[string]any // path -> attribute
	class  string
	meta   Meta
	hooks  hooks
}

// GraphModuleClass is the class of every graph module as Python qualifies it: one
// is made for each of them, inside a method.
const GraphModuleClass = "torch.fx.graph_module.GraphModule.__new__.<locals>.GraphModuleImpl"

// A ModuleOption changes what [NewGraphModule] makes.
type ModuleOption func(*GraphModule)

// ClassName names the class that texts show. Default: GraphModule.
func ClassName(name string) ModuleOption { return func(m *GraphModule) { m.class = name } }

// AttrOrder puts the attributes at these paths first, in this order; paths that
// name none are passed over. Default: see [NewGraphModule].
func AttrOrder(paths ...string) ModuleOption {
	return func(m *GraphModule) { m.paths = append(m.paths, paths...) }
}

// NewGraphModule returns a module of g with the attributes under their full
// dotted paths. First come those that nodes name, shallow paths before deep ones
// and otherwise in graph order, as torch.fx has them, then the rest by name. An
// attribute that is itself a [*GraphModule], or has a method
// Attr(path string) (any, bool), answers for the paths below its own.
//
// It fails, naming all of them, when nodes name attributes that are not there.
// The graph belongs to the module from then on.
func NewGraphModule(attrs map[string]any, g *Graph, opts ...ModuleOption) (*GraphModule, error) {
	if err := CheckOptions("graph module", opts); err != nil {
		return nil, err
	}
	m := &GraphModule{values: map[string]any{}, class: "GraphModule"}
	for _, o := range opts {
		o(m)
	}
	if g == nil {
		return nil, Errorf(ErrAssertion, "graph module: Expected a Graph instance, but got nil")
	}
	all := &GraphModule{values: attrs}
	var named []string
	var faults []error
	for n := range g.Nodes() {
		if n.op != GetAttr && n.op != CallModule {
			continue
		}
		path := n.target.String()
		if _, ok := attrs[path]; ok {
			named = append(named, path)
		} else if _, ok := all.Attr(path); !ok {
			faults = append(faults, Errorf(ErrRuntime,
				"Node %s referenced target %s but that target was not provided in ``root``!", n.name, path))
		}
	}
	if faults != nil {
		return nil, errors.Join(faults...)
	}
	first := m.paths // what AttrOrder left
	m.paths = nil
	slices.SortStableFunc(named, func(a, b string) int { return strings.Count(a, ".") - strings.Count(b, ".") })
	for _, path := range append(first, named...) {
		if v, ok := attrs[path]; ok {
			m.SetAttr(path, v)
		}
	}
	var rest []string
	for path := range attrs {
		if _, ok := m.values[path]; !ok {
			rest = append(rest, path)
		}
	}
	slices.Sort(rest)
	for _, path := range rest {
		m.SetAttr(path, attrs[path])
	}
	return m, m.SetGraph(g)
}

// Graph returns the module's graph.
func (m *GraphModule) Graph() *Graph { return m.graph }

// SetGraph makes g the module's graph and the module g's owner. A graph that
// several modules were given is owned by the last one.
func (m *GraphModule) SetGraph(g *Graph) error {
	if g == nil {
		return Errorf(ErrAssertion, "graph module: Expected a Graph instance, but got nil")
	}
	m.graph, g.owner = g, m
	return nil
}

// ClassName returns the name of the class that texts show.
func (m *GraphModule) ClassName() string { return m.class }

// Meta returns the facts noted about m, to read and to write.
func (m *GraphModule) Meta() *Meta { return &m.meta }

// attrHolder is an attribute that has attributes of its own.
type attrHolder interface {
	Attr(path string) (any, bool)
}

// Attr returns the attribute at a dotted path, looking into attributes that
// hold others.
func (m *GraphModule) Attr(path string) (any, bool) {
	if v, ok := m.values[path]; ok {
		return v, true
	}
	for i := len(path) - 1; i > 0; i-- {
		if path[i] != '.' {
			continue
		}
		if v, ok := m.values[path[:i]]; ok {
			if holder, ok := v.(attrHolder); ok {
				return holder.Attr(path[i+1:])
			}
			return nil, false
		}
	}
	return nil, false
}

// SetAttr sets the attribute at a dotted path; a new one comes last.
func (m *GraphModule) SetAttr(path string, v any) {
	if _, ok := m.values[path]; !ok {
		m.paths = append(m.paths, path)
	}
	m.values[path] = v
}

// DeleteAttr removes the attribute at exactly this path.
func (m *GraphModule) DeleteAttr(path string) {
	if _, ok := m.values[path]; ok {
		delete(m.values, path)
		m.paths = slices.DeleteFunc(m.paths, func(p string) bool { return p == path })
	}
}

// Attrs yields paths and attributes in the order in which they were set.
func (m *GraphModule) Attrs() iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		for _, p := range m.paths {
			if !yield(p, m.values[p]) {
				return
			}
		}
	}
}

// isModule tells an attribute that stands for a module from a tensor or a plain
// value, as far as that shows.
func isModule(v any) bool {
	switch v.(type) {
	case nil, TensorLike, Arg, interface{ DType() DType }:
		return false
	case *GraphModule:
		return true
	}
	switch reflect.TypeOf(v).Kind() {
	case reflect.Pointer, reflect.Struct, reflect.Func:
		return true
	}
	return false
}

// isContainer reports whether path names nothing itself but attributes lie
// below it; in Python there is an empty module there.
func (m *GraphModule) isContainer(path string) bool {
	for _, p := range m.paths {
		if len(p) > len(path) && p[len(path)] == '.' && p[:len(path)] == path {
			return true
		}
	}
	return false
}

// AddSubmodule sets a module at a dotted path. It reports false, and does
// nothing, when a part of the path is there and is no module.
func (m *GraphModule) AddSubmodule(path string, sub any) bool {
	for i := range len(path) {
		if path[i] != '.' {
			continue
		}
		if v, ok := m.values[path[:i]]; ok {
			if !isModule(v) {
				return false
			}
			if inner, ok := v.(*GraphModule); ok {
				return inner.AddSubmodule(path[i+1:], sub)
			}
		}
	}
	if v, ok := m.values[path]; ok && !isModule(v) {
		return false
	}
	m.deleteBelow(path)
	m.SetAttr(path, sub)
	return true
}

// DeleteSubmodule removes the module at a dotted path with all below it. It
// reports false when there is none.
func (m *GraphModule) DeleteSubmodule(path string) bool {
	if v, ok := m.values[path]; ok && isModule(v) || !ok && m.isContainer(path) {
		m.DeleteAttr(path)
		m.deleteBelow(path)
		return true
	}
	for i := range len(path) {
		if inner, ok := m.values[path[:i]].(*GraphModule); ok && path[i] == '.' {
			return inner.DeleteSubmodule(path[i+1:])
		}
	}
	return false
}

func (m *GraphModule) deleteBelow(path string) {
	m.paths = slices.DeleteFunc(m.paths, func(p string) bool {
		below := strings.HasPrefix(p, path+".")
		if below {
			delete(m.values, p)
		}
		return below
	})
}

// DeleteUnusedSubmodules removes the modules that no node needs: those that are
// not called or below a called one, and of which nothing is read. Tensors of the
// module itself stay.
func (m *GraphModule) DeleteUnusedSubmodules() {
	used, called := map[string]bool{}, map[string]bool{}
	for n := range m.graph.Nodes() {
		if n.op != GetAttr && n.op != CallModule {
			continue
		}
		path := n.target.String()
		for i := range len(path) {
			if path[i] == '.' {
				used[path[:i]] = true
			}
		}
		used[path] = true
		if n.op == CallModule {
			called[path] = true
		}
	}
	for _, p := range slices.Clone(m.paths) {
		for i := range len(p) + 1 {
			if i < len(p) && p[i] != '.' {
				continue
			}
			prefix := p[:i]
			if called[prefix] {
				break // everything below is used
			}
			if !used[prefix] && (i < len(p) || isModule(m.values[p])) {
				m.DeleteSubmodule(prefix)
				break
			}
		}
	}
}

// A CloneOption makes more of a [GraphModule.Clone] copies than graphs.
type CloneOption func(*cloner)

type cloner struct {
	attr func(path string, v any) any
	meta func(key string, v any) any
}

// CopyAttrs has f make what the copy has in the place of each attribute that is no
// graph module. Default: attributes are shared.
func CopyAttrs(f func(path string, v any) any) CloneOption { return func(c *cloner) { c.attr = f } }

// CopyMeta has f make what the copy notes in the place of each value in the meta of
// the module and of its nodes. Default: values are shared.
func CopyMeta(f func(key string, v any) any) CloneOption { return func(c *cloner) { c.meta = f } }

func (c *cloner) copyMeta(m *Meta) {
	if c.meta == nil {
		return
	}
	for key, v := range m.All() {
		m.Set(key, c.meta(key, v))
	}
}

// Clone returns a copy of m whose graph, and whose nested graph modules, may be
// changed without m noticing. Other attributes, and the values in meta, are shared
// unless options say otherwise. Hooks come along. torch.fx's deepcopy drops the
// attributes that no node names.
func (m *GraphModule) Clone(opts ...CloneOption) *GraphModule {
	with := &cloner{}
	for _, o := range opts {
		if o != nil {
			o(with)
		}
	}
	c := &GraphModule{paths: slices.Clone(m.paths), values: make(map[string]any, len(m.values)), class: m.class}
	for p, v := range m.values {
		if sub, ok := v.(*GraphModule); ok {
			v = sub.Clone(opts...)
		} else if with.attr != nil {
			v = with.attr(p, v)
		}
		c.values[p] = v
	}
	c.meta.CopyFrom(&m.meta)
	with.copyMeta(&c.meta)
	c.hooks = m.hooks.clone()
	c.graph = m.graph.Clone()
	for n := range c.graph.Nodes() {
		with.copyMeta(&n.meta)
	}
	c.graph.owner = c
	return c
}
