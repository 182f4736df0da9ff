package torchops

import (
	"fmt"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// String returns what Python prints of the tensor with default options, but
// nothing about gradients. A tensor that cannot be read, a closed one say, is a
// word in angle brackets, so that printing never fails.
func (t *Tensor) String() string {
	switch {
	case t == nil:
		return "None"
	case t.Traced():
		return "<a traced tensor>"
	}
	text, err := t.print()
	if err != nil {
		return fmt.Sprintf("<tensor: %v>", err)
	}
	return text
}

func (t *Tensor) print() (string, error) {
	info, err := t.info()
	if err != nil {
		return t.printNested(err)
	}
	p := &printed{dtype: info.DType, sizes: toInts(info.Sizes), device: info.Device, layout: info.Layout}
	switch {
	case p.device.Kind() == ir.DeviceMeta:
		return p.format(), nil
	case p.layout == ir.Sparse || p.layout == ir.SparseCSR || p.layout == ir.SparseCSC || p.layout == ir.SparseBSR || p.layout == ir.SparseBSC:
		return t.printSparse(p)
	case p.dtype.IsQuantized():
		return t.printQuantized(p)
	}
	s := NewScope()
	defer s.Close()
	dense, err := t.Ref()
	if err != nil {
		return "", err
	}
	s.Add(dense)
	if p.layout != ir.Strided {
		if dense, err = callTensor("aten::to_dense", dense); err != nil {
			return "", err
		}
	}
	if err := dense.load(p); err != nil {
		return "", err
	}
	return p.format(), nil
}

// load fetches the elements that are printed, which of a long tensor are few.
func (t *Tensor) load(p *printed) error {
	if p.numel() == 0 {
		return nil
	}
	part := t
	if p.numel() > printThreshold {
		for dim, size := range p.sizes {
			if size <= 2*printEdge {
				continue
			}
			first, err := callTensor("aten::slice.Tensor", part, dim, 0, printEdge)
			if err != nil {
				return err
			}
			last, err := callTensor("aten::slice.Tensor", part, dim, size-printEdge, size)
			if err != nil {
				return err
			}
			if part, err = callTensor("aten::cat", List{first, last}, dim); err != nil {
				return err
			}
		}
	}
	data, err := part.Bytes()
	if err != nil {
		return err
	}
	p.re, p.im, p.text = decodeElements(p.dtype, data)
	return nil
}

// callTensor calls an operator that returns one tensor.
func callTensor(op string, args ...any) (*Tensor, error) {
	r, err := Call(op, args...)
	t, _ := r.(*Tensor)
	return t, err
}

// sparseParts names the parts of the sparse layouts as they are printed, and
// the operators that return them.
var sparseParts = map[ir.Layout][3][2]string{
	ir.Sparse:    {{"indices", "aten::_indices"}, {}, {"values", "aten::_values"}},
	ir.SparseCSR: {{"crow_indices", "aten::crow_indices"}, {"col_indices", "aten::col_indices"}, {"values", "aten::values"}},
	ir.SparseCSC: {{"ccol_indices", "aten::ccol_indices"}, {"row_indices", "aten::row_indices"}, {"values", "aten::values"}},
	ir.SparseBSR: {{"crow_indices", "aten::crow_indices"}, {"col_indices", "aten::col_indices"}, {"values", "aten::values"}},
	ir.SparseBSC: {{"ccol_indices", "aten::ccol_indices"}, {"row_indices", "aten::row_indices"}, {"values", "aten::values"}},
}

func (t *Tensor) printSparse(p *printed) (string, error) {
	const prefix = "tensor("
	s := NewScope()
	defer s.Close()
	self, err := t.Ref()
	if err != nil {
		return "", err
	}
	s.Add(self)
	nnz, err := Call("aten::_nnz", self)
	if err != nil {
		return "", err
	}
	suffixes := []string{"size=" + tupleText(p.sizes), fmt.Sprintf("nnz=%d", nnz)}
	if !isDefaultDType(p.dtype) {
		suffixes = append(suffixes, "dtype="+p.dtype.String())
	}
	var parts []string
	for _, part := range sparseParts[p.layout] {
		if part[0] == "" {
			continue
		}
		x, err := callTensor(part[1], self)
		if err != nil {
			return "", err
		}
		head := part[0] + "=tensor("
		q := &printed{dtype: x.DType(), sizes: x.Shape()}
		if err := x.load(q); err != nil {
			return "", err
		}
		text := head + q.body(len(prefix)+len(head))
		if q.numel() == 0 {
			text += ", size=" + tupleText(q.sizes)
		}
		parts = append(parts, text+")")
	}
	body := strings.Join(parts, ",\n"+strings.Repeat(" ", len(prefix)))
	suffixes = append(suffixes, "layout="+p.layout.String())
	// the coordinate layout alone starts its suffixes on a line of their own
	return addSuffixes(prefix+body, suffixes, len(prefix), p.layout == ir.Sparse), nil
}

// printQuantized prints the numbers that the elements stand for.
func (t *Tensor) printQuantized(p *printed) (string, error) {
	const prefix = "tensor("
	s := NewScope()
	defer s.Close()
	self, err := t.Ref()
	if err != nil {
		return "", err
	}
	s.Add(self)
	suffixes := []string{"size=" + tupleText(p.sizes), "dtype=" + p.dtype.String()}
	scale, err := Call("aten::q_scale", self)
	if err == nil {
		zero, zeroErr := Call("aten::q_zero_point", self)
		if zeroErr != nil {
			return "", zeroErr
		}
		suffixes = append(suffixes, "quantization_scheme=torch.per_tensor_affine",
			"scale="+ir.Repr(ir.Float(scale.(float64))), fmt.Sprintf("zero_point=%d", zero))
	} else {
		suffixes = append(suffixes, "quantization_scheme=torch.per_channel_affine")
		for _, part := range [][2]string{{"scale", "aten::q_per_channel_scales"}, {"zero_point", "aten::q_per_channel_zero_points"}, {"axis", "aten::q_per_channel_axis"}} {
			v, err := Call(part[1], self)
			if err != nil {
				return "", err
			}
			suffixes = append(suffixes, fmt.Sprintf("%s=%v", part[0], v))
		}
	}
	dense, err := callTensor("aten::dequantize.self", self)
	if err != nil {
		return "", err
	}
	q := &printed{dtype: ir.Float32, sizes: p.sizes}
	if err := dense.load(q); err != nil {
		return "", err
	}
	return addSuffixes(prefix+q.body(len(prefix)), suffixes, len(prefix), false), nil
}

// printNested prints a nested tensor, which has no sizes to ask for: what fails
// with cause, and yet has rows, is one.
func (t *Tensor) printNested(cause error) (string, error) {
	rows, err := Call("aten::unbind.int", t, 0)
	if err != nil {
		return "", cause
	}
	var parts []string
	for _, row := range rows.([]any) {
		parts = append(parts, "  "+strings.ReplaceAll(row.(*Tensor).String(), "\n", "\n  "))
		_ = row.(*Tensor).Close()
	}
	return "nested_tensor([\n" + strings.Join(parts, ",\n") + "\n])", nil
}
