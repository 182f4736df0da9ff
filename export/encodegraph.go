package export

import (
	"fmt"
	"slices"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// A graphEncoder writes one graph. What its nodes yield has a name in the file:
// that of the node, or where a node yields several values those of the getitems
// that take it apart. getitems are no nodes of the file.
type graphEncoder struct {
	*encoder
	module  *ir.GraphModule
	path    string              // of the subgraph, "" for the outermost
	named   map[string]*ir.Node // nodes whose value has an entry in a table, by that name
	alias   map[*ir.Node]string // getitems that repeat another
	taken   map[string]bool     // names that nodes have not but the file has
	tables  [objectEntry + 1]jsonWriter
	outputs []ir.Arg // what the graph returns
	single  bool     // it returns one value and no tuple
	node    *ir.Node // under writing, for messages
}

// fault notes what cannot be written at the present node.
func (g *graphEncoder) fault(class *ir.Class, format string, args ...any) {
	where := "graph"
	if g.path != "" {
		where = "subgraph " + g.path
	}
	if g.node != nil {
		where = "node " + g.node.Name()
		if g.path != "" {
			where = "node " + g.path + "." + g.node.Name()
		}
		if g.node.Op() != ir.Placeholder && g.node.Op() != ir.Output {
			where += " (" + g.node.Target().String() + ")"
		}
	}
	g.faults.add(class, "%s: %s", where, fmt.Sprintf(format, args...))
}

// graph writes the members of a Graph.
func (g *graphEncoder) graph() {
	g.named, g.alias, g.taken = map[string]*ir.Node{}, map[*ir.Node]string{}, map[string]bool{}
	for i := range g.tables {
		g.tables[i].b = append(g.tables[i].b, '{')
	}
	g.key("inputs")
	g.list(func() {
		for _, n := range g.module.Graph().Find(ir.Placeholder, nil) {
			g.node = n
			g.input(n)
		}
	})
	g.key("nodes")
	g.list(func() {
		for n := range g.module.Graph().Nodes() {
			g.node = n
			g.step(n)
		}
	})
	g.node = nil
	g.key("outputs")
	g.list(func() {
		for _, a := range g.outputs {
			g.result(a)
		}
	})
	for kind, table := range g.tables {
		g.key(entryKind(kind).tableName())
		g.comma()
		g.b = append(append(g.b, table.b...), '}')
		g.tables[kind].b = nil
	}
	g.key("is_single_tensor_return")
	g.bool(g.single)
}

// step writes a node of the graph, if it is one of the file.
func (g *graphEncoder) step(n *ir.Node) {
	switch n.Op() {
	case ir.Placeholder, ir.GetAttr: // inputs are written; attributes where they are used
	case ir.Output:
		g.output(n)
	case ir.CallFunction:
		if n.Func() == getitem {
			g.getitem(n)
			return
		}
		g.call(n)
	default:
		g.fault(ir.ErrUnsupported, "a program holds calls of operators alone, and no %s: lower the graph to ATen first", n.Op())
		g.define(n.Name(), n, ir.TensorMeta{}) // so that its users are not reported, too
	}
}

// input writes one input of the graph.
func (g *graphEncoder) input(n *ir.Node) {
	if g.path == "" && !isVariable(n.Name()) {
		g.fault(ir.ErrValue, "input %q: expected a name that Python has for variables", n.Name())
	}
	switch v := g.value(n).(type) {
	case ir.None, ir.Int, ir.Float, ir.Bool, ir.Str:
		g.literal(v.(ir.Arg))
	case nil:
		g.unknown(n)
	default:
		g.define(n.Name(), n, v)
		g.reference(n)
	}
}

// value returns what is known of a node's value, nil where nothing is.
func (g *graphEncoder) value(n *ir.Node) any {
	if v := n.Meta().Get(ir.MetaVal); v != nil {
		return v
	}
	switch v := n.Meta().Get(ir.MetaTensorMeta).(type) {
	case ir.TensorMeta, []any:
		return v
	}
	return nil
}

// unknown notes a node about whose value nothing is known.
func (g *graphEncoder) unknown(n *ir.Node) {
	name := n.Name()
	if g.path != "" {
		name = g.path + "." + name
	}
	g.blank = append(g.blank, name)
	g.define(n.Name(), n, ir.TensorMeta{DType: ir.Float32})
}

// define enters a value into its table.
func (g *graphEncoder) define(name string, n *ir.Node, val any) {
	if name == "self" {
		g.fault(ir.ErrValue, "a value called self is one that Python cannot load")
	}
	if g.taken[name] {
		g.fault(ir.ErrValue, "two values are called %s", name)
		return
	}
	g.taken[name] = true
	kind, ok := kindOf(val)
	if !ok {
		g.fault(ir.ErrUnsupported, "value %s: expected a tensor, a symbolic number or a custom object, got %s", name, valueType(val))
		return
	}
	if n != nil {
		g.named[name] = n
	}
	t := &g.tables[kind]
	t.key(name)
	e := &metaEncoder{jsonWriter: t, p: g.p, fault: g.fault}
	switch v := val.(type) {
	case ir.TensorMeta:
		e.tensor(v)
	case ir.SymScalar:
		e.scalar(v)
	case ObjectMeta:
		t.object(func() {
			t.key("name")
			t.str(name)
			t.key("class_fqn")
			t.str(v.Class)
		})
	case ir.Int, ir.Float, ir.Bool:
		e.scalar(ir.SymScalar{Kind: scalarKinds[kind], Hint: v.(ir.Arg)})
	}
}

var scalarKinds = map[entryKind]ir.TypeKind{symIntEntry: ir.TypeSymInt, symFloatEntry: ir.TypeSymFloat, symBoolEntry: ir.TypeSymBool}

// kindOf says in which table a value belongs.
func kindOf(val any) (entryKind, bool) {
	switch v := val.(type) {
	case ir.TensorMeta:
		return tensorEntry, true
	case ObjectMeta:
		return objectEntry, true
	case ir.SymScalar:
		switch v.Kind {
		case ir.TypeSymInt, ir.TypeInt:
			return symIntEntry, true
		case ir.TypeSymFloat, ir.TypeFloat:
			return symFloatEntry, true
		case ir.TypeSymBool, ir.TypeBool:
			return symBoolEntry, true
		}
	case ir.Int:
		return symIntEntry, true
	case ir.Float:
		return symFloatEntry, true
	case ir.Bool:
		return symBoolEntry, true
	}
	return 0, false
}

func valueType(val any) string {
	if a, ok := val.(ir.Arg); ok {
		return ir.Repr(a)
	}
	return fmt.Sprintf("%T", val)
}

// nameOf returns the name that a node's value has in the file.
func (g *graphEncoder) nameOf(n *ir.Node) string {
	if name, ok := g.alias[n]; ok {
		return name
	}
	return n.Name()
}

// getitem checks that a getitem takes the results of a call apart, whose names
// were given with the call.
func (g *graphEncoder) getitem(n *ir.Node) {
	from, ok := n.Arg(0).(*ir.Node)
	_, several := g.several(from)
	if _, index := n.Arg(1).(ir.Int); !ok || !index || !several {
		g.fault(ir.ErrUnsupported, "expected an item of a call that returns several values: lower the graph to ATen first")
		return
	}
	if _, inner := g.several(n); !inner && g.nameOf(n) == n.Name() && g.named[n.Name()] == nil && !g.isNone(n) {
		g.fault(ir.ErrValue, "expected an item of the %d that %s returns", lenOf(g.value(from)), from.Name())
	}
}

func (g *graphEncoder) isNone(n *ir.Node) bool {
	from, _ := n.Arg(0).(*ir.Node)
	i, _ := n.Arg(1).(ir.Int)
	if items, ok := g.several(from); ok && i >= 0 && int(i) < len(items) {
		_, none := items[i].(ir.None)
		return none
	}
	return false
}

func lenOf(v any) int {
	items, _ := v.([]any)
	return len(items)
}

// several returns what is known of the values of a node that yields several.
func (g *graphEncoder) several(n *ir.Node) ([]any, bool) {
	if n == nil {
		return nil, false
	}
	if n.Func() == getitem { // its own meta may be stale; what its call returns counts
		from, _ := n.Arg(0).(*ir.Node)
		i, _ := n.Arg(1).(ir.Int)
		if items, ok := g.several(from); ok && i >= 0 && int(i) < len(items) {
			inner, ok := items[i].([]any)
			return inner, ok
		}
		return nil, false
	}
	items, ok := g.value(n).([]any)
	return items, ok
}

// output notes what the graph returns.
func (g *graphEncoder) output(n *ir.Node) {
	if len(n.Args()) != 1 {
		g.fault(ir.ErrValue, "expected one operand, got %d", len(n.Args()))
		return
	}
	switch a := n.Arg(0).(type) {
	case ir.Tuple:
		for _, item := range a.All() {
			g.outputs = append(g.outputs, item)
		}
	case ir.List:
		for _, item := range a.All() {
			g.outputs = append(g.outputs, item)
		}
	default:
		if g.path == "" {
			g.fault(ir.ErrValue, "expected a tuple as the result, got %s", ir.Repr(a))
		}
		g.outputs, g.single = []ir.Arg{a}, true
	}
}

// result writes one output.
func (g *graphEncoder) result(a ir.Arg) {
	switch v := a.(type) {
	case *ir.Node:
		g.reference(v)
	case ir.None, ir.Int, ir.Float, ir.Bool:
		g.literal(v)
	case ir.Str:
		g.fault(ir.ErrUnsupported, "result %s: torch.export.load cannot read a program that returns a string", ir.Repr(v))
	default:
		g.fault(ir.ErrUnsupported, "result: expected a value of the graph or a number, got %s", ir.Repr(a))
	}
}

// pythonKeywords are no names of variables.
var pythonKeywords = words(`False None True and as assert async await break class continue def del elif else except finally
for from global if import in is lambda nonlocal not or pass raise return try while with yield`)

// isVariable reports whether Python can have a variable of a name.
func isVariable(name string) bool {
	return isIdentifier(name) && !pythonKeywords[name] && name != "self"
}

// free returns a name near base that no node and no other value has.
func (g *graphEncoder) free(base string) string {
	name := base
	for i := 1; g.taken[name] || g.module.Graph().Lookup(name) != nil; i++ {
		name = fmt.Sprintf("%s_%d", base, i)
	}
	return name
}

// metadata writes where a node comes from.
func (g *graphEncoder) metadata(n *ir.Node) {
	pair := func(key, text string) {
		if text != "" {
			g.key(key)
			g.str(text)
		}
	}
	text := func(key string) string {
		s, _ := n.Meta().Get(key).(string)
		return s
	}
	pair("stack_trace", n.StackTrace())
	switch stack := n.Meta().Get(ir.MetaNNModuleStack).(type) {
	case string:
		pair("nn_module_stack", stack)
	case []ir.ModuleCall:
		items := make([]string, len(stack))
		for i, c := range stack {
			items[i] = c.Key + "," + c.Path + "," + c.Type
		}
		if joined := strings.Join(items, ";"); wellFormed(joined, stack) {
			pair("nn_module_stack", joined)
		}
	}
	for _, key := range []string{ir.MetaSourceFnStack, ir.MetaTorchFn, ir.MetaFromNode} {
		pair(key, text(key))
	}
	switch custom := n.Meta().Get(ir.MetaCustom).(type) {
	case string:
		pair("custom", custom)
	case ir.Dict:
		var w jsonWriter
		if annotation(&w, custom) {
			pair("custom", string(w.b))
		} else {
			g.fault(ir.ErrUnsupported, "its annotation has a value that JSON does not have: %s", ir.Repr(custom))
		}
	}
	others, _ := n.Meta().Get(metaOthers).([]stringPair)
	for _, p := range others {
		pair(p.key, p.value)
	}
}

// wellFormed reports whether the text of a module stack says what it is of:
// names with commas or semicolons in them are lost, as Python would lose them.
func wellFormed(text string, stack []ir.ModuleCall) bool {
	back, ok := parseModuleStack(text)
	return ok && slices.Equal(back, stack)
}

// annotation writes a literal as JSON.
func annotation(w *jsonWriter, a ir.Arg) bool {
	ok := true
	switch a := a.(type) {
	case ir.None:
		w.null()
	case ir.Bool:
		w.bool(bool(a))
	case ir.Int:
		w.int(int64(a))
	case ir.Float:
		w.float(float64(a))
	case ir.Str:
		w.str(string(a))
	case ir.List:
		w.list(func() {
			for _, item := range a.All() {
				ok = annotation(w, item) && ok
			}
		})
	case ir.Tuple:
		w.list(func() {
			for _, item := range a.All() {
				ok = annotation(w, item) && ok
			}
		})
	case ir.Dict:
		w.object(func() {
			for key, value := range a.All() {
				name, isStr := key.(ir.Str)
				w.key(string(name))
				ok = isStr && annotation(w, value) && ok
			}
		})
	default:
		w.null()
		return false
	}
	return ok
}
