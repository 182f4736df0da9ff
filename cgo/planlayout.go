package libtorch

// #include "trampoline.h"
import "C"

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/torchfx-go/torchfx/ir"
)

// A PlanPlace is a result that runs of one shape class write into planned memory.
type PlanPlace struct {
	Step, Slot    int
	First, Last   int // the steps between which the memory is taken
	Offset, Bytes int64
	DType         ir.DType
	Sizes         []int64
	Granted       bool // to an operator that allocates, and not written by an out variant
}

// A PlanLayout is the memory plan of one shape class.
type PlanLayout struct {
	Bytes  int64   // of the block that all places lie in
	Key    []int64 // what the class is of; see [PlanLayout.Class]
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
	Threads int   // that share the blocks
	Scratch int   // blocks that hold what goes from one stage to another
	Stages  []PlanStage
}

// A PlanStage is a part of a group.
type PlanStage struct {
	Kind PlanStageKind
	Ops  int // operators
}

// A PlanStageKind is how a stage is done.
type PlanStageKind int

// How a stage is done.
const (
	PlanInRegisters PlanStageKind = iota // values go from one operator to the next in registers
	PlanKernel                           // one kernel of libtorch
	PlanNearest                          // to the nearest float, and by the kernel where that is in doubt
)

// Class tells what inputs the runs of the class have, in their order: dtypes, sizes, and
// strides that are not those of rows; and on how many threads kernels run.
func (l *PlanLayout) Class() (inputs []string, threads int) {
	k := classKey{l.Key}
	threads = int(k.next())
	for len(k.words) > 0 {
		inputs = append(inputs, k.value())
	}
	return inputs, threads
}

// A classKey is what is left of a key, which bridge/plankey.h writes.
type classKey struct{ words []int64 }

// next is the next word, 0 behind the end.
func (k *classKey) next() (w int64) {
	if len(k.words) > 0 {
		w, k.words = k.words[0], k.words[1:]
	}
	return w
}

func (k *classKey) list(n int64) (list []int64) {
	for range min(n, int64(len(k.words))) {
		list = append(list, k.next())
	}
	return list
}

// value is the text of one value.
func (k *classKey) value() string {
	if first := k.next(); first != -1 {
		return k.tensor()
	}
	switch k.next() {
	case 0:
		return "None"
	case 1:
		return strconv.FormatInt(k.next(), 10)
	case 2:
		return strconv.FormatBool(k.next() != 0)
	case 3:
		return strconv.FormatFloat(math.Float64frombits(uint64(k.next())), 'g', -1, 64)
	case 5:
		items := make([]string, 0, 4)
		for range min(k.next(), int64(len(k.words))) {
			items = append(items, k.value())
		}
		return "(" + strings.Join(items, ", ") + ")"
	}
	return "an object"
}

// tensor is the text of a tensor, behind its dispatch keys.
func (k *classKey) tensor() string {
	head := k.next()
	d, err := ir.DTypeFromC10(int(head >> 32))
	if err != nil {
		return err.Error()
	}
	rank := head & 0xffff >> 1
	sizes, strides := k.list(rank), k.list(rank)
	text := d.Short() + sizesText(sizes)
	dense := int64(1)
	for i := len(sizes) - 1; i >= 0; i-- {
		if sizes[i] != 1 && strides[i] != dense {
			text += " strides " + sizesText(strides)
			break
		}
		dense *= sizes[i]
	}
	if k.next()&2 != 0 {
		text += " that requires gradients"
	}
	return text
}

func sizesText(sizes []int64) string {
	return strings.ReplaceAll(fmt.Sprint(sizes), " ", ", ")
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
		l.Key = make([]int64, number())
		for k := range l.Key {
			l.Key[k] = int64(d.next())
		}
		l.Places = make([]PlanPlace, number())
		for k := range l.Places {
			at := &l.Places[k]
			at.Step, at.Slot, at.First, at.Last = number(), number(), number(), number()
			at.Offset, at.Bytes = int64(d.next()), int64(d.next())
			at.DType, d.err = ir.DTypeFromC10(number())
			at.Granted = number() != 0
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
			g.Blocks, g.Block, g.Threads, g.Scratch = number(), number(), number(), number()
			g.Stages = make([]PlanStage, number())
			for j := range g.Stages {
				g.Stages[j] = PlanStage{Kind: PlanStageKind(number()), Ops: number()}
			}
		}
	}
	return layouts, d.err
}
