package rewriter

import (
	"fmt"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// A layout is the arguments of two calls side by side: want of the pattern's
// node, got of the graph's.
type layout struct {
	want, got  []ir.Arg
	positional int        // of them, the first ones
	keys       []string   // names of the rest
	schema     *ir.Schema // where the arguments are its parameters
}

// label names argument i for people.
func (l *layout) label(i int) string {
	switch {
	case l.schema != nil:
		return "argument " + l.schema.Args[i].Name
	case i < l.positional:
		return fmt.Sprintf("arg %d", i)
	}
	return "kwarg " + l.keys[i-l.positional]
}

// lay lays the arguments of two nodes with the same target side by side. Calls
// of one overload that give them differently are completed from its schema. why
// says what is in the way.
func (c *config) lay(p, n *ir.Node) (l layout, why string) {
	pa, na, pk, nk := p.Args(), n.Args(), p.Kwargs(), n.Kwargs()
	if len(pa) == len(na) && sameKeys(pk, nk) && !(c.loose && endsInRest(pa)) {
		l = layout{want: pa, got: na, positional: len(pa)}
		if len(pk) > 0 {
			l.want, l.got = append(l.want[:len(pa):len(pa)], values(pk)...), append(l.got[:len(na):len(na)], values(nk)...)
			l.keys = keys(pk)
		}
		return l, ""
	}
	if f := p.Func(); f != nil && f.Kind() == ir.Overload {
		if s := ir.Operators().Lookup(f.Op()); s != nil {
			return layout{want: completed(p, s), got: completed(n, s), schema: s}, ""
		}
	}
	if c.loose {
		if s := commonSchema(p, n); s != nil {
			return layout{want: completed(p, s), got: completed(n, s), schema: s}, ""
		}
		return align(p, n)
	}
	if len(pa) != len(na) {
		return l, fmt.Sprintf("expected %d positional arguments, got %d", len(pa), len(na))
	}
	return l, fmt.Sprintf("expected keywords [%s], got [%s]", strings.Join(keys(pk), " "), strings.Join(keys(nk), " "))
}

func sameKeys(a, b []ir.Keyword) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Name != b[i].Name {
			return false
		}
	}
	return true
}

func keys(kw []ir.Keyword) []string {
	out := make([]string, len(kw))
	for i, k := range kw {
		out[i] = k.Name
	}
	return out
}

func values(kw []ir.Keyword) []ir.Arg {
	out := make([]ir.Arg, len(kw))
	for i, k := range kw {
		out[i] = k.Value
	}
	return out
}

func endsInRest(args []ir.Arg) bool { return len(args) > 0 && isRest(args[len(args)-1]) }

// completed returns one value per argument of the schema: what n gives, else
// the default.
func completed(n *ir.Node, s *ir.Schema) []ir.Arg {
	all := make([]ir.Arg, len(s.Args))
	for i := range s.Args {
		param := &s.Args[i]
		switch v, given := schemaKwarg(n, param.Name); {
		case given:
			all[i] = v
		case !param.KeywordOnly && i < len(n.Args()):
			all[i] = n.Arg(i)
		case param.Default != nil:
			all[i] = param.Default
		default:
			all[i] = ir.None{}
		}
	}
	return all
}

// schemaKwarg returns the keyword for a parameter; Python calls self "input".
func schemaKwarg(n *ir.Node, param string) (ir.Arg, bool) {
	v, given := n.Kwarg(param)
	if !given && param == "self" {
		v, given = n.Kwarg("input")
	}
	return v, given
}

// commonSchema returns an operator whose parameters both calls fit, for torch's
// functions and tensor methods; nil where there is none. Overloads differ in
// types, which a graph does not tell: for laying arguments side by side the names
// are enough, and those agree among overloads that take the same arguments.
func commonSchema(p, n *ir.Node) *ir.Schema {
	name := operatorName(p)
	if name == "" || endsInRest(p.Args()) {
		return nil
	}
	for _, s := range ir.Operators().Overloads("aten::" + name) {
		if !s.Tags.Has(ir.TagOut) && !s.IsOut() && fits(p, s) && fits(n, s) {
			return s
		}
	}
	return nil
}

// operatorName returns the name of the aten operator behind a function of torch
// or a tensor method, "" for anything else. Functions of torch.nn.functional are
// Python, with parameters of their own.
func operatorName(n *ir.Node) string {
	switch n.Op() {
	case ir.CallMethod:
		return n.Target().String()
	case ir.CallFunction:
		f := n.Func()
		if f.Kind() == ir.Overload || f.Kind() == ir.Packet {
			if rest, ok := strings.CutPrefix(f.Name(), "torch.ops.aten."); ok {
				name, _, _ := strings.Cut(rest, ".")
				return name
			}
			return ""
		}
		if rest, ok := strings.CutPrefix(f.Name(), "torch."); ok {
			rest = strings.TrimPrefix(strings.TrimPrefix(rest, "Tensor."), "_C._nn.")
			if !strings.Contains(rest, ".") {
				return rest
			}
		}
	}
	return ""
}

// fits reports whether a call can be one of the schema's operator: no argument
// too many, none twice, none unknown, no required one missing.
func fits(n *ir.Node, s *ir.Schema) bool {
	if len(n.Args()) > s.Positional() {
		return false
	}
	known := 0
	for i := range s.Args {
		_, byName := schemaKwarg(n, s.Args[i].Name)
		byPlace := i < len(n.Args())
		if byName && byPlace || !byName && !byPlace && s.Args[i].Default == nil {
			return false
		}
		if byName {
			known++
		}
	}
	return known == len(n.Kwargs())
}

// align lays the arguments of two calls side by side without a schema: keywords
// in any order, arguments that only the pattern has and that have a default, the
// rest of the positional ones.
func align(p, n *ir.Node) (l layout, why string) {
	pa, na := p.Args(), n.Args()
	var rest ir.Arg
	if endsInRest(pa) {
		rest, pa = pa[len(pa)-1], pa[:len(pa)-1]
	} else if len(na) > len(pa) {
		return l, fmt.Sprintf("expected at most %d positional arguments, got %d", len(pa), len(na))
	}
	l.positional = len(pa)
	for i, a := range pa {
		got := defaultOf(a)
		if i < len(na) {
			got = na[i]
		}
		if got == nil {
			return l, fmt.Sprintf("expected %d positional arguments, got %d", len(pa), len(na))
		}
		l.want, l.got = append(l.want, a), append(l.got, got)
	}
	if rest != nil {
		l.positional++
		l.want, l.got = append(l.want, rest), append(l.got, ir.TupleOf(na[min(len(pa), len(na)):]...))
	}
	for _, k := range p.Kwargs() {
		got, given := n.Kwarg(k.Name)
		if !given {
			if got = defaultOf(k.Value); got == nil {
				return l, "expected a keyword " + k.Name + ", got none"
			}
		}
		l.want, l.got, l.keys = append(l.want, k.Value), append(l.got, got), append(l.keys, k.Name)
	}
	for _, k := range n.Kwargs() {
		if _, known := p.Kwarg(k.Name); !known {
			return l, "expected no keyword " + k.Name
		}
	}
	return l, ""
}

// defaultOf returns the default of a placeholder, nil for anything else.
func defaultOf(a ir.Arg) ir.Arg {
	if p, ok := a.(*ir.Node); ok && p.Op() == ir.Placeholder && len(p.Args()) > 0 {
		return p.Arg(0)
	}
	return nil
}
