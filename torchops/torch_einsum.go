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
	args, err := einsumOperands(f.arg("args").([]any))
	mustNot(f.of.target.Name(), err)
	equation, operands := args[0], args[1:]
	for len(operands) == 1 && isSequence(operands[0]) {
		operands, _ = items(operands[0])
	}
	return f.op("einsum", equation, operands)
}

// einsumRecorded returns what is recorded of a call: Python reads the subscripts
// of real tensors only, and looks into a list of operands.
func einsumRecorded(args []any) ([]any, error) {
	if len(args) == 0 {
		return einsumOperands(args)
	}
	if _, traced := ValueOf(args[0]); !traced || len(args) < 2 {
		var err error
		if args, err = einsumOperands(args); err != nil {
			return nil, err
		}
	}
	if len(args) == 2 {
		if list, kind := items(args[1]); kind != "" {
			return append([]any{args[0]}, list...), nil
		}
	}
	return args, nil
}

// einsumOperands returns an equation and the operands.
func einsumOperands(args []any) ([]any, error) {
	if len(args) < 2 {
		return nil, ir.Errorf(ir.ErrValue, "einsum(): must specify the equation string and at least one operand, or at least one operand and its subscripts list")
	}
	if _, isTensor := args[0].(*Tensor); !isTensor {
		return args, nil
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
		if err := writeSubscripts(&equation, list); err != nil {
			return nil, err
		}
	}
	return append([]any{equation.String()}, operands...), nil
}

func writeSubscripts(b *strings.Builder, v any) error {
	v, err := normalize(v)
	if err != nil {
		return err
	}
	list, kind := items(v)
	if kind == "" {
		return ir.Errorf(ir.ErrType, "'%s' object is not iterable", typeName(v))
	}
	for _, s := range list {
		if _, ok := s.(ir.Ellipsis); ok {
			b.WriteString("...")
			continue
		}
		if k := kindOf(s); k != intKind && k != boolKind {
			return ir.Errorf(ir.ErrType, "'>=' not supported between instances of '%s' and 'int'", typeName(s))
		}
		switch n := asInt(s); {
		case n >= 0 && n < 26:
			b.WriteByte(byte('A' + n))
		case n >= 26 && n < 52:
			b.WriteByte(byte('a' + n - 26))
		default:
			return ir.Errorf(ir.ErrValue, "einsum(): subscript in subscript list is not within the valid range [0, 52)")
		}
	}
	return nil
}

// tensordot contracts the last and first dims dimensions, or those of two lists.
func tensordot(f *frame) any {
	a, b := f.t("a"), f.t("b")
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
	switch dims := f.arg("dims").(type) {
	case int64:
		negative(dims)
		if dims > int64(min(a.Dim(), b.Dim())) {
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
			}
			break
		}
		n, err := toInt(f.mode, f.item(dims))
		mustNot(f.of.name, err)
		negative(n.(int64))
		if n.(int64) > 64 {
			f.fail(ir.ErrIndex, "Dimension out of range (expected to be in range of [%d, %d], but got %d)", -a.Dim(), a.Dim()-1, -n.(int64))
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
	mode, ok := map[any]any{
		"use_mm_for_euclid_dist_if_necessary": nil, "use_mm_for_euclid_dist": 1, "donot_use_mm_for_euclid_dist": 2,
	}[f.arg("compute_mode")]
	if !ok {
		f.fail(ir.ErrValue, "%s is not a valid value for compute_mode", textOf(f.arg("compute_mode")))
	}
	return f.op("cdist", f.arg("x1"), f.arg("x2"), f.arg("p"), mode)
}
