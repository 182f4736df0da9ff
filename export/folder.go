package export

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// The files of a saved folder.
const (
	folderModule    = "module.py"
	folderInit      = "__init__.py"
	folderState     = "state_dict.pt"
	folderSafe      = "state_dict.safetensors"
	folderExtra     = "graph.json" // what the text cannot say, where this project wrote the folder
	maxFolderModule = 64 << 20     // bytes of a module.py
)

// A Folder is a module that torch.fx's GraphModule.to_folder, or [ToFolder],
// saved.
type Folder struct {
	// Module has the graph that module.py holds. Its attributes are *Tensor for
	// the module's own parameters and buffers, and *SavedModule for its children.
	Module *ir.GraphModule
	// Warnings says what is not as in the module that was saved.
	Warnings []string

	state *savedState
}

// Close gives up the file behind the tensors. It is idempotent.
func (f *Folder) Close() error {
	if f.state == nil {
		return nil
	}
	s := f.state
	f.state = nil
	return s.close()
}

// LoadFolder reads a saved folder: the class in module.py, whose code is parsed
// and never executed, and the state in state_dict.pt, or in
// state_dict.safetensors where that is not there. Paths in module.py do not
// count; all files are those of dir. A child that Python pickled is known by the
// repr in the comment beside it and by its tensors in the state; the pickle is
// not opened.
//
// The specs of a pytree signature are not in what Python writes; see
// [ir.WithSpecs], which opts may hold. The error tells all that is wrong:
// statements that to_folder does not write, tensors that are missing from the
// state or of another shape.
func LoadFolder(dir string, opts ...ir.ParseOption) (*Folder, error) {
	text, err := readFile(filepath.Join(dir, folderModule), maxFolderModule)
	if err != nil {
		return nil, err
	}
	known, err := readFolderFacts(filepath.Join(dir, folderExtra))
	if err != nil {
		return nil, err
	}
	r := &folderReader{root: &SavedModule{}, text: string(text)}
	if err := r.class(); err != nil {
		return nil, err
	}
	graph, err := ir.ParseCode(r.code, append(known, opts...)...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", folderModule, err)
	}
	name := filepath.Join(dir, folderState)
	if _, err := os.Stat(name); errors.Is(err, os.ErrNotExist) {
		name = filepath.Join(dir, folderSafe)
	}
	f := &Folder{}
	if f.state, err = openState(name); err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Base(name), err)
	}
	if err := r.place(f.state); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	attrs := map[string]any{}
	for i, name := range r.root.Names {
		attrs[name] = r.root.Children[i]
	}
	for _, t := range slices.Concat(r.root.params, r.root.buffers) {
		attrs[t.name] = t.tensor
	}
	if f.Module, err = ir.NewGraphModule(attrs, graph, ir.ClassName(r.name)); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	// in the order of the folder, and not of first use
	for _, path := range slices.Concat(r.root.Names, names(r.root.buffers), names(r.root.params)) {
		f.Module.DeleteAttr(path)
		f.Module.SetAttr(path, attrs[path])
	}
	f.Warnings = r.warnings
	return f, nil
}

func names(tensors []namedTensor) []string {
	var out []string
	for _, t := range tensors {
		out = append(out, t.name)
	}
	return out
}

// readFile reads a file of at most limit bytes.
func readFile(name string, limit int64) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if info.Size() > limit {
		return nil, ir.Errorf(ir.ErrFormat, "%s: expected at most %d bytes, got %d", name, limit, info.Size())
	}
	return os.ReadFile(name)
}

// A folderReader reads a module.py.
type folderReader struct {
	text     string
	code     string // the text with all but the function's lines blank
	name     string // of the class
	root     *SavedModule
	declared []declaration
	warnings []string
}

// A declaration is a tensor that the class makes before it loads the state.
type declaration struct {
	path  string
	sizes string // "[2, 3]"
	dtype string
	param bool
	line  int
}

var (
	classLine = regexp.MustCompile(`^class (\w+)\(torch\.nn\.Module\):$`)
	// the statements of __init__; a path is self or a submodule of it
	childLine   = regexp.MustCompile(`^setattr\(self, '([^'\\]+)', (.+)\)$`)
	pickledLine = regexp.MustCompile(`^setattr\(self, '([^'\\]+)', torch\.load\(r'[^']*', weights_only=False\)\) # (.+)$`)
	belowLine   = regexp.MustCompile(`^self\.get_submodule\('([^'\\]+)'\)\.add_module\('([^'\\]+)', (.+)\)$`)
	paramLine   = regexp.MustCompile(`^setattr\(self, '([^'\\]+)', torch\.nn\.Parameter\(torch\.empty\((\[[\d, ]*\]), dtype=torch\.(\w+)\)\)\)$`)
	bufferLine  = regexp.MustCompile(`^self\.register_buffer\('([^'\\]+)', torch\.empty\((\[[\d, ]*\]), dtype=torch\.(\w+)\)\)$`)
	deepLine    = regexp.MustCompile(`^self\.get_submodule\('([^'\\]+)'\)\.register_(parameter|buffer)\('([^'\\]+)', (?:torch\.nn\.Parameter\()?torch\.empty\((\[[\d, ]*\]), dtype=torch\.(\w+)\)\)?\)$`)
	stateLine   = regexp.MustCompile(`^self\.load_state_dict\(torch\.load\(r'[^']*'\)\)$`)
	specLine    = regexp.MustCompile(`^self\._(?:in|out)_spec = pytree\.treespec_loads\(.*\)$`)
)

// class reads the class around the function.
func (r *folderReader) class() error {
	lines := strings.Split(r.text, "\n")
	body := -1
	for i, line := range lines {
		trimmed := strings.TrimSpace(line)
		switch {
		case body < 0:
			if m := classLine.FindStringSubmatch(line); m != nil {
				r.name, body = m[1], 0
				lines[i] = ""
			}
		case strings.HasPrefix(line, "    def ") && trimmed != "def __init__(self):",
			strings.HasPrefix(trimmed, "torch.fx._symbolic_trace.wrap("):
			r.code = strings.Join(lines, "\n")
			return nil
		default:
			if err := r.statement(trimmed, i+1); err != nil {
				return err
			}
			lines[i] = ""
		}
	}
	return ir.Errorf(ir.ErrFormat, "%s: expected a class of torch.nn.Module with __init__ and a function, got none", folderModule)
}

// statement reads a line of __init__.
func (r *folderReader) statement(s string, line int) error {
	switch s {
	case "", "def __init__(self):", "super().__init__()":
		return nil
	}
	if stateLine.MatchString(s) || specLine.MatchString(s) {
		return nil
	}
	if m := pickledLine.FindStringSubmatch(s); m != nil {
		c := parseRepr(m[2])
		c.Pickled = true
		r.root.add(m[1], c)
		return nil
	}
	if m := paramLine.FindStringSubmatch(s); m != nil {
		r.declared = append(r.declared, declaration{m[1], m[2], m[3], true, line})
		return nil
	}
	if m := bufferLine.FindStringSubmatch(s); m != nil {
		r.declared = append(r.declared, declaration{m[1], m[2], m[3], false, line})
		return nil
	}
	if m := deepLine.FindStringSubmatch(s); m != nil {
		r.declared = append(r.declared, declaration{m[1] + "." + m[3], m[4], m[5], m[2] == "parameter", line})
		return nil
	}
	if m := belowLine.FindStringSubmatch(s); m != nil {
		parent := r.root
		for _, name := range strings.Split(m[1], ".") {
			parent = parent.child(name)
		}
		parent.add(m[2], constructed(m[3]))
		return nil
	}
	if m := childLine.FindStringSubmatch(s); m != nil {
		r.root.add(m[1], constructed(m[2]))
		return nil
	}
	return ir.Errorf(ir.ErrUnsupported, "%s, line %d: expected a statement that to_folder writes, got %s", folderModule, line, clip(s))
}

// constructed is the module that an expression makes.
func constructed(expr string) *SavedModule {
	return parseRepr(strings.TrimPrefix(expr, "torch.nn."))
}

// place gives the tensors of the state to the modules, and checks that all that
// was declared is there.
func (r *folderReader) place(state *savedState) error {
	var faults faults
	declared := map[string]declaration{}
	for _, d := range r.declared {
		declared[d.path] = d
		t, ok := state.tensors[d.path]
		switch {
		case !ok && d.param:
			faults.add(ir.ErrFormat, "%s, line %d: expected the parameter %s in the state, got none", folderModule, d.line, d.path)
		case !ok:
			r.warnings = append(r.warnings, fmt.Sprintf("buffer %s is not persistent: it has no value, so it is zero", d.path))
			zero, err := zeros(d)
			if err != nil {
				faults.err(err)
				continue
			}
			r.module(d.path).setTensor(last(d.path), zero)
		case d.sizes != listText(t.Sizes) || d.dtype != t.DType.Name():
			faults.add(ir.ErrFormat, "state %s: expected %s of %s, as line %d of %s declares, got %s of %s",
				d.path, d.dtype, d.sizes, d.line, folderModule, t.DType.Name(), listText(t.Sizes))
		}
	}
	for _, name := range state.names {
		t := *state.tensors[name]
		d, known := declared[name]
		m := r.module(name)
		t.Parameter = known && d.param || !known && !isStatistic(last(name)) && m.Class != "Module"
		t.RequiresGrad = t.Parameter
		m.setTensor(last(name), &t)
	}
	return faults.join()
}

// isStatistic reports whether a tensor of a layer is a buffer by its name: the
// state does not tell.
func isStatistic(name string) bool {
	return name == "running_mean" || name == "running_var" || name == "num_batches_tracked"
}

// module returns the module that owns the tensor at a path.
func (r *folderReader) module(path string) *SavedModule {
	m := r.root
	parts := strings.Split(path, ".")
	for _, name := range parts[:len(parts)-1] {
		m = m.child(name)
	}
	return m
}

func last(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }

func listText(sizes []int64) string {
	return strings.ReplaceAll(strings.TrimSpace(fmt.Sprint(append([]int64{}, sizes...))), " ", ", ")
}

// zeros makes a tensor of a declaration.
func zeros(d declaration) (*Tensor, error) {
	dtype, err := ir.ParseDType("torch." + d.dtype)
	list, ok := literalOf(d.sizes).(ir.List)
	if err != nil || !ok {
		return nil, ir.Errorf(ir.ErrFormat, "%s, line %d: expected sizes and a dtype, got %s of %s", folderModule, d.line, d.sizes, d.dtype)
	}
	var sizes []int64
	for _, a := range list.All() {
		n, _ := a.(ir.Int)
		sizes = append(sizes, int64(n))
	}
	n, fits := elements(sizes)
	if !fits || n > maxFolderModule {
		return nil, ir.Errorf(ir.ErrFormat, "%s, line %d: expected a buffer of at most %d elements, got %s", folderModule, d.line, maxFolderModule, d.sizes)
	}
	return &Tensor{Storage: NewStorage(make([]byte, n*int64(dtype.Size()))), DType: dtype, Sizes: sizes, Strides: contiguous(sizes)}, nil
}
