package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// maxTensors is how many tensors are listed without --all.
const maxTensors = 20

func (r *inspectReport) print(w io.Writer, all bool) {
	fmt.Fprintf(w, "%s: %s", plainText(r.Path), r.Format)
	if r.Kind != "" {
		fmt.Fprintf(w, ", %s", plainText(r.Kind))
	}
	if r.Bytes > 0 {
		fmt.Fprintf(w, ", %s", bytesText(r.Bytes))
	}
	fmt.Fprintln(w)
	lines := (&checkReport{}).printLines
	if p := r.Program; p != nil {
		producer := "torch " + p.Torch
		if r.Writer != "" {
			producer += ", rewritten by " + r.Writer
		}
		lines(w, "written by", []string{producer + ", schema " + p.Schema})
		if len(r.Models) > 1 {
			lines(w, "programs", r.Models)
		}
		p.printValues(w, "inputs", p.Inputs)
		p.printValues(w, "outputs", p.Outputs)
		p.printLines(w, "dynamic", p.Ranges)
		p.printLines(w, "guards", p.Guards)
		if len(p.Operators) > 0 {
			p.printOperators(w)
		}
		p.printLines(w, "extra", p.Extra)
		p.printLines(w, "warning", p.Warnings)
	} else if r.Writer != "" {
		lines(w, "written by", []string{r.Writer})
	}
	lines(w, "metadata", pairs(r.Metadata))
	lines(w, "methods", r.Methods)
	if len(r.Operators) > 0 {
		(&checkReport{Operators: r.Operators}).printOperators(w)
	}
	for _, c := range r.Compiled {
		c.print(w)
	}
	lines(w, "extra", r.Extra)
	if r.Note != "" {
		lines(w, "note", []string{r.Note})
	}
	lines(w, "modules", r.Modules)
	lines(w, "warning", r.Warnings)
	lines(w, "missing", r.Missing)
	printFiles(w, "shards", r.Shards)
	for _, f := range r.Files {
		size := ""
		if f.Bytes > 0 {
			size = bytesText(f.Bytes)
		}
		fmt.Fprintf(w, "  %-10s %s: %s\n", size, plainText(f.Name), f.Format)
	}
	r.printTensors(w, all)
	if values := r.Values; len(values) > 0 {
		if more := len(values) - maxTensors; more > 0 && !all {
			values = append(slices.Clone(values[:maxTensors]), fmt.Sprintf("and %d more, see --all", more))
		}
		lines(w, "values", values)
	}
}

func (c *inspectCompiled) print(w io.Writer) {
	p := &checkReport{Operators: c.Operators}
	p.printLines(w, "compiled", []string{c.Name})
	p.printLines(w, "metadata", pairs(c.Metadata))
	if len(c.Inputs)+len(c.Outputs) > 0 { // else the package does not tell
		p.printValues(w, "inputs", c.Inputs)
		p.printValues(w, "outputs", c.Outputs)
	}
	p.printLines(w, "dynamic", c.Ranges)
	if len(c.Operators) > 0 {
		p.printOperators(w)
	}
	p.printLines(w, "kernels", c.Kernels)
	printFiles(w, "files", c.Files)
}

func printFiles(w io.Writer, title string, files []inspectFile) {
	texts := make([]string, len(files))
	for i, f := range files {
		texts[i] = f.Name + ", " + bytesText(f.Bytes)
	}
	(&checkReport{}).printLines(w, title, texts)
}

// pairs writes a table in the order of its keys.
func pairs(table map[string]string) []string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(table)) {
		out = append(out, key+": "+table[key])
	}
	return out
}

func (r *inspectReport) printTensors(w io.Writer, all bool) {
	if len(r.Tensors) == 0 {
		return
	}
	var elements, bytes int64
	shared := 0
	for _, t := range r.Tensors {
		elements, bytes = elements+t.own, bytes+t.own*t.width()
		if t.SharesWith != "" {
			shared++
		}
	}
	fmt.Fprintf(w, "  %-10s %d, %d elements, %s", "tensors", len(r.Tensors), elements, bytesText(bytes))
	if shared > 0 {
		fmt.Fprintf(w, ", counting memory once that %d share", shared)
	}
	fmt.Fprintln(w)
	for i, t := range r.Tensors {
		if i == maxTensors && !all {
			fmt.Fprintf(w, "    and %d more, see --all\n", len(r.Tensors)-i)
			return
		}
		line := t.DType + strings.ReplaceAll(fmt.Sprint(t.Shape), " ", ", ")
		if t.Name != "" {
			line = t.Name + ": " + line
		}
		if t.Kind != "" {
			line += " " + t.Kind
		}
		line += ", " + bytesText(t.Bytes)
		if t.SharesWith != "" {
			line += ", shares memory with " + t.SharesWith
		}
		fmt.Fprintf(w, "    %s\n", plainText(line))
	}
}

// bytesText writes a size as people read it.
func bytesText(n int64) string {
	switch {
	case n >= 1e9:
		return fmt.Sprintf("%.2f GB", float64(n)/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	case n >= 1e3:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%d bytes", n)
}

// countTargets counts what a graph of torch.fx and the graphs in it call: functions and
// operators by name, methods as ".view", modules by class.
func countTargets(m *ir.GraphModule, calls map[string]int) {
	for n := range m.Graph().Nodes() {
		switch n.Op() {
		case ir.CallFunction:
			if f := n.Func(); f != nil && f.Kind() == ir.Overload {
				calls[f.Op()]++
			} else {
				calls[n.Target().String()]++
			}
		case ir.CallMethod:
			calls["."+n.Target().String()]++
		case ir.CallModule:
			calls[moduleClass(m, n.Target().String())]++
		}
	}
	for _, v := range m.Attrs() {
		if sub, ok := v.(*ir.GraphModule); ok {
			countTargets(sub, calls)
		}
	}
}
