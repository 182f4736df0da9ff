package ir

import (
	"fmt"
	"strings"
)

// A Layout says how a tensor's elements are stored. The zero value is strided.
type Layout uint8

// The layouts of PyTorch 2.15.
const (
	Strided Layout = iota
	Sparse
	SparseCSR
	Mkldnn
	SparseCSC
	SparseBSR
	SparseBSC
	Jagged
	numLayouts
)

// Sources: c10/core/Layout.h and torch/_export/serde/schema.py of 2.15.0.
var layouts = [numLayouts]struct {
	python string
	c10    int8
	export int8 // 0 where the schema has none
}{
	Strided: {"strided", 0, 7}, Sparse: {"sparse_coo", 1, 1}, SparseCSR: {"sparse_csr", 2, 2}, Mkldnn: {"_mkldnn", 3, 6},
	SparseCSC: {"sparse_csc", 4, 3}, SparseBSR: {"sparse_bsr", 5, 4}, SparseBSC: {"sparse_bsc", 6, 5}, Jagged: {"jagged", 7, 0},
}

// String returns Python's spelling, "torch.strided".
func (l Layout) String() string {
	if l < numLayouts {
		return "torch." + layouts[l].python
	}
	return fmt.Sprintf("invalid layout %d", uint8(l))
}

// C10 returns the number of c10::Layout.
func (l Layout) C10() int { return int(layouts[l].c10) }

// Export returns the number of torch.export's schema, 0 where it has none.
func (l Layout) Export() int { return int(layouts[l].export) }

// LayoutFromC10 returns the layout with a c10::Layout number.
func LayoutFromC10(n int) (Layout, error) {
	for l := range numLayouts {
		if int(layouts[l].c10) == n {
			return l, nil
		}
	}
	return 0, Errorf(ErrUnsupported, "layout: c10 number %d is unknown", n)
}

// LayoutFromExport returns the layout with a torch.export schema number.
func LayoutFromExport(n int) (Layout, error) {
	for l := range numLayouts {
		if n > 0 && int(layouts[l].export) == n {
			return l, nil
		}
	}
	return 0, Errorf(ErrUnsupported, "layout: export schema number %d is unknown", n)
}

// ParseLayout reads Python's spelling, with or without "torch.".
func ParseLayout(s string) (Layout, error) {
	for l := range numLayouts {
		if layouts[l].python == strings.TrimPrefix(s, "torch.") {
			return l, nil
		}
	}
	return 0, Errorf(ErrUnsupported, "layout: %q is unknown", s)
}

// A MemoryFormat is an order of dimensions in memory.
type MemoryFormat uint8

// The memory formats of PyTorch 2.15.
const (
	ContiguousFormat MemoryFormat = iota
	PreserveFormat
	ChannelsLast
	ChannelsLast3D
	numMemoryFormats
)

// Sources: c10/core/MemoryFormat.h and torch/_export/serde/schema.py of 2.15.0.
var memoryFormats = [numMemoryFormats]struct {
	python string
	c10    int8
	export int8
}{
	ContiguousFormat: {"contiguous_format", 0, 1}, PreserveFormat: {"preserve_format", 1, 4},
	ChannelsLast: {"channels_last", 2, 2}, ChannelsLast3D: {"channels_last_3d", 3, 3},
}

// String returns Python's spelling, "torch.channels_last".
func (m MemoryFormat) String() string {
	if m < numMemoryFormats {
		return "torch." + memoryFormats[m].python
	}
	return fmt.Sprintf("invalid memory format %d", uint8(m))
}

// C10 returns the number of c10::MemoryFormat.
func (m MemoryFormat) C10() int { return int(memoryFormats[m].c10) }

// Export returns the number of torch.export's schema.
func (m MemoryFormat) Export() int { return int(memoryFormats[m].export) }

// MemoryFormatFromC10 returns the format with a c10::MemoryFormat number.
func MemoryFormatFromC10(n int) (MemoryFormat, error) {
	for m := range numMemoryFormats {
		if int(memoryFormats[m].c10) == n {
			return m, nil
		}
	}
	return 0, Errorf(ErrUnsupported, "memory format: c10 number %d is unknown", n)
}

// MemoryFormatFromExport returns the format with a torch.export schema number.
func MemoryFormatFromExport(n int) (MemoryFormat, error) {
	for m := range numMemoryFormats {
		if int(memoryFormats[m].export) == n {
			return m, nil
		}
	}
	return 0, Errorf(ErrUnsupported, "memory format: export schema number %d is unknown", n)
}

// ParseMemoryFormat reads Python's spelling, with or without "torch.".
func ParseMemoryFormat(s string) (MemoryFormat, error) {
	for m := range numMemoryFormats {
		if memoryFormats[m].python == strings.TrimPrefix(s, "torch.") {
			return m, nil
		}
	}
	return 0, Errorf(ErrUnsupported, "memory format: %q is unknown", s)
}
