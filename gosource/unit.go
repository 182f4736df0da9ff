package gosource

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// A unit is the struct of one graph module with its Forward.
type unit struct {
	file   *file
	m      *ir.GraphModule
	typ    string
	names  *names // inside Forward
	fields []*field
	byPath map[string]*field
	values map[*ir.Node]value
	params []param
	result bool // Forward returns a *torch.Tensor
	body   strings.Builder

	written bool
}

// A value is an expression; without more knowledge its type is any.
type value struct {
	code   string
	tensor bool // it is a *torch.Tensor
}

type param struct {
	node     *ir.Node
	name     string
	tensor   bool
	variadic bool
}

// A field is an attribute.
type field struct {
	path, name, typ string
	module          reflect.Type // of package nn, nil for others
	graph           *unit
	guards          bool
}

// maxDepth bounds graph modules inside of graph modules.
const maxDepth = 64

// unit writes m as a struct called typ, once.
func (f *file) unit(m *ir.GraphModule, typ string, depth int) *unit {
	if u, ok := f.units[m]; ok {
		if !u.written {
			f.faults = append(f.faults, ir.Errorf(ir.ErrUnsupported, "go source of %s: expected a graph module that is not inside of itself", m.ClassName()))
		}
		return u
	}
	u := &unit{
		file: f, m: m, typ: f.names.unique(typ),
		names: newNames("call", "method", "module", "check", "truth", "whileLoop", "attribute", "attributes", "graph", "errors"), byPath: map[string]*field{}, values: map[*ir.Node]value{},
	}
	f.units[m] = u
	if depth > maxDepth {
		f.faults = append(f.faults, ir.Errorf(ir.ErrUnsupported, "go source of %s: expected at most %d graph modules inside of each other", m.ClassName(), maxDepth))
		return u
	}
	u.attributes(depth)
	u.parameters()
	for n := range m.Graph().Nodes() {
		u.node(n)
	}
	if !strings.Contains(u.body.String(), "\treturn ") {
		u.body.WriteString("\treturn nil\n")
	}
	f.texts = append(f.texts, u.text())
	u.written = true
	return u
}

// attributes makes a field of each path that the graph names.
func (u *unit) attributes(depth int) {
	used := newNames("Forward")
	for n := range u.m.Graph().Nodes() {
		path := n.Target().String()
		if n.Op() != ir.GetAttr && n.Op() != ir.CallModule || u.byPath[path] != nil {
			continue
		}
		fd := &field{path: path, name: used.unique(upperCamel(path)), typ: "any"}
		if fd.name[0] < 'A' || fd.name[0] > 'Z' {
			fd.name = used.unique("Attr" + fd.name)
		}
		v, there := u.m.Attr(path)
		switch v := v.(type) {
		case *ir.GraphModule:
			fd.graph = u.file.unit(v, u.typ+upperCamel(path), depth+1)
			fd.typ = "*" + fd.graph.typ
		case interface{ Check(leaves []any) error }:
			fd.typ, fd.guards = "interface{ Check(leaves []any) error }", true
		case nn.Module:
			fd.typ = u.file.use(pathNN) + ".Module"
			if t := reflect.TypeOf(v); t.Kind() == reflect.Pointer && t.Elem().PkgPath() == pathNN && !strings.Contains(t.Elem().Name(), "[") {
				fd.typ, fd.module = "*nn."+t.Elem().Name(), t
			}
		case ir.TensorLike, *torch.Tensor:
			fd.typ = "*" + u.file.use(pathTorch) + ".Tensor"
		default:
			if n.Op() == ir.CallModule {
				u.file.fault(n, "expected a module of package nn, a graph module or guards, got %s", describe(v, there))
			}
		}
		u.byPath[path] = fd
		u.fields = append(u.fields, fd)
	}
}

func describe(v any, there bool) string {
	if !there {
		return "nothing"
	}
	return fmt.Sprintf("a %T", v)
}

// parameters gives a name to every placeholder. A parameter is a tensor where
// meta says so, or where a typed call takes it for one.
func (u *unit) parameters() {
	demanded := map[*ir.Node]bool{}
	for n := range u.m.Graph().Nodes() {
		for _, a := range u.demands(n) {
			demanded[a] = true
		}
	}
	for n := range u.m.Graph().Nodes() {
		if n.Op() != ir.Placeholder {
			continue
		}
		target := n.Target().String()
		p := param{node: n, name: u.names.unique(lowerCamel(target)), tensor: demanded[n]}
		if _, ok := n.Meta().Get(ir.MetaVal).(ir.TensorMeta); ok {
			p.tensor = true
		}
		if _, def := n.Arg(0).(ir.None); def && len(n.Args()) > 0 {
			p.tensor = false // None comes too
		}
		if strings.HasPrefix(target, "**") {
			u.file.fault(n, "expected a parameter that Go can have, got keywords of any name")
		} else if strings.HasPrefix(target, "*") {
			p.variadic, p.tensor = true, false
		}
		if len(u.params) > 0 && u.params[len(u.params)-1].variadic {
			u.file.fault(n, "expected no parameter behind a variadic one")
		}
		u.params = append(u.params, p)
		u.values[n] = value{p.name, p.tensor}
	}
}

// value returns what stands for a node.
func (u *unit) value(n *ir.Node) value {
	if n.Op() == ir.GetAttr {
		fd := u.byPath[n.Target().String()]
		return value{"m." + fd.name, strings.HasSuffix(fd.typ, ".Tensor")}
	}
	v, ok := u.values[n]
	if !ok {
		u.file.fault(n, "expected a node that comes before its users")
	}
	return v
}

// tensor writes an argument for a parameter of type *torch.Tensor.
func (u *unit) tensor(n *ir.Node, a ir.Arg) string {
	if m, ok := a.(*ir.Node); ok {
		v := u.value(m)
		if v.tensor {
			return v.code
		}
		return fmt.Sprintf("%[1]s.As[*%[1]s.Tensor](%[2]s)", u.file.use(pathTorch), v.code)
	}
	return u.literal(n, a)
}

// node writes one statement.
func (u *unit) node(n *ir.Node) {
	switch n.Op() {
	case ir.Placeholder, ir.GetAttr:
		return
	case ir.Output:
		u.output(n)
		return
	}
	v, ok := u.control(n)
	if !ok {
		v = u.call(n)
	}
	if v.code == "" {
		if _, given := u.values[n]; !given {
			u.values[n] = value{"nil", false}
		}
		return
	}
	if n.NumUsers() == 0 {
		fmt.Fprintf(&u.body, "\t%s\n", v.code)
		return
	}
	name := u.names.unique(lowerCamel(n.Name()))
	u.values[n] = value{name, v.tensor}
	fmt.Fprintf(&u.body, "\t%s := %s\n", name, v.code)
}

func (u *unit) output(n *ir.Node) {
	if m, ok := n.Arg(0).(*ir.Node); ok {
		v := u.value(m)
		u.result = v.tensor
		fmt.Fprintf(&u.body, "\treturn %s\n", v.code)
		return
	}
	fmt.Fprintf(&u.body, "\treturn %s\n", u.literal(n, n.Arg(0)))
}

// text is the struct, its constructor and its Forward.
func (u *unit) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "// %s holds what the graph of %s names.\ntype %s struct {\n", u.typ, oneLine(u.m.ClassName()), u.typ)
	for _, fd := range u.fields {
		fmt.Fprintf(&b, "\t%s %s // %s\n", fd.name, fd.typ, oneLine(fd.path))
	}
	fmt.Fprintf(&b, "}\n\n// New%[1]s takes the attributes from attr, by their paths. The error lists all that are wrong.\n"+
		"func New%[1]s(attr func(path string) (any, bool)) (*%[1]s, error) {\n", u.typ)
	if len(u.fields) == 0 {
		fmt.Fprintf(&b, "\treturn &%s{}, nil\n}\n\n", u.typ)
	} else {
		u.file.helpers["attribute"] = true
		fmt.Fprintf(&b, "\ta := attributes{attr: attr}\n\tm := &%s{\n", u.typ)
		for _, fd := range u.fields {
			if fd.graph != nil {
				u.file.helpers["graph"] = true
				fmt.Fprintf(&b, "\t\t%s: graph(&a, %q, New%s),\n", fd.name, fd.path, fd.graph.typ)
			} else {
				fmt.Fprintf(&b, "\t\t%s: attribute[%s](&a, %q),\n", fd.name, fd.typ, fd.path)
			}
		}
		b.WriteString("\t}\n\treturn m, errors.Join(a.faults...)\n}\n\n")
	}
	params := make([]string, len(u.params))
	var defaults []string
	for i, p := range u.params {
		typ := "any"
		switch {
		case p.variadic:
			typ = "...any"
		case p.tensor:
			typ = "*" + u.file.use(pathTorch) + ".Tensor"
		}
		params[i] = p.name + " " + typ
		if len(p.node.Args()) > 0 {
			defaults = append(defaults, p.name+" = "+oneLine(ir.Repr(p.node.Arg(0))))
		}
	}
	fmt.Fprintf(&b, "// Forward computes the graph. It panics with a *torchops.Error; torchops.Try returns it.\n")
	if defaults != nil {
		fmt.Fprintf(&b, "// Defaults in Python: %s.\n", strings.Join(defaults, ", "))
	}
	result := "any"
	if u.result {
		result = "*" + u.file.use(pathTorch) + ".Tensor"
	}
	fmt.Fprintf(&b, "func (m *%s) Forward(%s) %s {\n%s}\n\n", u.typ, strings.Join(params, ", "), result, u.body.String())
	return b.String()
}

// oneLine keeps text of a file inside of a comment.
func oneLine(s string) string { return strings.Trim(strconv.Quote(s), `"`) }
