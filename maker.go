package torchfx

import (
	"errors"
	"fmt"
	"iter"
	"strings"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/export"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// A maker makes tensors and modules of what package export read. What is one
// there is one here.
type maker struct {
	*binder
	tensors map[*export.Tensor]*torch.Tensor
	given   map[*torch.Tensor]bool           // those that somebody has; the others are only copied
	placed  map[*export.Tensor]*torch.Tensor // what the modules have of each, of these or of their own
	modules map[*export.SavedModule]nn.Module
	graphs  map[*ir.GraphModule]*ir.GraphModule
}

func newMaker() *maker {
	return &maker{newBinder(), map[*export.Tensor]*torch.Tensor{}, map[*torch.Tensor]bool{}, map[*export.Tensor]*torch.Tensor{},
		map[*export.SavedModule]nn.Module{}, map[*ir.GraphModule]*ir.GraphModule{}}
}

// close lets go of what was not given away.
func (k *maker) close() {
	k.binder.close()
	for _, t := range k.tensors {
		if !k.given[t] {
			_ = t.Close()
		}
	}
}

// give returns a tensor that stays.
func (k *maker) give(t *export.Tensor) (*torch.Tensor, error) {
	if made := k.placed[t]; made != nil {
		return made, nil
	}
	made, err := k.tensor(t)
	if err == nil {
		k.given[made] = true
		k.placed[t] = made
	}
	return made, err
}

// newBinder returns a binder that leaves tensors in the memory of their file.
func newBinder() *binder { return &binder{bases: map[base]*libtorch.Tensor{}} }

// bind makes a tensor, which is the caller's.
func (b *binder) bind(t *export.Tensor) (*torch.Tensor, error) {
	h, err := b.tensor(t)
	if err != nil {
		return nil, err
	}
	return torch.FromHandle(h), nil
}

// close lets go of the storages; tensors that were bound keep theirs.
func (b *binder) close() {
	for _, t := range b.bases {
		_ = t.Close()
	}
}

func (k *maker) tensor(t *export.Tensor) (*torch.Tensor, error) {
	if made := k.tensors[t]; made != nil {
		return made, nil
	}
	made, err := k.bind(t)
	if err == nil {
		k.tensors[t] = made
	}
	return made, err
}

// graphModule makes a graph module. The error tells all that cannot be made.
func (k *maker) graphModule(m *ir.GraphModule) (*ir.GraphModule, error) {
	if made := k.graphs[m]; made != nil {
		return made, nil
	}
	p := &attributes{maker: k, called: map[string]bool{}, values: map[string]any{}}
	for n := range m.Graph().Nodes() {
		if n.Op() == ir.CallModule || n.Op() == ir.GetAttr {
			p.called[n.Target().String()] = true
		}
	}
	for name, v := range m.Attrs() {
		p.put(name, v)
	}
	p.below()
	if err := errors.Join(p.faults...); err != nil {
		return nil, err
	}
	made, err := ir.NewGraphModule(p.values, m.Graph(), ir.ClassName(m.ClassName()), ir.AttrOrder(p.order...))
	k.graphs[m] = made
	return made, err
}

// attributes are those of a graph module that is being made.
type attributes struct {
	*maker
	called map[string]bool // paths that nodes name
	values map[string]any
	order  []string
	faults []error
}

func (p *attributes) set(path string, v any) {
	p.values[path] = v
	p.order = append(p.order, path)
}

// put makes an attribute. A plain torch.nn.Module computes nothing: what it holds
// becomes attributes by itself, as in a graph that was traced here; so does what a
// container holds that cannot be made here, one with a graph module in it say,
// unless it is called.
func (p *attributes) put(path string, v any) {
	var made any
	var err error
	switch v := v.(type) {
	case *export.Tensor:
		made, err = p.give(v)
	case *ir.GraphModule:
		made, err = p.graphModule(v)
	case *export.SavedModule:
		if v.Class == "Module" && !p.called[path] {
			p.dissolve(path, v)
			return
		}
		made, err = p.module(v)
		if err != nil && containers[v.Class] && !p.called[path] {
			p.dissolve(path, v)
			return
		}
	default:
		made = v
	}
	if err != nil {
		p.faults = append(p.faults, fmt.Errorf("attribute %s: %w", path, err))
		return
	}
	p.set(path, made)
}

var containers = map[string]bool{"Sequential": true, "ModuleList": true, "ModuleDict": true}

func (p *attributes) dissolve(path string, m *export.SavedModule) {
	for name, t := range m.State() {
		if !strings.Contains(name, ".") {
			p.put(join(path, name), t)
		}
	}
	for i, name := range m.Names {
		v := any(m.Children[i])
		if g := m.Children[i].Graph; g != nil {
			v = g
		}
		p.put(join(path, name), v)
	}
}

// below makes attributes of what nodes name inside of modules.
func (p *attributes) below() {
	for path := range p.called {
		if _, known := p.values[path]; known {
			continue
		}
		for i := len(path) - 1; i > 0; i-- {
			if m, ok := p.values[path[:i]].(nn.Module); ok && path[i] == '.' {
				if v, ok := nn.Lookup(m, path[i+1:]); ok {
					p.values[path] = v
				}
				break
			}
		}
	}
}

// module makes a module of torch.nn with its state.
func (k *maker) module(m *export.SavedModule) (nn.Module, error) {
	if made := k.modules[m]; made != nil {
		return made, nil
	}
	var made nn.Module
	var err error
	switch {
	case m.Graph != nil:
		return nil, ir.Errorf(ir.ErrUnsupported, "expected a module of torch.nn, got a graph module")
	case containers[m.Class]:
		made, err = k.container(m)
	case m.Class == "ParameterList" || m.Class == "ParameterDict":
		made, err = k.parameters(m)
	default:
		made, err = k.layer(m)
	}
	if err != nil {
		return nil, err
	}
	nn.Train(made, !m.Eval)
	for i, child := range m.Children {
		if c, ok := nn.Lookup(made, m.Names[i]); ok && m.Eval != child.Eval {
			nn.Train(c.(nn.Module), !child.Eval)
		}
	}
	k.modules[m] = made
	return made, nil
}

func (k *maker) container(m *export.SavedModule) (nn.Module, error) {
	children := make([]nn.Child, len(m.Children))
	for i, c := range m.Children {
		made, err := k.module(c)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.Names[i], err)
		}
		if _, ok := made.(nn.Layer); !ok && m.Class == "Sequential" {
			return nil, ir.Errorf(ir.ErrUnsupported, "%s: expected a module of one tensor and one result in a Sequential, got %s", m.Names[i], c.Class)
		}
		children[i] = nn.Child{Name: m.Names[i], Module: made}
	}
	switch m.Class {
	case "Sequential":
		return nn.NewSequentialOf(children...), nil
	case "ModuleDict":
		return nn.NewModuleDict(children...), nil
	}
	list := nn.NewModuleList()
	for _, c := range children {
		list.Append(c.Module)
	}
	return list, nil
}

// parameters makes a container of tensors.
func (k *maker) parameters(m *export.SavedModule) (nn.Module, error) {
	if len(m.Children) > 0 {
		return nil, ir.Errorf(ir.ErrUnsupported, "%s: expected a module of tensors, got a %s in it", m.Names[0], m.Children[0].Class)
	}
	list, dict := nn.NewParameterList(), &nn.ParameterDict{}
	for name, t := range m.State() {
		made, err := k.give(t)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if m.Class == "ParameterList" {
			list.Append(made)
		} else {
			dict.Set(name, made)
		}
	}
	if m.Class == "ParameterList" {
		return list, nil
	}
	return dict, nil
}

// layer makes a layer of its arguments and loads its state.
func (k *maker) layer(m *export.SavedModule, opts ...nn.LoadOption) (nn.Module, error) {
	text := *m
	var options []nn.Option
	if m.Whole { // the children are the constructor's
		text = export.SavedModule{Class: m.Class}
		for _, a := range m.Args {
			switch {
			case a.Tensor != nil:
				t, err := k.argument(m, a)
				if err != nil {
					return nil, err
				}
				options = append(options, nn.Option{Name: a.Name, Value: t})
			case a.Module != nil:
				c, err := k.layer(a.Module, nn.Lenient()) // its state is the module's that it becomes part of
				if err != nil {
					return nil, fmt.Errorf("argument %s: %w", a.Name, err)
				}
				options = append(options, nn.Option{Name: a.Name, Value: c})
			case a.Name == "dtype":
				options = append(options, nn.Option{Name: a.Name, Value: a.Value})
			default:
				text.Args = append(text.Args, a)
			}
		}
	}
	if dtype, ok := savedDType(m); ok {
		options = append([]nn.Option{nn.WithDType(dtype)}, options...)
	}
	made, err := nn.FromRepr(m.Class, text.Repr(), options...)
	if err != nil {
		return nil, err
	}
	if _, err = k.load(made, m.State(), opts...); err != nil {
		return nil, err
	}
	return k.tie(made, m)
}

// tie gives a layer that was loaded the tensors that it shares with what was made before.
func (k *maker) tie(made nn.Module, m *export.SavedModule) (nn.Module, error) {
	shared := map[*torch.Tensor]*torch.Tensor{}
	for name, t := range m.State() {
		v, _ := nn.Lookup(made, name)
		own, ok := v.(*torch.Tensor)
		if !ok {
			continue
		}
		switch first := k.placed[t]; {
		case first == nil:
			k.placed[t] = own
		case first != own && first.DType() == own.DType():
			shared[own] = first
		}
	}
	if len(shared) == 0 {
		return made, nil
	}
	return nn.CopyWith(made, func(own *torch.Tensor) (*torch.Tensor, error) {
		if first := shared[own]; first != nil {
			return first, own.Close()
		}
		return own, nil
	})
}

// load copies a saved state into a module.
func (k *maker) load(m nn.Module, state iter.Seq2[string, *export.Tensor], opts ...nn.LoadOption) (nn.Incompatible, error) {
	var failed error
	missed, err := nn.LoadStateDict(m, func(yield func(string, *torch.Tensor) bool) {
		for name, t := range state {
			x, err := k.tensor(t)
			if err != nil {
				failed = fmt.Errorf("state %s: %w", name, err)
				return
			}
			if !yield(name, x) {
				return
			}
		}
	}, opts...)
	if failed != nil {
		return missed, failed
	}
	return missed, err
}

// savedDType returns the dtype of a layer's parameters, which a repr does not tell.
func savedDType(m *export.SavedModule) (dtype torch.DType, ok bool) {
	for _, a := range m.Args {
		if a.Name == "dtype" {
			return dtype, false
		}
	}
	for _, t := range m.State() {
		if t.Parameter && t.DType != torch.Float32 {
			return t.DType, true
		}
	}
	return dtype, false
}

// argument makes a tensor that a constructor is given: the one of that name in the
// state, or else zeros.
func (k *maker) argument(m *export.SavedModule, a export.SavedArg) (*torch.Tensor, error) {
	for name, t := range m.State() {
		if name == a.Name {
			return k.give(t)
		}
	}
	sizes := make([]int, len(a.Tensor.Sizes))
	for i, n := range a.Tensor.Sizes {
		sizes[i] = int(n)
	}
	return torch.Try(func() *torch.Tensor { return torch.Full(sizes, 0, torch.Kw("dtype", a.Tensor.DType)) })
}
