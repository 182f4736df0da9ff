package torchfx

import (
	"fmt"
	"strings"

	"github.com/torchfx-go/torchfx/export"
	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	"github.com/torchfx-go/torchfx/passes"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// ToFolder saves a graph module, with its tensors and layers, in a folder that
// Python imports by `from dir import name` and that [LoadFolder] reads. Follows
// torch.fx.GraphModule.to_folder; what is written where torch.fx pickles,
// export.ToFolder says.
//
// Attributes may be tensors, layers and containers of package nn, and graph
// modules. A tensor that requires a gradient is a parameter, any other a buffer. A
// model's own module, which is Go code, cannot be saved: trace through it. A region that
// a delegate computes is written as its twin.
func ToFolder(m *ir.GraphModule, dir, name string, opts ...export.FolderOption) error {
	if m == nil {
		return ir.Errorf(ir.ErrInput, "to folder: expected a graph module, got nil")
	}
	m = m.Clone()
	if _, err := passes.InlineRegions(m); err != nil {
		return err
	}
	saved, err := newSaver().graphModule(m, "")
	if err != nil {
		return err
	}
	return export.ToFolder(saved, dir, name, opts...)
}

// LoadFolder reads a folder that torch.fx's GraphModule.to_folder or [ToFolder]
// wrote, and returns a module that runs: its attributes are tensors, layers of
// package nn, and graph modules. Modules are in training mode, as in Python, but
// for those that were pickled in evaluation mode. warnings says what is not as in
// the module that was saved. opts tell what code does not say; see
// export.LoadFolder.
func LoadFolder(dir string, opts ...ir.ParseOption) (m *ir.GraphModule, warnings []string, err error) {
	f, err := export.LoadFolder(dir, opts...)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	l := newMaker()
	defer l.close()
	m, err = l.graphModule(f.Module)
	return m, f.Warnings, err
}

// A saver describes live tensors and modules as package export writes them. What
// stands in several places is described once.
type saver struct {
	tensors map[*torch.Tensor]*export.Tensor
	modules map[nn.Module]*export.SavedModule
}

func newSaver() *saver {
	return &saver{map[*torch.Tensor]*export.Tensor{}, map[nn.Module]*export.SavedModule{}}
}

// graphModule describes a graph module; path is where it stands, for errors.
func (s *saver) graphModule(m *ir.GraphModule, path string) (*ir.GraphModule, error) {
	attrs := map[string]any{}
	var order []string
	for name, v := range m.Attrs() {
		at := join(path, name)
		saved, err := s.attribute(v, at)
		if err != nil {
			return nil, fmt.Errorf("to folder: attribute %s: %w", at, err)
		}
		attrs[name] = saved
		order = append(order, name)
	}
	return ir.NewGraphModule(attrs, m.Graph().Clone(), ir.ClassName(m.ClassName()), ir.AttrOrder(order...))
}

func (s *saver) attribute(v any, path string) (any, error) {
	switch v := v.(type) {
	case *torch.Tensor:
		return s.tensor(v)
	case *ir.GraphModule:
		return s.graphModule(v, path)
	case *interpreter.Module:
		return s.graphModule(v.GraphModule(), path)
	case nn.Module:
		return s.module(v)
	}
	return v, nil // of a file still: export judges it
}

func (s *saver) tensor(t *torch.Tensor) (*export.Tensor, error) {
	if saved := s.tensors[t]; saved != nil {
		return saved, nil
	}
	data, err := t.Bytes()
	if err != nil {
		return nil, err
	}
	saved := &export.Tensor{Storage: export.NewStorage(data), DType: t.DType(), Device: t.Device(), RequiresGrad: t.RequiresGrad()}
	saved.Parameter = saved.RequiresGrad
	stride := int64(1)
	shape := t.Shape()
	saved.Sizes, saved.Strides = make([]int64, len(shape)), make([]int64, len(shape))
	for i := len(shape) - 1; i >= 0; i-- {
		saved.Sizes[i], saved.Strides[i] = int64(shape[i]), stride
		stride *= max(int64(shape[i]), 1)
	}
	s.tensors[t] = saved
	return saved, nil
}

// module describes a module of package nn with all below it.
func (s *saver) module(m nn.Module) (*export.SavedModule, error) {
	if saved := s.modules[m]; saved != nil {
		return saved, nil
	}
	class := nn.ClassName(m)
	if !strings.HasPrefix(class, "torch.nn.modules.") {
		return nil, ir.Errorf(ir.ErrUnsupported, "expected a module of package nn, got %s, which is Go code: trace through it, see tracer.IsLeaf", class)
	}
	saved := export.NewSavedModule(class[strings.LastIndexByte(class, '.')+1:])
	s.modules[m] = saved
	saved.Eval = !trainingOf(m)
	if args, isLayer := nn.Arguments(m); isLayer {
		if trusted[saved.Class] {
			saved.Args = export.ParseRepr(nn.Repr(m)).Args
		} else if err := s.arguments(saved, args); err != nil {
			return nil, err
		}
	}
	for name, t := range nn.StateDict(m) {
		if strings.Contains(name, ".") {
			continue // a child's
		}
		tensor, err := s.tensor(t)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if saved.Class == "ParameterList" || saved.Class == "ParameterDict" {
			if !t.DType().IsFloat() && !t.DType().IsComplex() {
				return nil, ir.Errorf(ir.ErrValue, "%s: expected a parameter of numbers that have gradients, got %s", name, t.DType())
			}
			parameter := *tensor
			parameter.Parameter = true // frozen or not
			tensor = &parameter
		}
		saved.SetTensor(name, tensor)
	}
	for name, child := range nn.Children(m) {
		c, err := s.module(child)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		saved.Add(name, c)
	}
	if dtype, ok := dtypeOf(m); ok && len(saved.Args) > 0 {
		saved.Args = append(saved.Args, export.SavedArg{Name: "dtype", Text: dtype.String(), Value: dtype})
	}
	return saved, nil
}

// trusted are the layers that torch.fx makes of their repr; so the text is its own.
var trusted = map[string]bool{
	"Linear": true, "Conv1d": true, "Conv2d": true, "Conv3d": true, "BatchNorm1d": true, "BatchNorm2d": true, "BatchNorm3d": true,
}

func (s *saver) arguments(m *export.SavedModule, args []nn.Option) error {
	for _, a := range args {
		arg := export.SavedArg{Name: a.Name}
		switch v := a.Value.(type) {
		case ir.Arg:
			arg.Text, arg.Value = ir.Repr(v), v
		case *torch.Tensor:
			t, err := s.tensor(v)
			if err != nil {
				return err
			}
			arg.Tensor = t
		case nn.Module:
			c, err := s.module(v)
			if err != nil {
				return err
			}
			arg.Module = c
		default:
			return ir.Errorf(ir.ErrUnsupported, "argument %s of %s: expected a literal, a tensor or a module, got %T", a.Name, m.Class, v)
		}
		m.Args = append(m.Args, arg)
	}
	return nil
}

// dtypeOf returns the dtype that the constructor of a layer must be given, so that
// its parameters have theirs.
func dtypeOf(m nn.Module) (dtype torch.DType, ok bool) {
	for t := range nn.Tensors(m) {
		if t.Kind == nn.Parameter && t.Tensor != nil && t.Tensor.DType() != torch.Float32 {
			return t.Tensor.DType(), true
		}
	}
	return dtype, false
}

func trainingOf(m nn.Module) bool {
	t, ok := m.(interface{ Training() bool })
	return !ok || t.Training()
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
