package export

import (
	"iter"
	"slices"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// The bounds on what a TorchScript archive may make a reader do.
const (
	maxScriptCode    = 64 << 20 // bytes of source, all together
	maxScriptEntries = 1 << 18  // attributes of modules, each as often as it has a path
)

// A Script is what a TorchScript file holds, as far as it can be told without
// libtorch: the modules with their tensors, and the source of the methods as text.
// Package script runs such files.
type Script struct {
	Class    string            // of the module that was saved: "__torch__.Net"
	Methods  []ScriptMethod    // of that module, in the order of the source
	Modules  []ScriptModule    // the modules, that one first, each before those in it
	Calls    map[string]int    // how often the source calls an operator, by name: "aten::relu"
	Assigned []string          // attributes that the source sets, in whatever module: "_state"
	Objects  []string          // classes of C++ that values are of: "quantized.LinearPackedParamsBase"
	Version  string            // of the format, as torch numbers it
	Mobile   bool              // it holds the bytecode of the lite interpreter, too
	Sources  map[string]string // by the file's name in the archive, below code/: "__torch__.py"
	Extra    []string          // names of extra files

	// Unknown are operators of libraries that are not here. Of libtorch's own namespaces,
	// aten and prim, nothing is said: TorchScript has more in them than the dispatcher.
	Unknown []string

	// Warnings says what is not known of the file.
	Warnings []string

	tensors []ScriptTensor
	close   func() error
}

// A ScriptMethod is the signature of a method, types as TorchScript writes them.
type ScriptMethod struct {
	Name   string
	Args   []ScriptArg // without self
	Return string
}

// A ScriptArg is a parameter of a method.
type ScriptArg struct {
	Name, Type string
	Default    string // as written, "" where there is none
}

// String returns "forward(x: Tensor, n: int=2) -> Tensor".
func (m ScriptMethod) String() string {
	args := make([]string, len(m.Args))
	for i, a := range m.Args {
		args[i] = a.Name + ": " + a.Type
		if a.Default != "" {
			args[i] += "=" + a.Default
		}
	}
	return m.Name + "(" + strings.Join(args, ", ") + ") -> " + m.Return
}

// A ScriptModule is a module of a [Script].
type ScriptModule struct {
	Path  string // "" for the one that was saved
	Class string // "__torch__.torch.nn.modules.linear.Linear"
}

// A ScriptTensorKind says what a tensor of a [Script] is.
type ScriptTensorKind uint8

// The kinds of tensors.
const (
	ScriptParameter ScriptTensorKind = iota
	ScriptBuffer
	ScriptAttribute // of a module, but not in its state dict
	ScriptConstant  // of the code: "CONSTANTS.c0"
)

// String returns the name of the kind in lower case.
func (k ScriptTensorKind) String() string {
	return [...]string{"parameter", "buffer", "attribute", "constant"}[k]
}

// A ScriptTensor is a tensor of a [Script].
type ScriptTensor struct {
	Name   string // its path: "fc.weight"
	Kind   ScriptTensorKind
	Tensor *Tensor
}

// OpenScript reads a TorchScript file, what torch.jit.save wrote, as data: objects by
// the rules of [OpenTorchSave], and source of which it looks for signatures and calls.
// Nothing is executed, and no libtorch is needed. The options [SkipChecksums],
// [WithoutWeights] and [Operators] count. Storages are mapped as [OpenTorchSave] has it.
//
// Errors are of class [ir.ErrFormat] for damage and [ir.ErrUnsupported] for what is not
// read. Source in a form that is not known is a warning.
func OpenScript(path string, opts ...Option) (*Script, error) {
	s, close, err := openSpan(path)
	if err != nil {
		return nil, err
	}
	script, err := readScript(s, opts)
	if err != nil {
		_ = close()
		return nil, err
	}
	script.close = close
	return script, nil
}

func readScript(s *span, opts []Option) (*Script, error) {
	var o options
	if err := o.take(opts); err != nil {
		return nil, err
	}
	a, err := openArchive(s)
	if err != nil {
		return nil, err
	}
	a.findRoot()
	a.sums = a.sums && !o.skipSums
	if format, err := identifyArchive(a); err != nil || format != TorchScriptFile {
		return nil, ir.Errorf(ir.ErrFormat, "expected a TorchScript file, got one of the format %s", format)
	}
	o.classes = scriptClass
	saved, err := readPickled(a, &o, "data")
	if err != nil {
		return nil, err
	}
	root, ok := saved.Value.(*Instance)
	if !ok {
		return nil, ir.Errorf(ir.ErrFormat, "record data.pkl: expected a module, got %s", pyTypeName(saved.Value))
	}
	constants, err := readPickled(a, &o, "constants")
	if err != nil {
		return nil, err
	}
	r := &scriptReader{Script: &Script{Class: root.Class, Mobile: a.has("bytecode.pkl"), Warnings: saved.Warnings}, onPath: map[*Instance]bool{}, objects: map[string]bool{}, assigned: map[string]bool{}, walked: map[any]bool{}}
	if err := r.readCode(a); err != nil {
		return nil, err
	}
	if err := r.module("", root); err != nil {
		return nil, err
	}
	list, _ := constants.Value.(ir.PyTuple)
	for i, v := range list {
		if t, ok := v.(*Tensor); ok {
			r.tensors = append(r.tensors, ScriptTensor{constantName(i), ScriptConstant, t})
		}
	}
	r.Methods = r.classes[root.Class].methods
	r.Objects, r.Assigned = sortedKeys(r.objects), sortedKeys(r.assigned)
	if o.catalogue == nil {
		o.catalogue = ir.Operators()
	}
	for _, name := range sortedKeys(r.Calls) {
		space, _, _ := strings.Cut(name, "::")
		if space != "aten" && space != "prim" && len(o.catalogue.Overloads(name)) == 0 {
			r.Unknown = append(r.Unknown, name)
		}
	}
	if r.Version, err = versionText(a); err != nil {
		return nil, err
	}
	for _, name := range a.below(extraDir) {
		r.Extra = append(r.Extra, strings.TrimPrefix(name, extraDir))
	}
	return r.Script, nil
}

// scriptClass takes the classes of TorchScript's own, which become data.
func scriptClass(name string) bool {
	return strings.HasPrefix(name, "__torch__.") || strings.HasPrefix(name, scriptTags)
}

func versionText(a *archive) (string, error) {
	for _, name := range []string{"version", ".data/version"} {
		if a.has(name) {
			text, err := a.text(name, 64)
			return strings.TrimSpace(string(text)), err
		}
	}
	return "", nil
}

// Tensors returns all tensors: those of the modules in the order of the file,
// parameters and buffers under the names of the state dict, then the constants of the
// code.
func (s *Script) Tensors() []ScriptTensor { return slices.Clone(s.tensors) }

// State yields the parameters and buffers, as the module's state_dict has them.
func (s *Script) State() iter.Seq2[string, *Tensor] {
	return func(yield func(string, *Tensor) bool) {
		for _, t := range s.tensors {
			if t.Kind <= ScriptBuffer && !yield(t.Name, t.Tensor) {
				return
			}
		}
	}
}

// Close gives up the mapped file; see [Program.Close].
func (s *Script) Close() error {
	if s.close == nil {
		return nil
	}
	c := s.close
	s.close = nil
	return c()
}

// A scriptReader walks the objects of a file.
type scriptReader struct {
	*Script
	classes  scriptClasses
	assigned map[string]bool
	objects  map[string]bool
	onPath   map[*Instance]bool
	walked   map[any]bool // containers in attributes
	entries  int          // of modules
}

// module notes a module and what it holds: its tensors, then the modules in it.
func (r *scriptReader) module(path string, m *Instance) error {
	if r.onPath[m] {
		return ir.Errorf(ir.ErrFormat, "module %s: holds itself", pathOrRoot(path))
	}
	r.onPath[m] = true
	defer delete(r.onPath, m)
	class, known := r.classes[m.Class]
	r.Modules = append(r.Modules, ScriptModule{path, m.Class})
	state, _ := m.State.(*ir.PyDict)
	if state == nil {
		state = &ir.PyDict{} // a module with a __getstate__: what it has is of its own form
	}
	inner := func(key any) string {
		name, _ := key.(string)
		return strings.TrimPrefix(path+"."+name, ".")
	}
	for key, v := range state.All() {
		if r.entries++; r.entries > maxScriptEntries {
			return ir.Errorf(ir.ErrFormat, "expected at most %d attributes of modules, got more", maxScriptEntries)
		}
		if t, ok := v.(*Tensor); ok {
			name, _ := key.(string)
			kind := ScriptBuffer
			switch {
			case class.parameters[name], !known && t.RequiresGrad:
				kind = ScriptParameter
			case class.tellsBuffers && !class.buffers[name]:
				kind = ScriptAttribute
			}
			r.tensor(inner(key), kind, t)
		} else if o, ok := v.(*Instance); !ok || !r.isModule(o) {
			r.attribute(inner(key), v)
		}
	}
	if m.State != any(state) {
		r.attribute(path, m.State)
	}
	for key, v := range state.All() {
		if o, ok := v.(*Instance); ok && r.isModule(o) {
			if err := r.module(inner(key), o); err != nil {
				return err
			}
		}
	}
	return nil
}

// isModule tells modules from objects of other classes.
func (r *scriptReader) isModule(o *Instance) bool {
	class, known := r.classes[o.Class]
	return known && class.module || !known && strings.HasPrefix(o.Class, "__torch__.") && !strings.HasPrefix(o.Class, scriptObjects)
}

// The names that are no classes of the source: classes of C++, and functions that say
// of what type a container is.
const (
	scriptObjects = "__torch__.torch.classes."
	scriptTags    = "torch.jit._pickle."
)

// tensor notes a tensor. Its kind is what the source says.
func (r *scriptReader) tensor(path string, kind ScriptTensorKind, t *Tensor) {
	kept := *t
	kept.Parameter = kind == ScriptParameter
	r.tensors = append(r.tensors, ScriptTensor{path, kind, &kept})
}

// attribute notes the tensors in a value that is no module. Containers that are shared
// are walked once.
func (r *scriptReader) attribute(path string, v any) {
	if tag, ok := v.(*Instance); ok && strings.HasPrefix(tag.Class, scriptTags) && len(tag.Args) > 0 {
		v = tag.Args[0] // with its type behind it
	}
	found := &tensorWalk{seen: r.walked}
	found.yield = func(at string, t *Tensor) bool {
		r.tensor(strings.TrimSuffix(path+"."+at, "."), ScriptAttribute, t)
		return true
	}
	found.object = func(o *Instance) bool {
		if class, ok := strings.CutPrefix(o.Class, scriptObjects); ok {
			r.objects[class] = true
		}
		return true
	}
	found.walk("", v)
}
