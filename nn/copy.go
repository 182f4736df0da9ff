package nn

import (
	"math"
	"reflect"

	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

var negativeInfinity = math.Inf(-1)

// Copy returns a deep copy of m: its modules and tensors, each once, with
// everything else as it is. Follows copy.deepcopy of a module.
func Copy(m Module) (Module, error) { return NewCopier().Module(m) }

// CopyWith is [Copy] with f of each tensor in place of a copy of it.
func CopyWith(m Module, f func(t *torch.Tensor) (*torch.Tensor, error)) (Module, error) {
	return NewCopierWith(f).Module(m)
}

// A Copier makes deep copies that share what the originals share: tensors that are
// tied stay so across all that one Copier copies. It is no copier for many
// goroutines.
type Copier struct{ c copier }

// NewCopier returns a Copier that has copied nothing yet.
func NewCopier() *Copier {
	return &Copier{copier{cloneTensor, map[Module]Module{}, map[*torch.Tensor]*torch.Tensor{}}}
}

func cloneTensor(t *torch.Tensor) (*torch.Tensor, error) {
	return torch.Try(func() *torch.Tensor {
		made := t.Clone()
		if t.RequiresGrad() {
			requireGrad(made)
		}
		return made
	})
}

// NewCopierWith is [NewCopier] with f of each tensor in place of a copy of it. f is
// asked once for each.
func NewCopierWith(f func(t *torch.Tensor) (*torch.Tensor, error)) *Copier {
	k := NewCopier()
	k.c.f = f
	return k
}

// Module returns the copy of a module.
func (k *Copier) Module(m Module) (Module, error) {
	return torch.Try(func() Module { return k.c.module(m) })
}

// Tensor returns the copy of a tensor, which is a parameter where t is one.
func (k *Copier) Tensor(t *torch.Tensor) (*torch.Tensor, error) {
	return torch.Try(func() *torch.Tensor { return k.c.tensor(t) })
}

// Duplicate returns a copy of m's struct, which shares what it holds with m. It is
// for tracers. A struct that embeds a pointer to a module cannot be copied so, as
// the copy would still change the module behind it.
func Duplicate(m Module) (Module, error) {
	t := reflect.TypeOf(m).Elem()
	for i := range t.NumField() {
		if f := t.Field(i); f.Anonymous && f.Type.Kind() == reflect.Pointer && f.Type.Implements(moduleType) {
			return nil, ir.Errorf(ir.ErrType, "%s: expected to embed %s, got a pointer to it", t, f.Type.Elem())
		}
	}
	v := reflect.New(t)
	v.Elem().Set(reflect.ValueOf(m).Elem())
	return v.Interface().(Module), nil
}

var moduleType = reflect.TypeFor[Module]()

type copier struct {
	f       func(*torch.Tensor) (*torch.Tensor, error)
	modules map[Module]Module
	tensors map[*torch.Tensor]*torch.Tensor
}

func (c *copier) module(m Module) Module {
	if done, ok := c.modules[m]; ok {
		return done
	}
	made := must(Duplicate(m))
	c.modules[m] = made // before the children, which may point back
	if box, ok := made.(Container); ok {
		box.Exchange(func(_ string, child Module) Module { return c.module(child) })
	}
	if h, ok := made.(Holder); ok {
		h.ExchangeTensors(func(_ string, t *torch.Tensor) *torch.Tensor { return c.tensor(t) })
	}
	for f, v := range Fields(made) {
		if !f.IsExported() || f.Anonymous {
			continue
		}
		switch value := v.Interface().(type) {
		case *torch.Tensor:
			v.Set(reflect.ValueOf(c.tensor(value)))
		case Module:
			if !reflect.ValueOf(value).IsNil() {
				v.Set(reflect.ValueOf(c.module(value)))
			}
		}
	}
	return made
}

func (c *copier) tensor(t *torch.Tensor) *torch.Tensor {
	if t == nil {
		return nil
	}
	made, ok := c.tensors[t]
	if !ok {
		var err error
		if made, err = c.f(t); err != nil {
			panic(&torch.Error{Op: "copy", Err: err})
		}
		c.tensors[t] = made
	}
	return made
}
