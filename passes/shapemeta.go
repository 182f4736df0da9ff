package passes

import (
	"errors"

	libtorch "github.com/torchfx-go/torchfx/cgo"
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
	v, err := h.Default.CallFunction(r, fn, args, kwargs)
	return h.orOnZeros(v, err, args, kwargs, func(args []any, kwargs []torch.Kwarg) (any, error) {
		return h.Default.CallFunction(r, fn, args, kwargs)
	})
}

func (h shapeHandler) CallMethod(r *interpreter.Run, name string, args []any, kwargs []torch.Kwarg) (any, error) {
	v, err := h.Default.CallMethod(r, name, args, kwargs)
	return h.orOnZeros(v, err, args, kwargs, func(args []any, kwargs []torch.Kwarg) (any, error) {
		return h.Default.CallMethod(r, name, args, kwargs)
	})
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
	v, err = nn.Invoke(bare, args, kwargs)
	return h.orOnZeros(v, err, args, kwargs, func(args []any, kwargs []torch.Kwarg) (any, error) {
		return nn.Invoke(m, args, kwargs)
	})
}

// orOnZeros repeats a call that libtorch has no kernel for without elements on
// tensors of zeros.
func (h shapeHandler) orOnZeros(v any, err error, args []any, kwargs []torch.Kwarg, call func([]any, []torch.Kwarg) (any, error)) (any, error) {
	if _, recording := libtorch.RecordedSoFar(); recording || !h.prop.onMeta || !errors.Is(err, ir.ErrNotImplemented) {
		return v, err // a recording does the same for one operator
	}
	var made []*torch.Tensor
	defer func() {
		for _, t := range made {
			t.Close()
		}
	}()
	zeros := func(t *torch.Tensor) (*torch.Tensor, error) {
		if t.Device().Kind() != ir.DeviceMeta {
			return t, nil
		}
		z, err := like(t, ir.NewDevice(ir.DeviceCPU, -1))
		if err != nil {
			return nil, err
		}
		made = append(made, z)
		filled, err := torch.Call("aten::zero_", z)
		if f, ok := filled.(*torch.Tensor); ok && f != z {
			made = append(made, f)
		}
		return z, err
	}
	filled, err := mapTensors(args, zeros)
	if err != nil {
		return nil, err
	}
	named := make([]torch.Kwarg, len(kwargs))
	for i, k := range kwargs {
		value, err := mapTensors(k.Value, zeros)
		if err != nil {
			return nil, err
		}
		named[i] = torch.Kw(k.Name, value)
	}
	out, err := call(filled.([]any), named)
	if err != nil {
		return nil, err
	}
	return mapTensors(out, func(t *torch.Tensor) (*torch.Tensor, error) {
		made = append(made, t)
		return like(t, ir.NewDevice(ir.DeviceMeta, -1))
	})
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
