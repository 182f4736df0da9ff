package interpreter

import (
	"slices"

	libtorch "github.com/torchfx-go/torchfx/cgo"
	"github.com/torchfx-go/torchfx/ir"
	torch "github.com/torchfx-go/torchfx/torchops"
)

// sizedByElements reports whether the elements of its operands decide on the sizes of a
// call's results. Of an index they do where it is a mask; of one that holds numbers, as
// exported attention masks and gathers have them, its sizes do.
func (lw *lowerer) sizedByElements(c *libtorch.PlanCall) bool {
	schema := c.Op.Schema()
	if !schema.Tags.Has(ir.TagDynamicOutputShape) {
		return false
	}
	return schema.Name() != "aten::index" || !lw.noMasks(c.Args[1])
}

// noMasks reports whether none of the items of a list of indices is a mask.
func (lw *lowerer) noMasks(indices libtorch.PlanOperand) bool {
	if constants, all := indices.Const.([]*libtorch.Tensor); all {
		return !slices.ContainsFunc(constants, func(t *libtorch.Tensor) bool { return t != nil && !holdsNumbers(t) })
	}
	return indices.Kind == libtorch.PlanList && !slices.ContainsFunc(indices.Items, func(o libtorch.PlanOperand) bool {
		none := o.Kind == libtorch.PlanConst && o.Const == nil
		return !none && !lw.numbered(o)
	})
}

// numbered reports whether an operand is known to be a tensor of integers that, as an
// index, are no mask.
func (lw *lowerer) numbered(o libtorch.PlanOperand) bool {
	if o.Kind == libtorch.PlanSlot {
		return lw.slots[o.Slot].numbers
	}
	t, constant := o.Const.(*libtorch.Tensor)
	return constant && holdsNumbers(t)
}

func holdsNumbers(t *libtorch.Tensor) bool {
	info, err := t.Info()
	return err == nil && numbering(info.DType)
}

// numbering reports whether a tensor of a dtype is, as an index, one of numbers.
func numbering(d ir.DType) bool { return d == ir.Int64 || d == ir.Int32 }

// makesNumbers reports whether the result of a call is known to be numbered: it counts, or
// is a view of what is numbered or computed of that.
func (lw *lowerer) makesNumbers(c *libtorch.PlanCall) bool {
	schema := c.Op.Schema()
	switch schema.Name() {
	case "aten::arange":
		return lw.counts(c)
	case "aten::add", "aten::sub", "aten::mul":
		return len(schema.Returns) == 1 && !slices.ContainsFunc(c.Args, func(a libtorch.PlanOperand) bool { return !lw.numbered(a) && !lw.isInteger(a) })
	}
	return schema.Effects().View && len(schema.Returns) == 1 && schema.Returns[0].Type.Kind == ir.TypeTensor && schema.Op != "aten::view.dtype" && lw.numbered(c.Args[0])
}

// counts reports whether a range is one of integers.
func (lw *lowerer) counts(c *libtorch.PlanCall) bool {
	for i, p := range c.Op.Schema().Args {
		switch a := c.Args[i]; p.Name {
		case "start", "end", "step":
			if !lw.isInteger(a) {
				return false
			}
		case "dtype":
			if d, given := a.Const.(ir.DType); a.Kind != libtorch.PlanConst || a.Const != nil && !(given && numbering(d)) {
				return false
			}
		}
	}
	return true
}

// isInteger reports whether an operand is known to be a number, an integer.
func (lw *lowerer) isInteger(o libtorch.PlanOperand) bool {
	if o.Kind == libtorch.PlanSlot {
		return lw.slots[o.Slot].kind == torch.UnknownInt
	}
	_, integer := o.Const.(int64)
	return o.Kind == libtorch.PlanConst && integer
}
