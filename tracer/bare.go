package tracer

import (
	"slices"

	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// withoutElements returns the module that root is with tensors without elements in
// place of its own, where an input is one: beside such libtorch computes with no
// others. Anything else stays.
func (b *below) withoutElements(root any, leaves []any) (any, error) {
	m, ok := root.(nn.Module)
	if !ok {
		return root, nil
	}
	onMeta := false
	for _, v := range leaves {
		t, ok := v.(*torch.Tensor)
		onMeta = onMeta || ok && t != nil && t.Device().Kind() == ir.DeviceMeta
	}
	if !onMeta {
		return root, nil
	}
	b.elements = map[*torch.Tensor]*torch.Tensor{}
	return nn.CopyWith(m, func(t *torch.Tensor) (*torch.Tensor, error) {
		h, err := t.Handle()
		if err != nil {
			return nil, err
		}
		info, err := h.Info()
		if err != nil {
			return nil, err
		}
		if info.Device.Kind() == ir.DeviceMeta || info.Layout != ir.Strided {
			return t, nil
		}
		made, err := torch.Call("aten::empty_strided", info.Sizes, info.Strides, torch.Kw("dtype", info.DType), torch.Kw("device", ir.NewDevice(ir.DeviceMeta, -1)))
		if err != nil {
			return nil, err
		}
		bare := made.(*torch.Tensor)
		if info.RequiresGrad {
			if _, err := torch.Call("aten::requires_grad_", bare, true); err != nil {
				return nil, err
			}
		}
		b.elements[bare] = t
		return bare, nil
	})
}

// whole returns the tensor that one of withoutElements stands for, and any other as it is.
func (b *below) whole(t *torch.Tensor) *torch.Tensor {
	if whole, ok := b.elements[t]; ok {
		return whole
	}
	return t
}

// realDevice is the device of a module that was taken without elements; ok is false
// where there is none.
func (b *below) realDevice() (d ir.Device, ok bool) {
	for _, t := range b.elements {
		return t.Device(), true
	}
	return d, false
}

// LeaveMeta puts d in the place of the device meta, in arguments and in meta data of
// a graph that was recorded without elements: code that makes a tensor where another
// one lies asks for its device.
func LeaveMeta(g *ir.Graph, d ir.Device) {
	real := func(a ir.Arg) ir.Arg {
		if from, ok := a.(ir.Device); ok && from.Kind() == ir.DeviceMeta {
			return d
		}
		return a
	}
	for n := range g.Nodes() {
		args, kwargs := slices.Clone(n.Args()), slices.Clone(n.Kwargs())
		for i := range args {
			args[i] = ir.MapArg(args[i], real)
		}
		for i := range kwargs {
			kwargs[i].Value = ir.MapArg(kwargs[i].Value, real)
		}
		n.SetArgs(args...)
		n.SetKwargs(kwargs...)
		if val := n.Meta().Get(ir.MetaVal); val != nil {
			n.Meta().Set(ir.MetaVal, onDevice(val, d))
		}
	}
}

// onDevice moves what meta data describe from the device meta to d.
func onDevice(meta any, d ir.Device) any {
	switch m := meta.(type) {
	case ir.TensorMeta:
		if m.Device.Kind() == ir.DeviceMeta {
			m.Device = d
		}
		return m
	case []any:
		moved := make([]any, len(m))
		for i, item := range m {
			moved[i] = onDevice(item, d)
		}
		return moved
	}
	return meta
}
