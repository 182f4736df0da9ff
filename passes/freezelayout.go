package passes

import (
	"slices"

	"github.com/torchfx-go/torchfx/ir"
)

// restoreLayouts lays values out as they were wherever something depends on strides,
// after packed nodes have begun to return channels last.
func (f *freezer) restoreLayouts(packed map[*ir.Node]bool) error {
	plain := map[*ir.Node]bool{} // packed nodes whose results are laid out again at once, and whether they are yet
	for {
		m := mapMemory(f.module)
		changed := f.otherLayouts(packed)
		var atSource []*ir.Node
		var fixes []layoutFix
		for n := range f.graph.Nodes() {
			if n.Op() != ir.Output && anyStrides(n) {
				continue
			}
			for _, in := range n.Inputs() {
				if !changed[in] {
					continue
				}
				format, dense := notedFormat(in)
				if !dense || n.Op() != ir.Output && m.is(m.written, in) || n.Op() == ir.Output && m.sharesWith(in, n.Inputs()) {
					atSource = append(atSource, in)
					continue
				}
				noted, _ := valueOf(in)
				fixes = append(fixes, layoutFix{n, in, format, noted})
			}
		}
		if len(atSource) == 0 {
			noteLayouts(changed, packed)
			return f.layOut(fixes)
		}
		before := len(plain)
		for _, n := range atSource {
			markSources(n, changed, packed, plain)
		}
		if len(plain) == before {
			return ir.Errorf(ir.ErrUnsupported, "the layout of %s cannot be restored", atSource[0])
		}
		if err := f.layOutSources(plain); err != nil {
			return err
		}
	}
}

// sharesWith reports whether a value may lie in the memory of another of these, whose copies
// would not.
func (m *memoryMap) sharesWith(x *ir.Node, values []*ir.Node) bool {
	return slices.ContainsFunc(values, func(v *ir.Node) bool { return v != x && m.mayShare(v, x) })
}

// noteLayouts notes the strides of values that lie otherwise than before: none where
// they are not known.
func noteLayouts(changed, packed map[*ir.Node]bool) {
	for n, is := range changed {
		meta, one := valueOf(n)
		if !is || !one {
			continue
		}
		meta.Strides = nil
		if packed[n] {
			meta.Strides = channelsLastStrides(meta.Sizes)
		}
		n.Meta().Set(ir.MetaVal, meta)
	}
}

// channelsLastStrides returns nil where a size is not known.
func channelsLastStrides(sizes []ir.Size) []ir.Size {
	strides, next := make([]ir.Size, len(sizes)), int64(1)
	set := func(i int) (known bool) {
		n, known := sizes[i].Known()
		strides[i], next = ir.SizeOf(next), next*n
		return known
	}
	known := set(1)
	for i := len(sizes) - 1; i >= 2; i-- {
		known = set(i) && known
	}
	if !set(0) || !known {
		return nil
	}
	return strides
}

// A layoutFix is an operand that reader needs as it was.
type layoutFix struct {
	reader, value *ir.Node
	format        ir.MemoryFormat
	noted         ir.TensorMeta // of the value, as it lay before
}

// otherLayouts finds the values that may lie otherwise than noted.
func (f *freezer) otherLayouts(packed map[*ir.Node]bool) map[*ir.Node]bool {
	changed := map[*ir.Node]bool{}
	for n := range f.graph.Nodes() {
		if packed[n] {
			changed[n] = true
			continue
		}
		if !anyStrides(n) || ownLayout[n.Func()] {
			continue
		}
		if meta, one := valueOf(n); one && len(meta.Sizes) < 2 {
			continue // a vector lies in one way
		}
		changed[n] = slices.ContainsFunc(n.Inputs(), func(in *ir.Node) bool { return changed[in] })
	}
	return changed
}

// markSources adds the packed nodes from which n has its layout to plain.
func markSources(n *ir.Node, changed, packed, plain map[*ir.Node]bool) {
	seen := map[*ir.Node]bool{}
	var walk func(*ir.Node)
	walk = func(n *ir.Node) {
		if seen[n] || !changed[n] {
			return
		}
		seen[n] = true
		if packed[n] {
			if _, known := plain[n]; !known {
				plain[n] = false
			}
			return
		}
		for _, in := range n.Inputs() {
			walk(in)
		}
	}
	walk(n)
}

// ownLayout are operators whose results lie in rows whatever their operands do.
var ownLayout = overloads("aten::contiguous aten::linear aten::addmm aten::mm aten::bmm aten::matmul aten::sym_size.int aten::native_layer_norm aten::layer_norm")

// layOutSources puts a copy behind each packed node of plain that has none.
func (f *freezer) layOutSources(plain map[*ir.Node]bool) error {
	for n := range f.graph.Nodes() {
		if laidOut, is := plain[n]; !is || laidOut {
			continue
		}
		plain[n] = true
		format, _ := notedFormat(n)
		c, err := f.call(n.Next(), n, "aten::contiguous", n)
		if err != nil {
			return err
		}
		setFormat(c, format)
		n.ReplaceAllUsesWith(c, ir.OnlyUsers(func(u *ir.Node) bool { return u != c }))
	}
	return nil
}

// layOut puts a copy before each reader that needs one, one copy for a value.
func (f *freezer) layOut(fixes []layoutFix) error {
	made := map[*ir.Node]*ir.Node{}
	for _, x := range fixes {
		c := made[x.value]
		if c == nil {
			var err error
			if c, err = f.call(x.reader, x.value, "aten::contiguous", x.value); err != nil {
				return err
			}
			setFormat(c, x.format)
			c.Meta().Set(ir.MetaVal, x.noted)
			made[x.value] = c
			f.applied(c, "%s is laid out again for %s", x.value, x.reader)
		}
		x.reader.ReplaceInputWith(x.value, c)
	}
	return nil
}

func setFormat(c *ir.Node, format ir.MemoryFormat) {
	if format != ir.ContiguousFormat {
		c.UpdateKwarg("memory_format", format)
	}
}

// notedFormat returns the memory format that the noted strides of a tensor are of, as
// the exported sizes have it.
func notedFormat(n *ir.Node) (ir.MemoryFormat, bool) {
	meta, ok := valueOf(n)
	if !ok || len(meta.Strides) != len(meta.Sizes) {
		return 0, false
	}
	for i := range meta.Sizes {
		meta.Sizes = slices.Clone(meta.Sizes)
		meta.Sizes[i] = ir.SizeOf(meta.Sizes[i].Hint())
		meta.Strides = slices.Clone(meta.Strides)
		meta.Strides[i] = ir.SizeOf(meta.Strides[i].Hint())
	}
	return MemoryFormatOf(meta)
}
