package torchops

import (
	"slices"

	"github.com/torchfx-go/torchfx/ir"
)

// dimOrder returns the dimensions from the outermost in memory to the innermost.
func dimOrder(f *frame) any {
	t := f.t("self")
	if t.Layout() == SparseCOO {
		f.fail(ir.ErrAttribute, "Can't get dim order on sparse type: torch.sparse.%sTensor Use Tensor.to_dense() to convert to a dense tensor first.", tensorTypes[t.DType()])
	}
	var formats []any
	check, isBool := f.arg("ambiguity_check").(bool)
	if !isBool {
		list, kind := items(f.arg("ambiguity_check"))
		for _, v := range list {
			if _, ok := v.(ir.MemoryFormat); !ok {
				kind = ""
			}
		}
		if kind != "list" {
			f.fail(ir.ErrType, "The ambiguity_check argument must be a bool or a list of memory formats.")
		}
		formats, check = list, true
	}
	shape, strides := t.Shape(), t.Strides()
	if check && (slices.Contains(shape, 1) || equalNeighbours(strides)) {
		fitting := 0
		for _, m := range formats {
			if contiguousIn(m.(ir.MemoryFormat), shape, strides) {
				fitting++
			}
		}
		if fitting != 1 {
			f.fail(ir.ErrRuntime, "The tensor does not have unique dim order, or cannot map to exact one of the given memory formats.")
		}
	}
	order, unique := memoryOrder(shape, strides)
	if !unique && (isBool && check || len(formats) > 0) {
		f.fail(ir.ErrRuntime, "The tensor does not have unique dim order.")
	}
	return ir.PyTuple(intList(order))
}

// tensorTypes are what the types of tensors are called after.
var tensorTypes = map[DType]string{
	UInt8: "Byte", Int8: "Char", Int16: "Short", Int32: "Int", Int64: "Long", Float16: "Half", Float32: "Float", Float64: "Double",
	Complex32: "ComplexHalf", Complex64: "ComplexFloat", Complex128: "ComplexDouble", Bool8: "Bool", BFloat16: "BFloat16",
}

func equalNeighbours(x []int) bool {
	for i := 1; i < len(x); i++ {
		if x[i] == x[i-1] {
			return true
		}
	}
	return false
}

// contiguousIn reports whether elements lie one after the other in the order of
// a format.
func contiguousIn(m ir.MemoryFormat, shape, strides []int) bool {
	n := len(shape)
	order := make([]int, 0, n)
	for i := n - 1; i >= 0; i-- {
		order = append(order, i)
	}
	if m == ChannelsLast || m == ChannelsLast3D {
		if m == ChannelsLast && n != 4 || m == ChannelsLast3D && n != 5 {
			return false
		}
		order = append([]int{1}, slices.DeleteFunc(order, func(i int) bool { return i == 1 })...)
	} else if product(shape) < 2 {
		return true
	}
	expected := 1
	for _, i := range order {
		if shape[i] == 1 {
			continue
		}
		if strides[i] != expected {
			return false
		}
		expected *= shape[i]
	}
	return true
}

// memoryOrder sorts the dimensions by their strides, as torch._prims_common's
// compute_elementwise_output_logical_to_physical_perm does for one tensor, and
// reports whether there is no other order.
func memoryOrder(shape, strides []int) (order []int, unique bool) {
	n := len(shape)
	rows, channels := contiguousIn(ContiguousFormat, shape, strides), contiguousIn(ChannelsLast, shape, strides)
	for i := range n {
		order = append(order, i)
	}
	switch {
	case n < 2, rows && !channels:
		return order, true
	case channels && !rows:
		return append(append([]int{0}, order[2:]...), 1), true
	}
	slices.Reverse(order)
	for i := 1; i < n; i++ {
		at := i
	search:
		for j := i - 1; j >= 0; j-- {
			switch swapped := strideOrder(shape, strides, order[j], order[at]); {
			case swapped > 0:
				order[j], order[at] = order[at], order[j]
				at = j
			case swapped < 0:
				break search
			}
		}
	}
	unique = true
	for i := range n - 1 {
		unique = unique && strideOrder(shape, strides, order[i], order[i+1]) < 0
	}
	slices.Reverse(order)
	return order, unique
}

// strideOrder is negative where dimension a is inside b, positive where it is
// outside, and 0 where it does not matter.
func strideOrder(shape, strides []int, a, b int) int {
	within := func(a, b int) bool { return b == 0 || a != 0 && (a >= b || a%b == 0) }
	x, y := strides[a], strides[b]
	switch {
	case x == 0 || y == 0:
		return 0
	case x == y:
		if within(shape[b], shape[a]) {
			return 0
		}
		return 1
	case within(y, x):
		return -1
	case within(x, y):
		return 1
	}
	return 0
}
