package nn

import (
	"iter"
	"strconv"

	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// A Child is a module and the name that its container has for it.
type Child struct {
	Name   string
	Module Module
}

// children is what the containers hold.
type children struct{ list []Child }

// Exchange puts what value returns into the place of each module. It is for
// tracers, which call it on copies; see [Container].
func (c *children) Exchange(value func(name string, child Module) Module) {
	list := make([]Child, len(c.list)) // the copy shares the old one with its original
	for i, child := range c.list {
		list[i] = Child{child.Name, value(child.Name, child.Module)}
	}
	c.list = list
}

// Len returns the number of modules.
func (c *children) Len() int { return len(c.list) }

// Children yields the modules with their names.
func (c *children) Children() iter.Seq2[string, Module] {
	return func(yield func(string, Module) bool) {
		for _, child := range c.list {
			if !yield(child.Name, child.Module) {
				return
			}
		}
	}
}

// at returns module i, counted from the end where i is negative, and panics
// with a *torch.Error where there is none.
func (c *children) at(class string, i int) Module {
	j := i
	if j < 0 {
		j += len(c.list)
	}
	if j < 0 || j >= len(c.list) {
		panic(&torch.Error{Op: class, Err: ir.Errorf(ir.ErrIndex, "index %d is out of range", i)})
	}
	return c.list[j].Module
}

func numbered(modules []Module) children {
	c := children{make([]Child, len(modules))}
	for i, m := range modules {
		c.list[i] = Child{strconv.Itoa(i), m}
	}
	return c
}

// Sequential is torch.nn.Sequential: each module gets what the one before it
// returned. A trace goes through it.
type Sequential struct {
	leaf
	children
}

// NewSequential makes a Sequential whose modules are named "0", "1" and so on.
func NewSequential(layers ...Layer) *Sequential {
	modules := make([]Module, len(layers))
	for i, l := range layers {
		modules[i] = l
	}
	return &Sequential{children: numbered(modules)}
}

// NewSequentialOf makes a Sequential of named modules, each of them a [Layer];
// it panics with a *torch.Error where one is not.
func NewSequentialOf(list ...Child) *Sequential {
	for _, c := range list {
		if _, ok := c.Module.(Layer); !ok {
			panic(&torch.Error{Op: "Sequential", Err: ir.Errorf(ir.ErrType, "%s: expected a module of one tensor and one result, got %T", c.Name, c.Module)})
		}
	}
	return &Sequential{children: children{append([]Child(nil), list...)}}
}

// Forward calls the modules in order.
func (s *Sequential) Forward(input *torch.Tensor) *torch.Tensor {
	return enter(s, func() *torch.Tensor {
		x := input
		for _, l := range s.All() {
			x = Call(l, x)
		}
		return x
	}, input)
}

// All yields the modules with their positions.
func (s *Sequential) All() iter.Seq2[int, Layer] {
	return func(yield func(int, Layer) bool) {
		for i, c := range s.list {
			if !yield(i, c.Module.(Layer)) {
				return
			}
		}
	}
}

// At returns module i; a negative i counts from the end.
func (s *Sequential) At(i int) Layer { return s.at("Sequential", i).(Layer) }

// Append adds a module under the next number.
func (s *Sequential) Append(l Layer) {
	s.list = append(s.list, Child{strconv.Itoa(len(s.list)), l})
}

// ModuleList is torch.nn.ModuleList: modules "0", "1" and so on.
type ModuleList struct {
	Base
	children
}

// NewModuleList makes a ModuleList.
func NewModuleList(modules ...Module) *ModuleList { return &ModuleList{children: numbered(modules)} }

// At returns module i; a negative i counts from the end.
func (l *ModuleList) At(i int) Module { return l.at("ModuleList", i) }

// All yields the modules with their positions.
func (l *ModuleList) All() iter.Seq2[int, Module] {
	return func(yield func(int, Module) bool) {
		for i, c := range l.list {
			if !yield(i, c.Module) {
				return
			}
		}
	}
}

// Append adds a module.
func (l *ModuleList) Append(m Module) {
	l.list = append(l.list, Child{strconv.Itoa(len(l.list)), m})
}

// ModuleDict is torch.nn.ModuleDict: named modules in the order in which they
// were added.
type ModuleDict struct {
	Base
	children
}

// NewModuleDict makes a ModuleDict.
func NewModuleDict(list ...Child) *ModuleDict {
	d := &ModuleDict{}
	for _, c := range list {
		d.Set(c.Name, c.Module)
	}
	return d
}

// Get returns the module of a name, nil where there is none.
func (d *ModuleDict) Get(name string) Module {
	for _, c := range d.list {
		if c.Name == name {
			return c.Module
		}
	}
	return nil
}

// Set adds a module, or replaces the one of that name.
func (d *ModuleDict) Set(name string, m Module) {
	for i, c := range d.list {
		if c.Name == name {
			d.list[i].Module = m
			return
		}
	}
	d.list = append(d.list, Child{name, m})
}

// A Holder has parameters that are no fields. Held yields them, and
// ExchangeTensors puts what value returns into the place of each.
type Holder interface {
	Module
	Held() iter.Seq2[string, *torch.Tensor]
	ExchangeTensors(value func(name string, t *torch.Tensor) *torch.Tensor)
}

// named is a tensor that a [Holder] has.
type named struct {
	name   string
	tensor *torch.Tensor
}

type held []named

func (h held) all() iter.Seq2[string, *torch.Tensor] {
	return func(yield func(string, *torch.Tensor) bool) {
		for _, n := range h {
			if !yield(n.name, n.tensor) {
				return
			}
		}
	}
}

// exchange makes a new list, as a copy of a module shares the old one with its
// original.
func (h *held) exchange(value func(name string, t *torch.Tensor) *torch.Tensor) {
	out := make(held, len(*h))
	for i, n := range *h {
		out[i] = named{n.name, value(n.name, n.tensor)}
	}
	*h = out
}

// ParameterList is torch.nn.ParameterList.
type ParameterList struct {
	Base
	tensors held
}

// NewParameterList makes a ParameterList.
func NewParameterList(parameters ...*torch.Tensor) *ParameterList {
	l := &ParameterList{}
	for _, p := range parameters {
		l.Append(p)
	}
	return l
}

// Append adds a parameter, marked as [NewParameter] does.
func (l *ParameterList) Append(p *torch.Tensor) {
	requireGrad(p)
	l.tensors = append(l.tensors, named{strconv.Itoa(len(l.tensors)), p})
}

// Len returns the number of parameters.
func (l *ParameterList) Len() int { return len(l.tensors) }

// At returns parameter i; a negative i counts from the end. It panics with a
// *torch.Error where there is none.
func (l *ParameterList) At(i int) *torch.Tensor {
	j := i
	if j < 0 {
		j += len(l.tensors)
	}
	if j < 0 || j >= len(l.tensors) {
		panic(&torch.Error{Op: "ParameterList", Err: ir.Errorf(ir.ErrIndex, "index %d is out of range", i)})
	}
	return l.tensors[j].tensor
}

// Held yields the parameters with their names.
func (l *ParameterList) Held() iter.Seq2[string, *torch.Tensor] { return l.tensors.all() }

// ExchangeTensors is for tracers; see [Holder].
func (l *ParameterList) ExchangeTensors(value func(name string, t *torch.Tensor) *torch.Tensor) {
	l.tensors.exchange(value)
}

// ParameterDict is torch.nn.ParameterDict: named parameters in the order in
// which they were added.
type ParameterDict struct {
	Base
	tensors held
}

// Set adds a parameter, marked as [NewParameter] does, or replaces the one of
// that name.
func (d *ParameterDict) Set(name string, p *torch.Tensor) {
	requireGrad(p)
	for i, n := range d.tensors {
		if n.name == name {
			d.tensors[i].tensor = p
			return
		}
	}
	d.tensors = append(d.tensors, named{name, p})
}

// Get returns the parameter of a name, nil where there is none.
func (d *ParameterDict) Get(name string) *torch.Tensor {
	for _, n := range d.tensors {
		if n.name == name {
			return n.tensor
		}
	}
	return nil
}

// Len returns the number of parameters.
func (d *ParameterDict) Len() int { return len(d.tensors) }

// Held yields the parameters with their names.
func (d *ParameterDict) Held() iter.Seq2[string, *torch.Tensor] { return d.tensors.all() }

// ExchangeTensors is for tracers; see [Holder].
func (d *ParameterDict) ExchangeTensors(value func(name string, t *torch.Tensor) *torch.Tensor) {
	d.tensors.exchange(value)
}
