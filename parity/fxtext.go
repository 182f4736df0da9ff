package parity

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// check compares what the graph says with what was recorded, and the code with
// the graph that is read from it.
func (g *fxGraph) check() (faults []string) {
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	graph := g.module.Graph()
	if err := graph.Lint(); err != nil {
		fault("lint: %v", err)
	}
	i := 0
	for n := range graph.Nodes() {
		faults = append(faults, g.checkNode(n, g.file.Nodes[i])...)
		i++
	}
	code, err := graph.PythonCode("self")
	if err != nil {
		fault("code: %v", err)
		return faults
	}
	for _, t := range g.texts(code) {
		data, err := os.ReadFile(filepath.Join(g.dir, t.file))
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			fault("%v", err)
			continue
		}
		got, err := t.make()
		if err != nil {
			fault("%s: %v", t.file, err)
		} else if s := firstDifference(t.file, got, string(data)); s != "" {
			faults = append(faults, s)
		}
	}
	faults = append(faults, g.checkCode(code)...)
	return append(faults, g.checkParse(code)...)
}

func (g *fxGraph) checkNode(n *ir.Node, row fxNode) (faults []string) {
	if n.Target().String() != row.Pretty {
		faults = append(faults, fmt.Sprintf("node %s: expected target %s, got %s", row.Name, row.Pretty, n.Target()))
	}
	var inputs, users []string
	for _, m := range n.Inputs() {
		inputs = append(inputs, m.Name())
	}
	if !slices.Equal(inputs, row.Inputs) {
		faults = append(faults, fmt.Sprintf("node %s: expected inputs %v, got %v", row.Name, row.Inputs, inputs))
	}
	for m := range n.Users() {
		users = append(users, m.Name())
	}
	// edits change the order of users, which nodes do not tell
	slices.Sort(users)
	if want := slices.Sorted(slices.Values(row.Users)); !slices.Equal(users, want) {
		faults = append(faults, fmt.Sprintf("node %s: expected users %v, got %v", row.Name, want, users))
	}
	return faults
}

type fxText struct {
	file string
	make func() (string, error)
}

// texts are all that a case may hold, each with what makes it.
func (g *fxGraph) texts(code *ir.PythonCode) []fxText {
	graph := g.module.Graph()
	plain := func(s string) func() (string, error) { return func() (string, error) { return s, nil } }
	source := func(root string, opts ...ir.CodeOption) func() (string, error) {
		return func() (string, error) {
			c, err := graph.PythonCode(root, opts...)
			if err != nil {
				return "", err
			}
			return c.Source, nil
		}
	}
	readable := func(opts ...ir.CodeOption) func() (string, error) {
		return func() (string, error) { return g.module.Readable(opts...) }
	}
	return []fxText{
		{"code.py", plain(code.Source)},
		{"graph.txt", plain(graph.String())},
		{"tabular.txt", plain(graph.Tabular())},
		{"code_root.py", source("mod")},
		{"code_verbose.py", source("self", ir.Verbose())},
		{"code_expanded.py", source("self", ir.Expanded())},
		{"code_record.py", source("self", ir.RecordFunc())},
		{"readable.txt", readable()},
		{"readable_stride.txt", readable(ir.IncludeStride())},
		{"readable_device.txt", readable(ir.IncludeDevice())},
		{"readable_both.txt", readable(ir.IncludeStride(), ir.IncludeDevice())},
		{"readable_expanded.txt", readable(ir.Expanded())},
	}
}

// checkCode compares the globals, the import statements and the lines.
func (g *fxGraph) checkCode(code *ir.PythonCode) (faults []string) {
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	globals := map[string]string{}
	for _, gl := range code.Globals {
		globals[gl.Name] = gl.Object
	}
	for name, object := range g.file.Globals {
		if got := strings.TrimPrefix(globals[name], "builtins."); got != recordedObject(name, object, got) {
			object = recordedObject(name, object, got)
			fault("global %s: expected %s, got %s", name, object, got)
		}
	}
	if n := len(globals) - len(g.file.Globals); n != len(standardImports) {
		fault("globals: expected %d beside %d standard ones, got %d in all", len(g.file.Globals), len(standardImports), len(globals))
	}
	if want, ok := g.imports(); ok && !slices.Equal(want, code.Imports()) {
		fault("imports: expected %v, got %v", want, code.Imports())
	}
	if code.PrologueStart != g.file.Start {
		fault("start of the function: expected line %d, got %d", g.file.Start, code.PrologueStart)
	}
	for line, node := range g.file.Lines {
		want := -1
		if node != nil {
			want = *node
		}
		i, err := strconv.Atoi(line)
		if got, ok := code.Lines[i]; err != nil || !ok || got != want {
			fault("line %s of the code: expected node %d, got %d", line, want, got)
		}
	}
	if g.file.Lines != nil && len(code.Lines) != len(g.file.Lines) {
		fault("lines of the code: expected %d, got %d", len(g.file.Lines), len(code.Lines))
	}
	return faults
}

// recordedObject is the object of a recorded global, where got is what this
// project takes it for. The recorder finds no module of a number and of Ellipsis,
// gives types that are no class one, and leaves out the class around a class.
func recordedObject(name, object, got string) string {
	object = strings.TrimPrefix(object, "?.")
	if strings.HasPrefix(object, "typing.ForwardRef(") {
		return strings.TrimPrefix(object, "typing.")
	}
	module, last, _ := cutLast(object)
	if strings.HasPrefix(got, module+".") && strings.HasSuffix(got, "."+last) && strings.ReplaceAll(got, ".", "_") == name {
		return got
	}
	return object
}

func cutLast(path string) (before, last string, ok bool) {
	i := strings.LastIndexByte(path, '.')
	if i < 0 {
		return "", path, false
	}
	return path[:i], path[i+1:], true
}

var standardImports = []string{"inf", "nan", "NoneType", "torch", "device", "fx_pytree", "pytree"}

// imports returns the recorded statements; false where torch.fx fails to make
// them. Of methods, which cannot be imported, this project writes assignments.
func (g *fxGraph) imports() ([]string, bool) {
	var lines []string
	for _, line := range g.file.Imports {
		if strings.HasPrefix(line, "<") {
			return nil, false
		}
		if _, method, ok := strings.Cut(line, "import TensorBase."); ok {
			method, name, _ := strings.Cut(method, " as ")
			line = name + " = torch.Tensor." + method
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return lines, true
}

// checkParse reads the recorded code, which must give the recorded nodes, and
// writes it again.
func (g *fxGraph) checkParse(code *ir.PythonCode) (faults []string) {
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	data, err := os.ReadFile(filepath.Join(g.dir, "code.py"))
	if err != nil {
		return []string{err.Error()}
	}
	opts, globals := []ir.ParseOption{}, map[string]ir.Global{}
	for _, gl := range code.Globals {
		globals[gl.Name] = gl
	}
	source := string(data)
	imports, ok := g.imports()
	if ok {
		source = strings.Join(imports, "\n") + "\n" + source
	}
	for _, name := range slices.Sorted(maps.Keys(g.file.Globals)) {
		object := recordedObject(name, g.file.Globals[name], globals[name].Object)
		gl := ir.Global{Name: name, Object: object, IsText: globals[name].IsText}
		if ok { // the statements tell a text from a name
			gl.IsText = slices.Contains(imports, name+" = '"+object+"'")
		}
		opts = append(opts, ir.WithGlobals(gl))
	}
	want := g.module.Graph()
	for n := range want.Nodes() {
		for _, a := range n.Args() {
			opts = append(opts, fieldsOf(a)...)
		}
		for _, k := range n.Kwargs() {
			opts = append(opts, fieldsOf(k.Value)...)
		}
	}
	got, err := ir.ParseCode(source, opts...)
	if err != nil {
		return []string{"reading code.py: " + err.Error()}
	}
	again, err := got.PythonCode("self")
	if err != nil {
		fault("writing what was read from code.py: %v", err)
	} else if s := firstDifference("writing what was read from code.py", again.Source, string(data)); s != "" {
		fault("%s", s)
	}
	if err := comparable(want, got, code); err != nil {
		fault("reading code.py: %v", err)
	}
	return faults
}

// comparable compares a recorded graph with the one read from its code, apart
// from what code does not tell: where among the nodes a placeholder stands, names
// that had to give way to a global, and of boxed code types and defaults.
func comparable(want, got *ir.Graph, code *ir.PythonCode) error {
	want, got = want.Clone(), got.Clone()
	if _, boxed := want.CodeGen().(ir.BoxedCodeGen); boxed {
		for n := range want.Nodes() {
			if n.Op() == ir.Placeholder {
				n.SetType("")
				n.SetArgs()
			}
		}
	}
	for _, g := range []*ir.Graph{want, got} {
		if err := hoistPlaceholders(g); err != nil {
			return err
		}
	}
	if err := ir.Equal(got, want); err != nil {
		return err
	}
	for n, m := want.First(), got.First(); n != nil; n, m = n.Next(), m.Next() {
		if n.Name() != m.Name() && n.Op() != ir.Output && !slices.ContainsFunc(code.Globals, func(gl ir.Global) bool {
			return strings.HasPrefix(m.Name(), gl.Name+"_")
		}) {
			return ir.Errorf(ir.ErrAssertion, "expected the name %s, got %s", n.Name(), m.Name())
		}
	}
	return nil
}

// hoistPlaceholders moves the placeholders to the start of g.
func hoistPlaceholders(g *ir.Graph) error {
	var last *ir.Node
	for _, n := range g.Find(ir.Placeholder, nil) {
		var err error
		if last != nil {
			err = last.Append(n)
		} else {
			err = g.First().Prepend(n)
		}
		if err != nil {
			return err
		}
		last = n
	}
	return nil
}

// fieldsOf finds the namedtuples in a and tells the reader their fields.
func fieldsOf(a ir.Arg) []ir.ParseOption {
	var opts []ir.ParseOption
	add := func(items func(func(int, ir.Arg) bool)) {
		for _, item := range items {
			opts = append(opts, fieldsOf(item)...)
		}
	}
	switch a := a.(type) {
	case ir.NamedTuple:
		opts = append(opts, ir.WithFields(a.Type.Name(), a.Fields...))
		add(a.All())
	case ir.Tuple:
		add(a.All())
	case ir.List:
		add(a.All())
	case ir.Dict:
		for _, v := range a.All() {
			opts = append(opts, fieldsOf(v)...)
		}
	}
	return opts
}
