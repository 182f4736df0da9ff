package torchops

import (
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

var fnEinsum = ir.FuncOf("torch.functional.einsum")

// einsum takes an equation and operands, or operands each followed by the list of
// its subscripts and at the end those of the result. PyTorch searches for an
// order of three or more operands only where Python has opt_einsum, so the order
// is from left to right.
func einsum(f *frame) any {
	args := f.einsumOperands(f.arg("args").([]any))
	for len(args) == 2 {
		list, kind := items(args[1])
		if kind == "" {
			break
		}
		args = f.einsumOperands(append([]any{args[0]}, list...))
	}
	return f.op("einsum", args[0], args[1:])
}

// einsumRecorded returns what is recorded of a call: Python reads the subscripts
// of real tensors only, and looks into a list of operands.
func (f *frame) einsumRecorded(args []any) []any {
	traced := false
	if len(args) > 1 {
		_, traced = ValueOf(args[0])
	}
	if !traced {
		args = f.einsumOperands(args)
	}
	if len(args) == 2 {
		if list, kind := items(args[1]); kind != "" {
			return append([]any{args[0]}, list...)
		}
	}
	return args
}

// einsumOperands returns an equation and the operands.
func (f *frame) einsumOperands(args []any) []any {
	if len(args) < 2 {
		f.fail(ir.ErrValue, "einsum(): must specify the equation string and at least one operand, or at least one operand and its subscripts list")
	}
	if _, isTensor := args[0].(*Tensor); !isTensor {
		return args
	}
	var equation strings.Builder
	var operands []any
	for i := 0; i < len(args); i += 2 {
		result := i == len(args)-1 // the subscripts of the result have no operand
		switch {
		case result:
			equation.WriteString("->")
		case i > 0:
			equation.WriteByte(',')
		}
		list := args[i]
		if !result {
			operands, list = append(operands, args[i]), args[i+1]
		}
		list, err := normalize(list)
		mustNot(f.of.target.Name(), err)
		for _, n := range f.iterate(list) {
			equation.WriteString(f.subscript(n))
		}
	}
	return append([]any{equation.String()}, operands...)
}

// subscript is the letter of a number.
func (f *frame) subscript(n any) string {
	if _, ok := n.(ir.Ellipsis); ok {
		return "..."
	}
	letter := func(first rune) string {
		code, err := indexNumber(f.mode, f.py("add", int64(first), n))
		mustNot(f.of.target.Name(), err)
		return string(rune(code))
	}
	switch {
	case f.holds(n, "ge", 0) && f.holds(n, "lt", 26):
		return letter('A')
	case f.holds(n, "ge", 26) && f.holds(n, "lt", 52):
		return letter('a' - 26)
	}
	f.fail(ir.ErrValue, "einsum(): subscript in subscript list is not within the valid range [0, 52)")
	return ""
}

// tensordot contracts the last and first dims dimensions, or those of two lists.
func tensordot(f *frame) any {
	a, b := f.arg("a"), f.arg("b")
	var of [2]any
	counted := func(n int) [2]any {
		last, first := make([]int, n), make([]int, n)
		for i := range n {
			last[i], first[i] = i-n, i
		}
		return [2]any{last, first}
	}
	negative := func(n int64) {
		if n < 0 {
			f.fail(ir.ErrRuntime, "tensordot expects dims >= 0, but got dims=%d", n)
		}
	}
	number := f.arg("dims")
	if b, isBool := number.(bool); isBool {
		number = asInt(b)
	}
	switch dims := number.(type) {
	case int64:
		negative(dims)
		if dims > int64(min(f.t("a", "dim").Dim(), f.t("b", "dim").Dim())) {
			f.fail(ir.ErrRuntime, "tensordot expects dims < ndim_a or ndim_b, but got dims=%d", dims)
		}
		of = counted(int(dims))
	case *Tensor:
		if dims.Numel() > 1 {
			if n := f.sizeAt(dims, 0); n != 2 {
				f.fail(ir.ErrAssertion, "dims tensor must have size 2 in first dimension, got %d", n)
			}
			for i := range of {
				of[i] = f.numbers(f.tensor("select.int", dims, 0, i))
				if dims.Dim() == 1 { // tolist() gives one number, which the parser refuses
					of[i] = int64(of[i].([]int)[0])
				}
			}
			break
		}
		n, err := toInt(f.mode, f.item(dims))
		mustNot(f.of.name, err)
		negative(n.(int64))
		if n.(int64) > 64 {
			f.fail(ir.ErrIndex, "Dimension out of range (expected to be in range of [%d, %d], but got %d)", -f.t("a").Dim(), f.t("a").Dim()-1, -n.(int64))
		}
		of = counted(int(n.(int64)))
	default:
		list, kind := items(dims)
		if kind == "" {
			f.fail(ir.ErrRuntime, "tensordot expects dims to be int or tuple[list[int], list[int]] or list[list[int]] containing two lists, but got dims=%s", textOf(dims))
		}
		if len(list) < 2 {
			f.fail(ir.ErrValue, "not enough values to unpack (expected 2, got %d)", len(list))
		}
		if len(list) > 2 {
			f.fail(ir.ErrValue, "too many values to unpack (expected 2)")
		}
		of = [2]any{list[0], list[1]}
	}
	return f.out("tensordot", "tensordot.out", a, b, of[0], of[1])
}

// numbers reads a tensor of integers.
func (f *frame) numbers(t *Tensor) []int {
	list, err := Data[int64](f.tensor("to.dtype", t, Int64))
	mustNot(f.of.name, err)
	return toInts(list)
}

// cdist turns the name of the way of computing into its number.
func cdist(f *frame) any {
	var mode any
	switch f.arg("compute_mode") {
	case "use_mm_for_euclid_dist_if_necessary":
	case "use_mm_for_euclid_dist":
		mode = 1
	case "donot_use_mm_for_euclid_dist":
		mode = 2
	default:
		f.fail(ir.ErrValue, "%s is not a valid value for compute_mode", textOf(f.arg("compute_mode")))
	}
	return f.op("cdist", f.arg("x1"), f.arg("x2"), f.arg("p"), mode)
}
