package tracer

import (
	"reflect"

	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	torch "github.com/torchfx-go/torchfx/torchops"
)

var (
	tensorType = reflect.TypeFor[*torch.Tensor]()
	moduleType = reflect.TypeFor[nn.Module]()
)

// A caster makes shadows of the modules of one trace. A module or tensor that
// stands in several places is copied once and keeps its first path.
type caster struct {
	t       *Tracer
	modules map[nn.Module]nn.Module
	values  map[*torch.Tensor]*torch.Tensor
	err     error
}

// shadow copies root's structs with values in the parameters' places.
func (t *Tracer) shadow(root nn.Module) (nn.Module, error) {
	c := &caster{t: t, modules: map[nn.Module]nn.Module{}, values: map[*torch.Tensor]*torch.Tensor{}}
	m := c.cast(root, "")
	for _, path := range t.tensors {
		t.taken[path] = true
	}
	for path := range t.values {
		t.taken[path] = true
	}
	return m, c.err
}

func (c *caster) cast(m nn.Module, path string) nn.Module {
	if copied, ok := c.modules[m]; ok {
		return copied
	}
	made, err := nn.Duplicate(m)
	if err != nil {
		c.fail("trace %s: %w", path, err)
		return m
	}
	c.modules[m] = made // before the children, which may point back
	c.t.paths[m] = path
	if container, ok := made.(nn.Container); ok {
		container.Exchange(func(name string, child nn.Module) nn.Module { return c.cast(child, join(path, name)) })
	}
	if holder, ok := made.(nn.Holder); ok {
		holder.ExchangeTensors(func(name string, value *torch.Tensor) *torch.Tensor {
			return c.parameter(value, join(path, name))
		})
	}
	c.fields(made, m, path)
	nn.Cast(made, &nn.Shadow{Path: path, Of: m, Caller: c.t})
	return made
}

// fields puts what stands for tensors and modules into the fields of a copy.
func (c *caster) fields(made, m nn.Module, path string) {
	for f, field := range nn.Fields(made) {
		if !f.IsExported() {
			if f.Type == tensorType || f.Type.Implements(moduleType) {
				c.fail("trace %s: expected exported fields only to hold tensors and modules, got %T.%s: it would be left out of the trace",
					path, m, f.Name)
			}
			continue
		}
		switch value := field.Interface().(type) {
		case *torch.Tensor:
			if value == nil {
				continue
			}
			info := nn.Describe(f)
			name := join(path, info.Name)
			if info.Kind != nn.Parameter && !c.t.config.buffers {
				if _, known := c.t.tensors[value]; !known {
					c.t.tensors[value] = name
				}
				continue
			}
			field.Set(reflect.ValueOf(c.parameter(value, name)))
		case nn.Module:
			if reflect.ValueOf(value).IsNil() {
				continue
			}
			field.Set(reflect.ValueOf(c.cast(value, join(path, nn.Describe(f).Name))))
		}
	}
}

// parameter returns what stands for a parameter in the shadow.
func (c *caster) parameter(value *torch.Tensor, name string) *torch.Tensor {
	if value == nil {
		return nil
	}
	stand, known := c.values[value]
	if !known {
		stand = torch.NewValue(c.t, parameter{name}).Tensor()
		c.values[value] = stand
		c.t.values[name] = value
	}
	return stand
}

func (c *caster) fail(format string, args ...any) {
	if c.err == nil {
		c.err = ir.Errorf(ir.ErrTrace, format, args...)
	}
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
