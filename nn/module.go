package nn

import torch "github.com/torchfx-go/torchfx/torchops"

// A Module is a pointer to a struct that embeds [Base].
type Module interface{ base() *Base }

// Base makes the struct that embeds it a module. Its tag forward lists the
// parameters of Forward in Python's notation: forward:"x, h=None". The zero value
// is a module in training mode.
type Base struct {
	eval   bool
	shadow *Shadow // set in the copy that a trace runs, nil in the module itself
}

func (b *Base) base() *Base { return b }

// Training reports whether the module is in training mode.
func (b *Base) Training() bool { return !b.eval }

// A Shadow is what a copy of a module knows during a trace: where it stands,
// which module it is a copy of, and who is told of its calls.
type Shadow struct {
	Path   string
	Of     Module
	Caller Caller
}

// A Caller is told of module calls during a trace. forward runs the body; a
// caller that takes the module for a leaf does not run it and returns what
// stands for the result.
type Caller interface {
	CallModule(m Module, path string, args []any, forward func() any) any
}

// Cast makes m the shadow that s describes. It is for tracers.
func Cast(m Module, s *Shadow) { m.base().shadow = s }

// Of1 is a module whose Forward takes one argument.
type Of1[A, R any] interface {
	Module
	Forward(A) R
}

// Of2 is a module whose Forward takes two arguments.
type Of2[A, B, R any] interface {
	Module
	Forward(A, B) R
}

// Of3 is a module whose Forward takes three arguments.
type Of3[A, B, C, R any] interface {
	Module
	Forward(A, B, C) R
}

// A Layer maps one tensor to one tensor; it is what Sequential holds.
type Layer = Of1[*torch.Tensor, *torch.Tensor]

// A Container has children that are no fields. Rebuild returns a copy of it with
// value called on each child and its name.
type Container interface {
	Module
	Rebuild(value func(name string, v any) any) Module
}

// Call calls m as Python's m(a) does.
func Call[A, R any](m Of1[A, R], a A) R {
	s := m.base().shadow
	if s == nil {
		return m.Forward(a)
	}
	return torch.As[R](s.Caller.CallModule(m, s.Path, []any{a}, func() any { return m.Forward(a) }))
}

// Call2 calls m as Python's m(a, b) does.
func Call2[A, B, R any](m Of2[A, B, R], a A, b B) R {
	s := m.base().shadow
	if s == nil {
		return m.Forward(a, b)
	}
	return torch.As[R](s.Caller.CallModule(m, s.Path, []any{a, b}, func() any { return m.Forward(a, b) }))
}

// Call3 calls m as Python's m(a, b, c) does.
func Call3[A, B, C, R any](m Of3[A, B, C, R], a A, b B, c C) R {
	s := m.base().shadow
	if s == nil {
		return m.Forward(a, b, c)
	}
	return torch.As[R](s.Caller.CallModule(m, s.Path, []any{a, b, c}, func() any { return m.Forward(a, b, c) }))
}
