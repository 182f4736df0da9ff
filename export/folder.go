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
	// the module's own parameters and buffers, *ir.GraphModule for children that
	// are graph modules, and *SavedModule for the others.
	Module *ir.GraphModule
	// Warnings says what is not as in the module that was saved.
	Warnings []string

	state *StateFile
	files []func() error // pickled children
}

// Close gives up the files behind the tensors. It is idempotent.
func (f *Folder) Close() error {
	var faults []error
	if f.state != nil {
		faults = append(faults, f.state.Close())
		f.state = nil
	}
	for _, close := range f.files {
		faults = append(faults, close())
	}
	f.files = nil
	return errors.Join(faults...)
}

// LoadFolder reads a saved folder: the class in module.py, whose code is parsed
// and never executed, and the state in state_dict.pt, or in
// state_dict.safetensors where that is not there. Paths in module.py do not
// count; all files are those of dir.
//
// A child that Python pickled is read as [Saved.Module] does, so that it may be a
// graph module, and no code of it runs. Where its file is not there, or has what is
// Python code, the child is what the repr in the comment beside it says, with the
// tensors of the state; Warnings tells.
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
	f := &Folder{}
	r := &folderReader{dir: dir, folder: f, facts: known, opts: opts, classes: map[string]*folderClass{}}
	fail := func(err error) (*Folder, error) { return nil, errors.Join(err, f.Close()) }
	main, err := r.file(string(text))
	if err != nil {
		return fail(err)
	}
	name := filepath.Join(dir, folderState)
	if _, err := os.Stat(name); errors.Is(err, os.ErrNotExist) {
		name = filepath.Join(dir, folderSafe)
	}
	if f.state, err = OpenState(name); err != nil {
		return fail(fmt.Errorf("%s: %w", filepath.Base(name), err))
	}
	if err := r.place(main, f.state); err != nil {
		return fail(err)
	}
	if err := main.root.finish(); err != nil {
		return fail(err)
	}
	f.Module = main.root.Graph
	return f, nil
}

// finish makes the graph modules of m and below, whose attributes are complete.
func (m *SavedModule) finish() error {
	var faults []error
	for _, c := range m.Children {
		faults = append(faults, c.finish())
	}
	if m.graph != nil && errors.Join(faults...) == nil {
		attrs := map[string]any{}
		for i, name := range m.Names {
			if c := m.Children[i]; c.Graph != nil {
				attrs[name] = c.Graph
			} else {
				attrs[name] = c
			}
		}
		for _, t := range slices.Concat(m.buffers, m.params) {
			attrs[t.name] = t.tensor
		}
		// in the order of the folder, and not of first use
		order := slices.Concat(m.Names, names(m.buffers), names(m.params))
		var err error
		m.Graph, err = ir.NewGraphModule(attrs, m.graph, ir.ClassName(m.Class), ir.AttrOrder(order...))
		faults = append(faults, err)
	}
	return errors.Join(faults...)
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
	dir     string
	folder  *Folder
	facts   folderFacts
	opts    []ir.ParseOption
	classes map[string]*folderClass // that stand above the one being read
	zeroed  int64                   // elements of buffers without a value
}

// A folderClass is a class of a module.py: the module itself, which stands last,
// or a child that is a graph module.
type folderClass struct {
	root     *SavedModule
	declared []declaration
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
	emptyCall   = regexp.MustCompile(`^torch\.empty\((\[[\d, ]*\]), dtype=torch\.(\w+)\)$`)
	deepLine    = regexp.MustCompile(`^self\.get_submodule\('([^'\\]+)'\)\.register_(parameter|buffer)\('([^'\\]+)', (?:torch\.nn\.Parameter\()?torch\.empty\((\[[\d, ]*\]), dtype=torch\.(\w+)\)\)?\)$`)
	appendLine  = regexp.MustCompile(`^self\.get_submodule\('([^'\\]+)'\)\.append\(torch\.nn\.Parameter\(torch\.empty\((\[[\d, ]*\]), dtype=torch\.(\w+)\)\)\)$`)
	itemLine    = regexp.MustCompile(`^self\.get_submodule\('([^'\\]+)'\)\['([^'\\]+)'\] = torch\.nn\.Parameter\(torch\.empty\((\[[\d, ]*\]), dtype=torch\.(\w+)\)\)$`)
	stateLine   = regexp.MustCompile(`^self\.load_state_dict\(torch\.load\(r'[^']*'\)\)$`)
	specLine    = regexp.MustCompile(`^self\._(?:in|out)_spec = pytree\.treespec_loads\(.*\)$`)
)

// file reads the classes and returns the last.
func (r *folderReader) file(text string) (*folderClass, error) {
	lines := strings.Split(text, "\n")
	var starts []int
	for i, line := range lines {
		if classLine.MatchString(line) {
			starts = append(starts, i)
		}
	}
	if starts == nil || len(starts) > maxModules {
		return nil, ir.Errorf(ir.ErrFormat, "%s: expected a class of torch.nn.Module with __init__ and a function, got none", folderModule)
	}
	head := lines[:starts[0]]
	var main *folderClass
	for i, start := range starts {
		end := len(lines)
		if i+1 < len(starts) {
			end = starts[i+1]
		}
		var err error
		if main, err = r.class(head, lines[:end], start); err != nil {
			return nil, err
		}
	}
	return main, nil
}

// class reads a class, which begins at a line and goes to the last one given, and
// its function. head are the lines before all classes.
func (r *folderReader) class(head, lines []string, start int) (*folderClass, error) {
	name := classLine.FindStringSubmatch(lines[start])[1]
	c := &folderClass{root: &SavedModule{Class: name}}
	for i := start + 1; i < len(lines); i++ {
		trimmed := strings.TrimSpace(lines[i])
		if strings.HasPrefix(lines[i], "    def ") && trimmed != "def __init__(self):" || strings.HasPrefix(trimmed, "torch.fx._symbolic_trace.wrap(") {
			// the function in its place, so that errors tell the right lines
			code := slices.Concat(head, make([]string, i-len(head)), lines[i:])
			opts, err := r.facts.options(name)
			if err != nil {
				return nil, err
			}
			graph, err := ir.ParseCode(strings.Join(code, "\n"), append(opts, r.opts...)...)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", folderModule, err)
			}
			c.root.graph = graph
			r.classes[name] = c
			return c, nil
		}
		if err := r.statement(c, trimmed, i+1); err != nil {
			return nil, err
		}
	}
	return nil, ir.Errorf(ir.ErrFormat, "%s: expected a class of torch.nn.Module with __init__ and a function, got none", folderModule)
}

// statement reads a line of __init__.
func (r *folderReader) statement(into *folderClass, s string, line int) error {
	switch s {
	case "", "def __init__(self):", "super().__init__()":
		return nil
	}
	if stateLine.MatchString(s) || specLine.MatchString(s) {
		return nil
	}
	if m := pickledLine.FindStringSubmatch(s); m != nil {
		c := r.pickled(m[1], m[2])
		c.Pickled = true
		into.root.add(m[1], c)
		return nil
	}
	if m := paramLine.FindStringSubmatch(s); m != nil {
		into.declared = append(into.declared, declaration{m[1], m[2], m[3], true, line})
		return nil
	}
	if m := bufferLine.FindStringSubmatch(s); m != nil {
		into.declared = append(into.declared, declaration{m[1], m[2], m[3], false, line})
		return nil
	}
	if m := deepLine.FindStringSubmatch(s); m != nil {
		into.declared = append(into.declared, declaration{m[1] + "." + m[3], m[4], m[5], m[2] == "parameter", line})
		return nil
	}
	if m := itemLine.FindStringSubmatch(s); m != nil {
		into.declared = append(into.declared, declaration{m[1] + "." + m[2], m[3], m[4], true, line})
		return nil
	}
	if m := appendLine.FindStringSubmatch(s); m != nil {
		n := 0
		for _, d := range into.declared {
			if strings.HasPrefix(d.path, m[1]+".") {
				n++
			}
		}
		into.declared = append(into.declared, declaration{fmt.Sprintf("%s.%d", m[1], n), m[2], m[3], true, line})
		return nil
	}
	if m := belowLine.FindStringSubmatch(s); m != nil {
		parent := into.root
		for _, name := range strings.Split(m[1], ".") {
			parent = parent.child(name)
		}
		return r.child(into, parent, m[1]+".", m[2], m[3])
	}
	if m := childLine.FindStringSubmatch(s); m != nil {
		return r.child(into, into.root, "", m[1], m[2])
	}
	return ir.Errorf(ir.ErrUnsupported, "%s, line %d: expected a statement that to_folder writes, got %s", folderModule, line, clip(s))
}

// child adds the module that an expression makes: an instance of a class above,
// with what that declares, or of one of torch.nn. path is the parent's.
func (r *folderReader) child(into *folderClass, parent *SavedModule, path, name, expr string) error {
	class := r.classes[strings.TrimSuffix(expr, "()")]
	if class == nil || !strings.HasSuffix(expr, "()") {
		parent.add(name, constructed(expr, 0))
		return nil
	}
	delete(r.classes, class.root.Class) // one instance each
	parent.add(name, class.root)
	for _, d := range class.declared {
		d.path = path + name + "." + d.path
		into.declared = append(into.declared, d)
	}
	return nil
}

// constructed is the module that an expression makes. Its arguments are literals,
// such expressions, and torch.empty.
func constructed(expr string, depth int) *SavedModule {
	expr, eval := strings.CutSuffix(expr, ".eval()")
	m := parseRepr(strings.TrimPrefix(expr, "torch.nn."))
	if m.line != "" || len(m.Children) > 0 || depth > maxReprDepth {
		return m
	}
	m.Eval, m.Whole = eval, true
	for i, a := range m.Args {
		if a.Value != nil {
			continue
		}
		if e := emptyCall.FindStringSubmatch(a.Text); e != nil {
			if t, err := (declaration{sizes: e[1], dtype: e[2]}).shape(); err == nil {
				m.Args[i].Tensor = t
			}
		} else if c := constructed(a.Text, depth+1); c.Whole {
			m.Args[i].Module = c
		}
	}
	return m
}

// pickled returns the child that Python pickled, or what its repr tells.
func (r *folderReader) pickled(name, repr string) *SavedModule {
	described := parseRepr(repr)
	if left := maxModules; !described.split(&left) {
		described = &SavedModule{Class: described.Class, line: repr}
	}
	file := name + ".pt"
	if filepath.Base(file) != file {
		return described
	}
	m, err := func() (any, error) {
		s, err := OpenTorchSave(filepath.Join(r.dir, file), Classes(ModuleClasses))
		if err != nil {
			return nil, err
		}
		m, err := s.Module()
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
		r.folder.files = append(r.folder.files, s.Close)
		r.folder.Warnings = append(r.folder.Warnings, s.Warnings...)
		return m, nil
	}()
	switch m := m.(type) {
	case *SavedModule:
		return m
	case *ir.GraphModule:
		return graphChild(m, nil)
	}
	r.folder.Warnings = append(r.folder.Warnings, fmt.Sprintf("module %s: is made of its repr, since %s cannot be read: %v", name, file, err))
	return described
}

// place gives the tensors of the state to the modules, and checks that all that
// was declared is there.
func (r *folderReader) place(main *folderClass, state *StateFile) error {
	var faults faults
	declared := map[string]declaration{}
	for _, d := range main.declared {
		declared[d.path] = d
		t, ok := state.Tensors[d.path]
		switch {
		case !ok && d.param:
			faults.add(ir.ErrFormat, "%s, line %d: expected the parameter %s in the state, got none", folderModule, d.line, d.path)
		case !ok:
			r.folder.Warnings = append(r.folder.Warnings, fmt.Sprintf("buffer %s is not persistent: it has no value, so it is zero", d.path))
			zero, err := r.zeros(d)
			if err != nil {
				faults.err(err)
				continue
			}
			main.root.owner(d.path).setTensor(last(d.path), zero)
		case d.sizes != listText(t.Sizes) || d.dtype != t.DType.Name():
			faults.add(ir.ErrFormat, "state %s: expected %s of %s, as line %d of %s declares, got %s of %s",
				d.path, d.dtype, d.sizes, d.line, folderModule, t.DType.Name(), listText(t.Sizes))
		}
	}
	for _, name := range state.Names {
		t := *state.Tensors[name]
		d, known := declared[name]
		m := main.root.owner(name)
		t.Parameter = known && d.param || !known && !isStatistic(last(name)) && m.Class != "Module"
		if old := m.tensor(last(name)); old != nil {
			t.Parameter = old.Parameter
		}
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

// owner returns the module that owns the tensor at a path.
func (m *SavedModule) owner(path string) *SavedModule {
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

// shape returns a tensor of a declaration, without elements.
func (d declaration) shape() (*Tensor, error) {
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
	return &Tensor{DType: dtype, Sizes: sizes, Strides: contiguous(sizes)}, nil
}

// zeros makes a tensor of a declaration. All of a folder have at most
// maxFolderModule elements.
func (r *folderReader) zeros(d declaration) (*Tensor, error) {
	t, err := d.shape()
	if err != nil {
		return nil, err
	}
	n, fits := elements(t.Sizes)
	if !fits || n > maxFolderModule-r.zeroed {
		return nil, ir.Errorf(ir.ErrFormat, "%s, line %d: expected buffers without a value of at most %d elements, got %s", folderModule, d.line, maxFolderModule, d.sizes)
	}
	r.zeroed += n
	t.Storage = NewStorage(make([]byte, n*int64(t.DType.Size())))
	return t, nil
}
