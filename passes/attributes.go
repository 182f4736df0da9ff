package passes

import (
	"reflect"
	"slices"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// attributes finds what lies below a path of a module without a walk over all of
// its attributes each time.
type attributes struct {
	module *ir.GraphModule
	paths  []string // sorted; made at the first need
}

// take puts the attribute at a path, and those that are kept apart below it,
// into a set under another path.
func (a *attributes) take(into map[string]any, from, to string) error {
	v, found := a.module.Attr(from)
	if found {
		into[to] = v
	}
	if a.paths == nil {
		a.paths = []string{}
		for p := range a.module.Attrs() {
			a.paths = append(a.paths, p)
		}
		slices.Sort(a.paths)
	}
	below := from + "."
	i, _ := slices.BinarySearch(a.paths, below)
	for ; i < len(a.paths) && strings.HasPrefix(a.paths[i], below); i++ {
		into[to+a.paths[i][len(from):]], _ = a.module.Attr(a.paths[i])
		found = true
	}
	if !found {
		return ir.Errorf(ir.ErrAttribute, "attribute %s: expected it in the module, got none: Node target %s not found!", from, from)
	}
	return nil
}

// isModuleAt reports whether the attribute at a path is a module, as far as that
// shows, and no tensor or plain value.
func (a *attributes) isModuleAt(path string) bool {
	v, _ := a.module.Attr(path)
	switch v.(type) {
	case nil, ir.TensorLike, ir.Arg, interface{ DType() ir.DType }:
		return false
	}
	switch reflect.TypeOf(v).Kind() {
	case reflect.Pointer, reflect.Struct, reflect.Func:
		return true
	}
	return false
}

// carry returns a module of a new graph over the attributes of an old one that
// the graph names, under their own paths.
func (a *attributes) carry(g *ir.Graph, class string) (*ir.GraphModule, error) {
	taken := map[string]any{}
	for n := range g.Nodes() {
		if n.Op() == ir.GetAttr || n.Op() == ir.CallModule {
			path := n.Target().String()
			if err := a.take(taken, path, path); err != nil {
				return nil, err
			}
		}
	}
	return ir.NewGraphModule(taken, g, ir.ClassName(class))
}

// isCall reports whether a node computes something: it is no placeholder, no
// get_attr and no output.
func isCall(n *ir.Node) bool {
	return n.Op() == ir.CallFunction || n.Op() == ir.CallMethod || n.Op() == ir.CallModule
}

// getitem is what takes apart the results of parts.
var getitem = ir.FuncOf("operator.getitem")

// copyMeta makes a copy of n's meta the meta of c, and returns c.
func copyMeta(c, n *ir.Node) *ir.Node {
	c.Meta().CopyFrom(n.Meta())
	return c
}

// arguments returns the nodes as arguments.
func arguments(nodes []*ir.Node) []ir.Arg {
	args := make([]ir.Arg, len(nodes))
	for i, n := range nodes {
		args[i] = n
	}
	return args
}

// lookup is what [ir.Graph.CopyNode] asks for the copies of operands.
func lookup(env map[*ir.Node]*ir.Node) func(*ir.Node) ir.Arg {
	return func(n *ir.Node) ir.Arg {
		if c := env[n]; c != nil {
			return c
		}
		return nil
	}
}
