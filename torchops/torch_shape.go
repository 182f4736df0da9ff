package torchops

import (
	"maps"

	"github.com/torchfx-go/torchfx/ir"
)

// torchBodies are what the Python functions of torch.functional compute; they are
// called as functions of torch.
func torchBodies() map[string]func(f *frame) any {
	all := map[string]func(f *frame) any{
		"einsum": einsum, "norm": norm, "stft": stft, "lu": lu, "tensordot": tensordot, "cdist": cdist,
		"unique": unique, "unique_consecutive": uniqueConsecutive, "unravel_index": unravelIndex,
	}
	maps.Copy(all, shapeBodies())
	return all
}

// shapeBodies are the functions that join, split and broadcast tensors.
func shapeBodies() map[string]func(f *frame) any {
	all := map[string]func(f *frame) any{
		"broadcast_shapes":  broadcastShapesOf,
		"broadcast_tensors": func(f *frame) any { return ir.PyTuple(f.tuple("broadcast_tensors", f.arg("tensors"))) },
		"block_diag":        func(f *frame) any { return f.op("block_diag", f.arg("tensors")) },
		"cartesian_prod":    func(f *frame) any { return f.op("cartesian_prod", f.arg("tensors")) },
		"chain_matmul": func(f *frame) any {
			return f.out("chain_matmul", "chain_matmul.out", f.arg("matrices"))
		},
		"meshgrid": func(f *frame) any {
			tensors := f.arg("tensors").([]any)
			if len(tensors) == 1 {
				if list, kind := items(tensors[0]); kind != "" {
					tensors = list
				}
			}
			if f.given("indexing") {
				return ir.PyTuple(f.tuple("meshgrid.indexing", tensors, Kw("indexing", f.arg("indexing"))))
			}
			return ir.PyTuple(f.tuple("meshgrid", tensors))
		},
		"split": func(f *frame) any {
			if isText(f.arg("tensor")) { // strings have a method of that name
				f.fail(ir.ErrType, "must be str or None, not %s", typeName(f.arg("split_size_or_sections")))
			}
			return f.invoke("torch.Tensor.split", f.t("tensor", "split"), f.arg("split_size_or_sections"), f.arg("dim"))
		},
	}
	for _, name := range []string{"atleast_1d", "atleast_2d", "atleast_3d"} {
		all[name] = func(f *frame) any {
			tensors := f.arg("tensors")
			if one := tensors.([]any); len(one) == 1 {
				tensors = one[0]
			}
			if list, kind := items(tensors); kind != "" {
				for i, t := range list {
					if _, ok := t.(*Tensor); !ok {
						f.fail(ir.ErrType, "expected Tensor as element %d in argument 0, but got %s", i, typeName(t))
					}
				}
				return ir.PyTuple(f.tuple(name+".Sequence", tensors))
			}
			if _, ok := tensors.(*Tensor); !ok {
				f.fail(ir.ErrType, "%s(): argument 'tensors' (position 1) must be tuple of Tensors, not %s", name, typeName(tensors))
			}
			return f.op(name, tensors)
		}
	}
	return all
}

// out calls an operator, in its form that writes the argument out where that is
// given, and returns out then.
func (f *frame) out(op, outOp string, args ...any) any {
	if !f.given("out") {
		return f.op(op, args...)
	}
	f.op(outOp, append(args, Kw("out", f.arg("out")))...)
	return f.arg("out")
}

// split is Tensor.split, by sizes or by one size for all.
func split(f *frame) any {
	size := f.arg("split_size")
	if t, ok := size.(*Tensor); ok && t.Numel() == 1 {
		whole, err := toInt(f.mode, t)
		mustNot(f.of.name, err)
		size = whole
	}
	switch size.(type) {
	case bool:
		f.fail(ir.ErrType, "split(): argument 'split_size' (position 2) must be int, not bool")
	case int64:
		return ir.PyTuple(f.tuple("split.Tensor", f.t("self"), size, f.arg("dim")))
	}
	return ir.PyTuple(f.tuple("split_with_sizes", f.t("self"), size, f.arg("dim")))
}

// broadcastShapesOf is torch.broadcast_shapes, on sizes alone.
func broadcastShapesOf(f *frame) any {
	var shapes [][]int
	var texts []string
	for _, v := range f.arg("shapes").([]any) {
		if v == nil {
			continue
		}
		list, kind := items(v)
		if kind == "" {
			if _, isString := v.(string); isString {
				f.fail(ir.ErrType, "'<' not supported between instances of 'str' and 'int'")
			}
			if kindOf(v) != intKind {
				f.fail(ir.ErrRuntime, "Input shapes should be of type ints, a tuple of ints, or a list of ints, got %s", textOf(v))
			}
			list, kind = []any{v}, "tuple"
		}
		texts = append(texts, reprOf(rewrap(list, kind)))
		shape := make([]int, len(list))
		for i, item := range list {
			shape[i] = f.asInt("shapes", item)
		}
		shapes = append(shapes, shape)
	}
	shape, err := broadcastShapes(shapes, func(i int) string { return texts[i] })
	mustNot(f.of.target.Name(), err)
	return ir.PyTuple(intList(shape))
}

// broadcastShapes returns the shape that tensors of the given ones have in
// common; text writes one of them for a message.
func broadcastShapes(shapes [][]int, text func(i int) string) ([]int, error) {
	n := 0
	for _, s := range shapes {
		n = max(n, len(s))
	}
	common := make([]int, n)
	for i := range common {
		common[i] = 1
	}
	for k, s := range shapes {
		for i := -1; i >= -len(s); i-- {
			size, at := s[len(s)+i], &common[n+i]
			if size == *at {
				continue
			}
			if *at == 1 {
				if size < 0 {
					return nil, ir.Errorf(ir.ErrValue, "Attempting to broadcast a dimension with negative length!")
				}
				*at = size
			}
			if size != 1 && size != *at {
				return nil, ir.Errorf(ir.ErrRuntime, "Attempting to broadcast a dimension of length %d at %d! Mismatching argument at index %d had %s; but expected shape should be broadcastable to %s",
					size, i, k, text(k), reprOf(intList(common)))
			}
		}
	}
	return common, nil
}

// sizeAt returns a size as t.size(dim) does.
func (f *frame) sizeAt(t *Tensor, dim int) int {
	shape := t.Shape()
	n := len(shape)
	if dim < -n || dim >= n {
		if n == 0 {
			f.fail(ir.ErrIndex, "Dimension specified as %d but tensor has no dimensions", dim)
		}
		f.fail(ir.ErrIndex, "Dimension out of range (expected to be in range of [%d, %d], but got %d)", -n, n-1, dim)
	}
	if dim < 0 {
		dim += n
	}
	return shape[dim]
}

// intTensor returns a tensor of numbers on a device.
func (f *frame) intTensor(numbers []int, device Device) *Tensor {
	return As[*Tensor](f.invoke("torch.tensor", numbers, Kw("device", device), Kw("dtype", Int64)))
}
