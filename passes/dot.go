package passes

import (
	"crypto/md5"
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
)

// A DotOption changes what [Dot] draws.
type DotOption func(*drawer)

// WithoutGetAttr leaves reads of attributes out. Default: they are drawn.
func WithoutGetAttr() DotOption { return func(d *drawer) { d.noReads = true } }

// WithoutParameters leaves the tensors of called modules out. Default: each is a
// box of its own.
func WithoutParameters() DotOption { return func(d *drawer) { d.noTensors = true } }

// WithNodeNames shows the arguments that mention nodes, too. Default: edges say
// it.
func WithNodeNames() DotOption { return func(d *drawer) { d.nodeNames = true } }

// WithStackTrace shows the source line that made a node. Default: off.
func WithStackTrace() DotOption { return func(d *drawer) { d.source = true } }

// DotShape sets the shape of the boxes. Default: "record".
func DotShape(shape string) DotOption { return func(d *drawer) { d.shape = shape } }

// Dot returns the graph of m as a drawing in the language of Graphviz: a box a
// node with its opcode, target, literal arguments, number of users and tensor
// meta, an edge from each node to its users. Labels and colours are those of
// torch.fx.passes.graph_drawer.FxGraphDrawer, except that the box of a buffer has its
// name, which a slip there loses; a class of functions and methods has always the same
// colour. Names and labels are quoted.
//
//	dot -Tsvg model.dot -o model.svg
func Dot(m *ir.GraphModule, name string, opts ...DotOption) string {
	d := &drawer{module: m, shape: "record"}
	for _, o := range opts {
		if o != nil {
			o(d)
		}
	}
	fmt.Fprintf(&d.b, "digraph %s {\nrankdir=TB;\n", quoted(name))
	for n := range m.Graph().Nodes() {
		if !d.skips(n) {
			d.node(n)
		}
	}
	for n := range m.Graph().Nodes() {
		if d.skips(n) {
			continue
		}
		for u := range n.Users() {
			fmt.Fprintf(&d.b, "%s -> %s;\n", quoted(n.Name()), quoted(u.Name()))
		}
	}
	d.b.WriteString("}\n")
	return d.b.String()
}

// DotAll returns the drawing of m under name, and that of each graph module that
// its nodes call under name_path.
func DotAll(m *ir.GraphModule, name string, opts ...DotOption) map[string]string {
	drawings := map[string]string{name: Dot(m, name, opts...)}
	for _, n := range m.Graph().Find(ir.CallModule, nil) {
		path := n.Target().String()
		if v, _ := m.Attr(path); v != nil {
			if sub, ok := v.(*ir.GraphModule); ok {
				drawings[name+"_"+path] = Dot(sub, name+"_"+path, opts...)
			}
		}
	}
	return drawings
}

type drawer struct {
	module                                *ir.GraphModule
	shape                                 string
	noReads, noTensors, nodeNames, source bool
	b                                     strings.Builder
}

func (d *drawer) skips(n *ir.Node) bool { return d.noReads && n.Op() == ir.GetAttr }

func (d *drawer) node(n *ir.Node) {
	d.box(n.Name(), d.label(n), colour(n))
	if n.Op() != ir.CallModule || d.noTensors {
		return
	}
	v, _ := d.module.Attr(n.Target().String())
	m, ok := v.(nn.Module)
	if !ok {
		return
	}
	for t := range nn.Tensors(m) {
		if t.Tensor == nil {
			continue
		}
		kind, line := "parameter", ""
		if t.Kind != nn.Parameter {
			kind, line = "buffer", `\l`
		}
		name := n.Name() + "." + t.Name
		sizes := strings.ReplaceAll(fmt.Sprint(t.Tensor.Shape()), " ", ", ")
		d.box(name, "{"+name+"|op_code=get_"+kind+line+t.Tensor.DType().String()+sizes+`\n}`, "Salmon")
		fmt.Fprintf(&d.b, "%s -> %s;\n", quoted(name), quoted(n.Name()))
	}
}

func (d *drawer) box(name, label, fill string) {
	fmt.Fprintf(&d.b, "%s [fillcolor=%s, fontcolor=\"#000000\", label=%s, shape=%s, style=\"filled,rounded\"];\n",
		quoted(name), quoted(fill), quoted(label), d.shape)
}

// quoted writes a string of the language: only quotes need escaping, backslashes
// are for the label's own language.
func quoted(s string) string { return `"` + strings.ReplaceAll(s, `"`, `\"`) + `"` }

// opColours are the fills by opcode, hashColours those by target.
var (
	opColours = map[ir.Op]string{ir.Placeholder: "AliceBlue", ir.CallModule: "LemonChiffon1",
		ir.GetAttr: "LightGrey", ir.Output: "PowderBlue"}
	hashColours = [16]string{"CadetBlue1", "Coral", "DarkOliveGreen1", "DarkSeaGreen1", "GhostWhite", "Khaki1",
		"LavenderBlush1", "LightSkyBlue", "MistyRose1", "MistyRose2", "PaleTurquoise2", "PeachPuff1", "Salmon",
		"Thistle1", "Thistle3", "Wheat1"}
)

func colour(n *ir.Node) string {
	if c, ok := opColours[n.Op()]; ok {
		return c
	}
	sum := md5.Sum([]byte(n.Target().String()))
	return hashColours[binary.BigEndian.Uint32(sum[:4])%uint32(len(hashColours))]
}

// label returns the text of a node's box, in Graphviz's language of records.
func (d *drawer) label(n *ir.Node) string {
	var b strings.Builder
	fmt.Fprintf(&b, "{name=%%%s|op_code=%s\n", n.Name(), n.Op())
	if n.Op() == ir.CallModule {
		b.WriteString(`\n` + braces(d.class(n)) + `\n|` + d.constants(n) + `\n`)
	} else {
		target := n.Target().String()
		if f := n.Func(); f != nil && f.Kind() == ir.Operator {
			target = "_" + target
		}
		b.WriteString("|target=" + braces(strings.TrimPrefix(target, "builtins.")) + `\n`)
		var args, kwargs []string
		for _, a := range n.Args() {
			args = append(args, argText(a))
		}
		for _, k := range n.Kwargs() {
			kwargs = append(kwargs, k.Name+": "+argText(k.Value))
		}
		b.WriteString(d.arguments(`|args=(\l`, args, `,\n)\l`))
		b.WriteString(d.arguments(`|kwargs={\l`, kwargs, `,\n}\l`))
		fmt.Fprintf(&b, `|num_users=%d\n`, n.NumUsers())
	}
	tensorLabel(&b, n.Meta().Get(ir.MetaTensorMeta))
	if d.source {
		if line := lastLine(n.StackTrace()); line != "" {
			b.WriteString("|file=" + braces(line) + `\n`)
		}
	}
	b.WriteByte('}')
	return b.String()
}

// braces escapes what a record would take for a box.
func braces(s string) string {
	return strings.NewReplacer("{", `\{`, "}", `\}`).Replace(s)
}

func (d *drawer) arguments(prefix string, items []string, suffix string) string {
	var shown []string
	for _, s := range items {
		if d.nodeNames || !strings.Contains(s, "%") {
			shown = append(shown, s)
		}
	}
	if len(shown) == 0 {
		return ""
	}
	text := prefix + strings.Join(shown, `,\n`) + suffix
	if len(shown) == 1 {
		text = strings.NewReplacer(`\l`, "", `\n`, "").Replace(text)
	}
	return braces(text)
}

// argText is an argument as format_node writes it, lists cut after eight items.
func argText(a ir.Arg) string {
	var b strings.Builder
	writeArg(&b, a, 8)
	return b.String()
}

func writeArg(b *strings.Builder, a ir.Arg, most int) {
	list := func(open string, n int, at func(int) ir.Arg, end string) {
		b.WriteString(open)
		for i := range min(n, most) {
			if i > 0 {
				b.WriteString(", ")
			}
			writeArg(b, at(i), math.MaxInt) // the limit is for the outermost list
		}
		if open == "(" && n == 1 {
			b.WriteByte(',')
		}
		if n > most {
			fmt.Fprintf(b, ", ...[total_len=%d]", n)
		}
		b.WriteString(end)
	}
	switch a := a.(type) {
	case *ir.Node:
		b.WriteString("%" + a.Name())
	case ir.Str:
		b.WriteString(string(a))
	case ir.List:
		list("[", a.Len(), a.At, "]")
	case ir.Tuple:
		list("(", a.Len(), a.At, ")")
	default:
		b.WriteString(ir.Repr(ir.MapNodes(a, func(n *ir.Node) ir.Arg { return ir.Str("%" + n.Name()) })))
	}
}

func (d *drawer) class(n *ir.Node) string {
	v, _ := d.module.Attr(n.Target().String())
	if class := moduleClass(v); class != "" {
		return class
	}
	return TargetName(d.module, n)
}

// constants lists the attributes that a layer of torch.nn was made with.
func (d *drawer) constants(n *ir.Node) string {
	v, _ := d.module.Attr(n.Target().String())
	m, ok := v.(nn.Module)
	if !ok {
		return ""
	}
	var lines []string
	for _, name := range annotations().constants[moduleClass(v)] {
		if value, ok := nn.Attribute(m, name); ok {
			lines = append(lines, name+": "+argText(value))
		}
	}
	return strings.Join(lines, `\n`)
}

// tensorLabel writes what shape propagation noted.
func tensorLabel(b *strings.Builder, meta any) {
	switch m := meta.(type) {
	case ir.TensorMeta:
		tuple := func(sizes []ir.Size) string {
			items := make([]string, len(sizes))
			for i, s := range sizes {
				items[i] = s.String()
			}
			if len(items) == 1 {
				return "(" + items[0] + ",)"
			}
			return "(" + strings.Join(items, ", ") + ")"
		}
		fmt.Fprintf(b, `|dtype=%s\n|shape=%s\n|requires_grad=%s\n|stride=%s\n`, m.DType, tuple(m.Sizes), ir.Repr(ir.Bool(m.RequiresGrad)), tuple(m.Strides))
	case []any:
		for _, item := range m {
			tensorLabel(b, item)
		}
	}
}

// lastLine is the last frame of a stack trace in Python's form, "dir/file.py:12
// code".
func lastLine(trace string) string {
	lines := strings.Split(strings.TrimSpace(trace), "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		rest, ok := strings.CutPrefix(strings.TrimSpace(lines[i]), `File "`)
		if !ok {
			continue
		}
		file, rest, _ := strings.Cut(rest, `", line `)
		number, _, _ := strings.Cut(rest, ",")
		if parts := strings.Split(file, "/"); len(parts) > 2 {
			file = strings.Join(parts[len(parts)-2:], "/")
		}
		code := ""
		if i+1 < len(lines) {
			code = strings.TrimSpace(lines[i+1])
		}
		return file + ":" + number + " " + code
	}
	return ""
}

// highlight colours the boxes of a drawing: those of the named nodes yellow, the
// others grey.
func highlight(drawing string, names map[string]bool) string {
	var b strings.Builder
	for line := range strings.Lines(drawing) {
		before, rest, ok := strings.Cut(line, ` [fillcolor="`)
		_, rest, ok2 := strings.Cut(rest, `"`)
		if ok && ok2 {
			fill := "grey"
			if names[strings.Trim(before, `"`)] {
				fill = "yellow"
			}
			line = before + ` [fillcolor="` + fill + `"` + rest
		}
		b.WriteString(line)
	}
	return b.String()
}
