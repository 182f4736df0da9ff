package ir

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A FormatOption changes what [Node.Format] prints.
type FormatOption func(*formatConfig)

type formatConfig struct {
	tensors bool
	maxList int
}

// WithTensorMeta prints the dtype, shape, strides and device of a call's tensor
// where meta has them.
func WithTensorMeta() FormatOption { return func(c *formatConfig) { c.tensors = true } }

// MaxListLen cuts lists and tuples of arguments after n items and says how long
// they are. Default: no limit.
func MaxListLen(n int) FormatOption { return func(c *formatConfig) { c.maxList = n } }

// Format returns the line that stands for n in the text of its graph. Same text
// as torch.fx Node.format_node.
func (n *Node) Format(opts ...FormatOption) string {
	c := formatConfig{maxList: -1}
	for _, o := range opts {
		if o != nil {
			o(&c)
		}
	}
	var b strings.Builder
	n.format(&b, c)
	return b.String()
}

func (n *Node) format(b *strings.Builder, c formatConfig) {
	if n.op == Output {
		b.WriteString("return " + strOf(n.Arg(0)))
		return
	}
	b.WriteByte('%')
	b.WriteString(n.name)
	b.WriteString(" : ")
	tensor, ok := "", false
	if c.tensors && n.op != Placeholder && n.op != GetAttr {
		tensor, ok = n.tensorAnnotation()
	}
	if ok {
		// torch.fx leaves no space after this one
		b.WriteString(tensor)
	} else if n.typ != "" {
		b.WriteString(n.typ + " ")
	}
	b.WriteString("[num_users=")
	b.WriteString(strconv.Itoa(n.NumUsers()))
	b.WriteString("] = ")
	b.WriteString(n.op.String())
	b.WriteString("[target=")
	b.WriteString(n.target.String())
	b.WriteByte(']')
	switch n.op {
	case Placeholder:
		if len(n.args) > 0 {
			b.WriteString("(default=" + strOf(n.args[0]) + ")")
		}
	case GetAttr:
	default:
		b.WriteString("(args = ")
		formatItems(b, "(", n.args, ")", c.maxList)
		b.WriteString(", kwargs = {")
		for i, k := range n.kwargs {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(k.Name)
			b.WriteString(": ")
			formatArg(b, k.Value, -1)
		}
		b.WriteString("})")
	}
}

// tensorAnnotation is the `Tensor "f32[2, 3][3, 1]cpu"` of a node whose meta
// has a tensor.
func (n *Node) tensorAnnotation() (string, bool) {
	m, ok := n.metaValue().(TensorMeta)
	if !ok || !n.metaIsTensor() {
		return "", false
	}
	s := `Tensor "` + m.DType.Short() + sizesText(m.Sizes)
	if !sparseCompressed(m.Layout) {
		s += sizesText(m.Strides)
	}
	return s + m.Device.String() + `"`, true
}

// metaValue is what torch.fx's texts take a node's value to be.
func (n *Node) metaValue() any {
	for _, key := range []string{MetaVal, MetaTensorMeta, MetaExampleValue} {
		if n.meta.Has(key) {
			return n.meta.Get(key)
		}
	}
	return nil
}

// metaIsTensor tells a tensor from what shape propagation notes, of which
// torch.fx prints less.
func (n *Node) metaIsTensor() bool {
	return n.meta.Has(MetaVal) || !n.meta.Has(MetaTensorMeta)
}

// sparseCompressed reports whether tensors of a layout have no strides.
func sparseCompressed(l Layout) bool {
	return l == SparseCSR || l == SparseCSC || l == SparseBSR || l == SparseBSC
}

// formatArg writes an argument as torch.fx.node._format_arg does: nodes with a
// percent sign, strings bare. maxList limits this level alone, -1 nothing.
func formatArg(b *strings.Builder, a Arg, maxList int) {
	switch a := a.(type) {
	case *Node:
		b.WriteByte('%')
		b.WriteString(a.name)
	case List:
		formatItems(b, "[", a.items, "]", maxList)
	case Tuple:
		formatItems(b, "(", a.items, ")", maxList)
	case NamedTuple:
		formatItems(b, "(", a.items, ")", maxList)
	case Dict:
		b.WriteByte('{')
		for i, p := range a.pairs {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(strOf(p.Key) + ": ")
			formatArg(b, p.Value, -1)
		}
		b.WriteByte('}')
	default:
		b.WriteString(strOf(a))
	}
}

func formatItems(b *strings.Builder, open string, items []Arg, end string, maxList int) {
	b.WriteString(open)
	for i, item := range items {
		if maxList >= 0 && i >= maxList {
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		formatArg(b, item, -1)
	}
	if open == "(" && len(items) == 1 {
		b.WriteByte(',')
	}
	if maxList >= 0 && len(items) > maxList {
		fmt.Fprintf(b, ", ...[total_len=%d]", len(items))
	}
	b.WriteString(end)
}

// String returns the graph's text, a line a node, without a newline at the end.
// Same text as Python's str of a torch.fx Graph.
func (g *Graph) String() string {
	var b strings.Builder
	b.Grow(128 * g.length) // most lines are shorter
	b.WriteString("graph():")
	for n := range g.Nodes() {
		b.WriteString("\n    ")
		n.format(&b, formatConfig{maxList: -1})
	}
	return b.String()
}

// Tabular returns the nodes as a table of opcode, name, target, args and
// kwargs, ending in a newline. Same text as torch.fx Graph.print_tabular with
// all addresses zero.
func (g *Graph) Tabular() string {
	rows := [][5]string{{"opcode", "name", "target", "args", "kwargs"}}
	for n := range g.Nodes() {
		kwargs := make([]Pair, len(n.kwargs))
		for i, k := range n.kwargs {
			kwargs[i] = Pair{Str(k.Name), k.Value}
		}
		target := n.target.String()
		if f := n.Func(); f != nil {
			target = f.objectText(false)
		}
		rows = append(rows, [5]string{n.op.String(), n.name, target, Repr(Tuple{seq{n.args}}), Repr(Dict{kwargs})})
	}
	return simpleTable(rows)
}

// simpleTable lays rows out as the "simple" format of Python's tabulate does:
// the first row is the header, a line of dashes under it, two spaces between
// columns.
func simpleTable(rows [][5]string) string {
	var width [5]int
	for i, row := range rows {
		for c, cell := range row {
			w := utf8.RuneCountInString(cell)
			if i == 0 {
				w += 2 // tabulate keeps headers this far apart
			}
			width[c] = max(width[c], w)
		}
	}
	var b strings.Builder
	line := func(row [5]string) {
		var l strings.Builder
		for c, cell := range row {
			if c > 0 {
				l.WriteString("  ")
			}
			l.WriteString(cell + strings.Repeat(" ", width[c]-utf8.RuneCountInString(cell)))
		}
		b.WriteString(strings.TrimRight(l.String(), " ") + "\n")
	}
	line(rows[0])
	var dashes [5]string
	for c := range dashes {
		dashes[c] = strings.Repeat("-", width[c])
	}
	line(dashes)
	for _, row := range rows[1:] {
		line(row)
	}
	return b.String()
}
