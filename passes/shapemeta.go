package passes

import (
	"slices"

	"github.com/torchfx-go/torchfx/interpreter"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// A shapeHandler gives the tensors of the module without their elements.
type shapeHandler struct {
	interpreter.Default
	prop *shapeProp
}

func (h shapeHandler) GetAttr(r *interpreter.Run, path string, args []any, kwargs []torch.Kwarg) (any, error) {
	v, err := h.Default.GetAttr(r, path, args, kwargs)
	if err != nil || !h.prop.onMeta {
		return v, err
	}
	v, err = h.prop.bare(v)
	if t, ok := v.(*torch.Tensor); ok && err == nil {
		return t.Ref() // the run may close what it gets
	}
	return v, err
}

func (h shapeHandler) CallFunction(r *interpreter.Run, fn *ir.Func, args []any, kwargs []torch.Kwarg) (any, error) {
	args, kwargs = h.onMeta(args, kwargs)
	return h.Default.CallFunction(r, fn, args, kwargs)
}

func (h shapeHandler) CallMethod(r *interpreter.Run, name string, args []any, kwargs []torch.Kwarg) (any, error) {
	args, kwargs = h.onMeta(args, kwargs)
	return h.Default.CallMethod(r, name, args, kwargs)
}

// onMeta puts the device meta in the place of each that a call names, for what is
// made there is used beside tensors without elements.
func (h shapeHandler) onMeta(args []any, kwargs []torch.Kwarg) ([]any, []torch.Kwarg) {
	if !h.prop.onMeta {
		return args, kwargs
	}
	moved := func(v any) any {
		if _, ok := v.(ir.Device); ok {
			return ir.NewDevice(ir.DeviceMeta, -1)
		}
		return v
	}
	args, kwargs = slices.Clone(args), slices.Clone(kwargs)
	for i := range args {
		args[i] = moved(args[i])
	}
	for i := range kwargs {
		kwargs[i].Value = moved(kwargs[i].Value)
	}
	return args, kwargs
}

func (h shapeHandler) CallModule(r *interpreter.Run, path string, args []any, kwargs []torch.Kwarg) (any, error) {
	v, err := r.Attr(path)
	m, ok := v.(nn.Module)
	if !ok || err != nil || !h.prop.onMeta {
		return h.Default.CallModule(r, path, args, kwargs)
	}
	bare, err := h.prop.bareModule(m)
	if err != nil {
		return nil, err
	}
	return nn.Invoke(bare, args, kwargs)
}

// like returns a tensor of undefined elements with the sizes, strides and dtype of
// another.
func like(t *torch.Tensor, d ir.Device) (*torch.Tensor, error) {
	v, err := torch.Call("aten::empty_strided", t.Shape(), t.Strides(), torch.Kw("dtype", t.DType()), torch.Kw("device", d))
	made, _ := v.(*torch.Tensor)
	return made, err
}

// mapTensors rebuilds a value with f applied to the tensors in it.
func mapTensors(v any, f func(*torch.Tensor) (*torch.Tensor, error)) (any, error) {
	list := func(items []any) ([]any, error) {
		out := make([]any, len(items))
		for i, item := range items {
			var err error
			if out[i], err = mapTensors(item, f); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	switch v := v.(type) {
	case *torch.Tensor:
		return f(v)
	case []any:
		return list(v)
	case ir.PyTuple:
		items, err := list(v)
		return ir.PyTuple(items), err
	case *ir.PyObject:
		items, err := list(v.Values)
		return &ir.PyObject{Type: v.Type, Fields: v.Fields, Values: items}, err
	}
	return v, nil
}

// bare returns a value with its tensors replaced by such without elements, which
// belong to p.
func (p *shapeProp) bare(v any) (any, error) {
	return mapTensors(v, func(t *torch.Tensor) (*torch.Tensor, error) {
		if p.tensors[t] == nil {
			made, err := like(t, ir.NewDevice(ir.DeviceMeta, -1))
			if err != nil {
				return nil, err
			}
			p.tensors[t] = made
		}
		return p.tensors[t], nil
	})
}

// bareModule returns a copy of a module without the elements of its tensors.
func (p *shapeProp) bareModule(m nn.Module) (nn.Module, error) {
	if p.modules[m] != nil {
		return p.modules[m], nil
	}
	c, err := nn.CopyWith(m, func(t *torch.Tensor) (*torch.Tensor, error) {
		v, err := p.bare(t)
		bare, _ := v.(*torch.Tensor)
		return bare, err
	})
	if err != nil {
		return nil, err
	}
	p.modules[m] = c
	return c, nil
}
