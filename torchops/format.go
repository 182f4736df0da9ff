package torchops

import (
	"math"
	"strconv"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// How Python prints a tensor: torch/_tensor_str.py of 2.15.0, with its default
// options. This file works on plain numbers; print.go fetches them.

const (
	printPrecision = 4    // digits after the point
	printThreshold = 1000 // more elements than this are summarised
	printEdge      = 3    // elements kept at each end of a summarised dimension
	printWidth     = 80   // characters in a line
)

// printed is what the formatter needs of a tensor. In a summarised one every
// dimension longer than 2*printEdge holds its first and last printEdge elements.
type printed struct {
	dtype  ir.DType
	sizes  []int     // of the tensor itself
	device ir.Device // printed where it is not the CPU
	layout ir.Layout // printed where it is not strided

	re, im []float64 // elements of floating and complex dtypes; im is nil for real ones
	text   []string  // elements of all other dtypes
}

// numel returns the number of elements of the tensor itself.
func (p *printed) numel() int {
	n := 1
	for _, s := range p.sizes {
		n *= s
	}
	return n
}

// format returns what print(tensor) prints.
func (p *printed) format() string {
	const prefix = "tensor("
	var suffixes []string
	if p.device.Kind() != ir.DeviceCPU {
		suffixes = append(suffixes, "device='"+p.device.String()+"'")
	}
	body := "[]"
	switch {
	case p.device.Kind() == ir.DeviceMeta:
		body = "..."
		suffixes = append(suffixes, "size="+tupleText(p.sizes))
		if p.dtype != ir.Float32 {
			suffixes = append(suffixes, "dtype="+p.dtype.String())
		}
	case p.numel() == 0:
		// the shape (0,) goes without saying
		if len(p.sizes) != 1 {
			suffixes = append(suffixes, "size="+tupleText(p.sizes))
		}
		if p.dtype != ir.Float32 {
			suffixes = append(suffixes, "dtype="+p.dtype.String())
		}
	default:
		if !isDefaultDType(p.dtype) {
			suffixes = append(suffixes, "dtype="+p.dtype.String())
		}
		body = p.body(len(prefix))
	}
	if p.layout != ir.Strided {
		suffixes = append(suffixes, "layout="+p.layout.String())
	}
	return addSuffixes(prefix+body, suffixes, len(prefix), false)
}

// isDefaultDType reports whether a literal of the printed elements would have
// the dtype anyway, so that it is not printed.
func isDefaultDType(d ir.DType) bool {
	return d == ir.Float32 || d == ir.Complex64 || d == ir.Int64 || d == ir.Bool8
}

// body returns the elements in brackets; indent is the column they start at.
func (p *printed) body(indent int) string {
	if p.numel() == 0 {
		return "[]"
	}
	w := bodyWriter{p: p, summarize: p.numel() > printThreshold}
	switch {
	case p.text != nil:
		w.first.fitText(p.text)
	case p.im != nil:
		w.first.fit(p.re)
		w.second = new(numberFormat)
		w.second.fit(p.im)
	default:
		w.first.fit(p.re)
	}
	var b strings.Builder
	w.write(&b, 0, indent)
	return b.String()
}

// numberFormat is how all elements of one tensor are written.
type numberFormat struct {
	integral bool // every finite element is a whole number: "3."
	sci      bool // "3.0000e+00"
	width    int  // characters of the widest element
}

// fitText makes room for the widest of elements that are texts already.
func (f *numberFormat) fitText(elements []string) {
	f.width = 1
	for _, s := range elements {
		f.width = max(f.width, len(s))
	}
}

// fit chooses the format from the finite elements other than zero, and the
// width for them alone, as Python does: "inf" among short numbers sticks out.
func (f *numberFormat) fit(elements []float64) {
	f.integral, f.width = true, 1
	smallest, largest := math.Inf(1), 0.0
	for _, x := range elements {
		if x == 0 || math.IsInf(x, 0) || math.IsNaN(x) {
			continue
		}
		smallest, largest = min(smallest, math.Abs(x)), max(largest, math.Abs(x))
		f.integral = f.integral && x == math.Ceil(x)
	}
	if largest == 0 {
		return
	}
	f.sci = largest/smallest > 1000 || largest > 1e8 || smallest < 1e-4
	for _, x := range elements {
		if x != 0 && !math.IsInf(x, 0) && !math.IsNaN(x) {
			f.width = max(f.width, len(f.digits(x)))
		}
	}
}

// digits returns x without padding.
func (f *numberFormat) digits(x float64) string {
	switch {
	case math.IsNaN(x):
		return "nan"
	case math.IsInf(x, 1):
		return "inf"
	case math.IsInf(x, -1):
		return "-inf"
	case f.sci:
		return strconv.FormatFloat(x, 'e', printPrecision, 64)
	case f.integral:
		return strconv.FormatFloat(x, 'f', 0, 64) + "."
	}
	return strconv.FormatFloat(x, 'f', printPrecision, 64)
}

// pad returns s moved to the right end of the common width.
func (f *numberFormat) pad(s string) string {
	return strings.Repeat(" ", max(0, f.width-len(s))) + s
}

// bodyWriter walks the elements once, in order.
type bodyWriter struct {
	p         *printed
	summarize bool
	first     numberFormat
	second    *numberFormat // of imaginary parts, nil for real elements
	next      int           // the element to write
}

// element returns the next element.
func (w *bodyWriter) element() string {
	i := w.next
	w.next++
	switch {
	case w.p.text != nil:
		return w.first.pad(w.p.text[i])
	case w.second == nil:
		return w.first.pad(w.first.digits(w.p.re[i]))
	}
	re := w.first.pad(w.first.digits(w.p.re[i]))
	im := strings.TrimLeft(w.second.pad(w.second.digits(w.p.im[i]))+"j", " ")
	if im[0] == '-' {
		return re + im
	}
	return re + "+" + im
}

// write appends dimension dim and all below.
func (w *bodyWriter) write(b *strings.Builder, dim, indent int) {
	switch below := len(w.p.sizes) - dim; below {
	case 0:
		b.WriteString(w.element())
	case 1:
		w.row(b, indent)
	default:
		separator := "," + strings.Repeat("\n", below-1) + strings.Repeat(" ", indent+1)
		n, cut := w.rows(dim)
		b.WriteByte('[')
		for i := range n {
			if i > 0 {
				b.WriteString(separator)
			}
			if cut && i == printEdge {
				b.WriteString("..." + separator)
			}
			w.write(b, dim+1, indent+1)
		}
		b.WriteByte(']')
	}
}

// rows returns how many entries of a dimension are written, and whether some
// are left out in the middle.
func (w *bodyWriter) rows(dim int) (n int, cut bool) {
	n = w.p.sizes[dim]
	if w.summarize && n > 2*printEdge {
		return 2 * printEdge, true
	}
	return n, false
}

// row appends the last dimension, wrapped where the line is full.
func (w *bodyWriter) row(b *strings.Builder, indent int) {
	width := w.first.width + 2
	if w.second != nil {
		width += w.second.width + 1
	}
	// a negative room divides towards minus infinity in Python, and is 1 here too
	perLine := max(1, (printWidth-indent)/width)
	n, cut := w.rows(len(w.p.sizes) - 1)
	column := 0
	put := func(s string) {
		switch {
		case column == perLine:
			b.WriteString(",\n" + strings.Repeat(" ", indent+1))
			column = 0
		case column > 0:
			b.WriteString(", ")
		}
		b.WriteString(s)
		column++
	}
	b.WriteByte('[')
	for i := range n {
		if cut && i == printEdge {
			put(" ...")
		}
		put(w.element())
	}
	b.WriteByte(']')
}

// addSuffixes closes the text with what follows the elements, on a new line
// where the last one is full.
func addSuffixes(text string, suffixes []string, indent int, newline bool) string {
	var b strings.Builder
	b.WriteString(text)
	last := len(text) - strings.LastIndexByte(text, '\n') + 1
	for _, s := range suffixes {
		if newline || last+len(s)+2 > printWidth {
			b.WriteString(",\n" + strings.Repeat(" ", indent) + s)
			last, newline = indent+len(s), false
			continue
		}
		b.WriteString(", " + s)
		last += len(s) + 2
	}
	b.WriteByte(')')
	return b.String()
}

// tupleText returns sizes as Python writes a tuple.
func tupleText(sizes []int) string {
	var b strings.Builder
	b.WriteByte('(')
	for i, s := range sizes {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(strconv.Itoa(s))
	}
	if len(sizes) == 1 {
		b.WriteByte(',')
	}
	b.WriteByte(')')
	return b.String()
}
