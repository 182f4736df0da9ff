package gosource

import (
	"fmt"
	"iter"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// control writes the higher-order operators that are statements in Go. Where it
// has given n a value itself, v is empty.
func (u *unit) control(n *ir.Node) (v value, ok bool) {
	if n.Func() == nil || n.Func().Kind() != ir.HigherOrder {
		return value{}, false
	}
	args := n.Args()
	switch name := n.Func().Base(); name {
	case "cond":
		yes, no := u.graphArg(n.Arg(1)), u.graphArg(n.Arg(2))
		values, isList := items(n.Arg(3))
		if yes == nil || no == nil || !isList {
			return value{}, false
		}
		u.file.helpers["truth"] = true
		result := u.names.unique(lowerCamel(n.Name()))
		fmt.Fprintf(&u.body, "\tvar %[1]s any\n\tif truth(%[2]s) {\n\t\t%[1]s = %[3]s\n\t} else {\n\t\t%[1]s = %[4]s\n\t}\n", result, u.literal(n, n.Arg(0)),
			u.callGraph(n, yes.graph, "m."+yes.name, values, nil).code, u.callGraph(n, no.graph, "m."+no.name, values, nil).code)
		if n.NumUsers() == 0 {
			fmt.Fprintf(&u.body, "\t_ = %s\n", result)
		}
		u.values[n] = value{result, false}
		return value{}, true
	case "while_loop":
		test, body := u.graphArg(n.Arg(0)), u.graphArg(n.Arg(1))
		carried, isList := items(n.Arg(2))
		extra, isListToo := items(n.Arg(3))
		if test == nil || body == nil || !isList || !isListToo {
			return value{}, false
		}
		u.file.helpers["truth"], u.file.helpers["whileLoop"] = true, true
		return value{fmt.Sprintf("whileLoop(%s, %s, []any{%s}, []any{%s})", u.closure(test), u.closure(body),
			u.arguments(n, carried, nil), u.arguments(n, extra, nil)), false}, true
	case "invoke_subgraph", "wrap_with_set_grad_enabled", "wrap", "tag_activation_checkpoint":
		// the graph, behind a flag or before a name that say nothing about values
		at, rest := 0, 1
		switch name {
		case "wrap_with_set_grad_enabled":
			at, rest = 1, 2
		case "invoke_subgraph":
			rest = 2
		}
		if len(args) < rest {
			return value{}, false
		}
		if g := u.graphArg(args[at]); g != nil {
			return u.callGraph(n, g.graph, "m."+g.name, args[rest:], nil), true
		}
	}
	return value{}, false
}

// graphArg returns the field of a graph module that an argument reads.
func (u *unit) graphArg(a ir.Arg) *field {
	if n, ok := a.(*ir.Node); ok && n.Op() == ir.GetAttr {
		if fd := u.byPath[n.Target().String()]; fd.graph != nil {
			return fd
		}
	}
	return nil
}

// closure writes a function from a list of values to what the graph returns.
func (u *unit) closure(g *field) string {
	texts := make([]string, len(g.graph.params))
	for i, p := range g.graph.params {
		texts[i] = fmt.Sprintf("v[%d]", i)
		if p.tensor {
			texts[i] = fmt.Sprintf("%[1]s.As[*%[1]s.Tensor](v[%[2]d])", u.file.use(pathTorch), i)
		}
	}
	return fmt.Sprintf("func(v []any) any { return m.%s.Forward(%s) }", g.name, strings.Join(texts, ", "))
}

// items returns the items of a literal list or tuple.
func items(a ir.Arg) (args []ir.Arg, ok bool) {
	collect := func(all iter.Seq2[int, ir.Arg]) {
		for _, item := range all {
			args = append(args, item)
		}
	}
	switch a := a.(type) {
	case ir.List:
		collect(a.All())
	case ir.Tuple:
		collect(a.All())
	default:
		return nil, false
	}
	return args, true
}
