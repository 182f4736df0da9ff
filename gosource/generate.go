package gosource

import (
	"errors"
	"fmt"
	"go/format"
	"go/token"
	"slices"
	"strconv"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// An Option changes what [Generate] writes.
type Option func(*file)

// Package sets the name of the package. Default: "model".
func Package(name string) Option { return func(f *file) { f.pkg = name } }

// Type sets the name of the struct. Default: the class name of the module.
func Type(name string) Option { return func(f *file) { f.typ = name } }

const (
	pathIR         = "github.com/torchfx-go/torchfx/ir"
	pathNN         = "github.com/torchfx-go/torchfx/nn"
	pathFunctional = "github.com/torchfx-go/torchfx/nn/functional"
	pathOperator   = "github.com/torchfx-go/torchfx/operator"
	pathTorch      = "github.com/torchfx-go/torchfx/torchops"
)

// aliases are the names of imports that differ from their last element.
var aliases = map[string]string{pathTorch: "torch", pathFunctional: "F"}

// Generate returns m as a Go file, formatted. It fails, with every reason at
// once, where a node cannot be written in Go: an operator that has no
// implementation, a value that Go has no literal for, a module that is not there.
func Generate(m *ir.GraphModule, opts ...Option) ([]byte, error) {
	if err := ir.CheckOptions("go source", opts); err != nil {
		return nil, err
	}
	if m == nil {
		return nil, ir.Errorf(ir.ErrInput, "go source: expected a graph module, got nil")
	}
	f := &file{
		pkg: "model", typ: m.ClassName(),
		imports: map[string]bool{}, blank: map[string]bool{}, helpers: map[string]bool{},
		names: newNames("call", "method", "module", "check", "truth", "whileLoop", "attribute", "attributes", "graph"),
		funcs: map[*ir.Func]string{}, units: map[*ir.GraphModule]*unit{},
	}
	for _, o := range opts {
		o(f)
	}
	if !token.IsIdentifier(f.pkg) || f.pkg == "_" {
		return nil, ir.Errorf(ir.ErrValue, "go source: expected a name of a package, got %q", f.pkg)
	}
	if !token.IsIdentifier(f.typ) || !token.IsExported(f.typ) {
		return nil, ir.Errorf(ir.ErrValue, "go source: expected an exported name of a type, got %q", f.typ)
	}
	f.unit(m, f.typ, 0)
	if len(f.faults) > 0 {
		return nil, errors.Join(f.faults...)
	}
	text, err := format.Source([]byte(f.String()))
	if err != nil {
		return nil, fmt.Errorf("go source of %s: %w", m.ClassName(), err)
	}
	return text, nil
}

// A file is one Go file being written.
type file struct {
	pkg, typ string
	imports  map[string]bool // by path
	blank    map[string]bool // imported for what it registers
	helpers  map[string]bool // functions at the end of the file
	names    *names          // of the package
	funcs    map[*ir.Func]string
	order    []*ir.Func
	units    map[*ir.GraphModule]*unit
	texts    []string // of the units, inner ones first
	faults   []error
}

// use imports a package and returns its name.
func (f *file) use(path string) string {
	f.imports[path] = true
	if alias, ok := aliases[path]; ok {
		return alias
	}
	return path[strings.LastIndexByte(path, '/')+1:]
}

// function returns the variable that holds fn.
func (f *file) function(fn *ir.Func) string {
	if name, ok := f.funcs[fn]; ok {
		return name
	}
	text := fn.Name()
	for _, prefix := range []string{"torch.ops.", "torch.nn.functional.", "builtins."} {
		text = strings.TrimPrefix(text, prefix)
	}
	name := f.names.unique(lowerCamel(text))
	f.funcs[fn] = name
	f.order = append(f.order, fn)
	return name
}

// String returns the file, unformatted.
func (f *file) String() string {
	var body strings.Builder
	if len(f.order) > 0 {
		irName := f.use(pathIR)
		body.WriteString("var (\n")
		for _, fn := range f.order {
			fmt.Fprintf(&body, "%s = %s.FuncOf(%q)\n", f.funcs[fn], irName, fn.Name())
		}
		body.WriteString(")\n\n")
	}
	for _, text := range slices.Backward(f.texts) {
		body.WriteString(text)
	}
	for _, h := range helpers {
		if f.helpers[h.name] {
			for _, path := range h.imports {
				f.use(path)
			}
			body.WriteString(h.text)
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "// Code generated from a torch.fx graph by torchfx. DO NOT EDIT.\n\npackage %s\n\nimport (\n", f.pkg)
	for _, own := range []bool{false, true} {
		for _, path := range slices.Sorted(keys(f.imports, f.blank)) {
			if strings.Contains(path, ".") != own {
				continue
			}
			switch alias := aliases[path]; {
			case !f.imports[path]:
				fmt.Fprintf(&b, "_ %q\n", path)
			default:
				fmt.Fprintf(&b, "%s %q\n", alias, path)
			}
		}
		b.WriteString("\n")
	}
	b.WriteString(")\n\n")
	return b.String() + body.String()
}

func keys(sets ...map[string]bool) func(yield func(string) bool) {
	all := map[string]bool{}
	for _, set := range sets {
		for k := range set {
			all[k] = true
		}
	}
	return func(yield func(string) bool) {
		for k := range all {
			if !yield(k) {
				return
			}
		}
	}
}

// A helper is a function that a file has where it needs it.
type helper struct {
	name    string
	imports []string
	text    string
}

var helpers = []helper{
	{"call", []string{pathIR, pathTorch}, `
// call is f(args...); torch.Kw gives keywords.
func call(f *ir.Func, args ...any) any {
	args, kw := torch.SplitKwargs(args)
	return torch.Dispatch(ir.CallFunction, f, args, kw)
}
`},
	{"method", []string{pathIR, pathTorch}, `
// method is args[0].name(args[1:]...).
func method(name string, args ...any) any {
	args, kw := torch.SplitKwargs(args)
	return torch.Dispatch(ir.CallMethod, name, args, kw)
}
`},
	{"module", []string{pathNN, pathTorch}, `
// module is m(args...).
func module(m nn.Module, args ...any) any {
	args, kw := torch.SplitKwargs(args)
	out, err := nn.Invoke(m, args, kw)
	if err != nil {
		panic(&torch.Error{Op: nn.ClassName(m), Err: err})
	}
	return out
}
`},
	{"check", []string{pathTorch}, `
// check refuses arguments that the graph was not made for.
func check(guards interface{ Check(leaves []any) error }, leaves ...any) {
	if err := guards.Check(leaves); err != nil {
		panic(&torch.Error{Op: "guards", Err: err})
	}
}
`},
	{"truth", []string{pathIR, pathTorch}, `
// truth is Python's bool(v).
func truth(v any) bool {
	return torch.As[bool](torch.Dispatch(ir.CallFunction, ir.FuncOf("operator.truth"), []any{v}, nil))
}
`},
	{"whileLoop", []string{pathIR, pathTorch}, `
// whileLoop carries values through body as long as test holds. Without a single
// round it returns copies, as torch does.
func whileLoop(test, body func(v []any) any, carried, extra []any) any {
	with := func() []any { return append(append([]any{}, carried...), extra...) }
	holds := func() bool {
		v := test(with())
		if t, ok := v.(ir.PyTuple); ok && len(t) == 1 {
			v = t[0]
		}
		return truth(v)
	}
	rounds := 0
	for ; holds(); rounds++ {
		switch out := body(with()).(type) {
		case ir.PyTuple:
			carried = out
		case []any:
			carried = out
		default:
			carried = []any{out}
		}
	}
	for i, v := range carried {
		if t, ok := v.(*torch.Tensor); ok && rounds == 0 {
			carried[i] = t.Clone()
		}
	}
	return ir.PyTuple(carried)
}
`},
	{"attribute", []string{"errors", "fmt"}, `
// attributes reads attributes and gathers what is wrong.
type attributes struct {
	attr   func(path string) (any, bool)
	faults []error
}

// attribute returns an attribute as a T.
func attribute[T any](a *attributes, path string) (t T) {
	v, ok := a.attr(path)
	if !ok {
		a.faults = append(a.faults, fmt.Errorf("attribute %s: expected a value, got none", path))
	} else if t, ok = v.(T); !ok {
		a.faults = append(a.faults, fmt.Errorf("attribute %s: expected a %T, got a %T", path, t, v))
	}
	return t
}
`},
	{"graph", []string{pathIR}, `
// graph returns a graph module, made of its own attributes.
func graph[T any](a *attributes, path string, construct func(attr func(path string) (any, bool)) (T, error)) (t T) {
	m := attribute[*ir.GraphModule](a, path)
	if m == nil {
		return t
	}
	t, err := construct(m.Attr)
	if err != nil {
		a.faults = append(a.faults, fmt.Errorf("%s: %w", path, err))
	}
	return t
}
`},
}

// fault notes why a node cannot be written.
func (f *file) fault(n *ir.Node, format string, args ...any) {
	f.faults = append(f.faults, ir.Errorf(ir.ErrUnsupported, "go source of %s (%s %s): %s", n.Name(), n.Op(), n.Target(), fmt.Sprintf(format, args...)))
}

// names gives out Go identifiers.
type names struct{ used map[string]bool }

func newNames(used ...string) *names {
	s := &names{map[string]bool{
		"ir": true, "nn": true, "F": true, "operator": true, "torch": true, "errors": true, "fmt": true, "math": true, "m": true,
		"any": true, "bool": true, "error": true, "string": true, "append": true, "len": true, "panic": true, "true": true, "false": true, "nil": true,
	}}
	for _, name := range used {
		s.used[name] = true
	}
	return s
}

// unique returns an identifier near candidate.
func (s *names) unique(candidate string) string {
	if candidate == "" || candidate == "_" {
		candidate = "v"
	}
	name := candidate
	for i := 2; s.used[name] || token.IsKeyword(name); i++ {
		name = candidate + "_" + strconv.Itoa(i)
	}
	s.used[name] = true
	return name
}

// upperCamel turns "conv1.weight" and "max_pool2d" into Conv1Weight and
// MaxPool2d. What is no letter or digit of ASCII is dropped.
func upperCamel(text string) string {
	var b strings.Builder
	up := true
	for i := range len(text) {
		c := text[i]
		switch {
		case c >= 'a' && c <= 'z' && up:
			b.WriteByte(c - 'a' + 'A')
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9' && b.Len() > 0:
			b.WriteByte(c)
		case c >= '0' && c <= '9':
			b.WriteString("N" + string(c))
		default:
			up = true
			continue
		}
		up = false
	}
	return b.String()
}

func lowerCamel(text string) string {
	s := upperCamel(text)
	for i := range len(s) {
		// an abbreviation goes down as a whole, up to the next word
		if s[i] < 'A' || s[i] > 'Z' || i > 0 && i+1 < len(s) && s[i+1] >= 'a' && s[i+1] <= 'z' {
			return strings.ToLower(s[:i]) + s[i:]
		}
	}
	return strings.ToLower(s)
}
