package interpreter

import (
	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/internal/redirect"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// A mover copies modules to a device. Tensors that share a storage share one there.
type mover struct {
	device  ir.Device
	made    []resource
	copier  *nn.Copier
	bases   map[uintptr]*libtorch.Tensor // by where a storage begins, its copy
	already map[*torch.Tensor]*torch.Tensor
	err     error // the first one
}

// module returns a copy of m whose tensors are on the device, and whose graphs name
// no other.
func (v *mover) module(m *ir.GraphModule) (*ir.GraphModule, error) {
	v.bases, v.already = map[uintptr]*libtorch.Tensor{}, map[*torch.Tensor]*torch.Tensor{}
	v.copier = nn.NewCopierWith(v.tensor)
	defer func() {
		for _, base := range v.bases {
			_ = base.Close()
		}
	}()
	moved := m.Clone(ir.CopyAttrs(func(_ string, a any) any { return v.value(a) }))
	redirect.Module(moved, v.device)
	v.literals(moved)
	return moved, v.err
}

// graph returns a copy of a further graph of the module.
func (v *mover) graph(g *ir.Graph) (*ir.Graph, error) {
	alone, err := ir.NewGraphModule(nil, g.Clone())
	if err != nil {
		return nil, err
	}
	redirect.Module(alone, v.device)
	v.literals(alone)
	return alone.Graph(), v.err
}

// literals moves the tensors that stand in the arguments of nodes.
func (v *mover) literals(m *ir.GraphModule) {
	for n := range m.Graph().Nodes() {
		changed := false
		move := func(a ir.Arg) ir.Arg {
			o, ok := a.(ir.Opaque)
			if !ok {
				return a
			}
			moved := v.value(o.Value)
			if t, ok := moved.(*torch.Tensor); ok && any(t) != o.Value {
				changed = true
				return ir.Opaque{Value: t}
			}
			return a
		}
		args := make([]ir.Arg, len(n.Args()))
		for i, a := range n.Args() {
			args[i] = ir.MapArg(a, move)
		}
		kwargs := make([]ir.Keyword, len(n.Kwargs()))
		for i, k := range n.Kwargs() {
			kwargs[i] = ir.Kw(k.Name, ir.MapArg(k.Value, move))
		}
		if changed {
			n.SetOperands(args, kwargs)
		}
	}
	for _, a := range m.Attrs() {
		if sub, ok := a.(*ir.GraphModule); ok {
			v.literals(sub)
		}
	}
}

// value moves the tensors in an attribute.
func (v *mover) value(a any) any {
	failed := func(err error) {
		if v.err == nil {
			v.err = err
		}
	}
	switch a := a.(type) {
	case *torch.Tensor:
		t, err := v.tensor(a)
		if err != nil {
			failed(err)
			return a
		}
		return t
	case []any:
		out := make([]any, len(a))
		for i, item := range a {
			out[i] = v.value(item)
		}
		return out
	case ir.PyTuple:
		out := make(ir.PyTuple, len(a))
		for i, item := range a {
			out[i] = v.value(item)
		}
		return out
	case *Module:
		return AsModule(a.gm.Clone(ir.CopyAttrs(func(_ string, a any) any { return v.value(a) })))
	case nn.Module:
		m, err := v.copier.Module(a)
		if err != nil {
			failed(err)
			return a
		}
		return m
	}
	return a
}

// tensor returns t on the device: t itself where it is there, one copy otherwise.
func (v *mover) tensor(t *torch.Tensor) (*torch.Tensor, error) {
	if t == nil {
		return nil, nil
	}
	if moved := v.already[t]; moved != nil {
		return moved, nil
	}
	h, err := t.Handle()
	if err != nil {
		return nil, err
	}
	info, err := h.Info()
	if err != nil {
		return nil, err
	}
	if info.Device == v.device || info.Wrapped {
		return t, nil
	}
	var copied *libtorch.Tensor
	if info.HasStorage && info.Layout == ir.Strided && !info.Conj && !info.Neg && !info.DType.IsQuantized() && info.Numel > 0 {
		copied, err = v.view(h, info)
	} else {
		copied, err = to(h, v.device)
	}
	if err == nil && info.RequiresGrad {
		err = requireGrad(copied)
	}
	if err != nil {
		return nil, err
	}
	moved := torch.FromHandle(copied)
	v.already[t] = moved
	v.made = append(v.made, moved)
	return moved, nil
}

// view copies the storage of a tensor, once for all that share it, and looks at the
// copy as the tensor looks at the original.
func (v *mover) view(h *libtorch.Tensor, info libtorch.TensorInfo) (*libtorch.Tensor, error) {
	first, err := h.DataPtr()
	if err != nil {
		return nil, err
	}
	start := uintptr(first) - uintptr(info.Offset)*uintptr(info.DType.Size())
	base := v.bases[start]
	if base == nil {
		bytes, err := libtorch.View(h, ir.UInt8, []int64{info.StorageBytes}, []int64{1}, 0)
		if err != nil {
			return nil, err
		}
		base, err = to(bytes, v.device)
		_ = bytes.Close()
		if err != nil {
			return nil, err
		}
		v.bases[start] = base
	}
	return libtorch.View(base, info.DType, info.Sizes, info.Strides, info.Offset)
}

// to copies a tensor to a device.
func to(h *libtorch.Tensor, d ir.Device) (*libtorch.Tensor, error) {
	op, err := libtorch.Find("aten::to.device")
	if err != nil {
		return nil, err
	}
	info, err := h.Info()
	if err != nil {
		return nil, err
	}
	return one(op.Call(nil, []any{h, d, info.DType, false, true, nil}))
}

func requireGrad(h *libtorch.Tensor) error {
	op, err := libtorch.Find("aten::requires_grad_")
	if err != nil {
		return err
	}
	same, err := one(op.Call(nil, []any{h, true}))
	if err == nil {
		_ = same.Close()
	}
	return err
}

func one(out []any, err error) (*libtorch.Tensor, error) {
	if err != nil {
		return nil, err
	}
	if t, ok := out[0].(*libtorch.Tensor); ok {
		return t, nil
	}
	return nil, ir.Errorf(ir.ErrRuntime, "expected a tensor, got %T", out[0])
}
