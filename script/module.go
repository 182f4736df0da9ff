package script

import (
	"context"
	"fmt"
	"strings"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
	"github.com/torchfx-go/torchfx/tracer"
)

// A Module is a TorchScript program that libtorch runs.
type Module struct {
	path   string
	script *libtorch.Script
}

// Open loads a TorchScript file, what torch.jit.save wrote, onto a device; the zero
// device leaves the tensors where they were saved. An error wraps [ir.ErrInput] where
// the file is no such program.
//
// A program's code runs in this process: open files of those you trust.
func Open(path string, device ir.Device) (*Module, error) {
	s, err := libtorch.OpenScript(path, device)
	if err != nil {
		return nil, err
	}
	return &Module{path, s}, nil
}

// Run calls a method, usually "forward", without gradients and on one thread. Arguments
// are by position, and by name with torch.Kw; those left out have the defaults of the
// program. The result is of the kinds of package torchops, tuples as ir.PyTuple and
// dicts as *ir.PyDict, and its tensors are the caller's to close.
func (m *Module) Run(ctx context.Context, method string, args ...any) (any, error) {
	return m.RunMode(ctx, nil, method, args...)
}

// RunMode is [Module.Run] in a mode: with gradients, threads, autocast.
func (m *Module) RunMode(ctx context.Context, mode *libtorch.Mode, method string, args ...any) (any, error) {
	switch {
	case m == nil:
		return nil, ir.Errorf(ir.ErrInput, "run: expected a module, got nil")
	case ctx == nil:
		return nil, ir.Errorf(ir.ErrInput, "run: expected a context, got nil")
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	f := m.script.Method(method)
	if f == nil {
		return nil, ir.Errorf(ir.ErrMissing, "%s: expected one of the methods %s, got %q", m.path, strings.Join(m.Methods(), ", "), method)
	}
	named, err := bind(f, args)
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", m.path, method, err)
	}
	for i, a := range f.Args {
		v, given := named[a.Name]
		if !given {
			continue
		}
		carried, release, err := torch.ToType(v, typeOf(a.Type))
		if err != nil {
			return nil, fmt.Errorf("%s: %s: argument %d, %s: %w", m.path, method, i, a.Name, err)
		}
		defer release()
		named[a.Name] = carried
	}
	out, err := m.script.Call(mode, method, named)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.path, err)
	}
	return torch.FromType(out, f.Return), nil
}

// typeOf is any where a type has no name here, a class of the program say.
func typeOf(t *ir.Type) *ir.Type {
	if t == nil {
		return &ir.Type{Kind: ir.TypeAny}
	}
	return t
}

// bind gives each argument its name.
func bind(f *libtorch.ScriptMethod, args []any) (map[string]any, error) {
	positional, kw := torch.SplitKwargs(args)
	if len(positional) > len(f.Args) {
		return nil, ir.Errorf(ir.ErrType, "expected at most %d arguments, got %d", len(f.Args), len(positional))
	}
	named := map[string]any{}
	for i, v := range positional {
		named[f.Args[i].Name] = v
	}
	for _, k := range kw {
		if _, twice := named[k.Name]; twice {
			return nil, ir.Errorf(ir.ErrType, "got multiple values for argument %s", k.Name)
		}
		named[k.Name] = k.Value
	}
	known := map[string]bool{}
	var missing []string
	for _, a := range f.Args {
		known[a.Name] = true
		if _, given := named[a.Name]; !given && !a.Optional {
			missing = append(missing, a.Name+": "+a.TypeText)
		}
	}
	for name := range named {
		if !known[name] {
			return nil, ir.Errorf(ir.ErrType, "unexpected keyword argument %s", name)
		}
	}
	if missing != nil {
		return nil, ir.Errorf(ir.ErrType, "missing arguments %s", strings.Join(missing, ", "))
	}
	return named, nil
}

// Methods returns the names of the methods, in libtorch's order.
func (m *Module) Methods() []string {
	var names []string
	for _, f := range m.script.Methods() {
		names = append(names, f.Name)
	}
	return names
}

// A Parameter is an argument of a method.
type Parameter struct {
	Name     string
	Type     string // in TorchScript's notation
	Optional bool   // it has a default
}

// Parameters returns the arguments of a method without self, nil where there is no such
// method.
func (m *Module) Parameters(method string) []Parameter {
	f := m.script.Method(method)
	if f == nil {
		return nil
	}
	var all []Parameter
	for _, a := range f.Args {
		all = append(all, Parameter{a.Name, a.TypeText, a.Optional})
	}
	return all
}

// Signature returns a method's signature in TorchScript's notation,
// "forward(Tensor x, int n=…) -> Tensor"; "" where there is no such method.
func (m *Module) Signature(method string) string {
	f := m.script.Method(method)
	if f == nil {
		return ""
	}
	args := make([]string, len(f.Args))
	for i, a := range f.Args {
		args[i] = a.TypeText + " " + a.Name
		if a.Optional {
			args[i] += "=…"
		}
	}
	return fmt.Sprintf("%s(%s) -> %s", f.Name, strings.Join(args, ", "), f.ReturnText)
}

// State returns the parameters and buffers by qualified name. They share the
// program's memory and are the caller's to close.
func (m *Module) State() (map[string]*torch.Tensor, error) {
	all, err := m.script.State()
	if err != nil {
		return nil, err
	}
	state := make(map[string]*torch.Tensor, len(all))
	for _, t := range all {
		state[t.Name] = torch.FromHandle(t.Tensor)
	}
	return state, nil
}

// Attribute reads an attribute of the program; ok is false where there is none. One
// that is a module has no value in Go and is an error.
func (m *Module) Attribute(name string) (v any, ok bool, err error) {
	v, ok, err = m.script.Attribute(name)
	if object, is := v.(*libtorch.Object); is {
		object.Close()
		return nil, true, ir.Errorf(ir.ErrUnsupported, "%s: attribute %s: expected a value, got an object of %s", m.path, name, object.TypeName())
	}
	return torch.FromBridge(v), ok, err
}

// Train puts the program into training mode, or with false into evaluation mode.
func (m *Module) Train(on bool) error { return m.script.Train(on) }

// Graph returns forward as a graph of ATen operators, by running it on args: of
// conditions and loops it has what the run did, and sizes are those of args, but for
// r.Dynamic. Parameters and buffers keep their names. A condition on an element of a
// tensor is an error, or with r.GuardReads checked by the graph. [Module.Translate] keeps
// conditions and loops.
func (m *Module) Graph(r tracer.Recording, args ...any) (*ir.GraphModule, error) {
	state, err := m.State()
	if err != nil {
		return nil, err
	}
	r.State = state
	if r.Names == nil {
		for _, a := range m.script.Method("forward").Args {
			r.Names = append(r.Names, a.Name)
		}
	}
	return r.Record(func(args ...any) (any, error) { return m.Run(context.Background(), "forward", args...) }, args...)
}

// Close frees the program. It may be called again, and on nil.
func (m *Module) Close() error {
	if m == nil {
		return nil
	}
	return m.script.Close()
}
