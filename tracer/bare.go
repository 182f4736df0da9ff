package tracer

import (
	"slices"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// withoutElements returns root and its inputs as they are recorded where an input has
// no elements: with tensors of this recording in place of the inputs, and of those
// that a module has. Anything else stays, and what code holds beside is seen by the
// bridge.
func (b *below) withoutElements(root any, inputs, leaves []any) (any, []any, []any, error) {
	for _, v := range leaves {
		b.onMeta = b.onMeta || isBare(v)
	}
	if !b.onMeta {
		return root, inputs, leaves, nil
	}
	b.elements = map[*torch.Tensor]*torch.Tensor{}
	b.device = b.recording.Device
	made := map[*torch.Tensor]*torch.Tensor{}
	bare := func(t *torch.Tensor) (*torch.Tensor, error) {
		if made[t] == nil {
			x, err := b.bare(t)
			if err != nil || x == t {
				return t, err
			}
			made[t], b.elements[x] = x, t
		}
		return made[t], nil
	}
	if m, ok := root.(nn.Module); ok {
		for t := range nn.Tensors(m) {
			if info, err := infoOf(t.Tensor); err == nil && info.Device.Kind() != ir.DeviceMeta {
				b.device = info.Device
				break
			}
		}
		copied, err := nn.CopyWith(m, bare)
		if err != nil {
			return nil, nil, nil, err
		}
		root = copied
	}
	own := slices.Clone(leaves)
	for i, v := range leaves {
		if isBare(v) {
			var err error
			if own[i], err = bare(v.(*torch.Tensor)); err != nil {
				return nil, nil, nil, err
			}
		}
	}
	inputs, err := unflattenAs(inputs, own)
	return root, inputs, own, err
}

// bare makes a tensor like t without elements, and returns t where there is no such.
func (b *below) bare(t *torch.Tensor) (*torch.Tensor, error) {
	info, err := infoOf(t)
	if err != nil {
		return nil, err
	}
	if info.Layout != ir.Strided {
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
	return bare, nil
}

// claimed are the tensors that say that they are on the CPU while run r is recorded;
// on another device they stay on the device meta.
func (b *below) claimed(r *recorded) (all []*libtorch.Tensor, err error) {
	if !b.onMeta || b.device.Kind() != ir.DeviceCPU {
		return nil, nil
	}
	claim := func(v any) {
		if !isBare(v) || err != nil {
			return
		}
		var h *libtorch.Tensor
		if h, err = v.(*torch.Tensor).Handle(); err == nil {
			all = append(all, h)
		}
	}
	for t := range b.elements {
		claim(t)
	}
	for _, v := range r.leaves {
		claim(v)
	}
	for _, t := range b.recording.State {
		claim(t)
	}
	return all, err
}

// isBare says whether v is a tensor without elements; a closed one is not.
func isBare(v any) bool {
	t, ok := v.(*torch.Tensor)
	if !ok || t == nil {
		return false
	}
	info, err := infoOf(t)
	return err == nil && info.Device.Kind() == ir.DeviceMeta
}

func infoOf(t *torch.Tensor) (libtorch.TensorInfo, error) {
	h, err := t.Handle()
	if err != nil {
		return libtorch.TensorInfo{}, err
	}
	return h.Info()
}

// whole returns the tensor that one of withoutElements stands for, and any other as it is.
func (b *below) whole(t *torch.Tensor) *torch.Tensor {
	if whole, ok := b.elements[t]; ok {
		return whole
	}
	return t
}

// leaveMeta puts d in the place of the device meta, in arguments and in meta data of
// a graph that was recorded without elements: code that makes a tensor where another
// one lies asks for its device.
func leaveMeta(g *ir.Graph, d ir.Device) {
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
