package libtorch

// #include "trampoline.h"
import "C"

import "unsafe"

// A Plan is a program that was checked and taken over by the bridge. It is
// immutable but for the memory layouts that it learns, and safe for concurrent
// use; a run of it is a [Frame].
type Plan struct{ handle }

// NewPlan takes over a program. The tensors among its constants are referred to,
// so that their handles may be closed afterwards.
func NewPlan(p *PlanProgram) (*Plan, error) {
	if err := Open(); err != nil {
		return nil, err
	}
	var e encoder
	defer e.unuse()
	if err := e.program(p); err != nil {
		return nil, err
	}
	var r reply
	code := C.tfx_plan_new((*C.uint64_t)(unsafe.Pointer(unsafe.SliceData(e.w))), C.uint64_t(len(e.w)), r.w(), replyWords, &r.out)
	if code != 0 {
		return nil, r.fail("", code)
	}
	plan := new(Plan)
	plan.own(remains{impl: r.words[0], kind: kindPlan})
	return plan, nil
}
