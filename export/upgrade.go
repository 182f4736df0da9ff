package export

import (
	"slices"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// What operators went through since a program was saved: what can be taken over
// without a doubt is, the rest is said.

// succeed puts the successor of an operator in its place, where libtorch here
// does not have it.
func (s *scope) succeed(n *nodeJSON) {
	next, ok := successors[n.target]
	if !ok || s.catalogue.Lookup(ir.FuncOf(n.target).Op()) != nil {
		return
	}
	n.target = next.target
	for i := range n.inputs {
		in := &n.inputs[i]
		if next.value != nil && in.arg.lit != nil {
			in.arg = literalArgument(next.value(in.name, in.arg.lit))
		}
		if name, ok := next.rename[in.name]; ok {
			in.name = name
		}
	}
}

// literalArgument is the argument of a bool or a string.
func literalArgument(v ir.Arg) argument {
	tag := asBool
	if _, ok := v.(ir.Str); ok {
		tag = asString
	}
	return argument{tag: tag, lit: v}
}

// formerArgument finds the place of an argument that the schema does not have, as
// an earlier form of the operator had it. One that went for good may have its
// default, which says nothing; then, and where there is a fault, ok is false.
func (s *scope) formerArgument(schema *ir.Schema, in *namedArgument) (at int, ok bool) {
	for _, f := range pastForms(schema, s.release) {
		if at, ok := f.renamed(schema, in.name); ok {
			return at, true
		}
		if at, ok := f.schema.Arg(in.name); ok {
			if old := f.schema.Args[at].Default; old != nil && in.arg.lit != nil && ir.EqualArgs(old, in.arg.lit) {
				return 0, false
			}
		}
	}
	class := ir.ErrFormat
	has := whoHas(schema.Op, in.name)
	if has != "" {
		class = ir.ErrUnsupported
		has = " in libtorch " + s.catalogue.Version() + has
	}
	s.fault(class, "%s has no argument %q%s", schema.Op, clip(in.name), has)
	return 0, false
}

// was says for a message what the operator was in the release that saved the
// program, "" where it was the same.
func (s *scope) was(schema *ir.Schema) string {
	for _, f := range pastForms(schema, s.release) {
		if f.first <= s.release && s.release <= f.last {
			return "; in " + f.releases() + " it is " + f.schema.String()
		}
	}
	return ""
}

// formerHigherOrder brings the arguments of higher-order operators into the form
// that they have now. Those have no schema; what they took is in their
// __call__ in torch/_higher_order_ops of each release.
func (s *scope) formerHigherOrder(n *nodeJSON) {
	in := n.inputs
	switch name := strings.TrimPrefix(n.target, "torch.ops.higher_order."); {
	case name == "scan" && len(in) == 6: // 2.6: graph, init, xs, dim, reverse, additional inputs
		if !isLiteral(in[3], ir.Int(0)) || !isLiteral(in[4], ir.Bool(false)) {
			s.fault(ir.ErrUnsupported, "scan: expected dimension 0 and forwards, as torch 2.7 and later scan; export the model again")
		}
		n.inputs = slices.Delete(in, 3, 5)
	case name == "associative_scan" && len(in) == 3 && in[2].arg.tag == asInt: // 2.5, 2.6: graph, xs, dim
		if !isLiteral(in[2], ir.Int(0)) {
			s.fault(ir.ErrUnsupported, "associative_scan: expected dimension 0, as torch 2.7 and later scan; export the model again")
		}
		in[2].arg = argument{tag: asTensors}
	case name == "invoke_subgraph" && len(in) == 3 && elementTag[in[2].arg.tag] != asInvalid: // to 2.7: operands as a list
		n.inputs = in[:2]
		for _, a := range in[2].arg.list {
			n.inputs = append(n.inputs, namedArgument{arg: a, kind: in[2].kind})
		}
	}
}

func isLiteral(in namedArgument, v ir.Arg) bool {
	return in.arg.lit != nil && ir.EqualArgs(in.arg.lit, v)
}
