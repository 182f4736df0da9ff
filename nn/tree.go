package nn

import (
	"iter"
	"reflect"
	"strings"

	"github.com/torchfx-go/torchfx/internal/snake"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// A Kind says what a named tensor of a module is.
type Kind uint8

// The kinds of state.
const (
	Parameter       Kind = iota // trained
	Buffer                      // kept in the state dict, not trained
	TransientBuffer             // a buffer that the state dict leaves out
)

// A Tensor is one tensor of a module.
type Tensor struct {
	Name   string // qualified: "layer1.0.weight"
	Kind   Kind
	Tensor *torch.Tensor // nil where the field is
}

// Modules yields m and every module below it with its qualified name, parents
// first, "" for m itself. A module that stands in several places comes once,
// under its first name, as Python's named_modules.
func Modules(m Module) iter.Seq2[string, Module] {
	return func(yield func(string, Module) bool) {
		seen := map[*Base]bool{}
		walk(m, "", seen, yield)
	}
}

func walk(m Module, path string, seen map[*Base]bool, yield func(string, Module) bool) bool {
	if seen[m.base()] {
		return true
	}
	seen[m.base()] = true
	if !yield(path, m) {
		return false
	}
	for name, child := range members(m) {
		if !walk(child, join(path, name), seen, yield) {
			return false
		}
	}
	return true
}

// Tensors yields the parameters and buffers of m and of every module below it.
// A tensor that stands in several places comes each time.
func Tensors(m Module) iter.Seq[Tensor] {
	return func(yield func(Tensor) bool) {
		for path, mod := range Modules(m) {
			for field, v := range state(mod) {
				if !yield(Tensor{join(path, field.Name), field.Kind, v}) {
					return
				}
			}
		}
	}
}

// A Field is a field of a module's struct in Python's terms.
type Field struct {
	Name string
	Kind Kind // of a tensor
}

// Describe reads the tag nn:"name,buffer" or nn:"name,transient" of a field;
// without a name it is the field's in snake case.
func Describe(f reflect.StructField) Field {
	name, rest, _ := strings.Cut(f.Tag.Get("nn"), ",")
	if name == "" {
		name = snake.Case(f.Name)
	}
	switch rest {
	case "buffer":
		return Field{name, Buffer}
	case "transient":
		return Field{name, TransientBuffer}
	}
	return Field{name, Parameter}
}

var (
	tensorType = reflect.TypeFor[*torch.Tensor]()
	baseType   = reflect.TypeFor[Base]()
)

// Fields yields the fields of m's struct in order and, in the place of a struct that it
// embeds, the fields of that: embedding is what inheriting is in Python, so they are m's
// own. Base is left out.
func Fields(m Module) iter.Seq2[reflect.StructField, reflect.Value] {
	return func(yield func(reflect.StructField, reflect.Value) bool) {
		fields(reflect.ValueOf(m).Elem(), yield)
	}
}

func fields(v reflect.Value, yield func(reflect.StructField, reflect.Value) bool) bool {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		switch {
		case f.Type == baseType:
		case f.Anonymous && f.Type.Kind() == reflect.Struct:
			if !fields(v.Field(i), yield) {
				return false
			}
		case !yield(f, v.Field(i)):
			return false
		}
	}
	return true
}

// state yields the tensor fields of m in order, then what it holds otherwise.
func state(m Module) iter.Seq2[Field, *torch.Tensor] {
	return func(yield func(Field, *torch.Tensor) bool) {
		for f, v := range Fields(m) {
			if !f.IsExported() || f.Type != tensorType {
				continue
			}
			if !yield(Describe(f), v.Interface().(*torch.Tensor)) {
				return
			}
		}
		if h, ok := m.(Holder); ok {
			for name, t := range h.Held() {
				if !yield(Field{name, Parameter}, t) {
					return
				}
			}
		}
	}
}

// Children yields the modules directly below m with their names, those that are
// nil left out. Follows named_children, but a module that stands in several
// places comes each time.
func Children(m Module) iter.Seq2[string, Module] { return members(m) }

// Lookup returns the module or tensor at a dotted path below m.
func Lookup(m Module, path string) (any, bool) {
	name, below, deeper := strings.Cut(path, ".")
	for child, c := range members(m) {
		switch {
		case child != name:
		case deeper:
			return Lookup(c, below)
		default:
			return c, true
		}
	}
	for field, t := range state(m) {
		if field.Name == path && t != nil {
			return t, true
		}
	}
	return nil, false
}

// members yields the child modules of m: what a container holds, then its fields
// in order.
func members(m Module) iter.Seq2[string, Module] {
	return func(yield func(string, Module) bool) {
		if c, ok := m.(Container); ok {
			for name, child := range c.Children() {
				if !yield(name, child) {
					return
				}
			}
		}
		for f, value := range Fields(m) {
			if !f.IsExported() || f.Anonymous {
				continue
			}
			if k := value.Kind(); k != reflect.Pointer && k != reflect.Interface || value.IsNil() {
				continue
			}
			if child, ok := value.Interface().(Module); ok && !yield(Describe(f).Name, child) {
				return
			}
		}
	}
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// Train puts m and every module below it into training mode, or out of it.
func Train(m Module, on bool) {
	for _, mod := range Modules(m) {
		mod.base().eval = !on
	}
}
