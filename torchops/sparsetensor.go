package torchops

import (
	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
)

// Sparse tensors made of their parts, and further names of torch, operator and
// Tensor that are other functions: torch/csrc/utils/tensor_new.cpp and
// python_torch_functions_manual.cpp of 2.15.0.

const sparseOptions = ", ScalarType dtype=None, Device? device=None, bool pin_memory=False, bool requires_grad=False, bool check_invariants=None"

func init() {
	defineBound("torch.sparse_coo_tensor", (*binding).sparseCOO,
		"PyObject* indices, PyObject* values, *"+sparseOptions,
		"PyObject* indices, PyObject* values, IntArrayRef size, *"+sparseOptions+", bool is_coalesced=None",
		"IntArrayRef size, *"+sparseOptions)
	defineCompressed := func(name, rows, columns, op, suffix string, layout any) {
		parts := "PyObject* " + rows + ", PyObject* " + columns + ", PyObject* values"
		options := ", *, ScalarType dtype=None, Layout? layout=None, Device? device=None, bool pin_memory=False, bool requires_grad=False, bool check_invariants=None"
		defineBound("torch."+name, func(b *binding) (any, error) { return b.sparseCompressed("aten::"+op+suffix, layout) },
			parts+", IntArrayRef size"+options, parts+options)
	}
	defineCompressed("sparse_compressed_tensor", "compressed_indices", "plain_indices", "sparse_compressed_tensor", ".comp_plain_value", nil)
	defineCompressed("sparse_csr_tensor", "crow_indices", "col_indices", "sparse_csr_tensor", ".crow_col_value", ir.SparseCSR)
	defineCompressed("sparse_csc_tensor", "ccol_indices", "row_indices", "sparse_csc_tensor", ".ccol_row_value", ir.SparseCSC)
	defineCompressed("sparse_bsr_tensor", "crow_indices", "col_indices", "sparse_bsr_tensor", ".crow_col_value", ir.SparseBSR)
	defineCompressed("sparse_bsc_tensor", "ccol_indices", "row_indices", "sparse_bsc_tensor", ".ccol_row_value", ir.SparseBSC)

	for name, other := range map[string]string{
		"torch.spmm": "torch.mm", "torch.dsmm": "torch.mm", "torch.hsmm": "torch.hspmm", "torch.saddmm": "torch.sspaddmm",
		"torch.quantized_lstm": "torch.ops.aten.quantized_lstm", "torch.quantized_gru": "torch.ops.aten.quantized_gru",
		"torch.Tensor.__abs__": "torch.Tensor.abs", "torch.Tensor.__neg__": "torch.Tensor.neg", "torch.Tensor.__pos__": "torch.Tensor.positive",
	} {
		f := ir.FuncOf(other)
		implementations.Store(ir.FuncOf(name), &implementation{name: name, call: func(m *libtorch.Mode, args []any, kw []Kwarg) (any, error) {
			return Invoke(m, f, args, kw)
		}})
	}
	implementations.Store(ir.FuncOf("operator.call"), &implementation{name: "call", call: func(m *libtorch.Mode, args []any, kw []Kwarg) (any, error) {
		if len(args) == 0 {
			return nil, ir.Errorf(ir.ErrType, "call expected at least 1 argument, got 0")
		}
		if f, ok := args[0].(*ir.Func); ok {
			return Invoke(m, f, args[1:], kw)
		}
		return callValue(m, args[0], args[1:]...)
	}})
}

// sparseCOO makes a tensor of coordinates and values, or an empty one.
func (b *binding) sparseCOO() (any, error) {
	var size any
	options := b.values[2:]
	switch b.which {
	case 1:
		size, options = b.values[2], b.values[3:]
	case 2:
		size, options = b.values[0], b.values[1:]
	}
	dtype, device := plainDType(options[0]), options[1]
	var v any
	var err error
	if b.which == 2 {
		v, err = b.op("aten::sparse_coo_tensor.size", []any{size}, Kw("dtype", dtype), Kw("device", device), Kw("layout", SparseCOO))
	} else {
		var parts []any
		if parts, err = b.sparseParts(Int64, dtype, device, 2); err != nil {
			return nil, err
		}
		defer closeParts(parts)
		if size == nil {
			v, err = b.op("aten::sparse_coo_tensor.indices", parts)
		} else {
			coalesced := options[5]
			if options[4] == true {
				if _, err = b.op("aten::_validate_sparse_coo_tensor_args", append(parts, size, coalesced)); err != nil {
					return nil, err
				}
			}
			v, err = b.op("aten::sparse_coo_tensor.indices_size", append(parts, size), Kw("is_coalesced", coalesced))
		}
	}
	if err == nil && options[3] == true {
		err = requireGrad(v)
	}
	return v, err
}

// sparseCompressed makes a tensor of compressed and plain indices and values. Its
// layout is that of the function, or is given.
func (b *binding) sparseCompressed(op string, layout any) (any, error) {
	var size []any
	options := b.values[3:]
	if b.which == 0 {
		size, options, op = []any{b.values[3]}, b.values[4:], op+"_size"
	}
	given := options[1]
	switch {
	case layout == nil && given == nil:
		return nil, ir.Errorf(ir.ErrRuntime, "sparse_compressed_tensor expects non-block or block compressed sparse layout but got unspecified layout")
	case layout == nil:
		layout = given
	case given != nil && given != layout:
		return nil, ir.Errorf(ir.ErrRuntime, "expected layout %v, got %v", layout, given)
	}
	parts, err := b.sparseParts(nil, plainDType(options[0]), options[2], 3)
	if err != nil {
		return nil, err
	}
	defer closeParts(parts)
	if options[5] == true && len(size) > 0 {
		if _, err := b.op("aten::_validate_sparse_compressed_tensor_args", append(append(parts, size...), layout)); err != nil {
			return nil, err
		}
	}
	v, err := b.op(op, append(parts, size...), Kw("dtype", parts[2].(*Tensor).DType()), Kw("layout", layout), Kw("device", parts[2].(*Tensor).Device()))
	if err == nil && options[4] == true {
		err = requireGrad(v)
	}
	return v, err
}

// closeParts closes the tensors of a list, which the result keeps.
func closeParts(parts []any) {
	for _, t := range parts {
		_ = t.(*Tensor).Close() // an error here means that it is closed already
	}
}

// sparseParts makes tensors of the first n arguments, indices and at the end the
// values. Indices are of a dtype, or, for nil, of their own.
func (b *binding) sparseParts(indices, dtype, device any, n int) ([]any, error) {
	parts := make([]any, n, n+2)
	for i := range parts {
		dt := indices
		if i == n-1 {
			dt = dtype
		}
		v, err := b.asTensor(b.values[i], dt, device)
		if err != nil {
			return nil, err
		}
		parts[i] = v
	}
	return parts, nil
}
