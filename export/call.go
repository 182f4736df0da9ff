package export

import (
	"cmp"
	"slices"

	"github.com/torchfx-go/torchfx/ir"
)

// getitem is how a graph takes apart what a node returns.
var getitem = ir.FuncOf("operator.getitem")

// call makes the nodes of one node of the file: the call, and getitems for its
// results where there are several. Follows GraphModuleDeserializer in
// torch/_export/serde/serialize.py, except that arguments are bound by their
// names in the schema and by nothing else.
func (s *scope) call(n *nodeJSON) {
	s.succeed(n)
	t, err := s.resolve(n.target)
	if err != nil {
		s.fault(ir.ClassOf(err), "%v", err)
	}
	var args []ir.Arg
	var kwargs []ir.Keyword
	switch {
	case t.schema != nil:
		args, kwargs = s.bind(n, t.schema)
		s.checkResults(n, t.schema)
	case t.kind == symbolicTarget:
		if want := cmp.Or(symbolicArity[n.target], 2); len(n.inputs) != want {
			s.fault(ir.ErrFormat, "%s: expected arguments: %d, got %d", n.target, want, len(n.inputs))
		}
		for i := range n.inputs {
			args = append(args, s.arg(&n.inputs[i].arg))
		}
	default:
		s.formerHigherOrder(n)
		for i := range n.inputs {
			in := &n.inputs[i]
			if in.kind == kindPositional || in.name == "" {
				args = append(args, s.arg(&in.arg))
			} else {
				kwargs = append(kwargs, ir.Kw(in.name, s.arg(&in.arg)))
			}
		}
	}
	if t.fn == nil {
		s.skip(n)
		return
	}
	meta := s.metadata(n.meta)
	if t.fn.Kind() == ir.HigherOrder {
		// a subgraph has no metadata of its own in the file; Python gives it the call's
		for _, a := range args {
			if g, ok := a.(*ir.Node); ok && g.Op() == ir.GetAttr {
				meta.addTo(g.Meta())
			}
		}
	}
	s.results(n, t.fn, meta, args, kwargs)
}

// skip defines the results of a node that could not be made, so that its users
// are not reported too.
func (s *scope) skip(n *nodeJSON) {
	for i := range n.outputs {
		n.outputs[i].eachRef(func(ref string) {
			if s.claim(ref) {
				s.values[ref] = s.graph.Placeholder(ref)
			}
		})
	}
}

// results makes the call node and whatever takes its value apart.
func (s *scope) results(n *nodeJSON, fn *ir.Func, meta metadata, args []ir.Arg, kwargs []ir.Keyword) {
	single := len(n.outputs) == 1 && n.outputs[0].isValue() &&
		(fn.Kind() != ir.HigherOrder || n.single == hopSingle)
	if single {
		name := n.outputs[0].ref
		if !s.claim(name) {
			return
		}
		node := s.create(ir.CallFunction, fn, args, name, kwargs...)
		s.define(name, node)
		s.finish(node, meta)
		return
	}
	opts := []ir.NodeOption{ir.Kwargs(kwargs...)}
	if n.name != "" {
		opts = append(opts, ir.Name(n.name))
	}
	node := s.graph.CallFunction(fn, args, opts...)
	switch {
	case len(n.outputs) == 0:
	case len(n.outputs) == 1 && n.outputs[0].tag == asNone:
		node.Meta().Set(ir.MetaVal, ir.None{})
		node.Rename(snake(fn.Base()) + "_unused")
	case len(n.outputs) == 1 && n.outputs[0].list != nil:
		s.takeApart(node, meta, n.outputs[0].list)
	default:
		s.takeApart(node, meta, n.outputs)
	}
	s.finish(node, meta)
}

// takeApart makes the getitems of a call. The whole result has a name too: that
// of its node, unless the file gives it to a value.
func (s *scope) takeApart(node *ir.Node, meta metadata, outputs []argument) {
	node.Meta().Set(ir.MetaVal, s.getitems(node, meta, outputs))
	if _, isValue := s.json.values[node.Name()]; !isValue && s.values[node.Name()] == nil {
		s.values[node.Name()] = node
	}
}

// finish adds what the file says about a call node.
func (s *scope) finish(n *ir.Node, meta metadata) {
	meta.addTo(n.Meta())
	if !n.Meta().Has(ir.MetaNNModuleStack) {
		n.Meta().Set(ir.MetaNNModuleStack, []ir.ModuleCall{}) // the file leaves empty ones out
	}
}

// isValue reports whether a result is one named value.
func (a *argument) isValue() bool {
	switch a.tag {
	case asTensor, asSymInt, asSymFloat, asSymBool, asCustomObj:
		return true
	}
	return false
}

// getitems makes a getitem for each result and returns what is known of them.
func (s *scope) getitems(node *ir.Node, meta metadata, outputs []argument) []any {
	vals := make([]any, 0, len(outputs))
	for i := range outputs {
		out, args := &outputs[i], []ir.Arg{node, ir.Int(i)}
		switch {
		case out.isValue():
			if !s.claim(out.ref) {
				continue
			}
			item := s.create(ir.CallFunction, getitem, args, out.ref)
			s.define(out.ref, item)
			meta.addTo(item.Meta())
			vals = append(vals, item.Meta().Get(ir.MetaVal))
		case out.tag == asNone:
			item := s.graph.CallFunction(getitem, args, ir.Name("as_none"))
			item.Meta().Set(ir.MetaVal, ir.None{})
			meta.addTo(item.Meta())
			vals = append(vals, ir.None{})
		case elementTag[out.tag] != asInvalid:
			item := s.graph.CallFunction(getitem, args)
			inner := s.getitems(item, meta, out.list)
			meta.addTo(item.Meta())
			item.Meta().Set(ir.MetaVal, inner)
			vals = append(vals, inner)
		default:
			if out.tag != asInvalid {
				s.fault(ir.ErrUnsupported, "result %d: expected a named value, got %s", i, out.tag)
			}
		}
	}
	return vals
}

// bind fits the arguments of a node to a schema by name, in the schema's order.
// The defaults of omitted ones stay out, as the file leaves them out. What the
// file calls positional goes by keyword once an earlier one was omitted;
// Python's loader lets it slip into the omitted one's place.
func (s *scope) bind(n *nodeJSON, schema *ir.Schema) (args []ir.Arg, kwargs []ir.Keyword) {
	given := make([]*namedArgument, len(schema.Args))
	for i := range n.inputs {
		in := &n.inputs[i]
		at, ok := schema.Arg(in.name)
		if !ok {
			if at, ok = s.formerArgument(schema, in); !ok {
				continue
			}
		}
		switch {
		case given[at] != nil:
			s.fault(ir.ErrFormat, "argument %s is given twice", in.name)
		default:
			given[at] = in
		}
	}
	gap := false
	for i := range schema.Args {
		p, in := &schema.Args[i], given[i]
		if in == nil {
			if p.Default == nil {
				s.fault(ir.ErrFormat, "argument %s of %s is missing%s", p.Name, schema.Op, s.was(schema))
			}
			gap = true
			continue
		}
		if in.arg.tag == asInvalid {
			continue // noted by the decoder
		}
		if want := s.misfit(&in.arg, &p.Type); want != "" {
			s.fault(ir.ErrFormat, "argument %s of %s: expected %s, got %s%s", p.Name, schema.Op, want, in.arg.describe(), s.was(schema))
		}
		value := s.arg(&in.arg)
		if in.byPosition(p) && !gap && !p.KeywordOnly {
			args = append(args, value)
		} else {
			kwargs = append(kwargs, ir.Kw(p.Name, value))
		}
	}
	return args, kwargs
}

// byPosition reports how an argument was passed; files from before kinds were
// written tell it by the schema.
func (in *namedArgument) byPosition(p *ir.Param) bool {
	if in.kind == kindUnknown {
		return p.Default == nil && !p.KeywordOnly
	}
	return in.kind == kindPositional
}

// checkResults compares the number of results with the schema.
func (s *scope) checkResults(n *nodeJSON, schema *ir.Schema) {
	got, want := len(n.outputs), len(schema.Returns)
	if schema.VarReturns || got == want {
		return
	}
	if want == 0 && got == 1 && n.outputs[0].tag == asNone {
		return
	}
	if slices.ContainsFunc(n.outputs, func(a argument) bool { return a.tag == asInvalid }) {
		return
	}
	s.fault(ir.ErrFormat, "%s returns %d values: expected as many outputs, got %d%s", schema.Op, want, got, s.was(schema))
}
