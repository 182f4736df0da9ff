package main

import (
	"cmp"
	"fmt"
	"maps"
	"math/big"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/torchfx-go/torchfx/export"
	"github.com/torchfx-go/torchfx/ir"
)

// saved describes a file of torch.save. Objects of other classes are named; those of a
// whole module are told as the module.
func (r *inspectReport) saved(path string) error {
	classes := map[string]bool{}
	take := func(name string) bool { classes[name] = true; return true }
	f, err := bareIfNeeded(export.OpenTorchSave, path, []export.Option{export.SkipChecksums(), export.Classes(take)})
	if err != nil {
		return err
	}
	defer f.Close()
	r.Writer, r.Warnings = f.Writer, f.Warnings
	if names, tensors, ok := f.ModuleState(); ok {
		for _, name := range names {
			r.add(name, stateKind(tensors[name].Parameter), tensors[name])
		}
		return r.savedModule(f)
	}
	for name, t := range f.Tensors() {
		r.add(name, "", t)
	}
	r.Values = plainValues(f.Value)
	switch v := f.Value.(type) {
	case *export.Tensor:
		r.Kind = "a tensor"
	case *ir.PyDict:
		r.Kind = "a dict"
		if _, _, err := f.StateDict(); err == nil {
			r.Kind = "a state dict"
		}
	case []any, ir.PyTuple:
		r.Kind = "a list"
	case *export.Instance:
		r.Kind = "an object of class " + v.Class
	}
	if len(classes) > 0 {
		r.Note = "holds objects of classes of Python, which are data here: " + strings.Join(slices.Sorted(maps.Keys(classes)), ", ")
	}
	return nil
}

func stateKind(parameter bool) string {
	if parameter {
		return "parameter"
	}
	return "buffer"
}

// savedModule describes a module that was saved whole.
func (r *inspectReport) savedModule(f *export.Saved) error {
	m, err := f.Module()
	r.Warnings = f.Warnings
	switch m := m.(type) {
	case *ir.GraphModule:
		r.Kind = "a whole torch.fx.GraphModule"
		r.graph(m)
	case *export.SavedModule:
		if m == nil {
			break
		}
		r.Kind = "a whole module"
		r.Modules = strings.Split(m.Repr(), "\n")
	}
	if r.Kind == "" { // of a class that is Python code
		r.Kind = "a whole module"
		if object, ok := f.Value.(*export.Instance); ok {
			r.Kind += " of class " + object.Class
		}
	}
	if err != nil {
		r.Missing = strings.Split(err.Error(), "\n")
	}
	return nil
}

// graph describes a graph of torch.fx.
func (r *inspectReport) graph(m *ir.GraphModule) {
	var args []string
	for _, n := range m.Graph().Find(ir.Placeholder, nil) {
		arg := n.Target().String()
		if n.Type() != "" {
			arg += ": " + n.Type()
		}
		if len(n.Args()) > 0 {
			arg += "=" + ir.Repr(n.Arg(0))
		}
		args = append(args, arg)
	}
	r.Methods = []string{"forward(" + strings.Join(args, ", ") + ")"}
	r.Operators = map[string]int{}
	countTargets(m, r.Operators)
	r.Modules = strings.Split(m.Repr(), "\n")
}

// moduleClass is the class of a module of a graph module.
func moduleClass(m *ir.GraphModule, path string) string {
	switch v, _ := m.Attr(path); v := v.(type) {
	case *export.SavedModule:
		return v.Class
	case *ir.GraphModule:
		return v.ClassName()
	}
	return path
}

// savedFolder describes a folder that to_folder saved.
func (r *inspectReport) savedFolder(path string) error {
	f, err := export.LoadFolder(path)
	if err != nil {
		return err
	}
	defer f.Close()
	r.graph(f.Module)
	r.Warnings = f.Warnings
	r.attributes("", f.Module)
	return nil
}

// attributes lists the tensors of a graph module and of all below it.
func (r *inspectReport) attributes(path string, m *ir.GraphModule) {
	for name, v := range m.Attrs() {
		switch v := v.(type) {
		case *export.Tensor:
			r.add(path+name, stateKind(v.Parameter), v)
		case *ir.GraphModule:
			r.attributes(path+name+".", v)
		case *export.SavedModule:
			for below, t := range v.State() {
				r.add(path+name+"."+below, stateKind(t.Parameter), t)
			}
		}
	}
}

// script describes a TorchScript file. Operators of libraries that are not here are
// missing; what libtorch's own TorchScript has beside operators is not known.
func (r *inspectReport) script(path string, opts []export.Option) error {
	s, err := bareIfNeeded(export.OpenScript, path, append(opts, export.SkipChecksums()))
	if err != nil {
		return err
	}
	defer s.Close()
	r.Writer = "torch.jit.save, archive version " + s.Version
	if s.Mobile {
		r.Writer = "_save_for_lite_interpreter, archive version " + s.Version
	}
	r.Note = "deprecated upstream; package script runs it, torchfx convert makes a program of it"
	r.Operators, r.Extra, r.Warnings = s.Calls, s.Extra, s.Warnings
	for _, m := range s.Methods {
		r.Methods = append(r.Methods, m.String())
	}
	for _, m := range s.Modules {
		depth, name := 0, ""
		if m.Path != "" {
			depth = strings.Count(m.Path, ".") + 1
			name = "(" + m.Path[strings.LastIndexByte(m.Path, '.')+1:] + "): "
		}
		r.Modules = append(r.Modules, strings.Repeat("  ", depth)+name+scriptClass(m.Class))
	}
	for _, t := range s.Tensors() {
		r.add(t.Name, t.Kind.String(), t.Tensor)
	}
	for _, name := range s.Unknown {
		r.Missing = append(r.Missing, "operator "+name+": not of libtorch; it needs the library that has it, see --library")
	}
	if len(s.Assigned) > 0 {
		r.Warnings = append(r.Warnings, "its code sets the attributes "+strings.Join(s.Assigned, ", "))
	}
	if len(s.Objects) > 0 {
		r.Warnings = append(r.Warnings, "holds objects of classes of C++: "+strings.Join(s.Objects, ", "))
	}
	return nil
}

// scriptClass is the name of a class as Python has it: TorchScript puts
// ___torch_mangle_7 where there are several of a name.
func scriptClass(name string) string {
	parts := strings.Split(strings.TrimPrefix(name, "__torch__."), ".")
	parts = slices.DeleteFunc(parts, func(p string) bool { return strings.HasPrefix(p, "___torch_mangle_") })
	if name = strings.Join(parts, "."); strings.HasPrefix(name, "torch.nn.modules.") {
		name = parts[len(parts)-1]
	}
	return name
}

// compiled describes what AOTInductor compiled.
func (r *inspectReport) compiled(path string) error {
	programs, err := export.ReadCompiled(path, export.SkipChecksums())
	if err != nil {
		return err
	}
	for _, p := range programs {
		c := inspectCompiled{Name: p.Name, Operators: p.Calls, Kernels: p.Kernels, Metadata: p.Metadata}
		for _, in := range p.Inputs {
			c.Inputs = append(c.Inputs, checkValue{in.Name, in.Type})
			c.Ranges = append(c.Ranges, in.Bounds...)
		}
		for _, out := range p.Outputs {
			c.Outputs = append(c.Outputs, checkValue{out.Name, cmp.Or(out.Type, "tensor")})
		}
		library := false
		for _, f := range p.Files {
			c.Files = append(c.Files, inspectFile{Name: f.Name, Format: strings.TrimPrefix(filepath.Ext(f.Name), "."), Bytes: f.Bytes})
			library = library || strings.HasSuffix(f.Name, ".so")
		}
		r.Compiled = append(r.Compiled, c)
		for _, t := range p.State {
			r.Tensors = append(r.Tensors, inspectTensor{Name: t.Name, Kind: t.Kind, DType: t.DType.Name(), Shape: append([]int64{}, t.Sizes...), Bytes: t.Bytes()})
		}
		if !library {
			r.Missing = append(r.Missing, "program "+p.Name+": a compiled library (.so); libtorch compiles its C++ when it is loaded")
		}
		machine := map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
		if got := p.Metadata["AOTI_MACHINE"]; got != "" && got != machine {
			r.Missing = append(r.Missing, fmt.Sprintf("program %s: was compiled for %s, this machine is %s", p.Name, got, machine))
		}
	}
	if len(programs) > 0 && r.Program == nil {
		r.Note = "machine code without a graph: package script runs it; to see or change the program, save it with torch.export.save"
	}
	return nil
}

// The bounds on the values that are told of a checkpoint.
const (
	maxValues     = 10_000
	maxValueText  = 200
	maxPlainItems = 16 // of a list in one line
)

// plainValues tells the values that are no tensors, by their paths.
func plainValues(v any) []string {
	w := valueWalk{seen: map[any]bool{}}
	w.walk("", v)
	return w.lines
}

type valueWalk struct {
	seen  map[any]bool
	lines []string
}

func (w *valueWalk) walk(path string, v any) {
	if len(w.lines) >= maxValues {
		return
	}
	below := func(key any) string { return strings.TrimPrefix(fmt.Sprint(path, ".", key), ".") }
	switch v := v.(type) {
	case *export.Tensor:
	case *ir.PyDict:
		if !w.seen[v] {
			w.seen[v] = true
			for key, item := range v.All() {
				w.walk(below(key), item)
			}
		}
	case []any:
		w.list(path, v, "[", "]")
	case ir.PyTuple:
		w.list(path, v, "(", ")")
	case export.PySet:
		w.list(path, v, "{", "}")
	case *export.Instance:
		if !w.seen[v] {
			w.seen[v] = true
			w.lines = append(w.lines, path+" = "+v.Class+"(…)")
			w.list(path, v.Args, "(", ")")
			w.walk(path, v.State)
		}
	default:
		if path != "" || v != nil {
			w.lines = append(w.lines, strings.TrimPrefix(path+" = ", " = ")+plainRepr(v))
		}
	}
}

// list tells a short list of plain values in a line, and the items of others.
func (w *valueWalk) list(path string, items []any, open, end string) {
	if len(items) == 0 || w.seen[&items[0]] {
		return
	}
	w.seen[&items[0]] = true
	if len(items) <= maxPlainItems && !slices.ContainsFunc(items, func(v any) bool { return !isPlain(v) }) {
		texts := make([]string, len(items))
		for i, v := range items {
			texts[i] = plainRepr(v)
		}
		w.lines = append(w.lines, strings.TrimPrefix(path+" = ", " = ")+open+strings.Join(texts, ", ")+end)
		return
	}
	for i, v := range items {
		w.walk(strings.TrimPrefix(fmt.Sprint(path, ".", i), "."), v)
	}
}

func isPlain(v any) bool {
	switch v.(type) {
	case *export.Tensor, *ir.PyDict, []any, ir.PyTuple, export.PySet, *export.Instance:
		return false
	}
	return true
}

// plainRepr writes a plain value as Python does.
func plainRepr(v any) string {
	var text string
	switch v := v.(type) {
	case nil:
		text = "None"
	case bool:
		text = map[bool]string{true: "True", false: "False"}[v]
	case string:
		text = strconv.Quote(v[:min(len(v), maxValueText)])
	case []byte:
		text = fmt.Sprintf("%d bytes", len(v))
	case float64:
		text = ir.Repr(ir.Float(v))
	case *big.Int:
		text = fmt.Sprintf("an integer of %d bits", v.BitLen())
	default:
		text = fmt.Sprint(v)
	}
	if runes := []rune(text); len(runes) > maxValueText {
		text = string(runes[:maxValueText]) + "…"
	}
	return text
}
