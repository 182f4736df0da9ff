package libtorch

// #include "trampoline.h"
import "C"

import (
	"unsafe"

	"github.com/torchfx-go/torchfx/ir"
)

func (e *encoder) program(p *PlanProgram) error {
	e.w = append(e.w, uint64(p.Slots), uint64(bit(p.BelowAutograd)), uint64(p.Fusion))
	if d := p.Device; d == nil {
		e.w = append(e.w, 0)
	} else {
		kind, index := d.Device.C10()
		e.w = append(e.w, 1, uint64(kind), uint64(index), uint64(bit(d.HostResults)), uint64(d.Graphs))
	}
	e.slots(p.Pinned)
	e.slots(p.Inputs)
	e.w = append(e.w, uint64(len(p.Modes)))
	for i := range p.Modes {
		var c C.tfx_mode
		if _, err := p.Modes[i].encode(&c); err != nil {
			return err
		}
		c.threads = C.int32_t(p.Modes[i].threads())
		e.w = append(e.w, unsafe.Slice((*uint64)(unsafe.Pointer(&c)), unsafe.Sizeof(c)/8)...)
	}
	e.w = append(e.w, uint64(len(p.Steps)))
	for i := range p.Steps {
		if err := e.step(&p.Steps[i]); err != nil {
			return err
		}
	}
	return nil
}

func (e *encoder) slots(list []int) {
	e.w = append(e.w, uint64(len(list)))
	for _, s := range list {
		e.w = append(e.w, uint64(s))
	}
}

func (e *encoder) step(s *PlanStep) error {
	var flags uint64
	if s.Plain {
		flags |= C.TFX_PLAIN
	}
	if s.Hides {
		flags |= C.TFX_HIDES
	}
	if s.Tuples {
		flags |= C.TFX_TUPLES
	}
	if s.Writes {
		flags |= C.TFX_WRITES
	}
	if s.Fresh {
		flags |= C.TFX_FRESH
	}
	if len(s.Calls) == 1 && s.Calls[0].Op.schema.Tags.Has(ir.TagPointwise) {
		flags |= C.TFX_POINTWISE
	}
	e.w = append(e.w, uint64(s.Code), flags, uint64(s.Number), uint64(s.Target))
	e.slots(s.Results)
	e.slots(s.Written)
	e.slots(s.Slots)
	e.slots(s.Frees)
	if s.Region == nil {
		e.w = append(e.w, uint64(len(s.Operands)))
	} else {
		object, err := s.Region.object()
		if err != nil {
			return err
		}
		e.w = append(e.w, uint64(1+len(s.Operands)), uint64(PlanConst))
		if err := e.slotValue(object); err != nil {
			return err
		}
	}
	for i := range s.Operands {
		if err := e.operand(&s.Operands[i], &param{typ: &anyType, free: -1}); err != nil {
			return err
		}
	}
	e.w = append(e.w, uint64(len(s.Calls)))
	for i := range s.Calls {
		if err := e.planCall(&s.Calls[i]); err != nil {
			return err
		}
	}
	return nil
}

func (e *encoder) planCall(c *PlanCall) error {
	var out uint64
	if c.Out != nil {
		out = c.Out.handle
	}
	if len(c.Args) != len(c.Op.params) {
		return ir.Errorf(ir.ErrType, "%s: expected %d arguments, got %d", c.Op.schema.Op, len(c.Op.params), len(c.Args))
	}
	e.w = append(e.w, c.Op.handle, out, uint64(bit(c.Python)), uint64(len(c.Args)))
	for i := range c.Args {
		if err := e.operand(&c.Args[i], &c.Op.params[i]); err != nil {
			return err
		}
	}
	return nil
}

func (e *encoder) operand(o *PlanOperand, p *param) error {
	head := uint64(o.Kind)
	if o.Strict {
		head |= 0x100
	}
	e.w = append(e.w, head)
	switch o.Kind {
	case PlanSlot:
		e.w = append(e.w, uint64(o.Slot))
		return nil
	case PlanList:
		elem := &anyType
		if p.typ.Kind == ir.TypeList {
			elem = p.typ.Elem
		}
		item := param{name: p.name, typ: elem, free: -1}
		if elem.Kind == ir.TypeOptional {
			item.typ, item.optional = elem.Elem, true
		}
		e.w = append(e.w, uint64(len(o.Items)))
		for i := range o.Items {
			if err := e.operand(&o.Items[i], &item); err != nil {
				return err
			}
		}
		return nil
	}
	if o.Const == nil && p.optional {
		e.head(C.TFX_NONE, 0)
		return nil
	}
	if p.typ == &anyType {
		return e.slotValue(o.Const)
	}
	if err := e.value(p.typ, o.Const, p.free); err != nil {
		return badArg(p, o.Const, err)
	}
	return nil
}
