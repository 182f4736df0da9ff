package libtorch

// #include "trampoline.h"
import "C"

import "github.com/torchfx-go/torchfx/ir"

// A PlanPlace is a result that runs of one shape class write into planned memory.
type PlanPlace struct {
	Step, Slot    int
	First, Last   int // the steps between which the memory is taken
	Offset, Bytes int64
	DType         ir.DType
	Sizes         []int64
}

// A PlanLayout is the memory plan of one shape class.
type PlanLayout struct {
	Bytes  int64 // of the block that all places lie in
	Places []PlanPlace
	Chosen []int // by step, the call that took the arguments; -1 for none
	Groups []PlanGroup
}

// A PlanGroup is pointwise steps that runs of one shape class do together.
type PlanGroup struct {
	Steps   []int // in order; the last one is where it is done
	Results []int // slots that are read outside of it
	Blocks  int   // that it is done in
	Block   int   // elements of one
	Scratch int   // blocks that hold what goes from one stage to another
	Stages  []PlanStage
}

// A PlanStage is a part of a group: operators whose values go from one to the next
// in registers, or one kernel of libtorch.
type PlanStage struct {
	Kernel bool
	Ops    int
}

// Layouts returns the memory plans that runs have made so far, the most recent
// first.
func (p *Plan) Layouts() ([]PlanLayout, error) {
	impl, ok := p.ptr()
	if !ok {
		return nil, ir.Errorf(ir.ErrClosed, "layouts: the plan is closed")
	}
	defer p.unuse()
	var r reply
	if code := C.tfx_plan_layouts(C.uint64_t(impl), r.w(), replyWords, &r.out); code != 0 {
		return nil, r.fail("", code)
	}
	defer r.done()
	d := decoder{w: r.view()}
	number := func() int { return int(int64(d.next())) }
	layouts := make([]PlanLayout, number())
	for i := range layouts {
		l := &layouts[i]
		l.Bytes = int64(d.next())
		l.Places = make([]PlanPlace, number())
		for k := range l.Places {
			at := &l.Places[k]
			at.Step, at.Slot, at.First, at.Last = number(), number(), number(), number()
			at.Offset, at.Bytes = int64(d.next()), int64(d.next())
			at.DType, d.err = ir.DTypeFromC10(number())
			at.Sizes = make([]int64, number())
			for j := range at.Sizes {
				at.Sizes[j] = int64(d.next())
			}
		}
		l.Chosen = make([]int, number())
		for k := range l.Chosen {
			l.Chosen[k] = number()
		}
		l.Groups = make([]PlanGroup, number())
		for k := range l.Groups {
			g := &l.Groups[k]
			numbers := func() []int {
				list := make([]int, number())
				for j := range list {
					list[j] = number()
				}
				return list
			}
			g.Steps, g.Results = numbers(), numbers()
			g.Blocks, g.Block, g.Scratch = number(), number(), number()
			g.Stages = make([]PlanStage, number())
			for j := range g.Stages {
				g.Stages[j] = PlanStage{Kernel: number() != 0, Ops: number()}
			}
		}
	}
	return layouts, d.err
}
