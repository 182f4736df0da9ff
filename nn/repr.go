package nn

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

func init() {
	ir.DescribeModules(func(v any) (string, bool) {
		m, ok := v.(Module)
		if !ok {
			return "", false
		}
		return Repr(m), true
	})
}

// An Extra is a module that has something to say between the brackets of its
// [Repr], as Python's extra_repr.
type Extra interface{ ExtraRepr() string }

// Repr returns what Python's repr of the module is, byte for byte: the class,
// its arguments and its children, indented.
func Repr(m Module) string {
	extra := extraRepr(m)
	var lines []string
	if l, ok := m.(*ModuleList); ok {
		return reprList(l)
	}
	for name, child := range members(m) {
		lines = append(lines, "("+name+"): "+indent(Repr(child)))
	}
	var parts []string
	if extra != "" {
		parts = strings.Split(extra, "\n")
	}
	if len(parts) == 1 && len(lines) == 0 {
		return typeName(m) + "(" + parts[0] + ")"
	}
	lines = append(parts, lines...)
	if len(lines) == 0 {
		return typeName(m) + "()"
	}
	return typeName(m) + "(\n  " + strings.Join(lines, "\n  ") + "\n)"
}

// reprList writes neighbours that look the same as one line.
func reprList(l *ModuleList) string {
	if l.Len() == 0 {
		return "ModuleList()"
	}
	var b strings.Builder
	b.WriteString("ModuleList(\n")
	for i := 0; i < l.Len(); {
		text := Repr(l.At(i))
		end := i + 1
		for end < l.Len() && Repr(l.At(end)) == text {
			end++
		}
		if end == i+1 {
			fmt.Fprintf(&b, "  (%d): %s\n", i, indent(text))
		} else {
			fmt.Fprintf(&b, "  (%d-%d): %d x %s\n", i, end-1, end-i, indent(text))
		}
		i = end
	}
	return b.String() + ")"
}

// indent moves all lines but the first two columns in.
func indent(s string) string { return strings.ReplaceAll(s, "\n", "\n  ") }

func extraRepr(m Module) string {
	switch m := m.(type) {
	case Extra:
		return m.ExtraRepr()
	case *ParameterList:
		return reprTensors(m.tensors, func(t *torch.Tensor) string { return "torch." + t.DType().Name() })
	case *ParameterDict:
		return reprTensors(m.tensors, func(t *torch.Tensor) string { return "torch." + storageName(t) })
	}
	c := classOf(m)
	if c == nil {
		return inheritedRepr(m)
	}
	var items []string
	for _, it := range c.Repr {
		v := c.given(m.(layer), it.Name)
		if it.Hides && hidden(v, it.Unless) {
			continue
		}
		text := printed(v, it.Quoted)
		if it.Named {
			text = it.Name + "=" + text
		}
		items = append(items, text)
	}
	return strings.Join(items, ", ")
}

// inheritedRepr is what the layer that a struct embeds says of itself, "" where there is
// none.
func inheritedRepr(m Module) string {
	v := reflect.ValueOf(m).Elem()
	for i := range v.NumField() {
		if f := v.Type().Field(i); f.Anonymous && f.IsExported() && f.Type.Kind() == reflect.Struct {
			if embedded, ok := v.Field(i).Addr().Interface().(layer); ok {
				return extraRepr(embedded)
			}
		}
	}
	return ""
}

// hidden reports whether v is what extra_repr leaves out, in every place of a
// tuple.
func hidden(v any, unless string) bool {
	if t, ok := v.(ir.Tuple); ok {
		for i := range t.Len() {
			if !hidden(t.At(i), unless) {
				return false
			}
		}
		return true
	}
	if want, err := strconv.ParseFloat(unless, 64); err == nil {
		switch v := v.(type) {
		case ir.Int:
			return float64(v) == want
		case ir.Float:
			return float64(v) == want
		}
	}
	return printed(v, false) == unless
}

func printed(v any, quoted bool) string {
	if s, ok := v.(ir.Str); ok && !quoted {
		return string(s)
	}
	if a, ok := v.(ir.Arg); ok {
		return ir.Repr(a)
	}
	return torch.Describe(v)
}

func reprTensors(tensors held, kind func(*torch.Tensor) string) string {
	lines := make([]string, len(tensors))
	for i, n := range tensors {
		sizes := make([]string, 0, 4)
		for _, k := range n.tensor.Shape() {
			sizes = append(sizes, strconv.Itoa(k))
		}
		device := ""
		if d := n.tensor.Device(); d.Kind() == ir.DeviceCUDA {
			device = " (" + d.String() + ")"
		}
		lines[i] = fmt.Sprintf("  (%s): Parameter containing: [%s of size %s%s]", n.name, kind(n.tensor), strings.Join(sizes, "x"), device)
	}
	return strings.Join(lines, "\n")
}

// storageNames are the old classes of tensors, which torch.typename gives.
var storageNames = map[torch.DType]string{
	torch.Float32: "Float", torch.Float64: "Double", torch.Float16: "Half", torch.BFloat16: "BFloat16",
	torch.Int64: "Long", torch.Int32: "Int", torch.Int16: "Short", torch.Int8: "Char", torch.UInt8: "Byte",
	torch.Bool8: "Bool", torch.Complex64: "ComplexFloat", torch.Complex128: "ComplexDouble",
}

func storageName(t *torch.Tensor) string {
	name := storageNames[t.DType()] + "Tensor"
	if t.Device().Kind() == ir.DeviceCUDA {
		return "cuda." + name
	}
	return name
}
