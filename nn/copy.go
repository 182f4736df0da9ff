package nn

import (
	"math"
	"reflect"

	torch "github.com/torchfx-go/torchfx/torchops"
)

var negativeInfinity = math.Inf(-1)

// Copy returns a deep copy of m: its modules and tensors, each once, with
// everything else as it is. Follows copy.deepcopy of a module.
func Copy(m Module) (Module, error) {
	return torch.Try(func() Module {
		return (&copier{map[Module]Module{}, map[*torch.Tensor]*torch.Tensor{}}).module(m)
	})
}

type copier struct {
	modules map[Module]Module
	tensors map[*torch.Tensor]*torch.Tensor
}

func (c *copier) module(m Module) Module {
	if done, ok := c.modules[m]; ok {
		return done
	}
	if box, ok := m.(Container); ok {
		made := box.Rebuild(func(_ string, v any) any {
			if child, ok := v.(Module); ok {
				return c.module(child)
			}
			return v
		})
		c.modules[m] = made
		return made
	}
	var made Module
	if h, ok := m.(Holder); ok {
		made = h.RebuildTensors(func(_ string, t *torch.Tensor) *torch.Tensor { return c.tensor(t) })
	} else {
		v := reflect.New(reflect.TypeOf(m).Elem())
		v.Elem().Set(reflect.ValueOf(m).Elem())
		made = v.Interface().(Module)
	}
	c.modules[m] = made // before the children, which may point back
	v := reflect.ValueOf(made).Elem()
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if !f.IsExported() || f.Anonymous {
			continue
		}
		switch value := v.Field(i).Interface().(type) {
		case *torch.Tensor:
			v.Field(i).Set(reflect.ValueOf(c.tensor(value)))
		case Module:
			if !reflect.ValueOf(value).IsNil() {
				v.Field(i).Set(reflect.ValueOf(c.module(value)))
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
		if made = t.Clone(); t.RequiresGrad() {
			requireGrad(made)
		}
		c.tensors[t] = made
	}
	return made
}
