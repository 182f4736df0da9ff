package nn

import (
	"iter"
	"reflect"
)

// A Module is a pointer to a struct that embeds [Base].
type Module interface{ base() *Base }

// Base makes the struct that embeds it a module. Its tag forward is the signature
// of Forward in Python's notation: forward:"x, h=None", or with annotations
// forward:"x: torch.Tensor -> torch.Tensor"; see [ParseSignature]. The zero value is
// a module in training mode.
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
	Path   string // qualified name, "" for the root
	Of     Module
	Caller Caller
}

// A Caller is told of module calls during a trace. forward runs the body; a
// caller that takes the module for a leaf does not run it and returns what
// stands for the result.
type Caller interface {
	CallModule(m *Shadow, args []any, forward func() any) any
}

// Cast makes m a shadow. It is for tracers.
func Cast(m Module, s *Shadow) { m.base().shadow = s }

// ShadowOf returns what [Cast] told m, nil where m is no shadow.
func ShadowOf(m Module) *Shadow { return m.base().shadow }

// A Container has children that are no fields. Children yields them, and Exchange
// puts what value returns into the place of each. A struct that embeds
// [Sequential], [ModuleList] or [ModuleDict] is one, with the Forward that it has.
type Container interface {
	Module
	Children() iter.Seq2[string, Module]
	Exchange(value func(name string, child Module) Module)
}

// isLayer reports whether calling m's Forward enters m already. A struct of another
// package that embeds a layer is none.
func isLayer(m Module) bool {
	_, ok := m.(interface{ layer() })
	return ok && reflect.TypeOf(m).Elem().PkgPath() == packagePath
}

var packagePath = reflect.TypeFor[Base]().PkgPath()

// IsLayer reports whether m is a layer of this package other than a container:
// what stays one node of a trace by default, as torch.nn's modules do.
func IsLayer(m Module) bool {
	_, container := m.(Container)
	return isLayer(m) && !container
}
