package main

import (
	"cmp"
	"slices"

	"github.com/torchfx-go/torchfx/export"
)

// countMemory finds tensors that share memory, as tied weights do. What several views
// of a storage have in common is counted for the one that starts first, of those for
// the longest, of those for the first of the file.
func (r *inspectReport) countMemory() {
	views := map[*export.Storage][]*inspectTensor{}
	for i := range r.Tensors {
		t := &r.Tensors[i]
		t.own = t.numel()
		if t.view != nil && t.view.Storage != nil && t.own > 0 {
			views[t.view.Storage] = append(views[t.view.Storage], t)
		}
	}
	for _, sharing := range views {
		slices.SortStableFunc(sharing, func(a, b *inspectTensor) int {
			a0, a1 := a.extent()
			b0, b1 := b.extent()
			return cmp.Or(cmp.Compare(a0, b0), cmp.Compare(b1, a1))
		})
		var holder *inspectTensor
		var end int64 // of what is counted, in bytes of the storage
		for _, t := range sharing {
			from, to := t.extent()
			if holder != nil && from < end {
				t.SharesWith = holder.Name
				t.own = min(t.own, max(to-end, 0)/t.width())
			}
			if to > end {
				holder, end = t, to
			}
		}
	}
}

// extent returns where the elements begin and end in their storage, in bytes.
func (t *inspectTensor) extent() (from, to int64) {
	last := t.view.Offset
	for i, size := range t.view.Sizes {
		last += (size - 1) * t.view.Strides[i]
	}
	return t.view.Offset * t.width(), (last + 1) * t.width()
}

func (t *inspectTensor) numel() int64 {
	n := int64(1)
	for _, size := range t.Shape {
		n *= size
	}
	return n
}

// width is the size of an element in bytes.
func (t *inspectTensor) width() int64 { return t.Bytes / max(t.numel(), 1) }
