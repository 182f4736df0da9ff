package export

import (
	"strconv"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// symbolicParams are the names of the arguments of symbolic operators, as
// inspect.signature of Python has them.
var symbolicParams = map[string][]string{
	"math.trunc": {"x"}, "math.ceil": {"x"}, "math.floor": {"x"}, "torch.sym_ite": {"b", "t", "f"},
}

// targetText is how files spell a function.
func targetText(f *ir.Func) string {
	if f.Kind() == ir.Operator {
		return "_" + f.Name()
	}
	return f.Name()
}

// call writes a call.
func (g *graphEncoder) call(n *ir.Node) {
	fn := n.Func()
	text := targetText(fn)
	schema := g.p.catalogue.Lookup(fn.Op())
	var inputs, outputs func()
	single := false
	switch {
	case fn.Kind() == ir.Overload && schema == nil:
		g.fault(ir.ErrUnsupported, "unknown operator %s", fn.Op())
	case fn.Kind() == ir.Overload:
		inputs, outputs = func() { g.bound(n, schema) }, func() { g.results(n, schema) }
	case symbolicOps[text]:
		if kind, ok := kindOf(g.value(n)); ok && (kind == tensorEntry || kind == objectEntry) {
			g.fault(ir.ErrUnsupported, "Python's operators on tensors are not in programs: lower the graph to ATen first")
			break
		}
		inputs, outputs = func() { g.symbolic(n, text) }, func() { g.whole(n) }
	case fn.Kind() == ir.HigherOrder, pythonFunctions[text]:
		_, single = g.value(n).(ir.TensorMeta)
		inputs, outputs = func() { g.asWritten(n) }, func() { g.each(n) }
	default:
		g.fault(ir.ErrUnsupported, "a program holds calls of operators alone: lower the graph to ATen first")
	}
	if inputs == nil {
		g.taken[n.Name()], g.named[n.Name()] = true, n // so that its users are not reported, too
		return
	}
	g.object(func() {
		g.key("target")
		g.str(text)
		g.key("inputs")
		g.list(inputs)
		g.key("outputs")
		g.list(outputs)
		g.key("metadata")
		g.object(func() { g.metadata(n) })
		g.key("is_hop_single_tensor_return")
		if fn.Kind() == ir.HigherOrder {
			g.bool(single)
		} else {
			g.null()
		}
		g.key("name")
		g.str(g.callName(n))
	})
}

// callName is the name of a call in the file. A call that yields None is called
// "…_unused" by who reads the file, which must not happen to its name twice.
func (g *graphEncoder) callName(n *ir.Node) string {
	if _, none := g.value(n).(ir.None); none {
		base := snake(n.Func().Base())
		if rest, ok := strings.CutPrefix(n.Name(), base+"_unused"); ok && g.module.Graph().Lookup(base+rest) == nil {
			return base + rest
		}
	}
	return n.Name()
}

// argument writes a NamedArgument.
func (g *graphEncoder) argument(name string, a ir.Arg, t *ir.Type, kind argKind) {
	g.object(func() {
		g.key("name")
		g.str(name)
		g.key("arg")
		g.arg(a, t)
		g.key("kind")
		g.int(int64(kind))
	})
}

// bound writes the arguments of an operator, under their names in its schema.
func (g *graphEncoder) bound(n *ir.Node, schema *ir.Schema) {
	args := n.Args()
	if len(args) > schema.Positional() {
		g.fault(ir.ErrValue, "expected at most %d positional arguments, got %d", schema.Positional(), len(args))
		return
	}
	for _, k := range n.Kwargs() {
		if i, ok := schema.Arg(k.Name); !ok {
			g.fault(ir.ErrValue, "has no argument %q", k.Name)
		} else if i < len(args) {
			g.fault(ir.ErrValue, "argument %s is given twice", k.Name)
		}
	}
	for i := range schema.Args {
		p := &schema.Args[i]
		if i < len(args) {
			g.argument(p.Name, args[i], &p.Type, kindPositional)
		} else if a, ok := n.Kwarg(p.Name); ok {
			g.argument(p.Name, a, &p.Type, kindKeyword)
		} else if p.Default == nil {
			g.fault(ir.ErrValue, "argument %s is missing", p.Name)
		}
	}
}

// symbolic writes the arguments of an operator on symbolic numbers.
func (g *graphEncoder) symbolic(n *ir.Node, text string) {
	names := symbolicParams[text]
	if names == nil {
		names = []string{"a", "b"}
	}
	if len(n.Kwargs()) > 0 || len(n.Args()) > len(names) {
		g.fault(ir.ErrValue, "expected at most %d positional arguments alone", len(names))
		return
	}
	for i, a := range n.Args() {
		g.argument(names[i], a, nil, kindPositional)
	}
}

// asWritten writes the arguments of a call without a schema.
func (g *graphEncoder) asWritten(n *ir.Node) {
	for _, a := range n.Args() {
		g.argument("", a, nil, kindPositional)
	}
	for _, k := range n.Kwargs() {
		g.argument(k.Name, k.Value, nil, kindKeyword)
	}
}

// results writes the outputs of an operator, one for each return of its schema.
func (g *graphEncoder) results(n *ir.Node, schema *ir.Schema) {
	if len(schema.Returns) == 0 && !schema.VarReturns {
		return
	}
	if len(schema.Returns) != 1 {
		items, ok := g.several(n)
		if !ok || len(items) != len(schema.Returns) {
			g.unknown(n)
			return
		}
		g.items(n, n.Name(), items)
		return
	}
	if ret := schema.Returns[0].Type; ret.Kind == ir.TypeList {
		items, ok := g.several(n)
		if !ok {
			g.unknown(n)
			return
		}
		g.elements(n, n.Name(), items)
		return
	}
	g.whole(n)
}

// each writes the outputs of a call without a schema, as many as it has.
func (g *graphEncoder) each(n *ir.Node) {
	if items, ok := g.several(n); ok {
		g.items(n, n.Name(), items)
		return
	}
	g.whole(n)
}

// whole writes the one value of a call.
func (g *graphEncoder) whole(n *ir.Node) {
	switch v := g.value(n).(type) {
	case nil:
		g.unknown(n)
	case ir.None:
		g.literal(v)
	case []any:
		g.fault(ir.ErrValue, "expected one value, got %d", len(v))
	default:
		g.define(n.Name(), n, v)
		g.reference(n)
	}
}

// items writes one output for each of several values.
func (g *graphEncoder) items(n *ir.Node, base string, items []any) {
	for i, val := range items {
		user, name := g.item(n, base, i)
		switch v := val.(type) {
		case nil, ir.None:
			g.literal(ir.None{})
		case []any:
			g.elements(user, name, v)
		default:
			if kind, ok := kindOf(v); ok {
				g.define(name, user, v)
				g.tag(kind, name, v)
			} else {
				g.fault(ir.ErrUnsupported, "result %d: cannot write %s", i, valueType(v))
			}
		}
	}
}

// elements writes the output that is a list of tensors. user is the node that
// stands for the list, nil where nobody reads it.
func (g *graphEncoder) elements(user *ir.Node, base string, items []any) {
	g.tagged(asTensors.String(), func() {
		g.list(func() {
			for i, val := range items {
				v, ok := val.(ir.TensorMeta)
				if !ok {
					if _, none := val.(ir.None); !none && val != nil {
						g.fault(ir.ErrUnsupported, "item %d: expected a tensor in a list, got %s", i, valueType(val))
					}
					continue
				}
				item, name := g.item(user, base, i)
				g.define(name, item, v)
				g.name(name)
			}
		})
	})
}

// item returns the getitem that reads a result, with the name that the result
// has: the getitem's own, or one that says that nobody reads it. Further getitems
// of the result are the first one.
func (g *graphEncoder) item(n *ir.Node, base string, i int) (user *ir.Node, name string) {
	var users []*ir.Node
	if n != nil {
		for u := range n.Users() {
			if at, ok := u.Arg(1).(ir.Int); u.Func() == getitem && u.Arg(0) == ir.Arg(n) && ok && int(at) == i {
				users = append(users, u)
				if user == nil || u.Before(user) {
					user = u
				}
			}
		}
	}
	if user == nil {
		return nil, g.free(base + "_unused_" + strconv.Itoa(i))
	}
	for _, u := range users {
		if u != user {
			g.alias[u] = user.Name()
		}
	}
	return user, user.Name()
}
