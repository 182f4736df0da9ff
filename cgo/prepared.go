package libtorch

// #include "trampoline.h"
import "C"

import (
	"slices"
	"unsafe"

	"github.com/torchfx-go/torchfx/ir"
)

// A Hole stands among the arguments of [Operator.Prepare] for a tensor that each
// call gives.
type Hole struct{}

// A Prepared is a [SlotCall] with nothing but tensors in its slots, which may be made
// in any mode. It is safe for concurrent use and needs no Close.
type Prepared struct {
	*SlotCall
	args  []any
	holes []int // the arguments that the calls give
}

// maxHoles is the most tensors of a prepared call.
const maxHoles = 4

// Prepare readies calls of an operator that returns one tensor. args is as for
// [Operator.Call], with a [Hole] for each tensor that the calls will give. ok is
// false for operators that return something else, and for arguments that are
// handles of their own: they are called by Call.
func (o *Operator) Prepare(args []any) (p *Prepared, ok bool) {
	r := o.schema.Returns
	if o.schema.VarReturns || len(r) != 1 || r[0].Type.Kind != ir.TypeTensor || len(args) != len(o.params) {
		return nil, false
	}
	p = &Prepared{args: slices.Clone(args)}
	made := make([]Argument, len(args))
	for i, v := range args {
		if _, isHole := v.(Hole); !isHole {
			made[i] = Argument{Kind: ArgConstant, Value: v}
			continue
		}
		if o.params[i].typ.Kind != ir.TypeTensor {
			return nil, false
		}
		made[i] = Argument{Kind: ArgTensor, Slot: len(p.holes)}
		p.holes = append(p.holes, i)
	}
	if len(p.holes) > maxHoles {
		return nil, false
	}
	p.SlotCall, ok = o.PrepareSlots(made)
	return p, ok
}

// Call calls the operator with tensors in the holes, in their order and none of them
// nil, and makes result, which must be the zero Tensor, a handle of what it returns:
// it stays zero for an undefined tensor. Errors are those of [Operator.Call].
//
// last has a bit for each tensor, from the lowest, that the call is the last use of:
// it is closed where the call succeeds, by the same crossing. Nobody else may use such
// a tensor any more, and it may stand in one hole only.
func (p *Prepared) Call(m *Mode, result *Tensor, last uint, tensors ...*Tensor) error {
	if len(tensors) != len(p.holes) {
		return ir.Errorf(ir.ErrType, "expected %d tensors, got %d", len(p.holes), len(tensors))
	}
	if m = m.current(); m != nil && !m.isDefault() {
		return p.callIn(m, result, last, tensors)
	}
	var words [maxHoles + 1]uint64 // C reads one where there are no holes
	var waiting [maxCells]uint64
	var dropped [maxHoles + 1]uint64
	drops := 0
	for i, t := range tensors {
		var ok bool
		if last&(1<<i) == 0 {
			words[i], ok = t.ptr()
		} else if words[i], ok = t.take(); ok {
			dropped[drops] = words[i]
			drops++
		}
		if !ok {
			giveBack(last, tensors[:i])
			return badArg(&p.op.params[p.holes[i]], t, errClosedArg)
		}
	}
	var r Results
	r.n = 1
	r.bring(1, &waiting)
	dropped[drops] = waiting[0]
	slots.acquire()
	C.tfx_call_prepared(C.uint64_t(p.handle), (*C.uint64_t)(unsafe.Pointer(&words)), maxHoles+1,
		(*C.uint64_t)(unsafe.Pointer(&dropped)), C.uint64_t(drops+1), (*C.uint64_t)(unsafe.Pointer(&r.words)), resultWords, &r.out)
	slots.release()
	if r.out.code != 0 {
		giveBack(last, tensors)
		collectReleased()
		return r.fail(p.SlotCall)
	}
	for i, t := range tensors {
		if last&(1<<i) == 0 {
			t.unuse()
		} else {
			t.cell.ended()
		}
	}
	r.emptied()
	r.Tensor(result)
	r.Done()
	collectReleased()
	return nil
}

// giveBack ends the use of tensors by a call that failed.
func giveBack(last uint, tensors []*Tensor) {
	for i, t := range tensors {
		if last&(1<<i) == 0 {
			t.unuse()
		} else {
			t.untake()
		}
	}
}

// callIn is Call in a mode.
func (p *Prepared) callIn(m *Mode, result *Tensor, last uint, tensors []*Tensor) error {
	args := slices.Clone(p.args)
	for i, t := range tensors {
		args[p.holes[i]] = t
	}
	results, err := p.op.Call(m, args)
	if err != nil {
		return err
	}
	if t, ok := results[0].(*Tensor); ok && t != nil {
		*result = *t
	}
	for i, t := range tensors {
		if last&(1<<i) != 0 {
			_ = t.Close()
		}
	}
	return nil
}
