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

// A Prepared is a call of an operator of which all is settled but some tensors: the
// cheapest way to call it. It is safe for concurrent use and needs no Close.
type Prepared struct {
	op    *Operator
	args  []any
	words [preparedWords]uint64 // the arguments, with nothing in the holes
	n     int                   // how many of them
	holes []hole
}

// A hole is where a tensor goes: its place among the words and the arguments.
type hole struct{ word, arg int }

// Room for the arguments of a prepared call, and for its result. They are on the
// stack of the caller and cleared for each call, so they are not larger than nearly
// all operators need; an error message comes in memory of the bridge.
const (
	preparedWords = 32
	resultWords   = 4
	maxHoles      = 4
)

// Prepare readies calls of an operator that returns one tensor. args is as for
// [Operator.Call], with a [Hole] for each tensor that the calls will give. ok is
// false for operators that return something else, and for arguments that are
// handles of their own or too many words: they are called by Call.
func (o *Operator) Prepare(args []any) (p *Prepared, ok bool) {
	r := o.schema.Returns
	if o.schema.VarReturns || len(r) != 1 || r[0].Type.Kind != ir.TypeTensor || len(args) != len(o.params) {
		return nil, false
	}
	p = &Prepared{op: o, args: slices.Clone(args)}
	var e encoder
	for i, v := range args {
		if _, isHole := v.(Hole); isHole {
			if o.params[i].typ.Kind != ir.TypeTensor {
				return nil, false
			}
			e.w = append(e.w, C.TFX_TENSOR, 0)
			p.holes = append(p.holes, hole{len(e.w) - 1, i})
			continue
		}
		if err := e.arg(&o.params[i], v); err != nil || len(e.used) > 0 {
			e.unuse()
			return nil, false
		}
	}
	p.n = copy(p.words[:], e.w)
	return p, p.n == len(e.w) && len(p.holes) <= maxHoles
}

// Call calls the operator with tensors in the holes, in their order and none of them
// nil, and makes result, which must be the zero Tensor, a handle of what it returns:
// it stays zero for an undefined tensor. Errors are those of [Operator.Call].
//
// last has a bit for each tensor, from the lowest, that the call is the last use of:
// it is closed where the call succeeds, by the same crossing. Nobody else may use such
// a tensor any more, and it may stand in one hole only.
func (p *Prepared) Call(m *Mode, result *Tensor, last uint, tensors ...*Tensor) error {
	if len(tensors) != len(p.holes) || len(tensors) > maxHoles {
		return ir.Errorf(ir.ErrType, "expected %d tensors, got %d", len(p.holes), len(tensors))
	}
	if m = m.current(); m != nil && !m.isDefault() {
		return p.callIn(m, result, last, tensors)
	}
	words := p.words
	var dropped [maxHoles]uint64
	drops := 0
	for i, t := range tensors {
		var ok bool
		var impl uint64
		if last&(1<<i) == 0 {
			impl, ok = t.ptr()
		} else if impl, ok = t.take(); ok {
			dropped[drops] = impl
			drops++
		}
		if !ok {
			giveBack(last, tensors[:i])
			return badArg(&p.op.params[p.holes[i].arg], t, errClosedArg)
		}
		words[p.holes[i].word] = impl
	}
	var r struct {
		out   C.tfx_out
		words [resultWords]uint64
	}
	slots.acquire()
	code := C.tfx_call(C.uint64_t(p.op.handle), nil, (*C.uint64_t)(unsafe.Pointer(&words)), C.uint64_t(p.n),
		(*C.uint64_t)(unsafe.Pointer(&dropped)), C.uint64_t(drops), (*C.uint64_t)(unsafe.Pointer(&r.words)), resultWords, &r.out)
	slots.release()
	if code != 0 {
		giveBack(last, tensors)
		collectReleased()
		long := reply{out: r.out}
		copy(long.words[:], r.words[:])
		return long.fail(p.op.schema.Op, code)
	}
	for i, t := range tensors {
		if last&(1<<i) == 0 {
			t.unuse()
		} else {
			t.cell.ended()
		}
	}
	if r.words[0]&0xff == C.TFX_TENSOR {
		result.own(remains{r.words[1], int64(r.words[2]), profileAdd(), kindTensor})
	}
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
		args[p.holes[i].arg] = t
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
