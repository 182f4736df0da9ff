package ir

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// JSONVersion is the version of the form that [Graph.JSON] writes. It changes
// when a reader of the old form would misread the new one; new members do not
// change it.
const JSONVersion = 1

// JSON returns the graph as a JSON object:
//
//	{"format": "torchfx.graph", "version": 1, "nodes": [node, …]}
//
// A node, one a line, is
//
//	{"op": "call_function", "name": "add", "target": "operator.add",
//	 "args": [value, …], "kwargs": [["alpha", value], …], "type": "torch.Tensor" or null,
//	 "users": ["relu"], "inputs": ["x", "y"], "meta": {…}}
//
// with values tagged by their kind: null, true and false stand for themselves,
// the rest are objects of one member:
//
//	{"node": "x"} {"int": "3"} {"float": "0.1"} {"complex": ["1.0", "2.0"]} {"str": "a"}
//	{"tuple": […]} {"list": […]} {"dict": [[key, value], …]} {"slice": [start, stop, step]} {"range": [start, stop, step]}
//	{"dtype": "torch.float32"} {"device": "cuda:0"} {"layout": "torch.strided"} {"memory_format": "torch.channels_last"}
//	{"ellipsis": true} {"function": "torch.relu"} {"enum": "m.Color.RED"} {"repr": "text"}
//	{"namedtuple": "m.Pair", "fields": [[name, value], …]}   (two members)
//
// Numbers are text, in Python's repr, so that no reader loses bits. meta holds
// what is known of the value, {"val": {"dtype": "torch.float32", "shape": [2, "s27"],
// "stride": [3, 1], "device": "cpu", "layout": "torch.strided", "requires_grad": false}},
// or {"sym": "2*s27"}, or a list of these, and the other entries that are text,
// numbers or booleans; what is more is left out.
func (g *Graph) JSON() ([]byte, error) {
	var b bytes.Buffer
	if err := g.writeJSON(&b, "", nil); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// JSON returns the module's graph as [Graph.JSON] does, with the members
//
//	"class": "GraphModule", "attributes": ["weight", "sub"], "graphs": {"sub": {…}}
//
// more: the paths of the attributes in order, and the graphs of those that are
// graph modules.
func (m *GraphModule) JSON() ([]byte, error) {
	var b bytes.Buffer
	if err := m.graph.writeJSON(&b, "", m); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func (g *Graph) writeJSON(b *bytes.Buffer, indent string, m *GraphModule) error {
	fmt.Fprintf(b, "{\n%s \"format\": \"torchfx.graph\",\n%s \"version\": %d,\n", indent, indent, JSONVersion)
	if m != nil {
		class, err := compactJSON(m.class)
		if err != nil {
			return err
		}
		paths, err := compactJSON(append([]string{}, m.paths...))
		if err != nil {
			return err
		}
		fmt.Fprintf(b, "%s \"class\": %s,\n%s \"attributes\": %s,\n", indent, class, indent, paths)
	}
	fmt.Fprintf(b, "%s \"nodes\": [", indent)
	sep := "\n"
	for n := range g.Nodes() {
		line, err := compactJSON(n.jsonRow())
		if err != nil {
			return fmt.Errorf("json of %s: %w", n.name, err)
		}
		b.WriteString(sep + indent + "  ")
		b.Write(line)
		sep = ",\n"
	}
	b.WriteString("\n" + indent + " ]")
	if m != nil {
		sep := ",\n" + indent + " \"graphs\": {\n"
		end := ""
		for p, v := range m.Attrs() {
			sub, ok := v.(*GraphModule)
			if !ok {
				continue
			}
			name, err := compactJSON(p)
			if err != nil {
				return err
			}
			b.WriteString(sep + indent + "  ")
			b.Write(name)
			b.WriteString(": ")
			if err := sub.graph.writeJSON(b, indent+"  ", sub); err != nil {
				return fmt.Errorf("%s: %w", p, err)
			}
			sep, end = ",\n", "\n"+indent+" }"
		}
		b.WriteString(end)
	}
	b.WriteString("\n" + indent + "}")
	if indent == "" {
		b.WriteByte('\n')
	}
	return nil
}

// compactJSON is json.Marshal without the escapes for HTML.
func compactJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimRight(b.Bytes(), "\n"), err
}

type jsonNode struct {
	Op     string         `json:"op"`
	Name   string         `json:"name"`
	Target string         `json:"target"`
	Args   []any          `json:"args"`
	Kwargs [][2]any       `json:"kwargs"`
	Type   *string        `json:"type"`
	Users  []string       `json:"users"`
	Inputs []string       `json:"inputs"`
	Meta   map[string]any `json:"meta,omitempty"`
}

func (n *Node) jsonRow() jsonNode {
	row := jsonNode{
		Op: n.op.String(), Name: n.name, Target: n.target.String(),
		Args: jsonArgs(n.args), Kwargs: [][2]any{}, Users: []string{}, Inputs: []string{},
	}
	if n.typ != "" {
		row.Type = &n.typ
	}
	for _, k := range n.kwargs {
		row.Kwargs = append(row.Kwargs, [2]any{k.Name, jsonArg(k.Value)})
	}
	for u := range n.Users() {
		row.Users = append(row.Users, u.name)
	}
	for _, m := range n.Inputs() {
		row.Inputs = append(row.Inputs, m.name)
	}
	for key, v := range n.meta.All() {
		if j, ok := jsonMeta(v); ok {
			if row.Meta == nil {
				row.Meta = map[string]any{}
			}
			row.Meta[key] = j
		}
	}
	return row
}

func jsonArgs(args []Arg) []any {
	out := make([]any, len(args))
	for i, a := range args {
		out[i] = jsonArg(a)
	}
	return out
}

func jsonArg(a Arg) any {
	tag := func(kind string, v any) any { return map[string]any{kind: v} }
	pairs := func(ps []Pair) any {
		out := make([][2]any, len(ps))
		for i, p := range ps {
			out[i] = [2]any{jsonArg(p.Key), jsonArg(p.Value)}
		}
		return out
	}
	switch a := a.(type) {
	case nil, None:
		return nil
	case Bool:
		return bool(a)
	case *Node:
		return tag("node", a.name)
	case Int, BigInt:
		return tag("int", Repr(a))
	case Float:
		return tag("float", Repr(a))
	case Complex:
		return tag("complex", []string{Repr(Float(real(a))), Repr(Float(imag(a)))})
	case Str:
		return tag("str", string(a))
	case Ellipsis:
		return tag("ellipsis", true)
	case Range:
		return tag("range", []int64{a.Start, a.Stop, a.Step})
	case Enum:
		return tag("enum", a.Class.pythonName()+"."+a.Member)
	case DType:
		return tag("dtype", a.String())
	case Device:
		return tag("device", a.String())
	case Layout:
		return tag("layout", a.String())
	case MemoryFormat:
		return tag("memory_format", a.String())
	case *Func:
		return tag("function", a.name)
	case List:
		return tag("list", jsonArgs(a.items))
	case Tuple:
		return tag("tuple", jsonArgs(a.items))
	case Dict:
		return tag("dict", pairs(a.pairs))
	case Slice:
		return tag("slice", jsonArgs([]Arg{a.Start, a.Stop, a.Step}))
	case NamedTuple:
		fields := make([][2]any, len(a.items))
		for i, item := range a.items {
			name := ""
			if i < len(a.Fields) {
				name = a.Fields[i]
			}
			fields[i] = [2]any{name, jsonArg(item)}
		}
		return map[string]any{"namedtuple": a.Type.pythonName(), "fields": fields}
	}
	return tag("repr", Repr(a))
}

// jsonMeta gives the meta values that have a plain form.
func jsonMeta(v any) (any, bool) {
	switch v := v.(type) {
	case string:
		return strings.ToValidUTF8(v, "\ufffd"), true
	case bool, int, int64:
		return v, true
	case TensorMeta:
		return map[string]any{
			"dtype": v.DType.String(), "shape": jsonSizes(v.Sizes), "stride": jsonSizes(v.Strides),
			"device": v.Device.String(), "layout": v.Layout.String(), "requires_grad": v.RequiresGrad,
		}, true
	case SymScalar:
		return map[string]any{"sym": symText(v)}, true
	case []ModuleCall:
		out := make([][3]string, len(v))
		for i, c := range v {
			out[i] = [3]string{c.Key, c.Path, c.Type}
		}
		return out, true
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i], _ = jsonMeta(item)
		}
		return out, true
	case Arg:
		return jsonArg(v), true
	}
	return nil, false
}

// jsonSizes gives known sizes as numbers, others as their expression.
func jsonSizes(sizes []Size) []any {
	out := make([]any, len(sizes))
	for i, s := range sizes {
		if n, ok := s.Known(); ok {
			out[i] = n
		} else {
			out[i] = sizeText(s)
		}
	}
	return out
}
