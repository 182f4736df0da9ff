package tracer

import (
	"fmt"
	"slices"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
	"github.com/torchfx-go/torchfx/nn"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// A write is a tensor that a functional recording has kept from being written.
type write struct {
	of     *torch.Tensor    // as it was given
	stands *torch.Tensor    // what the code got in its place
	value  *libtorch.Tensor // what that held in the end
}

// wrap gives code stand-ins of its inputs, and of the tensors of the module that it is.
func (r *recorded) wrap(root any, call func([]any) (any, error), inputs []any) (func([]any) (any, error), []any, error) {
	made := map[*torch.Tensor]*torch.Tensor{}
	wrap := func(t *torch.Tensor) (*torch.Tensor, error) {
		if t == nil || made[t] != nil {
			return made[t], nil
		}
		h, err := t.Handle()
		if err != nil {
			return nil, err
		}
		if h, err = libtorch.FunctionalWrap(h); err != nil {
			return nil, err
		}
		made[t] = torch.FromHandle(h)
		r.writes = append(r.writes, write{of: t, stands: made[t]})
		return made[t], nil
	}
	wrapped := make([]any, len(r.leaves))
	for i, v := range r.leaves {
		wrapped[i] = v
		if t, ok := v.(*torch.Tensor); ok {
			var err error
			if wrapped[i], err = wrap(t); err != nil {
				return nil, nil, err
			}
		}
	}
	inputs, err := unflattenAs(inputs, wrapped)
	if err != nil {
		return nil, nil, err
	}
	if m, ok := root.(nn.Module); ok {
		copied, err := nn.CopyWith(m, wrap)
		if err != nil {
			return nil, nil, err
		}
		if call, err = callable(copied); err != nil {
			return nil, nil, err
		}
	}
	return call, inputs, nil
}

// unwrap puts the values in the places of what stood for them. It runs inside the
// recording, since a value that is not up to date is computed then.
func (r *recorded) unwrap() error {
	for i, v := range r.outs {
		t, ok := v.(*torch.Tensor)
		if !ok || t == nil {
			continue
		}
		h, err := t.Handle()
		if err != nil {
			return err
		}
		if h, err = libtorch.FunctionalUnwrap(h); err != nil {
			return err
		}
		r.outs[i] = torch.FromHandle(h)
	}
	for i := range r.writes {
		h, err := r.writes[i].stands.Handle()
		if err != nil {
			return err
		}
		if r.writes[i].value, err = libtorch.FunctionalUnwrap(h); err != nil {
			return err
		}
	}
	return nil
}

// writes copies into the inputs, and into the module's tensors, what was written.
func (b *below) writes() error {
	for i, w := range b.runs[0].writes {
		of, err := w.of.Handle()
		if err != nil {
			return err
		}
		if of.ID() == w.value.ID() {
			continue
		}
		if err := b.alone(i, of); err != nil {
			return err
		}
		same := make([]any, len(b.runs))
		for k, r := range b.runs {
			same[k] = r.writes[i].value
		}
		value, err := b.argument(same)
		if err != nil {
			return fmt.Errorf("record: what was written: %w", err)
		}
		into, err := b.argument(columnOf(b.runs, func(r *recorded) any { h, _ := r.writes[i].of.Handle(); return h }))
		if err != nil {
			return fmt.Errorf("record: what was written into: %w", err)
		}
		if into, err = b.reshaped(into, value, i); err != nil {
			return err
		}
		n := b.graph.CallFunction(ir.OverloadOf("aten::copy_"), []ir.Arg{into, value}, ir.Name("copy_"))
		n.Meta().Set(ir.MetaVal, value.(*ir.Node).Meta().Get(ir.MetaVal))
	}
	return nil
}

// reshaped makes what is written into look like the value, where the code has changed
// more than elements, by transpose_ say. A value of the same sizes is copied as it is,
// and only one that is the input itself, seen otherwise, needs its strides too: a
// square matrix cannot be copied onto its own transpose. PyTorch fails there.
func (b *below) reshaped(into, value ir.Arg, write int) (ir.Arg, error) {
	sizes, strides := make([]any, len(b.runs)), make([]any, len(b.runs))
	for k, r := range b.runs {
		of, err := r.writes[write].of.Handle()
		if err != nil {
			return nil, err
		}
		before, err := of.Info()
		if err != nil {
			return nil, err
		}
		written := r.writes[write].value
		after, err := written.Info()
		if err != nil {
			return nil, err
		}
		same := slices.Equal(before.Sizes, after.Sizes) && (slices.Equal(before.Strides, after.Strides) || !libtorch.IsAlias(of, written))
		if k == 0 && same {
			return into, nil
		}
		if after.Numel > before.Numel {
			return nil, ir.Errorf(ir.ErrUnsupported, "record: expected inputs that keep their number of elements, got one of %v that became %v", before.Sizes, after.Sizes)
		}
		sizes[k], strides[k] = after.Sizes, after.Strides
	}
	size, err := b.argument(sizes)
	if err != nil {
		return nil, fmt.Errorf("record: the sizes of what was written: %w", err)
	}
	stride, err := b.argument(strides)
	if err != nil {
		return nil, fmt.Errorf("record: the strides of what was written: %w", err)
	}
	n := b.graph.CallFunction(ir.OverloadOf("aten::as_strided_"), []ir.Arg{into, size, stride}, ir.Name("as_strided_"))
	n.Meta().Set(ir.MetaVal, value.(*ir.Node).Meta().Get(ir.MetaVal))
	return n, nil
}

// alone refuses what was written where another input, or tensor of the module, has
// its memory: as a value of its own that one does not see the write.
func (b *below) alone(i int, of *libtorch.Tensor) error {
	for k, other := range b.runs[0].writes {
		h, err := other.of.Handle()
		if err != nil {
			return err
		}
		if k != i && libtorch.IsAlias(of, h) {
			return ir.Errorf(ir.ErrUnsupported, "record: expected what is written to share its memory with no other input, got two that share it; record without Functional")
		}
	}
	return nil
}

// columnOf returns what something is in each run.
func columnOf(runs []*recorded, of func(r *recorded) any) []any {
	same := make([]any, len(runs))
	for k, r := range runs {
		same[k] = of(r)
	}
	return same
}
