package export

import (
	"fmt"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// A builder turns the decoded program into graphs. Like the decoder it notes
// what is wrong and goes on.
type builder struct {
	faults     *faults
	decoder    *decoder // for the value tables
	catalogue  *ir.Catalogue
	record     string
	release    release         // of the torch that exported, 0 where that is unknown
	specs      []inputSpecJSON // of the outermost graph
	namespaces map[string]bool
	exprs      map[string]*ir.Expr        // by their text
	stacks     map[string][]ir.ModuleCall // by their text
	unparsed   map[string]string          // texts of expressions that are none, by the symbols that stand for them
	searches   int                        // for the nearest of an unknown operator
}

// A scope is one graph under construction. Names of values repeat freely
// between a graph and its subgraphs.
type scope struct {
	*builder
	json   *graphJSON
	graph  *ir.Graph
	path   string              // of the subgraph, "" for the outermost
	values map[string]*ir.Node // by the names of the file
	later  map[string]bool     // names that the file gives to some value, made on demand
	attrs  map[string]any      // subgraphs by name
	node   string              // the node under construction, for messages
}

// fault notes a fault at the node under construction.
func (s *scope) fault(class *ir.Class, format string, args ...any) {
	where := s.record
	if s.path != "" {
		where += ", subgraph " + s.path
	}
	if s.node != "" {
		where += ", " + s.node
	}
	s.faults.add(class, "%s: %s", where, fmt.Sprintf(format, args...))
}

// graphModule builds a graph with its subgraphs.
func (b *builder) graphModule(g *graphJSON, path string) *ir.GraphModule {
	s := &scope{builder: b, json: g, graph: ir.NewGraph(), path: path, values: make(map[string]*ir.Node, len(g.nodes)), attrs: map[string]any{}}
	for i := range g.inputs {
		s.input(i, &g.inputs[i])
	}
	for i := range g.nodes {
		s.node = "node " + g.nodes[i].label(i)
		s.call(&g.nodes[i])
	}
	s.node = ""
	s.output()
	m, err := ir.NewGraphModule(s.attrs, s.graph)
	if err != nil {
		s.fault(ir.ErrFormat, "%v", err)
		return nil
	}
	return m
}

// input makes a placeholder.
func (s *scope) input(i int, a *argument) {
	s.node = fmt.Sprintf("graph input %d", i)
	defer func() { s.node = "" }()
	switch a.tag {
	case asTensor, asCustomObj, asSymInt, asSymFloat, asSymBool:
		if a.ref == "" {
			s.fault(ir.ErrFormat, "expected the name of a value, got a constant")
			return
		}
		if s.claim(a.ref) {
			s.define(a.ref, s.create(ir.Placeholder, ir.Path(a.ref), nil, a.ref))
		}
	case asNone, asInt, asFloat, asBool, asString:
		name := fmt.Sprintf("arg%d", i)
		if s.path == "" && i < len(s.specs) && s.specs[i].arg.ref != "" {
			name = s.specs[i].arg.ref
		}
		n := s.graph.Placeholder(name)
		n.Meta().Set(ir.MetaVal, a.lit)
	case asInvalid: // noted by the decoder
	default:
		s.fault(ir.ErrUnsupported, "unknown kind %s of an input", a.tag)
	}
}

// claim reports whether name may be given to a new value.
func (s *scope) claim(name string) bool {
	switch {
	case name == "":
		s.fault(ir.ErrFormat, "a value has an empty name")
	case s.values[name] != nil:
		s.fault(ir.ErrFormat, "value %s defined twice", clip(name))
	default:
		return true
	}
	return false
}

// create makes the node of a value under the name that the file gives it. Where
// a node without a value took that name before, as can happen in files that
// leave node names out, the value's node gets another one.
func (s *scope) create(op ir.Op, t ir.Target, args []ir.Arg, name string, kwargs ...ir.Keyword) *ir.Node {
	n, err := s.graph.CreateNode(op, t, args, ir.ExactName(name), ir.Kwargs(kwargs...))
	if err != nil {
		n, err = s.graph.CreateNode(op, t, args, ir.Name(name), ir.Kwargs(kwargs...))
	}
	if err != nil {
		s.fault(ir.ErrFormat, "%v", err)
	}
	return n
}

// define notes that n yields the value called name, with what its table says.
func (s *scope) define(name string, n *ir.Node) {
	s.values[name] = n
	entry, ok := s.json.values[name]
	if !ok {
		s.fault(ir.ErrFormat, "value %s has no entry in the value tables", clip(name))
		return
	}
	n.Meta().Set(ir.MetaVal, s.value(name, entry))
}

// use returns the node that yields a value.
func (s *scope) use(name string) ir.Arg {
	if n := s.values[name]; n != nil {
		return n
	}
	if s.later == nil {
		s.later = map[string]bool{}
		for i := range s.json.nodes {
			for _, out := range s.json.nodes[i].outputs {
				out.eachRef(func(ref string) { s.later[ref] = true })
			}
		}
	}
	if s.later[name] {
		s.fault(ir.ErrFormat, "uses %s before it is defined", clip(name))
	} else {
		s.fault(ir.ErrFormat, "uses %s, which nothing defines", clip(name))
	}
	return ir.None{}
}

// eachRef calls f with every value name in a.
func (a *argument) eachRef(f func(string)) {
	if a.ref != "" && a.tag != asGraph {
		f(a.ref)
	}
	for i := range a.list {
		a.list[i].eachRef(f)
	}
}

// arg turns an argument of the file into one of the graph.
func (s *scope) arg(a *argument) ir.Arg {
	switch a.tag {
	case asTensor, asCustomObj, asOptionalTensor:
		return s.use(a.ref)
	case asSymInt, asSymFloat, asSymBool:
		if a.lit != nil {
			return a.lit
		}
		return s.use(a.ref)
	case asGraph:
		return s.subgraph(a)
	case asOperator:
		name, _ := a.lit.(ir.Str)
		t, err := s.resolve(string(name))
		if err != nil {
			s.fault(ir.ClassOf(err), "%v", err)
		}
		if t.fn == nil {
			return ir.None{}
		}
		return t.fn
	case asStringToArgument:
		pairs := make([]ir.Pair, len(a.list))
		for i := range a.list {
			pairs[i] = ir.Pair{Key: ir.Str(a.more.keys[i]), Value: s.arg(&a.list[i])}
		}
		return ir.DictOf(pairs...)
	case asTensors, asNestedTensors, asOptionalTensors, asSymInts, asSymFloats, asSymBools,
		asInts, asFloats, asStrings, asBools, asIntLists, asFloatLists:
		items := make([]ir.Arg, len(a.list))
		for i := range a.list {
			items[i] = s.arg(&a.list[i])
			if list, ok := items[i].(ir.List); ok && a.tag == asIntLists {
				items[i] = tupleOf(list)
			}
		}
		return ir.ListOf(items...)
	}
	if a.lit == nil {
		return ir.None{}
	}
	return a.lit
}

func tupleOf(list ir.List) ir.Tuple {
	items := make([]ir.Arg, 0, list.Len())
	for _, item := range list.All() {
		items = append(items, item)
	}
	return ir.TupleOf(items...)
}

// subgraph builds a graph argument, keeps it as an attribute and returns the
// get_attr node that reads it, as Python's deserializer does.
func (s *scope) subgraph(a *argument) ir.Arg {
	if a.more == nil || a.more.graph == nil {
		return ir.None{} // noted by the decoder
	}
	name := a.ref
	if !isIdentifier(name) {
		s.fault(ir.ErrFormat, "subgraph name %q: expected an identifier", clip(name))
		return ir.None{}
	}
	m := s.builder.graphModule(a.more.graph, subPath(s.path, name))
	if m == nil {
		return ir.None{}
	}
	name = s.keep(name, m)
	return s.graph.GetAttr(name)
}

// maxSameName bounds how many different subgraphs of one graph share a name.
const maxSameName = 64

// keep stores a subgraph under name. A name that came before with the same
// graph is the same subgraph, called again; with another graph, which Python
// overwrites, it gets a name of its own.
func (s *scope) keep(name string, m *ir.GraphModule) string {
	free := name
	for i := 1; i <= maxSameName; i++ {
		old, taken := s.attrs[free]
		switch {
		case !taken:
			s.attrs[free] = m
			return free
		case sameModule(old.(*ir.GraphModule), m):
			return free
		}
		free = fmt.Sprintf("%s_%d", name, i)
		s.faults.warn("%s: two different subgraphs are called %s; the second is called %s", s.record, name, free)
	}
	s.fault(ir.ErrFormat, "expected at most %d different subgraphs called %s", maxSameName, clip(name))
	return name
}

// sameModule reports whether two graph modules are the same program, subgraphs
// included.
func sameModule(a, b *ir.GraphModule) bool {
	if ir.Equal(a.Graph(), b.Graph()) != nil {
		return false
	}
	for path, v := range a.Attrs() {
		w, ok := b.Attr(path)
		x, isModule := w.(*ir.GraphModule)
		if !ok || !isModule || !sameModule(v.(*ir.GraphModule), x) {
			return false
		}
	}
	return true
}

// output makes the output node.
func (s *scope) output() {
	s.node = "graph output"
	outs := make([]ir.Arg, len(s.json.outputs))
	vals := make([]any, len(outs))
	for i := range s.json.outputs {
		a := &s.json.outputs[i]
		switch a.tag {
		case asTensor, asCustomObj, asSymInt, asSymFloat, asSymBool, asInt, asFloat, asBool, asString, asNone:
			outs[i] = s.arg(a)
		default:
			if a.tag != asInvalid {
				s.fault(ir.ErrUnsupported, "unknown kind %s of output %d", a.tag, i)
			}
			outs[i] = ir.None{}
		}
		vals[i] = outs[i]
		if n, ok := outs[i].(*ir.Node); ok {
			vals[i] = n.Meta().Get(ir.MetaVal)
		}
	}
	if !s.json.single {
		s.graph.Output(ir.TupleOf(outs...)).Meta().Set(ir.MetaVal, vals)
		return
	}
	if len(outs) != 1 {
		s.fault(ir.ErrFormat, "expected one output of a graph that returns a single tensor, got %d", len(outs))
		return
	}
	s.graph.Output(outs[0]).Meta().Set(ir.MetaVal, vals[0])
}

// isIdentifier reports whether name is a Python identifier of ASCII letters.
func isIdentifier(name string) bool {
	for i := range len(name) {
		c := name[i]
		if c != '_' && (c|0x20 < 'a' || c|0x20 > 'z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != "" && len(name) <= 1000
}

// snake is torch.fx's _snake_case.
func snake(s string) string {
	var out strings.Builder
	for i := range len(s) {
		if c := s[i]; c >= 'A' && c <= 'Z' && i > 0 && s[i-1] >= 'a' && s[i-1] <= 'z' {
			out.WriteByte('_')
		}
		out.WriteByte(s[i])
	}
	return strings.ToLower(out.String())
}
